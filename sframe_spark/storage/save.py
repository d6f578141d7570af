"""Saving datasets as a whole or not at all: files are linked or copied beside the target, then swapped in."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Sequence

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import normalised
from sframe_spark.session.owner import claim, release, remove_abandoned
from sframe_spark.storage.checksums import checksum_of, copy_with_checksum
from sframe_spark.storage.commit import check_files, flush_directory, flush_files, write_manifest
from sframe_spark.storage.failures import telling
from sframe_spark.storage.listing import files_below, sizes_below
from sframe_spark.storage.manifest import MANIFEST_FILE, NO_RECORDED_ORDER, SFRAME, Manifest, SegmentEntry
from sframe_spark.storage.opened import OPEN_DATASETS
from sframe_spark.storage.paths import join
from sframe_spark.storage.reader import iterate_rows
from sframe_spark.storage.writer import segment_file_name, write_segment

# Two places change names at one stroke: from linux/fs.h and fcntl.h.
RENAME_EXCHANGE = 2
AT_FDCWD = -100


def save_dataset(
    sources: Sequence[Manifest],
    target: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    kind: str = SFRAME,
) -> Manifest:
    """Save the rows of the sources, one after the other, as one dataset; files that fit are taken over as they are.

    Until the new dataset is complete, whatever was saved at the target stays as it was, and may be among the sources.
    Files are hard-linked where the file system can do that. A file is rewritten only when its row keys do not come
    after those of the files before it (a frame appended to itself), or it has none.

    Parameters
    ----------
    sources
        Datasets with columns of the same types.
    target
        Directory to save to: new, empty, or holding a saved frame that is replaced.
    names
        Names of the columns.
    kind
        ``sframe`` or ``sarray``.

    Returns
    -------
    Manifest
        The saved dataset, at the target.
    """
    if not sources:
        raise StorageError("there is nothing to save: give at least one dataset")
    for source in sources[1:]:
        if source.types != sources[0].types:
            raise StorageError(f"{source.directory} has columns of other types than {sources[0].directory}")
    location = normalised(target)
    check_replaceable(location)
    column_names = None if names is None else tuple(names)
    order = sources[0].order if len(sources) == 1 else NO_RECORDED_ORDER
    planned = Manifest(sources[0].types, (), location, names=column_names, kind=kind, order=order)
    with telling("save to", planned.directory):
        staging = new_staging_directory(planned.directory)
    try:
        entries = _gather(sources, staging)
        complete = attrs.evolve(planned, segments=tuple(entries), directory=staging)
        check_files(complete, sizes_below(staging))
        flush_files(complete)
        write_manifest(complete, durable=True)
        swap_into_place(staging, planned.directory)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return attrs.evolve(complete, directory=planned.directory)


def new_staging_directory(target: str) -> str:
    """Return a new directory beside a local target, and remove those that interrupted saves to it left."""
    parent, name = os.path.split(target)
    prefix = f".{name}.saving-"
    os.makedirs(parent, exist_ok=True)
    remove_abandoned(parent, prefix)
    staging = tempfile.mkdtemp(prefix=prefix, dir=parent)
    # The directory will be seen under the name of the target, so it gets the rights of any new directory.
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(staging, 0o777 & ~mask)
    claim(staging)
    return staging


def check_replaceable(location: str) -> None:
    """Make sure that saving to a location destroys nothing but a saved frame."""
    if os.path.lexists(location) and not os.path.isdir(location):
        raise StorageError(f"{location} is a file, not a directory: choose another path, or remove it first")
    files = files_below(location)
    if files and MANIFEST_FILE not in files:
        raise StorageError(f"{location} exists and is not a saved frame: choose another path, or remove it first")
    strange = [file for file in files if not file.endswith((".parquet", ".crc", ".json", "_SUCCESS"))]
    if strange:
        raise StorageError(f"{location} holds {strange[0]}, which saving would delete: move it away, or choose another path")


def _gather(sources: Sequence[Manifest], directory: str) -> list[SegmentEntry]:
    """Bring the rows of all sources into a directory and return their entries in row order."""
    entries: list[SegmentEntry] = []
    for source in sources:
        for entry, offset in zip(source.segments, source.offsets, strict=True):
            if entry.rows == 0:
                continue
            if source.has_key and source.column_names_in_files is None and _fits_after(entries, entry):
                entries.append(_take_over(source, entry, directory))
            else:
                number = entries[-1].number + 1 if entries else 0
                entries.append(_rewrite(source, offset, entry.rows, directory, number))
    return entries


def _fits_after(entries: Sequence[SegmentEntry], entry: SegmentEntry) -> bool:
    """Say whether the keys of a segment come after all keys so far, and tell row numbers as they are."""
    if not entries or entries[-1].number < entry.number:
        return entry.first_position == 0
    last = entries[-1]
    return last.number == entry.number and last.first_position + last.rows == entry.first_position


def _take_over(source: Manifest, entry: SegmentEntry, directory: str) -> SegmentEntry:
    """Link a file into a directory, or copy it where links are not to be had."""
    file = segment_file_name(entry.number)
    origin, place = join(source.directory, entry.file), join(directory, file)
    checksum = entry.checksum or checksum_of(origin) if _linked(origin, place) else copy_with_checksum(origin, place)
    if entry.checksum not in (None, checksum):
        raise StorageError(f"{origin} is damaged: check sum {checksum}, not {entry.checksum}; restore it from a copy")
    return attrs.evolve(entry, file=file, checksum=checksum)


def _linked(origin: str, place: str) -> bool:
    """Make a hard link; False where the file system has none, or the files are on two of them."""
    try:
        os.link(origin, place)
    except OSError:
        # A file that is not there is told by the copy that follows.
        return False
    return True


def _rewrite(source: Manifest, offset: int, rows: int, directory: str, number: int) -> SegmentEntry:
    """Write rows of a source as a new segment with keys of its own."""
    entry = write_segment(directory, number, source.types, iterate_rows(source, range(len(source.types)), offset, offset + rows))
    return attrs.evolve(entry, checksum=checksum_of(join(directory, entry.file)))


def swap_into_place(staging: str, target: str) -> None:
    """Give a complete local directory the name of the target; a saved frame that was there goes with its last user.

    On Linux the two change names at one stroke; elsewhere the target does not exist for a moment, and gets its old
    content back should the second rename fail.
    """
    check_replaceable(target)
    with telling("save to", target):
        release(staging)
        if not os.path.isdir(target) or not os.listdir(target):
            # POSIX lets a directory take the place of an empty one.
            os.replace(staging, target)
        else:
            old = staging if _exchanged(staging, target) else _swapped_by_two_renames(staging, target)
            if not OPEN_DATASETS.retire(target, old):
                shutil.rmtree(old, ignore_errors=True)
        flush_directory(os.path.dirname(target))


def _exchanged(first: str, second: str) -> bool:
    """Let two directories change names, where the system can do that."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    return rename is not None and rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0


def _swapped_by_two_renames(staging: str, target: str) -> str:
    """Let a directory take the name of another, and return where the other is now."""
    old = staging + ".old"
    os.rename(target, old)
    try:
        os.rename(staging, target)
    except BaseException:
        os.rename(old, target)
        raise
    return old
