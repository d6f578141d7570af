"""Operators that need all rows, run one partition at a time: kernels over ranges of a column, and joins of sides that do not fit in memory."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Self

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_and_hash_partitioning import HashPartitioner, RangePartitioner, RowRangePartitioner
from sframe_spark.compute.sorting_and_searching import order_of
from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_for_threads
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.pipeline import local_threads
from sframe_spark.engine.runtime.result_storage import PartialRows, partial_rows, reservation_for_results
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, chunks_of
from sframe_spark.engine.runtime.shuffle_store import OperatorKernel, PartitionKernel, PartitionRows, ShuffleStore, results_of, rows_of_task
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import bytes_gathered, bytes_of_range, ranges_for
from sframe_spark.engine.shapes.sample import sample_for_ranges
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Workers
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import BlockingReservation, plan_size_of
from sframe_spark.errors import MemoryReservationError
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_capabilities import PartitionJoining, PartitionPairRows, RangeSplit, range_split_of
from sframe_spark.process.memory import batch_bytes, work_memory
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.types import INT

# Range partitioning: the ranges come from a sample of the column, the rows are shuffled, and a kernel runs on each range.


def key_ranges_of(runner: SectionRunner, node: PlannerNode, workers: Workers = Workers.THREADS, most: int = costs.MAX_RANGES) -> RangePartitioner:
    """Return ranges of the column by which a kernel's input is split, with about equally many rows each, after reading a sample of it."""
    return key_ranges_and_sample_of(runner, node, workers, most)[0]


def key_ranges_and_sample_of(runner: SectionRunner, node: PlannerNode, workers: Workers, most: int) -> tuple[RangePartitioner, Chunk]:
    """Return the result of :func:`key_ranges_of`, and the sample."""
    split, plan_size = range_split_of(node.operator), plan_size_of(node.inputs[0])
    assert split is not None and plan_size is not None
    # Less memory may be available than when the section was planned.
    count = int(min(most, ranges_for(plan_size, Site.now()))) if workers is Workers.THREADS else most
    sample = runner.sampled(sample_for_ranges(node, workers, count))
    return RangePartitioner.of(sample.columns[0], node.inputs[0].schema[split.column], split.ascending, count), sample


@attrs.frozen(eq=False)
class KernelInTurn:
    """A kernel that threads call one after the other, as its plug-in does not say that they may call it side by side."""

    kernel: PartitionKernel
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def of_all(self, rows: Chunk) -> Chunk:
        """See :class:`PartitionKernel`."""
        with self._lock:
            return self.kernel.of_all(rows)

    def of_batch(self, rows: Chunk) -> Chunk:
        """See :class:`PartitionKernel`."""
        with self._lock:
            return self.kernel.of_batch(rows)


@attrs.frozen(eq=False)
class PartitionedResult:
    """The result of a kernel over the rows of a shuffle store, computed range by range.

    Parameters
    ----------
    store
        The rows.
    kernel
        Computes the result rows of a range.
    room
        The memory for ranges that are computed at the same time.
    passed
        For each range, whether the kernel returns its rows unchanged.
    left
        For each range, from the first on, the largest number of its rows that are required; ranges beyond these are not computed.
    have_room
        For each of these ranges, whether it fits in memory.
    """

    store: ShuffleStore
    kernel: PartitionKernel
    room: BlockingReservation
    passed: np.ndarray
    left: np.ndarray
    have_room: np.ndarray = attrs.field(init=False)

    @classmethod
    def of(cls, store: ShuffleStore, kernel: PartitionKernel, passed: np.ndarray, most: int | None = None) -> Self:
        """Return the result over a filled store; only its first ``most`` rows if a number is given."""
        # The buffered rows of the store take memory, too.
        room = BlockingReservation(max(0, work_memory() - store.buffered_bytes) // costs.COPIES_OF_GATHERED)
        return cls(store, kernel, room, passed, rows_left(store.rows, most))

    @have_room.default
    def _have_room(self) -> np.ndarray:
        count = len(self.left)
        return self.passed[:count] | (self.store.sizes[:count] <= max_at_once())

    def groups(self, count: int) -> list[range]:
        """Divide the required ranges into at most ``count`` consecutive groups of about equally many rows."""
        return split_evenly(self.store.rows[: len(self.left)], count)

    def chunks(self, numbers: Sequence[int]) -> Iterator[Chunk]:
        """Yield the result rows of some ranges."""
        for number in numbers:
            left = int(self.left[number])
            for chunk in self.of_range(number):
                yield chunk.slice(0, left)
                left -= chunk.rows
                if left <= 0:
                    break

    def of_range(self, number: int) -> Iterator[Chunk]:
        """Return an iterator over the result rows of one range."""
        memory = self.room.taken(int(self.store.sizes[number]))
        return results_of(self.kernel, self.store.partition(number), bool(self.passed[number]), memory)


def max_at_once() -> int:
    """Return the limit in bytes for the input of one kernel call: a range, or both sides of a hash partition."""
    return min(bytes_gathered(Site.now()), MAX_BYTES_OF_ARRAY)


def rows_by_ranges(node: PlannerNode, store: ShuffleStore, ranges: RangePartitioner) -> PartitionedResult:
    """Return the result of a node's kernel over the rows of its input in a store.

    Raises
    ------
    MemoryReservationError
        If a range does not fit in memory.
    """
    split = range_split_of(node.operator)
    assert split is not None
    kernel: PartitionKernel = OperatorKernel(node.operator, node.inputs[0].facts, node.schema)
    if not is_for_threads(node):
        kernel = KernelInTurn(kernel)
    result = PartitionedResult.of(store, kernel, passed_on(split, ranges), split.first_rows)
    # At this point nothing has been computed or written.
    if not result.have_room.all():
        raise MemoryReservationError
    return result


def rows_left(rows: np.ndarray, required: int | None) -> np.ndarray:
    """Return the largest number of rows required of each range, given the rows of each and the total required; later ranges are left out.

    Examples
    --------
    >>> rows_left(np.array([2, 0, 5, 1]), 4).tolist(), rows_left(np.array([2, 0]), None).tolist()
    ([4, 2, 2], [2, 0])
    """
    if required is None:
        return rows
    left = required - (np.cumsum(rows) - rows)
    return left[left > 0]


def passed_on(split: RangeSplit, ranges: RangePartitioner) -> np.ndarray:
    """Return for each range whether a kernel returns its rows unchanged, so that they can be streamed."""
    return ranges.have_one_value & split.leaves_equal_rows


def from_partitions(runner: SectionRunner, node: PlannerNode, rows: PartitionedResult | JoinedPartitions) -> PlannerNode:
    """Compute the result of exchanged rows in threads, and return a source of it."""
    groups = rows.groups(runner.options.segments or runner.site.default_segments or costs.TASKS_OF_THREAD_AFTER_SHUFFLE * local_threads())
    if runner.options.directory is not None:
        return runner.written(node, ThreadRunner(), [partial(PartialRows([], rows.chunks(numbers)).write, node.schema) for numbers in groups])
    reservation = reservation_for_results()
    callables = [partial(partial_rows, rows.chunks(numbers), reservation) for numbers in groups]
    produced = ThreadRunner().run(callables, f"computing {node.operator.called()}")
    return runner.keep_or_spill(node, ThreadRunner(), produced, reservation)


def split_evenly(rows: np.ndarray, count: int) -> list[range]:
    """Divide ranges into at most ``count`` consecutive groups of about equally many rows."""
    ends = rows.cumsum()
    edges = [0, *(int(ends.searchsorted(ends[-1] * part // count)) + 1 for part in range(1, count)), len(ends)]
    return [range(start, stop) for start, stop in pairwise(edges) if start < stop]


def partitioner_of(node: PlannerNode, ranges: RangePartitioner) -> RowRangePartitioner:
    """Return the partitioner of the rows of a kernel's input, given the ranges of its column."""
    split = range_split_of(node.operator)
    assert split is not None
    return RowRangePartitioner(split.column, ranges)


# The stores of both sides, and that of the result if its rows are put in order, share the memory of one store.
STORES_OF_JOIN, STORES_OF_SIDES = 3, 2
# A row id is the number of the task, shifted left by this many bits, plus the position of the row in its task.
BITS_OF_ROW = 40


class SideOfJoin(NamedTuple):
    """How the rows of a side of a join are divided, and the types of their columns, with row ids if these decide the order of the result."""

    partitioner: HashPartitioner
    schema: Schema


def sides_of_join(node: PlannerNode, join: PartitionJoining, count: int) -> list[SideOfJoin]:
    """Return both sides of a join that is to be run in at least ``count`` hash partitions."""
    joining = node.operator.joining
    assert joining is not None
    sides = []
    for slot, side in enumerate(node.inputs):
        positions = tuple(pair[slot][1] for pair in joining.keys)
        partitioner = HashPartitioner.for_matching(positions, tuple(side.schema[position] for position in positions), count)
        sides.append(SideOfJoin(partitioner, (*side.schema, INT) if slot in join.numbered_slots else side.schema))
    return sides


@attrs.frozen(eq=False)
class PartitionOfJoin:
    """One hash partition of both sides of a join.

    Parameters
    ----------
    operator, join
        The join, and what joins its partitions. Row ids are the last column of a side that decides the order of the result.
    sides, sizes
        The rows of both sides, and their bytes in memory.
    most
        How many bytes of both sides may be in memory.
    """

    operator: Operator
    join: PartitionJoining
    sides: Sequence[PartitionRows]
    sizes: Sequence[int]
    most: int

    def require_room(self) -> None:
        """Require that the partition can be joined.

        Raises
        ------
        MemoryReservationError
            If it does not fit in memory, and neither side can be read in batches.
        """
        self.streamed()

    def streamed(self) -> int | None:
        """Return the side that must be read in batches, as the partition does not fit in memory as a whole; None if it fits.

        Raises
        ------
        MemoryReservationError
            If neither side can be read in batches.
        """
        if sum(self.sizes) <= self.most:
            return None
        # At least a quarter of the memory is left for the batches.
        slots = [slot for slot in (0, 1) if self._may_stream(slot) and self.sizes[1 - slot] <= self.most - self.most // 4]
        if not slots:
            raise MemoryReservationError
        return max(slots, key=lambda slot: self.sizes[slot])

    def _may_stream(self, slot: int) -> bool:
        """Return whether a side can be joined in batches with all rows of the other side.

        Rows of the other side without any match are added afterwards.
        """
        joining = self.operator.joining
        assert joining is not None and joining.by_partitions is not None
        return slot in self.operator.filtered_slots or slot not in joining.by_partitions.numbered_slots

    def pairs(self) -> Iterator[PartitionPairRows]:
        """Yield the matches, all at once or batch by batch; raises the error of :meth:`require_room`."""
        streamed = self.streamed()
        if streamed is None:
            yield self._pairs_of([side.take() for side in self.sides])
            return
        whole, is_filtered = self.sides[1 - streamed].take(), streamed in self.operator.filtered_slots
        alone = np.ones(whole.rows, dtype=bool)
        for part in parts_of(self.sides[streamed], self.most - self.sizes[1 - streamed]):
            pairs = self._pairs_of([part, whole] if streamed == 0 else [whole, part])
            if not is_filtered:
                alone &= pairs.are_alone()
            yield pairs if is_filtered else pairs.of_matches()
        if not is_filtered and alone.any():
            rows, none = whole.rows_at(np.flatnonzero(alone)), concatenate([], self.sides[streamed].schema)
            yield self._pairs_of([none, rows] if streamed == 0 else [rows, none])

    def _pairs_of(self, rows: Sequence[Chunk]) -> PartitionPairRows:
        raise_if_cancelled()
        facts = [Facts(side.schema, Length.exactly(chunk.rows)) for side, chunk in zip(self.sides, rows, strict=True)]
        return self.join.pairs(rows, facts)


@attrs.define(eq=False)
class PartitionedJoin:
    """A partitioned hash join: both sides are shuffled by the hash of their keys, and the joined rows are shuffled by row id, into row order.

    Parameters
    ----------
    node
        The node of the join.
    join
        What joins one hash partition of each side in memory.
    sides
        The rows of both sides. Row ids are the last column of a side that decides the order of the result.
    order
        The joined rows; None before there are any.
    """

    node: PlannerNode
    join: PartitionJoining
    sides: Sequence[ShuffleStore]
    order: ShuffleStore | None = None
    _open: ExitStack = attrs.field(factory=ExitStack, init=False)

    @classmethod
    def of(cls, node: PlannerNode, count: int, is_observed: bool = True) -> PartitionedJoin:
        """Return a join for a node in at least ``count`` hash partitions, with empty stores; without row ids if the order is not observed."""
        joining = node.operator.joining
        assert joining is not None
        join = joining.by_partitions
        assert join is not None
        join = join if is_observed else join.without_row_ids() or join
        room = room_of_store(STORES_OF_JOIN if join.numbered_slots else STORES_OF_SIDES)
        return cls(node, join, [ShuffleStore(side.partitioner, side.schema, room) for side in sides_of_join(node, join, count)])

    def __enter__(self) -> PartitionedJoin:
        for side in self.sides:
            self._open.enter_context(side)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def count(self) -> int:
        """The number of hash partitions."""
        return len(self.sides[0].rows)

    @property
    def written(self) -> int:
        """The bytes written to files so far."""
        return sum(store.written for store in (*self.sides, self.order) if store is not None)

    def fill(self, slot: int, tasks: Sequence[RangeTask]) -> None:
        """Run the tasks of a side and store its rows."""
        rows_of = rows_with_ids if slot in self.join.numbered_slots else rows_of_task
        self.sides[slot].fill(ThreadRunner(), tasks, f"exchanging for {self.node.operator.called()}", rows_of)

    def rows_in_order(self, most: float = math.inf) -> PartitionedResult:
        """Join all hash partitions and return the result in row order; both sides must be filled before.

        Raises
        ------
        MemoryReservationError
            If a hash partition does not fit in memory, or if the result has more than about ``most`` bytes.
        """
        partitions = self._partitions()
        sample, size = self._sampled_pairs(partitions)
        if size > most:
            raise MemoryReservationError
        ranges = ranges_of_joined_rows(sample, size)
        schema = (*self.node.schema, INT)
        self.order = self._open.enter_context(ShuffleStore(RowRangePartitioner(len(self.node.schema), ranges), schema, room_of_store()))
        held = sum(side.buffered_bytes for side in self.sides) + self.order.room
        room = BlockingReservation(max(0, work_memory() - held) // costs.COPIES_OF_GATHERED)
        ThreadRunner().run([partial(self._join, number, room) for number in partitions], f"computing {self.node.operator.called()}")
        for side in self.sides:
            side.discard()
        return RowsByRowId.of(self.order, SortByRowId(), ranges.have_one_value)

    def rows_in_any_order(self, most: float = math.inf) -> JoinedPartitions:
        """Return the result, partition by partition, computed when its rows are read; both sides must be filled before.

        Raises
        ------
        MemoryReservationError
            If a hash partition does not fit in memory, or if the result has more than about ``most`` bytes.
        """
        partitions = self._partitions()
        if most < math.inf and self._sampled_pairs(partitions)[1] > most:
            raise MemoryReservationError
        room = BlockingReservation(max(0, work_memory() - sum(side.buffered_bytes for side in self.sides)) // costs.COPIES_OF_GATHERED)
        return JoinedPartitions([self._partition(number) for number in partitions], room)

    def _partitions(self) -> list[int]:
        """Return the hash partitions that can have rows in the result, each of which must fit in memory."""
        filtered = self.node.operator.filtered_slots
        partitions = [number for number in range(self.count) if all(self.sides[slot].rows[number] for slot in filtered)]
        for number in partitions:
            self._partition(number).require_room()
        return partitions

    def _partition(self, number: int) -> PartitionOfJoin:
        """Return a hash partition of both sides."""
        sizes = [int(side.sizes[number]) for side in self.sides]
        return PartitionOfJoin(self.node.operator, self.join, [side.partition(number) for side in self.sides], sizes, max_at_once())

    def _join(self, number: int, room: BlockingReservation) -> None:
        """Join a hash partition and add the rows to the store of the result, all as rows of one task.

        One task is enough, as rows of one id come from one partition, in order.
        """
        assert self.order is not None
        partition = self._partition(number)
        with room.taken(min(sum(partition.sizes), partition.most)):
            for pairs in partition.pairs():
                for chunk in pairs.chunks(batch_bytes()):
                    raise_if_cancelled()
                    self.order.add(0, chunk)

    def _sampled_pairs(self, partitions: Sequence[int]) -> tuple[np.ndarray, float]:
        """Return row ids of the result and its bytes, estimated by joining the median and the largest hash partition."""
        whole = [partition for partition in map(self._partition, partitions) if partition.streamed() is None]
        by_size = sorted(whole, key=lambda partition: sum(partition.sizes))
        samples, size, rows = [np.zeros(0, dtype=np.int64)], 0.0, 0
        for number in {len(by_size) // 2, len(by_size) - 1} if by_size else ():
            for pairs in by_size[number].pairs():
                if self.join.numbered_slots:
                    samples.append(pairs.sampled(costs.VALUES_OF_RANGE_SAMPLE // 2))
                size += pairs.size
                rows += sum(side.rows for side in by_size[number].sides)
        total = sum(int(side.rows.sum()) for side in self.sides)
        return np.concatenate(samples), size * total / max(1, rows)


@attrs.frozen(eq=False)
class JoinedPartitions:
    """The rows of a join in any order, computed from one hash partition of both sides after the other.

    Parameters
    ----------
    partitions
        The hash partitions.
    room
        The memory for partitions that are joined at the same time.
    """

    partitions: Sequence[PartitionOfJoin]
    room: BlockingReservation

    def groups(self, count: int) -> list[range]:
        """Divide the partitions into at most ``count`` consecutive groups of about equally many rows."""
        rows = np.array([sum(side.rows for side in partition.sides) for partition in self.partitions])
        return split_evenly(rows, count) if len(rows) else []

    def chunks(self, numbers: Sequence[int]) -> Iterator[Chunk]:
        """Yield the joined rows of some partitions."""
        for pairs in self._pairs(numbers):
            yield from pairs.chunks(batch_bytes())

    def counts(self, numbers: Sequence[int]) -> Iterator[Chunk]:
        """Yield the same number of rows without columns."""
        for pairs in self._pairs(numbers):
            yield Chunk((), pairs.rows)

    def _pairs(self, numbers: Sequence[int]) -> Iterator[PartitionPairRows]:
        for number in numbers:
            partition = self.partitions[number]
            with self.room.taken(min(sum(partition.sizes), partition.most)):
                yield from partition.pairs()


def ranges_of_joined_rows(sample: np.ndarray, size: float) -> RangePartitioner:
    """Return ranges of row ids for the result of a join of about ``size`` bytes, given a sample of them."""
    needed = costs.UNEVENNESS_OF_RANGES * size / max(1, bytes_of_range(Site.now()) // STORES_OF_JOIN)
    count = int(min(costs.MAX_RANGES, 1 + max(needed, costs.UNEVENNESS_OF_RANGES * local_threads())))
    return RangePartitioner.of(pa.array(sample), INT, True, count)


@attrs.frozen(eq=False)
class SortByRowId:
    """Sorts rows by their row ids, which are the last column, and drops that column."""

    def of_all(self, rows: Chunk) -> Chunk:
        """Return all rows of a range in order."""
        return self.of_batch(rows.rows_at(order_of([rows.columns[-1].to_numpy()])) if rows.rows else rows)

    def of_batch(self, rows: Chunk) -> Chunk:
        """Return rows that are in order."""
        return Chunk(rows.columns[:-1], rows.rows)


@attrs.frozen(eq=False)
class RowsByRowId(PartitionedResult):
    """Rows in the order of their row ids, which are their last column."""

    def of_range(self, number: int) -> Iterator[Chunk]:
        """Yield the rows of a range in order. A range that turned out too large for memory is shuffled again by narrower ranges."""
        if self.have_room[number]:
            yield from super().of_range(number)
            return
        store, ranges, most = self.store, self._ranges_within(number), room_of_store()
        with store.narrower(RowRangePartitioner(len(store.schema) - 1, ranges), most) as again:
            # The caller may pause for long, so the rows go to files and their memory is released.
            with self.room.taken(most):
                for chunk in store.partition(number).stream():
                    again.add(0, chunk)
                again.flush_to_disk()
            rows = attrs.evolve(self, store=again, passed=ranges.have_one_value, left=again.rows)
            yield from rows.chunks(range(ranges.count))

    def _ranges_within(self, number: int) -> RangePartitioner:
        """Return narrower ranges of the row ids within a range."""
        store = self.store
        step = int(1 + store.rows[number] // costs.VALUES_OF_RANGE_SAMPLE)
        # A slice would keep all rows in memory.
        sample = np.concatenate([chunk.columns[-1].to_numpy()[::step].copy() for chunk in store.partition(number).stream()])
        # With at least three ranges, one boundary lies within this range.
        count = int(min(costs.MAX_RANGES, 3 + costs.UNEVENNESS_OF_RANGES * store.sizes[number] // max(1, room_of_store())))
        return RangePartitioner.of(pa.array(sample), INT, True, count)


def room_of_store(stores: int = STORES_OF_JOIN) -> int:
    """Return the limit in bytes for the buffers of one of some stores."""
    return bytes_gathered(Site.now()) // stores


def rows_with_ids(number: int, task: RangeTask) -> Iterator[Chunk]:
    """Yield the rows of a task with their row ids as an additional last column."""
    row = number << BITS_OF_ROW
    for chunk in chunks_of(task):
        yield Chunk((*chunk.columns, pa.array(np.arange(row, row + chunk.rows))), chunk.rows)
        row += chunk.rows


def parts_of(rows: PartitionRows, max_bytes: int) -> Iterator[Chunk]:
    """Yield the rows of a hash partition in batches of about ``max_bytes`` bytes."""
    batch, size = list[Chunk](), 0
    for chunk in rows.stream():
        batch.append(chunk)
        size += chunk.size
        if size >= max_bytes:
            yield concatenate(batch, rows.schema)
            batch, size = [], 0
    if batch:
        yield concatenate(batch, rows.schema)
