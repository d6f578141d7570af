"""A cluster whose machines share no directory saves frames to an object store, and reads them from there; only temporary data need a directory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from tests.cluster.machine import PROJECT, spark_environment, standalone_cluster
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


@needs_namespaces
@pytest.mark.spark
def test_frames_on_an_object_store_need_no_shared_directory(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        options = {"key": "k", "secret": "s", "endpoint_url": f"http://{host}:{port}"}
        fsspec.filesystem("s3", **options).mkdir("bucket")
        with standalone_cluster(tmp_path, shared, [False, False]) as cluster:
            arguments = json.dumps([cluster.url, DRIVER, options, str(shared), ROWS])
            command = [sys.executable, "-c", PROGRAM, arguments]
            done = subprocess.run(command, cwd=PROJECT, env=spark_environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.stdout.endswith("all right\n"), done.stdout[-2000:] + done.stderr[-6000:]
    finally:
        server.stop()
