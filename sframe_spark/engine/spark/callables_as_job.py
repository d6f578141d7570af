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
from sframe_spark.engine.task_pickling import TaskPayload, pack_tasks, translated_pickling_errors
from sframe_spark.errors import CarriedError, ExecutionError, SFrameError, StorageError
from sframe_spark.session import default_parallelism, follow_user, get_session, is_remote
from sframe_spark.session.job_labels_and_cancellation import run_cancellable
from sframe_spark.session.python_of_spark_workers import importing_safely, jobs_start_python_of_queries
from sframe_spark.session.spark_locality import is_one_process
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.udf.error_transport import ErrorTransport, error_of_text, error_text, error_transport
from sframe_spark.udf.function_errors import process_ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    run = outcomes_from_job if jobs_start_python_of_queries(spark) else outcomes_from_query
    with translated_pickling_errors(description):
        payloads, shared = pack_tasks(callables)
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
    """Return the outcomes from a query, as sessions of a remote server cannot run jobs. Every task is sent all callables."""
    transport, options, shares = error_transport(), config.storage_options, shares_of(len(payloads), task_count)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        acknowledge_at_once()
        for batch in batches:
            numbered = ((number, payloads[number]) for task in batch.column(0).to_pylist() for number in shares[task])
            for outcome in outcomes_of(numbered, shared, transport, options):
                yield pa.RecordBatch.from_pylist([dict(zip(("number", "failed", "payload"), outcome, strict=True))])

    frame = spark.range(0, task_count, 1, task_count)
    with importing_safely(spark):
        frame = frame.mapInArrow(run, "number bigint, failed boolean, payload binary")
    table = to_arrow(frame)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


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
        message = f"what a task gives cannot be pickled ({type(error).__name__}: {error}): states and parts that operators make must be"
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
