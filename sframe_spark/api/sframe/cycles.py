"""Members of SFrame over rows that belong together because they have one time, or follow each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from sframe_spark.api.aggregate import AggregateRequest
from sframe_spark.api.aggregate_requests import chosen_names, expand_requests, output_names
from sframe_spark.api.class_registry import made_frame
from sframe_spark.api.indexing import function_as_now
from sframe_spark.api.node_values import python_columns, rows_of
from sframe_spark.api.sframe.relational import Relational
from sframe_spark.api.user_functions import general, type_of_results
from sframe_spark.errors import InvalidArgumentError, SchemaError, TakenNameError
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.cycles import CycleFunction, MapCycles, cycles_within, group_by_cycles, map_cycles
from sframe_spark.operators.grouped.streaming_groupby import narrowed, streaming_group_by
from sframe_spark.operators.kernels.runs import run_numbers, run_starts
from sframe_spark.operators.relational.sort import sort_rows
from sframe_spark.operators.rowwise.columns import zip_columns
from sframe_spark.operators.rowwise.python_function import PythonFunction
from sframe_spark.operators.rowwise.row_number import row_number
from sframe_spark.operators.user_calls import remember_first
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph import postorder
from sframe_spark.session.progress import counted_calls, showing_work
from sframe_spark.types import INT, ColumnType, of_any_offset
from sframe_spark.udf.results import Guess
from sframe_spark.values.encode import encode
from sframe_spark.values.flat.named_rows import named_rows
from sframe_spark.values.infer import column_type_for

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame
    from sframe_spark.planner.node import PlannerNode

SAMPLE_ROWS = 100
"""Rows of the first cycles that a function is tried on to learn the types of its results."""


class Cycles(Relational):
    """Members that put neighbouring rows together."""

    def groupby_cycles(self, on: str, by: Any = None, operations: Any = None) -> SFrame:
        """One row per distinct time (and key): the time, the key, then aggregates of its rows.

        Parameters
        ----------
        on
            Name of the time column: int, float, str or datetime. A missing time is a time of its own, before all others; NaN is one after all
            others; date-times are one time when they are the same instant.
        by
            Name, or list of names, of key columns (missing equals missing).
        operations
            As for ``groupby``: a dict from output name to an aggregate, an aggregate, or a list of these. None: only times and keys.

        Returns
        -------
        SFrame
            Ascending by time, within a time in order of first appearance of the key. The frame need not be sorted by ``on``.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If an argument is not of these forms, or the time column's type has no order.
        RuntimeError
            If an output name is taken, or an aggregate does not take its column's type.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"time": [1, 1, 2], "v": [5, 7, 1]})
        >>> sf.groupby_cycles("time", operations={"total": aggregate.SUM("v")}).to_arrow().to_pydict()
        {'time': [1, 2], 'total': [12, 1]}
        """
        time, keys = self._time_position(on), self._key_positions(by, "by")
        aggregations, names = self._grouped_columns([time, *keys], operations)
        return made_frame(group_by_cycles(self._node, time, keys, aggregations), names)

    def groupby_runs(self, columns: Any, operations: Any = None) -> SFrame:
        """One row per run of consecutive rows that are equal in some columns: these columns, then aggregates of the run.

        Parameters
        ----------
        columns
            Name, or list of names, of columns of any type. Missing equals missing, NaN equals NaN; date-times are equal when they are the same
            instant (the first row's is shown).
        operations
            As for ``groupby``. None: only the columns.

        Returns
        -------
        SFrame
            In row order; a value that comes again later has a row of its own again.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If an argument is not of these forms.
        RuntimeError
            If an output name is taken, or an aggregate does not take its column's type.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"state": ["on", "on", "off", "on"], "v": [1, 2, 3, 4]})
        >>> sf.groupby_runs("state", {"rows": aggregate.COUNT(), "total": aggregate.SUM("v")}).to_arrow().to_pydict()
        {'state': ['on', 'off', 'on'], 'rows': [2, 1, 1], 'total': [3, 3, 4]}
        """
        keys = self._key_positions(columns, "columns")
        if not keys:
            raise InvalidArgumentError("groupby_runs needs at least one column")
        aggregations, names = self._grouped_columns(keys, operations)
        below, places, moved = narrowed(self._node, keys, aggregations)
        return made_frame(streaming_group_by(below, places, moved), names)

    def add_columns_by_cycle(
        self, fn: Callable[[list[dict[str, Any]]], Any], column_names: Any, on: str, by: Any = None, dtypes: Any = None
    ) -> SFrame:
        """This frame with new columns that a function makes of all rows of one time (and key) at once.

        Parameters
        ----------
        fn
            Function that is called once per time and key, with a list of its rows as dicts, in row order. For one new column it returns a list
            with one value per row; for several a dict from name to such a list.
        column_names
            Name of the new column, or a list of names.
        on
            Name of the time column, as for :meth:`groupby_cycles`.
        by
            Name, or list of names, of key columns: rows of one time with different keys go to ``fn`` apart.
        dtypes
            Class of the new column, or a list of classes. None: inferred from the first cycles.

        Returns
        -------
        SFrame
            All rows in their places, the new columns last.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If an argument is not of these forms, or ``fn`` does not return one value per row.
        RuntimeError
            If ``fn`` fails: the message shows its own traceback and the cycle.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> def share(rows):
        ...     total = sum(row["v"] for row in rows)
        ...     return [row["v"] / total for row in rows]
        >>> sf = SFrame({"time": [1, 1, 2], "v": [1, 3, 7]})
        >>> list(sf.add_columns_by_cycle(share, "share", on="time")["share"])
        [0.25, 0.75, 1.0]
        """
        bound = function_as_now(fn, "add_columns_by_cycle", self._node.length.at_most)
        time, keys = self._time_position(on), self._key_positions(by, "by")
        single = isinstance(column_names, str)
        names = [column_names] if single else list(column_names) if isinstance(column_names, (list, tuple)) else []
        if not names or not all(isinstance(name, str) for name in names):
            raise SchemaError(f"column_names is a name or a list of names, got {column_names!r}")
        taken = [name for place, name in enumerate(names) if name in self._names or name in names[:place]]
        if taken:
            raise TakenNameError(f"there is a column {taken[0]!r} already: choose another name for the new one")
        function = CycleFunction(PythonFunction(bound, INT, tuple(self._names)), tuple(names), single)
        given = None if dtypes is None else dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
        sample = self._cycle_sample(function, time, keys) if given is None else None
        bound.rest(sample is not None)
        types = sample.types if sample is not None else [of_any_offset(column_type_for(dtype)) for dtype in given or ()]
        if len(types) != len(names):
            raise SchemaError(f"add_columns_by_cycle needs one dtype per column: {len(names)} name(s), {len(types)} dtype(s)")
        if sample is not None:
            guess = Guess.of(list(zip(types, sample.values, strict=True)))
            function = attrs.evolve(function, function=attrs.evolve(function.function, guess=guess))
        node = map_cycles(self._node, time, keys, function, types)
        if sample is not None:
            sample.remember(node, function)
        return made_frame(node, [*self._names, *names])

    def _cycle_sample(self, function: CycleFunction, time: int, keys: Sequence[int]) -> CycleSample:
        """What a function gives for the first complete cycles."""
        ordered = sort_rows(zip_columns(self._node, row_number(self._node)), [(time, True)])
        chunk, runs = first_runs(ordered, time)
        rows = list(zip(*python_columns(chunk, ordered.schema, 0, None), strict=True))
        numbers: list[int] = []
        found: list[list[Any]] = [[] for _ in function.columns]
        with showing_work("looking at the first results of a function of cycles"):
            for places in counted_calls(cycles_within(runs, chunk, keys, ordered.schema) if rows else []):
                cycle = [rows[place] for place in places]
                numbers += [row[-1] for row in cycle]
                for values, added in zip(found, function(list(named_rows(self._names, (row[:-1] for row in cycle)))), strict=True):
                    values += added
        present = [[value for value in values if value is not None] for values in found]
        return CycleSample([general(type_of_results(values, "add_columns_by_cycle() dtypes")) for values in present], numbers, found)

    def _time_position(self, on: Any) -> int:
        if not isinstance(on, str):
            raise SchemaError(f"on takes the name of a column, got {on!r}")
        position = self._position(on)
        self._check_sortable(position)
        return position

    def _key_positions(self, by: Any, what: str) -> list[int]:
        names = [] if by is None else [by] if isinstance(by, str) else by
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            hint = "; aggregates are given as operations=" if isinstance(by, (dict, AggregateRequest)) else ""
            raise SchemaError(f"{what} takes a column name or a list of names, got {by!r}{hint}")
        return [self._position(name) for name in names]

    def _grouped_columns(self, keys: Sequence[int], operations: Any) -> tuple[list[Aggregation], list[str]]:
        """Aggregations, and the names of the keys and the aggregates."""
        requests = expand_requests([] if operations is None else [operations])
        aggregations = [self._aggregation(request) for _, request in requests]
        chosen = chosen_names([operations])
        return aggregations, output_names([self._names[key] for key in keys], requests, chosen)


@attrs.frozen
class CycleSample:
    """What a function gave for some cycles: the types of its columns, the numbers of the rows, and their values by column."""

    types: list[ColumnType]
    numbers: list[int]
    values: list[list[Any]]

    def remember(self, node: PlannerNode, function: CycleFunction) -> None:
        """Let the node that applies the function know, so that these rows are not given to it again."""
        for below in postorder([node]):
            if isinstance(below.operator, MapCycles) and below.operator.function.function is function.function:
                columns = tuple(encode(values, column_type) for values, column_type in zip(self.values, self.types, strict=True))
                remember_first(below, Chunk(columns, len(self.numbers)), numbers=self.numbers)


def first_runs(ordered: PlannerNode, time: int) -> tuple[Chunk, np.ndarray]:
    """The first rows, all rows of some times, and the number of each one's time; times are one where they are when all rows are computed."""
    count = SAMPLE_ROWS
    while True:
        chunk = rows_of(ordered, 0, count, as_objects=True)
        starts = run_starts([chunk.columns[time]], [ordered.schema[time]], chunk.rows)
        if chunk.rows < count:
            return chunk, run_numbers(starts, chunk.rows)
        if starts.size > 1:
            # More rows of the last time may follow.
            complete = int(starts[-1])
            return chunk.slice(0, complete), run_numbers(starts[:-1], complete)
        count *= 10
