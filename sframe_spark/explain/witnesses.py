"""Two rows that may follow each other, as a reason for a sort."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.order.properties import requirement
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.node import PlannerNode

MOST_COLUMNS_SHOWN = 4


def not_known(node: PlannerNode, by: Sequence[tuple[int, bool]], names: ColumnNames) -> str:
    """That rows are not known to be in an order, with two rows that have every known property and break it; of many columns only some are shown.

    Examples
    --------
    >>> from sframe_spark.operators.sources.generated import range_source
    >>> print(not_known(range_source(3, 4, -1), [(0, True)], ColumnNames()))
    nothing known rules out column 0 of the range_source = 1 before column 0 of the range_source = 0
    """
    order = properties_of(node).order
    witness = order.witness(requirement(by))
    if witness is None:
        return "rows are in that order, but something before takes it from them"
    telling = [position for position, _ in by]
    telling += [c for items in order.orderings for item in items if isinstance(c := item.column, int) and names.is_named(node, c)]
    shown = [column for column in dict.fromkeys(telling) if column in witness.columns][:MOST_COLUMNS_SHOWN]
    earlier, later = (dict(zip(witness.columns, row, strict=True)) for row in (witness.earlier, witness.later))
    rows = [", ".join(_shown(names.name(node, column), row[column]) for column in shown) for row in (earlier, later)]
    return f"nothing known rules out {rows[0]} before {rows[1]}"


def _shown(name: str, value: int | None) -> str:
    return f"{name} missing" if value is None else f"{name} = {value}"
