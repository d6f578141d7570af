"""The operator that calls a user's function once for all rows with the same time and keys (a cycle), and a group-by of such rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_runs import group_within, run_numbers, run_starts
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import group_adjacent_equal_keys, narrowed, numbered_runs
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.run_operator import RunOperator
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, column_names
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Origin
from sframe_spark.planner.operator_declarations import FunctionCalls
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.types import ColumnType
from sframe_spark.udf.function_errors import error_like, user_error
from sframe_spark.udf.result_caching_size_limits_and_storage import Steps, keeping, min_size, stored_results
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.input_copying_simplification_and_validation import snapshots
from sframe_spark.values.nested.python_and_tagged_json import named_rows


@attrs.frozen
class CycleFunction:
    """A user's function that gets all rows of a cycle as a list of dicts, and returns one value per row for each new column.

    Parameters
    ----------
    function
        The function, with the names of the columns that it gets, which are the first columns of the input. For one new column it returns a
        list, for several a dict of lists.
    columns
        Names of the new columns.
    single
        Whether the function returns a list (for one new column).
    numbered
        Whether a further column, after those that the function gets, holds the row ids.
    """

    function: PythonFunction
    columns: tuple[str, ...]
    single: bool
    numbered: bool = False

    def __call__(self, rows: list[dict[str, Any]]) -> list[list[Any]]:
        """Return the values of each new column for the rows of one cycle.

        Raises
        ------
        UserFunctionError
            If the function fails, or does not return one value per row. The error is also an instance of the function's own error class.
        """
        try:
            result = self.function.function(rows)
        except Exception as error:
            raise user_error(self.describe(), rows, error) from None
        lists = [result] if self.single else [result.get(name) if isinstance(result, dict) else None for name in self.columns]
        for name, values in zip(self.columns, lists, strict=True):
            if not isinstance(values, (list, tuple)) or len(values) != len(rows):
                raise error_like(TypeError, self._complaint(name, values, len(rows)), row=rows[:10])
        return [snapshots(values or ()) for values in lists]

    def _complaint(self, name: str, values: Any, rows: int) -> str:
        wanted = "a list" if self.single else f"a dict with a list under {name!r}"
        result = f"a list of {len(values)}" if isinstance(values, (list, tuple)) else f"{type(values).__name__}"
        return f"{self.describe()} gave {result} for the column {name!r}: it must return {wanted} with one value for each of the {rows} row(s)"

    def describe(self) -> str:
        """Return the description of the function for messages."""
        return self.function.describe()


@register
@attrs.frozen
class MapCycles(RunOperator):
    """The input's rows, with new columns that a user's function computes from all rows with one key.

    Parameters
    ----------
    function
        The user's function.
    types
        Types of the new columns.
    keys
        Columns in which the rows of a run are equal.
    within
        Columns by which the rows of a run are divided further; rows of one part need not be adjacent.
    """

    name: ClassVar[str] = "map_cycles"
    function: CycleFunction = attrs.field(metadata={"portable": False})
    types: Schema = attrs.field()
    keys: tuple[int, ...] = attrs.field(validator=column_positions)
    within: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the input's types, followed by the types of the new columns."""
        return (*inputs[0].schema, *self.types)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return inputs[0].length

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: rows keep their order, and the new columns have no known properties."""
        return inputs[0].project([*range(facts[0].width), *[None] * len(self.types)])

    def function_calls(self, width: int) -> FunctionCalls:
        called = self.function
        return FunctionCalls(
            [called.function], self.types, lambda functions: attrs.evolve(self, function=attrs.evolve(called, function=functions[0]))
        )

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position)] for position in range(inputs[0].width)]

    def lift(self, chunk: Chunk, schema: Schema) -> Chunk:
        return chunk

    def collapse(self, table: Chunk, schema: Schema) -> tuple[Chunk, np.ndarray]:
        """Return the rows, and the number of each row's run."""
        starts = run_starts([table.columns[p] for p in self.keys], [schema[p] for p in self.keys], table.rows)
        return table, run_numbers(starts, table.rows)

    def results(self, table: Chunk, runs: np.ndarray, schema: Schema) -> Chunk:
        """Return the rows with the new columns, after one call per cycle."""
        # The function gets the columns that have names. One more column may hold the row ids.
        names = self.function.function.names or ()
        lists = [decode(table.columns[i], schema[i]) for i in range(len(names))]
        rows = list(named_rows(names, zip(*lists, strict=True)))
        cycles = cycles_within(runs, table, self.within, schema)
        function = self.function.function
        numbers = np.asarray(table.columns[len(names)]) if self.function.numbered else None

        def call(positions: np.ndarray) -> tuple[Chunk, None]:
            if function.made is None or numbers is None:
                indices, result = next(self._called(rows, cycles, positions, Steps(table.rows)))
                return result.rows_at(np.argsort(indices)), None
            steps = Steps.of(function.made.max_bytes)

            def columns(missing: np.ndarray) -> Iterator[tuple[np.ndarray, Chunk]]:
                return ((missing[indices], result) for indices, result in self._called(rows, cycles, positions[missing], steps))

            return function.made.completed(numbers[positions], positions.size, columns, keeping(function.memo)), None

        everything = np.arange(table.rows)
        added = call(everything)[0] if function.memo is None or numbers is None else function.memo.completed(numbers, call)
        return Chunk((*table.columns, *added.columns), table.rows)

    def _called(self, rows: list[dict[str, Any]], cycles: list[list[int]], missing: np.ndarray, steps: Steps) -> Iterator[tuple[np.ndarray, Chunk]]:
        """Call the function for the cycles that the ``missing`` rows make up.

        Yield, a few cycles at a time, indices into ``missing``, and the new columns.
        """
        location_of = {row: position for position, row in enumerate(missing.tolist())}
        left, indices, size = missing.size, list[int](), 0.0
        added: list[list[Any]] = [[] for _ in self.types]
        for cycle in cycles:
            if cycle[0] not in location_of:
                continue
            with self.function.function.calling():
                result = self.function([rows[row] for row in cycle])
            indices.extend(location_of[row] for row in cycle)
            for column, values in zip(added, result, strict=True):
                column.extend(values)
                size += len(values) * min_size(values[-1])
            if left > len(indices) and (len(indices) >= steps.rows or size > steps.max_bytes):
                columns = self._columns(added)
                yield np.array(indices, dtype=np.int64), columns
                steps.saw(len(indices), columns)
                left, indices, size, added = left - len(indices), [], 0.0, [[] for _ in self.types]
        yield np.array(indices, dtype=np.int64), self._columns(added)

    def _columns(self, added: list[list[Any]]) -> Chunk:
        return Chunk.of([self._encoded(i, values) for i, values in enumerate(added)])

    def _encoded(self, index: int, values: list[Any]) -> pa.Array:
        column_type, name = self.types[index], self.function.columns[index]
        try:
            return stored_results(values, column_type, self.function.function.guess, index)
        except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            message = f"{self.function.describe()} returned a value for {name!r} that does not fit the column type {column_type.kind}: {error}."
            raise error_like(TypeError, f"{message} Give another dtype, or convert the value in the function.") from None

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the runs, numbered with a window, after passing each one to the kernel."""
        from sframe_spark.compute.spark_columns import ddl

        relation = numbered_runs(inputs[0].with_position(), self.keys)
        position = str(relation.position)
        schema = (*relation.schema, *self.types)
        fields = ", ".join(f"c{i} {ddl(column_type.physical)}" for i, column_type in enumerate(schema))
        calls = map_runs(self, relation.schema, position)
        # The window has brought all rows into one partition.
        df = relation.df.sortWithinPartitions("run", position).mapInArrow(calls, f"{fields}, {position} bigint")
        return Relation(df, schema, (KeyColumn(position),), position)

    def describe(self) -> str:
        keys = ", ".join(f"c{position}" for position in (*self.keys, *self.within))
        return f"[{keys}]; {', '.join(self.function.columns)} = {self.function.describe()}"


def cycles_within(runs: np.ndarray, table: Chunk, within: Sequence[int], schema: Schema) -> list[list[int]]:
    """Return the row indices of each cycle: the rows of a run, divided by the columns ``within`` in order of first appearance."""
    grouping = group_within(runs, [table.columns[position] for position in within], [schema[position] for position in within])
    order = np.arange(table.rows) if grouping.order is None else grouping.order
    return [order[start:stop].tolist() for start, stop in itertools.pairwise([*grouping.starts.tolist(), table.rows])]


def map_runs(operator: MapCycles, schema: Schema, position: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls with the batches of all rows, sorted by run and position."""
    from sframe_spark.compute.spark_columns import fit
    from sframe_spark.udf.error_transport import error_transport

    transport = error_transport()

    def results(table: pa.Table) -> pa.Table:
        chunk = Chunk(tuple(fit(table.column(f"c{i}"), kind.physical) for i, kind in enumerate(schema)), table.num_rows)
        runs = np.asarray(table.column("run"))
        result = transport.guarded(lambda: operator.results(chunk, runs - runs[0], schema))
        return pa.table([*result.columns, table.column(position)], names=[*column_names(len(result.columns)), position])

    def call(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        acknowledge_at_once()
        for table in whole_runs(batches):
            yield from results(table).combine_chunks().to_batches()

    return call


def whole_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of batches, which are sorted by their column ``run``, as tables of whole runs, as soon as the next run begins."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        runs = np.asarray(batch.column("run"))
        if not runs.size:
            continue
        start = int(np.searchsorted(runs, runs[-1]))
        if start or (kept and kept[-1].column("run")[-1].as_py() != runs[0]):
            yield pa.Table.from_batches([*kept, batch.slice(0, start)])
            kept = []
        kept.append(batch.slice(start))
    if kept:
        yield pa.Table.from_batches(kept)


def group_by_cycles(node: PlannerNode, on: int, by: Sequence[int], aggregations: Sequence[Aggregation]) -> PlannerNode:
    """Return a node with one row per distinct value of ``on``, ascending, and within it per value of ``by``, in order of first appearance."""
    below, positions, moved = narrowed(node, [on, *by], aggregations)
    return group_adjacent_equal_keys(sort_rows(below, [(positions[0], True)]), positions[:1], moved, positions[1:])


def map_cycles(node: PlannerNode, on: int, by: Sequence[int], function: CycleFunction, types: Sequence[ColumnType]) -> PlannerNode:
    """Return a node with the rows of a node in their order, and the columns that a function computes from all rows of one time and key."""
    width = node.facts.width
    numbered = sort_rows(zip_columns(node, row_number(node)), [(on, True)])
    mapped = MapCycles(attrs.evolve(function, numbered=True), tuple(types), (on,), tuple(by)).make_planner_node(numbered)
    placed = sort_rows(mapped, [(width, True)])
    return project(placed, [*range(width), *range(width + 1, width + 1 + len(types))])
