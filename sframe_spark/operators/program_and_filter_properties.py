"""Properties (order, constants, bounds) of the output rows of row-wise programs and filters, derived from the properties of the input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import attrs

from sframe_spark.errors import InvalidArgumentError, listed
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.expressions.scalar_function_program import Literal, Operand, Program, Register, Step, operand_type
from sframe_spark.order import Monotone, SequenceFacts
from sframe_spark.order.order_facts import Effect, flip
from sframe_spark.order.properties import RelationProperties, ValueBounds
from sframe_spark.planner.node_facts import Schema
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, STR, STR_KIND, ColumnType

# What a true mask implies for the columns from which it was computed.

# For each comparison the one that says the same of swapped operands.
MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal", "equal": "equal"}
# Ints below this are exact as floats, so int and float compare exactly.
EXACT_IN_FLOAT = 2**53


def conjuncts(program: Program, mask: Operand) -> Iterator[Step]:
    """Yield steps whose results must all be true if ``mask`` is true.

    A missing result is not true: if a conjunct is false or missing, the mask is not true.
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
    """Return register, comparison and constant, in this order, of a step that compares a register with a constant; None for other steps."""
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
    """Return whether a column compares exactly with a constant, which is neither missing nor NaN: with a value of its own type, or with a number that
    is the same as an int and as a float. Date-times compare by instant."""
    value = literal.value
    if value is None or literal.type.has_items or value != value:
        return False
    if column_type.is_numeric and literal.type.is_numeric:
        return literal.type == column_type or abs(value) < EXACT_IN_FLOAT
    if column_type.kind == STR_KIND:
        return literal.type.kind == STR_KIND
    return column_type.kind == DATETIME_KIND and isinstance(value, datetime)


def without_missing(program: Program, register: int) -> list[int]:
    """Return the registers that are not missing if a count of missing values, such as ``is_missing(a) + is_missing(b)``, is zero."""
    counted: list[int] = []
    pending = [register]
    while pending:
        position = pending.pop()
        step = program.steps[position - program.width] if position >= program.width else None
        if step is None or step.function not in ("is_missing", "add", "or_"):
            return []
        operands = [operand.index for operand in step.operands if isinstance(operand, Register)]
        (counted if step.function == "is_missing" else pending).extend(operands)
    return counted


def constants_and_present(program: Program, mask: Operand, types: Sequence[ColumnType]) -> tuple[list[int], list[tuple[int, int]], list[int]]:
    """Return registers that are constant, pairs of equal registers, and registers that are not missing, in the rows where ``mask`` is true.

    ``types`` are the types of all registers.
    """
    constants, pairs, present = [], [], []
    for step in conjuncts(program, mask):
        result = compared_with_constant(step)
        if result is not None:
            register, name, literal = result
            if name == "equal" and literal.type.is_numeric and literal.value == 0:
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
            # Some of these tests treat NaN as missing, but none is true for a missing value.
            present.extend(operand.index for operand in step.operands if isinstance(operand, Register))
    return constants, pairs, present


# Longer programs are not analysed step by step, because that would cost more than it saves.
MAX_STEPS = 200
# No functional dependency is recorded for results that depend on more input columns than this.
MAX_COLUMNS = 8
INC: Effect = "inc"
DEC: Effect = "dec"
# How the result of a monotone function follows its argument, and whether strictly.
PROMISES: dict[str, tuple[Effect, bool]] = {
    "increasing": (INC, False),
    "decreasing": (DEC, False),
    "strictly increasing": (INC, True),
    "strictly decreasing": (DEC, True),
}
INT_LIMITS = (-(2**63), 2**63 - 1)


def program_properties(program: Program, rows: RelationProperties, schema: Schema) -> RelationProperties:
    """Return the properties of a program's outputs, given the properties of its input rows.

    Copies keep their properties, literals are constant, and results of monotone functions are monotone. Results of functions of ints, strings and
    date-times depend functionally on their arguments. Nothing is known about results of users' functions.
    """
    outputs = [output.index if isinstance(output, Register) else None for output in program.outputs]
    literals = [position for position, output in enumerate(program.outputs) if isinstance(output, Literal)]
    if len(program.steps) > MAX_STEPS or rows.says_nothing:
        properties = rows.project([output if output is not None and output < program.width else None for output in outputs])
    else:
        properties = with_results(program, rows, schema).project(outputs)
    order = properties.order.add(constants=literals) if literals else properties.order
    return RelationProperties(order, mask_facts(program, schema), properties.bounds)


@attrs.frozen
class ColumnOrigin:
    """How the value of a register depends on input columns.

    Parameters
    ----------
    columns
        Input columns that determine the value.
    effect
        ``inc`` or ``dec`` if the value is monotone in its only input column, otherwise None.
    strict
        Whether different inputs give different values.
    """

    columns: frozenset[int]
    effect: Effect | None = None
    strict: bool = False


def with_results(program: Program, rows: RelationProperties, schema: Schema) -> RelationProperties:
    """Return the properties of input columns and computed outputs, by register; each output is derived from the input columns."""
    types = program.register_types(schema)
    bounds = dict(rows.bounds)
    origins: list[ColumnOrigin | None] = [ColumnOrigin(frozenset([column]), "inc", True) for column in range(program.width)]
    for position, step in enumerate(program.steps):
        origins.append(origin_of(step, program.width + position, origins, types, bounds))
    monotone, dependencies, constants = [], [], []
    for register in {output.index for output in program.outputs if isinstance(output, Register) and output.index >= program.width}:
        origin = origins[register]
        if origin is None:
            continue
        columns = sorted(origin.columns)
        if not columns:
            constants.append(register)
        elif origin.effect is not None:
            monotone.append(Monotone(register, ((columns[0], origin.effect),), origin.strict))
        else:
            dependencies.append((columns, [register]))
    order = rows.order.add(constants=constants, functional_dependencies=dependencies, monotone=monotone)
    return RelationProperties(order, {}, bounds)


def origin_of(
    step: Step, result: int, origins: Sequence[ColumnOrigin | None], types: Sequence[ColumnType], bounds: dict[int, ValueBounds]
) -> ColumnOrigin | None:
    """Return how a step's result depends on input columns; None if unknown. Known bounds of the result are added to ``bounds``."""
    arguments = [operand.index for operand in step.operands if isinstance(operand, Register)]
    origins_of_arguments = [origins[argument] for argument in arguments]
    if not isinstance(step.function, str) or any(origin is None for origin in origins_of_arguments):
        return None
    known_origins = [origin for origin in origins_of_arguments if origin is not None]
    columns = frozenset().union(*[origin.columns for origin in known_origins])
    if len(known_origins) == 1 and known_origins[0].effect is not None:
        moved = shifted_bounds(step, bounds.get(arguments[0]))
        if moved is not None:
            bounds[result] = moved
        follows = (INC, True) if moved is not None else monotone_step(step, types)
        if follows is not None:
            effect = known_origins[0].effect if follows[0] == INC else flip(known_origins[0].effect)
            return ColumnOrigin(columns, effect, known_origins[0].strict and follows[1])
    # Equal values of other types may give different results: the two zeros, or date-times with an offset at one instant (DATETIME has no offset).
    same = all(types[argument] in (INT, STR, DATETIME) for argument in arguments)
    return ColumnOrigin(columns) if same and len(columns) <= MAX_COLUMNS else None


def monotone_step(step: Step, types: Sequence[ColumnType]) -> tuple[Effect, bool] | None:
    """Return how a step's result follows its only column argument, and whether strictly; None if it is not known to be monotone."""
    describe = FUNCTIONS.named(str(step.function)).monotone
    if describe is None:
        return None
    literals = [operand.value if isinstance(operand, Literal) else None for operand in step.operands]
    promise = describe([operand_type(operand, types) for operand in step.operands], [*literals, *step.parameters])
    if promise is None:
        return None
    if not isinstance(promise, str) or promise not in PROMISES:
        message = f"'monotone' of the scalar function {str(step.function)!r} gave {promise!r:.80}"
        raise InvalidArgumentError(f"{message}: it gives one of {listed(list(PROMISES))}, or None")
    return PROMISES[promise]


def shifted_bounds(step: Step, bounds: ValueBounds | None) -> ValueBounds | None:
    """Return the bounds of an int column plus or minus a constant int; None for other steps, or if a result may wrap around."""
    constants = [operand for operand in step.operands if isinstance(operand, Literal)]
    if bounds is None or step.function not in ("add", "subtract") or len(step.operands) != 2 or len(constants) != 1:
        return None
    constant = constants[0]
    if constant.type != INT or constant.value is None or not all(isinstance(bound, int) for bound in bounds):
        return None
    if step.function == "subtract" and step.operands[0] is constant:
        return None
    moved = -constant.value if step.function == "subtract" else constant.value
    low, high = bounds[0] + moved, bounds[1] + moved
    return (low, high) if low >= INT_LIMITS[0] and high <= INT_LIMITS[1] else None


def mask_facts(program: Program, schema: Schema) -> Mapping[int, SequenceFacts]:
    """Return for each output that may be a mask what holds for the outputs in rows where the mask is true."""
    if len(program.steps) > MAX_STEPS:
        return {}
    positions: dict[int, int] = {}
    # Computed once, because there may be as many masks as columns.
    types = program.register_types(schema)
    for position, output in enumerate(program.outputs):
        if isinstance(output, Register):
            positions.setdefault(output.index, position)
    return {
        position: facts
        for position, output in enumerate(program.outputs)
        if isinstance(output, Register) and output.index >= program.width
        for facts in [facts_where(program, output, types, positions)]
        if facts != SequenceFacts()
    }


def facts_where(program: Program, mask: Operand, types: Sequence[ColumnType], positions: Mapping[int, int]) -> SequenceFacts:
    """Return what holds in rows where a mask is true, for output columns; ``positions`` gives the output column of a register."""
    constants, pairs, present = constants_and_present(program, mask, types)
    return SequenceFacts(
        constants=tuple(positions[register] for register in constants if register in positions),
        equivalences=tuple((positions[a], positions[b]) for a, b in pairs if a in positions and b in positions),
        not_null=tuple(dict.fromkeys(positions[register] for register in present if register in positions)),
    )


def filtered_properties(rows: RelationProperties, width: int) -> RelationProperties:
    """Return the properties of the rows whose last column, the mask, is true, without that column."""
    facts = rows.where.get(width - 1, SequenceFacts())
    order = rows.order
    if facts != SequenceFacts():
        order = order.add(constants=facts.constants, equivalences=facts.equivalences, not_null=facts.not_null)
    return RelationProperties(order, {}, rows.bounds).project(range(width - 1))
