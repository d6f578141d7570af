"""The operator that ranks each value among those of the rows before it of its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_equality_and_codes import comparable
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.compute.sorting_and_searching import as_ordered_ints, ranks_of
from sframe_spark.errors import SchemaError
from sframe_spark.operators.project_zip_arrange import columns_of, new_positions
from sframe_spark.operators.window.rows_before_by_key import RowsBefore, RowsByKey
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema, require_columns
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import at_least, column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.types import FLOAT, INT, ColumnType

METHODS = ("average", "min", "max")


@register
@attrs.frozen
class RollingRank(RowsBefore):
    """For each row, the rank of its value among its own and those of some earlier rows with the same key; missing if the value is.

    Parameters
    ----------
    columns
        Positions of the columns whose values are ranked.
    earlier
        How many rows before a row its window has.
    minimum
        Number of values that a window must contain; otherwise the rank is missing. None: the window must be whole and contain no missing value.
    method
        The rank of equal values: ``average``, ``min`` or ``max`` of their places.
    ascending
        Whether the smallest value has rank 1. NaN is above all numbers.
    percent
        Whether ranks are divided by the number of values in the window.
    """

    name: ClassVar[str] = "rolling_rank"
    columns: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    earlier: int = attrs.field(default=0, validator=at_least(0))
    minimum: int | None = attrs.field(default=None, validator=at_least(0))
    method: str = attrs.field(default="average", validator=one_of(*METHODS))
    ascending: bool = True
    percent: bool = False

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return float for averages and shares, int otherwise.

        Raises
        ------
        SchemaError
            If a column has neither numbers nor date-times.
        """
        schema = inputs[0].schema
        require_columns(schema, [*self.keys, *self.columns])
        for column in self.columns:
            if not schema[column].is_number_or_datetime:
                raise SchemaError(f"rolling_rank() takes numbers or date-times, not values of type {schema[column].kind}")
        return (self._result,) * len(self.columns)

    @property
    def _result(self) -> ColumnType:
        return FLOAT if self.percent or self.method == "average" else INT

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [sorted({*self.keys, *(self.columns[output] for output in outputs)})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        columns = tuple(positions[self.columns[output]] for output in outputs)
        return attrs.evolve(self, keys=tuple(positions[key] for key in self.keys), columns=columns), outputs

    def kept_positions(self, rows: RowsByKey, schema: Schema) -> np.ndarray:
        """Return as many last rows of each key as a window goes back."""
        return rows.last(self.earlier)

    def values(self, rows: RowsByKey, facts: Facts) -> Sequence[pa.Array]:
        return [self._of_column(rows, rows.rows.columns[column], facts.schema[column]) for column in self.columns]

    def _of_column(self, rows: RowsByKey, column: pa.Array, column_type: ColumnType) -> pa.Array:
        """Return the ranks of the rows of the batch."""
        known = column.is_valid().to_numpy(zero_copy_only=False)[rows.order]
        codes, distinct = ranks_of([as_ordered_ints(plain_numbers(comparable(column, column_type)))[rows.order]])
        # Missing values are above all others, so that they are never counted as smaller ones.
        codes = np.where(known, codes, distinct)
        asked = np.flatnonzero(rows.order >= rows.kept)
        earlier = min(self.earlier, len(rows.order))
        starts, stops = np.maximum(asked - earlier, rows.starts_of_rows[asked]), asked + 1
        smaller, equal = smaller_and_equal(codes, starts, stops, codes[asked], distinct)
        totals = np.concatenate([[0], np.cumsum(known)])
        counts = totals[stops] - totals[starts]
        before = smaller if self.ascending else counts - smaller - equal
        ranks = {"average": before + (equal + 1) / 2, "min": before + 1, "max": before + equal}[self.method]
        needed = self.earlier + 1 if self.minimum is None else max(self.minimum, 1)
        missing = ~known[asked] | (counts < needed)
        result, mask = np.zeros(len(rows.order), dtype=np.float64 if self._result == FLOAT else np.int64), np.ones(len(rows.order), dtype=bool)
        result[asked], mask[asked] = ranks / np.maximum(counts, 1) if self.percent else ranks, missing
        return pa.array(rows.of_batch(result), mask=rows.of_batch(mask), from_pandas=False)

    def describe(self) -> str:
        columns, keys = (", ".join(f"c{position}" for position in positions) for positions in (self.columns, self.keys))
        options = [self.method, *([] if self.ascending else ["descending"]), *(["share"] if self.percent else [])]
        least = "" if self.minimum is None else f", at least {self.minimum}"
        return f"[{keys}]; {', '.join(options)} of {columns}, {self.earlier} rows before{least}"


def smaller_and_equal(codes: np.ndarray, starts: np.ndarray, stops: np.ndarray, targets: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each range of codes, how many are smaller than a target, and how many are equal to it.

    Codes are divided by their highest bit, zeros first, then both parts by the next one, and so on (a wavelet matrix): a range stays a range. This
    takes a few passes over all rows for each bit, whatever the length of ranges.

    Parameters
    ----------
    codes
        Ints from 0 to ``largest``.
    starts, stops, targets
        For each range where it begins, where it ends, and the code to compare with.
    largest
        The largest code.

    Examples
    --------
    >>> codes = np.array([2, 0, 1, 2])
    >>> [part.tolist() for part in smaller_and_equal(codes, np.array([0, 1]), np.array([4, 3]), np.array([2, 1]), 2)]
    [[2, 1], [2, 1]]
    """
    smaller = np.zeros(len(targets), dtype=np.int64)
    for place in reversed(range(max(int(largest).bit_length(), 1))):
        is_low = (codes >> place & 1) == 0
        lows = np.concatenate([[0], np.cumsum(is_low)])
        first, last = lows[starts], lows[stops]
        goes_high = (targets >> place & 1) == 1
        smaller += np.where(goes_high, last - first, 0)
        starts = np.where(goes_high, lows[-1] + starts - first, first)
        stops = np.where(goes_high, lows[-1] + stops - last, last)
        codes = np.concatenate([codes[is_low], codes[~is_low]])
    return smaller, stops - starts


def rolling_rank(
    node: PlannerNode,
    columns: Sequence[int],
    keys: Sequence[int],
    earlier: int,
    minimum: int | None,
    method: str,
    ascending: bool,
    percent: bool,
) -> PlannerNode:
    """Return a node with rolling ranks of some columns within each key; see :class:`RollingRank` for the parameters."""
    used = sorted({*keys, *columns})
    positions = new_positions(used)
    over, by = (tuple(positions[column] for column in chosen) for chosen in (columns, keys))
    return RollingRank(by, over, earlier, minimum, method, ascending, percent).make_planner_node(columns_of(node, used))
