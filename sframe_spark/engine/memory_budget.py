"""Room in this process for rows that several threads make or work on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from sframe_spark.config import config
from sframe_spark.errors import MemoryReservationError
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk
from sframe_spark.planner.graph import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.row_sizes import Sizes, row_bytes
from sframe_spark.process.threads import POLL_SECONDS, raise_if_cancelled

# Budgets of memory: what may be computed in, brought to and kept in the driver's memory, in bytes and in rows.

# What a value of unknown length is taken for where nobody can look at it before it is sent.
UNKNOWN_BYTES = 8_192
# Results of tasks that the driver puts together, and rows in memory that are sent with a query.
SENT_BYTES = 16 << 20


@attrs.frozen
class PlanSize:
    """The most rows, and the most bytes, that any node of a plan has."""

    rows: int
    size: float


def plan_size_of(root: PlannerNode, unknown: int = 0) -> PlanSize | None:
    """The weight of a plan if every leaf can be read by row range on the driver and has a known or bounded number of rows, else None.

    Values of unknown length count as so many bytes.

    Sources in which rows are only looked up do not count: as many of their blocks are read as the rows that look need, a few at a time.
    """
    nodes = list(postorder([root]))
    if any(not node.inputs and (not node.operator.is_source or node.length.at_most is None) for node in nodes):
        return None
    read = {id(child) for node in nodes for slot, child in enumerate(node.inputs) if node.operator.requires(slot) is not Need.LOOKUP}
    sizes = sizes_of(root)
    rows, size = 0, 0.0
    for node in nodes:
        looked_up = node.operator.is_source and node is not root and id(node) not in read
        # Rows without a bound are those of operators above leaves that are counted.
        if not looked_up and node.length.at_most is not None:
            rows = max(rows, node.length.at_most)
            size = max(size, node.length.at_most * row_bytes(sizes[id(node)], unknown))
    return PlanSize(rows, size)


def fits_driver(node: PlannerNode, max_rows: int) -> bool:
    """True when a result has at most so many rows and, as far as can be told before it is there, not too many bytes for the driver's memory."""
    bound = node.length.at_most
    return bound is not None and bound <= max_rows and rows_fit(node, bound)


def bytes_of_rows(node: PlannerNode, rows: int) -> float:
    """About how many bytes so many rows of a result take; values of which nothing is known count as usual ones."""
    return rows * row_bytes(sizes_of(node)[id(node)], UNKNOWN_BYTES)


def rows_fit(node: PlannerNode, rows: int) -> bool:
    """True when so many rows of a result do not take too many bytes for the driver's memory.

    Values of unknown length, such as lists of the values of groups, may hold all that is read.
    """
    if bytes_of_rows(node, rows) > config.memory_budget:
        return False
    sizes: Sizes = sizes_of(node)[id(node)]
    if None not in sizes:
        return True
    weight = plan_size_of(node)
    return weight is None or weight.size <= config.memory_budget


# How many rows kernels see at a time: at most a number of rows, and no more than take a number of bytes.

# Rows looked at first where it shows only then how long values are.
FIRST_ROWS = 4_096
# Batches grow by this factor at most, so that a run of short rows does not hide long ones behind it.
GROWTH = 4

# A kernel is called for each column of a batch, which takes tens of microseconds however few the rows are: of more columns batches are longer.
WIDE_COLUMNS = 512
# Batches of wide rows are at most so many times as long as others.
MAX_OF_WIDE = 4


def bytes_of_batch(columns: int, batch_bytes: int) -> int:
    """Return what a batch of so many columns should not exceed: of very many columns more, so that each has rows enough to be worth a call.

    Examples
    --------
    >>> bytes_of_batch(10, 32 << 20) >> 20, bytes_of_batch(1_000, 32 << 20) >> 20, bytes_of_batch(100_000, 32 << 20) >> 20
    (32, 62, 128)
    """
    return min(max(batch_bytes, batch_bytes * columns // WIDE_COLUMNS), MAX_OF_WIDE * batch_bytes)


@attrs.define(eq=False)
class BatchSize:
    """The number of rows that take about so many bytes, by what is known of them and by what the last ones took.

    Parameters
    ----------
    max_bytes
        What a batch should not exceed.
    row_bytes
        What a row takes as far as that is known.
    is_known
        Whether that is all; otherwise a few rows are looked at first.

    Examples
    --------
    >>> size = BatchSize(1_000, 10.0)
    >>> size.rows(500)
    100
    >>> size.saw(100, 5_000)
    >>> size.rows(500)
    20
    """

    max_bytes: int
    row_bytes: float
    is_known: bool = True
    _seen: float = 0.0
    _last_rows: int = 0

    def rows(self, max_rows: int) -> int:
        """Rows of the next batch."""
        fitting = max(1, int(self.max_bytes / max(self.row_bytes, self._seen, 1.0)))
        if not self.is_known:
            fitting = min(fitting, GROWTH * self._last_rows or FIRST_ROWS)
        return min(max_rows, fitting)

    def saw(self, rows: int, size: int) -> None:
        """Take note of what some rows took."""
        if rows:
            self._seen = max(size / rows, self._seen / GROWTH)
            self._last_rows = rows


@attrs.define(eq=False)
class MemoryReservation:
    """Bytes that rows of several threads may take together: what finds none is refused.

    Parameters
    ----------
    size
        All of them.
    most_in_column
        Those of a single column, which is to be one array.
    """

    size: int
    most_in_column: int = MAX_BYTES_OF_ARRAY
    _taken: list[int] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def take(self, chunk: Chunk) -> None:
        """Let rows have room.

        Raises
        ------
        MemoryReservationError
            If there is none left.
        """
        sizes = [column.nbytes for column in chunk.columns]
        with self._lock:
            self._taken = [a + b for a, b in zip(self._taken or [0] * len(sizes), sizes, strict=True)]
            if self.is_full:
                raise MemoryReservationError

    @property
    def is_full(self) -> bool:
        """Whether rows were refused."""
        return sum(self._taken) > self.size or max(self._taken, default=0) > self.most_in_column


@attrs.define(eq=False)
class BlockingReservation:
    """Bytes that threads may work on at a time: who finds too few left waits for others, and takes more than there are alone.

    Parameters
    ----------
    size
        All of them.
    """

    size: int
    _taken: int = attrs.field(default=0, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Let the block have room, once there is some; Ctrl-C ends the wait."""
        with self._changed:
            while self._taken and self._taken + size > self.size:
                self._changed.wait(POLL_SECONDS)
                raise_if_cancelled()
            self._taken += size
        try:
            yield
        finally:
            with self._changed:
                self._taken -= size
                self._changed.notify_all()
