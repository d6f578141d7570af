"""The operators that arrange columns, project and zip, and helpers for positions of columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import ClassVar

import attrs

from sframe_spark.errors import LengthMismatchError
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.lowering import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes


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
    spark_inlines: ClassVar[bool] = True
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
        places = places_of(kept[0])
        return Project(tuple(places[self.positions[output]] for output in outputs)), outputs

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position)] for position in self.positions]

    def origins_of(self, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
        return [(0, self.positions[column]) for column in columns]

    def beside_one_more(self, inputs: Sequence[Facts]) -> Operator | None:
        """Return a projection on the additional column, followed by the chosen columns."""
        return Project((0, *(position + 1 for position in self.positions)))

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
        starts = first_columns(inputs)
        parts: list[list[int]] = [[] for _ in inputs]
        for output in outputs:
            slot = bisect_right(starts, output) - 1
            parts[slot].append(output - starts[slot])
        return parts

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return the operator itself with all columns that the inputs still have."""
        return self, [start + column for start, columns in zip(first_columns(inputs), kept, strict=True) for column in columns]

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return all columns, input by input."""
        return [[(slot, position)] for slot, facts in enumerate(inputs) for position in range(facts.width)]

    def origins_of(self, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
        starts = first_columns([child.facts for child in inputs])
        slots = [bisect_right(starts, column) - 1 for column in columns]
        return [(slot, column - starts[slot]) for slot, column in zip(slots, columns, strict=True)]

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
            raise LengthMismatchError(f"columns of {' and '.join(map(str, sorted(rows)))} rows cannot stand side by side: make the lengths equal")
        return Chunk(tuple(column for chunk in inputs for column in chunk.columns), rows.pop())

    def describe(self) -> str:
        return ""


def lengths_differ(first: Length, second: Length) -> LengthMismatchError:
    """Return the error for columns of different lengths."""
    return LengthMismatchError(f"columns of {first} and {second} rows cannot stand side by side: make the lengths equal")


def joined_schemas(inputs: Sequence[Facts]) -> Schema:
    """Return the types of all columns of several inputs."""
    if len(inputs) == 1:
        return inputs[0].schema
    if len(inputs) == 2:
        # Adding a column to a wide frame takes one concatenation of tuples, without a Python step for each column.
        return inputs[0].schema + inputs[1].schema
    return tuple(chain.from_iterable(item.schema for item in inputs))


def first_columns(inputs: Sequence[Facts]) -> list[int]:
    """Return the position of each input's first column in the zipped inputs."""
    return [0, *accumulate(facts.width for facts in inputs)][:-1]


def places_of(kept: Sequence[int]) -> dict[int, int]:
    """Return the new position of each column by its old one, if only the columns ``kept`` remain."""
    return {old: new for new, old in enumerate(kept)}


def side_by_side(inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> tuple[RelationProperties, Schema]:
    """Return the properties and the types of the zipped inputs."""
    return RelationProperties.side_by_side(inputs, [item.width for item in facts]), joined_schemas(facts)


def part_of_zip(node: PlannerNode, position: int) -> tuple[PlannerNode, int]:
    """Return the input of a zip that a column comes from, and the column's position in that input."""
    for child in node.inputs:
        if position < child.facts.width:
            return child, position
        position -= child.facts.width
    raise IndexError(position)


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
    """Return whether ``positions`` are those of all ``width`` columns, in order."""
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
