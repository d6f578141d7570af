"""What URLs name: a file system, and the files in it, listed anew each time; what goes wrong on the way is told in one line that names the URL."""

from __future__ import annotations

import contextlib
import os
import urllib.error
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.locations import INSTEAD_OF_PASSWORDS, require_named_bucket, scheme_of, with_two_slashes, with_usual_scheme
from sframe_spark.message_text import visible
from sframe_spark.redaction import is_unclear, without_secrets
from sframe_spark.storage.filesystem.file_systems import INSTALL, PACKAGES, explanation, file_system, is_given, options_of, unknown_scheme
from sframe_spark.storage.filesystem.io_errors import NO_SPACE, full_disk
from sframe_spark.storage.filesystem.listing import is_hidden
from sframe_spark.storage.filesystem.object_store import require_bucket
from sframe_spark.storage.filesystem.saved_places import refuse_saved_elsewhere
from sframe_spark.storage.filesystem.temporary import scratch_store

WEB = ("http", "https")
# What follows the scheme is a machine, which paths in its file system do not name; or a container and whose it is.
WITH_HOSTS, WITH_ACCOUNTS = ("hdfs", "webhdfs", "viewfs", "sftp", "ssh", "smb", "ftp"), ("abfss", "abfs", "az")
# What ends the names of files by which Iceberg knows which files a table has.
METADATA_OF_ICEBERG = (".metadata.json", ".metadata.json.gz")


def whole(url: str) -> str:
    """Write a URL with its scheme in small letters and the two slashes of which ``pathlib`` leaves one.

    Raises
    ------
    StorageError
        If it has to name a bucket, and names none, or has a password that cannot be told from the rest.

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
    usual = with_usual_scheme(url)
    if is_given(usual) or (usual.partition(":")[0] in PACKAGES and "::" not in usual):
        return file_system(usual)
    try:
        import fsspec
    except ImportError:
        raise StorageError(
            f"{visible(without_secrets(url))} is not on a local or mounted disk: to read from there, {INSTALL}; or copy it here"
        ) from None
    try:
        files, path = fsspec.core.url_to_fs(url, **options_of(usual))
    except (ImportError, ValueError) as error:
        # Of several schemes in one URL fsspec tells which one is meant.
        unknown = "::" not in url and scheme_of(url) not in fsspec.available_protocols()
        why = unknown_scheme(url.partition(":")[0]) if unknown else f"{visible(str(error).splitlines()[0])}; install what is missing, or copy it here"
        raise StorageError(f"{visible(without_secrets(url))} cannot be read: {why}") from None
    return files, path


def name_of(url: str, files: Any, place: str) -> str:
    """What a file is called that was found at a place: by the scheme of its URL, where the user gave the file system, and by its host or account.

    Examples
    --------
    >>> import fsspec
    >>> files = fsspec.filesystem("memory")
    >>> name_of("hdfs://host:8020/a/*.parquet", files, "/a/b.parquet")
    'hdfs://host:8020/a/b.parquet'
    >>> name_of("abfss://box@account.dfs.core.windows.net/a", files, "box/a/b.parquet")
    'abfss://box@account.dfs.core.windows.net/a/b.parquet'
    """
    if is_given(with_usual_scheme(url)):
        return f"{scheme_of(url)}://{place.lstrip('/')}"
    scheme, authority, path = scheme_of(url), url.partition("://")[2].partition("/")[0], place.lstrip("/")
    before, at, _ = authority.rpartition("@")
    # Who names a password in a URL does not want it in others.
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
        What the file system tells of it.
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
        if not is_given(with_usual_scheme(url)):
            require_bucket(with_usual_scheme(url))
        shown = visible(without_secrets(url))
        twice = "two slashes name another file than one does; " if "//" in shown.partition("://")[2] else ""
        raise StorageError(f"there is no file {shown}: {twice}check the address")
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
        refuse_saved_elsewhere(without_secrets(url), inside)
        shown = [name for name, found in inside.items() if not any(map(is_hidden, name.split("/"))) and not _is_marker(name, found)]
        ordered = sorted(shown, key=lambda name: tuple(sort_key(part) for part in name.split("/")))
        return [Listed(root + name, name, inside[name]) for name in ordered]
    if is_pattern:
        matches = {place: found for place, found in files.glob(path, detail=True).items() if found["type"] == "file" and not _is_marker(place, found)}
        return [Listed(place, os.path.basename(place), matches[place]) for place in sorted(matches, key=sort_key)]
    return []


def _is_marker(name: str, details: Mapping[str, Any]) -> bool:
    """True for an object of no bytes that shows a directory where a store has none: consoles make them by a slash at the end, Hadoop by a word."""
    return details.get("size") == 0 and (name == "" or name.endswith(("/", "_$folder$")))


def _details(files: Any, path: str) -> Mapping[str, Any] | None:
    """What a file system tells of a name; None where nothing has it."""
    try:
        found: Mapping[str, Any] = files.info(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


# What a table has beside its files, or above the directories of its partitions, what it is, and how it is read.
_LOGS = {
    "_delta_log": ("a Delta", "read the table with Spark, SFrame(spark.read.format('delta').load(...))"),
    ".hoodie": ("a Hudi", "read the table with Spark, SFrame(spark.read.format('hudi').load(...))"),
}


def _refuse_lakes(shown: str, files: Any, directory: str, inside: Collection[str]) -> None:
    table = directory
    while "=" in os.path.basename(table):
        table = os.path.dirname(table)
    for name, (kind, read) in _LOGS.items():
        if name in inside if table == directory else files.isdir(f"{table}/{name}"):
            raise other_rows_than_its_files(visible(shown), kind, read)
    if os.path.basename(table) == "data" and _has_metadata_of_iceberg(files, f"{os.path.dirname(table)}/metadata"):
        raise other_rows_than_its_files(visible(shown), "an Iceberg", "read the table with Spark, SFrame(spark.read.table(...))")


def _has_metadata_of_iceberg(files: Any, directory: str) -> bool:
    try:
        return any(item["name"].endswith(METADATA_OF_ICEBERG) for item in files.ls(directory, detail=True))
    except (FileNotFoundError, NotADirectoryError):
        return False


def other_rows_than_its_files(shown: str, kind: str, read: str) -> StorageError:
    """Return the error of a directory whose own log says which of its files count."""
    return StorageError(
        f"{shown} is a directory of {kind} table, whose own log says which of its files count: {read}. "
        "To read files as they are, rows that were deleted among them, name the files"
    )


@contextlib.contextmanager
def telling_of(url: str) -> Iterator[None]:
    """Tell what goes wrong on the way in one line that names the URL."""
    shown = visible(without_secrets(url))
    try:
        yield
    except SFrameError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        raise StorageError(f"cannot read {shown}: the server answers {error.code} {visible(str(error.reason))}") from None
    except urllib.error.URLError as error:
        raise StorageError(f"cannot read {shown}: {visible(str(error.reason))}; check the address and the network") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            raise StorageError(f"cannot fetch {shown}: {full_disk(scratch_store().directory)}") from None
        if scheme_of(url) not in WEB:
            raise StorageError(f"cannot read {shown}: {explanation(error, with_usual_scheme(url))}") from None
        lines = str(error).strip().splitlines() or [""]
        raise StorageError(f"cannot read {shown}: {type(error).__name__}: {visible(lines[0].replace(url, without_secrets(url)))}") from None
