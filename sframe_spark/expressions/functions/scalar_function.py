"""What all families of scalar functions share: registration, broadcasting, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import LengthMismatchError, SchemaError, UnsupportedOperationError
from sframe_spark.expressions.functions.base import FUNCTIONS, Argument, ByArrow, ColumnExpression, Infer, ScalarFunction
from sframe_spark.types import ARRAY, DATETIME_KIND, FLOAT, FLOAT_KIND, INT, INT_KIND, STR, STR_KIND, ColumnType
from sframe_spark.udf.external_functions import SentFunction, sent
from sframe_spark.values.decode import scalar_array

if TYPE_CHECKING:
    from pyspark.sql import Column

Compute = Callable[[Sequence[Argument], Sequence[ColumnType], Any, int], Any]
Prepare = Callable[[Sequence[ColumnType], tuple[Any, ...]], Any]
MonotonyOf = Callable[[Sequence[ColumnType], Sequence[Any]], str | None]

TYPES_OF_SPARK = {INT: "bigint", FLOAT: "double", STR: "string", ARRAY: "array<double>"}
NUMERIC_KINDS = frozenset({INT_KIND, FLOAT_KIND})
INCREASING = "increasing"
STRICTLY_INCREASING = "strictly increasing"


def define_function(
    name: str,
    infer: Infer,
    compute: Compute,
    build: ColumnExpression | None = None,
    monotone: MonotonyOf | None = None,
    may_fail: bool = False,
    by_arrow: ByArrow | None = None,
    prepare: Prepare | None = None,
) -> ScalarFunction:
    """Add a scalar function to the table, from parts in the most convenient form.

    The built-in functions and those of plug-ins are defined by it.

    Parameters
    ----------
    name
        Name in the table.
    infer
        As in :class:`~sframe_spark.expressions.functions.base.ScalarFunction`.
    compute
        Like a kernel, but may return a scalar for all rows, or an array of a type that casts to the right one.
    build
        Like ``column``, but may return None for types it has no Spark expression for; the kernel then runs in a UDF.
    monotone
        Gets the types and, place by place, the literal arguments, with None in the place of the column.
    may_fail
        Some values make the function raise: no law calls it for rows that a filter below it has left out.
    by_arrow
        As in :class:`~sframe_spark.expressions.functions.base.ScalarFunction`.
    prepare
        Makes of types and parameters what takes the parameters' place in calls of ``compute``: once for many batches, and in threads at once.

    Raises
    ------
    InvalidArgumentError
        If the name is taken, or a part is no function.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> def twice(arguments, types, parameters, rows):
    ...     return pc.multiply(arguments[0], 2)
    >>> function = define_function("doctest_twice", lambda types, parameters: INT, twice)
    >>> function.kernel([pa.array([1, None])], [INT], (), 2).to_pylist()
    [2, None]
    """
    told = f"the scalar function {name!r}"
    infer, compute = sent(infer, told), sent(compute, told)
    build, monotone, by_arrow, prepare = (None if part is None else sent(part, told) for part in (build, monotone, by_arrow, prepare))
    column = None if build is None else WithKernel(name, build)
    kernel = FinishedKernel(name, infer, compute, prepare)
    return FUNCTIONS.add(ScalarFunction(name, infer, kernel, column, monotone, may_fail, build, by_arrow))


@attrs.frozen
class FinishedKernel:
    """A kernel that gives an array of the type that is inferred. A class, as functions within functions travel with all that they name."""

    name: str
    infer: Infer
    compute: Compute
    prepare: Prepare | None = None

    def __call__(self, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
        return self.ready(types, parameters)(arguments, rows)

    def ready(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ReadyKernel:
        """The kernel for such arguments."""
        given = parameters if self.prepare is None else self.prepare(types, parameters)
        return ReadyKernel(self.name, self.compute, types, given, self.infer(types, parameters))


@attrs.frozen(eq=False)
class ReadyKernel:
    """A kernel that knows all that no row tells: where there are many batches, types and parameters are looked at once."""

    name: str
    compute: Compute
    types: Sequence[ColumnType]
    given: Any
    result: ColumnType

    def __call__(self, arguments: Sequence[Argument], rows: int) -> pa.Array:
        result = self.compute(arguments, self.types, self.given, rows)
        if isinstance(result, pa.Scalar):
            result = scalar_array(result, rows)
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        return _as_inferred(self.name, result, self.result, rows)


def _as_inferred(name: str, result: Any, column_type: ColumnType, rows: int) -> pa.Array:
    """A kernel's result in the physical type that was inferred, one value a row."""
    if not isinstance(result, pa.Array):
        raise SchemaError(f"the kernel of the scalar function {name!r} gave a {type(result).__name__}: it gives an Arrow array or scalar")
    if len(result) != rows:
        raise LengthMismatchError(f"the kernel of the scalar function {name!r} gave {len(result):,} values for {rows:,} rows: it gives one a row")
    if result.type.equals(column_type.physical):
        return result
    try:
        return result.cast(column_type.physical)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what = f"the kernel of the scalar function {name!r} gave Arrow's {result.type}, which is not the {column_type} that it infers"
        raise SchemaError(f"{what} ({str(error).splitlines()[0]}): cast it, or infer another type") from error


@attrs.frozen
class WithKernel:
    """A Spark column of a function, by its kernel for types that it has no expression for."""

    name: str
    build: ColumnExpression

    def __call__(self, columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
        expression = self.build(columns, types, parameters)
        if expression is not None:
            return self._of_its_type(expression, types, parameters) if isinstance(self.build, SentFunction) else expression
        from sframe_spark.compute.spark_columns import kernel_column

        function = FUNCTIONS.named(self.name)
        return kernel_column(function, columns, types, parameters, function.infer(types, parameters))

    def _of_its_type(self, expression: Any, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
        """A column of others, which fails where it is run if it has another type than is inferred: what is above it was planned for that."""
        column, kind = require_column(self.name, expression), FUNCTIONS.inferred(self.name, types, parameters)
        if kind not in TYPES_OF_SPARK:
            return column
        from pyspark.sql import functions as F

        wanted = TYPES_OF_SPARK[kind]
        told = f"the Spark expression of the scalar function {self.name!r} is not of Spark's type {wanted}, though it infers {kind}"
        # Spark knows the type as it plans: where it is right, the column alone is left.
        return F.when(F.typeof(column) == wanted, column).otherwise(F.raise_error(told))


def require_column(name: str, expression: Any) -> Column:
    """What a function's builder gave.

    Raises
    ------
    SchemaError
        If it is no column of Spark's.
    """
    if type(expression).__name__ != "Column":
        raise SchemaError(f"the Spark expression of the scalar function {name!r} is a {type(expression).__name__}: it is a column, or None")
    return expression


def always_by_arrow(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> bool:
    """True: lists and dicts of numbers and texts, in whatever form they are stored, take no Python object each."""
    return True


def unsupported(operation: str, types: Sequence[ColumnType]) -> UnsupportedOperationError:
    """Error for an operation that the kinds of its operands do not have."""
    kinds = [column_type.kind for column_type in types]
    return UnsupportedOperationError(f"{operation} is not defined for {' and '.join(kinds)}; {_instead(frozenset(kinds))}")


def _instead(kinds: frozenset[str]) -> str:
    """What to do with operands of kinds that an operation does not have."""
    if kinds <= {INT_KIND, FLOAT_KIND, STR_KIND}:
        return "convert with astype first"
    if kinds == {DATETIME_KIND, STR_KIND}:
        return "a text becomes a date-time by str_to_datetime(), and a date-time is written as datetime.datetime(2024, 1, 31)"
    return "apply() calls a function of yours for each value, or for each row of a frame"


def array_of(argument: Argument, rows: int) -> pa.Array:
    """Return an argument as an array of ``rows`` entries."""
    return scalar_array(argument, rows) if isinstance(argument, pa.Scalar) else argument


def float_of(argument: Argument) -> Argument:
    """Return a number argument as float64."""
    return argument if pa.types.is_float64(argument.type) else argument.cast(pa.float64(), safe=False)


def integers(argument: Argument) -> tuple[Any, Any]:
    """Split an int argument into numpy numbers (0 for missing) and a mask of the missing, both broadcastable."""
    if isinstance(argument, pa.Scalar):
        return np.int64(argument.as_py() if argument.is_valid else 0), np.bool_(not argument.is_valid)
    numbers = argument.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers, pc.is_null(argument).to_numpy(zero_copy_only=False) if argument.null_count else np.bool_(False)


def masked(numbers: Any, mask: Any, rows: int) -> pa.Array:
    """Assemble an array from numpy numbers and a mask of the missing, broadcasting both."""
    numbers = np.broadcast_to(numbers, (rows,))
    return pa.array(numbers, mask=np.broadcast_to(mask, (rows,)) if np.any(mask) else None)


def to_ints(truths: Argument) -> Argument:
    """Return truth values as the ints 0 and 1."""
    return truths.cast(pa.int64())


def are_numbers(types: Sequence[ColumnType]) -> bool:
    """True if all types are int or float."""
    # Asked for each step of a program, several times: a set of kinds is twice as fast as all() over the types.
    return NUMERIC_KINDS.issuperset([column_type.kind for column_type in types])


def is_positive_finite(value: Any) -> bool:
    """True for a literal number above zero and below infinity."""
    return isinstance(value, (int, float)) and 0 < value < float("inf")


def is_finite(value: Any) -> bool:
    """True for a literal number that is neither NaN nor infinite."""
    return isinstance(value, (int, float)) and abs(value) < float("inf")
