"""Properties compiled to small integers: classes of columns, and facts that wake up when classes change.

Source: ``docs/order.md`` section 2. Classes come from a union-find whose links carry a sign: a strictly decreasing
function of a column is in that column's class with the sign turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from sframe_spark.order.facts import Column, Effect, Monotone, Ordering, SequenceFacts, flip
from sframe_spark.order.outcomes import ALL, GREATER, LESS, NO_NULLS, TIES, negate
from sframe_spark.order.rename import columns_of

Guards = tuple[tuple[Column, int], ...]


class OrderingFact(NamedTuple):
    """Entries as pairs of class and allowed outcomes."""

    entries: tuple[tuple[int, int], ...]


class DependencyFact(NamedTuple):
    """When it fires, its classes tie; without classes no two rows can be as they are (a key)."""

    dependent: tuple[int, ...] | None


class RelationFact(NamedTuple):
    """A monotone function between classes."""

    value: int
    arguments: tuple[int, ...]
    effects: tuple[Effect, ...]
    strict: bool


class RestrictionFact(NamedTuple):
    """Outcomes to which a class is held."""

    column_class: int
    outcomes: int


Fact = OrderingFact | DependencyFact | RelationFact | RestrictionFact
Sign = Literal[1, -1]


class SignedClasses:
    """Union-find of columns in which a link may turn the direction.

    Examples
    --------
    >>> classes = SignedClasses()
    >>> classes.merge("x", "n", -1)
    >>> classes.find("n") == (classes.find("x")[0], -classes.find("x")[1])
    True
    """

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self.index: dict[Column, int] = {}
        self.contradictory: set[int] = set()
        self._parent: list[int] = []
        self._sign: list[int] = []

    def add(self, column: Column) -> int:
        """Number of a column, a new one if it is not known."""
        number = self.index.get(column)
        if number is None:
            number = self.index[column] = len(self.columns)
            self.columns.append(column)
            self._parent.append(number)
            self._sign.append(1)
        return number

    def find(self, column: Column) -> tuple[int, int]:
        """Class of a column (its first member's number) and the column's sign in it."""
        number = self.add(column)
        path = []
        while self._parent[number] != number:
            path.append(number)
            number = self._parent[number]
        sign = 1
        for step in reversed(path):
            sign *= self._sign[step]
            self._parent[step], self._sign[step] = number, sign
        return number, sign

    def merge(self, first: Column, second: Column, sign: int) -> None:
        """Put two columns into one class; the earlier member stays the representative."""
        (left, left_sign), (right, right_sign) = self.find(first), self.find(second)
        if left == right:
            if left_sign * right_sign != sign:
                self.contradictory.add(left)
            return
        kept, lost = min(left, right), max(left, right)
        self._parent[lost], self._sign[lost] = kept, left_sign * right_sign * sign
        if lost in self.contradictory:
            self.contradictory.add(kept)


class PairProblem:
    """Properties compiled for :class:`~sframe_spark.order.closure.PairState`.

    Parameters
    ----------
    source
        The properties.
    """

    def __init__(self, source: SequenceFacts) -> None:
        self.classes = signed_classes(source)
        self.facts: list[Fact] = []
        self.waiting: list[int] = []
        self._lists: dict[str, dict[int, list]] = {"guard": {}, "tie": {}, "order": {}, "relation": {}}
        self._compile(source, ())
        for member in sorted(self.classes.contradictory):
            self._add(RestrictionFact(self.classes.find(self.classes.columns[member])[0], ALL & ~(LESS | GREATER)), ())
        self.size = len(self.classes.columns)
        guarded, related = self._lists["guard"], self._lists["relation"]
        self.branch_classes = (*guarded, *(related.keys() - guarded.keys()))
        self.guard_watch = self._by_class("guard")
        self.tie_watch = self._by_class("tie")
        self.order_watch = self._by_class("order")
        self.relation_watch = self._by_class("relation")

    def class_of(self, column: Column) -> tuple[int, int] | None:
        """Class and sign of a column; None if no property speaks of it."""
        return self.classes.find(column) if column in self.classes.index else None

    def _by_class(self, name: str) -> list[list]:
        table = self._lists[name]
        return [table.get(number, []) for number in range(self.size)]

    def _watch(self, name: str, number: int, item: object) -> None:
        self._lists[name].setdefault(number, []).append(item)

    def _class(self, column: Column) -> int:
        return self.classes.find(column)[0]

    def _add(self, fact: Fact, guards: Guards, waiting: int = 0) -> int:
        number = len(self.facts)
        self.facts.append(fact)
        self.waiting.append(waiting + len(guards))
        for column, outcomes in guards:
            column_class, sign = self.classes.find(column)
            self._watch("guard", column_class, (number, outcomes if sign > 0 else negate(outcomes)))
        return number

    def _compile(self, source: SequenceFacts, guards: Guards) -> None:
        for column in source.constants:
            self._add(RestrictionFact(self._class(column), TIES), guards)
        for column in source.not_null:
            self._add(RestrictionFact(self._class(column), NO_NULLS), guards)
        for items in source.orderings:
            self._add_ordering(items, guards)
        for determinant, dependent in source.functional_dependencies:
            self._add_dependency(determinant, tuple(self._class(column) for column in dependent), guards)
        for key in source.keys:
            self._add_dependency(key, None, guards)
        for fact in source.monotone:
            if guards or not is_class_link(fact):
                self._add_relation(fact, guards)
        if guards:
            # Equal within a case only: the values of two rows compare alike in both columns.
            for group in source.equivalences:
                for member in group[1:]:
                    self._add_relation(Monotone(member, ((group[0], "inc"),), True), guards)
        for case in source.cases:
            inner = guards if case.outcomes == ALL else (*guards, (case.column, case.outcomes))
            self._compile(case.facts, inner)

    def _add_ordering(self, items: Ordering, guards: Guards) -> None:
        entries = []
        for item in items:
            column_class, sign = self.classes.find(item.column)
            entries.append((column_class, item.allowed if sign > 0 else negate(item.allowed)))
        number = self._add(OrderingFact(tuple(entries)), guards)
        for column_class in dict.fromkeys(column_class for column_class, _ in entries):
            self._watch("order", column_class, number)

    def _add_dependency(self, determinant: Sequence[Column], dependent: tuple[int, ...] | None, guards: Guards) -> None:
        watched = dict.fromkeys(self._class(column) for column in determinant)
        number = self._add(DependencyFact(dependent), guards, waiting=len(watched))
        for column_class in watched:
            self._watch("tie", column_class, number)

    def _add_relation(self, fact: Monotone, guards: Guards) -> None:
        value, value_sign = self.classes.find(fact.column)
        arguments: dict[tuple[int, Effect], None] = {}
        for column, effect in fact.arguments:
            column_class, sign = self.classes.find(column)
            arguments[column_class, effect if sign * value_sign > 0 else flip(effect)] = None
        relation = RelationFact(value, tuple(number for number, _ in arguments), tuple(effect for _, effect in arguments), fact.strict)
        number = self._add(relation, guards)
        for column_class in dict.fromkeys((*relation.arguments, value)):
            self._watch("relation", column_class, number)


def is_class_link(fact: Monotone) -> bool:
    """Whether a function is as good as its argument: strict, in one argument.

    Examples
    --------
    >>> is_class_link(Monotone("n", (("x", "dec"),), True))
    True
    """
    return fact.strict and len(fact.arguments) == 1 and fact.arguments[0][1] != "fixed"


def signed_classes(source: SequenceFacts) -> SignedClasses:
    """Classes of all columns that the properties speak of, in order of appearance."""
    classes = SignedClasses()
    for group in source.equivalences:
        for column in group:
            classes.merge(group[0], column, 1)
    for column in columns_of(source):
        classes.add(column)
    for fact in source.monotone:
        if is_class_link(fact):
            column, effect = fact.arguments[0]
            classes.merge(column, fact.column, 1 if effect == "inc" else -1)
    return classes
