"""Runs a list of Python callables as one Spark job, a few callables in each Spark task, and returns their results in order."""

from __future__ import annotations

import functools
import gc
import itertools
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.spark.executor_version_checks import require_python
from sframe_spark.engine.task_pickling import NOTHING_KEPT, TaskPayload, pack_tasks, translated_pickling_errors
from sframe_spark.errors import CarriedError, ExecutionError, SFrameError, StorageError
from sframe_spark.operators.sources.blocks_kept_by_spark import BLOCK_COLUMNS, collect_keeping, in_tasks, task_rows, with_blocks
from sframe_spark.session import QuerySize, default_parallelism, follow_user, get_session, is_remote
from sframe_spark.session.job_labels_and_cancellation import run_cancellable
from sframe_spark.session.python_of_spark_workers import importing_safely, jobs_start_python_of_queries
from sframe_spark.session.spark_locality import is_one_process
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.storage.filesystem.files_kept_by_spark import FilesOfTask
from sframe_spark.udf.error_transport import ErrorTransport, error_of_text, error_text, error_transport
from sframe_spark.udf.function_errors import process_ended

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TaskWork = Callable[[], Any]


# The index of a callable, whether it failed, and its pickled result or its error as bytes.
TaskOutcome = tuple[int, bool, bytes]


def run_callables(callables: Sequence[TaskWork], description: str, size: int | None = None) -> list[Any]:
    """Run independent callables as one Spark job and return their results in order.

    Starting a Spark task may take longer than running a callable, so a task runs several callables one after the other. ``size`` is
    the number of bytes of all rows that they read; None where it is unknown.

    Raises
    ------
    SFrameError
        The first error of this package's types that a callable raised.
    ExecutionError
        If the callables or a result cannot be pickled, or if results are missing.
    """
    follow_user()
    require_python()
    spark = get_session()
    task_count = task_count_for(spark, len(callables), size)
    with translated_pickling_errors(description):
        payloads, shared = pack_tasks(callables)
        is_job = jobs_start_python_of_queries(spark) and not uses_kept_files(payloads)
        run = outcomes_from_job if is_job else outcomes_from_query
        outcomes = run_cancellable(lambda: run(spark, payloads, shared, task_count), description)
    return results_of_outcomes(outcomes, range(len(callables)), description)


def results_of_outcomes(outcomes: Iterable[TaskOutcome], expected: Iterable[int], description: str) -> list[Any]:
    """Return the results of callables in order, given the indices of all that ran; raises the errors of :func:`run_callables`."""
    outcomes = sorted(outcomes)
    for _, failed, payload in outcomes:
        if failed:
            raise error_of_text(payload) or ExecutionError(f"{description}: a task failed with an error that cannot be read")
    numbers = list(expected)
    if [number for number, _, _ in outcomes] != numbers:
        raise ExecutionError(f"{description}: Spark returned results of {len(outcomes)} of {len(numbers)} tasks")
    return [pickle.loads(payload) for _, _, payload in outcomes]


def task_count_for(spark: SparkSession, callable_count: int, size: int | None) -> int:
    """Return how many Spark tasks to start for a given number of callables.

    On one machine or a remote server: one for each core, as starting a task takes about as long as a short callable. With dynamic allocation: one for
    each callable, as executors may yet join. On other clusters: several for each core, as some callables take longer than others and failed tasks are
    repeated, but only as many as their size is worth. Unless there are fewer callables, the number is a multiple of the cores, so that no core runs
    one task more than the others.
    """
    cores = default_parallelism(spark)
    if is_remote(spark) or is_one_process(spark):
        return min(callable_count, cores)
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return callable_count
    per_core = costs.TASKS_OF_A_CORE if size is None else max(1, min(costs.TASKS_OF_A_CORE, size // (cores * costs.BYTES_OF_TASK_THAT_HOLDS_A_CORE)))
    return min(callable_count, per_core * cores)


def shares_of(callable_count: int, task_count: int) -> list[range]:
    """Return the indices of the callables of each task: consecutive ones, in shares whose sizes differ by one at most.

    The longer shares are first, as Spark starts tasks in order. For example, two cores run ten callables of equal length, five each, as fast in eight
    tasks as in two; with a longer share at the end, one core would be idle while it runs.

    Source: R. L. Graham, Bounds on multiprocessing timing anomalies (1969), longest processing time first.

    Examples
    --------
    >>> shares_of(10, 4)
    [range(0, 3), range(3, 6), range(6, 8), range(8, 10)]
    """
    least, longer = divmod(callable_count, task_count) if task_count else (0, 0)
    ends = list(itertools.accumulate((least + (task < longer) for task in range(task_count)), initial=0))
    return [range(start, end) for start, end in itertools.pairwise(ends)]


def outcomes_from_job(spark: SparkSession, payloads: Sequence[TaskPayload], shared: Sequence[Any], task_count: int) -> list[TaskOutcome]:
    """Return the outcomes from a job without a query.

    Nothing is planned or compiled, so a job takes half as long as a query, and each task is sent only its own callables.
    """
    transport, options = error_transport(), config.storage_options

    def run(of_task: Iterable[Sequence[tuple[int, TaskPayload]]]) -> Iterator[TaskOutcome]:
        acknowledge_at_once()
        return outcomes_of(itertools.chain.from_iterable(of_task), shared, transport, options)

    numbered = [[(number, payloads[number]) for number in numbers] for numbers in shares_of(len(payloads), task_count)]
    with importing_safely(spark):
        return spark.sparkContext.parallelize(numbered, task_count).mapPartitions(run).collect()


def outcomes_from_query(spark: SparkSession, payloads: Sequence[TaskPayload], shared: Sequence[Any], task_count: int) -> list[TaskOutcome]:
    """Return the outcomes from a query, as sessions of a remote server cannot run jobs, nor jobs read what Spark keeps.

    Every task is sent all callables.
    """
    transport, options, shares = error_transport(), config.storage_options, shares_of(len(payloads), task_count)
    writes = any(payload.kept.written for payload in payloads)

    def work(tasks: Iterable[int], files: FilesOfTask) -> Iterator[pa.RecordBatch]:
        numbered = ((number, payloads[number]) for task in tasks for number in shares[task])
        outcomes = map(batch_of_outcome, outcomes_of(numbered, shared, transport, options))
        return with_blocks(outcomes, files) if writes else outcomes

    if uses_kept_files(payloads):
        spark = get_session(QuerySize.LARGE_VALUES)
    frame = task_rows(spark, [files_read_by(payloads[number] for number in share) for share in shares])
    with importing_safely(spark):
        frame = frame.mapInArrow(in_tasks(work), f"{OUTCOME_COLUMNS}, {BLOCK_COLUMNS}" if writes else OUTCOME_COLUMNS)
    return outcomes_of_query(frame, writes)


OUTCOME_NAMES = ("number", "failed", "payload")
OUTCOME_COLUMNS = "number bigint, failed boolean, payload binary"


def uses_kept_files(payloads: Iterable[TaskPayload]) -> bool:
    """Return whether tasks read or write files that Spark keeps."""
    return any(payload.kept != NOTHING_KEPT for payload in payloads)


def files_read_by(payloads: Iterable[TaskPayload]) -> frozenset[str]:
    """Return the files that tasks read of those that Spark keeps."""
    return frozenset().union(*(payload.kept.read for payload in payloads))


def batch_of_outcome(outcome: TaskOutcome) -> pa.RecordBatch:
    """Return an outcome as a record batch of one row."""
    return pa.RecordBatch.from_pylist([dict(zip(OUTCOME_NAMES, outcome, strict=True))])


def outcomes_of_query(frame: DataFrame, writes: bool) -> list[TaskOutcome]:
    """Return the outcomes that the tasks of a query give, and keep the blocks that come with them if the tasks write files that Spark keeps."""
    if writes:
        return [(number, failed, bytes(payload)) for number, failed, payload in collect_keeping(frame, OUTCOME_NAMES)]
    return list(zip(*(column.to_pylist() for column in to_arrow(frame).columns), strict=True))


def outcomes_of(
    numbered: Iterable[tuple[int, TaskPayload]],
    shared: Sequence[Any],
    transport: ErrorTransport,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[TaskOutcome]:
    """Run some callables in a worker and yield their outcomes; ``options`` are the options of remote file systems, which a worker does not know."""
    for number, payload in numbered:
        with config.using(storage_options=options or {}):
            outcome = outcome_of(number, payload.unpack(shared), transport)
        yield outcome
    exclude_modules_from_collection(len(sys.modules))


@functools.lru_cache(maxsize=1)
def exclude_modules_from_collection(modules: int) -> None:
    """Exclude a worker's imported modules from garbage collection, which follows each task and would take 50 ms.

    Cached by the number of modules, so it runs again only when that number has changed; values that tasks create need not be excluded, as they are
    freed when the task ends. Existing garbage is collected first, as otherwise it would never be freed.
    """
    gc.collect()
    gc.freeze()


def outcome_of(number: int, work: TaskWork, transport: ErrorTransport) -> TaskOutcome:
    """Run a callable and return its pickled result, or its error if it is one of this package's types.

    Other errors, and storage errors, fail the task, so that Spark retries it.
    """
    try:
        return number, False, pickled_result(work())
    except (SFrameError, SystemExit) as error:
        return number, True, error_payload(error, transport)


def pickled_result(result: Any) -> bytes:
    """Return the pickled result of a callable.

    Raises
    ------
    ExecutionError
        If it cannot be pickled.
    """
    try:
        return pickle.dumps(result)
    except Exception as error:
        message = (
            f"the result of a task cannot be pickled ({type(error).__name__}: {error}): the states and parts that operators make must be picklable"
        )
        raise ExecutionError(message) from error


def error_payload(error: SFrameError | SystemExit, transport: ErrorTransport) -> bytes:
    """Return an error of a callable as the payload of its outcome.

    A storage error is raised instead: the task fails, so that Spark tries again, perhaps on another machine; the driver then raises the last of these
    errors.
    """
    if isinstance(error, StorageError):
        raise CarriedError(transport.packed(error)) from None
    # Spark would take an exit for a failure of the machine, and call the function three more times.
    return error_text(process_ended(error) if isinstance(error, SystemExit) else error).encode("ascii")
