"""Defines :class:`PythonFunction`, a user's Python function as a column expression that is evaluated on Arrow batches."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import ImageError, StateNotSharedError, UserFunctionError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.row_sizes import fixed_size
from sframe_spark.types import ARRAY_KIND, DICT_KIND, IMAGE_KIND, LIST_KIND, NDARRAY_KIND, STR_KIND, ColumnType
from sframe_spark.udf.result_caching_size_limits_and_storage import LONG_TEXT, ROWS_PER_CHECK
from sframe_spark.values.arrow_to_python import decode_columns, scalar_array
from sframe_spark.values.input_copying_simplification_and_validation import UNCHANGING, container_text, snapshot, snapshots

with lazy_imports(globals()):
    from sframe_spark.expressions.functions.scalar_function import Argument, ReadyToCall
    from sframe_spark.session.progress import counted_calls
    from sframe_spark.udf.bound_function import entered, hashes, now, original, packed, still_right
    from sframe_spark.udf.function_errors import displayable, error_like, user_error
    from sframe_spark.udf.pickling import PackedFunction, load_program
    from sframe_spark.udf.pure_functions import steps_of_call
    from sframe_spark.udf.result_caching_size_limits_and_storage import (
        CallMemo,
        Guess,
        MadeResults,
        Steps,
        advice_on,
        keeping,
        min_size,
        stored_results,
    )
    from sframe_spark.values.nested.python_and_tagged_json import named_rows


@attrs.frozen
class PythonFunction:
    """A user's function that takes one value, or one row as a dict, and returns one value.

    Parameters
    ----------
    function
        The callable; callables are equal only if they are the same object.
    result
        Column type of the results.
    names
        Names of the argument columns if the function takes a row as a dict; None if it takes one value.
    skip_missing
        Whether the function is not called for missing values, for which the result is missing.
    memo
        A cache of the results of this application of the function; None if results are not cached. Caches are equal only if they are the same
        object, as a function that is applied twice makes two columns.
    numbered
        Whether the last argument is the row id. The function is then not called for rows whose results the memo has.
    guess
        How the result type was inferred from the first rows; results are then not converted. None if the user requested a type.
    made
        Limits the bytes of results in memory: they are measured as they are computed, in several steps. None if there is no limit.
    why_called
        Why the function was not translated into an expression; empty if nothing is known about that.
    """

    function: Callable[[Any], Any] = attrs.field(eq=id)
    result: ColumnType = attrs.field()
    names: tuple[str, ...] | None = None
    skip_missing: bool = False
    memo: CallMemo | None = attrs.field(default=None, eq=id, repr=False)
    numbered: bool = False
    guess: Guess | None = None
    made: MadeResults | None = attrs.field(default=None, eq=False, repr=False)
    why_called: str = attrs.field(default="", eq=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function by value, or by reference if workers can import its module.

        Raises
        ------
        pickle.PicklingError
            If the function cannot be pickled.
        """
        try:
            content = packed(self.function, self.describe())
        except Exception as error:
            reason = f"{self.describe()} cannot be sent to other Python processes: {error}"
            advice = "Let the function create what it needs itself, or pass it plain values"
            # PySpark does not wrap errors of this class in errors of its own.
            raise error_like(pickle.PicklingError, f"{reason}. {advice}.") from None
        memo = self.memo.sent() if self.memo is not None and self.numbered else None
        return _unpacked, (content, self.result, self.names, self.skip_missing, memo, self.numbered, self.guess)

    def infer(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        """Return the result type, whatever the arguments."""
        return self.result

    def ready(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ReadyToCall:
        """Return the kernel for arguments of the given types."""
        return lambda arguments, rows: self.kernel(arguments, types, parameters, rows)

    def kernel(self, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
        """Return the results for consecutive rows; the function is called once for each row, in row order, unless the memo has its result."""
        values = [scalar_array(a, rows) if isinstance(a, pa.Scalar) else a for a in arguments]
        if not self.numbered:
            return self._completed(values, types, rows, None)
        assert self.memo is not None
        numbers = np.asarray(values[-1])

        def call(indices: np.ndarray) -> tuple[Chunk, None]:
            chosen = Chunk(tuple(values[:-1]), rows).rows_at(indices)
            return Chunk.of([self._completed(chosen.columns, types[:-1], chosen.rows, numbers[indices])]), None

        return self.memo.completed(numbers, call).columns[0]

    def _completed(self, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int, numbers: np.ndarray | None) -> pa.Array:
        """Return the results of rows that are not in the memo; ``numbers`` are the row ids, or None if they are not known."""
        if self.made is None:
            return next(self._called(columns, types, rows, None))

        def call(indices: np.ndarray) -> Iterator[tuple[np.ndarray, Chunk]]:
            chosen, done = Chunk(tuple(columns), rows).rows_at(indices), 0
            for results in self._called(chosen.columns, types, chosen.rows, self.made):
                yield indices[done : done + len(results)], Chunk.of([results])
                done += len(results)

        return self.made.completed(numbers, rows, call, keeping(self.memo) if self.numbered else None).columns[0]

    def _called(self, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int, made: MadeResults | None) -> Iterator[pa.Array]:
        """Call the function for all rows and yield the results in several arrays, so that no array takes all the bytes that a batch may have."""
        lists = decode_columns(columns, types)
        values, done = self._values(lists, rows), 0
        steps = Steps(rows) if made is None or fixed_size(self.result) is not None else Steps.of(made.max_bytes)
        while True:
            results: list[Any] = []
            function = now(self.function)
            try:
                with self.calling():
                    self._call(function, counted_calls(islice(values, steps.rows), 0 if done else rows), results, steps.max_bytes)
                    failed = None
            except StateNotSharedError:
                raise
            except Exception as error:
                # By its type: an exception of the user's may compute its attributes.
                if issubclass(type(error), ImageError) and type(function).__module__ in OWN_FUNCTIONS:
                    # There is no code of the user's to be shown, and the message tells what it is about.
                    raise
                failed = error
            if not still_right(self.function, function):
                # Variables that the function reads were assigned during the calls, so it is called again, with newly decoded arguments, as it
                # may have changed the old ones.
                lists = decode_columns(columns, types)
                values = islice(self._values(lists, rows), done, None)
                continue
            if failed is not None:
                value = next(islice(self._values(lists, rows), done + len(results), None))
                raise user_error(self.describe(), value, failed) from None
            try:
                result = stored_results(results, self.result, self.guess)
            except (TypeError, ValueError, OverflowError, pa.ArrowException):
                raise self._misfit(results, islice(self._values(lists, rows), done, done + len(results))) from None
            yield result
            done += len(results)
            if done >= rows:
                return
            steps.saw(len(results), result)

    def _values(self, lists: Sequence[list[Any]], rows: int) -> Iterator[Any]:
        """Return an iterator over the arguments of the function, one for each row."""
        if self.names is None:
            return iter(lists[0])
        if not lists:
            return ({} for _ in range(rows))
        return named_rows(self.names, zip(*lists, strict=True))

    def _misfit(self, results: Sequence[Any], values: Iterator[Any]) -> UserFunctionError:
        """Return the error for the first result that the column cannot hold."""
        for result, value in zip(results, values, strict=True):
            try:
                stored_results([result], self.result, self.guess)
            except (TypeError, ValueError, OverflowError, pa.ArrowException):
                what = f"{self.describe()} returned {brief(result, 80)} ({type(result).__name__})"
                message = f"{what}, which does not fit a column of {self.result.kind}"
                advice = advice_on(result, self.result, self.guess, "apply()", "dtype=float", "dtype=int")
                return error_like(TypeError, f"{message}: {advice}", row=displayable(value))
        return error_like(TypeError, f"{self.describe()} returned values that do not fit a column of {self.result.kind} together")

    def _call(self, function: Callable[[Any], Any], values: Iterable[Any], results: list[Any], max_bytes: float) -> None:
        """Append the results for some values to ``results``; stop early if results of variable size have more than ``max_bytes``."""
        append, skip_missing = results.append, self.skip_missing
        if self.result.kind in _TAKERS:
            take, size = _TAKERS[self.result.kind], 0
            # Each image is large; of other values some tell how large they are.
            rows_per_check = 1 if self.result.kind == IMAGE_KIND else ROWS_PER_CHECK
            for value in values:
                result = None if skip_missing and value is None else function(value)
                append(result if type(result) in UNCHANGING else take(result))
                if not len(results) % rows_per_check:
                    size += rows_per_check * min_size(result)
                    if size > max_bytes:
                        break
        elif self.result.kind == STR_KIND:
            self._call_for_texts(function, values, results, max_bytes)
        elif skip_missing:
            for value in values:
                append(None if value is None else function(value))
        else:
            for value in values:
                append(function(value))

    def _call_for_texts(self, function: Callable[[Any], Any], values: Iterable[Any], results: list[Any], max_bytes: float) -> None:
        """Do the same as :meth:`_call` for results that are strings; only long strings count towards ``max_bytes``."""
        append, skip_missing = results.append, self.skip_missing
        longest, size = LONG_TEXT, 0
        for value in values:
            result = None if skip_missing and value is None else function(value)
            if type(result) is not str:
                append(result if type(result) in UNCHANGING else container_text(result))
                continue
            append(result)
            if len(result) > longest:
                size += len(result)
                if size > max_bytes:
                    break

    def steps_of_call(self) -> int | None:
        """Return about how many interpreter steps a call takes; None unless the function is known to be a pure computation."""
        function = now(self.function)
        return steps_of_call(function.__wrapped__ if type(function) is Truth else function)

    @property
    def hashes(self) -> bool:
        """Whether the function may call ``hash``, whose result for strings differs between processes."""
        return hashes(self.function)

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """Return a context manager for calls of the function, with the state that the program had when the user applied the function."""
        with entered(self.function), self.memo.calling() if self.memo is not None else contextlib.nullcontext():
            yield

    def describe(self) -> str:
        """Return the function's name, and the file and line where it is defined."""
        return describe_function(self.function)


def _unpacked(content: PackedFunction, *rest: Any) -> PythonFunction:
    return PythonFunction(load_program(*content), *rest)


def retained_copy(result: Any) -> Any:
    """Return a copy of a result that can be read repeatedly and that later calls cannot change.

    An iterator, such as a generator, becomes a list; any other mutable value is copied.

    Examples
    --------
    >>> retained_copy(map(str, [1, 2])), retained_copy((3, 4))
    (['1', '2'], (3, 4))
    """
    # For common classes the test for an iterator is skipped: looking up a missing attribute takes as long as a copy.
    return snapshot(result) if type(result) in _CONTAINERS or not hasattr(type(result), "__next__") else snapshots(result)


_CONTAINERS = frozenset({list, tuple, dict})
# For the kinds of columns whose results may be large: how to copy a result, which the function may change later and return again.
_TAKERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((LIST_KIND, ARRAY_KIND, NDARRAY_KIND), retained_copy),
    **dict.fromkeys((DICT_KIND, IMAGE_KIND), snapshot),
}
# Modules of functions of single values that are not the user's.
OWN_FUNCTIONS = ("sframe_spark.expressions.image_functions",)


class Truth:
    """A user's function whose result is converted to 1 if it is true, and to 0 otherwise.

    Examples
    --------
    >>> list(map(Truth(lambda value: value > 1), [1, 2]))
    [0, 1]
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.__wrapped__ = function

    def __call__(self, value: Any) -> int:
        """Call the function; return 1 if its result is true, otherwise 0."""
        return 1 if self.__wrapped__(value) else 0


def describe_function(function: Any) -> str:
    """Return a function's name, with the file and line where it is defined if it is a Python function.

    Examples
    --------
    >>> describe_function(Truth(len))
    'len'
    """
    function = original(function)
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name
