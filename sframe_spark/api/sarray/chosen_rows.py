"""Rows whose value is among some values: few stand in the plan, many are the keys of a join, and nobody collects them."""

from __future__ import annotations

from sframe_spark.api.key_matching import require_one_clock
from sframe_spark.api.node_values import recoded_column
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.groupby import group_by
from sframe_spark.operators.joins.join import join
from sframe_spark.operators.relational.rows import filter_by_mask
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, INT, STR, common_encoding

# Types of which equal keys are those that compare as equal: a NaN is a key, and a date-time at an offset another key than the same instant.
ALIKE_AS_KEYS = (INT, STR, DATETIME)
# A plan is compared, sent and printed with the values that stand in it.
MOST_VALUES_IN_A_PLAN = 1_000


def are_many(values: PlannerNode) -> bool:
    """True for values that no plan should hold; also where nobody knows how many there are before they are made."""
    most = values.facts.length.at_most
    return most is None or most > MOST_VALUES_IN_A_PLAN


def rows_among(rows: PlannerNode, position: int, values: PlannerNode, exclude: bool) -> PlannerNode:
    """Rows, in their order, whose value in a column is, or is not, one of another column of the same kind.

    Parameters
    ----------
    rows
        Rows to choose from.
    position
        The column that is looked at.
    values
        One column; nothing of it is computed now.
    exclude
        Whether those found are left out.

    Raises
    ------
    SchemaError
        If date-times of one have an offset from UTC and those of the other none.
    """
    require_one_clock(project(rows, [position]), values, "filter_by")
    common = common_encoding(rows.schema[position], values.schema[0])
    rows, values = recoded_column(rows, position, common), recoded_column(values, 0, common)
    if not exclude:
        return join(rows, group_by(values, [0], []), [position], [0], "inner")
    width = rows.facts.width
    counted = with_counts(rows, position, values)
    alone = filter_by_mask(counted, apply_function("is_missing", project(counted, [width])))
    return project(alone, range(width))


def are_among(column: PlannerNode, values: PlannerNode) -> PlannerNode:
    """1 in rows of a column whose value is one of another column of the same type, else 0; missing is a value, and nothing is computed now."""
    return apply_function("is_not_missing", project(with_counts(column, 0, values), [1]))


def with_counts(rows: PlannerNode, position: int, values: PlannerNode) -> PlannerNode:
    """Rows, in their order, beside which stands how often the value in a column is one of some values; missing where it is none."""
    return join(rows, group_by(values, [0], [Aggregation("count", ())]), [position], [0], "left")
