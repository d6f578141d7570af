"""What users write for groupby, and how it is taken apart."""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark.api import aggregate
from sframe_spark.api.aggregates.requests import expand_requests, output_names


def names(*operations: Any) -> list[str]:
    return [name for name, _ in expand_requests(operations)]


def test_forms_of_operations() -> None:
    assert names({"total": aggregate.SUM("v"), "": aggregate.MIN("v")}) == ["total", "Min of v"]
    assert names([aggregate.SUM("v"), aggregate.COUNT]) == ["Sum of v", "Count"]
    assert names(aggregate.COUNT) == ["Count"]
    assert names({"r": aggregate.COUNT}, aggregate.MEAN("y")) == ["r", "Avg of y"]
    assert names([]) == [] and names({}) == []


@pytest.mark.parametrize("operation", [None, 5, "v", aggregate.SUM, [aggregate.SUM], {"r": 5}, {"r": [aggregate.COUNT()]}, {1: aggregate.COUNT}])
def test_other_operations_are_refused(operation: Any) -> None:
    with pytest.raises(TypeError):
        expand_requests([operation])


def test_one_name_for_two_operations_is_refused() -> None:
    with pytest.raises(RuntimeError, match="'p'"):
        expand_requests([{"p": aggregate.SUM("x")}, {"p": aggregate.SUM("y")}])


def test_default_names_that_repeat_get_a_number() -> None:
    assert output_names(["k"], names([aggregate.COUNT, aggregate.COUNT()]), set()) == ["k", "Count", "Count.1"]


def test_a_name_of_a_key_is_refused() -> None:
    with pytest.raises(RuntimeError):
        output_names(["k"], ["k"], {"k"})


@pytest.mark.parametrize("columns", [(["x", "y"],), (5,), (None,)])
def test_columns_are_given_by_name(columns: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        aggregate.SUM(*columns)


def test_shares_of_quantiles() -> None:
    assert aggregate.QUANTILE("v", 0, 1).parameters == aggregate.QUANTILE("v", [0, 1]).parameters == (0.0, 1.0)
    assert aggregate.QUANTILE("v").parameters == aggregate.QUANTILE("v", []).parameters == ()


@pytest.mark.parametrize("share", [2, -1, "a", None, float("nan")])
def test_shares_outside_0_to_1_are_refused(share: Any) -> None:
    with pytest.raises(RuntimeError):
        aggregate.QUANTILE("v", share)


def test_other_names_mean_the_same() -> None:
    assert aggregate.AVG("v") == aggregate.MEAN("v")
    assert aggregate.VARIANCE("v") == aggregate.VAR("v")
    assert aggregate.STDV("v") == aggregate.STD("v")
