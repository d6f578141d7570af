"""Hash join by Spark tasks, in two exchanges of one job.

The side whose rows decide the order of the result is the probe side; of an outer join, the left one.

1. Tasks send by the hash of the keys: those of the probe side only keys and row ids, those of the other side all columns.
2. A relay gets one hash partition of both sides. It finds the partners of each probe row, and sends these with the row ids of the probe rows.
3. A receiver gets the partners of the rows of one probe task. It computes the rows of the task again, and adds their partners.

So rows of the probe side are not sent, and stay in order. Rows that an outer join adds after them have separate receivers.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_and_hash_partitioning import HashPartitioner, RangePartitioner, RowRangePartitioner
from sframe_spark.compute.sorting_and_searching import order_of
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, chunks_of
from sframe_spark.engine.runtime.shuffle_by_messages import Inbox, ReceivedResult, RowSending, WrittenPartitions, require_all_received
from sframe_spark.engine.runtime.shuffle_store import PartitionRows, RowsOfTask, ShuffleFiles, ShuffleIndex, ShuffleStore, rows_of_task
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
from sframe_spark.engine.shapes.partitioned_operators import BITS_OF_ROW, PartitionOfJoin, SideOfJoin, rows_with_ids
from sframe_spark.engine.spark.messages_between_tasks import Message
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import MemoryReservationError
from sframe_spark.operators.joins.hash_join import BEHIND
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_capabilities import PartitionJoining
from sframe_spark.process.memory import batch_bytes
from sframe_spark.storage.filesystem.files_kept_by_spark import directory_of_executor
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT


@attrs.frozen(eq=False)
class TaskOfRowId:
    """Assigns partners to the probe task of their row id, and rows behind all probe rows to the task of the other side that has read them.

    Parameters
    ----------
    position
        Position of the row ids.
    probe_tasks, count
        How many tasks the probe side has, and how many partitions there are.
    """

    position: int
    probe_tasks: int
    count: int

    def partition_numbers(self, rows: Chunk) -> np.ndarray:
        """Return the number of the partition of each row."""
        ids = rows.columns[self.position].to_numpy()
        is_behind = ids >= BEHIND
        return np.where(is_behind, ids - BEHIND, ids) // (1 << BITS_OF_ROW) + self.probe_tasks * is_behind


@attrs.frozen(eq=False)
class FoundPartners:
    """The partners that a relay has found in a hash partition of both sides.

    Parameters
    ----------
    rows
        The number of rows that it got of each side's partition.
    sent
        The partners that it sent; None if the partition is too large.
    """

    rows: Mapping[int, int]
    sent: ShuffleIndex | None


@attrs.frozen(eq=False)
class PartnerSearch(SharedValue):
    """The information that relays need to find partners.

    Parameters
    ----------
    operator
        The join of the keys of the probe side with the other side.
    sides
        Both sides, the probe side first. In messages, the partitions of the other side have the numbers that follow those of the probe side.
    columns
        The columns of partners that are sent.
    sending
        How partners are sent.
    keeps_probe_rows
        Whether probe rows without a partner are in the result.
    max_bytes
        How many bytes of both sides may be in memory.
    room
        Memory for received rows of each side.
    """

    operator: Operator
    sides: Sequence[SideOfJoin]
    columns: Sequence[int]
    sending: RowSending
    keeps_probe_rows: bool
    max_bytes: int
    room: int

    def relay(self, number: int, messages: Iterator[Message]) -> Generator[Message, None, FoundPartners]:
        """Receive a hash partition of both sides, and yield the partners of probe rows as messages."""
        numbers = [slot * self.sides[0].partitioner.count + number for slot in (0, 1)]
        with Inbox(self.sides[0].schema, self.room) as probe, Inbox(self.sides[1].schema, self.room) as other:
            for message in messages:
                is_of_probe = message.tags[0] == numbers[0]
                (probe if is_of_probe else other).add(message)
                if is_of_probe and message.number == 0 and self.keeps_probe_rows:
                    # The receiver of these rows runs only if it gets a message, whether or not they have partners.
                    yield Message(message.sender, (message.sender, 0, 0, 0), pa.py_buffer(b""))
            inboxes, received = (probe, other), {**probe.rows, **other.rows}
            joining = self.operator.joining
            assert joining is not None and joining.by_partitions is not None
            rows = [inbox.partition(position) for inbox, position in zip(inboxes, numbers, strict=True)]
            sizes = [inbox.sizes.get(position, 0) for inbox, position in zip(inboxes, numbers, strict=True)]
            partition = PartitionOfJoin(self.operator, joining.by_partitions, rows, sizes, self.max_bytes)
            try:
                partition.require_room()
            except MemoryReservationError:
                return FoundPartners(received, None)
            # A partition in which a side that filters the other has no rows gives none.
            is_joined = all(rows[slot].rows for slot in self.operator.filtered_slots)
            partners = (chunk for pairs in partition.pairs() for chunk in pairs.partners(self.columns, batch_bytes())) if is_joined else iter(())
            sent = yield from self.sending.messages(number, partners)
            return FoundPartners(received, sent)


@attrs.frozen(eq=False)
class RowsWithPartners(SharedValue):
    """The information that receivers need to compute the rows of the result.

    Parameters
    ----------
    join
        Adds partners to rows.
    schemas, result
        Types of the columns of both inputs, and of the result.
    received
        Types of the columns that are received: those of partners, and row ids.
    max_bytes
        The largest size of the partners of a task.
    room
        Memory for partners that have been received.
    """

    join: PartitionJoining
    schemas: Sequence[Schema]
    result: Schema
    received: Schema
    max_bytes: int
    room: int

    def write(self, task: RangeTask | None, directory: str, number: int, messages: Iterator[Message]) -> ReceivedResult:
        """Receive the partners of the rows of a task, or the rows behind all of them, and write the segment of the given number."""
        with Inbox(self.received, self.room) as inbox:
            for message in messages:
                if message.tags[1]:
                    inbox.add(message)
            partners = inbox.partition(number)
            in_order = self._in_order(partners) if inbox.sizes.get(number, 0) <= self.max_bytes else self._in_order_by_files(partners)
            rows = self._behind(in_order) if task is None else self._with_partners(task, number << BITS_OF_ROW, in_order)
            return ReceivedResult(inbox.rows, write_segment(directory, number, self.result, (chunk.columns for chunk in rows if chunk.rows)))

    def _in_order(self, partners: PartitionRows) -> Iterator[Chunk]:
        """Yield partners in the order of their row ids, in one chunk."""
        yield in_order_of_ids(partners.take())

    def _in_order_by_files(self, partners: PartitionRows) -> Iterator[Chunk]:
        """Yield partners in the order of their row ids, range by range; the partners of one row, which may be any number, come part by part."""
        step = 1 + partners.rows // costs.VALUES_OF_RANGE_SAMPLE
        sample = np.concatenate([chunk.columns[-1].to_numpy()[::step].copy() for chunk in partners.stream()])
        count = 1 + costs.UNEVENNESS_OF_RANGES * sum(chunk.size for chunk in partners.stream()) // self.max_bytes
        ranges = RangePartitioner.of(pa.array(sample), INT, True, min(count, costs.MAX_RANGES))
        partitioner = RowRangePartitioner(len(self.received) - 1, ranges)
        with translate_os_errors("write temporary rows to", directory := directory_of_executor()):
            scratch = tempfile.TemporaryDirectory(dir=directory)
        with scratch, ShuffleStore(partitioner, self.received, self.room, ShuffleFiles(given=scratch.name)) as store:
            for chunk in partners.stream():
                store.add(0, chunk)
            for number, has_one_value in enumerate(ranges.have_one_value):
                of_range = store.partition(number)
                yield from of_range.stream() if has_one_value else [in_order_of_ids(of_range.take())]

    def _with_partners(self, task: RangeTask, first: int, partners: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield the rows of a task with their partners, given the row id of the first row."""
        rest = RowsById(partners)
        for chunk in chunks_of(task):
            # Of the row at `start` there may be more partners if some have been seen.
            start, is_seen = 0, False
            for ids, part in rest.below(first + chunk.rows):
                start += is_seen and ids[0] > first + start
                stop, is_seen = int(ids[-1]) - first + 1, True
                counts = np.bincount(ids - (first + start), minlength=stop - start)
                yield from self.join.with_partners(chunk.slice(start, stop), part, counts, self.schemas, batch_bytes())
                start = stop - 1
            alone, none = chunk.slice(start + is_seen, chunk.rows), Chunk.empty(self.received[:-1])
            yield from self.join.with_partners(alone, none, np.zeros(alone.rows, dtype=np.int64), self.schemas, batch_bytes())
            first += chunk.rows

    def _behind(self, partners: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield rows of the other side that have no probe row."""
        none = Chunk.empty(self.schemas[self.join.probe_slot])
        for _, part in RowsById(partners).below(sys.maxsize):
            yield from self.join.with_partners(none, part, np.zeros(0, dtype=np.int64), self.schemas, batch_bytes())


def in_order_of_ids(rows: Chunk) -> Chunk:
    """Return rows in the order of their row ids, which are the last column."""
    return rows.rows_at(order_of([rows.columns[-1].to_numpy()])) if rows.rows else rows


@attrs.define(eq=False)
class RowsById:
    """Rows in the order of their row ids, which are their last column, taken bit by bit.

    Parameters
    ----------
    chunks
        The rows.
    """

    chunks: Iterator[Chunk]
    _rest: Chunk | None = attrs.field(default=None, init=False)

    def below(self, limit: int) -> Iterator[tuple[np.ndarray, Chunk]]:
        """Take the rows whose ids are less than a limit: yield their ids, and their other columns."""
        while True:
            if self._rest is None or not self._rest.rows:
                self._rest = next(self.chunks, None)
                if self._rest is None:
                    return
            ids = self._rest.columns[-1].to_numpy()
            stop = int(np.searchsorted(ids, limit))
            if stop:
                part = self._rest.slice(0, stop)
                yield ids[:stop], part.select(range(len(part.columns) - 1))
            if stop < len(ids):
                self._rest = self._rest.slice(stop, len(ids))
                return
            self._rest = None


def joined_by_messages(
    workers: SparkTaskRunner,
    node: PlannerNode,
    tasks: Sequence[Sequence[RangeTask]],
    of_keys: tuple[Sequence[RangeTask], Sequence[int]],
    partitions: int,
    directory: str,
) -> WrittenPartitions | None:
    """Join both sides, and write the rows of each probe task to a directory; None if a hash partition is too large for a task.

    Parameters
    ----------
    workers
        What runs the tasks.
    node
        The join.
    tasks
        The tasks of both sides.
    of_keys
        For each probe task, one that computes at least the keys of its rows, and the positions of the keys.
    partitions
        The number of hash partitions.
    directory
        Where the result is written.
    """
    joining, room = node.operator.joining, costs.BYTES_BUFFERED_BY_SHUFFLE_TASK
    assert joining is not None and joining.by_partitions is not None
    join = joining.by_partitions
    probe, other = join.probe_slot, 1 - join.probe_slot
    sides, adds_rows = sides_sent(node, partitions), len(join.numbered_slots) > 1
    rows_of: list[RowsOfTask] = [partial(keys_with_ids, of_keys[1]), rows_with_ids if adds_rows else rows_of_task]
    senders = []
    # Those of the probe side are first: a receiver has the number of the sender of its rows.
    for place, of_side in enumerate((of_keys[0], tasks[other])):
        sending = RowSending(sides[place].partitioner, sides[place].schema, room, np.arange(partitions), place * partitions)
        senders += [partial(sending.of_task, number, task, rows_of[place]) for number, task in enumerate(of_side)]
    schema = node.inputs[other].schema
    columns, receivers = join.partner_columns(len(schema)), [*tasks[probe], *(None for _ in tasks[other] if adds_rows)]
    received = (*(schema[position] for position in columns), INT)
    owners = TaskOfRowId(len(columns), len(tasks[probe]), len(receivers))
    sending = RowSending(owners, received, room, np.arange(len(receivers)))
    is_kept = other not in node.operator.filtered_slots
    search = PartnerSearch(join.finding_partners(), sides, columns, sending, is_kept, costs.MAX_BYTES_OF_RANGE_OF_TASK, room // len(sides))
    rows = RowsWithPartners(join, [side.schema for side in node.inputs], node.schema, received, costs.MAX_BYTES_OF_RANGE_OF_TASK, room)
    results = workers.exchange(
        senders,
        [partial(rows.write, task, directory, number) for number, task in enumerate(receivers)],
        f"exchanging for {node.operator.called()}",
        [task for of_side in tasks for task in of_side],
        [partial(search.relay, number) for number in range(partitions)],
    )
    places = [0] * len(tasks[probe]) + [1] * len(tasks[other])
    sent = [shifted(index, place * partitions, len(sides) * partitions) for place, index in zip(places, results.senders, strict=True)]
    require_all_received(sent, results.relays.values())
    found = [result.sent for result in results.relays.values()]
    if any(index is None for index in found):
        return None
    written = WrittenPartitions.of([index for index in found if index is not None] or [ShuffleIndex.empty(len(receivers))], results.receivers)
    return attrs.evolve(written, sent=written.sent + sum(index.written for index in results.senders))


def sides_sent(node: PlannerNode, count: int) -> list[SideOfJoin]:
    """Return what of both sides of a join is sent in a number of hash partitions, the probe side first: of that only keys, and row ids."""
    joining = node.operator.joining
    assert joining is not None and joining.by_partitions is not None
    slot, ids = joining.by_partitions.probe_slot, (INT,) if len(joining.by_partitions.numbered_slots) > 1 else ()
    keys = [tuple(node.inputs[side].schema[pair[side][1]] for pair in joining.keys) for side in (slot, 1 - slot)]
    return [
        SideOfJoin(HashPartitioner(tuple(range(len(keys[0]))), keys[0], count), (*keys[0], INT)),
        SideOfJoin(HashPartitioner(tuple(pair[1 - slot][1] for pair in joining.keys), keys[1], count), (*node.inputs[1 - slot].schema, *ids)),
    ]


def keys_with_ids(keys: Sequence[int], number: int, task: RangeTask) -> Iterator[Chunk]:
    """Yield the keys of the rows of a task with their row ids as an additional last column."""
    for chunk in rows_with_ids(number, task):
        yield chunk.select([*keys, len(chunk.columns) - 1])


def shifted(index: ShuffleIndex, offset: int, count: int) -> ShuffleIndex:
    """Return the index of one side with the numbers that its ``count`` partitions have in messages."""
    result = ShuffleIndex.empty(count)
    result.rows[offset : offset + len(index.rows)] = index.rows
    return result
