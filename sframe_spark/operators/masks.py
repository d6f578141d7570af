"""What a true mask says about the columns that it was computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from sframe_spark.expressions.program import Literal, Operand, Program, Register, Step
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, STR, STR_KIND, ColumnType

# Comparisons with the sides swapped.
MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal", "equal": "equal"}
# Numbers below are the same as int and as float, so mixed comparisons are exact.
EXACT_IN_FLOAT = 2**53


def conjuncts(program: Program, mask: Operand) -> Iterator[Step]:
    """Steps whose results must all be true where ``mask`` is true.

    Missing is not true, so a conjunct that is false or missing makes the whole mask untrue.
    """
    pending = [mask]
    while pending:
        operand = pending.pop()
        if not isinstance(operand, Register) or operand.index < program.width:
            continue
        step = program.steps[operand.index - program.width]
        if step.function == "and_":
            pending.extend(step.operands)
        elif step.function == "truth":
            pending.append(step.operands[0])
        else:
            yield step


def compared_with_constant(step: Step) -> tuple[int, str, Literal] | None:
    """Register, comparison and constant of a comparison with a constant, the register on the left; None for other steps."""
    if step.function not in MIRRORED:
        return None
    left, right = step.operands
    name = str(step.function)
    if isinstance(left, Literal):
        left, right, name = right, left, MIRRORED[name]
    if not isinstance(left, Register) or not isinstance(right, Literal):
        return None
    return left.index, name, right


def compares_exactly(literal: Literal, column_type: ColumnType) -> bool:
    """True when a column compares with a constant as their values do: same kind, no rounding, date-times by instants, nothing missing, no NaN."""
    value = literal.value
    if value is None or value != value:
        return False
    if column_type.is_numeric and literal.type.is_numeric:
        return literal.type == column_type or abs(value) < EXACT_IN_FLOAT
    if column_type.kind == STR_KIND:
        return literal.type.kind == STR_KIND
    return column_type.kind == DATETIME_KIND and isinstance(value, datetime)


def without_missing(program: Program, register: int) -> list[int]:
    """Registers that are not missing where a count of missing values, such as ``is_missing(a) + is_missing(b)``, is zero."""
    found: list[int] = []
    pending = [register]
    while pending:
        place = pending.pop()
        step = program.steps[place - program.width] if place >= program.width else None
        if step is None or step.function not in ("is_missing", "add", "or_"):
            return []
        operands = [operand.index for operand in step.operands if isinstance(operand, Register)]
        (found if step.function == "is_missing" else pending).extend(operands)
    return found


def constants_and_present(program: Program, mask: Operand, types: Sequence[ColumnType]) -> tuple[list[int], list[tuple[int, int]], list[int]]:
    """Registers that are constant, pairs that are equal and registers that are not missing, among rows where ``mask`` is true.

    ``types`` are those of all registers.
    """
    constants, pairs, present = [], [], []
    for step in conjuncts(program, mask):
        found = compared_with_constant(step)
        if found is not None:
            register, name, literal = found
            if name == "equal" and literal.value == 0:
                present.extend(without_missing(program, register))
            if compares_exactly(literal, types[register]):
                present.append(register)
                if name == "equal":
                    constants.append(register)
        elif step.function == "equal":
            registers = [operand.index for operand in step.operands if isinstance(operand, Register)]
            if len(registers) != 2:
                continue
            first, second = registers
            if types[first] == types[second] and types[first] in (INT, FLOAT, STR, DATETIME):
                pairs.append((first, second))
        elif step.function in MIRRORED or step.function == "is_not_missing":
            # NaN counts as missing for some tests, but a missing value for none as present.
            present.extend(operand.index for operand in step.operands if isinstance(operand, Register))
    return constants, pairs, present
