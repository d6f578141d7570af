"""Date-times with and without an offset from UTC, which are never the same key: told, where silence would match nothing."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.errors import SchemaError, SFrameError
from sframe_spark.types import DATETIME_KIND, ColumnType

WHAT_TO_DO = "give both an offset, with column.apply(lambda moment: moment.replace(tzinfo=datetime.timezone.utc)), or neither"


def require_one_clock(left: ColumnType, right: ColumnType, what: str, refusal: type[SFrameError] = SchemaError) -> None:
    """Refuse keys of which those of one side only have an offset.

    Raises
    ------
    SFrameError
        Of the class ``refusal``, if they have.

    Examples
    --------
    >>> from sframe_spark.types import DATETIME, ZONED_DATETIME
    >>> require_one_clock(DATETIME, DATETIME, "day")
    >>> require_one_clock(DATETIME, ZONED_DATETIME, "day")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.SchemaError: day: date-times with and without an offset from UTC are never equal: give both an offset, ...
    """
    if left.kind == right.kind == DATETIME_KIND and left.is_zoned != right.is_zoned:
        raise refusal(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


def require_clock_of_values(column: ColumnType, values: Iterable[Any], what: str) -> None:
    """Refuse values to look for that all have an offset where the column has none, or the other way round.

    Raises
    ------
    SchemaError
        If that is so.
    """
    if column.kind != DATETIME_KIND:
        return
    with_offset = {has_offset(value) for value in values} - {None}
    if with_offset == {not column.is_zoned}:
        raise SchemaError(f"{what}: date-times with and without an offset from UTC are never equal: {WHAT_TO_DO}")


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
