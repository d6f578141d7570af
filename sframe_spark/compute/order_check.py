"""Where rows are out of order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Schema
from sframe_spark.types import ColumnType

MISSING, VALUE, NAN = 0, 1, 2


def first_break(chunks: Iterable[Chunk], schema: Schema, by: Sequence[tuple[int, bool]]) -> tuple[int, Chunk] | None:
    """The first row that comes before its predecessor in an order, and both rows; None when there is none.

    Parameters
    ----------
    chunks
        Consecutive rows.
    schema
        Their types.
    by
        Pairs of column position and whether it ascends.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> first_break([Chunk.of([pa.array([1, 3])]), Chunk.of([pa.array([2, 4])])], (INT,), [(0, True)])[0]
    2
    """
    before = Chunk.empty(schema)
    seen = 0
    for chunk in chunks:
        rows = concatenate([before, chunk], schema) if before.rows else chunk
        wrong = np.flatnonzero(steps(rows, schema, by) < 0)
        if len(wrong):
            place = int(wrong[0])
            return seen - before.rows + place + 1, rows.slice(place, place + 2)
        seen += chunk.rows
        before = rows.slice(rows.rows - 1, rows.rows) if rows.rows else before
    return None


def steps(rows: Chunk, schema: Schema, by: Sequence[tuple[int, bool]]) -> np.ndarray:
    """For each row but the first 1, 0 or -1: it comes after, beside or before the row above it."""
    result = np.zeros(max(rows.rows - 1, 0), dtype=np.int8)
    for position, ascending in by:
        step = column_steps(rows.columns[position], schema[position])
        result = np.where(result == 0, step if ascending else -step, result)
    return result


def column_steps(column: pa.Array, column_type: ColumnType) -> np.ndarray:
    """Steps of one column: missing first, NaN last."""
    values = comparable(column, column_type)
    if pa.types.is_string(values.type):
        ranks = value_ranks(values)
        later, earlier = values.slice(1), values.slice(0, max(len(values) - 1, 0))
        up, down = (pc.fill_null(compare(later, earlier), False).to_numpy(zero_copy_only=False) for compare in (pc.greater, pc.less))
    else:
        numbers = plain_numbers(values)
        ranks = value_ranks(values, numbers)
        up, down = numbers[1:] > numbers[:-1], numbers[1:] < numbers[:-1]
    plain = (ranks[1:] == VALUE) & (ranks[:-1] == VALUE)
    return np.where(plain, up.astype(np.int8) - down.astype(np.int8), np.sign(ranks[1:] - ranks[:-1])).astype(np.int8)


def value_ranks(values: pa.Array, numbers: np.ndarray | None = None) -> np.ndarray:
    """What decides an order before the values do: missing, a value, or NaN among ``numbers``."""
    if values.null_count:
        ranks = np.where(values.is_valid().to_numpy(zero_copy_only=False), VALUE, MISSING).astype(np.int8)
    else:
        ranks = np.full(len(values), VALUE, dtype=np.int8)
    if numbers is not None and numbers.dtype.kind == "f":
        ranks[np.isnan(numbers)] = NAN
    return ranks
