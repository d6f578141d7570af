"""Joins of two sides that both have no room: threads cut these into pieces by their keys, join pieces, and put the rows in order by an exchange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.hashing import KeyPieces
from sframe_spark.compute.range_partitioning import KeyRanges, RangesOfRows
from sframe_spark.compute.sorting import order_of
from sframe_spark.engine.execution.exchanged import SAMPLED_VALUES, ExchangedRows, give_to, most_at_once
from sframe_spark.engine.memory_budget import SharedRoom
from sframe_spark.engine.physical.joins_here import pieces_of_join
from sframe_spark.engine.physical.local_strategies import COPIES_OF_GATHERED, MOST_RANGES, UNEVEN, bytes_gathered, bytes_of_range
from sframe_spark.engine.runtime.exchange import Exchange
from sframe_spark.engine.runtime.pipeline import threads_here
from sframe_spark.engine.runtime.scheduler import Threads
from sframe_spark.engine.runtime.tasks import RangeTask, chunks_of
from sframe_spark.errors import NoRoomError
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Facts, Length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator, RowsOfPieces
from sframe_spark.process.memory import batch_bytes, work_memory
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.types import INT

# Both sides, and the rows that are made, share the room of one exchange.
EXCHANGES = 3
# The number of a row is that of its task and its own: a task makes fewer rows than these.
BITS_OF_ROW = 40


@attrs.define(eq=False)
class JoinOfPieces:
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
    def of(cls, node: PlannerNode) -> JoinOfPieces:
        """The same, without rows yet."""
        join, count = node.operator.in_memory(), pieces_of_join(node)
        assert join is not None and join.numbered_slots is not None and count is not None
        keys = [[position for slot, position in pair] for pair in node.operator.matched_keys()]
        sides = []
        for slot, side in enumerate(node.inputs):
            positions = tuple(pair[slot] for pair in keys)
            pieces = KeyPieces(positions, tuple(side.schema[position] for position in positions), count)
            schema = (*side.schema, INT) if slot in join.numbered_slots else side.schema
            sides.append(Exchange(pieces, schema, room_of_exchange()))
        return cls(node, join, sides)

    def __enter__(self) -> JoinOfPieces:
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
        Threads().run(works, f"exchanging for {self.node.operator.called()}", tasks)

    def rows_in_order(self) -> ExchangedRows:
        """The rows of the join, once both sides are there: those of all pieces, exchanged by their numbers.

        Raises
        ------
        NoRoomError
            If a piece takes more memory than it may.
        """
        pieces = [number for number in range(self.count) if self._has_rows(number)]
        for number in pieces:
            self._streamed(number)
        ranges = self._ranges_of_rows(pieces)
        schema = (*self.node.schema, INT)
        self.order = self._open.enter_context(Exchange(RangesOfRows(len(self.node.schema), ranges), schema, room_of_exchange()))
        held = sum(side.held for side in self.sides) + self.order.room
        room = SharedRoom(max(0, work_memory() - held) // COPIES_OF_GATHERED)
        Threads().run([partial(self._join, number, room) for number in pieces], f"computing {self.node.operator.called()}")
        for side in self.sides:
            side.clear()
        return RowsByNumber.of(self.order, in_order, without_numbers, ranges.have_one_value)

    def _sizes(self, number: int) -> list[int]:
        return [int(side.sizes[number]) for side in self.sides]

    def _has_rows(self, number: int) -> bool:
        """Whether something may be made of a piece."""
        return all(self.sides[slot].rows[number] for slot in self.node.operator.filtered_slots)

    def _streamed(self, number: int) -> int | None:
        """The side whose rows of a piece come in parts, as they take too much memory at once; None where none has to."""
        sizes, most = self._sizes(number), most_at_once()
        if sum(sizes) <= most:
            return None
        # Beside the other side there is room for a fourth, at least.
        slots = [slot for slot in (0, 1) if self._may_stream(slot) and sizes[1 - slot] <= most - most // 4]
        if not slots:
            raise NoRoomError
        return max(slots, key=lambda slot: sizes[slot])

    def _may_stream(self, slot: int) -> bool:
        """True for a side of which a part, beside all of the other, gives rows of the join, or all but those of rows that no part matches."""
        assert self.join.numbered_slots is not None
        return slot in self.node.operator.filtered_slots or slot not in self.join.numbered_slots

    def _pairs(self, number: int) -> Iterator[RowsOfPieces]:
        """What is made of a piece, or of each part of it."""
        streamed = self._streamed(number)
        if streamed is None:
            yield self._pairs_of([side.take(number) for side in self.sides])
            return
        whole, is_filtered = self.sides[1 - streamed].take(number), streamed in self.node.operator.filtered_slots
        alone = np.ones(whole.rows, dtype=bool)
        for part in parts_of(self.sides[streamed], number, most_at_once() - self._sizes(number)[1 - streamed]):
            pairs = self._pairs_of([part, whole] if streamed == 0 else [whole, part])
            if not is_filtered:
                alone &= pairs.are_alone()
            yield pairs if is_filtered else pairs.of_matches()
        if not is_filtered and alone.any():
            rows, none = whole.rows_at(np.flatnonzero(alone)), concatenate([], self.sides[streamed].schema)
            yield self._pairs_of([none, rows] if streamed == 0 else [rows, none])

    def _pairs_of(self, rows: Sequence[Chunk]) -> RowsOfPieces:
        raise_if_cancelled()
        facts = [Facts(side.schema, Length.exactly(chunk.rows)) for side, chunk in zip(self.sides, rows, strict=True)]
        return self.join.pairs_of_pieces(rows, facts)

    def _join(self, number: int, room: SharedRoom) -> None:
        """Make the rows of a piece, and give them to the exchange; rows that tie come one after the other, so all pieces may be one task's."""
        assert self.order is not None
        with room.taken(min(sum(self._sizes(number)), most_at_once())):
            for pairs in self._pairs(number):
                for chunk in pairs.chunks(batch_bytes()):
                    raise_if_cancelled()
                    self.order.add(0, chunk)

    def _ranges_of_rows(self, pieces: Sequence[int]) -> KeyRanges:
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
        count = int(min(MOST_RANGES, 1 + max(wanted, UNEVEN * threads_here())))
        return KeyRanges.of(pa.array(np.concatenate([np.zeros(0, dtype=np.int64), *found])), INT, True, count)


@attrs.frozen(eq=False)
class RowsByNumber(ExchangedRows):
    """Rows in the order of their numbers, which are their last column."""

    def of_range(self, number: int) -> Iterator[Chunk]:
        """Rows of a range; one that takes too much memory, as some rows have more matches than those that were looked at, is exchanged again."""
        if self.have_room[number]:
            yield from super().of_range(number)
            return
        exchange, ranges, most = self.exchange, self._ranges_within(number), room_of_exchange()
        with Exchange(RangesOfRows(len(exchange.schema) - 1, ranges), exchange.schema, most) as again:
            # Who takes the rows may leave off, for long: until then they are in files, and nobody else waits for their memory.
            with self.room.taken(most):
                for chunk in exchange.passed(number):
                    again.add(0, chunk)
                again.let_memory_go()
            rows = attrs.evolve(self, exchange=again, passed=ranges.have_one_value, left=again.rows)
            try:
                yield from rows.made(range(ranges.count))
            finally:
                # Who has all rows asks for no more.
                exchange.count_again(again)

    def _ranges_within(self, number: int) -> KeyRanges:
        """Ranges of the numbers of the rows of a range."""
        exchange = self.exchange
        step = int(1 + exchange.rows[number] // SAMPLED_VALUES)
        # A slice of them would hold all rows.
        sample = np.concatenate([chunk.columns[-1].to_numpy()[::step].copy() for chunk in exchange.passed(number)])
        # Of three ranges at least, one ends within the values of this one.
        count = int(min(MOST_RANGES, 3 + UNEVEN * exchange.sizes[number] // max(1, room_of_exchange())))
        return KeyRanges.of(pa.array(sample), INT, True, count)


def room_of_exchange() -> int:
    """Bytes that an exchange holds in memory."""
    return bytes_gathered() // EXCHANGES


def give_numbered(exchange: Exchange, number: int, task: RangeTask) -> None:
    """Let a task give its rows, with their numbers as a last column."""
    row = number << BITS_OF_ROW
    for chunk in chunks_of(task):
        exchange.add(number, Chunk((*chunk.columns, pa.array(np.arange(row, row + chunk.rows))), chunk.rows))
        row += chunk.rows


def parts_of(exchange: Exchange, number: int, most_bytes: int) -> Iterator[Chunk]:
    """The rows of a piece in parts of about so many bytes, or somewhat more."""
    found, size = list[Chunk](), 0
    for chunk in exchange.passed(number):
        found.append(chunk)
        size += chunk.size
        if size >= most_bytes:
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
