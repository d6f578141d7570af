"""The operator that gives values of earlier rows of the same key, any number of columns and lags in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.scalar_function_program import Literal, describe_operand
from sframe_spark.operators.project_zip_arrange import columns_of, new_positions, zip_columns
from sframe_spark.operators.row_selection import reverse
from sframe_spark.operators.window.rows_before_by_key import RowsBefore, RowsByKey, taken
from sframe_spark.operators.window.shift import shift_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema, require_columns
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.values.python_to_arrow import encode


@attrs.frozen
class Lag:
    """The value of a column some rows before each row.

    Where the key has no such row, it is ``fill`` (None: missing), or with ``is_clamped`` the value of the first row of the key.
    """

    column: int = attrs.field(validator=column_positions)
    rows: int = attrs.field(validator=at_least(1))
    fill: Literal | None = None
    is_clamped: bool = False

    def describe(self) -> str:
        """Return the lag in a few characters, for printed plans."""
        return f"c{self.column}[-{self.rows}]" + (
            " or first" if self.is_clamped else "" if self.fill is None else f" or {describe_operand(self.fill)}"
        )


@register
@attrs.frozen
class Lagged(RowsBefore):
    """For each row, values of earlier rows with the same key."""

    name: ClassVar[str] = "lagged"
    lags: tuple[Lag, ...] = ()

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the lagged columns.

        Raises
        ------
        SchemaError
            If the fill of a column has a different type.
        """
        schema = inputs[0].schema
        require_columns(schema, [*self.keys, *(lag.column for lag in self.lags)])
        for lag in self.lags:
            if lag.fill is not None and lag.fill.type != schema[lag.column]:
                raise SchemaError(f"a column of {schema[lag.column]} cannot be filled with {lag.fill.value!r}, which is {lag.fill.type}")
        return tuple(schema[lag.column] for lag in self.lags)

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return all columns: values move unchanged."""
        return range(len(self.lags))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [sorted({*self.keys, *(self.lags[output].column for output in outputs)})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        lags = tuple(attrs.evolve(self.lags[output], column=positions[self.lags[output].column]) for output in outputs)
        return Lagged(tuple(positions[key] for key in self.keys), lags), outputs

    def kept_positions(self, rows: RowsByKey, schema: Schema) -> np.ndarray:
        """Return as many last rows of each key as the largest lag."""
        return rows.last(max((lag.rows for lag in self.lags), default=0))

    def values(self, rows: RowsByKey, facts: Facts) -> Sequence[pa.Array]:
        ways = {(lag.rows, lag.is_clamped) for lag in self.lags}
        sources, columns = {way: rows.earlier(*way) for way in ways}, rows.rows.columns
        return [taken(columns[lag.column], sources[lag.rows, lag.is_clamped], filling(lag.fill)) for lag in self.lags]

    def describe(self) -> str:
        return f"[{', '.join(f'c{key}' for key in self.keys)}]; " + ", ".join(lag.describe() for lag in self.lags)


def filling(fill: Literal | None) -> pa.Array | None:
    """Return a fill as an array of one value."""
    return None if fill is None else encode([fill.value], fill.type)


def shifted_by_key(node: PlannerNode, wanted: Sequence[tuple[int, int, Literal | None]], keys: Sequence[int]) -> PlannerNode:
    """Return a node with columns of a node, each moved by a number of rows towards the end within each key (negative: towards the beginning).

    All lags come from one pass. Values of later rows come from a pass over the rows in reverse; their column is stored, and reversed as it is read.

    Parameters
    ----------
    node
        The node.
    wanted
        For each output its column, the number of rows, and the value of rows that get none.
    keys
        The key columns; without them all rows are one key.
    """
    if not keys:
        return zip_columns(*[shift_rows(columns_of(node, [column]), count, fill) for column, count, fill in wanted])
    directions = [(count > 0) - (count < 0) for _, count, _ in wanted]
    used = sorted({*keys, *(column for column, _, _ in wanted)})
    moved, rows = new_positions(used), columns_of(node, used)
    parts, places = [rows], dict[int, int]()
    for direction in (1, -1):
        chosen = [index for index, other in enumerate(directions) if other == direction]
        if not chosen:
            continue
        lags = tuple(Lag(moved[wanted[index][0]], min(abs(wanted[index][1]), MAX_LAG), wanted[index][2]) for index in chosen)
        operator = Lagged(tuple(moved[key] for key in keys), lags)
        width = sum(part.facts.width for part in parts)
        parts.append(operator.make_planner_node(rows) if direction > 0 else reverse(operator.make_planner_node(reverse(rows))))
        places.update({index: width + place for place, index in enumerate(chosen)})
    return columns_of(zip_columns(*parts), [places.get(index, moved[column]) for index, (column, _, _) in enumerate(wanted)])


# No frame has more rows.
MAX_LAG = 2**62
