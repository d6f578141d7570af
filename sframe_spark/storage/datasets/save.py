"""Saving datasets as a whole or not at all: files are linked or copied beside the target, then swapped in."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere, normalised
from sframe_spark.session.interrupts import interrupts_deferred
from sframe_spark.session.leftovers import remove_leftovers
from sframe_spark.session.owner import Holder, own_directory_beside
from sframe_spark.session.resources.cores import available_cores
from sframe_spark.session.threads import in_threads
from sframe_spark.storage.datasets.commit import check_files, flush_directory, flush_files, write_manifest
from sframe_spark.storage.datasets.gather import LEAST_TOGETHER, gather_works
from sframe_spark.storage.datasets.opened import OPEN_DATASETS
from sframe_spark.storage.datasets.replaceable import check_replaceable
from sframe_spark.storage.files.failures import telling
from sframe_spark.storage.files.listing import files_below, sizes_below
from sframe_spark.storage.files.objects import download
from sframe_spark.storage.files.paths import join
from sframe_spark.storage.files.saved_places import MANIFEST_FILE
from sframe_spark.storage.manifests.manifest import SFRAME, Manifest, SegmentEntry
from sframe_spark.storage.manifests.recorded_order import NO_RECORDED_ORDER
from sframe_spark.storage.parquet.checksums import check_bytes, check_whole, with_checksums
from sframe_spark.storage.rows.writer import segment_file_name

# Brings a file of a dataset into a directory as it is.
# Two places change names at one stroke: from linux/fs.h and fcntl.h.
RENAME_EXCHANGE = 2
AT_FDCWD = -100

FEW_FILES = 16
NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
# What a system or a file system without such a change says.
NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def save_dataset(
    sources: Sequence[Manifest],
    target: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    kind: str = SFRAME,
    least_together: int = LEAST_TOGETHER,
) -> Manifest:
    """Save the rows of the sources, one after the other, as one dataset; files that fit are taken over as they are.

    Until the new dataset is complete, whatever was saved at the target stays as it was, and may be among the sources.
    Files are hard-linked where the file system can do that. A file is rewritten only when its row keys do not come
    after those of the files before it (a frame appended to itself), it has none, or it is one of many short ones, which
    are put together.

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
    least_together
        So many short files at least, one after the other, become one.

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
    with staged(planned.directory) as staging:
        entries = _gather(sources, staging, least_together)
        complete = attrs.evolve(planned, segments=tuple(entries), directory=staging)
        check_files(complete, sizes_below(staging))
        complete = with_checksums(complete)
        flush_files(complete)
        write_manifest(complete, durable=True)
    return attrs.evolve(complete, directory=planned.directory)


@contextlib.contextmanager
def staged(target: str, swap: Callable[[str, str], None] | None = None) -> Iterator[str]:
    """A new directory beside a local target, which takes its name at the end of the block, or is deleted if an error ends it.

    What interrupted saves left beside the target is removed first. ``swap`` puts it in place; a saved frame's is the usual one.
    """
    # What a link leads to is replaced, not the link.
    target = os.path.realpath(target) if os.path.islink(target) else target
    parent = os.path.dirname(target)
    staging, holder = None, Holder()
    try:
        with telling("save to", target):
            os.makedirs(parent, exist_ok=True)
            remove_leftovers(parent)
            with interrupts_deferred():
                staging = own_directory_beside(parent, holder)
            _take_over_rights(target, staging)
        yield staging
        (swap or swap_into_place)(staging, target)
    finally:
        # The old frame, unless it is in use, or the new one where something kept it from its place.
        if staging is not None:
            OPEN_DATASETS.remove_unused(staging)


def _take_over_rights(target: str, staging: str) -> None:
    """Let nobody into a directory, from before it holds anything, who may not enter the one that it is to replace."""
    try:
        old, new = os.stat(target), os.stat(staging)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode) | stat.S_IRWXU
    if old.st_gid != new.st_gid:
        try:
            os.chown(staging, -1, old.st_gid)
        except OSError:
            # The rights were those of another group, which only its members and the administrator can give a directory to.
            mode &= ~stat.S_IRWXG
    if mode != stat.S_IMODE(new.st_mode):
        os.chmod(staging, mode)


def _gather(sources: Sequence[Manifest], directory: str, least_together: int) -> list[SegmentEntry]:
    """Bring the rows of all sources into a directory and return their entries in row order."""
    works = gather_works(sources, directory, _take_over, least_together)
    # Few are there before threads have started.
    return [work() for work in works] if len(works) <= FEW_FILES else in_threads(lambda work: work(), works, available_cores())


def _take_over(source: Manifest, entry: SegmentEntry, directory: str) -> SegmentEntry:
    """Link a file into a directory, or copy it where links are not to be had."""
    file = segment_file_name(entry.number)
    origin, place = join(source.directory, entry.file), join(directory, file)
    if _linked(origin, place):
        # The same file: what is known of it is known of the link.
        return attrs.evolve(entry, file=file)
    if is_elsewhere(origin):
        download(origin, place)
        check_bytes(place, entry, len(source.types))
        return attrs.evolve(entry, file=file)
    if None in (entry.tail, entry.pages):
        check_whole(origin, entry)
    else:
        check_bytes(origin, entry, len(source.types))
    with telling("read", origin), open(origin, "rb") as reading, telling("write", place), open(place, "xb") as writing:
        shutil.copyfileobj(reading, writing)
    return attrs.evolve(entry, file=file)


def _linked(origin: str, place: str) -> bool:
    """Make a hard link; False where the file system has none, or the files are on two of them."""
    try:
        os.link(origin, place)
    except OSError:
        # A file that is not there is told by the copy that follows.
        return False
    return True


def swap_into_place(staging: str, target: str) -> None:
    """Give a complete local directory the name of the target; a saved frame that was there goes with its last user.

    At every moment the target is the old or the new frame, whole, and what is beside it has a name that says whose it is.
    """
    check_replaceable(target)
    with telling("save to", target):
        OPEN_DATASETS.replace(target, staging, put_in_place)
        flush_directory(os.path.dirname(target))


def put_in_place(staging: str, target: str, switch: Callable[[str, str], None] | None = None) -> None:
    """Let a directory take the place of what is at the target, and hold that afterwards if there was anything.

    ``switch`` moves the files instead where the directories cannot change places; by the manifest, unless another is given.
    """
    switch = switch or switch_by_manifest
    if _is_worked_in(target):
        # It would be taken from under the process, and with it every relative path.
        switch(staging, target)
        return
    while True:
        try:
            # A directory may take the place of none, or of an empty one.
            os.rename(staging, target)
            return
        except OSError as error:
            if error.errno not in NOT_EMPTY:
                raise
        number = _exchange(staging, target)
        if number == 0:
            return
        if number == errno.ENOENT:
            # It has gone meanwhile.
            continue
        if number in NO_EXCHANGE:
            switch(staging, target)
            return
        raise OSError(number, os.strerror(number), target)


def _is_worked_in(directory: str) -> bool:
    """Say whether a directory is, or holds, the working directory of this process."""
    if not os.path.lexists(directory):
        # The path of a working directory is looked up link by link, and this is none.
        return False
    try:
        place = os.path.realpath(directory)
        return os.path.commonpath([os.getcwd(), place]) == place
    except (FileNotFoundError, ValueError):
        return False


def _exchange(first: str, second: str) -> int:
    """Let two directories change names at one stroke; the number of the error, 0 for none."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return errno.ENOSYS
    done = rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0
    return 0 if done else ctypes.get_errno()


def switch_by_manifest(staging: str, target: str) -> None:
    """Let two frames change places where directories cannot: files go beside those of the other frame, then the manifest is the switch."""
    old, new = files_below(target), files_below(staging)
    for file in new:
        if file != MANIFEST_FILE:
            move(file, staging, target)
    flush_directory(target)
    os.replace(join(staging, MANIFEST_FILE), join(target, MANIFEST_FILE))
    flush_directory(target)
    for file in old:
        if file != MANIFEST_FILE:
            move(file, target, staging)
            with contextlib.suppress(OSError):
                # What is left of a directory that it was in: the next save would take that for somebody's.
                os.removedirs(os.path.dirname(join(target, file)))


def move(file: str, origin: str, place: str) -> None:
    """Move a file between directories, to the same name."""
    os.makedirs(os.path.dirname(join(place, file)), exist_ok=True)
    os.rename(join(origin, file), join(place, file))
