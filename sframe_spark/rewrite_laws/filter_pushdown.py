"""Laws that merge filters, push them below other operators, and drop filters that keep all rows.

Other laws drop the inputs of operators whose result is known to have no rows, and joins with a right side that is known to have no rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pyarrow as pa

from sframe_spark.expressions.scalar_function_program import Literal, Operand, Program, Register, Step, identity_program
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.joins.equi_join import Join
from sframe_spark.operators.project_zip_arrange import Zip, zip_columns
from sframe_spark.operators.row_selection import Filter, FilterRows, slice_rows
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.order.properties import RelationProperties, ValueBounds
from sframe_spark.planner.law import law
from sframe_spark.planner.length_and_order_inference import properties_of, prove_equal_length
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.operator import Need
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.rewrite_laws.fusion import computed
from sframe_spark.rewrite_laws.group_join_and_sort_algorithms import IDENTICAL_IF_EQUAL
from sframe_spark.types import FLOAT_KIND, INT


@law("zip(filter(x, m), filter(y, m)) = filter(zip(x, y), m)", stage="fuse", on="zip")
def equal_masks(node: PlannerNode) -> PlannerNode | None:
    """Inputs filtered by the same mask stay aligned, so they can be filtered together."""
    first = node.inputs[0]
    if len(node.inputs) < 2 or not all(isinstance(child.operator, Filter) for child in node.inputs):
        return None
    mask = first.inputs[1]
    if not all(child.inputs[1] is mask and prove_equal_length(child.inputs[0], first.inputs[0]) for child in node.inputs):
        return None
    return Filter().make_planner_node(zip_columns(*[child.inputs[0] for child in node.inputs]), mask)


@law("filter(x, m) = filter_rows(zip(x, m))", stage="select", on="filter")
def mask_as_column(node: PlannerNode) -> PlannerNode | None:
    """The mask becomes the last column of the rows that it filters."""
    return FilterRows().make_planner_node(Zip().make_planner_node(*node.inputs))


@attrs.frozen
class MaskedRows:
    """The input of a filter: rows, and a program over them that computes columns and, as its last output, the mask."""

    rows: PlannerNode
    program: Program

    @classmethod
    def of(cls, node: PlannerNode) -> MaskedRows:
        """Return the input of a filter; the program computes nothing if the input has the mask as a column."""
        child = node.inputs[0]
        if isinstance(child.operator, GeneralizedTransform):
            return cls(child.inputs[0], child.operator.computation)
        return cls(child, identity_program(child.facts.width, range(child.facts.width)))

    @property
    def values(self) -> Program:
        """The program that computes the output columns of the filter."""
        return self.program.pruned(range(len(self.program.outputs) - 1))

    @property
    def mask(self) -> Program:
        """A program whose only output is the mask."""
        return self.program.pruned([len(self.program.outputs) - 1])

    def unfiltered(self) -> PlannerNode:
        """Return the output columns of the filter for all rows."""
        return computed(self.values, self.rows)

    def filtered(self, rows: PlannerNode, positions: dict[int, int]) -> PlannerNode:
        """Return rows filtered by the mask; ``positions`` gives, for each column that the mask reads, its position in ``rows``."""
        width = rows.facts.width
        moved = self.mask.with_inputs(positions, width)
        outputs = (*[Register(column) for column in range(width)], *moved.outputs)
        return FilterRows().make_planner_node(GeneralizedTransform(Program(width, moved.steps, outputs)).make_planner_node(rows))


@law("filter_rows(f(x), m(x)) = f(filter_rows(x, m(x)))", stage="pushdown", on="filter_rows", alone=True)
def filter_below_rowwise(node: PlannerNode) -> PlannerNode | None:
    """A user function is called only for rows that pass the mask, if the mask does not depend on the function."""
    masked = MaskedRows.of(node)
    if not masked.values.may_call_python or masked.mask.may_call_python:
        return None
    return computed(masked.values, masked.filtered(masked.rows, {column: column for column in range(masked.rows.facts.width)}))


@law("filter_rows(filter_rows(x, m), n) = filter_rows(x, m and n)", stage="pushdown", on="filter_rows", alone=True)
def filters_merged(node: PlannerNode) -> PlannerNode | None:
    """Two masks become one, unless computing the second calls a user function or may fail for rows that the first drops."""
    outer = node.inputs[0]
    if not isinstance(outer.operator, GeneralizedTransform) or not isinstance(outer.inputs[0].operator, FilterRows):
        return None
    inner = outer.inputs[0].inputs[0]
    program = outer.operator.computation
    if program.may_fail or not isinstance(program.outputs[-1], Register):
        return None
    moved = program.with_inputs({i: i for i in range(program.width)}, inner.facts.width)
    both = Step("and_", (Register(inner.facts.width - 1), moved.outputs[-1]))
    merged = Program(moved.width, (*moved.steps, both), (*moved.outputs[:-1], Register(moved.width + len(moved.steps))))
    return FilterRows().make_planner_node(GeneralizedTransform(merged).make_planner_node(inner))


# Filtering more inputs separately would cost more in planning than it saves.
MAX_FILTERED_INPUTS = 32
FILTERABLE_NEEDS = (Need.ANY, Need.INHERITED, Need.ORDERED)


@law("filter_rows(f(g(x)), m(x)) = f(g(filter_rows(x, m(x)))) where g shows what m reads of x", stage="pushdown", on="filter_rows", alone=2)
def filter_below(node: PlannerNode) -> PlannerNode | None:
    """Rows that the filter drops need not be sorted, grouped or joined."""
    masked = MaskedRows.of(node)
    above, mask = masked.rows, masked.mask
    operator, read = above.operator, mask.used_inputs()
    # Below a sort the mask is computed for the same rows. Below other operators it may be computed, and fail, for rows that they drop.
    if not operator.filtered_slots or mask.calls_python or (mask.may_fail and operator.row_choice is not RowChoice.REORDER):
        return None
    origins = operator.column_origins([child.facts for child in above.inputs])
    if not read or read[-1] >= len(origins):
        return None
    # A mask on the key of a group holds for each row of the group if their keys are identical.
    if operator.group_keys is not None and any(above.schema[column] not in IDENTICAL_IF_EQUAL for column in read):
        return None
    for slot in operator.filtered_slots:
        positions = {column: position for column in read for origin_slot, position in origins[column] if origin_slot == slot}
        if len(positions) == len(read) and operator.requires(slot) in FILTERABLE_NEEDS:
            inputs = list(above.inputs)
            inputs[slot] = masked.filtered(inputs[slot], positions)
            return computed(masked.values, above.with_inputs(inputs))
    return None


@law("filter_rows(f(append(x, y))) = append(filter_rows(f(x)), filter_rows(f(y)))", stage="pushdown", on="filter_rows", alone=2)
def filter_across_append(node: PlannerNode) -> PlannerNode | None:
    """Each input is filtered separately, so that the recorded bounds of each input can rule out rows."""
    child = node.inputs[0]
    above = child.inputs[0] if isinstance(child.operator, GeneralizedTransform) else child
    is_short_union = above.operator.row_choice is RowChoice.UNITE and len(above.inputs) <= MAX_FILTERED_INPUTS
    if not is_short_union or child.operator.function_calls(above.facts.width):
        return None
    # An input that occurs twice stays one node.
    filtered = {id(item): node.with_inputs([item if child is above else child.with_inputs([item])]) for item in dict.fromkeys(above.inputs)}
    return append(*[filtered[id(item)] for item in above.inputs])


@law("filter_rows(f(x), m) = f(x) where m is true in every row", stage="pushdown", on="filter_rows")
def filter_of_all(node: PlannerNode) -> PlannerNode | None:
    """A mask that tests for missing values drops no row if the columns are known to have none."""
    masked = MaskedRows.of(node)
    program, mask = masked.program, masked.program.outputs[-1]
    if program.calls_python or not isinstance(mask, Register) or mask.index < program.width:
        return None
    flags = known_flags(program, masked.rows.schema, properties_of(masked.rows))
    return masked.unfiltered() if flags.get(mask.index) == 1 else None


def known_flags(program: Program, schema: Schema, rows: RelationProperties) -> dict[int, int]:
    """Return the registers that are known to be 1 (or 0) in every row: tests for missing values, and combinations of these tests."""
    flags: dict[int, int] = {}

    def flag(operand: Operand) -> int | None:
        if isinstance(operand, Literal):
            return operand.value if operand.type == INT and operand.value in (0, 1) else None
        return flags.get(operand.index)

    for register, step in enumerate(program.steps, start=program.width):
        result: int | None = None
        first = step.operands[0] if step.operands else None
        if step.function in ("is_missing", "is_not_missing") and isinstance(first, Register):
            if first.index < program.width and is_never_missing(first.index, schema, rows):
                result = int(step.function == "is_not_missing")
        elif step.function in ("and_", "or_", "equal", "truth"):
            values = [flag(operand) for operand in step.operands]
            if None not in values:
                result = {"and_": int(all(values)), "or_": int(any(values)), "equal": int(values[0] == values[-1])}.get(str(step.function), values[0])
        if result is not None:
            flags[register] = result
    return flags


def is_never_missing(column: int, schema: Schema, rows: RelationProperties) -> bool:
    """Return whether a column is known to have no missing value. For floats, NaN counts as missing too, so known bounds are required."""
    return column in rows.bounds if schema[column].kind == FLOAT_KIND else rows.order.is_not_null(column)


def never_true(program: Program, schema: Schema, rows: RelationProperties) -> bool:
    """Return whether the mask that is the last output of a program is known to be 0 or missing in every row, by missing values or bounds."""
    mask = program.outputs[-1]
    flags = known_flags(program, schema, rows)
    never: set[int] = set()
    for own, step in enumerate(program.steps, start=program.width):
        registers = [operand.index for operand in step.operands if isinstance(operand, Register)]
        both = step.function == "and_" and not never.isdisjoint(registers)
        either = step.function == "or_" and len(registers) == len(step.operands) and never.issuperset(registers)
        if both or either or flags.get(own) == 0 or is_out_of_bounds(step, rows.bounds):
            never.add(own)
    return mask.value == 0 if isinstance(mask, Literal) else mask.index in never


def is_out_of_bounds(step: Step, bounds: Mapping[int, ValueBounds]) -> bool:
    """Return whether comparing a column with a number is false for all values within the column's bounds."""
    if len(step.operands) != 2 or step.function not in ("less", "less_equal", "greater", "greater_equal", "equal"):
        return False
    column, literal = step.operands
    if not isinstance(column, Register) or not isinstance(literal, Literal) or column.index not in bounds:
        return False
    (low, high), value = bounds[column.index], literal.value
    if not all(type(item) in (int, float) and item == item for item in (low, high, value)):
        return False
    return {
        "less": low >= value,
        "less_equal": low > value,
        "greater": high <= value,
        "greater_equal": high < value,
        "equal": value < low or value > high,
    }[str(step.function)]


READING = (
    "append",
    "asof_join",
    "filter_rows",
    "group_by",
    "interpolation",
    "interval_join",
    "join",
    "key_window",
    "reverse",
    "slice",
    "sort",
    "top_rows",
    "zip",
)


@law("f(x) = nothing where f(x) has no rows", stage="pushdown", on=READING)
def no_rows(node: PlannerNode) -> PlannerNode | None:
    """A result without rows needs no input."""
    if node.length.at_most != 0 or not node.inputs:
        return None
    return memory_source([pa.array([], column_type.physical) for column_type in node.schema], node.schema, 0)


@law("filter_rows(f(x), m) = slice(f(x), 0, 0) where m is true in no row", stage="pushdown", on="filter_rows")
def filter_of_none(node: PlannerNode) -> PlannerNode | None:
    """A mask that is known to be true in no row drops all rows."""
    masked = MaskedRows.of(node)
    if masked.program.may_fail or not never_true(masked.program, masked.rows.schema, properties_of(masked.rows)):
        return None
    return slice_rows(masked.unfiltered(), 0, 0)


@law("join(x, y, k, left) = x beside missing values where y has no rows", stage="pushdown", on="join")
def join_with_nothing(node: PlannerNode) -> PlannerNode | None:
    """Without right rows a left or full join has only unmatched left rows, which get missing values in the right columns."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if operator.how not in ("left", "outer") or right.length.at_most != 0:
        return None
    missing = [Literal(None, right.schema[position]) for position in operator.right_values(right.facts.width)]
    columns = [Register(position) for position in range(left.facts.width)]
    return computed(Program(left.facts.width, (), (*columns, *missing)), left)
