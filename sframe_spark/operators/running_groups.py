"""Rows of a run by the values of key columns: which group each row is in, and scans within the groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import FLOAT_KIND, ColumnType

Components = tuple[np.ndarray, ...]
Combine = Callable[[Components, Components], Components]
NAN_TOKEN = ("nan",)
LEAST_ROWS_PER_CALL = 2_000
"""Rows that a group must have on average for a call of its own."""


@attrs.frozen(eq=False)
class RowGroups:
    """Rows of a run, brought together by group.

    Parameters
    ----------
    tokens
        One hashable value per group, equal in all runs for equal keys (NaN equals NaN, missing equals missing, zeros are one).
    order
        Rows by group, in row order within each.
    starts
        Where each group starts in ``order``.
    """

    tokens: list[tuple[Any, ...]]
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> RowGroups:
        """Groups of the rows of some key columns; without a key all rows are one group."""
        if not rows:
            return cls([], np.zeros(0, np.int64), np.zeros(0, np.int64))
        if not columns:
            return cls([()], np.arange(rows), np.zeros(1, np.int64))
        codes = combined_codes([key_codes(column, column_type) for column, column_type in zip(columns, types, strict=True)])
        order = np.argsort(codes, kind="stable")
        sorted_codes = codes[order]
        starts = np.concatenate([[0], np.flatnonzero(sorted_codes[1:] != sorted_codes[:-1]) + 1])
        firsts = pa.array(order[starts])
        values = [key_tokens(column.take(firsts), column_type) for column, column_type in zip(columns, types, strict=True)]
        return cls(list(zip(*values, strict=True)), order, starts)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def stops(self) -> np.ndarray:
        """Where each group ends in ``order``."""
        return np.concatenate([self.starts[1:], [self.rows]]) if len(self.starts) else self.starts

    def are_long(self) -> bool:
        """True when one call per group costs less than several passes over all rows."""
        return len(self.starts) <= 1 or len(self.starts) * LEAST_ROWS_PER_CALL <= self.rows

    def group_of_rows(self) -> np.ndarray:
        """Group of each entry of ``order``."""
        return np.repeat(np.arange(len(self.starts)), self.stops - self.starts)

    def to_row_order(self, values: np.ndarray) -> np.ndarray:
        """Values given along ``order``, row by row."""
        result = np.empty_like(values)
        result[self.order] = values
        return result


def combined_codes(codes: Sequence[np.ndarray]) -> np.ndarray:
    """One number per row that is equal where the numbers of all columns are."""
    result = codes[0]
    for other in codes[1:]:
        # Small again after each column, so that the product cannot wrap around.
        result = np.unique(result * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1]
    return result


def key_codes(column: pa.Array, column_type: ColumnType) -> np.ndarray:
    """One number per row, equal for equal values."""
    if pa.types.is_struct(column.type):
        fields = [pc.struct_field(column, field.name) for field in column.type]
        return combined_codes([field.dictionary_encode("encode").indices.to_numpy().astype(np.int64) for field in fields])
    if pa.types.is_nested(column.type):
        places: dict[Any, int] = {}
        return np.array([places.setdefault(token, len(places)) for token in key_tokens(column, column_type)], dtype=np.int64)
    if column_type.kind == FLOAT_KIND:
        column = canonical_floats(column)
    return column.dictionary_encode("encode").indices.to_numpy(zero_copy_only=False).astype(np.int64)


def canonical_floats(column: pa.Array) -> pa.Array:
    """Floats with one zero and one NaN."""
    values = column.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return pa.array(np.where(np.isnan(values), np.nan, values), mask=missing, from_pandas=False)


def key_tokens(column: pa.Array, column_type: ColumnType) -> list[Any]:
    """Hashable values of a key column."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return [token_of(value) for value in column.to_pylist()]


def token_of(value: Any) -> Any:
    """A hashable value that is equal for equal keys."""
    if isinstance(value, list):
        return tuple(map(token_of, value))
    if isinstance(value, dict):
        return tuple(value.items())
    if isinstance(value, float):
        return NAN_TOKEN if value != value else value + 0.0
    return value


def segmented_scan(values: Components, groups: RowGroups, combine: Combine) -> Components:
    """Along ``groups.order``, each entry combined with all entries of its group before it."""
    if groups.are_long():
        return by_group(values, groups, lambda part: doubling_scan(part, combine))
    results = tuple(component.copy() for component in values)
    lengths = groups.stops - groups.starts
    place = np.arange(groups.rows) - np.repeat(groups.starts, lengths)
    distance, longest = 1, int(lengths.max(initial=0))
    while distance < longest:
        rows = np.flatnonzero(place >= distance)
        before = tuple(component[rows - distance] for component in results)
        combined = combine(before, tuple(component[rows] for component in results))
        for component, new in zip(results, combined, strict=True):
            component[rows] = new
        distance *= 2
    return results


def doubling_scan(values: Components, combine: Combine) -> Components:
    """Each entry combined with all entries before it.

    Source: Hillis, Steele, "Data parallel algorithms" (1986): as many passes over the entries as their number has binary digits.
    """
    results = tuple(component.copy() for component in values)
    distance, rows = 1, len(values[0])
    while distance < rows:
        before = tuple(component[:-distance] for component in results)
        combined = combine(before, tuple(component[distance:] for component in results))
        for component, new in zip(results, combined, strict=True):
            component[distance:] = new
        distance *= 2
    return results


def accumulated(values: Components, groups: RowGroups, functions: Sequence[np.ufunc]) -> Components:
    """What :func:`segmented_scan` gives for one numpy function per component."""
    if not groups.are_long():
        return segmented_scan(values, groups, lambda a, b: componentwise(functions, a, b))
    return by_group(values, groups, lambda part: tuple(f.accumulate(c) for f, c in zip(functions, part, strict=True)))


def by_group(values: Components, groups: RowGroups, scan: Callable[[Components], Components]) -> Components:
    """A scan called once per group."""
    results = tuple(np.empty_like(component) for component in values)
    for start, stop in zip(groups.starts.tolist(), groups.stops.tolist(), strict=True):
        scanned = scan(tuple(component[start:stop] for component in values))
        for result, new in zip(results, scanned, strict=True):
            result[start:stop] = new
    return results


def componentwise(functions: Sequence[np.ufunc], first: Components, second: Components) -> Components:
    """One numpy function per component."""
    return tuple(function(a, b) for function, a, b in zip(functions, first, second, strict=True))
