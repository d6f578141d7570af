"""Checks of Spark lowerings, on rows that are scattered among partitions: types, order, claims and rows, in any number of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.config import config
from sframe_spark.engine.spark import query
from sframe_spark.errors import ContractBroken, PlanInvariantError
from sframe_spark.explain.executed_spark_plans import recorded_plans
from sframe_spark.explain.verification import query_work
from sframe_spark.planner.graph_traversal import fold
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import QueryWork
from sframe_spark.planner.spark_relation import LoweringContext, Relation, lowered
from sframe_spark.session import QuerySize, get_session, is_remote
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.session.users_own_spark_session import keeping_active
from sframe_spark.testing.row_comparison import Rows, counted, demand, difference, multiset, rows_of, same_rows

PARTITIONS = (1, 2, 7)
"""Numbers of Spark partitions that must all give the same rows."""


def check_partitions(node: PlannerNode) -> Rows:
    """Check the types, claims, order and rows of a lowering with several numbers of partitions; return the rows.

    Raises
    ------
    ContractBroken
        If the lowering does not do what the operator declares.
    """
    counts = partitions_for(node)
    results = [run_lowering(node, count) for count in counts]
    for count, found in zip(counts, results, strict=True):
        ordered = has_order(node, found)
        same = same_rows(found, results[0]) if ordered else same_rows(multiset(found), multiset(results[0]))
        if not same:
            text = difference(found, results[0], f"the query over {count} partitions", "that over one partition")
            demand(False, node, "rows are the same in any number of Spark partitions", text)
    return results[0]


def partitions_for(node: PlannerNode) -> tuple[int, ...]:
    """Return the numbers of partitions to try: 1 and 7; also 2 if a source has at most 7 rows, because 7 partitions may then have one row each."""
    known = [source.length.rows for source in node.inputs or (node,)]
    scarce = any(rows is None or rows <= PARTITIONS[-1] for rows in known)
    return PARTITIONS if scarce else (PARTITIONS[0], PARTITIONS[-1])


def has_order(node: PlannerNode, rows: Rows) -> bool:
    """Return whether a node's rows have a defined order. They have none if there are several, and the node is a leaf whose rows are not numbered."""
    return bool(node.inputs) or node.operator.is_source or len(rows) <= 1


def run_lowering(node: PlannerNode, partitions: int) -> Rows:
    """Return the rows of a node's lowering over scattered sources, after a check of its claims."""
    relation = lower_scattered(node, partitions)
    return check_rows(node, relation, collect(node, relation))


def collect(node: PlannerNode, relation: Relation) -> pa.Table:
    """Compute the visible and hidden columns of a relation on Spark; return them in the order of the relation."""
    ordered = relation.df.orderBy(*relation.order()) if relation.key else relation.df
    selected = ordered.select(*relation.columns, *relation.hidden)
    return query.run_spark(lambda: to_arrow(selected), f"checking {node.operator_type}")


def check_rows(node: PlannerNode, relation: Relation, table: pa.Table) -> Rows:
    """Check what a relation claims about its rows; return the rows.

    Raises
    ------
    ContractBroken
        If a claim is false.
    """
    chunk = query.from_spark_table(table.select(relation.columns), node.schema)
    hidden = {name: table.column(name).to_pylist() for name in relation.hidden}
    rows = rows_of(attrs.evolve(chunk, rows=table.num_rows), node.schema)
    check_key(node, relation, hidden, len(rows))
    for position in relation.not_missing:
        claimed = [row[position] for row in rows]
        demand(None not in claimed, node, f"column {position} misses no value, since not_missing says so", str(claimed))
    return rows


def lower_scattered(node: PlannerNode, partitions: int) -> Relation:
    """Lower a plan to one Spark query whose sources are spread over partitions without regard to row order.

    With one partition, the query runs as the engine runs small queries: in the session for small queries, without exchanges. The types and
    column names of the result are checked.
    """
    spark = get_session(QuerySize.SMALL if partitions == 1 else QuerySize.DEFAULT)
    context = LoweringContext(spark)

    def lower_node(current: PlannerNode, inputs: list[Relation]) -> Relation:
        try:
            relation = lowered(current.operator, inputs, context)
        except PlanInvariantError as error:
            raise ContractBroken(node, "plan_to_operator() gives a Relation", str(error)) from None
        if partitions == 1 and (not current.inputs or current.operator_type == "append"):
            return query.in_one_task(relation)
        return relation if current.inputs else scattered(relation, partitions)

    with keeping_active(spark):
        relation = fold([node], lower_node)[id(node)]
    check_shape(node, relation)
    return relation


def scattered(relation: Relation, partitions: int) -> Relation:
    """Return the relation with its rows partitioned by a hash of their keys."""
    keys = [relation.df[column.name] for column in relation.key]
    return attrs.evolve(relation, df=relation.df.repartition(partitions, *keys))


def check_work_in_spark(node: PlannerNode) -> None:
    """Check that Spark exchanges and sorts rows at most as often as ``spark_cost`` says; nothing is checked where it says nothing.

    Raises
    ------
    ContractBroken
        If it does so more often.
    """
    if len(node.inputs) > 1:
        # Rows of several tables are brought side by side first, which is not the operator's work.
        return
    with config.using(single_task_rows=0):
        work = query_work(node)
        if work is None or is_remote(get_session()):
            return
        with recorded_plans() as plans:
            query.collect(node)
    if not plans:
        return
    ran = QueryWork(plans[-1].count("Exchange"), plans[-1].count("Sort"))
    found = (
        f"{counted(ran.exchanges, 'exchange')} and {counted(ran.sorts, 'sort')} ran, and with those that put the result in order it may be at most "
        f"{work.exchanges} and {work.sorts}"
    )
    holds = ran.exchanges <= work.exchanges and ran.sorts <= work.sorts
    said = node.operator.spark_cost.work
    more = QueryWork(said.exchanges + max(0, ran.exchanges - work.exchanges), said.sorts + max(0, ran.sorts - work.sorts)) if said else None
    remedy = f"Say SparkCost(QueryWork({more.exchanges}, {more.sorts})), or leave spark_cost out, which claims nothing" if more else ""
    demand(holds, node, f"its query has no more exchanges and sorts than spark_cost says, {node.operator.spark_cost.work}", found, remedy)


def check_shape(node: PlannerNode, relation: Relation) -> None:
    """Check that a relation has the inferred types, and the engine's column names.

    Raises
    ------
    ContractBroken
        If it has other types, or lacks columns.
    """
    demand(relation.schema == node.schema, node, "the lowering states the inferred types", f"{relation.schema} for {node.schema}")
    missing = [name for name in (*relation.columns, *relation.hidden) if name not in relation.df.columns]
    demand(not missing, node, "the lowering has all its columns and keys", f"{missing} not in {relation.df.columns}")
    types = ([relation.df.schema[name].dataType.simpleString() for name in relation.columns], map(spark_type, node.schema))
    # Spark writes these names of types in several ways.
    found, expected = ([text.replace("integer", "int").replace(" ", "") for text in texts] for texts in types)
    demand(found == expected, node, "the lowering gives the inferred types", f"{found} for {expected}")


def check_key(node: PlannerNode, relation: Relation, hidden: dict[str, list[Any]], count: int) -> None:
    """Check that the key orders all rows and that the position, if there is one, is the row number from zero.

    Raises
    ------
    ContractBroken
        If two rows have the same key, or the position is not the row number.
    """
    if not relation.key:
        demand(
            not node.inputs or count <= 1,
            node,
            "rows have a key",
            f"{counted(count, 'row')} without one: a Relation has key columns",
        )
        return
    keys: Sequence[tuple[Any, ...]] = list(zip(*[map(repr, hidden[column.name]) for column in relation.key], strict=True))
    demand(len(set(keys)) == count, node, "the key orders all rows: no two have the same", str(sorted(keys)))
    if relation.position is not None:
        numbers = hidden[relation.position]
        demand(numbers == list(range(count)), node, "the position numbers the rows in order", str(numbers))
