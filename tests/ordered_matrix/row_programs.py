"""Programs whose values depend on the rows before and after: cumulative, rolling, shift, running, smoothing, interpolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark import SArray, SFrame, aggregate
from tests.ordered_matrix.case import Case, Programs
from tests.ordered_matrix.expected import (
    Rows,
    changes,
    cumulative,
    differences,
    filled,
    interpolated,
    nearest_known,
    ordered,
    quantile_bins,
    ranks,
    rolling,
    running,
    sessions,
    shifted,
    smoothed,
)
from tests.ordered_matrix.shapes import NAMES

STATISTICS = ("sum", "mean", "min", "max", "std", "var")
ROLLING = ("sum", "mean", "min", "max", "stdv", "var")
WINDOWS = ((-2, 0, None), (-1, 2, 2), (-7, -4, 0), (1, 3, 1))

SMALL_STATES = {
    "rows": ("count", ()),
    "total": ("sum", ("v",)),
    "middle": ("mean", ("v",)),
    "low": ("min", ("v",)),
    "high": ("max", ("w",)),
    "spread": ("var", ("w",)),
    "distinct": ("count_distinct", ("t",)),
    "top": ("argmax", ("v", "n")),
    "bottom": ("argmin", ("w", "n")),
    "first": ("select_one", ("n",)),
}
ALL = {**SMALL_STATES, "held": ("concat", ("n",))}

REQUESTS = {
    "count": aggregate.COUNT,
    "sum": aggregate.SUM,
    "mean": aggregate.MEAN,
    "min": aggregate.MIN,
    "max": aggregate.MAX,
    "var": aggregate.VAR,
    "count_distinct": aggregate.COUNT_DISTINCT,
    "argmax": aggregate.ARGMAX,
    "argmin": aggregate.ARGMIN,
    "select_one": aggregate.SELECT_ONE,
    "concat": aggregate.CONCAT,
}


def operations(wanted: Mapping[str, tuple[str, tuple[str, ...]]]) -> dict[str, Any]:
    """Aggregates as users write them."""
    return {name: REQUESTS[function](*columns) for name, (function, columns) in wanted.items()}


def with_columns(frame: SFrame, added: Mapping[str, SArray]) -> SFrame:
    """The frame with new columns."""
    for name, column in added.items():
        frame[name] = column
    return frame


def with_values(rows: Rows, added: Mapping[str, Sequence[Any]]) -> Rows:
    """Rows with new values."""
    return [{**row, **{name: values[place] for name, values in added.items()}} for place, row in enumerate(rows)]


def values(rows: Rows, name: str) -> list[Any]:
    """Values of a column."""
    return [row[name] for row in rows]


def all_cumulative(frame: SFrame) -> SFrame:
    """Every cumulative member of a column of floats and one of ints."""
    return with_columns(frame, {f"{name} {kind}": getattr(frame[name], f"cumulative_{kind}")() for name in "vw" for kind in STATISTICS})


def cumulative_rows(rows: Rows) -> Rows:
    """What they give."""
    return with_values(rows, {f"{name} {kind}": cumulative(values(rows, name), kind) for name in "vw" for kind in STATISTICS})


CUMULATIVE_NAMES = [*NAMES, *[f"{name} {kind}" for name in "vw" for kind in STATISTICS]]


def all_rolling(frame: SFrame, name: str) -> SFrame:
    """Every rolling member of a column over some windows."""
    found = {}
    for first, last, least in WINDOWS:
        found[f"count {first}"] = frame[name].rolling_count(first, last)
        for kind in ROLLING:
            found[f"{kind} {first}"] = getattr(frame[name], f"rolling_{kind}")(first, last, least)
    return with_columns(frame, found)


def rolling_rows(rows: Rows, name: str) -> Rows:
    """What they give."""
    nothing = 0 if name == "w" else 0.0
    found = {f"{kind} {w[0]}": rolling(values(rows, name), kind, *w, nothing) for w in WINDOWS for kind in ("count", *ROLLING)}
    return with_values(rows, found)


ROLLING_NAMES = [*NAMES, *[f"{kind} {window[0]}" for window in WINDOWS for kind in ("count", *ROLLING)]]


def all_shifts(frame: SFrame) -> SFrame:
    """Shifts and differences of every type."""
    moved = {f"{name} {n}": frame[name].shift(n) for name in "tkv" for n in (1, -2, 5, 0)}
    filled = {"filled": frame["w"].shift(3, fill=7), "filled back": frame["k"].shift(-9, fill="z")}
    return with_columns(frame, {**moved, **filled, "t diff": frame["t"].diff(), "w diff": frame["w"].diff(-2), "v diff": frame["v"].diff(4)})


def shifted_rows(rows: Rows) -> Rows:
    """What they give."""
    moved = {f"{name} {n}": shifted(values(rows, name), n, None) for name in "tkv" for n in (1, -2, 5, 0)}
    filled = {"filled": shifted(values(rows, "w"), 3, 7), "filled back": shifted(values(rows, "k"), -9, "z")}
    steps = {"t diff": differences(values(rows, "t"), 1), "w diff": differences(values(rows, "w"), -2), "v diff": differences(values(rows, "v"), 4)}
    return with_values(rows, {**moved, **filled, **steps})


SHIFT_NAMES = [*NAMES, *[f"{name} {n}" for name in "tkv" for n in (1, -2, 5, 0)], "filled", "filled back", "t diff", "w diff", "v diff"]


KEYED_LAGS = (1, -2, 5)


def all_by_key(frame: SFrame) -> SFrame:
    """Shifts, differences, changes, windows and statistics so far within keys."""
    lags, found = frame.shift(["t", "w"], list(KEYED_LAGS), by="k", fill=None), dict[str, SArray]()
    found |= {name: lags[name] for name in lags.column_names()}
    found |= {"w diff": frame.diff("w", -2, by="k"), "v change": frame.pct_change("v", by=["k"])}
    for first, last, least in WINDOWS:
        found[f"count {first}"] = frame.rolling_count("v", first, last, by="k")
        for kind in ROLLING:
            found[f"{kind} {first}"] = getattr(frame, f"rolling_{kind}")("v", first, last, least, by="k")
    return with_columns(frame, {**found, **{f"so far {kind}": getattr(frame, f"cumulative_{kind}")("v", by="k") for kind in STATISTICS}})


def rows_by_key(rows: Rows) -> Rows:
    """What they give."""
    groups: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(row["k"], []).append(place)
    result = [dict(row) for row in rows]
    for places in groups.values():
        found: dict[str, Sequence[Any]] = {
            f"{name}_{n}": shifted([rows[place][name] for place in places], n, None) for name in "tw" for n in KEYED_LAGS
        }
        v, w = ([rows[place][name] for place in places] for name in "vw")
        found |= {"w diff": differences(w, -2), "v change": changes(v)}
        found |= {f"{kind} {window[0]}": rolling(v, kind, *window, 0.0) for window in WINDOWS for kind in ("count", *ROLLING)}
        found |= {f"so far {kind}": cumulative(v, kind) for kind in STATISTICS}
        for name, made in found.items():
            for place, value in zip(places, made, strict=True):
                result[place][name] = value
    return result


KEYED_NAMES = [
    *[*NAMES, *[f"{name}_{n}" for name in "tw" for n in KEYED_LAGS], "w diff", "v change"],
    *[f"{kind} {window[0]}" for window in WINDOWS for kind in ("count", *ROLLING)],
    *[f"so far {kind}" for kind in STATISTICS],
]


def all_smoothing(case: Case) -> SFrame:
    """Smoothing by rows, by time, within groups."""
    frame = case.frame.sort("t")
    half = 2 * case.unit
    return with_columns(
        frame,
        {
            "by rows": frame.exponential_smoothing("v", half_life=2),
            "by rows in groups": frame.exponential_smoothing("v", half_life=1.5, by="k"),
            "by time": frame.exponential_smoothing("v", on="t", half_life=half),
            "by time in groups": frame.exponential_smoothing("v", on="t", half_life=half, by="k"),
        },
    )


def all_interpolation(case: Case) -> SFrame:
    """Points between known values by rows, by time, within groups."""
    frame = case.frame.sort("t")
    ways: dict[str, dict[str, Any]] = {"by rows": {}, "by rows in groups": {"by": "k"}}
    ways |= {"by time": {"on": "t"}, "by time in groups": {"on": "t", "by": "k"}}
    return with_columns(frame, {name: frame.interpolate("v", **way) for name, way in ways.items()})


def all_fillings(case: Case) -> SFrame:
    """Known values before and after by rows, within some rows or some time, within groups."""
    frame = case.frame.sort("t")
    near = 2 * case.unit
    return with_columns(
        frame,
        {
            "before": frame["v"].fill_forward(),
            "after": frame["k"].fill_backward(limit=1),
            "before in groups": frame.fill_forward("v", by="k", limit=2),
            "near": frame.fill_forward("w", on="t", by="k", limit=near),
            "near after": frame.fill_backward("v", on="t", limit=near),
            "nearest": frame.interpolate("v", on="t", method="nearest", limit=near),
        },
    )


def filled_rows(case: Case) -> Rows:
    """What they give."""
    rows, near = ordered(case.rows, ("t", True)), 2 * case.unit
    turned = rows[::-1]
    return with_values(
        rows,
        {
            "before": filled(rows, "v"),
            "after": filled(turned, "k", limit=1)[::-1],
            "before in groups": filled(rows, "v", by=["k"], limit=2),
            "near": filled(rows, "w", on="t", by=["k"], limit=near),
            "near after": filled(turned, "v", on="t", limit=near)[::-1],
            "nearest": nearest_known(rows, near),
        },
    )


FILLED_NAMES = [*NAMES, "before", "after", "before in groups", "near", "near after", "nearest"]


RANKINGS = {"average": {}, "low": {"method": "min", "ascending": False}, "high": {"method": "max"}, "dense": {"method": "dense", "percent": True}}
RANKINGS |= {"first": {"method": "first", "ascending": False}, "share": {"percent": True}}


def all_ranks(frame: SFrame) -> SFrame:
    """Ranks and quantile bins of a column within keys, of one alone, within times."""
    found = {f"v {name}": frame.rank("v", by="k", **way) for name, way in RANKINGS.items()}
    found |= {f"w {name}": frame["w"].rank(**way) for name, way in RANKINGS.items()}
    return with_columns(frame, {**found, "by time": frame.rank("w", by="t"), "bins": frame.qcut("v", 3, by="k"), "all bins": frame["w"].qcut(4)})


def ranked_rows(rows: Rows) -> Rows:
    """What they give."""
    found = {f"v {name}": ranks(rows, "v", ["k"], **way) for name, way in RANKINGS.items()}
    found |= {f"w {name}": ranks(rows, "w", [], **way) for name, way in RANKINGS.items()}
    bins = {"bins": quantile_bins(rows, "v", ["k"], 3), "all bins": quantile_bins(rows, "w", [], 4)}
    return with_values(rows, {**found, "by time": ranks(rows, "w", ["t"]), **bins})


RANK_NAMES = [*NAMES, *[f"{column} {name}" for column in "vw" for name in RANKINGS], "by time", "bins", "all bins"]


def interpolated_rows(case: Case) -> Rows:
    """What it gives."""
    rows = ordered(case.rows, ("t", True))
    ways = {"by rows": (None, ()), "by rows in groups": (None, ["k"]), "by time": ("t", ()), "by time in groups": ("t", ["k"])}
    return with_values(rows, {name: interpolated(rows, *way) for name, way in ways.items()})


def smoothed_rows(case: Case) -> Rows:
    """What it gives."""
    rows = ordered(case.rows, ("t", True))
    half = 2 * case.unit
    return with_values(
        rows,
        {
            "by rows": smoothed(rows, 2, None, ()),
            "by rows in groups": smoothed(rows, 1.5, None, ["k"]),
            "by time": smoothed(rows, half, "t", ()),
            "by time in groups": smoothed(rows, half, "t", ["k"]),
        },
    )


def all_sessions(case: Case) -> SFrame:
    """Numbers of sessions of all rows and within groups."""
    frame = case.frame.sort("t")
    return with_columns(frame, {"of all": frame.sessions("t", case.unit), "in groups": frame.sessions("t", case.unit, by="k")})


def session_rows(case: Case) -> Rows:
    """What it gives."""
    rows = ordered(case.rows, ("t", True))
    return with_values(rows, {"of all": sessions(rows, case.unit, ()), "in groups": sessions(rows, case.unit, ["k"])})


def moved_keys(rows: Rows, by: Any) -> Rows:
    """Rows with keys moved by a duration."""
    return [{**row, "t": None if row["t"] is None else row["t"] + by} for row in rows]


PROGRAMS = Programs()
PROGRAMS.define("cumulative", lambda case: all_cumulative(case.frame), lambda case: cumulative_rows(case.rows), CUMULATIVE_NAMES)
PROGRAMS.define(
    "cumulative of rows sorted descending",
    lambda case: all_cumulative(case.frame.sort("t", ascending=False)),
    lambda case: cumulative_rows(ordered(case.rows, ("t", False))),
    CUMULATIVE_NAMES,
)
for _column in ("v", "w"):
    PROGRAMS.define(
        f"rolling of {_column}", lambda case, c=_column: all_rolling(case.frame, c), lambda case, c=_column: rolling_rows(case.rows, c), ROLLING_NAMES
    )
PROGRAMS.define("shift and diff", lambda case: all_shifts(case.frame), lambda case: shifted_rows(case.rows), SHIFT_NAMES)
PROGRAMS.define(
    "shift and diff of appended rows",
    lambda case: all_shifts(case.frame.append(case.other)),
    lambda case: shifted_rows(case.rows + case.others),
    SHIFT_NAMES,
)
PROGRAMS.define("neighbours by key", lambda case: all_by_key(case.frame), lambda case: rows_by_key(case.rows), KEYED_NAMES)
for _by in ((), ("k",), ("t",), ("t", "k")):
    PROGRAMS.define(
        f"running by {', '.join(_by) or 'nothing'}",
        lambda case, by=_by: case.frame.running(operations(SMALL_STATES), by=list(by) or None),
        lambda case, by=_by: running(case.rows, SMALL_STATES, by),
        [*NAMES, *SMALL_STATES],
    )
PROGRAMS.define(
    "running list of values",
    lambda case: case.frame.running(operations({"held": ALL["held"]}), by="k"),
    lambda case: running(case.rows, {"held": ALL["held"]}, ["k"]),
    [*NAMES, "held"],
)
PROGRAMS.define("interpolation", all_interpolation, interpolated_rows, [*NAMES, "by rows", "by rows in groups", "by time", "by time in groups"])
PROGRAMS.define("known values before and after", all_fillings, filled_rows, FILLED_NAMES)
PROGRAMS.define("ranks", lambda case: all_ranks(case.frame), lambda case: ranked_rows(case.rows), RANK_NAMES)
PROGRAMS.define(
    "ranks of rows in the order of time",
    lambda case: all_ranks(case.frame.sort("t")),
    lambda case: ranked_rows(ordered(case.rows, ("t", True))),
    RANK_NAMES,
)
PROGRAMS.define("exponential smoothing", all_smoothing, smoothed_rows, [*NAMES, "by rows", "by rows in groups", "by time", "by time in groups"])
PROGRAMS.define("sessions", all_sessions, session_rows, [*NAMES, "of all", "in groups"])
PROGRAMS.define(
    "shift_time, then sort",
    lambda case: case.frame.shift_time("t", 3 * case.unit).sort("t"),
    lambda case: ordered(moved_keys(case.rows, 3 * case.unit), ("t", True)),
)
