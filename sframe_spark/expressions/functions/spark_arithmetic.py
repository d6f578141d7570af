"""Arithmetic on Spark columns with the results of the kernels, also where Spark's own division, rounding or powers differ."""

from __future__ import annotations

from collections.abc import Callable

from sframe_spark.compute.spark_columns import Column, F

BinaryColumn = Callable[[Column, Column], Column]

# Doubles of this magnitude have no fraction.
_WHOLE = 2.0**52


def concatenate(left: Column, right: Column) -> Column:
    """Return the concatenation of two strings."""
    return F.concat(left, right)


def negate(column: Column) -> Column:
    """Return the number with the sign reversed, also of zero; the smallest int is unchanged."""
    return -column


def absolute(column: Column) -> Column:
    """Return the absolute value; the smallest int is unchanged."""
    return F.abs(column)


def divide(left: Column, right: Column) -> Column:
    """Return the quotient of doubles. In Spark ``x / 0`` is missing, so ``1 / 0`` is computed by ``pow``, which respects the sign of zero."""
    return F.when(right == 0.0, left * F.pow(right, F.lit(-1.0))).otherwise(left / right)


def floor_divide(left: Column, right: Column) -> Column:
    """Return the quotient of doubles rounded down, as a double; Spark's ``floor`` returns an int, so it is used only for quotients that fit."""
    quotient = divide(left, right)
    return F.when((F.abs(quotient) < _WHOLE) & (quotient != 0.0), F.floor(quotient).cast("double")).otherwise(quotient)


def floor_divide_ints(left: Column, right: Column) -> Column:
    """Return the quotient of ints rounded down; missing for a divisor of zero."""
    truncated = F.call_function("div", left, right)
    remainder = left % right
    return F.when((remainder != 0) & ((remainder < 0) != (right < 0)), truncated - 1).otherwise(truncated)


def modulo_ints(left: Column, right: Column) -> Column:
    """Return the remainder with the sign of the divisor; missing for a divisor of zero."""
    remainder = left % right
    return F.when((remainder != 0) & ((remainder < 0) != (right < 0)), remainder + right).otherwise(remainder)


def power(left: Column, right: Column) -> Column:
    """Return the power of doubles as C computes it; Java's result differs for the base 1, and for -1 with an infinite exponent."""
    is_one = (left == 1.0) | ((left == -1.0) & (F.abs(right) == float("inf")))
    return F.when(is_one & right.isNotNull(), F.lit(1.0)).otherwise(F.pow(left, right))


INT_COLUMNS: dict[str, BinaryColumn] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
    "floor_divide": floor_divide_ints,
    "modulo": modulo_ints,
}
FLOAT_COLUMNS: dict[str, BinaryColumn] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
    "divide": divide,
    "floor_divide": floor_divide,
    "power": power,
}
