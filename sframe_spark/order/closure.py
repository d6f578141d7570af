"""The tie closure: what is known of two rows, kept up to date while more of their columns are found to tie.

Source: ``docs/order.md`` section 2 (two-row lemma, tie closure). Outcomes are only ever removed, so every entry of an
ordering is passed once and every dependency fires once: linear in the size of the properties. ``steps`` counts that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sframe_spark.order.facts import Column
from sframe_spark.order.implication import DependencyFact, OrderingFact, PairProblem, RelationFact, RestrictionFact
from sframe_spark.order.monotone import revise
from sframe_spark.order.outcomes import ALL, TIES, negate


class PairState:
    """Possible outcomes of two rows in every class of columns.

    Parameters
    ----------
    problem
        The compiled properties.
    """

    __slots__ = ("_events", "_pointers", "_waiting", "impossible", "outcomes", "problem", "steps")

    def __init__(self, problem: PairProblem) -> None:
        self.problem = problem
        self.outcomes = [ALL] * problem.size
        self.impossible = False
        self.steps = 0
        self._pointers = [0] * len(problem.facts)
        self._waiting = list(problem.waiting)
        self._events: deque[tuple[int, int, int]] = deque()
        for number, waiting in enumerate(problem.waiting):
            if waiting == 0:
                self._activate(number)
        self._propagate()

    def copy(self) -> PairState:
        """An independent state with the same knowledge; counting goes on from here."""
        other = object.__new__(PairState)
        other.problem, other.impossible, other.steps = self.problem, self.impossible, self.steps
        other.outcomes, other._pointers, other._waiting = self.outcomes[:], self._pointers[:], self._waiting[:]
        other._events = deque()
        return other

    def column_outcomes(self, column: Column) -> int:
        """Possible outcomes in a column; a column that no property speaks of can compare in any way."""
        found = self.problem.class_of(column)
        if found is None:
            return ALL
        outcomes = self.outcomes[found[0]]
        return outcomes if found[1] > 0 else negate(outcomes)

    def column_ties(self, column: Column) -> bool:
        """Whether the two rows are known to be equal in a column."""
        return not self.column_outcomes(column) & ~TIES

    def has_learned_more(self, other: PairState, columns: Iterable[Column]) -> bool:
        """Whether more is known than in another state of the same problem in which some columns are restricted to ties, but nothing follows."""
        if self.impossible or other.impossible:
            return True
        expected = other.outcomes[:]
        for column in columns:
            if (found := self.problem.class_of(column)) is not None:
                expected[found[0]] &= TIES
        return expected != self.outcomes

    def restrict_column(self, column: Column, outcomes: int) -> bool:
        """Learn that only these outcomes of a column are possible; False if that leaves no two rows."""
        found = self.problem.class_of(column)
        if found is None:
            return not self.impossible
        return self.restrict(found[0], outcomes if found[1] > 0 else negate(outcomes))

    def restrict(self, column_class: int, outcomes: int) -> bool:
        """Learn that only these outcomes are possible; False if that leaves no two rows."""
        self._narrow(column_class, outcomes)
        self._propagate()
        return not self.impossible

    def _narrow(self, column_class: int, outcomes: int) -> None:
        before = self.outcomes[column_class]
        after = before & outcomes
        self.steps += 1
        if after == before:
            return
        self.outcomes[column_class] = after
        if after:
            self._events.append((column_class, before, after))
        else:
            self.impossible = True

    def _propagate(self) -> None:
        problem = self.problem
        while self._events and not self.impossible:
            column_class, before, after = self._events.popleft()
            if before & ~TIES and not after & ~TIES:
                self._tied(column_class)
            for number, outcomes in problem.guard_watch[column_class]:
                self.steps += 1
                if before & ~outcomes and not after & ~outcomes:
                    self._count_down(number)
            for number in problem.relation_watch[column_class]:
                if self._waiting[number] == 0:
                    self._revise(number)
        self._events.clear()

    def _tied(self, column_class: int) -> None:
        for number in self.problem.tie_watch[column_class]:
            self._count_down(number)
        for number in self.problem.order_watch[column_class]:
            self._advance(number)

    def _count_down(self, number: int) -> None:
        self.steps += 1
        self._waiting[number] -= 1
        if self._waiting[number] == 0:
            self._activate(number)

    def _activate(self, number: int) -> None:
        match self.problem.facts[number]:
            case OrderingFact():
                self._advance(number)
            case RelationFact():
                self._revise(number)
            case DependencyFact(None):
                self.impossible = True
            case DependencyFact(dependent) if dependent is not None:
                for column_class in dependent:
                    self._narrow(column_class, TIES)
            case RestrictionFact(column_class, outcomes):
                self._narrow(column_class, outcomes)

    def _advance(self, number: int) -> None:
        """Point an ordering at its first entry that is not known to tie, and apply that entry."""
        fact = self.problem.facts[number]
        if self._waiting[number] or not isinstance(fact, OrderingFact):
            return
        position = self._pointers[number]
        while position < len(fact.entries):
            column_class, allowed = fact.entries[position]
            self.steps += 1
            if self.outcomes[column_class] & ~TIES:
                self._narrow(column_class, allowed)
                if self.outcomes[column_class] & ~TIES:
                    break
            position += 1
        self._pointers[number] = position

    def _revise(self, number: int) -> None:
        """Let a monotone function and its arguments narrow each other."""
        fact = self.problem.facts[number]
        if not isinstance(fact, RelationFact):
            return
        self.steps += 1 + len(fact.arguments)
        arguments = [self.outcomes[column_class] for column_class in fact.arguments]
        value, narrowed = revise(self.outcomes[fact.value], arguments, fact.effects, fact.strict)
        self._narrow(fact.value, value)
        for column_class, outcomes in zip(fact.arguments, narrowed, strict=True):
            self._narrow(column_class, outcomes)
