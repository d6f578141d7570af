"""First rows: a slice is computed without the rows behind it, batch by batch until there are enough, or from counted matches of a join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, placement_of
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.shapes.count_matches import can_be_counted, can_be_searched, join_below
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Alternative, ReplanNeeded, Section, Shape, Workers
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import rows_fit
from sframe_spark.operators.elementwise import calls_python
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_capabilities import match_counting_of
from sframe_spark.planner.operator_declarations import RowSlice
from sframe_spark.process.memory import memory_for_batches


@attrs.frozen
class FirstRowsShape(Shape):
    """A slice whose rows the driver searches for, reading at most a limited number of rows."""

    name: ClassVar[str] = "first rows"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return the driver for a slice of few rows that are not cheap to find by their row numbers."""
        row_range = part.root.operator.row_range
        if part.below is None or row_range is None:
            return None
        return Workers.DRIVER if takes_first_rows(row_range, part.root.inputs[0], part.below, part.site) else None

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return what happens if the limit is reached before there are enough rows."""
        return [Alternative.ALL_ROWS]

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Compute first rows, or few rows of a join, without the other rows.

        If a bounded probe does not find them, return the node to be planned again.
        """
        node = section.root
        below, row_range = node.inputs[0], node.operator.row_range
        assert row_range is not None
        base_rows = placement_of(below).rows_to_run
        stop = below.length.known_rows if row_range.stop is None else row_range.stop
        chunk = first_rows(below, base_rows, stop, runner.site)
        if chunk is not None:
            runner.log.append(f"driver: the first {stop} rows of {below.operator_type}")
            return keep_slice(runner, node.operator.kernel([chunk], [below.facts]), node)
        if takes_few_of_join(row_range, below, stop, runner.site):
            chunk = joined_rows(below, base_rows, row_range.start, stop, runner.site)
        if chunk is None:
            return ReplanNeeded(node)
        runner.log.append(f"driver: the rows {row_range.start} to {stop} of {below.operator_type}")
        rows = chunk if row_range.step == 1 else chunk.rows_at(np.arange(0, chunk.rows, row_range.step))
        return keep_slice(runner, rows, node)


FIRST_ROWS: Shape = FirstRowsShape()


def takes_first_rows(row_range: RowSlice, below: PlannerNode, placement: Placement, site: Site) -> bool:
    """Return whether a slice takes first rows, or few rows of a join, that can be found without computing all rows."""
    stop = below.length.rows if row_range.stop is None else row_range.stop
    if stop is None or (placement.dense and placement.stateless and join_below(below) is None):
        return False
    return may_probe_first_rows(below, stop, site) or takes_few_of_join(row_range, below, stop, site)


def takes_few_of_join(row_range: RowSlice, below: PlannerNode, stop: int, site: Site) -> bool:
    """Return whether a slice takes so few rows of a join that they can be found by counting matches."""
    rows = stop - row_range.start
    return join_below(below) is not None and rows <= site.small_rows and rows_fit(below, max(0, rows), site.memory_budget)


def may_probe_first_rows(root: PlannerNode, count: int, site: Site) -> bool:
    """Return whether the driver may search for the first ``count`` rows of a section."""
    readable = all(bool(node.inputs) or node.operator.is_source for node in postorder([root]))
    return count <= costs.MAX_FIRST_ROWS and bool(site.small_rows) and readable and rows_fit(root, count, site.memory_budget)


def first_rows(root: PlannerNode, base_rows: int, count: int, site: Site) -> Chunk | None:
    """Return the first ``count`` rows of a section, computed batch by batch until there are enough.

    The result is None if they are not found within a limited number of base rows: a parallel job is faster then.
    """
    if not may_probe_first_rows(root, count, site):
        return None
    budget = costs.MAX_ROWS_SCANNED_FOR_FIRST_WITH_FUNCTION if calls_user_functions(root) else costs.MAX_ROWS_SCANNED_FOR_FIRST
    runner = PipelineRunner(Pipeline.of(root))
    first: list[Chunk] = []
    left, position, size, computed = count, 0, costs.ROWS_OF_FIRST_BATCH, 0
    while left > 0 and position < base_rows:
        stop = runner.end_of_batch(position, base_rows, size)
        for chunk in runner.chunks(position, stop, stop == base_rows, costs.ROWS_OF_FIRST_BATCH):
            # Rows of expanding operators count, too.
            if max(position, computed) >= budget:
                return None
            computed += costs.ROWS_OF_FIRST_BATCH
            first.append(chunk.slice(0, left))
            left -= first[-1].rows
            if not left:
                break
        position, size = stop, min(size * costs.MAX_GROWTH_OF_BATCH, site.batch_rows)
    return concatenate(first, root.schema)


@memory_for_batches()
def joined_rows(node: PlannerNode, base_rows: int, start: int, stop: int, site: Site) -> Chunk | None:
    """Return rows ``start`` to ``stop`` of a join, or of row-wise columns over it. Earlier matches are counted, not computed.

    The result is None for any other node, if a user's function would be called, if the matches cannot be counted quickly, or if the rows
    exceed the memory budget.
    """
    join, above = join_below(node), list[PlannerNode]()
    if join is None:
        return None
    column = node
    while column is not join:
        above.append(column)
        column = column.inputs[0]
    if any(map(calls_python, above)):
        return None
    if join.operator.counting is not None:
        stop = max(start, min(stop, base_rows))
        fits = join.operator.counting.bytes_between(start, stop) <= site.memory_budget
        return PipelineRunner(Pipeline.of(node)).run(start, stop) if fits else None
    counting, (left, right) = match_counting_of(join.operator), join.inputs
    assert counting is not None
    if not can_be_counted(left, site) and not can_be_searched(join, site):
        return None
    lookup, facts = Lookup.of(source_of(right)), [left.facts, right.facts]
    matches, passed = [Chunk.empty(join.schema)], 0
    for batch in PipelineRunner(Pipeline.of(left)).stream(0, base_rows, site.batch_rows):
        rows = counting.count([batch, lookup], facts)
        if passed + rows > start:
            part = counting.rows_between([batch, lookup], facts, max(0, start - passed), min(rows, stop - passed), site.memory_budget)
            if part is None:
                return None
            matches.append(part)
        passed += rows
        if passed >= stop:
            break
    chunk = concatenate(matches, join.schema)
    for step in reversed(above):
        chunk = step.operator.kernel([chunk], [step.inputs[0].facts])
    return chunk


def keep_slice(runner: SectionRunner, rows: Chunk, node: PlannerNode) -> PlannerNode:
    """Return a source of the rows of a slice."""
    if runner.options.directory is not None:
        return runner.keep(rows, node)
    return PlannerNode(MemorySource.of(rows, node.schema))
