"""Users' functions of a plan, whose results are measured while a batch is computed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import attrs

from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.row_sizes import fixed_size
from sframe_spark.udf.results import MadeResults

# Batches vary about what they should take: only much longer ones are given up.
BATCHES_TO_CUT = 2


@attrs.define(eq=False)
class MeasuredCalls:
    """The functions of a plan's places.

    Parameters
    ----------
    operators
        The plan's operators; those that call functions measure what they give.
    by_place
        What functions give, by the place of their operator.
    unnumbered
        Places whose functions do not know the numbers of their rows.
    reached
        The base row that such a place was read up to by the batches before.
    """

    operators: tuple[Operator, ...]
    by_place: dict[int, list[MadeResults]]
    unnumbered: frozenset[int]
    reached: dict[int, int] = attrs.Factory(dict)
    _next: dict[int, int] = attrs.Factory(dict)
    _may_cut: bool = False

    @classmethod
    def of(cls, operators: Sequence[Operator], widths: Sequence[int], batch_bytes: int) -> MeasuredCalls:
        """Operators over so many columns each; they stay as they are where no function gives values that differ in length."""
        by_place: dict[int, list[MadeResults]] = {}
        unnumbered: set[int] = set()
        measured: list[Operator] = []
        for place, (operator, width) in enumerate(zip(operators, widths, strict=True)):
            made: list[MadeResults] = []

            def change(function: PythonFunction, made: list[MadeResults] = made, place: int = place) -> PythonFunction:
                made.append(MadeResults(BATCHES_TO_CUT * batch_bytes))
                if not function.numbered:
                    unnumbered.add(place)
                return attrs.evolve(function, made=made[-1])

            measured.append(operator.with_user_functions(width, change))
            if made:
                by_place[place] = made
        if not any(differ_in_length(operators[place], widths[place]) for place in by_place):
            return cls(tuple(operators), {}, frozenset())
        every = list(chain.from_iterable(by_place.values()))
        for each in every:
            each.alone = len(every) == 1
        return cls(tuple(measured), by_place, frozenset(unnumbered))

    def begin(self, may_cut: bool) -> None:
        """A batch begins, or is tried again."""
        self._may_cut = may_cut

    def expect(self, places: Sequence[int], wanted: Sequence[Sequence[tuple[int, int]]], above: bool) -> None:
        """Some places are about to be computed for base rows, or ``above`` what makes many rows of one for the next of these.

        A batch may be cut where no function would be called again: each knows the numbers of its rows, or is read once, from row to row.
        """
        called = [place for place in places if place in self.by_place]
        in_turn = all(self._is_in_turn(wanted[place], above, place) for place in called if place in self.unnumbered)
        for place in called:
            self._next[place] = wanted[place][-1][1]
            for made in self.by_place[place]:
                made.begin(self._may_cut and in_turn, in_turn)

    def _is_in_turn(self, intervals: Sequence[tuple[int, int]], above: bool, place: int) -> bool:
        return len(intervals) == 1 and (above or intervals[0][0] == self.reached.get(place, intervals[0][0]))

    def release(self) -> None:
        """The batch is complete."""
        self.reached.update(self._next)
        for made in chain.from_iterable(self.by_place.values()):
            made.release()


def differ_in_length(operator: Operator, width: int) -> bool:
    """True when results of a function that an operator calls may take any number of bytes."""
    return any(fixed_size(kind) is None for kind in operator.types_made(width))
