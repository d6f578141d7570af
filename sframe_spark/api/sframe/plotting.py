"""Members of SFrame that show a summary page of its columns, and its rows page by page."""

from __future__ import annotations

from sframe_spark.api.class_registry import ColumnFacts, FrameSummary, Plot
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.node_value_conversion import row_count
from sframe_spark.api.sframe.known_and_assumed_row_order import RowOrder
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.lazily_imported_subpackages import ROW_BROWSER, SUMMARY, optional_part


class FramePlotting(RowOrder):
    """Mixin of SFrame: a summary page of its columns, for which only counts, not rows, are collected in this process; and pages of its rows."""

    @call_example("sf.plot() for all columns, sframe_spark.plot(sf['a'], sf['b']) for two")
    def plot(self) -> Plot:
        """Return a summary of each column, as a page and charts: class, missing and distinct values, quartiles, distribution, and order of rows.

        For columns of lists, dicts and arrays, only missing values are counted. Quartiles have four digits.

        Raises
        ------
        RuntimeError
            If the frame has no columns or no rows.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> [column["num_unique"] for column in SFrame({"a": [1, 2, 2], "b": ["x", "y", "z"]}).plot().get_data()["values"]]
        [2, 3]
        """
        return self.summary_page()

    def summary_page(self) -> FrameSummary:
        """Return the page that :meth:`show` shows, for example to save it: ``sf.summary_page().save("summary.html")``. Only counts are collected.

        Raises
        ------
        RuntimeError
            If the frame has no columns or no rows.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> page = SFrame({"time": [1, 2, 2], "text": ["x", "y", None]}).summary_page()
        >>> [(column["title"], column["num_missing"]) for column in page.get_data()["values"]]
        [('text', 1), ('time', 0)]
        """
        if not self._names or not row_count(self._node):
            raise UnsupportedOperationError("there is nothing to show: the SFrame is empty")
        page: FrameSummary = optional_part(SUMMARY).FrameSummary(self._names, self._facts, self._badges)
        return page

    def show(self) -> None:
        """Show :meth:`summary_page`: below the cell of a notebook, or else in a browser.

        Raises
        ------
        RuntimeError
            If the frame has no columns or no rows.

        Examples
        --------
        >>> from sframe_spark import SFrame, visualization
        >>> visualization.set_target("none")
        >>> SFrame({"a": [1, 2, 2]}).show()
        >>> visualization.set_target("auto")
        """
        self.summary_page().show()

    def explore(self, title: str | None = None) -> None:
        """Show the rows page by page, in a browser or a notebook; a notebook without the package ``anywidget`` has the first thousand.

        Parameters
        ----------
        title
            Title above the rows.

        Examples
        --------
        >>> from sframe_spark import SFrame, visualization
        >>> visualization.set_target("none")
        >>> SFrame({"a": [1, 2, 2]}).explore()
        >>> visualization.set_target("auto")
        """
        optional_part(ROW_BROWSER).explore(self._node, self._names, str(title or "SFrame"))

    def _facts(self) -> list[ColumnFacts]:
        materialize(self._node)
        facts: list[ColumnFacts] = optional_part(SUMMARY).facts_of(self._node)
        return facts

    def _badges(self) -> dict[str, list[str]]:
        """Return words such as "ascending", "constant" and "unique" for each column about whose order or values the planner knows them."""
        order = self.ordering()
        badges: dict[str, list[str]] = {name: ["constant"] for name in order.constants}
        for items in order.orderings:
            name, direction = items[0]
            badges.setdefault(name, []).append("ascending" if direction == "asc" else "descending")
        for key in order.keys:
            if len(key) == 1:
                badges.setdefault(key[0], []).append("unique")
        return {name: list(dict.fromkeys(words)) for name, words in badges.items()}
