"""A worker that dies takes no row with it, and a task that fails brings none twice: Spark runs it again, rows and their order are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interpreters import run_program

# A local master whose tasks may fail three times before the job does.
PROGRAM = """
import json, os, sys
from pyspark.sql import SparkSession
from sframe_spark.session.java import find_java
os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(find_java().home), sys.executable
spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
from sframe_spark import SFrame, aggregate, config, load_sframe
config.small_rows, config.single_task_rows, config.default_segments = 0, 0, 7
place = sys.argv[1]
ROWS = 2_000
sf = SFrame({"n": range(ROWS), "k": [(i * 7919) % 11 for i in range(ROWS)]})
sf.save(place + "/saved")
sf = load_sframe(place + "/saved")

def frail(name):
    def value_of(row):
        # The worker that meets one of these rows first dies there.
        if row["n"] in (0, 1400):
            try:
                os.close(os.open(f"{place}/{name}-{row['n']}", os.O_CREAT | os.O_EXCL))
                os._exit(1)
            except FileExistsError:
                pass
        return row["n"] * 3
    return sf.apply(value_of, dtype=int)

def with_column(name):
    return SFrame({"n": sf["n"], "k": sf["k"], "v": frail(name)})

answers = {}
answers["apply"] = list(frail("apply"))
answers["running"] = list(frail("running").cumulative_sum())
grouped = with_column("group").groupby("k", {"all": aggregate.CONCAT("v")})
answers["group"] = [list(row["all"]) for row in grouped]
frame = with_column("save")
frame.save(place + "/frame")
answers["save"] = list(load_sframe(place + "/frame")["v"])
answers["rows"] = len(load_sframe(place + "/frame"))

def failing(batches):
    # Each task fails once, after it has sent its rows on.
    for batch in batches:
        yield batch
    try:
        os.close(os.open(f"{place}/failed-{batch.column(0)[0]}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    raise RuntimeError("first attempt")

counted = SFrame(spark.range(0, 60_000, 1, 3).mapInArrow(failing, "id bigint"))
answers["counted"] = [len(counted["id"]), sorted(counted["id"]) == list(range(60_000))]
print(json.dumps(answers))
"""

NAMES = ("apply", "running", "group", "save")
LOST = (0, 1400)


@pytest.mark.spark
def test_workers_that_die_and_tasks_that_fail_change_nothing(tmp_path: Path) -> None:
    done = run_program(PROGRAM, str(tmp_path), timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    values = [3 * n for n in range(2_000)]
    keys = [(n * 7919) % 11 for n in range(2_000)]
    assert answers["apply"] == answers["save"] == values and answers["rows"] == 2_000
    assert answers["running"] == [sum(values[: n + 1]) for n in range(2_000)]
    assert answers["group"] == [[value for key, value in zip(keys, values, strict=True) if key == wanted] for wanted in range(11)]
    # Each of them did lose its workers.
    assert all((tmp_path / f"{name}-{row}").exists() for name in NAMES for row in LOST)
    assert answers["counted"] == [60_000, True]
    assert len(list(tmp_path.glob("failed-*"))) == 3
