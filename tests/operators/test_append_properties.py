"""What an append claims of its order, from the ranges of its inputs."""

from __future__ import annotations

import pytest

from sframe_spark.operators.append import append, common_orderings, key_of_all
from sframe_spark.order.properties import OrderingProperties, RelationProperties
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.types import INT
from tests.random_tables import table_source


@pytest.mark.parametrize(
    ("first", "second", "claimed"),
    [
        ([1, 2], [3, 5], {"asc"}),
        ([1, 2], [2, 5], {"asc"}),
        ([5, 4], [2, 1], {"desc"}),
        ([3, 5], [1, 2], set()),
        ([2, 1], [5, 4], set()),
        ([1, 3], [2, 5], set()),
    ],
)
def test_ranges_must_follow_each_other_in_the_direction_of_the_order(first: list[int], second: list[int], claimed: set[str]) -> None:
    whole = append(*[table_source([values], [INT], 2) for values in (first, second)])
    assert {items[0].direction for items in properties_of(whole).order.orderings} == claimed


@pytest.mark.parametrize(("second", "is_key"), [([3, 5], True), ([2, 5], False), ([1, 5], False)])
def test_a_key_of_both_is_one_of_all_rows_where_ranges_do_not_touch(second: list[int], is_key: bool) -> None:
    first, other = (RelationProperties(OrderingProperties(keys=[[0]]), bounds={0: (values[0], values[1])}) for values in ([1, 2], second))
    assert key_of_all((0,), [first, other], {0: (1, 5)}) == key_of_all((0,), [other, first], {0: (1, 5)}) == is_key


@pytest.mark.parametrize(("second", "columns"), [((3, 5), {1, 2}), ((2, 5), {1})])
def test_what_breaks_ties_is_in_order_where_ranges_do_not_touch(second: tuple[int, int], columns: set[int]) -> None:
    """A value at the end of one input and at the start of the next may have smaller second values there."""
    order = OrderingProperties(orderings=[[(0, "asc"), (1, "asc")]])
    parts = [RelationProperties(order, bounds={0: bounds}) for bounds in ((1, 2), second)]
    assert set(map(len, common_orderings(parts, {0: (1, 5)}))) == columns
