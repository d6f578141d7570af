"""Checks of the page headers of whole files, which can be made here or in a task of Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.storage.files.file_state import state_of
from sframe_spark.storage.files.paths import join
from sframe_spark.storage.manifests.manifest import SegmentEntry
from sframe_spark.storage.parquet.footers import footer_of_entry
from sframe_spark.storage.parquet.opened_files import check_pages
from sframe_spark.storage.parquet.sound import SOUND_COLUMNS, Identity


@attrs.frozen
class PageCheck:
    """Columns of one file of a dataset, whose page headers are to be compared with their check sums.

    Parameters
    ----------
    directory
        Directory of the dataset.
    entry
        The file.
    sums
        Check sum for each column, by its name in the file.
    """

    directory: str
    entry: SegmentEntry
    sums: Mapping[str, int]

    @classmethod
    def of(cls, directory: str, entry: SegmentEntry, sums: Mapping[str, int]) -> PageCheck:
        """Return the check of some columns of a file; it carries nothing about values, since it may be sent to a task."""
        return cls(directory, attrs.evolve(entry, columns=()), sums)

    def run(self) -> None:
        """Read the footer and walk through page headers, as far as this process has not done so before.

        Raises
        ------
        StorageError
            If the file is missing, damaged or another one.
        """
        check_pages(footer_of_entry(self.directory, self.entry), join(self.directory, self.entry.file), self.sums)

    def file(self) -> Identity | None:
        """Return the file as it is now (see :func:`as_it_is`)."""
        return as_it_is(self.directory, self.entry)

    def is_due(self, file: Identity) -> bool:
        """Say whether this process does not know that the columns of a file are sound."""
        return bool(SOUND_COLUMNS.unchecked(file, self.sums))

    def done_elsewhere(self, file: Identity) -> None:
        """Remember that a task has run the check of a file."""
        SOUND_COLUMNS.add(file, self.sums)


def as_it_is(directory: str, entry: SegmentEntry) -> Identity | None:
    """Return the file of a segment as it is now; None where there is none, or one of another length, which reading its footer tells."""
    location = join(directory, entry.file)
    with contextlib.suppress(OSError, StorageError):
        state = state_of(location, entry.size, may_be_link=entry.tail is None)
        return (location, state) if entry.size in (None, state.size) else None
    return None
