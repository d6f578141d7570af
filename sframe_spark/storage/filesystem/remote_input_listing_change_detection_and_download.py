"""Finds the remote files that a URL names, by listing them on their file system, and downloads them or notices changes of those read in place."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http
import os
import re
import string
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from sframe_spark.errors import MissingPathError, SFrameError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import (
    INSTEAD_OF_PASSWORDS,
    is_in_process_memory,
    location_of,
    require_named_bucket,
    scheme_of,
    with_canonical_scheme,
    with_two_slashes,
)
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.redaction import is_unclear, redacted, without_secrets
from sframe_spark.storage.filesystem import remote_operations
from sframe_spark.storage.filesystem.compression import PACKINGS
from sframe_spark.storage.filesystem.format_recognition import refuse_saved_remote
from sframe_spark.storage.filesystem.io_errors import NO_SPACE, full_disk, missing
from sframe_spark.storage.filesystem.local_files import FileState, is_hidden
from sframe_spark.storage.filesystem.temporary_datasets import DatasetHandle, scratch_store

WEB = ("http", "https")
# Schemes whose authority is a host, which paths on the file system do not repeat; and schemes with a container and an account.
WITH_HOSTS, WITH_ACCOUNTS = ("hdfs", "webhdfs", "viewfs", "sftp", "ssh", "smb", "ftp"), ("abfss", "abfs", "az")
# Suffixes of Iceberg's table metadata files.
METADATA_OF_ICEBERG = (".metadata.json", ".metadata.json.gz")


def normalised_url(url: str) -> str:
    """Return a URL without blanks around it, with its scheme in lower case, and with two slashes behind the scheme, of which ``pathlib`` leaves one.

    Raises
    ------
    StorageError
        If a bucket is needed and not given, or the URL has a password whose end is not clear.

    Examples
    --------
    >>> normalised_url(" HTTPS:/host/a.csv"), normalised_url("memory:///a")
    ('https://host/a.csv', 'memory:///a')
    """
    scheme, mark, rest = url.strip().removeprefix("\ufeff").strip().partition(":")
    url = with_two_slashes(scheme.lower() + mark + rest)
    require_named_bucket(url)
    if is_unclear(url):
        raise StorageError(
            f"{visible(without_secrets(url))} has a password with signs in it that end the name of a host: write @ as %40, / as %2F, ? as %3F "
            f"and # as %23, or {INSTEAD_OF_PASSWORDS}"
        )
    return url


def file_system_of(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it. The URL may have any scheme that fsspec supports, or several schemes.

    Raises
    ------
    StorageError
        If the scheme is unknown, or a package is not installed.
    """
    canonical = with_canonical_scheme(url)
    if remote_operations.has_user_file_system(canonical) or (canonical.partition(":")[0] in remote_operations.PACKAGES and "::" not in canonical):
        return remote_operations.file_system(canonical)
    try:
        import fsspec
    except ImportError:
        raise StorageError(
            f"{visible(without_secrets(url))} is not on a local or mounted disk: to read from there, {remote_operations.INSTALL}; or copy it here"
        ) from None
    try:
        files, path = fsspec.core.url_to_fs(url, **remote_operations.options_of(canonical))
    except (ImportError, ValueError) as error:
        # If the URL has several schemes, fsspec's message says which one is unknown.
        if "::" not in url and scheme_of(url) not in fsspec.available_protocols():
            reason = remote_operations.unknown_scheme(url.partition(":")[0])
        else:
            reason = f"{visible(str(error).splitlines()[0])}; install what is missing, or copy it here"
        raise StorageError(f"{visible(without_secrets(url))} cannot be read: {reason}") from None
    return files, path


def name_of(url: str, files: Any, listed_path: str) -> str:
    """Return the URL of a listed file, with the scheme, and the host or account, of the URL that the user gave.

    Examples
    --------
    >>> import fsspec
    >>> files = fsspec.filesystem("memory")
    >>> name_of("hdfs://host:8020/a/*.parquet", files, "/a/b.parquet")
    'hdfs://host:8020/a/b.parquet'
    >>> name_of("abfss://box@account.dfs.core.windows.net/a", files, "box/a/b.parquet")
    'abfss://box@account.dfs.core.windows.net/a/b.parquet'
    """
    if remote_operations.has_user_file_system(with_canonical_scheme(url)):
        return f"{scheme_of(url)}://{listed_path.lstrip('/')}"
    scheme, authority, path = scheme_of(url), url.partition("://")[2].partition("/")[0], listed_path.lstrip("/")
    before, at, _ = authority.rpartition("@")
    # A password in the given URL must not get into other URLs.
    if authority and "::" not in url and ":" not in before:
        if scheme in WITH_HOSTS:
            return f"{scheme}://{authority}/{path}"
        if scheme in WITH_ACCOUNTS and at and path.startswith(f"{before}/"):
            return f"{scheme}://{authority}/{path.removeprefix(f'{before}/')}"
    uri: str = files.unstrip_protocol(listed_path)
    return uri


class Listed(NamedTuple):
    """A file in a listing.

    Parameters
    ----------
    path
        The path of the file in its file system.
    inside
        The path of the file relative to the directory that the user gave; the name of the file, if the user gave a file or a pattern.
    details
        The properties of the file that the file system gives.
    """

    path: str
    inside: str
    details: Mapping[str, Any]


def listed_at(url: str, files: Any, path: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[Listed]:
    """Return the data files at a URL, in order: one file, the files in a directory, or the files that match a pattern.

    Parameters
    ----------
    url, files, path
        The URL, its file system, and the path of the URL in it.
    sort_key
        The sort key for names.
    is_pattern
        Whether the path is a pattern if no file or directory has this name.

    Raises
    ------
    StorageError
        If there are no files, or the directory is a saved frame, or a table of Delta, Hudi or Iceberg.
    """
    matches = _listed(url, files, path, sort_key, is_pattern)
    if not matches:
        if not remote_operations.has_user_file_system(with_canonical_scheme(url)):
            remote_operations.require_bucket(with_canonical_scheme(url))
        address = visible(without_secrets(url))
        twice = "two slashes name another file than one does; " if "//" in address.partition("://")[2] else ""
        raise MissingPathError(f"there is no file {address}: {twice}check the address")
    return matches


def _listed(url: str, files: Any, path: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[Listed]:
    # Some file systems cache listings, which may be out of date.
    files.invalidate_cache()
    details: Mapping[str, Any] | None = None
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        details = files.info(path)
    if details is None:
        items = files.glob(path, detail=True) if is_pattern else {}
        matches = {name: item for name, item in items.items() if item["type"] == "file" and not _is_marker(name, item)}
        return [Listed(name, os.path.basename(name), matches[name]) for name in sorted(matches, key=sort_key)]
    if details["type"] == "file":
        return [Listed(path, os.path.basename(path), details)]
    root = path.rstrip("/") + "/"
    inside = {name.removeprefix(root): item for name, item in files.find(path, detail=True).items()}
    _refuse_table_formats(name_of(url, files, path.rstrip("/")), files, path.rstrip("/"), {name.partition("/")[0] for name in inside})
    refuse_saved_remote(without_secrets(url), inside)
    names = [name for name, item in inside.items() if not any(map(is_hidden, name.split("/"))) and not _is_marker(name, item)]
    ordered = sorted(names, key=lambda name: tuple(sort_key(part) for part in name.split("/")))
    return [Listed(root + name, name, inside[name]) for name in ordered]


def _is_marker(name: str, details: Mapping[str, Any]) -> bool:
    """Return whether an object is empty and only marks a directory: web consoles give it a name that ends with a slash, Hadoop one with a suffix."""
    return details.get("size") == 0 and (name == "" or name.endswith(("/", "_$folder$")))


# Directories with the logs of table formats, with the name of the format, and how to read such a table.
_LOGS = {
    "_delta_log": ("a Delta", "read the table with Spark, SFrame(spark.read.format('delta').load(...))"),
    ".hoodie": ("a Hudi", "read the table with Spark, SFrame(spark.read.format('hudi').load(...))"),
}


def _refuse_table_formats(address: str, files: Any, directory: str, inside: Collection[str]) -> None:
    table = directory
    while "=" in os.path.basename(table):
        table = os.path.dirname(table)
    for name, (kind, read) in _LOGS.items():
        if name in inside if table == directory else files.isdir(f"{table}/{name}"):
            raise other_rows_than_its_files(visible(address), kind, read)
    if os.path.basename(table) == "data" and _has_metadata_of_iceberg(files, f"{os.path.dirname(table)}/metadata"):
        raise other_rows_than_its_files(visible(address), "an Iceberg", "read the table with Spark, SFrame(spark.read.table(...))")


def _has_metadata_of_iceberg(files: Any, directory: str) -> bool:
    try:
        return any(item["name"].endswith(METADATA_OF_ICEBERG) for item in files.ls(directory, detail=True))
    except (FileNotFoundError, NotADirectoryError):
        return False


def other_rows_than_its_files(address: str, kind: str, read: str) -> StorageError:
    """Return the error for a directory of a table of a format whose log says which of the files have rows of the table."""
    return StorageError(
        f"{address} is a directory of {kind} table, whose own log says which of its files count: {read}. "
        "To read files as they are, rows that were deleted among them, name the files"
    )


@contextlib.contextmanager
def translate_url_errors(url: str) -> Iterator[None]:
    """Turn errors of reading a URL in the ``with`` block into a :class:`StorageError` with a message of one line that names the URL."""
    address = visible(without_secrets(url))
    try:
        yield
    except SFrameError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        raise StorageError(f"cannot read {address}: the server answers {error.code} {visible(str(error.reason))}") from None
    except urllib.error.URLError as error:
        raise StorageError(f"cannot read {address}: {visible(str(error.reason))}; check the address and the network") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            raise StorageError(f"cannot fetch {address}: {full_disk(scratch_store().directory)}") from None
        if scheme_of(url) not in WEB:
            raise StorageError(f"cannot read {address}: {remote_operations.explanation(error, with_canonical_scheme(url))}") from None
        lines = str(error).strip().splitlines() or [""]
        raise StorageError(f"cannot read {address}: {type(error).__name__}: {visible(lines[0].replace(url, without_secrets(url)))}") from None


# Remote external files that are read in place, and their states, by which later changes are noticed: a tag, or the time of the last change.

# The states of up to this many files in a directory are requested one by one. For more files the directory is listed: a request then gives up to a
# thousand states.
FEW_FILES = 8
# The number of requests that are made in parallel.
AT_A_TIME = 8
# The names of tags that file systems give, and that every write changes.
_TAGS = ("ETag", "etag", "generation", "version_id")


@attrs.frozen
class FileInPlace:
    """A remote file that is not downloaded.

    Parameters
    ----------
    uri
        The URI of the file.
    inside
        The path of the file relative to the directory that the user gave.
    state
        The state of the file when it was listed.
    """

    uri: str
    inside: str
    state: FileState


def files_in_place(url: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[FileInPlace] | None:
    """Return the files that a URL names, in order; None if they have to be downloaded, since tasks cannot read ranges of them by their URIs.

    Raises
    ------
    StorageError
        If there are no files, or they cannot be listed.
    """
    url = normalised_url(url)
    canonical = with_canonical_scheme(url)
    if (
        "::" in url
        or is_in_process_memory(canonical)
        or not (remote_operations.has_user_file_system(canonical) or canonical.partition(":")[0] in remote_operations.PACKAGES)
    ):
        return None
    with translate_url_errors(url):
        files, path = remote_operations.file_system(canonical)
        if not remote_operations.is_shared(canonical):
            return None
        in_place = []
        for file in listed_at(url, files, path, sort_key, is_pattern):
            uri, state = with_canonical_scheme(name_of(url, files, file.path)), state_of_item(file.details)
            if state is None or not _is_uri_of(file.path, uri):
                return None
            in_place.append(FileInPlace(uri, file.inside, state))
        return in_place


def _is_uri_of(path: str, uri: str) -> bool:
    """Return whether a URI is in its canonical form, and is that of a listed path."""
    try:
        return location_of(uri) == uri and remote_operations.file_system(uri)[1].strip("/") == path.strip("/")
    except StorageError:
        return False


def state_of_item(item: Mapping[str, Any]) -> FileState | None:
    """Return the state of a file from its properties in a listing; None without its size, or without a property that any later write changes.

    Examples
    --------
    >>> first, second = ({"size": 3, "ETag": tag, "LastModified": None} for tag in ('"a"', "a"))
    >>> state_of_item(first) == state_of_item(second), state_of_item({"size": 3, "ETag": "b"}) == state_of_item(second)
    (True, False)
    """
    if item.get("size") is None:
        return None
    size, tag = int(item["size"]), next((str(item[name]).strip('"') for name in _TAGS if item.get(name) is not None), None)
    if tag is not None:
        return FileState(size, 0, int.from_bytes(hashlib.blake2b(tag.encode(), digest_size=7).digest(), "big"), 0)
    # The time of creation is not used, since rewriting a file may not change it; nor are times in whole seconds, which two writes may have.
    written = remote_operations.time_of(item, remote_operations.TIMES_OF_CHANGE)
    return FileState(size, round(written.timestamp() * 1e9), 0, 0) if written is not None and written.microsecond else None


def states_now(uris: Sequence[str]) -> list[FileState | None]:
    """Return the current states of files; None for files that do not exist any more, or whose states are unknown."""
    by_directory: dict[str, list[str]] = defaultdict(list)
    for uri in uris:
        by_directory[os.path.dirname(uri)].append(uri)
    few = [uri for in_directory in by_directory.values() if len(in_directory) <= FEW_FILES for uri in in_directory]
    many = [directory for directory, in_directory in by_directory.items() if len(in_directory) > FEW_FILES]
    # The file systems are found in this thread, since other threads may have other options. Files of one directory may be on several file systems.
    file_systems = {location: remote_operations.file_system(location)[0] for location in (*few, *many)}
    for files in {id(files): files for files in file_systems.values()}.values():
        files.invalidate_cache()
    states = dict(zip(few, in_threads(lambda uri: _state_now(file_systems[uri], uri), few, AT_A_TIME), strict=True))
    for listing in in_threads(lambda directory: _states_in(file_systems[directory], directory), many, AT_A_TIME):
        states.update(listing)
    return [states.get(uri) for uri in uris]


def _state_now(files: Any, uri: str) -> FileState | None:
    with remote_operations.translate_remote_errors("read", uri):
        try:
            item = files.info(remote_operations.file_system(uri)[1])
        except FileNotFoundError:
            return None
    return state_of_item(item) if item["type"] == "file" else None


def _states_in(files: Any, directory: str) -> dict[str, FileState | None]:
    with remote_operations.translate_remote_errors("list", directory):
        try:
            items = files.ls(remote_operations.file_system(directory)[1], detail=True)
        except FileNotFoundError:
            return {}
    return {f"{directory}/{item['name'].rpartition('/')[2]}": state_of_item(item) for item in items if item["type"] == "file"}


def require_still(uri: str, state: FileState) -> None:
    """Raise if a remote file was changed (see :func:`require_all_still`)."""
    require_all_still({uri: state})


def require_all_still(states: Mapping[str, FileState]) -> None:
    """Raise if remote files, given with the states that they had when they were listed, were changed since.

    Raises
    ------
    StorageError
        If a file does not exist any more, or has another state.
    """
    for (uri, state), now in zip(states.items(), states_now(list(states)), strict=True):
        if now is None:
            raise StorageError(missing(uri))
        if now != state:
            raise changed(uri)


def changed(location: str) -> StorageError:
    """Return the error for a file that was changed after a frame was made from it."""
    return StorageError(f"{location} was changed since it was opened, so what is known of its rows may not be so any more; read it again")


# Downloads: remote files are copied once into a temporary directory.

# The names of files that may be downloaded under their own names.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}")
BLOCK_BYTES = 4 << 20
# How long a web server may send nothing.
TIMEOUT_SECONDS = 60


class Fetched(NamedTuple):
    """A downloaded file: the path of the copy, its URL, and its path relative to the directory that the user gave."""

    path: str
    origin: str
    inside: str


class Download:
    """Copies files into one temporary directory, which exists as long as there are references to ``holder``."""

    def __init__(self) -> None:
        self.holder: DatasetHandle | None = None
        self._number = 0

    def fetch(self, url: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[Fetched]:
        """Download the files that a URL names: one file, or, except from web servers, the files in a directory or that match a pattern.

        Raises
        ------
        StorageError
            If there are no files, or they cannot be downloaded; the message says why.
        """
        url = normalised_url(url)
        if scheme_of(url) in WEB:
            return [self._from_web(url)]
        with translate_url_errors(url):
            files, path = file_system_of(url)
            matches = listed_at(url, files, path, sort_key, is_pattern)
            return self._copied(files, [Fetched(file.path, name_of(url, files, file.path), file.inside) for file in matches])

    def keep(self, stream: Any) -> Fetched:
        """Copy what an open file, or another object with ``read()``, still holds; text becomes UTF-8.

        Raises
        ------
        StorageError
            If it cannot be read.
        """
        name = getattr(stream, "name", None)
        origin = name if isinstance(name, str) and name else f"the {type(stream).__name__}"
        try:
            block = _bytes_of(stream.read(BLOCK_BYTES))
            # An open file may unpack what its name says is compressed: the bytes tell.
            packing = next((packing for packing in PACKINGS if block.startswith(packing.magic)), None)
            path = self._new_path("rows" if packing is None else f"rows{packing.endings[0]}")
            with open(path, "xb") as file:
                while block:
                    raise_if_cancelled()
                    file.write(block)
                    block = _bytes_of(stream.read(BLOCK_BYTES))
        except (OSError, ValueError, TypeError) as error:
            # A file that is closed, or open for writing only, or whose text is not in its encoding.
            raise StorageError(f"cannot read {visible(origin)}: {visible(str(error))}") from error
        return Fetched(path, origin, "")

    def fetch_directory(self, url: str, member: str) -> str | None:
        """Download the files of a directory under their own names, and return the local directory.

        Return None if the directory does not contain a file named ``member``, or is on a web server, which cannot list it.

        Raises
        ------
        StorageError
            If a file cannot be downloaded, or its name has unusual characters.
        """
        url = normalised_url(url)
        if scheme_of(url) in WEB:
            return None
        with translate_url_errors(url):
            files, path = file_system_of(url)
            root = path.rstrip("/") + "/"
            files.invalidate_cache()
            if not files.isfile(root + member):
                return None
            names = sorted(name.removeprefix(root) for name in files.find(path, maxdepth=1))
            for name in names:
                if not _PLAIN_NAME.fullmatch(name):
                    address = visible(without_secrets(url))
                    raise StorageError(f"{address} holds {visible(name)!r:.200}, which is no plain name: copy the directory here")
            self._copied(files, [Fetched(root + name, name_of(url, files, root + name), name) for name in names], as_named=True)
        return self.holder.directory if self.holder is not None else None

    def _from_web(self, url: str) -> Fetched:
        with translate_url_errors(url):
            request = _request(url)
            name = os.path.basename(urllib.parse.unquote(urllib.parse.urlsplit(request.full_url).path))
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as stream:
                # With other successful statuses, the answer is a part of a file, or empty.
                if stream.status != http.HTTPStatus.OK:
                    address = visible(without_secrets(url))
                    raise StorageError(f"cannot read {address}: the server answers {stream.status} {visible(stream.reason)}, not with a whole file")
                length = stream.headers.get("Content-Length")
                size = int(length) if length is not None and length.isdecimal() else None
                address = without_secrets(url)
                return Fetched(_copied_stream(stream, self._new_path(name), size, address), address, name)

    def _copied(self, files: Any, listing: Sequence[Fetched], as_named: bool = False) -> list[Fetched]:
        """Copy remote files, given with their remote paths, several at a time."""

        def copied(work: tuple[Fetched, str]) -> Fetched:
            (remote_path, origin, inside), path = work
            with translate_url_errors(origin), files.open(remote_path, "rb") as stream:
                return Fetched(_copied_stream(stream, path, files.info(remote_path).get("size"), origin), origin, inside)

        paths = [self._new_path(os.path.basename(file.path), as_named) for file in listing]
        return in_threads(copied, list(zip(listing, paths, strict=True)), AT_A_TIME)

    def _new_path(self, name: str, as_named: bool = False) -> str:
        """Return the path of a copy: a number and the name without unusual characters; with ``as_named``, the name itself."""
        if self.holder is None:
            self.holder = scratch_store().new_dataset()
        # The end of the name is kept, since it says how the file is compressed.
        harmless = "".join(character if character.isalnum() or character in "._-=" else "_" for character in redacted(name))[-100:]
        path = os.path.join(self.holder.directory, name if as_named else f"{self._number:06d}-{harmless}")
        self._number += 1
        return path


def _bytes_of(block: Any) -> bytes:
    """Return what was read of an object, text in UTF-8.

    Raises
    ------
    TypeError
        If it is neither bytes nor text.
    """
    if isinstance(block, str):
        return block.encode()
    if not isinstance(block, (bytes, bytearray, memoryview)):
        raise TypeError(f"read() gave a {type(block).__name__}, neither bytes nor text")
    return bytes(block)


def _request(url: str) -> urllib.request.Request:
    """Return a web request; credentials in the URL are sent only to its own server, and not to a server to which it redirects."""
    # The URL is split here, since a user name may contain brackets, which URL parsers take for an IPv6 address.
    scheme, mark, rest = url.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, host = authority.rpartition("@")
    # Blanks and letters that are not ASCII are escaped.
    request = urllib.request.Request(urllib.parse.quote(f"{scheme}{mark}{host}{rest[len(authority) :]}", safe=string.punctuation))
    if at:
        credentials = base64.b64encode(urllib.parse.unquote_to_bytes(user if ":" in user else f"{user}:"))
        request.add_unredirected_header("Authorization", f"Basic {credentials.decode('ascii')}")
    return request


def _copied_stream(stream: Any, path: str, size: int | None, origin: str) -> str:
    """Copy a stream into a new file, and return the path of the file; raise if its size is not the expected one, unless that is None."""
    with open(path, "xb") as file:
        while block := stream.read(BLOCK_BYTES):
            raise_if_cancelled()
            file.write(block)
    copied = os.path.getsize(path)
    if size is not None and copied != size:
        raise StorageError(f"{visible(origin)} has {size} bytes, but {copied} came: read it again")
    return path
