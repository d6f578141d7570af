"""The page of a frame: for each column its type, what is missing, how values are distributed, and what is known of their order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from sframe_spark.plotting import charts
from sframe_spark.plotting.axes import Scale
from sframe_spark.plotting.pages import page
from sframe_spark.plotting.plot import Plot
from sframe_spark.plotting.summary import ColumnFacts
from sframe_spark.plotting.summary_table import STYLE, Badges, size_text, summary_table
from sframe_spark.types import DATETIME_KIND, INT_KIND
from sframe_spark.visible import visible

_PAGE_STYLE = """
h1 { font-size: 20px; margin: 0 0 16px; } h1 small { font-size: 15px; font-weight: normal; opacity: .75; margin-left: 8px; }
.sf-frame { overflow-x: visible; }
.sf-summary thead th { position: sticky; top: 0; background: var(--paper); }
.sf-summary tbody th { position: sticky; left: 0; background: var(--paper); }
.sf-find { display: flex; gap: 12px; align-items: baseline; margin: 0 0 12px; white-space: nowrap; }
.sf-find input { font: inherit; color: inherit; background: transparent; border: 1px solid rgba(128, 128, 128, .8); }
.sf-find input { padding: 4px 8px; width: 20em; min-width: 0; }
"""
_FIND = """
const field = document.getElementById("find"), told = document.getElementById("found");
const rows = [...document.querySelectorAll(".sf-summary tbody tr")];
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  let found = 0;
  for (const row of rows) { row.hidden = !row.dataset.name.includes(wanted); found += !row.hidden; }
  told.textContent = wanted ? found + " of " + rows.length : "";
});
"""
# Fewer are seen at a glance.
COLUMNS_TO_FIND = 12


class FrameSummary(Plot):
    """A page about each column of a frame, and a chart of each; computed when it is looked at.

    Parameters
    ----------
    names
        Names of the columns.
    facts
        Gives what is told of each.
    badges
        Gives what the planner knows of each.
    """

    def __init__(self, names: Sequence[str], facts: Callable[[], Sequence[ColumnFacts]], badges: Callable[[], Badges]) -> None:
        self._names, self._facts_made, self._badges_made = list(names), facts, badges
        super().__init__(self._charts)

    def get_data(self) -> dict[str, Any]:
        """What is told of each column, as a list of rows under ``"values"``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> told = SFrame({"a": [1, 2, None]}).plot().get_data()["values"][0]
        >>> told["title"], told["num_missing"], told["median"]
        ('a', 1, 2.0)
        """
        return {
            "values": [_told(place, name, facts) for place, (name, facts) in enumerate(zip(self._names, self._facts, strict=True))],
            "progress": 100.0,
        }

    @functools.cached_property
    def _facts(self) -> Sequence[ColumnFacts]:
        return self._facts_made()

    def _charts(self) -> dict[str, Any]:
        """The charts of the columns that have one, one below the other."""
        drawn = [_chart(f"{visible(name)} [{facts.kind}]", facts) for name, facts in zip(self._names, self._facts, strict=True)]
        shared = {"$schema", "background", "config"}
        whole = charts.nothing(None, "", "no column has a chart")
        parts = [{key: value for key, value in one.items() if key not in shared} for one in drawn if one is not None]
        return {**{key: whole[key] for key in sorted(shared)}, "vconcat": parts} if parts else whole

    def _title(self) -> str:
        return "SFrame"

    def _page(self) -> str:
        find = ""
        if len(self._names) > COLUMNS_TO_FIND:
            find = '<p class="sf-find"><label for="find">find a column</label><input id="find" type="search"><output id="found"></output></p>'
        heading = f"<h1>SFrame<small>{self._size()}</small></h1>"
        return page("SFrame", f"<main>{heading}{find}{self._table()}</main>", STYLE + _PAGE_STYLE, _FIND if find else "")

    def _html(self) -> str:
        return f"<style>{STYLE}</style><div>{self._size()}</div>{self._table()}"

    def _size(self) -> str:
        return size_text(self._facts[0].rows, len(self._names))

    def _table(self) -> str:
        return f'<div class="sf-frame">{summary_table(self._names, self._facts, self._badges_made())}</div>'


def _chart(title: str, facts: ColumnFacts) -> dict[str, Any] | None:
    if any(not row.get("other") for row in facts.labels):
        return charts.frequencies(facts.labels, title, "", ("", "rows"))
    if facts.bars and facts.extent is not None:
        kind = {DATETIME_KIND: "time", INT_KIND: "whole"}.get(facts.kind, "number")
        return charts.histogram(facts.bars, title, facts.extent.told(), Scale("", kind), "rows")
    return None


def _told(place: int, name: str, facts: ColumnFacts) -> dict[str, Any]:
    """A column as the reference engine tells of it."""
    told: dict[str, Any] = {"a": place, "title": name, "num_row": facts.rows, "type": facts.kind, "num_missing": facts.missing}
    told |= {"num_unique": facts.distinct, "numeric": facts.bars, "categorical": facts.labels}
    extent = facts.extent
    if extent is not None and extent.numbers:
        told |= {"mean": extent.mean, "stdev": extent.deviation, "min": extent.least, "max": extent.largest, "median": facts.quartiles[1]}
    return told
