"""A plan as lists, for those who run it piece by piece, on the driver or in a worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from sframe_spark.engine.batches import BatchSize, bytes_of_batch
from sframe_spark.engine.task_pickling import Shared
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, FunctionTable
from sframe_spark.operators.sources.source import SegmentSource, Source
from sframe_spark.planner.facts import Facts
from sframe_spark.planner.graph import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator, SequentialOperator
from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
from sframe_spark.process.memory import batch_bytes

# Objects of Python take so many times the bytes of the values that they are made of, about: functions see shorter batches.
BYTES_OF_OBJECTS = 8


@attrs.frozen(eq=False)
class FlatPlan(Shared):
    """A plan as lists in postorder, so that it pickles and runs without recursion.

    Parameters
    ----------
    operators
        Operators, inputs before consumers; the last is the root.
    inputs
        Places of each operator's inputs.
    facts
        Facts of each place.
    sizes
        About how many bytes the columns of each place take in a row.
    batch_bytes
        Bytes of rows that kernels should see at a time.
    tables
        Functions that operators know by name: with the plan those that plug-ins have added reach a worker.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[tuple[int, ...], ...]
    facts: tuple[Facts, ...]
    sizes: tuple[Sizes, ...]
    batch_bytes: int
    tables: tuple[FunctionTable[Any], ...] = (FUNCTIONS, AGGREGATES)

    @classmethod
    def of(cls, root: PlannerNode) -> FlatPlan:
        """The plan below a node."""
        nodes = list(postorder([root]))
        places = {id(node): place for place, node in enumerate(nodes)}
        inputs = tuple(tuple(places[id(child)] for child in node.inputs) for node in nodes)
        sizes = sizes_of(root)
        operators, facts = tuple(node.operator for node in nodes), tuple(node.facts for node in nodes)
        return cls(operators, inputs, facts, tuple(sizes[id(node)] for node in nodes), batch_bytes())

    def places_below(self, place: int) -> list[int]:
        """Places of the operator at a place and of all that it reads, inputs first."""
        keep = {place}
        for index in range(place, -1, -1):
            if index in keep:
                keep.update(self.inputs[index])
        return sorted(keep)

    def below(self, place: int) -> FlatPlan:
        """The plan whose root is the operator at a place."""
        order = self.places_below(place)
        moved = {old: new for new, old in enumerate(order)}
        inputs = tuple(tuple(moved[child] for child in self.inputs[old]) for old in order)
        operators, facts = tuple(self.operators[i] for i in order), tuple(self.facts[i] for i in order)
        return FlatPlan(operators, inputs, facts, tuple(self.sizes[i] for i in order), self.batch_bytes)

    def divided_places(self) -> tuple[int, ...]:
        """Places of stored sources of which a range of rows needs a range of rows: nobody searches in them."""
        searched = {self.inputs[place][slot] for place, slot in self.looked_up()}
        return tuple(place for place, operator in enumerate(self.operators) if isinstance(operator, SegmentSource) and place not in searched)

    def with_sources(self, sources: Mapping[int, Source]) -> FlatPlan:
        """The plan over other sources, by their places."""
        operators = tuple(sources.get(place, operator) for place, operator in enumerate(self.operators))
        return attrs.evolve(self, operators=operators) if sources else self

    def sequential_places(self) -> list[int]:
        """Places of operators with a running state, inputs first."""
        return [place for place, operator in enumerate(self.operators) if isinstance(operator, SequentialOperator)]

    def sequential_levels(self) -> list[list[int]]:
        """These places by how many others stand below each, one above the other: those of one level wait for none of it."""
        depths: list[int] = []
        for place, operator in enumerate(self.operators):
            depths.append(max((depths[child] for child in self.inputs[place]), default=0) + isinstance(operator, SequentialOperator))
        levels: dict[int, list[int]] = {}
        for place in self.sequential_places():
            levels.setdefault(depths[place], []).append(place)
        return [levels[depth] for depth in sorted(levels)]

    def input_facts(self, place: int) -> list[Facts]:
        """Facts of the inputs of a place."""
        return [self.facts[child] for child in self.inputs[place]]

    def is_dense(self, place: int) -> bool:
        """True when rows at a place are known to be counted without gaps: no filter below."""
        waiting, seen = [place], set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            if not self.operators[current].keeps_dense:
                return False
            seen.add(current)
            waiting.extend(self.inputs[current])
        return True

    def looked_up(self) -> frozenset[tuple[int, int]]:
        """Places and slots of inputs in which an operator looks rows up instead of getting runs of them."""
        slots = [(place, slot) for place, children in enumerate(self.inputs) for slot in range(len(children))]
        return frozenset((place, slot) for place, slot in slots if self.operators[place].requires(slot) is Need.LOOKUP)

    def stages(self) -> list[list[int]]:
        """Places by how many operators that make many rows of one lie below them, each stage from such an operator up.

        What reads the rows of such an operator reads nothing from below it, as rows are aligned with it then.
        """
        stage_of: list[int] = []
        for operator, children in zip(self.operators, self.inputs, strict=True):
            below = max((stage_of[child] for child in children), default=0)
            stage_of.append(below + operator.expands)
        stages: list[list[int]] = [[] for _ in range(max(stage_of) + 1)]
        for place, stage in enumerate(stage_of):
            stages[stage].append(place)
        return stages

    def calls_functions(self) -> bool:
        """True where operators call functions of users', for which values become objects of Python."""
        widths = (sum(facts.width for facts in self.input_facts(place)) for place in range(len(self.operators)))
        return any(operator.user_functions(width) for operator, width in zip(self.operators, widths, strict=True))

    def batch_size(self, places: Iterable[int]) -> BatchSize:
        """How many rows of these places make a batch."""
        sizes = [self.sizes[place] for place in places]
        known = not any(None in found for found in sizes)
        most = bytes_of_batch(max(map(len, sizes), default=0), self.batch_bytes)
        if self.calls_functions():
            most //= BYTES_OF_OBJECTS
        return BatchSize(most, max((row_bytes(found, 0) for found in sizes), default=0.0), known)

    def uneven(self) -> frozenset[int]:
        """Places with a column whose values differ in length."""
        return frozenset(place for place, facts in enumerate(self.facts) if any(fixed_size(kind) is None for kind in facts.schema))
