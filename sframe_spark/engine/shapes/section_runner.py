"""Helpers for running all shapes: rows are kept in memory or written to disk, and row ranges become the tasks of a section's workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import attrs

from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.division_into_row_ranges import range_tasks
from sframe_spark.engine.runtime.result_storage import PartialRows, new_dataset, rows_as_produced, with_rows_sent, with_stored_tables, write_in_memory
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask
from sframe_spark.engine.runtime.task_runners import InProcessRunner, ProcessRunner, SparkTaskRunner, TaskRunner, ThreadRunner
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import require_owned
from sframe_spark.engine.shapes.section_tree import ReplanNeeded, Section, Workers
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.operators.sources.base_and_segment_source import recorded_order, source_of
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk, ChunkedRows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.manifest.manifest import SegmentEntry

# A function that writes rows to a directory as the segment of a given number.
Writing = Callable[[str, int], SegmentEntry]


@attrs.define(eq=False)
class SectionRunner:
    """Runs sections whose inputs are sources.

    Parameters
    ----------
    options
        Options of the materialisation.
    log
        Filled with one line for each section that ran: how it ran, its operator and its number of rows.
    owned
        ``id`` of the result memo of each call of a user's function that this action may run in other processes.
    tasks
        How many tasks computed the rows; None if there were no tasks, or if a Spark query computed them.
    spilled
        How many bytes were written to disk to exchange rows; None if no rows were exchanged by threads or tasks.
    samples
        Filled with the sections that have read a sample for this one, with a source of the rows that they read, and the seconds that it took.
    site
        The site when the section starts; more or less memory may be left than when it was planned.
    """

    options: MaterializeOptions
    log: list[str]
    owned: frozenset[int]
    tasks: int | None = None
    spilled: int | None = None
    samples: list[tuple[Section, PlannerNode, float]] = attrs.Factory(list)
    site: Site = attrs.field(factory=Site.now)

    def run(self, section: Section) -> PlannerNode | ReplanNeeded:
        """Run a section and return a source of its rows, or what is to be planned again."""
        return section.shape.run(section, self)

    def sampled(self, sample: Section) -> Chunk:
        """Run a section that reads a sample for the section that runs, and return the sample."""
        began = time.perf_counter()
        result = sample.shape.run(sample, self.into_memory())
        assert isinstance(result, PlannerNode)
        self.samples.append((sample, result, time.perf_counter() - began))
        return source_of(result).read_all()

    def into_memory(self) -> SectionRunner:
        """Return a runner for a step of a section, whose rows do not go to the directory of the options."""
        return attrs.evolve(self, options=attrs.evolve(self.options, directory=None))

    def keep(self, rows: Chunk | ChunkedRows, node: PlannerNode) -> PlannerNode:
        """Return a source of rows: in memory, or written as segments if the options name a directory."""
        if self.options.directory is not None:
            return write_in_memory(rows, node.schema, self.options, recorded_order(node))
        return PlannerNode(MemorySource.of(rows, node.schema, recorded_order(node)))

    def written(self, node: PlannerNode, workers: TaskRunner, parts: Sequence[Writing], tasks: Sequence[RangeTask] = ()) -> PlannerNode:
        """Run functions that write one segment each, and return a source of the segments."""
        is_by_spark = workers.is_out_of_process and not workers.is_on_this_machine
        with new_dataset(node.schema, self.options, recorded_order(node), is_by_spark) as dataset:
            workers.require_writable(dataset.directory)
            callables = [partial(write, dataset.directory, number) for number, write in enumerate(parts)]
            return dataset.source(workers.run(callables, f"materialising {node.operator.called()}", tasks))

    def keep_or_spill(self, node: PlannerNode, workers: TaskRunner, produced: Sequence[PartialRows], reservation: MemoryReservation) -> PlannerNode:
        """Return a source of rows that threads have computed: in memory if all rows fit, else of segments."""
        if not reservation.is_full:
            return self.keep(rows_as_produced(produced, node.schema), node)
        self.log.append(f"disk: the rows of {node.operator_type} find no room beside others in memory")
        return self.written(node, workers, [partial(part.write, node.schema) for part in produced])

    def tasks_of(self, node: PlannerNode, placement: Placement, workers: TaskRunner, shuffled: int | None = None) -> list[RangeTask]:
        """Divide a section into tasks. If they run in other processes, large tables in memory are written to files first.

        ``shuffled`` is the number of tasks that may be made for the cores' sake if they give their rows to a shuffle of tasks.
        """
        if workers.is_out_of_process:
            require_owned(node, self.owned)
            node = with_stored_tables(node, workers.is_on_this_machine)
            node = node if workers.is_on_this_machine else with_rows_sent(node)
        tasks = range_tasks(node, placement.rows_to_run, self.options.segments, workers, shuffled)
        self.tasks = len(tasks)
        return tasks


def task_runner_for(workers: Workers) -> TaskRunner:
    """Return what runs the tasks of a section's workers."""
    if workers is Workers.THREADS:
        return ThreadRunner()
    if workers is Workers.CALLING_PROCESS:
        return InProcessRunner()
    return ProcessRunner() if workers is Workers.PROCESSES else SparkTaskRunner()
