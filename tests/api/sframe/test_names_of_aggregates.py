"""Aggregates are given as ``operations=`` or ``aggregates=`` alike, and come after the length of intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sframe_spark.aggregate as agg
from sframe_spark import SFrame
from sframe_spark.errors import SchemaError

FRAME = SFrame({"t": [1, 2, 2, 7], "v": [1.0, 2.0, None, 4.0]})
GIVEN = {"sum": agg.SUM("v")}
CALLS: dict[str, Callable[..., SFrame]] = {
    "groupby": lambda **given: FRAME.groupby("t", **given),
    "groupby_cycles": lambda **given: FRAME.groupby_cycles("t", **given),
    "groupby_runs": lambda **given: FRAME.groupby_runs("t", **given),
    "groupby_intervals": lambda **given: FRAME.groupby_intervals("t", 2, **given),
    "resample": lambda **given: FRAME.resample("t", 2, **given),
    "running": lambda **given: FRAME.running(**given),
    "window": lambda **given: FRAME.window("t", before=1, **given),
}


@pytest.mark.parametrize("name", CALLS)
def test_both_names_are_one(name: str) -> None:
    wanted: Any = CALLS[name](operations=GIVEN).to_arrow().to_pydict()
    assert CALLS[name](aggregates=GIVEN).to_arrow().to_pydict() == wanted and "sum" in wanted
    with pytest.raises(SchemaError, match="which mean the same"):
        CALLS[name](operations=GIVEN, aggregates=GIVEN)
    with pytest.raises(SchemaError, match="an aggregate such as"):
        CALLS[name](aggregates=len)
    with pytest.raises(SchemaError, match="no argument 'operation'"):
        CALLS[name](operation=GIVEN)


def test_aggregates_come_after_the_length_of_intervals() -> None:
    by_position = FRAME.groupby_intervals("t", 2, GIVEN), FRAME.resample("t", 2, GIVEN).dropna()
    by_name = FRAME.groupby_intervals("t", 2, operations=GIVEN)
    assert [frame.to_arrow().to_pydict() for frame in by_position] == [by_name.to_arrow().to_pydict()] * 2
    with pytest.raises(SchemaError, match="and a clock by name"):
        FRAME.groupby_intervals("t", None, FRAME["t"])
