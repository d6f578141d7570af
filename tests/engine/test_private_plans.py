"""A plan stays what it is while it runs, whatever other threads do to the graph that it was made of."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.engine.executor import Executor
from sframe_spark.engine.materialize import compute
from sframe_spark.operators.sources import source_of

HOUR = datetime.timezone(datetime.timedelta(hours=1))


def test_a_node_that_is_spliced_while_a_plan_runs_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [datetime.datetime(2020, 2, day, tzinfo=HOUR) for day in (2, 1, 2)]
    distinct = SFrame({"t": moments, "v": [1, 2, 3]}).drop_duplicates(["t"])
    # What another thread finds meanwhile, and puts in the node's place.
    found = compute(distinct._node)
    original = Executor._whole_on_driver

    def spliced_meanwhile(self: Executor, node: Any, child: Any) -> Any:
        distinct._node.splice(found)
        return original(self, node, child)

    monkeypatch.setattr(Executor, "_whole_on_driver", spliced_meanwhile)
    again = source_of(compute(distinct._node)).read_all()
    assert again.to_table().equals(source_of(found).read_all().to_table())
    assert distinct.is_materialized()
