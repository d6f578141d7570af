"""Reads a sample of the values of a column, which decides the ranges into which rows are divided before they are exchanged, and of other keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.bytes_of_array_values import value_bytes
from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import are_for_threads, placement_of
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.division_into_row_ranges import range_tasks
from sframe_spark.engine.runtime.pipeline import PipelineRunner
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask
from sframe_spark.engine.runtime.task_runners import TaskRunner
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.rows_near_this_process import is_near
from sframe_spark.engine.shapes.section_runner import SectionRunner, task_runner_for
from sframe_spark.engine.shapes.section_tree import Alternative, Section, Shape, Workers
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_capabilities import range_split_of
from sframe_spark.rewrite_laws import optimize


@attrs.frozen
class SampleShape(Shape):
    """Some rows of the columns of a part of a plan. The section whose rows they divide runs it before it reads these.

    Parameters
    ----------
    positions
        At how many positions rows are read.
    """

    name: ClassVar[str] = "sample"

    positions: int = attrs.field(default=costs.POSITIONS_OF_RANGE_SAMPLE, eq=False)

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return None: a sample is never sought for a part of a plan."""
        return None

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return that nothing is read if tasks exchange no rows."""
        return [Alternative.EXCHANGE_OF_TASKS] if section.workers.are_on_spark else []

    def run(self, section: Section, runner: SectionRunner) -> PlannerNode:
        """Return a source of the rows."""
        rows = sample_of(section.root, self.positions, task_runner_for(section.workers))
        return PlannerNode(MemorySource.of(rows, section.root.schema))


SAMPLE: Shape = SampleShape()


def sample_for_ranges(node: PlannerNode, workers: Workers, count: int) -> Section:
    """Return a section that samples the first key column, by whose values the input rows of a kernel are divided into the given number of ranges.

    If tasks may exchange groups instead of rows, the other keys follow, since the number of groups decides that.
    """
    keys = project(node.inputs[0], sampled_columns(node, workers))
    narrow = optimize(keys)
    if not placement_of(narrow).segment:
        narrow = keys
    # A job takes longer to start than threads take to read few positions.
    if workers.are_on_spark and count <= costs.POSITIONS_OF_RANGE_SAMPLE and is_read_nearby(narrow, Site.now()):
        workers = Workers.THREADS
    reason = f"its values divide the rows that {node.operator.called()} takes into ranges"
    return Section(SampleShape(max(costs.POSITIONS_OF_RANGE_SAMPLE, count)), workers, narrow, reason, placement=placement_of(narrow))


def sampled_columns(node: PlannerNode, workers: Workers) -> list[int]:
    """Return the positions of the columns that are sampled for the kernel of a node."""
    split, kernel = range_split_of(node.operator), node.operator.whole_kernel
    assert split is not None and kernel is not None
    others = [key for key in node.operator.group_keys or () if key != split.column]
    kinds = [node.inputs[0].schema[key].physical for key in others]
    # Distinct rows are counted by Arrow, which compares no nested values.
    is_simple = all(pa.types.is_primitive(kind) or pa.types.is_string(kind) for kind in kinds)
    return [split.column, *(others if workers.are_on_spark and kernel.states is not None and is_simple else ())]


def is_read_nearby(values: PlannerNode, site: Site) -> bool:
    """Return whether this process can read values at some positions itself, and each position has a value: no filter leaves out rows."""
    nodes = list(postorder([values]))
    is_everywhere = all(node.operator.row_wise or not node.inputs for node in nodes)
    return bool(site.small_rows) and is_everywhere and are_for_threads(values) and all(map(is_near, nodes))


def sample_of(node: PlannerNode, count: int, workers: TaskRunner) -> Chunk:
    """Return a sample of the rows of a section: runs of them at ``count`` positions spread evenly over it, as rows may be nearly sorted."""
    tasks = range_tasks(node, placement_of(node).rows_to_run, count, workers)
    rows = max(1, costs.VALUES_OF_RANGE_SAMPLE // count)
    callables = [partial(first_values_of, task, rows, costs.MAX_BYTES_OF_RANGE_SAMPLE // count) for task in tasks]
    return concatenate(workers.run(callables, "sampling values to sort by", tasks), node.schema)


def first_values_of(task: RangeTask, rows: int, max_bytes: int) -> Chunk:
    """Return a copy of the first rows of a task, limited in rows and bytes."""
    values = list[Chunk]()
    for chunk in PipelineRunner(task.whole, task.states).stream(task.start, min(task.stop, task.start + rows), rows, final=False):
        values.append(leading(chunk, max_bytes))
        max_bytes -= values[-1].size
        if max_bytes <= 0 or values[-1].rows < chunk.rows:
            break
    return concatenate(values, task.whole.facts[-1].schema)


def leading(rows: Chunk, max_bytes: int) -> Chunk:
    """Return a copy of the first rows that fit within a byte limit, at least one.

    Examples
    --------
    >>> leading(Chunk.of([pa.array(["abc", "de", "f"])]), 5).rows, leading(Chunk.of([pa.array([1, 2]), pa.array([3, 4])]), 0).rows
    (2, 1)
    """
    sizes = sum((value_bytes(column) for column in rows.columns), np.zeros(rows.rows, dtype=np.int64))
    count = int(np.searchsorted(sizes.cumsum(), max_bytes, side="right"))
    first = pa.array(np.arange(min(rows.rows, max(count, 1))))
    # A slice would keep the whole array alive.
    return Chunk(tuple(column.take(first) for column in rows.columns), len(first))
