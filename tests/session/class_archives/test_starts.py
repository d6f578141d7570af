"""With a real Java: Spark starts from the archive that was kept, and without it where that is broken.

Campaigns run this: ``make test`` itself writes an archive in the same way (`tests/class_archive.py`), and all its JVMs start from it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sframe_spark.session.jvm_class_archive_lookup import CLASSES
from tests.session.class_archives.made_up import VARIABLES

pytestmark = [
    pytest.mark.spark,
    pytest.mark.campaign,
    pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs a list of what a process has mapped"),
]

KEEP = """
from sframe_spark.cli.prepare import run_prepare
raise SystemExit(run_prepare(lambda place: None, False, print))
"""
# What the JVM has mapped, and an answer of it.
START = """
import json, sys
from pathlib import Path
from pyspark import SparkContext
from sframe_spark.session import get_session
total = get_session().range(1000).selectExpr("sum(id)").collect()[0][0]
maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text()
print(json.dumps([total, sys.argv[1] in maps]))
"""


def run(program: str, cache: Path, *arguments: str) -> tuple[str, str]:
    """What a program prints in a fresh process whose user has that cache directory, which is the current one, too."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    environment = {**kept, "XDG_CACHE_HOME": str(cache), "SFRAME_SPARK_JVM_OPTIONS": options, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, cwd=cache, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache directory of a user who keeps an archive."""
    directory = tmp_path_factory.mktemp("cache")
    said, _ = run(KEEP, directory)
    assert "new Spark sessions will use it" in said
    return directory


def test_spark_starts_from_it(cache: Path) -> None:
    (file,) = cache.glob(f"*/*/*/{CLASSES}")
    said, complaints = run(START, cache, str(file))
    assert json.loads(said) == [499500, True]
    assert "[warning]" not in complaints and "archive" not in complaints.lower()


# What becomes of a JVM that ends at its archive is tested with one of a script in `test_archive.py`.
def test_spark_starts_without_it_where_it_is_broken(cache: Path) -> None:
    (file,) = cache.glob(f"*/*/*/{CLASSES}")
    # Of another length than the record says it is not even named to Java, as other tests have it; here the record says that this is right.
    whole = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(whole[: len(whole) // 3])
    (record,) = cache.glob("*/*/*.json")
    found, status = json.loads(record.read_text()), file.stat()
    found["files"][CLASSES] = [status.st_size, status.st_mtime_ns]
    record.write_text(json.dumps(found))
    # Java ends, and is started without, or it does without by itself.
    said, _ = run(START, cache, str(file))
    assert json.loads(said.splitlines()[-1])[0] == 499500
    assert not record.exists() or "fatal error" not in said
