"""Group-by in memory: rows are sorted by key codes, and partial groups of several batches are merged in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.compute.sorting import mostly_differ, ranks_of, sort_parts, text_ranks
from sframe_spark.operators.groupby.accumulators import (
    ROWS_PER_STEP,
    SHORT_CODES,
    GroupedColumns,
    GroupsOfRows,
    PartialAggregate,
    partial_aggregate,
    without_gaps,
)
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType

MISSING, VALUE, NAN = 0, 1, 2


@attrs.frozen(eq=False)
class PartialGroups:
    """The partial groups of a batch: one row per group, ascending by key, with the keys and then the partial states.

    Parameters
    ----------
    rows
        Keys and partial states.
    """

    rows: Chunk


@attrs.frozen(eq=False)
class GroupingByKeys:
    """How rows of a schema are grouped.

    Parameters
    ----------
    schema
        Types of their columns.
    keys
        Positions of the keys.
    partials
        The accumulators of the aggregates.

    Examples
    --------
    >>> grouping = GroupingByKeys.of((STR, INT), [0], [Aggregation("sum", (1,))])
    >>> first = grouping.groups(Chunk.of([pa.array(["b", "a", "b"]), pa.array([1, 2, 3])]))
    >>> both = grouping.merged([first, grouping.groups(Chunk.of([pa.array(["a"]), pa.array([9])]))])
    >>> [column.to_pylist() for column in grouping.finished(both).columns]
    [['a', 'b'], [11, 4]]
    """

    schema: Schema
    keys: tuple[int, ...]
    partials: tuple[PartialAggregate, ...]

    @classmethod
    def of(cls, schema: Schema, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> GroupingByKeys:
        """The grouping by some columns."""
        return cls(schema, tuple(keys), tuple(partial_aggregate(aggregation, schema) for aggregation in aggregations))

    @property
    def key_types(self) -> Schema:
        """Types of the keys."""
        return tuple(self.schema[key] for key in self.keys)

    def groups(self, chunk: Chunk) -> PartialGroups:
        """Groups of some rows."""
        return PartialGroups(self._by_groups(chunk, lambda partial, arrays, groups: partial.of_groups(arrays, groups)))

    def of_whole_groups(self, chunk: Chunk) -> Chunk:
        """Keys and aggregates of all rows."""
        return self._by_groups(
            chunk,
            lambda partial, arrays, groups: [partial.of_whole_groups(arrays, groups, partial.aggregation.infer(self.schema))],
        )

    def _by_groups(self, chunk: Chunk, found: GroupedColumns) -> Chunk:
        """The keys of groups of rows, and what is found of the arguments of each aggregate."""
        keys = [one_zero(chunk.columns[key], self.schema[key]) for key in self.keys]
        if self._only_numbers(keys):
            return Chunk.of([distinct_numbers(keys[0])])
        groups = in_groups(keys, self.key_types, chunk.rows)
        firsts = pa.array(groups.firsts)
        columns = [decoded(key.take(firsts)) for key in keys]
        for partial in self.partials:
            columns += found(partial, [chunk.columns[position] for position in partial.aggregation.positions], groups)
        return Chunk(tuple(columns), groups.count)

    def merged(self, parts: Sequence[PartialGroups]) -> PartialGroups:
        """Merge the groups of one or more batches, given in row order."""
        chunks = [part.rows for part in parts if part.rows.rows]
        if len(chunks) <= 1:
            return PartialGroups(chunks[0]) if chunks else parts[0]
        types = [column.type for column in chunks[0].columns]
        columns = [pa.concat_arrays([chunk.columns[place].cast(kind) for chunk in chunks]) for place, kind in enumerate(types)]
        if self._only_numbers(columns):
            return PartialGroups(Chunk.of([distinct_numbers(columns[0])]))
        width = len(self.keys)
        groups = in_groups(columns[:width], self.key_types, sum(chunk.rows for chunk in chunks))
        order, firsts = pa.array(groups.order), pa.array(groups.firsts)
        merged = [column.take(firsts) for column in columns[:width]]
        for partial in self.partials:
            merged += partial.merge([column.take(order) for column in columns[width : width + partial.width]], groups.starts)
            width += partial.width
        return PartialGroups(Chunk(tuple(merged), groups.count))

    def _only_numbers(self, keys: Sequence[pa.Array]) -> bool:
        """Return whether the groups are just the distinct numbers of one column."""
        return len(keys) == 1 and not self.partials and pa.types.is_primitive(keys[0].type)

    def finished(self, groups: PartialGroups) -> Chunk:
        """Keys and aggregates."""
        width = len(self.keys)
        columns = list(groups.rows.columns[:width])
        for partial in self.partials:
            parts = list(groups.rows.columns[width : width + partial.width])
            columns.append(partial.finish(parts, partial.aggregation.infer(self.schema)))
            width += partial.width
        return Chunk(tuple(columns), groups.rows.rows)


def group_rows(chunk: Chunk, schema: Schema, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> Chunk:
    """One row per distinct value of the key columns, ascending by them: the keys, then the aggregates of the rows in their order.

    Missing equals missing and NaN equals NaN; both zeros are zero, and one instant at two offsets is two values.

    Examples
    --------
    >>> rows = Chunk((pa.array([float("nan"), -0.0, float("nan"), 0.0]),), 4)
    >>> [column.to_pylist() for column in group_rows(rows, (FLOAT,), [0], [Aggregation("count")]).columns]
    [[0.0, nan], [2, 2]]
    """
    return GroupingByKeys.of(schema, keys, aggregations).of_whole_groups(chunk)


def in_groups(columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> GroupsOfRows:
    """The groups of rows with equal keys, ascending by them.

    Each key is looked up once in a table of the different ones, and only these are compared.

    Examples
    --------
    >>> in_groups([pa.array(["b", None, "b", "a"])], [STR], 4).codes.tolist()
    [2, 0, 2, 1]
    """
    if not columns:
        return GroupsOfRows(np.zeros(rows, dtype=np.int64), min(rows, 1))
    compared = [ranked(column, column_type) for column, column_type in zip(columns, types, strict=True)]
    # One instant at several offsets makes several groups, which the offsets put in order.
    compared += [
        ranked(pc.struct_field(column, "offset").cast(pa.int64()), INT)
        for column, column_type in zip(columns, types, strict=True)
        if column_type.is_zoned
    ]
    codes, count = compared[0]
    for further, more in compared[1:]:
        # Small again after each column, so that the product cannot wrap around.
        codes, count = dense(codes * more + further, count * more)
    # Of one column every code has a row.
    return GroupsOfRows(codes, count) if len(compared) == 1 else GroupsOfRows(*without_gaps(codes, count))


def ranked(column: pa.Array, column_type: ColumnType) -> tuple[np.ndarray, int]:
    """For each key, of date-times with an offset each instant, how many different ones come before it, and how many there are.

    Missing comes first and NaN last, as in Spark.
    """
    if pa.types.is_nested(column.type) and not column_type.is_zoned:
        return tokens_ranked(column)
    if pa.types.is_dictionary(column.type):
        return coded_ranked(column)
    # Lists and dicts that are stored as texts are compared as these.
    kind = STR if pa.types.is_string(column.type) else column_type
    values, kind = comparable(column, kind), DATETIME if column_type.is_zoned else kind
    if mostly_differ(values):
        return texts_ranked(values) if pa.types.is_string(values.type) else ranks_of(sort_parts(values, kind, True))
    encoded = values.dictionary_encode("encode")
    ranks, count = ranks_of(sort_parts(encoded.dictionary, kind, True))
    # By Arrow, whose memory is not new to the process.
    return pa.array(ranks).take(encoded.indices).to_numpy(), count


def texts_ranked(values: pa.StringArray) -> tuple[np.ndarray, int]:
    """The same for texts.

    Examples
    --------
    >>> [found if isinstance(found, int) else found.tolist() for found in texts_ranked(pa.array(["b", None, "a", "b"]))]
    [[2, 0, 1, 2], 3]
    """
    if not values.null_count:
        return text_ranks(values)
    found, count = text_ranks(values.drop_null())
    ranks = np.zeros(len(values), dtype=np.int64)
    ranks[values.is_valid().to_numpy(zero_copy_only=False)] = found + 1
    return ranks, count + 1


def coded_ranked(column: pa.DictionaryArray) -> tuple[np.ndarray, int]:
    """The same for texts as numbers in a dictionary, which may have a text twice, or one that no row has.

    Examples
    --------
    >>> column = pa.DictionaryArray.from_arrays(pa.array([3, None, 0, 2]), pa.array(["b", "x", "b", "a"]))
    >>> [found if isinstance(found, int) else found.tolist() for found in coded_ranked(column)]
    [[1, 0, 2, 2], 3]
    """
    encoded = column.dictionary.dictionary_encode()
    ranks, count = ranks_of(sort_parts(encoded.dictionary, STR, True))
    # The last place is that of missing texts.
    of_codes = np.append(ranks[encoded.indices.to_numpy(zero_copy_only=False)] + 1, 0)
    codes = column.indices.fill_null(len(of_codes) - 1) if column.null_count else column.indices
    found = of_codes[codes.to_numpy(zero_copy_only=False)]
    return without_gaps(found, count + 1)


def decoded(column: pa.Array) -> pa.Array:
    """Texts in place of their numbers in a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def distinct_numbers(column: pa.Array) -> pa.Array:
    """The different numbers or times of a column, ascending: missing comes first and NaN last.

    Examples
    --------
    >>> distinct_numbers(pa.array([2.5, None, float("nan"), -1.0, 2.5, float("nan")])).to_pylist()
    [None, -1.0, 2.5, nan]
    """
    there = column.drop_null() if column.null_count else column
    # Of many that are the same a table of the different ones is the shorter way.
    numbers = np.sort(plain_numbers(there if mostly_differ(there) else there.unique()))
    differ = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
    if numbers.dtype.kind == "f":
        # NaN is not equal to itself.
        differ[1:] &= ~(np.isnan(numbers[1:]) & np.isnan(numbers[:-1]))
    found = pa.array(numbers if differ.all() else numbers[differ]).cast(column.type)
    return pa.concat_arrays([pa.nulls(1, column.type), found]) if column.null_count else found


def tokens_ranked(column: pa.Array) -> tuple[np.ndarray, int]:
    """For each list how many different ones come before it, and how many there are."""
    numbers: dict[Any, int] = {}
    codes = [numbered(column.slice(start, ROWS_PER_STEP), numbers) for start in range(0, len(column), ROWS_PER_STEP)]
    places = {token: place for place, token in enumerate(sorted(numbers))}
    of_numbers = np.array([places[token] for token in numbers], dtype=np.int64)
    return of_numbers[np.concatenate(codes)] if codes else of_numbers, len(numbers)


def numbered(column: pa.Array, numbers: dict[Any, int]) -> np.ndarray:
    """For each list the number of its value, of which more are given to those that have none."""
    # Values that there were before need no room: of equal ones one token stays.
    return np.array([numbers.setdefault(order_token(value), len(numbers)) for value in column.to_pylist()], dtype=np.int64)


def dense(codes: np.ndarray, count: int) -> tuple[np.ndarray, int]:
    """Codes in the same order, of which there are at most as many as rows."""
    if count <= SHORT_CODES:
        return codes, count
    return ranks_of([codes])


def order_token(value: Any) -> tuple[Any, ...]:
    """A value that is equal and in order as Spark has values in lists; a list that another begins with comes first.

    Examples
    --------
    >>> order_token(None) < order_token([]) < order_token([None]) < order_token([1.5]) < order_token([float("nan")])
    True
    """
    if value is None:
        return (MISSING,)
    if isinstance(value, (list, tuple)):
        return (VALUE, tuple(map(order_token, value)))
    return (NAN,) if value != value else (VALUE, value)


def one_zero(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Floats with one zero, in lists too; other values as they are."""
    if column_type == FLOAT:
        return pc.add(column, 0.0)
    if pa.types.is_list(column.type) and pa.types.is_floating(column.type.value_type):
        # A mask goes with offsets that are no slice.
        offsets = pa.array(column.offsets.to_numpy())
        return pa.ListArray.from_arrays(offsets, pc.add(column.values, 0.0), column.type, mask=column.is_null() if column.null_count else None)
    return column
