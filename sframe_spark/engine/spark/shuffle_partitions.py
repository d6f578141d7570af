"""Chooses the number of shuffle partitions of a Spark query, from estimates of the bytes that its exchanges shuffle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import bytes_of_rows
from sframe_spark.message_text import in_words
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.planner.graph_traversal import fold, postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.planner.row_sizes import Sizes, row_bytes
from sframe_spark.session import QuerySize, default_parallelism, get_session, is_remote, shuffle_partitions


@attrs.frozen
class Flow:
    """What is known of how many bytes the exchanges of a query shuffle.

    Parameters
    ----------
    most
        The size of the largest input of an exchange, in bytes of Spark's memory. Inputs without a useful bound of their rows, and columns of unknown
        size, do not count.
    is_complete
        False if such an input or column was left out.
    read
        Bytes of all sources of the query; None if unknown.
    """

    most: float
    is_complete: bool
    read: float | None

    def needs(self, usual: int) -> int:
        """Return how many partitions are needed, where ``usual`` is the session's default.

        Examples
        --------
        >>> Flow(8e12, True, 8e12).needs(200), Flow(3e9, True, 8e12).needs(200), Flow(0.0, False, None).needs(200)
        (16384, 23, 3200)
        """
        may_be_large = self.read is None or self.read > usual * costs.BYTES_OF_SHUFFLE_PARTITION
        unknown = costs.TIMES_DEFAULT_PARTITIONS_FOR_UNKNOWN_BYTES * usual if may_be_large and not self.is_complete else 1
        return max(self.known_partitions, unknown)

    @property
    def known_partitions(self) -> int:
        """The number of partitions that the known bytes need."""
        return math.ceil(min(self.most / costs.BYTES_OF_SHUFFLE_PARTITION, costs.MAX_SHUFFLE_PARTITIONS))

    def __str__(self) -> str:
        usual, size = "spark.sql.shuffle.partitions", in_words(int(min(self.most, 1 << 62)))
        whole = next_power(self.known_partitions)
        if self.is_complete:
            number = f"{whole} partitions, or {usual} where that is more" if whole > 1 else usual
            return f"at most {size} go into one: {number}"
        if self.needs(1) <= 1:
            return f"no more than {in_words(int(self.read or 0))} are read: {usual}"
        least = f", and {whole} partitions at least, as {size} are known" if whole > 1 else ""
        return f"nobody knows how many bytes go into one: {costs.TIMES_DEFAULT_PARTITIONS_FOR_UNKNOWN_BYTES} times {usual}{least}"


def partitions_for(flow: Flow, usual: int, cores: int) -> int:
    """Return the number of shuffle partitions of a query, before Spark coalesces any.

    Parameters
    ----------
    flow
        The bytes that are exchanged.
    usual
        The default by the session's settings, which is the least number returned.
    cores
        How many tasks run at a time. If more partitions than the default are needed, the number is at least this, up to the largest number allowed.

    Examples
    --------
    >>> [partitions_for(Flow(size, True, size), 200, 1_600) for size in (0.0, 2e10, 3e10, 1e12, 1e18)]
    [200, 200, 2048, 8192, 16384]
    """
    needed = flow.needs(usual)
    # Only powers of two are used, so that there are few sessions: each number of partitions needs a session of its own.
    return usual if needed <= usual else max(usual, min(next_power(max(needed, cores)), costs.MAX_SHUFFLE_PARTITIONS))


def next_power(number: int) -> int:
    """Return the smallest power of two that is at least ``number``, 1 for 0.

    Examples
    --------
    >>> [next_power(number) for number in (0, 1, 3, 200, 256)]
    [1, 1, 4, 256, 256]
    """
    return 1 << max(0, number - 1).bit_length()


def flow_of(root: PlannerNode, root_observed: bool = True) -> Flow:
    """Return what is known of the bytes that a plan exchanges if it runs as one query.

    Parameters
    ----------
    root
        The plan.
    root_observed
        False if the order of the resulting rows is not observed, so that no exchange is needed for it.
    """
    sizes = sizes_of(root)
    rows = fold([root], max_rows)
    exchanged = [child for node in postorder([root]) if exchanges(node) for child in node.inputs]
    if root_observed:
        exchanged.append(root)
    most, is_complete = 0.0, True
    for node in exchanged:
        bound, widths = rows[id(node)], sizes[id(node)]
        is_complete = is_complete and bound is not None and None not in widths
        if bound is not None:
            most = max(most, bound * (row_bytes(widths, 0) + costs.BYTES_OF_ROW_KEY_IN_SPARK))
    return Flow(most, is_complete, bytes_read(root, sizes))


def exchanges(node: PlannerNode) -> bool:
    """Return whether an operator may exchange the rows of its inputs: it declares exchanges, or declares nothing."""
    work = node.operator.spark_cost.work
    return bool(node.inputs) and (work is None or work.exchanges > 0)


def max_rows(node: PlannerNode, inputs: Sequence[int | None]) -> int | None:
    """Return a useful bound for the number of rows of a node, given the bounds of its inputs; None if there is no useful bound.

    The product of the rows of both sides is not a useful bound for a join: with it, any sort of a join would get the most partitions.
    """
    known, most = node.length.rows, node.length.at_most
    if known is not None or most is None or all(child.length.at_most is None or most < child.length.at_most for child in node.inputs):
        return known if known is not None else most
    bounds = [rows for rows in inputs if rows is not None]
    return most if len(bounds) == len(inputs) and most <= sum(bounds) else None


def bytes_read(root: PlannerNode, sizes: Mapping[int, Sizes]) -> float | None:
    """Estimate the bytes of the rows of all sources in Spark's memory; None if the number of rows of a source has no known bound."""
    total = 0.0
    for node in postorder([root]):
        if not node.inputs:
            if node.length.at_most is None:
                return None
            total += node.length.at_most * (row_bytes(sizes[id(node)], costs.BYTES_OF_VALUE_OF_UNKNOWN_LENGTH) + costs.BYTES_OF_ROW_KEY_IN_SPARK)
    return total


def row_bytes_in_spark(source: PlannerNode) -> float:
    """Estimate the bytes of a row of a source in Spark's memory, with its hidden key."""
    return bytes_of_rows(source, 1) + costs.BYTES_OF_ROW_KEY_IN_SPARK


def size_of(root: PlannerNode, root_observed: bool = True) -> QuerySize:
    """Return the size of a query, which decides its number of shuffle partitions; a number of rows that is not known may be large."""
    if fits_one_task(root):
        return QuerySize.SMALL
    flow = flow_of(root, root_observed)
    if flow.needs(1) <= 1:
        return QuerySize.DEFAULT
    usual = shuffle_partitions()
    partitions = partitions_for(flow, usual, default_parallelism(get_session()))
    return QuerySize.DEFAULT if partitions == usual else QuerySize.large(partitions)


def explanation_of_exchanges(root: PlannerNode) -> str | None:
    """Return, for explain(), the number of shuffle partitions of a query and the reason, as far as known without a session.

    The result is None if the query fits one task.
    """
    if fits_one_task(root):
        return None
    if any(isinstance(node.operator, SparkSource) and not is_remote(node.operator.df.sparkSession) for node in postorder([root])):
        return "spark.sql.shuffle.partitions of the session of the DataFrame, in which it runs"
    return str(flow_of(root))


def fits_one_task(root: PlannerNode) -> bool:
    """Return whether all sources, and all unions of inputs, are known to have so few rows and bytes that one task costs less than an exchange."""
    nodes = list(postorder([root]))
    if any(isinstance(node.operator, SparkSource) for node in nodes):
        return False
    bounds = [node.length.at_most for node in nodes if not node.inputs or node.operator.row_choice is RowChoice.UNITE]
    if not config.single_task_rows or not all(bound is not None and bound <= config.single_task_rows for bound in bounds):
        return False
    sources = [node for node in nodes if not node.inputs]
    return (
        sum(node.length.at_most * row_bytes_in_spark(node) for node in sources if node.length.at_most is not None)
        <= costs.MAX_BYTES_OF_ONE_TASK_QUERY
    )
