"""Selects or marks rows whose key is among given keys, and refuses to compare date-times that have an offset from UTC with those that have none."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.api.node_value_conversion import recoded_column
from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate
from sframe_spark.errors import SchemaError, SFrameError
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.joins.equi_join import join
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, DATETIME_KIND, INT, STR, common_encoding

WHAT_TO_DO = "give both an offset, with column.apply(lambda moment: moment.replace(tzinfo=datetime.timezone.utc)), or neither"


def require_comparable_offsets(left: PlannerNode, right: PlannerNode, what: str, refusal: type[SFrameError] = SchemaError) -> None:
    """Raise an error if both keys are columns of date-times, and all in one have an offset from UTC while the other has no offsets.

    A column whose type allows offsets may also contain date-times without one. So its values are read before the error is raised.

    Raises
    ------
    SFrameError
        The class that ``refusal`` gives, if the two columns can never match. The message begins with ``what``.
    """
    a, b = left.schema[0], right.schema[0]
    if a.kind == b.kind == DATETIME_KIND and a.is_zoned != b.is_zoned and all_have_offsets(left if a.is_zoned else right):
        raise refusal(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


def require_comparable_values(column: PlannerNode, values: Iterable[Any], what: str) -> None:
    """Raise an error if either all given date-times have an offset from UTC while the column has none, or the reverse.

    Raises
    ------
    SchemaError
        If no date-time among ``values`` can equal one of the column. The message begins with ``what``.
    """
    column_type = column.schema[0]
    if column_type.kind != DATETIME_KIND:
        return
    with_offset = {has_offset(value) for value in values} - {None}
    if with_offset == {not column_type.is_zoned} and (not column_type.is_zoned or all_have_offsets(column)):
        raise SchemaError(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


def all_have_offsets(column: PlannerNode) -> bool:
    """Return whether all date-times of a column have an offset from UTC; False if all are missing.

    Reading stops at the first date-time without an offset.
    """
    has_values = False
    for chunk in iterate(column):
        values = chunk.columns[0]
        offsets = values.field("offset").filter(values.is_valid())
        if offsets.null_count:
            return False
        has_values = has_values or len(offsets) > 0
    return has_values


def has_offset(value: Any) -> bool | None:
    """Return whether a date-time or date has an offset from UTC (a numpy datetime64 counts as UTC); None for other values and NaT.

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


# Types in which two values are equal as keys exactly if they are equal (==). Not floats: as keys all NaN are equal. Not date-times with an offset:
# as keys they also differ by their offset.
EQUAL_AS_KEYS = (INT, STR, DATETIME)
# A plan that contains values is compared, sent and printed with all of them, so it may contain only this many.
MAX_PLAN_VALUES = 1_000


def are_many(values: PlannerNode) -> bool:
    """Return whether a column may have more than ``MAX_PLAN_VALUES`` values, so that they must not be put into a plan."""
    maximum = values.facts.length.at_most
    return maximum is None or maximum > MAX_PLAN_VALUES


def semi_join(rows: PlannerNode, position: int, values: PlannerNode, exclude: bool) -> PlannerNode:
    """Return the rows, in order, whose key is among the given values; with ``exclude``, the other rows. Key and values have the same Python class.

    Parameters
    ----------
    rows
        The rows to select from.
    position
        Index of the key column.
    values
        A column of the values to match; it is computed only with the result.
    exclude
        Whether to select the rows whose key is not among the values.

    Raises
    ------
    SchemaError
        If the keys are date-times with an offset from UTC and the values are without one, or the reverse.
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
    """Return a lazy column with 1 where a value is among ``values``, else 0; a missing value matches a missing value."""
    return apply_function("is_not_missing", project(with_match_counts(column, 0, values), [1]))


def with_match_counts(rows: PlannerNode, position: int, values: PlannerNode) -> PlannerNode:
    """Return the rows with one more column: how often their key occurs in ``values``; missing where it does not occur."""
    return join(rows, group_by(values, [0], [Aggregation("count", ())]), [position], [0], "left")
