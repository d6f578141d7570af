"""Operations on remote file systems through fsspec: whole objects and byte ranges, nothing changed in place; errors are one line without secrets."""

from __future__ import annotations

import contextlib
import datetime
import errno
import functools
import inspect
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.config import StorageOptions, config, secret_texts
from sframe_spark.errors import SFrameError, StorageError
from sframe_spark.locations import BUCKETS, is_private
from sframe_spark.message_text import visible
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.leases import HIDDEN, PREFIX, new_name
from sframe_spark.redaction import without_secrets
from sframe_spark.storage.filesystem.io_errors import why_missing

# Opening file systems, and translating their errors.

INSTALL = "pip install 'sframe_spark[remote]'"
# The package that each scheme needs besides fsspec.
PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "abfss": "adlfs", "az": "adlfs", "hdfs": "pyarrow", "sftp": "paramiko", "oss": "ossfs"}
REMEMBERED = 64
MAX_MESSAGE = 300
OPTIONS = "config.storage_options"
NOT_THERE = "it does not exist"
# Files that we write below a location that a user named: parts of a saved frame, temporary data, staged and exported parts.
_WRITTEN_BY_US = re.compile(rf"/(?:_manifests|data/[0-9a-f]{{32}}|\.?{PREFIX}[a-z0-9]{{8}}-[^/]*)(?:/.*)?$|/part-[0-9]{{5,}}-[0-9a-f]{{32}}\.[a-z]+$")
# Modules of fsspec's wrapping file systems.
ARROW, DIRECTORY, MEMORY = "fsspec.implementations.arrow", "fsspec.implementations.dirfs", "fsspec.implementations.memory"


def file_system(uri: str) -> tuple[Any, str]:
    """Return the file system of a place, and its path there.

    Raises
    ------
    StorageError
        If there is no such file system, a package is not installed, or the options are not its own.

    Examples
    --------
    >>> files, path = file_system("memory://frames/a")
    >>> path
    '/frames/a'
    """
    scheme, _, rest = uri.partition("://")
    if (chosen := _options().file_system_for(uri)) is not None:
        files = chosen.in_this_process()
        with translate_remote_errors("open", uri):
            return files, _path_in(files, scheme, rest)
    options = json.dumps(options_of(uri), sort_keys=True)
    files = _opened(scheme, rest.partition("/")[0], options, os.getpid())
    with translate_remote_errors("open", uri):
        return files, files._strip_protocol(uri)


def _options() -> StorageOptions:
    found = config.storage_options
    return found if isinstance(found, StorageOptions) else StorageOptions(found)


def _path_in(files: Any, scheme: str, rest: str) -> str:
    """The path of a place in a file system that a user gave for it, whatever scheme it goes by there."""
    protocols = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    if is_made_of_another(files, ARROW):
        # What is before the path is a host for these alone.
        return f"/{rest.partition('/')[2]}" if scheme in ("hdfs", "viewfs") else rest
    path: str = files._strip_protocol(f"{scheme}://{rest}" if scheme in protocols else rest)
    return path


def writing_class(files: Any) -> Any:
    """Return the class that writes files: for a file system that wraps a directory of another one, the class of the wrapped one."""
    while is_made_of_another(files, DIRECTORY):
        files = files.fs
    return type(files)


def is_made_of_another(files: Any, module: str) -> bool:
    """Return whether a file system's class, or a base class, is defined in a module."""
    return any(kind.__module__ == module for kind in type(files).__mro__)


def has_user_file_system(uri: str) -> bool:
    """Return whether the user supplied the file system of a location as an object; Spark may then see another one there."""
    return _options().file_system_for(uri) is not None


def is_shared(uri: str) -> bool:
    """Return whether other processes can reach a location: not one in this process's memory, nor a file system object that cannot be pickled."""
    chosen = _options().file_system_for(uri)
    if chosen is None:
        return not is_private(uri)
    if not chosen.can_be_sent:
        return False
    files = chosen.in_this_process()
    while is_made_of_another(files, DIRECTORY):
        files = files.fs
    return not is_made_of_another(files, MEMORY)


def identity_of(uri: str) -> str:
    """Return what identifies the file system of a location among others of its scheme."""
    chosen = _options().file_system_for(uri)
    return json.dumps(options_of(uri), sort_keys=True) if chosen is None else chosen.token


def options_of(uri: str) -> dict[str, Any]:
    """Return the options for a location; for a file system that the user supplied, those that it was made with."""
    chosen = _options().file_system_for(uri)
    if chosen is None:
        return _options().of_place(uri)
    made_with = getattr(chosen.in_this_process(), "storage_options", None)
    return made_with if isinstance(made_with, dict) else {}


@functools.lru_cache(maxsize=REMEMBERED)
def _opened(scheme: str, authority: str, options: str, process: int) -> Any:
    """Return a file system; the process id is a key because a fork does not inherit its threads."""
    address = f"{scheme}://{authority}"
    try:
        import fsspec
    except ImportError:
        raise StorageError(f"{address} cannot be read or written: {_installing(scheme)}") from None
    try:
        kind = fsspec.get_filesystem_class(scheme)
    except ImportError:
        raise StorageError(f"{address} cannot be read or written: {_installing(scheme)}") from None
    except ValueError:
        if scheme in PACKAGES:
            # Some packages register their schemes with fsspec only when they are installed.
            raise StorageError(f"{address} cannot be read or written: {_installing(scheme)}") from None
        raise StorageError(f"{address} cannot be read or written: {unknown_scheme(scheme)}") from None
    with translate_remote_errors("open", address, options):
        # What a URI says of it, such as the host, unless the options do.
        return kind(**{**kind._get_kwargs_from_urls(address), **json.loads(options)})


def unknown_scheme(scheme: str) -> str:
    """Return the message that the file system of a scheme is unknown."""
    known = "s3://, gs://, abfss://, hdfs:// and whatever else fsspec.available_protocols() tells"
    return f"there is no file system {visible(scheme)!r}: known are {known}"


def _installing(scheme: str) -> str:
    return f"{INSTALL} {PACKAGES.get(scheme, '')}".strip()


@contextlib.contextmanager
def translate_remote_errors(action: str, uri: str, options: str | None = None) -> Iterator[None]:
    """Turn whatever a remote file system reports inside the block into a :class:`StorageError`.

    Examples
    --------
    >>> with translate_remote_errors("read", "memory://frame/a"):
    ...     raise RuntimeError("no answer")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.StorageError: cannot read memory://frame/a: RuntimeError: no answer
    """
    try:
        yield
    except (SFrameError, FileExistsError):
        raise
    except Exception as error:
        reason = explanation(error, uri, options)
        if reason == NOT_THERE and action in ("read", "copy"):
            reason = f"{reason}; {why_missing(uri)}"
        named = _as_named(uri) if action == "write" else uri
        raise StorageError(f"cannot {action} {without_secrets(named)}: {reason}") from None


def _as_named(uri: str) -> str:
    """The location that the user named, given a file that we write below it under an internal name.

    Examples
    --------
    >>> _as_named("s3://bucket/frame/_manifests/00000007.json"), _as_named("s3://bucket/a.csv")
    ('s3://bucket/frame', 's3://bucket/a.csv')
    """
    return _WRITTEN_BY_US.sub("", uri)


def explanation(error: Exception, uri: str, options: str | None = None) -> str:
    """Explain why a file system failed and what helps, in one line without secrets.

    Parameters
    ----------
    error
        What it reported.
    uri
        The place.
    options
        Its options as JSON; None: those in force.
    """
    options = json.dumps(options_of(uri), default=_readable_option) if options is None else options
    named = "/".join(uri.split("/")[:3])
    bucket = without_secrets(named)
    # Libraries show the name of a user with that of the bucket.
    text = visible(_without_secrets(error, options)).replace(named.partition("://")[2] or named, bucket.partition("://")[2] or bucket)
    kinds = {kind.__name__ for kind in type(error).__mro__} | {kind.__name__ for kind in type(error.__cause__).__mro__}
    if isinstance(error, FileNotFoundError) or "ResourceNotFoundError" in kinds:
        return f"there is no {bucket}: make it, or check the name" if "bucket" in text.lower() or "container" in text.lower() else NOT_THERE
    if "Must provide either a connection_string or account_name" in text or kinds & {
        "NoCredentialsError",
        "PartialCredentialsError",
        "DefaultCredentialsError",
        "CredentialRetrievalError",
        "NoAuthTokenError",
    }:
        return f"no credentials were found: give them as {OPTIONS}[{bucket!r}], or as its library finds them ({text})"
    if getattr(error, "errno", None) == errno.EROFS:
        return f"nothing can be written there ({text}): name another place, or have {bucket} opened for writing"
    if is_refusal(error):
        return f"permission denied ({text}): check the credentials in {OPTIONS} and what they are allowed to do in {bucket}"
    if text.startswith("Invalid endpoint"):
        return f"it has no such address ({text}): check endpoint_url in {OPTIONS}, which begins with https:// or http://"
    if "ParamValidationError" in kinds:
        return f"it is refused ({text}): check the name {bucket}, and {OPTIONS}"
    if isinstance(error, TypeError) or kinds & {"UnknownServiceError", "InvalidRegionError"}:
        return f"its file system does not take these options ({text}): check {OPTIONS}"
    if isinstance(error, (ConnectionError, TimeoutError)) or kinds & {"HTTPClientError", "EndpointConnectionError", "ClientConnectorError"}:
        return f"it cannot be reached ({text}): check the network, and the address in {OPTIONS}"
    if any(name in text for name in ("libjvm", "libhdfs")):
        return f"pyarrow does not find Java or Hadoop ({text}): set JAVA_HOME, HADOOP_HOME and CLASSPATH=$(hadoop classpath --glob), or copy it here"
    if "InvalidRange" in text or "range is not satisfiable" in text.lower():
        return "it is shorter than it should be: it was cut, or replaced by another; restore it from a copy or save the frame again"
    return f"{type(error).__name__}: {text}"


def is_refusal(error: Exception) -> bool:
    """Return whether a file system says that a user may not do something.

    Examples
    --------
    >>> is_refusal(PermissionError("Forbidden")), is_refusal(FileNotFoundError("bucket"))
    (True, False)
    """
    codes = {getattr(found, name, None) for found in (error, error.__cause__) for name in ("status_code", "status", "code")}
    kinds = {kind.__name__ for found in (error, error.__cause__) for kind in type(found).__mro__}
    return isinstance(error, PermissionError) or bool(codes & {401, 403}) or "ClientAuthenticationError" in kinds


def _readable_option(value: Any) -> Any:
    """A JSON value for an option that is itself a file system."""
    return getattr(value, "storage_options", None) or str(value)


def _without_secrets(error: Exception, options: str) -> str:
    """The first line of what an error says, without any text that is among the options."""
    # The system's words without the file name, which may be an internal one.
    said = error.strerror if isinstance(error, OSError) and error.filename is not None and error.strerror else str(error)
    lines = said.strip().splitlines()
    # A line that ends in a colon means nothing without the next one.
    text = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1]) or type(error).__name__
    for secret in sorted(secret_texts(json.loads(options)), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text[:MAX_MESSAGE]


# Serialises creation in this process, for file systems that check for existence first and create then.
_CREATING = threading.Lock()
keep_whole_at_fork(_CREATING, "object store")
# Server-side concatenation: the minimal size of each part but the last, the maximal size, and the number of parts.
_MERGED = {"s3fs.core": (5 << 20, 5 << 30, 10_000), "gcsfs.core": (0, 1 << 60, 32)}
# These file systems create exclusively by an option of another name.
_CREATING_BY_OPTION = ("adlfs.spec",)
_TIMES_OF_CHANGE = ("LastModified", "last_modified", "mtime", "modified", "updated")
_TIMES = (*_TIMES_OF_CHANGE, "created")


@attrs.frozen
class ListedFile:
    """A file in a listing: its URI, its length, and when it was written; None where the file system does not say."""

    uri: str
    size: int
    written: datetime.datetime | None


def read_range(uri: str, start: int, stop: int) -> bytes:
    """Return some bytes of a file by one request; fewer where it is shorter.

    Raises
    ------
    StorageError
        If it cannot be read.
    """
    # No request asks for no bytes; some file systems would send all of the file.
    if stop <= start:
        return b""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        return bytes(files.cat_file(path, start=start, end=stop, **_seeking(files)))


def read_ranges(uri: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return several byte ranges of a file, one request each, in parallel where the file system does so."""
    if len(ranges) < 2:
        return [read_range(uri, *place) for place in ranges]
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
        return [bytes(part) for part in files.cat_ranges([path] * len(ranges), starts, stops, on_error="raise", **_seeking(files))]


def _seeking(files: Any) -> dict[str, bool]:
    """Arguments that make pyarrow's file systems stop reading at the end of the range."""
    return {"seekable": True} if is_made_of_another(files, ARROW) else {}


def listed(uri: str, below: bool = False) -> list[ListedFile]:
    """Return the current files in a directory, or at any depth below it, sorted by name; empty where there is no such directory."""
    files, path = file_system(uri)
    root = path.rstrip("/") + "/"
    with translate_remote_errors("list", uri):
        # Some file systems cache listings.
        files.invalidate_cache(path)
        try:
            found = list(files.find(path, detail=True).values()) if below else files.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            # Where there is no bucket either, the next request says so.
            return []
    return sorted(
        (_listed_file(uri, root, item) for item in found if item["type"] == "file" and item["name"].startswith(root)), key=lambda item: item.uri
    )


def written_at(item: Mapping[str, Any]) -> datetime.datetime | None:
    """Return when a file was written; None where its file system does not say."""
    return _time_of(item, _TIMES)


def changed_at(item: Mapping[str, Any]) -> datetime.datetime | None:
    """Return the modification time of a file; None where there is none (its creation time may survive a rewrite)."""
    return _time_of(item, _TIMES_OF_CHANGE)


def _time_of(item: Mapping[str, Any], names: Sequence[str]) -> datetime.datetime | None:
    written = next((item[name] for name in names if item.get(name) is not None), None)
    if isinstance(written, (int, float)):
        written = datetime.datetime.fromtimestamp(written, datetime.UTC)
    if not isinstance(written, datetime.datetime):
        return None
    return written.replace(tzinfo=datetime.UTC) if written.tzinfo is None else written


def _listed_file(uri: str, root: str, item: dict[str, Any]) -> ListedFile:
    found = f"{uri}/{item['name'].removeprefix(root)}"
    if item["size"] is None:
        raise StorageError(f"the file system does not tell how long {visible(found)} is: data that is saved there cannot be checked")
    return ListedFile(found, int(item["size"]), written_at(item))


def require_bucket(uri: str) -> None:
    """Make sure that the bucket of a URI exists, as far as this user may know.

    Raises
    ------
    StorageError
        If there is no such bucket or container.
    """
    if uri.partition(":")[0] not in BUCKETS:
        return
    files, path = file_system(uri)
    bucket = path.strip("/").partition("/")[0]
    with translate_remote_errors("read", uri):
        # A directory of a bucket that goes by its scheme has no bucket in its paths.
        if bucket and type(files) is writing_class(files) and _is_missing(files, bucket):
            raise FileNotFoundError("bucket")


def _is_missing(files: Any, bucket: str) -> bool:
    """Return whether a bucket is missing; for a user who may not ask, such as one who sees a prefix alone, it is taken to exist."""
    if files.exists(bucket):
        return False
    try:
        files.info(bucket)
    except FileNotFoundError:
        return True
    except Exception as error:
        if not is_refusal(error):
            raise
    return False


def create(uri: str, content: bytes) -> bool:
    """Create a file atomically; return False where a file of this name exists.

    Raises
    ------
    StorageError
        If it is unknown whether it was written; it may have been.
    """
    files, path = file_system(uri)
    with translate_remote_errors("write", uri), _CREATING:
        try:
            files.pipe_file(path, content, mode="create")
        except FileExistsError:
            return False
        except OSError as error:
            # Concurrent conditional writes may be refused with a conflict.
            if "ConditionalRequestConflict" in str(error):
                return False
            raise
    return True


def put_bytes(uri: str, content: bytes) -> None:
    """Write a file atomically, replacing any earlier one."""
    files, path = file_system(uri)
    with translate_remote_errors("write", uri):
        if not _is_object_store(uri):
            files.makedirs(files._parent(path), exist_ok=True)
        files.pipe_file(path, content)


def creates_exclusively(uri: str) -> bool:
    """Return whether a file system can create a file exclusively by itself."""
    files, _ = file_system(uri)
    kind = writing_class(files)
    # The generic implementation checks for existence first, so another writer may come between.
    own = [method for name in ("_pipe_file", "pipe_file") if (method := getattr(kind, name, None)) is not None]
    own = [method for method in own if method.__module__ not in ("fsspec.spec", "fsspec.asyn")]
    return any(method.__module__ in _CREATING_BY_OPTION or "mode" in inspect.signature(method).parameters for method in own)


def upload(local: str, uri: str, named: str | None = None) -> None:
    """Upload a local file to a new name, in one request or in parts if it is large.

    Parameters
    ----------
    local, uri
        The file, and the place.
    named
        What the user named, for messages, where the place is one on the way there.
    """
    files, path = file_system(uri)
    with translate_remote_errors("write", named or uri):
        # Object stores have no directories, and would be requested each.
        if not _is_object_store(uri):
            files.makedirs(files._parent(path), exist_ok=True)
        files.put_file(local, path)


def download(uri: str, local: str) -> None:
    """Copy a file to a new local one."""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        files.get_file(path, local)


def copy_within(origin: str, target: str) -> bool:
    """Copy a file inside one file system; return False where the two are on different ones."""
    files, path = file_system(origin)
    target_files, place = file_system(target)
    if files is not target_files:
        return False
    with translate_remote_errors("copy", origin):
        files.cp_file(path, place)
    return True


def put_whole(local: str, uri: str) -> None:
    """Upload a local file, replacing an earlier one atomically."""
    if _is_object_store(uri):
        upload(local, uri)
        return
    # On other file systems an unfinished file is visible, so it is uploaded under a hidden name first.
    staged = f"{uri.rpartition('/')[0]}/{HIDDEN}{new_name()}"
    try:
        upload(local, staged, uri)
        place_within(staged, uri)
    except BaseException:
        with contextlib.suppress(StorageError):
            remove(staged)
        raise


def place_within(origin: str, target: str) -> None:
    """Rename a file inside its file system atomically; on an object store it is copied and the origin stays."""
    files, path = file_system(origin)
    _, place = file_system(target)
    with translate_remote_errors("write", target):
        if _is_object_store(origin):
            files.cp_file(path, place)
            return
        files.makedirs(files._parent(place), exist_ok=True)
        if files.isfile(place):
            files.rm_file(place)
        files.mv(path, place)


def _is_object_store(uri: str) -> bool:
    """Return whether a file becomes visible only when it is complete, as on object stores."""
    # fsspec's object stores define how whole files are put; its directory-like file systems write into open files.
    files, _ = file_system(uri)
    return hasattr(writing_class(files), "_put_file")


def merged_within(origins: Sequence[ListedFile], target: str) -> bool:
    """Concatenate files on the server side; return False where it cannot, and nothing was written."""
    files, place = file_system(target)
    sizes = [origin.size for origin in origins]
    min_size, largest, max_count = _MERGED.get(type(files).__module__, (0, 0, 0))
    if len(origins) > max_count or min(sizes[:-1], default=0) < min_size or max(sizes) > largest:
        return False
    with translate_remote_errors("write", target):
        files.merge(place, [file_system(origin.uri)[1] for origin in origins])
    return True


def is_file(uri: str) -> bool:
    """Return whether there is a file of this name."""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        files.invalidate_cache()
        return bool(path.strip("/")) and bool(files.isfile(path))


@attrs.frozen
class RemoteEntry:
    """What exists under a remote name: on object stores it may be a file and a directory at once."""

    is_file: bool
    names: tuple[str, ...]


def remote_entry(uri: str) -> RemoteEntry:
    """Return whether a remote name is a file, and the names of the entries directly below it."""
    files, path = file_system(uri)
    path = path.rstrip("/")
    with translate_remote_errors("list", uri):
        files.invalidate_cache(path)
        try:
            found = [item["name"].rstrip("/") for item in files.ls(path, detail=True) if item["type"] == "file" or item["name"].rstrip("/") != path]
        except (FileNotFoundError, NotADirectoryError):
            found = []
    return RemoteEntry(path in found, tuple(sorted(item.removeprefix(path + "/") for item in found if item.startswith(path + "/"))))


def size_of(uri: str) -> int | None:
    """Return how long a file is; None where its file system does not say."""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        files.invalidate_cache()
        size: int | None = files.info(path).get("size")
        return size


def remove(uri: str) -> None:
    """Remove a file; one that is not there is no error."""
    files, path = file_system(uri)
    with translate_remote_errors("remove", uri), contextlib.suppress(FileNotFoundError):
        files.rm_file(path)


def require_size(uri: str, found: int, said: int) -> None:
    """Make sure that as many bytes came as should.

    Raises
    ------
    StorageError
        If there are fewer, or more.
    """
    if found != said:
        longer = "more" if found > said else "fewer"
        raise StorageError(f"{uri} is damaged or was replaced: it has {longer} bytes than its manifest says; save the frame again")
