"""The operator that fills missing values with the last known value of the same key; in reverse, with the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import ExecutionError
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.lookup.key_numbers_and_group_codes import Flags, Numbers, check_keys, distances, key_numbers
from sframe_spark.operators.project_zip_arrange import columns_of, new_positions, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import reverse
from sframe_spark.operators.window.rows_before_by_key import KeptRows, RowsBefore, RowsByKey, taken
from sframe_spark.operators.window.running_by_group import running
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema, require_columns
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.types import DATETIME_KIND
from sframe_spark.values.datetimes import from_microseconds


@register
@attrs.frozen
class FillForward(RowsBefore):
    """The rows, with missing values replaced by the last known values of earlier rows with the same key.

    Parameters
    ----------
    columns
        Positions of the columns to fill. NaN is a value.
    along
        Position of the column with the positions of rows, which do not go backwards within a key. A row without one is neither filled nor fills
        others.
    limit
        How far from a known value rows are filled, itself included, in the unit of ``along`` (microseconds for date-times).
    is_reversed
        Whether rows come from the last to the first, so that positions do not go forwards.
    """

    name: ClassVar[str] = "fill_forward"
    columns: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    along: int | None = attrs.field(default=None, validator=at_least(0))
    limit: int | float | None = attrs.field(default=None, validator=at_least(0))
    is_reversed: bool = False

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the columns.

        Raises
        ------
        SchemaError
            If positions have no distances.
        """
        schema = inputs[0].schema
        require_columns(schema, [*self.keys, *self.columns, *self._places])
        for place in self._places:
            check_keys(schema[place], schema[place], "filling")
        return tuple(schema[column] for column in self.columns)

    @property
    def _places(self) -> tuple[int, ...]:
        return () if self.along is None else (self.along,)

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return all columns: values move unchanged."""
        return range(len(self.columns))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [sorted({*self.keys, *self._places, *(self.columns[output] for output in outputs)})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        columns, keys = (tuple(positions[column] for column in chosen) for chosen in ([self.columns[output] for output in outputs], self.keys))
        along = None if self.along is None else positions[self.along]
        return attrs.evolve(self, keys=keys, columns=columns, along=along), outputs

    def ends_suffice(self, state: KeptRows) -> bool:
        """Return whether every column has a known value, if all rows are one key."""
        rows = state.rows
        return not self.keys and all(rows.columns[column].null_count < rows.rows for column in self.columns)

    def kept_positions(self, rows: RowsByKey, schema: Schema) -> np.ndarray:
        """Return the last row of each key with a known value, for each column."""
        placed = self._numbers(rows, schema)[1] if self.along is not None else None
        lasts = []
        for column in self.columns:
            last = last_known(known_in_order(rows, column, placed))[rows.last(1)]
            lasts.append(last[last >= rows.starts])
        return np.unique(np.concatenate(lasts)) if len(lasts) != 1 else lasts[0]

    def values(self, rows: RowsByKey, facts: Facts) -> Sequence[pa.Array]:
        places, placed = self._numbers(rows, facts.schema) if self.along is not None else (None, None)
        return [self._filled(rows, column, places, placed, facts.schema) for column in self.columns]

    def _numbers(self, rows: RowsByKey, schema: Schema) -> tuple[Numbers, Flags]:
        """Return the positions of the rows as numbers, key by key, and which of them there are."""
        assert self.along is not None
        numbers, placed = key_numbers(rows.rows.columns[self.along], schema[self.along])
        return numbers[rows.order], placed[rows.order]

    def _filled(self, rows: RowsByKey, column: int, places: Numbers | None, placed: Flags | None, schema: Schema) -> pa.Array:
        """Return a column for the rows of the batch, with missing values filled."""
        values = rows.rows.columns[column]
        if not values.slice(rows.kept).null_count:
            return values.slice(rows.kept)
        last = last_known(known_in_order(rows, column, placed))
        holes = np.flatnonzero(
            values.is_null().to_numpy(zero_copy_only=False)[rows.order] & (last >= rows.starts_of_rows) & (rows.order >= rows.kept)
        )
        if placed is not None and places is not None:
            holes = holes[placed[holes]]
            holes = holes[self._are_near(places[last[holes]], places[holes], schema)]
        sources = np.arange(len(rows.order))
        sources[rows.order[holes]] = rows.order[last[holes]]
        return taken(values, sources[rows.kept :])

    def _are_near(self, known: Numbers, wanted: Numbers, schema: Schema) -> Flags:
        """Return which of some positions are within the limit of known ones.

        Raises
        ------
        ExecutionError
            If positions go backwards.
        """
        first, last = (wanted, known) if self.is_reversed else (known, wanted)
        wrong = first > last
        if wrong.any():
            one, other = (values[int(wrong.argmax())].item() for values in (first, last))
            if self.along is not None and schema[self.along].kind == DATETIME_KIND:
                one, other = from_microseconds(one), from_microseconds(other)
            raise ExecutionError(f"filling needs positions that do not go backwards, but {other} comes after {one}: sort by position first")
        with np.errstate(all="ignore"):
            return np.ones(len(first), dtype=bool) if self.limit is None else (first == last) | (distances(last, first) <= self.limit)

    def describe(self) -> str:
        columns, keys = (", ".join(f"c{position}" for position in positions) for positions in (self.columns, self.keys))
        reach = "" if self.along is None else f" up to {self.limit} along c{self.along}"
        return f"[{keys}]; {columns}{reach}" + (" in reverse" if self.is_reversed else "")


def known_in_order(rows: RowsByKey, column: int, placed: Flags | None) -> Flags:
    """Return, key by key, which rows have a value in a column, and a position if positions are given."""
    known = rows.rows.columns[column].is_valid().to_numpy(zero_copy_only=False)[rows.order]
    return known if placed is None else known & placed


def last_known(known: Flags) -> np.ndarray:
    """Return for each entry the last one up to it that is true; -1 if there is none.

    Examples
    --------
    >>> last_known(np.array([False, True, False, True])).tolist()
    [-1, 1, 1, 3]
    """
    return np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))


def filled(
    node: PlannerNode, columns: Sequence[int], along: int | None, keys: Sequence[int], limit: Any, limit_in_rows: bool, backward: bool
) -> PlannerNode:
    """Return a node with some columns of a node, in which missing values are the last known ones before them, or with ``backward`` the next ones.

    Parameters
    ----------
    node, columns, keys
        The node, the columns to fill, and the key columns.
    along
        The column with positions; rows without one stay unchanged. None: all rows count.
    limit
        How far from a known value rows are filled; None: as far as there are rows.
    limit_in_rows
        Whether the limit is a number of rows of the key, not a distance along the column.
    backward
        Whether values are filled from later rows.
    """
    used = sorted({*columns, *keys, *([] if along is None else [along])})
    positions, rows = new_positions(used), columns_of(node, used)
    places = None if along is None else positions[along]
    if limit_in_rows:
        places, rows = len(used), zip_columns(rows, rows_of_key(rows, [positions[key] for key in keys]))
    over, by = (tuple(positions[column] for column in chosen) for chosen in (columns, keys))
    operator = FillForward(by, over, places, limit, backward)
    return reverse(operator.make_planner_node(reverse(rows))) if backward else operator.make_planner_node(rows)


def rows_of_key(node: PlannerNode, keys: Sequence[int]) -> PlannerNode:
    """Return a node with the number of each row among the rows of its key."""
    return running(node, keys, [Aggregation("count")]) if keys else row_number(node)
