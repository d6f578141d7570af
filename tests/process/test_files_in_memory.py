"""Where files take memory, as in ``tmpfs``, what is written ends with an error before the kernel kills a container that exceeds its limit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sframe_spark import SFrame, config
from sframe_spark.errors import NoMemoryError
from sframe_spark.process import memory
from sframe_spark.process.memory import AvailableMemory, is_in_memory, require_memory_for_file
from tests.process.groups import groups_of_this_machine, run_within

MIB = 1 << 20


def mounted(device: int, kind: str) -> str:
    """The line of a mount, after one of another device."""
    return f"23 1 8:77 / / rw - ext4 /dev/root rw\n41 23 {os.major(device)}:{os.minor(device)} / /any\\040where rw shared:9 - {kind} {kind} rw\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_options: None) -> Iterator[Path]:
    """A directory that seems to be on a file system in memory, into which all materialised rows go."""
    (tmp_path / "mounts").write_text(mounted(tmp_path.stat().st_dev, "tmpfs"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(memory, "MOUNTS", tmp_path / "mounts")
    memory._is_in_memory.cache_clear()
    config.temporary_directory, config.memory_budget, config.kept_memory, config.work_memory = str(tmp_path / "tmp"), 0, 0, 1 << 16
    yield tmp_path
    memory._is_in_memory.cache_clear()


@pytest.mark.parametrize(("kind", "found"), [("tmpfs", True), ("ramfs", True), ("ext4", False), ("overlay", False)])
def test_file_systems_in_memory(kind: str, found: bool, place: Path) -> None:
    (place / "mounts").write_text("nonsense\n" + mounted(place.stat().st_dev, kind))
    assert is_in_memory(str(place)) is found
    assert not is_in_memory(str(place / "nowhere"))


def test_a_system_that_shows_no_mounts(place: Path) -> None:
    (place / "mounts").unlink()
    assert not is_in_memory(str(place))


DOORS: dict[str, Callable[[SFrame, Path], object]] = {
    "materialize": lambda frame, place: (frame["a"] * 2).materialize(),
    "sort": lambda frame, place: frame.sort("b").materialize(),
    "save": lambda frame, place: frame.save(str(place / "saved")),
    "Parquet": lambda frame, place: frame.write_parquet(str(place / "exported")),
    "CSV": lambda frame, place: frame.export_csv(str(place / "text.csv")),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_written_there_ends_with_an_error(door: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = SFrame({"a": range(50_000), "b": [(7 * row) % 50_000 for row in range(50_000)]})
    before = sorted(os.listdir(place))
    monkeypatch.setattr(memory, "of_group", lambda: AvailableMemory(1000, "left in this container"))
    with pytest.raises(
        NoMemoryError, match=r"its file system is in memory and holds .*1000 bytes are left in this container.*SFRAME_SPARK_TMP"
    ) as caught:
        DOORS[door](frame, place)
    assert isinstance(caught.value, MemoryError)
    del caught
    assert sorted(os.listdir(place)) == before
    monkeypatch.setattr(memory, "of_group", lambda: None)
    DOORS[door](frame, place)


def test_files_that_take_little_are_written_where_little_is_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "of_group", lambda: AvailableMemory(1000, "left in this container"))
    few = os.statvfs_result((4096, 4096, 100, 100, 100, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda directory: few)
    require_memory_for_file(str(place / "x"), 1000)
    with pytest.raises(NoMemoryError):
        require_memory_for_file(str(place / "x"), 1001)


# The rows are 180 MiB. Without an error the program is killed.
PROGRAM = """
from sframe_spark import SArray, SFrame
frame = SFrame({"row": SArray.from_sequence(0, 4_500_000)})
for name in "abcd":
    frame[name] = (frame["row"] * ord(name) * 48_271) % 2_147_483_647
try:
    frame.sort("a").materialize()
except MemoryError as error:
    print("in memory" in str(error), "left in this container" in str(error))
"""


@pytest.mark.skipif(not is_in_memory("/dev/shm"), reason="writes to a file system in memory")
def test_a_program_in_a_group_of_this_machine_is_not_killed(tmp_path: Path) -> None:
    where = Path("/dev/shm") / f"sframe_spark_test_{os.getpid()}"
    where.mkdir()
    try:
        with groups_of_this_machine(quota=100_000, memory=270 * MIB) as groups:
            found = run_within(groups, PROGRAM, SFRAME_SPARK_TMP=str(where))
            assert (found.stdout, found.returncode) == ("True True\n", 0), found.stderr[-2000:]
        assert os.listdir(where) == []
    finally:
        where.rmdir()
