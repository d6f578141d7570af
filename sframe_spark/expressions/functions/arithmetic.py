"""Arithmetic: ``+ - * / // % **``, negation, absolute value.

Ints have 64 bits and wrap around; ``/`` and ``**`` always yield floats; an int divided by the int zero (``//``, ``%``)
is missing; ``//`` and ``%`` round down as Python's do. Missing operands yield missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.expressions.functions import spark_arithmetic as columns_of
from sframe_spark.expressions.functions.arrays import combine_arrays, map_array
from sframe_spark.expressions.functions.base import Argument, Infer
from sframe_spark.expressions.functions.datetimes import difference, difference_column, shift, shift_column
from sframe_spark.expressions.functions.scalar_function import (
    INCREASING,
    STRICTLY_INCREASING,
    Compute,
    MonotonyOf,
    are_numbers,
    array_of,
    define_function,
    float_of,
    integers,
    is_finite,
    is_positive_finite,
    masked,
    unsupported,
)
from sframe_spark.types import ARRAY, ARRAY_KIND, DATETIME_KIND, FLOAT, INT, INT_KIND, STR, STR_KIND, ColumnType
from sframe_spark.values.cast import cast_array

if TYPE_CHECKING:
    from pyspark.sql import Column

_INT_RESULTS = frozenset({"add", "subtract", "multiply", "floor_divide", "modulo"})
_SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "modulo": "%",
    "power": "**",
}


def _infer_binary(name: str) -> Infer:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        left, right = types
        kinds = (left.kind, right.kind)
        if are_numbers(types) and (name != "modulo" or kinds == (INT_KIND, INT_KIND)):
            return INT if name in _INT_RESULTS and kinds == (INT_KIND, INT_KIND) else FLOAT
        if name != "modulo" and ARRAY_KIND in kinds and all(t.is_numeric or t.kind == ARRAY_KIND for t in types):
            return ARRAY
        if name == "add" and kinds == (STR_KIND, STR_KIND):
            return STR
        if name in ("add", "subtract") and left.kind == DATETIME_KIND and right.is_numeric:
            return left
        if name == "subtract" and kinds == (DATETIME_KIND, DATETIME_KIND):
            return FLOAT
        raise unsupported(_SYMBOLS[name], types)

    return infer


def _floor_divide_ints(left: Argument, right: Argument, rows: int) -> pa.Array:
    return _divide_ints(np.floor_divide, left, right, rows)


def _modulo_ints(left: Argument, right: Argument, rows: int) -> pa.Array:
    return _divide_ints(np.remainder, left, right, rows)


def _divide_ints(operation: Callable[[Any, Any], Any], left: Argument, right: Argument, rows: int) -> pa.Array:
    (numbers, missing), (divisors, missing_divisor) = integers(left), integers(right)
    zero = divisors == 0
    with np.errstate(all="ignore"):
        return masked(operation(numbers, np.where(zero, 1, divisors)), missing | missing_divisor | zero, rows)


_INT_KERNELS: dict[str, Callable[[Argument, Argument, int], Any]] = {
    "add": lambda left, right, rows: pc.add(left, right),
    "subtract": lambda left, right, rows: pc.subtract(left, right),
    "multiply": lambda left, right, rows: pc.multiply(left, right),
    "floor_divide": _floor_divide_ints,
    "modulo": _modulo_ints,
}
_FLOAT_KERNELS: dict[str, Callable[[Argument, Argument], Any]] = {
    "add": pc.add,
    "subtract": pc.subtract,
    "multiply": pc.multiply,
    "divide": pc.divide,
    "floor_divide": lambda left, right: pc.floor(pc.divide(left, right)),
    "power": pc.power,
}
_ARRAY_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "floor_divide": lambda left, right: np.floor(np.divide(left, right)),
    "power": np.power,
}


def _compute_binary(name: str) -> Compute:
    sign = 1 if name == "add" else -1

    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        left, right = arguments
        pair = (types[0], types[1])
        kinds = (types[0].kind, types[1].kind)
        if ARRAY_KIND in kinds:
            return combine_arrays(left, right, pair, _ARRAY_KERNELS[name], rows)
        if kinds == (STR_KIND, STR_KIND):
            return pc.binary_join_element_wise(left, right, "")
        if kinds == (DATETIME_KIND, DATETIME_KIND):
            return difference(left, right, pair)
        if DATETIME_KIND in kinds:
            return shift(left, right, types[0], sign, rows)
        if kinds == (INT_KIND, INT_KIND) and name in _INT_RESULTS:
            return _INT_KERNELS[name](left, right, rows)
        return _FLOAT_KERNELS[name](float_of(left), float_of(right))

    return compute


def _build_binary(name: str) -> Callable[..., Column | None]:
    sign = 1 if name == "add" else -1

    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        left, right = columns
        kinds = (types[0].kind, types[1].kind)
        if ARRAY_KIND in kinds:
            return None
        if kinds == (STR_KIND, STR_KIND):
            return columns_of.concatenate(left, right)
        if kinds == (DATETIME_KIND, DATETIME_KIND):
            return difference_column(left, right, (types[0], types[1]))
        if DATETIME_KIND in kinds:
            return shift_column(left, right, types[0], sign)
        if kinds == (INT_KIND, INT_KIND) and name in _INT_RESULTS:
            return columns_of.INT_COLUMNS[name](left, right)
        return columns_of.FLOAT_COLUMNS[name](left.cast("double"), right.cast("double"))

    return build


def _monotone_binary(name: str) -> MonotonyOf:
    """Order facts of a column combined with a literal.

    Ints wrap around, so adding to one promises nothing. A decreasing result would keep NaN behind the numbers,
    which no descending order does, so nothing is promised there either.
    """

    def monotone(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
        left, right = types
        constant = literals[1]
        if left.kind == DATETIME_KIND and name in ("add", "subtract") and is_finite(constant):
            return STRICTLY_INCREASING
        if name == "add" and left.kind == right.kind == STR_KIND and literals[0] is not None:
            return STRICTLY_INCREASING
        if not are_numbers(types):
            return None
        floats = FLOAT in types
        if name == "add" and floats and (is_finite(literals[0]) or is_finite(constant)):
            return INCREASING
        if name == "subtract" and floats and is_finite(constant):
            return INCREASING
        if name == "multiply" and floats and (is_positive_finite(literals[0]) or is_positive_finite(constant)):
            return INCREASING
        if name in ("divide", "floor_divide") and is_positive_finite(constant):
            return INCREASING
        return None

    return monotone


def _infer_unary(symbol: str) -> Infer:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if types[0].is_numeric or types[0].kind == ARRAY_KIND:
            return types[0].of_values
        raise unsupported(symbol, types)

    return infer


def _compute_unary(of_numbers: Callable[[Argument], Any], of_elements: Callable[[Any], Any]) -> Compute:
    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        if types[0].kind == ARRAY_KIND:
            return map_array(array_of(arguments[0], rows), of_elements)
        return of_numbers(arguments[0])

    return compute


def _build_unary(of_number: Callable[[Column], Column]) -> Callable[..., Column | None]:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        return of_number(columns[0]) if types[0].is_numeric else None

    return build


def _infer_reverse_floor_divide(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if are_numbers(types):
        return INT
    raise unsupported("//", types)


def _compute_reverse_floor_divide(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    if tuple(types) == (INT, INT):
        return _floor_divide_ints(arguments[0], arguments[1], rows)
    quotients = pc.floor(pc.divide(float_of(arguments[0]), float_of(arguments[1])))
    return cast_array(array_of(quotients, rows), FLOAT, INT)


def _build_reverse_floor_divide(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return columns_of.INT_COLUMNS["floor_divide"](*columns) if tuple(types) == (INT, INT) else None


for _name in _SYMBOLS:
    define_function(
        _name,
        _infer_binary(_name),
        _compute_binary(_name),
        _build_binary(_name),
        None if _name in ("modulo", "power") else _monotone_binary(_name),
    )
define_function(
    "reverse_floor_divide",  # a literal // a column, which the reference makes an int whatever the types
    _infer_reverse_floor_divide,
    _compute_reverse_floor_divide,
    _build_reverse_floor_divide,
)
define_function("negate", _infer_unary("-"), _compute_unary(pc.negate, np.negative), _build_unary(columns_of.negate))
define_function("absolute", _infer_unary("abs"), _compute_unary(pc.abs, np.abs), _build_unary(columns_of.absolute))
define_function(
    "positive",
    _infer_unary("+"),
    _compute_unary(lambda values: values, lambda values: values),
    _build_unary(lambda column: column),
    lambda types, literals: STRICTLY_INCREASING if types[0].is_numeric else None,
)
