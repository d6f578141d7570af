"""Hash join by Spark tasks: they send both sides by the hash of their keys, join each hash partition, and send the joined rows into row order."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_and_hash_partitioning import RangePartitioner, RowRangePartitioner
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask
from sframe_spark.engine.runtime.shuffle_by_messages import Inbox, RowReceiving, RowSending, WrittenPartitions, require_all_received
from sframe_spark.engine.runtime.shuffle_store import ShuffleIndex, rows_of_task
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
from sframe_spark.engine.shapes.partitioned_operators import BITS_OF_ROW, PartitionOfJoin, SideOfJoin, SortByRowId, rows_with_ids, sides_of_join
from sframe_spark.engine.spark.messages_between_tasks import Message
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import MemoryReservationError
from sframe_spark.operators.joins.hash_join import BEHIND
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator
from sframe_spark.process.memory import batch_bytes
from sframe_spark.types import INT


@attrs.frozen(eq=False)
class JoinedPartition:
    """What a relay has made of a hash partition of both sides.

    Parameters
    ----------
    rows
        The number of rows that it got of each side's partition.
    sent
        The joined rows that it sent; None if the partition is too large.
    """

    rows: Mapping[int, int]
    sent: ShuffleIndex | None


@attrs.frozen(eq=False)
class JoinOfMessages(SharedValue):
    """What relays need to join hash partitions.

    Parameters
    ----------
    operator
        The join.
    sides
        Both sides. In messages, the partitions of the right side have the numbers that follow those of the left one.
    sending
        How the joined rows are sent.
    max_bytes
        How many bytes of both sides may be in memory.
    room
        Memory for received rows of each side.
    """

    operator: Operator
    sides: Sequence[SideOfJoin]
    sending: RowSending
    max_bytes: int
    room: int

    def relay(self, number: int, messages: Iterator[Message]) -> Generator[Message, None, JoinedPartition]:
        """Receive a hash partition of both sides, join it, and yield the joined rows as messages."""
        numbers = [slot * self.sides[0].partitioner.count + number for slot in (0, 1)]
        with Inbox(self.sides[0].schema, self.room) as left, Inbox(self.sides[1].schema, self.room) as right:
            for message in messages:
                (left if message.tags[0] == numbers[0] else right).add(message)
            inboxes, received = (left, right), {**left.rows, **right.rows}
            joining = self.operator.joining
            assert joining is not None and joining.by_partitions is not None
            rows = [inbox.partition(position) for inbox, position in zip(inboxes, numbers, strict=True)]
            sizes = [inbox.sizes.get(position, 0) for inbox, position in zip(inboxes, numbers, strict=True)]
            partition = PartitionOfJoin(self.operator, joining.by_partitions, rows, sizes, self.max_bytes)
            try:
                partition.require_room()
            except MemoryReservationError:
                return JoinedPartition(received, None)
            # A partition in which a side that filters the other has no rows gives none.
            is_joined = all(rows[slot].rows for slot in self.operator.filtered_slots)
            sent = yield from self.sending.messages(number, joined_rows(partition) if is_joined else iter(()))
            return JoinedPartition(received, sent)


def joined_rows(partition: PartitionOfJoin) -> Iterator[Chunk]:
    """Yield the joined rows of a hash partition, with their row ids."""
    for pairs in partition.pairs():
        yield from pairs.chunks(batch_bytes())


def ranges_of_row_ids(tasks: Sequence[Sequence[RangeTask]], numbered_slots: Sequence[int], count: int) -> RangePartitioner:
    """Return ranges of row ids, given the tasks of both sides; each range has about as many rows of the sides that decide the order of the result.

    How many matches rows have is unknown. Where tasks leave out some of their rows, the later ranges of a task have fewer.
    """
    total = sum(task.stop - task.start for slot in numbered_slots for task in tasks[slot])
    step = 1 + total // costs.VALUES_OF_RANGE_SAMPLE
    parts = [np.zeros(0, dtype=np.int64)]
    for slot in numbered_slots:
        # Right rows without a match follow all left rows.
        behind = BEHIND if slot and len(numbered_slots) > 1 else 0
        parts += [np.arange(0, task.stop - task.start, step) + ((number << BITS_OF_ROW) + behind) for number, task in enumerate(tasks[slot])]
    return RangePartitioner.of(pa.array(np.concatenate(parts)), INT, True, count)


def joined_by_messages(
    workers: SparkTaskRunner, node: PlannerNode, tasks: Sequence[Sequence[RangeTask]], partitions: int, ranges: int, directory: str
) -> WrittenPartitions | None:
    """Join both sides in hash partitions, and write the joined rows to a directory in ranges; None if a hash partition is too large for a task.

    Parameters
    ----------
    workers
        What runs the tasks.
    node
        The join.
    tasks
        The tasks of both sides.
    partitions, ranges
        The number of hash partitions, and about how many segments the result has.
    directory
        Where it is written.
    """
    joining = node.operator.joining
    assert joining is not None and joining.by_partitions is not None
    numbered, room = joining.by_partitions.numbered_slots, costs.BYTES_BUFFERED_BY_SHUFFLE_TASK
    sides, schema = sides_of_join(node, partitions), (*node.schema, INT)
    senders = []
    for slot, side in enumerate(sides):
        sending = RowSending(side.partitioner, side.schema, room, np.arange(partitions), slot * partitions)
        rows_of = rows_with_ids if slot in numbered else rows_of_task
        senders += [partial(sending.of_task, number, task, rows_of) for number, task in enumerate(tasks[slot])]
    order = ranges_of_row_ids(tasks, numbered, ranges)
    sending = RowSending(RowRangePartitioner(len(node.schema), order), schema, room, np.arange(order.count))
    join = JoinOfMessages(node.operator, sides, sending, costs.MAX_BYTES_OF_RANGE_OF_TASK, room // len(sides))
    receiving = RowReceiving(schema, order.have_one_value, costs.MAX_BYTES_OF_RANGE_OF_TASK, room, SortByRowId(), node.schema)
    results = workers.exchange(
        senders,
        [partial(receiving.write, directory, number) for number in range(order.count)],
        f"exchanging for {node.operator.called()}",
        [task for of_side in tasks for task in of_side],
        [partial(join.relay, number) for number in range(partitions)],
    )
    sent = [shifted(index, slot * partitions, len(sides) * partitions) for slot, index in zip(slots_of(tasks), results.senders, strict=True)]
    require_all_received(sent, results.relays.values())
    joined = [result.sent for result in results.relays.values()]
    if any(index is None for index in joined):
        return None
    written = WrittenPartitions.of([index for index in joined if index is not None] or [ShuffleIndex.empty(order.count)], results.receivers)
    return attrs.evolve(written, sent=written.sent + sum(index.written for index in results.senders))


def slots_of(tasks: Sequence[Sequence[RangeTask]]) -> list[int]:
    """Return the slot of each task, given the tasks of both sides."""
    return [slot for slot, of_side in enumerate(tasks) for _ in of_side]


def shifted(index: ShuffleIndex, offset: int, count: int) -> ShuffleIndex:
    """Return the index of one side with the numbers that its partitions have in messages, of which there are ``count``."""
    result = ShuffleIndex.empty(count)
    result.rows[offset : offset + len(index.rows)] = index.rows
    return result
