"""The class Plot, a chart that is computed when it is displayed; and functions that choose and make the chart for one or two columns."""

from __future__ import annotations

import datetime
import hashlib
import html
import json
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.api.error_hints import with_call_hints
from sframe_spark.api.node_value_conversion import equal_length, row_count
from sframe_spark.api.sarray.plotting import LABEL_DEFAULT
from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import InvalidArgumentError, MissingLibraryError, PictureFormatError, UnsupportedOperationError
from sframe_spark.message_text import brief, visible
from sframe_spark.paths_and_uris import location_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting import chart_data, vega
from sframe_spark.plotting.html_pages import chart_page, show_page, write_page
from sframe_spark.plotting.vega import Scale
from sframe_spark.storage.export_files import staged_text, write_text_part
from sframe_spark.types import DATETIME_KIND, INT_KIND, STR_KIND

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import SArray

# --- Plot


# Matches identifiers in an SVG picture where Vega defines or refers to them.
_IDENTIFIER = re.compile(r'((?:\bid="|url\(#)(?=clip|gradient))')


@with_call_hints
class Plot:
    """A chart of columns. Nothing is computed before it is displayed, saved or requested.

    A notebook displays it below its cell. Drawing requires the library vl-convert (``pip install sframe_spark[pictures]``); :meth:`get_vega` does
    not.

    Parameters
    ----------
    vega_spec
        A Vega-Lite specification, or a function that returns one.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> plot = SArray(["a", "b", "a"]).plot()
    >>> [(bar["label"], bar["count"]) for bar in plot.get_data()["values"]]
    [('a', 2), ('b', 1)]
    """

    def __init__(self, vega_spec: dict[str, Any] | Callable[[], dict[str, Any]]) -> None:
        self._vega_spec = vega_spec

    @cached_property
    def _specification(self) -> dict[str, Any]:
        return self._vega_spec() if callable(self._vega_spec) else self._vega_spec

    def materialize(self) -> None:
        """Compute the data of the chart now, and keep them.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2]).plot().materialize()
        """
        _ = self._specification

    def get_vega(self, include_data: bool = True) -> dict[str, Any]:
        """Return the chart as a Vega-Lite specification.

        Parameters
        ----------
        include_data
            Whether the specification contains the data that are drawn.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2]).plot().get_vega()["layer"][0]["mark"]["type"]
        'bar'
        """
        specification = json.loads(json.dumps(self._specification))
        return specification if include_data else _without_data(specification)

    def get_data(self) -> dict[str, Any]:
        """Return a dict with the data that are drawn, as a list of rows in ``"values"``; ``"progress"`` is always 100.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray([1, 2, 2]).plot().get_data()["values"]
        [{'left': 1.0, 'right': 2.0, 'count': 1}, {'left': 2.0, 'right': 3.0, 'count': 2}]
        """
        return {"values": json.loads(json.dumps(self._specification.get("data", {}).get("values", []))), "progress": 100.0}

    def get_url(self) -> str:
        """Return the URL of a page with the chart: a file in the system's temporary directory, which is not deleted.

        Raises
        ------
        ImportError
            If vl-convert is not installed.
        """
        return write_page(self._page()).as_uri()

    def save(self, filepath: str | os.PathLike[str]) -> None:
        """Save the chart to a file: ``.json`` (Vega-Lite), ``.svg``, ``.png`` or ``.html``.

        An HTML page has tooltips, and loads nothing from a network. An existing file is replaced when the new one is complete.

        Parameters
        ----------
        filepath
            Path of the file; its extension decides the format.

        Raises
        ------
        ValueError
            If ``filepath`` is not a path.
        NotImplementedError
            If the path has another extension.
        ImportError
            If vl-convert is not installed and the format is not ``.json``.
        OSError
            If the file cannot be written.
        """
        if not isinstance(filepath, (str, os.PathLike)):
            raise InvalidArgumentError(f"a chart must be saved to a path, not to {type(filepath).__name__}: plot.save('chart.svg')")
        path = location_of(filepath)
        writers: dict[str, Callable[[], bytes]] = {
            ".json": lambda: json.dumps(self._specification).encode(),
            ".svg": lambda: self._svg("#444444").encode(),
            ".png": self._png,
            ".html": lambda: self._page().encode("utf-8", "replace"),
        }
        ending = os.path.splitext(path)[1].lower()
        if ending not in writers:
            raise PictureFormatError(f"a chart can be saved as .json, .svg, .png or .html, but {os.path.basename(path)!r} ends in none of these")
        # The content is made first, and the file is written completely or not at all.
        content = writers[ending]()
        with staged_text(path) as (staging, parts):
            parts.append(write_text_part(staging.local, path, [content]))

    def show(self) -> None:
        """Show the chart: below the cell of a notebook, or else in a browser; see ``visualization.set_target``.

        Raises
        ------
        ImportError
            If vl-convert is not installed.
        """
        show_page(self, self._page, self._title())

    def _title(self) -> str:
        return str(self._specification.get("title", {}).get("text") or "chart")

    def _page(self) -> str:
        return chart_page(self._title(), self._specification, _library().javascript_bundle())

    def _png(self) -> bytes:
        picture: bytes = _library().vegalite_to_png(_coloured(self._specification, "#444444", "white"), scale=2)
        return picture

    def _svg(self, ink: str) -> str:
        picture: str = _library().vegalite_to_svg(_coloured(self._specification, ink, None))
        # Identifiers must be unique in a notebook, which may contain several pictures, so they get a prefix.
        own = hashlib.sha256(picture.encode()).hexdigest()[:8]
        return _IDENTIFIER.sub(rf"\g<1>p{own}-", picture)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        try:
            return {"text/html": self._html(), "text/plain": repr(self)}
        except MissingLibraryError as error:
            return {"application/vnd.vegalite.v5+json": self.get_vega(), "text/plain": f"{self!r}: {error}"}

    def _html(self) -> str:
        """Return the HTML that a notebook displays, without scripts."""
        # At most as wide as the cell, and with a description for screen readers.
        label = html.escape(str(self._specification.get("description", "chart")))
        picture = self._svg("currentColor").replace("<svg ", f'<svg role="img" aria-label="{label}" style="max-width: 100%; height: auto" ', 1)
        return f'<div class="sf-chart">{picture}</div>'

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: show() shows it, save('chart.html') writes it>"


def _library() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingLibraryError("drawing needs vl-convert: pip install sframe_spark[pictures]") from None
    return vl_convert


def _coloured(specification: dict[str, Any], ink: str, paper: str | None) -> dict[str, Any]:
    # "currentColor" is defined only in HTML pages.
    config = json.loads(json.dumps(specification.get("config", {})).replace("currentColor", ink))
    return {**specification, "background": paper, "config": config}


def _without_data(specification: Any) -> Any:
    if isinstance(specification, dict):
        return {name: _without_data(part) for name, part in specification.items() if name != "data"}
    return [_without_data(part) for part in specification] if isinstance(specification, list) else specification


# --- The chart for the types of one or two columns


EPOCH = datetime.datetime(1970, 1, 1)
NO_PAIR = "no row has two finite values"
NO_FREQUENT_VALUE = "no value is frequent: each is in fewer than 0.03% of the rows"


@attrs.frozen
class Labels:
    """Labels of the axes, and the title (None: no title)."""

    x: str
    y: str
    title: str | None

    @property
    def axes(self) -> tuple[str, str]:
        """The labels of both axes."""
        return self.x, self.y


def is_on_axis(node: PlannerNode) -> bool:
    """Return whether the values have positions on an axis, as numbers and date-times do."""
    return node.schema[0].is_number_or_datetime


def column_plot(node: PlannerNode, title: Any, xlabel: Any, ylabel: Any, name: str | None = None) -> Plot:
    """Return the chart of one column: a histogram of numbers or date-times, or bars for strings; ``name`` is the column's, if it has one.

    Raises
    ------
    UnsupportedOperationError
        If the column holds other values, or has no rows.
    """
    kind = node.schema[0].kind
    if not is_on_axis(node) and kind != STR_KIND:
        raise UnsupportedOperationError(f"a column of {kind} has no chart, only int, float, datetime and str have one: unpack() or stack() it first")
    if not row_count(node):
        raise UnsupportedOperationError("there is nothing to show: the SArray is empty")
    title = f"Distribution of {'values' if name is None else visible(name)} [{kind}]" if title == LABEL_DEFAULT else title
    labels = Labels(_or_default(xlabel, "Values" if name is None else visible(name)) or "", _or_default(ylabel, "Count") or "", _label(title))
    return Plot(lambda: bar_chart(node, labels))


def bar_chart(node: PlannerNode, labels: Labels) -> dict[str, Any]:
    """Return the specification of the chart of one column."""
    if node.schema[0].kind == STR_KIND:
        table, top = chart_data.frequencies_of(node)
        if not top.values:
            return vega.nothing(labels.title, f"about {top.different:,} values", NO_FREQUENT_VALUE)
        return vega.frequencies(table, labels.title, _remaining_note(top), labels.axes)
    table, extent = chart_data.histogram_of(node)
    if not table:
        return vega.nothing(labels.title, extent.note(), "no finite value")
    constant = [f"one value: {_number(extent.least, node.schema[0].kind)}"] if extent.least == extent.largest else []
    note = ", ".join([*constant, *filter(None, [extent.note()])])
    return vega.histogram(table, labels.title, note, _scale(node, labels.x), labels.y)


def _remaining_note(top: chart_data.TopValues) -> str:
    if not top.remaining:
        return ""
    left = top.rows - sum(count for _, count in top.values)
    return f"{top.note()}; the others are in {left:,} rows ({chart_data.share_text(left, top.rows)})"


def _number(value: float, kind: str) -> str:
    if kind == DATETIME_KIND:
        return str(EPOCH + datetime.timedelta(seconds=value))
    return f"{int(value):,}" if kind == INT_KIND else repr(value)


def _scale(node: PlannerNode, title: str) -> Scale:
    kind = node.schema[0].kind
    if node.schema[0].is_zoned:
        # All times on an axis are in one time zone.
        title = f"{title} (UTC)" if title else "UTC"
    return Scale(title, {DATETIME_KIND: "time", INT_KIND: "whole"}.get(kind, "number"))


def two_columns(x: Any, y: Any) -> tuple[PlannerNode, PlannerNode]:
    """Return the nodes of two columns.

    Raises
    ------
    ValueError
        If one of them is not an SArray.
    """
    for value, name in ((x, "x"), (y, "y")):
        if not isinstance(value, ClassRegistry.array):
            raise InvalidArgumentError(f"{name} must be an SArray, not {brief(value)}")
    return x._node, y._node


def labels_of_two(xlabel: Any, ylabel: Any, title: Any, names: Sequence[str | None] = (None, None)) -> Labels:
    """Return the labels and the title of a chart of two columns, which are called by their names if they have any.

    Raises
    ------
    UnsupportedOperationError
        If one of them is not a string.
    """
    for value, name in ((xlabel, "xlabel"), (ylabel, "ylabel"), (title, "title")):
        if not isinstance(value, str) and not (name == "title" and value is None):
            raise UnsupportedOperationError(f"{name} is a text, not {brief(value)}")
    own = [default if name is None else visible(name) for name, default in zip(names, ("X", "Y"), strict=True)]
    x, y = _or_default(xlabel, own[0]) or "", _or_default(ylabel, own[1]) or ""
    return Labels(x, y, f"{x} vs. {y}" if title == LABEL_DEFAULT else _label(title))


def chosen_plot(x: SArray, y: SArray, xlabel: Any, ylabel: Any, title: Any) -> Plot:
    """Return the chart of two columns that suits their classes.

    Raises
    ------
    ValueError
        If one of them is not an SArray.
    RuntimeError
        If there is no chart for these classes, the columns differ in length or have no rows, or a label is not a string.
    """
    nodes = two_columns(x, y)
    labels = labels_of_two(xlabel, ylabel, title, (x._label, y._label))
    require_rows(*nodes)
    drawing = _drawing(*nodes)
    if drawing is None:
        kinds = " and ".join(node.schema[0].kind for node in nodes)
        raise UnsupportedOperationError(
            f"columns of {kinds} have no chart, only int, float, datetime and str have one: unpack() or stack() them first"
        )
    return Plot(lambda: drawing(*nodes, labels))


def require_rows(x: PlannerNode, y: PlannerNode) -> None:
    """Raise an error unless two columns have the same number of rows, and at least one.

    Raises
    ------
    UnsupportedOperationError
        If they differ in length, or have no rows.
    """
    if not equal_length(x, y):
        raise UnsupportedOperationError(f"x has {row_count(x):,} rows but y has {row_count(y):,}: a chart needs equal lengths")
    if not row_count(x):
        raise UnsupportedOperationError("there is nothing to show: both SArrays are empty")


Drawing = Callable[[PlannerNode, PlannerNode, Labels], dict[str, Any]]


def _drawing(x: PlannerNode, y: PlannerNode) -> Drawing | None:
    """Return the function that makes the chart of two columns; None if there is no chart for their types."""
    kinds = tuple("axis" if is_on_axis(node) else node.schema[0].kind for node in (x, y))
    if kinds == ("axis", "axis"):
        return time_line if x.schema[0].kind == DATETIME_KIND and y.schema[0].is_numeric else scatter_plot
    if kinds == (STR_KIND, STR_KIND):
        return text_map
    return box_plot if set(kinds) == {"axis", STR_KIND} else None


def scatter_plot(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """Return the specification of a chart with a point for each row; for many rows, of a heat map."""
    rows = row_count(x)
    if rows > chart_data.MAX_POINTS:
        return heat_map(x, y, labels)
    points = chart_data.points_of(x, y)
    if not points:
        return vega.nothing(labels.title, "", NO_PAIR)
    return vega.scatter(points, labels.title, _rows_left_out(rows - len(points)), _scales(x, y, labels))


def heat_map(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """Return the specification of a heat map: the number of rows in each cell."""
    table = chart_data.cells_of(x, y)
    if not table:
        return vega.nothing(labels.title, "", NO_PAIR)
    left_out = row_count(x) - sum(cell["count"] for cell in table)
    return vega.cells(table, labels.title, _rows_left_out(left_out), _scales(x, y, labels))


def _scales(x: PlannerNode, y: PlannerNode, labels: Labels) -> tuple[Scale, Scale]:
    return _scale(x, labels.x), _scale(y, labels.y)


def _rows_left_out(rows: int, without: str = "two finite values") -> str:
    return f"{rows:,} row{'s' * (rows != 1)} without {without}" if rows else ""


def text_map(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """Return the specification of a heat map of the pairs of the most frequent strings of two columns."""
    table, tops = chart_data.pairs_of(x, y)
    if not table:
        return vega.nothing(labels.title, "", NO_FREQUENT_VALUE)
    notes = [f"{name}: {top.note()}" for name, top in zip("xy", tops, strict=True) if top.note()]
    return vega.pairs(table, labels.title, "; ".join(notes), labels.axes)


def box_plot(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """Return the specification of a box plot of numbers, with a box for each of the most frequent strings."""
    upright = x.schema[0].kind == STR_KIND
    groups, values = (x, y) if upright else (y, x)
    label, title = labels.axes if upright else labels.axes[::-1]
    table, top, left_out = chart_data.spreads_of(groups, values)
    if not table:
        return vega.nothing(labels.title, "", "no finite value" if top.values else NO_FREQUENT_VALUE)
    note = "; ".join(filter(None, [top.note(), _rows_left_out(left_out, "a finite value")]))
    return vega.boxes(table, labels.title, note, label, _scale(values, title), upright)


def time_line(x: PlannerNode, y: PlannerNode, labels: Labels) -> dict[str, Any]:
    """Return the specification of a line over time; for many rows, of the mean, minimum and maximum in each time bin."""
    rows = row_count(x)
    if rows <= chart_data.MAX_POINTS:
        table, note = sorted(chart_data.points_of(x, y), key=lambda point: point["x"]), ""
    else:
        table, seconds = chart_data.line_of(x, y)
        note = f"mean, least and largest value of every {_duration(seconds)}"
    if not table:
        return vega.nothing(labels.title, "", NO_PAIR)
    left_out = _rows_left_out(rows - sum(row.get("count", 1) for row in table))
    return vega.line(table, labels.title, "; ".join(filter(None, [note, left_out])), _scales(x, y, labels))


def _duration(seconds: float) -> str:
    """Return the width of a time bin as a phrase, to follow "every".

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
