"""What is known about the order and values of rows: :class:`OrderingProperties` of a row sequence, :class:`RelationProperties` of a node's rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Any

import attrs

from sframe_spark.order.order_facts import (
    ALL,
    TIES,
    Case,
    Column,
    FunctionalDependency,
    Hidden,
    Monotone,
    Ordering,
    OrderingItem,
    SequenceFacts,
    column_sort_key,
    facts_of_either,
    merged,
    number_hidden,
    ordering,
    read_facts,
    rename_facts,
    right_side,
    turned_facts,
    visible_columns,
    without_useless_hidden,
)
from sframe_spark.order.ordering_implication import (
    UNDECIDED,
    PairProblem,
    PairState,
    SignedClasses,
    Witness,
    find_rows,
    leading_order,
    rows_of,
    violations,
)

# The normal form of facts, in which the same knowledge is usually the same value, however it was written down: an ordering contains no constants,
# one representative stands for each group of equal columns, no ordering is a prefix of another, useless hidden columns are removed, and all facts
# are sorted. Source: ``docs/order.md`` section 1.

# Above this number of keys only equal keys are removed: comparing all pairs of keys takes quadratic time.
_COMPARED_KEYS = 32


@lru_cache(maxsize=512)
def normal_form(raw: SequenceFacts) -> tuple[SequenceFacts, PairState | None]:
    """Return the facts in normal form, and the :class:`PairState` for them; None instead of the state if it must be computed from the result.

    Examples
    --------
    >>> from sframe_spark.order.order_facts import ordering
    >>> facts, _ = normal_form(SequenceFacts(constants=("c",), orderings=(ordering([["a", "asc"], ["c", "asc"]]), ordering([["a", "asc"]]))))
    >>> facts.orderings
    ((OrderingItem(column='a', direction='asc', nulls='nulls_first'),),)
    """
    if raw == SequenceFacts():
        return raw, None
    raw = _with_merged_arguments(raw)
    state = PairState(PairProblem(raw))
    while raw.cases and (lifted := _decide_cases(raw, state)) != raw:
        raw = _with_merged_arguments(lifted)
        state = PairState(PairProblem(raw))
    representative, groups = _representatives(raw.equivalences)
    named = rename_facts(raw._replace(equivalences=()), lambda column: representative.get(column, column))
    if state.impossible:
        # There is at most one row: its key is empty, and only facts about single rows matter.
        visible = tuple(dict.fromkeys(column for column in named.not_null if not isinstance(column, Hidden)))
        return _sorted(SequenceFacts(equivalences=groups, keys=((),), not_null=visible)), state
    tied = {representative.get(column, column) for column in state.problem.classes.index if state.column_ties(column)}
    deciding = set(_columns_that_decide(named))
    constants = tuple(sorted((column for column in tied if column in deciding or not isinstance(column, Hidden)), key=column_sort_key))
    facts = _tidy(named._replace(constants=()), tied, set(named.not_null))
    facts = facts._replace(constants=constants, equivalences=groups, not_null=named.not_null)
    if not any(isinstance(column, Hidden) for column in state.problem.classes.index):
        return _sorted(facts), state
    # Dropping hidden columns may lose knowledge that the state still has. Equal facts must give equal answers, so the state is not returned.
    return _sorted(number_hidden(without_useless_hidden(facts))), None


def _with_merged_arguments(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts with equal arguments of a function merged: more follows from a function of one column than of several columns."""
    if not facts.equivalences or all(len(function.arguments) < 2 for function in facts.monotone):
        return facts
    representative, _ = _representatives(facts.equivalences)
    functions = []
    for function in facts.monotone:
        arguments = tuple(dict.fromkeys((representative.get(column, column), effect) for column, effect in function.arguments))
        functions.append(function._replace(arguments=arguments))
    return facts._replace(monotone=tuple(functions))


def _decide_cases(facts: SequenceFacts, state: PairState) -> SequenceFacts:
    """Return the facts without cases that never apply, and with the facts of cases that always apply moved out of them."""
    cases, lifted = [], []
    for case in facts.cases:
        possible = state.column_outcomes(case.column)
        if not possible & case.outcomes:
            continue
        if possible & ~case.outcomes or case.facts.equivalences:
            cases.append(case)
        else:
            lifted.append(case.facts)
    return merged(facts._replace(cases=tuple(cases)), *lifted)


def _columns_that_decide(facts: SequenceFacts) -> Iterator[Column]:
    """Yield the columns of functions and the columns that decide cases: facts still need to know which of them are constant."""
    for function in facts.monotone:
        yield from function.columns
    for case in facts.cases:
        yield case.column
        yield from _columns_that_decide(case.facts)


def _representatives(equivalences: Iterable[tuple[Column, ...]]) -> tuple[dict[Column, Column], tuple[tuple[Column, ...], ...]]:
    """Return the representative of each column in a group of equal columns, and the groups without their hidden columns."""
    classes = SignedClasses()
    for group in equivalences:
        for column in group:
            classes.merge(group[0], column, 1)
    members: dict[int, list[Column]] = {}
    for column in classes.columns:
        members.setdefault(classes.find(column)[0], []).append(column)
    representative, groups = {}, []
    for group_members in members.values():
        group_members.sort(key=column_sort_key)
        representative.update(dict.fromkeys(group_members, group_members[0]))
        visible = tuple(column for column in group_members if not isinstance(column, Hidden))
        if len(visible) > 1:
            groups.append(visible)
    return representative, tuple(groups)


def _tidy(facts: SequenceFacts, constants: set[Column], not_null: set[Column]) -> SequenceFacts:
    """Return the facts without constants, repetitions and empty facts."""
    dependencies: dict[tuple[Column, ...], dict[Column, None]] = {}
    for determinant, dependent in facts.functional_dependencies:
        left = tuple(sorted(set(determinant) - constants, key=column_sort_key))
        right = [column for column in dependent if column not in constants and column not in left]
        if right:
            dependencies.setdefault(left, {}).update(dict.fromkeys(right))
    return facts._replace(
        constants=tuple(column for column in facts.constants if column not in constants),
        orderings=_longest(_tidy_ordering(items, constants, not_null) for items in facts.orderings),
        functional_dependencies=tuple(FunctionalDependency(left, tuple(sorted(right, key=column_sort_key))) for left, right in dependencies.items()),
        keys=_smallest_keys(tuple(sorted(set(key) - constants, key=column_sort_key)) for key in facts.keys),
        monotone=tuple(dict.fromkeys(map(_tidy_monotone, facts.monotone))),
        cases=tuple(
            Case(case.column, case.outcomes, inner)
            for case, inner in ((case, _tidy(case.facts, constants, not_null)) for case in dict.fromkeys(facts.cases))
            if case.outcomes and inner != SequenceFacts()
        ),
    )


def _tidy_monotone(fact: Monotone) -> Monotone:
    arguments = tuple(sorted(dict.fromkeys(fact.arguments), key=lambda argument: (column_sort_key(argument[0]), argument[1])))
    return Monotone(fact.column, arguments, fact.strict)


def _tidy_ordering(items: Ordering, constants: set[Column], not_null: set[Column]) -> Ordering:
    seen = set(constants)
    remaining = []
    for item in items:
        if item.column in seen:
            continue
        seen.add(item.column)
        if item.column in not_null:
            item = OrderingItem(item.column, item.direction, "nulls_last" if item.direction == "desc" else "nulls_first")
        remaining.append(item)
    while remaining and remaining[-1].direction == "any":
        remaining.pop()
    return tuple(remaining)


def _longest(orderings: Iterable[Ordering]) -> tuple[Ordering, ...]:
    """Return the orderings that are not a prefix of another ordering; in sorted order a prefix directly precedes a longer ordering."""
    ranked = sorted(filter(None, set(orderings)), key=_ordering_sort_key)
    return tuple(items for items, following in zip(ranked, (*ranked[1:], ()), strict=False) if following[: len(items)] != items)


def _smallest_keys(keys: Iterable[tuple[Column, ...]]) -> tuple[tuple[Column, ...], ...]:
    """Return the distinct keys without those that contain another key; if there are very many keys, all distinct keys."""
    distinct = sorted(set(keys), key=lambda key: (len(key), _columns_sort_key(key)))
    if len(distinct) > _COMPARED_KEYS:
        return tuple(distinct)
    minimal: list[tuple[Column, ...]] = []
    for key in distinct:
        if not any(set(smaller) <= set(key) for smaller in minimal):
            minimal.append(key)
    return tuple(minimal)


def _columns_sort_key(columns: Iterable[Column]) -> tuple:
    return tuple(map(column_sort_key, columns))


def _ordering_sort_key(items: Ordering) -> tuple:
    return tuple((column_sort_key(item.column), item.direction, item.nulls) for item in items)


def _monotone_sort_key(fact: Monotone) -> tuple:
    return column_sort_key(fact.column), tuple((column_sort_key(column), effect) for column, effect in fact.arguments), fact.strict


def _case_sort_key(case: Case) -> tuple:
    inner = tuple(tuple(map(key, facts)) for key, facts in zip(_SORT_KEYS, case.facts, strict=True))
    return column_sort_key(case.column), case.outcomes, inner


# The functions that return the sort key of a fact, in the order of the fields of SequenceFacts.
_SORT_KEYS: tuple[Callable[[Any], tuple], ...] = (
    column_sort_key,
    _columns_sort_key,
    _ordering_sort_key,
    lambda dependency: tuple(map(_columns_sort_key, dependency)),
    _columns_sort_key,
    _monotone_sort_key,
    column_sort_key,
    _case_sort_key,
)


def _sorted(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts in an order that does not depend on how they were written down."""
    cases = tuple(case._replace(facts=_sorted(case.facts)) for case in facts.cases)
    distinct = facts._replace(constants=tuple(set(facts.constants)), not_null=tuple(set(facts.not_null)), cases=cases)
    fields: list[Any] = [tuple(sorted(items, key=key)) for key, items in zip(_SORT_KEYS, distinct, strict=True)]
    return SequenceFacts(*fields)


# Known facts about the rows of a relation: :class:`OrderingProperties` for a row sequence, :class:`RelationProperties` for a plan node.

Requirement = Iterable[Sequence[Any]]


class OrderingProperties:
    """The facts that are known about a sequence of rows; immutable, hashable, and always in normal form.

    Every fact holds for the whole row sequence. A column is any hashable value. Null equals null. In an entry of an ordering that does not say
    where nulls are, null counts as the smallest value.

    Parameters
    ----------
    constants
        Columns with one value in all rows.
    equivalences
        Groups of columns that are equal in every row.
    orderings
        Lists of ``(column, "asc" | "desc" | "any"[, "nulls_first" | "nulls_last"])``; the rows are sorted by each list. See :class:`OrderingItem`.
    functional_dependencies
        Pairs ``(columns, columns)``: rows that are equal in the first columns are equal in the second columns.
    keys
        Lists of columns: no two rows are equal in all columns of a list.
    monotone
        Columns that are monotone functions of other columns, as :class:`Monotone` or as ``{"col": ..., "args": ..., "strict": ...}``.
    not_null
        Columns without null.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("day", "asc"), ("id", "asc")]], constants=["id"])
    >>> known.satisfies([("id", "desc"), ("day", "asc")])
    True
    >>> known.satisfies([("price", "asc")])
    False
    """

    __slots__ = ("_facts", "_hash", "_present", "_start")

    _facts: SequenceFacts
    _hash: int | None
    _present: set[Column] | None
    _start: PairState | None

    def __init__(
        self,
        constants: Iterable[Column] = (),
        equivalences: Iterable[Iterable[Column]] = (),
        orderings: Iterable[Requirement] = (),
        functional_dependencies: Iterable[Sequence[Iterable[Column]]] = (),
        keys: Iterable[Iterable[Column]] = (),
        monotone: Iterable[Monotone | Mapping[str, Any]] = (),
        not_null: Iterable[Column] = (),
    ) -> None:
        self._normalize(read_facts(constants, equivalences, orderings, functional_dependencies, keys, monotone, not_null))

    @classmethod
    def of(cls, facts: SequenceFacts) -> OrderingProperties:
        """Return properties with the given facts, which are brought to normal form."""
        properties = object.__new__(cls)
        properties._normalize(facts)
        return properties

    def _normalize(self, facts: SequenceFacts) -> None:
        normal, start = normal_form(facts)
        for name, value in (("_facts", normal), ("_hash", None), ("_present", None), ("_start", start)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"OrderingProperties are immutable; {name} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return OrderingProperties.of, (self._facts,)

    def __eq__(self, other: object) -> bool:
        return self._facts == other._facts if isinstance(other, OrderingProperties) else NotImplemented

    def __hash__(self) -> int:
        known = self._hash
        if known is None:
            known = hash(self._facts)
            object.__setattr__(self, "_hash", known)
        return known

    def __repr__(self) -> str:
        known = ", ".join(f"{name}={value!r}" for name, value in self._facts._asdict().items() if value)
        return f"OrderingProperties({known})"

    @property
    def facts(self) -> SequenceFacts:
        """All facts, including those about hidden columns, and cases."""
        return self._facts

    @property
    def constants(self) -> tuple[Column, ...]:
        """Columns with one value in all rows; for a group of equal columns, only its representative."""
        return tuple(column for column in self._facts.constants if not isinstance(column, Hidden))

    @property
    def equivalences(self) -> tuple[tuple[Column, ...], ...]:
        """Groups of equal columns, each with its representative first."""
        return self._facts.equivalences

    @property
    def orderings(self) -> tuple[Ordering, ...]:
        """The orderings; an entry may be a :class:`Hidden` column, which the rows no longer have."""
        return self._facts.orderings

    @property
    def functional_dependencies(self) -> tuple[FunctionalDependency, ...]:
        """The functional dependencies, one for each determinant."""
        return self._facts.functional_dependencies

    @property
    def keys(self) -> tuple[tuple[Column, ...], ...]:
        """The keys; an empty key means that there is at most one row."""
        return self._facts.keys

    @property
    def monotone(self) -> tuple[Monotone, ...]:
        """The monotone functions."""
        return self._facts.monotone

    @property
    def not_null(self) -> tuple[Column, ...]:
        """Columns without null; for a group of equal columns, only its representative."""
        return tuple(column for column in self._facts.not_null if not isinstance(column, Hidden))

    @property
    def at_most_one_row(self) -> bool:
        """Whether there is known to be at most one row."""
        return () in self._facts.keys

    def pair_state(self) -> PairState:
        """Return what is known about any two rows, as a copy that the caller may restrict further."""
        if self._start is None:
            object.__setattr__(self, "_start", PairState(PairProblem(self._facts)))
        assert self._start is not None
        return self._start.copy()

    def satisfies(self, requirement: Requirement) -> bool:
        """Return whether every row sequence for which these facts hold is in the required order.

        Raises
        ------
        ValueError
            If an entry of the requirement is invalid; see :func:`ordering_item`.

        Examples
        --------
        >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")], [("a", "asc"), ("c", "asc")]])
        >>> known.satisfies([("a", "asc"), ("c", "asc"), ("b", "asc")])
        True
        """
        return self._counterexample(ordering(requirement)) is None

    def satisfied_length(self, requirement: Requirement) -> int:
        """Return how many leading entries of a requirement the rows are known to satisfy.

        Examples
        --------
        >>> OrderingProperties(orderings=[[("a", "asc")]]).satisfied_length([("a", "asc"), ("b", "asc")])
        1
        """
        broken = self._counterexample(items := ordering(requirement))
        return len(items) if broken is None else broken[0]

    def witness(self, requirement: Requirement) -> Witness | None:
        """Return two example rows for which all facts hold and that violate a requirement, or None if the requirement is satisfied.

        Examples
        --------
        >>> print(OrderingProperties(orderings=[[("a", "asc")]]).witness([("a", "asc"), ("b", "asc")]))
        these two rows have every known property, but b is not asc:
          a  b
          0  1
          0  0
        """
        broken = self._counterexample(items := ordering(requirement))
        if broken is None:
            return None
        index, state = broken
        unknown = [(item.column, TIES) for item in items[:index]] + [(items[index].column, violations(items[index].allowed))]
        return rows_of(state, unknown, (items[index].column, items[index].direction))

    def _counterexample(self, items: Ordering) -> tuple[int, PairState] | None:
        """Return the index of the first entry that two rows may violate, and what is known about those rows; None if no entry can be violated.

        Propagation decides most entries; where functions or cases leave choices open, a search with a limited budget does. If the
        budget is used up, the entry counts as one that may be violated.

        Source: ``docs/order.md`` section 2.
        """
        state = self.pair_state()
        for index, item in enumerate(items):
            if state.impossible:
                return None
            broken = violations(item.allowed)
            if state.column_outcomes(item.column) & broken:
                rows = state.copy()
                rows.restrict_column(item.column, broken)
                solution = find_rows(rows)
                if solution is not None:
                    return index, rows if solution is UNDECIDED else solution
            state.restrict_column(item.column, TIES)
        return None

    def satisfies_set(self, columns: Iterable[Column]) -> tuple[Column, ...] | None:
        """Return the columns in the order in which they sort the rows, if rows equal in all of them are known to be adjacent; otherwise None.

        The directions of sorting do not matter, and the rows may also be sorted by other columns that these columns determine. No permutations are
        searched: any column that can come next is taken.

        Source: ``docs/order.md`` section 2.

        Examples
        --------
        >>> known = OrderingProperties(orderings=[[("a", "desc"), ("b", "asc")]])
        >>> known.satisfies_set(["b", "a"]), known.satisfies_set(["b"])
        (('a', 'b'), None)
        """
        required = dict.fromkeys(columns)
        order = [column for column in leading_order(self.pair_state(), required) if column in required]
        return tuple(order) if len(order) == len(required) else None

    def is_constant(self, column: Column) -> bool:
        """Return whether a column is known to have one value in all rows."""
        return self.determines((), (column,))

    def equivalent(self, first: Column, second: Column) -> bool:
        """Return whether two columns are known to be equal in every row."""
        return first == second or any(first in group and second in group for group in self.equivalences)

    def is_not_null(self, column: Column) -> bool:
        """Return whether a column, or one equal to it, is known to have no null."""
        if self._present is None:
            known = {*self.not_null}
            equal = [group for group in self.equivalences if not known.isdisjoint(group)]
            object.__setattr__(self, "_present", known.union(*equal))
        assert self._present is not None
        return column in self._present

    def has_key(self, columns: Iterable[Column]) -> bool:
        """Return whether it is known that no two rows are equal in all of the columns.

        Examples
        --------
        >>> OrderingProperties(keys=[["id"]], functional_dependencies=[[["name"], ["id"]]]).has_key(["name", "day"])
        True
        """
        return find_rows(self._tied(columns)) is None

    def determines(self, determinant: Iterable[Column], dependent: Iterable[Column]) -> bool:
        """Return whether it is known that rows that are equal in the first columns are equal in the second columns."""
        state = self._tied(determinant)
        for column in dependent:
            if state.impossible:
                return True
            if state.column_ties(column):
                continue
            rows = state.copy()
            rows.restrict_column(column, ALL & ~TIES)
            if find_rows(rows) is not None:
                return False
        return True

    def _tied(self, columns: Iterable[Column]) -> PairState:
        state = self.pair_state()
        for column in columns:
            state.restrict_column(column, TIES)
        return state

    def project(self, mapping: Mapping[Any, Column | None]) -> OrderingProperties:
        """Return the properties of the rows after a projection.

        Dropped columns become hidden columns, because they may still link other columns.

        Parameters
        ----------
        mapping
            For each new column the old column that it copies, or None if nothing is known about it.

        Examples
        --------
        >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]], constants=["b"])
        >>> known.project({"x": "a", "y": "a", "z": None}).satisfies([("y", "asc"), ("x", "desc")])
        True
        """
        copies: dict[Column, list[Column]] = {}
        for new, old in mapping.items():
            if old is not None:
                copies.setdefault(old, []).append(new)
        if all(news == [old] for old, news in copies.items()) and visible_columns(self._facts) <= copies.keys():
            return self

        def renamed(column: Hashable) -> Hashable:
            return copies[column][0] if column in copies else column if isinstance(column, Hidden) else Hidden(("lost", column))

        facts = rename_facts(self._facts, renamed)
        groups = tuple(tuple(news) for news in copies.values() if len(news) > 1)
        return OrderingProperties.of(facts._replace(equivalences=facts.equivalences + groups))

    def reverse(self) -> OrderingProperties:
        """Return the properties of the rows in opposite order.

        Examples
        --------
        >>> OrderingProperties(orderings=[[("a", "asc")]]).reverse().orderings
        ((OrderingItem(column='a', direction='desc', nulls='nulls_last'),),)
        """
        return OrderingProperties.of(turned_facts(self._facts))

    def add(
        self,
        constants: Iterable[Column] = (),
        equivalences: Iterable[Iterable[Column]] = (),
        orderings: Iterable[Requirement] = (),
        functional_dependencies: Iterable[Sequence[Iterable[Column]]] = (),
        keys: Iterable[Iterable[Column]] = (),
        monotone: Iterable[Monotone | Mapping[str, Any]] = (),
        not_null: Iterable[Column] = (),
        cases: Iterable[Case] = (),
    ) -> OrderingProperties:
        """Return these properties together with further facts about the same rows; for the parameters see the class.

        Examples
        --------
        >>> OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]]).add(constants=["a"]).satisfies([("b", "asc")])
        True
        """
        more = read_facts(constants, equivalences, orderings, functional_dependencies, keys, monotone, not_null, tuple(cases))
        return self if more == SequenceFacts() else OrderingProperties.of(merged(self._facts, more))

    def meet(self, other: OrderingProperties) -> OrderingProperties:
        """Return the properties of rows for which the facts of both sides hold, as when two frames are zipped.

        Hidden columns of the two sides stay distinct.
        """
        return OrderingProperties.of(merged(self._facts, right_side(other._facts)))

    def join(self, other: OrderingProperties) -> OrderingProperties:
        """Return the properties of rows for which the facts of one of the two sides hold, when it is not known which.

        The result satisfies a requirement only if both sides satisfy it.

        Examples
        --------
        >>> ascending = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
        >>> either = ascending.join(OrderingProperties(orderings=[[("a", "asc")]]))
        >>> either.satisfies([("a", "asc")]), either.satisfies([("a", "asc"), ("b", "asc")])
        (True, False)
        """
        return self if self == other else OrderingProperties.of(facts_of_either(self._facts, other._facts, self.common_orderings(other)))

    def common_orderings(self, other: OrderingProperties) -> tuple[Ordering, ...]:
        """Return the orderings of each side, cut off before the first entry that the other side does not satisfy.

        An ordering that follows from the facts of each side, but is stated by neither, is not found.
        """
        result = []
        for properties, partner in ((self, other), (other, self)):
            for items in properties.orderings:
                visible = tuple(takewhile(lambda item: not isinstance(item.column, Hidden), items))
                result.append(visible[: partner.satisfied_length(visible)])
        return tuple(filter(None, dict.fromkeys(result)))


# The smallest and the largest value of a column without missing values and NaN.
ValueBounds = tuple[Any, Any]


@attrs.frozen
class RelationProperties:
    """What is known about the rows of a plan node before they are computed. Columns are positions.

    Parameters
    ----------
    order
        Order, constants, equal columns, dependencies and keys of the row sequence.
    where
        For int columns used as masks: additional facts about the rows where the column is true.
    bounds
        Bounds of the values of columns without missing values and NaN; they need not occur among the rows.

    Examples
    --------
    >>> rows = RelationProperties(OrderingProperties(orderings=[[(0, "asc")]]), bounds={0: (1, 9)})
    >>> RelationProperties.side_by_side([rows, RelationProperties(bounds={0: (5, 5)})], [1, 1]).bounds
    {0: (1, 9), 1: (5, 5)}
    """

    order: OrderingProperties = attrs.field(factory=OrderingProperties)
    where: Mapping[int, SequenceFacts] = attrs.field(factory=dict)
    bounds: Mapping[int, ValueBounds] = attrs.field(factory=dict)

    @property
    def says_nothing(self) -> bool:
        """Whether nothing is known."""
        return self.order.facts == SequenceFacts() and not self.where and not self.bounds

    def project(self, origins: Sequence[int | None]) -> RelationProperties:
        """Return the properties of rows whose column ``i`` copies column ``origins[i]``; nothing is known about it if that is None."""
        if self.says_nothing:
            return self
        known = {position: origin for position, origin in enumerate(origins) if origin is not None}
        where: dict[int, SequenceFacts] = {}
        if self.where and list(known.items()) == [(p, p) for p in range(len(origins))]:
            where = dict(self.where)
        bounds = {position: self.bounds[origin] for position, origin in known.items() if origin in self.bounds}
        return RelationProperties(self.order.project(dict(enumerate(origins))), where, bounds)

    @classmethod
    def side_by_side(cls, inputs: Sequence[RelationProperties], widths: Sequence[int]) -> RelationProperties:
        """Return the properties of inputs zipped side by side; ``widths`` are the numbers of their columns."""
        starts = [*accumulate(widths, initial=0)]
        informative = [(slot, rows) for slot, rows in enumerate(inputs) if slot and not rows.says_nothing]
        if not informative:
            return inputs[0]
        shifted = [shifted_facts(rows.order.facts, starts[slot], slot) for slot, rows in informative]
        order = OrderingProperties.of(merged(inputs[0].order.facts, *shifted))
        bounds = {column + starts[slot]: limits for slot, rows in [(0, inputs[0]), *informative] for column, limits in rows.bounds.items()}
        return cls(order, inputs[0].where, bounds)

    def reordered(self, order: OrderingProperties) -> RelationProperties:
        """Return these properties with other order facts, for the same values in another order."""
        return attrs.evolve(self, order=order)


def shifted_facts(facts: SequenceFacts, start: int, slot: int) -> SequenceFacts:
    """Return the facts with ``start`` added to each column position; the slot keeps hidden columns of different inputs distinct."""

    def moved(column: Column) -> Column:
        return Hidden((f"{slot:06}", column.number)) if isinstance(column, Hidden) else column + start  # type: ignore[operator]

    return rename_facts(facts, moved)


def requirement(by: Sequence[tuple[int, bool]]) -> list[tuple[int, str]]:
    """Convert the columns of a sort, each with whether it ascends, to a requirement.

    Examples
    --------
    >>> requirement([(2, True), (0, False)])
    [(2, 'asc'), (0, 'desc')]
    """
    return [(position, "asc" if ascending else "desc") for position, ascending in by]
