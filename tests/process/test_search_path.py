"""Processes that call functions import from where the program does, and from nowhere else: not from the directory in which it was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import part

# Python itself, this package and Spark import them; each says that it ran.
HOSTILE = ("random", "socket", "pickle", "struct", "typing", "numpy", "pyarrow", "pandas", "sitecustomize", "usercustomize", "logging", "site", "os")
SCRIPT = """
import os, sys
from sframe_spark import SArray, config
from sframe_spark.session import is_started

config.progress = "off"
if config.small_rows:
    config.small_rows = 100

def found(value):
    import rules_of_the_program
    return f"{os.getcwd() in sys.path} {'' in sys.path} {rules_of_the_program.RATE} {sys.flags.optimize} {sys.flags.dev_mode} {sys.warnoptions}"

sys.path.append(os.environ["LATER"])
import rules_of_the_program
of_functions = set(SArray(range(3000)).apply(found, str)[1000:])
print(of_functions == {found(0)}, of_functions if of_functions != {found(0)} else "", is_started())
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    """The arguments of a program in a directory, started in another one that has modules of many names."""
    for folder in ("hostile", "program", "later"):
        (tmp_path / folder).mkdir()
    for name in HOSTILE:
        (tmp_path / "hostile" / f"{name}.py").write_text(f"import sys\nsys.stderr.write('{name}.py ran')\nraise ImportError('{name}.py ran')\n")
    (tmp_path / "program" / "script.py").write_text(SCRIPT)
    (tmp_path / "later" / "rules_of_the_program.py").write_text("RATE = 0.2\n")
    return [str(tmp_path / "program" / "script.py")]


def run(program: list[str], options: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, *program], capture_output=True, text=True, timeout=200, check=False, cwd=folder / "hostile",
        env={**os.environ, "LATER": str(folder / "later"), "PYTHONNOUSERSITE": "1", **environment},
    )  # fmt: skip


@pytest.mark.parametrize("options", part([["-E", "-O", "-P", "-s", "-X", "dev", "-W", "ignore"], ["-I"], []], 3), ids=" ".join)
def test_processes_of_ours(program: list[str], options: list[str], tmp_path: Path) -> None:
    ignores_environment = {"-I", "-E"} & set(options)
    hostile = {"PYTHONPATH": str(tmp_path / "hostile"), "PYTHONINSPECT": ""} if ignores_environment else {}
    found = run(program, options, tmp_path, **hostile)
    assert (found.stdout, found.stderr, found.returncode) == ("True  False\n", "", 0)


# Of modules that were loaded before the program's directory was on the path.
@pytest.mark.parametrize("options", part([[], ["-X", "frozen_modules=off"]], 2), ids=" ".join)
def test_modules_of_the_program_are_not_those_that_start_an_interpreter(program: list[str], options: list[str], tmp_path: Path) -> None:
    for name in ("site", "os", "stat", "genericpath", "codecs", "sitecustomize", "usercustomize"):
        (tmp_path / "program" / f"{name}.py").write_text((tmp_path / "hostile" / "site.py").read_text().replace("site.py", f"{name}.py"))
    # With the user's own directory of packages, whose customizations are run too.
    found = run(program, options, tmp_path, PYTHONNOUSERSITE="")
    assert (found.stdout, found.stderr, found.returncode) == ("True  False\n", "", 0)


@pytest.mark.spark
@pytest.mark.parametrize("options", part([["-I"], []], 2), ids=" ".join)
def test_tasks_of_spark(program: list[str], options: list[str], tmp_path: Path) -> None:
    hostile = {"PYTHONPATH": str(tmp_path / "hostile")} if options else {}
    (tmp_path / "program" / "script.py").write_text(SCRIPT.replace("{sys.flags.optimize} {sys.flags.dev_mode} {sys.warnoptions}", ""))
    found = run(program, options, tmp_path, SFRAME_SPARK_SMALL_ROWS="0", **hostile)
    assert ("ran" not in found.stderr, found.stdout, found.returncode) == (True, "True  True\n", 0), found.stderr


USERS_SESSION = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
before = dict(spark.sparkContext.environment)
from sframe_spark import SArray, SFrame, config
config.progress = "off"
print(set(SArray(range(3000)).apply(lambda value: 2 * value, int)) == set(range(0, 6000, 2)))
print(SFrame(spark.range(10))["id"].apply(lambda value: value + 1, int).sum(), spark.sparkContext.environment == before)
"""


@pytest.mark.spark
def test_functions_of_ours_in_a_session_of_the_user(program: list[str], tmp_path: Path) -> None:
    (tmp_path / "program" / "script.py").write_text(USERS_SESSION)
    found = run(program, [], tmp_path, SFRAME_SPARK_SMALL_ROWS="0")
    assert ("ran" not in found.stderr, found.stdout, found.returncode) == (True, "True\n55 True\n", 0), found.stderr
