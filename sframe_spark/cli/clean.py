"""``python -m sframe_spark clean``: lists and deletes temporary files and directories that dead processes left."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Callable, Sequence

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location, location_of, normalised
from sframe_spark.message_text import in_words
from sframe_spark.process.directory_trees import size_on_disk
from sframe_spark.process.leases import delete, directory_of_system, may_be_renamed_by_anyone, orphans_in
from sframe_spark.storage.filesystem.object_store import listed, require_bucket
from sframe_spark.storage.filesystem.temporary_datasets import remote_orphans, remove_all_below, scratch_root, temporary_root


def places(paths: Sequence[str]) -> list[str]:
    """Return the directories in which processes may leave files.

    They are those of temporary data and of sockets, and the given absolute paths and their parents.
    """
    always = [scratch_root(), directory_of_system(), "/tmp"]
    found = [*always, *(place for path in paths for place in (path, os.path.dirname(path)))]
    return list(dict.fromkeys(os.path.realpath(place) for place in found if os.path.isdir(place)))


def run_clean(paths: Sequence[str], dry_run: bool, show: Callable[[str], None]) -> int:
    """Show and delete what dead processes of this user left; return 1 if a path is missing or something could not be deleted, otherwise 0."""
    locations = named_locations(paths, show)
    number, total, failed = 0, 0, 0
    for place in places([path for path in locations if not is_remote_location(path)]):
        if may_be_renamed_by_anyone(place):
            show(f"{place} is left as it is: anyone may rename things in it; chmod +t mends that")
        for path in orphans_in(place):
            size = size_on_disk(path)
            if not dry_run:
                delete(path)
            stays = not dry_run and os.path.lexists(path)
            show(f"{'would remove' if dry_run else 'cannot remove' if stays else 'removed'} {path}, {in_words(size)}")
            number, total, failed = number + (not stays), total + size * (not stays), failed + stays
    for root in remote_roots([path for path in locations if is_remote_location(path)]):
        try:
            found = _remote_orphans_below(root)
        except StorageError as error:
            show(str(error))
            found, failed = [], failed + 1
        for path, size in found:
            stays = not dry_run and not _remove_remote(path, show)
            if not stays:
                show(f"{'would remove' if dry_run else 'removed'} {path}, {in_words(size)}")
            number, total, failed = number + (not stays), total + size * (not stays), failed + stays
    show(f"{number} left by processes that ended, {in_words(total)}{' could be removed' if dry_run else ' removed'}")
    return 1 if failed or len(locations) < len(paths) else 0


def remote_roots(paths: Sequence[str]) -> list[str]:
    """Return the URIs below which processes may leave files: that of temporary data, if it is remote, and the given ones."""
    root = temporary_root()
    return list(dict.fromkeys([*([root] if is_remote_location(root) else []), *paths]))


def _is_uri(path: str) -> bool:
    with contextlib.suppress(StorageError):
        return is_remote_location(location_of(path))
    return False


def _remote_orphans_below(root: str) -> list[tuple[str, int]]:
    """Return what dead processes left below a URI, each with its number of bytes."""
    found = remote_orphans(root, datetime.datetime.now(datetime.UTC))
    if not found:
        require_bucket(root)
    return [(path, sum(file.size for file in listed(path, below=True))) for path in found]


def _remove_remote(path: str, show: Callable[[str], None]) -> bool:
    """Delete what a dead process left on a remote file system; if that fails, show why and return False."""
    try:
        remove_all_below(path)
    except StorageError as error:
        show(str(error))
        return False
    return True


def named_locations(paths: Sequence[str], show: Callable[[str], None]) -> list[str]:
    """Return the absolute locations of paths and URIs that the user named.

    For those that are invalid, and paths that do not exist, a message is shown.
    """
    found = []
    for path in paths:
        try:
            if _is_uri(path):
                found.append(location_of(path))
                continue
            location = normalised(path)
        except StorageError as error:
            show(str(error))
            continue
        if os.path.lexists(location):
            found.append(location)
        else:
            show(f"there is no {path}")
    return found
