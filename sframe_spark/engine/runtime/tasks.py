"""Works of a segment section: one per row range, each runs the section's kernels and writes a segment or returns batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.engine.budgets import UNKNOWN_BYTES
from sframe_spark.engine.runtime.others import combined_all
from sframe_spark.engine.runtime.pipeline import FlatPlan, PlanRunner
from sframe_spark.engine.runtime.summaries import summarize
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.sources.source import Source
from sframe_spark.planner.chunk import Chunk, concatenate, to_stream
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator, SequentialOperator
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.session import raise_if_cancelled
from sframe_spark.storage.manifest.manifest import SegmentEntry

# Groups of so many batches are found at once: groups of parts are merged less often. Columns of eight are 8 MiB, which `memory_for_batches` does
# not keep.
BATCHES_IN_A_PART = 4

# How many parts are put together at a time: that of a few groups each takes little longer than that of two.
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
        Sources of which this task is told no more than it reads, by their places in the plan.
    ahead
        How many threads decode rows before they are asked for.
    then
        The task of the rows that follow, which goes on from the states after these; None where it is told others, or there is none.
    waits
        States are those that the task before has left; they are told once.
    """

    plan: FlatPlan
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
    def whole(self) -> FlatPlan:
        """The plan over the task's own sources."""
        return self.plan.with_sources(self.own)


def bytes_of(tasks: Sequence[RangeTask]) -> int | None:
    """Bytes of rows that tasks go through, where the plan has most in a row; None if functions of users are called: they may take any time."""
    plan = tasks[0].plan
    if any(operator.user_functions(sum(facts.width for facts in plan.input_facts(place))) for place, operator in enumerate(plan.operators)):
        return None
    widest = max(row_bytes(sizes, UNKNOWN_BYTES) for sizes in plan.sizes)
    return int(sum(task.stop - task.start for task in tasks) * widest)


def chunks_of(task: RangeTask, coded: Iterable[int] = ()) -> Iterator[Chunk]:
    """Rows of a task, batch by batch; Ctrl-C ends threads between two. Texts of the columns ``coded`` may come as numbers in a dictionary."""
    runner = PlanRunner(task.whole, states_before(task), threads=task.ahead, coded=coded)
    for chunk in runner.stream(task.start, task.stop, task.batch_rows, task.final):
        raise_if_cancelled()
        yield chunk
    if task.then is not None:
        task.then.states.update(runner.states)


def states_before(task: RangeTask) -> dict[int, Any]:
    """States before a task's rows; those that the task before has left are not kept beyond this.

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
class Tries:
    """What tasks of one process tell each other; each process has its own.

    Parameters
    ----------
    in_vain
        The part of one of them is too large, so those of all together are.
    """

    in_vain: bool = False


def part_of_range(task: RangeTask, operator: DecomposableOperator, facts: Sequence[Facts], most_bytes: float, tries: Tries) -> Any:
    """Run a task and return what its rows contribute to an operator above the plan; ``TOO_LARGE`` where that takes more bytes, or another's did."""
    if tries.in_vain:
        return TOO_LARGE
    chunks = chunks_of(task, operator.coded_columns(facts))
    if operator.group_keys is not None:
        chunks = in_longer_runs(chunks, task.plan.facts[-1].schema, BATCHES_IN_A_PART * task.batch_rows, task.plan.batch_bytes)
    part = combined_parts(operator, (operator.part_of(chunk, facts) for chunk in chunks), facts, most_bytes)
    tries.in_vain = tries.in_vain or part is TOO_LARGE
    return part


def in_longer_runs(chunks: Iterable[Chunk], schema: Schema, rows: int, size: int) -> Iterator[Chunk]:
    """The same rows in fewer chunks, none of which has more rows or bytes unless it had before.

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


def combined_parts(operator: DecomposableOperator, parts: Iterable[Any], facts: Sequence[Facts], most_bytes: float = math.inf) -> Any:
    """The part of consecutive runs of rows together; ``TOO_LARGE``, and no further one is asked for, where it takes more bytes.

    Many are put together at once, as each time has its price, but no more than may take as many bytes as all together.
    """
    held: list[Any] = []
    size = 0.0
    for part in parts:
        if part is TOO_LARGE:
            return TOO_LARGE
        held.append(part)
        size += operator.bytes_of_part(part)
        if size > most_bytes or len(held) >= PARTS_AT_ONCE:
            held = [combined_all(operator, held, facts)]
            size = operator.bytes_of_part(held[0])
            if size > most_bytes:
                return TOO_LARGE
    total = combined_all(operator, held, facts) if held else None
    return TOO_LARGE if held and operator.bytes_of_part(total) > most_bytes else total


def summarize_range(task: RangeTask, places: Sequence[int]) -> list[Any]:
    """What the ranges after the task's need of the state of each of some sequential operators over it, or ``TOO_LARGE``."""
    whole, found = task.whole, []
    for place in places:
        operator = task.plan.operators[place]
        assert isinstance(operator, SequentialOperator)
        found.append(operator.carried(summarize(whole, place, task.states, task.start, task.stop, task.batch_rows)))
    return found
