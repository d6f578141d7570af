"""Defines :class:`Program`: an element-wise computation over the columns of a row, as a flat list of function calls (in SSA form).

The list is flat so that thousands of nested expressions are evaluated, hashed and compared without recursion, and so that a value that is used
twice is computed once.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator, Sequence
from operator import is_
from typing import Any

import attrs
import pyarrow as pa

import sframe_spark.expressions.functions  # noqa: F401 - importing fills the table of functions
from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.expressions.translated_function import TranslatedFunction
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief, leaves_out
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.operator_parameters import identity_text
from sframe_spark.types import ARRAY_KIND, FLOAT_KIND, ColumnType
from sframe_spark.values.arrow_to_python import scalar_array
from sframe_spark.values.python_to_arrow import encode

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import Column, kernel_column, literal_column
    from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, ReadyToCall, ScalarFunction

MAX_PRINTED_STEPS, MAX_PRINTED_ITEMS, MAX_PRINTED_CHARACTERS = 6, 10, 200


@attrs.frozen
class Register:
    """An operand that is an input column (if the index is below the number of input columns), or the result of an earlier step."""

    index: int


@attrs.frozen
class Literal:
    """An operand that is a constant: a Python value and its column type."""

    value: Any = attrs.field(eq=identity_text)
    type: ColumnType = attrs.field()

    def as_read(self) -> Literal:
        """Return this literal, read from a serialised plan, after a check of its value.

        Raises
        ------
        InvalidArgumentError
            If the value is a bool, or does not have the type of the literal.
        """
        accepted = {FLOAT_KIND: (int, float), ARRAY_KIND: (array.array, list)}.get(self.type.kind, self.type.python_class)
        if self.value is not None and (isinstance(self.value, bool) or not isinstance(self.value, accepted)):
            raise InvalidArgumentError(f"the plan's text holds the value {self.value!r:.80} of type {self.type.kind}")
        return self

    def to_scalar(self) -> pa.Scalar:
        """Return the value as an Arrow scalar of the physical type."""
        return encode([self.value], self.type)[0]


Operand = Register | Literal
Function = str | PythonFunction | TranslatedFunction
# How many functions a message names at most.
MAX_NAMED = 3


@attrs.frozen
class Step:
    """One function call; its result is a register, which later steps can read."""

    function: Function
    operands: tuple[Operand, ...]
    parameters: tuple[Any, ...] = attrs.field(default=(), eq=identity_text)

    @property
    def expression(self) -> Callable[..., Any] | None:
        """The function that builds the Spark column of this step; None if Spark has to call Python for it."""
        return getattr(resolve(self.function), "column", None)


@attrs.frozen(cache_hash=True)
class Program:
    """A list of steps over the input columns of a row, and the registers or literals that become its output columns.

    Parameters
    ----------
    width
        Number of input columns: registers ``0..width-1``.
    steps
        Step *i* defines register ``width + i``.
    outputs
        Registers (or literals) of the output columns.
    """

    width: int
    steps: tuple[Step, ...]
    outputs: tuple[Operand, ...]

    def called(self) -> str:
        """Return for messages the names of the first functions that the program calls; for users' functions also where they are defined."""
        names = list(dict.fromkeys(name_of(step.function) for step in self.steps))
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        return f"{', '.join(names[:MAX_NAMED])}{more}" if names else "columns"

    def infer(self, schema: Schema) -> Schema:
        """Return the types of the output columns."""
        types = self.register_types(schema)
        return tuple(operand_type(operand, types) for operand in self.outputs)

    def register_types(self, schema: Schema) -> list[ColumnType]:
        """Return the types of all registers: those of the input columns, then those of the steps."""
        types = list(schema[: self.width])
        for step in self.steps:
            if not isinstance(step.function, str):
                types.append(step.function.result)
            else:
                types.append(FUNCTIONS.inferred(step.function, [operand_type(operand, types) for operand in step.operands], step.parameters))
        return types

    def run(self, chunk: Chunk, schema: Schema) -> Chunk:
        """Compute the output columns of a batch; registers are freed after their last use."""
        kernels = self._kernels(schema)
        registers: list[pa.Array | None] = list(chunk.columns[: self.width])
        for index, step in enumerate(self.steps):
            arguments = [operand.to_scalar() if isinstance(operand, Literal) else registers[operand.index] for operand in step.operands]
            registers.append(kernels[index](arguments, chunk.rows))
            for register in self._last_uses.get(index, ()):
                registers[register] = None
        outputs = [constant_array(operand, chunk.rows) if isinstance(operand, Literal) else registers[operand.index] for operand in self.outputs]
        return Chunk(tuple(outputs), chunk.rows)

    def _kernels(self, schema: Schema) -> list[ReadyToCall]:
        """Return the kernel of each step, bound to the types of its operands; cached by schema. Concurrent threads may compute them twice."""
        functions = [resolve(step.function) for step in self.steps]
        cached = self._cached_kernels.get(schema)
        # The cached kernels are not used if a function has been redefined since, as plug-ins may do.
        if cached is not None and all(map(is_, cached[0], functions)):
            return cached[1]
        types = self.register_types(schema)
        operands = [[operand_type(operand, types) for operand in step.operands] for step in self.steps]
        kernels = [function.ready(kinds, step.parameters) for function, kinds, step in zip(functions, operands, self.steps, strict=True)]
        self._cached_kernels[schema] = functions, kernels
        return kernels

    @cached_property
    def _cached_kernels(self) -> dict[Schema, tuple[list[ScalarFunction | PythonFunction | TranslatedFunction], list[ReadyToCall]]]:
        """By schema: the function and the bound kernel of each step."""
        return {}

    @cached_property
    def _last_uses(self) -> dict[int, list[int]]:
        """By index of a step: the registers that are read there for the last time, and are no outputs."""
        last = {register: index for index, step in enumerate(self.steps) for register in registers_of(step.operands)}
        for register in registers_of(self.outputs):
            last.pop(register, None)
        result: dict[int, list[int]] = {}
        for register, index in last.items():
            result.setdefault(index, []).append(register)
        return result

    def used_inputs(self) -> list[int]:
        """Return the positions of the input columns on which outputs depend, ascending."""
        return sorted(register for register in self._live() if register < self.width)

    def pruned(self, outputs: Sequence[int]) -> Program:
        """Return the program with only the outputs at some positions, without steps that they do not need."""
        return Program(self.width, self.steps, tuple(self.outputs[i] for i in outputs)).without_dead_steps()

    def without_dead_steps(self) -> Program:
        """Return the program without steps that no output depends on."""
        live = self._live()
        if all(self.width + index in live for index in range(len(self.steps))):
            return self
        mapping = {register: register for register in range(self.width)}
        steps: list[Step] = []
        for index, step in enumerate(self.steps):
            if self.width + index in live:
                steps.append(attrs.evolve(step, operands=tuple(remap(operand, mapping) for operand in step.operands)))
                mapping[self.width + index] = self.width + len(steps) - 1
        return Program(self.width, tuple(steps), tuple(remap(operand, mapping) for operand in self.outputs))

    def with_inputs(self, mapping: dict[int, int], width: int) -> Program:
        """Return the program over other input columns: input ``i`` becomes ``mapping[i]`` of ``width`` columns."""
        shift = width - self.width
        full = {**mapping, **{self.width + index: self.width + index + shift for index in range(len(self.steps))}}
        steps = tuple(attrs.evolve(step, operands=tuple(remap(operand, full) for operand in step.operands)) for step in self.steps)
        return Program(width, steps, tuple(remap(operand, full) for operand in self.outputs))

    def _live(self) -> set[int]:
        live = set(registers_of(self.outputs))
        for index in range(len(self.steps) - 1, -1, -1):
            if self.width + index in live:
                live.update(registers_of(self.steps[index].operands))
        return live

    @property
    def user_functions(self) -> list[PythonFunction]:
        """The users' functions that steps call, in order."""
        return [step.function for step in self.steps if isinstance(step.function, PythonFunction)]

    def with_user_functions(self, functions: Sequence[PythonFunction]) -> Program:
        """Return the program with other functions in the place of :attr:`user_functions`."""
        others = iter(functions)
        steps = (attrs.evolve(step, function=next(others)) if isinstance(step.function, PythonFunction) else step for step in self.steps)
        return attrs.evolve(self, steps=tuple(steps))

    @property
    def calls_python(self) -> bool:
        """Whether a step calls a user's function."""
        return any(isinstance(step.function, PythonFunction) for step in self.steps)

    @property
    def may_call_python(self) -> bool:
        """Whether a step calls a user's function, if only for rows for which its translation has no result."""
        return not all(isinstance(step.function, str) for step in self.steps)

    @property
    def may_fail(self) -> bool:
        """Whether a step may raise for some values: a user's function, or for example parsing."""
        return self.may_call_python or any(FUNCTIONS.named(step.function).may_fail for step in self.steps if isinstance(step.function, str))

    def computed_by_arrow(self, schema: Schema) -> list[int]:
        """Return the positions of outputs for which no step creates a Python object for each list or dict."""
        types = self.register_types(schema)
        plain = [True] * self.width  # by register
        for step, result in zip(self.steps, types[self.width :], strict=True):
            is_read_plain = all(plain[register] for register in registers_of(step.operands))
            plain.append(is_read_plain and is_by_arrow(step, [operand_type(operand, types) for operand in step.operands], result))
        return [position for position, output in enumerate(self.outputs) if isinstance(output, Literal) or plain[output.index]]

    def describe(self) -> str:
        """Return the program in readable form: at most six steps such as ``v2 := add(v0, v1)``, unless in full, and the outputs."""
        shown = self.steps[:MAX_PRINTED_STEPS] if leaves_out() else self.steps
        lines = [describe_step(self.width + index, step) for index, step in enumerate(shown)]
        if len(self.steps) > len(lines):
            lines.append(f"... {len(self.steps) - len(lines)} more")
        outputs = ", ".join(describe_operand(operand) for operand in self.outputs)
        return "; ".join([*lines, f"[{outputs}]"])


def is_by_arrow(step: Step, types: Sequence[ColumnType], result: ColumnType) -> bool:
    """Return whether a step is computed without creating a Python object for each list or dict."""
    if isinstance(step.function, PythonFunction):
        return False
    if not any(kind.is_list_or_dict for kind in (*types, result)):
        return True
    by_arrow = FUNCTIONS.named(step.function).by_arrow if isinstance(step.function, str) else None
    return by_arrow is not None and by_arrow(types, step.parameters)


def registers_of(operands: Sequence[Operand]) -> Iterator[int]:
    """Yield the indices of the operands that are registers."""
    return (operand.index for operand in operands if isinstance(operand, Register))


def remap(operand: Operand, mapping: dict[int, int]) -> Operand:
    """Return the operand with its register renumbered by a mapping; a literal is unchanged."""
    return Register(mapping[operand.index]) if isinstance(operand, Register) else operand


def operand_type(operand: Operand, types: Sequence[ColumnType]) -> ColumnType:
    """Return the type of an operand; ``types`` are those of the registers."""
    return operand.type if isinstance(operand, Literal) else types[operand.index]


def resolve(function: Function) -> ScalarFunction | PythonFunction | TranslatedFunction:
    """Return the implementation of a step's function."""
    return FUNCTIONS.named(function) if isinstance(function, str) else function


def name_of(function: Function) -> str:
    """Return the name of a function; for a user's function also where it is defined."""
    return function if isinstance(function, str) else function.describe()


def constant_array(literal: Literal, rows: int) -> pa.Array:
    """Return an array that repeats a literal in each row."""
    return scalar_array(literal.to_scalar(), rows)


def describe_operand(operand: Operand) -> str:
    """Return an operand in readable form."""
    return describe_constant(operand.value, repr) if isinstance(operand, Literal) else f"v{operand.index}"


def describe_constant(value: Any, text_of: Callable[[Any], str]) -> str:
    """Return a constant in readable form, abbreviated if it is long; ``text_of`` formats it.

    Examples
    --------
    >>> describe_constant(tuple(range(100_000)), str)
    '(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 99990 more)'
    """
    if isinstance(value, (tuple, list)) and len(value) > MAX_PRINTED_ITEMS and leaves_out():
        items = ", ".join(describe_constant(item, repr) for item in value[:MAX_PRINTED_ITEMS])
        return f"({items}, ... {len(value) - MAX_PRINTED_ITEMS} more)"
    try:
        text = text_of(value)
    except ValueError:
        # Python refuses to print ints with thousands of digits.
        return brief(value)
    if len(text) <= MAX_PRINTED_CHARACTERS or not leaves_out():
        return text
    return f"{text[:MAX_PRINTED_CHARACTERS]}... {len(text) - MAX_PRINTED_CHARACTERS} more"


def describe_step(register: int, step: Step) -> str:
    """Return a step in readable form; its result is the given register."""
    arguments = [describe_operand(operand) for operand in step.operands] + [describe_constant(p, str) for p in step.parameters]
    return f"v{register} := {name_of(step.function)}({', '.join(arguments)}){how_called(step.function)}"


def how_called(function: Function) -> str:
    """Return how a user's function is computed: the expression that it was translated into, or why it is called for each row."""
    if isinstance(function, TranslatedFunction):
        return f" translated into {function.text}"
    return f" called for each row, since {function.why_called}" if isinstance(function, PythonFunction) and function.why_called else ""


def identity_program(width: int, positions: Sequence[int]) -> Program:
    """Return the program that only selects the input columns at some positions."""
    return Program(width, (), tuple(Register(position) for position in positions))


def lower_program(program: Program, columns: Sequence[Column], schema: Schema) -> list[Column]:
    """Return the Spark columns of the outputs.

    The caller has to split programs that read a register twice (see ``operators.elementwise``), because Spark would compute it twice.
    """
    types = program.register_types(schema)
    registers: list[Column] = list(columns[: program.width])
    for step in program.steps:
        operands = [literal_column(o.value, o.type) if isinstance(o, Literal) else registers[o.index] for o in step.operands]
        operand_types = [operand_type(operand, types) for operand in step.operands]
        if step.expression is not None:
            registers.append(step.expression(operands, operand_types, step.parameters))
        else:
            registers.append(kernel_column(resolve(step.function), operands, operand_types, step.parameters, types[len(registers)]))
    return [literal_column(o.value, o.type) if isinstance(o, Literal) else registers[o.index] for o in program.outputs]
