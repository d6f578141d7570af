"""Executors whose Python lacks this package are sent it; those that differ otherwise are refused in one line."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import attr
import pytest

from tests.cluster.machine import connect_server, spark_environment, standalone_cluster
from tests.cluster.test_cluster import DRIVER, SECONDS

# What executors need and is compiled, or Spark's own.
NEEDED = ("pyspark", "py4j", "pyarrow", "numpy", "numpy.libs", "pandas", "pandas.libs", "pytz", "dateutil", "six.py", "tzdata")
PROGRAM = """
import os, sys
from pyspark.sql import SparkSession
from sframe_spark import SFrame, config
url, shared, settings = sys.argv[1], sys.argv[2], dict(text.split("=", 1) for text in sys.argv[3:])
builder = SparkSession.builder.remote(url) if url.startswith("sc:") else SparkSession.builder.master(url)
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
before = list(sys.path)
config.temporary_directory, config.small_rows, config.single_task_rows = shared, 0, 0
try:
    frame = SFrame(spark.range(0, 6000, 1, 3)).sort("id")
    frame["place"] = frame["id"].apply(lambda n: sys.modules["sframe_spark"].__file__, dtype=str)
    frame["total"] = frame["id"].cumulative_sum()
    assert list(frame["total"])[-1] == sum(range(6000))
    (place,) = frame["place"].unique()
    assert (".zip/sframe_spark/" in place) == ("bare" in os.environ["PYSPARK_PYTHON"]), place
    assert sys.path == before
    print("all right")
except Exception as error:
    print(type(error).__name__, error)
finally:
    spark.stop()
"""


def bare_python(place: Path, *without: str) -> str:
    """A Python that has what executors need but this package and attrs, and lacks some of it."""
    venv.create(place, with_pip=False, symlinks=True)
    packages = place / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    installed = Path(attr.__file__).parents[1]
    for name in NEEDED:
        if name not in without and (installed / name).exists():
            (packages / name).symlink_to(installed / name)
    return str(place / "bin" / "python")


def run(url: str, shared: Path, settings: Mapping[str, str], **variables: str) -> str:
    """What the program says."""
    shared.mkdir(exist_ok=True)
    arguments = [f"{key}={value}" for key, value in settings.items()]
    environment = {**spark_environment(), **variables}
    command = [sys.executable, "-c", PROGRAM, url, str(shared), *arguments]
    done = subprocess.run(command, cwd=shared.parent, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout.count("\n") == 1, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout.rstrip()


def without_project(python: str) -> dict[str, str]:
    """Settings of executors that run a Python and find nothing of this checkout."""
    return {**DRIVER, "spark.executorEnv.PYTHONPATH": "", "spark.pyspark.python": python}


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The directory that all processes see."""
    place = tmp_path / "shared"
    place.mkdir()
    return place


@pytest.mark.spark
def test_a_standalone_cluster_without_the_package_is_sent_it(tmp_path: Path, shared: Path) -> None:
    python = bare_python(tmp_path / "bare")
    lacks = subprocess.run([python, "-c", "import pyarrow, sframe_spark"], cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    assert "No module named 'sframe_spark'" in lacks.stderr
    with standalone_cluster(tmp_path, shared, [True, True]) as cluster:
        assert run(cluster.url, shared, without_project(python), PYSPARK_PYTHON=python) == "all right"


@pytest.mark.cluster
def test_other_packages_are_told_in_one_line(tmp_path: Path, shared: Path) -> None:
    old, empty = bare_python(tmp_path / "old"), bare_python(tmp_path / "empty", "pyarrow")
    (package,) = (tmp_path / "old").glob("lib/python*/site-packages")
    (package / "sframe_spark").mkdir()
    (package / "sframe_spark" / "__init__.py").write_text('__version__ = "0.0.1"\n', encoding="utf-8")
    with standalone_cluster(tmp_path, shared, [True, True]) as cluster:
        for python, told in (
            (old, "has sframe_spark 0.0.1, where "),
            (empty, "No module named 'pyarrow'; install the same versions"),
            ("/nowhere/python", 'Cannot run program "/nowhere/python"'),
        ):
            said = run(cluster.url, shared, without_project(python), PYSPARK_PYTHON=python)
            assert said.startswith("NotSharedError") and told in said, said


@pytest.mark.cluster
def test_executors_of_a_local_cluster(tmp_path: Path, shared: Path) -> None:
    python = bare_python(tmp_path / "bare")
    settings = {**without_project(python), "spark.sql.execution.pyspark.python": python}
    assert run("local-cluster[2,1,600]", shared, settings, PYSPARK_PYTHON=python) == "all right"


@pytest.mark.cluster
def test_a_connect_server(tmp_path: Path, shared: Path) -> None:
    python = bare_python(tmp_path / "bare")
    with connect_server(tmp_path, shared, True, python) as url:
        assert run(url, shared, {}, PYSPARK_PYTHON=python) == "all right"
