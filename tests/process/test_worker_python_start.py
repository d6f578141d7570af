"""Only a Python interpreter is started, with the options of this one; a program that has its own built in calls functions itself."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.errors import NotSharedError
from sframe_spark.process import worker_python_start as module
from sframe_spark.process.python_worker_pool_and_message_channel import can_start
from sframe_spark.process.worker_python_start import (
    STARTING,
    THREADS_OF_LIBRARIES,
    environment_at_start,
    environment_of_functions,
    environment_of_workers,
    interpreter,
    options,
)
from sframe_spark.session import is_started
from sframe_spark.session.session import get_processes
from sframe_spark.session.spark_start_and_settings import NO_PYTHON, python_of_tasks
from tests.examples import part

ROWS = 3_000
NAMES = {
    "python": True, "python3": True, "python3.13t": True, "Python": True, "python3.11-dbg": True, "pypy3.10": True, "python.exe": True,
    "uwsgi": False, "python-tool": False, "pythonapp": False, "python3_app.exe": False, "blender": False, "": False,
}  # fmt: skip


@pytest.fixture
def built_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """This program is one file with its interpreter; whoever starts it leaves a file."""
    application = tmp_path / "python3"
    application.write_text(f"#!/bin/sh\necho started >> {tmp_path / 'started'}\n")
    application.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(application))
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    yield tmp_path / "started"
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("name", NAMES)
def test_interpreters_are_known_by_their_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", f"/opt/{name}" if name else name)
    assert (interpreter() is not None) == can_start() == NAMES[name]


@pytest.mark.parametrize("how", ["frozen", "oxidized", "compiled", "started"])
def test_built_in_interpreters_are_not_started(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert interpreter() == sys.executable
    match how:
        case "compiled":
            monkeypatch.setattr(module, "__compiled__", object(), raising=False)
        case "started":
            monkeypatch.setenv(STARTING, "1")
        case _:
            monkeypatch.setattr(sys, how, "macosx_app", raising=False)
    assert interpreter() is None and not can_start()


def test_a_program_with_its_own_interpreter_calls_functions_itself(built_in: Path) -> None:
    with config.using(small_rows=100, segment_rows=700, progress="off"):
        numbers, seen = SArray(range(ROWS)), []
        column = numbers.apply(lambda value: seen.append(value) or os.getpid(), int)
        assert "this process over ranges of rows" in column.explain()
        assert set(column) == {os.getpid()} and seen == list(range(ROWS))
        sf = SFrame({"a": numbers, "k": numbers.apply(lambda value: value % 3)})
        assert len(sf.groupby("k", {"s": aggregate.SUM("a")})) == 3
        assert sf[sf["a"].apply(lambda value: value > 2_990)]["a"].sum() == sum(range(2_991, ROWS))
        assert list(sf["a"].apply(lambda value: {"x": value}).unpack()["X.x"]) == list(range(ROWS))
        assert list(sf.flat_map(["n"], lambda row: [[row["a"]]] * (row["a"] % 2))["n"]) == list(range(1, ROWS, 2))
        assert not is_started()


def test_errors_of_functions_are_those_of_few_rows(built_in: Path) -> None:
    said = []
    for small_rows in (100, 10 * ROWS):
        with config.using(small_rows=small_rows, progress="off"), pytest.raises(ZeroDivisionError) as caught:
            SArray(range(ROWS)).apply(lambda value: 1 // (value - 2_000), int).sum()
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("named", [None, "/usr/bin/python3"])
def test_spark_is_given_no_program_that_is_not_python(built_in: Path, named: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if named is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", named)
    assert python_of_tasks() == (named or NO_PYTHON)


ON_SPARK = """
import sys
sys.frozen, sys.executable = True, sys.argv[1]
from sframe_spark import SArray, SFrame, config
from sframe_spark.session import is_started
config.progress = "off"
sf = SFrame({"a": range(3000), "t": [str(n % 7) for n in range(3000)]})
for made in (
    lambda: sf["a"].apply(lambda n: n + 1, int).sum(),
    lambda: sf.apply(lambda row: row["a"], int).sort().sum(),
    lambda: len(sf.groupby("t", {})),
):
    try:
        print(made())
    except OSError as error:
        print(type(error).__name__, str(error).split(":")[0], "PYSPARK_PYTHON" in str(error))
print(is_started())
"""


@pytest.mark.spark
def test_tasks_of_spark_are_refused(built_in: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ON_SPARK)
    # Not the one of this test, which is no program that was made one file.
    python = os.path.join(sys.exec_prefix, "bin", "python")
    environment = {**os.environ, "SFRAME_SPARK_SMALL_ROWS": "0"}
    command = [python, str(script), sys.executable]
    found = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=environment)
    refused = f"{NotSharedError.__name__} Spark's tasks need a Python interpreter, and this program has its own built in (sys.executable is"
    assert found.returncode == 0, found.stderr
    assert found.stdout.endswith("True\n") and found.stdout.count(refused) == 3


def test_what_is_no_interpreter_after_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A program of this name, or a Python of another version: this process does the work, and says so once."""
    application = tmp_path / "python3"
    application.write_text(f"#!/bin/sh\necho ${STARTING} >> {tmp_path / 'started'}\n")
    application.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(application))
    get_processes().end()
    with config.using(small_rows=100, segment_rows=700, progress="off"):
        assert set(SArray(range(ROWS)).apply(lambda value: os.getpid(), int)) == {os.getpid()}
    said = [record.getMessage() for record in caplog.records if record.name == "sframe_spark"]
    assert len(said) == 1 and "no Python process could be started (it ended before it was ready)" in said[0]
    assert set((tmp_path / "started").read_text().split()) == {"1"}


def test_variables_of_libraries_are_one_unless_they_are_set() -> None:
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"} <= set(THREADS_OF_LIBRARIES)
    for name in THREADS_OF_LIBRARIES:
        given = {name: "3", "PATH": "/bin"}
        for found in (environment_at_start(given), environment_of_functions(given), environment_of_workers(given)):
            assert {key: found.get(key, "1") for key in THREADS_OF_LIBRARIES} == {**dict.fromkeys(THREADS_OF_LIBRARIES, "1"), name: "3"}
    # As if it were not there; Spark gives one by itself.
    assert environment_of_functions({"OMP_NUM_THREADS": ""})["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in environment_of_workers({"OMP_NUM_THREADS": ""})


@pytest.mark.parametrize("given", part([["-O", "-X", "utf8", "-W", "error::BytesWarning", "-b", "-B"], ["-I"]], 2), ids=" ".join)
def test_options_of_this_interpreter_are_those_of_processes(given: list[str]) -> None:
    script = """
    import sys
    from sframe_spark import SArray, config
    config.small_rows, config.segment_rows, config.progress = 100, 700, "off"

    def flags(value):
        found = sys.flags
        return f"{found.optimize} {found.utf8_mode} {found.bytes_warning} {found.dont_write_bytecode} {sys.warnoptions} {found.no_user_site}"

    found = set(SArray(range(3000)).apply(flags, str)[1000:])
    print(found == {flags(0)}, found, flags(0))
    """
    command = [sys.executable, *given, "-c", textwrap.dedent(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert found.stdout.startswith("True"), (found.stdout, found.stderr)


def test_no_option_says_where_modules_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["-O", "-I", "-s", "-W", "error", "-vv", "-X", "dev"]
    monkeypatch.setattr(subprocess, "_args_from_interpreter_flags", lambda: given, raising=False)
    assert options() == ["-O", "-s", "-W", "error", "-X", "dev"]
