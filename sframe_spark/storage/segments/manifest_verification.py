"""Verifies what a manifest declares about rows (statistics, orders, keys) against the rows themselves."""

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
from sframe_spark.process.leases import require_directory
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.temporary_datasets import scratch_root
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import damaged
from sframe_spark.storage.manifest.statistics import UNKNOWN_STATISTICS, ColumnStatistics
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.storage.segments.statistics import StatisticsCollector, compare_scalars, dataset_statistics, has_order_statistics, steps
from sframe_spark.types import ColumnType

# Exact search for duplicate keys in one pass and bounded memory.

# Hashes kept in memory, eight bytes each; more are partitioned into files of about this many.
ROWS_IN_MEMORY = 1 << 23
MAX_FILES = 256
# Cap on suspected hashes; among 10**10 rows about three hashes collide.
MAX_CHANCES = 1000

Hashes = npt.NDArray[np.uint64]


def equal_rows(manifest: Manifest, columns: Sequence[int]) -> tuple[Any, ...] | None:
    """Return the values of a duplicate in some columns; None where no two rows are equal.

    Missing values, NaN, and zeros of both signs are equal among themselves; datetimes with offsets differ by their offsets; lists and
    dicts are compared as written. The rows are read once, and again only if two hashes are equal.

    Parameters
    ----------
    manifest
        The dataset.
    columns
        Positions of the columns, at least one.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark.storage.datasets.commit import publish
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
    suspects = _repeated(manifest, (_hashes(arrays, types, seeds) for arrays in iterate_rows(manifest, columns)))
    if not len(suspects):
        return None
    seen: set[tuple[Any, ...]] = set()
    for arrays in iterate_rows(manifest, columns):
        rows = pa.array(np.flatnonzero(np.isin(_hashes(arrays, types, seeds), suspects)))
        for row in zip(*(_plain(array.take(rows), column_type) for array, column_type in zip(arrays, types, strict=True)), strict=True):
            if row in seen:
                return row
            seen.add(row)
    return None


def _repeated(manifest: Manifest, batches: Iterator[Hashes]) -> Hashes:
    """Return hashes that occur more than once, at most MAX_CHANCES of them."""
    number = min(-(-manifest.rows // ROWS_IN_MEMORY), MAX_FILES)
    if number <= 1:
        return _repeated_of(np.concatenate([*batches, np.empty(0, np.uint64)]))
    root = scratch_root()
    require_directory(root)
    with contextlib.ExitStack() as stack, translate_os_errors("write temporary data in", root):
        files = [stack.enter_context(tempfile.TemporaryFile(dir=root)) for _ in range(number)]
        for hashes in batches:
            places = hashes % np.uint64(number)
            for place, file in enumerate(files):
                file.write(hashes[places == place].tobytes())
        found = np.empty(0, np.uint64)
        for file in files:
            file.seek(0)
            found = np.concatenate([found, _repeated_of(np.frombuffer(file.read(), np.uint64))])[:MAX_CHANCES]
        return found


def _repeated_of(hashes: Hashes) -> Hashes:
    ordered = np.sort(hashes)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])[:MAX_CHANCES]


def _hashes(arrays: Sequence[pa.Array], types: Sequence[ColumnType], seeds: Sequence[int]) -> Hashes:
    """A seeded hash of each row, equal for equal rows."""
    found = np.zeros(len(arrays[0]), np.uint64)
    for array, column_type, seed in zip(arrays, types, seeds, strict=True):
        found = _mixed((found ^ _numbers(array, column_type)) * np.uint64(seed) + np.uint64(seed >> 7))
    return found


def _mixed(values: Hashes) -> Hashes:
    """Mix the bits of each number."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = values ^ (values >> np.uint64(31))
    return mixed


def _numbers(array: pa.Array, column_type: ColumnType) -> Hashes:
    """A number for each value, equal for equal values."""
    if pa.types.is_integer(array.type) or pa.types.is_timestamp(array.type):
        plain = pc.fill_null(array.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
    elif pa.types.is_floating(array.type):
        floats = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False) + 0.0
        plain = np.where(np.isnan(floats), np.float64(math.nan), floats).view(np.int64)
    elif pa.types.is_string(array.type):
        # Strings repeat.
        coded = array.dictionary_encode()
        words = np.fromiter(map(hash, coded.dictionary.to_pylist()), np.int64, len(coded.dictionary))
        plain = np.append(words, 0)[pc.fill_null(coded.indices, len(words)).to_numpy(zero_copy_only=False)]
    else:
        plain = np.fromiter(map(hash, _plain(array, column_type)), np.int64, len(array))
    numbers: Hashes = plain.view(np.uint64)
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), numbers, np.uint64(0x9E3779B97F4A7C15)) if array.null_count else numbers


def _plain(array: pa.Array, column_type: ColumnType) -> list[Any]:
    """Python values whose equality and hashes are those of the column's values."""
    if pa.types.is_timestamp(array.type):
        # As numbers: Python's datetimes have a smaller range.
        return [None if value is None else int(value) for value in array.view(pa.int64()).to_pylist()]
    if column_type.is_zoned:
        return list(_pairs(array))
    values: list[Any] = array.to_pylist()
    if pa.types.is_floating(array.type):
        return ["NaN" if value is not None and math.isnan(value) else value for value in values]
    return [repr(value) if isinstance(value, list) else value for value in values]


def _pairs(array: pa.Array) -> list[tuple[Any, ...] | None]:
    """Instants paired with their offsets."""
    fields = [array.field(place) for place in range(array.type.num_fields)]
    numbers = [(field.view(pa.int64()) if pa.types.is_timestamp(field.type) else field).to_pylist() for field in fields]
    return [pair if valid else None for pair, valid in zip(zip(*numbers, strict=True), array.is_valid().to_pylist(), strict=True)]


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
    """The declared statistics of one file; given all its rows, it finds what is untrue.

    Parameters
    ----------
    manifest
        The dataset.
    entry
        The file.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> said = ColumnStatistics(ascending=True, bounds_known=True, minimum=1, maximum=5)
    >>> manifest = Manifest((INT,), (SegmentEntry("a", 0, 2, (said,)),), "/data", ("x",))
    >>> claims = SegmentClaims(manifest, manifest.segments[0])
    >>> claims.add(0, pa.array([1, 4]))
    >>> claims.untrue()
    "of column 'x' in a: its largest value is said to be 5, and is 4"
    """

    def __init__(self, manifest: Manifest, entry: SegmentEntry) -> None:
        self._manifest, self._entry = manifest, entry
        self._collectors = {
            column: StatisticsCollector(manifest.types[column], with_bounds=said.bounds_known)
            for column, said in enumerate(entry.columns)
            if said != UNKNOWN_STATISTICS
        }

    def add(self, column: int, values: pa.Array) -> None:
        """Add the next values of a column."""
        if column in self._collectors:
            self._collectors[column].add(values)

    def untrue(self) -> str | None:
        """Describe the first untrue statistic; None where all are true. Declared facts may be fewer than what is true."""
        for column, collector in self._collectors.items():
            wrong = untrue(self._entry.columns[column], collector.exact())
            if wrong is not None:
                return f"of column {column_label(self._manifest, column)} in {self._entry.file}: {wrong}"
        return None


def untrue(said: ColumnStatistics, found: ColumnStatistics) -> str | None:
    """Describe the first fact about a column that is not true; None where all known facts are."""
    for name, meaning in _FLAGS.items():
        claim = getattr(said, name)
        if claim is not None and claim is not getattr(found, name):
            return f"that it {meaning} is said to be {str(claim).lower()}, and is not"
    for name, meaning in {**(_EDGES if said.edges_known else {}), **(_BOUNDS if said.bounds_known else {})}.items():
        claimed, true = getattr(said, name), getattr(found, name)
        if compare_scalars(claimed, true) != 0:
            return f"its {meaning} value is said to be {claimed!r:.60}, and is {true!r:.60}"
    return None


def column_label(manifest: Manifest, column: int) -> str:
    """The label of a column in messages: its name, else its position."""
    return str(column) if manifest.names is None else f"{manifest.names[column]!r:.80}"


def check_order(manifest: Manifest) -> None:
    """Verify declared orders and keys.

    What follows from column statistics, which are verified by themselves, is free. All other orders, and keys in whose order
    the rows are, share one pass over their columns. Other keys take a pass each (see :func:`equal_rows`).

    Raises
    ------
    StorageError
        If they are not so.
    """
    facts = dataset_statistics(manifest)
    checkable = [_checkable(manifest, ordering) for ordering in manifest.order.orderings]
    # Any of these orders makes rows with equal keys neighbours.
    known = [
        *checkable,
        *(((column, up),) for column, fact in enumerate(facts) for up in (True, False) if (fact.ascending if up else fact.descending)),
    ]
    neighbours, scattered = _keys(manifest, facts, known)
    orderings = [ordering for ordering in dict.fromkeys(checkable) if ordering and not _follows(ordering, facts)]
    _pass_over(manifest, [*(_Check(ordering) for ordering in orderings), *(_Check(ordering, key) for ordering, key in neighbours)])
    for key in _smallest(scattered):
        found = equal_rows(manifest, sorted(key))
        if found is not None:
            raise _equal(manifest, key, f"two are {', '.join(f'{value!r:.60}' for value in found)}")


def check_summary(manifest: Manifest) -> None:
    """Verify declared statistics of all rows, where they are not recorded by segment.

    Raises
    ------
    StorageError
        If it is not so.
    """
    if manifest.stored is None:
        return
    said = manifest.stored.summary
    columns = [column for column, facts in enumerate(said) if facts != UNKNOWN_STATISTICS]
    collectors = [StatisticsCollector(manifest.types[column], with_bounds=said[column].bounds_known) for column in columns]
    for arrays in iterate_rows(manifest, columns):
        for collector, array in zip(collectors, arrays, strict=True):
            collector.add(array)
    for column, collector in zip(columns, collectors, strict=True):
        wrong = untrue(said[column], collector.exact())
        if wrong is not None:
            raise damaged(manifest.directory, f"of column {column_label(manifest, column)}: {wrong}")


def _keys(
    manifest: Manifest, facts: Sequence[ColumnStatistics], known: Sequence[Ordering]
) -> tuple[list[tuple[Ordering, frozenset[int]]], list[frozenset[int]]]:
    """Split the unproved keys into those whose equal rows are neighbours, with the order that makes them so, and the rest."""
    neighbours: list[tuple[Ordering, frozenset[int]]] = []
    scattered: list[frozenset[int]] = []
    for key in sorted({frozenset(key) for key in manifest.order.keys}, key=len) if manifest.rows > 1 else ():
        if not key:
            raise damaged(manifest.directory, f"one row is said to be all, and there are {manifest.rows}")
        if any(facts[column].strictly_ascending or facts[column].strictly_descending for column in key):
            continue
        ordering = _in_order_of(key, known)
        # Equal instants tie in an order, but differ as keys by their offsets.
        if ordering is None or any(manifest.types[column].is_zoned for column in key):
            scattered.append(key)
        else:
            neighbours.append((ordering, key))
    return neighbours, scattered


def _checkable(manifest: Manifest, ordering: Ordering) -> Ordering:
    """The leading columns of an ordering whose values can be compared."""
    seen: dict[int, bool] = {}
    for column, up in ordering:
        if not has_order_statistics(manifest.types[column]):
            break
        # A repeated column adds nothing.
        seen.setdefault(column, up)
    return tuple(seen.items())


def _follows(ordering: Ordering, facts: Sequence[ColumnStatistics]) -> bool:
    """Return whether an ordering follows from column statistics."""
    for place, (column, up) in enumerate(ordering):
        fact = facts[column]
        if fact.constant:
            continue
        if fact.strictly_ascending if up else fact.strictly_descending:
            return True
        rest = all(facts[other].constant for other, _ in ordering[place + 1 :])
        return rest and bool(fact.ascending if up else fact.descending)
    return True


def _in_order_of(key: frozenset[int], known: Sequence[Ordering]) -> Ordering | None:
    """Return a prefix of a known ordering that has exactly the columns of a key."""
    for ordering in known:
        start = ordering[: len(key)]
        if {column for column, _ in start} == key:
            return start
    return None


def _smallest(keys: Sequence[frozenset[int]]) -> Iterator[frozenset[int]]:
    """Yield the keys that contain no other key."""
    found: list[frozenset[int]] = []
    for key in keys:
        if not any(other <= key for other in found):
            found.append(key)
            yield key


@attrs.define
class _Check:
    """An ordering to verify; with ``key``, also that no rows tie in it."""

    ordering: Ordering
    key: frozenset[int] | None = None

    def check(self, manifest: Manifest, neighbours: dict[int, npt.NDArray[np.int8]], row: int) -> None:
        """Check neighbouring rows from a row number on."""
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


def _equal(manifest: Manifest, key: frozenset[int], found: str) -> StorageError:
    columns = ", ".join(column_label(manifest, column) for column in sorted(key))
    return damaged(manifest.directory, f"no two rows are said to be equal in {columns}, and {found}")


def _pass_over(manifest: Manifest, checks: Sequence[_Check]) -> None:
    """Compare all neighbouring rows, across files."""
    columns = sorted({column for check in checks for column, _ in check.ordering})
    last: list[pa.Array] | None = None
    row = 0
    for arrays in iterate_rows(manifest, columns) if columns else ():
        if last is not None:
            seam = [pa.concat_arrays([before, array[:1]]) for before, array in zip(last, arrays, strict=True)]
            _compare(manifest, checks, columns, seam, row - 1)
        _compare(manifest, checks, columns, arrays, row)
        last, row = [array[-1:] for array in arrays], row + len(arrays[0])


def _compare(manifest: Manifest, checks: Sequence[_Check], columns: Sequence[int], arrays: Sequence[pa.Array], row: int) -> None:
    if len(arrays[0]) > 1:
        neighbours = {column: steps(array, manifest.types[column]) for column, array in zip(columns, arrays, strict=True)}
        for check in checks:
            check.check(manifest, neighbours, row)
