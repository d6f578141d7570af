"""Streams: kernels run batch by batch over all rows on the driver, or over row ranges in threads, other processes or Spark tasks.

Also the shape of rows that are stored, for which nothing runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import ClassVar

import attrs

from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement_and_blocking_inputs import (
    Placement,
    is_small,
    needs_this_process,
    placement_of,
    streams_faster_locally,
    suits_processes,
    suits_threads,
)
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.division_into_row_ranges import sequential_if_faster
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads
from sframe_spark.engine.runtime.result_storage import new_dataset, partial_rows, reservation_for_results, write_chunks
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import chunks_of, collect_rows, write_range
from sframe_spark.engine.runtime.task_runners import TaskRunner, name_of
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import calls_hashing_functions, calls_pure_functions, needs_one_batch
from sframe_spark.engine.shapes.rows_near_this_process import is_cheaper_locally
from sframe_spark.engine.shapes.section_runner import SectionRunner, task_runner_for
from sframe_spark.engine.shapes.section_tree import Alternative, Section, Shape, Workers
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import fits_driver
from sframe_spark.operators.sources.base_and_segment_source import recorded_order, segment_source, source_of
from sframe_spark.planner.chunk import Chunk, concatenate, drained, from_stream
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches


@attrs.frozen
class StoredShape(Shape):
    """Rows that are stored already."""

    name: ClassVar[str] = "stored"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return no workers, since a source does not need to be computed."""
        return Workers.NONE if part.root.operator.is_source else None

    def run(self, section: Section, runner: SectionRunner) -> PlannerNode:
        """Return the source of the rows."""
        return section.root


@attrs.frozen
class StreamShape(Shape):
    """Kernels that read each row range of their sources once; inputs whose rows they look up must be sources."""

    name: ClassVar[str] = "stream"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return the driver if the rows are few, or done before Spark would have started; else who computes rows range by range."""
        root, site = part.root, part.site
        if part.placement is None or not part.placement.segment:
            return None
        return Workers.DRIVER if is_small(root, site) or streams_faster_locally(root, site) else workers_over_ranges(root, site)

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return whether rows may go to disk, which depends on how many they are and on what else is in memory."""
        if section.workers is Workers.DRIVER:
            return [Alternative.TOO_LARGE]
        is_kept = section.workers is Workers.THREADS and not fits_driver(section.root, MaterializeOptions().in_memory, site.memory_budget)
        return [Alternative.STAYS_IN_MEMORY] if is_kept else []

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode:
        """Run the kernels and return a source of the rows."""
        root, placement = section.root, section.placement or placement_of(section.root)
        if section.workers is not Workers.DRIVER:
            return by_ranges(runner, root, placement, task_runner_for(section.workers))
        runner.log.append(f"driver: {root.operator_type} over {placement.rows_to_run} rows")
        return on_driver(runner, root, placement)


STORED: Shape = StoredShape()
STREAM: Shape = StreamShape()


def workers_over_ranges(root: PlannerNode, site: Site) -> Workers:
    """Return who computes rows range by range.

    Threads, if there are only built-in kernels and Spark is not elsewhere, or if few bytes are done before Spark's tasks have started; for users'
    functions this process if no other can call them alike, then Python processes as long as no Spark is in use, and Spark tasks.
    """
    if suits_threads(root, site) or is_cheaper_locally(root, site) or calls_pure_functions(root, site):
        return Workers.THREADS
    if needs_this_process(site) or calls_hashing_functions(root):
        return Workers.CALLING_PROCESS
    return Workers.PROCESSES if suits_processes(site) else Workers.SPARK_TASKS


@memory_for_batches()
def on_driver(runner: SectionRunner, node: PlannerNode, placement: Placement, budgets: int = 1) -> PlannerNode:
    """Run a section in this process and return a source of its rows: in memory, or on disk if they exceed the memory budget."""
    alone, rows = needs_one_batch(node), placement.rows_to_run
    batches = PipelineRunner(Pipeline.of(node), in_one_batch=alone, threads=local_threads())
    stream = batches.chunks(0, rows, True, rows) if alone else batches.stream(0, rows, runner.site.batch_rows)
    chunks: list[Chunk] = []
    size = 0
    for chunk in stream:
        chunks.append(chunk)
        size += chunk.size
        if size > budgets * runner.site.memory_budget:
            runner.log.append(f"disk: {node.operator_type} has more than {runner.site.memory_budget} bytes")
            return write_chunks(chain(drained(chunks), stream), node.schema, runner.options, recorded_order(node))
    return runner.keep(concatenate(chunks, node.schema), node)


def by_ranges(runner: SectionRunner, node: PlannerNode, placement: Placement, workers: TaskRunner) -> PlannerNode:
    """Run a section as tasks over row ranges and return a source of its rows."""
    tasks = runner.tasks_of(node, placement, workers := sequential_if_faster(node, workers))
    runner.log.append(f"segments: {node.operator_type} in {len(tasks)} {name_of(workers)} over {placement.rows_to_run} rows")
    if runner.options.directory is None and fits_driver(node, runner.options.in_memory, runner.site.memory_budget):
        parts = workers.run([partial(collect_rows, task) for task in tasks], f"computing {node.operator.called()}", tasks)
        return runner.keep(concatenate([from_stream(part) for part in parts], node.schema), node)
    if runner.options.directory is not None or workers.is_out_of_process:
        return runner.written(node, workers, [partial(write_range, task) for task in tasks], tasks)
    reservation = reservation_for_results()
    callables = [partial(partial_rows, chunks_of(task), reservation) for task in tasks]
    return runner.keep_or_spill(node, workers, workers.run(callables, f"computing {node.operator.called()}", tasks), reservation)


def by_source(runner: SectionRunner, node: PlannerNode) -> PlannerNode:
    """Write the rows of a source that decodes them in Python as segments, in threads of this process; return a source of the segments."""
    runner.log.append(f"threads: {node.operator_type} over {node.length.known_rows} rows")
    with new_dataset(node.schema, runner.options, recorded_order(node)) as dataset:
        manifest = dataset.publish(source_of(node).write_segments(dataset.directory))
    return segment_source(manifest, dataset.handle)
