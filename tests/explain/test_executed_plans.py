"""Plans as Spark describes them, read back."""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark.explain.executed_spark_plans import read_plan, recorded_plans
from sframe_spark.session import get_session
from sframe_spark.session.spark_versions import to_arrow

# As Spark 4.3.0 describes a sorted frame written to files, and an outer join; details that are not read are left out.
WRITTEN = """== Physical Plan ==
AdaptiveSparkPlan (18)
+- == Final Plan ==
   ResultQueryStage (11), Statistics(sizeInBytes=8.0 EiB)
   +- Execute InsertIntoHadoopFsRelationCommand (10)
      +- WriteFiles (9)
         +- * Project (8)
            +- * Sort (7)
               +- AQEShuffleRead (6), coalesced
                  +- ShuffleQueryStage (5), Statistics(sizeInBytes=187.5 KiB, rowCount=4.00E+3)
                     +- Exchange (4)
                        +- * Project (3)
                           +- * ColumnarToRow (2)
                              +- Scan parquet  (1)
+- == Initial Plan ==
   Execute InsertIntoHadoopFsRelationCommand (17)
   +- WriteFiles (16)
      +- Project (15)
         +- Sort (14)
            +- Exchange (13)
               +- Project (12)
                  +- Scan parquet  (1)


(1) Scan parquet
Output [2]: [c0#10L, _key#12L]

(4) Exchange
Input [3]: [c0#10L, k0#20, k1#21L]
Arguments: rangepartitioning(k0#20 ASC NULLS FIRST, k1#21L ASC NULLS FIRST, 2), ENSURE_REQUIREMENTS, [plan_id=57]

(6) AQEShuffleRead
Arguments: coalesced

(7) Sort [codegen id : 2]
Arguments: [k0#20 ASC NULLS FIRST, k1#21L ASC NULLS FIRST], true, 0

(18) AdaptiveSparkPlan
Arguments: isFinalPlan=true
"""
JOINED = """== Physical Plan ==
* Project (16)
+- * SortMergeJoin FullOuter (15)
   :- * Sort (7)
   :  +- Exchange (4)
   :     +- LocalTableScan (1)
   +- * Sort (14)
      +- Exchange (11)
         +- Union (3)
            :- Scan parquet  (8)
            +- LocalTableScan (9)


(4) Exchange
Arguments: hashpartitioning(c1#11L, 2), ENSURE_REQUIREMENTS, [plan_id=257]

(7) Sort [codegen id : 1]
Arguments: [c1#11L ASC NULLS FIRST], false, 0
"""


def test_the_final_plan_is_read_without_wrappers() -> None:
    plan = read_plan(WRITTEN)
    assert plan.is_final
    assert plan.lines() == [
        "Execute InsertIntoHadoopFsRelationCommand",
        "  WriteFiles",
        "    Project",
        "      Sort of all rows [k0 ASC NULLS FIRST, k1 ASC NULLS FIRST]",
        "        AQEShuffleRead coalesced",
        "          Exchange rangepartitioning(k0 ASC NULLS FIRST, k1 ASC NULLS FIRST, 2)",
        "            Project",
        "              ColumnarToRow",
        "                Scan parquet",
    ]
    assert (plan.count("Exchange"), plan.count("Sort"), len(plan.full_sorts())) == (1, 1, 1)


def test_a_plan_that_was_not_adapted_to_its_end_is_told() -> None:
    plan = read_plan(WRITTEN.replace("isFinalPlan=true", "isFinalPlan=false").replace("== Final Plan ==", "== Current Plan =="))
    assert not plan.is_final
    assert plan.lines() == read_plan(WRITTEN).lines()


def test_nodes_have_their_inputs_from_left_to_right() -> None:
    plan = read_plan(JOINED)
    join = plan.root.inputs[0]
    assert (join.name, [node.name for node in join.inputs]) == ("SortMergeJoin", ["Sort", "Sort"])
    union = join.inputs[1].inputs[0].inputs[0]
    assert [node.name for node in union.inputs] == ["Scan parquet", "LocalTableScan"]
    assert not plan.full_sorts()
    assert "    Sort within partitions [c1 ASC NULLS FIRST]" in plan.lines()


@pytest.mark.parametrize("text", ["", "== Parsed Logical Plan ==\nRange", "== Physical Plan ==\n\n"])
def test_a_text_without_a_plan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="physical plan"):
        read_plan(text)


@pytest.mark.spark
def test_plans_of_a_block_are_recorded(spark: Any) -> None:
    session = get_session()
    session.range(5).count()
    with recorded_plans() as plans:
        to_arrow(session.range(9).repartition(3).sortWithinPartitions("id"))
    session.range(5).count()
    assert [(plan.count("Exchange"), plan.count("Sort"), len(plan.full_sorts())) for plan in plans] == [(1, 1, 0)]


@pytest.mark.spark
def test_plans_of_other_threads_are_not_recorded(spark: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    session = get_session()
    with ThreadPoolExecutor(1) as other, recorded_plans() as plans:
        other.submit(lambda: to_arrow(session.range(7).repartition(2))).result()
        to_arrow(session.range(9))
    assert [plan.count("Exchange") for plan in plans] == [0]


@pytest.mark.spark
def test_jobs_without_a_query_are_recorded_with_their_exchanges(spark: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    context = get_session().sparkContext
    with ThreadPoolExecutor(1) as other, recorded_plans() as plans:
        other.submit(lambda: context.parallelize(range(3), 1).collect()).result()
        context.parallelize(range(9), 3).map(lambda number: (number % 2, number)).groupByKey().collect()
        context.parallelize(range(9), 3).collect()
        to_arrow(get_session().range(9))
    assert [plan.names() for plan in plans] == [["Range"], ["MapPartitions", "Exchange", "RDDScan"], ["MapPartitions", "RDDScan"]]
