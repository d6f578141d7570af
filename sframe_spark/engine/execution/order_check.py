"""Checks the order of materialised rows, range by range."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sframe_spark.compute.sorting import first_break
from sframe_spark.config import config
from sframe_spark.engine.runtime.pipeline import FlatPlan, PlanRunner
from sframe_spark.engine.runtime.scheduler import SparkTasks
from sframe_spark.planner.inference import known_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.decode import decode


def find_break(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> tuple[int, list[tuple[object, object]]] | None:
    """The first row of a materialised node that is out of order, with the values of each key before and at it; None when there is none.

    Few rows are looked at on the driver, more by one task for each range; a range begins with the last row of the one before.
    """
    rows = known_rows(node)
    plan = FlatPlan.of(node)
    if rows <= config.small_rows:
        found = [break_in_range(plan, by, 0, rows, config.batch_rows)]
    else:
        size = config.segment_rows
        works = [partial(break_in_range, plan, by, max(start - 1, 0), min(start + size, rows), config.batch_rows) for start in range(0, rows, size)]
        found = SparkTasks().run(works, "checking the order of rows")
    return next((item for item in found if item is not None), None)


def break_in_range(
    plan: FlatPlan, by: Sequence[tuple[int, bool]], start: int, stop: int, batch_rows: int
) -> tuple[int, list[tuple[object, object]]] | None:
    """The first break within rows ``start..stop``."""
    schema = plan.facts[-1].schema
    found = first_break(PlanRunner(plan).stream(start, stop, batch_rows), schema, by)
    if found is None:
        return None
    values = [decode(found[1].columns[position], schema[position]) for position, _ in by]
    return start + found[0], [(before, at) for before, at in values]
