"""Files of text written in parts: each part where its rows are, the file in place when it is complete."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.locations import BUCKETS, is_elsewhere
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.leases import Holder, own_directory_beside, remove_leftovers, remove_own
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.datasets.commit import flush_directory
from sframe_spark.storage.filesystem.compression import Compression, new_member, packing_of, require_writable_name
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.object_store import download, listed, merged_within, place_at, place_within, put_whole, require_bucket, upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary import written_here
from sframe_spark.storage.staging import Staging, staged_elsewhere

# Where a process finds its open files, such as its standard output, by number.
DESCRIPTORS = re.compile(r"/dev/fd|/proc/[^/]+(?:/task/[^/]+)?/fd")
MOST_LINKS = 40
# More would be new memory of the system each time.
COPY_BYTES = 1 << 20


@contextlib.contextmanager
def staged_text(target: str) -> Iterator[tuple[Staging, list[str]]]:
    """Directories for parts, and a list to put these in; put together they take the target's name when the block ends, and its rights if it has some.

    Of links the file that they name is replaced.

    Raises
    ------
    StorageError
        If a file must not take the place of what is there, its name promises what is not written, or it cannot be written.
    """
    require_writable_name(target)
    parts: list[str] = []
    if is_elsewhere(target):
        _require_place_of_file(target)
        with staged_elsewhere(target) as staging:
            yield staging, parts
            _put_together(parts, staging, target)
    else:
        with _staged_here(target, parts) as directory:
            yield Staging(directory, directory), parts


@contextlib.contextmanager
def _staged_here(target: str, parts: list[str]) -> Iterator[str]:
    place = os.path.realpath(target)
    rights, holder, staging = _rights_of_replaced(target), Holder(), None
    _require_no_descriptor(target)
    try:
        with telling("write", target):
            remove_leftovers(os.path.dirname(place))
            with interrupts_deferred():
                staging = own_directory_beside(os.path.dirname(place), holder)
            if rights is not None:
                # Nobody sees parts who may not see the file.
                os.chmod(staging, 0o700)
        yield staging
        with telling("write", target):
            whole = _joined(parts, packing_of(target))
            if rights is not None:
                os.chmod(whole, rights)
            os.replace(whole, place)
            flush_directory(os.path.dirname(place))
    finally:
        if staging is not None:
            remove_own(staging)


def _require_place_of_file(target: str) -> None:
    """Make sure, before any work, that there is a bucket, and no directory where the file is to be.

    Raises
    ------
    StorageError
        If not.
    """
    if not target.partition("://")[2].strip("/").partition("/")[2] and target.partition(":")[0] in BUCKETS:
        raise StorageError(f"{target} names a bucket, not a file: add the name of a file")
    found = place_at(target)
    if found.names:
        raise StorageError(f"{target} is a directory: choose the name of a file")
    # Who may not ask is told so before, as some only say then that there is none.
    if not found.is_file:
        require_bucket(target)


def _put_together(parts: Sequence[str], staging: Staging, target: str) -> None:
    """Make one file elsewhere of parts here and there; large ones that are there are not fetched where the file system can put them together."""
    there = {file.uri: file for file in listed(staging.beside)} if staging.is_used else {}
    last, packing = parts[-1], packing_of(target)
    are_final = packing is None or packing.has_members
    if are_final and all(part in there for part in parts[:-1]) and there:
        if last not in there:
            upload(last, join(staging.beside, os.path.basename(last)), target)
            there = {file.uri: file for file in listed(staging.beside)}
            last = join(staging.beside, os.path.basename(last))
        origins = [there[part] for part in (*parts[:-1], last)]
        if len(origins) == 1:
            place_within(origins[0].uri, target)
            return
        if merged_within(origins, target):
            return
    with telling("write", target):
        put_whole(_joined([_fetched(part, staging) for part in parts], packing), target)


def _fetched(part: str, staging: Staging) -> str:
    """The path of a part, of which there is a copy here if it is elsewhere."""
    if not is_elsewhere(part):
        return part
    place = join(staging.here, os.path.basename(part))
    download(part, place)
    return place


def _joined(parts: Sequence[str], packing: Compression | None) -> str:
    """Append files to the first of them, each deleted as it was copied, and wait until the disk has all; compressed where the parts are not yet."""
    if packing is not None and not packing.has_members:
        parts = [_compressed(parts, packing)]
    with open(parts[0], "ab") as whole:
        for part in parts[1:]:
            _moved(part, whole)
        whole.flush()
        # The name must never be on the disk before the rows are: a power failure would leave an empty file in place of the old one.
        os.fsync(whole.fileno())
    return parts[0]


def _compressed(parts: Sequence[str], packing: Compression) -> str:
    """Compress files in a row, each deleted as it was copied, into one new file beside them."""
    place = f"{parts[0]}-packed"
    with pa.OSFile(place, "wb") as raw, pa.CompressedOutputStream(raw, packing.codec) as whole:
        for part in parts:
            _moved(part, whole)
    return place


def _moved(part: str, whole: Any) -> None:
    """Copy a file to the end of another, and delete it."""
    with open(part, "rb") as stream:
        while block := stream.read(COPY_BYTES):
            raise_if_cancelled()
            whole.write(block)
    os.remove(part)


def write_text_part(directory: str, target: str, blocks: Iterable[bytes | memoryview]) -> str:
    """Write blocks of text as a part of a target, compressed if its name says so; return where it is, under a name of this attempt alone.

    What goes wrong while the blocks are made is not told as a failure to write.
    """
    name = f"part-{uuid.uuid4().hex}"
    with written_here(directory) as here, contextlib.ExitStack() as stack:
        with telling("write", target):
            raw = stack.enter_context(open(join(here, name), "xb"))
            file = stack.enter_context(new_member(raw, packing_of(target)))
        for block in blocks:
            raise_if_cancelled()
            with telling("write", target):
                file.write(block)
        with telling("write", target):
            stack.close()
    return join(directory, name)


def _rights_of_replaced(target: str) -> int | None:
    """The rights of the file that is to be replaced, which the new one takes over; None if there is none.

    Raises
    ------
    StorageError
        If there is something else, which a file must not take the place of.
    """
    with telling("write", target):
        try:
            mode = os.stat(target).st_mode
        except FileNotFoundError:
            return None
    if stat.S_ISDIR(mode):
        raise StorageError(f"{target} is a directory: choose the name of a file")
    if not stat.S_ISREG(mode):
        raise StorageError(f"{target} is not a regular file but a pipe, a socket or a device: choose the name of a file")
    return stat.S_IMODE(mode)


def _require_no_descriptor(target: str) -> None:
    """Make sure that a path does not stand for a file that a process has open: what it writes there after the file was replaced would be lost.

    Raises
    ------
    StorageError
        If it does, or is a link to such a path.
    """
    link = target
    for _ in range(MOST_LINKS):
        directory, name = os.path.split(link)
        # The system says of such a link that it leads to the file, so only the directory tells.
        directory = os.path.realpath(directory)
        if DESCRIPTORS.fullmatch(directory):
            raise StorageError(f"{target} is what a process has open, which would be replaced and not written to: choose the name of a file")
        if not os.path.islink(place := os.path.join(directory, name)):
            return
        link = os.path.join(directory, os.readlink(place))
