"""Members of SArray that show charts of its values, and its rows page by page."""

from __future__ import annotations

from sframe_spark.api.class_registry import Plot
from sframe_spark.api.error_hints import call_example
from sframe_spark.lazily_imported_subpackages import PLOT, ROW_BROWSER, optional_part
from sframe_spark.planner.node import PlannerNode

# Default of labels and titles, with the same value as in Turi Create.
LABEL_DEFAULT = "__TURI_DEFAULT_LABEL"


class ColumnPlotting:
    """Mixin of SArray: charts of a column. Charts of numbers are made from counts, not from collected values."""

    _node: PlannerNode
    # The name of the column that a frame was asked for, which charts and tables show.
    _label: str | None = None

    @call_example("sf['a'].plot(title='Ages', xlabel='years')")
    def plot(self, title: str | None = LABEL_DEFAULT, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT) -> Plot:
        """Return a chart of the distribution of all values: a histogram of numbers or date-times, or bars for strings.

        Missing values, NaN and infinite numbers are counted next to the chart. The twelve most frequent strings have a bar each; all other strings
        share one
        bar.

        Parameters
        ----------
        title
            Title above the chart; None: no title.
        xlabel, ylabel
            Labels of the axes.

        Raises
        ------
        RuntimeError
            If the values are lists, dicts or arrays, or the column has no rows.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> [bar["count"] for bar in SArray([1, 1, 2, None]).plot().get_data()["values"]]
        [2, 1]
        """
        chart: Plot = optional_part(PLOT).column_plot(self._node, title, xlabel, ylabel, self._label)
        return chart

    def show(self, title: str | None = LABEL_DEFAULT, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT) -> None:
        """Show the chart of :meth:`plot`: below the cell of a notebook, or else in a browser.

        Parameters
        ----------
        title, xlabel, ylabel
            As for :meth:`plot`.

        Raises
        ------
        RuntimeError
            As for :meth:`plot`.
        ImportError
            If the library vl-convert is not installed: ``pip install sframe_spark[pictures]``.

        Examples
        --------
        >>> from sframe_spark import SArray, visualization
        >>> visualization.set_target("none")
        >>> SArray([1, 1, 2]).show()
        >>> visualization.set_target("auto")
        """
        self.plot(title, xlabel, ylabel).show()

    def explore(self, title: str | None = None) -> None:
        """Show the rows page by page, in a browser or a notebook; a notebook without the package ``anywidget`` has the first thousand.

        Parameters
        ----------
        title
            Title above the rows.

        Examples
        --------
        >>> from sframe_spark import SArray, visualization
        >>> visualization.set_target("none")
        >>> SArray([1, 1, 2]).explore()
        >>> visualization.set_target("auto")
        """
        optional_part(ROW_BROWSER).explore(self._node, [self._label or "value"], str(title or "SArray"))
