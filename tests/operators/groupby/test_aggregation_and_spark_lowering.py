"""An aggregate over some columns, as operators ask it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sframe_spark.errors import PlanInvariantError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.types import INT


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_an_aggregate_has_an_arrow_implementation_or_says_that_it_has_none(name: str) -> None:
    aggregation = Aggregation(name)
    if AGGREGATES[name].reduce is None:
        with pytest.raises(PlanInvariantError, match=f"the aggregate '{name}' has no Arrow implementation"):
            aggregation.reduction()
    else:
        assert aggregation.reduction() is AGGREGATES[name].reduce


def test_the_implementation_is_of_all_rows() -> None:
    assert Aggregation("sum", (0,)).reduction()([pa.array([1, None, 3])], (INT,), ()) == 4
