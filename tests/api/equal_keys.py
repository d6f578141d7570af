"""The rule of equal keys in plain Python, and every operation that brings rows together by their keys."""

from __future__ import annotations

import datetime
import itertools
import math
import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark import Image, SArray, SFrame, aggregate
from sframe_spark.testing.oracle_functions import rank
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, IMAGE, INT, NDARRAY, STR, ZONED_DATETIME, ColumnType

Rows = list[dict[str, Any]]
Token = tuple[Any, ...]


def clock(hour: int, offset: int | None) -> datetime.datetime:
    """A time of one day, with an offset in hours."""
    zone = None if offset is None else datetime.timezone(datetime.timedelta(hours=offset))
    return datetime.datetime(2020, 1, 1, hour, tzinfo=zone)


OTHER_NAN = struct.unpack("d", struct.pack("Q", 0xFFF8000000000001))[0]
NOON = [clock(12, 0), clock(14, 2), clock(11, -1), clock(12, None)]
"""One instant four times; a time without offset counts as UTC."""
TRICKY: dict[str, tuple[ColumnType, list[Any]]] = {
    "zoned": (ZONED_DATETIME, [*NOON, clock(12, 2), None]),
    "zero": (FLOAT, [0.0, -0.0, 5e-324, None]),
    "nan": (FLOAT, [math.nan, OTHER_NAN, -math.nan, 1.0, math.inf, None]),
    "text": (STR, ["\u00e9", "e\u0301", "", " ", None]),
    "int": (INT, [2**53, 2**53 + 1, -(2**63), 2**63 - 1, None]),
    "big float": (FLOAT, [2.0**53, 2.0**53 + 2, 2.0**63, None]),
}

TRICKY_NESTED: dict[str, tuple[ColumnType, list[Any]]] = {
    "array": (ARRAY, [array("d", [0.0]), array("d", [-0.0]), array("d", [math.nan]), array("d", [OTHER_NAN]), array("d"), None]),
    "ndarray": (NDARRAY, [np.array([[0.0]]), np.array([[-0.0]]), np.array([0.0]), np.array([math.nan]), np.array([OTHER_NAN]), np.zeros(0), None]),
    "image": (IMAGE, [Image(), Image(np.zeros((1, 2), "uint8")), Image(np.zeros((2, 1), "uint8")), Image(np.ones((1, 2), "uint8")), None]),
    "list": (ENCODED_LIST, [[1, "a"], [1, "b"], [None], [], [[2]], None]),
    "dict": (ENCODED_DICT, [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}, {}, {"a": None}, None]),
}
"""Keys that have no order: operations that sort by their keys, or compare columns, do not take them."""


def moment(value: Any) -> Token:
    """Equal for keys that are equal as ``==`` has it, with missing and NaN equal to themselves."""
    if value is None or (isinstance(value, float) and value != value):
        return ("missing",) if value is None else ("nan",)
    if isinstance(value, datetime.datetime):
        return ("time", value if value.tzinfo else value.replace(tzinfo=datetime.UTC))
    if isinstance(value, np.ndarray):
        return ("ndarray", value.shape, *map(moment, value.ravel().tolist()))
    if isinstance(value, Image):
        return ("image", value)
    if isinstance(value, dict):
        return ("dict", frozenset((key, moment(item)) for key, item in value.items()))
    if isinstance(value, (list, array)):
        return (type(value).__name__, *map(moment, value))
    return (type(value).__name__, value)


def exact(value: Any) -> Token:
    """Equal for keys that are equal as values: a date-time's offset counts too."""
    return (*moment(value), value.utcoffset()) if isinstance(value, datetime.datetime) else moment(value)


@attrs.frozen
class Grouped:
    """Rows ``n`` of a frame with some key columns.

    Parameters
    ----------
    rows
        The rows: ``n`` is the number of the row, ``g`` is zero, ``v`` a float.
    keys
        Names of the key columns.
    """

    rows: Rows
    keys: list[str]

    def together(self, equal: Callable[[Any], Token]) -> list[list[int]]:
        """Numbers of the rows of each group, groups by their first row."""
        found: dict[Any, list[int]] = {}
        for row in self.rows:
            found.setdefault(self.key(row, equal), []).append(row["n"])
        return list(found.values())

    def with_row(self, equal: Callable[[Any], Token]) -> list[list[int]]:
        """For each row the numbers of the rows of its group."""
        groups = self.together(equal)
        return [next(group for group in groups if row["n"] in group) for row in self.rows]

    def key(self, row: dict[str, Any], equal: Callable[[Any], Token]) -> Any:
        """A row's key."""
        return tuple(equal(row[name]) for name in self.keys)

    def is_missing(self, number: int) -> bool:
        """Whether a row misses a key."""
        return any(self.rows[number][name] is None for name in self.keys)


@attrs.frozen
class Operation:
    """An operation on the keys, and what it must give.

    Parameters
    ----------
    build
        From the frame and the names of the key columns to a frame or column.
    expect
        The rows wanted, as tuples.
    in_order
        Rows are compared in their order; otherwise sorted.
    one_key
        Takes one key column only.
    """

    build: Callable[[SFrame, list[str]], SFrame | SArray]
    expect: Callable[[Grouped], list[Any]]
    in_order: bool = False
    one_key: bool = False


def numbers(name: str = "rows") -> dict[str, Any]:
    """The numbers of the rows."""
    return {name: aggregate.CONCAT("n")}


def only(frame: SFrame, *names: str) -> SFrame:
    """Some columns."""
    return frame[list(names)]


def groups_by(equal: Callable[[Any], Token]) -> Callable[[Grouped], list[Any]]:
    """One row per group: the numbers of its rows."""
    return lambda rows: [(group,) for group in rows.together(equal)]


def beside(equal: Callable[[Any], Token]) -> Callable[[Grouped], list[Any]]:
    """Beside each row the numbers of all rows of its group."""
    return lambda rows: [(group,) for group in rows.with_row(equal)]


def so_far(rows: Grouped) -> list[Any]:
    """Beside each row the numbers of the rows of its group up to it."""
    return [([other for other in group if other <= number],) for number, group in enumerate(rows.with_row(moment))]


def smoothed(rows: Grouped) -> list[Any]:
    """Beside each row its smoothed value, with a half-life of one row."""
    result = []
    for (group,) in so_far(rows):
        weights = [0.5 ** (len(group) - 1 - place) for place in range(len(group))]
        result.append((math.fsum(w * rows.rows[n]["v"] for w, n in zip(weights, group, strict=True)) / math.fsum(weights),))
    return result


def row_before(rows: Grouped) -> list[Any]:
    """Beside each row the number of the row before of its key."""
    return [(group[-2] if len(group) > 1 else None,) for (group,) in so_far(rows)]


def sum_so_far(rows: Grouped) -> list[Any]:
    """Beside each row the sum of the numbers of rows so far of its key."""
    return [(sum(group),) for (group,) in so_far(rows)]


def with_gaps(frame: SFrame, keys: list[str]) -> SArray:
    """Numbers of rows of which every second one of each key is left out and filled in, by their places among all rows."""
    so_far = frame.running({"place in key": aggregate.COUNT()}, by=keys)
    so_far["gaps"] = SArray.where(so_far["place in key"] % 2 == 1, so_far["n"], None, dtype=int)
    return so_far.interpolate("gaps", on="n", by=keys)


def with_holes(frame: SFrame, keys: list[str]) -> SArray:
    """Numbers of the first rows of each key, and in the others the last one known."""
    so_far = frame.running({"place in key": aggregate.COUNT()}, by=keys)
    so_far["holes"] = SArray.where(so_far["place in key"] == 1, so_far["n"], None, dtype=int)
    return so_far.fill_forward("holes", by=keys)


def filled_so_far(rows: Grouped) -> list[Any]:
    """Beside each row the number of the first row of its key."""
    return [(group[0],) for (group,) in so_far(rows)]


def filled_in(rows: Grouped) -> list[Any]:
    """Beside each row its number, missing if it is the last of its key and an even one."""
    found = []
    for number, group in enumerate(rows.with_row(moment)):
        is_left_out = group.index(number) % 2 == 1 and number == group[-1]
        found.append((None if is_left_out else float(rows.rows[number]["n"]),))
    return found


def runs(rows: Grouped) -> list[Any]:
    """Numbers of the rows of each run."""
    return [([row["n"] for row in run],) for _, run in itertools.groupby(rows.rows, lambda row: rows.key(row, moment))]


def matches(rows: Grouped) -> list[Any]:
    """Pairs of rows that are equal as values, missing ones too."""
    return [(number, other) for number, group in enumerate(rows.with_row(exact)) for other in group]


def earlier(rows: Grouped) -> list[Any]:
    """Beside each row the last one before it with its key, of those that miss no key."""
    found = []
    for number, group in enumerate(rows.with_row(moment)):
        before = [other for other in group if other < number and not rows.is_missing(number)]
        found.append((before[-1] if before else None,))
    return found


def location_of(value: Any) -> Any:
    """Place of a key in ascending order."""
    return rank(moment(value)[1]) if value is not None and value == value else rank(value)


def merged(rows: Grouped) -> list[Any]:
    """Numbers of the rows in the order of their key, merged with themselves: equal rows of the first frame come first."""
    ordered = sorted(rows.rows, key=lambda row: location_of(row[rows.keys[0]]))
    ties = [[row["n"] for row in tied] for _, tied in itertools.groupby(ordered, lambda row: location_of(row[rows.keys[0]]))]
    return [(number,) for tied in ties for number in [*tied, *tied]]


def first_key(rows: Grouped) -> Any:
    """The key of the first row, to be looked for."""
    return rows.rows[0][rows.keys[0]]


def compared(rows: Grouped) -> list[Any]:
    """Whether each row equals the first."""
    return [(int(moment(row[rows.keys[0]]) == moment(first_key(rows))),) for row in rows.rows]


def found_among(rows: Grouped) -> list[Any]:
    """Whether each row is among the keys of the first two; nothing but numbers is compared as an array is, where NaN equals nothing."""
    wanted = [row[rows.keys[0]] for row in rows.rows[:2]]
    numbers_only = all(isinstance(value, (int, float)) for value in wanted)
    kept = {moment(value) for value in wanted if value == value or not numbers_only}
    return [(int(moment(row[rows.keys[0]]) in kept),) for row in rows.rows]


def chosen_by(rows: Grouped) -> list[Any]:
    """Numbers of the rows with the value of the first."""
    return [(row["n"],) for row in rows.rows if exact(row[rows.keys[0]]) == exact(first_key(rows))]


def how_many(rows: Grouped) -> list[Any]:
    """Number of distinct values so far."""
    return [(len({rows.key(row, exact) for row in rows.rows[: place + 1]}),) for place in range(len(rows.rows))]


def group_sizes(rows: Grouped) -> list[Any]:
    """Number of rows of each group."""
    return [(len(group),) for group in rows.together(exact)]


def listed(rows: list[dict[str, Any]]) -> list[list[int]]:
    """For each row of a cycle the numbers of all its rows."""
    return [[row["n"] for row in rows]] * len(rows)


def as_text(rows: list[dict[str, Any]]) -> list[str]:
    """For each row of a cycle the numbers of all its rows, as a text: of a type that is found without being told."""
    return [str(listed(rows)[0])] * len(rows)


def texts_beside(rows: Grouped) -> list[Any]:
    """Beside each row the numbers of all rows of its group, as a text."""
    return [(str(group),) for (group,) in beside(moment)(rows)]


COUNT_ALL = {"rows": aggregate.COUNT()}
VALUES: dict[str, Operation] = {
    "groupby": Operation(lambda frame, keys: only(frame.groupby(keys, numbers()), "rows"), groups_by(exact)),
    "groupby of sorted rows": Operation(lambda frame, keys: only(frame.sort(keys).groupby(keys, COUNT_ALL), "rows"), group_sizes),
    "unique": Operation(lambda frame, keys: only(frame[keys].unique().groupby([], COUNT_ALL), "rows"), lambda rows: [(len(rows.together(exact)),)]),
    "drop_duplicates": Operation(
        lambda frame, keys: only(frame.drop_duplicates(keys), "n"), lambda rows: [(group[0],) for group in rows.together(exact)]
    ),
    "value_counts": Operation(lambda frame, keys: only(frame[keys[0]].value_counts(), "count"), group_sizes, one_key=True),
    "join": Operation(lambda frame, keys: only(frame.join(frame, on=keys), "n", "n.1"), matches),
    "join of sorted rows": Operation(lambda frame, keys: only(frame.join(frame.sort(keys), on=keys), "n", "n.1"), matches),
    "left join": Operation(lambda frame, keys: only(frame.join(frame, on=keys, how="left"), "n", "n.1"), matches),
    "filter_by": Operation(lambda frame, keys: only(frame.filter_by([frame[keys[0]][0]], keys[0]), "n"), chosen_by, one_key=True),
    "COUNT_DISTINCT": Operation(
        lambda frame, keys: only(frame.groupby("g", {"d": aggregate.COUNT_DISTINCT(keys[0])}), "d"), lambda rows: how_many(rows)[-1:], one_key=True
    ),
    "COUNT_DISTINCT of all rows": Operation(
        lambda frame, keys: frame.groupby([], {"d": aggregate.COUNT_DISTINCT(keys[0])}), lambda rows: how_many(rows)[-1:], one_key=True
    ),
    "COUNT_DISTINCT of sorted rows": Operation(
        lambda frame, keys: only(frame.sort(["g", *keys]).groupby("g", {"d": aggregate.COUNT_DISTINCT(keys[0])}), "d"),
        lambda rows: how_many(rows)[-1:],
        one_key=True,
    ),
    "DISTINCT": Operation(
        lambda frame, keys: frame.groupby([], {"d": aggregate.DISTINCT(keys[0])})["d"].item_length(), lambda rows: how_many(rows)[-1:], one_key=True
    ),
    "COUNT_DISTINCT so far": Operation(
        lambda frame, keys: only(frame.running({"d": aggregate.COUNT_DISTINCT(keys[0])}), "d"), how_many, in_order=True, one_key=True
    ),
    "COUNT_DISTINCT of a window": Operation(
        lambda frame, keys: only(frame.window("n", {"d": aggregate.COUNT_DISTINCT(keys[0])}, before=99), "d"), how_many, in_order=True, one_key=True
    ),
}
"""Operations of the reference: as it has them."""
MOMENTS: dict[str, Operation] = {
    "running": Operation(lambda frame, keys: only(frame.running(numbers(), by=keys), "rows"), so_far, in_order=True),
    "running count": Operation(
        lambda frame, keys: only(frame.running(COUNT_ALL, by=keys), "rows"), lambda rows: [(len(group),) for (group,) in so_far(rows)], in_order=True
    ),
    "exponential_smoothing": Operation(lambda frame, keys: frame.exponential_smoothing("v", half_life=1, by=keys), smoothed, in_order=True),
    "interpolate": Operation(with_gaps, filled_in, in_order=True),
    "fill_forward": Operation(with_holes, filled_so_far, in_order=True),
    "shift": Operation(lambda frame, keys: frame.shift("n", by=keys), row_before, in_order=True),
    "rolling_sum": Operation(lambda frame, keys: frame.rolling_sum("n", -99, 0, 1, by=keys), sum_so_far, in_order=True),
    "cumulative_sum": Operation(lambda frame, keys: frame.cumulative_sum("n", by=keys), sum_so_far, in_order=True),
    "window": Operation(lambda frame, keys: only(frame.window("n", numbers(), before=99, after=99, by=keys), "rows"), beside(moment), in_order=True),
    "join_between": Operation(
        lambda frame, keys: only(frame.join_between(frame[[*keys, "n"]].rename({"n": "p"}), "n", "p", "p", by=keys), "n", "p"),
        lambda rows: [(number, number) for number in range(len(rows.rows))],
        in_order=True,
    ),
    "asof_join": Operation(
        lambda frame, keys: only(frame.asof_join(frame[[*keys, "n", "m"]], on="n", by=keys, allow_exact=False), "m.1"), earlier, in_order=True
    ),
    "groupby_runs": Operation(lambda frame, keys: only(frame.groupby_runs(keys, numbers()), "rows"), runs, in_order=True),
    "groupby_cycles by": Operation(lambda frame, keys: only(frame.groupby_cycles("g", keys, numbers()), "rows"), groups_by(moment)),
    "add_columns_by_cycle by": Operation(
        lambda frame, keys: only(frame.add_columns_by_cycle(listed, "rows", "g", keys, dtypes=list), "rows"), beside(moment), in_order=True
    ),
    "add_columns_by_cycle by, of results' types": Operation(
        lambda frame, keys: only(frame.add_columns_by_cycle(as_text, "rows", "g", keys), "rows"), texts_beside, in_order=True
    ),
    "groupby_intervals by": Operation(
        lambda frame, keys: only(frame.groupby_intervals("g", every=5, by=keys, operations=numbers()), "rows"), groups_by(moment)
    ),
    "resample by": Operation(lambda frame, keys: only(frame.resample("g", 5, numbers(), by=keys), "rows"), groups_by(moment)),
    "==": Operation(lambda frame, keys: frame[keys[0]] == frame[keys[0]][0], compared, in_order=True, one_key=True),
    "is_in": Operation(lambda frame, keys: frame[keys[0]].is_in(list(frame[keys[0]].head(2))), found_among, in_order=True, one_key=True),
}
"""Operations over ordered rows, and comparison: as ``==`` has it."""
OF_TIMES: dict[str, Operation] = {
    "groupby_cycles on": Operation(lambda frame, keys: only(frame.groupby_cycles(keys[0], None, numbers()), "rows"), groups_by(moment), one_key=True),
    "add_columns_by_cycle on": Operation(
        lambda frame, keys: only(frame.add_columns_by_cycle(listed, "rows", keys[0], dtypes=list), "rows"),
        beside(moment),
        in_order=True,
        one_key=True,
    ),
    "add_columns_by_cycle on, of results' types": Operation(
        lambda frame, keys: only(frame.add_columns_by_cycle(as_text, "rows", keys[0]), "rows"), texts_beside, in_order=True, one_key=True
    ),
    "merge_sorted": Operation(
        lambda frame, keys: only(frame.sort(keys[0]).merge_sorted(frame.sort(keys[0]), on=keys[0]), "n"), merged, in_order=True, one_key=True
    ),
}
"""Of columns that have an order."""
OPERATIONS = {**VALUES, **MOMENTS, **OF_TIMES}


def sorted_rows(rows: Sequence[Any]) -> list[Any]:
    """Rows in an order of their own."""
    return sorted(rows, key=repr)
