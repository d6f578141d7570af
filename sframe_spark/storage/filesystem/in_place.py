"""Files of others elsewhere that stay where they are: found with what tells their content from a later one, which is asked for again."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_private, place_of, with_usual_scheme
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.file_systems import PACKAGES, file_system, is_given, is_shared, telling
from sframe_spark.storage.filesystem.io_errors import missing
from sframe_spark.storage.filesystem.local_files import FileState
from sframe_spark.storage.filesystem.object_store import changed_at
from sframe_spark.storage.filesystem.remote_files import listed_at, name_of, telling_of, whole

# So many files of a directory are asked for one by one; more are listed together, up to a thousand by a request.
FEW_FILES = 8
AT_A_TIME = 8
# Names for a content that file systems give, which change with every write.
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
        What its file system told of it.
    """

    uri: str
    inside: str
    state: FileState


def found_in_place(url: str, sort_key: Callable[[str], Any], is_pattern: bool) -> list[FileInPlace] | None:
    """Return the files that a URL names, in order; None where they have to be fetched, since no task could read ranges of them where they are.

    Raises
    ------
    StorageError
        If there are none, or they cannot be listed.
    """
    url = whole(url)
    usual = with_usual_scheme(url)
    if "::" in url or is_private(usual) or not (is_given(usual) or usual.partition(":")[0] in PACKAGES):
        return None
    with telling_of(url):
        files, path = file_system(usual)
        if not is_shared(usual):
            return None
        found = []
        for file in listed_at(url, files, path, sort_key, is_pattern):
            uri, state = with_usual_scheme(name_of(url, files, file.place)), state_of_item(file.details)
            if state is None or not _is_plain(uri, file.place):
                return None
            found.append(FileInPlace(uri, file.inside, state))
        return found


def _is_plain(uri: str, path: str) -> bool:
    """Say whether a URI means the path that was listed, and nothing else to anybody."""
    try:
        return place_of(uri) == uri and file_system(uri)[1].strip("/") == path.strip("/")
    except StorageError:
        return False


def state_of_item(item: Mapping[str, Any]) -> FileState | None:
    """Return what a file system tells of a file; None where it does not tell its length, or nothing that any later content changes.

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
    """Return what is told now of files; None of those that are gone. Many in a directory take a request for each thousand in it."""
    by_directory: dict[str, list[str]] = defaultdict(list)
    for uri in uris:
        by_directory[os.path.dirname(uri)].append(uri)
    few = [uri for named in by_directory.values() if len(named) <= FEW_FILES for uri in named]
    many = [directory for directory, named in by_directory.items() if len(named) > FEW_FILES]
    # Found here: who runs in threads of others may see other options. Files of one directory may have several, by their prefixes.
    files = {place: file_system(place)[0] for place in (*few, *many)}
    for each in {id(found): found for found in files.values()}.values():
        each.invalidate_cache()
    states = dict(zip(few, in_threads(lambda uri: _state_now(files[uri], uri), few, AT_A_TIME), strict=True))
    for listed in in_threads(lambda directory: _states_in(files[directory], directory), many, AT_A_TIME):
        states.update(listed)
    return [states.get(uri) for uri in uris]


def _state_now(files: Any, uri: str) -> FileState | None:
    with telling("read", uri):
        try:
            item = files.info(file_system(uri)[1])
        except FileNotFoundError:
            return None
    return state_of_item(item) if item["type"] == "file" else None


def _states_in(files: Any, directory: str) -> dict[str, FileState | None]:
    with telling("list", directory):
        try:
            items = files.ls(file_system(directory)[1], detail=True)
        except FileNotFoundError:
            return {}
    return {f"{directory}/{item['name'].rpartition('/')[2]}": state_of_item(item) for item in items if item["type"] == "file"}


def require_still(uri: str, state: FileState) -> None:
    """Make sure that a file is the one that was found before, so that what was read of it since is of that one (see :func:`require_all_still`)."""
    require_all_still({uri: state})


def require_all_still(states: Mapping[str, FileState]) -> None:
    """Make sure that files are those that were found before.

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
