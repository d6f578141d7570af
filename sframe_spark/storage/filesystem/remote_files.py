"""Files that a URL names: listed on their file system, then read in place or fetched into a temporary directory."""

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

from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.locations import (
    INSTEAD_OF_PASSWORDS,
    is_private,
    location_of,
    require_named_bucket,
    scheme_of,
    with_canonical_scheme,
    with_two_slashes,
)
from sframe_spark.message_text import visible
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.redaction import is_unclear, redacted, without_secrets
from sframe_spark.storage.filesystem.file_kind import refuse_saved_remote
from sframe_spark.storage.filesystem.io_errors import NO_SPACE, full_disk, missing
from sframe_spark.storage.filesystem.local_files import FileState, is_hidden
from sframe_spark.storage.filesystem.object_store import (
    INSTALL,
    PACKAGES,
    changed_at,
    explanation,
    file_system,
    has_user_file_system,
    is_shared,
    options_of,
    require_bucket,
    translate_remote_errors,
    unknown_scheme,
)
from sframe_spark.storage.filesystem.temporary_datasets import DatasetHandle, scratch_store

WEB = ("http", "https")
# Schemes whose authority is a host, which paths on the file system do not repeat; and schemes with a container and an account.
WITH_HOSTS, WITH_ACCOUNTS = ("hdfs", "webhdfs", "viewfs", "sftp", "ssh", "smb", "ftp"), ("abfss", "abfs", "az")
# Suffixes of Iceberg's table metadata files.
METADATA_OF_ICEBERG = (".metadata.json", ".metadata.json.gz")


def whole(url: str) -> str:
    """Write a URL with its scheme in small letters and the two slashes of which ``pathlib`` leaves one.

    Raises
    ------
    StorageError
        If it has to name a bucket, and names none, or has a password that cannot be separated from the rest.

    Examples
    --------
    >>> whole(" HTTPS:/host/a.csv"), whole("memory:///a")
    ('https://host/a.csv', 'memory:///a')
    """
    scheme, mark, rest = url.strip().removeprefix("\ufeff").strip().partition(":")
    found = with_two_slashes(scheme.lower() + mark + rest)
    require_named_bucket(found)
    if is_unclear(found):
        raise StorageError(
            f"{visible(without_secrets(found))} has a password with signs in it that end the name of a host: write @ as %40, / as %2F, ? as %3F "
            f"and # as %23, or {INSTEAD_OF_PASSWORDS}"
        )
    return found


def file_system_of(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it.

    Raises
    ------
    StorageError
        If the packages that know it are not installed.
    """
    canonical = with_canonical_scheme(url)
    if has_user_file_system(canonical) or (canonical.partition(":")[0] in PACKAGES and "::" not in canonical):
        return file_system(canonical)
    try:
        import fsspec
    except ImportError:
        raise StorageError(
            f"{visible(without_secrets(url))} is not on a local or mounted disk: to read from there, {INSTALL}; or copy it here"
        ) from None
    try:
        files, path = fsspec.core.url_to_fs(url, **options_of(canonical))
    except (ImportError, ValueError) as error:
        # Of several schemes in one URL fsspec says which one is meant.
        unknown = "::" not in url and scheme_of(url) not in fsspec.available_protocols()
        why = unknown_scheme(url.partition(":")[0]) if unknown else f"{visible(str(error).splitlines()[0])}; install what is missing, or copy it here"
        raise StorageError(f"{visible(without_secrets(url))} cannot be read: {why}") from None
    return files, path


def name_of(url: str, files: Any, place: str) -> str:
    """Return the URL of a listed file: with the scheme, host or account that the user wrote.

    Examples
    --------
    >>> import fsspec
    >>> files = fsspec.filesystem("memory")
    >>> name_of("hdfs://host:8020/a/*.parquet", files, "/a/b.parquet")
    'hdfs://host:8020/a/b.parquet'
    >>> name_of("abfss://box@account.dfs.core.windows.net/a", files, "box/a/b.parquet")
    'abfss://box@account.dfs.core.windows.net/a/b.parquet'
    """
    if has_user_file_system(with_canonical_scheme(url)):
        return f"{scheme_of(url)}://{place.lstrip('/')}"
    scheme, authority, path = scheme_of(url), url.partition("://")[2].partition("/")[0], place.lstrip("/")
    before, at, _ = authority.rpartition("@")
    # A password in a URL must not spread to other URLs.
    if authority and "::" not in url and ":" not in before:
        if scheme in WITH_HOSTS:
            return f"{scheme}://{authority}/{path}"
        if scheme in WITH_ACCOUNTS and at and path.startswith(f"{before}/"):
            return f"{scheme}://{authority}/{path.removeprefix(f'{before}/')}"
    named: str = files.unstrip_protocol(place)
    return named


class Listed(NamedTuple):
    """A file in a listing.

    Parameters
    ----------
    place
        Its path in its file system.
    inside
        Its path below the directory that was named; its name, where a file or a pattern was.
    details
        What the file system says of it.
    """

    place: str
    inside: str
    details: Mapping[str, Any]


def listed_at(url: str, files: Any, path: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[Listed]:
    """Return the files that hold rows, in order: one, those in a directory, or those that match a pattern.

    Parameters
    ----------
    url, files, path
        What was named, its file system, and the path there.
    sort_key
        Puts names in order.
    is_pattern
        Whether the name is a pattern where nothing has it.

    Raises
    ------
    StorageError
        If there is none, or they are a saved frame, or a table whose own log says which of its files count.
    """
    found = _listed(url, files, path, sort_key, is_pattern)
    if not found:
        if not has_user_file_system(with_canonical_scheme(url)):
            require_bucket(with_canonical_scheme(url))
        address = visible(without_secrets(url))
        twice = "two slashes name another file than one does; " if "//" in address.partition("://")[2] else ""
        raise StorageError(f"there is no file {address}: {twice}check the address")
    return found


def _listed(url: str, files: Any, path: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[Listed]:
    # What was listed before is remembered by some, and others may have written since.
    files.invalidate_cache()
    details = _details(files, path)
    if details is not None and details["type"] == "file":
        return [Listed(path, os.path.basename(path), details)]
    if details is not None:
        root = path.rstrip("/") + "/"
        inside = {place.removeprefix(root): found for place, found in files.find(path, detail=True).items()}
        _refuse_lakes(name_of(url, files, path.rstrip("/")), files, path.rstrip("/"), {name.partition("/")[0] for name in inside})
        refuse_saved_remote(without_secrets(url), inside)
        address = [name for name, found in inside.items() if not any(map(is_hidden, name.split("/"))) and not _is_marker(name, found)]
        ordered = sorted(address, key=lambda name: tuple(sort_key(part) for part in name.split("/")))
        return [Listed(root + name, name, inside[name]) for name in ordered]
    if is_pattern:
        matches = {place: found for place, found in files.glob(path, detail=True).items() if found["type"] == "file" and not _is_marker(place, found)}
        return [Listed(place, os.path.basename(place), matches[place]) for place in sorted(matches, key=sort_key)]
    return []


def _is_marker(name: str, details: Mapping[str, Any]) -> bool:
    """Return whether an empty object only marks a directory: consoles end its name with a slash, Hadoop with a suffix."""
    return details.get("size") == 0 and (name == "" or name.endswith(("/", "_$folder$")))


def _details(files: Any, path: str) -> Mapping[str, Any] | None:
    """The details of a name on a file system; None where it does not exist."""
    try:
        found: Mapping[str, Any] = files.info(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


# Log directories of table formats: what the table is, and how to read it.
_LOGS = {
    "_delta_log": ("a Delta", "read the table with Spark, SFrame(spark.read.format('delta').load(...))"),
    ".hoodie": ("a Hudi", "read the table with Spark, SFrame(spark.read.format('hudi').load(...))"),
}


def _refuse_lakes(address: str, files: Any, directory: str, inside: Collection[str]) -> None:
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
    """Return the error for a directory of table files, of which only its own log says which count."""
    return StorageError(
        f"{address} is a directory of {kind} table, whose own log says which of its files count: {read}. "
        "To read files as they are, rows that were deleted among them, name the files"
    )


@contextlib.contextmanager
def translate_url_errors(url: str) -> Iterator[None]:
    """Translate errors of reading a URL into one line that names the URL."""
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
            raise StorageError(f"cannot read {address}: {explanation(error, with_canonical_scheme(url))}") from None
        lines = str(error).strip().splitlines() or [""]
        raise StorageError(f"cannot read {address}: {type(error).__name__}: {visible(lines[0].replace(url, without_secrets(url)))}") from None


# Remote external files that are read in place: listed with a state (tag or time) by which a later change is noticed.

# Up to this many files of a directory are checked one by one; more are listed, up to a thousand in a request.
FEW_FILES = 8
AT_A_TIME = 8
# Content tags that file systems give; every write changes them.
_TAGS = ("ETag", "etag", "generation", "version_id")


@attrs.frozen
class FileInPlace:
    """A file that stays where it is.

    Parameters
    ----------
    uri
        Where it is.
    inside
        Its path below the directory that was named.
    state
        Its state when it was listed.
    """

    uri: str
    inside: str
    state: FileState


def files_in_place(url: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[FileInPlace] | None:
    """Return the files that a URL names, in order; None where they have to be fetched, since no task could read ranges of them where they are.

    Raises
    ------
    StorageError
        If there are none, or they cannot be listed.
    """
    url = whole(url)
    canonical = with_canonical_scheme(url)
    if "::" in url or is_private(canonical) or not (has_user_file_system(canonical) or canonical.partition(":")[0] in PACKAGES):
        return None
    with translate_url_errors(url):
        files, path = file_system(canonical)
        if not is_shared(canonical):
            return None
        found = []
        for file in listed_at(url, files, path, sort_key, is_pattern):
            uri, state = with_canonical_scheme(name_of(url, files, file.place)), state_of_item(file.details)
            if state is None or not _is_plain(uri, file.place):
                return None
            found.append(FileInPlace(uri, file.inside, state))
        return found


def _is_plain(uri: str, path: str) -> bool:
    """Return whether a URI resolves to exactly the listed path."""
    try:
        return location_of(uri) == uri and file_system(uri)[1].strip("/") == path.strip("/")
    except StorageError:
        return False


def state_of_item(item: Mapping[str, Any]) -> FileState | None:
    """Return what a file system says of a file; None where it does not say its length, or nothing that any later content changes.

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
    written = changed_at(item)
    # A time of whole seconds is that of two writes within one.
    return FileState(size, round(written.timestamp() * 1e9), 0, 0) if written is not None and written.microsecond else None


def states_now(uris: Sequence[str]) -> list[FileState | None]:
    """Return what is reported now of files; None of those that are gone. Many in a directory take a request for each thousand in it."""
    by_directory: dict[str, list[str]] = defaultdict(list)
    for uri in uris:
        by_directory[os.path.dirname(uri)].append(uri)
    few = [uri for named in by_directory.values() if len(named) <= FEW_FILES for uri in named]
    many = [directory for directory, named in by_directory.items() if len(named) > FEW_FILES]
    # Resolved here, because worker threads may see other options. One directory may have several file systems, by prefix.
    files = {place: file_system(place)[0] for place in (*few, *many)}
    for each in {id(found): found for found in files.values()}.values():
        each.invalidate_cache()
    states = dict(zip(few, in_threads(lambda uri: _state_now(files[uri], uri), few, AT_A_TIME), strict=True))
    for listed in in_threads(lambda directory: _states_in(files[directory], directory), many, AT_A_TIME):
        states.update(listed)
    return [states.get(uri) for uri in uris]


def _state_now(files: Any, uri: str) -> FileState | None:
    with translate_remote_errors("read", uri):
        try:
            item = files.info(file_system(uri)[1])
        except FileNotFoundError:
            return None
    return state_of_item(item) if item["type"] == "file" else None


def _states_in(files: Any, directory: str) -> dict[str, FileState | None]:
    with translate_remote_errors("list", directory):
        try:
            items = files.ls(file_system(directory)[1], detail=True)
        except FileNotFoundError:
            return {}
    return {f"{directory}/{item['name'].rpartition('/')[2]}": state_of_item(item) for item in items if item["type"] == "file"}


def require_still(uri: str, state: FileState) -> None:
    """Make sure that a file is unchanged (see :func:`require_all_still`)."""
    require_all_still({uri: state})


def require_all_still(states: Mapping[str, FileState]) -> None:
    """Make sure that files have the states that they had when they were listed.

    Raises
    ------
    StorageError
        If one has gone, or is another one.
    """
    for (uri, state), now in zip(states.items(), states_now(list(states)), strict=True):
        if now is None:
            raise StorageError(missing(uri))
        if now != state:
            raise changed(uri)


def changed(location: str) -> StorageError:
    """Return the error of a file that is not the one any more that a frame was made of."""
    return StorageError(f"{location} was changed since it was opened, so what is known of its rows may not be so any more; read it again")


# Downloads: remote files are copied once into the temporary store, where Spark's tasks find them too.

# Of files that are fetched under their own names.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}")
BLOCK_BYTES = 4 << 20
SECONDS_OF_SILENCE = 60


class Fetched(NamedTuple):
    """A file that was fetched: where it is, its URL, and its path below the directory that was named."""

    path: str
    origin: str
    inside: str


class Download:
    """Fetches files into one temporary directory, which lives as long as its holder."""

    def __init__(self) -> None:
        self.holder: DatasetHandle | None = None
        self._number = 0

    def fetch(self, url: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[Fetched]:
        """Fetch the files that a URL names: a file, or (not for http) the files in a directory or matching a pattern.

        Raises
        ------
        StorageError
            If that cannot be done; the message says why.
        """
        url = whole(url)
        if scheme_of(url) in WEB:
            return [self._from_web(url)]
        with translate_url_errors(url):
            files, path = file_system_of(url)
            found = listed_at(url, files, path, sort_key, is_pattern)
            return self._copied(files, [Fetched(file.place, name_of(url, files, file.place), file.inside) for file in found])

    def fetch_directory(self, url: str, member: str) -> str | None:
        """Fetch the files of a directory under their own names and return the local directory; None where it has no such member or cannot be listed.

        Raises
        ------
        StorageError
            If one cannot be fetched, or has a name that is no plain one.
        """
        url = whole(url)
        if scheme_of(url) in WEB:
            return None
        with translate_url_errors(url):
            files, path = file_system_of(url)
            root = path.rstrip("/") + "/"
            files.invalidate_cache()
            if not files.isfile(root + member):
                return None
            names = sorted(place.removeprefix(root) for place in files.find(path, maxdepth=1))
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
            with urllib.request.urlopen(request, timeout=SECONDS_OF_SILENCE) as stream:
                # Other successful statuses carry a part of a file, or none.
                if stream.status != http.HTTPStatus.OK:
                    address = visible(without_secrets(url))
                    raise StorageError(f"cannot read {address}: the server answers {stream.status} {visible(stream.reason)}, not with a whole file")
                said = stream.headers.get("Content-Length")
                size = int(said) if said is not None and said.isdecimal() else None
                address = without_secrets(url)
                return Fetched(_copied_stream(stream, self._new_path(name), size, address), address, name)

    def _copied(self, files: Any, found: Sequence[Fetched], as_named: bool = False) -> list[Fetched]:
        """Copy remote files, several at a time, since most of the time is spent waiting."""

        def copied(work: tuple[Fetched, str]) -> Fetched:
            (place, origin, inside), path = work
            with translate_url_errors(origin), files.open(place, "rb") as stream:
                return Fetched(_copied_stream(stream, path, files.info(place).get("size"), origin), origin, inside)

        paths = [self._new_path(os.path.basename(file.path), as_named) for file in found]
        return in_threads(copied, list(zip(found, paths, strict=True)), AT_A_TIME)

    def _new_path(self, name: str, as_named: bool = False) -> str:
        """The path of a copy: numbered with a harmless form of the name, or the name itself if ``as_named``."""
        if self.holder is None:
            self.holder = scratch_store().new_dataset()
        # What somebody else named is no path of ours; its ending says how it is compressed.
        harmless = "".join(character if character.isalnum() or character in "._-=" else "_" for character in redacted(name))[-100:]
        path = os.path.join(self.holder.directory, name if as_named else f"{self._number:06d}-{harmless}")
        self._number += 1
        return path


def _request(url: str) -> urllib.request.Request:
    """Return a web request; credentials in the address are sent to its own server only, not to where it redirects."""
    # A user name may contain brackets, which URL parsers take for IPv6.
    scheme, mark, rest = url.partition("://")
    named = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, host = named.rpartition("@")
    # Blanks and letters beyond ASCII, which people write and servers do not take.
    written = urllib.parse.quote(f"{scheme}{mark}{host}{rest[len(named) :]}", safe=string.punctuation)
    request = urllib.request.Request(written)
    if at:
        credentials = base64.b64encode(urllib.parse.unquote_to_bytes(user if ":" in user else f"{user}:"))
        request.add_unredirected_header("Authorization", f"Basic {credentials.decode('ascii')}")
    return request


def _copied_stream(stream: Any, path: str, size: int | None, origin: str) -> str:
    """Copy a stream into a new file; Ctrl-C ends it between two blocks."""
    with open(path, "xb") as file:
        while block := stream.read(BLOCK_BYTES):
            raise_if_cancelled()
            file.write(block)
    found = os.path.getsize(path)
    if size is not None and found != size:
        raise StorageError(f"{visible(origin)} has {size} bytes, but {found} came: read it again")
    return path
