"""Detects that external files were changed after their statistics were computed.

If a file was touched but may have the same content, its rows are compared with the recorded orderings again.
"""

from __future__ import annotations

import functools
import os

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.storage.external.row_order_detection import Ordering, verified_order
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, Seen
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import changed, require_all_still
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.parquet.footer import footer_of

# The size of the cache of results for datasets with touched files: files whose time of change differs, but whose content may be the same.
REMEMBERED_ORDERS = 64


def require_unchanged(manifest: Manifest) -> None:
    """Raise if external files have changed since their statistics were computed; this takes one system call for each local file.

    If a file was touched after its rows were compared with an order, they are compared again, since an equal footer does not prove equal rows.

    Parameters
    ----------
    manifest
        The manifest of the dataset. Files of saved frames with checksums are not checked here, since changes of them are found when they are read.

    Raises
    ------
    StorageError
        If a file is missing or was changed.
    """
    if is_remote_location(manifest.directory):
        require_all_still({join(manifest.directory, entry.file): entry.seen.state for entry in manifest.watched if entry.seen is not None})
        return
    touched = []
    for entry in manifest.watched:
        location, seen = join(manifest.directory, entry.file), entry.seen
        try:
            status = os.stat(location)
        except FileNotFoundError:
            raise StorageError(missing(location)) from None
        except OSError:
            with translate_os_errors("read", location):
                raise
        state = FileState.of(status)
        if seen is None or seen.state == state:
            continue
        if not _is_same(location, state, seen):
            raise changed(location)
        # Programs cannot set the time of change, so the same time proves the same content.
        if seen.state.changed != state.changed:
            touched.append((location, state))
    order = manifest.order
    was_ordered = any(columns for _, columns in order.compared)
    if touched and was_ordered and not _is_in_order(_Touched(manifest, order.compared, order.keys, tuple(touched))):
        raise changed(touched[0][0])


def _is_same(location: str, state: FileState, seen: Seen) -> bool:
    """Return whether a file, whose state is not the one that was seen, may have the same content: its size, time and footer are the same."""
    if (state.size, state.modified) != (seen.state.size, seen.state.modified):
        return False
    # For example permissions or links were changed, the file was restored with its times, or the inodes of the file system are not stable.
    return state.inode == seen.state.inode if seen.tail is None else footer_of(location).tail == seen.tail


@attrs.frozen(cache_hash=True)
class _Touched:
    """A dataset with touched files, the results of comparing its rows with orders, its keys, and the files with their states."""

    manifest: Manifest
    compared: tuple[tuple[Ordering, int], ...]
    keys: tuple[tuple[int, ...], ...]
    files: tuple[tuple[str, FileState], ...]


@functools.lru_cache(maxsize=REMEMBERED_ORDERS)
def _is_in_order(touched: _Touched) -> bool:
    """Return whether the rows are still in the orders, and have the keys, that were found before."""
    for ordering, verified_columns in touched.compared:
        if not verified_columns:
            continue
        columns = tuple(column for column, _ in ordering[:verified_columns])
        result = verified_order(touched.manifest, ordering[:verified_columns])
        keys = [len(key) for key in touched.keys if key == columns[: len(key)]]
        if result.columns < verified_columns or (keys and (result.untied is None or result.untied > min(keys))):
            return False
    return True
