"""A user's Spark Connect session is used like any other: same answers, own settings, errors of users' functions, an end without waiting."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
answers["to_spark"] = sf.to_spark().where("a < 3").count()
sf.save(sys.argv[1] + "/saved")
answers["saved"] = len(load_sframe(sys.argv[1] + "/saved"))
def reciprocal(value):
    return 1 / (150 - value)
try:
    sf["a"].apply(reciprocal, dtype=float).materialize()
except UserFunctionError as error:
    answers["failed"] = [str(error), isinstance(error, ZeroDivisionError)]
answers["unchanged"] = dict(spark.conf.getAll) == before and SparkSession.active() is spark
spark.stop()
try:
    sf.sort("k")["a"].sum()
    sf["a"].apply(reciprocal, dtype=float).materialize()
except SessionClosedError as error:
    answers["stopped"] = str(error)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found, which ended by itself."""
    place = tmp_path_factory.mktemp("connect")
    script = Path(place) / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script), str(place)], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "SQL config" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.spark
def test_answers_are_those_of_any_session(answers: dict[str, Any]) -> None:
    assert answers["remote"].startswith("pyspark.sql.connect")
    assert answers["grouped"] == [0, 3, 6]
    assert answers["running"] == sum(range(201))
    assert answers["from_spark"] == [8, 6, 4, 2, 0]
    assert answers["evaluated"] == [50, True, True]
    assert answers["to_spark"] == 3 and answers["saved"] == 200


@pytest.mark.spark
def test_the_session_is_not_changed_and_its_end_is_told(answers: dict[str, Any]) -> None:
    assert answers["unchanged"]
    assert "Spark session in use has been stopped" in answers["stopped"]


@pytest.mark.spark
def test_a_failing_function_shows_its_own_lines(answers: dict[str, Any]) -> None:
    text, same_class = answers["failed"]
    assert same_class and "reciprocal at" in text and "division by zero" in text and "input: 150" in text
    assert not any(word in text for word in ("grpc", "SQLSTATE", "sframe_spark-error", "pyspark"))
