"""What a user may name as the place of data: a path, or a ``file:`` URI; anything else is refused before any work is done."""

from __future__ import annotations

import os
import re
import urllib.parse

from sframe_spark.errors import StorageError
from sframe_spark.visible import is_unicode

# One letter is a drive of Windows. One slash is enough: pathlib makes "s3:/bucket" of "s3://bucket".
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_FILE_URI = re.compile(r"file:", re.IGNORECASE)
_NOT_AN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def normalised(location: str | os.PathLike[str]) -> str:
    """Return the absolute local path of what a user named.

    Parameters
    ----------
    location
        A path, in which a leading ``~`` is the home directory, or a ``file:`` URI, in which ``%20`` is a space.

    Raises
    ------
    StorageError
        If it is on an object store or another remote file system, or no file can have the name.

    Examples
    --------
    >>> normalised("/data/frame/"), normalised("file:///data/a%20frame"), normalised("FILE:/data/frame")
    ('/data/frame', '/data/a frame', '/data/frame')
    >>> normalised("s3://bucket/frame")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.StorageError: s3://bucket/frame is not on a local or mounted disk, and data on s3: cannot be read or written yet: name a path
    """
    text = os.fsdecode(os.fspath(location))
    # Blanks before a URI, as in lines of configuration files, do not make a path of it.
    uri = text.lstrip().removeprefix("\ufeff").lstrip()
    if _FILE_URI.match(uri):
        path = _path_of_file_uri(uri)
    elif scheme := _URI.match(uri):
        raise StorageError(f"{text} is not on a local or mounted disk, and data on {scheme.group(1)}: cannot be read or written yet: name a path")
    else:
        path = os.path.expanduser(text)
    _check_characters(path)
    try:
        absolute = os.path.abspath(path)
    except FileNotFoundError:
        raise StorageError(f"{text} is below the working directory, which was deleted: name an absolute path, or os.chdir() elsewhere") from None
    _check_no_metadata_directory(absolute)
    # POSIX lets two slashes at the start stay two; nothing here knows them for anything but one.
    return "/" + absolute.lstrip("/") if absolute.startswith("//") else absolute


def scheme_of(location: str) -> str | None:
    """Return the scheme of what names a place elsewhere; None for paths and ``file:`` URIs.

    Examples
    --------
    >>> scheme_of("s3://bucket/a.csv"), scheme_of("https://host/a.csv"), scheme_of("/data/a.csv"), scheme_of("file:///data/a.csv")
    ('s3', 'https', None, None)
    """
    text = location.lstrip().removeprefix("\ufeff").lstrip()
    found = None if _FILE_URI.match(text) else _URI.match(text)
    return None if found is None else found.group(1)


def _path_of_file_uri(text: str) -> str:
    rest = text[len("file:") :]
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, after = rest[2:].partition("/")
        path = slash + after
    if host.lower() not in ("", "localhost"):
        raise StorageError(f"{text} is on the host {host!r}: only files that this machine sees under a path can be read or written; name the path")
    if not path.startswith("/"):
        raise StorageError(f"{text} is not an absolute file: URI: write file:///directory/name, or the path alone")
    if "?" in path or "#" in path or _NOT_AN_ESCAPE.search(path):
        raise StorageError(f"{text} is not a file: URI: '?', '#' and '%' in names are written %3F, %23 and %25; or name the path alone")
    return os.fsdecode(urllib.parse.unquote_to_bytes(os.fsencode(path)))


def _check_no_metadata_directory(path: str) -> None:
    # Spark takes it for the log of a streaming query and reads no file below it, without an error.
    if "_spark_metadata" in path.split(os.sep):
        raise StorageError(f"{path} is in a directory named _spark_metadata, below which Spark reads nothing: choose another name")


def _check_characters(path: str) -> None:
    if "\0" in path:
        raise StorageError(f"the path {path!r} contains a NUL character, which no file name has")
    if not is_unicode(path):
        raise StorageError(f"the path {path!r} is not Unicode text, so Spark cannot open it: rename the directory or file")
