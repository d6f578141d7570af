"""Computes the data of charts, such as counts in bins, frequent values and quantiles, mostly by aggregates, without collecting rows."""

from __future__ import annotations

import bisect
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.node_value_conversion import reduce_values, row_count, row_tuples
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.expressions.aggregates.histograms_summaries_and_rank_counts import FREQUENT_SHARE
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.message_text import visible
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.project_zip_arrange import column_of, project, zip_columns
from sframe_spark.operators.row_selection import filter_by_mask, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, FLOAT, INT, INT_KIND, ColumnType

# --- Bins of numbers and of times, whose edges are round numbers


# Widths of time bins up to half a day, in seconds.
_TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200]
_DAY = 86400


@attrs.frozen
class Bins:
    """Bins of equal width: bin ``i`` is ``[(first + i) * step, (first + i + 1) * step)``.

    Parameters
    ----------
    first
        Number of the first bin; bin 0 begins at zero.
    step
        Width of a bin.
    count
        Number of bins.
    """

    first: float
    step: float
    count: int

    def edge(self, number: int) -> float:
        """Return where the bin with index ``number`` begins.

        Examples
        --------
        >>> Bins(2, 0.1, 5).edge(1)
        0.3
        """
        edge = (self.first + number) * self.step
        # Edges of bins near the largest floats must remain finite.
        edge = min(max(edge, -sys.float_info.max), sys.float_info.max)
        return float(f"{edge:.12g}") if abs(self.first) < 1e9 and abs(edge) < sys.float_info.max else edge

    def finer(self, parts: int) -> Bins:
        """Return narrower bins: each bin is divided into ``parts`` bins."""
        return Bins(self.first * parts, self.step / parts, self.count * parts)

    @property
    def parameters(self) -> tuple[float, float, int]:
        """The parameters for the aggregate ``histogram``."""
        return self.first, self.step, self.count


def round_bins(minimum: float, largest: float, whole: bool, max_bins: int) -> Bins:
    """Return bins that cover a range of numbers; their width is 1, 2 or 5 times a power of ten.

    Parameters
    ----------
    minimum, largest
        Ends of the range; finite numbers.
    whole
        Whether the numbers are ints; then bins are at least 1 wide.
    max_bins
        Maximum number of bins; there may be one more.

    Examples
    --------
    >>> round_bins(3, 98, True, 20)
    Bins(first=0, step=5, count=20)
    >>> round_bins(0.5, 0.5, False, 20)
    Bins(first=10, step=0.05, count=1)
    """
    target_step = largest / max_bins - minimum / max_bins
    # A bin must not be narrower than the distance between neighbouring floats, or nearly all bins would be empty.
    target_step = max(target_step, max(abs(minimum), abs(largest)) * 2.0**-45)
    if minimum == largest and not whole:
        target_step = abs(minimum) / 10 or 1.0
    return _over(minimum, largest, round_step(max(target_step, 1.0) if whole else max(target_step, 1e-300)))


def time_bins(minimum: float, largest: float, max_bins: int) -> Bins:
    """Return bins that cover a range of times in seconds; their widths are usual ones, such as minutes, hours or days.

    Examples
    --------
    >>> time_bins(0, 86399, 24)
    Bins(first=0, step=3600, count=24)
    """
    # A single time gets a bin of one day. Bins are at least a millisecond wide, which is the resolution of times in browsers.
    target_step = (largest - minimum) / max_bins if largest > minimum else float(_DAY)
    if target_step <= _TIMES[-1]:
        step: float = _TIMES[bisect.bisect_left(_TIMES, target_step)] if target_step > 0.5 else round_step(max(target_step, 1e-3))
    else:
        step = _DAY * round_step(max(target_step / _DAY, 1.0))
    return _over(minimum, largest, step)


def round_step(target: float) -> float:
    """Return the smallest number that is 1, 2 or 5 times a power of ten and not smaller than the target.

    Examples
    --------
    >>> round_step(0.03), round_step(7)
    (0.05, 10)
    """
    power = math.floor(math.log10(target))
    for times, exponent in ((1, power), (2, power), (5, power), (1, power + 1)):
        # Parsing the decimal number gives the nearest float; a product of floats may differ from it.
        step = float(f"{times}e{exponent}")
        if step >= target * (1 - 1e-9):
            break
    return int(step) if step >= 1 and step < 2**53 else step


def _over(minimum: float, largest: float, step: float) -> Bins:
    first = math.floor(minimum / step)
    return Bins(first, step, max(math.floor(largest / step) - first, 0) + 1)


# --- The range of the numbers in a column, and how many rows have no finite number, in one pass


@attrs.frozen
class Extent:
    """The range of the numbers in a column, and counts of its values.

    Parameters
    ----------
    numbers, missing, nan, infinite
        Numbers of rows with a finite number, a missing value, NaN and an infinite number.
    least, largest
        The smallest and the largest finite number.
    mean, deviation
        Mean and population standard deviation of the finite numbers; NaN if there are none.
    """

    numbers: int
    missing: int
    nan: int
    infinite: int
    least: float
    largest: float
    mean: float = math.nan
    deviation: float = math.nan

    def note(self) -> str:
        """Return a phrase about the rows that cannot be shown on an axis; empty if there are none.

        Examples
        --------
        >>> Extent(5, 1000, 1, 0, 0.0, 1.0).note()
        '1,000 missing, 1 NaN'
        """
        parts = ((self.missing, "missing"), (self.nan, "NaN"), (self.infinite, "infinite"))
        return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def extent_of(part: Sequence[float]) -> Extent:
    """Return the result of the aggregate ``finite_range`` as an Extent."""
    numbers, missing, nan, infinite = map(int, part[:4])
    mean, deviation = (part[6], math.sqrt(part[7] / numbers)) if numbers else (math.nan, math.nan)
    return Extent(numbers, missing, nan, infinite, part[4], part[5], mean, deviation)


def extents(nodes: PlannerNode) -> list[Extent]:
    """Return the extent of each column of a node, in one pass; all columns must be numeric."""
    return list(map(extent_of, reduce_values(nodes, [Aggregation("finite_range", (column,)) for column in range(len(nodes.schema))])))


# --- Counts in bins


# Maximum number of bins of a histogram.
MAX_BINS = 30
# Maximum number of points in a chart of two columns, as in Turi Create; for more rows, counts in cells are shown.
MAX_POINTS = 5000
# Maximum number of cells on each side of a heat map.
MAX_CELLS = 40
# Maximum number of bins on a time line.
MAX_TIMES = 300


def as_numbers(node: PlannerNode) -> PlannerNode:
    """Return date-times as seconds since 1970; numbers are returned unchanged."""
    return apply_function("cast", node, parameters=(FLOAT, False)) if node.schema[0].kind == DATETIME_KIND else node


def bins_for(extent: Extent, column_type: ColumnType, max_bins: int = MAX_BINS) -> Bins:
    """Return bins with round edges that cover the numbers of a column."""
    if not extent.numbers:
        return Bins(0, 1, 1)
    if column_type.kind == DATETIME_KIND:
        return time_bins(extent.least, extent.largest, max_bins)
    return round_bins(extent.least, extent.largest, column_type.kind == INT_KIND, max_bins)


def bars(bins: Bins, counts: Sequence[float]) -> list[dict[str, Any]]:
    """Return bins and their counts as a list of dicts: ``left`` and ``right`` edge, and ``count``."""
    return [{"left": bins.edge(number), "right": bins.edge(number + 1), "count": int(count)} for number, count in enumerate(counts)]


def histogram_of(node: PlannerNode) -> tuple[list[dict[str, Any]], Extent]:
    """Return the histogram of a column of numbers or date-times (in seconds since 1970), and the column's extent."""
    materialize(node)
    numbers = as_numbers(node)
    extent = extents(numbers)[0]
    if not extent.numbers:
        return [], extent
    bins = bins_for(extent, node.schema[0])
    return bars(bins, reduce_values(numbers, [Aggregation("histogram", (0,), bins.parameters)])[0]), extent


def points_of(x: PlannerNode, y: PlannerNode) -> list[dict[str, Any]]:
    """Return a point for each row in which both numbers are finite; all rows are collected, so there must be few."""
    rows = row_tuples(zip_columns(as_numbers(x), as_numbers(y)))
    return [{"x": one, "y": other} for one, other in rows if _is_finite(one) and _is_finite(other)]


def _is_finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _materialized_numbers(x: PlannerNode, y: PlannerNode) -> PlannerNode:
    """Materialize two columns; return them side by side as numbers, see :func:`as_numbers`."""
    pair = zip_columns(x, y)
    materialize(pair)
    return zip_columns(*(as_numbers(project(pair, [column])) for column in (0, 1)))


def cells_of(x: PlannerNode, y: PlannerNode) -> list[dict[str, Any]]:
    """Return the number of rows in each cell of two columns of numbers or date-times; empty cells are left out."""
    numbers = _materialized_numbers(x, y)
    across, up = (bins_for(extent, node.schema[0], MAX_CELLS) for extent, node in zip(extents(numbers), (x, y), strict=True))
    counts = reduce_values(numbers, [Aggregation("histogram", (0, 1), (*across.parameters, *up.parameters))])[0]
    table = []
    for number, count in enumerate(counts):
        column, row = divmod(number, up.count)
        if count:
            edges = {"x_left": across.edge(column), "x_right": across.edge(column + 1), "y_left": up.edge(row), "y_right": up.edge(row + 1)}
            table.append({**edges, "count": int(count)})
    return table


def line_of(time: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], float]:
    """Return mean, minimum and maximum of ``y`` in each time bin that contains numbers, in order, and the width of a bin in seconds."""
    numbers = _materialized_numbers(time, y)
    bins = bins_for(extents(project(numbers, [0]))[0], time.schema[0], MAX_TIMES)
    ranges = np.reshape(reduce_values(numbers, [Aggregation("bin_ranges", (0, 1), bins.parameters)])[0], (-1, 4)).tolist()
    table = [
        # Rounding may move a mean outside of the range, so it is limited.
        {"x": bins.edge(number), "y": min(max(mean, minimum), largest), "least": minimum, "largest": largest, "count": int(count)}
        for number, (count, minimum, largest, mean) in enumerate(ranges)
        if count
    ]
    return table, bins.step


# --- The most frequent strings


# Maximum number of frequent values that a chart shows.
MAX_LABELS = 12
# Longer strings are truncated in labels.
MAX_CHARACTERS = 60
MISSING = "(missing)"


@attrs.frozen
class TopValues:
    """The most frequent values of a column.

    Parameters
    ----------
    values
        Pairs of a value (None for missing) and its number of rows; the most frequent first, equally frequent ones sorted by value. If the column has
        more than 65,536 distinct values, only those in more than one of 4,096 rows.
    different, is_exact
        Number of distinct values, with missing as one, and whether it is exact or an estimate.
    rows
        Number of all rows of the column.
    """

    values: list[tuple[Any, int]]
    different: int
    is_exact: bool
    rows: int

    @property
    def labels(self) -> tuple[Any, ...]:
        """The most frequent values, without how many rows they are in."""
        return tuple(value for value, _ in self.values)

    @property
    def remaining(self) -> int:
        """The number of distinct values that are not in ``values``: at least 1 if rows have other values, even if ``different`` is too low."""
        left = self.rows > sum(count for _, count in self.values)
        return max(self.different - len(self.values), 1) if left else 0

    def note(self) -> str:
        """Return a phrase that says that ``values`` are only the most frequent values; an empty string if the column has no others.

        Examples
        --------
        >>> TopValues([("a", 2)], 1, True, 2).note(), TopValues([("a", 6)], 2000, True, 3000).note()
        ('', 'the most frequent of 2,000 values')
        """
        if not self.remaining:
            return ""
        number = f"{'' if self.is_exact else 'about '}{self.different:,} values"
        displayed = len(self.values)
        return f"the most frequent of {number}" if displayed == 1 else f"the {displayed} most frequent of {number}"


def label_texts(values: Sequence[Any]) -> list[str]:
    """Return values as labels for an axis: short, visible, distinct, and without control characters.

    Examples
    --------
    >>> label_texts([None, "(missing)", "a\\x07", "", " b"])
    ['(missing)', '(missing) 2', 'a\\\\x07', '""', '" b"']
    """
    labels: dict[str, None] = {}
    for value in values:
        text = MISSING if value is None else visible(str(value)[: MAX_CHARACTERS + 1])
        text = text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
        text = text if text == text.strip() != "" else f'"{text}"'
        number = 1
        while (label := text if number == 1 else f"{text} {number}") in labels:
            number += 1
        labels[label] = None
    return list(labels)


def top_values(columns: PlannerNode, limit: int = MAX_LABELS) -> list[TopValues]:
    """Return the most frequent values of each column of strings, in one pass, or two if a column has many distinct values."""
    return most_frequent(columns, reduce_values(columns, [Aggregation("summary", (column,)) for column in range(len(columns.schema))]), limit)


def most_frequent(columns: PlannerNode, summaries: Sequence[dict[str, Any]], limit: int = MAX_LABELS) -> list[TopValues]:
    """Return the most frequent values of each column, given the columns' results of the aggregate ``summary``."""
    candidates = {column: _candidates(summary, limit) for column, summary in enumerate(summaries) if summary["counted"] is None}
    known_candidates = {column: labels for column, labels in candidates.items() if labels}
    aggregations = [Aggregation("label_counts", (column,), (labels,)) for column, labels in known_candidates.items()]
    counts_by_column = dict(zip(known_candidates, reduce_values(columns, aggregations) if aggregations else (), strict=True))
    tops = []
    for column, summary in enumerate(summaries):
        if column not in candidates:
            counted = summary["counted"]
        elif candidates[column] is None:
            counted = _counted_in_groups(column_of(columns, column), summary["rows"], limit)
        else:
            counts = zip(known_candidates.get(column, ()), map(int, counts_by_column.get(column, ())), strict=True)
            counted = {value: count for value, count in counts if count > summary["rows"] // FREQUENT_SHARE}
        values = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
        if summary["missing"]:
            # Missing values come before values that are equally frequent.
            values = sorted([(None, summary["missing"]), *values], key=lambda pair: -pair[1])
        distinct = summary["distinct"] + bool(summary["missing"])
        tops.append(TopValues(values[:limit], distinct, summary["counted"] is not None, summary["rows"]))
    return tops


def _candidates(summary: dict[str, Any], limit: int) -> tuple[Any, ...] | None:
    """Return the values that may be among the most frequent, and in more than one of 4,096 rows; None if the summary does not show this."""
    threshold, error = summary["rows"] // FREQUENT_SHARE, summary["error"]
    if error > threshold:
        return None
    min_counts = sorted(summary["frequent"].values(), reverse=True)
    needed = max(min_counts[limit - 1] if len(min_counts) >= limit else 0, threshold + 1)
    return tuple(sorted(value for value, count in summary["frequent"].items() if count + error >= needed))


def _counted_in_groups(column: PlannerNode, rows: int, limit: int) -> dict[Any, int]:
    """Return how many rows each frequent value is in, by grouping all rows; for columns whose summary could not keep enough values."""
    counted = group_by(column, [0], [Aggregation("count")])
    frequent = filter_by_mask(counted, apply_function("greater", column_of(counted, 1), Literal(rows // FREQUENT_SHARE, INT)))
    # One more than the limit, because the missing value, which is left out, may be among them.
    first = row_tuples(slice_rows(sort_rows(frequent, [(1, False), (0, True)]), 0, limit + 1))
    return {value: int(count) for value, count in first if value is not None}


def frequencies_of(node: PlannerNode) -> tuple[list[dict[str, Any]], TopValues]:
    """Return the table of the most frequent values of a column (see :func:`frequency_table`), and these values."""
    materialize(node)
    assert row_count(node)
    top = top_values(node)[0]
    return frequency_table(top), top


def frequency_table(top: TopValues) -> list[dict[str, Any]]:
    """Return the most frequent values as a list of dicts; the last one stands for all other values."""
    bars = [
        (label, count, {"missing": True} if value is None else {}) for label, (value, count) in zip(label_texts(top.labels), top.values, strict=True)
    ]
    if top.remaining:
        name = f"Other ({'' if top.is_exact else 'about '}{top.remaining:,} value{'s' * (top.remaining != 1)})"
        bars.append((name, top.rows - sum(count for _, count in top.values), {"other": True}))
    return [
        {"label": label, "count": count, "percentage": share_text(count, top.rows), **mark, "label_idx": index}
        for index, (label, count, mark) in enumerate(bars)
    ]


def share_text(part: int, whole: int) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> share_text(1, 3), share_text(0, 3), share_text(1, 10**6), share_text(999_999, 10**6)
    ('33.3%', '0%', '<0.01%', '>99.9%')
    """
    percent = 100 * part / whole
    if 0 < percent < 0.01:
        return "<0.01%"
    if 99.95 <= percent < 100:
        return ">99.9%"
    return f"{percent:.2g}%" if percent < 1 else f"{percent:.3g}%"


# --- Quantiles by counting: each pass divides the bins that contain quantiles, of all columns at once, until the bins are narrow


QUARTILES = (0.25, 0.5, 0.75)
# Number of bins into which a pass divides the bin that contains a quantile.
PARTS = 1000
# The first pass counts in the initial bins, and each of the six others divides one bin by PARTS.
MAX_PASSES = 7
# Tolerances for the displayed digits: relative to the number, and relative to the span of all numbers.
EXACTNESS, OF_THE_WHOLE = 1e-5, 1e-10
LARGE = 1e15
# Tolerance for times, in seconds.
TIME_TOLERANCE = 0.01


@attrs.define
class Quantile:
    """A quantile while it is being computed.

    Parameters
    ----------
    owner
        Index of the column or label whose quantile it is.
    rank
        How many numbers come before it in sorted order.
    bins
        Bins that contain it. The first and the last bin count all smaller and all larger numbers.
    span
        Difference between the largest and the smallest number.
    kind
        The kind of the column.
    result
        The quantile, when the bin that contains it is narrow enough; None before.
    """

    owner: int
    rank: int
    bins: Bins
    span: float
    kind: str
    result: float | None = None

    def narrow(self, counts: np.ndarray) -> None:
        """Narrow the bins to the one that contains the quantile, given the counts in all bins."""
        chosen = int(np.searchsorted(np.cumsum(counts), self.rank, side="right"))
        inside = min(max(chosen, 1), self.bins.count - 1)
        minimum = self.bins.edge(inside)
        # Rounding may count a number at an edge in the bin on either side.
        if chosen != inside or chosen == self.bins.count - 1 or self.bins.step <= self._tolerance(minimum):
            self.result = math.ceil(minimum - 1e-9) if self.kind == INT_KIND else minimum
        else:
            self.bins = guarded(Bins(self.bins.first + chosen, self.bins.step, 1).finer(PARTS))

    def _tolerance(self, number: float) -> float:
        """Return the maximum width of a bin for which a number in it is precise enough."""
        if self.kind == DATETIME_KIND:
            return TIME_TOLERANCE
        if self.kind == INT_KIND and abs(number) < LARGE:
            return 1.0
        relative = abs(number) * EXACTNESS
        return max(relative if abs(number) >= LARGE else min(relative, 0.5), self.span * OF_THE_WHOLE)

    @property
    def number(self) -> float:
        """The result; if the search ended before it was found, the lower end of the last range that was searched."""
        return self.bins.edge(1) if self.result is None else self.result


def guarded(bins: Bins) -> Bins:
    """Return the bins with one more at each end, in which all numbers outside are counted."""
    return Bins(bins.first - 1, bins.step, bins.count + 2)


def rank_of(numbers: int, share: float) -> int:
    """Return how many numbers come before the quantile of a share in sorted order.

    Examples
    --------
    >>> rank_of(5, 0.5), rank_of(4, 1.0)
    (2, 3)
    """
    return min(int(numbers * share), numbers - 1)


BinRequest = tuple[int, Bins]


def find_quantiles(searched: Sequence[Quantile], counts_of: Callable[[Sequence[BinRequest]], Sequence[np.ndarray]]) -> dict[BinRequest, np.ndarray]:
    """Compute quantiles by repeated counting, and return the counts of the first pass.

    Parameters
    ----------
    searched
        The quantiles; their results are set.
    counts_of
        Function that counts, in one pass, the numbers of the requested owners in the requested bins.
    """
    first: dict[BinRequest, np.ndarray] = {}
    for _ in range(MAX_PASSES):
        left = [quantile for quantile in searched if quantile.result is None]
        if not left:
            break
        requested = list(dict.fromkeys((quantile.owner, quantile.bins) for quantile in left))
        counted = dict(zip(requested, counts_of(requested), strict=True))
        first = first or counted
        for quantile in left:
            quantile.narrow(counted[quantile.owner, quantile.bins])
    return first


# --- Pairs of labels of two columns, and the spread of numbers for each label


# Up to this number of rows, quartiles are computed exactly by sorting.
SORTED_ROWS = 100_000
# Number of parts of each bin of a label in the first pass for quartiles.
PARTS_OF_A_BIN = 40


def pairs_of(x: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], tuple[TopValues, TopValues]]:
    """Return the number of rows of each pair of the most frequent values of two columns of strings, and these values."""
    pair = zip_columns(x, y)
    materialize(pair)
    across, up = top_values(pair)
    if not across.values or not up.values:
        return [], (across, up)
    counts = reduce_values(pair, [Aggregation("label_counts", (0, 1), (across.labels, up.labels))])[0]
    pairs = itertools.product(label_texts(across.labels), label_texts(up.labels))
    return [{"x": one, "y": other, "count": int(count)} for (one, other), count in zip(pairs, counts, strict=True)], (across, up)


def spreads_of(labels: PlannerNode, y: PlannerNode) -> tuple[list[dict[str, Any]], TopValues, int]:
    """Return a summary of the numbers for each of the most frequent strings, these strings, and how many of their rows have no finite number."""
    pair = zip_columns(labels, y)
    materialize(pair)
    top = top_values(project(pair, [0]))[0]
    numbers = zip_columns(project(pair, [0]), as_numbers(project(pair, [1])))
    if not top.values:
        return [], top, 0
    ranges = np.reshape(reduce_values(numbers, [Aggregation("label_ranges", (0, 1), top.labels)])[0], (-1, 4))
    # The indices of the labels that have finite numbers.
    numbered = [label for label, (count, *_) in enumerate(ranges) if count]
    if top.rows <= SORTED_ROWS:
        quartiles = _exact_quartiles(numbers, top.labels)
    else:
        searched = [_searched(label, ranges[label], share, y) for label in numbered for share in QUARTILES]
        find_quantiles(searched, lambda requested: _counts(numbers, top.labels, requested))
        quartiles = {top.labels[label]: [quantile.number for quantile in searched if quantile.owner == label] for label in numbered}
    texts = label_texts(top.labels)
    rows = [_row(texts[label], ranges[label], quartiles[top.labels[label]]) for label in numbered]
    return rows, top, sum(count for _, count in top.values) - int(ranges[:, 0].sum())


def _exact_quartiles(numbers: PlannerNode, labels: Sequence[Any]) -> dict[Any, Sequence[float]]:
    """Return the exact quartiles of the finite numbers of each label; for few rows."""
    label, number = (project(numbers, [column]) for column in (0, 1))
    chosen = apply_function("is_in", label, parameters=(tuple(value for value in labels if value is not None),))
    if None in labels:
        chosen = apply_function("or_", chosen, apply_function("is_missing", label))
    finite = apply_function("less", apply_function("absolute", number), Literal(math.inf, FLOAT))
    finite_numbers = filter_by_mask(numbers, apply_function("and_", chosen, finite))
    return dict(row_tuples(group_by(finite_numbers, [0], [Aggregation("quantile", (1,), QUARTILES)])))


def _searched(label: int, of_label: Sequence[float], share: float, y: PlannerNode) -> Quantile:
    """Return a quantile of the numbers of a label, given their count, minimum and maximum, before the search."""
    count, minimum, largest = int(of_label[0]), float(of_label[1]), float(of_label[2])
    bins = guarded(bins_for(Extent(count, 0, 0, 0, minimum, largest), y.schema[0]).finer(PARTS_OF_A_BIN))
    return Quantile(label, rank_of(count, share), bins, largest - minimum, y.schema[0].kind)


def _row(label: str, of_label: Sequence[float], quartiles: Sequence[float]) -> dict[str, Any]:
    minimum, largest = float(of_label[1]), float(of_label[2])
    # A computed quartile is the edge of a narrow bin, which may lie outside of the range of the numbers.
    lower, median, upper = (min(max(float(number), minimum), largest) for number in quartiles)
    quantiles = {"min": minimum, "lower quartile": lower, "median": median, "upper quartile": upper, "max": largest}
    return {"x": label, **quantiles, "count": int(of_label[0])}


def _counts(numbers: PlannerNode, labels: Sequence[Any], requested: Sequence[BinRequest]) -> list[np.ndarray]:
    """Return the counts for the requested labels and bins; each aggregate can count one set of bins per label."""
    rounds: list[dict[int, Bins]] = []
    for owner, bins in requested:
        free = next((bins_by_owner for bins_by_owner in rounds if owner not in bins_by_owner), None)
        if free is None:
            rounds.append(free := {})
        free[owner] = bins
    aggregations = [
        Aggregation(
            "label_histograms", (0, 1), (tuple(map(labels.__getitem__, bins_by_owner)), tuple(bins.parameters for bins in bins_by_owner.values()))
        )
        for bins_by_owner in rounds
    ]
    counts_by_request: dict[BinRequest, np.ndarray] = {}
    for bins_by_owner, counts in zip(rounds, reduce_values(numbers, aggregations), strict=True):
        ends = np.cumsum([bins.count for bins in bins_by_owner.values()])
        counts_by_request.update(zip(bins_by_owner.items(), np.split(np.asarray(counts), ends[:-1]), strict=True))
    return list(map(counts_by_request.__getitem__, requested))
