"""Elementwise mathematics: NumPy's functions of one number and of two, by its names and with its answers.

A table has a line for each. Ints are computed as floats, unless the line says that ints stay ints. Missing stays missing and NaN stays NaN; what
has no number is -inf, inf or NaN as in NumPy, without an error and without its warning. Functions of one number also take arrays, whose elements
they compute.

The kernel is NumPy's. Functions have a Spark column only where Java's last digits are the same. For others they are not: of 8,000 numbers around 0
they differed for 15 (``sin``) to 2,805 (``tanh``), 785 for ``exp`` and 410 for ``log`` (Spark 4.3, NumPy 2.4). These run as kernels in Spark's tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.functions.arithmetic_and_clipping import map_array
from sframe_spark.expressions.functions.function_families import FamilyFunction, by_name
from sframe_spark.expressions.functions.scalar_function import INCREASING, Argument, are_numbers, array_of, define_function, unsupported
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY, ARRAY_KIND, FLOAT, INT, LOGICAL, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.key_runs import raw_numbers
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
    from sframe_spark.compute.spark_columns import Column, F

# What ints become ints by, and the same of a Spark column.
_OF_INTS: dict[np.ufunc, Callable[[Column], Column]] = {
    np.positive: lambda number: number,
    np.sign: lambda number: F.signum(number).cast("bigint"),
    np.square: lambda number: number * number,
}


@attrs.frozen(kw_only=True)
class NumberFunction(FamilyFunction):
    """A line of the table of functions of one number.

    Parameters
    ----------
    ufunc
        NumPy's function, which computes all rows, and which users may call with a column.
    of_ints
        NumPy's function that computes ints of ints; None: they are computed as floats.
    is_truth
        Whether it gives 1 for true and 0 for false.
    column
        The same of a Spark column of doubles; None if Spark's answers differ.
    keeps_order
        Whether rows in ascending order, NaN last, remain so. True only where rounding cannot change it.
    """

    ufunc: np.ufunc
    of_ints: np.ufunc | None = None
    is_truth: bool = False
    column: Callable[[Column], Column] | None = None
    keeps_order: bool = False


def _line(
    ufunc: np.ufunc,
    summary: str,
    values: str,
    printed: str,
    *,
    of_ints: np.ufunc | None = None,
    is_truth: bool = False,
    column: Callable[[Column], Column] | None = None,
    keeps_order: bool = False,
) -> NumberFunction:
    """Return a line whose name is that of NumPy's function; the example calls it on a column of some values."""
    name = ufunc.__name__
    return NumberFunction(
        name=name,
        summary=summary,
        example=(f"SArray({values}).{name}()", printed),
        function=name,
        ufunc=ufunc,
        of_ints=of_ints,
        is_truth=is_truth,
        column=column,
        keeps_order=keeps_order,
        other_names=_OTHER_NAMES.get(name, ""),
    )


def _floor_column(number: Column) -> Column:
    """Return the number rounded down, as a double: Spark's ``floor`` is an int, which has no infinity, and no zero with a sign."""
    rounded = F.rint(number)
    return F.when(rounded > number, rounded - 1.0).otherwise(rounded)


def _ceil_column(number: Column) -> Column:
    return -_floor_column(-number)


def _truth_column(truth: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda number: F.when(number.isNotNull(), truth(number))


_OTHER_NAMES = {
    "log": "ln",
    "sign": "signum",
    "ceil": "ceiling",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "degrees": "toDegrees rad2deg",
    "radians": "toRadians deg2rad",
    "isnan": "is_nan",
    "isinf": "is_infinite",
    "isfinite": "is_finite",
}
_DEGREES, _RADIANS = 180.0 / math.pi, math.pi / 180.0

NUMBER_FUNCTIONS = by_name(
    [
        _line(np.exp, "Return e to the power of each number.", "[0, 1, None]", "[1.0, 2.718281828459045, None]"),
        _line(np.exp2, "Return 2 to the power of each number.", "[3, -1, None]", "[8.0, 0.5, None]"),
        _line(np.expm1, "Return e to the power of each number, minus 1, exact for numbers close to 0.", "[0, 1e-12]", "[0.0, 1.0000000000005e-12]"),
        _line(np.log, "Return the natural logarithm of each number: -inf for 0, NaN below 0.", "[1, 0, -1, None]", "[0.0, -inf, nan, None]"),
        _line(np.log2, "Return the logarithm to base 2 of each number: -inf for 0, NaN below 0.", "[8, 0, None]", "[3.0, -inf, None]"),
        _line(np.log10, "Return the logarithm to base 10 of each number: -inf for 0, NaN below 0.", "[1000, 0, None]", "[3.0, -inf, None]"),
        _line(np.log1p, "Return the natural logarithm of 1 plus each number, exact for numbers close to 0.", "[0, 1e-20, -1]", "[0.0, 1e-20, -inf]"),
        _line(
            np.sqrt, "Return the square root of each number: NaN for numbers below 0.", "[4, 2.25, -1]", "[2.0, 1.5, nan]", column=lambda x: F.sqrt(x)
        ),
        _line(np.cbrt, "Return the cube root of each number.", "[8, -27]", "[2.0, -3.0]"),
        _line(
            np.square,
            "Return the square of each number; ints stay ints.",
            "[3, -4, None]",
            "[9, 16, None]",
            of_ints=np.square,
            column=lambda x: x * x,
        ),
        _line(np.reciprocal, "Return 1 divided by each number: inf for 0.", "[4, 0, None]", "[0.25, inf, None]"),
        _line(
            np.sign,
            "Return -1, 0 or 1 by the sign of each number; ints stay ints.",
            "[-2.5, 0.0, 7.0]",
            "[-1.0, 0.0, 1.0]",
            of_ints=np.sign,
            # The sum makes 0.0 of -0.0, as NumPy does.
            column=lambda x: F.signum(x) + F.lit(0.0),
            keeps_order=True,
        ),
        _line(
            np.floor,
            "Return each number rounded down, as a float; ints stay ints.",
            "[1.7, -1.2, None]",
            "[1.0, -2.0, None]",
            of_ints=np.positive,
            column=_floor_column,
            keeps_order=True,
        ),
        _line(
            np.ceil,
            "Return each number rounded up, as a float; ints stay ints.",
            "[1.2, -1.7, None]",
            "[2.0, -1.0, None]",
            of_ints=np.positive,
            column=_ceil_column,
            keeps_order=True,
        ),
        _line(
            np.trunc,
            "Return each number without its fraction, as a float; ints stay ints.",
            "[1.7, -1.7, None]",
            "[1.0, -1.0, None]",
            of_ints=np.positive,
            column=lambda x: F.when(x < 0.0, _ceil_column(x)).otherwise(_floor_column(x)),
            keeps_order=True,
        ),
        _line(np.sin, "Return the sine of each angle in radians.", "[0, None]", "[0.0, None]"),
        _line(np.cos, "Return the cosine of each angle in radians.", "[0, None]", "[1.0, None]"),
        _line(np.tan, "Return the tangent of each angle in radians.", "[0, None]", "[0.0, None]"),
        _line(np.arcsin, "Return the angle in radians that has each number as its sine: NaN outside -1 to 1.", "[0, 2]", "[0.0, nan]"),
        _line(np.arccos, "Return the angle in radians that has each number as its cosine: NaN outside -1 to 1.", "[1, 2]", "[0.0, nan]"),
        _line(np.arctan, "Return the angle in radians that has each number as its tangent.", "[0, None]", "[0.0, None]"),
        _line(np.sinh, "Return the hyperbolic sine of each number.", "[0, None]", "[0.0, None]"),
        _line(np.cosh, "Return the hyperbolic cosine of each number.", "[0, None]", "[1.0, None]"),
        _line(np.tanh, "Return the hyperbolic tangent of each number.", "[0, None]", "[0.0, None]"),
        _line(np.arcsinh, "Return the number that has each number as its hyperbolic sine.", "[0, None]", "[0.0, None]"),
        _line(np.arccosh, "Return the number that has each number as its hyperbolic cosine: NaN for numbers below 1.", "[1, 0]", "[0.0, nan]"),
        _line(np.arctanh, "Return the number that has each number as its hyperbolic tangent: NaN outside -1 to 1.", "[0, 1, 2]", "[0.0, inf, nan]"),
        _line(
            np.degrees,
            "Return each angle, given in radians, in degrees.",
            "[0, 3.141592653589793]",
            "[0.0, 180.0]",
            column=lambda x: x * F.lit(_DEGREES),
            keeps_order=True,
        ),
        _line(
            np.radians,
            "Return each angle, given in degrees, in radians.",
            "[0, 180]",
            "[0.0, 3.141592653589793]",
            column=lambda x: x * F.lit(_RADIANS),
            keeps_order=True,
        ),
        _line(
            np.isnan,
            "Return 1 if a number is NaN, else 0; missing stays missing.",
            "[1.5, float('nan'), None]",
            "[0, 1, None]",
            is_truth=True,
            column=_truth_column(lambda x: F.isnan(x)),
        ),
        _line(
            np.isinf,
            "Return 1 if a number is infinite, else 0; missing stays missing.",
            "[1.5, float('-inf'), None]",
            "[0, 1, None]",
            is_truth=True,
            column=_truth_column(lambda x: F.abs(x) == math.inf),
        ),
        _line(
            np.isfinite,
            "Return 1 if a number is neither NaN nor infinite, else 0; missing stays missing.",
            "[1.5, float('nan'), None]",
            "[1, 0, None]",
            is_truth=True,
            column=_truth_column(lambda x: F.abs(x) < math.inf),
        ),
    ]
)
"""Functions of one number by name, which are methods of columns."""


@attrs.frozen
class PairFunction:
    """A line of the table of functions of two numbers, of which one may be the same for all rows.

    Parameters
    ----------
    ufunc
        NumPy's function, which users call.
    summary
        What it returns.
    ints_stay
        Whether two ints give an int.
    """

    ufunc: np.ufunc
    summary: str
    ints_stay: bool = False

    @property
    def name(self) -> str:
        """The name of the scalar function, which is NumPy's."""
        return str(self.ufunc.__name__)


PAIR_FUNCTIONS = {
    line.name: line
    for line in (
        PairFunction(np.arctan2, "the angle in radians of the point with the second number as x and the first as y"),
        PairFunction(np.copysign, "the first number with the sign of the second"),
        PairFunction(np.fmax, "the larger of two numbers; if one is NaN, the other", ints_stay=True),
        PairFunction(np.fmin, "the smaller of two numbers; if one is NaN, the other", ints_stay=True),
        PairFunction(np.fmod, "the remainder of a division, with the sign of the first number; NaN for a divisor of 0"),
        PairFunction(np.heaviside, "0 for a first number below 0, 1 for one above, and the second number for 0"),
        PairFunction(np.hypot, "the length of the hypotenuse of a right triangle"),
        PairFunction(np.logaddexp, "the logarithm of the sum of two numbers whose logarithms are given"),
        PairFunction(np.logaddexp2, "the logarithm to base 2 of the sum of two numbers whose logarithms to base 2 are given"),
        PairFunction(np.maximum, "the larger of two numbers; NaN if one is NaN", ints_stay=True),
        PairFunction(np.minimum, "the smaller of two numbers; NaN if one is NaN", ints_stay=True),
        PairFunction(np.nextafter, "the next float after the first number towards the second"),
        PairFunction(np.remainder, "the remainder of a division, with the sign of the second number; NaN for a divisor of 0"),
    )
}
"""Functions of two numbers by name."""


def _numbers(argument: Argument, as_floats: bool) -> tuple[Any, pa.BooleanArray | pa.BooleanScalar | None]:
    """Return the numbers for NumPy, arbitrary ones where they are missing, and where they are there, None for everywhere."""
    if isinstance(argument, pa.Scalar):
        number = np.float64(argument.as_py() or 0) if as_floats or pa.types.is_floating(argument.type) else np.int64(argument.as_py() or 0)
        return number, None if argument.is_valid else pa.scalar(False)
    numbers = raw_numbers(argument)
    return numbers.astype(np.float64) if as_floats and numbers.dtype != np.float64 else numbers, argument.is_valid() if argument.null_count else None


def _computed(ufunc: Callable[..., Any], arguments: Sequence[Argument], as_floats: bool, rows: int) -> pa.Array:
    """Return what NumPy makes of the numbers, missing where one of them is missing."""
    pairs = [_numbers(argument, as_floats) for argument in arguments]
    with np.errstate(all="ignore"):
        found = pa.array(_in_arrow_memory(ufunc, [numbers for numbers, _ in pairs], rows))
    for _, present in pairs:
        if present is not None:
            found = if_else(present, found, pa.scalar(None, found.type))
    return found


def _in_arrow_memory(ufunc: Callable[..., Any], numbers: Sequence[Any], rows: int) -> np.ndarray:
    """Return results as floats or ints in memory of Arrow's pool, which costs less than NumPy's."""
    if not isinstance(ufunc, np.ufunc):
        return np.broadcast_to(ufunc(*numbers), (rows,))
    kind = np.float64 if any(part.dtype == np.float64 for part in numbers) else np.int64
    gives_truths = all(signature.endswith("?") for signature in ufunc.types)
    result = new_array(rows, np.int64 if gives_truths else kind)
    return ufunc(*numbers, out=result, casting="unsafe") if gives_truths else ufunc(*numbers, out=result)


def _quiet(ufunc: Callable[..., Any]) -> Callable[[Any], Any]:
    def call(elements: Any) -> Any:
        with np.errstate(all="ignore"):
            return ufunc(elements)

    return call


def _define(line: NumberFunction) -> None:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if types[0].kind == ARRAY_KIND and not line.is_truth:
            return ARRAY
        if not types[0].is_numeric:
            raise unsupported(line.name, types)
        return LOGICAL if line.is_truth else INT if types[0] == INT and line.of_ints else FLOAT

    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        if types[0].kind == ARRAY_KIND:
            return map_array(array_of(arguments[0], rows), _quiet(line.ufunc))
        ufunc = line.of_ints if types[0] == INT and line.of_ints else line.ufunc
        return _computed(ufunc, arguments, line.of_ints is None, rows)

    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        if line.column is None or types[0].kind == ARRAY_KIND:
            return None
        if types[0] == INT and line.of_ints:
            return _OF_INTS[line.of_ints](columns[0])
        result = line.column(columns[0].cast("double"))
        return result.cast("bigint") if line.is_truth else result

    def monotone(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
        return INCREASING if types[0].is_numeric else None

    define_function(line.name, infer, compute, build if line.column else None, monotone if line.keeps_order else None, arguments=1)


def _define_pair(line: PairFunction) -> None:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        if not are_numbers(types):
            raise unsupported(line.name, types)
        return INT if line.ints_stay and tuple(types) == (INT, INT) else FLOAT

    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        return _computed(line.ufunc, arguments, infer(types, parameters) == FLOAT, rows)

    define_function(line.name, infer, compute, arguments=2)


for _number_function in NUMBER_FUNCTIONS.values():
    _define(_number_function)
for _pair_function in PAIR_FUNCTIONS.values():
    _define_pair(_pair_function)


# Rounding to a number of digits.

# No float has more digits after the decimal point, and none has more before it.
_DIGITS_AFTER, _DIGITS_BEFORE = 323, 308
# More digits than an int of 64 bits has.
_DIGITS_OF_INTS = 19


def _infer_round(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result, which is that of the numbers. Parameter: the number of digits after the point; tens and so on if negative."""
    if type(parameters[0]) is not int:
        raise InvalidArgumentError(f"digits must be the number of digits after the point, an int, not {parameters[0]!r:.60}")
    if types[0].is_numeric or types[0].kind == ARRAY_KIND:
        return types[0].of_values
    raise unsupported("round", types)


def _compute_round(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    digits = parameters[0]
    if types[0].kind == ARRAY_KIND:
        return map_array(array_of(arguments[0], rows), lambda elements: rounded_floats(elements, digits))
    if types[0] != INT:
        return _computed(lambda numbers: rounded_floats(np.atleast_1d(numbers), digits), arguments, True, rows)
    return arguments[0] if digits >= 0 else _computed(lambda numbers: _rounded_ints(numbers, -digits), arguments, False, rows)


def rounded_floats(numbers: np.ndarray, digits: int) -> np.ndarray:
    """Return numbers rounded as :func:`numpy.round` does, half to even; a number that this would make infinite has no such digits, and is kept.

    Examples
    --------
    >>> rounded_floats(np.array([2.5, 1.25, 1e308]), 1).tolist(), rounded_floats(np.array([25.0, -7.0]), -1).tolist()
    ([2.5, 1.2, 1e+308], [20.0, -10.0])
    """
    if digits > _DIGITS_AFTER:
        return numbers
    if digits < -_DIGITS_BEFORE:
        return np.where(np.isfinite(numbers), np.copysign(0.0, numbers), numbers)
    rounded = new_array(len(numbers), np.float64)
    with np.errstate(all="ignore"):
        if digits == 0:
            return np.rint(numbers, out=rounded)
        unit = _power_of_ten(abs(digits))
        there, back = (np.multiply, np.divide) if digits > 0 else (np.divide, np.multiply)
        back(np.rint(there(numbers, unit, out=rounded), out=rounded), unit, out=rounded)
        is_finite = np.isfinite(rounded)
    return rounded if digits < 0 or is_finite.all() else np.where(is_finite, rounded, numbers)


def _power_of_ten(digits: int) -> float:
    """Return a power of ten as NumPy computes it, whose last digit differs from that of Python's for large ones."""
    unit = float(10 ** min(digits, 9))
    for _ in range(digits - 9):
        unit *= 10.0
    return unit


def _rounded_ints(numbers: Any, zeros: int) -> Any:
    """Return ints rounded to a power of ten, half to even."""
    if zeros > _DIGITS_OF_INTS - 1:
        return numbers * 0
    unit = np.int64(10**zeros)
    quotients, remainders = np.divmod(numbers, unit)
    above = (remainders > unit - remainders) | ((remainders == unit - remainders) & (quotients % 2 == 1))
    return (quotients + above) * unit


def _monotone_round(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    # Ints close to 2^63 wrap around.
    return INCREASING if types[0] == FLOAT else None


define_function("round", _infer_round, _compute_round, None, _monotone_round, arguments=1)
