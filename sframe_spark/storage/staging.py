"""Where parts of an export are written before anybody sees them: here, and where tasks of other machines write them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_private
from sframe_spark.process.leases import HIDDEN, new_name
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.object_store import listed, remove
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary import scratch_store


@attrs.define(eq=False)
class Staging:
    """Directories for parts.

    Parameters
    ----------
    here
        One of this machine.
    beside
        One that is where the export goes, under a name that readers take for no data; of exports here the same one.
    is_used
        Whether there may be something in the one elsewhere.
    """

    here: str
    beside: str
    is_used: bool = False

    def for_tasks(self, are_here: bool) -> str:
        """Return the directory in which tasks write, ``are_here`` if they all see the files of this process."""
        if are_here or is_private(self.beside):
            return self.here
        self.is_used = True
        return self.beside


@contextlib.contextmanager
def staged_elsewhere(target: str) -> Iterator[Staging]:
    """Directories for the parts of an export elsewhere, which go when the block ends."""
    handle = scratch_store().new_dataset()
    staging = Staging(handle.directory, join(target.rpartition("/")[0], HIDDEN + new_name()))
    try:
        yield staging
    finally:
        handle.discard()
        if staging.is_used:
            # What was exported is there, or an error tells why it is not; what may not be removed stays under names that nobody reads.
            with contextlib.suppress(StorageError):
                remove_files([file.uri for file in listed(staging.beside, below=True)])


def remove_files(uris: list[str]) -> None:
    """Remove files elsewhere, side by side."""
    if uris:
        in_threads(remove, uris, available_cores())
