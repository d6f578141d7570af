"""The compression formats of text files, chosen by file name extension; checks of names and first bytes; streams that compress and decompress."""

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
from sframe_spark.storage.filesystem.format_recognition import kind_of

# How many bytes of an xz file are read at a time.
READ_BYTES = 1 << 20
# The default level of xz, 6, takes ten times as long as gzip. Level 1 is faster, and its files are still smaller than those of gzip.
_XZ_PRESET = 1


@attrs.frozen
class Compression:
    """A compression format that is read and written.

    Parameters
    ----------
    name
        The name of the format in messages.
    codec
        The name of the format in pyarrow.
    magic
        The first bytes of files in this format.
    endings
        The file name extensions of the format, in lower case; the first is the usual one.
    has_members
        Whether readers accept concatenated compressed files as one file, so that parts can be compressed separately.
    """

    name: str
    codec: str
    magic: bytes
    endings: tuple[str, ...]
    has_members: bool


GZIP = Compression("gzip", "gzip", b"\x1f\x8b", (".gz", ".gzip"), has_members=True)
BZIP2 = Compression("bzip2", "bz2", b"BZh", (".bz2",), has_members=True)
XZ = Compression("xz", "xz", b"\xfd7zXZ\x00", (".xz",), has_members=True)
# Parts in this format cannot be compressed separately: of several concatenated zstd files, pandas reads only the first, without an error.
ZSTD = Compression("zstd", "zstd", b"\x28\xb5\x2f\xfd", (".zst", ".zstd"), has_members=False)
LZ4 = Compression("lz4", "lz4", b"\x04\x22\x4d\x18", (".lz4",), has_members=False)
PACKINGS = (GZIP, BZIP2, XZ, ZSTD, LZ4)
# File name extensions of formats that are neither read nor written.
_UNSUPPORTED = {
    ".zip": "a ZIP archive",
    ".7z": "a 7z archive",
    ".rar": "a RAR archive",
    **dict.fromkeys((".tar", ".tgz", ".taz", ".tbz", ".tbz2", ".tb2", ".txz", ".tlz", ".tzst"), "a tar archive"),
    **dict.fromkeys((".z", ".br", ".sz", ".snappy", ".lzma", ".lz", ".lzo", ".deflate", ".zz"), "compressed"),
}


def packing_of(path: str) -> Compression | None:
    """Return the compression format of a file by its file name extension; None if it has no extension of one.

    Examples
    --------
    >>> packing_of("s3://bucket/a.csv.GZ").name, packing_of("/data/a.csv")
    ('gzip', None)
    """
    ending = _ending(path)
    return next((packing for packing in PACKINGS if ending in packing.endings), None)


def without_packing(path: str) -> str:
    """Return a path without the file name extension of a compression format.

    Examples
    --------
    >>> without_packing("a.csv.gz"), without_packing("a.csv")
    ('a.csv', 'a.csv')
    """
    return path if packing_of(path) is None else path[: -len(_ending(path))]


def require_clear_name(path: str, endings: tuple[str, ...]) -> None:
    """Raise if a file name has a given extension followed by that of an unsupported archive or compression format, such as ``.csv.zip``.

    Raises
    ------
    StorageError
        If it does.
    """
    inner = without_packing(path)
    if _ending(inner) in _UNSUPPORTED and _ending(os.path.splitext(inner)[0]) in endings:
        require_writable_name(path)


def require_writable_name(path: str) -> None:
    """Raise if the name of a new text file has the extension of an archive, of an unsupported compression format, or of two compression formats.

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
    """Raise if the first bytes of a file do not agree with the compression format of its file name extension.

    Raises
    ------
    StorageError
        If the name has the extension of a supported compression, and the file is empty, or its first bytes are those of another known format, such as
        text. If the name has the extension of an archive or an unsupported compression, and the file is not empty and of no known format.
    """
    packing = packing_of(path)
    if packing is None:
        other = _UNSUPPORTED.get(_ending(path))
        if other is not None and start and kind_of(start) is None:
            raise StorageError(f"{visible(path)} is {other}, as its name says, not text: unpack it, and read the files in it")
        return
    if not start:
        raise StorageError(
            f"cannot read {visible(path)}: it is damaged (it is empty, and a file compressed with {packing.name} never is); restore it from a copy"
        )
    kind = kind_of(start)
    # A file of very few bytes is compared with the beginning of the expected bytes, as it may have been cut off.
    if kind is not None and not start.startswith(packing.magic[: len(start)]):
        raise StorageError(
            f"cannot read {visible(path)}: it is not compressed with {packing.name}, as its name says: it is {kind.name}; rename it, or restore it "
            "from a copy"
        )


def has_packed_extension(path: str) -> bool:
    """Return whether the extension of a file name is that of a compression or archive format, so that the first bytes must be checked."""
    return packing_of(path) is not None or _ending(path) in _UNSUPPORTED


def unpacked(stream: Any, packing: Compression) -> Any:
    """Return a stream with the decompressed content of another stream."""
    return _XzStream(stream) if packing is XZ else pa.CompressedInputStream(stream, packing.codec)


class Continued(io.RawIOBase):
    """A stream that returns bytes that were read before, followed by the rest of another stream.

    Parameters
    ----------
    start
        The bytes that were read before.
    stream
        The stream with the other bytes.
    """

    def __init__(self, start: bytes, stream: Any) -> None:
        super().__init__()
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        if self._start:
            content, self._start = (self._start, b"") if size < 0 else (self._start[:size], self._start[size:])
            return content
        return bytes(self._stream.read(size))

    def close(self) -> None:
        """Close this stream and the other one."""
        super().close()
        self._stream.close()


class _XzStream(Continued):
    """Decompresses xz. ``lzma.LZMAFile`` is not used, since it treats a damaged second member as the end of the file."""

    def __init__(self, stream: Any) -> None:
        super().__init__(b"", stream)
        self._unpacking: lzma.LZMADecompressor | None = None
        self._packed, self._is_last = b"", False

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes; none at the end.

        Raises
        ------
        OSError
            If the compressed bytes are damaged, or end too early.
        """
        while self._has_more():
            assert self._unpacking is not None
            try:
                content = self._unpacking.decompress(self._packed, size)
            except lzma.LZMAError as error:
                raise OSError(f"xz: {error}") from None
            self._packed = self._unpacking.unused_data
            if self._unpacking.eof:
                self._unpacking = None
            if content:
                return content
        return b""

    def _has_more(self) -> bool:
        """Return whether there are more data, in this member or a next one; reads compressed bytes if needed."""
        if self._unpacking is None:
            # There may be zero bytes between members, and after the last one.
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
    """Yield a stream that appends a compressed member to a file. Without compression, and for formats in which the caller compresses the
    whole file as one member, yield the file itself."""
    if packing is None or not packing.has_members:
        yield raw
        return
    with _writer(raw, packing) as file:
        yield file


def _writer(raw: Any, packing: Compression) -> contextlib.AbstractContextManager[Any]:
    if packing is GZIP:
        # The file name and the time are not written, so that equal rows give equal bytes.
        return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)
    return bz2.BZ2File(raw, "wb") if packing is BZIP2 else lzma.LZMAFile(raw, "wb", preset=_XZ_PRESET)
