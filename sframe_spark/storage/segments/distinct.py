"""Whether any two rows of a dataset are equal in some columns: exact, one pass, and memory that does not grow with the rows."""

from __future__ import annotations

import contextlib
import math
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.process.leases import require_directory
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.temporary import scratch_root
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.types import ColumnType

# Eight bytes each. Of more rows than this the hashes wait in files, each of which has about as many.
ROWS_IN_MEMORY = 1 << 23
MOST_FILES = 256
# Equal hashes of different rows: of 10**10 rows about three.
MOST_CHANCES = 1000

Hashes = npt.NDArray[np.uint64]


def equal_rows(manifest: Manifest, columns: Sequence[int]) -> tuple[Any, ...] | None:
    """Return the values of two rows that are equal in some columns; None where no two are.

    Equal are missing and missing, NaN and NaN, both zeros; of date-times with an offset those with the same one; lists and dicts that are written
    the same. The rows are read once, and once more where the hashes of two are equal.

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
    """The hashes that come more than once; many only where rows are equal, so some are enough."""
    number = min(-(-manifest.rows // ROWS_IN_MEMORY), MOST_FILES)
    if number <= 1:
        return _repeated_of(np.concatenate([*batches, np.empty(0, np.uint64)]))
    root = scratch_root()
    require_directory(root)
    with contextlib.ExitStack() as stack, telling("write temporary data in", root):
        files = [stack.enter_context(tempfile.TemporaryFile(dir=root)) for _ in range(number)]
        for hashes in batches:
            places = hashes % np.uint64(number)
            for place, file in enumerate(files):
                file.write(hashes[places == place].tobytes())
        found = np.empty(0, np.uint64)
        for file in files:
            file.seek(0)
            found = np.concatenate([found, _repeated_of(np.frombuffer(file.read(), np.uint64))])[:MOST_CHANCES]
        return found


def _repeated_of(hashes: Hashes) -> Hashes:
    ordered = np.sort(hashes)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])[:MOST_CHANCES]


def _hashes(arrays: Sequence[pa.Array], types: Sequence[ColumnType], seeds: Sequence[int]) -> Hashes:
    """A number for each row, the same for equal ones; nobody knows beforehand which."""
    found = np.zeros(len(arrays[0]), np.uint64)
    for array, column_type, seed in zip(arrays, types, seeds, strict=True):
        found = _mixed((found ^ _numbers(array, column_type)) * np.uint64(seed) + np.uint64(seed >> 7))
    return found


def _mixed(values: Hashes) -> Hashes:
    """Let every bit of a number change all others."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = values ^ (values >> np.uint64(31))
    return mixed


def _numbers(array: pa.Array, column_type: ColumnType) -> Hashes:
    """A number for each value, the same for equal ones."""
    if pa.types.is_integer(array.type) or pa.types.is_timestamp(array.type):
        plain = pc.fill_null(array.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
    elif pa.types.is_floating(array.type):
        floats = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False) + 0.0
        plain = np.where(np.isnan(floats), np.float64(math.nan), floats).view(np.int64)
    elif pa.types.is_string(array.type):
        # Texts repeat.
        coded = array.dictionary_encode()
        words = np.fromiter(map(hash, coded.dictionary.to_pylist()), np.int64, len(coded.dictionary))
        plain = np.append(words, 0)[pc.fill_null(coded.indices, len(words)).to_numpy(zero_copy_only=False)]
    else:
        plain = np.fromiter(map(hash, _plain(array, column_type)), np.int64, len(array))
    numbers: Hashes = plain.view(np.uint64)
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), numbers, np.uint64(0x9E3779B97F4A7C15)) if array.null_count else numbers


def _plain(array: pa.Array, column_type: ColumnType) -> list[Any]:
    """Values that are equal, and have equal hashes, where those of the column are."""
    if pa.types.is_timestamp(array.type):
        # As numbers: Python's date-times end where those of a column do not.
        return [None if value is None else int(value) for value in array.view(pa.int64()).to_pylist()]
    if column_type.is_zoned:
        return list(_pairs(array))
    values: list[Any] = array.to_pylist()
    if pa.types.is_floating(array.type):
        return ["NaN" if value is not None and math.isnan(value) else value for value in values]
    return [repr(value) if isinstance(value, list) else value for value in values]


def _pairs(array: pa.Array) -> list[tuple[Any, ...] | None]:
    """Instants with their offsets."""
    fields = [array.field(place) for place in range(array.type.num_fields)]
    numbers = [(field.view(pa.int64()) if pa.types.is_timestamp(field.type) else field).to_pylist() for field in fields]
    return [pair if valid else None for pair, valid in zip(zip(*numbers, strict=True), array.is_valid().to_pylist(), strict=True)]
