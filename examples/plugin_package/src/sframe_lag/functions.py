"""A scalar function and an aggregate, and what puts them on columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark import SArray
from sframe_spark.plugin import FLOAT, ColumnType, Decomposition, SchemaError, aggregate, call, define_aggregate, define_function

Types = Sequence[ColumnType]
Part = tuple[int, float]


def infer_float(types: Types, parameters: tuple[Any, ...]) -> ColumnType:
    """Floats, of numbers."""
    if not all(column_type.is_numeric for column_type in types):
        raise SchemaError(f"numbers are needed, not {' and '.join(map(str, types))}")
    return FLOAT


def compute_fahrenheit(arguments: Sequence[Any], types: Types, parameters: tuple[Any, ...], rows: int) -> Any:
    """The kernel: an argument is an Arrow array, or an Arrow scalar that stands for all rows."""
    return pc.add(pc.multiply(arguments[0].cast(pa.float64(), safe=False), 1.8), 32.0)


def fahrenheit_column(columns: Sequence[Any], types: Types, parameters: tuple[Any, ...]) -> Any:
    """The same as a Spark column; without it, Spark would run the kernel in Python."""
    return columns[0].cast("double") * 1.8 + 32.0


def order_of_fahrenheit(types: Types, literals: Sequence[Any]) -> str:
    """Rows in order of the argument are in order of the result; not strictly, as two floats may round to one."""
    return "increasing"


def logarithms(arrays: Sequence[Any], rows: int, types: Types, parameters: tuple[Any, ...]) -> Part:
    """The part of a run of rows: how many values there are, and the sum of their logarithms."""
    values = arrays[0].drop_null().cast(pa.float64(), safe=False)
    return len(values), pc.sum(pc.ln(values)).as_py() or 0.0


def both(first: Part, second: Part, types: Types) -> Part:
    """The part of two runs, one after the other."""
    return first[0] + second[0], first[1] + second[1]


def mean_of_part(part: Part, types: Types, parameters: tuple[Any, ...]) -> float | None:
    """The value: missing where there is none."""
    return math.exp(part[1] / part[0]) if part[0] else None


define_function("fahrenheit", infer_float, compute_fahrenheit, fahrenheit_column, monotone=order_of_fahrenheit)
define_aggregate("geometric_mean", infer_float, parts=Decomposition(logarithms, both, mean_of_part), order_sensitive=False)


def fahrenheit(celsius: SArray) -> SArray:
    """Degrees Fahrenheit of degrees Celsius.

    Examples
    --------
    >>> list(fahrenheit(SArray([0, 100, None])))
    [32.0, 212.0, None]
    """
    return call("fahrenheit", celsius)


def GEOMETRIC_MEAN(column: str) -> Any:
    """The n-th root of the product of the n values of each group, for ``groupby`` and its kin.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> sf = SFrame({"k": [1, 1], "v": [2.0, 8.0]})
    >>> list(sf.groupby("k", {"mean": GEOMETRIC_MEAN("v")})["mean"])
    [4.0]
    """
    return aggregate("geometric_mean", column)
