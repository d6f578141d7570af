"""The state of a sequential operator over one range of rows, on its own; where the ends of the range suffice, those between are not read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from sframe_spark.engine.runtime.flat_plan import FlatPlan
from sframe_spark.engine.runtime.others import asked, combined
from sframe_spark.engine.runtime.pipeline import PlanRunner
from sframe_spark.planner.operator import Operator, SequentialOperator
from sframe_spark.session import raise_if_cancelled

# Rows at the end of a range are tried where they are a share of it: it is read as a whole where these do not suffice.
MOST_TRIED = 4


@attrs.frozen(eq=False)
class RowsOfInputs:
    """What a sequential operator reads, batch by batch.

    Parameters
    ----------
    plan
        The plan.
    place
        Where the operator is.
    runners
        One for each of its inputs.
    batch_rows
        Rows given to kernels at a time.
    """

    plan: FlatPlan
    place: int
    runners: tuple[PlanRunner, ...]
    batch_rows: int

    @classmethod
    def of(cls, plan: FlatPlan, place: int, states: Mapping[int, Any], batch_rows: int) -> RowsOfInputs:
        """What the operator at a place reads, given states of those below it."""
        inputs = plan.inputs[place]
        return cls(plan, place, tuple(PlanRunner(plan.below(child), states_below(plan, child, states)) for child in inputs), batch_rows)

    @property
    def operator(self) -> SequentialOperator:
        """The operator."""
        operator = self.plan.operators[self.place]
        assert isinstance(operator, SequentialOperator)
        return operator

    def end_of_batch(self, first: int, stop: int) -> int:
        """Where a batch of rows from ``first`` ends."""
        return min(runner.end_of_batch(first, stop, self.batch_rows) for runner in self.runners)

    def part_of(self, first: int, last: int) -> Any:
        """The state of a batch of rows; those that many are made of come in pieces."""
        raise_if_cancelled()
        facts = self.plan.input_facts(self.place)
        if len(self.runners) == 1:
            pieces = self.runners[0].pieces(first, last, False, self.batch_rows)
            return self.together(*(asked(self.operator, partial(self.operator.summarize, [piece], facts)) for piece in pieces))
        return asked(self.operator, partial(self.operator.summarize, [runner.run(first, last) for runner in self.runners], facts))

    def parts_of(self, first: int, stop: int) -> Any:
        """The state of rows, some at least, a batch after the other."""
        last = self.end_of_batch(first, stop)
        total = self.part_of(first, last)
        while last < stop:
            first, last = last, self.end_of_batch(last, stop)
            total = self.together(total, self.part_of(first, last))
        return total

    def together(self, *parts: Any) -> Any:
        """The state of runs of rows one after the other."""
        return combined(self.operator, self.operator.combine, parts)


def summarize(plan: FlatPlan, place: int, states: Mapping[int, Any], start: int, stop: int, batch_rows: int) -> Any:
    """State of the sequential operator at ``place`` over one range, from an initial state, given the states of those below it.

    Where the ends of the range suffice, rows are read from the beginning and then from the end, until nothing in between matters.
    """
    rows = RowsOfInputs.of(plan, place, states, batch_rows)
    running = running_below(plan, place)
    position = rows.end_of_batch(start, stop)
    step = max(position - start, 1)
    total, is_tried = rows.part_of(start, position), False
    while position < stop:
        if not is_tried and rows.operator.ends_suffice(total):
            end = ended_over_running(rows, running, position, stop, step) if running else ended(rows, position, stop, step)
            if end is not None:
                return rows.together(total, end)
            is_tried = True
        last = rows.end_of_batch(position, stop)
        total, position, step = rows.together(total, rows.part_of(position, last)), last, last - position
    return total


def ended(rows: RowsOfInputs, position: int, stop: int, step: int) -> Any:
    """The state of the last rows, as far as it matters what they are."""
    end: Any = None
    while position < stop and (end is None or not rows.operator.ends_suffice(end)):
        first = max(position, stop - step)
        part = rows.part_of(first, stop)
        end, stop = part if end is None else rows.together(part, end), first
    return end


def ended_over_running(rows: RowsOfInputs, running: list[int], position: int, stop: int, step: int) -> Any:
    """The same where running values are read, of which rows somewhat before the last ones tell the state; None where few rows do not suffice."""
    plan, batch_rows = rows.plan, rows.batch_rows
    if any(running_below(plan, place) or not may_settle(plan.operators[place]) for place in running):
        return None
    while MOST_TRIED * step <= stop - position:
        first = stop - step
        states = {place: settled(RowsOfInputs.of(plan, place, {}, batch_rows), first - step, first) for place in running}
        if None not in states.values():
            end = RowsOfInputs.of(plan, rows.place, states, batch_rows).parts_of(first, stop)
            if rows.operator.ends_suffice(end):
                return end
        step *= 2
    return None


def may_settle(operator: Operator) -> bool:
    """True for operators that say of some states that rows before do not matter."""
    return isinstance(operator, SequentialOperator) and type(operator).ends_suffice is not SequentialOperator.ends_suffice


def settled(rows: RowsOfInputs, first: int, stop: int) -> Any:
    """The state after some rows, whatever rows come before; None where these matter."""
    part, operator = rows.parts_of(first, stop), rows.operator
    return rows.together(operator.initial_state(rows.plan.input_facts(rows.place)), part) if operator.ends_suffice(part) else None


def running_below(plan: FlatPlan, place: int) -> list[int]:
    """The sequential operators below one."""
    return [index for index in plan.places_below(place) if index != place and isinstance(plan.operators[index], SequentialOperator)]


def states_below(plan: FlatPlan, place: int, states: Mapping[int, Any]) -> dict[int, Any]:
    """States of operators below a place, by their places in ``plan.below(place)``."""
    moved = {old: new for new, old in enumerate(plan.places_below(place))}
    return {moved[old]: state for old, state in states.items() if old in moved}
