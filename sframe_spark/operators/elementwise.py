"""The row-wise operators, each a program of scalar functions over the columns of its inputs, and functions that make nodes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from sframe_spark.errors import InvalidArgumentError, PlanInvariantError
from sframe_spark.expressions.scalar_function_program import Register
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import Zip, joined_schemas, new_positions, side_by_side
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.operator_declarations import NO_WORK, FunctionCalls, SparkCost
from sframe_spark.planner.operator_parameters import identity_text
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import BYTES_OF_SHORT_TEXT, Sizes, fixed_size

with lazy_imports(globals()):
    from sframe_spark.expressions.python_function import PythonFunction
    from sframe_spark.expressions.scalar_function_program import Function, Literal, Operand, Program, Step, how_called, lower_program
    from sframe_spark.expressions.translated_function import TranslatedFunction
    from sframe_spark.operators.program_and_filter_properties import program_properties
    from sframe_spark.order.properties import RelationProperties
    from sframe_spark.planner.spark_relation import LoweringContext, Relation

if TYPE_CHECKING:
    from sframe_spark.types import ColumnType
    from sframe_spark.udf.result_caching_size_limits_and_storage import Guess


@attrs.frozen
class RowWise(Operator):
    """Base class of operators that are one :class:`Program` over the columns of their zipped inputs."""

    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    is_program: ClassVar[bool] = True

    def program(self, width: int) -> Program:
        """Return the computation over ``width`` input columns.

        Raises
        ------
        PlanInvariantError
            If the operator does not define its program.
        """
        raise PlanInvariantError(f"operator {self.name!r} has no program")

    def as_read(self) -> Operator:
        """Check that registers are not negative; type inference finds registers that no column or earlier step defines."""
        program = self.program(self.arity or 0)
        read = [*program.outputs, *(operand for step in program.steps for operand in step.operands)]
        if negative := [operand.index for operand in read if isinstance(operand, Register) and operand.index < 0]:
            raise InvalidArgumentError(f"the plan's text lets {self.name!r} read the columns {negative!r:.80}: they are counted from 0")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        schema = joined_schemas(inputs)
        return self.program(len(schema)).infer(schema)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: copied columns keep theirs, and results of monotone functions follow the order of their argument."""
        rows, schema = side_by_side(inputs, facts)
        return program_properties(self.program(len(schema)), rows, schema)

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return the sizes of copied columns.

        Computed strings are assumed to be as long as all inputs together; results of user functions are unknown.
        """
        sizes = [size for item in inputs for size in item]
        fixed = [fixed_size(kind) for kind in schema]
        if None not in fixed:
            return tuple(fixed)
        types = [column_type for item in facts for column_type in item.schema]
        program = self.program(len(sizes))
        read = [sizes[position] for position in program.used_inputs() if fixed_size(types[position]) is None]
        computed = None if program.calls_python or None in read else BYTES_OF_SHORT_TEXT + sum(size for size in read if size is not None)
        sizes_of_outputs = [computed if size is None else size for size in fixed]
        return tuple(
            size if input_position is None else sizes[input_position] for input_position, size in zip(origins(program), sizes_of_outputs, strict=True)
        )

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        positions = [(slot, position) for slot, item in enumerate(inputs) for position in range(item.width)]
        return [[] if origin is None else [positions[origin]] for origin in origins(self.program(len(positions)))]

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        schema = joined_schemas(inputs)
        return self.program(len(schema)).computed_by_arrow(schema)

    @property
    def spark_cost(self) -> SparkCost:
        """The cost of a select, which can be inlined unless several inputs are zipped first."""
        return SparkCost(NO_WORK, is_inlined=self.arity == 1, steps=len(self.program(self.arity or 0).steps))

    def function_calls(self, width: int) -> FunctionCalls | None:
        program = self.program(width)
        functions = program.user_functions
        if not functions:
            return None
        return FunctionCalls(functions, [f.result for f in functions], lambda others: GeneralizedTransform(program.with_user_functions(others)))

    def requires(self, slot: int) -> Need:
        """Return ``ALIGNED`` if there are several inputs, otherwise ``INHERITED``."""
        return Need.INHERITED if self.arity == 1 else Need.ALIGNED

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        chunk = Chunk(tuple(column for item in inputs for column in item.columns), inputs[0].rows)
        schema = joined_schemas(facts)
        return self.program(len(schema)).run(chunk, schema)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the program as one select, or several if a computed value is read more than once."""
        relation = inputs[0] if len(inputs) == 1 else Zip().plan_to_operator(inputs, context)
        return lower_rows(self.program(len(relation.schema)), relation)


@register
@attrs.frozen
class Transform(RowWise):
    """One scalar function of one column (and literals)."""

    name: ClassVar[str] = "transform"
    function: Function
    operands: tuple[Operand, ...] = (Register(0),)
    parameters: tuple[Any, ...] = attrs.field(default=(), eq=identity_text)

    def program(self, width: int) -> Program:
        return Program(width, (Step(self.function, self.operands, self.parameters),), (Register(width),))

    def called(self, outputs: Sequence[int] | None = None) -> str:
        return self.program(self.arity or 1).called()

    def function_calls(self, width: int) -> FunctionCalls | None:
        return super().function_calls(width) if isinstance(self.function, PythonFunction) else None

    def describe(self) -> str:
        return self.program(self.arity or 1).describe()


@register
@attrs.frozen
class BinaryTransform(Transform):
    """One scalar function of two aligned columns (and literals)."""

    name: ClassVar[str] = "binary_transform"
    arity: ClassVar[int | None] = 2
    operands: tuple[Operand, ...] = (Register(0), Register(1))


@register
@attrs.frozen
class TernaryTransform(Transform):
    """One scalar function of three aligned columns (and literals)."""

    name: ClassVar[str] = "ternary_transform"
    arity: ClassVar[int | None] = 3
    operands: tuple[Operand, ...] = (Register(0), Register(1), Register(2))


@register
@attrs.frozen
class LambdaTransform(RowWise):
    """A user's function of one value, or of a row as a dict, called once per row."""

    name: ClassVar[str] = "lambda_transform"
    function: PythonFunction = attrs.field(metadata={"portable": False})

    def called(self, outputs: Sequence[int] | None = None) -> str:
        return self.function.describe()

    def program(self, width: int) -> Program:
        """Return a program that calls the function with all columns."""
        return Program(width, (Step(self.function, tuple(map(Register, range(width)))),), (Register(width),))

    def describe(self) -> str:
        return f"{self.function.describe()}{how_called(self.function)}"


@register
@attrs.frozen
class GeneralizedTransform(RowWise):
    """Any number of functions over the columns of one input; all row-wise operators are fused into this form."""

    name: ClassVar[str] = "generalized_transform"
    takes_wider: ClassVar[bool] = True
    computation: Program

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the input columns that are read to compute some outputs."""
        return [self.computation.pruned(outputs).used_inputs() or [0]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return the operator with only the steps that compute some outputs."""
        return GeneralizedTransform(self.computation.pruned(outputs).with_inputs(new_positions(kept[0]), len(kept[0]))), outputs

    def called(self, outputs: Sequence[int] | None = None) -> str:
        """Return the names of the functions in its steps, because users do not know the fused operator."""
        return (self.computation if outputs is None else self.computation.pruned(outputs)).called()

    def program(self, width: int) -> Program:
        return self.computation

    def describe(self) -> str:
        return self.computation.describe()


def lower_rows(program: Program, relation: Relation) -> Relation:
    """Select the outputs of a program. A value that is read more than once gets a select of its own, so that Spark does not compute it twice."""
    while True:
        prefix, head = first_shared_step(program), program
        if prefix is not None:
            head = Program(program.width, program.steps[:prefix], tuple(map(Register, range(program.width + prefix))))
        columns = [relation.df[name] for name in relation.columns]
        relation = relation.with_columns(lower_program(head, columns, relation.schema), head.infer(relation.schema), origins(head))
        if prefix is None:
            return relation
        program = Program(program.width + prefix, program.steps[prefix:], program.outputs)


def origins(program: Program) -> list[int | None]:
    """Return for each output the position of the input column that it copies; None if it is computed."""
    return [output.index if isinstance(output, Register) and output.index < program.width else None for output in program.outputs]


def first_shared_step(program: Program) -> int | None:
    """Return the number of leading steps up to the first one whose register is read more than once; None if there is none.

    The result of a Python step that a Spark expression reads counts as read twice: expressions such as comparisons mention their operands several
    times, and Spark would call the function each time.
    """
    reads = [0] * (program.width + len(program.steps))
    readers = [*((operand, step) for step in program.steps for operand in step.operands), *((output, None) for output in program.outputs)]
    for operand, step in readers:
        if isinstance(operand, Register):
            reads[operand.index] += 1
            if operand.index >= program.width and step and step.expression and not program.steps[operand.index - program.width].expression:
                reads[operand.index] += 1
    return next((number for number in range(1, len(program.steps) + 1) if reads[program.width + number - 1] > 1), None)


def apply_function(function: str, *arguments: PlannerNode | Literal, parameters: tuple[Any, ...] = ()) -> PlannerNode:
    """Return a node with one scalar function of one-column nodes and literals, as the operator with the matching number of inputs.

    Raises
    ------
    TypeError, RuntimeError
        If the function does not take the types of the operands; the same error as in Turi Create.
    """
    nodes = [argument for argument in arguments if isinstance(argument, PlannerNode)]
    positions = iter(range(len(nodes)))
    operands = tuple(a if isinstance(a, Literal) else Register(next(positions)) for a in arguments)
    classes: dict[int, type[Transform]] = {1: Transform, 2: BinaryTransform, 3: TernaryTransform}
    return classes[len(nodes)](function=function, operands=operands, parameters=parameters).make_planner_node(*nodes)


def apply_program(node: PlannerNode, program: Program) -> PlannerNode:
    """Return a node with a program over the columns of one node.

    Examples
    --------
    >>> from sframe_spark.plugin import INT, Literal, Program, Register, SArray, Step, column_of, node_of
    >>> twice_and_one = Program(1, (Step("multiply", (Register(0), Literal(2, INT))), Step("add", (Register(1), Literal(1, INT)))), (Register(2),))
    >>> list(column_of(apply_program(node_of(SArray([1, None, 3])), twice_and_one)))
    [3, None, 7]
    """
    return GeneralizedTransform(program).make_planner_node(node)


def apply_lambda(
    node: PlannerNode, function: Any, result: ColumnType, names: Sequence[str] | None = None, skip_missing: bool = False, guess: Guess | None = None
) -> PlannerNode:
    """Return a node with a user's function of the values of a one-column node, or of rows as dicts if ``names`` are given."""
    python = PythonFunction(function, result, None if names is None else tuple(names), skip_missing, guess=guess)
    return LambdaTransform(python).make_planner_node(node)


def apply_translated(node: PlannerNode, function: TranslatedFunction) -> PlannerNode:
    """Return a node with a translated function of the columns of a node that it reads."""
    width = node.facts.width
    return apply_program(node, Program(width, (Step(function, tuple(map(Register, function.positions))),), (Register(width),)))


def calls_python(node: PlannerNode) -> bool:
    """Return whether a row-wise node calls a user's function."""
    return node.operator.row_wise and node.operator.function_calls(sum(child.facts.width for child in node.inputs)) is not None
