"""Running lists, distinct values and dicts: what a group holds only grows, so each row's value is so many of the first values of the last one."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import codes_of, comparable_values
from sframe_spark.compute.key_runs import by_appearance
from sframe_spark.operators.window.groups import RowGroups, totals_so_far
from sframe_spark.operators.window.running_collections import HeldValues, lists_of_firsts
from sframe_spark.operators.window.segmented_scan import valid
from sframe_spark.types import ENCODED_LIST, FLOAT, INT, STR, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.nested.json_items import texts_of_items

Types = Sequence[ColumnType]


@attrs.frozen(eq=False)
class GrowingAggregate:
    """A running ``concat`` or ``distinct``; the state is what each group's value holds, and what tells equal ones.

    Parameters
    ----------
    function
        ``concat`` of one column, or of a column of keys and one of values, or ``distinct``.
    types
        Types of the argument columns.
    result
        Type of the result.
    """

    function: str
    types: tuple[ColumnType, ...]
    result: ColumnType

    @property
    def has_each_once(self) -> bool:
        """Whether only the first of equal values, or keys, is held."""
        return self.function == "distinct" or len(self.types) == 2

    def empty(self, groups: int) -> HeldValues:
        """No value in any group."""
        nothing = self._candidates([pa.array([], column_type.physical) for column_type in self.types])
        return HeldValues.nothing(groups, [column.type for column in nothing])

    def widened(self, state: HeldValues, groups: int) -> HeldValues:
        """The state with groups without rows added up to that many."""
        return state.widened(groups)

    def advance(self, state: HeldValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, HeldValues]:
        """Values of a run, row by row, and the state after it."""
        before, (rows, there) = state.taken(slots), self._in_order(columns, groups)
        new = self._are_new(before, rows)
        more = rows.kept(new)
        after, grows = before.with_more(more, np.arange(len(slots))), np.zeros(groups.rows, dtype=np.int64)
        grows[there] = new
        sizes = groups.stops - groups.starts
        lengths = groups.to_row_order(totals_so_far(grows, groups) + np.repeat(before.counts, sizes))
        starts = groups.to_row_order(np.repeat(after.starts, sizes))
        shown = after.columns[: self._shown_columns()]
        return lists_of_firsts(shown, starts, lengths, self.result), state.with_more(more, slots)

    def summarized(self, state: HeldValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> HeldValues:
        """State after a run."""
        return self.merged(state, self._in_order(columns, groups)[0], slots)

    def merged(self, first: HeldValues, second: HeldValues, slots: np.ndarray) -> HeldValues:
        """What both hold, that of the first before."""
        return first.with_more(second.kept(self._are_new(first.taken(slots), second)), slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> tuple[HeldValues, np.ndarray]:
        """What rows would add to their groups, and which these rows are along the order of the groups; missing values and keys add nothing."""
        order = groups.order
        there = np.arange(groups.rows)
        if self.function == "concat" and columns[0].null_count:
            there = np.flatnonzero(valid(columns[0])[order])
        counts = np.bincount(groups.group_of_rows()[there], minlength=len(groups.starts))
        places = pa.array(order[there])
        return HeldValues(counts, tuple(self._candidates([column.take(places) for column in columns]))), there

    def _candidates(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """What is shown of rows, then what tells equal ones."""
        shown = list(columns)
        if self.function == "distinct" and self.types[0] == FLOAT:
            # Both zeros are one value, that without a sign.
            shown = [pc.if_else(pc.equal(columns[0], 0.0), 0.0, columns[0])]
        if self.result.is_encoded:
            texts = [texts_within(column, column_type) for column, column_type in zip(columns, self.types, strict=True)]
            shown = texts if len(texts) == 1 else [entries(*texts)]
        return [*shown, *comparable_values(columns[0], self.types[0])] if self.has_each_once else shown

    def _shown_columns(self) -> int:
        return 1 if self.result.is_encoded else len(self.types)

    def _are_new(self, before: HeldValues, rows: HeldValues) -> np.ndarray:
        """Which rows hold what neither their group nor a row of it before them does."""
        if not self.has_each_once:
            return np.ones(len(rows.columns[0]), dtype=bool)
        return first_of_each(before, rows, self._shown_columns())[0]


def first_of_each(before: HeldValues, rows: HeldValues, skipped: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows are the first of their group with their value, not counting some first columns.

    Also a number of each value of a group, for what it held before and then for rows, and where each of these is first there.
    """
    columns = [pa.concat_arrays([first, second]) for first, second in zip(before.columns[skipped:], rows.columns[skipped:], strict=True)]
    held = len(before.columns[0])
    if len(columns[0]) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing.astype(bool), nothing, nothing
    codes = codes_of(columns)
    groups = np.concatenate([before.group_of_values(), rows.group_of_values()])
    numbers, firsts = by_appearance(groups * (int(codes.max()) + 1) + codes)
    new = np.zeros(len(codes), dtype=bool)
    new[firsts] = True
    return new[held:], numbers, firsts


def entries(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Entries of stored dicts, of texts of keys and of values.

    Examples
    --------
    >>> entries(pa.array(['"a"']), pa.array(["1"])).to_pylist()
    ['["a",1]']
    """
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(keys, values, ","), "]", "")


def texts_within(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """What stands for each value in stored lists and dicts.

    Examples
    --------
    >>> from sframe_spark.types import list_of
    >>> texts_within(pa.array([[1], None]), list_of(INT)).to_pylist()
    ['[1]', 'null']
    """
    if column_type in (INT, FLOAT, STR):
        return texts_of_items(column)
    lists = encode_plain([[value] for value in decode(column, column_type)], ENCODED_LIST)
    return pc.utf8_slice_codeunits(lists, 1, -1)
