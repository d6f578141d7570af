"""The oracle itself: its scalar functions agree with recorded facts of the reference, its operators with rows written by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from sframe_spark.operators import project_zip_arrange, sort_top_rows_and_assumed_order as sort_operators
from sframe_spark.operators.append import append
from sframe_spark.operators.groupby import groupby
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.joins import equi_join
from sframe_spark.operators.row_selection import filter_by_mask, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import TopRows
from sframe_spark.operators.window import cumulative, rolling
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.oracle import Oracle
from sframe_spark.testing.oracle_functions import SCALARS, rows_equal
from sframe_spark.types import FLOAT, INT, STR
from tests.facts import from_fact, load_facts, same
from tests.random_tables import table_source

RECORDED = load_facts("operator_facts.json")
VALUES = {name: from_fact(RECORDED["columns"][name]) for name in ("int", "int2", "float", "float2", "str", "str2")}
# Where the engine deviates from the reference with a reason, the oracle does too.
OURS = {(fact["function"], str(fact["arguments"])): fact["ours"] for fact in load_facts("operator_deviations.json")}
NAN = math.nan


def wanted_facts() -> list[tuple[str, list[Any], Any]]:
    """Facts about plain columns and scalars for which the oracle has a function, and which do not raise."""
    found = []
    for function, arguments, expected in RECORDED["facts"]:
        plain = all(item in VALUES if isinstance(item, str) else isinstance(from_fact(item["scalar"]), (int, float, str)) for item in arguments)
        outcome = OURS.get((function, str(arguments)), expected)
        if function in SCALARS and plain and "value" in outcome:
            found.append((function, arguments, from_fact(outcome["value"])))
    return found


def operand(place: Any) -> Any:
    return VALUES[place] if isinstance(place, str) else itertools.repeat(from_fact(place["scalar"]))


@pytest.mark.parametrize("function", sorted({fact[0] for fact in wanted_facts()}))
def test_scalar_functions_agree_with_the_reference(function: str) -> None:
    wrong = []
    for name, arguments, expected in wanted_facts():
        if name == function:
            found = [SCALARS[name](*values) for values, _ in zip(zip(*map(operand, arguments), strict=False), expected, strict=False)]
            if not same(found, expected):
                wrong.append((arguments, found, expected))
    assert wrong == []


def test_many_facts_are_used() -> None:
    assert len(wanted_facts()) > 200


LEFT = table_source([[2, 1, 2, None], ["a", "b", "c", "d"]], [INT, STR], 4)
RIGHT = table_source([[2, None, 3, 2], [0.5, 1.5, 2.5, 3.5]], [INT, FLOAT], 4)
FLOATS = table_source([[1.0, NAN, None, -2.0, 1.0], [0, 1, 2, 3, 4]], [FLOAT, INT], 5)
NUMBERS = table_source([[3, None, 1, 2]], [INT], 4)

# The documented order of rows: docs/design.md, table "Order".
CASES: list[tuple[str, PlannerNode, list[tuple[Any, ...]]]] = [
    (
        "sort: missing first, NaN last, ties as they were",
        sort_operators.sort_rows(FLOATS, [(0, True)]),
        [(None, 2), (-2.0, 3), (1.0, 0), (1.0, 4), (NAN, 1)],
    ),
    (
        "sort down: the same backwards but for ties",
        sort_operators.sort_rows(FLOATS, [(0, False)]),
        [(NAN, 1), (1.0, 0), (1.0, 4), (-2.0, 3), (None, 2)],
    ),
    (
        "sort by the second column within the first",
        sort_operators.sort_rows(LEFT, [(0, False), (1, False)]),
        [(2, "c"), (2, "a"), (1, "b"), (None, "d")],
    ),
    (
        "inner join: left order, then right order",
        equi_join.join(LEFT, RIGHT, [0], [0], "inner"),
        [(2, "a", 0.5), (2, "a", 3.5), (2, "c", 0.5), (2, "c", 3.5), (None, "d", 1.5)],
    ),
    (
        "outer join: unmatched right rows last",
        equi_join.join(LEFT, RIGHT, [0], [0], "outer"),
        [(2, "a", 0.5), (2, "a", 3.5), (1, "b", None), (2, "c", 0.5), (2, "c", 3.5), (None, "d", 1.5), (3, None, 2.5)],
    ),
    (
        "right join: right order, then left order",
        equi_join.join(LEFT, RIGHT, [0], [0], "right"),
        [(2, "a", 0.5), (2, "c", 0.5), (None, "d", 1.5), (3, None, 2.5), (2, "a", 3.5), (2, "c", 3.5)],
    ),
    (
        "groups ascend, missing first",
        groupby.group_by(LEFT, [0], [Aggregation("count"), Aggregation("concat", (1,))]),
        [(None, 1, ["d"]), (1, 1, ["b"]), (2, 2, ["a", "c"])],
    ),
    (
        "a mask drops missing and zero",
        filter_by_mask(LEFT, project_zip_arrange.project(table_source([[1, 0, None, -1]], [INT], 4), [0])),
        [(2, "a"), (None, "d")],
    ),
    ("running sums pass over missing values", cumulative.cumulative(NUMBERS, "sum"), [(3,), (3,), (4,), (6,)]),
    ("a window that is not full is missing", rolling.rolling(NUMBERS, "sum", -1, 0), [(None,), (None,), (None,), (3,)]),
    ("a window needs as many values as asked for", rolling.rolling(NUMBERS, "mean", -1, 0, 1), [(3.0,), (3.0,), (1.0,), (1.5,)]),
    ("every second row from the second on", slice_rows(LEFT, 1, None, 2), [(1, "b"), (None, "d")]),
    ("one after the other", append(NUMBERS, NUMBERS), [(3,), (None,), (1,), (2,), (3,), (None,), (1,), (2,)]),
    ("first rows of another order", TopRows(((0, False),), 2).make_planner_node(NUMBERS), [(3,), (2,)]),
]


@pytest.mark.parametrize(("node", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_operators_mean_what_is_documented(node: PlannerNode, expected: list[tuple[Any, ...]]) -> None:
    found = Oracle().rows(node)
    assert rows_equal(found, expected), found
