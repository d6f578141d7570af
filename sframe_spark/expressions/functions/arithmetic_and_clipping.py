"""Arithmetic: ``+ - * / // % **``, negation, absolute value, and clipping to a range.

Ints have 64 bits and wrap around; ``/`` and ``**`` always yield floats; an int divided by the int zero (``//``, ``%``)
is missing; ``//`` and ``%`` round down as Python's do. Missing operands yield missing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.functions.datetimes import difference, difference_column, shift, shift_column
from sframe_spark.expressions.functions.scalar_function import (
    INCREASING,
    STRICTLY_INCREASING,
    Argument,
    Compute,
    Infer,
    MonotonyOf,
    are_numbers,
    array_of,
    define_function,
    float_of,
    is_finite,
    unsupported,
)
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY, ARRAY_KIND, DATETIME_KIND, FLOAT, INT, INT_KIND, NDARRAY, NDARRAY_KIND, STR, STR_KIND, ColumnType
from sframe_spark.values.ndarrays import numbers_of, shape_texts, shaped, shapes_of
from sframe_spark.values.plain_values import plain_number

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import Column, F, floor_divide_ints
    from sframe_spark.values.arrow_to_column_types import list_from_lengths
    from sframe_spark.values.column_cast import cast_array

# Spark's own division, rounding and powers differ from those of the kernels.


def _divide_column(left: Column, right: Column) -> Column:
    """Return the quotient of doubles. In Spark ``x / 0`` is missing, so ``1 / 0`` is computed by ``pow``, which respects the sign of zero."""
    return F.when(right == 0.0, left * F.pow(right, F.lit(-1.0))).otherwise(left / right)


def _floor_divide_column(left: Column, right: Column) -> Column:
    """Return the quotient of doubles rounded down, as a double; Spark's ``floor`` returns an int, so it is used only for quotients that fit."""
    quotient = _divide_column(left, right)
    has_fraction = (F.abs(quotient) < 2.0**52) & (quotient != 0.0)
    return F.when(has_fraction, F.floor(quotient).cast("double")).otherwise(quotient)


def _modulo_column(left: Column, right: Column) -> Column:
    """Return the remainder of ints with the sign of the divisor; missing for a divisor of zero."""
    remainder = left % right
    return F.when((remainder != 0) & ((remainder < 0) != (right < 0)), remainder + right).otherwise(remainder)


def _power_column(left: Column, right: Column) -> Column:
    """Return the power of doubles as C computes it; Java's result differs for the base 1, and for -1 with an infinite exponent."""
    is_one = (left == 1.0) | ((left == -1.0) & (F.abs(right) == float("inf")))
    return F.when(is_one & right.isNotNull(), F.lit(1.0)).otherwise(F.pow(left, right))


@attrs.frozen
class _Operator:
    """A binary operator: its symbol, and how it is computed for Arrow arrays, for elements of arrays (by NumPy), and for Spark columns."""

    symbol: str
    kernel: Callable[[Argument, Argument], Any] | None
    elementwise: Callable[[Any, Any], Any] | None
    column: Callable[[Column, Column], Column]


_OPERATORS = {
    "add": _Operator("+", pc.add, np.add, operator.add),
    "subtract": _Operator("-", pc.subtract, np.subtract, operator.sub),
    "multiply": _Operator("*", pc.multiply, np.multiply, operator.mul),
    "divide": _Operator("/", pc.divide, np.divide, _divide_column),
    "floor_divide": _Operator(
        "//", lambda left, right: pc.floor(pc.divide(left, right)), lambda left, right: np.floor(np.divide(left, right)), _floor_divide_column
    ),
    "modulo": _Operator("%", None, None, _modulo_column),
    "power": _Operator("**", pc.power, np.power, _power_column),
}
_OF_NDARRAYS = frozenset({"add", "subtract", "multiply", "divide"})
_INT_RESULTS = frozenset({"add", "subtract", "multiply", "floor_divide", "modulo"})
"""Operators that yield ints for ints."""


# Element-wise arithmetic on array columns, over all rows at once.


def _combine_arrays(name: str, left: Argument, right: Argument, types: Sequence[ColumnType], rows: int) -> pa.Array:
    """Apply an operator to the elements of arrays; a number is combined with every element, and arrays of different lengths give missing."""
    lengths = _common_lengths(left, right, types, rows)
    first = _elements(array_of(left, rows), lengths, types[0])
    second = _elements(array_of(right, rows), lengths, types[1])
    with np.errstate(all="ignore"):
        numbers = np.asarray(_OPERATORS[name].elementwise(first, second), dtype=np.float64)  # type: ignore[misc]
    return list_from_lengths(lengths, pa.array(numbers), ARRAY.physical)


def _combine_ndarrays(name: str, left: Argument, right: Argument, types: Sequence[ColumnType], rows: int) -> pa.Array:
    """Apply an operator to the items of arrays of numpy; a number is combined with every item.

    Raises
    ------
    UnsupportedOperationError
        If two arrays differ in their shapes.
    """
    sides = [array_of(side, rows) for side in (left, right)]
    arrays = [side for side, column_type in zip(sides, types, strict=True) if column_type == NDARRAY]
    if len(arrays) == 2:
        shapes = [shape_texts(array) for array in arrays]
        differ = pc.not_equal(*shapes).index(True).as_py()
        if differ >= 0:
            first, second = (f"({text[differ].as_py()})" for text in shapes)
            raise UnsupportedOperationError(f"row {differ}: {_OPERATORS[name].symbol} takes arrays of the same shape, not of {first} and {second}")
    vectors = [numbers_of(side) if column_type == NDARRAY else side for side, column_type in zip(sides, types, strict=True)]
    kinds = [ARRAY if column_type == NDARRAY else column_type for column_type in types]
    combined = _combine_arrays(name, vectors[0], vectors[1], kinds, rows)
    return shaped(combined, shapes_of(arrays[0]), combined.is_null())


def map_array(values: pa.Array, operation: Callable[[Any], Any]) -> pa.Array:
    """Apply a NumPy operation to every element of arrays."""
    lengths = pc.list_value_length(values)
    numbers = operation(_elements(values, lengths, ARRAY))
    return list_from_lengths(lengths, pa.array(np.asarray(numbers, dtype=np.float64)), ARRAY.physical)


def _common_lengths(left: Argument, right: Argument, types: Sequence[ColumnType], rows: int) -> pa.Array:
    """Return the length of each resulting array: null where a side is missing or the lengths differ."""
    sides = zip((left, right), types, strict=True)
    first, second = (pc.list_value_length(array_of(side, rows)) if kind.kind == ARRAY_KIND else None for side, kind in sides)
    if first is not None and second is not None:
        return if_else(pc.equal(first, second), first, pa.scalar(None, pa.int32()))
    array_lengths, number = (first, right) if first is not None else (second, left)
    return if_else(array_of(number, rows).is_valid(), array_lengths, pa.scalar(None, pa.int32()))


def _elements(values: pa.Array, lengths: pa.Array, column_type: ColumnType) -> np.ndarray:
    """Return the concatenated elements of the rows that have a result; a number is repeated to the length of the result."""
    has_result = lengths.is_valid()
    if column_type.kind == ARRAY_KIND:
        cells = values.filter(has_result) if lengths.null_count else values
        return cells.flatten().fill_null(float("nan")).to_numpy(zero_copy_only=False)
    numbers = float_of(values.filter(has_result)).to_numpy(zero_copy_only=False)
    return np.repeat(numbers, lengths.filter(has_result).to_numpy(zero_copy_only=False))


def _infer_binary(name: str) -> Infer:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        left, right = types
        kinds = (left.kind, right.kind)
        if are_numbers(types) and (name != "modulo" or kinds == (INT_KIND, INT_KIND)):
            return INT if name in _INT_RESULTS and kinds == (INT_KIND, INT_KIND) else FLOAT
        if name != "modulo" and ARRAY_KIND in kinds and all(t.is_numeric or t.kind == ARRAY_KIND for t in types):
            return ARRAY
        if name in _OF_NDARRAYS and NDARRAY_KIND in kinds and all(t.is_numeric or t == NDARRAY for t in types):
            return NDARRAY
        if name == "add" and kinds == (STR_KIND, STR_KIND):
            return STR
        if name in ("add", "subtract") and left.kind == DATETIME_KIND and right.is_numeric:
            return left
        if name == "subtract" and kinds == (DATETIME_KIND, DATETIME_KIND):
            return FLOAT
        raise unsupported(_OPERATORS[name].symbol, types)

    return infer


def _integers(argument: Argument) -> tuple[Any, Any]:
    """Split an int argument into numpy ints, 0 for missing values, and a mask of missing values; both can be broadcast."""
    if isinstance(argument, pa.Scalar):
        return np.int64(argument.as_py() if argument.is_valid else 0), np.bool_(not argument.is_valid)
    numbers = argument.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers, pc.is_null(argument).to_numpy(zero_copy_only=False) if argument.null_count else np.bool_(False)


def _masked(numbers: Any, mask: Any, rows: int) -> pa.Array:
    """Return an array from numpy numbers and a mask of missing values, both broadcast to ``rows`` entries."""
    numbers = np.broadcast_to(numbers, (rows,))
    return pa.array(numbers, mask=np.broadcast_to(mask, (rows,)) if np.any(mask) else None)


def _divide_ints(name: str, left: Argument, right: Argument, rows: int) -> pa.Array:
    (numbers, missing), (divisors, missing_divisor) = _integers(left), _integers(right)
    zero, operation = divisors == 0, np.floor_divide if name == "floor_divide" else np.remainder
    with np.errstate(all="ignore"):
        return _masked(operation(numbers, np.where(zero, 1, divisors)), missing | missing_divisor | zero, rows)


def _compute_binary(name: str) -> Compute:
    kernel, sign = _OPERATORS[name].kernel, 1 if name == "add" else -1

    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        left, right = arguments
        kinds = (types[0].kind, types[1].kind)
        if ARRAY_KIND in kinds:
            return _combine_arrays(name, left, right, types, rows)
        if NDARRAY_KIND in kinds:
            return _combine_ndarrays(name, left, right, types, rows)
        if kinds == (STR_KIND, STR_KIND):
            return pc.binary_join_element_wise(left, right, "")
        if kinds == (DATETIME_KIND, DATETIME_KIND):
            return difference(left, right, types)
        if DATETIME_KIND in kinds:
            return shift(left, right, types[0], sign, rows)
        if kinds == (INT_KIND, INT_KIND) and name in ("floor_divide", "modulo"):
            return _divide_ints(name, left, right, rows)
        if kinds != (INT_KIND, INT_KIND) or name not in _INT_RESULTS:
            left, right = float_of(left), float_of(right)
        return kernel(left, right)  # type: ignore[misc]

    return compute


def _build_binary(name: str) -> Callable[..., Column | None]:
    column, sign = _OPERATORS[name].column, 1 if name == "add" else -1

    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        left, right = columns
        kinds = (types[0].kind, types[1].kind)
        if ARRAY_KIND in kinds or NDARRAY_KIND in kinds:
            return None
        if kinds == (STR_KIND, STR_KIND):
            return F.concat(left, right)
        if kinds == (DATETIME_KIND, DATETIME_KIND):
            return difference_column(left, right, types)
        if DATETIME_KIND in kinds:
            return shift_column(left, right, types[0], sign)
        if kinds != (INT_KIND, INT_KIND) or name not in _INT_RESULTS:
            return column(left.cast("double"), right.cast("double"))
        return floor_divide_ints(left, right) if name == "floor_divide" else column(left, right)

    return build


def _is_positive_finite(value: Any) -> bool:
    """Return whether a literal is a number above zero and below infinity."""
    return isinstance(value, (int, float)) and 0 < value < float("inf")


def _monotone_binary(name: str) -> MonotonyOf:
    """Return the ``monotone`` of a binary operation on a column and a literal.

    Ints wrap around, so addition to an int promises nothing. A decreasing result would keep NaN behind the numbers,
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
        if name in ("divide", "floor_divide"):
            keeps_order = _is_positive_finite(constant)
        elif name == "multiply":
            keeps_order = FLOAT in types and (_is_positive_finite(literals[0]) or _is_positive_finite(constant))
        else:
            keeps_order = FLOAT in types and (is_finite(constant) or (name == "add" and is_finite(literals[0])))
        return INCREASING if keeps_order else None

    return monotone


def _infer_unary(symbol: str) -> Infer:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if types[0].is_numeric or types[0].kind == ARRAY_KIND or (types[0] == NDARRAY and symbol == "-"):
            return types[0].of_values
        raise unsupported(symbol, types)

    return infer


def _compute_unary(of_numbers: Callable[[Argument], Any], of_elements: Callable[[Any], Any]) -> Compute:
    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        if types[0].kind == ARRAY_KIND:
            return map_array(array_of(arguments[0], rows), of_elements)
        if types[0] == NDARRAY:
            values = array_of(arguments[0], rows)
            return shaped(map_array(numbers_of(values), of_elements), shapes_of(values), values.is_null())
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
        return _divide_ints("floor_divide", arguments[0], arguments[1], rows)
    quotients = pc.floor(pc.divide(float_of(arguments[0]), float_of(arguments[1])))
    return cast_array(array_of(quotients, rows), FLOAT, INT)


def _build_reverse_floor_divide(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return floor_divide_ints(*columns) if tuple(types) == (INT, INT) else None


for _name in _OPERATORS:
    define_function(
        _name,
        _infer_binary(_name),
        _compute_binary(_name),
        _build_binary(_name),
        None if _name in ("modulo", "power") else _monotone_binary(_name),
    )
define_function(
    "reverse_floor_divide",  # a literal // a column: as in SFrame, an int for all types
    _infer_reverse_floor_divide,
    _compute_reverse_floor_divide,
    _build_reverse_floor_divide,
)
define_function("negate", _infer_unary("-"), _compute_unary(pc.negate, np.negative), _build_unary(operator.neg))
define_function("absolute", _infer_unary("abs"), _compute_unary(pc.abs, np.abs), _build_unary(lambda column: F.abs(column)))
define_function(
    "positive",
    _infer_unary("+"),
    _compute_unary(lambda values: values, lambda values: values),
    _build_unary(lambda column: column),
    lambda types, literals: STRICTLY_INCREASING if types[0].is_numeric else None,
)


# Clipping numbers to a range.


def _bounds(parameters: tuple[Any, ...]) -> tuple[int | float | None, int | float | None]:
    """Return the lower and the upper bound; a bound is None if the parameter is None or NaN.

    Raises
    ------
    UnsupportedOperationError
        If a bound is not a number, or the lower bound is above the upper bound.
    BeyondRangeError
        If a bound is an int beyond the largest float.
    """
    lower, upper = (_bound(value) for value in parameters)
    if lower is not None and upper is not None and lower > upper:
        raise UnsupportedOperationError(f"the lower limit {brief(lower)} is above the upper limit {brief(upper)}")
    return lower, upper


def _bound(value: Any) -> int | float | None:
    if value is not None and not isinstance(value, (int, float)):
        raise UnsupportedOperationError(f"limits must be numbers, not {type(value).__name__}")
    if value is None or value != value:
        return None
    # An int stays an int, which a float may not represent; plain_number() raises for one beyond the largest float.
    plain_number(value)
    return int(value) if isinstance(value, bool) else value


def _int_bounds(parameters: tuple[Any, ...]) -> tuple[int | None, int | None]:
    """Return both bounds for an int column; None for a bound that every int satisfies.

    Raises
    ------
    UnsupportedOperationError
        If no int satisfies a bound.
    """
    lower, upper = _bounds(parameters)
    if (lower is not None and lower >= 2**63) or (upper is not None and upper < -(2**63)):
        raise UnsupportedOperationError(
            f"no int of 64 bits lies between the limits {brief(lower)} and {brief(upper)}: convert the column to float first"
        )
    return (None if lower is None or lower < -(2**63) else int(lower), None if upper is None or upper >= 2**63 else int(upper))


def _float_bounds(parameters: tuple[Any, ...]) -> tuple[float | None, float | None]:
    """Return both bounds for a float column."""
    lower, upper = _bounds(parameters)
    return None if lower is None else float(lower), None if upper is None else float(upper)


def _infer_clip(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result: an int column stays int unless a bound is a float (or NaN)."""
    _bounds(parameters)
    if types[0].kind == ARRAY_KIND:
        return types[0]
    if not types[0].is_numeric:
        raise unsupported("clip", types)
    if types[0] != INT or any(isinstance(value, float) for value in parameters):
        return FLOAT
    _int_bounds(parameters)
    return INT


def _compute_clip(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    values = array_of(arguments[0], rows)
    if types[0].kind == ARRAY_KIND:
        return map_array(values, lambda elements: _clipped_elements(elements, _float_bounds(parameters)))
    if _infer_clip(types, parameters) == INT:
        return _clipped(values, _int_bounds(parameters))
    return _clipped(float_of(values), _float_bounds(parameters))


def _clipped(values: pa.Array, bounds: tuple[int | float | None, int | float | None]) -> pa.Array:
    # Comparisons with NaN are false, so it stays.
    for bound, is_outside in zip(bounds, (pc.less, pc.greater), strict=True):
        if bound is not None:
            limit = pa.scalar(bound, values.type)
            values = if_else(is_outside(values, limit), limit, values)
    return values


def _clipped_elements(elements: np.ndarray, bounds: tuple[float | None, float | None]) -> np.ndarray:
    for bound, is_outside in zip(bounds, (np.less, np.greater), strict=True):
        if bound is not None:
            elements = np.where(is_outside(elements, bound), bound, elements)
    return elements


def _build_clip(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0].kind == ARRAY_KIND:
        return None
    spark_type = "bigint" if _infer_clip(types, parameters) == INT else "double"
    lower, upper = _int_bounds(parameters) if spark_type == "bigint" else _float_bounds(parameters)
    column = columns[0].cast(spark_type)
    if lower is not None:
        limit = F.lit(lower).cast(spark_type)
        column = F.when(column < limit, limit).otherwise(column)
    if upper is not None:
        limit = F.lit(upper).cast(spark_type)
        above = column > limit
        if spark_type == "double":
            above = above & ~F.isnan(column)  # Spark has NaN above every number
        column = F.when(above, limit).otherwise(column)
    return column


def _monotone_clip(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    """Return the ``monotone`` of clipping: increasing for numbers, unless a bound is NaN."""
    return INCREASING if types[0].is_numeric and all(bound is None or bound == bound for bound in literals[1:]) else None


define_function("clip", _infer_clip, _compute_clip, _build_clip, _monotone_clip)
