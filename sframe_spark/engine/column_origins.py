"""Which input columns the columns of a node show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sframe_spark.operators.grouped.groupby import GroupBy
from sframe_spark.operators.grouped.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.joins.join import Join
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.lookups.asof_join import AsofJoin
from sframe_spark.operators.lookups.key_window import KeyWindow
from sframe_spark.operators.rowwise.columns import Project
from sframe_spark.operators.rowwise.elementwise import RowWise, origins
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator

# Slot and position of the input column that an output column shows; None where it is computed.
Origin = tuple[int, int] | None

# The columns of these are those of each of their inputs (of the first one, if inputs differ), as far as they go.
SAME_COLUMNS = frozenset(
    {
        *("append", "assign_intervals", "assume_order", "fill_intervals", "filter", "filter_rows", "map_cycles", "merge_sorted"),
        *("reverse", "slice", "sort", "suffix_sort", "top_rows"),
    }
)

# All inputs of these have the same columns.
ALIKE_INPUTS = ("append", "merge_sorted")


def column_origins(node: PlannerNode) -> list[Origin]:
    """For each column of a node the input column whose name it goes by, or None.

    Examples
    --------
    >>> from sframe_spark.operators.rowwise.columns import project, zip_columns
    >>> from sframe_spark.operators.sources.made import range_source
    >>> column_origins(project(zip_columns(range_source(0, 3), range_source(5, 3)), [1]))
    [(0, 1)]
    """
    operator, inputs = node.operator, node.inputs
    found: Sequence[Origin]
    if isinstance(operator, Project):
        found = _from_first(operator.positions)
    elif isinstance(operator, RowWise):
        places = _side_by_side(inputs)
        program = operator.program(len(places))
        found = [None if origin is None else places[origin] for origin in origins(program)]
    elif node.operator_type == "zip":
        found = _side_by_side(inputs)
    elif node.operator_type in SAME_COLUMNS:
        found = _from_first(range(inputs[0].facts.width))
    else:
        found = _of_keyed(operator, inputs)
    return [found[position] if position < len(found) else None for position in range(node.facts.width)]


def _of_keyed(operator: Operator, inputs: Sequence[PlannerNode]) -> Sequence[Origin]:
    """Origins of columns of operators that group, join or look rows up by keys."""
    match operator:
        case GroupBy():
            return _from_first(operator.keys)
        case StreamingGroupBy():
            return _from_first(operator.grouped)
        case Join():
            values = operator.right_values(inputs[1].facts.width)
            return [*_from_first(range(inputs[0].facts.width)), *((1, position) for position in values)]
        case SortedJoin():
            return _of_keyed(operator.as_join(), inputs)
        case AsofJoin():
            return [*_from_first(operator.kept), *((1, position) for position in operator.values)]
        case KeyWindow():
            return _from_first(operator.kept)
    return []


def _from_first(positions: Iterable[int]) -> list[Origin]:
    return [(0, position) for position in positions]


def _side_by_side(inputs: Sequence[PlannerNode]) -> list[Origin]:
    return [(slot, position) for slot, child in enumerate(inputs) for position in range(child.facts.width)]
