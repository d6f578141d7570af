"""The table of a frame's columns as HTML: a row for each, with small pictures that need no script."""

from __future__ import annotations

import datetime
import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark.plotting.frequent import share_text
from sframe_spark.plotting.summary import ColumnFacts
from sframe_spark.types import DATETIME_KIND, INT_KIND
from sframe_spark.visible import visible

# Texts beside a name, as "ascending".
Badges = Mapping[str, Sequence[str]]
WIDTH, HEIGHT = 160, 40
_SHOWN_LABELS = 6
# A bin alone would fill the picture.
_FEW_BARS = 5
_NUMBERS = ("min", "25%", "median", "75%", "max", "mean", "std")
# Notebooks have styles of their own for tables and pictures, and names of classes: ours begin with "sf". What is narrow is the place, and not the
# window: cells of notebooks are. What is faint has a contrast of 4.5 on white and on black.
STYLE = """
.sf-frame { container-type: inline-size; overflow-x: auto; }
.sf-summary { border-collapse: collapse; font: 13px/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.sf-summary th, .sf-summary td { padding: 6px 8px; text-align: left !important; vertical-align: top !important; }
.sf-summary th, .sf-summary td { border-bottom: 1px solid rgba(128, 128, 128, .3); }
.sf-summary th.sf-number, .sf-summary td.sf-number { text-align: right !important; white-space: nowrap; }
.sf-summary .sf-faint, .sf-summary td[data-label]::before { opacity: .7; font-size: 12px; font-weight: normal; }
.sf-summary td.sf-further[data-label]::before { content: attr(data-label); display: block; }
.sf-summary .sf-name { min-width: 8em; max-width: 16em; overflow-wrap: anywhere; }
.sf-summary .sf-badge { border: 1px solid rgba(128, 128, 128, .6); border-radius: 8px; padding: 0 6px; font-size: 11px; }
.sf-summary .sf-badge { display: inline-block; font-weight: normal; white-space: nowrap; }
.sf-summary svg { display: block; width: 160px; height: 40px !important; max-width: none !important; }
.sf-summary ul { list-style: none !important; margin: 0 !important; padding: 0 !important; }
.sf-summary ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24em, 100%), 1fr)); gap: 0 20px; }
.sf-summary li { display: grid; grid-template-columns: minmax(0, 1fr) 60px 8em; gap: 8px; align-items: center; margin: 0; }
.sf-summary .sf-share { height: 10px; background: #4c78a8; } .sf-summary .sf-share.sf-missing { background: #808080; }
.sf-summary .sf-label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sf-summary .sf-none { font-style: italic; }
@container (max-width: 1000px) {
  .sf-summary, .sf-summary tbody { display: block; }
  .sf-summary thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .sf-summary tbody tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(88px, 1fr)); padding: 8px 0; }
  .sf-summary tbody tr { border-bottom: 1px solid rgba(128, 128, 128, .3); }
  .sf-summary tbody tr[hidden] { display: none; }
  .sf-summary tbody th, .sf-summary tbody td { border: 0; padding: 2px 6px; }
  .sf-summary tbody th.sf-name { grid-column: span 2; max-width: none; } .sf-summary tbody td.sf-picture { grid-column: 1 / span 2; }
  .sf-summary tbody td.sf-picture[colspan] { grid-column: 1 / -1; }
  .sf-summary tbody td.sf-number { text-align: left !important; }
  .sf-summary td[data-label]::before { content: attr(data-label); display: block; }
}
"""


def summary_table(names: Sequence[str], facts: Sequence[ColumnFacts], badges: Badges) -> str:
    """The table of all columns."""
    rows = "".join(_row(name, of_column, badges.get(name, ())) for name, of_column in zip(names, facts, strict=True))
    numbers = "".join(f'<th scope="col" class="sf-number">{name}</th>' for name in ("missing", "distinct"))
    head = f'<th scope="col">column</th>{numbers}<th scope="col" colspan="{1 + len(_NUMBERS)}">values</th>'
    return f'<table class="sf-summary"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def size_text(rows: int, columns: int) -> str:
    """How large a frame is.

    Examples
    --------
    >>> print(ascii(size_text(1, 1200)))
    '1 row \\xd7 1,200 columns'
    """
    return f"{rows:,} row{'s' * (rows != 1)} \u00d7 {columns:,} column{'s' * (columns != 1)}"


def _row(name: str, facts: ColumnFacts, badges: Sequence[str]) -> str:
    shown = html.escape(visible(name))
    badges = [*badges, *(["in UTC"] if facts.in_utc else [])]
    marks = "".join(f' <span class="sf-badge">{html.escape(badge)}</span>' for badge in badges)
    heading = f'<th scope="row" class="sf-name"><bdi>{shown}</bdi><br><span class="sf-faint">{facts.kind}</span>{marks}</th>'
    distinct = "<td></td>"
    if facts.distinct is not None:
        distinct = f'<td class="sf-number" data-label="distinct">{"" if facts.is_exact else "&asymp;&nbsp;"}{facts.distinct:,}</td>'
    cells = f'<td class="sf-number" data-label="missing">{_missing(facts)}</td>{distinct}'
    if facts.bars and facts.extent is not None:
        pictures = f'<td class="sf-picture">{_histogram(facts)}</td>{"".join(_numbers(facts))}'
    else:
        pictures = f'<td class="sf-picture" colspan="{1 + len(_NUMBERS)}">{_label_bars(facts)}</td>'
    return f'<tr data-name="{shown.lower()}">{heading}{cells}{pictures}</tr>'


def _missing(facts: ColumnFacts) -> str:
    if facts.missing:
        told = f'{facts.missing:,}<br><span class="sf-faint">{html.escape(share_text(facts.missing, facts.rows))}</span>'
    else:
        told = '<span class="sf-faint">0</span>'
    if facts.extent is not None:
        others = ((facts.extent.nan, "NaN"), (facts.extent.infinite, "infinite"))
        told += "".join(f'<br><span class="sf-faint">{count:,} {what}</span>' for count, what in others if count)
    return told


def _numbers(facts: ColumnFacts) -> list[str]:
    extent = facts.extent
    assert extent is not None
    values: list[float | None] = [extent.least, *facts.quartiles, extent.largest, extent.mean, extent.deviation]
    if facts.kind == DATETIME_KIND:
        values[-2:] = [None, None]
    cells = []
    for name, value in zip(_NUMBERS, values, strict=True):
        text = "" if value is None else number_text(value, facts.kind, name in ("mean", "std"))
        if facts.kind == DATETIME_KIND and " " in text:
            day, _, clock = text.partition(" ")
            text = f'{day}<br><span class="sf-faint">{clock}</span>'
        cells.append(f'<td class="sf-number sf-further" data-label="{name}">{text}</td>' if text else "<td></td>")
    return cells


def number_text(value: float, kind: str, between: bool = False) -> str:
    """A number in a few characters; date-times are given in seconds since 1970.

    Examples
    --------
    >>> number_text(1234567.0, "int"), number_text(0.123456, "float"), number_text(1e15, "float"), number_text(0, "datetime")
    ('1,234,567', '0.1235', '1e+15', '1970-01-01 00:00:00')
    """
    if kind == DATETIME_KIND:
        try:
            return str(datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=math.floor(value)))
        except OverflowError:
            return f"{value:.6g} s"
    if not math.isfinite(value):
        return "too large"
    if kind == INT_KIND and not between and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 9999.5 or abs(value) >= 1e15 else f"{value:,.0f}"


def _histogram(facts: ColumnFacts) -> str:
    """Bars of which each tells its edges and its rows under the mouse."""
    most = max(bar["count"] for bar in facts.bars)
    slots = max(len(facts.bars), _FEW_BARS)
    width, first = WIDTH / slots, (slots - len(facts.bars)) / 2
    drawn = []
    for place, bar in enumerate(facts.bars):
        if not bar["count"]:
            continue
        # A few rows beside many are still seen.
        height = max(HEIGHT * bar["count"] / most, 1.0)
        box = f'x="{(first + place) * width:.1f}" y="{HEIGHT - height:.1f}" width="{max(width - 1, 0.5):.1f}" height="{height:.1f}"'
        drawn.append(f"<rect {box}><title>{_bar_text(facts, bar)}</title></rect>")
    told = f"histogram: most often {_bar_text(facts, max(facts.bars, key=lambda bar: bar['count']))}"
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg {size} fill="#4c78a8" role="img" aria-label="{told}">{"".join(drawn)}</svg>'


def _bar_text(facts: ColumnFacts, bar: Mapping[str, Any]) -> str:
    rows = f"{bar['count']:,} row{'s' * (bar['count'] != 1)}"
    left, right = (number_text(bar[edge], facts.kind) for edge in ("left", "right"))
    is_one = facts.kind == INT_KIND and bar["right"] - bar["left"] == 1
    return f"{left}: {rows}" if is_one else f"{left} to {right}: {rows}"


def _label_bars(facts: ColumnFacts) -> str:
    if facts.extent is not None:
        return '<span class="sf-faint sf-none">no finite value</span>'
    if not facts.labels:
        return '<span class="sf-faint sf-none">only missing values are counted</span>'
    shown = [row for row in facts.labels if not row.get("other")][:_SHOWN_LABELS]
    most = max((row["count"] for row in shown), default=1)
    lines = []
    for row in shown:
        missing = " sf-missing" * bool(row.get("missing"))
        bar = f'<span class="sf-share{missing}" style="width: {max(60 * row["count"] / most, 1):.0f}px"></span>'
        label = html.escape(row["label"])
        count = f'<span class="sf-faint">{row["count"]:,} &middot; {html.escape(row["percentage"])}</span>'
        lines.append(f'<li><bdi class="sf-label{" sf-none" * bool(missing)}" title="{label}">{label}</bdi>{bar}{count}</li>')
    return f"<ul>{''.join(lines)}</ul>{_others(facts, shown)}"


def _others(facts: ColumnFacts, shown: Sequence[Mapping[str, Any]]) -> str:
    rows = facts.rows - sum(row["count"] for row in shown)
    if not rows:
        return ""
    told = f"{rows:,} rows ({share_text(rows, facts.rows)})"
    words = f"others in {told}" if shown else f"no frequent value: others in {told}"
    return f'<span class="sf-faint">{html.escape(words)}</span>'
