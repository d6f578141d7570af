"""Operations on remote file systems through fsspec: opening them, reading ranges of bytes, and writing, listing, copying and removing whole files.

Errors of file systems are translated into messages of one line without secrets.
"""

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
from sframe_spark.errors import MissingPathError, SFrameError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import BUCKETS, is_in_process_memory
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.temporary_file_leases import HIDDEN, PREFIX, new_name
from sframe_spark.redaction import without_secrets
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, is_kept_by_spark
from sframe_spark.storage.filesystem.io_errors import message_without_file, why_missing

# Opening file systems, and translating their errors.

INSTALL = "pip install 'sframe_spark[remote]'"
# For each scheme, the package that is needed in addition to fsspec.
PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "abfss": "adlfs", "az": "adlfs", "hdfs": "pyarrow", "sftp": "paramiko", "oss": "ossfs"}
REMEMBERED = 64
MAX_MESSAGE = 300
OPTIONS = "config.storage_options"
NOT_THERE = "it does not exist"
# The ends of paths that this package adds to a location of the user: files of a saved frame, temporary data, and parts of exports.
_WRITTEN_BY_US = re.compile(rf"/(?:_manifests|data/[0-9a-f]{{32}}|\.?{PREFIX}[a-z0-9]{{8}}-[^/]*)(?:/.*)?$|/part-[0-9]{{5,}}-[0-9a-f]{{32}}\.[a-z]+$")
# Modules of fsspec with the classes of file systems that wrap one of pyarrow, that wrap a directory, and that are in memory.
ARROW, DIRECTORY, MEMORY = "fsspec.implementations.arrow", "fsspec.implementations.dirfs", "fsspec.implementations.memory"


def file_system(uri: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URI, and the path of the URI in this file system.

    Raises
    ------
    StorageError
        If the scheme is unknown, a package is not installed, or the file system does not accept the options.

    Examples
    --------
    >>> files, path = file_system("memory://frames/a")
    >>> path
    '/frames/a'
    """
    if is_kept_by_spark(uri):
        return KEPT_FILES, uri
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
    options = config.storage_options
    return options if isinstance(options, StorageOptions) else StorageOptions(options)


def _path_in(files: Any, scheme: str, rest: str) -> str:
    """Return the path of a location in a file system object of the user, whose own scheme may be another one."""
    protocols = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    if is_defined_in(files, ARROW):
        # For these schemes, the first part is a host; for others, it is a bucket, which is a part of the path.
        return f"/{rest.partition('/')[2]}" if scheme in ("hdfs", "viewfs") else rest
    path: str = files._strip_protocol(f"{scheme}://{rest}" if scheme in protocols else rest)
    return path


def _unwrapped(files: Any) -> Any:
    """Return a file system; for one that wraps a directory of another file system, the wrapped one."""
    while is_defined_in(files, DIRECTORY):
        files = files.fs
    return files


def is_defined_in(files: Any, module: str) -> bool:
    """Return whether a file system's class, or a base class, is defined in a module."""
    return any(kind.__module__ == module for kind in type(files).__mro__)


def has_user_file_system(uri: str) -> bool:
    """Return whether the file system of a location is an object of the user; Spark, which does not use it, may then read other files."""
    return _options().file_system_for(uri) is not None


def is_shared(uri: str) -> bool:
    """Return whether other processes can read a location: it is not in memory, and a file system object of the user can be pickled."""
    chosen = _options().file_system_for(uri)
    if chosen is None:
        return not is_in_process_memory(uri)
    return chosen.can_be_sent and not is_defined_in(_unwrapped(chosen.in_this_process()), MEMORY)


def identity_of(uri: str) -> str:
    """Return a string that identifies the file system of a location among all of its scheme: its options, or the token of the user's object."""
    chosen = _options().file_system_for(uri)
    return json.dumps(options_of(uri), sort_keys=True) if chosen is None else chosen.token


def options_of(uri: str) -> dict[str, Any]:
    """Return the configured options for a location; for a file system object of the user, the options with which it was created."""
    chosen = _options().file_system_for(uri)
    if chosen is None:
        return _options().of_place(uri)
    made_with = getattr(chosen.in_this_process(), "storage_options", None)
    return made_with if isinstance(made_with, dict) else {}


@functools.lru_cache(maxsize=REMEMBERED)
def _opened(scheme: str, authority: str, options: str, process: int) -> Any:
    """Return a file system, cached for each process, since forked processes do not have its threads."""
    address = f"{scheme}://{authority}"
    try:
        import fsspec

        files_class = fsspec.get_filesystem_class(scheme)
    except (ImportError, ValueError) as error:
        # Some packages register their schemes with fsspec only when they are installed.
        is_unknown = isinstance(error, ValueError) and scheme not in PACKAGES
        reason = unknown_scheme(scheme) if is_unknown else f"{INSTALL} {PACKAGES.get(scheme, '')}".strip()
        raise StorageError(f"{address} cannot be read or written: {reason}") from None
    with translate_remote_errors("open", address, options):
        # The URI may contain options, such as the host; the configured options take precedence.
        return files_class(**{**files_class._get_kwargs_from_urls(address), **json.loads(options)})


def unknown_scheme(scheme: str) -> str:
    """Return the message for a scheme without a known file system."""
    known = "s3://, gs://, abfss://, hdfs:// and others in fsspec.available_protocols()"
    return f"there is no file system {visible(scheme)!r}: known are {known}"


@contextlib.contextmanager
def translate_remote_errors(action: str, uri: str, options: str | None = None) -> Iterator[None]:
    """Turn errors of a remote file system in the ``with`` block into a :class:`StorageError`; FileExistsError is not changed.

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
        # If a file that this package writes is below a location of the user, the message names that location.
        location = _WRITTEN_BY_US.sub("", uri) if action == "write" else uri
        kind = MissingPathError if isinstance(error, FileNotFoundError) else StorageError
        raise kind(f"cannot {action} {without_secrets(location)}: {reason}") from None


def explanation(error: Exception, uri: str, options: str | None = None) -> str:
    """Return a line that says why a file system raised an error, and what to do, without secrets.

    Parameters
    ----------
    error
        The error.
    uri
        The location of the file.
    options
        The options of the file system as JSON; None for the configured ones.
    """
    if options is None:
        # For an option whose value is an object, such as a file system, the options of that object are taken, or its string.
        options = json.dumps(options_of(uri), default=lambda value: getattr(value, "storage_options", None) or str(value))
    address = "/".join(uri.split("/")[:3])
    bucket = without_secrets(address)
    # The error may show a user name before the bucket, which is removed.
    text = visible(_without_secrets(error, options)).replace(address.partition("://")[2] or address, bucket.partition("://")[2] or bucket)
    kinds = {kind.__name__ for kind in type(error).__mro__} | {kind.__name__ for kind in type(error.__cause__).__mro__}
    if isinstance(error, FileNotFoundError) or "ResourceNotFoundError" in kinds:
        return f"there is no {bucket}: create it, or check the name" if "bucket" in text.lower() or "container" in text.lower() else NOT_THERE
    if "Must provide either a connection_string or account_name" in text or kinds & {
        "NoCredentialsError",
        "PartialCredentialsError",
        "DefaultCredentialsError",
        "CredentialRetrievalError",
        "NoAuthTokenError",
    }:
        return f"no credentials were found: set {OPTIONS}[{bucket!r}], or provide them as its library expects ({text})"
    if getattr(error, "errno", None) == errno.EROFS:
        return f"it is read only ({text}): name another place, or have {bucket} opened for writing"
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
        return "it is shorter than it should be: it was truncated or replaced; restore it from a copy or save the frame again"
    return f"{type(error).__name__}: {text}"


def is_refusal(error: Exception) -> bool:
    """Return whether an error of a file system says that the user does not have permission.

    Examples
    --------
    >>> is_refusal(PermissionError("Forbidden")), is_refusal(FileNotFoundError("bucket"))
    (True, False)
    """
    errors = (error, error.__cause__)
    codes = {getattr(failure, name, None) for failure in errors for name in ("status_code", "status", "code")}
    kinds = {kind.__name__ for failure in errors for kind in type(failure).__mro__}
    return isinstance(error, PermissionError) or bool(codes & {401, 403}) or "ClientAuthenticationError" in kinds


def _without_secrets(error: Exception, options: str) -> str:
    """Return the first line of the message of an error, with ``***`` in place of secret strings in the options."""
    lines = message_without_file(error).strip().splitlines()
    # If the first line ends with a colon, the second line is needed, too.
    text = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1]) or type(error).__name__
    for secret in sorted(secret_texts(json.loads(options)), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text[:MAX_MESSAGE]


# Held while a file is created, since some file systems first check whether it exists, and then create it.
_CREATING = threading.Lock()
keep_whole_at_fork(_CREATING, "object store")
# File systems that concatenate files on the server: the smallest size of all files but the last, the largest size, and the number of files.
_MERGED = {"s3fs.core": (5 << 20, 5 << 30, 10_000), "gcsfs.core": (0, 1 << 60, 32)}
# Modules of file systems that can create a file exclusively, but whose functions have no parameter `mode`.
_CREATING_BY_OPTION = ("adlfs.spec",)
# The names under which file systems give the times of files.
TIMES_OF_CHANGE = ("LastModified", "last_modified", "mtime", "modified", "updated")
_TIMES = (*TIMES_OF_CHANGE, "created")


@attrs.frozen
class ListedFile:
    """A file in a listing: its URI, its size in bytes, and the time at which it was written (None if the file system has no times)."""

    uri: str
    size: int
    written: datetime.datetime | None


def read_range(uri: str, start: int, stop: int) -> bytes:
    """Return a range of bytes of a file with one request; fewer bytes if the file is shorter.

    Raises
    ------
    StorageError
        If the file cannot be read.
    """
    # For an empty range, some file systems would return the whole file.
    if stop <= start:
        return b""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        return bytes(files.cat_file(path, start=start, end=stop, **_seeking(files)))


def read_ranges(uri: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return several ranges of bytes of a file, with one request for each; asynchronous file systems make them in parallel."""
    if len(ranges) < 2:
        return [read_range(uri, start, stop) for start, stop in ranges]
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
        return [bytes(part) for part in files.cat_ranges([path] * len(ranges), starts, stops, on_error="raise", **_seeking(files))]


def _seeking(files: Any) -> dict[str, bool]:
    """Return the arguments with which file systems of pyarrow do not read beyond the end of the range."""
    return {"seekable": True} if is_defined_in(files, ARROW) else {}


def listed(uri: str, below: bool = False) -> list[ListedFile]:
    """Return the files in a directory, or with ``below`` at any depth, sorted by name; an empty list if the directory does not exist."""
    files, path = file_system(uri)
    root = path.rstrip("/") + "/"
    with translate_remote_errors("list", uri):
        # Some file systems cache listings, which may be out of date.
        files.invalidate_cache(path)
        try:
            items = list(files.find(path, detail=True).values()) if below else files.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            # If the bucket does not exist either, a later request raises an error.
            return []
    listing = []
    for item in items:
        if item["type"] == "file" and item["name"].startswith(root):
            file = f"{uri}/{item['name'].removeprefix(root)}"
            if item["size"] is None:
                raise StorageError(f"the file system does not report the length of {visible(file)}, so data saved there cannot be checked")
            listing.append(ListedFile(file, int(item["size"]), time_of(item, _TIMES)))
    return sorted(listing, key=lambda file: file.uri)


def time_of(item: Mapping[str, Any], names: Sequence[str]) -> datetime.datetime | None:
    """Return the first of some times that a file system gives for a file, by their names; None if it gives none of them."""
    time = next((item[name] for name in names if item.get(name) is not None), None)
    if isinstance(time, (int, float)):
        time = datetime.datetime.fromtimestamp(time, datetime.UTC)
    if not isinstance(time, datetime.datetime):
        return None
    return time.replace(tzinfo=datetime.UTC) if time.tzinfo is None else time


def require_bucket(uri: str) -> None:
    """Raise if the bucket or container of a URI does not exist; if the user has no permission to ask, it counts as existing.

    Raises
    ------
    StorageError
        If the bucket or container does not exist.
    """
    if uri.partition(":")[0] not in BUCKETS:
        return
    files, path = file_system(uri)
    bucket = path.strip("/").partition("/")[0]
    with translate_remote_errors("read", uri):
        # The paths of a file system that wraps a directory do not begin with a bucket.
        if bucket and files is _unwrapped(files) and _is_missing(files, bucket):
            raise FileNotFoundError("bucket")


def _is_missing(files: Any, bucket: str) -> bool:
    """Return whether a bucket does not exist; False if the user has no permission to ask, for example one who may only read a prefix."""
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
    """Create a file atomically; return True if it was created, and False if a file of this name exists.

    Raises
    ------
    StorageError
        If the file system raises an error; the file may have been created all the same.
    """
    files, path = file_system(uri)
    with translate_remote_errors("write", uri), _CREATING:
        try:
            files.pipe_file(path, content, mode="create")
        except FileExistsError:
            return False
        except OSError as error:
            # Another process creates the file at the same time.
            if "ConditionalRequestConflict" in str(error):
                return False
            raise
    return True


def put_bytes(uri: str, content: bytes) -> None:
    """Write a file, replacing an existing one. This is atomic on object stores; on other file systems, an unfinished file may be visible."""
    files, path = file_system(uri)
    with translate_remote_errors("write", uri):
        _make_parent(files, path)
        files.pipe_file(path, content)


def creates_exclusively(uri: str) -> bool:
    """Return whether the file system of a location can itself create a file only if it does not exist."""
    files, _ = file_system(uri)
    methods = (getattr(type(_unwrapped(files)), name, None) for name in ("_pipe_file", "pipe_file"))
    # The functions of fsspec itself first check whether the file exists, and then create it, which is not atomic.
    own = [method for method in methods if method is not None and method.__module__ not in ("fsspec.spec", "fsspec.asyn")]
    return any(method.__module__ in _CREATING_BY_OPTION or "mode" in inspect.signature(method).parameters for method in own)


def upload(local: str, uri: str, named: str | None = None) -> None:
    """Upload a local file, in one request, or in parts if it is large.

    Parameters
    ----------
    local, uri
        The path of the local file, and the URI to upload it to.
    named
        The location that error messages name instead, if ``uri`` is a temporary name that the user does not know; None for ``uri``.
    """
    files, path = file_system(uri)
    with translate_remote_errors("write", named or uri):
        _make_parent(files, path)
        files.put_file(local, path)


def download(uri: str, local: str) -> None:
    """Download a remote file to a new local file."""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        files.get_file(path, local)


def copy_within(origin: str, target: str) -> bool:
    """Copy a file within its file system, and return True; return False, without copying, if the target is on another file system."""
    files, path = file_system(origin)
    target_files, target_path = file_system(target)
    if files is not target_files:
        return False
    with translate_remote_errors("copy", origin):
        files.cp_file(path, target_path)
    return True


def put_whole(local: str, uri: str) -> None:
    """Upload a local file so that other programs never see an unfinished one; an existing file is replaced (see :func:`place_within`)."""
    if _is_object_store(file_system(uri)[0]):
        upload(local, uri)
        return
    # On other file systems an unfinished file is visible. So the file is uploaded under a hidden name, and then renamed.
    staged = f"{uri.rpartition('/')[0]}/{HIDDEN}{new_name()}"
    try:
        upload(local, staged, uri)
        place_within(staged, uri)
    except BaseException:
        with contextlib.suppress(StorageError):
            remove(staged)
        raise


def place_within(origin: str, target: str) -> None:
    """Rename a file within its file system, replacing an existing file; on object stores, it is copied, and the original is not removed.

    On object stores this is atomic. On other file systems an existing file is removed first, since some of them do not rename a file to the name of
    another one; so there is a moment without a file of this name, and if the process ends then, only the original is left.
    """
    files, path = file_system(origin)
    _, target_path = file_system(target)
    with translate_remote_errors("write", target):
        if _is_object_store(files):
            files.cp_file(path, target_path)
            return
        _make_parent(files, target_path)
        if files.isfile(target_path):
            files.rm_file(target_path)
        files.mv(path, target_path)


def _make_parent(files: Any, path: str) -> None:
    """Make the directory of a file, except on object stores, which have no directories: there it would cost a request without any effect."""
    if not _is_object_store(files):
        files.makedirs(files._parent(path), exist_ok=True)


def _is_object_store(files: Any) -> bool:
    """Return whether a file system is an object store, where a file becomes visible only when it is complete."""
    # The classes of fsspec for object stores have this method to upload whole files. Others write to open files.
    return hasattr(type(_unwrapped(files)), "_put_file")


def merged_within(origins: Sequence[ListedFile], target: str) -> bool:
    """Concatenate files on the server, and return True; return False, without writing, if the file system cannot do that with these files."""
    files, path = file_system(target)
    sizes = [origin.size for origin in origins]
    min_size, max_size, max_count = _MERGED.get(type(files).__module__, (0, 0, 0))
    if len(origins) > max_count or min(sizes[:-1], default=0) < min_size or max(sizes) > max_size:
        return False
    with translate_remote_errors("write", target):
        files.merge(path, [file_system(origin.uri)[1] for origin in origins])
    return True


def is_file(uri: str) -> bool:
    """Return whether a URI is an existing file."""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        files.invalidate_cache()
        return bool(path.strip("/")) and bool(files.isfile(path))


@attrs.frozen
class RemoteEntry:
    """Whether a URI is a file, and the names of the entries below it; on object stores, a URI may be both a file and a directory."""

    is_file: bool
    names: tuple[str, ...]


def remote_entry(uri: str) -> RemoteEntry:
    """Return whether a URI is a file, and the names of the entries directly below it, which are empty if nothing is there."""
    files, path = file_system(uri)
    path = path.rstrip("/")
    with translate_remote_errors("list", uri):
        files.invalidate_cache(path)
        try:
            items = files.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            items = []
    paths = [item["name"].rstrip("/") for item in items if item["type"] == "file" or item["name"].rstrip("/") != path]
    return RemoteEntry(path in paths, tuple(sorted(name.removeprefix(path + "/") for name in paths if name.startswith(path + "/"))))


def size_of(uri: str) -> int | None:
    """Return the size of a file in bytes; None if its file system does not report it."""
    files, path = file_system(uri)
    with translate_remote_errors("read", uri):
        files.invalidate_cache()
        size: int | None = files.info(path).get("size")
        return size


def remove(uri: str) -> None:
    """Remove a file, if it exists."""
    files, path = file_system(uri)
    with translate_remote_errors("remove", uri), contextlib.suppress(FileNotFoundError):
        files.rm_file(path)


def require_size(uri: str, actual: int, expected: int) -> None:
    """Raise if the number of bytes that were read from a file is not the expected one.

    Raises
    ------
    StorageError
        If there are fewer or more bytes.
    """
    if actual != expected:
        longer = "more" if actual > expected else "fewer"
        raise StorageError(f"{uri} is damaged or was replaced: it has {longer} bytes than its manifest says; save the frame again")
