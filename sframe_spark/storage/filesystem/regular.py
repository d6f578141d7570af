"""Regular files opened and read as one: what is looked at is what is read, and nobody can change one for the other in between."""

from __future__ import annotations

import errno
import os
import stat

from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.local_files import FileState, file_state

# Opening a named pipe would otherwise wait for someone to write into it.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLLOWS_NONE = getattr(os, "O_NOFOLLOW", 0)
_FOLLOWS = not hasattr(os, "O_NOFOLLOW")


def open_regular(location: str, may_be_link: bool = False) -> tuple[int, os.stat_result]:
    """Open a regular file, not what a link points to unless that is said, and say how it is; who calls closes the descriptor.

    Raises
    ------
    StorageError
        If it is a link, or no regular file.
    OSError
        As the system says, where there is none or it cannot be opened.
    """
    if _FOLLOWS and not may_be_link:
        file_state(location, may_be_link=False)
    try:
        descriptor = os.open(location, _FLAGS if may_be_link else _FLAGS | _FOLLOWS_NONE)
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(location):
            raise StorageError(f"{location} is a link: only files inside a saved frame are read; restore it from a copy") from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise StorageError(f"{location} is no regular file; restore it from a copy")
    return descriptor, status


def read_regular(location: str, most: int) -> tuple[bytes, FileState]:
    """Return the bytes of a regular file, no more than so many and one that tells that there are more, and the file as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with open(f"{directory}/a", "wb") as stream:
    ...         _ = stream.write(b"abcdef")
    ...     content, state = read_regular(f"{directory}/a", 3)
    >>> content, state.size
    (b'abcd', 6)
    """
    descriptor, status = open_regular(location)
    try:
        content = os.read(descriptor, most + 1)
        # A system may give less than there is, as network file systems do.
        while len(content) <= most and (more := os.read(descriptor, most + 1 - len(content))):
            content += more
    finally:
        os.close(descriptor)
    return content, FileState.of(status)
