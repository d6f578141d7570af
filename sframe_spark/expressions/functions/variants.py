"""Lists and dicts of mixed values as the JSON that Spark makes VARIANTs of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.scalar_function import array_of, define_function
from sframe_spark.types import STR, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.variant import variant_text


def _infer_text(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if not types[0].is_encoded:
        raise SchemaError(f"only lists and dicts of mixed values become VARIANTs, not {types[0]}")
    return STR


def _compute_text(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    cells = decode(array_of(arguments[0], rows), types[0])
    return pa.array([None if cell is None else variant_text(cell) for cell in cells], STR.physical)


# Two keys may be one text, and a stored text damaged.
define_function("variant_text", _infer_text, _compute_text, may_fail=True)
