"""Checks of what the long run has saved: every row, with pyarrow and NumPy, from the files themselves; no code of the engine takes part.

Of each file, rows are compared with what the numbers of their rows say, and with the rows before them. The first rows of files are compared with the
last rows of the files before them. Where the numbers of rows are ascending, or keys and then numbers are, no row is there twice: so their count tells
that none is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.scale.long_rows import KEYS, QUARTERS, WORDS, Expected, quarters_of, right_places, words_of

THREADS, ROWS_AT_A_TIME = 2, 1 << 17
Columns = Sequence[pa.Array]


class WrongRowsError(Exception):
    """A result is not what it has to be."""


def require(condition: Any, words: str) -> None:
    """Raise unless a condition holds."""
    if not condition:
        raise WrongRowsError(words)


@attrs.frozen
class Checked:
    """What a check finds in a file.

    Parameters
    ----------
    rows
        The number of rows.
    first, last
        The first and the last row.
    """

    rows: int
    first: list[Any]
    last: list[Any]


@attrs.frozen
class Files:
    """The segments of a saved frame, in order.

    Parameters
    ----------
    system
        The file system.
    directory
        Where the frame was saved.
    """

    system: fsspec.AbstractFileSystem
    directory: str

    def paths(self) -> list[str]:
        """Return their paths: their names begin with their numbers. On object stores they are below the directory."""
        paths = [path for path in self.system.find(self.directory) if path.rpartition("/")[2].startswith("segment-")]
        return sorted(paths, key=lambda path: path.rpartition("/")[2])

    def size(self) -> int:
        """Return the bytes of all files of the frame."""
        return sum(int(entry["size"]) for entry in self.system.find(self.directory, detail=True).values())

    def batches(self, path: str, width: int) -> Iterator[list[pa.Array]]:
        """Yield the columns of a file, some rows at a time."""
        names = [f"c{position}" for position in range(width)]
        with self.system.open(path, "rb") as source, pq.ParquetFile(source) as file:
            for batch in file.iter_batches(ROWS_AT_A_TIME, columns=names, use_threads=False):
                yield batch.columns

    def each(self, width: int, check: Callable[[list[pa.Array], list[pa.Array] | None], None]) -> list[Checked]:
        """Check all batches: each is given with the last row of the batch before it, None if it is the first of its file."""
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(partial(self._of_file, width, check), self.paths()))

    def _of_file(self, width: int, check: Callable[[list[pa.Array], list[pa.Array] | None], None], path: str) -> Checked:
        rows, first, before = 0, list[Any](), None
        for columns in self.batches(path, width):
            check(columns, before)
            rows += len(columns[0])
            first = first or [column[0].as_py() for column in columns]
            before = [column.slice(len(column) - 1) for column in columns]
        require(before is not None, f"no rows in {path}")
        assert before is not None
        return Checked(rows, first, [column[0].as_py() for column in before])


def with_row_before(columns: Columns, before: Columns | None) -> list[np.ndarray]:
    """Return columns of numbers as NumPy arrays, after the row before them."""
    if before is None:
        return [column.to_numpy() for column in columns]
    return [np.concatenate([last.to_numpy(), column.to_numpy()]) for last, column in zip(before, columns, strict=True)]


def require_rows_of_frame(columns: Columns) -> None:
    """Require that rows are those of the frame with their numbers; the last columns may be missing."""
    expected = Expected(columns[0].to_numpy()).columns
    require(all(column.equals(other) for column, other in zip(columns, expected, strict=False)), "a row has values that do not belong to its number")


def require_ascending(columns: Columns, before: Columns | None) -> None:
    """Require that the numbers of rows are ascending."""
    numbers = with_row_before(columns[:1], None if before is None else before[:1])[0]
    require((np.diff(numbers) > 0).all(), "the numbers of rows do not ascend")


def require_ascending_files(found: Sequence[Checked], rows: int, key: Callable[[list[Any]], Any]) -> None:
    """Require that each file goes on after the one before it, and that all have the right number of rows."""
    require(all(key(one.last) < key(other.first) for one, other in pairwise(found)), "a file does not follow the one before it")
    require(sum(one.rows for one in found) == rows, f"{sum(one.rows for one in found):,} rows, not {rows:,}")


def check_frame(files: Files, rows: int) -> None:
    """Check the saved frame."""

    def check(columns: list[pa.Array], before: list[pa.Array] | None) -> None:
        require_rows_of_frame(columns)
        require_ascending(columns, before)

    found = files.each(4, check)
    require_ascending_files(found, rows, lambda row: row[0])
    require(found[0].first[0] == 0 and found[-1].last[0] == rows - 1, "the numbers of rows have gaps")


def check_filtered(files: Files, rows: int, below: int) -> None:
    """Check the rows whose keys are below a limit: each block of rows has each key once, so their number is known."""

    def check(columns: list[pa.Array], before: list[pa.Array] | None) -> None:
        require_rows_of_frame(columns)
        require_ascending(columns, before)
        require((columns[1].to_numpy() < below).all(), "a row is there that was to be filtered out")

    require_ascending_files(files.each(4, check), rows // KEYS * below, lambda row: row[0])


def check_groups(files: Files, rows: int, groups: int) -> None:
    """Check count, sum and least number of each group: of keys, or of words."""
    counts, quarters, first = (np.zeros(groups, dtype=np.int64) for _ in range(3))
    first[:] = rows
    for start in range(0, rows, 1 << 20):
        ids = np.arange(start, min(rows, start + (1 << 20)))
        keys = Expected(ids).keys
        numbers = keys if groups == KEYS else words_of(ids, keys)
        counts += np.bincount(numbers, minlength=groups)
        # Floats of this size are exact: they are whole numbers below 2^53.
        quarters += np.bincount(numbers, quarters_of(ids, keys), minlength=groups).astype(np.int64)
        np.minimum.at(first, numbers, ids)
    parts = [batch for path in files.paths() for batch in files.batches(path, 4)]
    found = [pa.chunked_array([part[position] for part in parts]) for position in range(4)]
    numbers = found[0].to_numpy() if groups == KEYS else pc.utf8_slice_codeunits(found[0], 1).cast(pa.int64()).to_numpy()
    require(len(numbers) == groups and len(np.unique(numbers)) == groups, f"{len(numbers):,} groups, not {groups:,}")
    expected = counts[numbers], quarters[numbers] / QUARTERS, first[numbers]
    require(all(np.array_equal(column.to_numpy(), other) for column, other in zip(found[1:], expected, strict=True)), "a group has other values")


def check_running(files: Files, rows: int) -> None:
    """Check running sums of the values: each is the one before it and a value more, exactly."""

    def check(columns: list[pa.Array], before: list[pa.Array] | None) -> None:
        require_ascending(columns, before)
        ids, sums = with_row_before(columns, before)
        steps = quarters_of(ids, Expected(ids).keys) / QUARTERS
        require(np.array_equal(np.diff(sums), steps[1:]), "a running sum is not the one before it and its value")

    found = files.each(2, check)
    require_ascending_files(found, rows, lambda row: row[0])
    starts = np.array([one.first[0] for one in found])
    steps = quarters_of(starts, Expected(starts).keys) / QUARTERS
    before = [0.0, *(one.last[1] for one in found[:-1])]
    require(all(one.first[1] - last == step for one, last, step in zip(found, before, steps.tolist(), strict=True)), "a file begins with another sum")


def check_sorted(files: Files, rows: int) -> None:
    """Check rows in the order of their keys, and of their numbers where keys are equal."""

    def check(columns: list[pa.Array], before: list[pa.Array] | None) -> None:
        require_rows_of_frame(columns)
        ids, keys = with_row_before(columns[:2], None if before is None else before[:2])
        steps = np.diff(keys)
        require(((steps > 0) | ((steps == 0) & (np.diff(ids) > 0))).all(), "rows are not in the order of keys and numbers")
        require((ids >= 0).all() and (ids < rows).all(), "a row has a number that none has")

    require_ascending_files(files.each(4, check), rows, lambda row: (row[1], row[0]))


def check_joined(files: Files, rows: int, joined: int) -> None:
    """Check the rows that have a partner, in the order of the frame."""

    def check(columns: list[pa.Array], before: list[pa.Array] | None) -> None:
        require_rows_of_frame(columns[:3])
        require_ascending(columns, before)
        partners = right_places(columns[3].to_numpy(), joined) * (rows // joined)
        require(np.array_equal(columns[0].to_numpy(), partners), "a row has the partner of another one")

    require_ascending_files(files.each(4, check), joined, lambda row: row[0])


def check_keys(files: Files, rows: int) -> None:
    """Check the groups of keys."""
    check_groups(files, rows, KEYS)


def check_words(files: Files, rows: int) -> None:
    """Check the groups of words."""
    check_groups(files, rows, WORDS)
