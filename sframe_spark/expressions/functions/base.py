"""Contract and table of scalar functions: one row in, one value out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from sframe_spark.expressions.functions.table import FunctionTable, Parcels
from sframe_spark.types import ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column

# ``pa.Array | pa.Scalar``; Arrow comes without types, so a checker learns nothing from the union.
Argument = Any
Infer = Callable[[Sequence[ColumnType], tuple[Any, ...]], ColumnType]
Kernel = Callable[[Sequence[Argument], Sequence[ColumnType], tuple[Any, ...], int], pa.Array]
ColumnBuilder = Callable[[Sequence["Column"], Sequence[ColumnType], tuple[Any, ...]], "Column"]
ReadyToCall = Callable[[Sequence[Argument], int], pa.Array]
ByArrow = Callable[[Sequence[ColumnType], tuple[Any, ...]], bool]
ColumnExpression = Callable[[Sequence["Column"], Sequence[ColumnType], tuple[Any, ...]], "Column | None"]


@attrs.frozen(eq=False)
class ScalarFunction:
    """A named, deterministic function from one row's values to one value.

    Parameters
    ----------
    name
        Unique name; plans and JSON refer to the function by it.
    infer
        Result type from argument types and static parameters; raises what the reference raises for types it refuses.
    kernel
        Arrow implementation: arguments are arrays of ``rows`` entries or scalars (literals); the result is an array of
        ``rows`` entries of exactly the inferred physical type.
    column
        Spark implementation over columns holding the same physical types, under ANSI off, UTC, case-sensitive settings.
        None: the kernel runs inside an Arrow UDF.
    monotone
        ``"increasing"``/``"decreasing"`` with optional prefix ``"strictly "`` in its only column argument (parameters
        and literals fixed), as a function of types and literal arguments, which come place by place with None in the
        place of the column; None promises nothing. The order meant has missing values first, then numbers, then NaN,
        and the result is missing exactly where the argument is.
    may_fail
        True when some values make the function raise, so that no law may call it for rows that a filter below it has left out.
    expression
        Like ``column``, but None for types of which only the kernel computes it.
    by_arrow
        True of types and parameters for which the kernel makes no Python object of each value: asked where there are lists or dicts.
    """

    name: str
    infer: Infer
    kernel: Kernel
    column: ColumnBuilder | None = None
    monotone: Callable[[Sequence[ColumnType], Sequence[Any]], str | None] | None = None
    may_fail: bool = False
    expression: ColumnExpression | None = None
    by_arrow: ByArrow | None = None

    def ready(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ReadyToCall:
        """The kernel for such arguments, to be called with these and a number of rows: once for many batches."""
        made = getattr(self.kernel, "ready", None)
        return made(types, parameters) if made else lambda arguments, rows: self.kernel(arguments, types, parameters, rows)


def _receive(parcels: Parcels) -> FunctionTable[ScalarFunction]:
    return FUNCTIONS.received(parcels)


FUNCTIONS: FunctionTable[ScalarFunction] = FunctionTable("scalar function", _receive)


def evaluate(
    name: str, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int
) -> tuple[pa.Array, ColumnType]:
    """Run a function's kernel over Arrow arguments and return the result with its type.

    Raises
    ------
    TypeError, RuntimeError
        As the function's ``infer`` does for types it refuses.

    Examples
    --------
    >>> import sframe_spark.expressions.functions
    >>> from sframe_spark.types import INT
    >>> evaluate("add", [pa.array([1, None]), pa.scalar(2)], [INT, INT], (), 2)[0].to_pylist()
    [3, None]
    """
    function = FUNCTIONS.named(name)
    return function.kernel(arguments, types, parameters, rows), function.infer(types, parameters)
