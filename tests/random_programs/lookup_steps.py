"""Random steps for operators that look rows up by key; what is searched is in the order of its row numbers, so nothing need be sorted."""

from __future__ import annotations

from sframe_spark.operators.joins.asof_join import DIRECTIONS, GROUPS, AsofJoin, asof_join
from sframe_spark.operators.joins.interpolation import METHODS, interpolated
from sframe_spark.operators.joins.interval_join import IntervalJoin, interval_join
from sframe_spark.operators.joins.key_window_aggregates import KeyWindow, key_window
from sframe_spark.operators.joins.union_of_sorted_inputs import merge_sorted
from sframe_spark.operators.joins.window_bounds import CLOSED
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.planner.node import PlannerNode
from tests.random_programs.growth import Growth
from tests.random_programs.steps import NUMBERS, has_columns, random_aggregation, sort_keys

# More pairs of rows than this make programs large.
MAX_PAIRS = 2_000


def numbered(node: PlannerNode) -> PlannerNode:
    """The node with its row number as last column."""
    return zip_columns(node, row_number(node))


def look_up_some(growth: Growth) -> PlannerNode | None:
    """For an int column the nearest row numbers of another node, perhaps within equal values of a column."""
    column = growth.any_column(("int", "float"), growth.comparable)
    other = growth.partner(has_columns)
    if column is None or other is None:
        return None
    node, key = column
    pairs = [(a, b) for a in sort_keys(growth, node) for b in sort_keys(growth, other) if node.schema[a] == other.schema[b]]
    pairs = [(a, b) for a, b in pairs if node.schema[a].kind in GROUPS]
    by = [growth.choose.choice(pairs)] if pairs and growth.choose.random() < 0.5 else []
    kept = growth.choose.sample(range(node.facts.width), growth.choose.randint(0, min(2, node.facts.width)))
    values = growth.choose.sample(range(other.facts.width), growth.choose.randint(1, min(3, other.facts.width)))
    direction, exact = growth.choose.choice(DIRECTIONS), growth.choose.random() < 0.7
    tolerance = growth.choose.choice((None, 0, 2, 10))
    # A key that comes back as a value too keeps the first input's columns apart from their copies.
    places = tuple(range(1 + len(by), 1 + len(by) + len(kept)))
    join = AsofJoin(other.facts.width, tuple(b for _, b in by), tuple(values), direction, tolerance, exact, places)
    return growth.add(asof_join(project(node, [key, *[a for a, _ in by], *kept]), numbered(other), join))


def window_some(growth: Growth) -> PlannerNode | None:
    """Up to three aggregates of the rows around each row, perhaps within equal values of a column."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = [position for position in sort_keys(growth, node) if node.schema[position].kind in GROUPS]
    by = [growth.choose.choice(keys)] if keys and growth.choose.random() < 0.5 else []
    wanted = [random_aggregation(growth, node) for _ in range(growth.choose.randint(1, 3))]
    kept = growth.choose.sample(range(node.facts.width), growth.choose.randint(0, 1))
    before, after = growth.choose.choice(((0, 0), (1, 0), (5, 2), (0, 2), (None, 0), (3, -1), (-1, None)))
    closed, prevailing = growth.choose.choice(CLOSED), growth.choose.random() < 0.3
    window = KeyWindow(node.facts.width, tuple(by), before, after, tuple(wanted), tuple(kept), (), closed, prevailing)
    return growth.add(key_window(numbered(node), window))


def match_some(growth: Growth) -> PlannerNode | None:
    """The row numbers of another node in the intervals of int columns of a node, or the other way round, perhaps within equal values of a column."""
    column = growth.any_column(("int",), growth.comparable)
    other = growth.partner(has_columns)
    if column is None or other is None:
        return None
    node, key = column
    at_most = [side.length.at_most for side in (node, other)]
    if None in at_most or at_most[0] * at_most[1] > MAX_PAIRS:
        return None
    pairs = [(a, b) for a in sort_keys(growth, node) for b in sort_keys(growth, other) if node.schema[a] == other.schema[b]]
    pairs = [(a, b) for a, b in pairs if node.schema[a].kind in GROUPS]
    by = [growth.choose.choice(pairs)] if pairs and growth.choose.random() < 0.5 else []
    ints = [position for position in range(node.facts.width) if node.schema[position].kind == "int"]
    ends = (key, growth.choose.choice(ints))
    values = tuple(growth.choose.sample(range(other.facts.width), growth.choose.randint(1, min(3, other.facts.width))))
    number, how, closed = other.facts.width, growth.choose.choice(("inner", "left")), growth.choose.choice(CLOSED)
    join = IntervalJoin(ends, (number, number), tuple(a for a, _ in by), tuple(b for _, b in by), values, how, closed)
    return growth.add(interval_join(node, numbered(other), join))


def interpolate_some(growth: Growth) -> PlannerNode | None:
    """A column with its missing values filled, perhaps within equal values of another."""
    column = growth.any_column(NUMBERS, growth.comparable)
    if column is None:
        return None
    node, position = column
    keys = sort_keys(growth, node)
    chosen = [growth.choose.choice(keys)] if keys and growth.choose.random() < 0.5 else []
    limit = growth.choose.choice((None, None, 1, 2))
    return growth.add(interpolated(node, position, None, chosen, growth.choose.choice(METHODS), limit, limit is not None))


def merge_some(growth: Growth) -> PlannerNode | None:
    """Two nodes of the same columns, or one with itself, merged by their row numbers."""
    first = growth.any_node(has_columns)
    if first is None:
        return None
    second = growth.partner(lambda node: node.schema == first.schema)
    rows = numbered(first)
    other = rows if second is None or second is first else numbered(second)
    return growth.add(merge_sorted(rows, other, [(first.facts.width, True)], ["number"]))
