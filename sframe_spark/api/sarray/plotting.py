"""Charts of SArray, and pages of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.api.hints import call_example
from sframe_spark.optional_parts import PLOT, ROW_BROWSER, optional_part

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import Plot
    from sframe_spark.planner.node import PlannerNode

# As the reference engine says that nothing was given.
LABEL_DEFAULT = "__TURI_DEFAULT_LABEL"


class ColumnPlotting:
    """Charts of a column; nothing is collected but counts."""

    _node: PlannerNode

    @call_example("sf['a'].plot(title='Ages', xlabel='years')")
    def plot(self, title: str | None = LABEL_DEFAULT, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT) -> Plot:
        """A chart of how the values of all rows are distributed: a histogram of numbers and date-times, bars of texts.

        Missing values, NaN and infinite numbers are counted next to it. The twelve most frequent texts have a bar each, all others one.

        Parameters
        ----------
        title
            Above the chart; None for nothing.
        xlabel, ylabel
            At the axes.

        Raises
        ------
        RuntimeError
            If values are lists, dicts or arrays, or there is no row.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> [bar["count"] for bar in SArray([1, 1, 2, None]).plot().get_data()["values"]]
        [2, 1]
        """
        made: Plot = optional_part(PLOT).column_plot(self._node, title, xlabel, ylabel)
        return made

    def show(self, title: str | None = LABEL_DEFAULT, xlabel: str = LABEL_DEFAULT, ylabel: str = LABEL_DEFAULT) -> None:
        """Show the chart of :meth:`plot`: in a notebook below the cell, elsewhere in a browser.

        Parameters
        ----------
        title, xlabel, ylabel
            As of :meth:`plot`.

        Raises
        ------
        RuntimeError
            As :meth:`plot`.
        ImportError
            If vl-convert is not there: ``pip install sframe_spark[pictures]``.

        Examples
        --------
        >>> from sframe_spark import SArray, visualization
        >>> visualization.set_target("none")
        >>> SArray([1, 1, 2]).show()
        >>> visualization.set_target("auto")
        """
        self.plot(title, xlabel, ylabel).show()

    def explore(self, title: str | None = None) -> None:
        """Page through all rows: in a browser, or in a notebook through the first thousand.

        Parameters
        ----------
        title
            Above the rows.

        Examples
        --------
        >>> from sframe_spark import SArray, visualization
        >>> visualization.set_target("none")
        >>> SArray([1, 1, 2]).explore()
        >>> visualization.set_target("auto")
        """
        optional_part(ROW_BROWSER).explore(self._node, ["value"], title or "SArray")
