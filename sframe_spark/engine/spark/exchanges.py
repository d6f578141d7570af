"""Into how many partitions the exchanges of a query go: by the bytes that go into one, as far as these are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs

from sframe_spark.engine.budgets import UNKNOWN_BYTES
from sframe_spark.message_text import in_words
from sframe_spark.planner.graph import fold, postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import Sizes, row_bytes

# The most bytes that a partition of an exchange is to have, before compression. A sort merges what it spilled, with buffers for every spill, so a
# partition of many times a task's memory does not fit a small heap.
PARTITION_BYTES = 128 << 20

# No exchange has more. What a task writes for one partition takes 40 microseconds of a core to read (benchmarks/results/growth.md), the driver adds
# up its bytes, and its index has eight of them, empty or not: of 8 TB, which 65,536 tasks write, that is a thousand million pieces of 8 kB.
MOST_PARTITIONS = 1 << 14

# How many times as many partitions as usual an exchange has of which nobody knows how much it is. Spark joins those that turn out small.
UNKNOWN_TIMES = 16

# Number of the row, and what Spark adds to each.
BYTES_OF_KEY = 24


@attrs.frozen
class Flow:
    """What is known of the bytes that go into the exchanges of a query.

    Parameters
    ----------
    most
        The most bytes that are known to go into one, in Spark's memory.
    is_complete
        False where more may go into one, of which nobody knows how much.
    read
        How many bytes the sources of the query have; None: unknown.
    """

    most: float
    is_complete: bool
    read: float | None

    def needs(self, usual: int) -> int:
        """How many partitions the bytes need, where exchanges usually have so many.

        Examples
        --------
        >>> Flow(8e12, True, 8e12).needs(200), Flow(3e9, True, 8e12).needs(200), Flow(0.0, False, None).needs(200)
        (16384, 23, 3200)
        """
        may_be_large = self.read is None or self.read > usual * PARTITION_BYTES
        unknown = UNKNOWN_TIMES * usual if may_be_large and not self.is_complete else 1
        return max(self.known_partitions, unknown)

    @property
    def known_partitions(self) -> int:
        """How many partitions the bytes need that are known."""
        return math.ceil(min(self.most / PARTITION_BYTES, MOST_PARTITIONS))

    def __str__(self) -> str:
        usual, size = "spark.sql.shuffle.partitions", in_words(int(min(self.most, 1 << 62)))
        whole = next_power(self.known_partitions)
        if self.is_complete:
            number = f"{whole} partitions, or {usual} where that is more" if whole > 1 else usual
            return f"at most {size} go into one: {number}"
        if self.needs(1) <= 1:
            return f"no more than {in_words(int(self.read or 0))} are read: {usual}"
        least = f", and {whole} partitions at least, as {size} are known" if whole > 1 else ""
        return f"nobody knows how many bytes go into one: {UNKNOWN_TIMES} times {usual}{least}"


def partitions_for(flow: Flow, usual: int, cores: int) -> int:
    """How many partitions the exchanges of a query start with.

    Parameters
    ----------
    flow
        The bytes.
    usual
        How many they have by the setting of the session; never fewer are taken.
    cores
        How many tasks run at a time. Much data gives each one a partition.

    Examples
    --------
    >>> [partitions_for(Flow(size, True, size), 200, 1_600) for size in (0.0, 2e10, 3e10, 1e12, 1e18)]
    [200, 200, 2048, 8192, 16384]
    """
    needed = flow.needs(usual)
    # A power of two: there is a session for each number.
    return usual if needed <= usual else max(usual, min(next_power(max(needed, cores)), MOST_PARTITIONS))


def next_power(number: int) -> int:
    """The smallest power of two that is not less.

    Examples
    --------
    >>> [next_power(number) for number in (0, 1, 3, 200, 256)]
    [1, 1, 4, 256, 256]
    """
    return 1 << max(0, number - 1).bit_length()


def flow_of(root: PlannerNode, root_observed: bool = True) -> Flow:
    """What is known of the bytes that go into the exchanges of a plan as one query.

    Parameters
    ----------
    root
        The plan.
    root_observed
        False when nobody observes the order of its rows, which are then not exchanged by it.
    """
    sizes = sizes_of(root)
    rows = fold([root], most_rows)
    exchanged = [child for node in postorder([root]) if exchanges(node) for child in node.inputs]
    if root_observed:
        exchanged.append(root)
    most, is_complete = 0.0, True
    for node in exchanged:
        bound, widths = rows[id(node)], sizes[id(node)]
        is_complete = is_complete and bound is not None and None not in widths
        if bound is not None:
            most = max(most, bound * (row_bytes(widths, 0) + BYTES_OF_KEY))
    return Flow(most, is_complete, bytes_read(root, sizes))


def exchanges(node: PlannerNode) -> bool:
    """True of an operator that may exchange the rows of its inputs: it says that it does, or nothing."""
    work = node.operator.query_work
    return bool(node.inputs) and (work is None or work.exchanges > 0)


def most_rows(node: PlannerNode, inputs: Sequence[int | None]) -> int | None:
    """The most rows that a node has where that says something of how many there are, given those of its inputs, else None.

    That a join has no more rows than there are pairs does not: as if there were so many, all sorts of joins would have the most partitions.
    """
    known, most = node.length.rows, node.length.at_most
    if known is not None or most is None or all(child.length.at_most is None or most < child.length.at_most for child in node.inputs):
        return known if known is not None else most
    given = [rows for rows in inputs if rows is not None]
    return most if len(given) == len(inputs) and most <= sum(given) else None


def bytes_read(root: PlannerNode, sizes: Mapping[int, Sizes]) -> float | None:
    """About what the rows of all sources take in Spark's memory; None where some have not been counted, which may be many."""
    total = 0.0
    for node in postorder([root]):
        if not node.inputs:
            if node.length.at_most is None:
                return None
            total += node.length.at_most * (row_bytes(sizes[id(node)], UNKNOWN_BYTES) + BYTES_OF_KEY)
    return total


def row_bytes_in_spark(source: PlannerNode) -> float:
    """About what a row of a source takes in Spark's memory, with its hidden key."""
    return row_bytes(sizes_of(source)[id(source)], UNKNOWN_BYTES) + BYTES_OF_KEY
