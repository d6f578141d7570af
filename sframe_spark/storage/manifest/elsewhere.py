"""Columns of a saved frame that are in other datasets: what a manifest says of these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from sframe_spark.message_text import is_unicode

# The number of the dataset itself, where columns are counted by datasets.
OWN = -1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST = (1 << 63) - 1


@attrs.frozen
class DatasetElsewhere:
    """Rows of another saved dataset.

    Parameters
    ----------
    directory
        Its absolute local path.
    digest
        SHA-256 of its manifest file, in hexadecimal digits. What it names has check sums of all rows, so no other rows pass for these; and who has
        not read the manifest cannot name them.
    start, stop
        Which rows, the last one excluded.
    """

    directory: str
    digest: str
    start: int
    stop: int


@attrs.frozen
class Elsewhere:
    """All columns of a frame of which some are in other datasets.

    Parameters
    ----------
    names
        Of all columns, in order.
    columns
        For each of them, which dataset has it (``OWN``: the one whose manifest says this) and at which position.
    datasets
        The others.

    Examples
    --------
    >>> dataset = DatasetElsewhere("/data/frame", "0" * 64, 0, 3)
    >>> found = Elsewhere(("a", "b"), ((0, 2), (OWN, 0)), (dataset,))
    >>> Elsewhere.from_json(found.to_json()) == found
    True
    """

    names: tuple[str, ...]
    columns: tuple[tuple[int, int], ...]
    datasets: tuple[DatasetElsewhere, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "names": list(self.names),
            "columns": [list(place) for place in self.columns],
            "datasets": [attrs.asdict(item) for item in self.datasets],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Elsewhere:
        """Return what :meth:`to_json` described.

        Raises
        ------
        ValueError
            If a number is out of range, a path is not absolute, or names and columns do not go together.
        """
        found = cls(
            tuple(value["names"]),
            tuple((dataset, position) for dataset, position in value["columns"]),
            tuple(DatasetElsewhere(item["directory"], item["digest"], item["start"], item["stop"]) for item in value["datasets"]),
        )
        _check(found)
        return found

    def check_own(self, width: int, rows: int) -> None:
        """Make sure that the dataset itself has what is said of it.

        Raises
        ------
        ValueError
            If it has another number of columns, or of rows.
        """
        if sorted({position for dataset, position in self.columns if dataset == OWN}) != list(range(width)):
            raise ValueError(f"its files have {width} columns, and others are named")
        if width and rows != self.rows:
            raise ValueError(f"its files have {rows} rows, and {self.rows} are elsewhere")

    @property
    def rows(self) -> int:
        """Number of rows of each dataset."""
        return self.datasets[0].stop - self.datasets[0].start


def _check(found: Elsewhere) -> None:
    if not all(type(name) is str and is_unicode(name) for name in found.names) or len(set(found.names)) != len(found.names):
        raise ValueError("a name is no text, or there twice")
    if len(found.names) != len(found.columns) or not found.datasets:
        raise ValueError(f"{len(found.names)} names for {len(found.columns)} columns in {len(found.datasets)} datasets")
    for dataset, position in found.columns:
        if type(dataset) is not int or type(position) is not int or not OWN <= dataset < len(found.datasets) or not 0 <= position <= _LARGEST:
            raise ValueError(f"no column is at {dataset!r:.30}, {position!r:.30}")
    for item in found.datasets:
        _check_dataset(item)
        if item.stop - item.start != found.rows:
            raise ValueError("datasets of several lengths")


def _check_dataset(item: DatasetElsewhere) -> None:
    directory = item.directory
    if type(directory) is not str or not directory.startswith("/") or not is_unicode(directory) or "\0" in directory:
        raise ValueError(f"{directory!r:.200} is no absolute path")
    if type(item.digest) is not str or not _DIGEST.fullmatch(item.digest):
        raise ValueError(f"{item.digest!r:.80} is no digest")
    if type(item.start) is not int or type(item.stop) is not int or not 0 <= item.start <= item.stop <= _LARGEST:
        raise ValueError(f"there are no rows {item.start!r:.30} to {item.stop!r:.30}")
