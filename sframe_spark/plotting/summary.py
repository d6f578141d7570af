"""The summary page of a frame: statistics of each column as an HTML table, which works without scripts, and as charts."""

from __future__ import annotations

import datetime
import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.node_value_conversion import reduce_values, row_count
from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.expressions.aggregates.histograms_summaries_and_rank_counts import bin_numbers
from sframe_spark.message_text import visible
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.project_zip_arrange import column_of, zip_columns
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting import chart_data, vega
from sframe_spark.plotting.html_pages import page
from sframe_spark.plotting.plot_class_and_chart_choice import Plot
from sframe_spark.plotting.vega import Scale
from sframe_spark.types import DATETIME_KIND, INT_KIND, STR_KIND, ColumnType

# --- Statistics of columns: one pass over each column; columns with many distinct values take a few more passes, which several columns share


# At most this many columns are counted in one pass, because each may take some megabytes.
COLUMNS_AT_ONCE = 8
# At most this many sets of bins are counted in one pass, because each takes some hundred kilobytes.
BINS_AT_ONCE = 48
# Number of finer bins in each bar of a histogram, for computing quartiles.
PARTS_OF_A_BAR = 200


@attrs.frozen
class ColumnFacts:
    """The statistics of one column that the summary shows.

    Parameters
    ----------
    kind
        Kind of the column.
    rows, missing
        Number of rows, and of rows with a missing value.
    distinct, is_exact
        Number of distinct values (None for lists, arrays and dicts), and whether it is exact or an estimate.
    extent, quartiles
        For numbers and date-times (in seconds since 1970): extent and quartiles; no quartiles if no number is finite.
    bars, labels
        For numbers and date-times, the bars of a histogram; for strings, the most frequent values.
    in_utc
        Whether date-times have offsets from UTC; they are displayed in UTC.
    """

    kind: str
    rows: int
    missing: int
    distinct: int | None = None
    is_exact: bool = True
    extent: chart_data.Extent | None = None
    quartiles: tuple[float, ...] = ()
    bars: list[dict[str, Any]] = attrs.Factory(list)
    labels: list[dict[str, Any]] = attrs.Factory(list)
    in_utc: bool = False


def facts_of(node: PlannerNode) -> list[ColumnFacts]:
    """Return the statistics of each column of a materialized frame."""
    rows = row_count(node)
    columns = [column_of(node, index) for index in range(len(node.schema))]
    sources = [chart_data.as_numbers(column) if has_pictures(column.schema[0]) else column for column in columns]
    passes: list[_FirstPass] = []
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        chosen = slice(start, start + COLUMNS_AT_ONCE)
        passes += _first_passes(columns[chosen], sources[chosen])
    labels = _labels(sources, passes)
    bars_and_quartiles = _of_numbers(sources, passes)
    facts = []
    for index, first in enumerate(passes):
        column_facts = ColumnFacts(first.column_type.kind, rows, first.missing)
        if first.summary is not None:
            table, quartiles = bars_and_quartiles.get(index, ([], ()))
            column_facts = attrs.evolve(
                column_facts,
                distinct=first.summary["distinct"],
                is_exact=first.summary["counted"] is not None,
                extent=first.extent,
                quartiles=quartiles,
                bars=table,
                labels=labels.get(index, []),
                in_utc=first.column_type.is_zoned,
            )
        facts.append(column_facts)
    return facts


def has_pictures(column_type: ColumnType) -> bool:
    """Return whether the summary has a picture of the column; for other types, only missing values are counted."""
    return column_type.is_numeric or column_type.kind in (STR_KIND, DATETIME_KIND)


@attrs.frozen
class _FirstPass:
    """The result of the first pass over a column; ``summary`` is None if only missing values were counted, ``extent`` is None without numbers."""

    column_type: ColumnType
    missing: int
    summary: dict[str, Any] | None
    extent: chart_data.Extent | None


def _first_passes(columns: Sequence[PlannerNode], sources: Sequence[PlannerNode]) -> list[_FirstPass]:
    types = [column.schema[0] for column in columns]
    aggregations = [Aggregation("summary" if has_pictures(column_type) else "count_missing", (index,)) for index, column_type in enumerate(types)]
    numeric = [index for index, source in enumerate(sources) if source.schema[0].is_numeric]
    parts = reduce_values(zip_columns(*sources), [*aggregations, *(Aggregation("finite_range", (index,)) for index in numeric)])
    extents = dict(zip(numeric, map(chart_data.extent_of, parts[len(columns) :]), strict=True))
    return [
        _FirstPass(column_type, part["missing"], part, extents.get(index))
        if has_pictures(column_type)
        else _FirstPass(column_type, int(part), None, None)
        for index, (column_type, part) in enumerate(zip(types, parts, strict=False))
    ]


def _labels(sources: Sequence[PlannerNode], passes: Sequence[_FirstPass]) -> dict[int, list[dict[str, Any]]]:
    """Return the table of the most frequent values of each column of strings, by column index."""
    summaries = {index: first.summary for index, first in enumerate(passes) if first.summary is not None and first.extent is None}
    labels: dict[int, list[dict[str, Any]]] = {}
    for indices in _groups(list(summaries)):
        tops = chart_data.most_frequent(zip_columns(*(sources[index] for index in indices)), [summaries[index] for index in indices])
        labels.update(zip(indices, map(chart_data.frequency_table, tops), strict=True))
    return labels


def _of_numbers(sources: Sequence[PlannerNode], passes: Sequence[_FirstPass]) -> dict[int, tuple[list[dict[str, Any]], tuple[float, ...]]]:
    """Return the histogram and the quartiles of each numeric column, by index: from its distinct values if all were counted, else by more passes."""
    bars_and_quartiles: dict[int, tuple[list[dict[str, Any]], tuple[float, ...]]] = {}
    searched: list[chart_data.Quantile] = []
    bins_of: dict[int, chart_data.Bins] = {}
    for index, first in enumerate(passes):
        extent = first.extent
        if extent is None or first.summary is None or not extent.numbers:
            continue
        bins = chart_data.bins_for(extent, first.column_type)
        if first.summary["counted"] is not None:
            bars_and_quartiles[index] = _of_few(first.summary["counted"], bins, extent)
            continue
        bins_of[index] = bins
        fine, span = chart_data.guarded(bins.finer(PARTS_OF_A_BAR)), extent.largest - extent.least
        ranks = [chart_data.rank_of(extent.numbers, share) for share in chart_data.QUARTILES]
        searched += [chart_data.Quantile(index, rank, fine, span, first.column_type.kind) for rank in ranks]
    for (index, _), counts in chart_data.find_quantiles(searched, lambda requested: _counts(sources, requested)).items():
        quartiles = tuple(quantile.number for quantile in searched if quantile.owner == index)
        # Rounding may count a number at an edge in the bin on either side, so the outer bins are added to their neighbours.
        inside = np.concatenate([[counts[0] + counts[1]], counts[2:-2], [counts[-2] + counts[-1]]])
        bars_and_quartiles[index] = chart_data.bars(bins_of[index], inside.reshape(-1, PARTS_OF_A_BAR).sum(axis=1).tolist()), quartiles
    return bars_and_quartiles


def _of_few(counted: dict[float, int], bins: chart_data.Bins, extent: chart_data.Extent) -> tuple[list[dict[str, Any]], tuple[float, ...]]:
    pairs = sorted((float(value), count) for value, count in counted.items() if math.isfinite(value))
    values, weights = np.array([value for value, _ in pairs]), np.array([count for _, count in pairs])
    cumulative = np.cumsum(weights)
    ranks = [chart_data.rank_of(extent.numbers, share) for share in chart_data.QUARTILES]
    quartiles = tuple(float(value) for value in values[np.searchsorted(cumulative, ranks, side="right")])
    return chart_data.bars(bins, np.bincount(bin_numbers(values, *bins.parameters), weights, bins.count).tolist()), quartiles


def _counts(sources: Sequence[PlannerNode], requested: Sequence[chart_data.BinRequest]) -> list[np.ndarray]:
    counts: list[np.ndarray] = []
    for part in _groups(requested):
        indices = list(dict.fromkeys(index for index, _ in part))
        columns = zip_columns(*(sources[index] for index in indices))
        aggregations = [Aggregation("histogram", (indices.index(index),), bins.parameters) for index, bins in part]
        counts += [np.asarray(bin_counts).astype(np.int64) for bin_counts in reduce_values(columns, aggregations)]
    return counts


def _groups(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[start : start + BINS_AT_ONCE] for start in range(0, len(items), BINS_AT_ONCE)]


# --- The table


# Words shown next to column names, such as "ascending".
Badges = Mapping[str, Sequence[str]]
WIDTH, HEIGHT = 160, 40
_MAX_LABELS = 6
# A histogram with fewer bars than this is drawn as if it had this many, so that its bars do not fill the whole picture.
_FEW_BARS = 5
_NUMBERS = ("min", "25%", "median", "75%", "max", "mean", "std")
# Class names begin with "sf" and rules override the notebook's own styles. The layout depends on the width of the container, as notebook cells are
# narrower than the window. Faint text has a contrast of 4.5 on white and on black.
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
.sf-summary .sf-label { overflow-wrap: anywhere; }
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
    """Return the HTML table with a row for each column of the frame."""
    rows = "".join(_row(name, of_column, badges.get(name, ())) for name, of_column in zip(names, facts, strict=True))
    numbers = "".join(f'<th scope="col" class="sf-number">{name}</th>' for name in ("missing", "distinct"))
    head = f'<th scope="col">column</th>{numbers}<th scope="col" colspan="{1 + len(_NUMBERS)}">values</th>'
    return f'<table class="sf-summary"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def size_text(rows: int, columns: int) -> str:
    """Return a phrase about the size of a frame.

    Examples
    --------
    >>> print(ascii(size_text(1, 1200)))
    '1 row \\xd7 1,200 columns'
    """
    return f"{rows:,} row{'s' * (rows != 1)} \u00d7 {columns:,} column{'s' * (columns != 1)}"


def _row(name: str, facts: ColumnFacts, badges: Sequence[str]) -> str:
    name_html = html.escape(visible(name))
    badges = [*badges, *(["in UTC"] if facts.in_utc else [])]
    marks = "".join(f' <span class="sf-badge">{html.escape(badge)}</span>' for badge in badges)
    heading = f'<th scope="row" class="sf-name"><bdi>{name_html}</bdi><br><span class="sf-faint">{facts.kind}</span>{marks}</th>'
    distinct = "<td></td>"
    if facts.distinct is not None:
        distinct = f'<td class="sf-number" data-label="distinct">{"" if facts.is_exact else "&asymp;&nbsp;"}{facts.distinct:,}</td>'
    cells = f'<td class="sf-number" data-label="missing">{_missing(facts)}</td>{distinct}'
    if facts.bars and facts.extent is not None:
        pictures = f'<td class="sf-picture">{_histogram(facts)}</td>{"".join(_numbers(facts))}'
    else:
        pictures = f'<td class="sf-picture" colspan="{1 + len(_NUMBERS)}">{_label_bars(facts)}</td>'
    return f'<tr data-name="{name_html.lower()}">{heading}{cells}{pictures}</tr>'


def _missing(facts: ColumnFacts) -> str:
    cell = '<span class="sf-faint">0</span>'
    if facts.missing:
        cell = f'{facts.missing:,}<br><span class="sf-faint">{html.escape(chart_data.share_text(facts.missing, facts.rows))}</span>'
    if facts.extent is not None:
        not_finite = ((facts.extent.nan, "NaN"), (facts.extent.infinite, "infinite"))
        cell += "".join(f'<br><span class="sf-faint">{count:,} {what}</span>' for count, what in not_finite if count)
    return cell


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
    """Return a number in a few characters; a date-time is given in seconds since 1970.

    ``between`` is true for means and deviations, which may be fractions even in a column of ints.

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
    """Return a histogram as SVG; the tooltip of a bar shows its edges and how many rows are in it."""
    maximum = max(bar["count"] for bar in facts.bars)
    slots = max(len(facts.bars), _FEW_BARS)
    width, first = WIDTH / slots, (slots - len(facts.bars)) / 2
    drawn = []
    for index, bar in enumerate(facts.bars):
        if not bar["count"]:
            continue
        # A bar of few rows is at least one pixel high, so that it remains visible next to high bars.
        height = max(HEIGHT * bar["count"] / maximum, 1.0)
        box = f'x="{(first + index) * width:.1f}" y="{HEIGHT - height:.1f}" width="{max(width - 1, 0.5):.1f}" height="{height:.1f}"'
        drawn.append(f"<rect {box}><title>{_bar_text(facts, bar)}</title></rect>")
    label = f"histogram: most often {_bar_text(facts, max(facts.bars, key=lambda bar: bar['count']))}"
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg {size} fill="#4c78a8" role="img" aria-label="{label}">{"".join(drawn)}</svg>'


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
    displayed = [row for row in facts.labels if not row.get("other")][:_MAX_LABELS]
    maximum = max((row["count"] for row in displayed), default=1)
    lines = []
    for row in displayed:
        missing = " sf-missing" * bool(row.get("missing"))
        bar = f'<span class="sf-share{missing}" style="width: {max(60 * row["count"] / maximum, 1):.0f}px"></span>'
        label = html.escape(row["label"])
        count = f'<span class="sf-faint">{row["count"]:,} &middot; {html.escape(row["percentage"])}</span>'
        lines.append(f'<li><bdi class="sf-label{" sf-none" * bool(missing)}" title="{label}">{label}</bdi>{bar}{count}</li>')
    return f"<ul>{''.join(lines)}</ul>{_remaining(facts, displayed)}"


def _remaining(facts: ColumnFacts, displayed: Sequence[Mapping[str, Any]]) -> str:
    rows = facts.rows - sum(row["count"] for row in displayed)
    if not rows:
        return ""
    rows_text = f"{rows:,} rows ({chart_data.share_text(rows, facts.rows)})"
    words = f"others in {rows_text}" if displayed else f"no frequent value: others in {rows_text}"
    return f'<span class="sf-faint">{html.escape(words)}</span>'


# --- The page


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
const field = document.getElementById("find"), count = document.getElementById("found");
const rows = [...document.querySelectorAll(".sf-summary tbody tr")];
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  let found = 0;
  for (const row of rows) { row.hidden = !row.dataset.name.includes(wanted); found += !row.hidden; }
  count.textContent = wanted ? found + " of " + rows.length : "";
});
"""
# With more columns than this, the page has a search field.
COLUMNS_TO_FIND = 12


class FrameSummary(Plot):
    """A page with the statistics of each column of a frame, and a chart for each; computed when it is displayed.

    Parameters
    ----------
    names
        Names of the columns.
    facts
        Function that returns the statistics of each column.
    badges
        Function that returns, by column name, words about what the planner knows, such as "ascending".
    """

    def __init__(self, names: Sequence[str], facts: Callable[[], Sequence[ColumnFacts]], badges: Callable[[], Badges]) -> None:
        self._names, self._facts_made, self._badges_made = list(names), facts, badges
        super().__init__(self._charts)

    def get_data(self) -> dict[str, Any]:
        """Return a dict with the statistics of each column, as a list of rows in ``"values"``.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> column = SFrame({"a": [1, 2, None]}).plot().get_data()["values"][0]
        >>> column["title"], column["num_missing"], column["median"]
        ('a', 1, 2.0)
        """
        columns = zip(self._names, self._facts, strict=True)
        return {"values": [_reference_summary(index, name, facts) for index, (name, facts) in enumerate(columns)], "progress": 100.0}

    @cached_property
    def _facts(self) -> Sequence[ColumnFacts]:
        return self._facts_made()

    def _charts(self) -> dict[str, Any]:
        """Return a Vega-Lite specification with the charts of all columns that have one, one below the other."""
        charts = [_chart(f"{visible(name)} [{facts.kind}]", facts) for name, facts in zip(self._names, self._facts, strict=True)]
        shared = {"$schema", "background", "config"}
        whole = vega.nothing(None, "", "no column has a chart")
        parts = [{key: value for key, value in chart.items() if key not in shared} for chart in charts if chart is not None]
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
        return vega.frequencies(facts.labels, title, "", ("", "rows"))
    if facts.bars and facts.extent is not None:
        kind = {DATETIME_KIND: "time", INT_KIND: "whole"}.get(facts.kind, "number")
        return vega.histogram(facts.bars, title, facts.extent.note(), Scale("", kind), "rows")
    return None


def _reference_summary(index: int, name: str, facts: ColumnFacts) -> dict[str, Any]:
    """Return the statistics of a column in the format of Turi Create's engine."""
    summary: dict[str, Any] = {"a": index, "title": name, "num_row": facts.rows, "type": facts.kind, "num_missing": facts.missing}
    summary |= {"num_unique": facts.distinct, "numeric": facts.bars, "categorical": facts.labels}
    extent = facts.extent
    if extent is not None and extent.numbers:
        summary |= {"mean": extent.mean, "stdev": extent.deviation, "min": extent.least, "max": extent.largest, "median": facts.quartiles[1]}
    return summary
