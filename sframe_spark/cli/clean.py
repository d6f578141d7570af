"""``python -m sframe_spark clean``: lists and deletes the temporary files and directories that dead processes left."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Callable, Sequence

from sframe_spark.errors import StorageError
from sframe_spark.message_text import in_words
from sframe_spark.paths_and_uris import is_remote_location, location_of, normalised
from sframe_spark.process.directory_trees import size_on_disk
from sframe_spark.process.temporary_file_leases import delete, directory_of_system, may_be_renamed_by_anyone, orphans_in
from sframe_spark.storage.filesystem.remote_operations import listed, require_bucket
from sframe_spark.storage.filesystem.temporary_datasets import remote_orphans, remove_below, scratch_root, temporary_root


def directories(paths: Sequence[str]) -> list[str]:
    """Return the directories in which processes may leave files: of temporary data and sockets, and the given absolute paths and their parents."""
    candidates = [scratch_root(), directory_of_system(), "/tmp", *(directory for path in paths for directory in (path, os.path.dirname(path)))]
    return list(dict.fromkeys(os.path.realpath(directory) for directory in candidates if os.path.isdir(directory)))


def run_clean(paths: Sequence[str], dry_run: bool, show: Callable[[str], None]) -> int:
    """Show and delete what dead processes of this user left; return 1 if a path is missing or something could not be deleted, otherwise 0."""
    locations = named_locations(paths, show)
    sizes: list[int] = []
    failed = 0

    def clean(path: str, size: int, remove: Callable[[str], str | None]) -> bool:
        """Delete what a process left; return whether that failed. ``remove`` returns why it failed, or None."""
        problem = None if dry_run else remove(path)
        show(problem or f"{'would remove' if dry_run else 'removed'} {path}, {in_words(size)}")
        sizes.extend([] if problem else [size])
        return problem is not None

    for directory in directories([path for path in locations if not is_remote_location(path)]):
        if may_be_renamed_by_anyone(directory):
            show(f"{directory} is skipped, because anyone may rename files in it; chmod +t fixes that")
        for path in orphans_in(directory):
            failed += clean(path, size_on_disk(path), _remove_local)
    # Below these URIs processes may leave files.
    for root in dict.fromkeys(filter(is_remote_location, [temporary_root(), *locations])):
        try:
            orphans = _remote_orphans_below(root)
        except StorageError as error:
            show(str(error))
            orphans, failed = [], failed + 1
        for path, size in orphans:
            failed += clean(path, size, _remove_remote)
    show(f"{len(sizes)} left by processes that ended, {in_words(sum(sizes))}{' could be removed' if dry_run else ' removed'}")
    return 1 if failed or len(locations) < len(paths) else 0


def _remove_local(path: str) -> str | None:
    size = size_on_disk(path)
    delete(path)
    return f"cannot remove {path}, {in_words(size)}" if os.path.lexists(path) else None


def _remote_orphans_below(root: str) -> list[tuple[str, int]]:
    """Return what dead processes left below a URI, each with its number of bytes."""
    paths = remote_orphans(root, datetime.datetime.now(datetime.UTC))
    if not paths:
        require_bucket(root)
    return [(path, sum(file.size for file in listed(path, below=True))) for path in paths]


def _remove_remote(path: str) -> str | None:
    try:
        remove_below(path)
    except StorageError as error:
        return str(error)
    return None


def named_locations(paths: Sequence[str], show: Callable[[str], None]) -> list[str]:
    """Return the absolute locations of the paths and URIs that the user named.

    A message is shown for an invalid location, and for a path that does not exist; these are left out.
    """
    locations = []
    for path in paths:
        with contextlib.suppress(StorageError):
            if is_remote_location(uri := location_of(path)):
                locations.append(uri)
                continue
        try:
            location = normalised(path)
        except StorageError as error:
            show(str(error))
            continue
        if os.path.lexists(location):
            locations.append(location)
        else:
            show(f"there is no {path}")
    return locations
