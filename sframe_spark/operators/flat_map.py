"""The flat map operator: a user's function returns any number of output rows for each input row."""

from __future__ import annotations

import array
import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import ResultsTooLongError, UserFunctionError
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.message_text import brief
from sframe_spark.operators.explode import Expansion
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import ALL_ROWS
from sframe_spark.planner.operator_declarations import FunctionCalls
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.types import ColumnType
from sframe_spark.udf.function_errors import error_like, user_error
from sframe_spark.udf.result_caching_size_limits_and_storage import ROWS_PER_CHECK, CallMemo, Guess, Part, advice_on, min_size, stored_results
from sframe_spark.values.arrow_to_python import decode_columns, scalar_array
from sframe_spark.values.input_copying_simplification_and_validation import UNCHANGING, snapshots
from sframe_spark.values.nested.python_and_tagged_json import named_rows


@register
@attrs.frozen
class FlatMap(Expansion):
    """For each row, given as a dict to a user's function, the rows of the list that the function returns, in order."""

    name: ClassVar[str] = "flat_map"
    function: PythonFunction = attrs.field(metadata={"portable": False})
    types: Schema = attrs.field()

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return self.types

    def function_calls(self, width: int) -> FunctionCalls:
        return FunctionCalls([self.function], self.types, lambda functions: attrs.evolve(self, function=functions[0]))

    def chunks(self, inputs: Sequence[Chunk], facts: Sequence[Facts], max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """Call the function once per row, and yield results as soon as there are enough, so that only few more results are in memory."""
        chunk, schema = inputs[0], facts[0].schema
        memo = self.function.memo
        if memo is None or not self.function.numbered:
            yield from self._streamed(chunk, schema, max_rows)
        elif not memo.keeps and memo.knows_none(np.asarray(chunk.columns[-1])):
            yield from self._streamed(chunk.select(range(len(schema) - 1)), schema[:-1], max_rows)
        else:
            yield from self._remembered(memo, chunk, schema, max_rows)

    def _streamed(self, chunk: Chunk, schema: Schema, max_rows: Callable[[], int]) -> Iterator[Chunk]:
        waiting: list[Sequence[Any]] = []
        max_bytes, size = self._max_bytes(), 0
        for number, result in enumerate(self._called(chunk, schema)):
            waiting.extend(result)
            if not number % ROWS_PER_CHECK and result:
                # The results of the rows in between are assumed to be as long.
                size += ROWS_PER_CHECK * len(result) * min_size(result[-1])
            while len(waiting) > (limit := max_rows()) or (size > max_bytes and waiting):
                yield self._encoded(waiting[:limit])
                waiting, size = waiting[limit:], 0
        yield self._encoded(waiting)

    def _max_bytes(self) -> float:
        """Return the number of bytes at which results are yielded; infinite if results are not measured."""
        return math.inf if self.function.made is None else self.function.made.max_bytes

    def _remembered(self, memo: CallMemo, chunk: Chunk, schema: Schema, max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """Yield results with a memo, a few rows at a time. The number of rows adapts so that results fit the limits, judging by earlier results."""
        start, step, waiting = 0, chunk.rows if max_rows() == ALL_ROWS else 1, Chunk.empty(self.types)
        max_bytes = self._max_bytes()
        while start < chunk.rows:
            part = chunk.slice(start, start + step)
            try:
                result = memo.completed(np.asarray(part.columns[-1]), partial(self._call_for, memo, part, schema))
            except ResultsTooLongError as cut:
                step = max(1, part.rows * cut.done // cut.requested)
                continue
            waiting = joined(waiting, result)
            while waiting.rows > (limit := max_rows()):
                yield waiting.slice(0, limit)
                waiting = waiting.slice(limit, waiting.rows)
            if waiting.size > max_bytes:
                yield waiting
                waiting = waiting.slice(0, 0)
            start += step
            fitting = min(max_rows() / max(result.rows, 1), max_bytes / max(result.size, 1))
            step = max(1, int(min(2 * step, fitting * part.rows)))
        yield waiting

    def _call_for(self, memo: CallMemo, chunk: Chunk, schema: Schema, positions: np.ndarray) -> tuple[Chunk, np.ndarray]:
        """Return the results for some rows of a chunk whose last column is the row id, and the number of results of each row.

        Raises
        ------
        ResultsTooLongError
            If the results are too large. The results made so far are in the memo.
        """
        chosen = chunk.select(range(len(schema) - 1)).rows_at(positions)
        rows, counts, size, max_bytes = list[Any](), list[int](), 0, self._max_bytes() if memo.keeps else math.inf
        for result in self._called(chosen, schema[:-1]):
            rows.extend(result)
            if not len(counts) % ROWS_PER_CHECK and result:
                size += ROWS_PER_CHECK * len(result) * min_size(result[-1])
            counts.append(len(result))
            if size > max_bytes and len(counts) < positions.size:
                numbers = np.asarray(chunk.columns[-1])[positions[: len(counts)]]
                memo.record(Part(numbers, np.array(counts, dtype=np.int64), self._encoded(rows)))
                raise ResultsTooLongError(len(counts), positions.size)
        return self._encoded(rows), np.array(counts, dtype=np.int64)

    def _called(self, chunk: Chunk, schema: Schema) -> Iterator[list[Sequence[Any]]]:
        lists = decode_columns(chunk.columns, schema)
        for row in named_rows(self.function.names or (), zip(*lists, strict=True)):
            yield self._call(row)

    def _encoded(self, rows: Sequence[Sequence[Any]]) -> Chunk:
        try:
            return rows_as_chunk(rows, self.types, self.function.guess)
        except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            raise self._misfit(rows, error) from None

    def _misfit(self, rows: Sequence[Sequence[Any]], error: Exception) -> UserFunctionError:
        """Return the error about the first value that does not fit its column."""
        for row in rows:
            for position, value in enumerate(row):
                column_type = self.types[position]
                try:
                    stored_results([value], column_type, self.function.guess, position)
                except (TypeError, ValueError, OverflowError, pa.ArrowException):
                    returned = f"{self.function.describe()} returned {brief(value, 80)} ({type(value).__name__})"
                    message = f"{returned} for column {position} of its rows, which does not fit a column of {column_type.kind}"
                    advice = advice_on(value, column_type, self.function.guess, "flat_map()", *_column_type_arguments(position, self.types))
                    return error_like(TypeError, f"{message}: {advice}")
        return error_like(TypeError, f"{self.function.describe()} returned values that do not fit their columns together: {error}")

    def _call(self, row: dict[str, Any]) -> list[Sequence[Any]]:
        try:
            with self.function.calling():
                result = self.function.function(row)
        except Exception as error:
            raise user_error(self.function.describe(), row, error) from None
        if result is None:
            return []
        if not isinstance(result, (list, tuple)):
            message = f"{self.function.describe()} returned {type(result).__name__}: it must return a list of rows"
            raise error_like(TypeError, message, row=row)
        return self._rows_of(result, row)

    def _rows_of(self, result: Sequence[Any], row: dict[str, Any]) -> list[Sequence[Any]]:
        """Return a snapshot of the rows that the function returned, like :func:`snapshot_rows`.

        The code of that function is repeated here, because further calls would take as long as the user's function. Tuples of immutable values are
        not tracked by the garbage collector.
        """
        rows, width = list[Sequence[Any]](), len(self.types)
        for item in result:
            values = item if type(item) is list and len(item) == width else self._row_of(item, row)
            for value in values:
                if type(value) not in UNCHANGING:
                    rows.append(snapshots(values))
                    break
            else:
                rows.append(tuple(values))
        return rows

    def _row_of(self, item: Any, row: dict[str, Any]) -> Any:
        """Return one returned item as a row: a list of values; the item itself may be the value of the only column."""
        if isinstance(item, (list, tuple, array.array)) and len(item) == len(self.types):
            return item
        if len(self.types) == 1 and isinstance(item, (int, float, str, datetime.datetime)):
            return [item]
        message = f"{self.function.describe()} returned {item!r} as a row: each row must be a list of {len(self.types)} value(s)"
        raise error_like(TypeError, message, row=row)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return ``mapInArrow`` over the rows; the row's key and the position among its results form the new key."""
        from sframe_spark.compute.spark_columns import ddl

        relation = inputs[0]
        hidden = relation.hidden
        fields = ", ".join(f"{name} {relation.df.schema[name].dataType.simpleString()}" for name in hidden)
        columns = ", ".join(f"c{i} {ddl(t.physical)}" for i, t in enumerate(self.types))
        schema = ", ".join(part for part in (columns, fields, "place bigint") if part)
        df = relation.df.mapInArrow(flat_map_batches(self, relation.schema, len(hidden)), schema)
        return Relation(df, self.types, (*relation.key, KeyColumn("place")))

    def describe(self) -> str:
        return self.function.describe()


def _column_type_arguments(position: int, types: Sequence[ColumnType]) -> tuple[str, str]:
    """Return the arguments ``column_types`` that make one column float, and int."""
    names = [[name if i == position else column_type.kind for i, column_type in enumerate(types)] for name in ("float", "int")]
    return f"column_types=[{', '.join(names[0])}]", f"column_types=[{', '.join(names[1])}]"


def snapshot_rows(rows: Sequence[Any]) -> list[Any]:
    """Return a snapshot of the rows that a function returned, because the function may change them in its next call.

    Examples
    --------
    >>> row = ["a", [1]]
    >>> rows = snapshot_rows([row])
    >>> row[1].append(2)
    >>> rows
    [['a', [1]]]
    """
    return [snapshots(row) if isinstance(row, (list, tuple)) else row for row in rows]


def rows_as_chunk(rows: Sequence[Sequence[Any]], types: Sequence[ColumnType], guess: Guess | None = None) -> Chunk:
    """Return rows of values as columns of the given types."""
    columns = [stored_results([row[i] for row in rows], column_type, guess, i) for i, column_type in enumerate(types)]
    return Chunk(tuple(columns), len(rows))


def flat_map_batches(operator: FlatMap, schema: Schema, hidden: int) -> Callable[[Any], Any]:
    """Return the function that Spark calls with batches: results carry the hidden columns of their input row."""
    from sframe_spark.compute.spark_columns import fit
    from sframe_spark.udf.error_transport import error_transport

    facts, transport = Facts(schema, Length.unknown()), error_transport()

    def expand(batches: Any) -> Any:
        acknowledge_at_once()
        for batch in batches:
            width = len(schema)
            columns = [fit(column, t.physical) for column, t in zip(batch.columns[:width], schema, strict=True)]
            for row in range(batch.num_rows):
                chunk = Chunk(tuple(column.slice(row, 1) for column in columns), 1)
                result = transport.guarded(lambda chunk=chunk: operator.kernel([chunk], [facts]))  # type: ignore[misc]
                carried = [scalar_array(batch.column(width + i)[row], result.rows) for i in range(hidden)]
                arrays = [*result.columns, *carried, pa.array(range(result.rows), pa.int64())]
                names = [f"c{i}" for i in range(len(result.columns))]
                names += [batch.schema.names[width + i] for i in range(hidden)] + ["place"]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    return expand


def flat_map(node: PlannerNode, function: Any, names: Sequence[str], types: Sequence[ColumnType], guess: Guess | None = None) -> PlannerNode:
    """Return a node with the rows that a function returns for each row of a node."""
    python = PythonFunction(function, types[0], tuple(names), guess=guess)
    return FlatMap(python, tuple(types)).make_planner_node(node)
