"""Directories of files for other programs: parts in row order, complete before they are seen, and replaced only where they are ours.

A directory holds ``part-00000.parquet``, ``part-00001.parquet`` ... and a file whose name starts with an underscore, so that readers pass it
over: it says which files were written with it. Whatever else is in a directory belongs to somebody.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence

from sframe_spark.errors import StorageError
from sframe_spark.locations import normalised
from sframe_spark.storage.commit import flush_directory
from sframe_spark.storage.failures import telling
from sframe_spark.storage.listing import names_in
from sframe_spark.storage.opened import OPEN_DATASETS
from sframe_spark.storage.paths import join
from sframe_spark.storage.replaceable import checksums_of, refuse_what_no_directory_replaces
from sframe_spark.storage.save import move, put_in_place, staged

MARK = "_written_by_sframe_spark"
# Longer than the mark of a million files.
LONGEST_MARK = 64 << 20
_PART = re.compile(r"part-\d{5,}\.[a-z]+")


def part_name(number: int, ending: str) -> str:
    """Return the name of a part: in name order where numbers are in order, as far as there are 100,000.

    Examples
    --------
    >>> part_name(7, "parquet")
    'part-00007.parquet'
    """
    return f"part-{number:05d}.{ending}"


@contextlib.contextmanager
def exporting(path: str | os.PathLike[str]) -> Iterator[Export]:
    """A directory to write parts into, which appears at the path when the block ends, and not at all if an error ends it.

    Raises
    ------
    StorageError
        If there is something at the path that no export wrote.
    """
    target = normalised(path)
    require_export(target)
    with staged(target, _swap) as staging:
        yield Export(staging)


class Export:
    """A directory being filled with parts.

    Parameters
    ----------
    directory
        Where parts are written, under hidden names.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def publish(self, files: Sequence[str], ending: str) -> None:
        """Give the files that tasks wrote, in row order, the names of parts, and say that these are all; other files are of lost attempts."""
        names = [part_name(number, ending) for number in range(len(files))]
        with telling("write", self.directory):
            for file, name in zip(files, names, strict=True):
                os.rename(join(self.directory, file), join(self.directory, name))
            for name in set(names_in(self.directory)) - set(names):
                os.remove(join(self.directory, name))
            with open(join(self.directory, MARK), "x", encoding="ascii") as stream:
                json.dump({"files": names}, stream)
                stream.flush()
                os.fsync(stream.fileno())
            flush_directory(self.directory)


def require_export(location: str) -> None:
    """Make sure that writing a directory destroys nothing but what such a writing wrote.

    Raises
    ------
    StorageError
        If there is anything else; the message names it.
    """
    if not refuse_what_no_directory_replaces(location, "write"):
        return
    names = names_in(location)
    if not names:
        return
    if MARK not in names:
        raise StorageError(f"{location} exists and was not written by sframe_spark: choose another path, or remove it first")
    known = {MARK, *_files_of_mark(join(location, MARK))}
    known |= {checksums_of(name) for name in known}
    strange = next((name for name in names if name not in known), None)
    if strange is not None:
        raise StorageError(f"{location} holds {strange}, which writing would delete: move it away, or choose another path")


def _files_of_mark(mark: str) -> list[str]:
    """The files that a mark names; none where it makes no sense, so that they are taken for somebody's."""
    with telling("read", mark), open(mark, "rb") as stream:
        text = stream.read(LONGEST_MARK)
    try:
        files = json.loads(text)["files"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return [name for name in files if isinstance(name, str) and _PART.fullmatch(name)] if isinstance(files, list) else []


def _swap(staging: str, target: str) -> None:
    """Put a complete directory in the place of an older one."""
    require_export(target)
    with telling("write", target):
        OPEN_DATASETS.replace(target, staging, lambda new, old: put_in_place(new, old, _switch_by_files))
        flush_directory(os.path.dirname(target))


def _switch_by_files(staging: str, target: str) -> None:
    """Move the old files out and the new ones in where directories cannot change places: readers must wait until it is done."""
    old, new = names_in(target), names_in(staging)
    aside = join(staging, "old")
    os.mkdir(aside)
    try:
        for file in sorted(old, key=lambda name: name != MARK):
            move(file, target, aside)
        for file in sorted(new, key=lambda name: name == MARK):
            move(file, staging, target)
    except BaseException:
        for file in set(names_in(target)) & set(new):
            move(file, target, staging)
        for file in names_in(aside):
            move(file, aside, target)
        raise
    flush_directory(target)
