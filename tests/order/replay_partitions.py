"""Reads partition cases: plans by their node names, otherwise chains of DataFrame methods, leaves by what they read.

Only names are looked at, never the identity of a case. What is not recognised is not covered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sframe_spark.order.spark_order_preservation import (
    BREAKS_ALL,
    KEEPS_ALL,
    NODE_PRESERVATION,
    SAYS_NOTHING,
    PlanNode,
    Preservation,
    plan_preservation,
)
from tests.order.plan_trees import SORTING_NODES, plan_tree

Case = Mapping[str, Any]

# The node of the plan that decides about each DataFrame method.
_METHOD_NODES = {
    **dict.fromkeys(("select", "selectExpr", "withColumn", "withColumns", "withColumnRenamed", "drop", "fillna", "replace"), "Project"),
    **dict.fromkeys(("filter", "where", "dropna"), "Filter"),
    **dict.fromkeys(("explode", "explode_outer", "posexplode", "posexplode_outer"), "Generate"),
    **dict.fromkeys(("unpivot", "melt"), "Expand"),
    **dict.fromkeys(("orderBy", "sort", "sortWithinPartitions"), "Sort"),
    **dict.fromkeys(("repartition", "repartitionByRange"), "ShuffleExchange"),
    **dict.fromkeys(("groupBy", "distinct", "dropDuplicates", "agg"), "HashAggregate"),
    **dict.fromkeys(("limit", "offset"), "GlobalLimit"),
    **dict.fromkeys(("union", "unionAll", "unionByName"), "Union"),
    "sample": "Sample",
    "observe": "CollectMetrics",
    "mapInArrow": "MapInArrow",
    "mapInPandas": "MapInPandas",
    "coalesce": "Coalesce",
}
_KEEPING_METHODS = frozenset({"alias", "hint", "cache", "persist", "localCheckpoint", "checkpoint", "collect"})
# Behind these the plan starts anew, so that its nodes do not show what was done before.
_HIDING = re.compile(r"\brdd\b|createDataFrame\(|[cC]heckpoint\(|\bcache\(|\bpersist\(")
_ROW_WISE_RDD_STEP = re.compile(r"createDataFrame\(\w+\.rdd\.(?:zipWithIndex|map|filter|flatMap)\(")
_ADDS_UNMATCHED = re.compile(r"\b(full|right)[ _]?outer|\bfull\b|'(right|outer)'|, right\b", re.IGNORECASE)
_STEP = re.compile(r"(\w+)\(")
_KEY = r"(?:k|time)"
_NEW_KEY = re.compile(rf"withColumns?\(\{{?'?{_KEY}\b|\bas {_KEY}\b|alias\({_KEY}\)|, {_KEY}\)$|toDF\(|(?:fillna|replace)\([^)]*\b{_KEY}\b")
_LOSES_KEY = re.compile(rf"\bselect\((?![^:]*\b{_KEY}\b)|\bdrop\({_KEY}\b")
_WIDENED_KEY = re.compile(rf"withColumn\(({_KEY}), cast\(\1 as (?:double|bigint|long|timestamp)\)\)")


def partition_claims(case: Case) -> Iterator[tuple[bool, bool]]:
    """Pairs of what the package promises and what a case records.

    Examples
    --------
    >>> case = {"kind": "operation", "op": "drop(v)", "partition_preserved": True, "physical_nodes": ["Project", "RDDScan"]}
    >>> list(partition_claims(case))
    [(True, True)]
    """
    for fact, promised in _promises(case).items():
        recorded = case.get(fact)
        if promised is not None and recorded is not None:
            if not isinstance(recorded, bool):
                raise ValueError(f"{fact} is {recorded!r}, not true, false or null")
            yield promised, recorded


def _promises(case: Case) -> dict[str, bool | None]:
    operation = case["op"]
    match case["kind"]:
        case "leaf":
            return _leaf_promises(operation)
        case "operation":
            return _operation_promises(operation, case.get("physical_nodes"))
        case "sequence":
            preservation, names = _method_preservation(operation)
            # A sequence's order is that of the last sort in it, if there is one.
            order = None if SORTING_NODES.intersection(names) else preservation.row_order
            return {"partition_preserved": preservation.partitions, "row_order_preserved": order}
    return {}


def _operation_promises(operation: str, nodes: list[str] | None) -> dict[str, bool | None]:
    new_key = bool(_NEW_KEY.search(operation)) and not _WIDENED_KEY.search(operation)
    if nodes is None:
        if new_key or _LOSES_KEY.search(operation):
            return {}
        before, _, steps = operation.rpartition(": ") if operation.startswith("after ") else ("", "", operation)
        preservation, names = _method_preservation(steps)
        if before:
            preservation = preservation._replace(partitions=_method_preservation(before)[0].then(preservation).partitions)
    else:
        preservation, names = _plan_preservation(operation, nodes)
    ascending = preservation.row_order
    if new_key or (not ascending and SORTING_NODES.intersection(names)):
        ascending = None
    return {
        "partition_preserved": preservation.partitions,
        "row_order_preserved": preservation.row_order,
        "key_order_preserved": ascending,
    }


def node_names(node: PlanNode) -> Iterator[str]:
    """The names of the nodes on the left edge of a plan, top first."""
    yield node.name
    if node.inputs:
        yield from node_names(node.inputs[0])


def _plan_preservation(operation: str, nodes: list[str]) -> tuple[Preservation, list[str]]:
    if "randomSplit" in operation and "not the key" not in operation:
        return SAYS_NOTHING, nodes
    tree = plan_tree(nodes)
    names = list(node_names(tree))
    shown = plan_preservation(tree, bool(_ADDS_UNMATCHED.search(operation)))
    if not _HIDING.search(operation) and "InMemoryTableScan" not in nodes:
        return shown, names
    steps = _ROW_WISE_RDD_STEP.sub("alias(", operation)
    if "createDataFrame(" in steps or ".rdd" in steps:
        return SAYS_NOTHING, names
    hidden, hidden_names = _method_preservation(steps)
    return hidden.then(shown), names + hidden_names


def _method_preservation(text: str) -> tuple[Preservation, list[str]]:
    """What a chain of methods keeps, and the nodes that decide; nothing is said of a chain with an unknown method."""
    names: list[str] = []
    result = KEEPS_ALL
    steps = list(_outer_steps(text))
    for step in steps:
        if step in _KEEPING_METHODS:
            continue
        node = _METHOD_NODES.get(step)
        names.append(node or step)
        result = result.then(NODE_PRESERVATION[node] if node else SAYS_NOTHING)
    if " over " in text:
        names.append("Window")
        result = BREAKS_ALL
    return (result if steps else SAYS_NOTHING), names


def _outer_steps(text: str) -> Iterator[str]:
    """The names called in a text, without those inside the arguments of another."""
    depth, position = 0, 0
    while position < len(text):
        step = _STEP.match(text, position)
        if step is not None and (position == 0 or not (text[position - 1].isalnum() or text[position - 1] == "_")):
            if depth == 0:
                yield step[1]
            depth, position = depth + 1, step.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1


def _leaf_promises(operation: str) -> dict[str, bool | None]:
    """What reading a source gives: stable partitions, and the stored order of rows."""
    stable: bool | None = None
    ordered: bool | None = None
    if "directory" in operation:
        stable, ordered = True, False
    elif re.search(r"one Parquet file|parallelize\(|[cC]heckpoint\(", operation):
        stable, ordered = True, True
    elif re.search(r"orderBy|\bsort", operation) and not _HIDING.search(operation):
        stable = False
    return {"leaf_partitions_stable": stable, "leaf_row_order": ordered}
