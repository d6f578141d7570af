"""Files of text written in parts: each part where its rows are, the file in place when it is complete."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sframe_spark.errors import StorageError
from sframe_spark.session.cancel import raise_if_cancelled
from sframe_spark.session.interrupts import interrupts_deferred
from sframe_spark.session.leftovers import remove_leftovers
from sframe_spark.session.owner import Holder, own_directory_beside, remove_own
from sframe_spark.storage.datasets.commit import flush_directory
from sframe_spark.storage.files.failures import telling
from sframe_spark.storage.files.paths import join

# Where a process finds its open files, such as its standard output, by number.
DESCRIPTORS = re.compile(r"/dev/fd|/proc/[^/]+(?:/task/[^/]+)?/fd")
MOST_LINKS = 40
COPY_BYTES = 8 << 20
PACKED = ".gz"


@contextlib.contextmanager
def staged_text(target: str) -> Iterator[tuple[str, list[str]]]:
    """A directory for parts, and a list to name these in; put together they take the target's name, and its rights, when the block ends.

    A link stays; the file that it names is replaced.

    Raises
    ------
    StorageError
        If a file must not take the place of what is there, or cannot be written.
    """
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
        parts: list[str] = []
        yield staging, parts
        with telling("write", target):
            whole = _joined([join(staging, part) for part in parts])
            if rights is not None:
                os.chmod(whole, rights)
            os.replace(whole, place)
            flush_directory(os.path.dirname(place))
    finally:
        if staging is not None:
            remove_own(staging)


def _joined(parts: Sequence[str]) -> str:
    """Append files to the first of them, each deleted as it was copied, and wait until the disk has all."""
    with open(parts[0], "ab") as whole:
        for part in parts[1:]:
            with open(part, "rb") as stream:
                shutil.copyfileobj(stream, whole, COPY_BYTES)
            os.remove(part)
        whole.flush()
        # The name must never be on the disk before the rows are: a power failure would leave an empty file in place of the old one.
        os.fsync(whole.fileno())
    return parts[0]


def write_text_part(directory: str, target: str, blocks: Iterable[bytes | memoryview]) -> str:
    """Write blocks of text as a part of a target, compressed if its name says so; return the part's name, of this attempt alone.

    What goes wrong while the blocks are made is not told as a failure to write.
    """
    name = f"part-{uuid.uuid4().hex}"
    with contextlib.ExitStack() as stack:
        with telling("write", target):
            file = stack.enter_context(_opened(join(directory, name), target.endswith(PACKED)))
        for block in blocks:
            raise_if_cancelled()
            with telling("write", target):
                file.write(block)
        with telling("write", target):
            stack.close()
    return name


@contextlib.contextmanager
def _opened(path: str, compressed: bool) -> Iterator[Any]:
    """A file that takes bytes."""
    with open(path, "xb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if compressed else contextlib.nullcontext(raw) as file:
        yield file


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
