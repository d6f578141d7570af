"""The part of the contract kit that runs kernels: whole, over row ranges, over no rows, over rows in another order."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.compute.range_partitioning import KINDS, KeyRanges
from sframe_spark.engine.physical.adaptive import with_known_rows
from sframe_spark.engine.physical.placement import Placement, place
from sframe_spark.engine.runtime.pipeline import FlatPlan, PlanRunner, combined
from sframe_spark.engine.runtime.tasks import combined_parts, summarize
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import Source, source_of
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.graph import fold
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator, SequentialOperator
from sframe_spark.testing.contract_base import PARTITIONS, Rows, demand, rows_of, same_rows

BATCH_ROWS = 3
"""Rows given to kernels at a time: fewer than a range has, so that ranges are cut into batches too."""


def has_whole_kernel(node: PlannerNode) -> bool:
    """Whether an operator has an Arrow implementation, be it only over whole columns, as reductions have."""
    return node.operator.has_kernel or bool(getattr(node.operator, "takes_all_rows", False))


def check_kernel(node: PlannerNode) -> Rows:
    """Check that one kernel call gives the inferred types, and the same rows twice if it says so; return the rows.

    Raises
    ------
    ContractBroken
        If it does not.
    """
    chunk = run_kernel(node)
    check_types(node, chunk, "the kernel")
    rows = rows_of(chunk, node.schema)
    if node.operator.deterministic:
        again = kernel_rows(node)
        demand(same_rows(again, rows), node, "a deterministic operator gives the same rows twice", f"{rows}\nthen {again}")
    return rows


def check_ranges(node: PlannerNode, rows: Rows) -> None:
    """Check that any cut into row ranges gives the rows of one kernel call, and that inputs without rows are no special case.

    Raises
    ------
    ContractBroken
        If a cut shows.
    """
    if not node.operator.has_kernel:
        return
    for count in PARTITIONS:
        found = rows_of(run_ranges(node, count), node.schema)
        demand(same_rows(found, rows), node, f"{count} row range(s) give the rows of one kernel call", f"{rows}\nbut {found}")
    if node.inputs:
        check_no_rows(node)


def check_parts(node: PlannerNode, rows: Rows) -> None:
    """Check that the parts of any row ranges, in small batches and sent between processes, give the rows of the whole.

    Raises
    ------
    ContractBroken
        If a cut shows.
    """
    operator, facts = node.operator, [child.facts for child in node.inputs]
    if not isinstance(operator, DecomposableOperator) or not operator.decomposes(facts):
        return
    chunk = read_all(node.inputs[0])
    for count in PARTITIONS:
        bounds = [chunk.rows * number // count for number in range(count + 1)]
        batches = [chunk.slice(start, stop) for first, last in pairwise(bounds) for start, stop in batch_bounds(first, last)]
        parts = [pickle.loads(pickle.dumps(operator.part_of(batch, facts))) for batch in batches]
        found = operator.rows_from(combined_parts(operator, parts, facts), facts)
        check_types(node, found, "what is made of parts")
        same = same_rows(rows_of(found, node.schema), rows)
        demand(same, node, f"parts of {count} row range(s) give the rows of the whole", f"{rows}\nbut {rows_of(found, node.schema)}")


def check_split(node: PlannerNode, rows: Rows) -> None:
    """Check that a kernel that may be asked range by range of a column gives the rows of the whole, one range after the other.

    Raises
    ------
    ContractBroken
        If a cut shows.
    """
    split = node.operator.split_by
    if split is None or node.inputs[0].schema[split[0]].kind not in KINDS:
        return
    (position, ascending), below, facts = split, read_all(node.inputs[0]), [child.facts for child in node.inputs]
    for count in PARTITIONS:
        ranges = KeyRanges.of(below.columns[position], node.inputs[0].schema[position], ascending, count)
        places = ranges.places(below.columns[position])
        given = [below.rows_at(np.flatnonzero(places == number)) for number in range(ranges.count)]
        passed = ranges.have_one_value & node.operator.leaves_equal_rows
        parts = [part if passed[number] else node.operator.kernel([part], facts) for number, part in enumerate(given)]
        found = rows_of(concatenate(parts, node.schema), node.schema)[: node.operator.rows_of_ranges]
        demand(same_rows(found, rows), node, f"{ranges.count} range(s) of values give the rows of one kernel call", f"{rows}\nbut {found}")


def batch_bounds(first: int, last: int) -> list[tuple[int, int]]:
    """Batches of a range of rows; one without rows where there is none."""
    return [(start, min(start + BATCH_ROWS, last)) for start in range(first, last, BATCH_ROWS)] or [(first, first)]


def run_kernel(node: PlannerNode) -> Chunk:
    """Return all rows of a node over sources, from one kernel call (sources: from one read)."""
    operator = node.operator
    if isinstance(operator, Source):
        return operator.read_all()
    return operator.kernel([read_all(child) for child in node.inputs], [child.facts for child in node.inputs])


def kernel_rows(node: PlannerNode) -> Rows:
    """Return all rows of a node over sources, from one kernel call."""
    return rows_of(run_kernel(node), node.schema)


def read_all(node: PlannerNode) -> Chunk:
    """Return all rows of a source."""
    return source_of(node).read_all()


def run_ranges(node: PlannerNode, count: int) -> Chunk:
    """Return the rows of a node computed in ``count`` row ranges, each in small batches, as tasks of the engine compute them."""
    node = with_known_rows(node) if node.operator.counts_rows else node
    plan = FlatPlan.of(node)
    placements: dict[int, Placement | None] = fold([node], _place)
    placement = placements[id(node)]
    assert placement is not None
    bounds = [placement.rows_to_run * number // count for number in range(count + 1)]
    states: dict[int, Any] = {place: _initial_state(plan, place) for place in plan.sequential_places()}
    parts = []
    for number, (start, stop) in enumerate(pairwise(bounds), start=1):
        try:
            parts += list(PlanRunner(plan, states).stream(start, stop, BATCH_ROWS, final=number == count))
        except PlanInvariantError as error:
            demand(False, node, "a row range gives the inferred types", str(error))
        advance = partial(_state_after, plan, start=start, stop=stop, before=dict(states))
        states = {place: advance(place) for place in states}
    return concatenate(parts, node.schema)


def _place(node: PlannerNode, inputs: list[Placement | None]) -> Placement | None:
    return place(node, [item for item in inputs if item is not None])


def _initial_state(plan: FlatPlan, place: int) -> Any:
    operator = plan.operators[place]
    assert isinstance(operator, SequentialOperator)
    return operator.initial_state(plan.input_facts(place))


def _state_after(plan: FlatPlan, place: int, start: int, stop: int, before: dict[int, Any]) -> Any:
    operator = plan.operators[place]
    assert isinstance(operator, SequentialOperator)
    return combined(operator, operator.combine, (before[place], summarize(plan, place, before, start, stop, BATCH_ROWS)))


def check_no_rows(node: PlannerNode) -> None:
    """Check an operator over inputs without rows.

    Raises
    ------
    ContractBroken
        If types or the number of rows are other than inferred.
    """
    empty = node.with_inputs([_in_memory(Chunk.empty(child.schema), child) for child in node.inputs])
    rows = run_ranges(empty, 1).rows
    demand(empty.length.rows in (None, rows), node, "the length inferred for no rows is right", f"{empty.length}, but {rows} rows")


def check_types(node: PlannerNode, chunk: Chunk, what: str) -> None:
    """Check that columns have the inferred types and lengths.

    Raises
    ------
    ContractBroken
        If they do not.
    """
    found = [column.type for column in chunk.columns]
    wanted = [column_type.physical for column_type in node.schema]
    same = len(found) == len(wanted) and all(a.equals(b) for a, b in zip(found, wanted, strict=True))
    demand(same, node, f"{what} gives the inferred types", f"{list(map(str, found))} for {list(map(str, node.schema))}")
    lengths = {len(column) for column in chunk.columns} | {chunk.rows}
    demand(len(lengths) == 1, node, f"{what} gives columns of one length", str(sorted(lengths)))


def reordered(node: PlannerNode, slot: int) -> PlannerNode:
    """Return the node with the rows of one input in reverse order."""
    child = node.inputs[slot]
    chunk = read_all(child)
    backwards = pa.array(range(chunk.rows - 1, -1, -1), pa.int64())
    turned = Chunk(tuple(column.take(backwards) for column in chunk.columns), chunk.rows)
    inputs = [_in_memory(turned, other) if place == slot else other for place, other in enumerate(node.inputs)]
    return node.with_inputs(inputs)


def _in_memory(chunk: Chunk, like: PlannerNode) -> PlannerNode:
    return MemorySource.of(chunk, like.schema).make_planner_node()
