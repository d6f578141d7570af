"""Reading dataset files from disk or from a remote store, where ranges are fetched in few large requests."""

from __future__ import annotations

import abc
import bisect
import io
from collections import OrderedDict
from collections.abc import Callable, Sequence

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.storage.filesystem.object_store import read_range, read_ranges, require_size

Range = tuple[int, int]
# Bytes between two ranges that cost less than one more request.
GAP_BYTES = 1 << 20
# Row groups smaller than this are fetched with those that follow.
MIN_BYTES = 4 << 20
# Columns of one row group may be read to their end after the first of the next one.
BATCHES_IN_MEMORY = 2


def open_file(location: str, size: int | None = None) -> pa.NativeFile:
    """Open a file for reading from any place in it.

    Parameters
    ----------
    location
        Its path or URI.
    size
        Its length, which is not requested where it is remote.

    Raises
    ------
    StorageError
        If it is remote, and no one says how long it is.
    """
    if not is_remote_location(location):
        return pa.OSFile(location)
    if size is None:
        raise StorageError(f"{location} is of unknown length: only files whose length a manifest tells are read elsewhere")
    return open_ranges(location, size, ())


def open_ranges(
    location: str, size: int, groups: Sequence[Sequence[Range]], check: Check | None = None, still: Callable[[], None] | None = None
) -> pa.NativeFile:
    """Open a remote file whose ranges to be read are known.

    Parameters
    ----------
    location, size
        As of :func:`open_file`.
    groups
        Ranges that are read together: reading one fetches the whole group, which is kept until two other groups were read.
    check
        Called with the position and the bytes of each fetched group before they are used.
    still
        Raises if the file has changed; called after every fetch.
    """
    return pa.PythonFile(RangedFile(location, size, groups, check, still), mode="r")


def coalesced(ranges: Sequence[Range], gap: int = GAP_BYTES) -> list[Range]:
    """Return ranges in order, merging those that are close to each other.

    Examples
    --------
    >>> coalesced([(40, 50), (0, 10), (12, 20)], gap=5)
    [(0, 20), (40, 50)]
    """
    found: list[Range] = []
    for start, stop in sorted(ranges):
        if found and start - found[-1][1] <= gap:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found


def fetch_batches(groups: Sequence[Sequence[Range]], min_bytes: int = MIN_BYTES) -> list[range]:
    """Return batches of consecutive groups, each large enough for one request.

    Examples
    --------
    >>> fetch_batches([[(0, 3)], [(3, 6), (8, 9)], [(10, 90)], [(90, 95)]], min_bytes=6)
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    found, start, size, reached = [], 0, 0, None
    for group, ranges in enumerate(groups):
        for begin, stop in coalesced(ranges):
            # What lies between is fetched, too.
            between = 0 if reached is None or begin - reached > GAP_BYTES else begin - reached
            size, reached = size + between + stop - begin, stop
        if size >= min_bytes:
            found.append(range(start, group + 1))
            start, size, reached = group + 1, 0, None
    return found if start == len(groups) else [*found, range(start, len(groups))]


class GroupBytes:
    """Fetched parts of a file, addressed by positions in the file; slices outside are empty.

    Parameters
    ----------
    size
        Length of the file.
    blocks
        The bytes, and where each run of them starts.

    Examples
    --------
    >>> content = GroupBytes(100, [(10, b"abcdef")])
    >>> len(content), content[12:14], content[90:]
    (100, b'cd', b'')
    """

    def __init__(self, size: int, blocks: Sequence[tuple[int, bytes]]) -> None:
        self._size, self._blocks = size, blocks
        self._starts = [start for start, _ in blocks]

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        start, stop, _ = place.indices(self._size)
        index = bisect.bisect_right(self._starts, start) - 1
        if index < 0:
            return b""
        begin, content = self._blocks[index]
        return content[start - begin : max(stop - begin, 0)]


Check = Callable[[int, GroupBytes], None]


class SizedFile(io.RawIOBase):
    """A file of known length, read from any place in it.

    Parameters
    ----------
    uri
        Where it is: its path or URI.
    size
        Its length.
    """

    def __init__(self, uri: str, size: int) -> None:
        super().__init__()
        self._uri, self._size, self._position = uri, size, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The current position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position; nothing is requested."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        start = self._position
        stop = self._size if size < 0 else min(start + size, self._size)
        if stop <= start:
            return b""
        content = self._read_between(start, stop)
        self._position = start + len(content)
        return content

    @abc.abstractmethod
    def _read_between(self, start: int, stop: int) -> bytes:
        """Return all bytes between two places, of which there are some."""


class RangedFile(SizedFile):
    """A remote file; see :func:`open_ranges`."""

    def __init__(
        self, uri: str, size: int, groups: Sequence[Sequence[Range]], check: Check | None = None, still: Callable[[], None] | None = None
    ) -> None:
        super().__init__(uri, size)
        self._check, self._still = check, still
        self._together = fetch_batches(groups)
        self._blocks = [coalesced([some for group in batch for some in groups[group]]) for batch in self._together]
        # All fetched ranges in order, each with the number of its batch.
        self._places = sorted((start, stop, batch) for batch, blocks in enumerate(self._blocks) for start, stop in blocks)
        self._starts = [start for start, _, _ in self._places]
        self._loaded: OrderedDict[int, GroupBytes] = OrderedDict()

    def _read_between(self, start: int, stop: int) -> bytes:
        index = bisect.bisect_right(self._starts, start) - 1
        if index >= 0 and self._places[index][1] >= stop:
            return self._batch(self._places[index][2])[start:stop]
        content = read_range(self._uri, start, stop)
        self._require_still()
        require_size(self._uri, len(content), stop - start)
        return content

    def _require_still(self) -> None:
        if self._still is not None:
            self._still()

    def _batch(self, batch: int) -> GroupBytes:
        if batch not in self._loaded:
            while len(self._loaded) >= BATCHES_IN_MEMORY:
                self._loaded.popitem(last=False)
            self._loaded[batch] = self._fetched(batch)
        return self._loaded[batch]

    def _fetched(self, batch: int) -> GroupBytes:
        ranges = self._blocks[batch]
        parts = read_ranges(self._uri, ranges)
        self._require_still()
        for (start, stop), part in zip(ranges, parts, strict=True):
            require_size(self._uri, len(part), stop - start)
        content = GroupBytes(self._size, list(zip([start for start, _ in ranges], parts, strict=True)))
        if self._check is not None:
            for group in self._together[batch]:
                self._check(group, content)
        return content
