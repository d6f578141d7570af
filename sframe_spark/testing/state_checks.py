"""Checks of states: those of adjacent ranges of rows combine to one, however they are grouped, and whatever was sent of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.engine.runtime.checked_kernel_calls import advance, call_operator, combine_parts
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import combined_parts
from sframe_spark.errors import ContractBroken, UserFunctionError
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator, SequentialOperator
from sframe_spark.testing.kernel_runs import batch_bounds, called, even_bounds, read_all, sent
from sframe_spark.testing.row_comparison import Rows, counted, demand, difference, rows_of, same_rows, same_value, shown
from sframe_spark.udf.pickling import fresh

MAX_CUTS = 6
"""Places at which rows are cut when every three of them are tried."""


def places_to_cut(rows: int, most: int = MAX_CUTS) -> list[int]:
    """Return places at which rows are cut: everywhere, or evenly spread, both ends included.

    Examples
    --------
    >>> places_to_cut(3), places_to_cut(13)
    ([0, 1, 2, 3], [0, 2, 5, 7, 10, 13])
    """
    return list(range(rows + 1)) if rows < most else [rows * number // (most - 1) for number in range(most)]


def check_states(node: PlannerNode, rows: Rows) -> None:
    """Check that the state of several adjacent ranges is the same in any grouping, and that what ``carried`` keeps of it is enough.

    States are compared by the rows that they give after them.

    Raises
    ------
    ContractBroken
        If two groupings give other rows.
    """
    operator = node.operator
    if isinstance(operator, SequentialOperator):
        _States(node, operator, [read_all(child) for child in node.inputs], [child.facts for child in node.inputs], rows).check()


@attrs.frozen(eq=False)
class _States:
    """The checks of the states of one sequential operator over some rows."""

    node: PlannerNode
    operator: SequentialOperator
    inputs: Sequence[Chunk]
    facts: Sequence[Facts]
    rows: Rows
    without_result: list[str] = attrs.Factory(list)
    counts: dict[int, int] = attrs.Factory(dict)
    known: dict[tuple[int, int], Any] = attrs.Factory(dict)

    def check(self) -> None:
        for first, second, third in itertools.combinations_with_replacement(places_to_cut(self.inputs[0].rows), 3):
            begin = self.operator.initial_state(self.facts)
            parts = [self.state(0, first), self.state(first, second), self.state(second, third)]
            where = f"a, b and c of rows[0:{first}], rows[{first}:{second}] and rows[{second}:{third}]"
            wanted = self.rows[self.rows_before(third) :]
            # In the other grouping, the engine's own, they are combined where rows are divided into ranges.
            rule = "combine() gives the state of two ranges of rows, one after the other"
            remedy = "Let combine(a, combine(b, c)) be the same as combine(combine(a, b), c), also where a range has no rows"
            right = self.combine(begin, self.combine(parts[0], self.combine(parts[1], parts[2])))
            self.require(right, third, wanted, rule, f"combine(a, combine(b, c)) of the states {where}", remedy)
            self.check_carried(begin, parts, third, wanted, where)

    def rows_before(self, stop: int) -> int:
        """Return how many rows the operator gives for the first rows of its inputs; some operators hold rows back."""
        if stop not in self.counts:
            inputs = [chunk.slice(0, stop) for chunk in self.inputs]
            begin = self.operator.initial_state(self.facts)
            self.counts[stop] = called(self.node, lambda: advance(self.operator, inputs, self.facts, begin))[0].rows
        return self.counts[stop]

    def check_carried(self, begin: Any, parts: Sequence[Any], third: int, wanted: Rows, where: str) -> None:
        """Check that the parts of states that are sent give the same rows."""
        state = begin
        for part in parts:
            carried = self.carried(part)
            if carried is TOO_LARGE or state is TOO_LARGE:
                return
            state = self.carried(self.combine(state, sent(carried)))
        if state is TOO_LARGE:
            return
        rule = "carried() keeps all of a state that later rows need"
        remedy = "Let carried() keep what combine() and advance() read, or leave it out: then whole states are sent"
        self.require(sent(state), third, wanted, rule, f"combine() of what carried() gives of the states {where}", remedy)

    def state(self, start: int, stop: int) -> Any:
        """Return the state of a range of rows."""
        if (start, stop) not in self.known:
            inputs = [chunk.slice(start, stop) for chunk in self.inputs]
            self.known[start, stop] = called(self.node, lambda: self.operator.summarize(inputs, self.facts))
        return self.known[start, stop]

    def carried(self, state: Any) -> Any:
        return called(self.node, lambda: self.operator.carried(fresh(state)))

    def combine(self, first: Any, second: Any) -> Any:
        """Return the combined state. A function without ``return`` gives None, with which the next call usually fails."""
        try:
            found = called(self.node, lambda: self.operator.combine(fresh(first), fresh(second)))
        except UserFunctionError as error:
            self.require_result(error)
            raise
        if found is None and first is not None and second is not None:
            self.without_result.append(f"combine({shown(first)}, {shown(second)}) gives None")
        return found

    def require_result(self, error: UserFunctionError) -> None:
        if self.without_result:
            found = f"{self.without_result[0]}, and then {error.message}"
            raise ContractBroken(self.node, "combine() returns a state", found, "Write return before it") from error

    def require(self, state: Any, first: int, wanted: Rows, rule: str, where: str, remedy: str = "") -> None:
        """Require that the rows after a state are the ones of the kernel."""
        rest = [chunk.slice(first, chunk.rows) for chunk in self.inputs]
        self.check_unchanged(rest, state)
        try:
            chunk, after = called(self.node, lambda: advance(self.operator, rest, self.facts, state))
        except UserFunctionError as error:
            self.require_result(error)
            raise
        final = call_operator(self.operator, lambda: self.operator.finish(self.facts, after))
        found = rows_of(chunk if final is None else joined(chunk, final), self.node.schema)
        if not same_rows(found, wanted):
            text = difference(found, wanted, "advance()", "one kernel call for all rows")
            demand(False, self.node, rule, f"of the rows from {first} on, after {where}, {text}", remedy)

    def check_unchanged(self, rows: Sequence[Chunk], state: Any) -> None:
        """Check that ``advance`` leaves the state that it is given as it was."""
        given, before = sent(state), sent(state)
        try:
            self.operator.advance(rows, self.facts, given)
        except Exception:
            # What is wrong with it is told where its rows are needed.
            return
        found = f"for {counted(rows[0].rows, 'row')} it changes {shown(before)} to {shown(given)}"
        remedy = "Return another state: the rows may be tried again with the one that was given"
        demand(same_state(before, given), self.node, "advance() does not change the state that it is given", found, remedy)


def same_state(first: Any, second: Any) -> bool:
    """Return whether a state is as it was, as far as its values tell: an object of a class of its own is compared by its attributes.

    Examples
    --------
    >>> same_state([1, {"a": 2.5}], [1, {"a": 2.5}]), same_state([1, {"a": 2.5}], [1, {"a": 3.5}])
    (True, False)
    """
    if type(first) is not type(second):
        return False
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same_state, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_state(value, second[key]) for key, value in first.items())
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and same_state(first.tolist(), second.tolist())
    if isinstance(first, (pa.Array, pa.ChunkedArray)):
        return first.type == second.type and same_state(first.to_pylist(), second.to_pylist())
    if isinstance(first, (int, float, str, bytes, set, frozenset)):
        return same_value(first, second)
    if hasattr(first, "__dict__"):
        return all(name in vars(second) and same_state(value, vars(second)[name]) for name, value in vars(first).items())
    return True


def check_parts(node: PlannerNode, rows: Rows) -> None:
    """Check that partial states of row ranges, computed in small batches and pickled, combine to the result for all rows.

    Raises
    ------
    ContractBroken
        If a division gives other rows.
    """
    operator, facts = node.operator, [child.facts for child in node.inputs]
    if not isinstance(operator, DecomposableOperator) or not operator.decomposes(facts):
        return
    chunk = read_all(node.inputs[0])

    def part(start: int, stop: int) -> Any:
        return sent(called(node, lambda: operator.part_of(chunk.slice(start, stop), facts)))

    def require(state: Any, where: str) -> None:
        found = rows_of(called(node, lambda: operator.rows_from(state, facts)), node.schema)
        if not same_rows(found, rows):
            demand(False, node, "parts that are combined give the rows of the whole", difference(found, rows, where, "one kernel call"))

    for count in (1, 2, 7):
        bounds = even_bounds(chunk.rows, count)
        batches = [batch for first, last in itertools.pairwise(bounds) for batch in batch_bounds(first, last)]
        require(combined_parts(operator, [part(*batch) for batch in batches], facts), f"the merge of {len(batches)} parts")
    for first, second in itertools.combinations_with_replacement(places_to_cut(chunk.rows), 2):
        parts = [part(0, first), part(first, second), part(second, chunk.rows)]
        where = f"the merge of the parts of rows 0 to {first}, {first} to {second} and {second} to {chunk.rows}"
        last = combine_parts(operator, parts[1:], facts)
        require(combine_parts(operator, [parts[0], last], facts), f"{where}, the last two combined first,")
