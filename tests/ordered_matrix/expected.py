"""What the members of SFrame over ordered rows mean, written down once more: lists of dicts, every pair of rows looked at."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sframe_spark.testing.oracle import point_between
from sframe_spark.testing.oracle_functions import AGGREGATES, exact_sum, is_nan, mean, present, rank, smallest, squared_deviations, token

Row = dict[str, Any]
Rows = list[Row]
Wanted = Mapping[str, tuple[str, tuple[str, ...]]]
"""Output name: name of the aggregate and of its columns."""

KINDS = {"v": "float", "w": "int", "n": "int", "k": "str"}


def is_key(value: Any) -> bool:
    """True for a key that is somewhere: neither missing nor NaN."""
    return value is not None and value == value


def number(value: Any) -> Any:
    """A key as an exact number; infinities stay floats."""
    if isinstance(value, (datetime.datetime, datetime.timedelta)):
        since = naive(value) - datetime.datetime(1970, 1, 1) if isinstance(value, datetime.datetime) else value
        return Fraction(since // datetime.timedelta(microseconds=1))
    return Fraction(value) if math.isfinite(value) else value


def naive(value: datetime.datetime) -> datetime.datetime:
    """A date-time by the clock of UTC."""
    return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


def moment(value: Any) -> Any:
    """A hashable that is equal for keys that ordered operations take as one: date-times by their instants."""
    return token(naive(value) if isinstance(value, datetime.datetime) else value)


def distance(first: Any, second: Any) -> Any:
    """Distance between two keys."""
    return 0 if first == second else abs(number(first) - number(second))


def same(row: Row, other: Row, names: Sequence[str]) -> bool:
    """True if two rows belong to one group."""
    return all(moment(row[name]) == moment(other[name]) for name in names)


def aggregated(rows: Rows, wanted: Wanted) -> Row:
    """Aggregates of some rows."""
    result: Row = {}
    for name, (function, columns) in wanted.items():
        values = [[row[column] for row in rows] for column in columns]
        result[name] = len(rows) if function == "count" else AGGREGATES[function](values, (), [KINDS.get(column, "") for column in columns])
    return result


def groups(rows: Rows, names: Sequence[str]) -> list[Rows]:
    """Rows of each group, groups in order of first appearance."""
    found: dict[Any, Rows] = {}
    for row in rows:
        found.setdefault(tuple(moment(row[name]) for name in names), []).append(row)
    return list(found.values())


def picked(row: Row, names: Sequence[str]) -> Row:
    """Some columns of a row."""
    return {name: row[name] for name in names}


def ordered(rows: Rows, *by: tuple[str, bool]) -> Rows:
    """Rows in an order, ties in their places: each pass is stable, so the first column decides."""
    result = list(rows)
    for name, ascending in reversed(by):
        result = result if ascending else result[::-1]
        result.sort(key=lambda row: rank(row[name]))
        result = result if ascending else result[::-1]
    return result


def grouped(rows: Rows, names: Sequence[str], wanted: Wanted) -> Rows:
    """One row per group, ascending by the keys."""
    found = [{**picked(group[0], names), **aggregated(group, wanted)} for group in groups(rows, names)]
    return ordered(found, *[(name, True) for name in names])


def cycles(rows: Rows, on: str, by: Sequence[str], wanted: Wanted) -> Rows:
    """One row per time and key: ascending by time, then in order of first appearance of the key."""
    times = groups(ordered(rows, (on, True)), [on])
    return [{**picked(group[0], [on, *by]), **aggregated(group, wanted)} for time in times for group in groups(time, by)]


def by_cycle(rows: Rows, on: str, by: Sequence[str], name: str, function: Callable[[Rows], list[Any]]) -> Rows:
    """Rows in their places with what a function makes of all rows of one time and key."""
    added = {id(row): value for group in groups(rows, [on, *by]) for row, value in zip(group, function(group), strict=True)}
    return [{**row, name: added[id(row)]} for row in rows]


def runs(rows: Rows, names: Sequence[str], wanted: Wanted) -> Rows:
    """One row per run of consecutive equal rows."""
    found = [list(run) for _, run in itertools.groupby(rows, lambda row: [moment(row[name]) for name in names])]
    return [{**picked(run[0], names), **aggregated(run, wanted)} for run in found]


def near(row: Row, others: Rows, on: str, by: Sequence[str], exact: bool) -> list[int]:
    """Places of rows that an as-of join may find."""
    if not is_key(row[on]) or any(row[name] is None for name in by):
        return []
    keyed = [place for place, other in enumerate(others) if is_key(other[on]) and same(row, other, by)]
    return [place for place in keyed if exact or others[place][on] != row[on]]


def asof(rows: Rows, others: Rows, found_as: Mapping[str, str], on: str = "t", by: Sequence[str] = (), **options: Any) -> Rows:
    """Each row with some columns (output name to name) of the row that it finds."""
    direction, tolerance = options.get("direction", "backward"), options.get("tolerance")
    result = []
    for row in rows:
        places = near(row, others, on, by, options.get("exact", True))
        before = max((place for place in places if others[place][on] <= row[on]), key=lambda place: (others[place][on], place), default=None)
        after = min((place for place in places if others[place][on] >= row[on]), key=lambda place: (others[place][on], place), default=None)
        sides = {"backward": [before], "forward": [after], "nearest": [before, after]}[direction]
        ends = [place for place in sides if place is not None]
        best = min(ends, key=lambda place: distance(others[place][on], row[on]), default=None)
        if best is not None and tolerance is not None and distance(others[best][on], row[on]) > number(tolerance):
            best = None
        result.append({**row, **{new: None if best is None else others[best][name] for new, name in found_as.items()}})
    return result


def window(rows: Rows, wanted: Wanted, before: Any, after: Any, by: Sequence[str]) -> Rows:
    """Each row with aggregates of the rows whose key is near its own, in the order of the key."""
    result = []
    for row in rows:
        inside = []
        for other in ordered(rows, ("t", True)) if is_key(row["t"]) else []:
            if is_key(other["t"]) and same(row, other, by):
                limit = before if other["t"] < row["t"] else after
                inside += [other] * (distance(other["t"], row["t"]) <= number(limit))
        result.append({**row, **aggregated(inside, wanted)})
    return result


def running(rows: Rows, wanted: Wanted, by: Sequence[str]) -> Rows:
    """Each row with aggregates of the rows up to and including it."""
    return [{**row, **aggregated([other for other in rows[: place + 1] if same(row, other, by)], wanted)} for place, row in enumerate(rows)]


def statistic(kind: str, values: Sequence[Any]) -> Any:
    """One statistic of the values that are not missing; missing when there is none."""
    found = present(values)
    if not found:
        return None
    if kind in ("std", "stdv"):
        return math.sqrt(squared_deviations(found) / len(found))
    functions: dict[str, Callable[[], Any]] = {
        "sum": lambda: exact_sum(found),
        "mean": lambda: mean(found),
        # As the reference has it: NaN wins where it comes first, and is passed over elsewhere.
        "min": lambda: found[0] if is_nan(found[0]) else smallest(found, False, True),
        "max": lambda: found[0] if is_nan(found[0]) else smallest(found, True, True),
        "var": lambda: squared_deviations(found) / len(found),
    }
    return functions[kind]()


def cumulative(values: Sequence[Any], kind: str) -> list[Any]:
    """Statistics of the values up to and including each."""
    return [statistic(kind, values[: place + 1]) for place in range(len(values))]


def rolling(values: Sequence[Any], kind: str, first: int, last: int, least: int | None, nothing: float) -> list[Any]:
    """Statistics of the values between two offsets from each; ``nothing`` is their sum where there is none."""
    result: list[Any] = []
    for place in range(len(values)):
        found = present([values[other] for other in range(place + first, place + last + 1) if 0 <= other < len(values)])
        if kind == "count":
            result.append(len(found))
        elif not found and least == 0 and kind in ("sum", "var", "stdv"):
            result.append(nothing if kind == "sum" else 0.0)
        elif len(found) < (last - first + 1 if least is None else max(least, 1)):
            result.append(None)
        else:
            result.append(statistic(kind, found))
    return result


def shifted(values: Sequence[Any], count: int, fill: Any) -> list[Any]:
    """Values moved by some rows."""
    return [values[place - count] if 0 <= place - count < len(values) else fill for place in range(len(values))]


def differences(values: Sequence[Any], count: int) -> list[Any]:
    """Each value less that of an earlier row; of date-times in seconds."""
    pairs = zip(values, shifted(values, count, None), strict=True)
    found = [None if value is None or other is None else value - other for value, other in pairs]
    return [item.total_seconds() if isinstance(item, datetime.timedelta) else item for item in found]


def changes(values: Sequence[Any]) -> list[Any]:
    """Each value relative to the one before, less one, as IEEE 754 divides."""
    with np.errstate(all="ignore"):
        return [
            None if value is None or other is None else float(np.float64(value) / np.float64(other) - 1.0)
            for value, other in zip(values, shifted(values, 1, None), strict=True)
        ]


def interpolated(rows: Rows, on: str | None, by: Sequence[str]) -> list[Any]:
    """The values ``v``, with points between those before and after in place of what is missing."""
    result: list[Any] = []
    for row in rows:
        seen = [(place, other) for place, other in enumerate(other for other in rows if same(row, other, by))]
        here = next(place for place, other in seen if other is row)
        known = [(place, other) for place, other in seen if is_key(other["v"]) and (on is None or is_key(other[on]))]
        before, after = [item for item in known if item[0] < here][-1:], [item for item in known if item[0] > here][:1]
        value = None if row["v"] is None else float(row["v"])
        if not is_key(value) and before and after and (on is None or is_key(row[on])):
            ends = [(place if on is None else other[on], float(other["v"])) for place, other in (*before, *after)]
            value = point_between(ends[0], here if on is None else row[on], ends[1])
        result.append(value)
    return result


def filled(rows: Rows, name: str, on: str | None = None, by: Sequence[str] = (), limit: Any = None) -> list[Any]:
    """The values of a column, and where they are missing the last known one before, no further away than a limit of rows or along a column."""
    result: list[Any] = []
    for place, row in enumerate(rows):
        seen = [other for other in rows[: place + 1] if same(row, other, by)]
        known = [(at, other) for at, other in enumerate(seen[:-1]) if other[name] is not None and (on is None or is_key(other[on]))]
        value = row[name]
        if value is None and known and (on is None or is_key(row[on])):
            at, other = known[-1]
            away = len(seen) - 1 - at if on is None else distance(other[on], row[on])
            value = other[name] if limit is None or away <= number(limit) else None
        result.append(value)
    return result


def nearest_known(rows: Rows, limit: Any) -> list[Any]:
    """The values ``v`` as floats, and where they are missing the nearest known one along ``t`` of those before and after."""
    result: list[Any] = []
    for place, row in enumerate(rows):
        known = [(at, other) for at, other in enumerate(rows) if is_key(other["v"]) and is_key(other["t"])]
        before, after = [item for at, item in known if at < place][-1:], [item for at, item in known if at > place][:1]
        value = None if row["v"] is None else float(row["v"])
        if not is_key(value) and is_key(row["t"]) and before and after:
            best = min((*before, *after), key=lambda other, row=row: distance(other["t"], row["t"]))
            value = float(best["v"]) if distance(best["t"], row["t"]) <= number(limit) else value
        result.append(value)
    return result


def ranks(
    rows: Rows, name: str, by: Sequence[str], method: str = "average", ascending: bool = True, percent: bool = False
) -> list[int | float | None]:
    """Ranks of the values of a column among the rows that are equal in some columns: by counting smaller and equal ones."""
    result: list[int | float | None] = []
    for place, row in enumerate(rows):
        if row[name] is None:
            result.append(None)
            continue
        mine = rank(row[name])
        others = [(rank(other[name]), at) for at, other in enumerate(rows) if other[name] is not None and same(row, other, by)]
        before = [other for other, _ in others if (other < mine if ascending else other > mine)]
        equal = [at for other, at in others if other == mine]
        low, high = len(before) + 1, len(before) + len(equal)
        found: int | float = {
            "average": (low + high) / 2,
            "min": low,
            "max": high,
            "dense": len(set(before)) + 1,
            "first": low + sum(at < place for at in equal),
        }[method]
        total = len({other for other, _ in others}) if method == "dense" else len(others)
        result.append(found / total if percent else found)
    return result


def quantile_bins(rows: Rows, name: str, by: Sequence[str], count: int) -> list[int | None]:
    """The first bin of ``count`` whose upper quantile, linearly between two values, is not below a value."""
    result: list[int | None] = []
    for row in rows:
        if row[name] is None:
            result.append(None)
            continue
        values = sorted(rank(other[name]) for other in rows if other[name] is not None and same(row, other, by))
        smaller = values.index(rank(row[name]))
        result.append(next(j for j in range(count) if smaller * count <= (len(values) - 1) * (j + 1)))
    return result


def sessions(rows: Rows, gap: Any, by: Sequence[str]) -> list[int | None]:
    """Numbers of the sessions of each key, of times ``t`` in order."""
    result: list[int | None] = []
    for here, row in enumerate(rows):
        times = [other["t"] for other in rows[: here + 1] if same(row, other, by) and is_key(other["t"])]
        apart = [distance(later, earlier) > number(gap) for earlier, later in itertools.pairwise(times)]
        result.append(sum(apart) if is_key(row["t"]) else None)
    return result


def smoothed(rows: Rows, half_life: Any, on: str | None, by: Sequence[str]) -> list[Any]:
    """Weighted means of the values ``v`` so far; a weight halves with every half-life."""
    result: list[Any] = []
    for here, row in enumerate(rows):
        seen = [other for other in rows[: here + 1] if same(row, other, by)]
        known = [(place, other) for place, other in enumerate(seen) if other["v"] is not None and (on is None or is_key(other[on]))]
        if not known or (on is not None and not is_key(row[on])):
            result.append(None)
            continue
        # Relative to the last value, which only multiplies all weights: so they are numbers where a key is infinite.
        at, last = known[-1]
        gaps = [at - place if on is None else distance(last[on], other[on]) for place, other in known]
        weights = [0.5 ** (float(gap) / float(number(half_life))) for gap in gaps]
        result.append(sum(weight * other["v"] for weight, (_, other) in zip(weights, known, strict=True)) / sum(weights))
    return result
