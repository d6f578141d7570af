"""The meaning of operators that look rows up by key: every row is compared with every other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sframe_spark.testing.oracle import aggregates
from sframe_spark.testing.oracle.values import Row, rank, token

if TYPE_CHECKING:
    from sframe_spark.testing.oracle.evaluate import Table


def is_key(value: Any) -> bool:
    """True for a key that can be found: neither missing nor NaN."""
    return value is not None and value == value


def gap(first: Any, second: Any) -> Any:
    """Distance between two keys, of date-times in microseconds."""
    if first == second:
        return 0
    distance = abs(first - second)
    return distance // timedelta(microseconds=1) if isinstance(distance, timedelta) else distance


def match(operator: Any, row: Row, others: Sequence[Row]) -> Row | None:
    """The row that an as-of join finds for a row."""
    key, group = row[0], row[1 : 1 + len(operator.by)]
    if not is_key(key) or None in group:
        return None
    near = [(other[operator.on], place) for place, other in enumerate(others) if is_key(other[operator.on])]
    near = [(at, place) for at, place in near if operator.allow_exact or at != key]
    near = [(at, place) for at, place in near if all(token(others[place][p]) == token(value) for p, value in zip(operator.by, group, strict=True))]
    before = max((found for found in near if found[0] <= key), default=None)
    after = min((found for found in near if found[0] >= key), default=None)
    candidates = {"backward": [before], "forward": [after], "nearest": [before, after]}[operator.direction]
    found = min((item for item in candidates if item is not None), key=lambda item: gap(item[0], key), default=None)
    if found is None or (operator.tolerance is not None and gap(found[0], key) > operator.tolerance):
        return None
    return others[found[1]]


def asof_join(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Each row's kept columns and the values of its match."""
    result: list[Row] = []
    for row in inputs[0].rows:
        found = match(operator, row, inputs[1].rows)
        kept = [row[position] for position in operator.kept]
        result.append((*kept, *[None if found is None else found[position] for position in operator.values]))
    return result


def key_window(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """Each row's kept columns and the aggregates of the rows near it."""
    result: list[Row] = []
    for row in inputs[0].rows:
        key = row[operator.on]
        near = [other for other in inputs[1].rows if is_key(key) and is_key(other[operator.on])]
        near = [other for other in near if gap(other[operator.on], key) <= (operator.before if other[operator.on] < key else operator.after)]
        near = [other for other in near if all(token(other[position]) == token(row[position]) for position in operator.by)]
        result.append((*[row[p] for p in operator.kept], *[aggregated(item, inputs[1], near) for item in operator.aggregations]))
    return result


def aggregated(aggregation: Any, table: Table, rows: Sequence[Row]) -> Any:
    """One aggregate of some rows."""
    if aggregation.function == "count":
        return len(rows)
    columns = [[row[position] for row in rows] for position in aggregation.positions]
    return aggregates.AGGREGATES[aggregation.function](columns, aggregation.parameters, [table.kinds[p] for p in aggregation.positions])


def merge_sorted(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    """All rows in the order of the columns."""
    rows = [*inputs[0].rows, *inputs[1].rows]
    for position, ascending in reversed(operator.by):
        # Reversed before and after, ties keep their order in a descending pass too.
        rows = sorted(rows if ascending else rows[::-1], key=lambda row, place=position: rank(row[place]))  # type: ignore[misc]
        rows = rows if ascending else rows[::-1]
    return rows


LOOKUPS: dict[str, Callable[[Any, Sequence[Table]], list[Row]]] = {
    "asof_join": asof_join,
    "key_window": key_window,
    "merge_sorted": merge_sorted,
}
"""Meanings by operator name."""
