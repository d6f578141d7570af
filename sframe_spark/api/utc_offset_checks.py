"""Refuses to compare date-times that have an offset from UTC with date-times that have none."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate
from sframe_spark.errors import SchemaError, SFrameError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND

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
