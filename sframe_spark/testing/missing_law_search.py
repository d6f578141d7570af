"""Searches for missing laws: plans that cost more after optimization than another plan with the same rows.

All plans of at most two *moves* (a built-in operator with some parameters) are computed on several tables: with ties, missing values, no rows,
one row. Plans that give the same rows, in the same order and of the same types, on all tables are considered equal. The optimizer should rewrite
equal plans to one plan, or to plans of equal cost; :func:`search` reports the exceptions together with the cheapest plan.

A report is a hint, not a proof: a law needs a reason why it holds for all tables. ``python -m sframe_spark.testing.missing_law_search`` prints all
reports.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import attrs
import pyarrow as pa

from sframe_spark.errors import SFrameError
from sframe_spark.expressions.scalar_function_program import Literal, Program, Register, Step
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import apply_function, apply_program
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
from sframe_spark.operators.joins.equi_join import join
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import filter_by_mask, reverse, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.operators.window.cumulative import cumulative
from sframe_spark.operators.window.running_by_group import running
from sframe_spark.operators.window.shift import shift_rows
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.testing.oracle import Oracle
from sframe_spark.types import FLOAT, INT, STR

# The column types of the tables: a key with ties, a float and a string.
SCHEMA = (INT, FLOAT, STR)


@attrs.frozen(eq=False)
class Move:
    """A step of a plan: its name, and a function that applies an operator to a node with the columns of :data:`SCHEMA`."""

    name: str
    build: Callable[[PlannerNode], PlannerNode]


@attrs.frozen(eq=False)
class CostlyPlan:
    """A plan that costs more after optimization than another plan with the same rows."""

    plan: str
    cost: float
    cheaper: str
    cheaper_cost: float

    def __str__(self) -> str:
        return f"{self.plan}  costs {self.cost:.0f}, {self.cheaper} {self.cheaper_cost:.0f}"


def tables() -> list[PlannerNode]:
    """Return the tables on which plans are compared: keys with ties and missing values, one row, no rows, sorted rows, and equal rows."""
    keys = [2, 3, 1, None, 2, 1, 3, 7, None, 5, 2, 2, 9, 1]
    values = [3.5, 0.5, 2.0, 1.5, None, 2.0, -1.0, 4.0, 1.5, 0.0, 3.0, 3.0, 2.5, None]
    texts = ["c", "a", "b", None, "c", "b", "d", "e", "a", "f", "c", "c", "g", "c"]
    columns = [(keys, values, texts), (keys[:1], values[:1], texts[:1]), ([], [], []), (sorted(k or 0 for k in keys), values[::-1], texts)]
    columns.append(([4] * 14, [1.0] * 14, ["z"] * 14))
    return [memory_source([pa.array(c, t.physical) for c, t in zip(table, SCHEMA, strict=True)], SCHEMA) for table in columns]


def filtered_by_comparison(node: PlannerNode, function: str, literal: Literal, column: int = 0) -> PlannerNode:
    """Return the rows of a node for which a comparison of a column with a constant is true."""
    return filter_by_mask(node, apply_function(function, project(node, [column]), literal))


def with_one_added(node: PlannerNode) -> PlannerNode:
    """Return the rows of a node with one added to the first column."""
    return apply_program(node, Program(3, (Step("add", (Register(0), Literal(1, INT))),), (Register(3), Register(1), Register(2))))


MOVES: tuple[Move, ...] = (
    *(Move(f"slice {a}:{b}", partial(slice_rows, start=a, stop=b)) for a, b in ((0, 0), (0, 4), (2, 6), (3, None))),
    Move("slice ::3", lambda x: slice_rows(x, 0, None, 3)),
    Move("reverse", reverse),
    *(Move(f"sort {by}", partial(sort_rows, by=by)) for by in ([(0, True)], [(0, False)], [(1, True)], [(0, True), (1, True)])),
    *(Move(f"filter c0 {name} 2", partial(filtered_by_comparison, function=name, literal=Literal(2, INT))) for name in ("equal", "greater", "less")),
    Move("filter c2 == 'c'", partial(filtered_by_comparison, function="equal", literal=Literal("c", STR), column=2)),
    Move("filter none", partial(filtered_by_comparison, function="less", literal=Literal(-(2**63), INT))),
    Move("filter present", lambda x: filter_by_mask(x, apply_function("is_not_missing", project(x, [0])))),
    Move("add 1", with_one_added),
    Move("fill c0", lambda x: zip_columns(apply_function("fill_missing", project(x, [0]), parameters=(0,)), project(x, [1, 2]))),
    Move("append self", lambda x: append(x, x)),
    Move("append none", lambda x: append(x, slice_rows(x, 0, 0))),
    Move("shift 1", lambda x: zip_columns(shift_rows(project(x, [0]), 1), project(x, [1, 2]))),
    Move("shift -1", lambda x: zip_columns(shift_rows(project(x, [0]), -1), project(x, [1, 2]))),
    Move("distinct", lambda x: group_by(x, [0, 1, 2], [])),
    Move("first of each c0", lambda x: project(group_by(x, [0], [Aggregation("select_one", (1,)), Aggregation("select_one", (2,))]), [0, 1, 2])),
    Move("join own keys", lambda x: project(join(x, group_by(x, [0], []), [0], [0], "inner"), [0, 1, 2])),
    Move("join none", lambda x: project(join(x, slice_rows(x, 0, 0), [0], [0], "inner"), [0, 1, 2])),
    Move("left join none", lambda x: project(join(x, slice_rows(x, 0, 0), [0], [0], "left"), [0, 1, 2])),
    Move("number", lambda x: zip_columns(row_number(x), project(x, [1, 2]))),
    Move("running sum", lambda x: zip_columns(cumulative(project(x, [0]), "sum"), project(x, [1, 2]))),
    Move("running max", lambda x: zip_columns(cumulative(project(x, [0]), "max"), project(x, [1, 2]))),
    Move("sum so far by c0", lambda x: zip_columns(project(x, [0]), running(x, [0], [Aggregation("sum", (1,))]), project(x, [2]))),
)
# Moves whose result has other columns, so that no move can follow them.
LAST_MOVES = (
    Move("count", lambda x: reduce_columns(x, [Aggregation("count")])),
    Move("sum c0", lambda x: reduce_columns(x, [Aggregation("sum", (0,))])),
    Move("max c0", lambda x: reduce_columns(x, [Aggregation("max", (0,))])),
    Move("first c0", lambda x: reduce_columns(x, [Aggregation("select_one", (0,))])),
    Move("distinct c0", lambda x: group_by(x, [0], [])),
    Move("count by c0", lambda x: group_by(x, [0], [Aggregation("count")])),
    Move("sum by c0", lambda x: group_by(x, [0], [Aggregation("sum", (1,))])),
)


def plans(first: Sequence[Move], last: Sequence[Move]) -> Iterator[tuple[Move, ...]]:
    """Yield all plans of at most two moves; moves of ``last`` occur only at the end."""
    yield ()
    for move in (*first, *last):
        yield (move,)
        yield from ((before, move) for before in first)


def named(moves: Iterable[Move]) -> str:
    """Return a plan in readable form: the names of its moves, the first move first."""
    return " | ".join(move.name for move in moves) or "nothing"


def built(moves: Iterable[Move], source: PlannerNode) -> PlannerNode:
    """Return the node that results from applying the moves to a table."""
    for move in moves:
        source = move.build(source)
    return source


def rows_of(node: PlannerNode, inputs: Sequence[float]) -> float:
    """Return the estimated number of rows of a node, given the numbers of rows of its inputs; a filter keeps half of its rows."""
    operator, limit = node.operator, node.length.at_most
    rows = sum(inputs) if operator.row_choice is RowChoice.UNITE else max(inputs, default=math.inf)
    rows = rows / 2 if operator.row_choice is RowChoice.FILTER else rows
    return rows if limit is None else min(rows, limit)


def cost(root: PlannerNode) -> float:
    """Return the estimated cost of a plan, from the rows that each operator reads.

    Operators that gather all rows, or have no kernel, cost more: like a sort, ``n * log(n)``.
    """
    total = 0.0
    rows: dict[int, float] = {}
    for node in postorder([root]):
        operator, inputs = node.operator, [rows[id(child)] for child in node.inputs]
        rows[id(node)] = rows_of(node, inputs)
        read = sum(inputs) if inputs else rows[id(node)]
        if operator.gathers or not (operator.has_kernel or operator.streams or operator.makes_one_row):
            total += 5 + 4 * read * max(1.0, math.log2(read or 1))
        else:
            total += 1 + read * (0.2 if not inputs else 1.0) * (1 + 0.1 * len(node.schema)) + operator.spark_cost.steps * read
    return total


def search(first: Sequence[Move] = MOVES, last: Sequence[Move] = LAST_MOVES) -> list[CostlyPlan]:
    """Return the plans of at most two moves that cost more after optimization than an equal plan, the most expensive ones first.

    Examples
    --------
    >>> search([Move("reverse", reverse), Move("slice", lambda x: slice_rows(x, 1, 3))], [])
    []
    """
    sources = tables()
    optimizer, oracle = builtin_optimizer(), Oracle()
    classes: dict[object, list[tuple[float, str]]] = {}
    for moves in plans(first, last):
        try:
            roots = [built(moves, source) for source in sources]
        except SFrameError:
            continue
        key = (roots[0].schema, tuple(repr(oracle.rows(root)) for root in roots))
        classes.setdefault(key, []).append((cost(optimizer.optimize(roots[0])), named(moves)))
    findings = []
    for equal in classes.values():
        min_cost, cheapest = min(equal)
        findings += [CostlyPlan(plan, own, cheapest, min_cost) for own, plan in equal if own > 1.2 * min_cost + 2]
    return sorted(findings, key=lambda finding: (-finding.cost, finding.plan))


if __name__ == "__main__":
    sys.stdout.write("".join(f"{finding}\n" for finding in search()))
