"""Keeps rows within memory budgets: estimates of the size of plans and results, batch sizes, and memory reservations that threads share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from sframe_spark.engine import costs
from sframe_spark.errors import MemoryReservationError
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk
from sframe_spark.planner.graph_traversal import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.row_sizes import Sizes, row_bytes
from sframe_spark.process.threads import POLL_SECONDS, raise_if_cancelled

# Estimates of what fits the driver's memory, in rows and bytes.


@attrs.frozen
class PlanSize:
    """The largest number of rows, and the largest number of bytes, of any node of a plan."""

    rows: int
    size: float


def plan_size_of(root: PlannerNode, unknown: int = 0) -> PlanSize | None:
    """Estimate the size of a plan whose leaves can all be read by row range on the driver and have a bounded number of rows; None for other plans.

    ``unknown`` is the size assumed for values of unknown length.

    Sources in which rows are only looked up do not count, since only a few of their blocks are read at a time.
    """
    nodes = list(postorder([root]))
    if any(not node.inputs and (not node.operator.is_source or node.length.at_most is None) for node in nodes):
        return None
    read = {id(child) for node in nodes for slot, child in enumerate(node.inputs) if node.operator.requires(slot) is not Need.LOOKUP}
    sizes = sizes_of(root)
    rows, size = 0, 0.0
    for node in nodes:
        is_searched = node.operator.is_source and node is not root and id(node) not in read
        # All leaves have a bound; operators above them that have none are left out.
        if not is_searched and node.length.at_most is not None:
            rows = max(rows, node.length.at_most)
            size = max(size, node.length.at_most * row_bytes(sizes[id(node)], unknown))
    return PlanSize(rows, size)


def fits_driver(node: PlannerNode, max_rows: int, memory_budget: int) -> bool:
    """Return whether a result has at most ``max_rows`` rows that, by estimate, fit the driver's memory."""
    bound = node.length.at_most
    return bound is not None and bound <= max_rows and rows_fit(node, bound, memory_budget)


def bytes_of_rows(node: PlannerNode, rows: int, unknown: int = costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) -> float:
    """Estimate how many bytes ``rows`` rows of a result take; ``unknown`` is the size assumed for values of unknown length."""
    return rows * row_bytes(sizes_of(node)[id(node)], unknown)


def rows_fit(node: PlannerNode, rows: int, memory_budget: int) -> bool:
    """Return whether ``rows`` rows of a result, by estimate, fit the driver's memory.

    Values of unknown length, such as lists of the values of groups, may be as large as all input together.
    """
    if bytes_of_rows(node, rows) > memory_budget:
        return False
    sizes: Sizes = sizes_of(node)[id(node)]
    if None not in sizes:
        return True
    plan_size = plan_size_of(node)
    return plan_size is None or plan_size.size <= memory_budget


# Batch sizes: limits in rows and in bytes.


def bytes_of_batch(columns: int, batch_bytes: int) -> int:
    """Return the byte limit of a batch; it is higher for very many columns, so that each has enough rows to be worth a call.

    Examples
    --------
    >>> bytes_of_batch(10, 32 << 20) >> 20, bytes_of_batch(1_000, 32 << 20) >> 20, bytes_of_batch(100_000, 32 << 20) >> 20
    (32, 62, 128)
    """
    return min(max(batch_bytes, batch_bytes * columns // costs.COLUMNS_OF_WIDE_BATCH), costs.MAX_FACTOR_OF_WIDE_BATCH * batch_bytes)


@attrs.define(eq=False)
class BatchSize:
    """Chooses batch lengths that stay below a byte limit, from the known size of rows and the sizes of the last batches.

    Parameters
    ----------
    max_bytes
        Limit in bytes of a batch.
    row_bytes
        The known part of the size of a row, in bytes.
    is_known
        Whether ``row_bytes`` is the whole size of a row; otherwise the first batches are small.

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
        """Return the number of rows of the next batch, at least one unless ``max_rows`` is 0."""
        fitting = max(1, int(self.max_bytes / max(self.row_bytes, self._seen, 1.0)))
        if not self.is_known:
            fitting = min(fitting, costs.MAX_GROWTH_OF_BATCH * self._last_rows or costs.ROWS_OF_FIRST_BATCH)
        return min(max_rows, fitting)

    def saw(self, rows: int, size: int) -> None:
        """Record the rows and bytes of a batch that was read."""
        if rows:
            self._seen = max(size / rows, self._seen / costs.MAX_GROWTH_OF_BATCH)
            self._last_rows = rows


@attrs.define(eq=False)
class MemoryReservation:
    """A limit for the memory that the rows of several threads take together; exceeding it is an error.

    Parameters
    ----------
    size
        Limit in bytes for all rows together.
    max_in_column
        Limit in bytes for each column, which is to become one array.
    """

    size: int
    max_in_column: int = MAX_BYTES_OF_ARRAY
    _taken: list[int] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def take(self, chunk: Chunk) -> None:
        """Add rows to the memory taken.

        Raises
        ------
        MemoryReservationError
            If the rows taken so far exceed a limit.
        """
        sizes = [column.nbytes for column in chunk.columns]
        with self._lock:
            self._taken = [a + b for a, b in zip(self._taken or [0] * len(sizes), sizes, strict=True)]
            if self.is_full:
                raise MemoryReservationError

    @property
    def is_full(self) -> bool:
        """Whether the memory taken exceeds a limit."""
        return sum(self._taken) > self.size or max(self._taken, default=0) > self.max_in_column


@attrs.define(eq=False)
class BlockingReservation:
    """Memory that threads share: a thread waits until enough is free; a request for more than all of it waits until nothing is taken.

    Parameters
    ----------
    size
        All of the memory, in bytes.
    """

    size: int
    _taken: int = attrs.field(default=0, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Take memory for the duration of the block, waiting until it is free; Ctrl-C ends the wait."""
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
