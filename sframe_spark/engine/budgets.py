"""Budgets of memory: what may be computed in, brought to and kept in the driver's memory, in bytes and in rows."""

from __future__ import annotations

import attrs

from sframe_spark.config import config
from sframe_spark.planner.graph import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.row_sizes import Sizes, row_bytes

# What a value of unknown length is taken for where nobody can look at it before it is sent.
UNKNOWN_BYTES = 8_192
# Results of tasks that the driver puts together, and rows in memory that are sent with a query.
SENT_BYTES = 16 << 20


@attrs.frozen
class Weight:
    """The most rows, and the most bytes, that any node of a plan has."""

    rows: int
    size: float


def weight_of(root: PlannerNode, unknown: int = 0) -> Weight | None:
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
    return Weight(rows, size)


def fits_driver(node: PlannerNode, most_rows: int) -> bool:
    """True when a result has at most so many rows and, as far as can be told before it is there, not too many bytes for the driver's memory."""
    bound = node.length.at_most
    return bound is not None and bound <= most_rows and rows_fit(node, bound)


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
    weight = weight_of(node)
    return weight is None or weight.size <= config.memory_budget
