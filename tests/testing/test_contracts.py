"""The contract of every registered operator, on the examples of the contract kit."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

import sframe_spark.operators
from sframe_spark.planner.registry import registered_names
from sframe_spark.testing.contract import Example, check_lowering, check_operator, operators_without_examples
from tests.examples import part
from tests.operator_examples import EXAMPLES

WITHOUT_SPARK = [example for example in EXAMPLES if not example.needs_spark]
# Inputs of these are in the order of a key: rows of the kit's own are not.
OVER_ROWS_IN_ORDER = ("assume_order", "asof_join", "interpolation", "interval_join", "key_window", "sorted_join", "suffix_sort")


@pytest.mark.parametrize("example", WITHOUT_SPARK, ids=str)
def test_contract_without_spark(example: Example) -> None:
    check_operator(example, generated=0)


@pytest.mark.parametrize("example", part([example for example in WITHOUT_SPARK if example.operator not in OVER_ROWS_IN_ORDER], 8), ids=str)
def test_contract_on_rows_that_the_kit_makes(example: Example) -> None:
    check_operator(example, generated=5)


def each_operator_and_part() -> list[Any]:
    """The first example of each operator, and a part of the others."""
    first = {example.operator: example for example in reversed(EXAMPLES)}
    return [*first.values(), *part([example for example in EXAMPLES if first[example.operator] is not example], 6)]


@pytest.mark.spark
@pytest.mark.parametrize("example", each_operator_and_part(), ids=str)
def test_contract_on_spark(example: Example, spark: Any) -> None:
    if example.needs_spark:
        check_operator(example, generated=0)
    check_lowering(example)


def test_every_operator_has_an_example() -> None:
    for module in pkgutil.walk_packages(sframe_spark.operators.__path__, "sframe_spark.operators."):
        importlib.import_module(module.name)
    assert operators_without_examples("sframe_spark", EXAMPLES) == []


def test_examples_are_of_registered_operators_and_told_apart() -> None:
    assert {example.operator for example in EXAMPLES} <= set(registered_names())
    assert len(set(map(str, EXAMPLES))) == len(EXAMPLES)
