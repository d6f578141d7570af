"""Random steps for operators that follow the rows: shifts, running aggregates, smoothing."""

from __future__ import annotations

from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import column_of, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.window.filling import filled
from sframe_spark.operators.window.lagged import Lag, Lagged, shifted_by_key
from sframe_spark.operators.window.ranks_of_sorted_rows import RanksOfSortedRows
from sframe_spark.operators.window.rolling import KINDS
from sframe_spark.operators.window.rolling_by_key import rolling_by_key
from sframe_spark.operators.window.rolling_rank import METHODS, rolling_rank
from sframe_spark.operators.window.running_by_group import running
from sframe_spark.operators.window.session_numbers import SessionNumbers
from sframe_spark.operators.window.shift import shift_rows
from sframe_spark.operators.window.smoothed_column import exponential_smoothing
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import INT
from tests.random_programs.growth import Growth
from tests.random_programs.steps import NUMBERS, SORTABLE, random_aggregation, sort_keys


def shift_some(growth: Growth) -> PlannerNode | None:
    """The values of a column some rows further on, perhaps with one of them where there is none."""
    column = growth.any_column(SORTABLE, lambda node, position: True)
    if column is None:
        return None
    node, position = column
    present = [value for value in growth.values(*column) if value is not None]
    fill = Literal(growth.choose.choice(present), node.schema[position]) if present and growth.choose.random() < 0.5 else None
    return growth.add(shift_rows(growth.single(column), growth.choose.randint(-4, 4), fill))


def run_by_key(growth: Growth) -> PlannerNode | None:
    """Up to three aggregates of all rows so far, by none to two keys."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = sort_keys(growth, node)
    chosen = growth.choose.sample(keys, growth.choose.randint(0, min(2, len(keys))))
    return growth.add(running(node, chosen, [random_aggregation(growth, node) for _ in range(growth.choose.randint(1, 3))]))


def shift_by_key(growth: Growth) -> PlannerNode | None:
    """The values of up to three columns some rows before or after, by one or two keys."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = sort_keys(growth, node)
    chosen = growth.choose.sample(keys, growth.choose.randint(1, min(2, len(keys))))
    wanted = [(growth.choose.choice(keys), growth.choose.randint(-3, 4), None) for _ in range(growth.choose.randint(1, 3))]
    lags = tuple(Lag(position, count) for position, count, _ in wanted if count > 0)
    if lags and growth.choose.random() < 0.5:
        return growth.add(Lagged(tuple(chosen), lags).make_planner_node(node))
    return growth.add(shifted_by_key(node, wanted, chosen))


def roll_by_key(growth: Growth) -> PlannerNode | None:
    """An aggregate of windows of rows of a key."""
    column = growth.any_column(NUMBERS, growth.comparable)
    if column is None or not (keys := sort_keys(growth, column[0])):
        return None
    node, position = column
    first = growth.choose.randint(-4, 2)
    last, least = first + growth.choose.randint(0, 4), growth.choose.choice((None, 1, 2))
    needed = None if least is None else min(least, last - first + 1)
    return growth.add(rolling_by_key(node, growth.choose.choice(KINDS), [position], [growth.choose.choice(keys)], first, last, needed))


def fill_some(growth: Growth) -> PlannerNode | None:
    """Columns with missing values filled from rows before or after, perhaps of a key, perhaps within some rows."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = sort_keys(growth, node)
    chosen = growth.choose.sample(keys, growth.choose.randint(0, min(2, len(keys))))
    columns = growth.choose.sample(keys, growth.choose.randint(1, min(2, len(keys))))
    limit = growth.choose.choice((None, None, 0, 1, 3))
    backward = growth.choose.random() < 0.3
    return growth.add(filled(node, columns, None, chosen, limit, limit is not None, backward))


def rank_some(growth: Growth) -> PlannerNode | None:
    """Numbers of rows in the order that they are in, by a value and perhaps a key: of values that do not ascend, of each run of equal ones."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = sort_keys(growth, node)
    chosen = growth.choose.sample(keys, growth.choose.randint(0, min(2, len(keys))))
    return growth.add(RanksOfSortedRows(growth.choose.choice(keys), tuple(chosen)).make_planner_node(node))


def roll_ranks(growth: Growth) -> PlannerNode | None:
    """Ranks of values among those before them, perhaps of a key."""
    column = growth.any_column(NUMBERS, growth.comparable)
    if column is None:
        return None
    node, position = column
    keys = sort_keys(growth, node)
    chosen = [growth.choose.choice(keys)] if keys and growth.choose.random() < 0.6 else []
    method, least = growth.choose.choice(METHODS), growth.choose.choice((None, 1, 2))
    return growth.add(rolling_rank(node, [position], chosen, growth.choose.randint(0, 5), least, method, growth.choose.random() < 0.5, False))


def smooth_along(growth: Growth) -> PlannerNode | None:
    """Smoothed values of a column, row by row, perhaps by a key."""
    column = growth.any_column(NUMBERS, growth.comparable)
    if column is None:
        return None
    node, position = column
    keys = sort_keys(growth, node)
    chosen = [growth.choose.choice(keys)] if keys and growth.choose.random() < 0.5 else []
    return growth.add(exponential_smoothing(node, position, None, chosen, growth.choose.choice((0.5, 2.0, 10.0))))


def number_sessions(growth: Growth) -> PlannerNode | None:
    """Numbers of sessions of rows, whose times are the numbers of rows without those that are missing in a column, perhaps by a key."""
    column = growth.any_column(NUMBERS, growth.comparable)
    if column is None:
        return None
    node, position = column
    keys = sort_keys(growth, node)
    chosen = [growth.choose.choice(keys)] if keys and growth.choose.random() < 0.5 else []
    time = apply_function("if_else", apply_function("is_missing", column_of(node, position)), Literal(None, INT), row_number(node))
    times = zip_columns(node, time)
    return growth.add(SessionNumbers(node.facts.width, growth.choose.randint(0, 3), tuple(chosen)).make_planner_node(times))
