"""Which Python runs the functions that Spark calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark.session.python_of_spark_workers import is_same_program


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A directory with two names of one program, and another with a third."""
    program = tmp_path / "system" / "python3.11"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "venv").mkdir()
    for name in ("python", "python3"):
        (tmp_path / "venv" / name).symlink_to(program)
    return tmp_path


def test_names_of_one_program_in_one_environment_are_the_same(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(environment / "venv"))
    assert is_same_program("python3", str(environment / "venv" / "python"))


def test_the_system_s_python_is_not_that_of_an_environment_made_from_it(environment: Path) -> None:
    assert not is_same_program(str(environment / "venv" / "python3"), str(environment / "system" / "python3.11"))


def test_programs_that_are_only_on_other_machines_are_compared_by_name(environment: Path) -> None:
    assert is_same_program("/opt/cluster/python", "/opt/cluster/python")
    assert not is_same_program("/opt/cluster/python", str(environment / "venv" / "python"))
