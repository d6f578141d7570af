"""What ``explain`` gives: text, pictures in which no edge crosses a box, diagrams, graphs; and what ran."""

from __future__ import annotations

import pickle
import random
import re
from typing import Any
from xml.etree import ElementTree

import networkx
import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.config import config
from sframe_spark.engine.execution.run_log import SectionOutcome
from sframe_spark.engine.shapes.section_tree import Section
from sframe_spark.explain import explanation_text_graph_and_pictures as explanation
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.explain.explanation_text_graph_and_pictures import Explanation, explained_sections, physical_lines, what_ran
from sframe_spark.operators.sort_top_rows_and_assumed_order import Sort
from sframe_spark.operators.sources.in_memory import range_source
from tests.random_programs.plans import DRIVER_STEPS, random_program
from tests.strategies import FIRST_ROWS_ON_DRIVER, SPARK_QUERY, STREAM_BY_TASKS, STREAM_ON_DRIVER

Box = tuple[float, float, float, float]


def shared_rows() -> Explanation:
    """A plan of several sections, in which results are read twice."""
    frame = SFrame({"user": [1, 2, 1], "amount": [5, 7, 9]})
    some = frame[frame["amount"] > 5]
    some["fee"] = some["amount"].apply(lambda value: value.__add__(1))
    top = some.groupby("user", {"total": aggregate.SUM("fee")})
    wanted = some.join(top, on="user").sort("total")
    with config.using(small_rows=0):
        return wanted.explain()


def boxes_and_ways(svg: str) -> tuple[list[Box], list[list[tuple[float, float]]]]:
    """Boxes of operators, and points along each edge."""
    root = ElementTree.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    boxes = []
    for box in root.iter(f"{space}rect"):
        if box.get("fill") == "#ffffff":
            x, y, width, height = (float(box.get(name) or "") for name in ("x", "y", "width", "height"))
            boxes.append((x, y, x + width, y + height))
    ways = []
    for path in root.iter(f"{space}path"):
        numbers = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get("d") or "")]
        ways.append([(pair[0], pair[1]) for pair in numbers])
    return boxes, ways


def crosses(way: list[tuple[float, float]], box: Box) -> bool:
    """Whether an edge's points, which bound it, lie inside a box; ends on a side of it do not."""
    left, top, right, bottom = box
    return any(left < x < right and top < y < bottom for x, y in way)


def test_no_edge_crosses_a_box_and_no_box_another() -> None:
    svgs = [shared_rows().svg()]
    for seed in range(15):
        sections = plan_dry_run(random_program(random.Random(seed), tuple(DRIVER_STEPS), most_steps=8).nodes[-1]).sections
        svgs.append(explanation.svg_of(explained_sections(sections, ColumnNames())))
    assert sum(len(boxes_and_ways(svg)[1]) for svg in svgs) > 30
    for svg in svgs:
        boxes, ways = boxes_and_ways(svg)
        assert not [(way, box) for way in ways for box in boxes if crosses(way, box)]
        for number, (left, top, right, bottom) in enumerate(boxes):
            for other in boxes[number + 1 :]:
                assert other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top


def test_every_operator_is_in_the_picture_the_diagram_and_the_graph() -> None:
    plan = shared_rows()
    graph = plan.to_networkx()
    computed = [node for section in plan.sections for node in section.nodes if node.section is None]
    assert len(graph) == len(computed) == len(boxes_and_ways(plan.svg())[0])
    assert graph.number_of_edges() == len(boxes_and_ways(plan.svg())[1]) == plan.mermaid().count("-->")
    assert networkx.is_directed_acyclic_graph(graph)
    assert {data["section"] for _, data in graph.nodes(data=True)} == {section.number for section in plan.sections}
    assert plan.mermaid().count("subgraph") == len(plan.sections) > 2


def test_very_many_operators_are_a_box_for_each_section() -> None:
    column = SArray([1, 2, 3])
    for number in range(300):
        column = column.cumulative_sum() + number
    boxes, _ = boxes_and_ways(column.explain().svg())
    assert len(boxes) == 1


def test_a_terminal_shows_text_and_a_notebook_a_picture_without_markup_of_the_users() -> None:
    plan = SFrame({"<b>": ["<script>alert(1)</script>", "x"]})
    plan = plan[plan["<b>"] != "<script>alert(1)</script>"].explain()
    assert repr(plan) == str(plan) == plan and isinstance(plan, str)
    html = plan._repr_html_()
    assert "<svg" in html and "<script>" not in html and "<b>" not in html
    ElementTree.fromstring(plan.svg("a < b & c"))
    assert "<script>" not in plan.mermaid()


def test_an_explanation_travels() -> None:
    plan = shared_rows()
    again = pickle.loads(pickle.dumps(plan))
    assert (again, again.svg(), again.mermaid()) == (plan, plan.svg(), plan.mermaid())


def test_names_of_columns_are_on_the_lines_of_every_section() -> None:
    sections = shared_rows().sections
    results = [section.nodes[-1].columns for section in sections]
    assert results[0] == "fee int" and results[-1] == "amount int, user int, fee int, total int"
    assert len(sections) > 3 and not [columns for columns in results if columns.startswith("int") or ", int" in columns], results


def test_analyze_tells_what_became_of_each_section_and_keeps_the_rows() -> None:
    called: list[int] = []
    frame = SFrame({"v": [3, 1, 2]})
    frame["w"] = frame["v"].apply(lambda value: called.append(value) or -value, dtype=int)
    rows = frame.sort("w")
    plan = rows.explain(analyze=True)
    assert [outcome.rows for section in plan.sections for outcome in section.outcomes][-1] == 3
    assert plan.count("  ran ") == len(plan.sections)
    assert rows.is_materialized() and list(rows["w"]) == [-3, -2, -1]
    assert sorted(called) == [1, 2, 3]
    assert "nothing to run" in rows.explain() and "nothing to run" in rows.explain(analyze=True)


def test_analyze_is_about_the_whole_plan() -> None:
    with pytest.raises(ValueError, match="leave out stage"):
        SFrame({"v": [1]}).explain(stage="fuse", analyze=True)


@pytest.mark.spark
def test_analyze_counts_tasks_of_spark(spark: Any) -> None:
    with config.using(small_rows=0):
        frame = SFrame({"k": [number % 7 for number in range(1_000)], "v": list(range(1_000))})
        plan = frame.groupby("k", {"s": aggregate.CONCAT("v")}).explain(analyze=True)
    (outcome,) = (outcome for section in plan.sections for outcome in section.outcomes)
    assert (outcome.strategy, outcome.rows, outcome.spilled) == (SPARK_QUERY, 7, 0)
    assert outcome.tasks is not None and outcome.tasks >= 1


def test_what_ran_last_is_told() -> None:
    frame = SFrame({"v": [3, 1, 2]})
    rows = frame[frame["v"] > 1].sort("v")
    assert str(rows.last_run()) == "nothing ran"
    list(rows.head(1))
    rows.materialize()
    told = rows.last_run()
    assert told.startswith("section 1 driver, without a plan (") and "2 rows" in told
    assert str(frame["v"].last_run()) == "nothing ran"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        # Eight bytes of values, and twenty-four of the key.
        (10**10, ["  exchanges: at most 298.0 GiB go into one: 4096 partitions, or spark.sql.shuffle.partitions where that is more"]),
        (4 * 10**6, ["  exchanges: at most 122.1 MiB go into one: spark.sql.shuffle.partitions"]),
        # One task, or none.
        (100, []),
    ],
)
def test_partitions_of_exchanges_are_told_of_queries(rows: int, told: list[str]) -> None:
    plan = Sort(((0, False),)).make_planner_node(range_source(0, rows))
    section = Section(*SPARK_QUERY, plan, "the result")
    section.number = "1"
    lines = physical_lines(explained_sections([section], ColumnNames.of_plan(plan, ["n"])))
    assert [line for line in lines if "exchanges:" in line] == told
    elsewhere = Section(*STREAM_BY_TASKS, plan, "the result")
    elsewhere.number = "1"
    assert not [line for line in physical_lines(explained_sections([elsewhere], ColumnNames.of_plan(plan, ["n"]))) if "exchanges:" in line]


def test_what_was_tried_and_given_up_is_told() -> None:
    tried = SectionOutcome("2", FIRST_ROWS_ON_DRIVER, ("slice",), (), "the result", seconds=0.5, is_given_up=True)
    assert what_ran(tried) == "ran 2 driver, until there are enough rows (slice): given up after 0.500 s"
    again = SectionOutcome("2.1", STREAM_ON_DRIVER, ("sort",), (), "the result", 0.25, 4, 96, instead_of=SPARK_QUERY)
    assert what_ran(again) == "ran 2.1 driver (sort): 4 rows (96 bytes in memory), 0.250 s, instead of: Spark query"


def test_a_plan_without_sections_says_so() -> None:
    assert physical_lines([]) == ["-- physical plan: nothing to run, the rows are there"]
    assert "nothing to run" in explanation.mermaid_of([]) and "nothing to run" in explanation.svg_of([])


@pytest.mark.parametrize("why", [False, True])
def test_a_plan_stays_short_however_many_values_it_looks_for(why: bool) -> None:
    sf = SFrame({"n": list(range(50)), "text": ["a"] * 50})
    sf["one_of"] = SArray.where(sf["n"] > 3, "c" * 40_000, "d")
    sf["filled"] = sf["text"].fillna("e" * 40_000)
    sf["before"] = sf["text"].shift(1, "f" * 40_000)
    chosen = sf[sf["n"].is_in(list(range(0, 40_000, 2))) & (sf["text"] != "b" * 40_000)]
    told = chosen.explain(why=why)
    for text in (str(told), told.mermaid(), told.svg(), repr(chosen._node)):
        assert max(map(len, text.splitlines())) < 4_000, text[:4_000]
    assert "(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ... 19990 more)" in told
    assert "'bbb" in told and "more" in told
    assert list(chosen["n"]) == list(range(0, 50, 2))


def test_a_plan_has_the_names_of_the_user() -> None:
    """A legend of numbers once said `c2=total` where the plan's `c2` was the key."""
    trades = SFrame({"user": ["ann", "bob", "c1 and v0"], "lots": [5, 3, 4], "price": [2.0, 3.5, 1.0]})
    trades["value"] = trades["lots"] * trades["price"]
    chosen = trades[trades["user"] == "c1 and v0"]
    plan = str(chosen.groupby("user", {"total": aggregate.SUM("value")}).explain())
    assert plan.startswith("columns: user, total\n")
    for part in plan.split("-- ")[1:4]:
        assert "multiply(lots, price)" in part and "'c1 and v0'" in part and "group_by[[user]" in part
    assert "multiply(v0" not in plan and "[c2]" not in plan
