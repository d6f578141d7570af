"""Laws that leave out rows of which recorded bounds prove that a mask drops them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sframe_spark.operators.columns import Zip
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.program import Literal, Program, Register, Step
from sframe_spark.operators.rows import slice_rows
from sframe_spark.operators.sources import SegmentSource
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.manifest import Scalar
from sframe_spark.storage.pruning import Bounds, matching_rows
from sframe_spark.types import DATETIME_KIND, STR_KIND, ColumnType
from sframe_spark.values.temporal import to_microseconds

# Comparisons with the sides swapped.
MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal", "equal": "equal"}
# Numbers below are the same as int and as float, so mixed comparisons are exact.
EXACT_IN_FLOAT = 2**53


@law("filter_rows(f(x), m) = filter_rows(f(rows of x that may meet m), m)", stage="pushdown", on="filter_rows")
def filter_by_recorded_bounds(node: PlannerNode) -> PlannerNode | None:
    """Segments and row groups whose bounds contradict the mask are not opened."""
    child = node.inputs[0]
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    below = child.inputs[0]
    rows = below.length.rows
    if not rows:
        return None
    first, last = 0, rows
    for column, wanted in mask_bounds(child.operator.computation, below.schema):
        found = rows_of_source(below, column, wanted)
        if found is not None:
            first, last = max(first, found[0]), min(last, found[1])
    if (first, last) == (0, rows):
        return None
    return node.with_inputs([child.with_inputs([slice_rows(below, first, max(first, last))])])


def rows_of_source(node: PlannerNode, column: int, wanted: Bounds) -> tuple[int, int] | None:
    """Rows of a node that may hold wanted values, if the column comes from segments."""
    if isinstance(node.operator, Zip):
        for item in node.inputs:
            if column < item.facts.width:
                return rows_of_source(item, column, wanted)
            column -= item.facts.width
    source = node.operator
    if not isinstance(source, SegmentSource):
        return None
    first, last = matching_rows(source.manifest, source.positions[column], wanted, source.start, source.stop)
    return first - source.start, last - source.start


def mask_bounds(program: Program, schema: tuple[ColumnType, ...]) -> Iterator[tuple[int, Bounds]]:
    """Input columns and the closed ranges that their values must lie in where the program's last output is true."""
    pending = [program.outputs[-1]]
    while pending:
        operand = pending.pop()
        if not isinstance(operand, Register) or operand.index < program.width:
            continue
        step = program.steps[operand.index - program.width]
        if step.function == "and_":
            pending.extend(step.operands)
        elif step.function == "truth":
            pending.append(step.operands[0])
        elif step.function in MIRRORED:
            yield from comparison_bounds(step, program.width, schema)


def comparison_bounds(step: Step, width: int, schema: tuple[ColumnType, ...]) -> Iterator[tuple[int, Bounds]]:
    """The range that a comparison of an input column with a constant allows."""
    left, right = step.operands
    name = str(step.function)
    if isinstance(left, Literal):
        left, right, name = right, left, MIRRORED[name]
    if not isinstance(left, Register) or left.index >= width or not isinstance(right, Literal):
        return
    limit = comparable_limit(right, schema[left.index])
    if limit is None:
        return
    low = limit if name in ("equal", "greater", "greater_equal") else None
    high = limit if name in ("equal", "less", "less_equal") else None
    yield left.index, (low, high)


def comparable_limit(literal: Literal, column_type: ColumnType) -> Scalar:
    """A constant as recorded bounds give it; None when it compares in another way than bounds do."""
    value = literal.value
    if column_type.is_numeric and literal.type.is_numeric:
        exact = literal.type == column_type or (value is not None and abs(value) < EXACT_IN_FLOAT)
        return value if exact and value == value else None
    if column_type.kind == STR_KIND and literal.type.kind == STR_KIND:
        return value  # type: ignore[no-any-return]
    if column_type.kind == DATETIME_KIND and literal.type.kind == DATETIME_KIND and isinstance(value, datetime):
        return None if column_type.is_zoned or literal.type.is_zoned else to_microseconds(value)[0]
    return None



