"""Tables whose directory not all machines see are refused before anything is written; files that a machine does not see are no damage."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster.machine import PROJECT, spark_environment, standalone_cluster
from tests.cluster.test_cluster import DRIVER, SECONDS, needs_namespaces

ROWS = 6_000
PROGRAM = """
import json, os, platform, sys
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from sframe_spark import SFrame, config
from sframe_spark.errors import NotSharedError, StorageError
url, settings, place, tmp, rows, shared = json.loads(sys.argv[1])
builder = SparkSession.builder.master(url)
for key, value in {**settings, "spark.sql.warehouse.dir": place + "/warehouse"}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
config.temporary_directory, config.small_rows, config.single_task_rows = tmp, 0, 0
frame = SFrame({"n": range(rows)}).sort("n", ascending=False)
os.makedirs(place + "/outside")
pq.write_table(pa.table({"n": [5], "_sframe_row": [0]}), place + "/outside/part-0.parquet")
spark.sql(f"CREATE TABLE outside (n BIGINT, _sframe_row BIGINT) USING parquet LOCATION 'file://{place}/outside'")

def write(name, mode):
    frame.to_table(name, mode=mode)
    return list(SFrame.from_table(name)["n"])

for name, mode, before in (("fresh", "error", []), ("outside", "append", [5])):
    try:
        found = write(name, mode)
        assert shared and found == before + list(range(rows))[::-1], found[:9]
    except NotSharedError as error:
        told = str(error)
        assert not shared and platform.node() in told and "spark.sql.warehouse.dir" in told and "SFRAME_SPARK_TMP" not in told, told
        # Beside files that are not the catalog's nobody may be allowed to write.
        assert "\\n" not in told and place + ("/outside is" if name == "outside" else "/warehouse is") in told, told
        assert os.listdir(place + "/outside") == ["part-0.parquet"] and not spark.catalog.tableExists("fresh")
        assert not [name for name in os.listdir(place + "/warehouse") if "sframe" in name]
pq.write_table(pa.table({"n": range(rows)}), place + "/theirs.parquet")
# As many tasks as there are cores, and more: each machine reads some of it.
spark.conf.set("spark.sql.files.maxPartitionBytes", "4096")
try:
    assert sorted(SFrame(spark.read.schema("n bigint").parquet("file://" + place + "/theirs.parquet"))["n"]) == list(range(rows))
    assert shared
except StorageError as error:
    assert not shared and "theirs.parquet" in str(error) and "all machines" in str(error) and "damaged" not in str(error), error
spark.stop()
print("all right")
"""


@needs_namespaces
@pytest.mark.cluster
@pytest.mark.parametrize("sees", [(True, True), (False, False)], ids=["shared", "not shared"])
def test_tables(tmp_path: Path, sees: Sequence[bool]) -> None:
    data, tmp = tmp_path / "data", tmp_path / "tmp"
    for place in (data, tmp):
        place.mkdir()
    with standalone_cluster(tmp_path, data, sees) as cluster:
        arguments = json.dumps([cluster.url, DRIVER, str(data), str(tmp), ROWS, all(sees)])
        command = [sys.executable, "-c", PROGRAM, arguments]
        done = subprocess.run(command, cwd=PROJECT, env=spark_environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.stdout.endswith("all right\n"), done.stdout[-2000:] + done.stderr[-6000:]
