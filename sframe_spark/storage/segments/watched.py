"""Files whose statistics are believed although no check sum of ours holds them: they must still be the ones that these were taken from."""

from __future__ import annotations

import functools
import os

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere
from sframe_spark.storage.filesystem.in_place import changed, require_all_still
from sframe_spark.storage.filesystem.io_errors import missing, telling
from sframe_spark.storage.filesystem.local_files import FileState, Seen
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.parquet.footer import footer_of
from sframe_spark.storage.segments.held_order import held_order

# Datasets whose files were touched, with orders that were found in their rows.
REMEMBERED_ORDERS = 64


def require_unchanged(manifest: Manifest) -> None:
    """Make sure that the files of others are as they were when their statistics were taken; one call of the system for each, elsewhere fewer.

    Where one was touched since its rows were compared with an order, they are compared once more: the footer does not tell how rows are ordered.

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
    if is_elsewhere(manifest.directory):
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
            with telling("read", location):
                raise
        state = FileState.of(status)
        if seen is None or seen.state == state:
            continue
        if not _is_same(location, state, seen):
            raise changed(location)
        # Nobody can set this time, so the content is the same where it is.
        if seen.state.changed != state.changed:
            touched.append((location, state))
    order = manifest.order
    if touched and any(held for _, held in order.compared) and not _is_in_order(_Touched(manifest, order.compared, order.keys, tuple(touched))):
        raise changed(touched[0][0])


def _is_same(location: str, state: FileState, seen: Seen) -> bool:
    """Say whether a file of which something is another than it was still has its content."""
    if (state.size, state.modified) != (seen.state.size, seen.state.modified):
        return False
    # Links and rights were changed, or the file was restored from a copy with its time, or the file system makes up numbers for files.
    return state.inode == seen.state.inode if seen.tail is None else footer_of(location).tail == seen.tail


@attrs.frozen(cache_hash=True)
class _Touched:
    """A dataset some of whose files have another time of changes than they had, and what comparing their rows told before."""

    manifest: Manifest
    compared: tuple[tuple[tuple[tuple[int, bool], ...], int], ...]
    keys: tuple[tuple[int, ...], ...]
    files: tuple[tuple[str, FileState], ...]


@functools.lru_cache(maxsize=REMEMBERED_ORDERS)
def _is_in_order(touched: _Touched) -> bool:
    """Say whether rows are in the orders that they were found in: other rows in another order may have the same footer."""
    for ordering, held in touched.compared:
        columns = tuple(column for column, _ in ordering[:held])
        found = held_order(touched.manifest, ordering[:held]) if held else None
        if found is None:
            continue
        keys = [len(key) for key in touched.keys if key == columns[: len(key)]]
        if found.columns < held or (keys and (found.untied is None or found.untied > min(keys))):
            return False
    return True
