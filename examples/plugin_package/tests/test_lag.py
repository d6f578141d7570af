"""Kernel, Spark lowering and law of lag, held against plain Python lists."""

from __future__ import annotations

import pytest
from sframe_lag import Lag, lag

import sframe_spark as sf
from sframe_spark import SArray, SFrame
from sframe_spark.plugin import Chunk, column_of, node_of, planner_node_name_to_type

VALUES = [None if i % 7 == 3 else i for i in range(50)]


def moved(values: list, rows: int) -> list:
    """What lag means."""
    return ([None] * rows + values)[: len(values)]


def test_plugin_is_found_through_its_entry_points() -> None:
    (plugin,) = [plugin for plugin in sf.plugins() if plugin.distribution == "sframe-lag"]
    assert (plugin.status, plugin.registered["operators"], plugin.registered["laws"]) == ("loaded", ("lag",), ("lag(lag(x, a), b) = lag(x, a + b)",))
    assert planner_node_name_to_type("lag") is Lag


@pytest.mark.parametrize("rows", [0, 1, 7, 49, 50, 1000])
def test_on_the_driver(rows: int) -> None:
    assert list(lag(SArray(VALUES), rows)) == moved(VALUES, rows)


@pytest.mark.parametrize("batch_rows", [1, 3, 64])
@pytest.mark.parametrize("rows", [0, 2, 20])
def test_any_cut_into_ranges_gives_the_same_rows(rows: int, batch_rows: int) -> None:
    with sf.config.using(batch_rows=batch_rows):
        assert list(lag(SArray(VALUES), rows)) == moved(VALUES, rows)


def test_whole_kernel_equals_ranges() -> None:
    node = Lag(4).make_planner_node(node_of(SArray(VALUES)))
    source = node.inputs[0].operator.read(0, len(VALUES))
    whole: Chunk = node.operator.kernel([source], [node.inputs[0].facts])
    assert whole.columns[0].to_pylist() == moved(VALUES, 4)


def test_the_law_fires_and_changes_no_value() -> None:
    twice = lag(lag(SArray(VALUES), 2), 3)
    plan = twice.explain(trace=True)
    assert "lag(lag(x, a), b) = lag(x, a + b)" in plan
    assert "lag[rows=5]" in plan.split("-- optimized plan")[1]
    with sf.config.using(disabled_laws="lag(lag(x, a), b) = lag(x, a + b)"):
        unchanged = list(lag(lag(SArray(VALUES), 2), 3))
    assert list(twice) == unchanged == moved(VALUES, 5)


def test_negative_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="zero or more rows"):
        lag(SArray(VALUES), -1)


def test_in_spark_tasks_and_as_a_spark_window() -> None:
    frame = SFrame({"v": SArray(VALUES), "text": SArray([str(value) for value in VALUES])})
    with sf.config.using(small_rows=0):
        tasks = lag(frame["text"], 3)
        assert list(tasks) == moved(list(frame["text"]), 3)
        naive = SFrame({"v": column_of(Lag(3).make_planner_node(node_of(frame["v"])))})
        naive.materialize(naive=True)
        assert list(naive["v"]) == moved(VALUES, 3)


def test_after_rows_were_left_out() -> None:
    column = SArray(VALUES)
    even = column[column % 2 == 0]
    with sf.config.using(small_rows=0):
        assert list(lag(even, 1)) == moved([v for v in VALUES if v is not None and v % 2 == 0], 1)
