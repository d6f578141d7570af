"""Joins of all four kinds, of few rows and keys of any type, give without Spark the rows of two nested loops, in their order; with Spark too."""

from __future__ import annotations

import datetime
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import sframe_spark as tc
from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.errors import SchemaError
from sframe_spark.operators.joins.equi_join import Join
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session import is_started
from sframe_spark.testing.oracle import Oracle, rows_of
from sframe_spark.types import FLOAT, INT
from tests.examples import by_turns, examples
from tests.random_tables import table_source

JOINS = ("inner", "left", "right", "outer")
NAN = float("nan")
START = datetime.datetime(2020, 1, 1)
Row = tuple[Any, ...]


def same_key(first: Any, second: Any) -> bool:
    """Missing keys are equal, and so are NaN; of date-times the offset counts."""
    if isinstance(first, (tuple, list)) and isinstance(second, (tuple, list)):
        return len(first) == len(second) and all(map(same_key, first, second))
    if isinstance(first, datetime.datetime) and isinstance(second, datetime.datetime) and first.utcoffset() != second.utcoffset():
        return False
    both_nan = isinstance(first, float) and isinstance(second, float) and math.isnan(first) and math.isnan(second)
    return both_nan or first == second


def nested_loops(left: list[Row], right: list[Row], how: str) -> list[Row]:
    """Rows of ``(key, value)`` joined: key, left value, right value; of equal keys the left one is shown, as both zeros are equal."""
    found: list[Row] = []
    if how == "right":
        for key, value in right:
            found += [(again, other, value) for again, other in left if same_key(key, again)] or [(key, None, value)]
        return found
    for key, value in left:
        matches = [(key, value, other) for again, other in right if same_key(key, again)]
        found += matches or ([(key, value, None)] if how != "inner" else [])
    if how == "outer":
        found += [(key, None, value) for key, value in right if not any(same_key(key, again) for again, _ in left)]
    return found


def frame(rows: list[Row], value: str, value_first: bool = False) -> tc.SFrame:
    keys, values = [row[0] for row in rows], [row[1] for row in rows]
    made = tc.SFrame({"k": tc.SArray(keys, dtype=kind_of(keys)), value: tc.SArray(values, dtype=kind_of(values))})
    return made[[value, "k"]] if value_first else made


def kind_of(values: list[Any]) -> type:
    return next((type(value) for value in values if value is not None), int)


def rows(joined: tc.SFrame) -> list[Row]:
    return [(row["k"], row["v"], row["w"]) for row in joined]


def shown(found: list[Row]) -> list[str]:
    """NaN is no other NaN."""
    return list(map(repr, found))


LEFT_VALUES = st.one_of(st.none(), st.integers(0, 3))
RIGHT_VALUES = st.sampled_from(["none", "float", "text", "list"])
VALUES = {"none": [None, 1], "float": [None, NAN, 0.5], "text": [None, "", "a"], "list": [None, [1, "b"], [NAN]]}


@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_rows_are_those_of_nested_loops(data: st.DataObject) -> None:
    keys = st.integers(-2, 4)
    if data.draw(st.booleans()):
        keys = keys.map(lambda days: START + datetime.timedelta(days=days))
    missing = data.draw(st.sampled_from(["left", "right", "nowhere"]))
    of_left, of_right = (st.one_of(st.none(), keys) if missing == side else keys for side in ("left", "right"))
    values = st.sampled_from(VALUES[data.draw(RIGHT_VALUES)])
    left = data.draw(st.lists(st.tuples(of_left, LEFT_VALUES), min_size=1, max_size=14))
    right = data.draw(st.lists(st.tuples(of_right, values), min_size=1, max_size=14))
    if kind_of([key for key, _ in left]) is not kind_of([key for key, _ in right]):
        return
    started = is_started()
    # Of more than 230 possible rows the matches are counted first.
    with config.using(batch_rows=data.draw(st.sampled_from([1, 3, 131_072])), small_rows=data.draw(st.sampled_from([230, 262_144]))):
        for how in JOINS:
            sides = frame(left, "v", data.draw(st.booleans())), frame(right, "w", data.draw(st.booleans()))
            expected = nested_loops(left, right, how)
            assert shown(rows(sides[0].join(sides[1], on="k", how=how))) == shown(expected)
            assert len(sides[0].join(sides[1], on="k", how=how)) == len(expected)
            start, stop = sorted(data.draw(st.lists(st.integers(0, len(expected) + 1), min_size=2, max_size=2)))
            assert shown(rows(sides[0].join(sides[1], on="k", how=how)[start:stop])) == shown(expected[start:stop])
            above = sides[0].join(sides[1], on="k", how=how)
            assert shown(list(above[above["v"] > 0]["k"])) == shown([key for key, value, _ in expected if value is not None and value > 0])
    assert is_started() == started


@pytest.mark.parametrize("how", JOINS)
def test_sides_without_rows_and_sides_of_keys_alone(how: str) -> None:
    left, nothing = [(1, 5), (1, 6), (2, 7)], tc.SFrame({"k": tc.SArray([], dtype=int), "w": tc.SArray([], dtype=str)})
    started = is_started()
    assert rows(frame(left, "v").join(nothing, on="k", how=how)) == nested_loops(left, [], how)
    turned = nothing.rename({"w": "v"}).join(frame(left, "w"), on="k", how=how)
    assert rows(turned) == nested_loops([], left, how)
    keys = frame(left, "v")[["k"]].join(tc.SFrame({"k": [3, 1]}), on="k", how=how)
    assert list(keys["k"]) == {"inner": [1, 1], "left": [1, 1, 2], "right": [3, 1, 1], "outer": [1, 1, 2, 3]}[how]
    assert is_started() == started


@pytest.mark.parametrize("how", JOINS)
def test_joins_of_joins_and_of_filtered_rows(how: str) -> None:
    left, right, other = [(k % 4, k) for k in range(9)], [(k % 5, -k) for k in range(12)], [(9, 0), (3, 1), (3, 2)]
    started = is_started()
    first, second, third = frame(left, "v"), frame(right, "w"), frame(other, "v")
    some = first[first["v"] > 2].join(second[second["w"] < -3], on="k", how=how)
    pairs = nested_loops([row for row in left if row[1] > 2], [row for row in right if row[1] < -3], how)
    assert rows(some) == pairs
    for again in JOINS:
        joined = third.join(some.remove_column("v"), on="k", how=again)
        assert rows(joined) == nested_loops(other, [(key, value) for key, _, value in pairs], again)
    assert is_started() == started


@pytest.mark.parametrize("how", JOINS)
def test_a_function_of_either_side_is_called_once_for_each_row(how: str) -> None:
    calls: list[tuple[str, int]] = []

    def noted(side: str) -> Any:
        return lambda value: calls.append((side, value)) or value % 3

    left, right = frame([(k % 3, k) for k in range(7)], "v"), frame([(k, k) for k in range(8)], "w")
    left["v"], right["k"] = left["v"].apply(noted("left"), dtype=int), right["w"].apply(noted("right"), dtype=int)
    calls.clear()
    expected = nested_loops([(k % 3, k % 3) for k in range(7)], [(k % 3, k) for k in range(8)], how)
    assert rows(left.join(right, on="k", how=how)) == expected
    assert len(calls) == len(set(calls))


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_plans_mean_what_the_join_means(data: st.DataObject) -> None:
    some = st.one_of(st.none(), st.integers(0, 3)), st.integers(0, 3)
    nullable = data.draw(st.integers(0, 1))
    sides = []
    for side in (0, 1):
        keys = data.draw(st.lists(some[0 if side == nullable else 1], max_size=9))
        sides.append(table_source([[0.5 * row for row in range(len(keys))], keys, list(range(len(keys)))], [FLOAT, INT, INT], len(keys)))
    node = Join((1,), (1,), data.draw(st.sampled_from(JOINS))).make_planner_node(*sides)
    plan = optimize(node)
    assert all(below.operator_type != "join" for below in postorder([plan]))
    assert Oracle().rows(plan) == Oracle().rows(node)
    assert rows_of(read_all(node).columns, node.schema) == Oracle().rows(node)


HOUR = datetime.timedelta(hours=1)
ZONED = START.replace(tzinfo=datetime.UTC)
KEYS: dict[type, list[Any]] = {
    int: [None, 0, 1, 2**63 - 1],
    float: [None, NAN, 0.0, -0.0, 0.5, -math.inf],
    str: [None, "", "a", "A", "\u00e9", "e\u0301"],
    datetime.datetime: [None, ZONED, ZONED.astimezone(datetime.timezone(HOUR)), ZONED + HOUR],
    list: [None, [], [1, "b"], [NAN], [None]],
    dict: [None, {}, {"a": 1, "b": ["c"]}, {"b": ["c"], "a": 1}, {"a": 2}],
}


def keyed(rows: list[Row], kinds: list[type], value: str) -> tc.SFrame:
    """Rows of ``(keys, value)``."""
    keys = {f"k{place}": tc.SArray([row[0][place] for row in rows], dtype=kind) for place, kind in enumerate(kinds)}
    return tc.SFrame({**keys, value: tc.SArray([row[1] for row in rows], dtype=int)})


def check_keys(left: list[Row], right: list[Row], kinds: list[type], how: str) -> None:
    """Rows, their number and some of them are those of nested loops."""
    names = [f"k{place}" for place in range(len(kinds))]
    joined = keyed(left, kinds, "v").join(keyed(right, kinds, "w"), on=names, how=how)
    expected = nested_loops(left, right, how)
    found = [(tuple(row[name] for name in names), row["v"], row["w"]) for row in joined]
    assert shown(found) == shown(expected)
    again = keyed(left, kinds, "v").join(keyed(right, kinds, "w"), on=names, how=how)
    assert list(again["w"][1:]) == [value for _, _, value in expected[1:]]
    assert len(again) == len(expected)


@settings(max_examples=examples(20), deadline=None)
@given(st.data())
def test_keys_of_any_type_one_or_two_missing_on_both_sides(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from([*KEYS]), min_size=1, max_size=2))
    keys = st.tuples(*(st.sampled_from(KEYS[kind]) for kind in kinds))
    left, right = (data.draw(st.lists(st.tuples(keys, LEFT_VALUES), min_size=1, max_size=12)) for _ in range(2))
    started = is_started()
    with config.using(batch_rows=data.draw(st.sampled_from([1, 3, 131_072])), small_rows=data.draw(st.sampled_from([100, 262_144]))):
        for how in JOINS:
            check_keys(left, right, kinds, how)
    assert is_started() == started


@pytest.mark.spark
@pytest.mark.parametrize("how", JOINS)
def test_spark_has_the_same_rows(how: str, spark: object) -> None:
    generator = random.Random(5)
    for kinds in by_turns(([float], [str, int], [datetime.datetime], [dict, list]), 4, list(JOINS).index(how)):
        sides = [[(tuple(generator.choice(KEYS[kind]) for kind in kinds), number) for number in range(9)] for _ in range(2)]
        with config.using(small_rows=0):
            check_keys(sides[0], sides[1], kinds, how)


@pytest.mark.parametrize("keys", [((), ()), ((0,), ()), ((0, 0), (0,))])
def test_a_plan_of_others_whose_keys_are_no_pairs_is_refused(keys: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    left, right = tc.SFrame({"a": [1, 2]}), tc.SFrame({"b": [3]})
    with pytest.raises(SchemaError, match=r"it needs as many, and one at least"):
        Join(*keys, "inner").make_planner_node(left._node, right._node)
