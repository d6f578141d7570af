"""A cluster whose machines share no directory has its frames on an object store, and its temporary data, too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.machine import PROJECT, spark_environment, standalone_cluster
from tests.cluster.object_store import object_store
from tests.cluster.test_cluster import DRIVER, SECONDS, needs_namespaces

ROWS = 6_000
PROGRAM = """
import json, sys
import numpy as np
from pyspark.sql import SparkSession
from sframe_spark import SFrame, aggregate, config, load_sframe
url, settings, options, tmp, rows = json.loads(sys.argv[1])
builder = SparkSession.builder.master(url)
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
config.storage_options, config.temporary_directory = {"s3://": options}, tmp
config.small_rows = config.single_task_rows = 0
numbers = np.arange(rows)
SFrame({"n": numbers, "k": numbers * 5 % 7}).sort("n", ascending=False).save("s3://bucket/table")
table = load_sframe("s3://bucket/table", verify=True)
assert list(table["n"]) == list(range(rows))[::-1]
made = SFrame({"n": table["n"], "square": table["n"].apply(lambda n: n * n, dtype=int), "sum": table["n"].cumulative_sum()})
made.save("s3://bucket/made")
assert list(load_sframe("s3://bucket/made")["square"]) == [n * n for n in range(rows)][::-1]
grouped = table.groupby("k", {"s": aggregate.SUM("n")}).sort("k")
assert list(grouped["s"]) == [sum(n for n in range(rows) if n * 5 % 7 == k) for k in range(7)]
table.sort(["k", "n"]).save("s3://bucket/table")
assert list(load_sframe("s3://bucket/table")["n"]) == sorted(range(rows), key=lambda n: (n * 5 % 7, n))
assert list(table["n"]) == list(range(rows))[::-1]
spark.stop()
print("all right")
"""

TEMPORARY = """
import json, sys, tempfile
import fsspec
import numpy as np
from pyspark.sql import SparkSession
from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
url, settings, options, scratch, rows = json.loads(sys.argv[1])
# Files of this process that no other machine sees.
tempfile.tempdir = scratch
builder = SparkSession.builder.master(url)
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
config.storage_options, config.temporary_directory = {"s3://": options}, "s3://bucket/tmp"
config.small_rows = config.single_task_rows = config.memory_budget = 0
files = fsspec.filesystem("s3", **options)
# Few bytes are many parts.
costs.MAX_BYTES_IMPORTED_AT_ONCE = costs.MAX_FILES_IMPORTED_AT_ONCE = costs.MAX_BYTES_OF_SHORT_REMOTE_FILE = 0
costs.MIN_BYTES_OF_IMPORTED_PART, costs.MAX_BYTES_OF_IMPORTED_PART = 5_000, 10_000
parts, run = {}, SparkTaskRunner.run

def counted(self, works, description, tasks=()):
    parts[description] = len(works)
    return run(self, works, description, tasks)

SparkTaskRunner.run = counted

def stored():
    files.invalidate_cache()
    return sorted({name.split("/")[3] for name in files.find("bucket/tmp")} - {"owner"})

numbers = np.arange(rows)
table = SFrame({"n": numbers, "k": numbers * 5 % 7})
made = table[table["n"] % 2 == 0]
made["square"] = made["n"].apply(lambda n: n * n, dtype=int)
made.materialize()
assert stored(), "nothing was written there"
assert list(made["square"]) == [n * n for n in range(0, rows, 2)]
ordered = made.sort(["k", "n"], ascending=False)
ordered.materialize()
assert list(ordered["n"]) == sorted(range(0, rows, 2), key=lambda n: (n * 5 % 7, n), reverse=True)
assert list(made["n"].cumulative_sum()) == list(np.cumsum(range(0, rows, 2)))
grouped = ordered.groupby("k", {"s": aggregate.SUM("n")})
grouped.materialize()
assert list(grouped.sort("k")["s"]) == [sum(n for n in range(0, rows, 2) if n * 5 % 7 == k) for k in range(7)]
joined = made.join(grouped, on="k")
joined.materialize()
assert len(joined) == rows // 2 and sorted(joined["n"]) == list(range(0, rows, 2))
assert sorted(made["k"].unique()) == list(range(7))
assert list(made.append(ordered).sort("n")["n"])[:4] == [0, 0, 2, 2]
made.export_csv("s3://bucket/out/made.csv")
made.export_json("s3://bucket/out/made.json", orient="lines")
made.write_parquet("s3://bucket/out/made")
of_lines = SFrame.read_json("s3://bucket/out/made.json", orient="lines")
for read in (SFrame.read_csv("s3://bucket/out/*.csv", verbose=False), of_lines, SFrame.read_parquet("s3://bucket/out/made")):
    assert list(read["square"].apply(lambda n: n + 1, dtype=int)) == [n * n + 1 for n in range(0, rows, 2)]
    assert list(read.groupby("k", {"s": aggregate.SUM("n")}).sort("k")["s"]) == list(grouped.sort("k")["s"])
assert parts["reading CSV files"] > 3 and parts["reading JSON files"] > 3, parts
with files.open("bucket/out/odd.csv", "wb") as odd:
    odd.write(b"n,t\\n" + b"".join(b'%d,"a\\n%d,b"\\n' % (n, n) for n in range(rows)))
assert list(SFrame.read_csv("s3://bucket/out/odd.csv", verbose=False)["t"]) == ["a\\n%d,b" % n for n in range(rows)]
ordered.save("s3://bucket/saved")
assert list(load_sframe("s3://bucket/saved", verify=True)["n"]) == list(ordered["n"])
spark.stop()
print("all right")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL of a cluster, and a directory that its machines do not see."""
    place = tmp_path_factory.mktemp("cluster")
    hidden = place / "hidden"
    hidden.mkdir()
    with standalone_cluster(place, hidden, [False, False]) as started:
        yield started.url, hidden


def run_program(program: str, cluster: tuple[str, Path]) -> list[str]:
    """Run a program on the cluster, and return what is on the object store then."""
    url, hidden = cluster
    with object_store() as store:
        arguments = json.dumps([url, DRIVER, store.options, str(hidden), ROWS])
        command = [sys.executable, "-c", program, arguments]
        done = subprocess.run(command, cwd=PROJECT, env=spark_environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.stdout.endswith("all right\n"), done.stdout[-2000:] + done.stderr[-6000:]
        return store.names()


@needs_namespaces
@pytest.mark.spark
def test_temporary_data_on_an_object_store(cluster: tuple[str, Path]) -> None:
    left = run_program(TEMPORARY, cluster)
    assert {name.split("/")[0] for name in left} == {"out", "saved"}, left


@needs_namespaces
@pytest.mark.spark
def test_frames_on_an_object_store_need_no_shared_directory(cluster: tuple[str, Path]) -> None:
    run_program(PROGRAM, cluster)
