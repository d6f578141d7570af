"""Random steps for operators over neighbouring rows: runs, cycles, intervals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sframe_spark.compute.interval_grid import SIDES, Grid
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import group_adjacent_equal_keys
from sframe_spark.operators.groupby.resampling import AssignIntervals, FillIntervals
from sframe_spark.operators.groupby.user_functions_on_rows_of_equal_time import CycleFunction, MapCycles
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT, INT
from tests.random_programs.growth import Growth
from tests.random_programs.steps import all_computable, random_aggregation, sort_keys

# Fewer intervals than this lie between the first and the last.
MOST_INTERVALS = 25


def group_neighbours(growth: Growth) -> PlannerNode | None:
    """Runs equal in none to two columns, perhaps divided by another, with up to three aggregates."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = sort_keys(growth, node)
    chosen = growth.choose.sample(keys, growth.choose.randint(0, min(2, len(keys))))
    within = [growth.choose.choice(keys)] if not chosen or growth.choose.random() < 0.4 else []
    aggregations = [random_aggregation(growth, node) for _ in range(growth.choose.randint(0, 3))]
    return growth.add(group_adjacent_equal_keys(node, chosen, aggregations, within))


def places(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """For each row its place among the rows and what they show together."""
    text = ",".join(str(value) for row in rows for value in row.values())[:40]
    return {"place": list(range(len(rows))), "size": [len(text) if place % 2 else None for place in range(len(rows))]}


def after(rows: list[dict[str, Any]]) -> list[int]:
    """For each row how many come after it."""
    return list(range(len(rows) - 1, -1, -1))


def map_neighbours(growth: Growth) -> PlannerNode | None:
    """New columns made of all rows of a run, perhaps divided by a column."""
    node = growth.any_node(lambda node: all_computable(growth, node))
    if node is None:
        return None
    names = tuple(f"n{position}" for position in range(node.facts.width))
    single = growth.choose.random() < 0.5
    function = PythonFunction(after if single else places, INT, names)
    made = CycleFunction(function, ("after",) if single else ("place", "size"), single)
    keys = sort_keys(growth, node)
    chosen = [growth.choose.choice(keys)]
    within = (growth.choose.choice(keys),) if growth.choose.random() < 0.3 else ()
    return growth.add(MapCycles(made, (INT,) if single else (INT, INT), tuple(chosen), within).make_planner_node(node))


def random_intervals(growth: Growth, node: PlannerNode, position: int) -> AssignIntervals | None:
    """Intervals on a grid or between some of the column's values; few enough to fill in those between."""
    values = [value for value in growth.values(node, position) if value is not None and abs(value) < float("inf")]
    if not values:
        return None
    closed, label = growth.choose.choice(SIDES), growth.choose.choice(SIDES)
    is_int = node.schema[position] == INT
    if growth.choose.random() < 0.4:
        ticks = sorted(set(growth.choose.choices(values, k=5)))
        clock = Chunk.of([pa.array(ticks, node.schema[position].physical)])
        return AssignIntervals(position, Grid(None, closed, label), clock, INT if is_int else FLOAT)
    least = (max(values) - min(values)) / MOST_INTERVALS
    lengths = [length for length in (1, 3, 7, 100, 2**17) if length >= least] if is_int else [n for n in (0.25, 1.0, 2.5, 2.0**17) if n >= least]
    every = growth.choose.choice(lengths)
    # Ends of floats from an origin on are rounded.
    return AssignIntervals(position, Grid(every, closed, label, growth.choose.randrange(int(every)) if is_int else 0))


def put_in_intervals(growth: Growth) -> PlannerNode | None:
    """Rows with the ends of intervals in the place of a column's values."""
    column = growth.any_column(("int", "float"), growth.comparable)
    intervals = None if column is None else random_intervals(growth, *column)
    return None if intervals is None or column is None else growth.add(intervals.make_planner_node(column[0]))


def fill_between(growth: Growth) -> PlannerNode | None:
    """Groups by interval, perhaps by a key too, with those in between that have no rows."""
    column = growth.any_column(("int", "float"), growth.comparable)
    intervals = None if column is None else random_intervals(growth, *column)
    if column is None or intervals is None or intervals.grid.every is None:
        return None
    node, position = column
    labelled = growth.add(intervals.make_planner_node(node))
    others = [key for key in sort_keys(growth, node) if key != position]
    by = [growth.choose.choice(others)] if others and growth.choose.random() < 0.5 else []
    wanted = project(labelled, [*by, position])
    ordered = sort_rows(wanted, [(place, True) for place in range(1 + len(by))])
    grouped = group_adjacent_equal_keys(ordered, [len(by), *range(len(by))], [Aggregation("count")])
    return growth.add(FillIntervals(intervals.grid, len(by), growth.choose.random() < 0.5).make_planner_node(grouped))
