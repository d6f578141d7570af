"""Independent tasks run as one Spark job."""

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
from sframe_spark.engine.spark.executor_environment import require_python
from sframe_spark.engine.task_pickling import TaskPayload, pack_tasks, translated_pickling_errors
from sframe_spark.errors import CarriedError, ExecutionError, SFrameError, StorageError
from sframe_spark.session import default_parallelism, follow_user, get_session, is_remote
from sframe_spark.session.deployment import importing_safely, is_one_process, start_as_queries_do
from sframe_spark.session.job_control import run_cancellable
from sframe_spark.session.sockets import acknowledge_at_once
from sframe_spark.udf.errors import ErrorTransport, error_of_text, error_text, error_transport, process_ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TaskWork = Callable[[], Any]

TASKS_FOR_A_CORE = 4
# Rows of so many bytes take a third of a second or more, and to start a task on a cluster some ten milliseconds.
BYTES_OF_A_TASK = 256 << 20

# Number of the work, whether it failed, and its pickled result or its error's text.
TaskOutcome = tuple[int, bool, bytes]


def run_tasks(callables: Sequence[TaskWork], description: str, size: int | None = None) -> list[Any]:
    """Run independent tasks as one Spark job and return their results in order.

    Starting a task costs more than a range of rows, so a core takes several pieces, one after the other. ``size`` is of the rows that all go through,
    in bytes; None where nobody knows how long these take.

    Raises
    ------
    SFrameError
        The first error of ours that a task met, as it was raised there.
    ExecutionError
        If what tasks are sent, or give, cannot be pickled.
    """
    follow_user()
    require_python()
    spark = get_session()
    tasks = tasks_for(spark, len(callables), size)
    run = from_job if start_as_queries_do(spark) else from_query
    with translated_pickling_errors(description):
        packed_tasks, shared = pack_tasks(callables)
        outcomes = sorted(run_cancellable(lambda: run(spark, packed_tasks, shared, tasks), description))
    for _, failed, payload in outcomes:
        if failed:
            raise error_of_text(payload) or ExecutionError(f"{description}: a task failed with an error that cannot be read")
    if [number for number, _, _ in outcomes] != list(range(len(callables))):
        raise ExecutionError(f"{description}: Spark returned results of {len(outcomes)} of {len(callables)} tasks")
    return [pickle.loads(payload) for _, _, payload in outcomes]


def tasks_for(spark: SparkSession, callables: int, size: int | None) -> int:
    """How many tasks do so many works.

    On this machine as many as there are cores: starting one takes about as long as a short work. On a cluster several for each core, as some take
    longer than others, and one that fails is done again, but no more than are worth starting, and as many for each core, as ranges are equal: a third
    task would take two cores as long as a fourth. One for each work where executors may yet come.
    """
    cores = default_parallelism(spark)
    if is_remote(spark) or is_one_process(spark):
        return min(callables, cores)
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return callables
    each = TASKS_FOR_A_CORE if size is None else max(1, min(TASKS_FOR_A_CORE, size // (cores * BYTES_OF_A_TASK)))
    return min(callables, each * cores)


def shares_of(callables: int, tasks: int) -> list[range]:
    """The numbers of the works of each task: neighbours, as many for each as for the next or one more.

    The longer shares are first, as Spark starts tasks in their order: ten works are five for each of two cores then in eight tasks as in two, where
    a long one at the end would leave a core without work.

    Source: R. L. Graham, Bounds on multiprocessing timing anomalies (1969), longest processing time first.

    Examples
    --------
    >>> shares_of(10, 4)
    [range(0, 3), range(3, 6), range(6, 8), range(8, 10)]
    """
    least, longer = divmod(callables, tasks) if tasks else (0, 0)
    ends = list(itertools.accumulate((least + (task < longer) for task in range(tasks)), initial=0))
    return [range(start, end) for start, end in itertools.pairwise(ends)]


def from_job(spark: SparkSession, packed_tasks: Sequence[TaskPayload], shared: Sequence[Any], tasks: int) -> list[TaskOutcome]:
    """Outcomes from a job without a query: nothing is planned or compiled, which takes half as long; a task is sent its own works."""
    transport, options = error_transport(), config.storage_options

    def run(of_task: Iterable[Sequence[tuple[int, TaskPayload]]]) -> Iterator[TaskOutcome]:
        acknowledge_at_once()
        return outcomes_of(itertools.chain.from_iterable(of_task), shared, transport, options)

    numbered = [[(number, packed_tasks[number]) for number in numbers] for numbers in shares_of(len(packed_tasks), tasks)]
    with importing_safely(spark):
        return spark.sparkContext.parallelize(numbered, tasks).mapPartitions(run).collect()


def from_query(spark: SparkSession, packed_tasks: Sequence[TaskPayload], shared: Sequence[Any], tasks: int) -> list[TaskOutcome]:
    """Outcomes as rows of a query, for sessions that have no jobs of their own: those of a remote server; a task is sent all works."""
    transport, options, shares = error_transport(), config.storage_options, shares_of(len(packed_tasks), tasks)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        acknowledge_at_once()
        for batch in batches:
            numbered = ((number, packed_tasks[number]) for task in batch.column(0).to_pylist() for number in shares[task])
            for outcome in outcomes_of(numbered, shared, transport, options):
                yield pa.RecordBatch.from_pylist([dict(zip(("number", "failed", "payload"), outcome, strict=True))])

    frame = spark.range(0, tasks, 1, tasks)
    with importing_safely(spark):
        frame = frame.mapInArrow(run, "number bigint, failed boolean, payload binary")
    table = frame.toArrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def outcomes_of(
    numbered: Iterable[tuple[int, TaskPayload]],
    shared: Sequence[Any],
    transport: ErrorTransport,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[TaskOutcome]:
    """Outcomes of some works, in a worker; ``options`` are those of file systems elsewhere, which it does not know."""
    for number, packed_task in numbered:
        with config.using(storage_options=options or {}):
            outcome = outcome_of(number, packed_task.unpack(shared), transport)
        yield outcome
    set_modules_aside(len(sys.modules))


@functools.lru_cache(maxsize=1)
def set_modules_aside(modules: int) -> None:
    """Leave what a worker has imported out of its collections of garbage, of which one follows each task: it would take 50 ms.

    Only when the number of modules is another one: what tasks bring is garbage when they end. What is garbage already would stay for ever.
    """
    gc.collect()
    gc.freeze()


def outcome_of(number: int, work: TaskWork, transport: ErrorTransport) -> TaskOutcome:
    """A work's pickled result, or its error when it is one of ours (others fail the task, so Spark retries it)."""
    try:
        result = work()
        try:
            return number, False, pickle.dumps(result)
        except Exception as error:
            message = f"what a task gives cannot be pickled ({type(error).__name__}: {error}): states and parts that operators make must be"
            raise ExecutionError(message) from error
    except StorageError as error:
        # The task fails, so that Spark tries again on another machine; the last failure is told as what it is.
        raise CarriedError(transport.packed(error)) from None
    except SFrameError as error:
        return number, True, error_text(error).encode("ascii")
    except SystemExit as error:
        # Spark would take it for a failure of the machine, and call the function three times more.
        return number, True, error_text(process_ended(error)).encode("ascii")
