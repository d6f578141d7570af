"""Plans run range by range without Spark, as tasks do it: states by one pass over partial results, then each range on its own."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import summarize
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.values.arrow_to_python import decode


def sent(value: Any) -> Any:
    """What arrives in another process."""
    return pickle.loads(pickle.dumps(value))


def run_in_ranges(node: PlannerNode, bounds: Sequence[int], batch_rows: int) -> list[tuple[Any, ...]]:
    """Rows of a plan over its base rows cut at ``bounds``, a few rows at a time."""
    root = builtin_optimizer().optimize(node)
    plan = Pipeline.of(root)
    ranges = list(pairwise(bounds))
    states: list[dict[int, Any]] = [{} for _ in ranges]
    for place in plan.sequential_indices():
        operator = plan.operators[place]
        assert isinstance(operator, SequentialOperator)
        running = operator.initial_state(plan.input_facts(place))
        for number, (start, stop) in enumerate(ranges):
            states[number][place] = sent(running)
            part = summarize(plan, place, dict(states[number]), start, stop, batch_rows)
            running = operator.combine(running, sent(part))
    chunks: list[Chunk] = []
    for number, ((start, stop), known) in enumerate(zip(ranges, states, strict=True), start=1):
        chunks += PipelineRunner(plan, known).stream(start, stop, batch_rows, final=number == len(ranges))
    return rows_of(concatenate(chunks, node.schema), node)


def random_cuts(choose: random.Random, rows: int) -> list[int]:
    """Edges of up to four ranges of some rows, empty ones among them."""
    return sorted([0, rows, *[choose.randint(0, rows) for _ in range(choose.randrange(4))]])


def rows_of(chunk: Chunk, node: PlannerNode) -> list[tuple[Any, ...]]:
    """Rows of a chunk as Python values."""
    return list(zip(*[decode(column, kind) for column, kind in zip(chunk.columns, node.schema, strict=True)], strict=True))


def check_states_are_values(node: PlannerNode, rows: int) -> None:
    """Check that neither summing up, nor combining, nor going on changes a state that someone else may hold."""
    operator, source = node.operator, node.inputs[0]
    assert isinstance(operator, SequentialOperator)
    facts = [source.facts]
    first, second = (source.operator.read(*part) for part in ((0, rows // 2), (rows // 2, rows)))  # type: ignore[attr-defined]
    states = [operator.summarize([first], facts), operator.summarize([second], facts)]
    before = pickle.dumps(states)
    operator.combine(*states)
    operator.advance([second], facts, states[0])
    assert pickle.dumps(states) == before
