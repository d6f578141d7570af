"""Refuses to compare date-times with and without an offset from UTC."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np

from sframe_spark.api.node_value_conversion import recoded_column
from sframe_spark.errors import SchemaError, SFrameError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import column_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, ZONED_DATETIME

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate

WHAT_TO_DO = "give both an offset, with column.from_zone('UTC'), or neither"


def require_comparable_offsets(left: PlannerNode, right: PlannerNode, what: str, refusal: type[SFrameError] = SchemaError) -> None:
    """Raise an error if both keys are columns of date-times, and all in one have an offset from UTC while the other has no offsets.

    A column whose type allows offsets may also contain date-times without one. So its values are read before the error is raised.

    Raises
    ------
    SFrameError
        The class that ``refusal`` gives, if the two columns can never match. The message begins with ``what``.
    """
    a, b = left.schema[0], right.schema[0]
    if a.kind != DATETIME_KIND or b.kind != DATETIME_KIND or a.is_zoned == b.is_zoned:
        return
    zoned, unzoned = (left, right) if a.is_zoned else (right, left)
    if all_have_offsets(zoned) and has_values(unzoned):
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


def with_alike_offsets(left: PlannerNode, a: int, right: PlannerNode, b: int) -> tuple[PlannerNode, PlannerNode]:
    """Return two nodes whose columns ``a`` and ``b`` are of one type, if these are date-times that can be compared.

    A column whose type allows no offsets may have no values, and one whose type allows them may have no offsets. So values are read where types
    differ.
    """
    first, second = left.schema[a], right.schema[b]
    if first.kind != DATETIME_KIND or second.kind != DATETIME_KIND or first.is_zoned == second.is_zoned:
        return left, right
    zoned, unzoned = column_of(left, a), column_of(right, b)
    if second.is_zoned:
        zoned, unzoned = unzoned, zoned
    if has_values(unzoned) and has_offsets(zoned):
        return left, right
    return recoded_column(left, a, ZONED_DATETIME), recoded_column(right, b, ZONED_DATETIME)


def has_values(column: PlannerNode) -> bool:
    """Return whether a column has a value that is not missing; reading stops at the first one."""
    return any(chunk.columns[0].null_count < chunk.rows for chunk in iterate(column))


def has_offsets(column: PlannerNode) -> bool:
    """Return whether a date-time of a column whose type allows offsets has one; reading stops at the first one."""
    return any(
        pc.any(pc.and_(chunk.columns[0].is_valid(), pc.struct_field(chunk.columns[0], "offset").is_valid())).as_py() for chunk in iterate(column)
    )


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
