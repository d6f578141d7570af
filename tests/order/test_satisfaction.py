"""``satisfies`` against enumeration: it holds exactly where no table of two rows breaks the requirement."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.order import OrderingProperties
from tests.examples import examples
from tests.order.enumeration import PAIRS, PAIRS_WITH_NULL, has_properties, in_order, tables, tables_of_two_rows
from tests.order.strategies import COLUMNS, columns, orderings, property_sets


def properties_of(table: dict[str, Any]) -> OrderingProperties:
    return OrderingProperties(
        table["constants"], table["equivalences"], table["orderings"], table["fds"], table["keys"], table["monotone"], table["not_null"]
    )


def check_satisfaction(table: dict[str, Any], requirement: list[list[str]], width: int, nulls: bool) -> None:
    known = properties_of(table)
    broken = next(
        (
            rows
            for rows in tables_of_two_rows(COLUMNS[:width], PAIRS_WITH_NULL if nulls else PAIRS)
            if not in_order(rows, requirement) and has_properties(rows, table)
        ),
        None,
    )
    witness = known.witness(requirement)
    assert known.satisfies(requirement) == (broken is None) == (witness is None), broken
    if witness is None:
        return
    shown = [dict(zip(witness.columns, values, strict=True)) for values in (witness.earlier, witness.later)]
    rows = [{**dict.fromkeys(COLUMNS[:width], 0), **row} for row in shown]
    assert has_properties(rows, table), witness
    assert not in_order(rows, requirement), witness


@st.composite
def questions(draw: st.DrawFn, nulls: bool) -> tuple[dict[str, Any], list[list[str]], int]:
    width = draw(st.integers(2, 3 if nulls else 4))
    return draw(property_sets(width, nulls)), draw(orderings(width, nulls)), width


@given(questions(nulls=False))
@settings(max_examples=examples(150), deadline=None)
def test_satisfied_exactly_where_no_two_rows_break_it(question: tuple[dict[str, Any], list[list[str]], int]) -> None:
    check_satisfaction(*question, nulls=False)


@given(questions(nulls=True))
@settings(max_examples=examples(100), deadline=None)
def test_satisfied_exactly_where_no_two_rows_with_nulls_break_it(question: tuple[dict[str, Any], list[list[str]], int]) -> None:
    check_satisfaction(*question, nulls=True)


@pytest.mark.campaign
@given(st.booleans().flatmap(lambda nulls: st.tuples(questions(nulls), st.just(nulls))))
@settings(max_examples=100_000, deadline=None)
def test_campaign_of_random_property_sets(question: tuple[tuple[dict[str, Any], list[list[str]], int], bool]) -> None:
    check_satisfaction(*question[0], nulls=question[1])


@given(property_sets(2, nulls=False), orderings(2, nulls=False))
@settings(max_examples=examples(30), deadline=None)
def test_two_rows_decide_for_tables_of_three(table: dict[str, Any], requirement: list[list[str]]) -> None:
    broken = any(has_properties(rows, table) and not in_order(rows, requirement) for rows in tables(COLUMNS[:2], 3, (0, 1, 2)))
    assert properties_of(table).satisfies(requirement) == (not broken)


@given(property_sets(3, nulls=True), st.lists(columns(3), max_size=3, unique=True))
@settings(max_examples=examples(75), deadline=None)
def test_keys_and_constants_follow_exactly_where_no_two_rows_contradict(table: dict[str, Any], chosen: list[str]) -> None:
    known = properties_of(table)
    having = [rows for rows in tables_of_two_rows(COLUMNS[:3], PAIRS_WITH_NULL) if has_properties(rows, table)]
    assert known.has_key(chosen) == (not any(all(first[c] == second[c] for c in chosen) for first, second in having))
    for column in COLUMNS[:3]:
        assert known.is_constant(column) == all(first[column] == second[column] for first, second in having)


@given(property_sets(3, nulls=True), st.lists(columns(3), min_size=1, max_size=3, unique=True))
@settings(max_examples=examples(20), deadline=None)
def test_where_columns_lead_equal_rows_are_neighbours(table: dict[str, Any], chosen: list[str]) -> None:
    order = properties_of(table).satisfies_set(chosen)
    if order is None:
        return
    assert sorted(order) == sorted(chosen)
    for rows in tables(COLUMNS[:3], 3, (0, 1)):
        if len(rows) == 3 and has_properties(rows, table):
            first, between, last = ([row[column] for column in chosen] for row in rows)
            assert first != last or between == first
