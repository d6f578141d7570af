"""Checks of the page headers of whole files, which can be made here or in a task of Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.local_files import state_of
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME
from sframe_spark.storage.parquet.footer import footer_of_entry
from sframe_spark.storage.parquet.open_file import check_pages
from sframe_spark.storage.parquet.sound import SOUND_COLUMNS, Identity


def places_of_sums(manifest: Manifest, columns: Iterable[int], with_key: bool = False) -> dict[str, int]:
    """Return where the sums of some columns are among those of a segment, by their names in its file."""
    places = {manifest.file_name(column): column for column in columns}
    return {**places, KEY_NAME: -1} if with_key else places


class SumsOfFile(Mapping[str, int]):
    """Check sums of some columns of a file, by their names: many files share these, and a sum is read when somebody asks.

    Parameters
    ----------
    places
        Where the sum of each column is among all.
    pages
        All of them; None where none was recorded.

    Examples
    --------
    >>> dict(SumsOfFile({"c1": 1, "_key": -1}, [7, 8, 9]))
    {'c1': 8, '_key': 9}
    """

    __slots__ = ("_pages", "_places")

    def __init__(self, places: Mapping[str, int], pages: Sequence[int] | None) -> None:
        self._places, self._pages = {} if pages is None else places, pages

    def __getitem__(self, name: str) -> int:
        place = self._places[name]
        assert self._pages is not None
        return self._pages[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> tuple[Any, ...]:
        known = [] if self._pages is None else list(self._pages)
        return dict, ({name: known[place] for name, place in self._places.items()},)


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

    def sent(self) -> PageCheck:
        """Return the check as a task is told of it: the entry has nothing about values, nor check sums, which the check has itself."""
        return attrs.evolve(self, entry=attrs.evolve(self.entry, columns=(), pages=None, group_pages=None))

    def run_if_due(self) -> None:
        """Run the check unless this process knows that it passes; then not even the footer is read."""
        file = self.file()
        if file is None or self.is_due(file):
            self.run()

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


@attrs.frozen
class PageChecks:
    """Checks that one task makes, sent as one value.

    Parameters
    ----------
    checks
        What it makes, as :meth:`PageCheck.sent` tells of them.
    """

    travels_as_one: ClassVar[bool] = True

    checks: tuple[PageCheck, ...]

    def run(self) -> None:
        """Run them, one after the other."""
        for check in self.checks:
            check.run()


def as_it_is(directory: str, entry: SegmentEntry) -> Identity | None:
    """Return the file of a segment as it is now; None where there is none, or one of another length, which reading its footer tells."""
    location = join(directory, entry.file)
    with contextlib.suppress(OSError, StorageError):
        state = state_of(location, entry.size, may_be_link=entry.tail is None)
        return (location, state) if entry.size in (None, state.size) else None
    return None
