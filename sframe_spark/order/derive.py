"""What operators make of order properties: one small function for each family of operators.

Each function takes and returns :class:`~sframe_spark.order.properties.OrderingProperties` over any hashable columns. What a function
does not say is not promised; an operator without a function here yields ``OrderingProperties()``.

Source: ``docs/order.md`` section 3.
"""

from sframe_spark.order.combining import append, merge_sorted, zip_rows
from sframe_spark.order.grouping import group_any_order, group_streaming, unique_first
from sframe_spark.order.joining import asof_left, join_inner, join_left, join_range, join_semi
from sframe_spark.order.projecting import filtered, project
from sframe_spark.order.rows import first_rows, repeat_each, reverse, row_number, subset
from sframe_spark.order.running import cumulative_max, cumulative_min, cumulative_sum, lag
from sframe_spark.order.sorting import sort, unordered

__all__ = [
    "append",
    "asof_left",
    "cumulative_max",
    "cumulative_min",
    "cumulative_sum",
    "filtered",
    "first_rows",
    "group_any_order",
    "group_streaming",
    "join_inner",
    "join_left",
    "join_range",
    "join_semi",
    "lag",
    "merge_sorted",
    "project",
    "repeat_each",
    "reverse",
    "row_number",
    "sort",
    "subset",
    "unique_first",
    "unordered",
    "zip_rows",
]
