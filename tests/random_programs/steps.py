"""One random step for every operator: a node put on what a program has so far, or None where nothing fits."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from sframe_spark.errors import Untranslatable
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.expressions.translated_function import translated
from sframe_spark.operators import (
    elementwise,
    explode,
    flat_map,
    project_zip_arrange,
    row_number,
    row_selection,
    sort_top_rows_and_assumed_order as sort_operators,
)
from sframe_spark.operators.append import append
from sframe_spark.operators.groupby import groupby, reduce_to_one_row
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.joins import equi_join
from sframe_spark.operators.row_selection import FilterRows, filter_by_mask, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import AssumeOrder, TopRows
from sframe_spark.operators.window import cumulative, rolling
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import INT, STR
from tests.random_programs.growth import MAX_ROWS, Growth
from tests.random_programs.scalar_steps import COMPARISONS, choose_between, run_program, transform_column, transform_two
from tests.random_tables import COLUMN_TYPES, table_like
from tests.sample_functions import FLAT_POOL, POOL

__all__ = ["choose_between", "run_program", "transform_column", "transform_two"]

NUMBERS = ("int", "float")
SORTABLE = ("int", "float", "str", "datetime")


def has_columns(node: PlannerNode) -> bool:
    """True for a node with at least one column."""
    return node.facts.width > 0


def project_some(growth: Growth) -> PlannerNode | None:
    """Some columns of a node, some perhaps twice."""
    node = growth.any_node(has_columns)
    if node is None:
        return None
    positions = [growth.choose.randrange(node.facts.width) for _ in range(growth.choose.randint(1, 4))]
    return growth.add(project_zip_arrange.project(node, positions))


def zip_some(growth: Growth) -> PlannerNode | None:
    """Nodes of one number of rows side by side, one of them perhaps twice."""
    first = growth.any_node()
    assert first is not None
    parts = [first]
    for _ in range(growth.choose.randint(1, 2)):
        partner = growth.partner(lambda node: growth.rows(node) == growth.rows(first))
        parts.append(partner or first)
    return growth.add(project_zip_arrange.zip_columns(*parts))


def arrange_some(growth: Growth) -> PlannerNode | None:
    """Columns of nodes of one number of rows, replaced, added and picked as those of frames are."""
    first = growth.any_node(has_columns)
    if first is None:
        return None
    made = first
    for _ in range(growth.choose.randint(1, 3)):
        partner = growth.partner(lambda node: has_columns(node) and growth.rows(node) == growth.rows(first)) or first
        column = project_zip_arrange.column_of(partner, growth.choose.randrange(partner.facts.width))
        if growth.choose.random() < 0.5:
            made = project_zip_arrange.replace_column(made, growth.choose.randrange(made.facts.width), column)
        else:
            made = project_zip_arrange.columns_alongside(made, column)
    if growth.choose.random() < 0.3:
        made = project_zip_arrange.columns_of(made, growth.choose.sample(range(made.facts.width), growth.choose.randint(1, made.facts.width)))
    return growth.add(made)


def apply_function(growth: Growth) -> PlannerNode | None:
    """A function of the pool over a column or over rows."""
    entry = growth.choose.choice(POOL)
    if entry.kind is not None:
        column = growth.any_column([entry.kind], growth.comparable)
        if column is None:
            return None
        skip = growth.choose.random() < 0.3
        return growth.add(applied(growth, growth.single(column), PythonFunction(entry.function, entry.result, skip_missing=skip)))
    node = growth.any_node(lambda node: all_computable(growth, node))
    if node is None:
        return None
    names = tuple(f"n{position}" for position in range(node.facts.width))
    return growth.add(applied(growth, node, PythonFunction(entry.function, entry.result, names)))


def applied(growth: Growth, node: PlannerNode, python: PythonFunction) -> PlannerNode:
    """A node that calls a function, or, for half of those that have a translation, evaluates that."""
    with contextlib.suppress(Untranslatable):
        function = translated(python, node.schema)
        if growth.choose.random() < 0.5:
            return elementwise.apply_translated(node, function)
    return elementwise.LambdaTransform(python).make_planner_node(node)


def all_computable(growth: Growth, node: PlannerNode) -> bool:
    """True when a function may look at every cell."""
    plain = all(column_type.kind in SORTABLE for column_type in node.schema)
    return has_columns(node) and plain and all(growth.computable(node, position) for position in range(node.facts.width))


def filter_by_bound(growth: Growth) -> PlannerNode | None:
    """Rows whose value in some column compares with a value that it has somewhere."""
    column = growth.any_column(("int", "float", "str"), growth.comparable)
    values = [value for value in growth.values(*column) if value is not None and value == value] if column else []
    if column is None or not values:
        return None
    node, position = column
    literal = Literal(growth.choose.choice(values), node.schema[position])
    mask = elementwise.apply_function(growth.choose.choice(COMPARISONS), growth.single(column), literal)
    return growth.add(filter_by_mask(node, growth.add(mask)))


def filter_some(growth: Growth) -> PlannerNode | None:
    """Rows where an aligned int column is not zero, often one that keeps some rows and not all."""
    if growth.choose.random() < 0.3:
        return filter_by_bound(growth)
    node = growth.any_node()
    assert node is not None
    length = growth.rows(node)
    masks = growth.columns(["int"], lambda mask, position: growth.rows(mask) == length and growth.comparable(mask, position))
    telling = [mask for mask in masks if len({value in (None, 0) for value in growth.values(*mask)}) == 2]
    masks = telling if telling and growth.choose.random() < 0.8 else masks
    return growth.add(filter_by_mask(node, growth.single(growth.choose.choice(masks)))) if masks else None


def filter_by_last(growth: Growth) -> PlannerNode | None:
    """Rows where the last column of a node is not zero."""
    node = growth.any_node(lambda node: node.facts.width > 1 and node.schema[-1] == INT)
    return None if node is None else growth.add(FilterRows().make_planner_node(node))


def slice_some(growth: Growth) -> PlannerNode | None:
    """Some rows by number."""
    node = growth.any_node()
    assert node is not None
    return growth.add(random_slice(growth, node))


def turn_round(growth: Growth) -> PlannerNode | None:
    """All rows backwards."""
    node = growth.any_node()
    assert node is not None
    return growth.add(row_selection.reverse(node))


def random_slice(growth: Growth, node: PlannerNode) -> PlannerNode:
    """Some rows of a node by number; the end may be beyond the last row."""
    length = growth.rows(node)
    start = growth.choose.choice((0, 0, 1, growth.choose.randint(0, length + 1)))
    stop = growth.choose.choice((None, start + growth.choose.randint(0, length), start + growth.choose.randint(0, length), start + length + 2))
    return slice_rows(node, start, stop, growth.choose.choice((1, 1, 1, 1, 1, 1, 2, 3)))


def append_some(growth: Growth) -> PlannerNode | None:
    """Nodes of equal types one after the other, one of them perhaps twice."""
    first = growth.any_node(has_columns)
    if first is None:
        return None
    if growth.choose.random() < 0.15:
        place = growth.choose.randint(0, growth.rows(first))
        halves = [slice_rows(first, 0, place), slice_rows(first, place, None)]
        return growth.add(append(*map(growth.add, halves)))
    parts = [first]
    for _ in range(growth.choose.randint(1, 2)):
        partner = growth.partner(lambda node: node.schema == first.schema)
        # Seldom are two tables alike: a part of one is another.
        alone = partner is None or (partner is first and growth.choose.random() < 0.7)
        parts.append(growth.add(random_slice(growth, first)) if alone else partner or first)
    growth.choose.shuffle(parts)
    return growth.add(append(*parts))


def number_rows(growth: Growth) -> PlannerNode | None:
    """Row numbers, alone or beside the rows."""
    node = growth.any_node()
    assert node is not None
    numbers = growth.add(row_number.row_number(node, growth.choose.choice((0, 1, 5))))
    return growth.add(project_zip_arrange.zip_columns(numbers, node)) if growth.choose.random() < 0.6 else numbers


def run_along(growth: Growth) -> PlannerNode | None:
    """Running values of a column, alone or beside the rows."""
    column = growth.any_column(NUMBERS, growth.comparable)
    if column is None:
        return None
    values = growth.add(cumulative.cumulative(growth.single(column), growth.choose.choice(cumulative.KINDS)))
    return growth.add(project_zip_arrange.zip_columns(column[0], values)) if growth.choose.random() < 0.5 else values


def roll_along(growth: Growth) -> PlannerNode | None:
    """Rolling values of a column."""
    kind = growth.choose.choice(rolling.KINDS)
    column = growth.any_column(NUMBERS, growth.comparable)
    if column is None:
        return None
    before = growth.choose.randint(-3, 2)
    after = before + growth.choose.randint(0, 4)
    minimum = growth.choose.choice((None, 0, 1, 2))
    return growth.add(rolling.rolling(growth.single(column), kind, before, after, minimum))


def flat_map_rows(growth: Growth) -> PlannerNode | None:
    """Some rows for each row."""
    node = growth.any_node(lambda node: all_computable(growth, node) and node.schema[0].kind in ("int", "str"))
    if node is None:
        return None
    names = [f"n{position}" for position in range(node.facts.width)]
    return growth.add(flat_map.flat_map(node, growth.choose.choice(FLAT_POOL), names, [STR, INT]))


def explode_some(growth: Growth) -> PlannerNode | None:
    """The items of a column."""
    column = growth.any_column(("list", "array", "dict"), lambda node, position: explode.natural_types(node.schema[position]) is not None)
    if column is None:
        return None
    node, position = column
    types = explode.natural_types(node.schema[position])
    assert types is not None
    return growth.add(explode.explode(node, position, types, growth.choose.random() < 0.7))


def sort_keys(growth: Growth, node: PlannerNode) -> list[int]:
    """Columns of a node to sort, group or join by."""
    return [p for p, column_type in enumerate(node.schema) if column_type.kind in SORTABLE and growth.comparable(node, p)]


def random_order(growth: Growth) -> tuple[PlannerNode, list[tuple[int, bool]]] | None:
    """A node and one to three columns of it, each with a direction."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = sort_keys(growth, node)
    chosen = growth.choose.sample(keys, growth.choose.randint(1, min(3, len(keys))))
    return node, [(position, growth.choose.random() < 0.5) for position in chosen]


def sort_some(growth: Growth) -> PlannerNode | None:
    """A node in another order."""
    found = random_order(growth)
    return None if found is None else growth.add(sort_operators.sort_rows(*found))


def promise_some(growth: Growth) -> PlannerNode | None:
    """A node in another order, and the promise that it is."""
    found = random_order(growth)
    if found is None:
        return None
    node, by = found
    ordered = growth.add(sort_operators.sort_rows(node, by))
    return growth.add(AssumeOrder(tuple(by)).make_planner_node(ordered))


def top_some(growth: Growth) -> PlannerNode | None:
    """The first rows of another order."""
    found = random_order(growth)
    if found is None:
        return None
    node, by = found
    return growth.add(TopRows(tuple(by), growth.choose.randint(0, 6)).make_planner_node(node))


ONE_COLUMN: dict[str, Sequence[str]] = {
    "sum": NUMBERS,
    "mean": NUMBERS,
    "var": NUMBERS,
    "std": NUMBERS,
    "min": ("int", "float", "datetime"),
    "max": ("int", "float", "datetime"),
    "column_min": NUMBERS,
    "column_max": NUMBERS,
    "select_one": SORTABLE,
    "count_missing": SORTABLE,
    "count_distinct": SORTABLE,
    "distinct": ("int", "str"),
    "concat": ("int", "float", "str"),
    "quantile": NUMBERS,
}
"""Aggregates of one column, and the kinds they take."""


def random_aggregation(growth: Growth, node: PlannerNode) -> Aggregation:
    """Some aggregate of columns of a node; a count where nothing else fits."""
    by = sort_keys(growth, node)
    name = growth.choose.choice([*ONE_COLUMN, "count", "argmin", "argmax", "argmin", "argmax"])
    if name.startswith("arg"):
        ordered = [position for position in by if node.schema[position].kind in ("int", "float", "datetime")]
        if ordered:
            other = growth.choose.choice([p for p, column_type in enumerate(node.schema) if column_type.kind in SORTABLE])
            return Aggregation(name, (growth.choose.choice(ordered), other))
    fitting = [position for position in by if node.schema[position].kind in ONE_COLUMN.get(name, ())]
    if not fitting:
        return Aggregation("count")
    return Aggregation(name, (growth.choose.choice(fitting),), (0.0, 0.5, 1.0) if name == "quantile" else ())


def group_some(growth: Growth) -> PlannerNode | None:
    """Groups by one or two columns, seldom by none, with up to three aggregates."""
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if node is None:
        return None
    keys = sort_keys(growth, node)
    chosen = growth.choose.sample(keys, 0 if growth.choose.random() < 0.1 else growth.choose.randint(1, min(2, len(keys))))
    aggregations = [random_aggregation(growth, node) for _ in range(growth.choose.randint(not chosen, 3))]
    return growth.add(groupby.group_by(node, chosen, aggregations))


def reduce_all(growth: Growth) -> PlannerNode | None:
    """Up to three aggregates of a whole node, often of a table as it is: what is recorded of those can answer."""
    tables = growth.choose.random() < 0.4
    node = growth.any_node(lambda node: bool(sort_keys(growth, node)) and not (tables and node.inputs))
    if node is None:
        return None
    wanted = [random_aggregation(growth, node) for _ in range(growth.choose.randint(1, 3))]
    return growth.add(reduce_to_one_row.reduce_columns(node, wanted))


def join_some(growth: Growth) -> PlannerNode | None:
    """Two nodes joined on one or two pairs of columns."""
    left = growth.any_node(lambda node: bool(sort_keys(growth, node)))
    if left is None:
        return None
    # Frames with the same columns are joined too, whose values are others.
    alike = growth.choose.random() < 0.4
    schema = left.schema
    right = growth.partner(lambda node: bool(sort_keys(growth, node)) and (not alike or node.schema == schema))
    if right is left and alike and all(column_type in COLUMN_TYPES for column_type in left.schema):
        right = growth.add(table_like(growth.choose, left.schema))
    assert right is not None
    if growth.choose.random() < 0.5:
        left, right = right, left
    pairs = [(a, b) for a in sort_keys(growth, left) for b in sort_keys(growth, right) if left.schema[a] == right.schema[b]]
    meeting = [(a, b) for a, b in pairs if set(growth.values(left, a)) & set(growth.values(right, b))]
    pairs = meeting if meeting and growth.choose.random() < 0.8 else pairs
    if not pairs or growth.rows(left) * growth.rows(right) > 12 * MAX_ROWS:
        return None
    chosen = growth.choose.sample(pairs, growth.choose.randint(1, min(2, len(pairs))))
    if len({a for a, _ in chosen}) < len(chosen) or len({b for _, b in chosen}) < len(chosen):
        chosen = chosen[:1]
    how = growth.choose.choice(("inner", "inner", "left", "right", "outer"))
    return growth.add(equi_join.join(left, right, [a for a, _ in chosen], [b for _, b in chosen], how))
