"""Runs kernels as the engine does: on all rows at once, on row ranges cut anywhere, and node by node for a whole plan."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement, placement_over
from sframe_spark.engine.runtime.checked_kernel_calls import advance, call_operator, require_inferred
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import states_between, summarize
from sframe_spark.engine.shapes.count_matches import with_known_rows
from sframe_spark.errors import ContractBroken, PlanInvariantError
from sframe_spark.operators.lookup.cached_reader import Lookup
from sframe_spark.operators.sources.base_and_segment_source import Source, source_of
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.graph_traversal import fold, postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import TOO_LARGE, Need, Operator, SequentialOperator, with_final_rows
from sframe_spark.planner.operator_capabilities import operator_for_few_rows
from sframe_spark.testing.row_comparison import Rows, rows_of

BATCH_ROWS = 3
"""Rows per kernel call: fewer than in a range, so that ranges are divided into batches too."""


def runs_as_kernel(node: PlannerNode) -> bool:
    """Return whether an operator has an Arrow implementation, even if only over whole columns, as reductions have."""
    return node.operator.has_kernel or node.operator.whole_kernel is not None


def run_kernel(node: PlannerNode) -> Chunk:
    """Return all rows of a node whose inputs are sources, from one kernel call, or from one read if the node is a source.

    Raises
    ------
    ContractBroken
        If the kernel fails, or gives what the engine refuses.
    """
    operator = node.operator
    if isinstance(operator, Source):
        return operator.read_all()
    return called(node, lambda: checked_kernel(operator, inputs_of_kernel(node), node))


def inputs_of_kernel(node: PlannerNode) -> list[Any]:
    """Return what a kernel is given for all rows of the sources of a node: chunks, and lookups of the inputs that it searches."""
    searched = [node.operator.requires(slot) is Need.LOOKUP for slot in range(len(node.inputs))]
    return [Lookup.of(source_of(child)) if is_searched else read_all(child) for child, is_searched in zip(node.inputs, searched, strict=True)]


def called(node: PlannerNode, call: Callable[[], Any]) -> Any:
    """Return the result of a call of an operator's method; what the engine refuses is a broken contract.

    Raises
    ------
    ContractBroken
        If the engine refuses the result.
    """
    try:
        return call_operator(node.operator, call)
    except PlanInvariantError as error:
        raise ContractBroken(node, "a kernel gives what is inferred", str(error)) from None


def checked_kernel(operator: Operator, inputs: Sequence[Any], node: PlannerNode) -> Chunk:
    """Return the rows of one kernel call, checked as the engine checks them; ``node`` has the operator's schema and inputs."""
    facts = [child.facts for child in node.inputs]
    if isinstance(operator, SequentialOperator) and type(operator).kernel is SequentialOperator.kernel:
        chunk, state = advance(operator, inputs, facts, operator.initial_state(facts))
        chunk = with_final_rows(chunk, operator.finish(facts, state))
    else:
        chunk = operator.kernel(inputs, facts)
    return require_inferred(operator, inputs, chunk, node.schema)


def kernel_rows(node: PlannerNode) -> Rows:
    """Return all rows of a node whose inputs are sources, from one kernel call, as tuples of Python values."""
    return rows_of(run_kernel(node), node.schema)


def read_all(node: PlannerNode) -> Chunk:
    """Return all rows of a source."""
    return source_of(node).read_all()


def in_memory(chunk: Chunk, schema: Schema) -> PlannerNode:
    """Return a source of some rows."""
    return MemorySource.of(chunk, schema).make_planner_node()


def over_rows(node: PlannerNode, inputs: Sequence[Chunk]) -> PlannerNode:
    """Return the operator of a node over other rows."""
    return node.with_inputs([in_memory(chunk, child.schema) for chunk, child in zip(inputs, node.inputs, strict=True)])


def rows_of_plan(root: PlannerNode) -> Rows | None:
    """Return the rows of a plan, one kernel call for each node on all rows; None if an operator has no kernel."""
    chunks: dict[int, Chunk] = {}
    for node in postorder([root]):
        operator: Operator | None = node.operator
        if not isinstance(operator, Source) and not runs_as_kernel(node):
            operator = operator_for_few_rows(node.operator)
        if operator is None:
            return None
        if isinstance(operator, Source):
            chunks[id(node)] = operator.read_all()
            continue
        inputs: list[Any] = [chunks[id(child)] for child in node.inputs]
        facts = [Facts(child.schema, Length.exactly(chunk.rows)) for child, chunk in zip(node.inputs, inputs, strict=True)]
        for slot, child in enumerate(node.inputs):
            if operator.requires(slot) is Need.LOOKUP:
                inputs[slot] = Lookup.of(source_of(in_memory(inputs[slot], child.schema)))
        chunks[id(node)] = require_inferred(operator, inputs, operator.kernel(inputs, facts), node.schema)
    return rows_of(chunks[id(root)], root.schema)


# Row ranges. Bounds are those of all ranges one after the other: [0, 4, 9] are rows 0 to 4 and rows 4 to 9.


def even_bounds(rows: int, count: int) -> list[int]:
    """Return the bounds of ``count`` ranges of about equal length.

    Examples
    --------
    >>> even_bounds(9, 2)
    [0, 4, 9]
    """
    return [rows * number // count for number in range(count + 1)]


def rows_to_run(node: PlannerNode) -> int | None:
    """Return how many rows of its base a node is computed for, range by range; None if it is not computed by ranges."""
    node = node if node.operator.counting is None else with_known_rows(node)
    placements: dict[int, Placement | None] = fold([node], lambda node, inputs: placement_over(node, [item for item in inputs if item is not None]))
    placement = placements[id(node)]
    return None if placement is None else placement.rows_to_run


def run_ranges(node: PlannerNode, bounds: Sequence[int]) -> Chunk:
    """Return the rows of a node, computed in row ranges, each in small batches, with states that are sent between them as tasks send them.

    Raises
    ------
    ContractBroken
        If a range gives what the engine refuses.
    """
    node = node if node.operator.counting is None else with_known_rows(node)
    plan = Pipeline.of(node)
    states: dict[int, Any] = {index: sequential(plan, index).initial_state(plan.input_facts(index)) for index in plan.sequential_indices()}
    ranges, before = list(pairwise(bounds)), [dict(states) for _ in range(len(bounds) - 1)]
    for index, initial in states.items():
        operator = sequential(plan, index)
        parts = [sent(operator.carried(summarize(plan, index, states, start, stop, BATCH_ROWS))) for start, stop in ranges[:-1]]
        for number, state in enumerate(states_between(operator, initial, parts), start=1):
            before[number][index] = sent(state)
    parts_of_rows: list[Chunk] = []
    first = 0
    while first < len(ranges):
        # A range whose state cannot be sent continues the range before it, as in the engine.
        last = first + 1
        while last < len(ranges) and TOO_LARGE in before[last].values():
            last += 1
        runner = PipelineRunner(plan, before[first])
        start, stop, final = ranges[first][0], ranges[last - 1][1], last == len(ranges)
        parts_of_rows += called(node, partial(_streamed, runner, start, stop, final))
        first = last
    return concatenate(parts_of_rows, node.schema)


def _streamed(runner: PipelineRunner, start: int, stop: int, final: bool) -> list[Chunk]:
    return list(runner.stream(start, stop, BATCH_ROWS, final=final))


def sequential(plan: Pipeline, index: int) -> SequentialOperator:
    """Return the sequential operator at an index of a plan."""
    operator = plan.operators[index]
    assert isinstance(operator, SequentialOperator)
    return operator


def sent(state: Any) -> Any:
    """Return a state as another process gets it."""
    return pickle.loads(pickle.dumps(state))


def batch_bounds(first: int, last: int) -> list[tuple[int, int]]:
    """Return the bounds of the batches of a range of rows; one empty batch if the range is empty."""
    return [(start, min(start + BATCH_ROWS, last)) for start in range(first, last, BATCH_ROWS)] or [(first, first)]


def reordered(node: PlannerNode, slot: int, order: Sequence[int]) -> PlannerNode:
    """Return the node with the rows of one input in another order."""
    child, chunk = node.inputs[slot], read_all(node.inputs[slot])
    turned = in_memory(chunk.rows_at(pa.array(order, pa.int64())), child.schema)
    return node.with_inputs([turned if index == slot else other for index, other in enumerate(node.inputs)])


def unknown_length(node: PlannerNode, at_most: int | None) -> Facts:
    """Return the facts of a node with an unknown length of at most ``at_most`` instead of its own."""
    return attrs.evolve(node.facts, length=Length.unknown(at_most=at_most))
