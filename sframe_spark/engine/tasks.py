"""Spark tasks of a segment section: one per row range, each runs the section's kernels and writes a segment or returns batches."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.engine.runner import FlatPlan, PlanRunner, summarize
from sframe_spark.errors import ExecutionError, SFrameError, StorageError
from sframe_spark.operators.worker import CarriedError, packed
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.session import default_parallelism, get_session
from sframe_spark.session.cancel import run_cancellable
from sframe_spark.storage.manifest import SegmentEntry
from sframe_spark.types import ColumnType


@attrs.frozen(eq=False)
class RangeTask:
    """The work of one task: a plan over base rows ``start..stop``.

    Parameters
    ----------
    plan
        The section's plan.
    start, stop
        Base rows.
    batch_rows
        Rows given to kernels at a time.
    states
        States of sequential operators before ``start``.
    final
        No base rows follow ``stop``.
    """

    plan: FlatPlan
    start: int
    stop: int
    batch_rows: int
    states: dict[int, Any] = attrs.Factory(dict)
    final: bool = True


def write_segment(task: RangeTask, directory: str, number: int, types: Sequence[ColumnType]) -> SegmentEntry:
    """Run a task and write its rows as one segment; an interrupted task leaves only a file that no manifest names."""
    from sframe_spark.storage.writer import SegmentWriter

    writer = SegmentWriter(directory, number, types)
    try:
        for chunk in PlanRunner(task.plan, task.states).stream(task.start, task.stop, task.batch_rows, task.final):
            if chunk.rows:
                writer.write(chunk.columns)
        return writer.close()
    except BaseException:
        writer.abort()
        raise


def collect_rows(task: RangeTask) -> bytes:
    """Run a task and return its rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    writer = None
    for chunk in PlanRunner(task.plan, task.states).stream(task.start, task.stop, task.batch_rows, task.final):
        table = chunk.to_table()
        if writer is None:
            writer = pa.ipc.new_stream(sink, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return bytes(sink.getvalue())


def summarize_range(task: RangeTask, place: int) -> Any:
    """What the ranges after the task's need of the state of a sequential operator over it, or ``TOO_LARGE``."""
    operator = task.plan.operators[place]
    assert isinstance(operator, SequentialOperator)
    return operator.carried(summarize(task.plan, place, task.states, task.start, task.stop, task.batch_rows))


def run_tasks(works: Sequence[Callable[[], Any]], description: str) -> list[Any]:
    """Results of independent pieces of work, one Spark task each, in order.

    Raises
    ------
    SFrameError
        The first error of ours that a task met, as it was raised there.
    """
    spark = get_session()
    count = len(works)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # A worker collects garbage after each task: among all objects of its modules, for 50 ms, unless they are set aside.
        gc.freeze()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield result_batch(number, works[number])

    def action() -> pa.Table:
        # Starting a task costs more than a range of rows, so a core takes several ranges, one after the other.
        frame = spark.range(0, count, 1, min(count, default_parallelism(spark)))
        return frame.mapInArrow(run, "number bigint, failed boolean, payload binary").toArrow()

    table = run_cancellable(action, description)
    rows = sorted(zip(*(table.column(i).to_pylist() for i in range(3)), strict=True))
    for _, failed, payload in rows:
        if failed:
            raise pickle.loads(payload)
    if [number for number, _, _ in rows] != list(range(count)):
        raise ExecutionError(f"{description}: Spark returned results of {len(rows)} of {count} tasks")
    return [pickle.loads(payload) for _, _, payload in rows]


def result_batch(number: int, work: Callable[[], Any]) -> pa.RecordBatch:
    """One row with a task's pickled result, or with its error when it is one of ours (others fail the task, so Spark retries it)."""
    try:
        failed, payload = False, pickle.dumps(work())
    except StorageError as error:
        # The task fails, so that Spark tries again on another machine; the last failure is told as what it is.
        raise CarriedError(packed(error)) from None
    except SFrameError as error:
        error.__cause__ = None
        failed, payload = True, pickle.dumps(error)
    columns = [pa.array([number], pa.int64()), pa.array([failed]), pa.array([payload], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["number", "failed", "payload"])
