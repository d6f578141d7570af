"""Which keys dicts have, and of which kinds their values are."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from sframe_spark import SArray
from sframe_spark.api.node_value_conversion import reduce_values
from sframe_spark.errors import TooLargeError, UnsupportedOperationError
from sframe_spark.expressions.aggregates import histograms_summaries_and_rank_counts as profiling
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate
from tests.examples import part

NATIVE = [{"a": 1, "b": 2}, {"c": 3}, {}, None, {"a": None}, {"d": None}, {"b": -1}]
MIXED = [{"a": 1, "b": "x"}, {"a": 2.5}, {}, None, {1: [1, "x"]}, {"b": {"c": 1}}, {"d": None, "e": datetime.datetime(2024, 2, 29)}]


def kinds(values: list[Any]) -> Any:
    return reduce_values(SArray(values, dict)._node, [Aggregation("item_kinds", (0,))])[0]


def test_kinds_of_each_key() -> None:
    assert kinds(NATIVE) == {"a": "int", "b": "int", "c": "int", "d": ""}
    assert kinds(MIXED) == {"a": "float int", "b": "dict str", 1: "list", "d": "", "e": "datetime"}
    assert kinds([]) == kinds([{}, None]) == {}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("times", [1, 50])
@pytest.mark.parametrize("values", [NATIVE, MIXED[:4], MIXED, [{2: "x", 3: None}, {2: 1}, None]])
def test_kinds_of_some_keys_are_those_of_dicts_with_these_alone(values: list[Any], times: int) -> None:
    numbers = values[0] is not None and 2 in values[0]
    for wanted in [(2, 3.0), (4,)] if numbers else [("a", "b"), ("b", "zz"), ("zz",), ()]:
        node = SArray(values * times, dict)._node
        try:
            trimmed = apply_function("dict_trim_keys", node, parameters=(wanted, False))
            expected = reduce_values(trimmed, [Aggregation("item_kinds", (0,))])[0]
        except UnsupportedOperationError:
            with pytest.raises(UnsupportedOperationError, match="search for keys of their class"):
                reduce_values(node, [Aggregation("item_kinds", (0,), (wanted,))])
        else:
            assert reduce_values(node, [Aggregation("item_kinds", (0,), (wanted,))])[0] == expected


def test_keys_that_no_dict_has_are_refused() -> None:
    with pytest.raises(UnsupportedOperationError, match="search for keys of their class"):
        reduce_values(SArray(NATIVE, dict)._node, [Aggregation("item_kinds", (0,), ((1,),))])


@pytest.mark.parametrize("values", [NATIVE, MIXED])
def test_parts_combine(values: list[Any]) -> None:
    check_aggregate("item_kinds", values, spark=False)


@pytest.mark.spark
@pytest.mark.parametrize("values", part([MIXED, NATIVE], 2))
def test_parts_combine_on_spark(spark: Any, values: list[Any]) -> None:
    check_aggregate("item_kinds", values)


def test_numbers_have_no_keys() -> None:
    with pytest.raises(UnsupportedOperationError, match="kinds of values"):
        reduce_values(SArray([1])._node, [Aggregation("item_kinds", (0,))])


def test_too_many_keys_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "MAX_KEYS", 3)
    for values in (NATIVE, MIXED):
        with pytest.raises(TooLargeError, match=r"more than 3 keys.*limit="):
            SArray(values).unpack()
    assert SArray(NATIVE).unpack(limit=["a", "b"]).column_names() == ["X.a", "X.b"]
