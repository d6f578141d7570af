"""Selects or marks rows whose key is among given keys."""

from __future__ import annotations

from sframe_spark.api.node_value_conversion import recoded_column
from sframe_spark.api.utc_offset_checks import require_comparable_offsets
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.joins.equi_join import join
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, INT, STR, common_encoding

# Types in which two values are equal as keys exactly if they are equal (==). Not floats: as keys all NaN are equal. Not date-times with an offset:
# as keys they also differ by their offset.
EQUAL_AS_KEYS = (INT, STR, DATETIME)
# A plan that contains values is compared, sent and printed with all of them, so it may contain only this many.
MAX_PLAN_VALUES = 1_000


def are_many(values: PlannerNode) -> bool:
    """Return whether a column may have more than ``MAX_PLAN_VALUES`` values, so that they must not be put into a plan."""
    maximum = values.facts.length.at_most
    return maximum is None or maximum > MAX_PLAN_VALUES


def semi_join(rows: PlannerNode, position: int, values: PlannerNode, exclude: bool) -> PlannerNode:
    """Return the rows, in order, whose key is among the given values; with ``exclude``, the other rows. Key and values have the same Python class.

    Parameters
    ----------
    rows
        The rows to select from.
    position
        Index of the key column.
    values
        A column of the values to match; it is computed only with the result.
    exclude
        Whether to select the rows whose key is not among the values.

    Raises
    ------
    SchemaError
        If the keys are date-times with an offset from UTC and the values are without one, or the reverse.
    """
    require_comparable_offsets(project(rows, [position]), values, "filter_by")
    common = common_encoding(rows.schema[position], values.schema[0])
    rows, values = recoded_column(rows, position, common), recoded_column(values, 0, common)
    if not exclude:
        return join(rows, group_by(values, [0], []), [position], [0], "inner")
    width = rows.facts.width
    counted = with_match_counts(rows, position, values)
    alone = filter_by_mask(counted, apply_function("is_missing", project(counted, [width])))
    return project(alone, range(width))


def match_mask(column: PlannerNode, values: PlannerNode) -> PlannerNode:
    """Return a lazy column with 1 where a value is among ``values``, else 0; a missing value matches a missing value."""
    return apply_function("is_not_missing", project(with_match_counts(column, 0, values), [1]))


def with_match_counts(rows: PlannerNode, position: int, values: PlannerNode) -> PlannerNode:
    """Return the rows with one more column: how often their key occurs in ``values``; missing where it does not occur."""
    return join(rows, group_by(values, [0], [Aggregation("count", ())]), [position], [0], "left")
