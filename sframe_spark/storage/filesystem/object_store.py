"""The few things that are done with files on file systems elsewhere: whole objects and ranges of bytes, nothing that is changed in place."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import BUCKETS
from sframe_spark.message_text import visible
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.leases import HIDDEN, new_name
from sframe_spark.storage.filesystem.file_systems import ARROW, file_system, is_made_of_another, is_refusal, telling, writing_class

# One after the other in this process, where a file system looks first and creates then.
_CREATING = threading.Lock()
keep_whole_at_fork(_CREATING, "object store")
# What file systems put together: the length of each part at least, but for the last, and at most, and their number.
_MERGED = {"s3fs.core": (5 << 20, 5 << 30, 10_000), "gcsfs.core": (0, 1 << 60, 32)}
# These create files exclusively, and have that among other options.
_CREATING_BY_OPTION = ("adlfs.spec",)
_TIMES_OF_CHANGE = ("LastModified", "last_modified", "mtime", "modified", "updated")
_TIMES = (*_TIMES_OF_CHANGE, "created")


@attrs.frozen
class FoundFile:
    """A file in a listing: its URI, its length, and when it was written; None where the file system does not tell."""

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
    with telling("read", uri):
        return bytes(files.cat_file(path, start=start, end=stop, **_seeking(files)))


def read_ranges(uri: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return several ranges of bytes of a file, one request each, side by side where the file system does so."""
    if len(ranges) < 2:
        return [read_range(uri, *place) for place in ranges]
    files, path = file_system(uri)
    with telling("read", uri):
        starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
        return [bytes(part) for part in files.cat_ranges([path] * len(ranges), starts, stops, on_error="raise", **_seeking(files))]


def _seeking(files: Any) -> dict[str, bool]:
    """What file systems of pyarrow are told so that they stop before the end."""
    return {"seekable": True} if is_made_of_another(files, ARROW) else {}


def listed(uri: str, below: bool = False) -> list[FoundFile]:
    """Return the files in a directory, or at any depth below it, by name, as they are now; none where there is no such directory."""
    files, path = file_system(uri)
    root = path.rstrip("/") + "/"
    with telling("list", uri):
        # What was listed before is remembered by some.
        files.invalidate_cache(path)
        try:
            found = list(files.find(path, detail=True).values()) if below else files.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            # Where there is no bucket either, the next request says so.
            return []
    return sorted((_found(uri, root, item) for item in found if item["type"] == "file" and item["name"].startswith(root)), key=lambda item: item.uri)


def written_at(item: Mapping[str, Any]) -> datetime.datetime | None:
    """Return when a file was written, as its file system tells in one of several forms; None where it does not."""
    return _time_of(item, _TIMES)


def changed_at(item: Mapping[str, Any]) -> datetime.datetime | None:
    """Return the time that a later content of a file changes; None where none is told: that of its creation may stay."""
    return _time_of(item, _TIMES_OF_CHANGE)


def _time_of(item: Mapping[str, Any], names: Sequence[str]) -> datetime.datetime | None:
    written = next((item[name] for name in names if item.get(name) is not None), None)
    if isinstance(written, (int, float)):
        written = datetime.datetime.fromtimestamp(written, datetime.UTC)
    if not isinstance(written, datetime.datetime):
        return None
    return written.replace(tzinfo=datetime.UTC) if written.tzinfo is None else written


def _found(uri: str, root: str, item: dict[str, Any]) -> FoundFile:
    found = f"{uri}/{item['name'].removeprefix(root)}"
    if item["size"] is None:
        raise StorageError(f"the file system does not tell how long {visible(found)} is: data that is saved there cannot be checked")
    return FoundFile(found, int(item["size"]), written_at(item))


def require_bucket(uri: str) -> None:
    """Make sure that there is what comes first in a URI, as far as this user is told.

    Raises
    ------
    StorageError
        If there is no such bucket or container.
    """
    if uri.partition(":")[0] not in BUCKETS:
        return
    files, path = file_system(uri)
    bucket = path.strip("/").partition("/")[0]
    with telling("read", uri):
        # A directory of a bucket that goes by its scheme has no bucket in its paths.
        if bucket and type(files) is writing_class(files) and _is_missing(files, bucket):
            raise FileNotFoundError("bucket")


def _is_missing(files: Any, bucket: str) -> bool:
    """Say whether there is no such bucket; who may not ask for it, as one who sees what is below a prefix alone, is told by nobody."""
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
    """Write a file where none has the name, whole or not at all; False where one has.

    Raises
    ------
    StorageError
        If nobody knows whether it was written; it may have been.
    """
    files, path = file_system(uri)
    with telling("write", uri), _CREATING:
        try:
            files.pipe_file(path, content, mode="create")
        except FileExistsError:
            return False
        except OSError as error:
            # Of requests that came too close, some are refused with a conflict.
            if "ConditionalRequestConflict" in str(error):
                return False
            raise
    return True


def put_bytes(uri: str, content: bytes) -> None:
    """Write a file, whole or not at all, whatever was there."""
    files, path = file_system(uri)
    with telling("write", uri):
        if not _is_object_store(uri):
            files.makedirs(files._parent(path), exist_ok=True)
        files.pipe_file(path, content)


def creates_exclusively(uri: str) -> bool:
    """Say whether the class of a file system has a way of its own to create files that are not there."""
    files, _ = file_system(uri)
    kind = writing_class(files)
    # The one for all looks first whether the file is there, and another may come between.
    own = [method for name in ("_pipe_file", "pipe_file") if (method := getattr(kind, name, None)) is not None]
    own = [method for method in own if method.__module__ not in ("fsspec.spec", "fsspec.asyn")]
    return any(method.__module__ in _CREATING_BY_OPTION or "mode" in inspect.signature(method).parameters for method in own)


def upload(local: str, uri: str, named: str | None = None) -> None:
    """Write a local file to a place of its own: by one request, or in parts where it is large.

    Parameters
    ----------
    local, uri
        The file, and the place.
    named
        What the user named, for messages, where the place is one on the way there.
    """
    files, path = file_system(uri)
    with telling("write", named or uri):
        # Object stores have no directories, and would be asked for each.
        if not _is_object_store(uri):
            files.makedirs(files._parent(path), exist_ok=True)
        files.put_file(local, path)


def download(uri: str, local: str) -> None:
    """Copy a file to a new local one."""
    files, path = file_system(uri)
    with telling("read", uri):
        files.get_file(path, local)


def copy_within(origin: str, target: str) -> bool:
    """Let a file system copy one of its files; False where the two are on different ones."""
    files, path = file_system(origin)
    others, place = file_system(target)
    if files is not others:
        return False
    with telling("copy", origin):
        files.cp_file(path, place)
    return True


def put_whole(local: str, uri: str) -> None:
    """Write a local file to a place that may have one: what was there is replaced by all of it, or stays."""
    if _is_object_store(uri):
        upload(local, uri)
        return
    # Elsewhere a file that is being written is there already.
    beside = f"{uri.rpartition('/')[0]}/{HIDDEN}{new_name()}"
    try:
        upload(local, beside, uri)
        place_within(beside, uri)
    except BaseException:
        with contextlib.suppress(StorageError):
            remove(beside)
        raise


def place_within(origin: str, target: str) -> None:
    """Give a file the name of another place on its file system, whole or not at all; where only copies can be made, the origin stays."""
    files, path = file_system(origin)
    _, place = file_system(target)
    with telling("write", target):
        if _is_object_store(origin):
            files.cp_file(path, place)
            return
        files.makedirs(files._parent(place), exist_ok=True)
        if files.isfile(place):
            files.rm_file(place)
        files.mv(path, place)


def _is_object_store(uri: str) -> bool:
    """Say whether a file is seen when all of it is there, as nothing is changed in place."""
    # The classes that fsspec has for these have a way of their own to put files; those of directories write into files.
    files, _ = file_system(uri)
    return hasattr(writing_class(files), "_put_file")


def merged_within(origins: Sequence[FoundFile], target: str) -> bool:
    """Let a file system make one file of several, in order, if it can; False where it can not, and nothing was written."""
    files, place = file_system(target)
    sizes = [origin.size for origin in origins]
    least, largest, most = _MERGED.get(type(files).__module__, (0, 0, 0))
    if len(origins) > most or min(sizes[:-1], default=0) < least or max(sizes) > largest:
        return False
    with telling("write", target):
        files.merge(place, [file_system(origin.uri)[1] for origin in origins])
    return True


def is_file(uri: str) -> bool:
    """Say whether there is a file of this name."""
    files, path = file_system(uri)
    with telling("read", uri):
        files.invalidate_cache()
        return bool(path.strip("/")) and bool(files.isfile(path))


@attrs.frozen
class NameElsewhere:
    """What has a name elsewhere: on object stores it may be a file and a directory."""

    is_file: bool
    names: tuple[str, ...]


def place_at(uri: str) -> NameElsewhere:
    """Return whether a file has a name, and the names of files and directories in the directory that has it."""
    files, path = file_system(uri)
    path = path.rstrip("/")
    with telling("list", uri):
        files.invalidate_cache(path)
        try:
            found = [item["name"].rstrip("/") for item in files.ls(path, detail=True) if item["type"] == "file" or item["name"].rstrip("/") != path]
        except (FileNotFoundError, NotADirectoryError):
            found = []
    return NameElsewhere(path in found, tuple(sorted(item.removeprefix(path + "/") for item in found if item.startswith(path + "/"))))


def size_of(uri: str) -> int | None:
    """Return how long a file is; None where its file system does not tell."""
    files, path = file_system(uri)
    with telling("read", uri):
        files.invalidate_cache()
        size: int | None = files.info(path).get("size")
        return size


def remove(uri: str) -> None:
    """Remove a file; one that is not there is no error."""
    files, path = file_system(uri)
    with telling("remove", uri), contextlib.suppress(FileNotFoundError):
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
