"""Defines :class:`TranslatedFunction`: a user's Python function as an expression over columns, whose results are Python's.

Rows for which the expression has no result, such as ints that leave 64 bits or what raises an error, are passed to the function itself.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import Untranslatable
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk
from sframe_spark.pyarrow_versions import replace_with_mask
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode, scalar_array

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.expressions.functions.scalar_function import Argument, ReadyToCall
    from sframe_spark.expressions.python_function import PythonFunction
    from sframe_spark.expressions.translation.evaluation import Evaluation
    from sframe_spark.expressions.translation.expression_tree import Tree, expressions_of, text_of
    from sframe_spark.expressions.translation.paths import traced
    from sframe_spark.udf.bound_function import original

LOG = logging.getLogger("sframe_spark")
# In each process, the results for the first rows of a column are compared with the function's own.
COMPARED_ROWS = 100


class Verdict:
    """Whether the expression has given the function's results for the first rows in this process; None: not compared yet."""

    def __init__(self) -> None:
        self.is_right: bool | None = None

    def __reduce__(self) -> tuple[type[Verdict], tuple[()]]:
        return Verdict, ()


@attrs.frozen
class TranslatedFunction:
    """A user's function, and the expression that it was translated into.

    Parameters
    ----------
    python
        The function, as it is called; if it takes a row, a row of the columns that it reads.
    positions
        For each of these columns its position in the expression.
    tree
        The expression.
    verdict
        Whether its first results were compared with the function's.
    """

    python: PythonFunction
    positions: tuple[int, ...]
    tree: Tree = attrs.field(eq=False)
    verdict: Verdict = attrs.field(eq=False, factory=Verdict)

    @property
    def result(self) -> ColumnType:
        """Type of the results."""
        return self.python.result

    def infer(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        """Return the result type, whatever the arguments."""
        return self.python.result

    def ready(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ReadyToCall:
        """Return the kernel for arguments of the given types."""
        return lambda arguments, rows: self.kernel(arguments, types, parameters, rows)

    def kernel(self, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
        """Return the results for a batch of rows."""
        columns = [scalar_array(argument, rows) if isinstance(argument, pa.Scalar) else argument for argument in arguments]
        if self.verdict.is_right is False or not rows:
            return self.python.kernel(columns, types, (), rows)
        try:
            column, failed = self.evaluated(columns, rows)
        except Exception as error:
            # Such as texts that are too long together for one array.
            self._give_up(f"it cannot be evaluated: {type(error).__name__}: {error}")
            return self.python.kernel(columns, types, (), rows)
        if failed is not None:
            chosen = Chunk(tuple(columns), rows).rows_at(np.flatnonzero(failed))
            called = self.python.kernel(chosen.columns, types, (), chosen.rows)
            column = called if chosen.rows == rows else replace_with_mask(column, pa.array(failed), called)
        if self.verdict.is_right is None:
            first = [values[:COMPARED_ROWS] for values in columns]
            expected = self.python.kernel(first, types, (), min(rows, COMPARED_ROWS))
            if not self.agrees(column[:COMPARED_ROWS], expected):
                return self.python.kernel(columns, types, (), rows)
        return column

    def evaluated(self, columns: Sequence[pa.Array], rows: int) -> tuple[pa.Array, np.ndarray | None]:
        """Return the results of the expression, and the rows for which it has none; None: it has all."""
        by_position = dict(zip(self.positions, columns, strict=True))
        with np.errstate(all="ignore"):
            evaluation = Evaluation(by_position, rows, self.result)
            results = evaluation.results(self.tree)
            skipped = None
            if self.python.skip_missing and columns[0].null_count:
                skipped = pc.is_null(columns[0]).to_numpy(zero_copy_only=False)
            failed = results.failed
            if failed is not None:
                failed = np.broadcast_to(failed, (rows,)) if skipped is None else failed & ~skipped
                failed = failed if failed.any() else None
            return evaluation.column(results, skipped), failed

    def agrees(self, column: pa.Array, expected: pa.Array) -> bool:
        """Compare the first results with those of the function. If they differ, log it, and call the function from now on."""
        self.verdict.is_right = _texts(column, self.result) == _texts(expected, self.result)
        if not self.verdict.is_right:
            self._give_up("its first results differ from the function's")
        return self.verdict.is_right

    def _give_up(self, reason: str) -> None:
        self.verdict.is_right = False
        LOG.warning("the translation %s of %s is not used: %s", self.text, self.python.describe(), reason)

    @property
    def text(self) -> str:
        """The expression as text."""
        names = self.python.names
        return text_of(self.tree, None if names is None else dict(zip(self.positions, names, strict=True)))

    def describe(self) -> str:
        """Return the function's name, and where it is defined."""
        return self.python.describe()


def _texts(column: pa.Array, column_type: ColumnType) -> list[str]:
    """Return texts that differ if values differ in class or in a bit; all NaN are one."""
    return [*map(repr, decode(column, column_type))]


def translated(python: PythonFunction, schema: Sequence[ColumnType]) -> TranslatedFunction:
    """Return the translation of a user's function.

    Raises
    ------
    Untranslatable
        If there is none; the message says why, as what the function does.
    """
    if python.result not in (INT, FLOAT, STR, DATETIME):
        raise Untranslatable(f"its results are of {python.result}")
    try:
        found = traced(original(python.function), schema, python.names, python.skip_missing)
    except RecursionError:
        raise Untranslatable("it uses lists within lists too deep") from None
    except Exception as error:
        # An object that the function has captured may raise any error where it is looked through.
        LOG.warning("%s is called for each row, as its translation failed: %s: %s", python.describe(), type(error).__name__, error)
        raise Untranslatable(f"its translation failed: {type(error).__name__}: {error}") from error
    read = sorted({expression.parameters[0] for expression in expressions_of(found.tree) if expression.operation in ("column", "missing")})
    if found.reads_all or not read:
        read = list(range(len(schema)))
    if not read:
        raise Untranslatable("it takes rows without columns")
    names = None if python.names is None else tuple(python.names[position] for position in read)
    return TranslatedFunction(attrs.evolve(python, names=names), tuple(read), found.tree)
