"""Partial states of a hash join: each hash partition of both sides yields the state of its rows, which are never stored, and need no order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import ClassVar

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_for_threads
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner, local_threads
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import EarlyStop, part_of_chunks
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.engine.shapes.hash_join import filled_join, max_result_bytes, without_room
from sframe_spark.engine.shapes.partial_states import from_states, limits_of_states, parts_are_small
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Alternative, ReplanNeeded, Section, Shape, Workers
from sframe_spark.errors import MemoryReservationError
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import DecomposableOperator
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.process.memory import batch_bytes, memory_for_batches


@attrs.frozen
class StatesOfHashJoinShape(Shape):
    """An operator that decomposes, over a join whose order is not observed, with only row-wise operators between them."""

    name: ClassVar[str] = "states of hash join"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return threads for an operator whose states fit in memory."""
        node, operator = part.root, part.root.operator
        if not isinstance(operator, DecomposableOperator) or not operator.decomposes([node.inputs[0].facts]):
            return None
        return Workers.THREADS if is_for_threads(node) and parts_are_small(operator, node.inputs[0]) else None

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return what happens if a hash partition is too large, or there are too many groups."""
        return [Alternative.LARGE_PARTS, Alternative.HASH_PARTITIONS]

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Join hash partitions, merge the states of their rows, and return a source of the result."""
        node, (join, *above) = section.root, chain_over_join(section.root.inputs[0])
        operator, facts, counts_only = node.operator, [node.inputs[0].facts], reads_no_column(node, above)
        assert isinstance(operator, DecomposableOperator)
        facts = [attrs.evolve(facts[0], schema=())] if counts_only else facts
        with filled_join(runner, join, is_observed=False) as joined:
            try:
                partitions = joined.rows_in_any_order(max_result_bytes(runner))
            except MemoryReservationError:
                return without_room(runner, node, joined)
            # No rows have a state, too.
            groups = partitions.groups(costs.TASKS_OF_THREAD_AFTER_SHUFFLE * local_threads()) or [range(0)]
            max_bytes, most = limits_of_states(runner, len(groups))
            early_stop, rows = EarlyStop(), runner.site.batch_rows

            def state_of(numbers: Sequence[int]) -> object:
                chunks = partitions.counts(numbers) if counts_only else rows_above(partitions.chunks(numbers), above, join, rows)
                first = next(chunks, concatenate([], facts[0].schema))
                return part_of_chunks(chain([first], chunks), operator, facts, rows, batch_bytes(), most, early_stop)

            states = ThreadRunner().run([partial(state_of, numbers) for numbers in groups], f"computing {operator.called()}")
            runner.spilled = joined.written
            runner.log.append(f"joined: {join.operator_type} in {joined.count} pieces, {joined.written} bytes of rows on disk")
            return from_states(runner, node, states, max_bytes)


STATES_OF_HASH_JOIN: Shape = StatesOfHashJoinShape()


def changes_rows_alone(node: PlannerNode) -> bool:
    """Return whether each row of a node follows from one row of its only input, or is left out, and no function of the user's is called."""
    is_alone = node.operator.row_wise or node.operator.row_choice is RowChoice.FILTER
    return is_alone and len(node.inputs) == 1 and node.operator.has_kernel and not functions_of(node)


def reads_no_column(node: PlannerNode, below: Sequence[PlannerNode]) -> bool:
    """Return whether a node needs only the number of rows of a join, which has as many as the nodes between: then none of its pairs is made."""
    needed = node.operator.input_columns(range(node.facts.width), [node.inputs[0].facts])
    return not any(needed) and all(between.operator.row_wise for between in below)


def chain_over_join(node: PlannerNode) -> list[PlannerNode]:
    """Return a join and the nodes over it, from the join up."""
    chain = [node]
    while chain[-1].operator.joining is None:
        chain.append(chain[-1].inputs[0])
    return chain[::-1]


def rows_above(chunks: Iterator[Chunk], above: Sequence[PlannerNode], join: PlannerNode, batch_rows: int) -> Iterator[Chunk]:
    """Yield the rows of the nodes over a join, given the rows of the join."""
    for chunk in chunks:
        if not above:
            yield chunk
            continue
        plan = PlannerNode(MemorySource.of(chunk, join.schema))
        for node in above:
            plan = node.operator.make_planner_node(plan)
        yield from PipelineRunner(Pipeline.of(plan)).stream(0, chunk.rows, batch_rows)
