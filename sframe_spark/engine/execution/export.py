"""Export of rows to files: each task writes its range, in Spark tasks or, for few rows and rows in memory, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol, TypeVar

from sframe_spark.config import config
from sframe_spark.engine.execution.action_planning_and_function_call_claims import ActionPlan, run_action
from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate, materialize
from sframe_spark.engine.execution.plan_executor import Executor, run_or_replan, site_of_section
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, is_small, placement_of, streams_faster_locally
from sframe_spark.engine.physical.plans_without_shared_files import is_unshared_target
from sframe_spark.engine.runtime.pipeline import Pipeline
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, chunks_of
from sframe_spark.engine.shapes.section_runner import task_runner_for
from sframe_spark.engine.shapes.section_tree import ReplanNeeded, Section, Workers
from sframe_spark.engine.shapes.stream import STORED, STREAM, workers_over_ranges
from sframe_spark.operators.sources.file_kinds import made
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.threads import even_ranges, in_threads
from sframe_spark.session.session import get_session
from sframe_spark.session.spark_locality import is_one_process
from sframe_spark.storage.export_directories import Staging
from sframe_spark.storage.export_files import PartForm, staged_text, write_part, write_text_part
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP

Result = TypeVar("Result")
RangeWork = Callable[[RangeTask, int, str], Result]


def by_ranges(node: PlannerNode, work: RangeWork[Result], staging: Staging, description: str) -> list[Result]:
    """Run a function on each range of a node's rows, and return its results in row order.

    Parameters
    ----------
    node
        The node whose rows are exported; it is not replaced.
    work
        Called with the task of a range, the number of the range and the directory to write to. It may run in Spark tasks, perhaps more than once for
        a range, so it must be picklable.
    staging
        The directories to write to, local and shared with tasks.
    description
        What is being done, for Spark's list of jobs.
    """

    def run(chosen: ActionPlan) -> list[Result]:
        executor = Executor(MaterializeOptions(), owned=chosen.owned, run_log=chosen.run_log, exported_to=staging.remote)
        return executor.with_full_sorts_if_needed(lambda plan: _run(executor, plan, work, staging, description), chosen.plan)

    return run_action(node, run, materialize)


def _run(executor: Executor, plan: PlannerNode, work: RangeWork[Result], staging: Staging, description: str) -> list[Result]:
    ready = executor.ready(executor.plan(plan))
    site = site_of_section(ready)
    # Where tasks cannot write to the directory, this process reads the rows of their result.
    is_for_tasks = not is_unshared_target(staging.remote, site) or site.is_alone
    is_over_ranges = ready.shape == STORED or (ready.shape == STREAM and (ready.workers is not Workers.DRIVER or not is_small(ready.root, site)))
    section = ready.root if is_over_ranges and (is_for_tasks or ready.shape == STORED) else executor.run(ready)
    placement = placement_of(section)
    if not is_for_tasks or isinstance(section.operator, MemorySource) or is_small(section, site) or streams_faster_locally(section, site):
        return _run_in_this_process(section, placement, work, staging.local)
    result = run_or_replan(partial(_run_tasks, executor, ready, section, work, staging, description), ready, executor.log)
    return _run(executor, section, work, staging, description) if isinstance(result, ReplanNeeded) else result


def _run_tasks(executor: Executor, ready: Section, section: PlannerNode, work: RangeWork[Result], staging: Staging, description: str) -> list[Result]:
    """Run the function in tasks over the ranges of a section."""
    workers = task_runner_for(workers_over_ranges(section, site_of_section(ready)))
    tasks = executor.new_section_runner(ready).tasks_of(section, placement_of(section), workers)
    directory = staging.local if workers.is_on_this_machine else staging.for_tasks(is_one_process(get_session()))
    workers.require_writable(directory)
    return workers.run([partial(work, task, number, directory) for number, task in enumerate(tasks)], description, tasks)


def _run_in_this_process(section: PlannerNode, placement: Placement, work: RangeWork[Result], directory: str) -> list[Result]:
    """Run the function in this process: in one thread for each core if the rows are stored, else in one, as operators may compute running values."""
    plan, rows = Pipeline.of(section), placement.rows_to_run
    count = max(1, min(available_cores(), rows // ROWS_PER_GROUP)) if section.operator.is_source else 1
    ranges = list(enumerate(even_ranges(rows, count)))
    return in_threads(lambda item: work(RangeTask(plan, *item[1], config.batch_rows), item[0], directory), ranges, count)


def write_parts(node: PlannerNode, staging: Staging, form: PartForm) -> list[str]:
    """Write the rows of a node as files, and return their paths in row order. If there are no rows, one file without rows is written."""
    written: list[tuple[str, int]] = by_ranges(node, partial(write_range_as, form=form), staging, f"writing {form.ending}")
    return [file for file, rows in written if rows] or [file for file, _ in written[:1]]


def write_whole(node: PlannerNode, target: str, form: PartForm) -> None:
    """Write the rows of a node as one file, by one writer in this process, to which they come batch by batch; it appears when it is complete.

    Raises
    ------
    StorageError
        If the file cannot be written.
    """
    with staged_text(target) as (staging, parts):
        parts.append(written_part(staging.local, form, iterate(node))[0])


def write_range_as(task: RangeTask, number: int, directory: str, form: PartForm) -> tuple[str, int]:
    """Write the rows of a task as one file, and return its path and its number of rows."""
    return written_part(directory, form, chunks_of(task))


def written_part(directory: str, form: PartForm, chunks: Iterable[Chunk]) -> tuple[str, int]:
    """Write rows as one file, and return its path and its number of rows; unexpected errors of a plug-in's writer name the writer."""
    return made(form.writer, f"the writer {form.writer.name}", lambda: write_part(directory, form, (chunk.columns for chunk in chunks if chunk.rows)))


class RowsAsText(Protocol):
    """A text format for rows: what is written before, between and after them."""

    @property
    def between(self) -> bytes:
        """The bytes between two rows."""

    @property
    def before(self) -> bytes:
        """The bytes before all rows."""

    @property
    def after(self) -> bytes:
        """The bytes after all rows."""

    def blocks(self, chunks: Iterator[Chunk], first_row: int | None) -> Iterator[bytes | memoryview]:
        """Yield the encoded rows, each preceded by ``between``; ``first_row`` is the row number of the first one, None if unknown."""


def write_text(node: PlannerNode, target: str, rows: RowsAsText) -> None:
    """Write the rows of a node as one text file, joined from a part for each row range; the file appears when it is complete.

    Raises
    ------
    StorageError
        If the file cannot be written.
    """
    with staged_text(target) as (staging, parts):
        work = partial(write_range_as_text, target=target, rows=rows)
        written: list[tuple[str, int]] = by_ranges(node, work, staging, f"writing {os.path.basename(target)}")
        # The first part begins with ``before``; ``between`` is written between two parts that have rows, and ``after`` at the end.
        (first, _), is_first = written[0], True
        parts.append(first)
        for number, (file, count) in enumerate(written):
            if number and count:
                parts += [file] if is_first or not rows.between else [write_text_part(staging.local, target, [rows.between]), file]
            is_first = is_first and not count
        if rows.after:
            parts.append(write_text_part(staging.local, target, [rows.after]))


def write_range_as_text(task: RangeTask, number: int, directory: str, target: str, rows: RowsAsText) -> tuple[str, int]:
    """Write the rows of a task as text and return the file's path and its number of rows; the first task's text begins with ``before``."""
    count = 0

    def counted() -> Iterator[Chunk]:
        nonlocal count
        for chunk in chunks_of(task):
            if chunk.rows:
                count += chunk.rows
                yield chunk

    def blocks() -> Iterator[bytes | memoryview]:
        if not number:
            yield rows.before
        left_out = len(rows.between)
        for block in rows.blocks(counted(), task.start if task.plan.is_dense(len(task.plan.operators) - 1) else None):
            yield block[left_out:]
            left_out = 0

    return write_text_part(directory, target, blocks()), count
