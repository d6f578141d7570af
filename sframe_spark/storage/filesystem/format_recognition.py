"""Recognises file formats by the first bytes of a file, and saved frames and Turi Create archives by the files in them.

Files of another format than expected are refused with an error that names the function that reads them.
"""

from __future__ import annotations

import contextlib
import os
import re
import urllib.parse
from collections.abc import Iterable
from typing import NamedTuple

from sframe_spark.errors import StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import is_remote_location, location_of, scheme_of
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import read_regular
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_operations import listed, read_range, size_of

SAMPLE_BYTES = 4096
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Kind(NamedTuple):
    """A file format: its name, and advice on how to read such files, both for error messages."""

    name: str
    advice: str


PARQUET = Kind("a Parquet file", "read it with read_parquet()")
ORC = Kind("an ORC file", "read it with read_orc()")
TEXT = Kind("text", "read it with read_csv(), or with read_json() if it is JSON")
_WORKBOOK = Kind("an Excel workbook", "save it as CSV, or pass the result of pandas.read_excel() to SFrame()")
_UNPACK = "unpack it, and read the files in it"
_ARCHIVE = Kind("a ZIP archive", _UNPACK)
_TAR = Kind("a tar archive", _UNPACK)
# The size of the header of a tar archive, and the position of the octal digits of the header's own checksum.
_TAR_HEADER, _TAR_SUM = 512, slice(148, 156)
UTF_16 = Kind("text in UTF-16", "read it with read_csv(..., encoding='utf-16'), or with read_json() so if it is JSON")
_PACKED = "unpack it; a CSV or JSON file may stay packed if its name ends in "

# The first bytes of files in each format. Those in _STARTS_OF_TEXT may also be the beginning of a text file.
_BINARY: tuple[tuple[bytes, Kind], ...] = (
    (b"\x1f\x8b", Kind("compressed with gzip", _PACKED + ".gz")),
    (b"BZh", Kind("compressed with bzip2", _PACKED + ".bz2")),
    (b"\x28\xb5\x2f\xfd", Kind("compressed with zstd", _PACKED + ".zst")),
    (b"\xfd7zXZ\x00", Kind("compressed with xz", _PACKED + ".xz")),
    (b"\x04\x22\x4d\x18", Kind("compressed with lz4", _PACKED + ".lz4")),
    (b"\xff\x06\x00\x00sNaPpY", Kind("compressed with snappy", _UNPACK)),
    (b"\x1f\x9d", Kind("compressed with compress (.Z)", _UNPACK)),
    (b"LZIP", Kind("compressed with lzip", _UNPACK)),
    (b"\x5d\x00\x00", Kind("compressed with LZMA", _UNPACK)),
    (b"Rar!\x1a\x07", Kind("a RAR archive", _UNPACK)),
    (b"7z\xbc\xaf\x27\x1c", Kind("a 7z archive", _UNPACK)),
    (b"PAR1", PARQUET),
    (b"PARE", Kind("an encrypted Parquet file", "decrypt it first")),
    (b"ORC", ORC),
    (b"ARROW1", Kind("an Arrow (Feather) file", "read it with SFrame.read(..., format='arrow')")),
    (b"Obj\x01", Kind("an Avro file", "pass the result of Spark's spark.read.format('avro') to SFrame()")),
    (b"SQLite format 3\x00", Kind("an SQLite database", "pass the result of pandas.read_sql() to SFrame()")),
    (b"\x89HDF\r\n\x1a\n", Kind("an HDF5 file", "pass the result of pandas.read_hdf() to SFrame()")),
    (b"\xd0\xcf\x11\xe0", _WORKBOOK),
    (b"%PDF-", Kind("a PDF document", "save the table in it as CSV")),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
)
_STARTS_OF_TEXT = (b"PAR1", b"PARE", b"ORC", b"ARROW1", b"BZh", b"%PDF-", b"LZIP")


def kind_of(start: bytes) -> Kind | None:
    """Return the format of a file with the given first bytes; None if it is not recognised.

    Examples
    --------
    >>> kind_of(b"PAR1\\x15\\x04").name, kind_of(b"PAR1,PAR2\\n1,2\\n").name, kind_of(b"PK\\x03\\x04..xl/workbook.xml").name
    ('a Parquet file', 'text', 'an Excel workbook')
    """
    start = start[:SAMPLE_BYTES]
    is_binary = _CONTROL.search(start) is not None
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _WORKBOOK if b"xl/" in start or b"[Content_Types].xml" in start else _ARCHIVE
    if is_binary and _is_tar(start[:_TAR_HEADER]):
        return _TAR
    for magic, kind in _BINARY:
        if start.startswith(magic) and (is_binary or magic not in _STARTS_OF_TEXT):
            return kind
    return TEXT if start and not is_binary and _is_utf8(start) else None


def _is_tar(header: bytes) -> bool:
    """Return whether bytes begin with the header of a tar archive, by the checksum in the header."""
    digits = header[_TAR_SUM].strip(b" \0")
    if len(header) < _TAR_HEADER or not digits or digits.strip(b"01234567"):
        return False
    # The checksum is computed with blanks in place of its own digits.
    return sum(header) - sum(header[_TAR_SUM]) + ord(" ") * len(header[_TAR_SUM]) == int(digits, 8)


def _is_utf8(start: bytes) -> bool:
    try:
        start.decode()
    except UnicodeDecodeError as error:
        # The sample may end within a character.
        return error.start > len(start) - 4
    return True


def refuse_other_format(path: str, expected: Kind, formats: str) -> None:
    """Raise if a file is empty, or its first bytes show that it has another format than the expected one.

    Parameters
    ----------
    path
        The path of the file.
    expected
        The expected format.
    formats
        The name of the expected format in the error message, such as "a readable Parquet file".

    Raises
    ------
    StorageError
        If the file is empty or has another format; the message names the format, and says how to read it.
    """
    start = start_of(path)
    if not start:
        raise StorageError(f"{visible(path)} is not {formats}: it is empty")
    kind = kind_of(start)
    if kind is not None and kind != expected:
        raise StorageError(f"{visible(path)} is not {formats}: it is {kind.name}; {kind.advice}") from None


def format_of_file(path: str) -> Kind | None:
    """Return the format of a file by its first bytes; None if it is not recognised."""
    return kind_of(start_of(path))


def start_of(path: str) -> bytes:
    """Return the first bytes of a file, as many as formats are recognised by."""
    if is_remote_location(path):
        # Requests for a range of an empty object fail.
        return read_range(path, 0, SAMPLE_BYTES) if size_of(path) else b""
    with translate_os_errors("read", path), open(path, "rb") as stream:
        return stream.read(SAMPLE_BYTES)


# Saved frames: readers of external files refuse the files of saved frames, since these do not contain the column names and types.

FORMAT_NAME = "sframe_spark"
# The manifest of a local saved frame, the directory with the manifests of a remote one, and the index file of a Turi Create archive.
MANIFEST_FILE, MANIFESTS, ARCHIVE_FILE = "_manifest.json", "_manifests", "dir_archive.ini"
# File name extensions of the index files of frames and of columns in Turi Create archives.
ARCHIVE_INDEXES = FRAME_INDEX, ARRAY_INDEX = ".frame_idx", ".sidx"
# File names of the manifests of versions: eight digits, or more without a leading zero, so that each version has only one name.
VERSION_FILE = re.compile(r"([0-9]{8}|[1-9][0-9]{8,17})\.json")
_START = f'{{"format": "{FORMAT_NAME}"'.encode()


def is_archive(location: str) -> bool:
    """Return whether a path is a Turi Create archive, or one of its index files; False for the directory of a saved frame."""
    if location.endswith(ARCHIVE_INDEXES):
        return os.path.isfile(location)
    return os.path.lexists(join(location, ARCHIVE_FILE)) and not os.path.lexists(join(location, MANIFEST_FILE))


def refuse_saved(directory: str) -> None:
    """Raise if a local directory, whose files are to be read as external files, is a saved frame or a Turi Create archive.

    Raises
    ------
    StorageError
        If it is one; the message says how to read it.
    """
    if is_saved_frame(directory):
        raise _saved_frame_error(directory, "save()")
    if os.path.isfile(join(directory, ARCHIVE_FILE)):
        raise _saved_frame_error(directory, "Turi Create")


def refuse_saved_remote(shown: str, inside: Iterable[str]) -> None:
    """Raise if a remote directory, whose files are to be read as external files, is a saved frame or a Turi Create archive.

    Parameters
    ----------
    shown
        The directory, for the error message.
    inside
        The paths of the files below it.

    Raises
    ------
    StorageError
        If it is one; the message says how to read it.
    """
    for name in inside:
        if _is_version(name):
            raise _saved_frame_error(shown, "save()")
        if name == ARCHIVE_FILE:
            raise _saved_frame_error(shown, "Turi Create")


def refuse_files_of_saved(files: Iterable[str]) -> None:
    """Raise if one of several files belongs to a saved frame. The caller has found that their columns are named as in segment files.

    A file in a directory without a manifest does not belong to a saved frame.

    Raises
    ------
    StorageError
        If one does; the message says how to read the frame.
    """
    frame = _frame_of(files)
    if frame is not None:
        raise _saved_frame_error(frame, "save()")


def refuse_files_of_saved_for_spark(uris: Iterable[str]) -> None:
    """Raise if one of several files with the column names of segment files, which Spark reads in a user's query, belongs to a saved frame.

    Files that this process cannot read are not checked.

    Parameters
    ----------
    uris
        The URIs of the files as Spark has them, with escapes and Spark's schemes.

    Raises
    ------
    StorageError
        If one does; the message says how to read the frame.
    """
    frame = None
    # A Spark server may have other files under these URIs than this process. Errors of the check are ignored.
    with contextlib.suppress(StorageError):
        frame = _frame_of(dict.fromkeys(location_of(uri if scheme_of(uri) is None else urllib.parse.unquote(uri)) for uri in uris))
    if frame is not None:
        raise _saved_frame_error(frame, "save()")


def _frame_of(files: Iterable[str]) -> str | None:
    """Return the directory of the first saved frame that one of the files belongs to; None if there is none."""
    # Links are resolved, since a file belongs to the directory in which it is stored.
    for directory in dict.fromkeys(os.path.dirname(file if is_remote_location(file) else os.path.realpath(file)) for file in files):
        if not is_remote_location(directory):
            if is_saved_frame(directory):
                return directory
            continue
        # The files of a remote frame are two directories below the frame.
        root = os.path.dirname(os.path.dirname(directory))
        if "://" in root and any(_is_version(f"{MANIFESTS}/{file.uri.rpartition('/')[2]}") for file in listed(join(root, MANIFESTS))):
            return root
    return None


def is_saved_frame(directory: str) -> bool:
    """Return whether a path is the local directory of a saved frame."""
    try:
        start, _ = read_regular(join(directory, MANIFEST_FILE), len(_START))
    except (OSError, StorageError):
        return False
    return start.startswith(_START)


def _is_version(name: str) -> bool:
    directory, _, file = name.rpartition("/")
    return directory == MANIFESTS and VERSION_FILE.fullmatch(file) is not None


def _saved_frame_error(shown: str, writer: str) -> StorageError:
    read = "read it with load_sframe(), or load_sarray() where it is one column"
    return StorageError(f"{visible(shown)} is a frame that {writer} has written, whose files do not contain its column names: {read}")
