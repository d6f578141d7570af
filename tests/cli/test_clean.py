"""``python -m sframe_spark clean`` deletes what dead processes left, says how much, and touches nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sframe_spark import SFrame
from sframe_spark.cli.clean import run_clean
from sframe_spark.config import config
from sframe_spark.process.temporary_file_leases import own_directory, own_hidden_directory, remove_own
from tests.interpreters import run_program

DIES = """
import os, sys
from sframe_spark.process.temporary_file_leases import own_directory, own_hidden_directory, new_name
for make, parent in ((own_directory, sys.argv[1]), (own_hidden_directory, sys.argv[2])):
    with open(os.path.join(make(parent), "rows"), "wb") as stream:
        stream.write(bytes(100_000))
open(os.path.join(sys.argv[2], "." + new_name()), "wb").close()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def left(tmp_path: Path) -> tuple[Path, Path]:
    """A temporary directory and one of saved frames, in which a process died while others work."""
    temporary, saved = tmp_path / "temporary", tmp_path / "saved"
    temporary.mkdir()
    saved.mkdir()
    SFrame({"a": [1]}).save(str(saved / "frame"))
    run_program(DIES, str(temporary), str(saved))
    assert len(os.listdir(temporary)) == 1 and len(os.listdir(saved)) == 3
    return temporary, saved


def test_what_the_dead_left_goes_and_all_else_stays(left: tuple[Path, Path]) -> None:
    temporary, saved = left
    mine = [own_directory(str(temporary)), own_hidden_directory(str(saved))]
    before = [sorted(os.listdir(place)) for place in left]
    lines: list[str] = []
    with config.using(temporary_directory=str(temporary)):
        assert run_clean([str(saved / "frame")], True, lines.append) == 0
        assert [sorted(os.listdir(place)) for place in left] == before
        told = [line for line in lines if str(temporary.parent) in line]
        assert len(told) == 3 and all(line.startswith("would remove ") for line in told)
        lines.clear()
        assert run_clean([str(saved / "frame")], False, lines.append) == 0
    assert len([line for line in lines if line.startswith("removed ") and str(temporary.parent) in line]) == 3
    assert sum("KiB" in line for line in lines[:-1]) >= 2 and lines[-1].endswith(" removed")
    assert os.listdir(temporary) == [os.path.basename(mine[0])]
    assert sorted(os.listdir(saved)) == sorted(["frame", os.path.basename(mine[1])])
    for path in mine:
        remove_own(path)


def test_the_command(left: tuple[Path, Path]) -> None:
    temporary, saved = left
    environment = {**os.environ, "SFRAME_SPARK_TMP": str(temporary)}
    for extra, words in ((["--dry-run"], "would remove"), ([], "removed")):
        done = run_program("", "clean", str(saved), *extra, module="sframe_spark", environment=environment)
        assert done.returncode == 0 and done.stdout.count(f"{words} {temporary.parent}") == 3, done
    assert os.listdir(temporary) == [] and os.listdir(saved) == ["frame"]


def test_wrong_paths_and_open_directories_are_told(tmp_path: Path) -> None:
    lines: list[str] = []
    assert run_clean([str(tmp_path / "no such")], True, lines.append) == 1
    assert lines[0] == f"there is no {tmp_path / 'no such'}"
    tmp_path.chmod(0o777)
    assert run_clean([str(tmp_path)], True, lines.append) == 0
    assert any("chmod +t" in line for line in lines)


def test_places_are_named_as_everywhere(left: tuple[Path, Path]) -> None:
    temporary, saved = left
    lines: list[str] = []
    with config.using(temporary_directory=str(temporary)):
        assert run_clean([f"file://{saved}/frame"], False, lines.append) == 0
        assert os.listdir(saved) == ["frame"]
        assert run_clean(["foo://bucket/frame", f"file://{saved}/none"], True, lines.append) == 1
    assert any("foo://bucket" in line for line in lines)
    assert f"there is no file://{saved}/none" in lines
