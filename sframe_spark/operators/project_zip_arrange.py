"""The operators that choose and combine columns: project, zip and arrange, and functions that pick, add and replace columns of a node."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from operator import itemgetter
from typing import ClassVar, TypeVar

import attrs

from sframe_spark.errors import InvalidArgumentError, LengthMismatchError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, RowDomain, Schema
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.operator_declarations import INLINED, SparkCost
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.types import ColumnType

with lazy_imports(globals()):
    from sframe_spark.order.properties import RelationProperties
    from sframe_spark.planner.row_sizes import Sizes
    from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation


@register
@attrs.frozen(cache_hash=True)
class Project(Operator):
    """The input's rows with columns chosen by position."""

    name: ClassVar[str] = "project"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    takes_wider: ClassVar[bool] = True
    arranges_columns: ClassVar[bool] = True
    spark_cost: ClassVar[SparkCost] = INLINED
    positions: tuple[int, ...] = attrs.field(validator=column_positions)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (*map(inputs[0].schema.__getitem__, self.positions),)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        return inputs[0].project(self.positions)

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        return tuple(inputs[0][position] for position in self.positions)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [[self.positions[output] for output in outputs]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return a projection on only the required columns."""
        positions = new_positions(kept[0])
        return Project(tuple(positions[self.positions[output]] for output in outputs)), outputs

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position)] for position in self.positions]

    def origins_of(self, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
        """Return the origins of some output columns only."""
        return [(0, self.positions[column]) for column in columns]

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input matters only if the order of the output is observed."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        relation = inputs[0]
        columns = [relation.df[f"c{position}"] for position in self.positions]
        return relation.with_columns(columns, tuple(relation.schema[position] for position in self.positions), self.positions)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return inputs[0].select(self.positions)

    def describe(self) -> str:
        return ", ".join(map(str, self.positions))


@register
@attrs.frozen
class Zip(Operator):
    """The columns of several inputs side by side; all inputs have the same number of rows."""

    name: ClassVar[str] = "zip"
    arity: ClassVar[int | None] = None
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    takes_wider: ClassVar[bool] = True
    arranges_columns: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of all inputs, in order.

        Raises
        ------
        LengthMismatchError
            If the lengths of two inputs are known and differ.
        """
        for facts in inputs[1:]:
            if inputs[0].length.provably_equals(facts.length) is False:
                raise lengths_differ(inputs[0].length, facts.length)
        return joined_schemas(inputs)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of all inputs combined, because they describe the same rows."""
        return side_by_side(inputs, facts)[0]

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        return tuple(size for sizes in inputs for size in sizes)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the required columns of each input."""
        required: list[list[int]] = [[] for _ in inputs]
        for slot, position in zip_origins(outputs, inputs):
            required[slot].append(position)
        return required

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return the operator itself with all columns that the inputs still have."""
        starts = first_columns([facts.width for facts in inputs])
        return self, [start + column for start, columns in zip(starts, kept, strict=True) for column in columns]

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return all columns, input by input."""
        return [[(slot, position)] for slot, facts in enumerate(inputs) for position in range(facts.width)]

    def origins_of(self, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
        """Return the origins of some output columns only."""
        return zip_origins(columns, [child.facts for child in inputs])

    def requires(self, slot: int) -> Need:
        return Need.ALIGNED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a full join on the row number."""
        from pyspark.sql import functions as F

        first = inputs[0].with_position()
        df = first.df.select(*first.columns, F.col(first.position).alias("p"))
        width = len(first.schema)
        schema = list(first.schema)
        for other in inputs[1:]:
            numbered = other.with_position()
            columns = [F.col(name).alias(f"c{width + index}") for index, name in enumerate(numbered.columns)]
            right = numbered.df.select(*columns, F.col(numbered.position).alias("p"))
            df = df.join(right, "p", "full")
            width += len(other.schema)
            schema.extend(other.schema)
        names = [f"c{index}" for index in range(width)]
        return Relation(df.select(*names, F.col("p").alias("k0")), tuple(schema), (KeyColumn("k0"),), "k0")

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        rows = {chunk.rows for chunk in inputs}
        if len(rows) != 1:
            raise LengthMismatchError(f"columns of {' and '.join(map(str, sorted(rows)))} rows cannot be combined: make the lengths equal")
        return Chunk(tuple(column for chunk in inputs for column in chunk.columns), rows.pop())


def lengths_differ(first: Length, second: Length) -> LengthMismatchError:
    """Return the error for columns of different lengths."""
    return LengthMismatchError(f"columns of {first} and {second} rows cannot be combined: make the lengths equal")


def joined_schemas(inputs: Sequence[Facts]) -> Schema:
    """Return the types of all columns of several inputs."""
    if len(inputs) == 1:
        return inputs[0].schema
    if len(inputs) == 2:
        # Adding a column to a wide frame takes one concatenation of tuples, without a Python step for each column.
        return inputs[0].schema + inputs[1].schema
    return tuple(chain.from_iterable(item.schema for item in inputs))


def first_columns(widths: Iterable[int]) -> list[int]:
    """Return the position of each input's first column in the zipped inputs, given the widths of the inputs."""
    return [0, *accumulate(widths)][:-1]


def zip_origins(columns: Iterable[int], inputs: Sequence[Facts]) -> list[Origin]:
    """Return the input, and the position in that input, of some columns of the zipped inputs."""
    starts = first_columns(facts.width for facts in inputs)
    slots = [(bisect_right(starts, column) - 1, column) for column in columns]
    return [(slot, column - starts[slot]) for slot, column in slots]


def new_positions(kept: Sequence[int]) -> dict[int, int]:
    """Return the new position of each column by its old one, if only the columns ``kept`` remain."""
    return {old: new for new, old in enumerate(kept)}


def side_by_side(inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> tuple[RelationProperties, Schema]:
    """Return the properties and the types of the zipped inputs."""
    return RelationProperties.side_by_side(inputs, [item.width for item in facts]), joined_schemas(facts)


def project(node: PlannerNode, positions: Sequence[int]) -> PlannerNode:
    """Return a node with some columns of a node; the node itself if these are all its columns in order.

    Examples
    --------
    >>> from sframe_spark.plugin import SFrame, column_of, node_of
    >>> list(column_of(project(node_of(SFrame({"a": [1, 2], "b": [3, 4]})), [1])))
    [3, 4]
    """
    if shows_all(positions, node.facts.width):
        return node
    return Project(tuple(positions)).make_planner_node(node)


def all_columns(width: int) -> tuple[int, ...]:
    """Return the positions of ``width`` columns. All callers share the int objects, which take more memory than references to them."""
    return _numbers(width.bit_length())[:width]


@lru_cache(maxsize=32)
def _numbers(bits: int) -> tuple[int, ...]:
    return tuple(range(1 << bits))


def shows_all(positions: Sequence[int], width: int) -> bool:
    """Return whether ``positions`` are the positions of all ``width`` columns, in order."""
    return len(positions) == width and tuple(positions) == all_columns(width)


def zip_columns(*nodes: PlannerNode) -> PlannerNode:
    """Return a node with the columns of all nodes side by side.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, frame_of, node_of
    >>> frame_of(zip_columns(node_of(SArray([1, 2])), node_of(SArray(["x", "y"]))), ["a", "b"])[1]
    {'a': 2, 'b': 'y'}
    """
    return nodes[0] if len(nodes) == 1 else Zip().make_planner_node(*nodes)


# The arrange operator: columns of several inputs in any order, as in a frame whose columns were assigned one at a time.

Item = TypeVar("Item")

# Finding unused inputs takes a pass over all columns, so they are dropped only if there are more inputs than this per column.
MAX_INPUTS_FOR_A_COLUMN = 2
FEW_INPUTS = 16


@register
@attrs.frozen(cache_hash=True)
class Arrange(Operator):
    """Columns of several inputs of equal length, aligned row by row, in any order.

    The operator is equal to a projection of the zipped inputs, and laws rewrite it to that. It exists because it is cheaper to build: replacing,
    adding or reading one column does not take a step for each of the other columns.

    Parameters
    ----------
    slots
        For each output column the input that has it.
    positions
        For each output column its position in that input.
    """

    name: ClassVar[str] = "arrange"
    arity: ClassVar[int | None] = None
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    takes_wider: ClassVar[bool] = True
    arranges_columns: ClassVar[bool] = True
    slots: tuple[int, ...]
    positions: tuple[int, ...]

    def as_read(self) -> Operator:
        """Check that indices are not negative; type inference finds inputs and columns that do not exist."""
        if len(self.slots) != len(self.positions) or min((*self.slots, *self.positions), default=0) < 0:
            raise InvalidArgumentError("the plan's text arranges columns that no input has: each has an input and a position, counted from 0")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the arranged columns.

        Raises
        ------
        LengthMismatchError
            If the lengths of two inputs are known and differ.
        """
        Zip().infer_type(inputs)
        return tuple(inputs[slot].schema[position] for slot, position in zip(self.slots, self.positions, strict=True))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        return Zip().infer_properties(inputs, facts).project(self.columns_of_zip([item.width for item in facts]))

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        return tuple(inputs[slot][position] for slot, position in zip(self.slots, self.positions, strict=True))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        required: list[list[int]] = [[] for _ in inputs]
        for output in outputs:
            required[self.slots[output]].append(self.positions[output])
        return required

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return an operator that arranges only the required columns."""
        left = [slot for slot, columns in enumerate(kept) if columns or not inputs[slot].width]
        slots, positions = new_positions(left), [new_positions(columns) for columns in kept]
        exposed = [(slots[self.slots[output]], positions[self.slots[output]][self.positions[output]]) for output in outputs]
        return Arrange(tuple(slot for slot, _ in exposed), tuple(position for _, position in exposed)), outputs

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(slot, position)] for slot, position in zip(self.slots, self.positions, strict=True)]

    def origins_of(self, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
        """Return the origins of some output columns only."""
        return [(self.slots[column], self.positions[column]) for column in columns]

    def requires(self, slot: int) -> Need:
        return Need.ALIGNED

    def columns_of_zip(self, widths: Sequence[int]) -> tuple[int, ...]:
        """Return the position of each column in the zipped inputs, given the widths of the inputs."""
        starts = first_columns(widths)
        return tuple(starts[slot] + position for slot, position in zip(self.slots, self.positions, strict=True))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the zipped inputs with one select."""
        rows = Zip().plan_to_operator(inputs, context)
        return Project(self.columns_of_zip([len(relation.schema) for relation in inputs])).plan_to_operator([rows], context)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        rows = Zip().kernel(inputs, facts).rows
        return Chunk(tuple(inputs[slot].columns[position] for slot, position in zip(self.slots, self.positions, strict=True)), rows)

    def describe(self) -> str:
        return ", ".join(f"{slot}.{position}" for slot, position in zip(self.slots, self.positions, strict=True))


def column_of(node: PlannerNode, position: int) -> PlannerNode:
    """Return a node with one column of a node: if the frame's columns were assigned one at a time, the node that computes the column alone.

    Examples
    --------
    >>> from sframe_spark.plugin import SFrame, column_of as as_array, node_of
    >>> frame = node_of(SFrame({"a": [1, 2], "b": [3, 4]}))
    >>> twice = replace_column(frame, 1, column_of(frame, 0))
    >>> list(as_array(column_of(twice, 1)))
    [1, 2]
    """
    operator = node.operator
    if node.is_unfixed:
        # The first action fixes the rows of the frame with all its columns, so a column has to be read through the frame.
        return project(node, [position])
    if isinstance(operator, Project) and 0 <= position < len(operator.positions):
        return columns_of(node, [position])
    if not isinstance(operator, Arrange) or not 0 <= position < len(operator.slots):
        return project(node, [position])
    source, column_position = node.inputs[operator.slots[position]], operator.positions[position]
    facts = source.facts
    if facts.width == 1 and (facts.domain is node.facts.domain or facts.length.rows is not None):
        return source
    # Nodes with the same row domain have the same number of rows, even if it is unknown.
    picked = Project((column_position,))
    return PlannerNode(picked, (source,), Facts((facts.schema[column_position],), _length_of_both(node.length, facts.length), node.facts.domain))


def columns_of(node: PlannerNode, positions: Sequence[int]) -> PlannerNode:
    """Return a node with some columns of a node, in the given order; the node itself if these are all its columns in order."""
    operator = node.operator
    if isinstance(operator, Project) and not shows_all(positions, node.facts.width):
        schema, input_positions = _picked(node.schema, positions), _picked(operator.positions, positions)
        return PlannerNode(Project(input_positions), node.inputs, Facts(schema, node.length, node.facts.domain))
    if not isinstance(operator, Arrange) or shows_all(positions, node.facts.width):
        return project(node, positions)
    if len(positions) == 1:
        return column_of(node, positions[0])
    slots, input_positions = _picked(operator.slots, positions), _picked(operator.positions, positions)
    return _arranged(node.inputs, slots, input_positions, Facts(_picked(node.schema, positions), node.length, node.facts.domain))


def columns_alongside(node: PlannerNode, *added: PlannerNode) -> PlannerNode:
    """Return a node with the columns of a node followed by the columns of further nodes with the same number of rows.

    Raises
    ------
    LengthMismatchError
        If two lengths are known and differ.
    """
    if not added:
        return node
    inputs, slots, positions = _parts_of(node)
    length, domain = node.facts.length, node.facts.domain
    # Collected in lists, because adding many columns one at a time would copy the tuples for each column.
    more_inputs, more_slots, more_positions, types = list[PlannerNode](), list[int](), list[int](), list[ColumnType]()
    for other in added:
        other_inputs, other_slots, other_positions = _parts_of(other)
        more_slots += [len(inputs) + len(more_inputs) + slot for slot in other_slots]
        more_inputs += other_inputs
        more_positions += other_positions
        types += other.schema
        length = _length_of_both(length, other.length)
        domain = domain if other.facts.domain is domain else RowDomain()
    facts = Facts((*node.schema, *types), length, domain)
    return _arranged((*inputs, *more_inputs), (*slots, *more_slots), (*positions, *more_positions), facts)


def replace_column(node: PlannerNode, position: int, column: PlannerNode) -> PlannerNode:
    """Return a node with one column replaced by the only column of another node with the same number of rows.

    Raises
    ------
    LengthMismatchError
        If two lengths are known and differ.
    """
    inputs, slots, positions = _parts_of(node)
    (source, *_), _, (input_position,) = _parts_of(column)
    length, domain, schema = _length_of_both(node.length, column.length), node.facts.domain, node.schema
    if column.facts.domain is not domain:
        domain = RowDomain()
    before, after = schema[position], column.schema[0]
    # Types of ints and of results of comparisons are equal.
    if before != after or before.is_logical != after.is_logical:
        schema = with_item(schema, position, after)
    slot = slots[position]
    if inputs[slot].facts.width == 1 and slots.count(slot) == 1:
        # No other column comes from the input of the replaced column.
        inputs = with_item(inputs, slot, source)
    else:
        slots = with_item(slots, position, len(inputs))
        inputs += (source,)
    if positions[position] != input_position:
        positions = with_item(positions, position, input_position)
    return _arranged(inputs, slots, positions, Facts(schema, length, domain))


def with_item(items: tuple[Item, ...], position: int, item: Item) -> tuple[Item, ...]:
    """Return the tuple with one item replaced; slicing needs no Python step per item.

    Examples
    --------
    >>> with_item((1, 2, 3), 1, 5)
    (1, 5, 3)
    """
    return items[:position] + (item,) + items[position + 1 :]  # noqa: RUF005 - a list would be made first


def _parts_of(node: PlannerNode) -> tuple[tuple[PlannerNode, ...], tuple[int, ...], tuple[int, ...]]:
    """Return inputs, slots and positions of the arrangement that a node is equal to."""
    operator = node.operator
    if isinstance(operator, Arrange):
        return node.inputs, operator.slots, operator.positions
    width = node.facts.width
    if isinstance(operator, Project):
        return node.inputs, (0,) * width, operator.positions
    return (node,), (0,) * width, all_columns(width)


def _picked(items: tuple[Item, ...], positions: Sequence[int]) -> tuple[Item, ...]:
    """Return the items at some positions."""
    picked: tuple[Item, ...] = itemgetter(*positions)(items) if len(positions) > 1 else tuple(items[position] for position in positions)
    return picked


def _arranged(inputs: tuple[PlannerNode, ...], slots: tuple[int, ...], positions: tuple[int, ...], facts: Facts) -> PlannerNode:
    if len(inputs) > MAX_INPUTS_FOR_A_COLUMN * len(slots) + FEW_INPUTS:
        used = {slot: number for number, slot in enumerate(dict.fromkeys(slots))}
        # If there are no columns, the first input is kept, because it determines the number of rows.
        inputs, slots = tuple(inputs[slot] for slot in used) or inputs[:1], tuple(map(used.__getitem__, slots))
    return PlannerNode(Arrange(slots, positions), inputs, facts)


def _length_of_both(first: Length, second: Length) -> Length:
    """Return the more informative of two lengths that must be equal; raise LengthMismatchError if they are known to differ."""
    if first.provably_equals(second) is False:
        raise lengths_differ(first, second)
    return second if first.rows is None and second.rows is not None else first


def arranged_origins(operator: Operator, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
    """Return the origins of some output columns of an operator that ``arranges_columns``; of a frame of many columns these are found at once."""
    if isinstance(operator, (Project, Zip, Arrange)):
        return operator.origins_of(columns, inputs)
    origins = operator.column_origins([child.facts for child in inputs])
    return [origins[column][0] for column in columns]
