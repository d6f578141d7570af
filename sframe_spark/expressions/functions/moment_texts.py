"""Date-times as texts of a format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.moment_parts import offsets_of, wall_clock
from sframe_spark.expressions.functions.scalar_function import define_function
from sframe_spark.types import DATETIME_KIND, STR, ColumnType
from sframe_spark.values.datetimes import moment_texts


def _infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Parameter: the format."""
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"datetime_to_str() takes date-times, and these are values of {types[0].kind}: astype(str) makes texts of them")
    return STR


def _compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return moment_texts(wall_clock(arguments[0], types[0], rows), offsets_of(arguments[0], types[0], rows), parameters[0])


define_function("moment_text", _infer, _compute)
