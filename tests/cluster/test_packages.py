"""Executors whose Python lacks this package, or a plug-in, are sent it; those that differ otherwise are refused in one line."""

from __future__ import annotations

import shlex
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import attr
import pytest

from tests.cluster.machine import PROJECT, connect_server, spark_environment, standalone_cluster
from tests.cluster.run import RIGHT
from tests.cluster.test_cluster import DRIVER, SECONDS, driver

# What executors need and is compiled, or Spark's own.
NEEDED = ("pyspark", "py4j", "pyarrow", "numpy", "numpy.libs", "pandas", "pandas.libs", "pytz", "dateutil", "six.py", "tzdata")
PROGRAM = "file_programs:package_of_executors"
PROGRAMS = (PROGRAM, "file_programs:plugin_of_executors", "file_programs:origin_of_plugins")
# A package whose function and operator say where their module is from.
ORIGIN_MODULE = """
from typing import ClassVar

import attrs
import pyarrow as pa

from sframe_spark.plugin import STR, Chunk, Need, Operator, call, column_of, define_function, node_of, public_function, register


def files(rows):
    return pa.array([__file__] * rows, pa.string())


define_function("module_file", lambda types, parameters: STR, lambda arguments, types, parameters, rows: files(rows))


@register
@attrs.frozen
class ModuleFiles(Operator):
    "Row by row, the file of this module."

    name: ClassVar[str] = "module_files"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True

    def infer_type(self, inputs):
        return (STR,)

    def requires(self, slot):
        return Need.DENSE

    def kernel(self, inputs, facts):
        return Chunk((files(inputs[0].rows),), inputs[0].rows)


@public_function
def module_file(column):
    return call("module_file", column)


@public_function
def module_files(column):
    return column_of(ModuleFiles().make_planner_node(node_of(column)))
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


def ending(url: str, shared: Path, settings: Mapping[str, str], program: str = PROGRAM, packages: Path | None = None) -> tuple[str, str]:
    """How a program ends, in a process that has some packages."""
    shared.mkdir(exist_ok=True)
    with driver(url, shared, packages) as one:
        return one.endings([program], settings)[program]


def without_project(python: str) -> dict[str, str]:
    """Settings of executors that run a Python and find nothing of this checkout."""
    return {**DRIVER, "spark.executorEnv.PYTHONPATH": "", "spark.pyspark.python": python, "spark.test.python": python}


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The directory that all processes see."""
    place = tmp_path / "shared"
    place.mkdir()
    return place


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A directory with the package that says where it is from."""
    place = tmp_path / "packages"
    install_origin(place, "1.0")
    return place


def install_origin(place: Path, version: str) -> None:
    """Write a version of the package that says where it is from."""
    metadata = place / f"sframe_origin-{version}.dist-info"
    metadata.mkdir(parents=True)
    (place / "sframe_origin.py").write_text(ORIGIN_MODULE, encoding="utf-8")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sframe-origin\nVersion: {version}\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[sframe_spark.plugins]\norigin = sframe_origin\n", encoding="utf-8")


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
            _, said = ending(cluster.url, shared, without_project(python))
            assert said.startswith("NotSharedError") and told in said, said


@pytest.mark.cluster
def test_another_version_of_a_plug_in_on_a_standalone_cluster(tmp_path: Path, shared: Path, packages: Path) -> None:
    """Plans that use the plug-in are refused by name; others run there."""
    python = bare_python(tmp_path / "bare")
    (of_executors,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    install_origin(of_executors, "2.0")
    with standalone_cluster(tmp_path, shared, [True]) as cluster:
        _, said = ending(cluster.url, shared, without_project(python), "file_programs:origin_of_plugins", packages)
        assert said.startswith("NotSharedError") and "sframe-origin 2.0" in said and "1.0" in said and "install the same version" in said, said
        kind, said = ending(cluster.url, shared, without_project(python), PROGRAM, packages)
        assert kind == RIGHT, said


def doctor(url: str, settings: Mapping[str, str], **variables: str) -> str:
    """What the doctor says of a cluster, where the settings are those of every program."""
    arguments = [f"--conf {shlex.quote(f'{key}={value}')}" for key, value in settings.items()]
    environment = {**spark_environment(), "PYSPARK_SUBMIT_ARGS": " ".join([*arguments, "pyspark-shell"]), **variables}
    command = [sys.executable, "-m", "sframe_spark", "doctor", "--master", url]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == (1 if "WRONG" in done.stdout else 0), done.stdout + done.stderr[-4000:]
    return done.stdout


@pytest.mark.cluster
def test_the_doctor_asks_executors(tmp_path: Path, shared: Path) -> None:
    bare, empty = bare_python(tmp_path / "bare"), bare_python(tmp_path / "empty", "pyarrow")
    with standalone_cluster(tmp_path, shared, [True, True]) as cluster:
        said = doctor(cluster.url, without_project(bare), PYSPARK_PYTHON=bare, SFRAME_SPARK_TMP=str(shared))
        executors = [line for line in said.splitlines() if line.startswith("ok     executor on ")]
        assert len(executors) == 2 and all(line.endswith(", sent from here") for line in executors), said
        assert f"ok     shared directory: all executors see {shared}" in said and said.endswith("all is well\n"), said
        said = doctor(cluster.url, without_project(empty), PYSPARK_PYTHON=empty)
        assert "WRONG  executors: " in said and "No module named 'pyarrow'" in said, said
    said = doctor(cluster.url, DRIVER)
    assert f"WRONG  cluster: {cluster.url} cannot be used: " in said, said


@pytest.mark.cluster
@pytest.mark.parametrize("program", PROGRAMS)
def test_executors_of_a_local_cluster(program: str, tmp_path: Path, shared: Path, packages: Path) -> None:
    python = bare_python(tmp_path / "bare")
    settings = {**without_project(python), "spark.sql.execution.pyspark.python": python}
    kind, said = ending("local-cluster[2,1,600]", shared, settings, program, packages)
    assert kind == RIGHT, said


@pytest.mark.cluster
def test_a_connect_server(tmp_path: Path, shared: Path, packages: Path) -> None:
    python = bare_python(tmp_path / "bare")
    with connect_server(tmp_path, shared, True, python) as url:
        for program in PROGRAMS:
            kind, said = ending(url, shared, {"spark.test.python": python}, program, packages)
            assert kind == RIGHT, said
