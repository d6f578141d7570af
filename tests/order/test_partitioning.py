"""What Spark's operations keep: agreement with every recorded fact that the table covers, and reading of plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sframe_spark.order.spark_order_preservation import NODE_PRESERVATION, Preservation, plan_preservation
from tests.order import replay_cases as order_cases
from tests.order.plan_trees import plan_tree
from tests.order.replay_partitions import partition_claims

PARTITION_CASES = Path(__file__).parents[1] / "data" / "order" / "partition_cases.json"


def test_claims_agree_with_every_recorded_fact_they_cover(capsys: pytest.CaptureFixture[str]) -> None:
    assert order_cases.main([str(PARTITION_CASES)]) == 0
    assert '80 cases (74 covered), 0 false "satisfied", 0 missed' in capsys.readouterr().out


@pytest.mark.parametrize(
    "nodes, expected",
    [
        (["RDDScan"], (True, True)),
        (["Project", "ArrowEvalPython", "Filter", "InMemoryTableScan"], (True, True)),
        (["Project", "Sort", "RDDScan"], (False, False)),
        (["Filter", "FileScan"], (None, None)),
        (["SomethingNew", "RDDScan"], (None, None)),
        (["SomethingNew", "ShuffleExchange", "RDDScan"], (False, False)),
        (["Union", "RDDScan", "Project", "RDDScan", "RDDScan"], (False, None)),
        (["BroadcastHashJoin", "Filter", "RDDScan", "BroadcastExchange", "HashAggregate", "ShuffleExchange", "RDDScan"], (True, True)),
        (["BroadcastHashJoin", "BroadcastExchange", "RDDScan", "Filter", "RDDScan"], (False, False)),
        (["SortMergeJoin", "Sort", "ShuffleExchange", "RDDScan", "Sort", "ShuffleExchange", "RDDScan"], (False, False)),
    ],
)
def test_a_plan_keeps_what_every_node_on_its_left_edge_keeps(nodes: list[str], expected: tuple[bool | None, bool | None]) -> None:
    assert plan_preservation(plan_tree(nodes)) == Preservation(*expected)


def test_a_broadcast_join_that_adds_unmatched_rows_keeps_nothing() -> None:
    tree = plan_tree(["BroadcastNestedLoopJoin", "RDDScan", "BroadcastExchange", "RDDScan"])
    assert plan_preservation(tree) == Preservation(True, True)
    assert plan_preservation(tree, unmatched_rows_added=True) == Preservation(False, False)


@pytest.mark.parametrize("nodes", [[], ["Project"], ["SortMergeJoin", "RDDScan"], ["RDDScan", "Project"]])
def test_lists_that_are_no_plan_are_refused(nodes: list[str]) -> None:
    with pytest.raises(ValueError, match="nodes"):
        plan_tree(nodes)


def test_no_operation_keeps_partitions_but_not_the_order_inside() -> None:
    assert all(kept.row_order for kept in NODE_PRESERVATION.values() if kept.partitions)


@pytest.mark.parametrize(
    "operation, nodes",
    [
        ("createDataFrame(df.toArrow())", ["LocalTableScan"]),
        ("createDataFrame(df.rdd.sortBy(f))", ["RDDScan"]),
        ("df.rdd.mapPartitions(f).toDF()", ["RDDScan"]),
        ("withColumn(x, shuffled(v))", ["SomethingNew", "RDDScan"]),
    ],
)
def test_an_operation_that_is_not_recognised_is_not_covered(operation: str, nodes: list[str]) -> None:
    case: dict[str, Any] = {"kind": "operation", "op": operation, "physical_nodes": nodes, "partition_preserved": True, "row_order_preserved": True}
    assert list(partition_claims(case)) == []


@pytest.mark.parametrize("operation", ["withColumn(k, -k)", "selectExpr(v % 2 as k)", "select((-v).alias(k))", "withColumnRenamed(v, k)"])
def test_nothing_is_claimed_of_a_key_that_is_made_anew(operation: str) -> None:
    case = {"kind": "operation", "op": operation, "physical_nodes": ["Project", "RDDScan"], "row_order_preserved": True, "key_order_preserved": False}
    assert list(partition_claims(case)) == [(True, True)]


def test_a_plan_hidden_behind_a_checkpoint_is_read_from_its_steps() -> None:
    case = {"kind": "operation", "op": "orderBy(v).localCheckpoint()", "physical_nodes": ["RDDScan"], "row_order_preserved": False}
    assert list(partition_claims(case)) == [(False, False)]
