"""Where a segment file is written that is to be elsewhere: here first, a file at a time, and uploaded when it is complete."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import attrs

from sframe_spark.locations import is_elsewhere
from sframe_spark.storage.filesystem.object_store import upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary import scratch_store
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.parquet.group_sums import with_group_sums


@attrs.frozen
class Delivery:
    """A directory in which files are written, and the one that they are for.

    Parameters
    ----------
    directory
        Where files are written.
    target
        Where they go.
    """

    directory: str
    target: str

    def delivered(self, entry: SegmentEntry, columns: int) -> SegmentEntry:
        """Bring the file of an entry to where it goes, and return what is then known of it."""
        if self.directory == self.target or not entry.rows:
            return entry
        place = join(self.directory, entry.file)
        complete = with_group_sums(entry, place, columns)
        upload(place, join(self.target, entry.file))
        return complete


@contextlib.contextmanager
def delivering(target: str) -> Iterator[Delivery]:
    """A directory to write files in that go to a directory here or elsewhere."""
    if not is_elsewhere(target):
        yield Delivery(target, target)
        return
    handle = scratch_store().new_dataset()
    try:
        yield Delivery(handle.directory, target)
    finally:
        handle.discard()
