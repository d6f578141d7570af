"""Compression of text files, chosen by the suffix of the file name: formats that are read and written, and names that are refused."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.message_text import visible
from sframe_spark.storage.filesystem.file_kind import kind_of

# How much of a compressed file is read at a time where it is decompressed by Python.
READ_BYTES = 1 << 20
# Level 6, the default, takes ten times as long as gzip; this is faster and still smaller.
_XZ_PRESET = 1


@attrs.frozen
class Compression:
    """A format of compression that is read and written.

    Parameters
    ----------
    name
        What it is called in messages.
    codec
        What pyarrow calls it.
    magic
        The first bytes of most such files.
    endings
        Endings of names that say so, in small letters; the first is the usual one.
    has_members
        Whether readers accept concatenated compressed files as one, so that parts can be compressed separately.
    """

    name: str
    codec: str
    magic: bytes
    endings: tuple[str, ...]
    has_members: bool


GZIP = Compression("gzip", "gzip", b"\x1f\x8b", (".gz", ".gzip"), has_members=True)
BZIP2 = Compression("bzip2", "bz2", b"BZh", (".bz2",), has_members=True)
XZ = Compression("xz", "xz", b"\xfd7zXZ\x00", (".xz",), has_members=True)
# pandas reads the first of several frames and leaves out the rest without an error.
ZSTD = Compression("zstd", "zstd", b"\x28\xb5\x2f\xfd", (".zst", ".zstd"), has_members=False)
LZ4 = Compression("lz4", "lz4", b"\x04\x22\x4d\x18", (".lz4",), has_members=False)
PACKINGS = (GZIP, BZIP2, XZ, ZSTD, LZ4)
# Formats that are neither read nor written.
_UNSUPPORTED = {
    ".zip": "a ZIP archive",
    ".7z": "a 7z archive",
    ".rar": "a RAR archive",
    **dict.fromkeys((".tar", ".tgz", ".taz", ".tbz", ".tbz2", ".tb2", ".txz", ".tlz", ".tzst"), "a tar archive"),
    **dict.fromkeys((".z", ".br", ".sz", ".snappy", ".lzma", ".lz", ".lzo", ".deflate", ".zz"), "compressed"),
}


def packing_of(path: str) -> Compression | None:
    """Return the compression that a file name promises; None where it promises none.

    Examples
    --------
    >>> packing_of("s3://bucket/a.csv.GZ").name, packing_of("/data/a.csv")
    ('gzip', None)
    """
    ending = _ending(path)
    return next((packing for packing in PACKINGS if ending in packing.endings), None)


def without_packing(path: str) -> str:
    """Return a name without the ending that says how the file is compressed.

    Examples
    --------
    >>> without_packing("a.csv.gz"), without_packing("a.csv")
    ('a.csv', 'a.csv')
    """
    return path if packing_of(path) is None else path[: -len(_ending(path))]


def require_clear_name(path: str, endings: tuple[str, ...]) -> None:
    """Refuse a name that promises text of some endings in an archive or in a compression that is unknown here.

    Raises
    ------
    StorageError
        If it does.
    """
    inner = without_packing(path)
    if _ending(inner) in _UNSUPPORTED and _ending(os.path.splitext(inner)[0]) in endings:
        require_writable_name(path)


def require_writable_name(path: str) -> None:
    """Refuse the name of a new text file where it promises what is not written: an archive, or a compression that is unknown here.

    Raises
    ------
    StorageError
        If it does.
    """
    inner = without_packing(path)
    if packing_of(inner) is not None:
        raise StorageError(f"{visible(path)} names two compressions: keep one of the two endings")
    if (promised := _UNSUPPORTED.get(_ending(inner))) is not None:
        endings = ", ".join(packing.endings[0] for packing in PACKINGS)
        raise StorageError(
            f"{visible(path)} promises a file that is {promised}, which is not written: choose a name that ends in one of {endings}, "
            "or in none of them for a plain file"
        )


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def require_content(path: str, start: bytes) -> None:
    """Refuse a file whose first bytes are not compressed as its name says.

    Raises
    ------
    StorageError
        If it is empty, as no compressed file is, or something else.
    """
    packing = packing_of(path)
    if packing is None:
        other = _UNSUPPORTED.get(_ending(path))
        if other is not None and start and kind_of(start) is None:
            raise StorageError(f"{visible(path)} is {other}, as its name says, and no text: unpack it, and read what is in it")
        return
    if not start:
        raise StorageError(
            f"cannot read {visible(path)}: it is damaged (it is empty, and a file compressed with {packing.name} never is); restore it from a copy"
        )
    found = kind_of(start)
    # A file that was cut off after a few bytes may be taken for text.
    if found is not None and not start.startswith(packing.magic[: len(start)]):
        raise StorageError(
            f"cannot read {visible(path)}: it is not compressed with {packing.name}, as its name says: it is {found.name}; rename it, or restore it "
            "from a copy"
        )


def says_more_than_text(path: str) -> bool:
    """Return whether a file name promises something other than plain text, so that the first bytes must be checked."""
    return packing_of(path) is not None or _ending(path) in _UNSUPPORTED


def unpacked(stream: Any, packing: Compression) -> Any:
    """Return a decompressing stream over another stream; its blocks are large."""
    return _XzStream(stream) if packing is XZ else pa.CompressedInputStream(stream, packing.codec)


class Continued(io.RawIOBase):
    """A stream of which the first bytes were read already.

    Parameters
    ----------
    start
        These bytes.
    stream
        Gives the others.
    """

    def __init__(self, start: bytes, stream: Any) -> None:
        super().__init__()
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        if self._start:
            found, self._start = (self._start, b"") if size < 0 else (self._start[:size], self._start[size:])
            return found
        rest: bytes = self._stream.read(size)
        return rest

    def close(self) -> None:
        """Close both."""
        super().close()
        self._stream.close()


class _XzStream(io.RawIOBase):
    """Decompresses xz; Python's own reader takes a damaged second member for the end of the file."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        self._unpacking: lzma.LZMADecompressor | None = None
        self._packed, self._is_last = b"", False

    def readable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Close both."""
        super().close()
        self._stream.close()

    def read(self, size: int = -1) -> bytes:
        """Return some bytes, at most as many; none at the end.

        Raises
        ------
        OSError
            If they are damaged, or the end is missing.
        """
        while self._has_more():
            assert self._unpacking is not None
            try:
                found = self._unpacking.decompress(self._packed, size)
            except lzma.LZMAError as error:
                raise OSError(f"xz: {error}") from None
            self._packed = self._unpacking.unused_data
            if self._unpacking.eof:
                self._unpacking = None
            if found:
                return found
        return b""

    def _has_more(self) -> bool:
        """Return whether a member with more data is open, reading input as needed."""
        if self._unpacking is None:
            # Zeros may stand between and behind members.
            self._packed = self._packed.lstrip(b"\0")
            while not self._packed and not self._is_last:
                self._fill()
                self._packed = self._packed.lstrip(b"\0")
            if not self._packed:
                return False
            self._unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        elif self._unpacking.needs_input and not self._packed:
            if self._is_last:
                raise OSError("Truncated compressed stream")
            self._fill()
        return True

    def _fill(self) -> None:
        self._packed = self._stream.read(READ_BYTES)
        self._is_last = not self._packed


@contextlib.contextmanager
def new_member(raw: Any, packing: Compression | None) -> Iterator[Any]:
    """Yield a stream that compresses into a file; the file itself without compression, or if the format allows one member only."""
    if packing is None or not packing.has_members:
        yield raw
        return
    with _writer(raw, packing) as file:
        yield file


def _writer(raw: Any, packing: Compression) -> contextlib.AbstractContextManager[Any]:
    if packing is GZIP:
        # Without a name and a time equal rows are equal bytes.
        return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)
    return bz2.BZ2File(raw, "wb") if packing is BZIP2 else lzma.LZMAFile(raw, "wb", preset=_XZ_PRESET)
