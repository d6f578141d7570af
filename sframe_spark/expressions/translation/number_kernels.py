"""Kernels of numbers for a batch of rows that give Python's results bit for bit, and the rows for which they cannot."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.expressions.translation.expression_tree import BOOL, FLOAT, INT
from sframe_spark.values.plain_values import LARGEST_INT, SMALLEST_INT

# Ints up to here are floats without loss.
_EXACT = 2**53

Mask = np.ndarray | None
"""The rows for which a kernel has no result, so that Python is called; None if there is none."""


@attrs.define(eq=False)
class RowValues:
    """The results of an expression for the rows of a batch.

    Parameters
    ----------
    kind
        Their class.
    data
        A numpy array of int64, float64 or bool; an Arrow array of texts, date-times or lists; or one Python value for all rows.
    failed
        The rows without a result.
    bounds
        For ints: a lower and an upper bound of all of them; None: not known yet.
    """

    kind: str
    data: Any
    failed: Mask = None
    bounds: tuple[int, int] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether all rows have one value."""
        return not isinstance(self.data, (np.ndarray, pa.Array))

    def limits(self) -> tuple[int, int]:
        """Return bounds of ints."""
        if self.bounds is None:
            if self.kind == BOOL:
                self.bounds = (0, 1)
            elif self.is_constant:
                self.bounds = (self.data, self.data)
            elif not self.data.size:
                self.bounds = (0, 0)
            else:
                extremes = pc.min_max(pa.array(self.data))
                self.bounds = (extremes["min"].as_py(), extremes["max"].as_py())
        return self.bounds

    def ints(self) -> Any:
        """Return ints or bools as int64."""
        if self.kind != BOOL:
            return self.data
        return int(self.data) if self.is_constant else converted(self.data, np.int64)


def fresh(rows: int, dtype: Any) -> np.ndarray:
    """Return an array for results. Arrow's pool keeps memory for the next batch, which numpy gives back to the system each time."""
    return np.frombuffer(pa.allocate_buffer(rows * np.dtype(dtype).itemsize), dtype)


def converted(data: np.ndarray, dtype: Any) -> np.ndarray:
    """Return numbers in another class of numpy's."""
    result = fresh(data.size, dtype)
    np.copyto(result, data, casting="unsafe")
    return result


def computed(ufunc: Any, dtype: Any, *operands: Any) -> Any:
    """Return the results of a function of numpy of arrays and constants, at least one of which is an array."""
    rows = next(operand.size for operand in operands if isinstance(operand, np.ndarray))
    return ufunc(*operands, out=fresh(rows, dtype))


def blended(truth: np.ndarray, if_true: Any, if_false: Any) -> np.ndarray:
    """Return the values of one array or constant where a condition holds, and of another one elsewhere: bits are combined, without branches."""
    kinds = {np.asarray(side).dtype for side in (if_true, if_false)}
    if kinds == {np.dtype(bool)}:
        return np.asarray((truth & if_true) | (~truth & if_false))
    a, b = map(_bits_of, (if_true, if_false))
    chosen = converted(truth, np.int64)
    np.negative(chosen, out=chosen)
    differing = a ^ b if isinstance(a, int) and isinstance(b, int) else computed(np.bitwise_xor, np.int64, a, b)
    np.bitwise_and(chosen, differing, out=chosen)
    np.bitwise_xor(chosen, b, out=chosen)
    return chosen.view(np.float64) if np.dtype(float) in kinds else chosen


def _bits_of(side: Any) -> Any:
    """Return 64-bit numbers as ints with the same bits."""
    return side.view(np.int64) if isinstance(side, np.ndarray) else int(np.array(side).view(np.int64))


def together(*masks: Mask) -> Mask:
    """Return the rows that are in any of some masks."""
    given = [mask for mask in masks if mask is not None]
    return functools.reduce(np.logical_or, given) if given else None


def found(mask: np.ndarray) -> Mask:
    """Return a mask, or None if it has no row."""
    return mask if mask.any() else None


def as_floats(values: RowValues) -> tuple[Any, Mask]:
    """Return numbers as float64, rounded as Python rounds an int that is converted."""
    if values.kind == FLOAT:
        return values.data, values.failed
    data = values.ints()
    return (float(data) if values.is_constant else converted(data, np.float64)), values.failed


def as_exact_floats(values: RowValues) -> tuple[Any, Mask]:
    """Return numbers as float64; ints that are none without loss have no result."""
    data, failed = as_floats(values)
    if values.kind == INT:
        low, high = values.limits()
        if low < -_EXACT or high > _EXACT:
            failed = together(failed, np.asarray((values.data > _EXACT) | (values.data < -_EXACT)))
    return data, failed


def _arithmetic(ufunc: Any, bounds_of: Callable[..., tuple[int, int]], overflows: Callable[..., np.ndarray]) -> Callable[..., RowValues]:
    def kernel(left: RowValues, right: RowValues) -> RowValues:
        if FLOAT in (left.kind, right.kind):
            (a, of_a), (b, of_b) = as_floats(left), as_floats(right)
            return RowValues(FLOAT, computed(ufunc, np.float64, a, b), together(of_a, of_b))
        a, b, failed = left.ints(), right.ints(), together(left.failed, right.failed)
        bounds = bounds_of(*left.limits(), *right.limits())
        result = computed(ufunc, np.int64, a, b)
        if bounds[0] >= SMALLEST_INT and bounds[1] <= LARGEST_INT:
            return RowValues(INT, result, failed, bounds)
        return RowValues(INT, result, together(failed, found(overflows(a, b, result))))

    return kernel


def _product_bounds(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _product_overflows(a: Any, b: Any, _: Any) -> np.ndarray:
    # Rows close to the limit count, too: Python multiplies them.
    return np.asarray(np.abs(np.multiply(a, b, dtype=np.float64)) >= 2.0**63 * (1 - 1e-9))


add = _arithmetic(np.add, lambda a, b, c, d: (a + c, b + d), lambda a, b, r: ((a ^ r) & (b ^ r)) < 0)
subtract = _arithmetic(np.subtract, lambda a, b, c, d: (a - d, b - c), lambda a, b, r: ((a ^ b) & (a ^ r)) < 0)
multiply = _arithmetic(np.multiply, _product_bounds, _product_overflows)


def _zeros(divisor: RowValues) -> Mask:
    if divisor.is_constant:
        return None if divisor.data else np.array(True)
    if divisor.kind == INT:
        low, high = divisor.limits()
        if low > 0 or high < 0:
            return None
    return found(np.logical_not(divisor.data) if divisor.kind == BOOL else divisor.data == 0)


def divide(left: RowValues, right: RowValues) -> RowValues:
    """Return ``left / right``."""
    convert = as_exact_floats if FLOAT not in (left.kind, right.kind) else as_floats
    (a, of_a), (b, of_b) = convert(left), convert(right)
    return RowValues(FLOAT, computed(np.true_divide, np.float64, a, b), together(of_a, of_b, _zeros(right)))


def _division(ufunc: Any, is_quotient: bool) -> Callable[..., RowValues]:
    def kernel(left: RowValues, right: RowValues) -> RowValues:
        if FLOAT in (left.kind, right.kind):
            (a, of_a), (b, of_b) = as_floats(left), as_floats(right)
            infinite = found(np.asarray(~(np.isfinite(a) & np.isfinite(b))))
            return RowValues(FLOAT, computed(ufunc, np.float64, a, b), together(of_a, of_b, _zeros(right), infinite))
        a, b, failed = left.ints(), right.ints(), together(left.failed, right.failed, _zeros(right))
        if is_quotient and left.limits()[0] == SMALLEST_INT and right.limits()[0] <= -1 <= right.limits()[1]:
            failed = together(failed, np.asarray((a == SMALLEST_INT) & (b == -1)))
        return RowValues(INT, computed(ufunc, np.int64, a, b), failed)

    return kernel


floor_divide, remainder = _division(np.floor_divide, True), _division(np.remainder, False)


def _in_python(function: Callable[..., Any], *columns: Any) -> tuple[np.ndarray, Mask]:
    """Return the floats that a Python function gives for each row; rows for which it gives none have no result."""
    lists = [column.tolist() for column in columns]
    try:
        return np.array([*map(function, *lists)], dtype=np.float64), None
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        results, failed = np.zeros(len(lists[0])), np.zeros(len(lists[0]), dtype=bool)
        for index, values in enumerate(zip(*lists, strict=True)):
            try:
                results[index] = function(*values)
            except (ValueError, OverflowError, ZeroDivisionError, TypeError):
                failed[index] = True
        return results, failed


def power(base: RowValues, exponent: RowValues) -> RowValues:
    """Return ``base ** exponent`` for a small constant exponent; of ints, for one that is not negative."""
    if FLOAT not in (base.kind, exponent.kind):
        result = RowValues(INT, np.ones_like(base.ints()), base.failed, (1, 1))
        for _ in range(int(exponent.data)):
            result = multiply(result, base)
        return result
    floats, failed = as_floats(base)
    constant = float(exponent.data)
    results, without = _in_python(lambda value: value**constant, floats)
    return RowValues(FLOAT, results, together(failed, without))


def _bits(ufunc: Any) -> Callable[..., RowValues]:
    def kernel(left: RowValues, right: RowValues) -> RowValues:
        failed = together(left.failed, right.failed)
        if left.kind == right.kind == BOOL:
            return RowValues(BOOL, computed(ufunc, np.bool_, left.data, right.data), failed)
        return RowValues(INT, computed(ufunc, np.int64, left.ints(), right.ints()), failed)

    return kernel


def _compared(ufunc: Any) -> Callable[..., RowValues]:
    def kernel(left: RowValues, right: RowValues) -> RowValues:
        if FLOAT in (left.kind, right.kind):
            convert = as_exact_floats if left.kind != right.kind else as_floats
            (a, of_a), (b, of_b) = convert(left), convert(right)
            return RowValues(BOOL, computed(ufunc, np.bool_, a, b), together(of_a, of_b))
        a, b = (values.data if left.kind == right.kind else values.ints() for values in (left, right))
        return RowValues(BOOL, computed(ufunc, np.bool_, a, b), together(left.failed, right.failed))

    return kernel


def negative(values: RowValues) -> RowValues:
    """Return ``-values``."""
    return RowValues(FLOAT, -values.data, values.failed) if values.kind == FLOAT else subtract(RowValues(INT, 0), values)


def absolute(values: RowValues) -> RowValues:
    """Return ``abs(values)``."""
    if values.kind == FLOAT:
        return RowValues(FLOAT, np.abs(values.data), values.failed)
    data, failed = values.ints(), values.failed
    if values.limits()[0] == SMALLEST_INT:
        failed = together(failed, np.asarray(data == SMALLEST_INT))
    return RowValues(INT, np.abs(data), failed)


def positive(values: RowValues) -> RowValues:
    """Return ``+values``: of bools, ints."""
    return values if values.kind != BOOL else RowValues(INT, values.ints(), values.failed, (0, 1))


def to_float(values: RowValues) -> RowValues:
    """Return ``float(values)`` of numbers."""
    data, failed = as_floats(values)
    return RowValues(FLOAT, data, failed)


def _to_whole(ufunc: Any) -> Callable[[RowValues], RowValues]:
    def kernel(values: RowValues) -> RowValues:
        rounded = computed(ufunc, np.float64, values.data)
        outside = ~(np.abs(rounded) < 2.0**63)
        with np.errstate(invalid="ignore"):
            return RowValues(INT, converted(rounded, np.int64), together(values.failed, found(outside)))

    return kernel


def round_to_digits(values: RowValues, digits: int) -> RowValues:
    """Return ``round(values, digits)``: the float that is nearest to the decimal number that is nearest to the value.

    The product with a power of ten has an error. Where it is close to a tie, or large, Python decides.
    """
    scaled = values.data * 10.0**digits
    whole = np.rint(scaled)
    distance = np.abs(scaled - whole)
    unsure = ~((np.abs(scaled) < 2.0**51) & (np.abs(distance - 0.5) > np.abs(scaled) * 2.0**-51 + 1e-300))
    return RowValues(FLOAT, whole / 10.0**digits, together(values.failed, found(unsure)))


def text_of_number(values: RowValues) -> RowValues:
    """Return ``str(values)`` of numbers."""
    if values.kind == INT:
        return RowValues("str", pa.array(values.data).cast(pa.string()), values.failed)
    # Arrow writes floats in another way.
    return RowValues("str", pa.array([*map(repr, values.data.tolist())], pa.string()), values.failed)


# Functions of ``math``. Arrow calls the C library for each number, as Python does, where NumPy has kernels of its own with other last digits.

_ARROW = {
    "log": "ln", "log10": "log10", "log2": "log2", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos",
    "atan": "atan", "exp": "exp",
}  # fmt: skip
# Numbers for which Arrow and Python are compared before Arrow's function is used.
_TRIED = 2_000
# Where Python raises an error, though C has a number.
_OUTSIDE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sqrt": lambda x: x < 0,
    "log": lambda x: x <= 0,
    "log10": lambda x: x <= 0,
    "log2": lambda x: x <= 0,
    "log1p": lambda x: x <= -1,
    "sin": np.isinf,
    "cos": np.isinf,
    "tan": np.isinf,
    "asin": lambda x: np.abs(x) > 1,
    "acos": lambda x: np.abs(x) > 1,
    "exp": lambda x: np.abs(x) > 700,
}


@functools.cache
def _arrow_function(name: str) -> Any:
    """Return Arrow's function if it exists and gives Python's digits for many numbers here; otherwise None."""
    function = getattr(pc, _ARROW.get(name, ""), None)
    if function is None:
        return None
    numbers = random.Random(7)
    tried = [numbers.uniform(-1, 1) if name in ("asin", "acos") else math.exp(numbers.uniform(-6, 6)) for _ in range(_TRIED)]
    expected = [*map(getattr(math, name), tried)]
    return function if function(pa.array(tried)).to_pylist() == expected else None


def _of_math(name: str) -> Callable[[RowValues], RowValues]:
    def kernel(values: RowValues) -> RowValues:
        data, failed = as_floats(values)
        if name == "fabs":
            return RowValues(FLOAT, np.abs(data), failed)
        outside = _OUTSIDE[name](data) if name in _OUTSIDE else None
        failed = together(failed, None if outside is None else found(outside))
        if name == "sqrt":
            return RowValues(FLOAT, np.sqrt(data), failed)
        function = _arrow_function(name)
        if function is not None:
            return RowValues(FLOAT, function(pa.array(data)).to_numpy(zero_copy_only=False), failed)
        results, without = _in_python(getattr(math, name), data)
        return RowValues(FLOAT, results, together(failed, without))

    return kernel


def _float_test(ufunc: Any) -> Callable[[RowValues], RowValues]:
    return lambda values: RowValues(BOOL, ufunc(as_floats(values)[0]), values.failed)


NUMBER_KERNELS: dict[str, Callable[..., RowValues]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "power": power,
    "both": _bits(np.bitwise_and),
    "either": _bits(np.bitwise_or),
    "differ": _bits(np.bitwise_xor),
    "equal": _compared(np.equal),
    "unequal": _compared(np.not_equal),
    "less": _compared(np.less),
    "less_or_equal": _compared(np.less_equal),
    "greater": _compared(np.greater),
    "greater_or_equal": _compared(np.greater_equal),
    "negative": negative,
    "absolute": absolute,
    "positive": positive,
    "to_float": to_float,
    "trunc": _to_whole(np.trunc),
    "floor": _to_whole(np.floor),
    "ceil": _to_whole(np.ceil),
    "round": _to_whole(np.rint),
    "round_to_digits": round_to_digits,
    "text_of_number": text_of_number,
    "isnan": _float_test(np.isnan),
    "isinf": _float_test(np.isinf),
    "isfinite": _float_test(np.isfinite),
    **{name: _of_math(name) for name in ("sqrt", "exp", "log", "log10", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "fabs")},
}
"""Kernels by the names of operations: functions of values, and of the parameters of the operation."""
