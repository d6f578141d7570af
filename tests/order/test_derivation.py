"""Derived properties against enumeration: what is promised of an operator's output holds for every input and every outcome."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.examples import examples
from tests.order.enumeration import Row, has_properties, tables
from tests.order.operators_by_hand import outputs
from tests.order.replay_cases import properties_of_table, replay
from tests.order.replay_operators import derive_output

LEFT = ("a", "b")
RIGHT = ("k", "v")
Case = dict[str, Any]


def items(columns: Sequence[str], least: int = 1, most: int = 2) -> st.SearchStrategy[list[list[str]]]:
    item = st.tuples(st.sampled_from(columns), st.sampled_from(["asc", "asc", "desc"])).map(list)
    return st.lists(item, min_size=least, max_size=most)


def inputs(columns: Sequence[str]) -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True)
    pair = st.just([list(columns)]) if len(columns) > 1 else st.just([])
    return st.fixed_dictionaries(
        {
            "columns": st.just(list(columns)),
            "orderings": st.lists(items(columns), max_size=2),
            "constants": st.one_of(st.just([]), st.just([]), st.lists(st.sampled_from(columns), min_size=1, max_size=1)),
            "equivalences": st.one_of(st.just([]), st.just([]), pair),
            "fds": st.lists(st.tuples(some, some).map(list), max_size=1),
            "keys": st.one_of(st.just([]), st.lists(some, max_size=1)),
        }
    )


def expressions(columns: Sequence[str]) -> st.SearchStrategy[Any]:
    column = st.sampled_from(columns)
    bit = st.tuples(st.just("bit"), column).map(list)
    return st.one_of(
        column,
        st.tuples(st.sampled_from(["neg", "div2", "mod2", "abs1", "bit"]), column).map(list),
        st.tuples(st.sampled_from(["plus", "minus"]), column, column).map(list),
        st.tuples(st.just("plus"), column, st.integers(-1, 2)).map(list),
        st.tuples(st.just("times"), column, st.integers(-1, 2)).map(list),
        st.tuples(st.just("lit"), st.integers(0, 1)).map(list),
        st.tuples(st.just("concat"), bit, bit).map(list),
        st.tuples(st.just("plus"), st.tuples(st.just("div2"), column).map(list), column).map(list),
    )


def unary_operators(name: str) -> st.SearchStrategy[tuple[dict[str, Any], tuple[str, ...]]]:
    """An operator of one input, and the columns of its output."""
    column, some = st.sampled_from(LEFT), st.lists(st.sampled_from(LEFT), min_size=1, max_size=2, unique=True)
    match name:
        case "project":
            computed = st.fixed_dictionaries({"x": expressions(LEFT), "y": expressions(LEFT), "a": st.just("a")})
            return computed.map(lambda columns: ({"op": name, "columns": columns}, ("x", "y", "a")))
        case "filter":
            constant = st.tuples(st.sampled_from(["eq_const", "ge_const"]), column, st.integers(0, 1))
            predicate = st.one_of(constant, st.tuples(st.sampled_from(["eq", "lt"]), column, column))
            return predicate.map(lambda chosen: ({"op": name, "pred": list(chosen)}, LEFT))
        case "head" | "tail":
            return st.integers(0, 2).map(lambda n: ({"op": name, "n": n}, LEFT))
        case "row_number":
            return st.just(({"op": name, "as": "m"}, (*LEFT, "m")))
        case "cumsum" | "cummax" | "lag":
            return column.map(lambda of: ({"op": name, "of": of, "as": "m"}, (*LEFT, "m")))
        case "cummax_per":
            return column.map(lambda of: ({"op": name, "of": of, "per": "b", "as": "m"}, (*LEFT, "m")))
        case "sort" | "sort_stable":
            return items(LEFT).map(lambda by: ({"op": name, "by": by}, LEFT))
        case "unique_first":
            return some.map(lambda on: ({"op": name, "on": on}, LEFT))
        case "group_any_order":
            return some.map(lambda by: ({"op": name, "by": by}, (*by, "n")))
        case "group_streaming":
            return some.map(lambda by: ({"op": name, "by": by}, (*by, "n", *(["first"] if len(by) == 1 else []))))
    return st.just(({"op": name}, LEFT))


def binary_operators(name: str) -> st.SearchStrategy[tuple[dict[str, Any], tuple[str, ...]]]:
    """An operator of two inputs, and the columns of its output."""
    match name:
        case "append_if_boundary":
            return items(LEFT).map(lambda boundary: ({"op": name, "boundary": boundary}, LEFT))
        case "merge_sorted":
            return items(LEFT).map(lambda by: ({"op": name, "by": by}, LEFT))
        case "append":
            return st.just(({"op": name}, LEFT))
        case "zip":
            return st.just(({"op": name}, (*LEFT, *RIGHT)))
    shown = LEFT if name == "join_semi" else (*LEFT, *RIGHT)
    join = {"op": name, "left": "a", "right": "k", "right_columns": list(RIGHT)}
    return st.sampled_from([{}, {"matches": "in order"}]).map(lambda more: ({**join, **more}, shown))


@st.composite
def unary_cases(draw: st.DrawFn, name: str) -> Case:
    operator, shown = draw(unary_operators(name))
    return {"operator": operator, "inputs": [draw(inputs(LEFT))], "requirement": draw(items(shown, 1, 3))}


@st.composite
def binary_cases(draw: st.DrawFn, name: str) -> Case:
    operator, shown = draw(binary_operators(name))
    right = LEFT if name in SAME_COLUMNS else RIGHT
    return {"operator": operator, "inputs": [draw(inputs(LEFT)), draw(inputs(right))], "requirement": draw(items(shown, 1, 3))}


def is_sorted(rows: Sequence[Row], requirement: Sequence[Sequence[str]]) -> bool:
    """Whether rows of any values are in order."""
    for first, second in itertools.pairwise(rows):
        for column, direction in requirement:
            if first[column] != second[column]:
                if (first[column] < second[column]) != (direction == "asc"):
                    return False
                break
    return True


def admissible(table: dict[str, Any], max_rows: int) -> list[tuple[Row, ...]]:
    return [rows for rows in tables(table["columns"], max_rows, (0, 1, 2)) if has_properties(rows, table)]


def input_rows(case: Case) -> Iterator[tuple[tuple[Row, ...], ...]]:
    if len(case["inputs"]) == 1:
        return ((rows,) for rows in admissible(case["inputs"][0], 3))
    return itertools.product(*(admissible(table, 2) for table in case["inputs"]))


def truth(case: Case) -> bool:
    columns = [table["columns"] for table in case["inputs"]]
    return all(is_sorted(rows, case["requirement"]) for given_rows in input_rows(case) for rows in outputs(case["operator"], given_rows, columns))


ROWS = ("filter", "subset", "head", "tail", "reverse", "repeat", "sort", "sort_stable", "unique_first")
ADDED = ("row_number", "cumsum", "cummax", "cummax_per", "lag")
UNARY = ("project", *ROWS, *ADDED, "group_any_order", "group_streaming")
SAME_COLUMNS = ("append", "append_if_boundary", "merge_sorted")
BINARY = (*SAME_COLUMNS, "zip", "join_inner", "join_left", "join_semi", "join_range", "asof_left")
# Here three rows of three values show everything that can happen, so that what is not promised does not hold either.
EXACT = {*ROWS[1:2], *ROWS[4:], "row_number", "zip", "append_if_boundary", "merge_sorted", "join_inner"}


def check_case(case: Case) -> None:
    satisfied = truth(case)
    tally = replay([{**case, "satisfied": satisfied}])
    assert tally.false == ()
    if case["operator"]["op"] in EXACT:
        assert tally.missed == ()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=examples(15), deadline=None, derandomize=True)
@given(data=st.data())
def test_promises_about_one_input_hold(name: str, data: st.DataObject) -> None:
    check_case(data.draw(unary_cases(name)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=examples(15), deadline=None, derandomize=True)
@given(data=st.data())
def test_promises_about_two_inputs_hold(name: str, data: st.DataObject) -> None:
    check_case(data.draw(binary_cases(name)))


@pytest.mark.campaign
@settings(max_examples=20_000, deadline=None)
@given(st.one_of(*(unary_cases(name) for name in UNARY), *(binary_cases(name) for name in BINARY)))
def test_campaign_of_random_operators(case: Case) -> None:
    check_case(case)


@st.composite
def chains(draw: st.DrawFn) -> tuple[Case, list[dict[str, Any]]]:
    """A first operator that keeps the columns, and one or two more above it."""
    first = draw(st.one_of(*(unary_cases(name) for name in ROWS), *(binary_cases(name) for name in (*SAME_COLUMNS, "join_semi"))))
    rest = draw(st.lists(st.one_of(*(unary_operators(name) for name in ROWS)), min_size=1, max_size=2))
    return first, [operator for operator, _ in rest]


def check_chain(chain: tuple[Case, list[dict[str, Any]]]) -> None:
    case, rest = chain
    columns = [table["columns"] for table in case["inputs"]]
    known = derive_output(case["operator"], [properties_of_table(table, table["columns"]) for table in case["inputs"]], columns)
    for operator in rest:
        known = derive_output(operator, [known], [LEFT])
    if not known.satisfies(case["requirement"]):
        return
    for rows in input_rows(case):
        results = list(outputs(case["operator"], rows, columns))
        for operator in rest:
            results = [result for before in results for result in outputs(operator, [before], [LEFT])]
        assert all(is_sorted(result, case["requirement"]) for result in results)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Case]:
    """Two inputs that lose a column and are worked on, each by an operator of its own, and what then brings them together."""
    name = draw(st.sampled_from(BINARY))
    operator, shown = draw(binary_operators(name))
    right = LEFT if name in SAME_COLUMNS else RIGHT
    tables_in = [draw(inputs((*columns, "lost"))) for columns in (LEFT, right)]
    above = [draw(st.one_of(*(unary_operators(kind) for kind in ("subset", "reverse", "sort", "sort_stable", "unique_first"))))[0] for _ in range(2)]
    above[1] = json.loads(json.dumps(above[1]).replace('"a"', f'"{right[0]}"').replace('"b"', f'"{right[1]}"'))
    return tables_in, above, {"operator": operator, "requirement": draw(items(shown, 1, 3)), "columns": [list(LEFT), list(right)]}


def check_tree(tree: tuple[list[dict[str, Any]], list[dict[str, Any]], Case]) -> None:
    tables_in, above, case = tree
    known, results = [], []
    for table, operator, columns in zip(tables_in, above, case["columns"], strict=True):
        projection = {"op": "project", "columns": {column: column for column in columns}}
        properties = derive_output(projection, [properties_of_table(table, table["columns"])], [table["columns"]])
        known.append(derive_output(operator, [properties], [columns]))
        rows_in = [rows for rows in tables(table["columns"], 2, (0, 1)) if has_properties(rows, table)]
        projected = [rows for before in rows_in for rows in outputs(projection, [before], [table["columns"]])]
        results.append([rows for before in projected for rows in outputs(operator, [before], [columns])])
    if derive_output(case["operator"], known, case["columns"]).satisfies(case["requirement"]):
        for pair in itertools.product(*({str(rows): rows for rows in side}.values() for side in results)):
            assert all(is_sorted(rows, case["requirement"]) for rows in outputs(case["operator"], pair, case["columns"]))


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(trees())
def test_promises_about_operators_over_two_changed_inputs_hold(tree: tuple[list[dict[str, Any]], list[dict[str, Any]], Case]) -> None:
    check_tree(tree)


@pytest.mark.campaign
@settings(max_examples=10_000, deadline=None)
@given(trees())
def test_campaign_of_random_trees(tree: tuple[list[dict[str, Any]], list[dict[str, Any]], Case]) -> None:
    check_tree(tree)


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(chains())
def test_promises_about_chains_of_operators_hold(chain: tuple[Case, list[dict[str, Any]]]) -> None:
    check_chain(chain)


@pytest.mark.campaign
@settings(max_examples=10_000, deadline=None)
@given(chains())
def test_campaign_of_random_chains(chain: tuple[Case, list[dict[str, Any]]]) -> None:
    check_chain(chain)
