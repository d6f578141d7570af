"""The part of the contract kit that runs Spark lowerings over rows scattered among partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.engine.spark import query
from sframe_spark.planner.graph import fold
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import QuerySize, get_session
from sframe_spark.session.user_session import keeping_active
from sframe_spark.testing.contract_base import PARTITIONS, Rows, demand, multiset, rows_of, same_rows


def check_partitions(node: PlannerNode) -> Rows:
    """Check a lowering under numbers of partitions: types, claims, order, the same rows each time; return the rows.

    Raises
    ------
    ContractBroken
        If the lowering does not do what the operator says.
    """
    counts = partitions_for(node)
    results = [run_lowering(node, count) for count in counts]
    for count, found in zip(counts, results, strict=True):
        ordered = has_order(node, found)
        same = same_rows(found, results[0]) if ordered else same_rows(multiset(found), multiset(results[0]))
        demand(same, node, f"{count} partition(s) give the rows of one", f"{results[0]}\nbut {found}")
    return results[0]


def partitions_for(node: PlannerNode) -> tuple[int, ...]:
    """1 and 7, and 2 where 7 may leave every row of a source alone: of more than 7 rows some lie together, and others apart, whatever the keys."""
    known = [source.length.rows for source in node.inputs or (node,)]
    scarce = any(rows is None or rows <= PARTITIONS[-1] for rows in known)
    return PARTITIONS if scarce else (PARTITIONS[0], PARTITIONS[-1])


def has_order(node: PlannerNode, rows: Rows) -> bool:
    """Whether a node's rows have an order: all have, but for sources of rows that come as they like."""
    return bool(node.inputs) or node.operator.is_source or len(rows) <= 1


def spark_rows(node: PlannerNode) -> Rows:
    """Return the rows of a node by its lowering."""
    return run_lowering(node, PARTITIONS[1])


def run_lowering(node: PlannerNode, partitions: int) -> Rows:
    """Return the rows of a node by its lowering over sources that are scattered among partitions, checking what it claims."""
    relation = lower_scattered(node, partitions)
    return check_rows(node, relation, collect(node, relation))


def collect(node: PlannerNode, relation: Relation) -> pa.Table:
    """Return visible and hidden columns of a relation in its order."""
    ordered = relation.df.orderBy(*relation.order()) if relation.key else relation.df
    selected = ordered.select(*relation.columns, *relation.hidden)
    return query.run_spark(selected.toArrow, f"checking {node.operator_type}")


def check_rows(node: PlannerNode, relation: Relation, table: pa.Table) -> Rows:
    """Check what a relation claims of its rows against the rows; return them.

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
    """Return a plan as one Spark query whose sources lie in partitions that know nothing of row order.

    One partition is run as the engine runs few rows: in the session for them, without exchanges. The shape of the result is checked.
    """
    spark = get_session(QuerySize.FEW_ROWS if partitions == 1 else QuerySize.USUAL)
    context = LoweringContext(spark)

    def lower_node(current: PlannerNode, inputs: list[Relation]) -> Relation:
        relation = current.operator.plan_to_operator(inputs, context)
        if partitions == 1 and (not current.inputs or current.operator_type == "append"):
            return query.in_one_task(relation)
        return relation if current.inputs else scattered(relation, partitions)

    with keeping_active(spark):
        lowered = fold([node], lower_node)[id(node)]
    check_shape(node, lowered)
    return lowered


def scattered(relation: Relation, partitions: int) -> Relation:
    """Return a relation whose rows lie in partitions by a hash of their keys."""
    keys = [relation.df[column.name] for column in relation.key]
    return attrs.evolve(relation, df=relation.df.repartition(partitions, *keys))


def check_shape(node: PlannerNode, relation: Relation) -> None:
    """Check that a relation has the inferred types, in the engine's column names.

    Raises
    ------
    ContractBroken
        If it has others.
    """
    demand(relation.schema == node.schema, node, "the lowering states the inferred types", f"{relation.schema} for {node.schema}")
    missing = [name for name in (*relation.columns, *relation.hidden) if name not in relation.df.columns]
    demand(not missing, node, "the lowering has all its columns and keys", f"{missing} not in {relation.df.columns}")
    found = [type_text(relation.df.schema[name].dataType.simpleString()) for name in relation.columns]
    wanted = [type_text(spark_type(column_type)) for column_type in node.schema]
    demand(found == wanted, node, "the lowering gives the inferred types", f"{found} for {wanted}")


def type_text(ddl: str) -> str:
    """Return Spark's type in one spelling."""
    return ddl.replace("integer", "int").replace(" ", "")


def check_key(node: PlannerNode, relation: Relation, hidden: dict[str, list[Any]], count: int) -> None:
    """Check that the key orders all rows and that the position, if there is one, numbers them from zero.

    Raises
    ------
    ContractBroken
        If two rows have one key, or the position is another number.
    """
    if not relation.key:
        demand(not node.inputs or count <= 1, node, "rows have a key", f"{count} rows without one")
        return
    keys: Sequence[tuple[Any, ...]] = list(zip(*[map(repr, hidden[column.name]) for column in relation.key], strict=True))
    demand(len(set(keys)) == count, node, "the key orders all rows: no two have the same", str(sorted(keys)))
    if relation.position is not None:
        numbers = hidden[relation.position]
        demand(numbers == list(range(count)), node, "the position numbers the rows in order", str(numbers))
