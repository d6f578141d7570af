"""Laws that drop columns nobody reads, as close to the sources as possible."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.operators.project import Zip, all_columns, places_of, project, shows_all, zip_columns
from sframe_spark.operators.sources.source import Source
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode

ColumnPlaces = tuple[int, ...]


@attrs.define
class Narrowing:
    """A graph whose nodes lose the columns that nobody reads: what all readers of a node read of it, it has.

    A node that several read stays one node, with the columns of all of them: its rows are sorted, joined or grouped once.

    Parameters
    ----------
    nodes
        All nodes, inputs before consumers.
    """

    nodes: Sequence[PlannerNode]
    wanted: dict[int, ColumnPlaces] = attrs.Factory(dict)
    reads: dict[int, list[ColumnPlaces]] = attrs.Factory(dict)
    values: dict[int, tuple[PlannerNode, ColumnPlaces]] = attrs.Factory(dict)
    picked: dict[tuple[int, ColumnPlaces], PlannerNode] = attrs.Factory(dict)
    places: dict[int, dict[int, int]] = attrs.Factory(dict)

    def run(self) -> PlannerNode:
        """The root over narrowed inputs; it keeps all its columns."""
        self.find_columns_read()
        for node in self.nodes:
            if id(node) in self.wanted:
                self.values[id(node)] = self.narrowed(node)
        return self.values[id(self.nodes[-1])][0]

    def find_columns_read(self) -> None:
        """What is read of each node, and of its inputs for that, consumers before inputs; nodes that nobody reads read nothing."""
        root = self.nodes[-1]
        read: dict[int, set[int]] = {id(root): set(range(root.facts.width))}
        for node in reversed(self.nodes):
            outputs = tuple(sorted(read.get(id(node), ())))
            if not outputs and node.facts.width:
                continue
            columns = node.operator.input_columns(outputs, [child.facts for child in node.inputs])
            self.wanted[id(node)] = outputs
            # An operator that only counts rows asks for the first column, which a frame without columns does not have.
            widths = [child.facts.width for child in node.inputs]
            self.reads[id(node)] = [
                tuple(sorted({position for position in positions if 0 <= position < width})) for positions, width in zip(columns, widths, strict=True)
            ]
            if node.inputs and not any(self.reads[id(node)]):
                # A node without columns still has rows: those of its first input.
                self.reads[id(node)][0] = tuple(range(min(widths[0], 1)))
            for child, positions in zip(node.inputs, self.reads[id(node)], strict=True):
                read.setdefault(id(child), set()).update(positions)

    def narrowed(self, node: PlannerNode) -> tuple[PlannerNode, ColumnPlaces]:
        """The node over narrowed inputs, and which of its columns it still has."""
        everything = all_columns(node.facts.width)
        below = [self.input_of(node, child, columns) for child, columns in zip(node.inputs, self.reads[id(node)], strict=True)]
        inputs, kept = [child for child, _ in below], [columns for _, columns in below]
        # They are ascending and differ.
        whole = all(len(columns) == child.facts.width for columns, child in zip(kept, node.inputs, strict=True))
        if not node.inputs or (whole and self.wanted[id(node)] == everything):
            return node.with_inputs(inputs), everything
        changed = node.operator.over_columns(self.wanted[id(node)], kept, [child.facts for child in node.inputs])
        if changed is None:
            return node.with_inputs(inputs), everything
        operator, columns = changed
        left = [child for child, positions, old in zip(inputs, kept, node.inputs, strict=True) if positions or not old.facts.width]
        if isinstance(operator, Zip):
            return (node.with_inputs(left) if len(left) == len(inputs) else zip_columns(*left)), tuple(columns)
        same = operator == node.operator and len(left) == len(inputs)
        return (node.with_inputs(left) if same else operator.make_planner_node(*left)), tuple(columns)

    def input_of(self, node: PlannerNode, child: PlannerNode, columns: ColumnPlaces) -> tuple[PlannerNode, ColumnPlaces]:
        """An input, and which columns of the old one it has: those read, or all there are where more cost nothing."""
        if not columns and child.facts.width:
            return child, columns
        below, there = self.values[id(child)]
        if columns == there:
            return below, columns
        found = self.picked.get((id(child), columns))
        if found is None:
            places = self.places_in(child, columns)
            source = below.operator.with_columns(places) if isinstance(below.operator, Source) else None
            if source is None and node.operator.takes_wider:
                return below, there
            found = project(below, places) if source is None else source.make_planner_node()
            self.picked[id(child), columns] = found
        return found, columns

    def places_in(self, child: PlannerNode, columns: ColumnPlaces) -> list[int]:
        """The places of columns of an input among those that it still has; wide inputs are read by many, so these are found once."""
        there = self.values[id(child)][1]
        if len(there) == child.facts.width:
            return [*columns]
        if id(child) not in self.places:
            self.places[id(child)] = places_of(there)
        return [self.places[id(child)][column] for column in columns]


@law("f(x) = f(columns of x that are read)", stage="narrow", whole_graph=True)
def drop_unread_columns(root: PlannerNode) -> PlannerNode | None:
    """Columns that nobody reads are not computed, sorted, joined, grouped or read from a source."""
    return Narrowing(list(postorder([root]))).run() if root.inputs else None


@law("project(source, c) = source of c", stage="pushdown", on="project")
def project_into_source(node: PlannerNode) -> PlannerNode | None:
    """A source reads only the columns asked for."""
    source = node.inputs[0].operator
    narrowed = source.with_columns(node.operator_parameters["positions"]) if isinstance(source, Source) else None
    return None if narrowed is None else narrowed.make_planner_node()


@law("project(project(x, a), b) = project(x, b of a)", stage="pushdown", on="project")
def merged_projections(node: PlannerNode) -> PlannerNode | None:
    """Picking from picked columns is one pick; picking all is none."""
    child = node.inputs[0]
    positions = node.operator_parameters["positions"]
    if shows_all(positions, child.facts.width):
        return child
    if child.operator_type != "project":
        return None
    return project(child.inputs[0], [child.operator_parameters["positions"][position] for position in positions])
