"""Tasks over row ranges, and the states of sequential operators between the ranges.

Each task runs a pipeline, and writes a segment or returns rows, a partial state or the states of sequential operators.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.runtime.checked_kernel_calls import call_operator, combine_parts, combine_states
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.sources.base_and_segment_source import Source
from sframe_spark.planner.chunk import Chunk, concatenate, to_stream
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator, Operator, SequentialOperator
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment

# Summaries: the state of a sequential operator over one range. If the ends of the range decide it, the rows in between are not read.


@attrs.frozen(eq=False)
class RowsOfInputs:
    """The inputs of a sequential operator, read batch by batch.

    Parameters
    ----------
    plan
        The whole plan.
    index
        The index of the operator.
    runners
        A runner for each of the operator's inputs.
    batch_rows
        The number of rows that kernels get at a time.
    """

    plan: Pipeline
    index: int
    runners: tuple[PipelineRunner, ...]
    batch_rows: int

    @classmethod
    def of(cls, plan: Pipeline, index: int, states: Mapping[int, Any], batch_rows: int) -> RowsOfInputs:
        """Return the inputs of the operator at an index, given the states of the sequential operators below it."""
        inputs = plan.inputs[index]
        return cls(plan, index, tuple(PipelineRunner(plan.below(child), states_below(plan, child, states)) for child in inputs), batch_rows)

    @property
    def operator(self) -> SequentialOperator:
        """The sequential operator."""
        operator = self.plan.operators[self.index]
        assert isinstance(operator, SequentialOperator)
        return operator

    def end_of_batch(self, first: int, stop: int) -> int:
        """Return where a batch of rows that begins at ``first`` ends."""
        return min(runner.end_of_batch(first, stop, self.batch_rows) for runner in self.runners)

    def part_of(self, first: int, last: int) -> Any:
        """Return the operator's state for one batch of rows."""
        raise_if_cancelled()
        facts = self.plan.input_facts(self.index)
        if len(self.runners) == 1:
            chunks = self.runners[0].chunks(first, last, False, self.batch_rows)
            return self.combine(*(call_operator(self.operator, partial(self.operator.summarize, [chunk], facts)) for chunk in chunks))
        return call_operator(self.operator, partial(self.operator.summarize, [runner.run(first, last) for runner in self.runners], facts))

    def parts_of(self, first: int, stop: int) -> Any:
        """Return the operator's state for a non-empty range of rows, read batch by batch."""
        last = self.end_of_batch(first, stop)
        total = self.part_of(first, last)
        while last < stop:
            first, last = last, self.end_of_batch(last, stop)
            total = self.combine(total, self.part_of(first, last))
        return total

    def combine(self, *parts: Any) -> Any:
        """Combine the states of consecutive rows."""
        return combine_states(self.operator, self.operator.combine, parts)


def summarize(plan: Pipeline, index: int, states: Mapping[int, Any], start: int, stop: int, batch_rows: int) -> Any:
    """Return the state of the sequential operator at an index for one range of rows, given the states of the sequential operators below it.

    If the ends of the range decide the state, rows are read from the beginning and then backwards from the end, until no row in between matters.
    """
    rows = RowsOfInputs.of(plan, index, states, batch_rows)
    running = running_below(plan, index)
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
    """Return the state of the last rows of a range: of as many as are needed so that no earlier row can change it, or of all of them."""
    end: Any = None
    while position < stop and (end is None or not rows.operator.ends_suffice(end)):
        first = max(position, stop - step)
        part = rows.part_of(first, stop)
        end, stop = part if end is None else rows.combine(part, end), first
    return end


def state_of_end_over_running(rows: RowsOfInputs, running: list[int], position: int, stop: int, step: int) -> Any:
    """Return the state of the last rows of a range, if sequential operators are below, whose states converge within few rows.

    The result is None if few rows do not suffice.
    """
    plan, batch_rows = rows.plan, rows.batch_rows
    if any(running_below(plan, index) or not may_converge(plan.operators[index]) for index in running):
        return None
    while costs.TIMES_AS_LONG_FOR_LAST_ROWS_ALONE * step <= stop - position:
        first = stop - step
        states = {index: converged_state(RowsOfInputs.of(plan, index, {}, batch_rows), first - step, first) for index in running}
        if None not in states.values():
            end = RowsOfInputs.of(plan, rows.index, states, batch_rows).parts_of(first, stop)
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
    return rows.combine(operator.initial_state(rows.plan.input_facts(rows.index)), part) if operator.ends_suffice(part) else None


def running_below(plan: Pipeline, index: int) -> list[int]:
    """Return the indices of the sequential operators below an operator."""
    return [below for below in plan.indices_below(index) if below != index and isinstance(plan.operators[below], SequentialOperator)]


def states_below(plan: Pipeline, index: int, states: Mapping[int, Any]) -> dict[int, Any]:
    """Return the states of operators below an operator, by their indices in ``plan.below(index)``."""
    moved = {old: new for new, old in enumerate(plan.indices_below(index))}
    return {moved[old]: state for old, state in states.items() if old in moved}


@attrs.frozen(eq=False)
class RangeTask:
    """A task: a plan to be run over base rows ``start`` (inclusive) to ``stop`` (exclusive).

    Parameters
    ----------
    plan
        The section's plan, which all its tasks share.
    start, stop
        The range of base rows.
    batch_rows
        The number of rows that kernels get at a time.
    states
        The states of sequential operators before ``start``, by index.
    final
        Whether no base rows follow ``stop``.
    own
        Sources with only the segments that this task reads, by their indices in the plan.
    ahead
        How many threads prefetch rows.
    then
        The task of the following rows, if it continues from the states after these rows.
    waits
        Whether the states come from the task before; they are used once.
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
        """The plan with the task's own sources."""
        return self.plan.with_sources(self.own)


def bytes_of(tasks: Sequence[RangeTask]) -> int | None:
    """Estimate the bytes that tasks process, at the widest node of the plan; None if users' functions are called, which may take any time."""
    plan = tasks[0].plan
    if plan.calls_functions():
        return None
    widest = max(row_bytes(sizes, costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) for sizes in plan.sizes)
    return int(sum(task.stop - task.start for task in tasks) * widest)


def chunks_of(task: RangeTask, coded: Iterable[int] = ()) -> Iterator[Chunk]:
    """Yield the rows of a task in batches, checking for Ctrl-C between them. String columns at the positions ``coded`` may be dictionary-encoded."""
    runner = PipelineRunner(task.whole, states_before(task), threads=task.ahead, coded=coded)
    for chunk in runner.stream(task.start, task.stop, task.batch_rows, task.final):
        raise_if_cancelled()
        yield chunk
    if task.then is not None:
        task.then.states.update(runner.states)


def states_before(task: RangeTask) -> dict[int, Any]:
    """Return the states before a task's rows; states that the preceding task has left are released.

    Raises
    ------
    PlanInvariantError
        If a task runs before the one that it continues from has ended.
    """
    states = dict(task.states)
    if task.waits:
        if not states:
            raise PlanInvariantError(f"rows {task.start:,} to {task.stop:,} are made before those in front of them, from whose states they go on")
        task.states.clear()
    return states


def write_range(task: RangeTask, directory: str, number: int) -> SegmentEntry:
    """Run a task and write its rows as one segment; an interrupted task may leave a file, which no manifest lists."""
    # The types are part of the plan, which is sent once.
    types = task.plan.facts[-1].schema
    return write_segment(directory, number, types, (chunk.columns for chunk in chunks_of(task) if chunk.rows))


def collect_rows(task: RangeTask) -> bytes:
    """Run a task and return its rows as an Arrow stream."""
    return bytes(to_stream(chunks_of(task)))


@attrs.define(eq=False)
class EarlyStop:
    """A flag that the tasks of one process share, to stop early.

    Parameters
    ----------
    is_too_large
        Whether the partial state of one task was too large, so that the merged state would be, too.
    """

    is_too_large: bool = False


def part_of_range(task: RangeTask, operator: DecomposableOperator, facts: Sequence[Facts], max_bytes: float, early_stop: EarlyStop) -> Any:
    """Run a task and return its partial state; ``TOO_LARGE`` if its state, or that of another task, exceeds the byte limit."""
    chunks = chunks_of(task, operator.coded_columns(facts))
    return part_of_chunks(chunks, operator, facts, task.batch_rows, task.plan.batch_bytes, max_bytes, early_stop)


def part_of_chunks(
    chunks: Iterator[Chunk],
    operator: DecomposableOperator,
    facts: Sequence[Facts],
    batch_rows: int,
    batch_bytes: int,
    max_bytes: float,
    early_stop: EarlyStop,
) -> Any:
    """Return the partial state of rows; ``TOO_LARGE`` if it, or that of another task, exceeds the byte limit."""
    if early_stop.is_too_large:
        return TOO_LARGE
    if operator.group_keys is not None:
        first = list(islice(chunks, 1))
        if first and operator.makes_large_part(first[0]):
            early_stop.is_too_large = True
            return TOO_LARGE
        chunks = chain(first, chunks)
        chunks = in_longer_runs(chunks, facts[0].schema, costs.BATCHES_OF_PARTIAL_STATE * batch_rows, batch_bytes)
    part = combined_parts(operator, (operator.part_of(chunk, facts) for chunk in chunks), facts, max_bytes)
    early_stop.is_too_large = early_stop.is_too_large or part is TOO_LARGE
    return part


def in_longer_runs(chunks: Iterable[Chunk], schema: Schema, rows: int, size: int) -> Iterator[Chunk]:
    """Concatenate chunks up to a limit in rows and bytes; larger chunks, and chunks of different types, stay separate.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sframe_spark.types import INT
    >>> chunks = [Chunk.of([pa.array(values)]) for values in ([1, 2], [3], [4, 5, 6], [7])]
    >>> [chunk.columns[0].to_pylist() for chunk in in_longer_runs(chunks, (INT,), 3, 1 << 20)]
    [[1, 2, 3], [4, 5, 6], [7]]
    """
    run: list[Chunk] = []
    for chunk in chunks:
        longer = [*run, chunk]
        if run and (chunk.types != run[0].types or sum(part.rows for part in longer) > rows or sum(part.size for part in longer) > size):
            yield concatenate(run, schema)
            run = []
        run.append(chunk)
    if run:
        yield concatenate(run, schema)


def combined_parts(operator: DecomposableOperator, parts: Iterable[Any], facts: Sequence[Facts], max_bytes: float = math.inf) -> Any:
    """Merge the partial states of consecutive rows; return ``TOO_LARGE`` as soon as the result exceeds the byte limit.

    Many states are merged at a time, within the byte limit, as each merge has fixed costs.
    """
    waiting: list[Any] = []
    size = 0.0
    for part in parts:
        if part is TOO_LARGE:
            return TOO_LARGE
        waiting.append(part)
        size += operator.bytes_of_part(part)
        if size > max_bytes or len(waiting) >= costs.PARTIAL_STATES_MERGED_AT_A_TIME:
            waiting = [combine_parts(operator, waiting, facts)]
            size = operator.bytes_of_part(waiting[0])
            if size > max_bytes:
                return TOO_LARGE
    total = combine_parts(operator, waiting, facts) if waiting else None
    return TOO_LARGE if waiting and operator.bytes_of_part(total) > max_bytes else total


def summarize_range(task: RangeTask, indices: Sequence[int]) -> list[Any]:
    """Return, for some sequential operators, the part of their state over the task's rows that later ranges need; or ``TOO_LARGE``."""
    whole, carried = task.whole, []
    for index in indices:
        operator = task.plan.operators[index]
        assert isinstance(operator, SequentialOperator)
        carried.append(operator.carried(summarize(whole, index, task.states, task.start, task.stop, task.batch_rows)))
    return carried


# Row ranges, and the states of sequential operators between them.

Range = tuple[int, int]


def states_between(operator: SequentialOperator, initial: Any, parts: Iterable[Any]) -> list[Any]:
    """Return the state before each range but the first, from the summaries of all ranges but the last; ``TOO_LARGE`` if a state is unknown.

    Parameters
    ----------
    operator
        The sequential operator.
    initial
        The state before the first range.
    parts
        For each range what ``operator.carried`` returns for its state.
    """
    running: Any = initial
    states = []
    for part in parts:
        if part is TOO_LARGE or (running is TOO_LARGE and not operator.ends_suffice(part)):
            running = TOO_LARGE
        else:
            running = operator.carried(combine_states(operator, operator.combine, (initial if running is TOO_LARGE else running, part)))
        states.append(running)
    return states


def joined_ranges(
    ranges: Sequence[Range], states: Sequence[dict[int, Any]], before: Mapping[int, Sequence[Any]]
) -> tuple[list[Range], list[dict[int, Any]]]:
    """Add the states of further operators to ranges; a range for which a state is unknown is merged into the range before it.

    Examples
    --------
    >>> joined_ranges([(0, 4), (4, 8), (8, 9)], [{7: "a"}, {}, {}], {7: [TOO_LARGE, None]})
    ([(0, 8), (8, 9)], [{7: 'a'}, {7: None}])
    """
    joined, known_states = [ranges[0]], [states[0]]
    for number, ((start, stop), state) in enumerate(zip(ranges[1:], states[1:], strict=True)):
        added = {index: of_ranges[number] for index, of_ranges in before.items()}
        if any(value is TOO_LARGE for value in added.values()):
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
            known_states.append({**state, **added})
    return joined, known_states
