"""Laws that drop unused columns, as close to the sources as possible, and merge projections; and a function that passes one more column through."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.expressions.scalar_function_program import Register
from sframe_spark.operators.elementwise import RowWise, apply_program
from sframe_spark.operators.project_zip_arrange import Project, Zip, all_columns, new_positions, project, shows_all, zip_columns
from sframe_spark.operators.row_selection import FilterRows
from sframe_spark.operators.sources.base_and_segment_source import Source
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode

Positions = tuple[int, ...]


@attrs.define
class Narrowing:
    """Removes columns that no reader of a node needs, in one walk from the root to the sources and one back.

    A node with several readers stays one node with the columns that any reader needs, so that its rows are sorted, joined or grouped once.

    Parameters
    ----------
    nodes
        All nodes of the graph, inputs before consumers.
    """

    nodes: Sequence[PlannerNode]
    # By ``id`` of each node: the columns that its readers require, and the columns of each of its inputs that it needs for these.
    required: dict[int, Positions] = attrs.Factory(dict)
    reads: dict[int, list[Positions]] = attrs.Factory(dict)
    # By ``id`` of each node: the rewritten node, and the columns of the original that the rewritten node has.
    values: dict[int, tuple[PlannerNode, Positions]] = attrs.Factory(dict)
    # Projections of rewritten inputs, which readers share, by ``id`` of the original input and columns; and positions of columns in rewritten inputs.
    projections: dict[tuple[int, Positions], PlannerNode] = attrs.Factory(dict)
    positions: dict[int, dict[int, int]] = attrs.Factory(dict)

    def run(self) -> PlannerNode:
        """Return the rewritten root, which keeps all its columns."""
        self.find_required()
        for node in self.nodes:
            if id(node) in self.required:
                self.values[id(node)] = self.narrowed(node)
        return self.values[id(self.nodes[-1])][0]

    def find_required(self) -> None:
        """Find the columns that are read of each node, and the columns of its inputs that these need; a node without such columns is skipped."""
        root = self.nodes[-1]
        read: dict[int, set[int]] = {id(root): set(range(root.facts.width))}
        for node in reversed(self.nodes):
            outputs = tuple(sorted(read.get(id(node), ())))
            if not outputs and node.facts.width:
                continue
            columns = node.operator.input_columns(outputs, [child.facts for child in node.inputs])
            self.required[id(node)] = outputs
            # An operator that only counts rows asks for the first column, even of a frame without columns.
            widths = [child.facts.width for child in node.inputs]
            self.reads[id(node)] = [
                tuple(sorted({position for position in positions if 0 <= position < width})) for positions, width in zip(columns, widths, strict=True)
            ]
            if node.inputs and not any(self.reads[id(node)]):
                # The number of rows must be preserved: a node that reads no column takes it from its first input.
                self.reads[id(node)][0] = tuple(range(min(widths[0], 1)))
            for child, positions in zip(node.inputs, self.reads[id(node)], strict=True):
                read.setdefault(id(child), set()).update(positions)

    def narrowed(self, node: PlannerNode) -> tuple[PlannerNode, Positions]:
        """Return the rewritten node, and the columns of the original that it still has."""
        everything = all_columns(node.facts.width)
        below = [self.input_of(node, child, columns) for child, columns in zip(node.inputs, self.reads[id(node)], strict=True)]
        inputs, remaining = [child for child, _ in below], [columns for _, columns in below]
        # Positions are distinct and ascending, so comparing numbers of columns is enough.
        whole = all(len(columns) == child.facts.width for columns, child in zip(remaining, node.inputs, strict=True))
        if not node.inputs or (whole and self.required[id(node)] == everything):
            return node.with_inputs(inputs), everything
        changed = node.operator.over_columns(self.required[id(node)], remaining, [child.facts for child in node.inputs])
        if changed is None:
            return node.with_inputs(inputs), everything
        operator, columns = changed
        left = [child for child, positions, old in zip(inputs, remaining, node.inputs, strict=True) if positions or not old.facts.width]
        if isinstance(operator, Zip):
            return (node.with_inputs(left) if len(left) == len(inputs) else zip_columns(*left)), tuple(columns)
        same = operator == node.operator and len(left) == len(inputs)
        return (node.with_inputs(left) if same else operator.make_planner_node(*left)), tuple(columns)

    def input_of(self, node: PlannerNode, child: PlannerNode, columns: Positions) -> tuple[PlannerNode, Positions]:
        """Return a rewritten input, and the columns of the original that it has: the required columns, or more if that costs nothing."""
        if not columns and child.facts.width:
            return child, columns
        below, available = self.values[id(child)]
        if columns == available:
            return below, columns
        narrowed = self.projections.get((id(child), columns))
        if narrowed is None:
            positions = self.positions_in(child, columns)
            source = below.operator.with_columns(positions) if isinstance(below.operator, Source) else None
            if source is None and node.operator.takes_wider:
                return below, available
            narrowed = project(below, positions) if source is None else source.make_planner_node()
            self.projections[id(child), columns] = narrowed
        return narrowed, columns

    def positions_in(self, child: PlannerNode, columns: Positions) -> list[int]:
        """Return the positions of columns in the rewritten input. They are cached, because a wide input may have many readers."""
        available = self.values[id(child)][1]
        if len(available) == child.facts.width:
            return [*columns]
        if id(child) not in self.positions:
            self.positions[id(child)] = new_positions(available)
        return [self.positions[id(child)][column] for column in columns]


@law("f(x) = f(columns of x that are read)", stage="narrow", whole_graph=True)
def drop_unread_columns(root: PlannerNode) -> PlannerNode | None:
    """Columns that nobody reads are not computed, sorted, joined, grouped or read from a source."""
    return Narrowing(list(postorder([root]))).run() if root.inputs else None


@law("project(source, c) = source of c", stage="pushdown", on="project")
def project_into_source(node: PlannerNode) -> PlannerNode | None:
    """A projection of a source becomes a source with fewer columns."""
    source = node.inputs[0].operator
    narrowed = source.with_columns(node.operator_parameters["positions"]) if isinstance(source, Source) else None
    return None if narrowed is None else narrowed.make_planner_node()


@law("project(project(x, a), b) = project(x, b of a)", stage="pushdown", on="project")
def merged_projections(node: PlannerNode) -> PlannerNode | None:
    """Two projections become one, and a projection on all columns in order is dropped."""
    child = node.inputs[0]
    positions = node.operator_parameters["positions"]
    if shows_all(positions, child.facts.width):
        return child
    if child.operator_type != "project":
        return None
    return project(child.inputs[0], [child.operator_parameters["positions"][position] for position in positions])


def passing_first_column(node: PlannerNode, rows: PlannerNode) -> PlannerNode | None:
    """Return the node over ``rows``, the rows of its input with one more column in front, which is also its first output; None if impossible.

    Examples
    --------
    >>> from sframe_spark.plugin import SFrame, frame_of, node_of, slice_rows
    >>> rows = node_of(SFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]}))
    >>> wider = passing_first_column(project(project(rows, [1, 2]), [1]), rows)
    >>> frame_of(wider, ["a", "c"])[0], passing_first_column(slice_rows(project(rows, [1, 2]), 0, 1), rows)
    ({'a': 1, 'c': 5}, None)
    """
    operator = node.operator
    match operator:
        case Project():
            return project(rows, [0, *(position + 1 for position in operator.positions)])
        case FilterRows():
            # The mask stays the last column.
            return operator.make_planner_node(rows)
        case RowWise() if len(node.inputs) == 1:
            width = node.inputs[0].facts.width
            moved = operator.program(width).with_inputs({position: position + 1 for position in range(width)}, width + 1)
            return apply_program(rows, attrs.evolve(moved, outputs=(Register(0), *moved.outputs)))
    return None
