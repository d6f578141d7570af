"""PythonFunction: a user's function over the values of a row, evaluated in Arrow batches."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import StateNotSharedError, UserFunctionError
from sframe_spark.expressions.functions.scalar_function import Argument, ReadyToCall
from sframe_spark.message_text import brief
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.row_sizes import fixed_size
from sframe_spark.session.progress import counted_calls
from sframe_spark.types import ARRAY_KIND, DICT_KIND, LIST_KIND, STR_KIND, ColumnType
from sframe_spark.udf.bound_function import entered, hashes, now, original, packed, still_right
from sframe_spark.udf.errors import displayable, error_like, user_error
from sframe_spark.udf.pickling import PackedFunction, load_program
from sframe_spark.udf.pure_functions import steps_of_call
from sframe_spark.udf.results import LONG_TEXT, ROWS_PER_CHECK, CallMemo, Guess, MadeResults, Steps, advice_on, keeping, min_size, stored_results
from sframe_spark.values.decode import decode_columns, scalar_array
from sframe_spark.values.input_values import UNCHANGING, container_text, snapshot, snapshots
from sframe_spark.values.nested.python_objects import named_rows


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
    memo
        Results of this application so far; None if they are not cached. Compared by identity: a function applied twice makes two columns.
    numbered
        The last argument is the row id: the function is not called for rows whose results the memo has.
    guess
        Set if the result type was inferred from the first rows: results are then not converted. None if the user requested a type.
    made
        Limits the bytes of a batch: results are measured as they are computed, and the batch is split. None: no limit.
    """

    function: Callable[[Any], Any] = attrs.field(eq=id)
    result: ColumnType = attrs.field()
    names: tuple[str, ...] | None = None
    skip_missing: bool = False
    memo: CallMemo | None = attrs.field(default=None, eq=id, repr=False)
    numbered: bool = False
    guess: Guess | None = None
    made: MadeResults | None = attrs.field(default=None, eq=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """By value or by the name of its module, which a worker finds where this process does."""
        try:
            content = packed(self.function, self.describe())
        except Exception as error:
            reason = f"{self.describe()} cannot be sent to other Python processes: {error}"
            advice = "Let the function make what it needs itself, or give it plain values"
            # Only errors of this class pass through PySpark as they are.
            raise error_like(pickle.PicklingError, f"{reason}. {advice}.") from None
        memo = self.memo.sent() if self.memo is not None and self.numbered else None
        return _unpacked, (content, self.result, self.names, self.skip_missing, memo, self.numbered, self.guess)

    def infer(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        """The declared result type."""
        return self.result

    def ready(self, types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ReadyToCall:
        """The kernel for such arguments."""
        return lambda arguments, rows: self.kernel(arguments, types, parameters, rows)

    def kernel(self, arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
        """Results for a run of rows, one call per row in row order."""
        values = [scalar_array(a, rows) if isinstance(a, pa.Scalar) else a for a in arguments]
        if not self.numbered:
            return self._completed(values, types, rows, None)
        assert self.memo is not None
        numbers = np.asarray(values[-1])

        def call(places: np.ndarray) -> tuple[Chunk, None]:
            chosen = Chunk(tuple(values[:-1]), rows).rows_at(places)
            return Chunk.of([self._completed(chosen.columns, types[:-1], chosen.rows, numbers[places])]), None

        return self.memo.completed(numbers, call).columns[0]

    def _completed(self, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int, numbers: np.ndarray | None) -> pa.Array:
        """Results of rows, given with their numbers or as they come, that no memo has."""
        if self.made is None:
            return next(self._called(columns, types, rows, None))

        def call(places: np.ndarray) -> Iterator[tuple[np.ndarray, Chunk]]:
            chosen, done = Chunk(tuple(columns), rows).rows_at(places), 0
            for made in self._called(chosen.columns, types, chosen.rows, self.made):
                yield places[done : done + len(made)], Chunk.of([made])
                done += len(made)

        return self.made.completed(numbers, rows, call, keeping(self.memo) if self.numbered else None).columns[0]

    def _called(self, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int, made: MadeResults | None) -> Iterator[pa.Array]:
        """Results a few rows at a time, as many as can take no more than a part of what a batch should."""
        lists = decode_columns(columns, types)
        values, done = self._values(lists, rows), 0
        steps = Steps(rows) if made is None or fixed_size(self.result) is not None else Steps.of(made.max_bytes)
        while True:
            results: list[Any] = []
            function = now(self.function)
            try:
                with self.calling():
                    self._call(function, counted_calls(islice(values, steps.rows)), results, steps.max_bytes)
                    failed = None
            except StateNotSharedError:
                raise
            except Exception as error:
                failed = error
            if not still_right(self.function, function):
                # Others have assigned its names while it was called; it may have changed what it was given.
                lists = decode_columns(columns, types)
                values = islice(self._values(lists, rows), done, None)
                continue
            if failed is not None:
                raise user_error(self.describe(), self._value(lists, rows, done + len(results)), failed) from None
            try:
                result = stored_results(results, self.result, self.guess)
            except (TypeError, ValueError, OverflowError, pa.ArrowException):
                raise self._misfit(results, islice(self._values(lists, rows), done, done + len(results))) from None
            yield result
            done += len(results)
            if done >= rows:
                return
            steps.saw(len(results), result)

    def _value(self, lists: Sequence[list[Any]], rows: int, place: int) -> Any:
        """What the function is called with for the row at a place."""
        return next(islice(self._values(lists, rows), place, None))

    def _values(self, lists: Sequence[list[Any]], rows: int) -> Iterator[Any]:
        """What the function is called with, row by row."""
        if self.names is None:
            return iter(lists[0])
        if not lists:
            return ({} for _ in range(rows))
        return named_rows(self.names, zip(*lists, strict=True))

    def _misfit(self, results: Sequence[Any], values: Iterator[Any]) -> UserFunctionError:
        """The error about the first result that the column cannot hold."""
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
        """Add the results for some values, or for the first of them that give as many bytes as there should be."""
        append, skip_missing = results.append, self.skip_missing
        if self.result.kind in _TAKERS:
            take, size = _TAKERS[self.result.kind], 0
            for value in values:
                result = None if skip_missing and value is None else function(value)
                append(result if type(result) in UNCHANGING else take(result))
                if not len(results) % ROWS_PER_CHECK:
                    size += ROWS_PER_CHECK * min_size(result)
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
        """The same for results of which some are long, one by one."""
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
        """How long a call takes, in steps of the interpreter, or so; None unless the function is known to do nothing but compute."""
        function = now(self.function)
        return steps_of_call(function.__wrapped__ if type(function) is Truth else function)

    @property
    def hashes(self) -> bool:
        """Whether the function asks for hashes: those of texts are this process's own."""
        return hashes(self.function)

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """A block in which this application calls the function, in the state that the program had when it gave it."""
        with entered(self.function), self.memo.calling() if self.memo is not None else contextlib.nullcontext():
            yield

    def describe(self) -> str:
        """The function's name and place, as its author knows it."""
        return describe_function(self.function)


def _unpacked(content: PackedFunction, *rest: Any) -> PythonFunction:
    return PythonFunction(load_program(*content), *rest)


def retained_copy(result: Any) -> Any:
    """Return a result that can be read repeatedly and that later calls cannot change.

    What can be gone through only once, such as a generator, becomes a list; what can be changed is copied.

    Examples
    --------
    >>> retained_copy(map(str, [1, 2])), retained_copy((3, 4))
    (['1', '2'], (3, 4))
    """
    # Looking for what a class has not takes as long as a copy.
    return snapshot(result) if type(result) in _CONTAINERS or not hasattr(type(result), "__next__") else snapshots(result)


_CONTAINERS = frozenset({list, tuple, dict})
# How results of columns are taken that may be of objects which the function changes and returns again.
_TAKERS: dict[str, Callable[[Any], Any]] = {LIST_KIND: retained_copy, ARRAY_KIND: retained_copy, DICT_KIND: snapshot}


class Truth:
    """A user's function with 1 for every result that is true and 0 for the others.

    Examples
    --------
    >>> list(map(Truth(lambda value: value > 1), [1, 2]))
    [0, 1]
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.__wrapped__ = function

    def __call__(self, value: Any) -> int:
        """The truth of the function's result."""
        return 1 if self.__wrapped__(value) else 0


def describe_function(function: Any) -> str:
    """A function's name and place, as its author knows it.

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
