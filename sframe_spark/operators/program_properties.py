"""What row-wise programs and filters make of the properties of their input rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from sframe_spark.operators.functions.base import FUNCTIONS
from sframe_spark.operators.masks import constants_and_present
from sframe_spark.operators.program import Literal, Operand, Program, Register, Step, operand_type
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.properties import Facts, Monotone
from sframe_spark.planner.properties.relation import Bounds, RelationProperties
from sframe_spark.types import DATETIME, INT, STR

# Nothing is derived through the steps of longer programs: that costs more than it finds.
MOST_STEPS = 100
INT_LIMITS = (-(2**63), 2**63 - 1)


def program_properties(program: Program, rows: RelationProperties, schema: Schema) -> RelationProperties:
    """Properties of a program's outputs over rows with known properties.

    Copies stay what they are, constants are constants, results of monotone functions are monotone, results of functions of ints and texts depend
    on their arguments; a user's function says nothing.
    """
    outputs = [output.index if isinstance(output, Register) else None for output in program.outputs]
    literals = [place for place, output in enumerate(program.outputs) if isinstance(output, Literal)]
    if len(program.steps) > MOST_STEPS:
        known = rows.project([output if output is not None and output < program.width else None for output in outputs])
    else:
        known = with_results(program, rows, schema).project(outputs)
    order = known.order.add(constants=literals) if literals else known.order
    return RelationProperties(order, mask_facts(program, schema), known.bounds)


def with_results(program: Program, rows: RelationProperties, schema: Schema) -> RelationProperties:
    """Properties of the inputs and of all results of steps side by side, by register."""
    if rows.says_nothing:
        return rows
    types = program.register_types(schema)
    bounds = dict(rows.bounds)
    monotone, dependencies, constants = [], [], []
    for place, step in enumerate(program.steps):
        result = program.width + place
        arguments = [operand.index for operand in step.operands if isinstance(operand, Register)]
        if not isinstance(step.function, str):
            continue
        if not arguments:
            constants.append(result)
        elif all(types[argument] in (INT, STR, DATETIME) for argument in arguments):
            # Others that compare as equal, such as both zeros, or an instant at two offsets, may give different results.
            dependencies.append((arguments, [result]))
        if len(arguments) == 1:
            moved = shifted_bounds(step, bounds.get(arguments[0]))
            fact = monotone_result(step, result, arguments[0], types, moved is not None)
            if moved is not None:
                bounds[result] = moved
            if fact is not None:
                monotone.append(fact)
    order = rows.order.add(constants=constants, functional_dependencies=dependencies, monotone=monotone)
    return RelationProperties(order, {}, bounds)


def monotone_result(step: Step, result: Hashable, argument: int, types: list, exact: bool) -> Monotone | None:
    """How a step's result follows its only column argument, if it does; ``exact``: an int sum that is known not to wrap around."""
    if exact:
        return Monotone(result, ((argument, "inc"),), True)
    describe = FUNCTIONS[str(step.function)].monotone
    if describe is None or step.parameters:
        return None
    literals = [operand.value if isinstance(operand, Literal) else None for operand in step.operands]
    promise = describe([operand_type(operand, types) for operand in step.operands], literals)
    if promise is None:
        return None
    return Monotone(result, ((argument, "inc" if promise.endswith("increasing") else "dec"),), promise.startswith("strictly"))


def shifted_bounds(step: Step, bounds: Bounds | None) -> Bounds | None:
    """Bounds of an int column to which a constant int is added, if no sum wraps around."""
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


def mask_facts(program: Program, schema: Schema) -> Mapping[int, Facts]:
    """For outputs that are masks: what holds for the outputs among rows where the mask is true."""
    if len(program.steps) > MOST_STEPS:
        return {}
    places: dict[int, int] = {}
    for place, output in enumerate(program.outputs):
        if isinstance(output, Register):
            places.setdefault(output.index, place)
    return {
        place: facts
        for place, output in enumerate(program.outputs)
        if isinstance(output, Register) and output.index >= program.width
        for facts in [facts_where(program, output, schema, places)]
        if facts != Facts()
    }


def facts_where(program: Program, mask: Operand, schema: Schema, places: Mapping[int, int]) -> Facts:
    """What holds among rows where a mask is true, said of the outputs in ``places``."""
    constants, pairs, present = constants_and_present(program, mask, schema)
    return Facts(
        constants=tuple(places[register] for register in constants if register in places),
        equivalences=tuple((places[a], places[b]) for a, b in pairs if a in places and b in places),
        not_null=tuple(dict.fromkeys(places[register] for register in present if register in places)),
    )


def filtered_properties(rows: RelationProperties, width: int) -> RelationProperties:
    """Properties of the rows whose last column is true, without that column."""
    facts = rows.where.get(width - 1, Facts())
    order = rows.order
    if facts != Facts():
        order = order.add(constants=facts.constants, equivalences=facts.equivalences, not_null=facts.not_null)
    return RelationProperties(order, {}, rows.bounds).project(range(width - 1))
