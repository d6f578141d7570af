"""The versions that `pyproject.toml` allows work together: the lowest of each, and the newest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEPENDENCIES: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]


def lowest(dependency: str) -> str:
    """A dependency in the lowest version that is allowed."""
    name, bound = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,.*)?", dependency).groups()  # type: ignore[union-attr]
    return f"{name}=={bound}"


def test_each_dependency_has_a_lowest_version() -> None:
    assert all("==" in lowest(dependency) for dependency in DEPENDENCIES)


def test_pandas_is_one_that_pyspark_imports() -> None:
    """PySpark 4.3 fails on ``df.pandas_api()`` beside pandas 3: once this import works there, the bound may go."""
    assert "pandas>=2.2,<3" in DEPENDENCIES
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", "import pyspark.pandas"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.campaign
@pytest.mark.parametrize("which", ["lowest", "newest"])
def test_a_clean_environment(which: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    wanted = [lowest(dependency) for dependency in DEPENDENCIES] if which == "lowest" else []
    # Installing leaves a directory `build` where it installs from.
    copy = shutil.copytree(ROOT, tmp_path / "copy", ignore=shutil.ignore_patterns(".*", "tests", "build", "*.egg-info"))
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(copy), *wanted], check=True, timeout=900)
    environment = {**os.environ, "PYSPARK_PYTHON": python, "PYTHONPATH": ""}
    done = subprocess.run(
        [python, str(ROOT / "tests" / "versions_program.py")], capture_output=True, text=True, timeout=300, check=False, env=environment, cwd=tmp_path
    )
    assert done.stdout.endswith("all is well\n"), done.stdout[-2000:] + done.stderr[-4000:]
