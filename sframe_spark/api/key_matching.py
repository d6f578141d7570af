"""Date-times with and without an offset from UTC, which are never the same key: told, where silence would match nothing."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.engine.runs.materialize import iterate
from sframe_spark.errors import SchemaError, SFrameError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND

WHAT_TO_DO = "give both an offset, with column.apply(lambda moment: moment.replace(tzinfo=datetime.timezone.utc)), or neither"


def require_one_clock(left: PlannerNode, right: PlannerNode, what: str, refusal: type[SFrameError] = SchemaError) -> None:
    """Refuse columns of keys of which those of one have an offset, all of them, and those of the other none.

    Where the types leave it open, the values are gone through: a column of date-times with an offset may have some without.

    Raises
    ------
    SFrameError
        Of the class ``refusal``, if they have.
    """
    a, b = left.schema[0], right.schema[0]
    if a.kind == b.kind == DATETIME_KIND and a.is_zoned != b.is_zoned and all_have_offsets(left if a.is_zoned else right):
        raise refusal(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


def require_clock_of_values(column: PlannerNode, values: Iterable[Any], what: str) -> None:
    """Refuse values to look for that all have an offset where the column has none, or the other way round.

    Raises
    ------
    SchemaError
        If that is so.
    """
    column_type = column.schema[0]
    if column_type.kind != DATETIME_KIND:
        return
    with_offset = {has_offset(value) for value in values} - {None}
    if with_offset == {not column_type.is_zoned} and (not column_type.is_zoned or all_have_offsets(column)):
        raise SchemaError(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


def all_have_offsets(column: PlannerNode) -> bool:
    """Go through the values of a column of date-times with an offset, until one has none; False where there are no values."""
    found = False
    for chunk in iterate(column):
        values = chunk.columns[0]
        offsets = values.field("offset").filter(values.is_valid())
        if offsets.null_count:
            return False
        found = found or len(offsets) > 0
    return found


def has_offset(value: Any) -> bool | None:
    """Whether a date-time has an offset from UTC; None for what is no date-time.

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
