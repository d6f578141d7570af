"""Claims about physical plans, against plans that keep and break them."""

from __future__ import annotations

import pytest

from sframe_spark.config import config
from sframe_spark.explain.executed_spark_plans import ExecutedPlan
from sframe_spark.explain.verification import Finding, check_query, check_tasks, query_work
from sframe_spark.operators.append import append
from sframe_spark.operators.groupby.groupby import GroupBy, group_by
from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
from sframe_spark.operators.joins.equi_join import join
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import NO_WORK, QueryWork, SparkCost
from tests.order.plan_trees import plan_tree

ROWS = range_source(9, 9, -1)


def executed(*nodes: str) -> ExecutedPlan:
    """A plan of nodes given top first; ``Sort!`` sorts all rows, ``Sort`` each partition."""
    details = tuple("[k0 ASC], true, 0" if node == "Sort!" else "[k0 ASC], false, 0" if node == "Sort" else "" for node in nodes)
    return ExecutedPlan(plan_tree([node.rstrip("!") for node in nodes]), details)


def wrong(findings: list[Finding]) -> list[str]:
    """What does not agree."""
    return [f"{finding.claim}: {finding.found}" for finding in findings if finding.found is not None]


@pytest.mark.parametrize(
    ("plan", "work"),
    [
        (sort_rows(ROWS, [(0, True)]), QueryWork(1, 1)),
        (group_by(ROWS, [0], []), QueryWork(2, 3)),
        (sort_rows(group_by(append(ROWS, ROWS), [0], []), [(0, False)]), QueryWork(2, 3)),
        (join(ROWS, ROWS, [0], [0], "inner"), QueryWork(3, 3)),
        (reduce_columns(ROWS, []), QueryWork(1, 0)),
        (Cumulative("sum").make_planner_node(ROWS), None),
    ],
    ids=str,
)
def test_work_of_a_query_is_that_of_its_operators(plan: PlannerNode, work: QueryWork | None) -> None:
    with config.using(single_task_rows=0):
        assert query_work(plan) == work


def test_few_rows_in_one_task_need_no_exchange() -> None:
    with config.using(single_task_rows=100):
        assert query_work(group_by(ROWS, [0], [])) == QueryWork(0, 3)
        assert query_work(join(ROWS, ROWS, [0], [0], "outer")) == QueryWork(0, 3)


@pytest.mark.parametrize(
    ("nodes", "problems"),
    [
        (["Project", "Sort!", "AQEShuffleRead", "Exchange", "RDDScan"], []),
        (["Execute InsertIntoHadoopFsRelationCommand", "WriteFiles", "Project", "Sort!", "Exchange", "RDDScan"], []),
        (["TakeOrderedAndProject", "RDDScan"], []),
        (["Project", "Sort", "Exchange", "RDDScan"], ["no node on the way to the result sorts all rows"]),
        (["Project", "RDDScan"], ["no node on the way to the result sorts all rows"]),
        (["Window", "Sort!", "Exchange", "RDDScan"], ["a node above the sort may move rows"]),
        (["Mystery", "Sort!", "Exchange", "RDDScan"], ["a node above the sort may move rows"]),
        (["Exchange", "Sort!", "Exchange", "RDDScan"], ["1 more than claimed", "a node above the sort may move rows"]),
        (["Sort!", "Exchange", "Sort", "Sort", "RDDScan"], ["2 more than claimed"]),
    ],
)
def test_a_sorted_query_is_compared_with_its_plan(nodes: list[str], problems: list[str]) -> None:
    with config.using(single_task_rows=0):
        found = wrong(check_query(sort_rows(ROWS, [(0, True)]), [executed(*nodes)], 9))
    assert [text.rsplit(": ", 1)[1] for text in found] == problems


def test_a_claim_that_is_too_bold_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = executed("Sort!", "Exchange", "HashAggregate", "Exchange", "HashAggregate", "RDDScan")
    with config.using(single_task_rows=0):
        assert wrong(check_query(group_by(ROWS, [0], []), [plan], 9)) == []
        monkeypatch.setattr(GroupBy, "spark_cost", SparkCost(NO_WORK))
        assert wrong(check_query(group_by(ROWS, [0], []), [plan], 9)) == ["exchanges: at most 1 claimed, 2 ran: 1 more than claimed"]


def test_a_query_that_did_not_run_or_was_not_adapted_is_told() -> None:
    plan = sort_rows(ROWS, [(0, True)])
    assert wrong(check_query(plan, [], 9)) == ["one Spark query: Spark ran none"]
    unfinished = ExecutedPlan(plan_tree(["Sort", "RDDScan"]), ("[k0 ASC], true, 0", ""), is_final=False)
    assert str(check_query(plan, [unfinished], 9)[0]) == "the last change of this plan, of which Spark did not tell: not claimed"


def test_nothing_is_claimed_of_operators_without_a_claim() -> None:
    found = check_query(Cumulative("sum").make_planner_node(ROWS), [executed("Sort!", "RDDScan")], 9)
    assert [str(finding) for finding in found[:2]] == ["exchanges: 0 ran: not claimed", "sorts: 1 ran: not claimed"]


def test_tasks_exchange_nothing() -> None:
    plan = zip_columns(ROWS, ROWS)
    assert wrong(check_tasks(plan, [executed("MapPartitions", "RDDScan")])) == []
    found = wrong(check_tasks(plan, [executed("MapPartitions", "RDDScan"), executed("MapPartitions", "Exchange", "RDDScan")]))
    assert found == [
        "exchanges: none claimed: 1 ran",
        "ranges of rows stay in their tasks: a node of the plan moves rows between tasks",
        "zip of co-partitioned inputs needs no exchange: 1 exchanges ran",
    ]
    assert wrong(check_tasks(plan, [])) == ["tasks in Spark: Spark ran none"]
