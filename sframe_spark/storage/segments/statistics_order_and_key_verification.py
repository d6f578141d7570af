"""Compares what a manifest says about its rows (statistics, orders and keys) with the rows themselves."""

from __future__ import annotations

import contextlib
import math
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import StorageError
from sframe_spark.process.temporary_file_leases import require_directory
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.temporary_datasets import scratch_root
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import damaged
from sframe_spark.storage.segments.column_statistics_collection import (
    StatisticsCollector,
    compare_scalars,
    dataset_statistics,
    has_order_statistics,
    steps,
)
from sframe_spark.storage.segments.reader import iterate_rows, overlapping_batches
from sframe_spark.types import ColumnType

# Search for equal rows, with hashes of the rows, in bounded memory.

# The largest number of hashes in memory, eight bytes each. More hashes are divided into files of about this many.
ROWS_IN_MEMORY = 1 << 23
MAX_FILES = 256
# The largest number of repeated hashes for which rows are compared. Among 10**10 different rows, about three hashes are equal by chance.
MAX_CHANCES = 1000

Hashes = npt.NDArray[np.uint64]


def equal_rows(manifest: Manifest, columns: Sequence[int]) -> tuple[Any, ...] | None:
    """Find two rows that are equal in some columns, and return their values in these columns; None if there are no such rows.

    A missing value is equal to another one, and so are NaN and NaN, and the zeros of both signs. Datetimes with different offsets differ. Lists and
    dicts are equal if their string representations are. The rows are read once, and a second time only if two hashes are equal.

    Parameters
    ----------
    manifest
        The manifest of the dataset.
    columns
        The positions of the columns, at least one.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark.storage.datasets.manifest_publication import publish
    >>> from sframe_spark.storage.segments.writer import write_segment
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     entry = write_segment(directory, 0, [INT, INT], [[pa.array([1, 1, 2]), pa.array([5, 6, 5])]])
    ...     manifest = publish(directory, [INT, INT], [entry])
    ...     equal_rows(manifest, [0, 1]), equal_rows(manifest, [1])
    (None, (5,))
    """
    types = [manifest.types[column] for column in columns]
    seeds = [secrets.randbits(64) | 1 for _ in columns]
    repeated = _repeated(manifest, (_hashes(arrays, types, seeds) for arrays in iterate_rows(manifest, columns)))
    if not len(repeated):
        return None
    seen: set[tuple[Any, ...]] = set()
    for arrays in iterate_rows(manifest, columns):
        rows = pa.array(np.flatnonzero(np.isin(_hashes(arrays, types, seeds), repeated)))
        for row in zip(*(_keys_of(array.take(rows), column_type) for array, column_type in zip(arrays, types, strict=True)), strict=True):
            if row in seen:
                return row
            seen.add(row)
    return None


def _repeated(manifest: Manifest, batches: Iterator[Hashes]) -> Hashes:
    """Return the hashes that occur more than once, or MAX_CHANCES of them if there are more."""
    number = min(-(-manifest.rows // ROWS_IN_MEMORY), MAX_FILES)
    if number <= 1:
        return _repeated_of(np.concatenate([*batches, np.empty(0, np.uint64)]))
    root = scratch_root()
    require_directory(root)
    with contextlib.ExitStack() as stack, translate_os_errors("write temporary data in", root):
        files = [stack.enter_context(tempfile.TemporaryFile(dir=root)) for _ in range(number)]
        for hashes in batches:
            partition = hashes % np.uint64(number)
            for index, file in enumerate(files):
                file.write(hashes[partition == index].tobytes())
        repeated = np.empty(0, np.uint64)
        for file in files:
            file.seek(0)
            repeated = np.concatenate([repeated, _repeated_of(np.frombuffer(file.read(), np.uint64))])[:MAX_CHANCES]
        return repeated


def _repeated_of(hashes: Hashes) -> Hashes:
    ordered = np.sort(hashes)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])[:MAX_CHANCES]


def _hashes(arrays: Sequence[pa.Array], types: Sequence[ColumnType], seeds: Sequence[int]) -> Hashes:
    """Return a hash of each row, from a random seed for each column."""
    hashes = np.zeros(len(arrays[0]), np.uint64)
    for array, column_type, seed in zip(arrays, types, seeds, strict=True):
        hashes = _mixed((hashes ^ _numbers(array, column_type)) * np.uint64(seed) + np.uint64(seed >> 7))
    return hashes


def _mixed(values: Hashes) -> Hashes:
    """Mix the bits of each number, as the generator splitmix64 does."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = values ^ (values >> np.uint64(31))
    return mixed


def _numbers(array: pa.Array, column_type: ColumnType) -> Hashes:
    """Return a number for each value, which is the same for equal values."""
    if pa.types.is_integer(array.type) or pa.types.is_timestamp(array.type):
        signed = pc.fill_null(array.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
    elif pa.types.is_floating(array.type):
        floats = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False) + 0.0
        signed = np.where(np.isnan(floats), np.float64(math.nan), floats).view(np.int64)
    elif pa.types.is_string(array.type):
        # Each distinct string is hashed once, since strings often repeat.
        coded = array.dictionary_encode()
        words = np.fromiter(map(hash, coded.dictionary.to_pylist()), np.int64, len(coded.dictionary))
        signed = np.append(words, 0)[pc.fill_null(coded.indices, len(words)).to_numpy(zero_copy_only=False)]
    else:
        signed = np.fromiter(map(hash, _keys_of(array, column_type)), np.int64, len(array))
    numbers: Hashes = signed.view(np.uint64)
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), numbers, np.uint64(0x9E3779B97F4A7C15)) if array.null_count else numbers


def _keys_of(array: pa.Array, column_type: ColumnType) -> list[Any]:
    """Return a Python value for each value, so that two of them are equal if and only if the values are equal."""
    if pa.types.is_timestamp(array.type):
        # Python's datetimes have a smaller range.
        return list(array.view(pa.int64()).to_pylist())
    if column_type.is_zoned:
        # Pairs of instant and offset.
        fields = [array.field(index) for index in range(array.type.num_fields)]
        numbers = [(field.view(pa.int64()) if pa.types.is_timestamp(field.type) else field).to_pylist() for field in fields]
        return [pair if valid else None for pair, valid in zip(zip(*numbers, strict=True), array.is_valid().to_pylist(), strict=True)]
    values: list[Any] = array.to_pylist()
    if pa.types.is_floating(array.type):
        return ["NaN" if value is not None and math.isnan(value) else value for value in values]
    return [repr(value) if isinstance(value, list) else value for value in values]


# Statistics of files, and of all rows.

Ordering = tuple[tuple[int, bool], ...]

_FLAGS = {
    "ascending": "ascends",
    "descending": "descends",
    "strictly_ascending": "ascends strictly",
    "strictly_descending": "descends strictly",
    "constant": "has one value only",
    "has_missing": "has missing values",
    "has_nan": "has values that are NaN",
}
_EDGES = {"first": "first", "last": "last"}
_BOUNDS = {"minimum": "smallest", "maximum": "largest"}


class SegmentClaims:
    """The statistics that a manifest has of one file, which are compared with the rows of the file.

    Parameters
    ----------
    manifest
        The manifest of the dataset.
    entry
        The entry of the file.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> recorded = ColumnStatistics(ascending=True, bounds_known=True, minimum=1, maximum=5)
    >>> manifest = Manifest((INT,), (SegmentEntry("a", 0, 2, (recorded,)),), "/data", ("x",))
    >>> claims = SegmentClaims(manifest, manifest.segments[0])
    >>> claims.add(0, pa.array([1, 4]))
    >>> claims.untrue()
    "of column 'x' in a: its largest value is said to be 5, and is 4"
    """

    def __init__(self, manifest: Manifest, entry: SegmentEntry) -> None:
        self._manifest, self._entry = manifest, entry
        self._collectors = {
            column: StatisticsCollector(manifest.types[column], with_bounds=recorded.bounds_known)
            for column, recorded in enumerate(entry.columns)
            if recorded != UNKNOWN_STATISTICS
        }

    def add(self, column: int, values: pa.Array) -> None:
        """Add the next values of a column."""
        if column in self._collectors:
            self._collectors[column].add(values)

    def untrue(self) -> str | None:
        """Return a text about the first statistic that is not true of the rows; None if all known statistics are true."""
        for column, collector in self._collectors.items():
            reason = untrue(self._entry.columns[column], collector.exact())
            if reason is not None:
                return f"of column {column_label(self._manifest, column)} in {self._entry.file}: {reason}"
        return None


def untrue(recorded: ColumnStatistics, actual: ColumnStatistics) -> str | None:
    """Return a text about the first statistic of a column that is not the true one; None if all known statistics are true."""
    for name, meaning in _FLAGS.items():
        claim = getattr(recorded, name)
        if claim is not None and claim is not getattr(actual, name):
            return f"that it {meaning} is said to be {str(claim).lower()}, and is not"
    for name, meaning in {**(_EDGES if recorded.edges_known else {}), **(_BOUNDS if recorded.bounds_known else {})}.items():
        claim, value = getattr(recorded, name), getattr(actual, name)
        if compare_scalars(claim, value) != 0:
            return f"its {meaning} value is said to be {claim!r:.60}, and is {value!r:.60}"
    return None


def column_label(manifest: Manifest, column: int) -> str:
    """Return the label of a column in messages: its name, or its position if the columns have no names."""
    return str(column) if manifest.names is None else f"{manifest.names[column]!r:.80}"


def check_summary(manifest: Manifest) -> None:
    """Compare the statistics over all rows with the rows, if the manifest has them in addition to those of the files.

    Raises
    ------
    StorageError
        If a statistic is not true.
    """
    if manifest.stored is None:
        return
    recorded = manifest.stored.summary
    columns = [column for column, facts in enumerate(recorded) if facts != UNKNOWN_STATISTICS]
    collectors = [StatisticsCollector(manifest.types[column], with_bounds=recorded[column].bounds_known) for column in columns]
    for arrays in iterate_rows(manifest, columns):
        for collector, array in zip(collectors, arrays, strict=True):
            collector.add(array)
    for column, collector in zip(columns, collectors, strict=True):
        reason = untrue(recorded[column], collector.exact())
        if reason is not None:
            raise damaged(manifest.directory, f"of column {column_label(manifest, column)}: {reason}")


# Orders, and keys: sets of columns in which no two rows are equal.


def check_order(manifest: Manifest) -> None:
    """Compare the orders and the keys in a manifest with the rows.

    Orders and keys that follow from column statistics are not checked, as the statistics are verified separately. All other orders are checked in one
    pass over their columns, and so are keys if equal rows would be neighbours. Each other key takes one pass, or two (see :func:`equal_rows`).

    Raises
    ------
    StorageError
        If the rows are not in an order, or two rows are equal in a key.
    """
    facts = dataset_statistics(manifest)
    orderings = [_checkable(manifest, ordering) for ordering in manifest.order.orderings]
    by_column = [((column, up),) for column, fact in enumerate(facts) for up in (True, False) if (fact.ascending if up else fact.descending)]
    checks = [_Check(ordering) for ordering in dict.fromkeys(orderings) if ordering and not _follows(ordering, facts)]
    scattered: list[frozenset[int]] = []
    for key in sorted({frozenset(key) for key in manifest.order.keys}, key=len) if manifest.rows > 1 else ():
        if not key:
            raise damaged(manifest.directory, f"one row is said to be all, and there are {manifest.rows}")
        if any(facts[column].strictly_ascending or facts[column].strictly_descending for column in key):
            continue
        # In an order that begins with the columns of the key, rows with equal keys are neighbours.
        starts = (ordering[: len(key)] for ordering in [*orderings, *by_column])
        ordering = next((start for start in starts if {column for column, _ in start} == key), None)
        # Datetimes that are the same instant are equal in an order, but not in a key if their offsets differ.
        if ordering is not None and not any(manifest.types[column].is_zoned for column in key):
            checks.append(_Check(ordering, key))
        # If no two rows are equal in some of the columns, no two rows are equal in all of them.
        elif not any(other <= key for other in scattered):
            scattered.append(key)
    columns = sorted({column for check in checks for column, _ in check.ordering})
    for row, arrays in overlapping_batches(manifest, columns) if columns else ():
        neighbours = {column: steps(array, manifest.types[column]) for column, array in zip(columns, arrays, strict=True)}
        for check in checks:
            check.check(manifest, neighbours, row)
    for key in scattered:
        values = equal_rows(manifest, sorted(key))
        if values is not None:
            raise _equal(manifest, key, f"two are {', '.join(f'{value!r:.60}' for value in values)}")


def _checkable(manifest: Manifest, ordering: Ordering) -> Ordering:
    """Return the columns of an ordering before the first one whose values cannot be compared."""
    checkable: dict[int, bool] = {}
    for column, up in ordering:
        if not has_order_statistics(manifest.types[column]):
            break
        # A column that occurs a second time has no effect on the order.
        checkable.setdefault(column, up)
    return tuple(checkable.items())


def _follows(ordering: Ordering, facts: Sequence[ColumnStatistics]) -> bool:
    """Return whether the statistics of columns prove an ordering."""
    for index, (column, up) in enumerate(ordering):
        fact = facts[column]
        if fact.constant:
            continue
        if fact.strictly_ascending if up else fact.strictly_descending:
            return True
        are_constant = all(facts[other].constant for other, _ in ordering[index + 1 :])
        return are_constant and bool(fact.ascending if up else fact.descending)
    return True


@attrs.define
class _Check:
    """A check of an ordering; with ``key``, also that no two rows are equal in the columns of the ordering."""

    ordering: Ordering
    key: frozenset[int] | None = None

    def check(self, manifest: Manifest, neighbours: dict[int, npt.NDArray[np.int8]], row: int) -> None:
        """Check a batch of rows, given the result of :func:`steps` for each column, and the row number of the first row."""
        equal = np.ones(len(next(iter(neighbours.values()))), dtype=bool)
        for column, up in self.ordering:
            compared = neighbours[column] if up else -neighbours[column]
            if (bad := equal & (compared > 0)).any():
                order = ", ".join(f"{column_label(manifest, column)} {'ascending' if up else 'descending'}" for column, up in self.ordering)
                raise damaged(manifest.directory, f"the rows are said to be in order of {order}, and row {row + 1 + int(bad.argmax())} is not")
            equal &= compared == 0
            if not equal.any():
                return
        if self.key is not None:
            raise _equal(manifest, self.key, f"row {row + 1 + int(equal.argmax())} is equal to the one before it")


def _equal(manifest: Manifest, key: frozenset[int], reason: str) -> StorageError:
    columns = ", ".join(column_label(manifest, column) for column in sorted(key))
    return damaged(manifest.directory, f"no two rows are said to be equal in {columns}, and {reason}")
