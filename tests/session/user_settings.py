"""A program of a user who sets this and that in a session, and what must be true of what it finds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = """
import json, os, sys
from pathlib import Path
from pyspark.sql import SparkSession
from sframe_spark.session.java import find_java
os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(find_java().home), sys.executable
builder = SparkSession.builder.remote(sys.argv[2]) if sys.argv[2] != "classic" else SparkSession.builder.master("local[2]")
spark = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").config("spark.sql.warehouse.dir", "/tmp/w").getOrCreate()
place, settings = Path(sys.argv[1]), spark.conf
HOSTILE = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.caseSensitive": "false",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
}
for key, value in HOSTILE.items():
    settings.set(key, value)
settings.set("spark.sql.adaptive.enabled", "false")
settings.set("spark.sql.shuffle.partitions", "5")
settings.set("fs.s3a.endpoint", "first")
settings.set("spark.sql.catalog.mine.uri", "thrift://here")

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.errors import SFrameError
from sframe_spark.session import QuerySize, get_session
from sframe_spark.session.spark_versions import settings_of
SIZES = [QuerySize.SMALL, QuerySize.DEFAULT, QuerySize.large(64)]
# A Connect server takes passwords and keys but shows them to nobody.
SECRET = {} if sys.argv[2] != "classic" else {"fs.s3a.access.key": "first"}
for key, value in SECRET.items():
    settings.set(key, value)
config.small_rows, config.single_task_rows = 0, 0
frame = SFrame({"n": range(2000), "k": [n % 50 for n in range(2000)]})
frame.save(str(place / "frame"))
answers = {}

def files():
    path = place / str(len(os.listdir(place)))
    load_sframe(str(place / "frame")).sort("k").save(str(path))
    return sum(name.endswith(".parquet") for name in os.listdir(path))

def carried():
    keys = ["fs.s3a.endpoint", "fs.s3a.path", "spark.sql.catalog.mine.uri", *HOSTILE, "spark.sql.warehouse.dir"]
    assert all(get_session(size).conf.get(key) == value for size in SIZES for key, value in SECRET.items())
    return [{key: get_session(size).conf.get(key, None) for key in keys} for size in SIZES]

answers["files"] = files()
for size in SIZES:
    get_session(size)
answers["at first"] = carried()
settings.set("spark.sql.shuffle.partitions", "3")
settings.set("fs.s3a.endpoint", "second")
settings.set("fs.s3a.path", "new")
settings.unset("spark.sql.catalog.mine.uri")
answers["files later"] = files()
answers["later"] = carried()
answers["partitions"] = [get_session(size).conf.get("spark.sql.shuffle.partitions") for size in SIZES]
settings.set("fs.file.impl.disable.cache", "true")
settings.set("fs.file.impl", "no.such.FileSystem")
try:
    answers["file system"] = files()
except SFrameError as error:
    answers["file system"] = str(error)
settings.unset("fs.file.impl")
answers["files again"] = files()
before = settings_of(spark)
answers["hostile"] = {key: before.get(key) == value for key, value in HOSTILE.items()}
print(json.dumps(answers))
spark.stop()
"""


def answers_in(session: str, place: Path) -> dict[str, Any]:
    """What the program found in a ``classic`` session of its process, or in one of the Connect server with this URL."""
    command = [sys.executable, "-c", PROGRAM, str(place), session]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def require_held(answers: dict[str, Any]) -> None:
    """Settings of a running session hold for our queries."""
    assert [answers["files"], answers["files later"], answers["files again"]] == [5, 3, 3]
    assert answers["partitions"] == ["1", "3", "64"]
    for settings in answers["at first"]:
        assert [settings["fs.s3a.endpoint"], settings["spark.sql.catalog.mine.uri"]] == ["first", "thrift://here"]
    for settings in answers["later"]:
        assert [settings["fs.s3a.endpoint"], settings["fs.s3a.path"], settings["spark.sql.catalog.mine.uri"]] == ["second", "new", None]
    assert "no.such.FileSystem" in str(answers["file system"])


def require_ours(answers: dict[str, Any]) -> None:
    """Settings that decide results are ours."""
    for settings in [*answers["at first"], *answers["later"]]:
        assert settings["spark.sql.ansi.enabled"] == settings["spark.sql.files.ignoreMissingFiles"] == "false"
        assert settings["spark.sql.session.timeZone"] == "UTC" and settings["spark.sql.caseSensitive"] == "true"
        assert settings["spark.sql.legacy.timeParserPolicy"] != "LEGACY"
        assert settings["spark.sql.parquet.datetimeRebaseModeInRead"] == "CORRECTED"
        assert settings["spark.sql.execution.arrow.maxRecordsPerBatch"] == "131072"
    assert all(answers["hostile"].values())
