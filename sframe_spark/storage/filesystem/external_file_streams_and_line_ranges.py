"""Opens external files as byte streams, also for the lines of a part of a file, and raises an error if a file is changed while it is read.

Also divides files into work items, each of which is a part of a large file or several small files.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.storage.filesystem.compression import Continued, has_packed_extension, packing_of, require_content, unpacked
from sframe_spark.storage.filesystem.dataset_file_reads import SizedFile
from sframe_spark.storage.filesystem.format_recognition import SAMPLE_BYTES
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, changed_meanwhile, is_same, open_regular, unchanged
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import require_still
from sframe_spark.storage.filesystem.remote_operations import read_range

# How many bytes of a compressed remote file are read with one request; decompressors read only a few thousand bytes at a time.
PACKED_BYTES = 8 << 20
# The largest number of small files in a work item, which are read one after the other.
MAX_COMBINED = 100
# How many bytes behind a range are read at first in order to complete its last line.
BEHIND_BYTES = 64 << 10


class RemoteFile(SizedFile):
    """A remote file. Each read makes one request, and then checks that the file has not changed.

    Parameters
    ----------
    uri
        The URI of the file.
    state
        The state of the file when it was found.
    """

    def __init__(self, uri: str, state: FileState) -> None:
        super().__init__(uri, state.size)
        self._state = state

    def _read_between(self, start: int, stop: int) -> bytes:
        """Return the bytes from one position to another.

        Raises
        ------
        StorageError
            If they cannot be read, the file was changed, or its size is not the one that the file system reports.
        """
        # At the end of the file one more byte is requested, to find out whether the file is longer than the file system reports.
        content = read_range(self._uri, start, stop + (stop == self._size))
        require_still(self._uri, self._state)
        if len(content) != stop - start:
            longer = "more" if len(content) > stop - start else "fewer"
            raise StorageError(
                f"{visible(self._uri)} has {longer} bytes than the {self._size} that its store reports: write it again, or read a copy"
            )
        return content


class LocalFile(SizedFile):
    """A local or mounted file. Each read checks that the file has not changed since it was found, maybe by a process on another machine.

    Parameters
    ----------
    path
        The path of the file.
    state
        The state of the file when it was found.

    Raises
    ------
    StorageError
        If the file was changed, or cannot be opened.
    """

    def __init__(self, path: str, state: FileState) -> None:
        super().__init__(path, state.size)
        self._state = state
        with translate_os_errors("read", path):
            descriptor, _ = open_regular(path, may_be_link=True)
            self._file = os.fdopen(descriptor, "rb", buffering=0)
        self._require_still()

    def close(self) -> None:
        """Close the file."""
        super().close()
        if hasattr(self, "_file"):
            self._file.close()

    def _read_between(self, start: int, stop: int) -> bytes:
        """Return the bytes from one position to another.

        Raises
        ------
        StorageError
            If they cannot be read, or the file was changed.
        """
        parts: list[bytes] = []
        with translate_os_errors("read", self._uri):
            self._file.seek(start)
            # A read may return fewer bytes than there are, for example on network file systems.
            while start < stop and (part := self._file.read(stop - start)):
                parts.append(part)
                start += len(part)
        self._require_still()
        if start < stop:
            raise changed_meanwhile(self._uri, platform.node())
        return b"".join(parts)

    def _require_still(self) -> None:
        with translate_os_errors("read", self._uri):
            status = os.fstat(self._file.fileno())
        if not is_same(FileState.of(status), self._state):
            raise changed_meanwhile(self._uri, platform.node())


def open_bytes(path: str, state: FileState | None, start: int) -> Any:
    """Open a file at a position, without decompression.

    Parameters
    ----------
    path
        The path or URI of the file.
    state
        The expected state of the file, which each read checks; None for a local file that the caller checks.
    start
        The position.
    """
    stream = pa.OSFile(path) if state is None else RemoteFile(path, state) if is_remote_location(path) else LocalFile(path, state)
    stream.seek(start)
    return stream


def open_unpacked(path: str, state: FileState | None) -> Any:
    """Open a file at its start; it is decompressed if it has the file name extension of a compression format.

    Raises
    ------
    StorageError
        If the first bytes do not agree with the file name extension.
    """
    if not has_packed_extension(path):
        return open_bytes(path, state, 0)
    stream = open_bytes(path, state, 0)
    try:
        # With a state, the first read is large, since each read of a remote file is a request.
        start = stream.read(SAMPLE_BYTES if state is None else PACKED_BYTES)
        require_content(path, start[:SAMPLE_BYTES])
    except BaseException:
        stream.close()
        raise
    packing = packing_of(path)
    if state is None:
        stream.seek(0)
        return stream if packing is None else unpacked(stream, packing)
    whole = Continued(start, stream)
    return whole if packing is None else unpacked(pa.BufferedInputStream(pa.PythonFile(whole, mode="r"), PACKED_BYTES), packing)


@attrs.frozen
class FileRange:
    """A range of bytes of a text file, for reading the lines that start in it.

    Parameters
    ----------
    path, state
        The path and the expected state of the file, as for :func:`open_bytes`.
    number
        The index of the file among the files that are read.
    start, stop
        The first position, and the position behind the last one; None for the end of the file.
    is_line
        Whether it is known that a line starts at ``start``.
    """

    path: str
    state: FileState | None
    number: int
    start: int = 0
    stop: int | None = None
    is_line: bool = True

    @property
    def is_part(self) -> bool:
        """Whether the range may be only a part of the file."""
        return self.start > 0 or self.stop is not None


class WholeLines:
    """Reads the lines that start between two positions of a stream; the last one is read to its end, even if that is behind the range.

    Parameters
    ----------
    stream
        The stream, positioned at the byte before ``start``, or at the start of the file.
    start, stop
        The two positions; None for all lines to the end.

    Examples
    --------
    >>> import io
    >>> content = b"one\\ntwo\\nthree"
    >>> [WholeLines(io.BytesIO(content[max(0, start - 1) :]), start, stop).read(99) for start, stop in ((0, 2), (2, 5), (5, 6), (6, None))]
    [b'one\\n', b'two\\n', b'', b'three']
    """

    def __init__(self, stream: Any, start: int, stop: int | None) -> None:
        self._stream, self._position, self._stop = stream, max(0, start - 1), stop
        self._is_in_line, self._is_done, self._behind = not start, False, BEHIND_BYTES

    def read(self, size: int) -> bytes:
        """Return the next bytes of the lines, about ``size``; none at the end."""
        while not self._is_done:
            data = self._stream.read(self._bytes_to_read(size))
            self._is_done = not data
            if own := self._own_bytes(data):
                return own
        return b""

    def _bytes_to_read(self, size: int) -> int:
        left = size if self._stop is None else max(0, self._stop - self._position)
        if self._stop is None or left > size + BEHIND_BYTES:
            return size
        if left:
            return left + BEHIND_BYTES
        # The last line is long. The number of bytes is doubled each time, since the caller searches the whole line again.
        self._behind = min(2 * self._behind, max(size, BEHIND_BYTES))
        return self._behind

    def _own_bytes(self, data: bytes) -> bytes:
        """Return the part of the bytes just read that belongs to the lines."""
        begin, first = self._position, 0
        self._position += len(data)
        if not self._is_in_line:
            first = data.find(b"\n") + 1
            self._is_in_line = first > 0
            start = begin + first if first else self._position
            if self._stop is not None and start >= self._stop:
                self._is_done = True
                return b""
            if not first:
                return b""
        if self._stop is None or self._position < self._stop:
            return data[first:]
        end = data.find(b"\n", max(first, self._stop - 1 - begin)) + 1
        self._is_done = self._is_done or end > 0
        return data[first : end or None]


def divided(files: Sequence[FileRange], size: int, is_divisible: Callable[[FileRange], bool]) -> list[tuple[FileRange, ...]]:
    """Return work items of about ``size`` bytes each, in order: each is several small files, one file, or a range of a large file.

    Only files for which ``is_divisible`` returns True are divided into ranges.

    Examples
    --------
    >>> short, long = (FileRange(name, FileState(length, 0, 0, 0), number) for number, (name, length) in enumerate({"a": 3, "b": 20}.items()))
    >>> [[(part.path, part.start, part.stop) for part in parts] for parts in divided([short, short, long], 8, lambda _: True)]
    [[('a', 0, None), ('a', 0, None)], [('b', 0, 10)], [('b', 10, None)]]
    """
    items: list[tuple[FileRange, ...]] = []
    combined: list[FileRange] = []
    combined_bytes = 0
    for file in files:
        # The sizes of files without a state are not known, and each of them is a work item by itself.
        length = size if file.state is None else file.state.size
        count = round(length / size) if is_divisible(file) and file.state is not None else 0
        if combined and (count > 1 or combined_bytes + length > size or len(combined) >= MAX_COMBINED):
            items.append(tuple(combined))
            combined, combined_bytes = [], 0
        if count > 1:
            edges = [length * part // count for part in range(count)]
            ranges = zip(edges, [*edges[1:], None], strict=True)
            items += [(attrs.evolve(file, start=start, stop=stop, is_line=start == 0),) for start, stop in ranges]
            continue
        combined.append(file)
        combined_bytes += length
    return [*items, tuple(combined)] if combined else items


class WatchedFiles:
    """Local files that are read several times, and must not change between the reads.

    Parameters
    ----------
    compared
        The paths and the expected states of the files. Files with a state are not checked here, since their streams check them.
    """

    def __init__(self, compared: Iterable[tuple[str, FileState | None]]) -> None:
        self._compared = {path: state for path, state in compared if state is not None}
        self._seen: dict[str, FileState] = {}

    def require_unchanged(self, path: str) -> None:
        """Raise if a file was changed since the first call for it.

        Raises
        ------
        StorageError
            If the file was changed, or does not exist.
        """
        if path not in self._compared:
            self._seen[path] = unchanged(path, self._seen.get(path))

    def seen(self, path: str) -> FileState:
        """Return the state of a local file, which must not have changed since the first call for it.

        Raises
        ------
        StorageError
            If the file was changed, or does not exist.
        """
        self.require_unchanged(path)
        return self._seen[path]
