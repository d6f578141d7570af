"""Derived properties against enumeration where values are missing and orderings say where missing values stand."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.order import OrderingProperties, derive
from tests.examples import examples
from tests.order.enumeration import Row, entry_key, has_properties, in_order, tables
from tests.order.replay_cases import properties_of_table

VALUES = (None, 0, 1)
LEFT = ("a", "b")
RIGHT = ("k", "v")
Table = dict[str, Any]
Items = list[list[str]]


def items(columns: Sequence[str], most: int = 2) -> st.SearchStrategy[Items]:
    placed = st.sampled_from([["asc"], ["asc"], ["desc"], ["asc", "nulls_last"], ["desc", "nulls_first"]])
    return st.lists(st.builds(lambda column, more: [column, *more], st.sampled_from(columns), placed), min_size=1, max_size=most)


def inputs(columns: Sequence[str]) -> st.SearchStrategy[Table]:
    return st.fixed_dictionaries(
        {
            "columns": st.just(list(columns)),
            "orderings": st.lists(items(columns), max_size=2),
            "keys": st.one_of(st.just([]), st.just([]), st.just([[columns[0]]])),
            "fds": st.one_of(st.just([]), st.just([[[columns[0]], [columns[1]]]])),
            "not_null": st.one_of(st.just([]), st.lists(st.sampled_from(columns), max_size=2)),
        }
    )


def rows_of(table: Table, most: int, values: Sequence[Any] = VALUES) -> Iterable[tuple[Row, ...]]:
    return (rows for rows in tables(table["columns"], most, values) if has_properties(rows, table))


def known_of(table: Table) -> OrderingProperties:
    return properties_of_table(table, ())


def running(values: Sequence[Any], combine: Callable[[Any, Any], Any]) -> list[Any]:
    """Each value combined with those before it; missing values are passed over."""

    def step(so_far: Any, value: Any) -> Any:
        return so_far if value is None else value if so_far is None else combine(so_far, value)

    return list(itertools.accumulate(values, step))


def add(first: int, second: int) -> int:
    return first + second


RUNNING: dict[str, tuple[Callable[[OrderingProperties], OrderingProperties], Callable[[list[Any]], list[Any]]]] = {
    "max": (lambda known: derive.cumulative_max(known, "a", "m"), lambda values: running(values, max)),
    "min": (lambda known: derive.cumulative_min(known, "a", "m"), lambda values: running(values, min)),
    "sum": (lambda known: derive.cumulative_sum(known, "a", "m", non_negative=True), lambda values: running(values, add)),
    "lag": (lambda known: derive.lag(known, "a", "m", missing_first=True), lambda values: [None, *values[:-1]][: len(values)]),
    "repeated lag": (lambda known: derive.lag(known, "a", "m", missing_first=False), lambda values: [*values[:1], *values[:-1]]),
}


@pytest.mark.parametrize("name", RUNNING)
@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(table=inputs(LEFT), requirement=items((*LEFT, "m"), 3))
def test_promises_about_running_columns_hold(name: str, table: Table, requirement: Items) -> None:
    promise, compute = RUNNING[name]
    if not promise(known_of(table)).satisfies(requirement):
        return
    for rows in rows_of(table, 3):
        added = compute([row["a"] for row in rows])
        assert in_order([{**row, "m": value} for row, value in zip(rows, added, strict=True)], requirement)


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(table=inputs(LEFT), requirement=items((*LEFT, "m"), 3), largest=st.booleans())
def test_promises_about_running_extremes_of_groups_hold(table: Table, requirement: Items, largest: bool) -> None:
    function = derive.cumulative_max if largest else derive.cumulative_min
    if not function(known_of(table), "a", "m", ["b"]).satisfies(requirement):
        return
    for rows in rows_of(table, 3):
        groups = [[other["a"] for other in rows[: place + 1] if other["b"] == row["b"]] for place, row in enumerate(rows)]
        added = [running(values, max if largest else min)[-1] for values in groups]
        assert in_order([{**row, "m": value} for row, value in zip(rows, added, strict=True)], requirement)


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(table=inputs(LEFT), by=items(LEFT), requirement=items(LEFT, 3), stable=st.booleans())
def test_promises_about_sorts_hold_exactly(table: Table, by: Items, requirement: Items, stable: bool) -> None:
    promised = derive.sort(known_of(table), by, stable).satisfies(requirement)

    def results(rows: Sequence[Row]) -> Iterable[Sequence[Row]]:
        if stable:
            return [sorted(rows, key=lambda row: [entry_key(row[item[0]], item) for item in by])]
        return (order for order in itertools.permutations(rows) if in_order(order, by))

    assert promised == all(in_order(result, requirement) for rows in rows_of(table, 2) for result in results(rows))


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(left=inputs(LEFT), right=inputs(LEFT), boundary=items(LEFT), strict=st.booleans(), requirement=items(LEFT, 3))
def test_promises_about_appends_hold(left: Table, right: Table, boundary: Items, strict: bool, requirement: Items) -> None:
    if not derive.append(known_of(left), known_of(right), boundary, strict).satisfies(requirement):
        return
    for first, second in itertools.product(rows_of(left, 2), rows_of(right, 2)):
        if first and second:
            ends = [first[-1], second[0]]
            ties = all(ends[0][item[0]] == ends[1][item[0]] for item in boundary)
            if not in_order(ends, boundary) or (strict and ties):
                continue
        assert in_order([*first, *second], requirement)


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(left=inputs(LEFT), right=inputs(RIGHT), requirement=items((*LEFT, *RIGHT), 3), outer=st.booleans(), nulls_match=st.booleans())
def test_promises_about_joins_hold(left: Table, right: Table, requirement: Items, outer: bool, nulls_match: bool) -> None:
    join = derive.join_left if outer else derive.join_inner
    if not join(known_of(left), known_of(right), [("a", "k")], LEFT, RIGHT).satisfies(requirement):
        return
    for first, second in itertools.product(rows_of(left, 2), rows_of(right, 2)):
        choices = []
        for row in first:
            matches = [other for other in second if row["a"] == other["k"] and (nulls_match or row["a"] is not None)]
            if not matches and outer:
                matches = [dict.fromkeys(RIGHT)]
            choices.append([[{**row, **other} for other in order] for order in itertools.permutations(matches)])
        for chosen in itertools.product(*choices):
            assert in_order(list(itertools.chain.from_iterable(chosen)), requirement)


def nearest_row(row: Row, right: Sequence[Row], direction: str, tolerance: int | None, by: bool, prefers_earlier: bool) -> Row:
    """The right row that a left row gets; missing values match nothing."""

    def distance(other: Row) -> int:
        return int(other["k"] - row["a"])

    matches = [other for other in right if other["k"] is not None and row["a"] is not None and (not by or other["v"] == row["b"])]
    if tolerance is not None:
        matches = [other for other in matches if abs(distance(other)) <= tolerance]
    before = [other for other in matches if distance(other) <= 0]
    after = [other for other in matches if distance(other) >= 0]
    last = max(before, key=distance) if before else None
    earlier = [other for other in before if last is not None and other["k"] == last["k"]][-1:]
    later = [min(after, key=distance)] if after else []
    if direction != "nearest":
        found = earlier if direction == "backward" else later
    else:
        both = [*earlier, *later] if prefers_earlier else [*later, *earlier]
        found = sorted(both, key=lambda other: abs(distance(other)))
    return found[0] if found else dict.fromkeys(RIGHT)


@functools.cache
def long_rights() -> tuple[tuple[Row, ...], ...]:
    return tuple(tables(RIGHT, 2, (None, 0, 1, 2)))


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(
    left=inputs(LEFT),
    right=inputs(RIGHT),
    requirement=items((*LEFT, *RIGHT), 3),
    direction=st.sampled_from(["backward", "forward", "nearest"]),
    tolerance=st.sampled_from([None, 0, 1]),
    by=st.booleans(),
    prefers_earlier=st.booleans(),
)
def test_promises_about_as_of_joins_hold(
    left: Table, right: Table, requirement: Items, direction: Any, tolerance: int | None, by: bool, prefers_earlier: bool
) -> None:
    pairs = [("b", "v")] if by else []
    known = derive.asof_left(known_of(left), known_of(right), ("a", "k"), RIGHT, pairs, direction, tolerance is not None)
    if not known.satisfies(requirement):
        return
    rights = [rows for rows in long_rights() if has_properties(rows, right)]
    for first in rows_of(left, 2):
        for second in rights:
            joined = [{**row, **nearest_row(row, second, direction, tolerance, by, prefers_earlier)} for row in first]
            assert in_order(joined, requirement)
