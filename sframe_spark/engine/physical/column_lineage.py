"""Column lineage: the columns of its inputs that a node passes on, and the sources from which they come."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.engine import costs
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Origin


def origins_of(node: PlannerNode) -> list[Sequence[Origin]]:
    """Return for each column of a node the input columns with the same values; an empty list for a computed column.

    Examples
    --------
    >>> from sframe_spark.operators.project_zip_arrange import project, zip_columns
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> origins_of(project(zip_columns(range_source(0, 3), range_source(5, 3)), [1]))
    [[(0, 1)]]
    """
    if not node.inputs:
        return [[] for _ in node.schema]
    origins = node.operator.column_origins([child.facts for child in node.inputs])
    return [origins[position] if position < len(origins) else [] for position in range(node.facts.width)]


def arranged_columns(root: PlannerNode) -> list[tuple[PlannerNode, int]] | None:
    """Return for each column of a frame the highest node below that does more than arrange columns, and the column's position there.

    The result is None if finding these takes too long.

    Examples
    --------
    >>> from sframe_spark.operators.project_zip_arrange import project, zip_columns
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> first, second = range_source(0, 3), range_source(5, 3)
    >>> arranged_columns(project(zip_columns(first, second), [1, 0])) == [(second, 0), (first, 0)]
    True
    """
    to_visit, seen, width = [root], set[int](), 0
    while to_visit:
        node = to_visit.pop()
        if node.operator.arranges_columns and id(node) not in seen:
            seen.add(id(node))
            width += node.facts.width
            if width > costs.MAX_COLUMNS_FOLLOWED:
                return None
            to_visit.extend(node.inputs)
    origins: dict[int, tuple[PlannerNode, int]] = {}
    # For each node the columns to follow, as pairs of the column there and the column of the root.
    waiting = [(root, [(column, column) for column in range(root.facts.width)])]
    while waiting:
        node, columns = waiting.pop()
        if not node.operator.arranges_columns:
            origins |= {top: (node, column) for column, top in columns}
            continue
        below: list[list[tuple[int, int]]] = [[] for _ in node.inputs]
        sources = origins_of(node)
        for column, top in columns:
            for slot, position in sources[column]:
                below[slot].append((position, top))
        waiting += [(child, followed) for child, followed in zip(node.inputs, below, strict=True) if followed]
    return [origins[column] for column in range(root.facts.width)]


def source_column(node: PlannerNode, column: int) -> tuple[PlannerNode, int]:
    """Return the lowest node with the values of a column of a node, row by row, and the column's position there.

    Examples
    --------
    >>> from sframe_spark.operators.project_zip_arrange import project, zip_columns
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> first, second = range_source(0, 3), range_source(5, 3)
    >>> source_column(project(zip_columns(first, second), [1]), 0) == (second, 0)
    True
    """
    while node.operator.row_wise and node.operator.row_choice is None and (origins := origins_of(node)[column]):
        slot, column = origins[0]
        node = node.inputs[slot]
    return node, column
