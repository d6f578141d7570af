"""Functions that make charts of columns and frames; the methods ``show``, ``plot`` and ``explore`` of columns and frames are shorter to write.

Examples
--------
>>> from sframe_spark import SArray, visualization
>>> visualization.item_frequency(SArray(["a", "b", "a"])).get_data()["values"][0]["count"]
2
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.api.sarray.plotting import LABEL_DEFAULT
from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError, NoPictureError
from sframe_spark.lazily_imported_subpackages import PLOT, optional_part
from sframe_spark.types import STR_KIND

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.api.sframe import SFrame
    from sframe_spark.planner.node import PlannerNode
    from sframe_spark.plotting.plot_class_and_chart_choice import Plot

__all__ = [
    "LABEL_DEFAULT", "Plot", "box_plot", "categorical_heatmap", "columnwise_summary", "heatmap", "histogram", "item_frequency", "plot", "scatter",
    "set_target", "show",
]  # fmt: skip


def plot(x: SArray, y: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> Plot:
    """Return the chart of two columns that suits their classes; their rows are paired.

    ====================  ====================  =======================================================
    ``x``                 ``y``                 chart
    ====================  ====================  =======================================================
    numbers, date-times   numbers, date-times   up to 5,000 rows: points; more: a heat map
    date-times            numbers               a line; of more than 5,000 rows: means with ranges
    strings               numbers, date-times   a box plot of quartiles
    strings               strings               a heat map
    ====================  ====================  =======================================================

    Parameters
    ----------
    x, y
        Columns of equal length, of class int, float, datetime or str.
    xlabel, ylabel, title
        Labels of the axes, and title of the chart; None for ``title``: no title.

    Raises
    ------
    ValueError
        If ``x`` or ``y`` is not an SArray.
    RuntimeError
        If a column has another class, the lengths differ, there are no rows, or a label is not a string.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> chart = visualization.plot(SArray([1, 2]), SArray([2.0, 4.0]))
    >>> chart.get_data()["values"]
    [{'x': 1, 'y': 2.0}, {'x': 2, 'y': 4.0}]
    """
    chart: Plot = optional_part(PLOT).chosen_plot(x, y, xlabel, ylabel, title)
    return chart


def show(x: SArray, y: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> None:
    """Show the chart that :func:`plot` returns.

    Parameters
    ----------
    x, y, xlabel, ylabel, title
        As for :func:`plot`.

    Raises
    ------
    ValueError, RuntimeError
        As for :func:`plot`.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> visualization.set_target("none")
    >>> visualization.show(SArray([1, 2]), SArray([2.0, 4.0]))
    >>> visualization.set_target("auto")
    """
    plot(x, y, xlabel, ylabel, title).show()


def histogram(sa: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> Plot:
    """Return a histogram of a column of numbers or date-times.

    Parameters
    ----------
    sa
        The column.
    xlabel, ylabel, title
        Labels of the axes, and title of the chart; None for ``title``: no title.

    Raises
    ------
    ValueError
        If the column does not hold numbers or date-times.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> visualization.histogram(SArray([1, 3])).get_data()["values"][0]
    {'left': 1.0, 'right': 2.0, 'count': 1}
    """
    _require(sa, "sa", _is_on_axis, "int, float or datetime")
    return sa.plot(title, xlabel, ylabel)


def item_frequency(sa: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> Plot:
    """Return a bar chart of the most frequent strings in a column, with the number of rows of each.

    Parameters
    ----------
    sa
        The column.
    xlabel, ylabel, title
        Labels of the axes, and title of the chart; None for ``title``: no title.

    Raises
    ------
    ValueError
        If the column does not hold strings.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> visualization.item_frequency(SArray(["a"])).get_data()["values"][0]["percentage"]
    '100%'
    """
    _require(sa, "sa", _is_text, "str")
    return sa.plot(title, xlabel, ylabel)


def scatter(x: SArray, y: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> Plot:
    """Return a chart with a point for each row of two columns; for more than 5,000 rows, a heat map.

    Parameters
    ----------
    x, y
        The two columns.
    xlabel, ylabel, title
        Labels of the axes, and title of the chart; None for ``title``: no title.

    Raises
    ------
    ValueError
        If the columns do not hold numbers or date-times.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> visualization.scatter(SArray([1]), SArray([2])).get_data()["values"]
    [{'x': 1, 'y': 2}]
    """
    return _two(x, y, xlabel, ylabel, title, "scatter_plot", (_is_on_axis,) * 2, ("int, float or datetime",) * 2)


def heatmap(x: SArray, y: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> Plot:
    """Return a heat map of two columns: the number of rows in each of many cells of equal size.

    Parameters
    ----------
    x, y
        The two columns.
    xlabel, ylabel, title
        Labels of the axes, and title of the chart; None for ``title``: no title.

    Raises
    ------
    ValueError
        If the columns do not hold numbers or date-times.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> visualization.heatmap(SArray([1]), SArray([2])).get_data()["values"][0]["count"]
    1
    """
    return _two(x, y, xlabel, ylabel, title, "heat_map", (_is_on_axis,) * 2, ("int, float or datetime",) * 2)


def categorical_heatmap(x: SArray, y: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> Plot:
    """Return a heat map of two columns of strings: the number of rows for each pair of their most frequent strings.

    Parameters
    ----------
    x, y
        The two columns.
    xlabel, ylabel, title
        Labels of the axes, and title of the chart; None for ``title``: no title.

    Raises
    ------
    ValueError
        If the columns do not hold strings.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> visualization.categorical_heatmap(SArray(["a"]), SArray(["b"])).get_data()["values"]
    [{'x': 'a', 'y': 'b', 'count': 1}]
    """
    return _two(x, y, xlabel, ylabel, title, "text_map", (_is_text,) * 2, ("str",) * 2)


def box_plot(x: SArray, y: SArray, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT, title: str | None = LABEL_DEFAULT) -> Plot:
    """Return a box plot: for each of the most frequent strings in ``x``, the quartiles of ``y`` in its rows.

    Parameters
    ----------
    x
        A column of strings; each string has a box.
    y
        A column of numbers or date-times.
    xlabel, ylabel, title
        Labels of the axes, and title of the chart; None for ``title``: no title.

    Raises
    ------
    ValueError
        If ``x`` does not hold strings, or ``y`` does not hold numbers or date-times.

    Examples
    --------
    >>> from sframe_spark import SArray, visualization
    >>> visualization.box_plot(SArray(["a", "a", "a"]), SArray([1, 2, 3])).get_data()["values"][0]["median"]
    2.0
    """
    return _two(x, y, xlabel, ylabel, title, "box_plot", (_is_text, _is_on_axis), ("str", "int, float or datetime"))


def columnwise_summary(sf: SFrame) -> Plot:
    """Return a summary of each column of a frame; the same as ``SFrame.plot``.

    Parameters
    ----------
    sf
        The frame.

    Raises
    ------
    ValueError
        If ``sf`` is not an SFrame.

    Examples
    --------
    >>> from sframe_spark import SFrame, visualization
    >>> visualization.columnwise_summary(SFrame({"a": [1, 2]})).get_data()["values"][0]["mean"]
    1.5
    """
    if not isinstance(sf, ClassRegistry.frame):
        raise InvalidArgumentError(f"columnwise_summary() takes an SFrame, not {type(sf).__name__}")
    return sf.plot()


def set_target(target: str = "auto") -> None:
    """Choose where charts are displayed.

    Parameters
    ----------
    target
        ``"auto"``: below the cell of a notebook, or else in a browser; ``"browser"`` or ``"gui"``: in a browser; ``"none"``: nowhere. This sets the
        option ``config.picture_target``.

    Raises
    ------
    ValueError
        If the target is unknown.

    Examples
    --------
    >>> from sframe_spark import visualization
    >>> visualization.set_target("browser")
    >>> visualization.set_target()
    """
    config.picture_target = target


def _is_on_axis(node: PlannerNode) -> bool:
    fits: bool = optional_part(PLOT).is_on_axis(node)
    return fits


def _is_text(node: PlannerNode) -> bool:
    return node.schema[0].kind == STR_KIND


def _require(value: Any, name: str, fits: Callable[[PlannerNode], bool], kinds: str) -> None:
    if not isinstance(value, ClassRegistry.array) or not fits(value._node):
        actual = f"an SArray of {value._node.schema[0].kind}" if isinstance(value, ClassRegistry.array) else type(value).__name__
        raise NoPictureError(f"this chart needs {name} to be an SArray of {kinds}, not {actual}")


def _two(x: Any, y: Any, xlabel: Any, ylabel: Any, title: Any, drawing: str, fits: tuple[Any, Any], kinds: tuple[str, str]) -> Plot:
    for value, name, fit, kind in zip((x, y), "xy", fits, kinds, strict=True):
        _require(value, name, fit, kind)
    charts = optional_part(PLOT)
    nodes = charts.two_columns(x, y)
    labels = charts.labels_of_two(xlabel, ylabel, title, (x._label, y._label))
    charts.require_rows(*nodes)
    chart: Plot = charts.Plot(lambda: getattr(charts, drawing)(*nodes, labels))
    return chart


def __getattr__(name: str) -> Any:
    """Return the class ``Plot``, which is imported only when it is accessed."""
    if name == "Plot":
        return optional_part(PLOT).Plot
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all names of the module, including ``Plot``, which is imported only when it is accessed."""
    return sorted({*globals(), "Plot"})


add_call_hints(globals(), __name__)
