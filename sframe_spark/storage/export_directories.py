"""Directories of files for other programs: parts in row order, complete before they are seen, and replaced only where they are ours.

A directory holds ``part-00000-0f3c...parquet``, ``part-00001-0f3c...parquet`` ... with the same long number, which no two writings have, and nothing
else: polars refuses a directory with files of several kinds, so names alone tell that it is ours.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterator, Sequence

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere, place_of
from sframe_spark.storage.datasets.commit import flush_directory
from sframe_spark.storage.datasets.opened import OPEN_DATASETS
from sframe_spark.storage.datasets.replaceable import checksums_of, refuse_what_no_directory_replaces
from sframe_spark.storage.datasets.save import move, put_in_place, staged
from sframe_spark.storage.directories_elsewhere import publish_elsewhere, require_nothing_elsewhere
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.listing import names_in
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.staging import Staging, staged_elsewhere

_PART = re.compile(r"part-([0-9]{5,9})-([0-9a-f]{32}\.(?:parquet|orc))")


def part_names(count: int, ending: str) -> list[str]:
    """Return names of parts of one writing: in name order where numbers are in order, as far as there are 100,000.

    Examples
    --------
    >>> [len(name) for name in part_names(2, "parquet")], part_names(1, "orc")[0][:11]
    ([51, 51], 'part-00000-')
    """
    writing = uuid.uuid4().hex
    return [f"part-{number:05d}-{writing}.{ending}" for number in range(count)]


@contextlib.contextmanager
def exporting(path: str | os.PathLike[str]) -> Iterator[Export]:
    """Something to write parts into, which appear as a directory at the path: when the block ends, and not at all if an error ends it.

    Raises
    ------
    StorageError
        If there is something at the path that no export wrote; elsewhere, if there is anything.
    """
    target = place_of(path)
    if is_elsewhere(target):
        require_nothing_elsewhere(target)
        with staged_elsewhere(target) as staging:
            yield Export(staging, target)
        return
    require_export(target)
    with staged(target, _swap) as directory:
        yield Export(Staging(directory, directory), directory)


@attrs.frozen
class Export:
    """A directory being filled with parts.

    Parameters
    ----------
    staging
        Where parts are written, under hidden names.
    directory
        Where they get names of parts.
    """

    staging: Staging
    directory: str

    def publish(self, files: Sequence[str], ending: str) -> None:
        """Give the files that tasks wrote, in row order, the names of parts, and remove all others, which are of lost attempts."""
        names = part_names(len(files), ending)
        if is_elsewhere(self.directory):
            publish_elsewhere(self.staging, files, self.directory, names)
            return
        with telling("write", self.directory):
            for file, name in zip(files, names, strict=True):
                os.rename(file, join(self.directory, name))
            for name in set(names_in(self.directory)) - set(names):
                os.remove(join(self.directory, name))
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
    checksums = {checksums_of(name) for name in names if _PART.fullmatch(name)}
    found = {name: _PART.fullmatch(name) for name in names if name not in checksums}
    parts = [part for part in found.values() if part is not None]
    if not parts:
        raise StorageError(f"{location} exists and was not written by sframe_spark: choose another path, or remove it first")
    strange = next((name for name, part in found.items() if part is None or part[2] != parts[0][2]), None)
    if strange is not None:
        raise StorageError(f"{location} holds {strange}, which writing would delete: move it away, or choose another path")
    if sorted(int(part[1]) for part in parts) != list(range(len(parts))):
        raise StorageError(
            f"{location} lacks some of the files that were written there: somebody has them elsewhere; remove it, or choose another path"
        )


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
        for file in old:
            move(file, target, aside)
        for file in new:
            move(file, staging, target)
    except BaseException:
        for file in set(names_in(target)) & set(new):
            move(file, target, staging)
        for file in names_in(aside):
            move(file, aside, target)
        raise
    flush_directory(target)
