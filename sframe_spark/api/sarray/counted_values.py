"""What a Sketch counts: the values of a column, and those that it is asked for, in the one form in which they are told apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import made_array
from sframe_spark.api.node_values import column_values, node_from_values
from sframe_spark.api.sarray.sketch_items import NESTED
from sframe_spark.errors import SFrameError
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.groupby import group_by
from sframe_spark.operators.relational.rows import filter_by_mask
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.operators.rowwise.program import Literal
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, INT, STR, STR_KIND, ColumnType
from sframe_spark.values.convert import construct_value
from sframe_spark.values.plain import is_number
from sframe_spark.values.text import display_text

if TYPE_CHECKING:
    from sframe_spark.planner.node import PlannerNode

# Rarer values are not told as frequent.
LEAST_SHARE = 0.0001
# As Python reads it, but for the letters before an offset.
_WITH_OFFSET = "%Y-%m-%dT%H:%M:%S%F%ZP"


def counted_node(source: PlannerNode) -> PlannerNode:
    """The values that are counted: texts of those that hold others, and of date-times with an offset."""
    column_type = source.schema[0]
    if column_type.kind in NESTED:
        return apply_function("cast", source, parameters=(STR, False))
    if column_type.is_zoned:
        return apply_function("moment_text", source, parameters=(_WITH_OFFSET,))
    return source


def as_counted(element: Any, column_type: ColumnType) -> Any:
    """A value as those of a column are counted; None where it becomes none of them."""
    if column_type.is_zoned:
        moment = _constructed(element, DATETIME_KIND)
        return None if moment is None else made_array(node_from_values([moment])).datetime_to_str(_WITH_OFFSET)[0]
    if column_type.kind == DATETIME_KIND:
        return _constructed(element, DATETIME_KIND)
    if column_type.kind != STR_KIND and column_type.kind not in NESTED:
        return element if is_number(element) else _constructed(element, FLOAT_KIND)
    if element is None or isinstance(element, str):
        return element or ""
    same = _constructed(element, column_type.kind)
    return _constructed(element, STR_KIND) if same is None else display_text(same)


def counted_values(found: dict[str, Any]) -> list[tuple[Any, int]]:
    """How often each value occurs, where the first pass could count them all."""
    return list(found["counted"].items())


def frequent_values(node: PlannerNode, found: dict[str, Any]) -> list[tuple[Any, int]]:
    """How often each value occurs that is in at least one of 10,000 rows, the most frequent first.

    Parameters
    ----------
    node
        The values that are counted.
    found
        What the first pass found; where it stopped counting, the rows are read once more.
    """
    least = found["rows"] * LEAST_SHARE
    pairs = _all_frequent(node, least) if found["counted"] is None else counted_values(found)
    return sorted((pair for pair in pairs if pair[1] >= least), key=lambda pair: -pair[1])


def _all_frequent(node: PlannerNode, least: float) -> list[tuple[Any, int]]:
    counted = group_by(node, [0], [Aggregation("count")])
    frequent = filter_by_mask(counted, apply_function("greater_equal", project(counted, [1]), Literal(math.ceil(least), INT)))
    values, counts = (column_values(project(frequent, [place])) for place in (0, 1))
    return [(value, count) for value, count in zip(values, counts, strict=True) if value is not None and value == value]


def _constructed(element: Any, kind: str) -> Any:
    """A value as one of a kind, as in construction; None where it is none."""
    try:
        return construct_value(element, kind)
    except SFrameError:
        return None
