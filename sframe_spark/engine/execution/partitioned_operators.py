"""Joins of two sides that both have no room: threads cut these into pieces by their keys, join pieces, and put the rows in order by an exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.hashing import HashPartitioner
from sframe_spark.compute.range_partitioning import RangePartitioner, RowRangePartitioner
from sframe_spark.compute.sorting import order_of
from sframe_spark.engine.memory_budget import BlockingReservation, MemoryReservation, plan_size_of
from sframe_spark.engine.physical.local_strategies import (
    COPIES_OF_GATHERED,
    MAX_RANGES,
    UNEVEN,
    bytes_gathered,
    bytes_of_range,
    partitions_of_join,
    ranges_for,
)
from sframe_spark.engine.physical.placement import placement_of
from sframe_spark.engine.runtime.exchange import Exchange
from sframe_spark.engine.runtime.pipeline import PipelineRunner, local_threads, require_inferred
from sframe_spark.engine.runtime.result_buffer import PartialRows, begun
from sframe_spark.engine.runtime.scheduler import TaskRunner, ThreadRunner, range_tasks
from sframe_spark.engine.runtime.tasks import RangeTask, chunks_of
from sframe_spark.errors import MemoryReservationError
from sframe_spark.laws import optimize
from sframe_spark.operators.project import project
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk, concatenate
from sframe_spark.planner.facts import Facts, Length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator, PartitionPairRows
from sframe_spark.planner.row_sizes import value_bytes
from sframe_spark.process.memory import batch_bytes, work_memory
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.types import INT

# Kernels of all rows, made range by range of a column: the ranges are found by a sample, and threads exchange the rows.

# The values that tell the ranges: so many, of at least so many places, and of no fewer than there are ranges.
SAMPLED_VALUES, SAMPLED_PLACES = 131_072, 128
# Of long texts fewer do: all together take no more than these.
SAMPLED_BYTES = 16 << 20


def key_ranges_of(node: PlannerNode, most: int = MAX_RANGES, workers: TaskRunner | None = None) -> RangePartitioner:
    """At most so many ranges of the column by which the rows below a kernel are split; about as many rows are in each as in the others."""
    below, split, weight = node.inputs[0], node.operator.split_by, plan_size_of(node.inputs[0])
    assert split is not None and weight is not None
    position, ascending = split
    keys = project(below, [position])
    narrow = optimize(keys)
    if not placement_of(narrow).segment:
        narrow = keys
    # There may be less room than when this was planned.
    count = most if workers is not None else int(min(most, ranges_for(weight)))
    return RangePartitioner.of(sample_of(narrow, max(SAMPLED_PLACES, count), workers or ThreadRunner()), below.schema[position], ascending, count)


def sample_of(node: PlannerNode, places: int, workers: TaskRunner) -> pa.Array:
    """Values of the one column of a section, from so many places that are everywhere in it: rows may be nearly in order."""
    tasks = range_tasks(node, placement_of(node).rows_to_run, places, workers)
    rows = max(1, SAMPLED_VALUES // places)
    works = [partial(first_values_of, task, rows, SAMPLED_BYTES // places) for task in tasks]
    return pa.concat_arrays([chunk.columns[0] for chunk in workers.run(works, "looking at values to sort by", tasks)])


def first_values_of(task: RangeTask, rows: int, max_bytes: int) -> Chunk:
    """What a task makes of the first of its rows, of long ones of fewer; nothing that they were decoded with stays in memory."""
    made = PipelineRunner(task.whole, task.states).stream(task.start, min(task.stop, task.start + rows), rows, final=False)
    found = list[Chunk]()
    for chunk in made:
        found.append(Chunk.of([leading(chunk.columns[0], max_bytes)]))
        max_bytes -= found[-1].size
        if max_bytes <= 0 or found[-1].rows < chunk.rows:
            break
    return concatenate(found, task.whole.facts[-1].schema)


def leading(values: pa.Array, max_bytes: int) -> pa.Array:
    """A copy of the first of some values: of those that take no more bytes, and of one at least.

    Examples
    --------
    >>> leading(pa.array(["abc", "de", "f"]), 5).to_pylist(), leading(pa.array([1, 2]), 0).to_pylist()
    (['abc', 'de'], [1])
    """
    count = int(np.searchsorted(value_bytes(values).cumsum(), max_bytes, side="right"))
    # A slice would hold what it is one of.
    return values.take(pa.array(np.arange(min(len(values), max(count, 1)))))


@attrs.frozen(eq=False)
class ExchangedRows:
    """What a kernel makes of rows that were exchanged.

    Parameters
    ----------
    exchange
        The rows.
    kernel
        Makes rows of those of a range.
    passing
        Makes them of some rows of a range of which the kernel would make nothing else.
    room
        What is meant for those of ranges that are worked on at a time.
    passed
        For each range whether the kernel would make nothing else of its rows.
    left
        For each range from the first on how many rows are wanted of it at most; the others are not made.
    have_room
        For each of these whether it takes no more memory than it may.
    """

    exchange: Exchange
    kernel: Callable[[Chunk], Chunk]
    passing: Callable[[Chunk], Chunk]
    room: BlockingReservation
    passed: np.ndarray
    left: np.ndarray
    have_room: np.ndarray = attrs.field(init=False)

    @classmethod
    def of(
        cls, exchange: Exchange, kernel: Callable[[Chunk], Chunk], passing: Callable[[Chunk], Chunk], passed: np.ndarray, most: int | None = None
    ) -> ExchangedRows:
        """The same, of an exchange to which all rows were given, where no more than so many of them are the result."""
        # What the exchange holds in memory is there beside them.
        room = BlockingReservation(max(0, work_memory() - exchange.buffered_bytes) // COPIES_OF_GATHERED)
        return cls(exchange, kernel, passing, room, passed, rows_left(exchange.rows, most))

    @have_room.default
    def _have_room(self) -> np.ndarray:
        count = len(self.left)
        return self.passed[:count] | (self.exchange.sizes[:count] <= max_at_once())

    def works(self, count: int) -> list[range]:
        """The numbers of the ranges that are made, one after the other, in so many parts of about as many rows, or fewer."""
        return split_evenly(self.exchange.rows[: len(self.left)], count)

    def made(self, numbers: Sequence[int]) -> Iterator[Chunk]:
        """Rows of some ranges."""
        for number in numbers:
            left = int(self.left[number])
            for chunk in self.of_range(number):
                yield chunk.slice(0, left)
                left -= chunk.rows
                if left <= 0:
                    break

    def begun(self, numbers: Sequence[int], room: MemoryReservation) -> PartialRows:
        """The same as long as there is room for them."""
        return begun(self.made(numbers), room)

    def of_range(self, number: int) -> Iterator[Chunk]:
        """Rows of a range."""
        raise_if_cancelled()
        if self.passed[number]:
            yield from map(self.passing, self.exchange.passed(number))
            return
        with self.room.taken(int(self.exchange.sizes[number])):
            made = self.kernel(self.exchange.take(number))
        yield made


def max_at_once() -> int:
    """Bytes of the rows that a kernel takes at a time: those of a range, or of both sides of a join."""
    return min(bytes_gathered(), MAX_BYTES_OF_ARRAY)


def rows_by_ranges(node: PlannerNode, exchange: Exchange, ranges: RangePartitioner) -> ExchangedRows:
    """What the kernel of a node makes of all rows below it.

    Raises
    ------
    MemoryReservationError
        If those of a range take more memory than they may.
    """
    operator, facts = node.operator, [child.facts for child in node.inputs]

    def kernel(rows: Chunk) -> Chunk:
        return require_inferred(operator, (), operator.kernel([rows], facts), node.schema)

    found = ExchangedRows.of(exchange, kernel, lambda rows: rows, passed_on(operator, ranges), operator.rows_of_ranges)
    # Nothing was made yet, or written anywhere.
    if not found.have_room.all():
        raise MemoryReservationError
    return found


def rows_left(rows: np.ndarray, wanted: int | None) -> np.ndarray:
    """For each range that is made how many rows are wanted of it at most, given how many each has, and how many are wanted of all, from the first on.

    Examples
    --------
    >>> rows_left(np.array([2, 0, 5, 1]), 4).tolist(), rows_left(np.array([2, 0]), None).tolist()
    ([4, 2, 2], [2, 0])
    """
    if wanted is None:
        return rows
    left = wanted - (np.cumsum(rows) - rows)
    return left[left > 0]


def passed_on(operator: Operator, ranges: RangePartitioner) -> np.ndarray:
    """For each range whether a kernel makes nothing else of its rows: they need no room."""
    return ranges.have_one_value & operator.leaves_equal_rows


def split_evenly(rows: np.ndarray, count: int) -> list[range]:
    """The numbers of all ranges, of so many rows each, one after the other, in so many parts of about as many rows, or fewer."""
    ends = rows.cumsum()
    edges = [0, *(int(ends.searchsorted(ends[-1] * part // count)) + 1 for part in range(1, count)), len(ends)]
    return [range(start, stop) for start, stop in pairwise(edges) if start < stop]


def exchange_below(node: PlannerNode, ranges: RangePartitioner) -> Exchange:
    """An exchange, without rows yet, for those below a kernel, by such ranges."""
    assert node.operator.split_by is not None
    return Exchange(RowRangePartitioner(node.operator.split_by[0], ranges), node.inputs[0].schema, bytes_gathered())


def give_to(exchange: Exchange, number: int, task: RangeTask) -> None:
    """Let a task give its rows."""
    for chunk in chunks_of(task):
        exchange.add(number, chunk)


# Both sides, and the rows that are made, share the room of one exchange.
EXCHANGES = 3
# The number of a row is that of its task and its own: a task makes fewer rows than these.
BITS_OF_ROW = 40


@attrs.define(eq=False)
class PartitionedJoin:
    """A join whose sides are exchanged by their keys.

    Parameters
    ----------
    node
        Its node, over the plans of both sides.
    join
        The operator that joins pieces.
    sides
        Exchanges of the rows of both sides, the numbers of rows last where they put the result in order.
    order
        That of the rows that were made; None before one was.
    """

    node: PlannerNode
    join: Operator
    sides: Sequence[Exchange]
    order: Exchange | None = None
    _open: ExitStack = attrs.field(factory=ExitStack, init=False)

    @classmethod
    def of(cls, node: PlannerNode) -> PartitionedJoin:
        """The same, without rows yet."""
        join, count = node.operator.in_memory(), partitions_of_join(node)
        assert join is not None and join.numbered_slots is not None and count is not None
        keys = [[position for slot, position in pair] for pair in node.operator.matched_keys()]
        sides = []
        for slot, side in enumerate(node.inputs):
            positions = tuple(pair[slot] for pair in keys)
            pieces = HashPartitioner(positions, tuple(side.schema[position] for position in positions), count)
            schema = (*side.schema, INT) if slot in join.numbered_slots else side.schema
            sides.append(Exchange(pieces, schema, room_of_exchange()))
        return cls(node, join, sides)

    def __enter__(self) -> PartitionedJoin:
        for side in self.sides:
            self._open.enter_context(side)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return len(self.sides[0].rows)

    @property
    def written(self) -> int:
        """Bytes in files."""
        return sum(exchange.written + exchange.written_again for exchange in (*self.sides, self.order) if exchange is not None)

    def give(self, slot: int, tasks: Sequence[RangeTask]) -> None:
        """Exchange the rows of a side, which tasks make."""
        assert self.join.numbered_slots is not None
        give = give_numbered if slot in self.join.numbered_slots else give_to
        works = [partial(give, self.sides[slot], number, task) for number, task in enumerate(tasks)]
        ThreadRunner().run(works, f"exchanging for {self.node.operator.called()}", tasks)

    def rows_in_order(self) -> ExchangedRows:
        """The rows of the join, once both sides are there: those of all pieces, exchanged by their numbers.

        Raises
        ------
        MemoryReservationError
            If a piece takes more memory than it may.
        """
        pieces = [number for number in range(self.count) if self._has_rows(number)]
        for number in pieces:
            self._streamed(number)
        ranges = self._ranges_of_rows(pieces)
        schema = (*self.node.schema, INT)
        self.order = self._open.enter_context(Exchange(RowRangePartitioner(len(self.node.schema), ranges), schema, room_of_exchange()))
        held = sum(side.buffered_bytes for side in self.sides) + self.order.room
        room = BlockingReservation(max(0, work_memory() - held) // COPIES_OF_GATHERED)
        ThreadRunner().run([partial(self._join, number, room) for number in pieces], f"computing {self.node.operator.called()}")
        for side in self.sides:
            side.clear()
        return RowsByRowId.of(self.order, in_order, without_numbers, ranges.have_one_value)

    def _sizes(self, number: int) -> list[int]:
        return [int(side.sizes[number]) for side in self.sides]

    def _has_rows(self, number: int) -> bool:
        """Whether something may be made of a piece."""
        return all(self.sides[slot].rows[number] for slot in self.node.operator.filtered_slots)

    def _streamed(self, number: int) -> int | None:
        """The side whose rows of a piece come in parts, as they take too much memory at once; None where none has to."""
        sizes, most = self._sizes(number), max_at_once()
        if sum(sizes) <= most:
            return None
        # Beside the other side there is room for a fourth, at least.
        slots = [slot for slot in (0, 1) if self._may_stream(slot) and sizes[1 - slot] <= most - most // 4]
        if not slots:
            raise MemoryReservationError
        return max(slots, key=lambda slot: sizes[slot])

    def _may_stream(self, slot: int) -> bool:
        """True for a side of which a part, beside all of the other, gives rows of the join, or all but those of rows that no part matches."""
        assert self.join.numbered_slots is not None
        return slot in self.node.operator.filtered_slots or slot not in self.join.numbered_slots

    def _pairs(self, number: int) -> Iterator[PartitionPairRows]:
        """What is made of a piece, or of each part of it."""
        streamed = self._streamed(number)
        if streamed is None:
            yield self._pairs_of([side.take(number) for side in self.sides])
            return
        whole, is_filtered = self.sides[1 - streamed].take(number), streamed in self.node.operator.filtered_slots
        alone = np.ones(whole.rows, dtype=bool)
        for part in parts_of(self.sides[streamed], number, max_at_once() - self._sizes(number)[1 - streamed]):
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
        return self.join.pairs_of_pieces(rows, facts)

    def _join(self, number: int, room: BlockingReservation) -> None:
        """Make the rows of a piece, and give them to the exchange; rows that tie come one after the other, so all pieces may be one task's."""
        assert self.order is not None
        with room.taken(min(sum(self._sizes(number)), max_at_once())):
            for pairs in self._pairs(number):
                for chunk in pairs.chunks(batch_bytes()):
                    raise_if_cancelled()
                    self.order.add(0, chunk)

    def _ranges_of_rows(self, pieces: Sequence[int]) -> RangePartitioner:
        """Ranges of the numbers of the rows of all pieces; a look at two of these tells how many ranges, and which."""
        by_size = sorted((number for number in pieces if self._streamed(number) is None), key=lambda number: sum(self._sizes(number)))
        found, size, rows = [], 0.0, 0
        for number in {by_size[len(by_size) // 2], by_size[-1]} if by_size else ():
            for pairs in self._pairs(number):
                found.append(pairs.sampled(SAMPLED_VALUES // 2))
                size += pairs.size
                rows += sum(int(side.rows[number]) for side in self.sides)
        total = sum(int(side.rows.sum()) for side in self.sides)
        wanted = UNEVEN * size * total / max(1, rows) / max(1, bytes_of_range() // EXCHANGES)
        count = int(min(MAX_RANGES, 1 + max(wanted, UNEVEN * local_threads())))
        return RangePartitioner.of(pa.array(np.concatenate([np.zeros(0, dtype=np.int64), *found])), INT, True, count)


@attrs.frozen(eq=False)
class RowsByRowId(ExchangedRows):
    """Rows in the order of their numbers, which are their last column."""

    def of_range(self, number: int) -> Iterator[Chunk]:
        """Rows of a range; one that takes too much memory, as some rows have more matches than those that were looked at, is exchanged again."""
        if self.have_room[number]:
            yield from super().of_range(number)
            return
        exchange, ranges, most = self.exchange, self._ranges_within(number), room_of_exchange()
        with Exchange(RowRangePartitioner(len(exchange.schema) - 1, ranges), exchange.schema, most) as again:
            # Who takes the rows may leave off, for long: until then they are in files, and nobody else waits for their memory.
            with self.room.taken(most):
                for chunk in exchange.passed(number):
                    again.add(0, chunk)
                again.flush_to_disk()
            rows = attrs.evolve(self, exchange=again, passed=ranges.have_one_value, left=again.rows)
            try:
                yield from rows.made(range(ranges.count))
            finally:
                # Who has all rows asks for no more.
                exchange.count_rewritten(again)

    def _ranges_within(self, number: int) -> RangePartitioner:
        """Ranges of the numbers of the rows of a range."""
        exchange = self.exchange
        step = int(1 + exchange.rows[number] // SAMPLED_VALUES)
        # A slice of them would hold all rows.
        sample = np.concatenate([chunk.columns[-1].to_numpy()[::step].copy() for chunk in exchange.passed(number)])
        # Of three ranges at least, one ends within the values of this one.
        count = int(min(MAX_RANGES, 3 + UNEVEN * exchange.sizes[number] // max(1, room_of_exchange())))
        return RangePartitioner.of(pa.array(sample), INT, True, count)


def room_of_exchange() -> int:
    """Bytes that an exchange holds in memory."""
    return bytes_gathered() // EXCHANGES


def give_numbered(exchange: Exchange, number: int, task: RangeTask) -> None:
    """Let a task give its rows, with their numbers as a last column."""
    row = number << BITS_OF_ROW
    for chunk in chunks_of(task):
        exchange.add(number, Chunk((*chunk.columns, pa.array(np.arange(row, row + chunk.rows))), chunk.rows))
        row += chunk.rows


def parts_of(exchange: Exchange, number: int, max_bytes: int) -> Iterator[Chunk]:
    """The rows of a piece in parts of about so many bytes, or somewhat more."""
    found, size = list[Chunk](), 0
    for chunk in exchange.passed(number):
        found.append(chunk)
        size += chunk.size
        if size >= max_bytes:
            yield concatenate(found, exchange.schema)
            found, size = [], 0
    if found:
        yield concatenate(found, exchange.schema)


def in_order(rows: Chunk) -> Chunk:
    """Rows in the order of their numbers, which are the last column, without these."""
    return without_numbers(rows.rows_at(order_of([rows.columns[-1].to_numpy()])) if rows.rows else rows)


def without_numbers(rows: Chunk) -> Chunk:
    """The columns but the last."""
    return Chunk(rows.columns[:-1], rows.rows)
