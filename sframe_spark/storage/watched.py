"""Files whose statistics are believed although no check sum of ours holds them: they must still be the ones that these were taken from."""

from __future__ import annotations

import os

from sframe_spark.errors import StorageError
from sframe_spark.storage.failures import missing, telling
from sframe_spark.storage.file_state import FileState, Seen
from sframe_spark.storage.footers import changed, footer_of
from sframe_spark.storage.manifest import Manifest
from sframe_spark.storage.paths import join


def require_unchanged(manifest: Manifest) -> None:
    """Make sure that the files of others are as they were when their statistics were taken; costs one call of the system for each.

    Parameters
    ----------
    manifest
        The dataset. Of saved frames with check sums nothing is asked: these tell of every file that it is another one when it is read, and what
        the manifest says is true of the frame that was loaded, whatever has become of its directory since.

    Raises
    ------
    StorageError
        If a file has gone, or is another one.
    """
    for entry in manifest.watched:
        location, seen = join(manifest.directory, entry.file), entry.seen
        try:
            status = os.stat(location)
        except FileNotFoundError:
            raise StorageError(missing(location)) from None
        except OSError:
            with telling("read", location):
                raise
        if seen is not None and seen.state != (state := FileState.of(status)) and not _is_same(location, state, seen):
            raise changed(location)


def _is_same(location: str, state: FileState, seen: Seen) -> bool:
    """Say whether a file of which something is another than it was still has its content."""
    if (state.size, state.modified) != (seen.state.size, seen.state.modified):
        return False
    # Links and rights were changed, or the file was restored from a copy with its time, or the file system makes up numbers for files.
    return state.inode == seen.state.inode if seen.tail is None else footer_of(location).tail == seen.tail
