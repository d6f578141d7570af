"""PythonFunction: a user's function over the values of a row, evaluated in Arrow batches."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.errors import UserFunctionError
from sframe_spark.operators.functions.base import Argument
from sframe_spark.types import ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.encode import encode


@attrs.frozen
class PythonFunction:
    """A user's function from one value, or from one row as a dict, to one value.

    Parameters
    ----------
    function
        The callable; compared by identity.
    result
        Column type of the results.
    names
        Names of the argument columns when the function takes a row as a dict; None when it takes one value.
    skip_missing
        Missing values are not given to the function: the result is missing.
    """

    function: Callable[[Any], Any] = attrs.field(eq=id)
    result: ColumnType = attrs.field()
    names: tuple[str, ...] | None = None
    skip_missing: bool = False

    def infer(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        """The declared result type."""
        return self.result

    def kernel(self, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
        """Results for a run of rows, one call per row in row order."""
        lists = [decode(pa.repeat(a, rows) if isinstance(a, pa.Scalar) else a, t) for a, t in zip(arguments, types, strict=True)]
        function = self.function
        if self.names is not None:
            names = self.names
            values: Any = (dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)) if lists else ({} for _ in range(rows))
        else:
            values = iter(lists[0])
        results = self._call(function, values)
        try:
            return encode(results, self.result)
        except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            raise error_like(
                TypeError,
                f"{self.describe()} returned a value that does not fit the column type {self.result.kind}: {error}. "
                "Give apply() another dtype, or convert the value in the function.",
            ) from None

    def _call(self, function: Callable[[Any], Any], values: Any) -> list[Any]:
        results: list[Any] = []
        append = results.append
        value: Any = None
        try:
            if self.skip_missing:
                for value in values:
                    append(None if value is None else function(value))
            else:
                for value in values:
                    append(function(value))
        except Exception as error:
            raise user_error(self.describe(), value, error) from error
        return results

    def describe(self) -> str:
        """The function's name and place, as its author knows it."""
        code = getattr(self.function, "__code__", None)
        name = getattr(self.function, "__qualname__", None) or type(self.function).__name__
        return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name


def user_error(description: str, value: Any, error: BaseException) -> UserFunctionError:
    """The error a user sees when a function of theirs fails: their own traceback and the value it was given."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    text = "".join(traceback.format_list(frames)) + "".join(traceback.format_exception_only(error))
    shown = repr(value)
    shown = value if len(shown) <= 500 else shown[:500] + "..."
    message = f"{description} failed with {type(error).__name__}: {error}"
    return error_like(type(error), message, text, portable(shown))


def error_like(cause: type[BaseException], message: str, text: str = "", row: Any = None) -> UserFunctionError:
    """A :class:`UserFunctionError` that ``except`` clauses for the function's own error class catch too."""
    if cause.__module__ != "builtins":
        return UserFunctionError(message, text, row)
    combined: Callable[..., UserFunctionError] = _error_class(cause)  # type: ignore[arg-type]
    return combined(message, text, row)


@lru_cache(maxsize=128)
def _error_class(cause: type[BaseException]) -> type[UserFunctionError]:
    """A class that is both; the plain one where Python cannot combine them."""

    def reduce(self: UserFunctionError) -> tuple[Any, ...]:
        return error_like, (cause, self.message, self.traceback_text, self.row)

    try:
        return type(UserFunctionError.__name__, (UserFunctionError, cause), {"__reduce__": reduce, "__module__": __name__})
    except TypeError:
        return UserFunctionError


def portable(value: Any) -> Any:
    """The value if it pickles, else its text, so that an error can always travel from a worker to the driver."""
    try:
        pickle.dumps(value)
    except Exception:
        return repr(value)
    return value
