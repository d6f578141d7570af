"""Columns below the top of a plan go by the names that users gave them."""

from __future__ import annotations

from pathlib import Path

from sframe_spark import SFrame, aggregate as agg, load_sframe
from sframe_spark.config import config
from sframe_spark.engine.physical.column_lineage import origins_of
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.operators.joins.equi_join import join
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.optimizer import Trace
from sframe_spark.rewrite_laws import optimize
from tests.work import calls_of


def names_in(frame: SFrame) -> dict[str, list[str]]:
    """Names of the columns of each node of a frame's optimized plan, by operator; the last node of an operator counts."""
    trace = Trace()
    with config.using(small_rows=0):
        plan = optimize(frame._node, None, trace)
    names = ColumnNames.of_plan(plan, frame.column_names(), trace, frame._node)
    return {node.operator_type: [names.name(node, position) for position in range(node.facts.width)] for node in postorder([plan])}


def frame() -> SFrame:
    """A frame that is in no order."""
    return SFrame({"t": [2, 1, 3, 1], "v": [1.5, 2.5, 0.5, 1.0], "k": ["a", "b", "a", "b"]})


def test_names_go_down_from_the_result() -> None:
    found = names_in(frame().sort("v")[["k", "v"]])
    assert found["sort"] == ["k", "v"]
    assert names_in(frame().groupby("k", {"s": agg.SUM("v")}))["group_by"] == ["k", "s"]


def test_a_column_that_the_result_does_not_show_has_the_name_it_was_given() -> None:
    assert names_in(frame().sort("t")[["k"]])["sort"] == ["k", "t"]


def test_a_column_without_a_name_is_described() -> None:
    plan = sort_rows(zip_columns(range_source(5, 3), range_source(7, 3)), [(1, True)])
    names = ColumnNames.of_plan(plan, [])
    assert names.order(plan, [(1, True), (0, False)]) == "column 1 of the sort, column 0 of the sort (descending)"


def test_a_column_that_is_not_shown_has_its_saved_name(tmp_path: Path) -> None:
    frame().save(str(tmp_path / "saved"))
    found = names_in(load_sframe(str(tmp_path / "saved")).sort("t")[["k"]])
    assert sorted(found["sort"]) == ["k", "t"]


def test_a_new_name_comes_before_the_saved_one(tmp_path: Path) -> None:
    frame().save(str(tmp_path / "saved"))
    assert names_in(load_sframe(str(tmp_path / "saved")).rename({"t": "time"}).sort("time"))["segment_source"] == ["k", "time", "v"]


def test_names_pass_through_filters_joins_and_appended_frames() -> None:
    other = SFrame({"t": [1, 1, 2, 0], "w": [5, 6, 7, 8]})
    joined = frame().filter_by([1, 2], "t").join(other, on="t", how="outer")
    assert names_in(joined)["join"] == ["k", "t", "v", "w"]
    assert names_in(frame().append(frame()).sort("k"))["append"] == ["k", "t", "v"]


def test_other_uses_of_the_same_rows_have_the_same_names() -> None:
    rows = frame()
    rows["total"] = rows["v"].cumulative_sum()
    assert names_in(rows)["memory_source"] == ["v"]


def test_a_key_that_is_not_shown_goes_by_its_own_name_or_by_the_key_it_is_matched_with() -> None:
    other = SFrame({"time": [1, 2], "w": [5, 6]})
    assert names_in(frame().join(other, on={"t": "time"}, how="outer"))["memory_source"] == ["time", "w"]
    numbers = zip_columns(range_source(5, 3), range_source(7, 3))
    joined = join(numbers, numbers, [0], [1], "left")
    names = ColumnNames.of_plan(joined, ["a", "b", "c"])
    assert names.name(numbers, 1) == "b"
    right = zip_columns(range_source(5, 3), range_source(7, 3))
    joined = join(numbers, right, [0], [1], "left")
    assert ColumnNames.of_plan(joined, ["a", "b", "c"]).listed(right, [0, 1]) == "c, key a"


def test_what_a_node_was_called_first_stays_and_passes_on_to_nobody_else() -> None:
    node = range_source(5, 3)
    node.record_column_names(["first", "second"])
    assert node.names is None
    node.record_column_names(["first"])
    node.record_column_names(["second"])
    assert node.names == ["first"]
    assert sort_rows(node, [(0, True)]).names is None


def test_an_origin_is_given_for_each_column() -> None:
    plan = optimize(frame().groupby("k", {"s": agg.SUM("v"), "n": agg.COUNT()})._node)
    assert all(len(origins_of(node)) == node.facts.width for node in postorder([plan]))


def test_names_of_many_steps_cost_as_much_as_each() -> None:
    calls = {}
    for steps in (60, 240):
        sf = SFrame({"a": [1, 2, 3], "b": [1, 2, 3]})
        for _ in range(steps):
            sf["a"] = sf["a"] + 1
        texts: list[str] = []
        calls[steps] = calls_of(lambda sf=sf, texts=texts: texts.append(str(sf.explain(why=True))))  # type: ignore[misc]
        assert f"r{steps + 2} := arrange" in texts[0]
    # Four times as many steps are four times the work, or sixteen times where each looks through all others.
    assert calls[240] < 6 * calls[60], calls
