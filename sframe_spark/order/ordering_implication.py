"""Decides which orderings follow from the facts about a row sequence, by reasoning about two arbitrary rows, an earlier and a later row.

It also lists the columns by which rows are sorted, and finds two example rows that violate an ordering which does not follow.

Facts are compiled to constraints on how the two rows compare in each column, which are propagated until they imply nothing more. Equal columns
form one class of a union-find; a strictly decreasing function of a column is in the same class with the opposite sign.

Source: ``docs/order.md`` section 2.
"""

from __future__ import annotations

import enum
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sframe_spark.order.order_facts import (
    ALL,
    BOTH_NULL,
    EQUAL,
    GREATER,
    LESS,
    NO_NULLS,
    NULL_TO_VALUE,
    OUTCOMES,
    TIES,
    VALUE_TO_NULL,
    WITNESS_VALUES,
    Column,
    Effect,
    Hidden,
    Monotone,
    Ordering,
    SequenceFacts,
    column_sort_key,
    columns_of,
    flip,
    in_one_direction,
    negate,
    one_of,
)

Guards = tuple[tuple[Column, int], ...]


class OrderingFact(NamedTuple):
    """An ordering as a constraint: for each entry the class of its column, and the outcomes that it allows when all entries before it tie."""

    entries: tuple[tuple[int, int], ...]


class DependencyFact(NamedTuple):
    """A functional dependency: when the determinant ties, the dependent classes tie too. With None, a key: two rows never tie in it."""

    dependent: tuple[int, ...] | None


class RelationFact(NamedTuple):
    """A monotone function, with the classes of its value and of its arguments."""

    value: int
    arguments: tuple[int, ...]
    effects: tuple[Effect, ...]
    strict: bool


class RestrictionFact(NamedTuple):
    """A class of columns with the only outcomes that it may have."""

    column_class: int
    outcomes: int


Fact = OrderingFact | DependencyFact | RelationFact | RestrictionFact


class SignedClasses:
    """Union-find of columns: two columns of a class order any two rows in the same way, or, if their signs differ, in opposite ways.

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
        """Return the index of a column; a column seen for the first time gets the next index."""
        number = self.index.get(column)
        if number is None:
            number = self.index[column] = len(self.columns)
            self.columns.append(column)
            self._parent.append(number)
            self._sign.append(1)
        return number

    def find(self, column: Column) -> tuple[int, int]:
        """Return the class of a column, which is the index of the class's first column, and the column's sign in that class."""
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
        """Merge the classes of two columns; ``sign`` is the sign of the second column relative to the first.

        If both columns are in one class with the opposite relative sign, the class is contradictory: no two rows differ in it.
        """
        (left, left_sign), (right, right_sign) = self.find(first), self.find(second)
        if left == right:
            if left_sign * right_sign != sign:
                self.contradictory.add(left)
            return
        root, child = min(left, right), max(left, right)
        self._parent[child], self._sign[child] = root, left_sign * right_sign * sign
        if child in self.contradictory:
            self.contradictory.add(root)


class PairProblem:
    """The facts about a row sequence, compiled to constraints for :class:`PairState`.

    Parameters
    ----------
    source
        The facts.
    """

    def __init__(self, source: SequenceFacts) -> None:
        self.classes = signed_classes(source)
        self.facts: list[Fact] = []
        self.waiting: list[int] = []
        # By class of columns, what depends on its outcomes: guards of facts, determinants, orderings and functions.
        self._guards: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._determinants: defaultdict[int, list[int]] = defaultdict(list)
        self._orderings: defaultdict[int, list[int]] = defaultdict(list)
        self._relations: defaultdict[int, list[int]] = defaultdict(list)
        self._compile(source, ())
        for member in sorted(self.classes.contradictory):
            self._add(RestrictionFact(self.classes.find(self.classes.columns[member])[0], ALL & ~(LESS | GREATER)), ())
        self.size = len(self.classes.columns)
        self.branch_classes = (*self._guards, *(self._relations.keys() - self._guards.keys()))
        self.guard_watch = [self._guards.get(number, []) for number in range(self.size)]
        self.tie_watch = [self._determinants.get(number, []) for number in range(self.size)]
        self.order_watch = [self._orderings.get(number, []) for number in range(self.size)]
        self.relation_watch = [self._relations.get(number, []) for number in range(self.size)]

    def class_of(self, column: Column) -> tuple[int, int] | None:
        """Return the class and the sign of a column, or None if no fact mentions the column."""
        return self.classes.find(column) if column in self.classes.index else None

    def _class(self, column: Column) -> int:
        return self.classes.find(column)[0]

    def _add(self, fact: Fact, guards: Guards, waiting: int = 0) -> int:
        number = len(self.facts)
        self.facts.append(fact)
        self.waiting.append(waiting + len(guards))
        for column, outcomes in guards:
            column_class, sign = self.classes.find(column)
            self._guards[column_class].append((number, outcomes if sign > 0 else negate(outcomes)))
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
            # Within a case, an equivalence only says that the two rows compare in the same way in both columns.
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
            self._orderings[column_class].append(number)

    def _add_dependency(self, determinant: Sequence[Column], dependent: tuple[int, ...] | None, guards: Guards) -> None:
        watched = dict.fromkeys(self._class(column) for column in determinant)
        number = self._add(DependencyFact(dependent), guards, waiting=len(watched))
        for column_class in watched:
            self._determinants[column_class].append(number)

    def _add_relation(self, fact: Monotone, guards: Guards) -> None:
        value, value_sign = self.classes.find(fact.column)
        arguments: dict[tuple[int, Effect], None] = {}
        for column, effect in fact.arguments:
            column_class, sign = self.classes.find(column)
            arguments[column_class, effect if sign * value_sign > 0 else flip(effect)] = None
        relation = RelationFact(value, tuple(number for number, _ in arguments), tuple(effect for _, effect in arguments), fact.strict)
        number = self._add(relation, guards)
        for column_class in dict.fromkeys((*relation.arguments, value)):
            self._relations[column_class].append(number)


def is_class_link(fact: Monotone) -> bool:
    """Return whether a function orders rows exactly as its argument, or exactly in reverse: it is strict and has one argument.

    Examples
    --------
    >>> is_class_link(Monotone("n", (("x", "dec"),), True))
    True
    """
    return fact.strict and len(fact.arguments) == 1 and fact.arguments[0][1] != "fixed"


def signed_classes(source: SequenceFacts) -> SignedClasses:
    """Return the classes of all columns that facts mention.

    Columns that are equivalent, or linked by a strict function of one argument, share a class. Facts within cases merge no
    classes, because they hold only for some pairs of rows.
    """
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


_EARLIER_NULL = NULL_TO_VALUE | BOTH_NULL
_LATER_NULL = VALUE_TO_NULL | BOTH_NULL


def revise(value: int, arguments: Sequence[int], effects: Sequence[Effect], strict: bool) -> tuple[int, list[int]]:
    """Return the possible outcomes of a monotone function's value, and of its arguments, for two rows, each narrowed by the others.

    Examples
    --------
    >>> revise(63, [LESS], ["dec"], True)[0] == GREATER
    True
    >>> revise(LESS, [63], ["inc"], False)[1] == [LESS]
    True
    """
    turned = [negate(outcomes) if effect == "dec" else outcomes for outcomes, effect in zip(arguments, effects, strict=True)]
    value &= _value_outcomes(turned, effects, strict)
    turned = _narrow_nulls(value, turned)
    if value & ~NO_NULLS == 0:
        turned = [_narrow_argument(index, value, turned, effects, strict) & outcomes for index, outcomes in enumerate(turned)]
    return value, [negate(outcomes) if effect == "dec" else outcomes for outcomes, effect in zip(turned, effects, strict=True)]


def _value_outcomes(turned: Sequence[int], effects: Sequence[Effect], strict: bool) -> int:
    """Return the outcomes of a function's value that the outcomes of its arguments allow; the value is null exactly where an argument is null."""
    earlier, later = any(o & _EARLIER_NULL for o in turned), any(o & _LATER_NULL for o in turned)
    earlier_always = any(o & ~_EARLIER_NULL == 0 for o in turned)
    later_always = any(o & ~_LATER_NULL == 0 for o in turned)
    result = 0
    if not earlier_always and not later_always:
        result |= _compared([o & NO_NULLS for o in turned], effects, strict)
    if earlier and not later_always:
        result |= NULL_TO_VALUE
    if later and not earlier_always:
        result |= VALUE_TO_NULL
    if earlier and later:
        result |= BOTH_NULL
    return result


def _compared(turned: Sequence[int], effects: Sequence[Effect], strict: bool) -> int:
    """Return the possible outcomes of a function's value for two rows in which no argument is null."""
    result, moved = NO_NULLS, {LESS: False, GREATER: False}
    can_fall = can_grow = False
    for outcomes, effect in zip(turned, effects, strict=True):
        if outcomes == EQUAL:
            continue
        if effect == "fixed":
            return result
        can_grow, can_fall = can_grow or bool(outcomes & LESS), can_fall or bool(outcomes & GREATER)
        if outcomes in moved:
            moved[outcomes] = True
    if not can_fall:
        result &= LESS if strict and moved[LESS] else LESS | EQUAL
    if not can_grow:
        result &= GREATER if strict and moved[GREATER] else GREATER | EQUAL
    return result


def _narrow_nulls(value: int, turned: Sequence[int]) -> list[int]:
    """Return the outcomes of a function's arguments, without those that contradict what is known about nulls in its value."""
    result = list(turned)
    for null in (_EARLIER_NULL, _LATER_NULL):
        if value & null == 0:
            result = [outcomes & ~null for outcomes in result]
        elif value & ~null == 0:
            candidates = [index for index, outcomes in enumerate(result) if outcomes & null]
            if len(candidates) == 1:
                result[candidates[0]] &= null
    return result


def _narrow_argument(index: int, value: int, turned: Sequence[int], effects: Sequence[Effect], strict: bool) -> int:
    """Return the outcomes of one argument (LESS, GREATER, EQUAL) for which the function's value still has a possible outcome."""
    trial = [outcomes & NO_NULLS for outcomes in turned]
    result = 0
    for outcome in (LESS, GREATER, EQUAL):
        trial[index] = outcome
        if _compared(trial, effects, strict) & value:
            result |= outcome
    return result


class PairState:
    """What is known about two rows: the outcomes that are possible in each class of columns, after all restrictions so far.

    Every restriction is immediately propagated through all facts. ``impossible`` is true if the restrictions contradict each other.

    Parameters
    ----------
    problem
        The compiled facts.
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
        """Return an independent copy of this state."""
        other = object.__new__(PairState)
        other.problem, other.impossible, other.steps = self.problem, self.impossible, self.steps
        other.outcomes, other._pointers, other._waiting = self.outcomes[:], self._pointers[:], self._waiting[:]
        other._events = deque()
        return other

    def column_outcomes(self, column: Column) -> int:
        """Return the possible outcomes of a column; all outcomes, if no fact mentions the column."""
        signed_class = self.problem.class_of(column)
        if signed_class is None:
            return ALL
        outcomes = self.outcomes[signed_class[0]]
        return outcomes if signed_class[1] > 0 else negate(outcomes)

    def column_ties(self, column: Column) -> bool:
        """Return whether the two rows are known to be equal in a column."""
        return not self.column_outcomes(column) & ~TIES

    def has_learned_more(self, other: PairState, columns: Iterable[Column]) -> bool:
        """Return whether more is known here than the knowledge of another state of the same problem together with ties in some columns.

        The result is true, too, if one of the two states is impossible.
        """
        if self.impossible or other.impossible:
            return True
        expected = other.outcomes[:]
        for column in columns:
            if (signed_class := self.problem.class_of(column)) is not None:
                expected[signed_class[0]] &= TIES
        return expected != self.outcomes

    def restrict_column(self, column: Column, outcomes: int) -> bool:
        """Restrict a column to some outcomes and propagate; return whether two rows with all restrictions may exist.

        A column that no fact mentions is not restricted.
        """
        signed_class = self.problem.class_of(column)
        if signed_class is None:
            return not self.impossible
        return self.restrict(signed_class[0], outcomes if signed_class[1] > 0 else negate(outcomes))

    def restrict(self, column_class: int, outcomes: int) -> bool:
        """Restrict a class of columns to some outcomes and propagate; return whether two rows with all restrictions may exist."""
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
        """Move an ordering's pointer to its first entry that is not known to tie, and restrict that entry's class to the outcomes it allows."""
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
        """Narrow the outcomes of a monotone function's value and of its arguments by each other."""
        fact = self.problem.facts[number]
        if not isinstance(fact, RelationFact):
            return
        self.steps += 1 + len(fact.arguments)
        arguments = [self.outcomes[column_class] for column_class in fact.arguments]
        value, narrowed = revise(self.outcomes[fact.value], arguments, fact.effects, fact.strict)
        self._narrow(fact.value, value)
        for column_class, outcomes in zip(fact.arguments, narrowed, strict=True):
            self._narrow(column_class, outcomes)


def leading_order(state: PairState, required: Mapping[Column, None]) -> list[Column]:
    """Return columns by which the rows are sorted: each only rises, or only falls, among rows that are equal in all columns before it.

    Rows that are equal in all of the returned columns are therefore adjacent. The list may contain columns that are not required, if the
    required columns determine them.

    Parameters
    ----------
    state
        What is known about two rows; changed: the returned columns that a fact mentions are restricted to ties.
    required
        The columns that should be in the list. It lacks a required column if the rows are not known to be sorted by it.
    """
    determined = state.copy()
    unknown = dict.fromkeys(column for column in required if state.problem.class_of(column) is None)
    order: list[Column] = []
    remaining = _leading(state, [column for column in required if column not in unknown], order)
    for column in required:
        determined.restrict_column(column, TIES)
    # If the list is empty and nothing follows from ties in the required columns, other columns cannot help. This shortcut matters for
    # single columns of frames with many columns.
    if remaining and (order or determined.has_learned_more(state, remaining)):
        helpers = [column for column in determined.problem.classes.index if column not in required and determined.column_ties(column)]
        remaining += _leading(state, helpers, order)
        before = 0
        while len(order) > before:
            before = len(order)
            remaining = _leading(state, remaining, order)
    return [*order, *unknown] if state.impossible else order


def _leading(state: PairState, columns: Iterable[Column], order: list[Column]) -> list[Column]:
    """Append each column that only rises or only falls to the list, and restrict it to ties for the next ones; return the other columns."""
    remaining = []
    for column in columns:
        if state.impossible or in_one_direction(state.column_outcomes(column)):
            state.restrict_column(column, TIES)
            order.append(column)
        else:
            remaining.append(column)
    return remaining


SEARCH_BUDGET = 500


class Undecided(enum.Enum):
    """The result of a search that used up its budget without an answer."""

    UNDECIDED = 0


UNDECIDED = Undecided.UNDECIDED


def find_rows(state: PairState) -> PairState | Undecided | None:
    """Search for two rows for which all facts hold, and return them as a state.

    In the returned state one outcome is chosen for each class of columns to which a case or a monotone function refers. The result is None if there
    are no such rows, and ``UNDECIDED`` if the search used up its budget. The given state is not changed.
    """
    if state.impossible:
        return None
    if not state.problem.branch_classes:
        return state
    greedy = state.copy()
    for column_class in state.problem.branch_classes:
        outcomes = greedy.outcomes[column_class]
        if outcomes & (outcomes - 1) and not greedy.restrict(column_class, one_of(outcomes)):
            return _choose_with_backtracking(state)
    return greedy


def _choose_with_backtracking(start: PairState) -> PairState | Undecided | None:
    stack = [(start, 0)]
    budget = SEARCH_BUDGET
    while stack:
        state, position = stack.pop()
        classes = state.problem.branch_classes
        # A set of outcomes has a single member if it has no other bit than its lowest.
        while position < len(classes) and not state.outcomes[classes[position]] & (state.outcomes[classes[position]] - 1):
            position += 1
        if position == len(classes):
            return state
        remaining = state.outcomes[classes[position]]
        branches = []
        while remaining:
            choice, remaining = one_of(remaining), remaining & (remaining - 1)
            budget -= 1
            branch = state.copy()
            if branch.restrict(classes[position], choice):
                branches.append((branch, position))
        if budget < 0:
            return UNDECIDED
        stack.extend(reversed(branches))
    return None


class Witness(NamedTuple):
    """Two example rows that show why an ordering is not guaranteed: all known facts hold for them, but they violate it.

    Parameters
    ----------
    columns
        The columns that facts or the ordering mention; all other columns may have any value.
    earlier, later
        The values of the two rows in these columns. Only how they compare matters: the numbers are arbitrary.
    requirement
        The column and direction of the ordering's entry that the rows violate: the first entry that does not tie.

    Examples
    --------
    >>> print(Witness(("a", "b"), (0, 1), (0, 0), ("b", "asc")))
    these two rows have every known property, but b is not asc:
      a  b
      0  1
      0  0
    """

    columns: tuple[Column, ...]
    earlier: tuple[int | None, ...]
    later: tuple[int | None, ...]
    requirement: tuple[Column, str]

    def named(self, names: Mapping[Hashable, str]) -> Witness:
        """Return the same rows with columns renamed; a column without a name keeps its own."""
        column, direction = self.requirement
        return self._replace(columns=tuple(names.get(c, c) for c in self.columns), requirement=(names.get(column, column), direction))

    def __str__(self) -> str:
        column, direction = self.requirement
        table = [[str(name) for name in self.columns]]
        table += [["missing" if value is None else str(value) for value in row] for row in (self.earlier, self.later)]
        widths = [max(len(row[index]) for row in table) for index in range(len(self.columns))]
        lines = ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join([f"these two rows have every known property, but {column} is not {direction}:", *lines])


def rows_of(state: PairState, extra: Iterable[tuple[Column, int]], requirement: tuple[Column, str]) -> Witness:
    """Return two example rows, with one possible outcome chosen for every column: not a tie if another outcome is possible.

    Parameters
    ----------
    state
        A state as :func:`find_rows` returns it.
    extra
        Columns that no fact mentions, with their possible outcomes.
    requirement
        The column and direction of the ordering's entry that the rows violate.
    """
    values: dict[Column, tuple[int | None, int | None]] = {}
    for column in state.problem.classes.index:
        column_class, sign = state.problem.classes.find(column)
        chosen = one_of(state.outcomes[column_class])
        values[column] = WITNESS_VALUES[chosen if sign > 0 else negate(chosen)]
    for column, outcome in extra:
        values.setdefault(column, WITNESS_VALUES[one_of(outcome)])
    columns = tuple(sorted((column for column in values if not isinstance(column, Hidden)), key=column_sort_key))
    return Witness(columns, tuple(values[c][0] for c in columns), tuple(values[c][1] for c in columns), requirement)


def violations(allowed: int) -> int:
    """Return the outcomes that violate an entry of an ordering: those that it does not allow, without ties.

    Examples
    --------
    >>> from sframe_spark.order.order_facts import ALL
    >>> violations(ALL)
    0
    """
    return sum(OUTCOMES) & ~allowed & ~TIES
