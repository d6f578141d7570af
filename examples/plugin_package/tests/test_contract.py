"""Lag keeps the contract of operators: what it says about itself holds, and kernel and Spark lowering mean the same."""

from __future__ import annotations

import pytest
from sframe_lag.examples import EXAMPLES

from sframe_spark.testing.contract import Example, check_contract, operators_without_examples


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_contract(example: Example) -> None:
    check_contract(example)


def test_every_operator_has_an_example() -> None:
    assert operators_without_examples("sframe_lag", EXAMPLES) == []
