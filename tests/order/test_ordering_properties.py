"""The value itself: normal form, equality, projections, reversal, facts of both or of either side, sizes."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.order import Hidden, Monotone, OrderingItem, OrderingProperties, derive
from sframe_spark.order.order_facts import columns_of
from tests.examples import examples
from tests.order.enumeration import PAIRS, PAIRS_WITH_NULL, Row, has_properties, in_order, tables_of_two_rows
from tests.order.strategies import COLUMNS, orderings, property_sets
from tests.order.test_satisfaction import properties_of


def pairs_of_rows(width: int, nulls: bool) -> list[tuple[Row, Row]]:
    return list(tables_of_two_rows(COLUMNS[:width], PAIRS_WITH_NULL if nulls else PAIRS))


@given(property_sets(4, nulls=True))
@settings(max_examples=examples(100), deadline=None, derandomize=True)
def test_the_normal_form_repeats_nothing(table: dict[str, Any]) -> None:
    known = properties_of(table)
    equal = {column: group[0] for group in known.equivalences for column in group[1:]}
    for items in known.orderings:
        named = [item.column for item in items]
        assert len(named) == len(set(named)) > 0
        # What is constant only because of functions of several arguments is found when it is asked for.
        assert table["monotone"] or not any(known.is_constant(column) for column in named)
        assert not any(column in equal or column in known.constants for column in named)
    for first, second in itertools.permutations(known.orderings, 2):
        assert second[: len(first)] != first
    for key, other in itertools.permutations(known.keys, 2):
        assert not set(key) <= set(other)
    assert OrderingProperties.of(known.facts) == known


@given(property_sets(3, nulls=True), st.randoms(use_true_random=False))
@settings(max_examples=examples(50), deadline=None, derandomize=True)
def test_the_order_in_which_facts_are_written_does_not_matter(table: dict[str, Any], random: Any) -> None:
    shuffled = {name: random.sample(facts, len(facts)) for name, facts in table.items()}
    shuffled["equivalences"] = [group[::-1] for group in shuffled["equivalences"]]
    assert properties_of(shuffled) == properties_of(table)
    assert hash(properties_of(shuffled)) == hash(properties_of(table))


@given(property_sets(3, nulls=True), orderings(3, nulls=True))
@settings(max_examples=examples(50), deadline=None, derandomize=True)
def test_the_reverse_holds_of_rows_turned_round(table: dict[str, Any], requirement: list[list[str]]) -> None:
    promised = properties_of(table).reverse().satisfies(requirement)
    broken = any(has_properties(rows, table) and not in_order(rows[::-1], requirement) for rows in pairs_of_rows(3, nulls=True))
    assert promised == (not broken)
    assert properties_of(table).reverse().reverse() == properties_of(table)


@given(property_sets(3, nulls=True), orderings(2, nulls=True))
@settings(max_examples=examples(75), deadline=None, derandomize=True)
def test_a_projection_loses_nothing_that_follows_for_the_columns_kept(table: dict[str, Any], requirement: list[list[str]]) -> None:
    projected = properties_of(table).project({"a": "c", "b": "a", "other": None})
    shown = [({"a": x["c"], "b": x["a"]}, {"a": y["c"], "b": y["a"]}) for x, y in pairs_of_rows(3, nulls=True) if has_properties((x, y), table)]
    assert projected.satisfies(requirement) == all(in_order(rows, requirement) for rows in shown)
    assert not any(column == "other" for column in columns_of(projected.facts))


@given(property_sets(2, nulls=True), property_sets(2, nulls=True), orderings(2, nulls=True))
@settings(max_examples=examples(75), deadline=None, derandomize=True)
def test_meet_has_the_facts_of_both_and_join_those_of_either(left: dict[str, Any], right: dict[str, Any], requirement: list[list[str]]) -> None:
    one, other = properties_of(left), properties_of(right)
    having = [(has_properties(rows, left), has_properties(rows, right), in_order(rows, requirement)) for rows in pairs_of_rows(2, nulls=True)]
    assert one.meet(other).satisfies(requirement) == all(met for first, second, met in having if first and second)
    assert one.join(other).satisfies(requirement) == all(met for first, second, met in having if first or second)


@given(property_sets(3, nulls=True), orderings(3, nulls=True, length=3))
@settings(max_examples=examples(30), deadline=None, derandomize=True)
def test_a_satisfied_length_is_that_of_the_longest_satisfied_beginning(table: dict[str, Any], requirement: list[list[str]]) -> None:
    known = properties_of(table)
    length = known.satisfied_length(requirement)
    assert [known.satisfies(requirement[:n]) for n in range(len(requirement) + 1)] == [n <= length for n in range(len(requirement) + 1)]


def test_adding_facts_says_what_constructing_with_them_says() -> None:
    known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]]).add(constants=["a"], keys=[["b"]], not_null=["b"])
    assert known == OrderingProperties(constants=["a"], orderings=[[("b", "asc", "nulls_last")]], keys=[["a", "b"]], not_null=["b"])
    assert known.add() is known


def test_columns_of_any_kind_are_sorted_the_same_way_in_every_process() -> None:
    known = OrderingProperties(constants=[10, 9, "b", ("x", 1), "a"])
    assert known.constants == (9, 10, "a", "b", ("x", 1))


def test_properties_are_values() -> None:
    known = OrderingProperties(orderings=[[("a", "asc")]], monotone=[Monotone("f", (("a", "inc"),), False)])
    assert pickle.loads(pickle.dumps(known)) == known
    assert known != OrderingProperties()
    assert {known: 1}[OrderingProperties(orderings=[[["a", "asc"]]], monotone=[{"col": "f", "args": [["a", "inc"]], "strict": False}])] == 1
    with pytest.raises(AttributeError, match="immutable"):
        known.constants = ()  # type: ignore[misc]


def test_at_most_one_row_is_in_any_order() -> None:
    for known in (OrderingProperties(keys=[[]]), OrderingProperties(constants=["a"], keys=[["a"]])):
        assert known.at_most_one_row
        assert known.satisfies([("x", "asc"), ("x", "desc")])
        assert known.satisfies_set(["x", "y"]) == ("x", "y")
        assert known.has_key([])


@pytest.mark.parametrize("entry", ["a", ["a"], ["a", "up"], ["a", "asc", "nulls"], ["a", "asc", "nulls_first", 1], 7])
def test_an_entry_that_is_none_is_refused(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"ordering entry|direction|null placement"):
        OrderingProperties().satisfies([entry])


def test_an_unknown_effect_is_refused() -> None:
    with pytest.raises(ValueError, match="effect 'sideways'"):
        OrderingProperties(monotone=[{"col": "f", "args": [["a", "sideways"]], "strict": True}])


def test_equal_columns_are_known_only_where_they_are_stated_or_follow() -> None:
    known = OrderingProperties(equivalences=[["a", "b"], ["b", "c"], ["d", "e"]])
    assert known.equivalences == (("a", "b", "c"), ("d", "e"))
    assert known.equivalent("a", "c")
    assert known.equivalent("z", "z")
    assert not known.equivalent("a", "d")


def test_hidden_columns_stay_only_while_they_link_others() -> None:
    known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc"), ("c", "asc")]])
    assert known.project({"a": "a", "c": "c"}) == OrderingProperties(orderings=[[("a", "asc")]])
    linked = known.add(functional_dependencies=[[["a"], ["b"]]]).project({"a": "a", "c": "c"})
    assert any(isinstance(column, Hidden) for column in columns_of(linked.facts))
    assert linked.satisfies([("a", "asc"), ("c", "asc")])
    assert linked.project({"c": "c"}) == OrderingProperties()


def test_a_witness_can_be_read_by_a_user() -> None:
    known = OrderingProperties(orderings=[[("day", "asc")]], constants=["shop"])
    witness = known.witness([("day", "asc"), ("shop", "asc"), ("price", "desc")])
    assert str(witness).splitlines() == [
        "these two rows have every known property, but price is not desc:",
        "  day  price  shop",
        "    0      0     0",
        "    0      1     0",
    ]


def test_among_equal_values_of_a_column_an_order_can_hold_that_does_not_hold_overall() -> None:
    known = OrderingProperties(orderings=[[("group", "any"), ("m", "asc")]])
    assert not known.satisfies([("m", "asc")])
    assert known.satisfies([OrderingItem("group", "any"), ("m", "asc")])
    assert known.add(constants=["group"]).satisfies([("m", "asc")])


def test_work_grows_with_the_size_of_what_is_known_and_asked() -> None:
    def steps(width: int, count: int) -> int:
        columns = list(range(width))
        lists = [[(columns[(start * 7 + place * 3) % width], "asc") for place in range(20)] for start in range(count)]
        known = OrderingProperties(orderings=lists, functional_dependencies=[[[0], [1]]], not_null=columns)
        requirement = [item for items in lists for item in items]
        before = known.pair_state().steps
        assert known.satisfies(requirement)
        state = known.pair_state()
        for column, _ in requirement:
            state.restrict_column(column, 0b110000)
        return state.steps - before

    assert steps(1000, 100) <= 8 * (1000 + 100 * 20)
    assert steps(1000, 100) <= 2.5 * steps(500, 50)


def test_a_frame_appended_to_itself_many_times_stays_cheap_to_describe() -> None:
    known = OrderingProperties(orderings=[[(0, "asc"), (1, "asc")], [(2, "desc")]], keys=[[0, 1]], not_null=[0, 1, 2])
    for _ in range(17):
        known = derive.append(known, known, boundary=[(0, "asc"), (1, "asc")])
    assert known.satisfies([(0, "asc"), (1, "asc")])
    assert sum(1 for _ in columns_of(known.facts)) < 1000


def test_many_joins_keep_few_hidden_columns() -> None:
    known = OrderingProperties(orderings=[[(0, "asc"), (1, "asc")]], keys=[[0, 1]], not_null=[0, 1])
    for number in range(40):
        dimension = OrderingProperties(keys=[["key"]], orderings=[[("key", "asc")]], not_null=["key"])
        known = derive.join_left(known, dimension, [(0, "key")], [0, 1, 2], ["key", "value"]).project({0: 0, 1: 1, 2: "value"})
        assert known.satisfies([(0, "asc"), (1, "asc")]), number
        assert len({column for column in columns_of(known.facts) if isinstance(column, Hidden)}) <= 24


def with_hidden(first: str, second: str, *more: str) -> OrderingProperties:
    """Properties with a hidden column that ``first`` determines and that determines ``second``."""
    known = OrderingProperties(
        orderings=[[("lost", "asc"), (second, "asc")]],
        functional_dependencies=[[[first], ["lost"]], [["lost"], [second]]],
        not_null=[first, second, "lost", *more],
    )
    return known.project({column: column for column in (first, second, *more)})


def test_hidden_columns_of_two_inputs_are_not_taken_for_each_other() -> None:
    left, right = with_hidden("a", "b"), with_hidden("k", "v")
    for together in (derive.zip_rows(left, right), derive.join_range(left, right, ["a", "b"], ["k", "v"], matches_in_order=True)):
        assert not together.add(constants=["a"]).satisfies([("v", "asc")])
    assert derive.zip_rows(left, right).add(constants=["k"]).satisfies([("v", "asc")])


def test_a_left_join_does_not_believe_every_row_to_be_matched() -> None:
    left, right = with_hidden("a", "b"), with_hidden("k", "v", "c").add(constants=["c"])
    joined = derive.join_left(left, right, [("a", "k")], ["a", "b"], ["k", "v", "c"])
    assert not joined.satisfies([("c", "asc")])
    assert derive.join_inner(left, right, [("a", "k")], ["a", "b"], ["k", "v", "c"]).satisfies([("c", "asc")])


def test_a_merge_of_inputs_that_are_sorted_by_a_beginning_only_says_nothing_of_ties() -> None:
    known = OrderingProperties(orderings=[[("a", "asc")]])
    merged = derive.merge_sorted(known, known.add(constants=["b"]), [("a", "asc"), ("b", "asc")])
    assert merged.satisfies([("a", "asc")])
    assert not merged.satisfies([("a", "asc"), ("b", "asc")])


def test_a_left_join_makes_the_keys_equal_where_there_is_a_match() -> None:
    left, right = OrderingProperties(orderings=[[("a", "asc")]], not_null=["a"]), OrderingProperties(not_null=["k"])
    joined = derive.join_left(left, right, [("a", "k")], ["a"], ["k"])
    assert joined.satisfies([("a", "asc"), ("k", "desc")])
    assert not joined.satisfies([("k", "asc")])


def test_runs_of_equal_rows_are_groups_only_where_equal_rows_are_neighbours() -> None:
    assert not derive.group_streaming(OrderingProperties(orderings=[[("b", "asc")]]), ["a"]).has_key(["a"])
    assert derive.group_streaming(OrderingProperties(orderings=[[("a", "desc")]]), ["a"]).has_key(["a"])


def test_a_running_maximum_of_a_descending_column_is_constant_unless_it_starts_with_missing_values() -> None:
    for nulls, constant in (("nulls_last", True), ("nulls_first", False)):
        known = derive.cumulative_max(OrderingProperties(orderings=[[("a", "desc", nulls)]]), "a", "m")
        assert known.is_constant("m") == constant
        assert known.satisfies([("m", "asc")])


def test_a_repeated_row_leaves_no_key() -> None:
    known = derive.repeat_each(OrderingProperties(keys=[["a"]]), ["a", "b"])
    assert not known.has_key(["a", "b"])
    assert known.determines(["a"], ["b"])


@pytest.mark.parametrize(("direction", "placement", "other"), [("backward", "nulls_first", "nulls_last"), ("forward", "nulls_last", "nulls_first")])
def test_rows_of_an_as_of_join_that_match_nothing_stand_at_the_end_where_it_does_not_look(direction: Any, placement: str, other: str) -> None:
    left = OrderingProperties(orderings=[[("a", "asc")]], not_null=["a"])
    right = OrderingProperties(orderings=[[("k", "asc")]], not_null=["k"])
    joined = derive.asof_left(left, right, ("a", "k"), ["k", "v"], direction=direction)
    assert joined.satisfies([("k", "asc", placement)]) and not joined.satisfies([("k", "asc", other)])
