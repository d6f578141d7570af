"""The arrange operator: columns of several inputs in any order, as of a frame whose columns were assigned one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import itemgetter
from typing import ClassVar, TypeVar

import attrs

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.operators.project import Project, Zip, all_columns, lengths_differ, places_of, project, shows_all
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, RowDomain, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes

Item = TypeVar("Item")

# Unused inputs are dropped only beyond so many inputs per column, because finding them takes a pass over all columns.
MAX_INPUTS_FOR_A_COLUMN = 2
FEW_INPUTS = 16


@register
@attrs.frozen(cache_hash=True)
class Arrange(Operator):
    """Columns of several inputs of equal length, aligned row by row, in any order.

    It is equal to a projection of the zipped inputs, to which the laws rewrite it. The difference is the cost of building it: one column is replaced,
    added or looked up without a step for each of the others.

    Parameters
    ----------
    slots
        For each column the input that has it.
    positions
        For each column its position there.
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
        """Refuse negative indices; inputs and columns that do not exist fail in type inference."""
        if len(self.slots) != len(self.positions) or min((*self.slots, *self.positions), default=0) < 0:
            raise InvalidArgumentError("the plan's text arranges columns that no input has: each has an input and a position, counted from 0")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The types of the arranged columns.

        Raises
        ------
        LengthMismatchError
            If two lengths are known and differ.
        """
        Zip().infer_type(inputs)
        return tuple(inputs[slot].schema[position] for slot, position in zip(self.slots, self.positions, strict=True))

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        return Zip().infer_properties(inputs, facts).project(self.columns_of_zip([item.width for item in facts]))

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        return tuple(inputs[slot][position] for slot, position in zip(self.slots, self.positions, strict=True))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        parts: list[list[int]] = [[] for _ in inputs]
        for output in outputs:
            parts[self.slots[output]].append(self.positions[output])
        return parts

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Only required columns are arranged."""
        left = [slot for slot, columns in enumerate(kept) if columns or not inputs[slot].width]
        slots, places = places_of(left), [places_of(columns) for columns in kept]
        exposed = [(slots[self.slots[output]], places[self.slots[output]][self.positions[output]]) for output in outputs]
        return Arrange(tuple(slot for slot, _ in exposed), tuple(place for _, place in exposed)), outputs

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(slot, position)] for slot, position in zip(self.slots, self.positions, strict=True)]

    def origins_of(self, columns: Sequence[int], inputs: Sequence[PlannerNode]) -> Iterable[Origin]:
        return [(self.slots[column], self.positions[column]) for column in columns]

    def requires(self, slot: int) -> Need:
        return Need.ALIGNED

    def columns_of_zip(self, widths: Sequence[int]) -> tuple[int, ...]:
        """Position of each column in the zipped inputs, given their widths."""
        starts = [0, *accumulate(widths)]
        return tuple(starts[slot] + position for slot, position in zip(self.slots, self.positions, strict=True))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Zip the inputs, then one select."""
        rows = Zip().plan_to_operator(inputs, context)
        return Project(self.columns_of_zip([len(relation.schema) for relation in inputs])).plan_to_operator([rows], context)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        rows = Zip().kernel(inputs, facts).rows
        return Chunk(tuple(inputs[slot].columns[position] for slot, position in zip(self.slots, self.positions, strict=True)), rows)

    def describe(self) -> str:
        return ", ".join(f"{slot}.{position}" for slot, position in zip(self.slots, self.positions, strict=True))


def column_of(node: PlannerNode, position: int) -> PlannerNode:
    """One column of a node; of a frame whose columns were assigned one by one, the node that computes it, without the rest of the frame.

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
        # The frame's rows are fixed with all its columns, so a column has to be read through the frame.
        return project(node, [position])
    if isinstance(operator, Project) and 0 <= position < len(operator.positions):
        return columns_of(node, [position])
    if not isinstance(operator, Arrange) or not 0 <= position < len(operator.slots):
        return project(node, [position])
    source, place = node.inputs[operator.slots[position]], operator.positions[position]
    known = source.facts
    if known.width == 1 and (known.domain is node.facts.domain or known.length.rows is not None):
        return source
    # Nodes of one row domain have equally many rows, even if the number is unknown.
    picked = Project((place,))
    return PlannerNode(picked, (source,), Facts((known.schema[place],), _length_of_both(node.length, known.length), node.facts.domain))


def columns_of(node: PlannerNode, positions: Sequence[int]) -> PlannerNode:
    """Some columns of a node, in this order; the node itself if these are all of them."""
    operator = node.operator
    if isinstance(operator, Project) and not shows_all(positions, node.facts.width):
        schema, places = _picked(node.schema, positions), _picked(operator.positions, positions)
        return PlannerNode(Project(places), node.inputs, Facts(schema, node.length, node.facts.domain))
    if not isinstance(operator, Arrange) or shows_all(positions, node.facts.width):
        return project(node, positions)
    if len(positions) == 1:
        return column_of(node, positions[0])
    slots, places = _picked(operator.slots, positions), _picked(operator.positions, positions)
    return _arranged(node.inputs, slots, places, Facts(_picked(node.schema, positions), node.length, node.facts.domain))


def columns_alongside(node: PlannerNode, *added: PlannerNode) -> PlannerNode:
    """The columns of a node, then those of further nodes with as many rows.

    Raises
    ------
    LengthMismatchError
        If two lengths are known and differ.
    """
    if not added:
        return node
    inputs, slots, places = _parts_of(node)
    length, domain, count = node.facts.length, node.facts.domain, len(inputs)
    more: list[tuple[PlannerNode, tuple[PlannerNode, ...], Sequence[int], tuple[int, ...]]] = []
    for other in added:
        parts, of_slots, of_places = _parts_of(other)
        length = _length_of_both(length, other.length)
        domain = domain if other.facts.domain is domain else RowDomain()
        more.append((other, parts, [count + slot for slot in of_slots], of_places))
        count += len(parts)
    # All at once: adding many columns one by one would copy the tuples for each.
    schema = node.schema + tuple(chain.from_iterable(other.schema for other, _, _, _ in more))
    inputs += tuple(chain.from_iterable(parts for _, parts, _, _ in more))
    slots += tuple(chain.from_iterable(of_slots for _, _, of_slots, _ in more))
    places += tuple(chain.from_iterable(of_places for _, _, _, of_places in more))
    return _arranged(inputs, slots, places, Facts(schema, length, domain))


def replace_column(node: PlannerNode, position: int, column: PlannerNode) -> PlannerNode:
    """The node with one of its columns replaced by the only column of another node with as many rows.

    Raises
    ------
    LengthMismatchError
        If two lengths are known and differ.
    """
    inputs, slots, places = _parts_of(node)
    (source, *_), _, (place,) = _parts_of(column)
    length, domain, schema = _length_of_both(node.length, column.length), node.facts.domain, node.schema
    if column.facts.domain is not domain:
        domain = RowDomain()
    if schema[position] != column.schema[0]:
        schema = with_item(schema, position, column.schema[0])
    slot = slots[position]
    if inputs[slot].facts.width == 1 and slots.count(slot) == 1:
        # No other column comes from the replaced input.
        inputs = with_item(inputs, slot, source)
    else:
        slots = with_item(slots, position, len(inputs))
        inputs += (source,)
    if places[position] != place:
        places = with_item(places, position, place)
    return _arranged(inputs, slots, places, Facts(schema, length, domain))


def with_item(items: tuple[Item, ...], place: int, item: Item) -> tuple[Item, ...]:
    """The tuple with one item replaced, by slicing: no Python step for each item.

    Examples
    --------
    >>> with_item((1, 2, 3), 1, 5)
    (1, 5, 3)
    """
    return items[:place] + (item,) + items[place + 1 :]  # noqa: RUF005 - a list would be made first


def _parts_of(node: PlannerNode) -> tuple[tuple[PlannerNode, ...], tuple[int, ...], tuple[int, ...]]:
    """A node as an arrangement: inputs, slots and positions."""
    operator = node.operator
    if isinstance(operator, Arrange):
        return node.inputs, operator.slots, operator.positions
    width = node.facts.width
    if isinstance(operator, Project):
        return node.inputs, (0,) * width, operator.positions
    return (node,), (0,) * width, all_columns(width)


def _picked(items: tuple[Item, ...], positions: Sequence[int]) -> tuple[Item, ...]:
    """The items at some positions."""
    picked: tuple[Item, ...] = itemgetter(*positions)(items) if len(positions) > 1 else tuple(items[position] for position in positions)
    return picked


def _arranged(inputs: tuple[PlannerNode, ...], slots: tuple[int, ...], places: tuple[int, ...], facts: Facts) -> PlannerNode:
    if len(inputs) > MAX_INPUTS_FOR_A_COLUMN * len(slots) + FEW_INPUTS:
        used = {slot: number for number, slot in enumerate(dict.fromkeys(slots))}
        # Without columns there still are rows, those of the first input.
        inputs, slots = tuple(inputs[slot] for slot in used) or inputs[:1], tuple(map(used.__getitem__, slots))
    return PlannerNode(Arrange(slots, places), inputs, facts)


def _length_of_both(first: Length, second: Length) -> Length:
    """The more informative of two lengths, which are equal."""
    if first.provably_equals(second) is False:
        raise lengths_differ(first, second)
    return second if first.rows is None and second.rows is not None else first
