"""Messages between the tasks of one Spark job: senders make them, Spark's own shuffle moves them, and each receiver gets all that were sent to it.

Messages are few and large, so the job costs little more than moving their bytes. What Spark does for its shuffles holds for them: lost messages are
made again by their senders, and the files are on the local disks of executors, or where Spark keeps them otherwise.
"""

from __future__ import annotations

import itertools
import struct
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.compute.int_with_spark_hash import int_with_hash
from sframe_spark.config import config
from sframe_spark.engine.spark.callables_as_job import (
    OUTCOME_COLUMNS,
    TaskOutcome,
    batch_of_outcome,
    error_payload,
    exclude_modules_from_collection,
    files_read_by,
    outcome_of,
    outcomes_of_query,
    pickled_result,
    results_of_outcomes,
    shares_of,
    task_count_for,
    uses_kept_files,
)
from sframe_spark.engine.spark.executor_version_checks import require_python
from sframe_spark.engine.task_pickling import TaskPayload, pack_tasks, translated_pickling_errors
from sframe_spark.errors import PlanInvariantError, SFrameError
from sframe_spark.operators.sources.blocks_kept_by_spark import (
    BLOCK_COLUMNS,
    CONTENT,
    FILE,
    START,
    blocks_for,
    in_tasks,
    one_value,
    task_rows,
    with_blocks,
)
from sframe_spark.session import QuerySize, follow_user, get_session
from sframe_spark.session.job_labels_and_cancellation import run_cancellable
from sframe_spark.session.python_of_spark_workers import importing_safely, jobs_start_python_of_queries
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, FileBlock, FilesOfTask
from sframe_spark.udf.error_transport import ErrorTransport, error_transport


@attrs.frozen(eq=False)
class Message:
    """Bytes for a receiver, which get the number of their sender and their position on the way.

    Parameters
    ----------
    receiver
        The number of the receiver.
    tags
        Four numbers that the sender gives to the receiver.
    content
        The bytes.
    sender, number
        The number of the sender, and the position among its messages: messages arrive in any order.
    """

    receiver: int
    tags: tuple[int, int, int, int]
    content: pa.Buffer
    sender: int = -1
    number: int = -1


# Yields messages, and returns a result for the driver.
Sending = Generator[Message, None, Any]
Sender = Callable[[], Sending]
# Receives all messages that were sent to it, in any order, and sends others.
Relay = Callable[[Iterator[Message]], Sending]
# Is given all messages that were sent to it, in any order, and returns a result for the driver. Neither is called without messages.
Receiver = Callable[[Iterator[Message]], Any]

# The receiver, the sender, the position, the tags.
HEADER = struct.Struct("<iii4q")
# The receiver in the header of an outcome: the driver.
DRIVER = -1
OUTCOME = struct.Struct("<i?")
# The place, the header and the content of a message on its way. The receivers of a stage are at places that follow each other.
Frame = tuple[int, bytes, pa.Buffer]


@attrs.frozen(eq=False)
class Surroundings:
    """The surroundings of the functions of an exchange in a task.

    Parameters
    ----------
    transport
        How errors are sent to the driver.
    options
        The options of remote file systems.
    """

    transport: ErrorTransport
    options: Mapping[str, Mapping[str, Any]]

    def frames_of(self, start: Sender, number: int, outcome: int) -> Iterator[Frame]:
        """Run the sender of a number, and yield its messages, the last of which is its outcome: for the driver, by way of the first receiver."""
        failed, payload = yield from self._messages_of(start, number)
        yield outcome_frame((outcome, failed, payload))

    def _messages_of(self, start: Sender, number: int) -> Generator[Frame, None, tuple[bool, bytes]]:
        try:
            with config.using(storage_options=self.options):
                messages = start()
            for position in itertools.count():
                try:
                    # Not while this generator is suspended: the setting belongs to the thread.
                    with config.using(storage_options=self.options):
                        message = next(messages)
                except StopIteration as end:
                    return False, pickled_result(end.value)
                yield message.receiver, HEADER.pack(message.receiver, number, position, *message.tags), message.content
        except (SFrameError, SystemExit) as error:
            return True, error_payload(error, self.transport)
        raise AssertionError("counting does not end")


def outcome_frame(outcome: TaskOutcome) -> Frame:
    """Return an outcome as a message for the driver."""
    number, failed, payload = outcome
    return 0, HEADER.pack(DRIVER, number, 0, 0, 0, 0, 0), pa.py_buffer(OUTCOME.pack(number, failed) + payload)


# Senders of a task with their numbers.
Share = Sequence[tuple[int, TaskPayload]]


@attrs.frozen(eq=False)
class Senders:
    """The information that all tasks running senders need.

    Parameters
    ----------
    shared
        The values that the pickled senders share.
    surroundings
        What they find in tasks.
    """

    shared: Sequence[Any]
    surroundings: Surroundings

    def frames_of(self, share: Iterable[tuple[int, TaskPayload]]) -> Iterator[Frame]:
        """Run some senders and yield their messages."""
        acknowledge_at_once()
        for number, sender in share:
            yield from self.surroundings.frames_of(sender.unpack(self.shared), number, number)
        exclude_modules_from_collection(len(sys.modules))


@attrs.frozen(eq=False)
class MessageStage:
    """The relays or the receivers of an exchange, as they are sent to tasks.

    Parameters
    ----------
    payloads
        The pickled functions.
    shared
        The values that they share.
    surroundings
        What they find in tasks.
    first
        The number of the outcome of the first: those of senders, and of stages before, come before.
    """

    payloads: Sequence[TaskPayload]
    shared: Sequence[Any]
    surroundings: Surroundings
    first: int

    def frames_from(self, frames: Iterable[tuple[bytes, pa.Buffer]]) -> Iterator[Frame]:
        """Give the messages of one relay, each with its header, to it; yield what it sends, and the outcomes that came with them."""
        acknowledge_at_once()
        outcomes: list[TaskOutcome] = []
        messages = messages_in(frames, outcomes)
        first = next(messages, None)
        if first is not None:
            relay = self.payloads[first.receiver].unpack(self.shared)
            start = partial(relay, itertools.chain([first], messages))
            yield from self.surroundings.frames_of(start, first.receiver, self.first + first.receiver)
            pass_over(messages)
        yield from map(outcome_frame, outcomes)
        exclude_modules_from_collection(len(sys.modules))

    def outcomes_from(self, frames: Iterable[tuple[bytes, pa.Buffer]]) -> Iterator[TaskOutcome]:
        """Give the messages of one receiver, each with its header, to it; yield its outcome, and those that came with them."""
        acknowledge_at_once()
        outcomes: list[TaskOutcome] = []
        messages = messages_in(frames, outcomes)
        first = next(messages, None)
        if first is not None:
            work = partial(self.payloads[first.receiver].unpack(self.shared), itertools.chain([first], messages))
            with config.using(storage_options=self.surroundings.options):
                outcome = outcome_of(self.first + first.receiver, work, self.surroundings.transport)
            pass_over(messages)
            yield outcome
        yield from outcomes
        exclude_modules_from_collection(len(sys.modules))


def pass_over(messages: Iterator[Message]) -> None:
    """Go through messages that a function which failed has left, as outcomes are among them."""
    for _ in messages:
        pass


def messages_in(frames: Iterable[tuple[bytes, pa.Buffer]], outcomes: list[TaskOutcome]) -> Iterator[Message]:
    """Yield the messages for one receiver; outcomes among them are appended to a list.

    Raises
    ------
    PlanInvariantError
        If there are messages for two receivers.
    """
    only = None
    for header, content in frames:
        receiver, sender, number, *tags = HEADER.unpack(header)
        if receiver == DRIVER:
            outcome = content.to_pybytes()
            outcomes.append((*OUTCOME.unpack_from(outcome), outcome[OUTCOME.size :]))
            continue
        if only not in (None, receiver):
            raise PlanInvariantError(f"messages for receivers {only} and {receiver} are in one partition of Spark's shuffle")
        only = receiver
        yield Message(receiver, (tags[0], tags[1], tags[2], tags[3]), content, sender, number)


@attrs.frozen(eq=False)
class ExchangeResults:
    """The return values of the functions of an exchange.

    Parameters
    ----------
    senders
        Of all senders, in order.
    relays, receivers
        Of those that got messages, by their numbers.
    """

    senders: Sequence[Any]
    relays: Mapping[int, Any]
    receivers: Mapping[int, Any]


def run_exchange(
    senders: Sequence[Sender], receivers: Sequence[Receiver], description: str, size: int | None = None, relays: Sequence[Relay] = ()
) -> ExchangeResults:
    """Run senders and receivers as one Spark job, with relays between them if any are given: senders send to relays then, and these to receivers.

    Spark may run any of them several times; what one attempt of each has returned is returned, and a receiver has got what one attempt of each sender
    has sent. ``size`` is the number of bytes of all rows that senders read; None where it is unknown.

    Raises
    ------
    SFrameError
        The first error of this package's types that one of them raised.
    ExecutionError
        If they or a result cannot be pickled, or if results are missing.
    """
    follow_user()
    require_python()
    spark = get_session()
    is_job = jobs_start_python_of_queries(spark)

    def move(shares: Sequence[Share], senders: Senders, stages: Sequence[MessageStage]) -> list[TaskOutcome]:
        payloads = [*(payload for share in shares for _, payload in share), *(payload for stage in stages for payload in stage.payloads)]
        return (outcomes_from_job if is_job and not uses_kept_files(payloads) else outcomes_from_query)(shares, senders, stages)

    task_count = task_count_for(spark, len(senders), size)
    return results_of_exchange(
        senders, relays, receivers, description, task_count, lambda *given: run_cancellable(partial(move, *given), description)
    )


# Runs all functions of an exchange, and returns their outcomes; all stages but the last one are relays.
Moving = Callable[[Sequence[Share], Senders, Sequence[MessageStage]], list[TaskOutcome]]


def results_of_exchange(
    senders: Sequence[Sender], relays: Sequence[Relay], receivers: Sequence[Receiver], description: str, task_count: int, move: Moving
) -> ExchangeResults:
    """Return what :func:`run_exchange` does, where ``move`` runs senders in so many tasks, and the stages after them."""
    surroundings = Surroundings(error_transport(), config.storage_options or {})
    first_receiver = len(senders) + len(relays)
    with translated_pickling_errors(description):
        payloads, shared = pack_tasks(senders)
        stages = [MessageStage(*pack_tasks(relays), surroundings, len(senders))] if relays else []
        stages.append(MessageStage(*pack_tasks(receivers), surroundings, first_receiver))
        shares = [[(number, payloads[number]) for number in numbers] for numbers in shares_of(len(payloads), task_count)]
        outcomes = move(shares, Senders(shared, surroundings), stages)
    numbers = [*range(len(senders)), *sorted(number for number, _, _ in outcomes if number >= len(senders))]
    results = dict(zip(numbers, results_of_outcomes(outcomes, numbers, description), strict=True))
    return ExchangeResults(
        [results[number] for number in range(len(senders))],
        {number - len(senders): result for number, result in results.items() if len(senders) <= number < first_receiver},
        {number - first_receiver: result for number, result in results.items() if number >= first_receiver},
    )


def outcomes_from_job(shares: Sequence[Share], senders: Senders, stages: Sequence[MessageStage]) -> list[TaskOutcome]:
    """Return the outcomes from a job without a query: bytes pass Spark as they are, which takes two thirds of what a query takes."""
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer

    def send(of_task: Iterable[Share]) -> Iterator[bytes]:
        return in_pairs(senders.frames_of(itertools.chain.from_iterable(of_task)))

    def relaying(stage: MessageStage) -> Callable[[Iterable[bytes]], Iterator[bytes]]:
        return lambda values: in_pairs(stage.frames_from(map(divided, values)))

    def receive(values: Iterable[bytes]) -> Iterator[TaskOutcome]:
        return last.outcomes_from(map(divided, values))

    def moved(sent: Any, places: int) -> Any:
        # As `RDD.partitionBy` does, but that gathers a thousand values before it sends them.
        sent._bypass_serializer = True
        pairs = context._jvm.PairwiseRDD(sent._jrdd.rdd()).asJavaPairRDD()
        values = context._jvm.PythonRDD.valueOfPair(pairs.partitionBy(context._jvm.PythonPartitioner(places, id(sent))))
        return RDD(values, context, NoOpSerializer())

    spark, last = get_session(), stages[-1]
    context: Any = spark.sparkContext
    with importing_safely(spark):
        rows = context.parallelize(shares, len(shares)).mapPartitions(send, True)
        for stage in stages[:-1]:
            rows = moved(rows, len(stage.payloads)).mapPartitions(relaying(stage), True)
        outcomes: list[TaskOutcome] = moved(rows, len(last.payloads)).mapPartitions(receive).collect()
        return outcomes


# What `PairwiseRDD` expects before each value.
PLACE = struct.Struct("!q")


def in_pairs(frames: Iterable[tuple[int, bytes, pa.Buffer]]) -> Iterator[bytes]:
    """Yield the place of each message, then the message in one piece."""
    for place, header, content in frames:
        yield PLACE.pack(place)
        yield b"".join((header, content))


def divided(value: bytes) -> tuple[bytes, pa.Buffer]:
    """Return the header and the content of a message in one piece."""
    return value[: HEADER.size], pa.py_buffer(value).slice(HEADER.size)


def outcomes_from_query(shares: Sequence[Share], senders: Senders, stages: Sequence[MessageStage]) -> list[TaskOutcome]:
    """Return the outcomes from a query, as sessions of a remote server cannot run jobs, nor jobs read what Spark keeps.

    Every task is sent all senders.
    """

    def send(tasks: Iterable[int], files: FilesOfTask) -> Iterator[pa.RecordBatch]:
        return in_batches(senders.frames_of(numbered for task in tasks for numbered in shares[task]))

    def relaying(stage: MessageStage) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        return lambda batches: in_batches(stage.frames_from(out_of_batches(batches)))

    def receive(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with FilesOfTask() as files, KEPT_FILES.kept_by(files):
            frames = without_blocks(out_of_batches(batches), files)
            outcomes = map(batch_of_outcome, stages[-1].outcomes_from(frames))
            yield from with_blocks(outcomes, files) if writes else outcomes

    writes = any(payload.kept.written for payload in stages[-1].payloads)
    spark, columns = get_session(QuerySize.LARGE_VALUES), "place int, header binary, content binary"
    needs = [files_read_by(payload for _, payload in share) for share in shares]
    with importing_safely(spark):
        rows = task_rows(spark, needs).mapInArrow(in_tasks(send), columns)
        for stage in stages[:-1]:
            rows = rows.repartition(len(stage.payloads), "place").mapInArrow(relaying(stage), columns)
        result = f"{OUTCOME_COLUMNS}, {BLOCK_COLUMNS}" if writes else OUTCOME_COLUMNS
        # Receivers get the blocks of the files that they read among their messages.
        blocks = blocks_for(spark, [payload.kept.read for payload in stages[-1].payloads])
        if blocks is not None:
            rows = rows.unionAll(blocks.selectExpr("place", f"CAST(CONCAT('{BLOCK_OF}', CAST({START} AS string), ':', {FILE}) AS binary)", CONTENT))
        rows = rows.repartition(len(stages[-1].payloads), "place").mapInArrow(receive, result)
    return outcomes_of_query(rows, writes)


# What the header of a block begins with: as the number of a receiver it would be beyond all. The position and the file follow.
BLOCK_OF = "file:"


def without_blocks(frames: Iterable[tuple[bytes, pa.Buffer]], files: FilesOfTask) -> Iterator[tuple[bytes, pa.Buffer]]:
    """Yield messages, each with its header; blocks of files among them are added to the files of the task, which have all come when the messages end.

    Examples
    --------
    >>> with FilesOfTask() as files:
    ...     list(without_blocks([(b"file:2:kept-by-spark://a", pa.py_buffer(b"cd")), (b"header", pa.py_buffer(b""))], files))[0][0]
    ...     files.sizes_below("kept-by-spark://a")
    b'header'
    {'kept-by-spark://a': 4}
    """
    for header, content in frames:
        if header.startswith(BLOCK_OF.encode()):
            start, file = header.decode().removeprefix(BLOCK_OF).split(":", 1)
            files.add(FileBlock(file, int(start), content))
        else:
            yield header, content


def in_batches(frames: Iterable[Frame]) -> Iterator[pa.RecordBatch]:
    """Yield each message as a record batch of one row, without copying it; Spark puts the row into the partition of the place's number."""
    for place, header, content in frames:
        columns = [pa.array([int_with_hash(place)], pa.int32()), one_value(pa.py_buffer(header)), one_value(content)]
        yield pa.RecordBatch.from_arrays(columns, ["place", "header", "content"])


def out_of_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[bytes, pa.Buffer]]:
    """Yield the header and the content of each message, without copying it."""
    for batch in batches:
        for header, content in zip(batch.column(1), batch.column(2), strict=True):
            yield header.as_py(), content.as_buffer()
