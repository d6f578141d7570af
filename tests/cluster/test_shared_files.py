"""CSV and JSON files in a directory of all machines are read by tasks; in one that a machine does not see, by the driver, with the same rows."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.cluster.machine import PROJECT, StandaloneCluster, spark_environment, standalone_cluster
from tests.cluster.test_cluster import DRIVER, SECONDS, needs_namespaces

ROWS = 6_000
PROGRAM = """
import json, logging, sys
from pyspark.sql import SparkSession
from sframe_spark import SFrame, config
from sframe_spark.engine import costs
from sframe_spark.engine.runtime import external_file_import as parts_of_files
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
from sframe_spark.errors import StorageError
url, settings, place, tmp, rows = json.loads(sys.argv[1])
config.temporary_directory, config.small_rows, config.single_task_rows = tmp, 0, 0
# Few bytes are many parts.
costs.MAX_BYTES_IMPORTED_AT_ONCE = costs.MAX_BYTES_IMPORTED_LOCALLY_ON_CLUSTER = 0
costs.MAX_FILES_IMPORTED_AT_ONCE = costs.MAX_BYTES_OF_SHORT_REMOTE_FILE = 0
costs.MIN_BYTES_OF_IMPORTED_PART, costs.MAX_BYTES_OF_IMPORTED_PART = 5_000, 10_000
parts, run = {}, SparkTaskRunner.run

def counted(self, works, description, tasks=()):
    parts[description] = len(works)
    return run(self, works, description, tasks)

SparkTaskRunner.run = counted
told = []
logging.getLogger("sframe_spark").addHandler(logging.Handler())
logging.getLogger("sframe_spark").handlers[-1].emit = lambda record: told.append(record.getMessage())

def read(kind):
    if kind == "csv":
        return SFrame.read_csv(place + "/odd.csv", verbose=False)
    return SFrame.read_json(place + "/odd.json", orient="lines")

def check(expected):
    for kind, texts in (("csv", ["a\\n%d,b" % n for n in range(rows)]), ("json", ["text %d" % n for n in range(rows)])):
        try:
            frame = read(kind)
            assert list(frame["n"].apply(lambda n: n + 1, dtype=int)) == list(range(1, rows + 1))
            assert list(frame["t"]) == texts
        except StorageError as error:
            assert expected == "unasked" and "/odd." + kind in str(error), error
    alone = [text for text in told if "are read by this process alone" in text]
    if expected == "tasks":
        assert parts["reading CSV files"] > 5 and parts["reading JSON files"] > 5 and not alone, (parts, alone)
        try:
            SFrame.read_csv(place + "/bad.csv", verbose=False, error_bad_lines=True)
        except StorageError as error:
            assert "/bad.csv: line 'no row' has another number of fields than 2" in str(error), error
        else:
            raise AssertionError("a line that is no row was read")
        found, left_out = SFrame.read_csv_with_errors(place + "/bad.csv", verbose=False)
        assert len(found) == 2 * rows and list(left_out[place + "/bad.csv"]) == ["no row"]
    if expected == "driver":
        assert not any(name.startswith("reading") for name in parts), parts
        assert len(alone) == 2 and "does not see" in alone[0] and place in alone[0], alone

# A session for each: executors are those of the workers that are there when it starts.
for line in sys.stdin:
    expected = line.strip()
    builder = SparkSession.builder.master(url)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    parts.clear()
    told.clear()
    if expected == "unasked":
        # As if the machine that does not see them had come later.
        parts_of_files.why_not_in_tasks = lambda files: ""
    check(expected)
    spark.stop()
    print("all right", flush=True)
"""


@contextlib.contextmanager
def program(cluster: StandaloneCluster, *arguments: Any) -> Iterator[Callable[[str], None]]:
    """The program, which is asked what is to be expected at the moment."""
    command = [sys.executable, "-c", PROGRAM, json.dumps([cluster.url, DRIVER, *arguments])]
    with subprocess.Popen(command, cwd=PROJECT, env=spark_environment(), stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        told: list[str] = []
        listener = threading.Thread(target=lambda: told.extend(process.stderr))  # type: ignore[arg-type]
        watchdog = threading.Timer(SECONDS, process.kill)
        listener.start()
        watchdog.start()

        def check(expected: str) -> None:
            print(expected, file=process.stdin, flush=True)
            if process.stdout.readline() != "all right\n":  # type: ignore[union-attr]
                process.kill()
                listener.join()
                raise AssertionError(f"{expected}: {''.join(told)[-6000:]}")

        try:
            yield check
            process.stdin.close()
            assert process.wait(60) == 0
        finally:
            watchdog.cancel()
            process.kill()
            listener.join()


@needs_namespaces
@pytest.mark.parametrize(
    "without_one", [pytest.param(("driver",), marks=pytest.mark.spark), pytest.param(("driver", "unasked"), marks=pytest.mark.cluster)], ids=len
)
def test_who_reads_files_of_a_directory_that_all_machines_see_or_not(without_one: Sequence[str], tmp_path: Path) -> None:
    data, tmp = tmp_path / "data", tmp_path / "tmp"
    for place in (data, tmp):
        place.mkdir()
    rows = "".join(f'{n},"a\n{n},b"\n' for n in range(ROWS))
    (data / "odd.csv").write_text("n,t\n" + rows)
    (data / "bad.csv").write_text("n,t\n" + rows + "no row\n" + rows)
    (data / "odd.json").write_text("".join(json.dumps({"n": n, "t": f"text {n}"}) + "\n" for n in range(ROWS)))
    with standalone_cluster(tmp_path, data, [True, True]) as cluster, program(cluster, str(data), str(tmp), ROWS) as check:
        check("tasks")
        cluster.end_first_worker()
        cluster.start_workers([False])
        for expected in without_one:
            check(expected)
