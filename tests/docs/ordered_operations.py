"""The operations on ordered data that Flint, Tempo, Polars, pandas and kdb+ have, and the one call of each here; ``docs/ordered-operations.md``."""

# ruff: noqa: E501

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

import sframe_spark
from sframe_spark import SArray, SFrame, aggregate as agg, uniform_clock

NOON = datetime(2024, 3, 9, 12)
LIBRARIES = ("Flint", "Tempo", "Polars", "pandas", "kdb+")


def minute(number: float) -> datetime:
    """A time on the clock of the example."""
    return NOON + timedelta(minutes=number)


def example() -> dict[str, Any]:
    """The names that calls are about."""
    sf = SFrame(
        {"time": list(map(minute, [0, 1, 1, 3, 5, 7])), "key": list("abaaba"), "price": [4.0, 7.0, None, 5.0, 10.0, 8.0], "size": range(1, 7)}
    )
    quotes = SFrame({"time": list(map(minute, [0, 2, 4, 6])), "key": list("abba"), "bid": [3.0, 6.0, None, 9.0]})
    spans = SFrame(
        {"start": list(map(minute, [0, 2, 2])), "end": list(map(minute, [1, 5, 3])), "key": list("aab"), "name": ["first", "second", "third"]}
    )
    months = SFrame({"day": [datetime(2024, 1, 31), datetime(2024, 2, 1), datetime(2024, 2, 29)], "n": [1, 2, 4]})
    names = {"sf": sf, "quotes": quotes, "spans": spans, "months": months, "agg": agg, "timedelta": timedelta, "minute": minute, "UTC": UTC}
    return names | {"SFrame": SFrame, "SArray": SArray, "uniform_clock": uniform_clock, "sframe_spark": sframe_spark, "NOON": NOON}


@attrs.frozen
class Operation:
    """An operation.

    Parameters
    ----------
    what
        What it does.
    others
        What it is called in each of ``LIBRARIES``; empty where a library does not have it.
    call
        The call here, over the names of :func:`example`.
    expected
        The values of the result: a list of values, or a dict from names of columns to lists.
    """

    what: str
    others: tuple[str, str, str, str, str]
    call: str
    expected: Any


def _operation(what: str, names: str, call: str, expected: Any) -> Operation:
    flint, tempo, polars, pandas, kdb = (name.strip() for name in names.split("|"))
    return Operation(what, (flint, tempo, polars, pandas, kdb), call, expected)


OPERATIONS: dict[str, list[Operation]] = {
    "Earlier and later rows": [
        _operation("the value of an earlier row", "| | shift | shift | prev, xprev", 'sf["size"].shift(2)', [None, None, 1, 2, 3, 4]),
        _operation("the value of a later row", "| | shift(-1) | shift(-1) | next", 'sf["size"].shift(-1)', [2, 3, 4, 5, 6, None]),
        _operation(
            "the same, within a key",
            "| withLookbackFeatures | shift().over | groupby.shift | prev by",
            'sf.shift("size", by="key")',
            [None, None, 1, 3, 2, 4],
        ),
        _operation(
            *("several lags at once", "| withLookbackFeatures | | | ", 'sf.shift("size", [1, 2], by="key")'),
            {"size_1": [None, None, 1, 3, 2, 4], "size_2": [None, None, None, 1, None, 3]},
        ),
        _operation("the difference from an earlier row", "| | diff | diff | deltas", 'sf.diff("size", by="key")', [None, None, 2, 1, 3, 2]),
        _operation(
            *("the relative change", "| | pct_change | pct_change | ratios", 'sf.pct_change("price", by="key")'),
            [None, None, None, None, 3 / 7, 0.6000000000000001],
        ),
        _operation("whether the value has changed", "| | ne_missing | ne(shift) | differ", 'sf["key"] != sf["key"].shift()', [1, 1, 1, 0, 1, 1]),
        _operation(
            *("runs of equal adjacent rows", "| extractStateIntervals | rle | | ", 'sf.groupby_runs("key", {"n": agg.COUNT()})'),
            {"key": ["a", "b", "a", "b", "a"], "n": [1, 1, 2, 1, 1]},
        ),
    ],
    "Gaps": [
        _operation("the last known value", "| interpolate | forward_fill | ffill | fills", 'sf.fill_forward("price", by="key")', [4, 7, 4, 5, 10, 8]),
        _operation(
            "the next known value",
            "| interpolate | backward_fill | bfill | reverse fills reverse",
            'sf.fill_backward("price", by="key")',
            [4, 7, 5, 5, 10, 8],
        ),
        _operation(
            *("the same, at most some rows away", "| | forward_fill(limit) | ffill(limit) | ", 'sf["price"].fill_forward(limit=1)'),
            [4, 7, 7, 5, 10, 8],
        ),
        _operation(
            *("the same, at most a duration away", "| | | | ", 'sf.fill_forward("price", on="time", by="key", limit="30s")'),
            [4, 7, None, 5, 10, 8],
        ),
        _operation(
            *("points on a line by time", "| interpolate | interpolate_by | interpolate(time) | ", 'sf.interpolate("price", on="time", by="key")'),
            [4, 7, 4 + 1 / 3, 5, 10, 8],
        ),
        _operation("points on a line by row", "| | interpolate | interpolate | ", 'sf["price"].interpolate()', [4, 7, 6, 5, 10, 8]),
        _operation(
            "the nearest known value",
            "| | interpolate(nearest) | interpolate(nearest) | ",
            'sf.interpolate("price", on="time", by="key", method="nearest")',
            [4, 7, 4, 5, 10, 8],
        ),
    ],
    "Values so far": [
        _operation(
            "the running sum within a key",
            "addSummaryColumns | | cum_sum().over | groupby.cumsum | sums by",
            'sf.cumulative_sum("size", by="key")',
            [1, 2, 4, 8, 7, 14],
        ),
        _operation(
            "the running count",
            "addSummaryColumns | | cum_count | groupby.cumcount | ",
            'sf.running({"n": agg.COUNT()}, by="key")["n"]',
            [1, 1, 2, 3, 2, 4],
        ),
        _operation("the largest so far", "addSummaryColumns | | cum_max | cummax | maxs", 'sf["price"].cumulative_max()', [4, 7, 7, 7, 10, 10]),
        _operation("the mean so far", "addSummaryColumns | | | expanding.mean | avgs", 'sf["size"].cumulative_mean()', [1, 1.5, 2, 2.5, 3, 3.5]),
        _operation(
            "the product so far", "addSummaryColumns | | cum_prod | cumprod | prds", 'sf["size"].cumulative_product()', [1, 2, 6, 24, 120, 720]
        ),
        _operation(
            *("the number of the session", "| | | | ", 'sf.sessions("time", "90s", by="key")'),
            [0, 0, 0, 1, 1, 2],
        ),
        _operation(
            *("any aggregate so far", "addSummaryColumns | | | expanding.agg | ", 'sf.running({"last": agg.LAST("price")}, by="key")["last"]'),
            [4, 7, None, 5, 10, 8],
        ),
        _operation(
            *(
                "an exponential mean by time",
                "ewma | | ewm_mean_by | ewm(times) | ",
                'sf.exponential_smoothing("size", on="time", half_life="1min", by="key")',
            ),
            [1, 2, 7 / 3, 39 / 11, 82 / 17, 807 / 139],
        ),
        _operation(
            *("an exponential mean by rows", "ewma | EMA | ewm_mean | ewm | ema", 'sf.exponential_smoothing("size", half_life=1)'),
            [1, 5 / 3, 17 / 7, 49 / 15, 129 / 31, 321 / 63],
        ),
        _operation(
            "an exponential mean over the time between values",
            "ema_halflife(core) | | | | ",
            'sf.exponential_smoothing("size", on="time", half_life="1min", interpolation="previous")',
            [None, 1, 1, 19 / 7, 115 / 31, 595 / 127],
        ),
        _operation(
            "the same, not divided by the time's weight",
            "ema_halflife(convolution) | | | | ",
            'sf.exponential_smoothing("size", on="time", half_life="1min", interpolation="current", convention="convolution")',
            [0, 1, 1, 3.25, 4.5625, 5.640625],
        ),
        _operation(
            "the same, starting from 0 in 1970",
            "ema_halflife(legacy) | | | | ",
            'sf.exponential_smoothing("size", on="time", half_life="1min", interpolation="current", convention="legacy")',
            [1, 1.5, 1.5, 3.375, 4.59375, 5.6484375],
        ),
    ],
    "Windows of rows": [
        _operation("a rolling mean", "| | rolling_mean | rolling.mean | mavg", 'sf["size"].rolling_mean(-1, 0)', [None, 1.5, 2.5, 3.5, 4.5, 5.5]),
        _operation(
            "the same, within a key",
            "| | rolling_mean().over | groupby.rolling | mavg by",
            'sf.rolling_mean("size", -1, 0, by="key")',
            [None, None, 2, 3.5, 3.5, 5],
        ),
        _operation(
            "with fewer rows at the start",
            "| | min_samples | min_periods | mavg",
            'sf["size"].rolling_sum(-2, 0, min_observations=1)',
            [1, 3, 6, 9, 12, 15],
        ),
        _operation(
            "a rolling standard deviation", "| | rolling_std | rolling.std | mdev", 'sf["size"].rolling_stdv(-1, 0)', [None, 0.5, 0.5, 0.5, 0.5, 0.5]
        ),
        _operation("a rolling extreme", "| | rolling_max | rolling.max | mmax", 'sf["size"].rolling_max(-1, 0)', [None, 2, 3, 4, 5, 6]),
        _operation(
            *("any aggregate of the last rows", "| | rolling_map | rolling.apply | ", 'sf.window(None, {"m": agg.MEDIAN("size")}, before=2)["m"]'),
            [1, 1.5, 2, 3, 4, 5],
        ),
        _operation(
            *(
                "the same, within a key",
                "| | rolling(index).over | groupby.rolling.apply | ",
                'sf.window(None, {"s": agg.SUM("size")}, before=1, by="key")["s"]',
            ),
            [1, 2, 4, 7, 7, 10],
        ),
    ],
    "Windows of time": [
        _operation(
            "of the past",
            "pastAbsoluteTime | withRangeStats | rolling_sum_by | rolling(time) | wj1",
            'sf.window("time", {"s": agg.SUM("size")}, before="2min")["s"]',
            [1, 6, 6, 9, 9, 11],
        ),
        _operation(
            "of the future",
            "futureAbsoluteTime | | rolling(offset) | | wj1",
            'sf.window("time", {"s": agg.SUM("size")}, after="2min")["s"]',
            [6, 9, 9, 9, 11, 6],
        ),
        _operation(
            *(
                "within a key",
                "summarizeWindows(key) | withRangeStats | rolling(group_by) | groupby.rolling | wj1",
                'sf.window("time", {"s": agg.SUM("size")}, before="2min", by="key")["s"]',
            ),
            [1, 2, 4, 7, 5, 6],
        ),
        _operation(
            "without one of its ends",
            "| | rolling(closed) | rolling(closed) | ",
            'sf.window("time", {"s": agg.SUM("size")}, before="2min", closed="left")["s"]',
            [0, 1, 1, 5, 4, 5],
        ),
        _operation(
            "with a gap before the row",
            "| | rolling(offset) | | wj1",
            'sf.window("time", {"s": agg.SUM("size")}, before="4min", after="-1min")["s"]',
            [0, 1, 1, 6, 9, 9],
        ),
        _operation("of all rows before", "| | | expanding | ", 'sf.window("time", {"s": agg.SUM("size")}, before="all")["s"]', [1, 6, 6, 10, 15, 21]),
        _operation(
            *("of another frame", "| | | | wj1", 'sf.window("time", {"bids": agg.CONCAT("bid")}, before="2min", by="key", of=quotes)["bids"]'),
            [[3.0], [], [3.0], [], [], [9.0]],
        ),
        _operation(
            *(
                "with the row in force at the start",
                "| | | | wj",
                'sf.window("time", {"n": agg.COUNT()}, before="2min", by="key", of=quotes, prevailing=True)["n"]',
            ),
            [1, 0, 1, 1, 2, 2],
        ),
        _operation(
            *(
                "the correlation in each",
                "summarizeWindows | | rolling_corr | rolling.corr | ",
                'sf.window("time", {"c": agg.CORRELATION("price", "size")}, before="all", by="key")["c"]',
            ),
            [None, None, None, 1.0, 1.0, 0.9226129063148778],
        ),
        _operation(
            *(
                "a quantile of each",
                "summarizeWindows | | rolling_quantile_by | rolling.quantile | ",
                'sf.window("time", {"q": agg.MEDIAN("price")}, before="2min")["q"]',
            ),
            [4, 5.5, 5.5, 6, 7.5, 9],
        ),
    ],
    "Intervals and cycles": [
        _operation(
            *(
                "aggregates of intervals",
                "summarizeIntervals | resample | group_by_dynamic | resample | xbar",
                'sf.groupby_intervals("time", "2min", operations={"s": agg.SUM("size")})["s"]',
            ),
            [6, 4, 5, 6],
        ),
        _operation(
            *(
                "within a key",
                "summarizeIntervals(key) | resample | group_by_dynamic(group_by) | Grouper | xbar by",
                'sf.groupby_intervals("time", "4min", by="key", operations={"s": agg.SUM("size")})',
            ),
            {"time": [minute(0), minute(0), minute(4), minute(4)], "key": ["a", "b", "b", "a"], "s": [8, 2, 5, 6]},
        ),
        _operation(
            *(
                "labelled by their ends",
                "rounding | | label=right | label=right | ",
                'sf.groupby_intervals("time", "4min", label="right", operations={"n": agg.COUNT()})["time"]',
            ),
            [minute(4), minute(8)],
        ),
        _operation(
            *(
                "closed at their ends",
                "inclusion | | closed=right | closed=right | ",
                'sf.groupby_intervals("time", "2min", closed="right", operations={"s": agg.SUM("size")})["s"]',
            ),
            [1, 5, 4, 5, 6],
        ),
        _operation(
            *(
                "open, high, low, close",
                "| calc_bars | agg | ohlc | first, max, min, last",
                'sf.groupby_intervals("time", "4min", operations={"o": agg.FIRST("price"), "h": agg.MAX("price"), "l": agg.MIN("price"), "c": agg.LAST("price")})',
            ),
            {"time": [minute(0), minute(4)], "o": [4, 10], "h": [7, 10], "l": [4, 8], "c": [5, 8]},
        ),
        _operation(
            *("of months", "| | 1mo | MS | month$", 'months.groupby_intervals("day", "1mo", operations={"n": agg.SUM("n")})'),
            {"day": [datetime(2024, 1, 1), datetime(2024, 2, 1)], "n": [1, 6]},
        ),
        _operation(
            *(
                "of days in a zone",
                "| | convert_time_zone | tz_convert | ",
                'SFrame({"t": [minute(60 * n).replace(tzinfo=UTC) for n in (0, 16, 17, 39)]}).groupby_intervals("t", "1d", zone="America/New_York", operations={"n": agg.COUNT()})["n"]',
            ),
            [2, 2],
        ),
        _operation(
            *(
                "from another origin",
                "offset | | offset | origin | xbar",
                'sf.groupby_intervals("time", "4min", origin=minute(1), operations={"s": agg.SUM("size")})["s"]',
            ),
            [1, 9, 11],
        ),
        _operation(
            *(
                "all intervals, including those without rows",
                "| resample | upsample | resample | ",
                'sf.resample("time", "1min", operations={"n": agg.COUNT()})["n"]',
            ),
            [1, 2, None, 1, None, 1, None, 1],
        ),
        _operation(
            "the start of each row's interval",
            "| | dt.truncate | dt.floor | xbar",
            'sf.floor_time("time", "2min")',
            [minute(number) for number in (0, 0, 0, 2, 4, 6)],
        ),
        _operation(
            "a clock",
            "clocks.uniform | | datetime_range | date_range | til",
            'uniform_clock(NOON, minute(4), "2min")["time"]',
            [minute(0), minute(2), minute(4)],
        ),
        _operation(
            *(
                "aggregates of equal times",
                "summarizeCycles | | group_by | groupby | by time",
                'sf.groupby_cycles("time", operations={"s": agg.SUM("size")})["s"]',
            ),
            [1, 5, 4, 5, 6],
        ),
        _operation(
            *(
                "a function of the rows of one time",
                "addColumnsForCycle | | over | transform | fby",
                'sf.add_columns_by_cycle(lambda rows: [len(rows)] * len(rows), "n", on="time")["n"]',
            ),
            [1, 2, 2, 1, 1, 1],
        ),
    ],
    "Joins": [
        _operation(
            "the last row before",
            "leftJoin | asofJoin | join_asof | merge_asof | aj",
            'sf.asof_join(quotes, on="time")["bid"]',
            [3, 3, 3, 6, None, 9],
        ),
        _operation(
            "within a key",
            "leftJoin(key) | asofJoin | join_asof(by) | merge_asof(by) | aj",
            'sf.asof_join(quotes, on="time", by="key")["bid"]',
            [3, None, 3, 3, None, 9],
        ),
        _operation(
            "the first row after",
            "futureLeftJoin | | strategy=forward | direction=forward | ",
            'sf.asof_join(quotes, on="time", direction="forward")["bid"]',
            [3, 6, 6, None, 9, None],
        ),
        _operation(
            "the nearest row",
            "| | strategy=nearest | direction=nearest | ",
            'sf.asof_join(quotes, on="time", direction="nearest", tolerance="30s")["bid"]',
            [3, None, None, None, None, None],
        ),
        _operation(
            "at most a duration away",
            "tolerance | tolerance | tolerance | tolerance | ",
            'sf.asof_join(quotes, on="time", by="key", tolerance="1min")["bid"]',
            [3, None, 3, None, None, 9],
        ),
        _operation(
            "the last row with a value",
            "| skipNulls | | | ",
            'sf.asof_join(quotes, on="time", by="key", skip_missing=True)["bid"]',
            [3, None, 3, 3, 6, 9],
        ),
        _operation(
            "keys with different names",
            "| | left_on, right_on | left_on, right_on | ",
            'sf.asof_join(quotes.rename({"time": "at"}), left_on="time", right_on="at", by="key")["bid"]',
            [3, None, 3, 3, None, 9],
        ),
        _operation(
            "two time lines as one",
            "merge | union | merge_sorted | merge_ordered | uj",
            'sf[["time"]].merge_sorted(quotes[["time"]], on="time")["time"]',
            [minute(number) for number in (0, 0, 1, 1, 2, 3, 4, 5, 6, 7)],
        ),
    ],
    "Joins of intervals, events": [
        _operation(
            "rows in intervals",
            "| | join_where | IntervalIndex | ",
            'sf.join_between(spans[["start", "end", "name"]], "time", "start", "end")["name"]',
            ["first"] * 3 + ["second", "third", "second"],
        ),
        _operation(
            "the same, within a key",
            "| | join_where | | ",
            'sf.join_between(spans, "time", "start", "end", by="key")["name"]',
            ["first", "first", "second"],
        ),
        _operation("intervals that overlap", "| IntervalsDF | join_where | overlaps | ", 'len(spans.join_overlapping(spans, "start", "end"))', 5),
        _operation("rows around events", "| | | | ", 'sf.events(quotes[["time"]], "time", before="1min")["size"]', [1, 2, 3, 4, 5]),
        _operation("intervals united", "| | | | ", 'spans.merge_intervals("start", "end")["start"]', [minute(0), minute(2)]),
        _operation(
            "intervals divided where others begin or end",
            "| disjoint | | | ",
            'spans.disjoint_intervals("start", "end")["start"]',
            [minute(0), minute(2), minute(3)],
        ),
    ],
    "Ranks and bins": [
        _operation("the rank", "| | rank | rank | rank", 'sf["price"].rank()', [1, 3, None, 2, 5, 4]),
        _operation("the rank among rows of a key", "| | rank().over | groupby.rank | rank by", 'sf.rank("price", by="key")', [1, 1, None, 2, 2, 3]),
        _operation("ranks without gaps", "| | rank(dense) | rank(dense) | ", 'SArray([5, 5, 2, 9]).rank("dense")', [2, 2, 1, 3]),
        _operation("as a fraction of all rows", "| | | rank(pct) | ", "SArray([5, 2, 9, 7]).rank(percent=True)", [0.5, 0.25, 1, 0.75]),
        _operation("from the largest", "| | rank(descending) | rank(ascending) | ", 'sf["size"].rank(ascending=False)', [6, 5, 4, 3, 2, 1]),
        _operation("bins by edges", "| | cut | cut | bin", 'sf["size"].cut([2, 4])', [None, None, 0, 0, None, None]),
        _operation("bins with equal numbers of rows", "| | qcut | qcut | xrank", 'sf["size"].qcut(2)', [0, 0, 0, 1, 1, 1]),
    ],
    "Aggregates": [
        _operation("the first value", "| earliest | first | first | first", 'sf.groupby("key", {"x": agg.FIRST("price")})["x"]', [4, 7]),
        _operation("the last value", "| latest | last | last | last", 'sf.groupby("key", {"x": agg.LAST("price")})["x"]', [8, 10]),
        _operation("the median", "quantile | approxQuantile | median | median | med", 'sf.groupby("key", {"x": agg.MEDIAN("price")})["x"]', [5, 8.5]),
        _operation(
            "the weighted mean",
            "weighted_mean | vwap | | | wavg",
            'sf.groupby("key", {"x": agg.WEIGHTED_MEAN("price", "size")})["x"]',
            [72 / 11, 64 / 7],
        ),
        _operation("the covariance", "covariance | | cov | cov | cov", 'sf.groupby([], {"x": agg.COVARIANCE("price", "size")})["x"]', [2.72]),
        _operation("the correlation", "correlation | | corr | corr | cor", 'sf["price"].correlation(sf["size"])', 13.6 / (22.8 * 17.2) ** 0.5),
        _operation("skewness", "skewness | | skew | skew | ", 'sf["size"].skewness()', 0.0),
        _operation("kurtosis", "kurtosis | | kurtosis | kurt | ", 'round(sf["size"].kurtosis(), 6)', -1.268571),
        _operation("the correlation with earlier rows", "| autocorr | | autocorr | ", 'sf["size"].autocorrelation()', 1.0),
        _operation("the product", "product | | product | prod | prd", 'sf["size"].product()', 720),
        _operation("the geometric mean", "geometric_mean | | | | ", "SArray([1.0, 4.0]).geometric_mean()", 2.0),
        _operation(
            *(
                "a linear regression",
                "linear_regression | | | | lsq",
                'sf.groupby([], {"x": agg.LINEAR_REGRESSION("size", ["price"])})["x"][0]["coefficient_price"]',
            ),
            13.6 / 22.8,
        ),
    ],
    "Clocks": [
        _operation(
            "times moved by a duration",
            "shiftTime | | offset_by | shift(freq) | +",
            'sf.shift_time("time", "1min")["time"]',
            [minute(number) for number in (1, 2, 2, 4, 6, 8)],
        ),
        _operation(
            "times moved by months",
            "| | offset_by | DateOffset | ",
            'months.shift_time("day", "1mo")["day"]',
            [datetime(2024, 2, 29), datetime(2024, 3, 1), datetime(2024, 3, 29)],
        ),
        _operation(
            *("times moved by business days", "| | add_business_days | BDay | ", 'months.shift_time("day", "1bd")["day"]'),
            [datetime(2024, 2, 1), datetime(2024, 2, 2), datetime(2024, 3, 1)],
        ),
        _operation(
            *("a summary of the times of a key", "| describe | | | ", 'sf.describe_time("time", by="key")[["key", "count", "granularity", "gaps"]]'),
            {"key": ["a", "b"], "count": [4, 2], "granularity": [60.0, 240.0], "gaps": [2, 0]},
        ),
        _operation(
            "times in a zone",
            "| | convert_time_zone | tz_convert | ltime",
            'str(SArray([NOON.replace(tzinfo=UTC)]).in_zone("America/New_York")[0])',
            "2024-03-09 07:00:00-05:00",
        ),
        _operation(
            "local times to instants",
            "| | replace_time_zone | tz_localize | gtime",
            'str(SArray([NOON]).from_zone("America/New_York")[0])',
            "2024-03-09 12:00:00-05:00",
        ),
    ],
}


def values_of(result: Any) -> Any:
    """The result of a call, as a plain value."""
    if isinstance(result, SFrame):
        return {name: list(result[name]) for name in result.column_names()}
    return list(result) if isinstance(result, SArray) else result


def operations_page(no_edit: str) -> str:
    """The page."""
    count = sum(map(len, OPERATIONS.values()))
    parts = [
        "# Operations on ordered data",
        no_edit,
        f"These are {count} operations on ordered rows in Flint, Tempo, Polars, pandas and kdb+, with their names there and the\n"
        "call that does the same here. A test runs each call over a small frame and compares the values with those worked out\n"
        "by hand. The treatment of missing values, NaN and ties is described in [ordered data](ordered-data.md).",
    ]
    for title, operations in OPERATIONS.items():
        head = ["| what | " + " | ".join(LIBRARIES) + " | here |", "| --- |" + " --- |" * (len(LIBRARIES) + 1)]
        rows = [
            f"| {operation.what} | {' | '.join(f'`{name}`' if name else '' for name in operation.others)} | `{operation.call}` |"
            for operation in operations
        ]
        parts += [f"## {title}", "\n".join([*head, *rows])]
    return "\n\n".join(parts) + "\n"
