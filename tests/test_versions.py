"""The versions that `pyproject.toml` allows work together: the lowest of each, and the newest."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pandas
import pytest

from sframe_spark.cli.doctor import REQUIRED_MODULES
from tests.versions.in_process_operations import OF_96_BITS, RECORDED, recorded

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEPENDENCIES: list[str] = PROJECT["dependencies"]
# What reads and writes files and tables.
LIBRARIES: list[str] = [dependency for extra in ("remote", "delta", "iceberg") for dependency in PROJECT["optional-dependencies"][extra]]


def lowest(dependency: str) -> str:
    """A dependency in the lowest version that is allowed."""
    name, bound = re.fullmatch(r"([\w\[\]-]+)>=([\d.]+)(?:,.*)?", dependency).groups()  # type: ignore[union-attr]
    return f"{name}=={bound}"


def test_each_dependency_has_a_lowest_version() -> None:
    assert all("==" in lowest(dependency) for dependency in [*DEPENDENCIES, *LIBRARIES])


def test_doctor_asks_for_the_same_versions() -> None:
    # Of Spark there is more than a lowest version: `session/spark_versions.py`.
    for name, bound in [(name, bound) for name, bound in REQUIRED_MODULES if name != "pyspark"]:
        assert lowest(next(dependency for dependency in DEPENDENCIES if dependency.startswith(name))) == f"{name}=={'.'.join(map(str, bound))}"


def test_pandas_is_imported_by_pyspark_or_is_newer_than_it_knows() -> None:
    """PySpark's pandas API needs pandas 2; that pandas 3 is allowed means that nothing here imports it."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", "import pyspark.pandas"], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (int(pandas.__version__.partition(".")[0]) < 3), done.stderr[-2000:]
    assert not any("pyspark.pandas" in path.read_text(encoding="utf-8") for path in (ROOT / "sframe_spark").rglob("*.py"))


def run(python: str, *arguments: str, directory: Path) -> str:
    """Return what a program prints in another environment."""
    environment = {**os.environ, "PYSPARK_PYTHON": python, "PYTHONPATH": ""}
    command = [python, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment, cwd=directory)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


# What runs in this process, installed as `docs/install.md` says: the package itself, and three libraries beside it.
LIGHT_CORE = ("attrs", "numpy", "pyarrow")


def installed(which: str, python: str, directory: Path) -> None:
    """Install a copy of this package: by itself beside what its light core needs, or with all it needs in the lowest or the newest versions."""
    # Installing leaves a directory `build` where it installs from.
    copy = shutil.copytree(ROOT, directory / "copy", ignore=shutil.ignore_patterns(".*", "tests", "build", "*.egg-info"))
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if which == "light":
        subprocess.run([*install, "--no-deps", str(copy)], check=True, timeout=900)
        subprocess.run([*install, *LIGHT_CORE], check=True, timeout=900)
        return
    wanted = [lowest(dependency) for dependency in [*DEPENDENCIES, *LIBRARIES]] if which == "lowest" else LIBRARIES
    subprocess.run([*install, str(copy), *wanted], check=True, timeout=900)


@pytest.mark.campaign
@pytest.mark.parametrize("which", ["lowest", "newest", "light"])
def test_a_clean_environment(which: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    installed(which, python, tmp_path)
    if which == "light":
        names = "import importlib.metadata as m; print(*sorted(d.name.lower() for d in m.distributions() if d.name not in ('pip', 'setuptools')))"
        assert run(python, "-c", names, directory=tmp_path).split() == sorted([*LIGHT_CORE, "sframe_spark"])
    else:
        assert run(python, str(ROOT / "tests" / "versions_program.py"), directory=tmp_path).endswith("all is well\n")
    shutil.copytree(ROOT / "tests" / "versions", tmp_path / "tests" / "versions")
    shutil.copytree(ROOT / "tests" / "data", tmp_path / "tests" / "data", ignore=lambda folder, names: set(names) - {RECORDED.name, OF_96_BITS.name})
    files = tmp_path / "files"
    files.mkdir()
    values = json.loads(run(python, "-m", "tests.versions.in_process_operations", str(files), directory=tmp_path))
    assert values == {"directly": recorded(), "by a plan": recorded()}
