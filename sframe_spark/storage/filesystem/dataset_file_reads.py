"""Opens files of datasets for reading at any position: local ones, and remote ones, whose bytes are fetched in few large requests."""

from __future__ import annotations

import abc
import bisect
import io
from collections import OrderedDict
from collections.abc import Callable, Sequence

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.storage.filesystem.remote_operations import read_ranges, require_size

Range = tuple[int, int]
# Two ranges with at most this many bytes between them are fetched with one request.
GAP_BYTES = 1 << 20
# Groups of ranges with fewer bytes are fetched together with the next groups.
MIN_BYTES = 4 << 20
# How many fetched batches are kept. The last bytes of a row group may be read after the first bytes of the next one.
BATCHES_IN_MEMORY = 2


def open_file(location: str, size: int | None = None) -> pa.NativeFile:
    """Open a file for reading at any position.

    Parameters
    ----------
    location
        The path or URI of the file.
    size
        The size of the file, which must be given for remote files.

    Raises
    ------
    StorageError
        If the file is remote, and its size is not given.
    """
    if not is_remote_location(location):
        return pa.OSFile(location)
    if size is None:
        raise StorageError(f"cannot read {location}: its size is unknown, but remote files are read only if a manifest records their size")
    return open_ranges(location, size, ())


def open_ranges(
    location: str, size: int, groups: Sequence[Sequence[Range]], check: Check | None = None, still: Callable[[], None] | None = None
) -> pa.NativeFile:
    """Open a remote file, given the ranges of bytes that will be read. Other ranges can be read, too, with one request each.

    Parameters
    ----------
    location, size
        The URI and the size of the file.
    groups
        Groups of ranges: when a range is read, its whole group is fetched, and small groups are fetched together. Fetched groups are kept until
        two other batches of groups were fetched.
    check
        Called with the index of each fetched group and the fetched bytes, before they are used; raises if they are damaged.
    still
        Called after each fetch; raises if the file has changed.
    """
    return pa.PythonFile(RangedFile(location, size, groups, check, still), mode="r")


def coalesced(ranges: Sequence[Range], gap: int = GAP_BYTES) -> list[Range]:
    """Return ranges in ascending order, with those merged that have at most ``gap`` bytes between them.

    Examples
    --------
    >>> coalesced([(40, 50), (0, 10), (12, 20)], gap=5)
    [(0, 20), (40, 50)]
    """
    merged: list[Range] = []
    for start, stop in sorted(ranges):
        if merged and start - merged[-1][1] <= gap:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def fetch_batches(groups: Sequence[Sequence[Range]], min_bytes: int = MIN_BYTES) -> list[range]:
    """Return batches of consecutive groups of ranges, as ranges of group indices; each batch but the last has at least ``min_bytes``.

    Examples
    --------
    >>> fetch_batches([[(0, 3)], [(3, 6), (8, 9)], [(10, 90)], [(90, 95)]], min_bytes=6)
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    batches, first, size, reached = [], 0, 0, None
    for group, ranges in enumerate(groups):
        for start, stop in coalesced(ranges):
            # The bytes between two close ranges are fetched, too.
            between = 0 if reached is None or start - reached > GAP_BYTES else start - reached
            size, reached = size + between + stop - start, stop
        if size >= min_bytes:
            batches.append(range(first, group + 1))
            first, size, reached = group + 1, 0, None
    return batches if first == len(groups) else [*batches, range(first, len(groups))]


class GroupBytes:
    """Fetched parts of a file, which are read by slices with positions in the file. Slices outside of the fetched parts are empty.

    Parameters
    ----------
    size
        The size of the file.
    blocks
        The position and the bytes of each part, in ascending order.

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

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        index = bisect.bisect_right(self._starts, start) - 1
        if index < 0:
            return b""
        begin, content = self._blocks[index]
        return content[start - begin : max(stop - begin, 0)]


Check = Callable[[int, GroupBytes], None]


class SizedFile(io.RawIOBase):
    """A file of known size that is read at any position.

    Parameters
    ----------
    uri
        The path or URI of the file.
    size
        The size of the file.
    """

    def __init__(self, uri: str, size: int) -> None:
        super().__init__()
        self._uri, self._size, self._position = uri, size, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the current position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the current position, without a request, and return it."""
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` of the next bytes; all of them if ``size`` is negative."""
        start = self._position
        stop = self._size if size < 0 else min(start + size, self._size)
        if stop <= start:
            return b""
        content = self._read_between(start, stop)
        self._position = start + len(content)
        return content

    @abc.abstractmethod
    def _read_between(self, start: int, stop: int) -> bytes:
        """Return the bytes from one position to another; the range is not empty."""


class RangedFile(SizedFile):
    """A remote file; see :func:`open_ranges`."""

    def __init__(
        self, uri: str, size: int, groups: Sequence[Sequence[Range]], check: Check | None = None, still: Callable[[], None] | None = None
    ) -> None:
        super().__init__(uri, size)
        self._check, self._still = check, still
        self._batches = fetch_batches(groups)
        self._ranges = [coalesced([part for group in batch for part in groups[group]]) for batch in self._batches]
        # All ranges in ascending order, each with the index of its batch.
        self._ordered = sorted((start, stop, batch) for batch, ranges in enumerate(self._ranges) for start, stop in ranges)
        self._starts = [start for start, _, _ in self._ordered]
        self._loaded: OrderedDict[int, GroupBytes] = OrderedDict()

    def _read_between(self, start: int, stop: int) -> bytes:
        index = bisect.bisect_right(self._starts, start) - 1
        if index < 0 or self._ordered[index][1] < stop:
            return self._fetched([(start, stop)])[0]
        batch = self._ordered[index][2]
        if batch not in self._loaded:
            while len(self._loaded) >= BATCHES_IN_MEMORY:
                self._loaded.popitem(last=False)
            ranges = self._ranges[batch]
            content = GroupBytes(self._size, list(zip([start for start, _ in ranges], self._fetched(ranges), strict=True)))
            if self._check is not None:
                for group in self._batches[batch]:
                    self._check(group, content)
            self._loaded[batch] = content
        return self._loaded[batch][start:stop]

    def _fetched(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the bytes of some ranges; raise if the file has changed, or they are not complete."""
        parts = read_ranges(self._uri, ranges)
        if self._still is not None:
            self._still()
        for (start, stop), part in zip(ranges, parts, strict=True):
            require_size(self._uri, len(part), stop - start)
        return parts
