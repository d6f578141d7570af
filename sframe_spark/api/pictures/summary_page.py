"""The page of a frame: for each column its type, what is missing, how values are distributed, and what is known of their order."""

from __future__ import annotations

import datetime
import functools
import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sframe_spark.api.pictures import charts
from sframe_spark.api.pictures.pages import page
from sframe_spark.api.pictures.plot import Plot
from sframe_spark.api.pictures.summary import ColumnFacts, NumberFacts
from sframe_spark.types import DATETIME_KIND, INT_KIND
from sframe_spark.visible import visible

# Texts beside a name, as "ascending".
Badges = Mapping[str, Sequence[str]]
WIDTH, HEIGHT = 220, 48
_SHOWN_LABELS = 5
_STYLE = """
.sf-summary { border-collapse: collapse; font: 13px/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.sf-summary th, .sf-summary td { padding: 6px 12px; text-align: left; vertical-align: top; border-bottom: 1px solid rgba(128, 128, 128, .25); }
.sf-summary .number { text-align: right; white-space: nowrap; }
.sf-summary .faint { opacity: .65; font-size: 90%; }
.sf-summary .name { font-weight: 600; min-width: 9em; max-width: 22em; overflow-wrap: anywhere; }
.sf-summary .badge { border: 1px solid rgba(128, 128, 128, .5); border-radius: 8px; padding: 0 6px; font-size: 85%; white-space: nowrap; }
.sf-summary .share { display: inline-block; height: .7em; background: #4c78a8; margin-right: 6px; vertical-align: baseline; }
.sf-summary .label { overflow-wrap: anywhere; }
.sf-summary dl { display: grid; grid-template: repeat(3, auto) / repeat(6, auto); grid-auto-flow: column; gap: 0 10px; margin: 0; }
.sf-summary dl { justify-content: start; }
.sf-summary dt { opacity: .65; } .sf-summary dd { margin: 0 12px 0 0; text-align: right; }
.sf-find { font: inherit; color: inherit; margin: 0 0 1em; padding: 4px 8px; width: 20em; }
.sf-find { background: transparent; border: 1px solid rgba(128, 128, 128, .5); }
"""
_FIND = """
const field = document.getElementById("find");
field.addEventListener("input", () => {
  for (const row of document.querySelectorAll(".sf-summary tbody tr")) row.hidden = !row.dataset.name.includes(field.value.toLowerCase());
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
        drawn = []
        for name, facts in zip(self._names, self._facts, strict=True):
            title = f"{visible(name)} [{facts.kind}]"
            if facts.labels:
                drawn.append(charts.frequencies(facts.labels, title, ("", "rows")))
            elif facts.bars:
                drawn.append(charts.histogram(facts.bars, title, "", ("", "rows"), facts.kind == DATETIME_KIND))
        shared = {"$schema", "background", "config"}
        whole = charts.chart([], None)
        parts = [{key: value for key, value in one.items() if key not in shared} for one in drawn]
        return {**{key: whole[key] for key in sorted(shared)}, "vconcat": parts}

    def _title(self) -> str:
        return "SFrame"

    def _page(self) -> str:
        find = (
            '<input class="sf-find" id="find" placeholder="find a column" aria-label="find a column"><br>'
            if len(self._names) > COLUMNS_TO_FIND
            else ""
        )
        return page("SFrame", f"<h2>{self._size()}</h2>{find}{self._table()}", _STYLE, _FIND if find else "")

    def _html(self) -> str:
        return f'<style>{_STYLE}</style><div style="overflow-x: auto"><p>{self._size()}</p>{self._table()}</div>'

    def _size(self) -> str:
        rows, columns = self._facts[0].rows, len(self._names)
        return f"{rows:,} row{'s' * (rows != 1)} &times; {columns:,} column{'s' * (columns != 1)}"

    def _table(self) -> str:
        badges = self._badges_made()
        rows = "".join(_row(name, facts, badges.get(name, ())) for name, facts in zip(self._names, self._facts, strict=True))
        head = '<th>column</th><th class="number">missing</th><th class="number">distinct</th><th>numbers</th><th>values</th>'
        return f'<table class="sf-summary"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(name: str, facts: ColumnFacts, badges: Sequence[str]) -> str:
    shown = html.escape(visible(name))
    marks = " ".join(f'<span class="badge">{html.escape(badge)}</span>' for badge in badges)
    missing = (
        f'{facts.missing:,}<br><span class="faint">{_share(facts.missing, facts.rows)}</span>' if facts.missing else '<span class="faint">0</span>'
    )
    distinct = "" if facts.distinct is None else f"{'' if facts.is_exact else '&asymp; '}{facts.distinct:,}"
    picture = _histogram(facts) if facts.bars else _labels(facts)
    return (
        f'<tr data-name="{shown.lower()}"><td><div class="name">{shown}</div><span class="faint">{facts.kind}</span> {marks}</td>'
        f'<td class="number">{missing}</td><td class="number">{distinct}</td><td>{_numbers(facts)}</td><td>{picture}</td></tr>'
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g}%"


def _numbers(facts: ColumnFacts) -> str:
    numbers = facts.numbers
    if numbers is None or not numbers.extent.numbers:
        return ""
    told = [("min", numbers.extent.least), *zip(("25%", "median", "75%"), numbers.quartiles, strict=True), ("max", numbers.extent.largest)]
    if facts.kind != DATETIME_KIND:
        told += [("mean", numbers.mean), ("std", numbers.deviation)]
    pairs = [(name, _number_text(value, facts.kind, name in ("mean", "std"))) for name, value in told]
    pairs += [(name, f"{count:,}") for name, count in (("NaN", numbers.extent.nan), ("infinite", numbers.extent.infinite)) if count]
    # Three lines, and as many names and values beside each other as it takes.
    columns = [pairs[place : place + 3] for place in range(0, len(pairs), 3)]
    cells = ("".join(f"<dt>{name}</dt>" for name, _ in column) + "<dt></dt>" * (3 - len(column)) for column in columns)
    values = ("".join(f"<dd>{text}</dd>" for _, text in column) + "<dd></dd>" * (3 - len(column)) for column in columns)
    return "<dl>" + "".join(names + of for names, of in zip(cells, values, strict=True)) + "</dl>"


def _number_text(value: float, kind: str, between: bool = False) -> str:
    """A number in a few characters; date-times are given in seconds since 1970.

    Examples
    --------
    >>> _number_text(1234567.0, "int"), _number_text(0.123456, "float"), _number_text(1e15, "float"), _number_text(0, "datetime")
    ('1,234,567', '0.1235', '1e+15', '1970-01-01 00:00:00')
    """
    if kind == DATETIME_KIND:
        try:
            return str(datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=math.floor(value)))
        except OverflowError:
            return f"{value:.6g} s since 1970"
    if kind == INT_KIND and not between and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 9999.5 or abs(value) >= 1e15 else f"{value:,.0f}"


def _histogram(facts: ColumnFacts) -> str:
    """Bars of which each tells its edges and its rows under the mouse."""
    most = max(bar["count"] for bar in facts.bars)
    width = WIDTH / len(facts.bars)
    drawn = []
    for place, bar in enumerate(facts.bars):
        # A few rows beside many are still seen.
        height = max(HEIGHT * bar["count"] / most, 1.0) if bar["count"] else 0
        left, right = (_number_text(bar[edge], facts.kind) for edge in ("left", "right"))
        title = f"<title>{left} to {right}: {bar['count']:,}</title>"
        drawn.append(
            f'<rect x="{place * width:.2f}" y="{HEIGHT - height:.2f}" width="{max(width - 1, 0.5):.2f}" height="{height:.2f}">{title}</rect>'
        )
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg {size} fill="#4c78a8" role="img" aria-label="histogram">{"".join(drawn)}</svg>'


def _labels(facts: ColumnFacts) -> str:
    if not facts.labels:
        return ""
    shown = facts.labels[:_SHOWN_LABELS]
    most = max(row["count"] for row in shown)
    lines = []
    for row in shown:
        bar = f'<span class="share" style="width: {max(60 * row["count"] / most, 1):.1f}px"></span>'
        faint = ' class="faint"' if row.get("missing") else ' class="label"'
        lines.append(f'<div>{bar}<span{faint}>{html.escape(row["label"])}</span> <span class="faint">{row["count"]:,}</span></div>')
    others = facts.rows - sum(row["count"] for row in shown)
    return "".join(lines) + (f'<div class="faint">others {others:,}</div>' if others else "")


def _told(place: int, name: str, facts: ColumnFacts) -> dict[str, Any]:
    """A column as the reference engine tells of it."""
    told: dict[str, Any] = {"a": place, "title": name, "num_row": facts.rows, "type": facts.kind, "num_missing": facts.missing}
    told |= {"num_unique": facts.distinct, "numeric": facts.bars, "categorical": facts.labels}
    numbers: NumberFacts | None = facts.numbers
    if numbers is not None and numbers.extent.numbers:
        told |= {"mean": numbers.mean, "stdev": numbers.deviation, "min": numbers.extent.least, "max": numbers.extent.largest}
        told["median"] = numbers.quartiles[1]
    return told
