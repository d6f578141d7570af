"""Rows whose value is among given values, and refusal to match date-times with and without an offset from UTC."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.api.node_values import recoded_column
from sframe_spark.engine.execution.materialize import iterate
from sframe_spark.errors import SchemaError, SFrameError
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.filter import filter_by_mask
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.joins.join import join
from sframe_spark.operators.project import project
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, DATETIME_KIND, INT, STR, common_encoding

WHAT_TO_DO = "give both an offset, with column.apply(lambda moment: moment.replace(tzinfo=datetime.timezone.utc)), or neither"


def require_comparable_offsets(left: PlannerNode, right: PlannerNode, what: str, refusal: type[SFrameError] = SchemaError) -> None:
    """Refuse date-time key columns of which one has offsets in all values and the other in none.

    If the types are not conclusive, the values are read: a column of date-times with offsets may contain some without.

    Raises
    ------
    SFrameError
        Of the class ``refusal``, if this is the case.
    """
    a, b = left.schema[0], right.schema[0]
    if a.kind == b.kind == DATETIME_KIND and a.is_zoned != b.is_zoned and all_have_offsets(left if a.is_zoned else right):
        raise refusal(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


def require_comparable_values(column: PlannerNode, values: Iterable[Any], what: str) -> None:
    """Refuse values to match that all have an offset while the column has none, or the reverse.

    Raises
    ------
    SchemaError
        If this is the case.
    """
    column_type = column.schema[0]
    if column_type.kind != DATETIME_KIND:
        return
    with_offset = {has_offset(value) for value in values} - {None}
    if with_offset == {not column_type.is_zoned} and (not column_type.is_zoned or all_have_offsets(column)):
        raise SchemaError(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


def all_have_offsets(column: PlannerNode) -> bool:
    """Return whether all date-times of a column have an offset; False if there are none. Reads values until one has none."""
    has_values = False
    for chunk in iterate(column):
        values = chunk.columns[0]
        offsets = values.field("offset").filter(values.is_valid())
        if offsets.null_count:
            return False
        has_values = has_values or len(offsets) > 0
    return has_values


def has_offset(value: Any) -> bool | None:
    """Return whether a date-time has an offset from UTC; None for other values.

    Examples
    --------
    >>> has_offset(datetime.datetime(2024, 2, 29)), has_offset(np.datetime64("2024-02-29")), has_offset("2024")
    (False, True, None)
    """
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else True
    if not isinstance(value, datetime.date) or value != value:
        return None
    return isinstance(value, datetime.datetime) and value.utcoffset() is not None


# Types for which equality as keys is equality of values: not for floats, as NaN is a key, nor for date-times with an offset, a part of the key.
EQUAL_AS_KEYS = (INT, STR, DATETIME)
# Plans are compared, sent and printed with the values that they contain.
MAX_PLAN_VALUES = 1_000


def are_many(values: PlannerNode) -> bool:
    """Return whether there are too many values for a plan, or their number is unknown."""
    maximum = values.facts.length.at_most
    return maximum is None or maximum > MAX_PLAN_VALUES


def semi_join(rows: PlannerNode, position: int, values: PlannerNode, exclude: bool) -> PlannerNode:
    """Return the rows, in order, whose value in a column is, or is not, among those of another column of the same type.

    Parameters
    ----------
    rows
        Rows to choose from.
    position
        Index of the column to match.
    values
        One column, which is not computed now.
    exclude
        Whether to return the rows without a match instead.

    Raises
    ------
    SchemaError
        If date-times of one have an offset from UTC and those of the other none.
    """
    require_comparable_offsets(project(rows, [position]), values, "filter_by")
    common = common_encoding(rows.schema[position], values.schema[0])
    rows, values = recoded_column(rows, position, common), recoded_column(values, 0, common)
    if not exclude:
        return join(rows, group_by(values, [0], []), [position], [0], "inner")
    width = rows.facts.width
    counted = with_match_counts(rows, position, values)
    alone = filter_by_mask(counted, apply_function("is_missing", project(counted, [width])))
    return project(alone, range(width))


def match_mask(column: PlannerNode, values: PlannerNode) -> PlannerNode:
    """Return a lazy column of 1 where a value is among those of another column of the same type, else 0; missing is a value."""
    return apply_function("is_not_missing", project(with_match_counts(column, 0, values), [1]))


def with_match_counts(rows: PlannerNode, position: int, values: PlannerNode) -> PlannerNode:
    """Return the rows with a new last column: how often their value occurs among others, missing if never."""
    return join(rows, group_by(values, [0], [Aggregation("count", ())]), [position], [0], "left")
