"""Laws that filter rows before they are put in order, grouped, joined or appended."""

from __future__ import annotations

import attrs

from sframe_spark.expressions.program import Program, Register, identity_program
from sframe_spark.laws.fusion import computed
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.filter import FilterRows
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.types import DATETIME, INT, STR

# Filtered one by one, more parts make longer plans than they spare rows.
MOST_PARTS = 32
# Equal keys of these types are one value: what a mask says of the key of a group it says of each row.
SAME_WHERE_EQUAL = (INT, STR, DATETIME)
AS_THEY_COME = (Need.ANY, Need.INHERITED, Need.ORDERED)


@attrs.frozen
class MaskedRows:
    """A filter's input taken apart: rows, what is computed of them, and the mask.

    Parameters
    ----------
    rows
        The rows.
    values
        What the filter's output shows of them.
    mask
        The mask, the only output of its program.
    """

    rows: PlannerNode
    values: Program
    mask: Program

    @classmethod
    def of(cls, node: PlannerNode) -> MaskedRows:
        """Those of a filter."""
        child = node.inputs[0]
        is_computed = isinstance(child.operator, GeneralizedTransform)
        program = child.operator.computation if is_computed else identity_program(child.facts.width, range(child.facts.width))  # type: ignore[attr-defined]
        values, mask = program.pruned(range(len(program.outputs) - 1)), program.pruned([len(program.outputs) - 1])
        return cls(child.inputs[0] if is_computed else child, values, mask)

    def filtered(self, rows: PlannerNode, places: dict[int, int]) -> PlannerNode:
        """Rows for which the mask is true, where it reads its column ``i`` at ``places[i]``."""
        width = rows.facts.width
        moved = self.mask.with_inputs(places, width)
        outputs = (*[Register(column) for column in range(width)], *moved.outputs)
        return FilterRows().make_planner_node(GeneralizedTransform(Program(width, moved.steps, outputs)).make_planner_node(rows))


@law("filter_rows(f(g(x)), m(x)) = f(g(filter_rows(x, m(x)))) where g shows what m reads of x", stage="pushdown", on="filter_rows", alone=2)
def filter_below(node: PlannerNode) -> PlannerNode | None:
    """Rows that nobody will see are not sorted, grouped or joined."""
    parts = MaskedRows.of(node)
    above = parts.rows
    operator, read = above.operator, parts.mask.used_inputs()
    # Of rows in another order a mask is computed for the same ones; below other operators it might fail for one that is not there above.
    if not operator.filtered_slots or parts.mask.calls_python or (parts.mask.may_fail and not operator.reorders):
        return None
    origins = operator.column_origins([child.facts for child in above.inputs])
    if not read or read[-1] >= len(origins):
        return None
    if operator.group_keys is not None and any(above.schema[column] not in SAME_WHERE_EQUAL for column in read):
        return None
    for slot in operator.filtered_slots:
        places = {column: position for column in read for place, position in origins[column] if place == slot}
        if len(places) == len(read) and operator.requires(slot) in AS_THEY_COME:
            inputs = list(above.inputs)
            inputs[slot] = parts.filtered(inputs[slot], places)
            return computed(parts.values, above.with_inputs(inputs))
    return None


@law("filter_rows(f(append(x, y))) = append(filter_rows(f(x)), filter_rows(f(y)))", stage="pushdown", on="filter_rows", alone=2)
def filter_across_append(node: PlannerNode) -> PlannerNode | None:
    """Each input gives its part: rows that cannot meet the mask are not read, whichever input they are of."""
    child = node.inputs[0]
    above = child.inputs[0] if isinstance(child.operator, GeneralizedTransform) else child
    if not above.operator.unites_rows or len(above.inputs) > MOST_PARTS or child.operator.user_functions(above.facts.width):
        return None
    made: dict[int, PlannerNode] = {}
    for item in above.inputs:
        if id(item) not in made:
            made[id(item)] = node.with_inputs([item if child is above else child.with_inputs([item])])
    return append(*[made[id(item)] for item in above.inputs])
