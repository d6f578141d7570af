"""Which chart is drawn of one column, and of two, by their types."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.api.node_values import equal_length, row_count
from sframe_spark.api.sarray.plotting import LABEL_DEFAULT
from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting import charts
from sframe_spark.plotting.axes import Scale
from sframe_spark.plotting.counted import MOST_POINTS, cells_of, histogram_of, line_of, points_of
from sframe_spark.plotting.frequent import TopValues, frequencies_of, share_text
from sframe_spark.plotting.groups import pairs_of, spreads_of
from sframe_spark.plotting.plot import Plot
from sframe_spark.types import DATETIME_KIND, INT_KIND, STR_KIND
from sframe_spark.visible import brief, visible

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import SArray

EPOCH = datetime.datetime(1970, 1, 1)
NO_PAIR = "no row has two finite values"
NO_FREQUENT_VALUE = "no value is frequent: each is in fewer than 0.03% of the rows"


@attrs.frozen
class Labels:
    """What stands at the axes and above."""

    x: str
    y: str
    title: str | None

    @property
    def axes(self) -> tuple[str, str]:
        """Of both axes."""
        return self.x, self.y


def is_on_axis(node: PlannerNode) -> bool:
    """Whether values have a place on an axis: numbers and times."""
    return node.schema[0].is_numeric or node.schema[0].kind == DATETIME_KIND


def column_plot(node: PlannerNode, title: Any, xlabel: Any, ylabel: Any) -> Plot:
    """A histogram of numbers and date-times, bars of texts.

    Raises
    ------
    UnsupportedOperationError
        If the values are none of these, or there is no row.
    """
    kind = node.schema[0].kind
    if not is_on_axis(node) and kind != STR_KIND:
        raise UnsupportedOperationError(f"a column of {kind} has no chart: int, float, datetime and str have one; unpack() or stack() it first")
    if not row_count(node):
        raise UnsupportedOperationError("there is nothing to show: the SArray is empty")
    title = f"Distribution of values [{kind}]" if title == LABEL_DEFAULT else title
    given = [_or_default(label, default) for label, default in ((xlabel, "Values"), (ylabel, "Count"))]
    labels = Labels(given[0] or "", given[1] or "", _label(title))
    return Plot(lambda: bar_chart(node, labels))


def bar_chart(node: PlannerNode, labels: Labels) -> dict[str, Any]:
    """The chart of one column."""
    if node.schema[0].kind == STR_KIND:
        table, top = frequencies_of(node)
        if not top.values:
            return charts.nothing(labels.title, f"about {top.different:,} values", NO_FREQUENT_VALUE)
        return charts.frequencies(table, labels.title, _others_told(top), labels.axes)
    table, extent = histogram_of(node)
    if not table:
        return charts.nothing(labels.title, extent.told(), "no finite value")
    constant = [f"one value: {_number(extent.least, node.schema[0].kind)}"] if extent.least == extent.largest else []
    note = ", ".join([*constant, *filter(None, [extent.told()])])
    return charts.histogram(table, labels.title, note, _scale(node, labels.x), labels.y)


def _others_told(top: TopValues) -> str:
    if not top.others:
        return ""
    left = top.rows - sum(count for _, count in top.values)
    return f"{top.told()}; the others are in {left:,} rows ({share_text(left, top.rows)})"


def _number(value: float, kind: str) -> str:
    if kind == DATETIME_KIND:
        return str(EPOCH + datetime.timedelta(seconds=value))
    return f"{int(value):,}" if kind == INT_KIND else repr(value)


def _scale(node: PlannerNode, title: str) -> Scale:
    kind = node.schema[0].kind
    if node.schema[0].is_zoned:
        # An axis has one clock.
        title = f"{title} (UTC)" if title else "UTC"
    return Scale(title, {DATETIME_KIND: "time", INT_KIND: "whole"}.get(kind, "number"))


def two_columns(x: Any, y: Any) -> tuple[PlannerNode, PlannerNode]:
    """The nodes of two columns.

    Raises
    ------
    ValueError
        If one is no SArray.
    """
    for value, name in ((x, "x"), (y, "y")):
        if not isinstance(value, ClassRegistry.array):
            raise InvalidArgumentError(f"{name} is an SArray, not {brief(value)}")
    return x._node, y._node


def labels_of_two(xlabel: Any, ylabel: Any, title: Any) -> Labels:
    """The labels of a chart of two columns.

    Raises
    ------
    UnsupportedOperationError
        If one is no text.
    """
    for value, name in ((xlabel, "xlabel"), (ylabel, "ylabel"), (title, "title")):
        if not isinstance(value, str) and not (name == "title" and value is None):
            raise UnsupportedOperationError(f"{name} is a text, not {brief(value)}")
    x, y = _or_default(xlabel, "X") or "", _or_default(ylabel, "Y") or ""
    return Labels(x, y, f"{x} vs. {y}" if title == LABEL_DEFAULT else _label(title))


def chosen_plot(x: SArray, y: SArray, xlabel: Any, ylabel: Any, title: Any) -> Plot:
    """The chart of two columns that fits their types.

    Raises
    ------
    ValueError
        If one is no SArray.
    RuntimeError
        If no chart fits, the columns have different lengths or no row, or a label is no text.
    """
    nodes = two_columns(x, y)
    labels = labels_of_two(xlabel, ylabel, title)
    drawing = _drawing(*nodes, require_rows(*nodes))
    if drawing is None:
        kinds = " and ".join(node.schema[0].kind for node in nodes)
        raise UnsupportedOperationError(f"columns of {kinds} have no chart: each is of int, float, datetime or str; unpack() or stack() others first")
    return Plot(lambda: drawing(*nodes, labels))


def require_rows(x: PlannerNode, y: PlannerNode) -> int:
    """How many rows two columns have.

    Raises
    ------
    UnsupportedOperationError
        If they have none, or not as many as each other.
    """
    if not equal_length(x, y):
        raise UnsupportedOperationError(f"x has {row_count(x):,} rows and y {row_count(y):,}: a chart takes them row by row")
    rows = row_count(x)
    if not rows:
        raise UnsupportedOperationError("there is nothing to show: both SArrays are empty")
    return rows


Drawing = Callable[[PlannerNode, PlannerNode, Labels], dict[str, Any]]


def _drawing(x: PlannerNode, y: PlannerNode, rows: int) -> Drawing | None:
    """What draws two columns of these types, and of so many rows."""
    kinds = tuple("axis" if is_on_axis(node) else node.schema[0].kind for node in (x, y))
    if kinds == ("axis", "axis"):
        if x.schema[0].kind == DATETIME_KIND and y.schema[0].is_numeric:
            return time_line
        return scatter_plot if rows <= MOST_POINTS else heat_map
    if kinds == (STR_KIND, STR_KIND):
        return text_map
    return box_plot if set(kinds) == {"axis", STR_KIND} else None


def scatter_plot(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """A point for each of few rows; of many, the cells that they lie in."""
    rows = row_count(x)
    if rows > MOST_POINTS:
        return heat_map(x, y, labels)
    points = points_of(x, y)
    if not points:
        return charts.nothing(labels.title, "", NO_PAIR)
    return charts.scatter(points, labels.title, _rows_left_out(rows - len(points)), _scales(x, y, labels))


def heat_map(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """How many rows lie in each cell."""
    table = cells_of(x, y)
    if not table:
        return charts.nothing(labels.title, "", NO_PAIR)
    left_out = row_count(x) - sum(cell["count"] for cell in table)
    return charts.cells(table, labels.title, _rows_left_out(left_out), _scales(x, y, labels))


def _scales(x: PlannerNode, y: PlannerNode, labels: Labels) -> tuple[Scale, Scale]:
    return _scale(x, labels.x), _scale(y, labels.y)


def _rows_left_out(rows: int, without: str = "two finite values") -> str:
    return f"{rows:,} row{'s' * (rows != 1)} without {without}" if rows else ""


def text_map(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """How often the most frequent texts come together."""
    table, tops = pairs_of(x, y)
    if not table:
        return charts.nothing(labels.title, "", NO_FREQUENT_VALUE)
    notes = [f"{name}: {top.told()}" for name, top in zip("xy", tops, strict=True) if top.told()]
    return charts.pairs(table, labels.title, "; ".join(notes), labels.axes)


def box_plot(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """The spread of numbers for each of the most frequent texts."""
    upright = x.schema[0].kind == STR_KIND
    groups, values = (x, y) if upright else (y, x)
    label, title = labels.axes if upright else labels.axes[::-1]
    table, top, left_out = spreads_of(groups, values)
    if not table:
        return charts.nothing(labels.title, "", "no finite value" if top.values else NO_FREQUENT_VALUE)
    note = "; ".join(filter(None, [top.told(), _rows_left_out(left_out, "a finite value")]))
    return charts.boxes(table, labels.title, note, label, _scale(values, title), upright)


def time_line(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """Values in the order of time; of many rows the mean, least and largest of each bin."""
    rows = row_count(x)
    if rows <= MOST_POINTS:
        table, told = sorted(points_of(x, y), key=lambda point: point["x"]), ""
    else:
        table, seconds = line_of(x, y)
        told = f"mean, least and largest value of every {_duration(seconds)}"
    if not table:
        return charts.nothing(labels.title, "", NO_PAIR)
    left_out = _rows_left_out(rows - sum(row.get("count", 1) for row in table))
    return charts.line(table, labels.title, "; ".join(filter(None, [told, left_out])), _scales(x, y, labels))


def _duration(seconds: float) -> str:
    """A width of bins in words.

    Examples
    --------
    >>> _duration(7200), _duration(86400), _duration(0.5)
    ('2 hours', 'day', '0.5 seconds')
    """
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            return unit if seconds == size else f"{seconds / size:g} {unit}s"
    return "second" if seconds == 1 else f"{seconds:g} seconds"


def _or_default(label: Any, default: str) -> str | None:
    return default if label == LABEL_DEFAULT else _label(label)


def _label(label: Any) -> str | None:
    return None if label is None else visible(label if isinstance(label, str) else brief(label))
