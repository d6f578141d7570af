"""A plan stays what it is while it runs, whatever other threads do to the graph that it was made of."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.engine import costs
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.shapes import whole
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.rewrite_laws import optimize

HOUR = datetime.timezone(datetime.timedelta(hours=1))


def test_a_node_that_is_spliced_while_a_plan_runs_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [datetime.datetime(2020, 2, day, tzinfo=HOUR) for day in (2, 1, 2)]
    distinct = SFrame({"t": moments, "v": [1, 2, 3]}).drop_duplicates(["t"])
    # What another thread finds meanwhile, and puts in the node's place.
    found = compute(distinct._node)
    original = whole.whole

    def spliced_meanwhile(self: SectionRunner, node: Any) -> Any:
        distinct._node.splice(found)
        return original(self, node)

    monkeypatch.setattr(whole, "whole", spliced_meanwhile)
    # Few rows need no plan.
    monkeypatch.setattr(costs, "MAX_ROWS_RUN_DIRECTLY", -1)
    again = source_of(compute(distinct._node)).read_all()
    assert again.to_table().equals(source_of(found).read_all().to_table())
    assert distinct.is_materialized()


ABOVE: dict[str, Callable[[SFrame], Any]] = {
    "first rows": lambda rows: rows[0:1],
    "last rows": lambda rows: rows[-1:],
    "other rows": lambda rows: rows[::2],
    "a column": lambda rows: rows["v"],
    "computed": lambda rows: rows["v"] + 1,
    "running": lambda rows: rows["v"].cumulative_sum(),
    "appended": lambda rows: rows.append(rows),
    "some of the appended": lambda rows: rows.append(rows)[1:3],
    "filtered": lambda rows: rows[rows["v"] > 1],
    "shifted": lambda rows: rows["v"][1:],
}


@pytest.mark.parametrize("above", ABOVE)
def test_a_node_that_is_materialised_between_the_plan_and_its_run_has_a_length(above: str) -> None:
    def distinct() -> SFrame:
        moments = [datetime.datetime(2020, 2, day, tzinfo=HOUR) for day in (2, 1, 2)]
        return SFrame({"t": moments, "v": [1, 2, 3]}).drop_duplicates(["t"])

    rows = distinct()
    plan = optimize(ABOVE[above](rows)._node)
    rows.materialize()
    found = source_of(Executor(MaterializeOptions()).execute(plan)).read_all()
    assert found.to_table().equals(source_of(compute(ABOVE[above](distinct())._node)).read_all().to_table())
