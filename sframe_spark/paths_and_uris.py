"""Functions that check and normalise the locations of data that users give: paths, ``file:`` URIs and URIs of remote file systems."""

from __future__ import annotations

import os
import posixpath
import re
import sys
import urllib.parse

from sframe_spark.errors import StorageError
from sframe_spark.message_text import is_unicode, visible
from sframe_spark.redaction import has_user, secrets_of, without_secrets

# A scheme has at least two letters, since one letter is a Windows drive. One slash is enough, since pathlib turns "s3://bucket" into "s3:/bucket".
# Schemes of fsspec may have underscores, and may be chained, as in "simplecache::s3://bucket".
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+._-]+):(?:/|:[^/]*:/)")
# The beginning of a location that is probably a mistyped URI. As a path, it would be below the working directory.
_NEARLY_URI = re.compile(r"(s3[an]?|gc?s|abfss?|wasbs?|hdfs|viewfs|jdbc|https?|ftp)\s*:", re.IGNORECASE)
_FILE_URI = re.compile(r"file:", re.IGNORECASE)
_NOT_AN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Schemes whose file system is mounted, with the directory: Databricks mounts dbfs.
_MOUNTED = {"dbfs": "/dbfs"}
# Schemes that Hadoop and other libraries use for the same file systems, and the scheme that this package uses.
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss"}
# Schemes of file systems to which frames cannot be saved.
_READ_ONLY = ("http", "https", "data", "git", "github")
# Schemes whose URIs may have no host, as in "hdfs:///data".
_WITHOUT_HOST = ("hdfs", "viewfs")
# Schemes whose URIs begin with the name of a bucket or container.
BUCKETS = ("s3", "gs", "abfss", "az", "oss", "r2", "b2")
# Part of the messages about URIs that contain a password.
INSTEAD_OF_PASSWORDS = "set passwords with config.storage_options['scheme://...'] = {...} or in the environment, and write the address without them"
# Characters that remote file systems interpret as patterns, versions, or paths inside a file.
_NOT_IN_NAMES = re.compile(r"[?#*\[\]{}\\\x00-\x1f]|::")


def normalised(location: str | os.PathLike[str]) -> str:
    """Return the absolute local path of a location.

    Parameters
    ----------
    location
        A path, in which a leading ``~`` is the home directory, or a ``file:`` URI, in which ``%20`` is a space.

    Raises
    ------
    StorageError
        If the location is on an object store or another remote file system, contains a password, or is not a valid path.

    Examples
    --------
    >>> normalised("/data/frame/"), normalised("file:///data/a%20frame"), normalised("FILE:/data/frame")
    ('/data/frame', '/data/a frame', '/data/frame')
    >>> normalised("s3://bucket/frame")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.StorageError: s3://bucket/frame is not on a local or mounted disk, and on s3: this cannot be read or written yet: name a path
    """
    text = os.fsdecode(os.fspath(location))
    # A URI may have blanks or a byte order mark before it, as in configuration files.
    uri = text.lstrip().removeprefix("\ufeff").lstrip()
    if _FILE_URI.match(uri):
        path = _path_of_file_uri(uri)
    elif mounted := _mounted(uri):
        path = mounted
        _require_no_user(path, uri.partition(":")[2].lstrip("/"), text)
    elif scheme := _URI.match(uri):
        quoted = visible(without_secrets(text))
        raise StorageError(f"{quoted} is not on a local or mounted disk, and on {scheme.group(1)}: this cannot be read or written yet: name a path")
    else:
        path = os.path.expanduser(text)
        _check_is_meant(path, text)
    _check_characters(path)
    try:
        absolute = os.path.abspath(path)
    except FileNotFoundError:
        raise StorageError(
            f"{visible(text)} is below the working directory, which was deleted: name an absolute path, or os.chdir() elsewhere"
        ) from None
    # The path of the working directory may contain invalid characters, too.
    _check_characters(absolute)
    if "_spark_metadata" in absolute.split(os.sep):
        # Spark treats this directory as the log of a streaming query, and silently reads no files below it.
        raise StorageError(f"{absolute} is in a directory named _spark_metadata, below which Spark reads nothing: choose another name")
    # abspath keeps two leading slashes, as POSIX requires; they are the same as one here.
    return "/" + absolute.lstrip("/") if absolute.startswith("//") else absolute


def scheme_of(location: str) -> str | None:
    """Return the scheme of a remote location; None for paths, ``file:`` URIs and mounted file systems.

    Examples
    --------
    >>> scheme_of("s3://bucket/a.csv"), scheme_of("https://host/a.csv"), scheme_of("/data/a.csv"), scheme_of("file:///data/a.csv")
    ('s3', 'https', None, None)
    >>> scheme_of("dbfs:/data/a.csv")
    """
    text = location.lstrip().removeprefix("\ufeff").lstrip()
    uri = None if _FILE_URI.match(text) or _mounted(text) else _URI.match(text)
    return None if uri is None else uri.group(1)


def location_of(location: str | os.PathLike[str]) -> str:
    """Return the location of a frame to save or load: an absolute local path, or the canonical URI of a remote location.

    Parameters
    ----------
    location
        A location that :func:`normalised` accepts, or a URI of a file system that fsspec knows.

    Raises
    ------
    StorageError
        If frames cannot be saved at the location, or the URI contains a password.

    Examples
    --------
    >>> location_of("S3A://bucket/a//frame/"), location_of("memory:///frame"), location_of("/data/frame"), location_of("dbfs:/x")
    ('s3://bucket/a/frame', 'memory://frame', '/data/frame', '/dbfs/x')
    """
    text = os.fsdecode(os.fspath(location))
    uri = text.lstrip().removeprefix("\ufeff").strip()
    if scheme_of(uri) is None:
        return normalised(text)
    scheme, _, rest = with_two_slashes(with_canonical_scheme(uri)).partition(":")
    quoted = visible(without_secrets(f"{scheme}:{rest}"))
    if scheme in _READ_ONLY:
        raise StorageError(f"{quoted} is read only on {scheme}, so nothing can be saved there; name another place")
    return _canonical(scheme, rest, quoted)


def with_canonical_scheme(uri: str) -> str:
    """Return a URI with its scheme in lower case, or replaced by the scheme that this package uses for the same file system.

    Examples
    --------
    >>> with_canonical_scheme("S3a://bucket/a*.csv")
    's3://bucket/a*.csv'
    """
    scheme, mark, rest = uri.partition(":")
    return f"{_ALIASES.get(scheme.lower(), scheme.lower())}{mark}{rest}"


def with_two_slashes(uri: str) -> str:
    """Return a URI with two slashes after its scheme if ``pathlib`` has left only one.

    A URI with one slash after a scheme of Hadoop has no host, and gets three slashes.

    Examples
    --------
    >>> with_two_slashes("s3:/bucket/a"), with_two_slashes("s3:///a"), with_two_slashes("hdfs:/a")
    ('s3://bucket/a', 's3:///a', 'hdfs:///a')
    """
    scheme, mark, rest = uri.partition(":")
    # A second colon separates chained schemes.
    if rest.startswith(("//", ":")):
        return uri
    return f"{scheme}{mark}//{rest}" if scheme.lower() in _WITHOUT_HOST else f"{scheme}{mark}/{rest}"


def _canonical(scheme: str, rest: str, quoted: str) -> str:
    authority, _, path = rest[2:].partition("/")
    if ":" in authority.rpartition("@")[0]:
        raise StorageError(f"{quoted} contains a password, which would be stored with the address: {INSTEAD_OF_PASSWORDS}")
    if not is_unicode(rest) or (wrong := _NOT_IN_NAMES.search(f":{rest}")):
        which = repr(wrong[0]) if is_unicode(rest) and wrong else "half of a character"
        raise StorageError(f"{quoted} contains {which}, which has another meaning in remote file systems: choose another name")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise StorageError(f"{quoted} contains '..': write out the place without it")
    if scheme == "memory":
        authority, parts = "", [*([authority] if authority else []), *parts]
        return f"memory://{'/'.join(parts)}"
    require_named_bucket(f"{scheme}:{rest}")
    return posixpath.join(f"{scheme}://{authority}", *parts) if authority else f"{scheme}:///{'/'.join(parts)}"


def require_named_bucket(uri: str) -> None:
    """Raise if a URI has no bucket although its scheme needs one.

    Raises
    ------
    StorageError
        If the URI has no bucket, or has a password instead of one.
    """
    # In a chained URI, the last part is the location of the files.
    scheme, _, rest = with_canonical_scheme(uri.rpartition("::")[2]).partition("://")
    if scheme in BUCKETS and ":" in rest.partition("@")[0] and "@" in rest.partition("/")[0]:
        raise StorageError(f"{visible(without_secrets(uri))} contains a password, so the bucket cannot be determined: {INSTEAD_OF_PASSWORDS}")
    # URIs of Azure have the container before the account: container@account.
    bucket = rest.partition("/")[0].partition("@")[0]
    if scheme in BUCKETS and not bucket.strip(" ."):
        raise StorageError(f"{visible(without_secrets(uri))} does not name a bucket: write {scheme}://bucket/name")


def is_remote_location(location: str) -> bool:
    """Return whether a location that :func:`location_of` has returned, or a file below it, is on a remote file system.

    Examples
    --------
    >>> is_remote_location("s3://bucket/frame"), is_remote_location("/data/s3://frame")
    (True, False)
    """
    return not location.startswith("/") and "://" in location


def is_in_process_memory(location: str) -> bool:
    """Return whether a location is a URI of fsspec's memory file system: data in the memory of this process, which other processes cannot read.

    Examples
    --------
    >>> is_in_process_memory("memory://frame"), is_in_process_memory("s3://bucket/frame")
    (True, False)
    """
    return location.startswith("memory://")


def _mounted(uri: str) -> str | None:
    """Return the local path of a URI whose file system is mounted; None for other URIs and for paths."""
    scheme, mark, rest = uri.partition(":/")
    root = _MOUNTED.get(scheme.lower()) if mark else None
    return None if root is None else f"{root}/{rest.lstrip('/')}"


def _path_of_file_uri(text: str) -> str:
    rest, quoted = text[len("file:") :], visible(without_secrets(text))
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, after = rest[2:].partition("/")
        path = slash + after
    if host.lower() not in ("", "localhost"):
        named = visible(repr(host.rpartition("@")[2]))
        raise StorageError(f"{quoted} is on the host {named}: only files that this machine sees under a path can be read or written; name the path")
    if not path.startswith("/"):
        raise StorageError(f"{quoted} is not an absolute file: URI: write file:///directory/name, or the path alone")
    if "?" in path or "#" in path or _NOT_AN_ESCAPE.search(path):
        raise StorageError(f"{quoted} is not a file: URI: '?', '#' and '%' in names are written %3F, %23 and %25; or name the path alone")
    return os.fsdecode(urllib.parse.unquote_to_bytes(os.fsencode(path)))


def _check_is_meant(path: str, text: str) -> None:
    if os.path.lexists(path):
        return
    quoted = visible(without_secrets(text))
    if uri := _NEARLY_URI.match(text.lstrip()):
        scheme = uri.group(1).lower()
        raise StorageError(f"{quoted} is neither a URI nor an existing path: write {scheme}://bucket/name, or ./{quoted} for a path")
    _require_no_user(path, text, text)


def _require_no_user(path: str, inside: str, text: str) -> None:
    """Raise if no file exists at a path, and ``inside`` contains a user name or a password, as URIs do."""
    if (has_user(inside) or secrets_of(inside)) and not os.path.lexists(path):
        raise StorageError(
            f"{visible(without_secrets(text))} contains a password, as addresses do, and is neither a URI nor an existing path: "
            f"{INSTEAD_OF_PASSWORDS}; ./ before the name of a file makes a path of it"
        )


def _check_characters(path: str) -> None:
    if "\0" in path:
        raise StorageError(f"the path {path!r} contains a NUL character, which file names cannot have")
    encoding = sys.getfilesystemencoding()
    if not is_unicode(path):
        raise StorageError(f"the path {path!r} is not Unicode text, so Spark cannot open it: rename the directory or file{_in_utf_8(encoding)}")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise StorageError(f"no file can have the name {path!r} in this process{_in_utf_8(encoding)}, or choose a name in {encoding}") from None


def _in_utf_8(encoding: str) -> str:
    """Return the end of a message for processes whose file names are not encoded in UTF-8; empty for UTF-8."""
    return "" if encoding == "utf-8" else f", whose locale encodes names of files in {encoding}: start Python with PYTHONUTF8=1"
