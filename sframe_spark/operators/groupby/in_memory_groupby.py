"""Group-by in memory: rows are grouped by codes of their keys, in key order; partial groups of several batches are merged likewise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.row_groups import ROWS_PER_STEP, SHORT_CODES
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Schema
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT, NDARRAY, STR, ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.ndarrays import numbers_of, shaped, shapes_of

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_equality_and_codes import comparable
    from sframe_spark.compute.key_runs import plain_numbers
    from sframe_spark.compute.row_groups import GroupsOfRows, without_gaps
    from sframe_spark.compute.sorting_and_searching import mostly_differ, ranks_of, sort_parts, text_ranks
    from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
    from sframe_spark.expressions.aggregates.state_columns import AggregateSet, joined
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
    from sframe_spark.operators.groupby.partial_groups import PartialGroups

MISSING, VALUE, NAN = 0, 1, 2
# Groups are computed in portions if the states of all would take more bytes than this.
MAX_STATE_BYTES, MANY_GROUPS = 64 << 20, 1 << 16


@attrs.frozen(eq=False)
class GroupingByKeys:
    """How rows are grouped and aggregated.

    Parameters
    ----------
    schema
        Types of the columns of the rows.
    keys
        Positions of the key columns.
    aggregates
        The aggregates.

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
    aggregates: AggregateSet

    @classmethod
    def of(cls, schema: Schema, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> GroupingByKeys:
        """Return the grouping by some key columns, with some aggregates."""
        return cls(schema, tuple(keys), AggregateSet.of([aggregation.on_columns(schema) for aggregation in aggregations]))

    @classmethod
    def of_all_rows(cls, schema: Schema, aggregations: Sequence[Aggregation]) -> GroupingByKeys:
        """Return the grouping of all rows as one group, which may have no rows."""
        return cls(schema, (), AggregateSet.of([aggregation.on_columns(schema).of_all() for aggregation in aggregations]))

    @property
    def key_types(self) -> Schema:
        """Types of the key columns."""
        return tuple(self.schema[key] for key in self.keys)

    def groups(self, chunk: Chunk) -> PartialGroups:
        """Return the partial groups of some rows."""
        keys, groups = self._divided(chunk)
        states = () if groups is None else self.aggregates.lift(InputRows(chunk.columns, chunk.rows), groups)
        return PartialGroups(keys, states, self.aggregates)

    def _divided(self, chunk: Chunk) -> tuple[Chunk, GroupsOfRows | None]:
        """Return the keys of each group of rows, and the groups; None if only the distinct numbers of one column are needed."""
        keys = [one_zero(chunk.columns[key], self.schema[key]) for key in self.keys]
        if self._only_numbers(keys):
            return Chunk.of([distinct_numbers(keys[0])]), None
        groups = in_groups(keys, self.key_types, chunk.rows)
        return self._keys_of(keys, groups), groups

    def all_rows(self, chunk: Chunk) -> PartialGroups:
        """Return the partial state of all rows as one group; without rows too."""
        return PartialGroups(Chunk((), 1), self.aggregates.lift_all(InputRows(chunk.columns, chunk.rows)), self.aggregates)

    def _keys_of(self, keys: Sequence[pa.Array], groups: GroupsOfRows) -> Chunk:
        firsts = pa.array(groups.firsts)
        return Chunk(tuple(decoded(key.take(firsts)) for key in keys), groups.count)

    def of_whole_groups(self, chunk: Chunk) -> Chunk:
        """Return keys and aggregates of groups whose rows are all given, some groups at a time if the states of all would be large."""
        keys, groups = self._divided(chunk)
        if groups is None:
            return keys
        rows = InputRows(chunk.columns, chunk.rows)
        parts = -(-self.aggregates.bytes_ahead(rows, groups) // MAX_STATE_BYTES) if groups.count > MANY_GROUPS else 1
        if parts <= 1:
            values = self.aggregates.finish(self.aggregates.lift(rows, groups), last=True)
        else:
            values = self._in_parts(rows, groups, -(-groups.count // parts))
        return Chunk((*keys.columns, *values), groups.count)

    def _in_parts(self, rows: InputRows, groups: GroupsOfRows, size: int) -> list[pa.Array]:
        """Return the aggregates of groups, ``size`` groups at a time."""
        found = []
        for first in range(0, groups.count, size):
            count = min(size, groups.count - first)
            chosen = np.flatnonzero((groups.codes >= first) & (groups.codes < first + count))
            part = GroupsOfRows(groups.codes[chosen] - first, count)
            found.append(self.aggregates.finish(self.aggregates.lift(rows.take(chosen), part), last=True))
        return [in_one_array(list(arrays)) for arrays in zip(*found, strict=True)]

    def merged(self, parts: Sequence[PartialGroups]) -> PartialGroups:
        """Return the merged partial groups of one or more batches, which are given in row order."""
        live = [part.live(self.aggregates) for part in parts if part.keys.rows]
        if len(live) <= 1:
            return live[0] if live else parts[0].live(self.aggregates)
        types = live[0].keys.types
        keys = [pa.concat_arrays([part.keys.columns[position].cast(kind) for part in live]) for position, kind in enumerate(types)]
        states = tuple(joined(states) for states in zip(*(part.states for part in live), strict=True))
        return self.regrouped(PartialGroups(Chunk(tuple(keys), sum(part.keys.rows for part in live)), states, self.aggregates))

    def regrouped(self, entries: PartialGroups) -> PartialGroups:
        """Return partial groups in which several entries, given in row order, may have equal keys, with these merged."""
        keys = entries.keys.columns
        if self._only_numbers(keys):
            return PartialGroups(Chunk.of([distinct_numbers(keys[0])]), (), self.aggregates)
        groups = in_groups(keys, self.key_types, entries.keys.rows)
        return PartialGroups(self._keys_of(keys, groups), self.aggregates.merge(entries.live(self.aggregates).states, groups), self.aggregates)

    def _only_numbers(self, keys: Sequence[pa.Array]) -> bool:
        """Return whether the groups are just the distinct numbers of one column, without aggregates."""
        return len(keys) == 1 and not self.aggregates.aggregates and pa.types.is_primitive(keys[0].type)

    def finished(self, groups: PartialGroups) -> Chunk:
        """Return keys and aggregates, from the partial states of all rows."""
        return Chunk((*groups.keys.columns, *self.aggregates.finish(groups.live(self.aggregates).states)), groups.keys.rows)


def group_rows(chunk: Chunk, schema: Schema, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> Chunk:
    """Return one row per distinct value of the key columns, ascending by key: the keys, then the aggregates of the group's rows in row order.

    Missing equals missing, NaN equals NaN, and -0.0 equals 0.0, but one instant at two offsets gives two groups.

    Examples
    --------
    >>> rows = Chunk((pa.array([float("nan"), -0.0, float("nan"), 0.0]),), 4)
    >>> [column.to_pylist() for column in group_rows(rows, (FLOAT,), [0], [Aggregation("count")]).columns]
    [[0.0, nan], [2, 2]]
    """
    return GroupingByKeys.of(schema, keys, aggregations).of_whole_groups(chunk)


def in_groups(columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> GroupsOfRows:
    """Return the groups of rows with equal keys, in ascending order of the keys.

    Each key is looked up once in a table of the distinct keys, and only distinct keys are compared.

    Examples
    --------
    >>> in_groups([pa.array(["b", None, "b", "a"])], [STR], 4).codes.tolist()
    [2, 0, 2, 1]
    """
    if not columns:
        return GroupsOfRows(np.zeros(rows, dtype=np.int64), min(rows, 1))
    compared = [ranked(column, column_type) for column, column_type in zip(columns, types, strict=True)]
    # One instant at several offsets gives several groups, which are ordered by offset.
    compared += [
        ranked(pc.struct_field(column, "offset").cast(pa.int64()), INT)
        for column, column_type in zip(columns, types, strict=True)
        if column_type.is_zoned
    ]
    codes, count = compared[0]
    for further, more in compared[1:]:
        # Codes are made small after each column, so that the product cannot wrap around.
        codes, count = dense(codes * more + further, count * more)
    # With a single column every code occurs.
    return GroupsOfRows(codes, count) if len(compared) == 1 else GroupsOfRows(*without_gaps(codes, count))


def ranked(column: pa.Array, column_type: ColumnType) -> tuple[np.ndarray, int]:
    """Return for each key the number of distinct keys before it, and the number of distinct keys. Zoned date-times are compared by instant.

    Missing comes first and NaN last, as in Spark.
    """
    if pa.types.is_nested(column.type) and not column_type.is_zoned:
        return tokens_ranked(column)
    if pa.types.is_dictionary(column.type):
        return coded_ranked(column)
    # Lists and dicts that are stored as JSON strings are compared as strings.
    kind = STR if pa.types.is_string(column.type) else column_type
    values, kind = comparable(column, kind), DATETIME if column_type.is_zoned else kind
    if mostly_differ(values):
        return texts_ranked(values) if pa.types.is_string(values.type) else ranks_of(sort_parts(values, kind, True))
    encoded = values.dictionary_encode("encode")
    ranks, count = ranks_of(sort_parts(encoded.dictionary, kind, True))
    # Arrow's take reuses memory that the process already has.
    return pa.array(ranks).take(encoded.indices).to_numpy(), count


def texts_ranked(values: pa.StringArray) -> tuple[np.ndarray, int]:
    """Return the result of :func:`ranked` for strings.

    Examples
    --------
    >>> [found if isinstance(found, int) else found.tolist() for found in texts_ranked(pa.array(["b", None, "a", "b"]))]
    [[2, 0, 1, 2], 3]
    """
    if not values.null_count:
        return text_ranks(values)
    result, count = text_ranks(values.drop_null())
    ranks = np.zeros(len(values), dtype=np.int64)
    ranks[values.is_valid().to_numpy(zero_copy_only=False)] = result + 1
    return ranks, count + 1


def coded_ranked(column: pa.DictionaryArray) -> tuple[np.ndarray, int]:
    """Return the result of :func:`ranked` for dictionary-encoded strings. The dictionary may have duplicates, and strings that no row has.

    Examples
    --------
    >>> column = pa.DictionaryArray.from_arrays(pa.array([3, None, 0, 2]), pa.array(["b", "x", "b", "a"]))
    >>> [found if isinstance(found, int) else found.tolist() for found in coded_ranked(column)]
    [[1, 0, 2, 2], 3]
    """
    encoded = column.dictionary.dictionary_encode()
    ranks, count = ranks_of(sort_parts(encoded.dictionary, STR, True))
    # The last entry is for missing strings.
    of_codes = np.append(ranks[encoded.indices.to_numpy(zero_copy_only=False)] + 1, 0)
    codes = column.indices.fill_null(len(of_codes) - 1) if column.null_count else column.indices
    result = of_codes[codes.to_numpy(zero_copy_only=False)]
    return without_gaps(result, count + 1)


def decoded(column: pa.Array) -> pa.Array:
    """Return a column with dictionary-encoded strings decoded."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def distinct_numbers(column: pa.Array) -> pa.Array:
    """Return the distinct numbers or times of a column, ascending, with missing first and NaN last.

    Examples
    --------
    >>> distinct_numbers(pa.array([2.5, None, float("nan"), -1.0, 2.5, float("nan")])).to_pylist()
    [None, -1.0, 2.5, nan]
    """
    present = column.drop_null() if column.null_count else column
    # If many are equal, finding the distinct ones with a hash table first is faster.
    numbers = np.sort(plain_numbers(present if mostly_differ(present) else present.unique()))
    differ = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
    if numbers.dtype.kind == "f":
        # NaN is not equal to itself.
        differ[1:] &= ~(np.isnan(numbers[1:]) & np.isnan(numbers[:-1]))
    result = pa.array(numbers if differ.all() else numbers[differ]).cast(column.type)
    return pa.concat_arrays([pa.nulls(1, column.type), result]) if column.null_count else result


def tokens_ranked(column: pa.Array) -> tuple[np.ndarray, int]:
    """Return for each list the number of distinct lists before it, and the number of distinct lists."""
    numbers: dict[Any, int] = {}
    codes = [numbered(column.slice(start, ROWS_PER_STEP), numbers) for start in range(0, len(column), ROWS_PER_STEP)]
    positions = {token: position for position, token in enumerate(sorted(numbers))}
    of_numbers = np.array([positions[token] for token in numbers], dtype=np.int64)
    return of_numbers[np.concatenate(codes)] if codes else of_numbers, len(numbers)


def numbered(column: pa.Array, numbers: dict[Any, int]) -> np.ndarray:
    """Return for each list the number of its value in ``numbers``, to which new values are added."""
    # A value that is in the table already is not kept a second time.
    return np.array([numbers.setdefault(order_token(value), len(numbers)) for value in column.to_pylist()], dtype=np.int64)


def dense(codes: np.ndarray, count: int) -> tuple[np.ndarray, int]:
    """Return codes that are ordered in the same way, and the number of possible codes, which is small or at most the number of rows."""
    if count <= SHORT_CODES:
        return codes, count
    return ranks_of([codes])


def order_token(value: Any) -> tuple[Any, ...]:
    """Return a value that compares as Spark compares values within lists; a list comes before its continuations.

    Examples
    --------
    >>> order_token(None) < order_token([]) < order_token([None]) < order_token([1.5]) < order_token([float("nan")])
    True
    """
    if value is None:
        return (MISSING,)
    if isinstance(value, (list, tuple)):
        return (VALUE, tuple(map(order_token, value)))
    if isinstance(value, dict):
        # An array of numpy: its shape, then its numbers.
        return (VALUE, tuple(map(order_token, value.values())))
    return (NAN,) if value != value else (VALUE, value)


def one_zero(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return floats with -0.0 replaced by 0.0, also in lists and arrays; other values unchanged."""
    if column_type == FLOAT:
        return pc.add(column, 0.0)
    if column_type == NDARRAY:
        return shaped(one_zero(numbers_of(column), ARRAY), shapes_of(column), column.is_null())
    if pa.types.is_list(column.type) and pa.types.is_floating(column.type.value_type):
        # Arrow takes a mask only with offsets that are not sliced.
        offsets = pa.array(column.offsets.to_numpy())
        return pa.ListArray.from_arrays(offsets, pc.add(column.values, 0.0), column.type, mask=column.is_null() if column.null_count else None)
    return column
