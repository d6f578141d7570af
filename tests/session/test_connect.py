"""A user's Spark Connect session is used like any other: same answers, own settings, errors of users' functions, an end without waiting.

One server is enough for what other sessions of it find: the one that a program starts for itself, which waits for them before it stops it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

import pytest

from tests.docs.interchange import OUT_CORNER, SPARK_CORNER, in_turn, some_of_page
from tests.properties.other_sparks import last_line
from tests.session.user_settings import answers_in, require_held, require_ours

PROGRAM = """
import json, os, sys
from pyspark.sql import SparkSession
from sframe_spark.session.java import find_java
os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(find_java().home), sys.executable
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
before = dict(spark.conf.getAll)
from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.errors import SessionClosedError, UserFunctionError
config.small_rows, config.single_task_rows = 0, 0
answers = {"remote": type(spark).__module__}
sf = SFrame({"a": range(200), "k": [i % 3 for i in range(200)]})
answers["grouped"] = list(sf.groupby("k", {"s": aggregate.SUM("a"), "l": aggregate.CONCAT("a")})[0]["l"])[:3]
answers["running"] = sf["a"].apply(lambda v: v + 1).cumulative_sum()[199]
from_spark = SFrame(spark.range(5).selectExpr("id", "id * 2 AS twice"))
answers["from_spark"] = list(from_spark.sort("id", ascending=False)["twice"])
def shuffled(batches):
    import os, random
    import pyarrow as pa
    for batch in batches:
        places = list(range(batch.num_rows))
        random.Random(os.urandom(8)).shuffle(places)
        yield batch.take(pa.array(places))
mixed = SFrame(spark.range(0, 50, 1, 1).mapInArrow(shuffled, "id bigint").selectExpr("id", "id * 2 AS twice"))
early = mixed["twice"]
early.materialize()
mixed["same"] = mixed["id"].apply(lambda value: value * 2)
answers["evaluated"] = [sum(row["twice"] == row["same"] for row in mixed), list(mixed["id"]) == list(mixed["id"]), list(early) == list(mixed["same"])]
every = spark.range(100).selectExpr("id", "timestamp_seconds(id) AS t", "map('k', id) AS m", "array(id) AS l", "cast(id AS decimal(18,0)) AS d")
looked = SFrame(every)
answers["looked"] = ["fixed when they are first used" in str(looked), looked.is_materialized(), SFrame(every)._node is looked._node]
answers["types"] = [repr(value) for value in looked.sort("id")[99].values()]
answers["to_spark"] = sf.to_spark().where("a < 3").count()
from datetime import datetime, timezone
spark.conf.set("spark.sql.session.timeZone", "America/New_York")
moment = datetime(2024, 3, 10, 2, 30)
values = {"z": [moment.replace(tzinfo=timezone.utc), None], "n": [moment, None], "l": [[1, "a"], None], "t": ["b", "é"]}
SFrame(values).save(sys.argv[1] + "/values")
answers["native"] = []
for native in (SFrame(values), load_sframe(sys.argv[1] + "/values"), SFrame(values).sort("t", ascending=False).sort("t")):
    df = native.to_spark()
    df.createOrReplaceTempView("native_rows")
    found = spark.sql("SELECT to_json(l), cast(n AS string), t, unix_micros(z) FROM native_rows").toPandas().iloc[0].tolist()
    answers["native"].append([df.sparkSession is spark, [kind for _, kind in df.dtypes], found])
import sframe_spark
spark.catalog.dropTempView("native_rows")
spark.range(3).createOrReplaceTempView("theirs")
query = "SELECT a, id FROM mine JOIN theirs ON a = id JOIN d USING (id) ORDER BY id DESC"
answers["sql"] = [tuple(row.values()) for row in sframe_spark.sql(query, mine=sf, d=spark.range(1, 9))]
answers["views"] = [table.name for table in spark.catalog.listTables()]
answers["tags"] = sorted(spark.getTags())
spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
sf.save(sys.argv[1] + "/saved")
answers["saved"] = len(load_sframe(sys.argv[1] + "/saved"))
rows_of_files = spark.read.parquet(sys.argv[1] + "/saved")
answers["files of saved"] = []
for df in (rows_of_files, rows_of_files.withColumn("more", rows_of_files.c0 + 1).where("more > 5")):
    try:
        answers["files of saved"].append(SFrame(df).column_names())
    except OSError as error:
        answers["files of saved"].append(str(error).replace(sys.argv[1], ""))
SFrame({"c0": [1], "_key": [2]})[["c0", "_key"]].save(sys.argv[1] + "/named")
answers["named"] = SFrame(load_sframe(sys.argv[1] + "/named").to_spark().selectExpr("*", "_key + 1 AS more"))[0]
def reciprocal(value):
    return 1 / (150 - value)
try:
    sf["a"].apply(reciprocal, dtype=float).materialize()
except UserFunctionError as error:
    answers["failed"] = [str(error), isinstance(error, ZeroDivisionError)]
answers["unchanged"] = dict(spark.conf.getAll) == before and SparkSession.active() is spark
print("until the end:", flush=True)
sys.stdin.read()
late = spark.range(3)
spark.stop()
try:
    SFrame(late)
except SessionClosedError as error:
    answers["late"] = str(error)
try:
    sf.sort("k")["a"].sum()
    sf["a"].apply(reciprocal, dtype=float).materialize()
except SessionClosedError as error:
    answers["stopped"] = str(error)
print(json.dumps(answers))
"""


# Where PySpark starts a server that a program asks for with `local`, and how many random programs run there.
URL, WAITING = "sc://localhost:15002", "until the end:\n"
SEED, RANDOM_PROGRAMS = 3000, 1
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
SECONDS = 400


def end_of(process: subprocess.Popen[str], log: IO[str]) -> dict[str, Any]:
    """Let the program end by itself; what it found."""
    output, _ = process.communicate()
    said = Path(log.name).read_text(errors="replace")
    assert process.returncode == 0, said[-4000:]
    assert "SQL config" not in said
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def outcome(action: Callable[[], Any]) -> Any:
    """What an action returns, or how it fails: only the test of that program is to fail."""
    try:
        return action()
    except (AssertionError, subprocess.SubprocessError) as error:
        return error


def of_program(found: dict[str, Any], name: str) -> Any:
    """What one of the programs found."""
    assert name in found, f"the server's own program failed first: {found['own']}"
    if isinstance(found[name], Exception):
        raise found[name]
    return found[name]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each of four programs found; one that failed left its exception."""
    place = tmp_path_factory.mktemp("connect")
    script = place / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, (place / "log").open("w", encoding="utf-8") as log:
        patch.setenv(TOKEN, str(uuid.uuid4()))
        process = subprocess.Popen([sys.executable, str(script), str(place)], stdin=PIPE, stdout=PIPE, stderr=log, text=True)
        watchdog = threading.Timer(SECONDS, process.kill)
        watchdog.start()
        try:
            yield {**found_by_others(process, place), "own": outcome(lambda: end_of(process, log))}
        finally:
            watchdog.cancel()
            process.kill()
            process.communicate()


def found_by_others(process: subprocess.Popen[str], place: Path) -> dict[str, Any]:
    """What others find on the server of a program that has done its work, if it has."""
    assert process.stdout is not None
    if WAITING not in process.stdout:
        return {}
    (place / "settings").mkdir()
    return {
        "random": outcome(lambda: last_line("tests.properties.other_sparks", URL, SEED, RANDOM_PROGRAMS)),
        "settings": outcome(lambda: answers_in(URL, place / "settings")),
        "interchange": outcome(lambda: json.loads(last_line("tests.docs.interchange", URL))),
    }


@pytest.mark.spark
def test_answers_are_those_of_any_session(found: dict[str, Any]) -> None:
    answers = of_program(found, "own")
    assert answers["remote"].startswith("pyspark.sql.connect")
    assert answers["grouped"] == [0, 3, 6]
    assert answers["running"] == sum(range(201))
    assert answers["from_spark"] == [8, 6, 4, 2, 0]
    assert answers["evaluated"] == [50, True, True]
    assert answers["looked"] == [True, False, True]
    assert answers["types"] == ["99", "datetime.datetime(1970, 1, 1, 0, 1, 39, tzinfo=datetime.timezone.utc)", "{'k': 99}", "[99]", "99"]
    assert answers["to_spark"] == 3 and answers["saved"] == 200
    told = "/saved is a frame that save() has written, whose files do not contain its column names: read it with load_sframe(), or"
    assert [str(answer).startswith(told) for answer in answers["files of saved"]] == [True, True], answers["files of saved"]
    assert answers["named"] == {"c0": 1, "_key": 2, "more": 3}
    assert answers["sql"] == [[2, 2], [1, 1]] and answers["views"] == ["theirs"] and answers["tags"] == []
    row = ['[1,"a"]', "2024-03-10 02:30:00", "b", 1710037800000000]
    assert answers["native"] == [[True, ["variant", "timestamp_ntz", "string", "timestamp"], row]] * 3


@pytest.mark.spark
def test_the_session_is_not_changed_and_its_end_is_told(found: dict[str, Any]) -> None:
    answers = of_program(found, "own")
    assert answers["unchanged"]
    assert "Spark session in use has been stopped" in answers["stopped"]
    assert "of a DataFrame that this was made from has been stopped" in answers["late"]


@pytest.mark.spark
def test_a_failing_function_shows_its_own_lines(found: dict[str, Any]) -> None:
    answers = of_program(found, "own")
    text, same_class = answers["failed"]
    assert same_class and "reciprocal at" in text and "division by zero" in text and "input: 150" in text
    assert not any(word in text for word in ("grpc", "SQLSTATE", "sframe_spark-error", "pyspark"))


@pytest.mark.spark
def test_random_programs(found: dict[str, Any]) -> None:
    assert of_program(found, "random") == f"{RANDOM_PROGRAMS} programs, Spark Connect on local[2]"


@pytest.mark.spark
def test_settings_of_a_running_session_hold_for_our_queries(found: dict[str, Any]) -> None:
    require_held(of_program(found, "settings"))


@pytest.mark.spark
def test_settings_that_decide_results_are_ours(found: dict[str, Any]) -> None:
    require_ours(of_program(found, "settings"))


@pytest.mark.spark
def test_columns_go_out_and_come_back_as_the_page_says(found: dict[str, Any]) -> None:
    asked = zip((OUT_CORNER, SPARK_CORNER), in_turn("Connect"), strict=True)
    assert of_program(found, "interchange") == [some_of_page(corner, "Connect", names) for corner, names in asked]
