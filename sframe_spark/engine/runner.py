"""Runs the kernels of a section over row intervals, on the driver or in a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from sframe_spark.errors import ConversionError
from sframe_spark.operators.lookup import Lookup
from sframe_spark.operators.sources import Source
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator, SequentialOperator, with_rows_held_back

Interval = tuple[int, int]


@attrs.frozen(eq=False)
class FlatPlan:
    """A plan as lists in postorder, so that it pickles and runs without recursion.

    Parameters
    ----------
    operators
        Operators, inputs before consumers; the last is the root.
    inputs
        Places of each operator's inputs.
    facts
        Facts of each place.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[tuple[int, ...], ...]
    facts: tuple[Facts, ...]

    @classmethod
    def of(cls, root: PlannerNode) -> FlatPlan:
        """The plan below a node."""
        nodes = list(postorder([root]))
        places = {id(node): place for place, node in enumerate(nodes)}
        inputs = tuple(tuple(places[id(child)] for child in node.inputs) for node in nodes)
        return cls(tuple(node.operator for node in nodes), inputs, tuple(node.facts for node in nodes))

    def below(self, place: int) -> FlatPlan:
        """The plan whose root is the operator at a place."""
        keep = {place}
        for index in range(place, -1, -1):
            if index in keep:
                keep.update(self.inputs[index])
        order = sorted(keep)
        moved = {old: new for new, old in enumerate(order)}
        inputs = tuple(tuple(moved[child] for child in self.inputs[old]) for old in order)
        return FlatPlan(tuple(self.operators[i] for i in order), inputs, tuple(self.facts[i] for i in order))

    def sequential_places(self) -> list[int]:
        """Places of operators with a running state, inputs first."""
        return [place for place, operator in enumerate(self.operators) if isinstance(operator, SequentialOperator)]

    def input_facts(self, place: int) -> list[Facts]:
        """Facts of the inputs of a place."""
        return [self.facts[child] for child in self.inputs[place]]

    def is_dense(self, place: int) -> bool:
        """True when rows at a place are known to be counted without gaps: no filter below."""
        waiting, seen = [place], set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            if not self.operators[current].keeps_dense:
                return False
            seen.add(current)
            waiting.extend(self.inputs[current])
        return True

    def looked_up(self) -> frozenset[tuple[int, int]]:
        """Places and slots of inputs in which an operator looks rows up instead of getting runs of them."""
        slots = [(place, slot) for place, children in enumerate(self.inputs) for slot in range(len(children))]
        return frozenset((place, slot) for place, slot in slots if self.operators[place].requires(slot) is Need.LOOKUP)


class PlanRunner:
    """Computes the root's rows for consecutive intervals of the section's base rows.

    Parameters
    ----------
    plan
        The plan.
    states
        State of each sequential operator before the first interval; the initial state where none is given.
    """

    def __init__(self, plan: FlatPlan, states: dict[int, Any] | None = None) -> None:
        self.plan = plan
        self.states = dict(states or {})
        self.looked_up = plan.looked_up()
        self.lookups: dict[int, Lookup] = {}
        for place in plan.sequential_places():
            if place not in self.states:
                operator = plan.operators[place]
                assert isinstance(operator, SequentialOperator)
                self.states[place] = operator.initial_state(plan.input_facts(place))

    def run(self, start: int, stop: int, final: bool = False) -> Chunk:
        """Rows that derive from base rows ``start`` (inclusive) to ``stop`` (exclusive); ``final``: no base rows follow."""
        wanted = self._wanted(start, stop)
        values: dict[tuple[int, Interval], Chunk] = {}
        remaining = self._reads(wanted)
        for place, operator in enumerate(self.plan.operators):
            for interval in wanted[place]:
                children = self._children(place, interval)
                inputs = self._inputs(place, [values[child] for child in children])
                values[(place, interval)] = self._compute(place, operator, inputs, interval, [c[1] for c in children], final)
                for child in children:
                    remaining[child] -= 1
                    if not remaining[child]:
                        del values[child]
        return values[(len(self.plan.operators) - 1, (start, stop))]

    def stream(self, start: int, stop: int, batch_rows: int, final: bool = True) -> Iterator[Chunk]:
        """Rows in order, a batch of base rows at a time; ``final``: no base rows follow ``stop``."""
        if stop <= start:
            yield self.run(start, start, final)
            return
        for first in range(start, stop, batch_rows):
            last = min(first + batch_rows, stop)
            yield self.run(first, last, final and last == stop)

    def _children(self, place: int, interval: Interval) -> list[tuple[int, Interval]]:
        operator = self.plan.operators[place]
        facts = self.plan.input_facts(place)
        result = []
        for slot, child in enumerate(self.plan.inputs[place]):
            if (place, slot) in self.looked_up:
                continue
            first, last = operator.input_interval(slot, interval[0], interval[1], facts)
            rows = facts[slot].length.rows
            first = max(first, 0)
            if rows is not None and (first, last) != interval:
                first, last = min(first, rows), min(last, rows)
            result.append((child, (first, max(first, last))))
        return result

    def _inputs(self, place: int, chunks: Sequence[Chunk]) -> list[Any]:
        """What a kernel gets: chunks, and look-ups (kept for all batches of the task) for the inputs it looks up."""
        remaining = iter(chunks)
        slots = enumerate(self.plan.inputs[place])
        return [self.lookup(child) if (place, slot) in self.looked_up else next(remaining) for slot, child in slots]

    def lookup(self, place: int) -> Lookup:
        """The look-up in the source at a place."""
        if place not in self.lookups:
            source = self.plan.operators[place]
            assert isinstance(source, Source)
            self.lookups[place] = Lookup.of(source)
        return self.lookups[place]

    def _wanted(self, start: int, stop: int) -> list[list[Interval]]:
        count = len(self.plan.operators)
        wanted: list[dict[Interval, None]] = [{} for _ in range(count)]
        wanted[count - 1][(start, stop)] = None
        for place in range(count - 1, -1, -1):
            for interval in wanted[place]:
                for child, needed in self._children(place, interval):
                    wanted[child][needed] = None
        return [list(intervals) for intervals in wanted]

    def _reads(self, wanted: Sequence[Sequence[Interval]]) -> dict[tuple[int, Interval], int]:
        reads: dict[tuple[int, Interval], int] = {}
        for place, intervals in enumerate(wanted):
            for interval in intervals:
                for child in self._children(place, interval):
                    reads[child] = reads.get(child, 0) + 1
        return reads

    def _compute(self, place: int, operator: Operator, inputs: list[Any], interval: Interval, needed: list[Interval], final: bool) -> Chunk:
        if isinstance(operator, Source):
            return operator.read(*interval)
        facts = self.plan.input_facts(place)
        if isinstance(operator, SequentialOperator):
            chunk, self.states[place] = operator.advance(inputs, facts, self.states[place])
            return with_rows_held_back(chunk, operator.finish(facts, self.states[place])) if final else chunk
        try:
            return operator.run_interval(inputs, facts, interval[0], interval[1], needed)
        except ConversionError as error:
            raise error.counted_from(interval[0] if self.plan.is_dense(place) else None) from None


def summarize(plan: FlatPlan, place: int, states: dict[int, Any], start: int, stop: int, batch_rows: int) -> Any:
    """State of the sequential operator at ``place`` over one range, from an initial state, given the states of those below it.

    Where the ends of the range suffice, rows are read from the beginning and then from the end, until nothing in between matters.
    """
    operator = plan.operators[place]
    assert isinstance(operator, SequentialOperator)
    facts = plan.input_facts(place)
    total = None
    children = [plan.below(child) for child in plan.inputs[place]]
    runners = [PlanRunner(child, _states_below(plan, plan.inputs[place][i], states)) for i, child in enumerate(children)]
    streams = [runner.stream(start, stop, batch_rows, final=False) for runner in runners]
    stateless = not any(child.sequential_places() for child in children)
    position = start
    for inputs in zip(*streams, strict=True):
        part = operator.summarize(list(inputs), facts)
        total = part if total is None else operator.combine(total, part)
        position = min(position + batch_rows, stop)
        if stateless and operator.ends_suffice(total):
            break
    last = None
    while position < stop and (last is None or not operator.ends_suffice(last)):
        first = max(position, stop - batch_rows)
        part = operator.summarize([runner.run(first, stop) for runner in runners], facts)
        last = part if last is None else operator.combine(part, last)
        stop = first
    return total if last is None else operator.combine(total, last)


def _states_below(plan: FlatPlan, place: int, states: dict[int, Any]) -> dict[int, Any]:
    """States of operators below a place, by their places in ``plan.below(place)``."""
    keep = {place}
    for index in range(place, -1, -1):
        if index in keep:
            keep.update(plan.inputs[index])
    moved = {old: new for new, old in enumerate(sorted(keep))}
    return {moved[old]: state for old, state in states.items() if old in moved}
