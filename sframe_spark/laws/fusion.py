"""Fusion: a whole row-wise region becomes one program over its leaves."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, pairwise

import attrs

from sframe_spark.expressions.program import Operand, Program, Register, Step
from sframe_spark.operators.elementwise import GeneralizedTransform, RowWise, calls_python
from sframe_spark.operators.project import Project, Zip, project, zip_columns
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@attrs.define
class Region:
    """A program under construction over the leaves of a row-wise region."""

    operands: dict[int, Sequence[Operand]] = attrs.Factory(dict)
    steps: list[Step] = attrs.Factory(list)
    known: dict[Step, Register] = attrs.Factory(dict)

    def call(self, step: Step) -> Register:
        """Register of a step; equal steps share one."""
        register = self.known.get(step)
        if register is None:
            # Negative registers stand for steps until the number of input columns is known.
            register = Register(-1 - len(self.steps))
            self.steps.append(step)
            self.known[step] = register
        return register

    def run(self, part: RegionProgram, read: Mapping[int, Operand]) -> None:
        """Take the steps of a program whose input columns are these operands."""
        registers = dict(read)
        for index, step in enumerate(part.program.steps):
            operands = tuple(registers[o.index] if isinstance(o, Register) else o for o in step.operands)
            registers[part.program.width + index] = self.call(attrs.evolve(step, operands=operands))
        self.operands[part.number] = [registers[o.index] if isinstance(o, Register) else o for o in part.program.outputs]


@attrs.frozen(eq=False)
class RegionProgram:
    """A program in a region.

    Parameters
    ----------
    number
        Its number among all leaves and programs.
    program
        The computation.
    reads
        Which column, by its number among those of all leaves and programs, each register is that it reads.
    """

    number: int
    program: Program
    reads: Mapping[int, int]


@attrs.define
class NumberedColumns:
    """Where the columns of row-wise nodes come from: leaves and programs have columns of numbers of their own, others show these.

    Parameters
    ----------
    nodes
        Leaves and programs, inputs before consumers.
    starts
        The number of the first column of each.
    parts
        The programs, by their place among ``nodes``.
    shown
        The numbers of a node's columns, by its ``id``.
    """

    nodes: list[PlannerNode] = attrs.Factory(list)
    starts: list[int] = attrs.Factory(lambda: [0])
    parts: dict[int, RegionProgram] = attrs.Factory(dict)
    shown: dict[int, Sequence[int]] = attrs.Factory(dict)

    def add(self, node: PlannerNode) -> None:
        """Number the columns of a node whose inputs are numbered."""
        if node.operator.arranges_columns:
            self.shown[id(node)] = self._arranged(node)
            return
        if node.operator.is_program:
            number = len(self.nodes)
            self.parts[number] = self._part(node, number)
        self.nodes.append(node)
        self.starts.append(self.starts[-1] + node.facts.width)
        self.shown[id(node)] = range(self.starts[-2], self.starts[-1])

    def _arranged(self, node: PlannerNode) -> Sequence[int]:
        operator = node.operator
        shown = [self.shown[id(child)] for child in node.inputs]
        if isinstance(operator, Project):
            return [*map(shown[0].__getitem__, operator.positions)]
        if isinstance(operator, Zip):
            return [*chain.from_iterable(shown)]
        origins = operator.column_origins([child.facts for child in node.inputs])
        return [shown[slot][position] for ((slot, position), *_) in origins]

    def _part(self, node: PlannerNode, number: int) -> RegionProgram:
        assert isinstance(node.operator, RowWise)
        program = node.operator.program(sum(child.facts.width for child in node.inputs))
        operands = (*(operand for step in program.steps for operand in step.operands), *program.outputs)
        read = dict.fromkeys(operand.index for operand in operands if isinstance(operand, Register) and operand.index < program.width)
        shown = [self.shown[id(child)] for child in node.inputs]
        starts = [*accumulate(map(len, shown[:-1]), initial=0)]
        slots = ((bisect_right(starts, register) - 1, register) for register in read)
        return RegionProgram(number, program, {register: shown[slot][register - starts[slot]] for slot, register in slots})

    def owner(self, column: int) -> int:
        """The place of the leaf or program that has the column of a number."""
        return bisect_right(self.starts, column) - 1


def in_region(node: PlannerNode) -> bool:
    """True for operators that compute row by row."""
    return node.operator.arranges_columns or node.operator.is_program


def programs(nodes: Sequence[PlannerNode]) -> tuple[set[int], set[int]]:
    """``id`` of the nodes that become programs, and of those among them whose rows other programs read instead of computing them again.

    Programs are what something else than a row-wise node reads, and what calls a user's function for several of them: it is called once.

    Parameters
    ----------
    nodes
        All nodes of a graph, inputs before consumers.
    """
    tops, boundaries = {id(nodes[-1])}, set()
    # At most two of the programs that a node would be part of.
    owners: dict[int, tuple[int, ...]] = {}
    for node in reversed(nodes):
        if not in_region(node):
            tops.update(id(child) for child in node.inputs)
            continue
        mine = owners.get(id(node), ()) + ((id(node),) if id(node) in tops else ())
        if len(mine) > 1 and calls_python(node):
            boundaries.add(id(node))
            mine = (id(node),)
        for child in node.inputs:
            owners[id(child)] = tuple(dict.fromkeys((*owners.get(id(child), ()), *mine)))[:2]
    return tops | boundaries, boundaries


@attrs.define
class Fusion:
    """A graph whose regions become programs, inputs before consumers.

    Parameters
    ----------
    boundaries
        ``id`` of row-wise nodes that other regions read as if they were not row-wise.
    values
        What each node has become, by its ``id``.
    columns
        Where the columns of nodes come from. They are followed once for all regions: a column of a chain of wide nodes is not looked for at each
        of them.
    """

    boundaries: set[int]
    values: dict[int, PlannerNode] = attrs.Factory(dict)
    columns: NumberedColumns = attrs.Factory(NumberedColumns)

    def is_leaf(self, node: PlannerNode) -> bool:
        """True when a region does not reach beyond a node below its top."""
        return not in_region(node) or id(node) in self.boundaries

    def is_canonical(self, node: PlannerNode) -> bool:
        """True when a region is already one operator over a leaf or over leaves side by side."""
        if isinstance(node.operator, Zip):
            return all(self.is_leaf(child) for child in node.inputs) and len({id(child) for child in node.inputs}) == len(node.inputs)
        child = node.inputs[0]
        if not isinstance(node.operator, (Project, GeneralizedTransform)):
            return False
        return self.is_leaf(child) or (isinstance(child.operator, Zip) and self.is_canonical(child))

    def rebuilt(self, node: PlannerNode) -> PlannerNode:
        """The node over what its inputs have become; a zip below a program goes with it."""
        for child in node.inputs:
            if id(child) not in self.values:
                self.values[id(child)] = child.with_inputs([self.values[id(leaf)] for leaf in child.inputs])
        return node.with_inputs([self.values[id(child)] for child in node.inputs])

    def region(self, top: PlannerNode) -> list[PlannerNode]:
        """Nodes of the region below ``top`` and its leaves, inputs before consumers."""
        nodes: list[PlannerNode] = []
        seen: set[int] = set()
        stack = [(top, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                nodes.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                if node is top or not self.is_leaf(node):
                    stack.extend((child, False) for child in reversed(node.inputs))
        return nodes

    def read_by(self, top: PlannerNode) -> tuple[list[int], list[int]]:
        """Places of the leaves and programs that columns of ``top`` are made of, in order of the walk from there."""
        columns = self.columns
        found: set[int] = set()
        waiting = [*{columns.owner(column) for column in columns.shown[id(top)]}]
        while waiting:
            place = waiting.pop()
            if place in found:
                continue
            found.add(place)
            if not self.ends_at(place, top):
                waiting.extend({columns.owner(column) for column in columns.parts[place].reads.values()} - found)
        leaves = sorted(place for place in found if self.ends_at(place, top))
        programs = sorted(found.difference(leaves))
        if len(leaves) > 1 or not self.is_chain(programs):
            order = {id(node): number for number, node in enumerate(self.region(top))}
            leaves.sort(key=lambda place: order[id(columns.nodes[place])])
            programs.sort(key=lambda place: order[id(columns.nodes[place])])
        return leaves, programs

    def ends_at(self, place: int, top: PlannerNode) -> bool:
        """True for a leaf of the region below ``top``."""
        node = self.columns.nodes[place]
        return node is not top and self.is_leaf(node)

    def is_chain(self, programs: Sequence[int]) -> bool:
        """True where each program reads the one before, so that there is one order only."""
        owner, parts = self.columns.owner, self.columns.parts
        return all(any(owner(column) == before for column in parts[after].reads.values()) for before, after in pairwise(programs))

    def fused(self, top: PlannerNode) -> PlannerNode:
        """One program (or projection) over the leaves of the region below ``top`` that its columns are made of."""
        places, programs = self.read_by(top)
        columns, region = self.columns, Region()
        first = dict(zip(places, accumulate((columns.nodes[place].facts.width for place in places), initial=0), strict=False))

        def operand(column: int) -> Operand:
            place = columns.owner(column)
            position = column - columns.starts[place]
            return Register(first[place] + position) if place in first else region.operands[place][position]

        for place in programs:
            part = columns.parts[place]
            region.run(part, {register: operand(column) for register, column in part.reads.items()})
        leaves = [columns.nodes[place] for place in places] or [self.first_leaf(top)]
        rows = zip_columns(*(self.values[id(leaf)] for leaf in leaves))
        return computed(assembled(region, [*map(operand, columns.shown[id(top)])], rows.facts.width), rows)

    def first_leaf(self, top: PlannerNode) -> PlannerNode:
        """The leaf whose rows are those of a region that reads no column."""
        node = top.inputs[0]
        while not self.is_leaf(node):
            node = node.inputs[0]
        return node


def assembled(region: Region, outputs: list[Operand], width: int) -> Program:
    """The program over the columns of a region's leaves that yields the outputs."""

    def numbered(operand: Operand) -> Operand:
        return Register(width - 1 - operand.index) if isinstance(operand, Register) and operand.index < 0 else operand

    steps = tuple(attrs.evolve(step, operands=tuple(map(numbered, step.operands))) for step in region.steps)
    return Program(width, steps, tuple(map(numbered, outputs))).without_dead_steps()


def computed(program: Program, rows: PlannerNode) -> PlannerNode:
    """The node that yields a program's outputs: columns of ``rows`` (or ``rows`` itself) where nothing is computed."""
    if not program.steps and all(isinstance(operand, Register) for operand in program.outputs):
        return project(rows, [operand.index for operand in program.outputs if isinstance(operand, Register)])
    return GeneralizedTransform(program).make_planner_node(rows)


@law("rowwise(rowwise(x), rowwise(x)) = generalized_transform(x)", stage="fuse", whole_graph=True)
def fuse_rowwise(root: PlannerNode) -> PlannerNode | None:
    """Adjacent row-wise operators over the same rows are one select: merged projections, zips of one source, stacked expressions.

    A user's function is called once for each row: a program with one that several others read stays one of its own.
    """
    nodes = list(postorder([root]))
    if not any(map(in_region, nodes)):
        return None
    tops, boundaries = programs(nodes)
    fusion = Fusion(boundaries)
    # Most graphs come here again after they were fused: their columns are not numbered to find that.
    if all(fusion.is_canonical(node) for node in nodes if id(node) in tops and in_region(node)):
        return None
    readers = Counter(id(child) for node in nodes for child in node.inputs)
    for node in nodes:
        fusion.columns.add(node)
        if not in_region(node):
            fusion.values[id(node)] = node.with_inputs([fusion.values[id(child)] for child in node.inputs])
        elif id(node) in tops:
            fusion.values[id(node)] = fusion.rebuilt(node) if fusion.is_canonical(node) else fusion.fused(node)
        # Of a chain of wide nodes only the last ones are known by column at a time.
        readers.subtract(map(id, node.inputs))
        for child in node.inputs:
            if not readers[id(child)]:
                fusion.columns.shown.pop(id(child), None)
    return fusion.values[id(root)]
