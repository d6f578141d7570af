"""The law that fuses each region of adjacent row-wise operators into one program over the inputs of the region."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, pairwise

import attrs

from sframe_spark.expressions.scalar_function_program import Operand, Program, Register, Step
from sframe_spark.operators.elementwise import GeneralizedTransform, RowWise, calls_python
from sframe_spark.operators.project_zip_arrange import Project, Zip, project, zip_columns
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@attrs.frozen(eq=False)
class RegionProgram:
    """A program in the graph that becomes part of a region.

    Parameters
    ----------
    program
        The computation of the program.
    reads
        For each input register that the program reads, the global number of the column.
    """

    program: Program
    reads: Mapping[int, int]


@attrs.define
class NumberedColumns:
    """Column lineage across row-wise nodes: columns of leaves and programs have global numbers, and other nodes only rearrange columns.

    Parameters
    ----------
    nodes
        Leaves and programs, inputs before consumers. (A leaf is a node whose columns a region reads.)
    starts
        Global number of the first column of each node in ``nodes``, followed by the number of all columns.
    parts
        The programs, by their index in ``nodes``.
    column_numbers
        Global numbers of the columns of any node, by its ``id``.
    """

    nodes: list[PlannerNode] = attrs.Factory(list)
    starts: list[int] = attrs.Factory(lambda: [0])
    parts: dict[int, RegionProgram] = attrs.Factory(dict)
    column_numbers: dict[int, Sequence[int]] = attrs.Factory(dict)

    def add(self, node: PlannerNode) -> None:
        """Give numbers to the columns of a node whose inputs have numbers already."""
        if node.operator.arranges_columns:
            self.column_numbers[id(node)] = self._arranged(node)
            return
        if node.operator.is_program:
            self.parts[len(self.nodes)] = self._part(node)
        self.nodes.append(node)
        self.starts.append(self.starts[-1] + node.facts.width)
        self.column_numbers[id(node)] = range(self.starts[-2], self.starts[-1])

    def _arranged(self, node: PlannerNode) -> Sequence[int]:
        operator = node.operator
        column_numbers = [self.column_numbers[id(child)] for child in node.inputs]
        if isinstance(operator, Project):
            return [*map(column_numbers[0].__getitem__, operator.positions)]
        if isinstance(operator, Zip):
            return [*chain.from_iterable(column_numbers)]
        origins = operator.column_origins([child.facts for child in node.inputs])
        return [column_numbers[slot][position] for ((slot, position), *_) in origins]

    def _part(self, node: PlannerNode) -> RegionProgram:
        assert isinstance(node.operator, RowWise)
        program = node.operator.program(sum(child.facts.width for child in node.inputs))
        operands = (*(operand for step in program.steps for operand in step.operands), *program.outputs)
        read = dict.fromkeys(operand.index for operand in operands if isinstance(operand, Register) and operand.index < program.width)
        column_numbers = [self.column_numbers[id(child)] for child in node.inputs]
        starts = [*accumulate(map(len, column_numbers[:-1]), initial=0)]
        slots = ((bisect_right(starts, register) - 1, register) for register in read)
        return RegionProgram(program, {register: column_numbers[slot][register - starts[slot]] for slot, register in slots})

    def owner(self, column: int) -> int:
        """Return the index in ``nodes`` of the leaf or program that a column belongs to."""
        return bisect_right(self.starts, column) - 1


def in_region(node: PlannerNode) -> bool:
    """Return whether a node can be part of a row-wise region."""
    return node.operator.arranges_columns or node.operator.is_program


def programs(nodes: Sequence[PlannerNode]) -> tuple[set[int], set[int]]:
    """Return the ``id`` of each node that becomes a program, and of each of these nodes that other programs read as a leaf.

    A node becomes a program if a node that is not row-wise reads it. A node that several programs read and that calls a user function becomes a
    program too, so that the function is called once.

    Parameters
    ----------
    nodes
        All nodes of a graph, inputs before consumers.
    """
    tops, boundaries = {id(nodes[-1])}, set()
    # The programs to which each node would belong. Two are recorded at most, which is enough to know that there are several.
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
    """Rewrites a graph so that each row-wise region becomes one program.

    Parameters
    ----------
    boundaries
        ``id`` of row-wise nodes that other regions read as leaves, instead of computing them again.
    values
        The rewritten form of each node, by the ``id`` of the node.
    columns
        The numbers of columns, shared by all regions so that a long chain of wide nodes takes linear time.
    """

    boundaries: set[int]
    values: dict[int, PlannerNode] = attrs.Factory(dict)
    columns: NumberedColumns = attrs.Factory(NumberedColumns)

    def is_leaf(self, node: PlannerNode) -> bool:
        """Return whether a node below the top of a region is a leaf of the region."""
        return not in_region(node) or id(node) in self.boundaries

    def is_canonical(self, node: PlannerNode) -> bool:
        """Return whether a region is already in its final form: a single operator over a leaf, or over a zip of leaves."""
        if isinstance(node.operator, Zip):
            return all(self.is_leaf(child) for child in node.inputs) and len({id(child) for child in node.inputs}) == len(node.inputs)
        child = node.inputs[0]
        if not isinstance(node.operator, (Project, GeneralizedTransform)):
            return False
        return self.is_leaf(child) or (isinstance(child.operator, Zip) and self.is_canonical(child))

    def rebuilt(self, node: PlannerNode) -> PlannerNode:
        """Return a node that is in final form, over the rewritten forms of its inputs, or of the inputs of a zip below it."""
        for child in node.inputs:
            if id(child) not in self.values:
                self.values[id(child)] = child.with_inputs([self.values[id(leaf)] for leaf in child.inputs])
        return node.with_inputs([self.values[id(child)] for child in node.inputs])

    def region(self, top: PlannerNode) -> list[PlannerNode]:
        """Return the nodes of the region below ``top`` and its leaves, inputs before consumers."""
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
        """Return the indices of the leaves and of the programs from which the columns of ``top`` are computed, in the order of :meth:`region`."""
        columns = self.columns
        reached: set[int] = set()
        pending = [*{columns.owner(column) for column in columns.column_numbers[id(top)]}]
        while pending:
            index = pending.pop()
            if index in reached:
                continue
            reached.add(index)
            if not self.ends_at(index, top):
                pending.extend({columns.owner(column) for column in columns.parts[index].reads.values()} - reached)
        leaves = sorted(index for index in reached if self.ends_at(index, top))
        programs = sorted(reached.difference(leaves))
        if len(leaves) > 1 or not self.is_chain(programs):
            order = {id(node): number for number, node in enumerate(self.region(top))}
            leaves.sort(key=lambda index: order[id(columns.nodes[index])])
            programs.sort(key=lambda index: order[id(columns.nodes[index])])
        return leaves, programs

    def ends_at(self, index: int, top: PlannerNode) -> bool:
        """Return whether a node in ``columns.nodes`` is a leaf of the region below ``top``."""
        node = self.columns.nodes[index]
        return node is not top and self.is_leaf(node)

    def is_chain(self, programs: Sequence[int]) -> bool:
        """Return whether each program reads the program before it, so that only one order is possible."""
        owner, parts = self.columns.owner, self.columns.parts
        return all(any(owner(column) == before for column in parts[after].reads.values()) for before, after in pairwise(programs))

    def fused(self, top: PlannerNode) -> PlannerNode:
        """Return one program (or projection) with the columns of ``top`` over the leaves that it needs."""
        leaves, programs = self.read_by(top)
        columns = self.columns
        # The register of each step of the region, and the outputs of each program in it.
        known: dict[Step, Register] = {}
        outputs: dict[int, Sequence[Operand]] = {}
        first = dict(zip(leaves, accumulate((columns.nodes[leaf].facts.width for leaf in leaves), initial=0), strict=False))

        def operand(column: int) -> Operand:
            owner = columns.owner(column)
            position = column - columns.starts[owner]
            return Register(first[owner] + position) if owner in first else outputs[owner][position]

        for number in programs:
            part = columns.parts[number]
            registers = {register: operand(column) for register, column in part.reads.items()}
            for register, step in enumerate(part.program.steps, start=part.program.width):
                operands = tuple(registers[o.index] if isinstance(o, Register) else o for o in step.operands)
                # Equal steps share a register. Registers of steps are negative until the number of input columns is known.
                registers[register] = known.setdefault(attrs.evolve(step, operands=operands), Register(-1 - len(known)))
            outputs[number] = [registers[o.index] if isinstance(o, Register) else o for o in part.program.outputs]
        # A region that reads no column takes its number of rows from its first leaf.
        first_leaf = top.inputs[0]
        while not self.is_leaf(first_leaf):
            first_leaf = first_leaf.inputs[0]
        nodes = [columns.nodes[leaf] for leaf in leaves] or [first_leaf]
        rows = zip_columns(*(self.values[id(node)] for node in nodes))
        width = rows.facts.width

        def numbered(operand: Operand) -> Operand:
            return Register(width - 1 - operand.index) if isinstance(operand, Register) and operand.index < 0 else operand

        steps = tuple(attrs.evolve(step, operands=tuple(map(numbered, step.operands))) for step in known)
        shown = tuple(numbered(operand(column)) for column in columns.column_numbers[id(top)])
        return computed(Program(width, steps, shown).without_dead_steps(), rows)


def computed(program: Program, rows: PlannerNode) -> PlannerNode:
    """Return a node with the outputs of a program over ``rows``: a projection, or ``rows`` itself, if nothing is computed."""
    if not program.steps and all(isinstance(operand, Register) for operand in program.outputs):
        return project(rows, [operand.index for operand in program.outputs if isinstance(operand, Register)])
    return GeneralizedTransform(program).make_planner_node(rows)


@law("rowwise(rowwise(x), rowwise(x)) = generalized_transform(x)", stage="fuse", whole_graph=True)
def fuse_rowwise(root: PlannerNode) -> PlannerNode | None:
    """A region of row-wise operators becomes one select: projections and zips are merged, and expressions are combined.

    A user function is called once per row: a program that calls a user function and is read by several programs stays separate.
    """
    nodes = list(postorder([root]))
    if not any(map(in_region, nodes)):
        return None
    tops, boundaries = programs(nodes)
    fusion = Fusion(boundaries)
    # Most graphs reach this law again when they are already fused, which is checked before columns are numbered.
    if all(fusion.is_canonical(node) for node in nodes if id(node) in tops and in_region(node)):
        return None
    readers = Counter(id(child) for node in nodes for child in node.inputs)
    for node in nodes:
        fusion.columns.add(node)
        if not in_region(node):
            fusion.values[id(node)] = node.with_inputs([fusion.values[id(child)] for child in node.inputs])
        elif id(node) in tops:
            fusion.values[id(node)] = fusion.rebuilt(node) if fusion.is_canonical(node) else fusion.fused(node)
        # Numbers of columns are dropped after the last reader, because a chain of wide nodes would otherwise take quadratic memory.
        readers.subtract(map(id, node.inputs))
        for child in node.inputs:
            if not readers[id(child)]:
                fusion.columns.column_numbers.pop(id(child), None)
    return fusion.values[id(root)]
