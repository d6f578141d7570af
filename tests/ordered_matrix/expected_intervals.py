"""Intervals, joins and whole columns in plain Python."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.ordered_matrix.expected import Row, Rows, Wanted, aggregated, groups, is_key, number, ordered, picked, token

EPOCH = datetime.datetime(1970, 1, 1)


def like(key: Any, place: Fraction) -> Any:
    """A number as a key of the kind of another."""
    if not isinstance(key, datetime.datetime):
        return type(key)(place)
    time = EPOCH + datetime.timedelta(microseconds=int(place))
    return time if key.tzinfo is None else time.replace(tzinfo=datetime.UTC).astimezone(key.tzinfo)


def label_of(key: Any, every: Any, ticks: Sequence[Any] | None, closed: str, label: str) -> Any:
    """The label of the interval that holds a key; None where there is none."""
    if not is_key(key) or (isinstance(key, float) and not math.isfinite(key)):
        return None
    at = number(key)
    if ticks is None:
        step = number(every)
        place = math.floor(at / step) if closed == "left" else math.ceil(at / step) - 1
        return like(key, (place + (label == "right")) * step)
    for first, last in itertools.pairwise(ticks):
        if (number(first) <= at < number(last)) if closed == "left" else (number(first) < at <= number(last)):
            return first if label == "left" else last
    return None


def labelled(rows: Rows, every: Any = None, ticks: Sequence[Any] | None = None, closed: str = "left", label: str = "left") -> Rows:
    """Rows that lie in an interval, in order of time, with its label beside them."""
    found = [{**row, "label": label_of(row["t"], every, ticks, closed, label)} for row in ordered(rows, ("t", True))]
    return [row for row in found if row["label"] is not None]


def intervals(rows: Rows, by: Sequence[str], wanted: Wanted, **options: Any) -> Rows:
    """One row per interval and key, ascending by interval, then in order of first appearance of the key."""
    times = groups(labelled(rows, **options), ["label"])
    parts = [group for time in times for group in groups(time, by)]
    return [{"t": part[0]["label"], **picked(part[0], by), **aggregated(part, wanted)} for part in parts]


def resampled(rows: Rows, every: Any, by: Sequence[str], wanted: Wanted, forward: bool) -> Rows:
    """One row per interval from the first to the last of each key, ascending by interval, then by key."""
    result: Rows = []
    for group in groups(labelled(rows, every), by):
        known = {time[0]["label"]: aggregated(time, wanted) for time in groups(group, ["label"])}
        label, last = min(known), max(known)
        before: Row = {}
        while label <= last:
            empty = before if forward else dict.fromkeys(wanted)
            before = known.get(label, empty)
            result.append({"t": label, **picked(group[0], by), **before})
            label = label + every
    return ordered(result, ("t", True), *[(name, True) for name in by])


def joined(rows: Rows, others: Rows, on: str, how: str, value: str) -> Rows:
    """Rows side by side with one column of the other frame; the order that the design gives to each kind of join."""
    pairs = [(i, j) for i, a in enumerate(rows) for j, b in enumerate(others) if token(a[on]) == token(b[on])]
    found = [(i, j, {**rows[i], value: others[j][value]}) for i, j in pairs]
    if how in ("left", "outer"):
        lonely = set(range(len(rows))) - {i for i, _ in pairs}
        found += [(i, 0, {**rows[i], value: None}) for i in lonely]
    if how in ("right", "outer"):
        lonely = set(range(len(others))) - {j for _, j in pairs}
        nothing = dict.fromkeys(("t", "k", "v", "w", "n"))
        found += [(len(rows), j, {**nothing, on: others[j][on], value: others[j][value]}) for j in lonely]
    return [row for _, _, row in sorted(found, key=lambda item: (item[1], item[0]) if how == "right" else (item[0], item[1]))]
