"""The most frequent values of columns of texts, and how charts tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.api.node_values import reduce_values, row_count, row_tuples
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.operators.aggregates.summaries import FREQUENT_SHARE
from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.groupby import group_by
from sframe_spark.operators.relational.filter import filter_by_mask
from sframe_spark.operators.relational.slice import slice_rows
from sframe_spark.operators.relational.sort import sort_rows
from sframe_spark.operators.rowwise.arrange import column_of
from sframe_spark.operators.rowwise.elementwise import apply_function
from sframe_spark.operators.rowwise.program import Literal
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import INT
from sframe_spark.visible import visible

MOST_LABELS = 12
# A text of megabytes is no label.
MOST_CHARACTERS = 60
MISSING = "(missing)"


@attrs.frozen
class TopValues:
    """The most frequent values of a column.

    Parameters
    ----------
    values
        Values, None too, and their numbers of rows: the most frequent first, and of equally frequent ones the least. Of more than 65,536 different
        ones none that is in fewer than one of 4,096 rows.
    different, is_exact
        How many values differ, None being one, and whether that is counted or estimated.
    rows
        Number of all rows.
    """

    values: list[tuple[Any, int]]
    different: int
    is_exact: bool
    rows: int

    @property
    def labels(self) -> tuple[Any, ...]:
        """The values alone."""
        return tuple(value for value, _ in self.values)

    @property
    def others(self) -> int:
        """How many other values there are, by the estimate at least one where rows are left."""
        left = self.rows > sum(count for _, count in self.values)
        return max(self.different - len(self.values), 1) if left else 0

    def told(self) -> str:
        """What of the values is shown, where that is not all.

        Examples
        --------
        >>> TopValues([("a", 2)], 1, True, 2).told(), TopValues([("a", 6)], 2000, True, 3000).told()
        ('', 'the most frequent of 2,000 values')
        """
        if not self.others:
            return ""
        number = f"{'' if self.is_exact else 'about '}{self.different:,} values"
        shown = len(self.values)
        return f"the most frequent of {number}" if shown == 1 else f"the {shown} most frequent of {number}"


def label_texts(values: Sequence[Any]) -> list[str]:
    """Values as they stand at an axis: never a command, short, never invisible, and no two alike.

    Examples
    --------
    >>> label_texts([None, "(missing)", "a\\x07", "", " b"])
    ['(missing)', '(missing) 2', 'a\\\\x07', '""', '" b"']
    """
    labels: dict[str, None] = {}
    for value in values:
        text = MISSING if value is None else visible(str(value)[: MOST_CHARACTERS + 1])
        text = text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
        text = text if text == text.strip() != "" else f'"{text}"'
        number = 1
        while (label := text if number == 1 else f"{text} {number}") in labels:
            number += 1
        labels[label] = None
    return list(labels)


def summaries_of(columns: PlannerNode) -> list[dict[str, Any]]:
    """What the aggregate ``summary`` tells of each column, in one pass."""
    found = reduce_values(columns, [Aggregation("summary", (place,)) for place in range(len(columns.schema))])
    return list(found)


def top_values(columns: PlannerNode, most: int = MOST_LABELS) -> list[TopValues]:
    """The most frequent values of each column of texts: in one pass, and in another where they are many."""
    return most_frequent(columns, summaries_of(columns), most)


def most_frequent(columns: PlannerNode, summaries: Sequence[dict[str, Any]], most: int = MOST_LABELS) -> list[TopValues]:
    """The most frequent values of columns that have been summed up."""
    wanted = {place: _candidates(summary, most) for place, summary in enumerate(summaries) if summary["counted"] is None}
    asked = {place: labels for place, labels in wanted.items() if labels}
    exact = reduce_values(columns, [Aggregation("label_counts", (place,), (labels,)) for place, labels in asked.items()]) if asked else ()
    counted = {place: dict(zip(asked[place], map(int, counts), strict=True)) for place, counts in zip(asked, exact, strict=True)}
    tops = []
    for place, summary in enumerate(summaries):
        if place not in wanted:
            found = summary["counted"]
        elif wanted[place] is None:
            found = _counted_in_groups(column_of(columns, place), summary["rows"], most)
        else:
            found = {value: count for value, count in counted.get(place, {}).items() if count > summary["rows"] // FREQUENT_SHARE}
        tops.append(_top(found, summary, most))
    return tops


def _top(found: dict[Any, int], summary: dict[str, Any], most: int) -> TopValues:
    values = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    if summary["missing"]:
        # Behind no value that is as frequent, as where rows are sorted.
        values = sorted([(None, summary["missing"]), *values], key=lambda pair: -pair[1])
    return TopValues(values[:most], summary["distinct"] + bool(summary["missing"]), summary["counted"] is not None, summary["rows"])


def _candidates(summary: dict[str, Any], most: int) -> tuple[Any, ...] | None:
    """The values that may be among the most frequent, of which each is in more than one of 4,096 rows; None where that is not known."""
    threshold, error = summary["rows"] // FREQUENT_SHARE, summary["error"]
    if error > threshold:
        return None
    least_counts = sorted(summary["frequent"].values(), reverse=True)
    needed = max(least_counts[most - 1] if len(least_counts) >= most else 0, threshold + 1)
    return tuple(sorted(value for value, count in summary["frequent"].items() if count + error >= needed))


def _counted_in_groups(column: PlannerNode, rows: int, most: int) -> dict[Any, int]:
    """Values whose texts are too long to keep many of them."""
    counted = group_by(column, [0], [Aggregation("count")])
    kept = filter_by_mask(counted, apply_function("greater", column_of(counted, 1), Literal(rows // FREQUENT_SHARE, INT)))
    # What is missing may be among them.
    first = row_tuples(slice_rows(sort_rows(kept, [(1, False), (0, True)]), 0, most + 1))
    return {value: int(count) for value, count in first if value is not None}


def frequencies_of(node: PlannerNode) -> tuple[list[dict[str, Any]], TopValues]:
    """The most frequent values of a column, what is missing among them, and all others in one row."""
    materialize(node)
    assert row_count(node)
    top = top_values(node)[0]
    return frequency_table(top), top


def frequency_table(top: TopValues) -> list[dict[str, Any]]:
    """The most frequent values as rows of a table; all others are one row."""
    table = [_frequency(label, count, top.rows) for label, (_, count) in zip(label_texts(top.labels), top.values, strict=True)]
    table = [{**row, **({"missing": True} if value is None else {})} for row, value in zip(table, top.labels, strict=True)]
    if top.others:
        name = f"Other ({'' if top.is_exact else 'about '}{top.others:,} value{'s' * (top.others != 1)})"
        table.append({**_frequency(name, top.rows - sum(count for _, count in top.values), top.rows), "other": True})
    return [{**row, "label_idx": place} for place, row in enumerate(table)]


def _frequency(label: str, count: int, rows: int) -> dict[str, Any]:
    return {"label": label, "count": count, "percentage": share_text(count, rows)}


def share_text(part: int, whole: int) -> str:
    """A share in percent.

    Examples
    --------
    >>> share_text(1, 3), share_text(0, 3), share_text(1, 10**6), share_text(999_999, 10**6)
    ('33.3%', '0%', '<0.01%', '>99.9%')
    """
    percent = 100 * part / whole
    if 0 < percent < 0.01:
        return "<0.01%"
    if 99.95 <= percent < 100:
        return ">99.9%"
    return f"{percent:.2g}%" if percent < 1 else f"{percent:.3g}%"
