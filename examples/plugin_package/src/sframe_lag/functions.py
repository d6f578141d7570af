"""A scalar function, and what puts it on a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark import SArray
from sframe_spark.plugin import FLOAT, ColumnType, SchemaError, call, define_function, public_function

Types = Sequence[ColumnType]


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


# Arrow does the work, so threads may call the kernel side by side.
define_function("fahrenheit", infer_float, compute_fahrenheit, fahrenheit_column, monotone=order_of_fahrenheit, arguments=1, threads=True)


@public_function
def fahrenheit(celsius: SArray) -> SArray:
    """Degrees Fahrenheit of degrees Celsius.

    Examples
    --------
    >>> list(fahrenheit(SArray([0, 100, None])))
    [32.0, 212.0, None]
    """
    return call("fahrenheit", celsius)
