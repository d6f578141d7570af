"""Fusion: a whole row-wise region becomes one program over its leaves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import attrs

from sframe_spark.operators.rowwise.columns import Project, Zip, project, zip_columns
from sframe_spark.operators.rowwise.elementwise import GeneralizedTransform, RowWise, calls_python
from sframe_spark.operators.rowwise.program import Operand, Program, Register, Step, remap
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@attrs.define
class Region:
    """A program under construction over the leaves of a row-wise region."""

    leaves: list[PlannerNode] = attrs.Factory(list)
    columns: dict[int, dict[int, Operand]] = attrs.Factory(dict)
    steps: list[Step] = attrs.Factory(list)
    known: dict[Step, Register] = attrs.Factory(dict)
    kept: list[PlannerNode] = attrs.Factory(list)

    def call(self, step: Step) -> Register:
        """Register of a step; equal steps share one."""
        register = self.known.get(step)
        if register is None:
            # Negative registers stand for steps until the number of input columns is known.
            register = Register(-1 - len(self.steps))
            self.steps.append(step)
            self.known[step] = register
        return register


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
    """

    boundaries: set[int]
    values: dict[int, PlannerNode] = attrs.Factory(dict)

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

    def region(self, top: PlannerNode) -> tuple[list[PlannerNode], list[PlannerNode]]:
        """Leaves of the region below ``top`` and its nodes, inputs before consumers."""
        leaves: dict[int, PlannerNode] = {}
        nodes: list[PlannerNode] = []
        seen: set[int] = set()
        stack = [(top, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                nodes.append(node)
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node is not top and self.is_leaf(node):
                leaves[id(node)] = node
                continue
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.inputs))
        return list(leaves.values()), nodes

    def fused(self, top: PlannerNode) -> PlannerNode:
        """One program (or projection) over the leaves of the region below ``top``."""
        leaves, nodes = self.region(top)
        region = Region([self.values[id(leaf)] for leaf in leaves])
        needed = columns_needed(top, nodes)
        width = 0
        for leaf in leaves:
            region.columns[id(leaf)] = {position: Register(width + position) for position in needed.get(id(leaf), ())}
            width += leaf.facts.width
        for node in nodes:
            region.columns[id(node)] = _outputs(node, region, needed.get(id(node), ()))
        return assemble(region, list(region.columns[id(top)].values()), width)


def columns_needed(top: PlannerNode, nodes: Sequence[PlannerNode]) -> dict[int, Iterable[int]]:
    """Which columns of each node of a region, and of its leaves, those of ``top`` are made of, by the node's ``id``; in order at the top.

    Programs below a chain of wide nodes read few of their columns: looking at all of each would take the cube of the width.
    """
    needed: dict[int, dict[int, None]] = {id(top): dict.fromkeys(range(top.facts.width))}
    for node in reversed(nodes):
        wanted = needed.get(id(node))
        if not wanted:
            continue
        for slot, position in _origins(node, wanted) if node.operator.arranges_columns else _program_reads(node):
            needed.setdefault(id(node.inputs[slot]), {})[position] = None
    return dict(needed)


def _origins(node: PlannerNode, positions: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Where columns of a node that arranges those of its inputs come from."""
    operator = node.operator
    if isinstance(operator, Project):
        return [(0, operator.positions[position]) for position in positions]
    if isinstance(operator, Zip):
        return places_in(node.inputs, positions)
    shown = operator.column_origins([child.facts for child in node.inputs])
    return [shown[position][0] for position in positions]


def places_in(inputs: Sequence[PlannerNode], positions: Iterable[int]) -> list[tuple[int, int]]:
    """Which of several inputs side by side have some columns, and where they are there."""
    starts = [*accumulate((child.facts.width for child in inputs[:-1]), initial=0)]
    slots = ((bisect_right(starts, position) - 1, position) for position in positions)
    return [(slot, position - starts[slot]) for slot, position in slots]


def _program_reads(node: PlannerNode) -> Iterable[tuple[int, int]]:
    """The columns of its inputs that a program reads, or shows as they are."""
    assert isinstance(node.operator, RowWise)
    program = node.operator.program(sum(child.facts.width for child in node.inputs))
    operands = (*(operand for step in program.steps for operand in step.operands), *program.outputs)
    registers = dict.fromkeys(operand.index for operand in operands if isinstance(operand, Register) and operand.index < program.width)
    return places_in(node.inputs, registers)


def _outputs(node: PlannerNode, region: Region, wanted: Iterable[int]) -> dict[int, Operand]:
    """What the wanted columns of a node are."""
    if not wanted:
        return {}
    if node.operator.arranges_columns:
        origins = _origins(node, wanted)
        return {position: region.columns[id(node.inputs[slot])][place] for position, (slot, place) in zip(wanted, origins, strict=True)}
    assert isinstance(node.operator, RowWise)
    program = node.operator.program(sum(child.facts.width for child in node.inputs))
    registers: dict[int, Operand] = {}
    start = 0
    for child in node.inputs:
        registers.update({start + position: operand for position, operand in region.columns[id(child)].items()})
        start += child.facts.width
    for index, step in enumerate(program.steps):
        operands = tuple(registers[o.index] if isinstance(o, Register) else o for o in step.operands)
        registers[program.width + index] = region.call(attrs.evolve(step, operands=operands))
    return {position: registers[o.index] if isinstance(o, Register) else o for position in wanted for o in (program.outputs[position],)}


def assemble(region: Region, outputs: list[Operand], width: int) -> PlannerNode:
    """The node over the region's leaves that yields the outputs."""
    numbers = {index: index for index in range(width)} | {-1 - i: width + i for i in range(len(region.steps))}
    steps = tuple(attrs.evolve(step, operands=tuple(remap(o, numbers) for o in step.operands)) for step in region.steps)
    program = Program(width, steps, tuple(remap(operand, numbers) for operand in outputs)).without_dead_steps()
    return computed(program, zip_columns(*region.leaves))


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
    for node in nodes:
        if not in_region(node):
            fusion.values[id(node)] = node.with_inputs([fusion.values[id(child)] for child in node.inputs])
        elif id(node) in tops:
            fusion.values[id(node)] = fusion.rebuilt(node) if fusion.is_canonical(node) else fusion.fused(node)
    return fusion.values[id(root)]
