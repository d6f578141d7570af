"""Directories nested deeper than Python calls, and than the system opens, are listed, measured and deleted."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.cli.clean import run_clean
from sframe_spark.cli.verify import run_verify
from sframe_spark.errors import StorageError
from sframe_spark.process.directory_trees import entries_below, remove_tree, size_on_disk
from sframe_spark.process.temporary_file_leases import delete
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.types import INT

# More than Python's limit of recursion; then longer than a path may be, which is left to calls relative to a directory.
DEEP, DEEPER_THAN_PATHS = 1100, 2100


def nest(place: Path, levels: int) -> None:
    """Make a directory with one in it, and so on, and a file in the last one."""
    place.mkdir(exist_ok=True)
    here = os.open(place, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    last = os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(last, b"x" * 5000)
    os.close(last)
    os.close(here)


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A place for deep directories, which pytest could not delete."""
    yield tmp_path
    for path in tmp_path.iterdir():
        delete(str(path))
    assert not list(tmp_path.iterdir())


@pytest.fixture
def few_files() -> Iterator[None]:
    """Let this process open a hundred files more and no others."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 100, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_files")
@pytest.mark.parametrize("levels", [0, 1, DEEP, DEEPER_THAN_PATHS])
def test_trees_of_any_depth_go(deep: Path, levels: int) -> None:
    outside = deep / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    nest(deep / "tree", levels)
    (deep / "tree" / "link").symlink_to(outside)
    assert size_on_disk(str(deep / "tree")) >= (5000 if levels <= DEEP else 0)
    remove_tree(str(deep / "tree"))
    assert not (deep / "tree").exists() and (outside / "kept").exists()


def test_a_tree_with_many_branches_goes(deep: Path) -> None:
    for name in ("a", "b"):
        (deep / "tree" / name).mkdir(parents=True)
        nest(deep / "tree" / name / "c", DEEP)
        nest(deep / "tree" / name / "moved-0", 3)
    assert len(list(entries_below(str(deep / "tree")))) == 4
    delete(str(deep / "tree"))
    assert not (deep / "tree").exists()


def test_names_are_relative_whatever_the_depth(deep: Path) -> None:
    nest(deep / "tree", DEEP)
    (deep / "tree" / "near").write_text("")
    assert sorted(name for name, _ in entries_below(str(deep / "tree"))) == ["d/" * DEEP + "file", "near"]
    assert list(entries_below(str(deep / "none"))) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("levels", [DEEP, DEEPER_THAN_PATHS])
def test_a_frame_beside_a_deep_directory_is_read_or_refused(deep: Path, levels: int) -> None:
    place = str(deep / "frame")
    frame = SFrame({"a": [1, 2]})
    frame.save(place)
    nest(deep / "frame" / "deep", levels)
    if levels == DEEP:
        assert list(load_sframe(place, verify=True)["a"]) == [1, 2]
    else:
        with pytest.raises(StorageError, match="frame"):
            load_sframe(place)
    with pytest.raises(StorageError, match="frame"):
        frame.save(place)
    lines: list[str] = []
    assert run_verify([place], lines.append) == (0 if levels == DEEP else 1) and len(lines) == 1
    (deep / "frame" / "_manifest.json").unlink()
    with pytest.raises(StorageError, match="frame"):
        load_sframe(place)


def test_what_spark_left_goes_however_deep(deep: Path) -> None:
    (deep / "frame").mkdir()
    nest(deep / "frame" / "_temporary", DEEP)
    publish(str(deep / "frame"), [INT], [])
    assert not (deep / "frame" / "_temporary").exists()


def test_leftovers_go_however_deep(deep: Path) -> None:
    left = deep / "sframe_spark-abcdefgh-17-1f-00ff"
    nest(left, DEEP)
    os.utime(left, (0, 0))
    lines: list[str] = []
    run_clean([str(deep)], False, lines.append)
    assert any(line.startswith(f"removed {left}, ") for line in lines) and not left.exists()
