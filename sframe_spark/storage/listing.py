"""What is in a directory and below it; links are seen as links and not followed."""

from __future__ import annotations

import os
import stat

from sframe_spark.session.trees import entries_below
from sframe_spark.storage.failures import telling
from sframe_spark.storage.file_state import FileState


def files_below(directory: str) -> list[str]:
    """Return what is below a directory and no directory itself, relative to it, sorted by name; nothing when there is no directory."""
    with telling("list", directory):
        return sorted(name for name, _ in entries_below(directory))


def names_in(directory: str) -> list[str]:
    """Return what is in a directory, directories with a slash at their end, sorted by name; nothing when there is no directory."""
    with telling("list", directory):
        try:
            scan = os.scandir(directory)
        except FileNotFoundError:
            return []
        with scan:
            return sorted(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in scan)


def sizes_below(directory: str) -> dict[str, int]:
    """Return the length of every regular file below a directory, by its name relative to it."""
    return {name: state.size for name, state in states_below(directory).items()}


def states_below(directory: str) -> dict[str, FileState]:
    """Return every regular file below a directory as it is now, by its name relative to it."""
    with telling("list", directory):
        statuses = ((name, entry.stat(follow_symlinks=False)) for name, entry in entries_below(directory))
        return {name: FileState.of(status) for name, status in statuses if stat.S_ISREG(status.st_mode)}
