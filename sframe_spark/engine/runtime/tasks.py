"""Tasks over row ranges: each runs a pipeline, and writes a segment or returns rows, a partial state or the states of sequential operators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from sframe_spark.engine.memory_budget import UNKNOWN_BYTES
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, call_operator, combine_parts, combine_states
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.sources.source import Source
from sframe_spark.planner.chunk import Chunk, concatenate, to_stream
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator, Operator, SequentialOperator
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.session import raise_if_cancelled
from sframe_spark.storage.manifest.manifest import SegmentEntry

# Summaries: the state of a sequential operator over one range alone; where the ends of the range suffice, the middle is not read.

# The end of a range is read alone while it is at most this fraction of it; otherwise the range is read as a whole.
MAX_TRIED = 4


@attrs.frozen(eq=False)
class RowsOfInputs:
    """The inputs of a sequential operator, read batch by batch.

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

    plan: Pipeline
    place: int
    runners: tuple[PipelineRunner, ...]
    batch_rows: int

    @classmethod
    def of(cls, plan: Pipeline, place: int, states: Mapping[int, Any], batch_rows: int) -> RowsOfInputs:
        """What the operator at a place reads, given states of those below it."""
        inputs = plan.inputs[place]
        return cls(plan, place, tuple(PipelineRunner(plan.below(child), states_below(plan, child, states)) for child in inputs), batch_rows)

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
        """Return the state of a batch of rows."""
        raise_if_cancelled()
        facts = self.plan.input_facts(self.place)
        if len(self.runners) == 1:
            chunks = self.runners[0].chunks(first, last, False, self.batch_rows)
            return self.combine(*(call_operator(self.operator, partial(self.operator.summarize, [chunk], facts)) for chunk in chunks))
        return call_operator(self.operator, partial(self.operator.summarize, [runner.run(first, last) for runner in self.runners], facts))

    def parts_of(self, first: int, stop: int) -> Any:
        """Return the state of a non-empty range of rows, read batch by batch."""
        last = self.end_of_batch(first, stop)
        total = self.part_of(first, last)
        while last < stop:
            first, last = last, self.end_of_batch(last, stop)
            total = self.combine(total, self.part_of(first, last))
        return total

    def combine(self, *parts: Any) -> Any:
        """Combine the states of consecutive rows."""
        return combine_states(self.operator, self.operator.combine, parts)


def summarize(plan: Pipeline, place: int, states: Mapping[int, Any], start: int, stop: int, batch_rows: int) -> Any:
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
            end = state_of_end_over_running(rows, running, position, stop, step) if running else state_of_end(rows, position, stop, step)
            if end is not None:
                return rows.combine(total, end)
            is_tried = True
        last = rows.end_of_batch(position, stop)
        total, position, step = rows.combine(total, rows.part_of(position, last)), last, last - position
    return total


def state_of_end(rows: RowsOfInputs, position: int, stop: int, step: int) -> Any:
    """Return the state of the last rows of a range, as many as decide it."""
    end: Any = None
    while position < stop and (end is None or not rows.operator.ends_suffice(end)):
        first = max(position, stop - step)
        part = rows.part_of(first, stop)
        end, stop = part if end is None else rows.combine(part, end), first
    return end


def state_of_end_over_running(rows: RowsOfInputs, running: list[int], position: int, stop: int, step: int) -> Any:
    """Return the same where other sequential operators are below, whose states converge in a few rows; None where a few rows do not suffice."""
    plan, batch_rows = rows.plan, rows.batch_rows
    if any(running_below(plan, place) or not may_converge(plan.operators[place]) for place in running):
        return None
    while MAX_TRIED * step <= stop - position:
        first = stop - step
        states = {place: converged_state(RowsOfInputs.of(plan, place, {}, batch_rows), first - step, first) for place in running}
        if None not in states.values():
            end = RowsOfInputs.of(plan, rows.place, states, batch_rows).parts_of(first, stop)
            if rows.operator.ends_suffice(end):
                return end
        step *= 2
    return None


def may_converge(operator: Operator) -> bool:
    """Return whether an operator may have states that do not depend on earlier rows."""
    return isinstance(operator, SequentialOperator) and type(operator).ends_suffice is not SequentialOperator.ends_suffice


def converged_state(rows: RowsOfInputs, first: int, stop: int) -> Any:
    """Return the state after some rows if it does not depend on earlier rows, else None."""
    part, operator = rows.parts_of(first, stop), rows.operator
    return rows.combine(operator.initial_state(rows.plan.input_facts(rows.place)), part) if operator.ends_suffice(part) else None


def running_below(plan: Pipeline, place: int) -> list[int]:
    """The sequential operators below one."""
    return [index for index in plan.places_below(place) if index != place and isinstance(plan.operators[index], SequentialOperator)]


def states_below(plan: Pipeline, place: int, states: Mapping[int, Any]) -> dict[int, Any]:
    """States of operators below a place, by their places in ``plan.below(place)``."""
    moved = {old: new for new, old in enumerate(plan.places_below(place))}
    return {moved[old]: state for old, state in states.items() if old in moved}


# Batches that are grouped at once, so that partial states are merged less often; columns of more batches exceed what `memory_for_batches` caches.
BATCHES_IN_A_PART = 4

# How many partial states are merged at a time.
PARTS_AT_ONCE = 64


@attrs.frozen(eq=False)
class RangeTask:
    """The work of one task: a plan over base rows ``start..stop``.

    Parameters
    ----------
    plan
        The section's plan, which all its tasks share.
    start, stop
        Base rows.
    batch_rows
        Rows given to kernels at a time.
    states
        States of sequential operators before ``start``.
    final
        No base rows follow ``stop``.
    own
        Sources with only the segments that this task reads, by their positions in the plan.
    ahead
        How many threads prefetch rows.
    then
        The task of the following rows, if it continues from the states after these rows.
    waits
        States come from the task before, and are used once.
    """

    plan: Pipeline
    start: int
    stop: int
    batch_rows: int
    states: dict[int, Any] = attrs.Factory(dict)
    final: bool = True
    own: Mapping[int, Source] = attrs.Factory(dict)
    ahead: int = 0
    then: RangeTask | None = None
    waits: bool = False

    @property
    def whole(self) -> Pipeline:
        """The plan over the task's own sources."""
        return self.plan.with_sources(self.own)


def bytes_of(tasks: Sequence[RangeTask]) -> int | None:
    """Estimate the bytes that tasks process, at the widest node of the plan; None if users' functions, which may take any time, are called."""
    plan = tasks[0].plan
    if any(operator.user_functions(sum(facts.width for facts in plan.input_facts(place))) for place, operator in enumerate(plan.operators)):
        return None
    widest = max(row_bytes(sizes, UNKNOWN_BYTES) for sizes in plan.sizes)
    return int(sum(task.stop - task.start for task in tasks) * widest)


def chunks_of(task: RangeTask, coded: Iterable[int] = ()) -> Iterator[Chunk]:
    """Yield the rows of a task in batches, with a check for Ctrl-C between them. String columns ``coded`` may be dictionary-encoded."""
    runner = PipelineRunner(task.whole, states_before(task), threads=task.ahead, coded=coded)
    for chunk in runner.stream(task.start, task.stop, task.batch_rows, task.final):
        raise_if_cancelled()
        yield chunk
    if task.then is not None:
        task.then.states.update(runner.states)


def states_before(task: RangeTask) -> dict[int, Any]:
    """Return the states before a task's rows; those that the task before has left are released.

    Raises
    ------
    PlanInvariantError
        If a task runs before the one that it waits for has ended.
    """
    states = dict(task.states)
    if task.waits:
        if not states:
            raise PlanInvariantError(f"rows {task.start:,} to {task.stop:,} are made before those in front of them, from whose states they go on")
        task.states.clear()
    return states


def write_range(task: RangeTask, directory: str, number: int) -> SegmentEntry:
    """Run a task and write its rows as one segment; an interrupted task leaves only a file that no manifest names."""
    from sframe_spark.storage.segments.writer import write_segment

    # Types are part of the plan, which is sent once.
    types = task.plan.facts[-1].schema
    return write_segment(directory, number, types, (chunk.columns for chunk in chunks_of(task) if chunk.rows))


def collect_rows(task: RangeTask) -> bytes:
    """Run a task and return its rows as an Arrow stream."""
    return bytes(to_stream(chunks_of(task)))


@attrs.define(eq=False)
class EarlyStop:
    """A flag that tasks of one process share.

    Parameters
    ----------
    is_too_large
        The partial state of one task is too large, so the merged one is, too.
    """

    is_too_large: bool = False


def part_of_range(task: RangeTask, operator: DecomposableOperator, facts: Sequence[Facts], max_bytes: float, early_stop: EarlyStop) -> Any:
    """Run a task and return its partial state; ``TOO_LARGE`` where that, or another task's, exceeds the byte limit."""
    if early_stop.is_too_large:
        return TOO_LARGE
    chunks = chunks_of(task, operator.coded_columns(facts))
    if operator.group_keys is not None:
        chunks = in_longer_runs(chunks, task.plan.facts[-1].schema, BATCHES_IN_A_PART * task.batch_rows, task.plan.batch_bytes)
    part = combined_parts(operator, (operator.part_of(chunk, facts) for chunk in chunks), facts, max_bytes)
    early_stop.is_too_large = early_stop.is_too_large or part is TOO_LARGE
    return part


def in_longer_runs(chunks: Iterable[Chunk], schema: Schema, rows: int, size: int) -> Iterator[Chunk]:
    """Concatenate chunks up to a limit in rows and bytes; larger ones stay as they are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sframe_spark.types import INT
    >>> chunks = [Chunk.of([pa.array(values)]) for values in ([1, 2], [3], [4, 5, 6], [7])]
    >>> [chunk.columns[0].to_pylist() for chunk in in_longer_runs(chunks, (INT,), 3, 1 << 20)]
    [[1, 2, 3], [4, 5, 6], [7]]
    """
    waiting: list[Chunk] = []
    for chunk in chunks:
        held = [*waiting, chunk]
        if waiting and (chunk.types != waiting[0].types or sum(each.rows for each in held) > rows or sum(each.size for each in held) > size):
            yield concatenate(waiting, schema)
            waiting = []
        waiting.append(chunk)
    if waiting:
        yield concatenate(waiting, schema)


def combined_parts(operator: DecomposableOperator, parts: Iterable[Any], facts: Sequence[Facts], max_bytes: float = math.inf) -> Any:
    """Merge the partial states of consecutive rows; ``TOO_LARGE`` as soon as the result exceeds the byte limit.

    Many are merged at once, as each merge has fixed costs, within the byte limit.
    """
    held: list[Any] = []
    size = 0.0
    for part in parts:
        if part is TOO_LARGE:
            return TOO_LARGE
        held.append(part)
        size += operator.bytes_of_part(part)
        if size > max_bytes or len(held) >= PARTS_AT_ONCE:
            held = [combine_parts(operator, held, facts)]
            size = operator.bytes_of_part(held[0])
            if size > max_bytes:
                return TOO_LARGE
    total = combine_parts(operator, held, facts) if held else None
    return TOO_LARGE if held and operator.bytes_of_part(total) > max_bytes else total


def summarize_range(task: RangeTask, places: Sequence[int]) -> list[Any]:
    """Return what later ranges need of the states of some sequential operators over the task's range, or ``TOO_LARGE``."""
    whole, found = task.whole, []
    for place in places:
        operator = task.plan.operators[place]
        assert isinstance(operator, SequentialOperator)
        found.append(operator.carried(summarize(whole, place, task.states, task.start, task.stop, task.batch_rows)))
    return found


# Row ranges and the states of sequential operators between them.

Range = tuple[int, int]


def states_between(operator: SequentialOperator, initial: Any, parts: Iterable[Any]) -> list[Any]:
    """Return the state before each range but the first, from the summaries of all but the last; ``TOO_LARGE`` where unknown.

    Parameters
    ----------
    operator
        The operator.
    initial
        State before the first range.
    parts
        What ``operator.carried`` gives of each range's state.
    """
    running: Any = initial
    found = []
    for part in parts:
        if part is TOO_LARGE or (running is TOO_LARGE and not operator.ends_suffice(part)):
            running = TOO_LARGE
        else:
            running = operator.carried(combine_states(operator, operator.combine, (initial if running is TOO_LARGE else running, part)))
        found.append(running)
    return found


def joined_ranges(
    ranges: Sequence[Range], states: Sequence[dict[int, Any]], before: Mapping[int, Sequence[Any]]
) -> tuple[list[Range], list[dict[int, Any]]]:
    """Add states of further operators to ranges; a range before which one is unknown is merged into the previous range.

    Examples
    --------
    >>> joined_ranges([(0, 4), (4, 8), (8, 9)], [{7: "a"}, {}, {}], {7: [TOO_LARGE, None]})
    ([(0, 8), (8, 9)], [{7: 'a'}, {7: None}])
    """
    kept, known = [ranges[0]], [states[0]]
    for number, ((start, stop), state) in enumerate(zip(ranges[1:], states[1:], strict=True)):
        found = {place: of_ranges[number] for place, of_ranges in before.items()}
        if any(value is TOO_LARGE for value in found.values()):
            kept[-1] = (kept[-1][0], stop)
        else:
            kept.append((start, stop))
            known.append({**state, **found})
    return kept, known
