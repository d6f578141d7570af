"""Finds the first row of a materialised node that is not in a given order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sframe_spark.compute.sorting_and_searching import first_break
from sframe_spark.config import config
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.runtime.task_runners import runner_over
from sframe_spark.planner.length_and_order_inference import known_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.arrow_to_python import decode


def find_break(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> tuple[int, list[tuple[object, object]]] | None:
    """Return the first row of a materialised node that is out of order, with each key's value in the row before it and in the row itself.

    The result is None if the rows are in order. Few rows are compared on the driver, more by Spark tasks, one for each range; a range begins with the
    last row of the range before.
    """
    rows = known_rows(node)
    plan = Pipeline.of(node)
    if rows <= config.small_rows:
        return break_in_range(plan, by, 0, rows, config.batch_rows)
    size = config.segment_rows
    ranges = [(max(start - 1, 0), min(start + size, rows)) for start in range(0, rows, size)]
    callables = [partial(break_in_range, plan, by, *bounds, config.batch_rows) for bounds in ranges]
    breaks = runner_over(node).run(callables, "checking the order of rows")
    return next((first for first in breaks if first is not None), None)


def break_in_range(
    plan: Pipeline, by: Sequence[tuple[int, bool]], start: int, stop: int, batch_rows: int
) -> tuple[int, list[tuple[object, object]]] | None:
    """Return the first break of the order within rows ``start`` to ``stop``, as :func:`find_break` does."""
    schema = plan.facts[-1].schema
    first = first_break(PipelineRunner(plan).stream(start, stop, batch_rows), schema, by)
    if first is None:
        return None
    row, pair = first
    values = [decode(pair.columns[position], schema[position]) for position, _ in by]
    return start + row, [(before, after) for before, after in values]
