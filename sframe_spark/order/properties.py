"""Properties of one row sequence: what is known of its order, its constants, equal columns, dependencies and keys."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import attrs

from sframe_spark.order.fact_transforms import facts_of_both, facts_of_either, rename_facts, turned_facts, visible_columns
from sframe_spark.order.facts import (
    ALL,
    TIES,
    Case,
    Column,
    FunctionalDependency,
    Hidden,
    Monotone,
    Ordering,
    SequenceFacts,
    merged,
    merged_all,
    ordering,
    read_facts,
)
from sframe_spark.order.implication import UNDECIDED, PairProblem, PairState, Witness, find_rows, leading_order, rows_of, violations
from sframe_spark.order.normal_form import normal_form

Requirement = Iterable[Sequence[Any]]


class OrderingProperties:
    """What is known of a sequence of rows; immutable, hashable, always in normal form.

    Every fact is about the whole row sequence, never about parts of it. A column is any hashable value. Null is equal to null; an entry of an
    ordering that says nothing of nulls takes null as the smallest value.

    Parameters
    ----------
    constants
        Columns with one value in all rows.
    equivalences
        Groups of columns that are equal in every row.
    orderings
        Lists of ``(column, "asc" | "desc"[, "nulls_first" | "nulls_last"])``; the rows are in order of each.
    functional_dependencies
        Pairs ``(columns, columns)``: rows equal on the first are equal on the second.
    keys
        Lists of columns on which no two rows are equal.
    monotone
        Columns that are monotone functions of others, as :class:`Monotone` or as ``{"col": ..., "args": ..., "strict": ...}``.
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
        self._settle(read_facts(constants, equivalences, orderings, functional_dependencies, keys, monotone, not_null))

    @classmethod
    def of(cls, facts: SequenceFacts) -> OrderingProperties:
        """Properties that hold given facts; the facts are brought to normal form."""
        made = object.__new__(cls)
        made._settle(facts)
        return made

    def _settle(self, facts: SequenceFacts) -> None:
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
        """All facts, hidden columns and cases included."""
        return self._facts

    @property
    def constants(self) -> tuple[Column, ...]:
        """Columns with one value; of a group of equal columns the representative only."""
        return tuple(column for column in self._facts.constants if not isinstance(column, Hidden))

    @property
    def equivalences(self) -> tuple[tuple[Column, ...], ...]:
        """Groups of equal columns, each with its representative first."""
        return self._facts.equivalences

    @property
    def orderings(self) -> tuple[Ordering, ...]:
        """The orderings; an entry may be a column that is no longer shown."""
        return self._facts.orderings

    @property
    def functional_dependencies(self) -> tuple[FunctionalDependency, ...]:
        """The dependencies, one for each determinant."""
        return self._facts.functional_dependencies

    @property
    def keys(self) -> tuple[tuple[Column, ...], ...]:
        """The keys, none of which contains another; an empty key means at most one row."""
        return self._facts.keys

    @property
    def monotone(self) -> tuple[Monotone, ...]:
        """The monotone functions."""
        return self._facts.monotone

    @property
    def not_null(self) -> tuple[Column, ...]:
        """Columns without null; of a group of equal columns the representative only."""
        return tuple(column for column in self._facts.not_null if not isinstance(column, Hidden))

    @property
    def at_most_one_row(self) -> bool:
        """Whether there can be no two rows."""
        return () in self._facts.keys

    def pair_state(self) -> PairState:
        """What is known of two rows before anything is asked; a copy to work on."""
        if self._start is None:
            object.__setattr__(self, "_start", PairState(PairProblem(self._facts)))
        assert self._start is not None
        return self._start.copy()

    def satisfies(self, requirement: Requirement) -> bool:
        """Whether every table with these properties is in the required order.

        Raises
        ------
        ValueError
            If the requirement is not a list of ordering entries.

        Examples
        --------
        >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")], [("a", "asc"), ("c", "asc")]])
        >>> known.satisfies([("a", "asc"), ("c", "asc"), ("b", "asc")])
        True
        """
        return self._counterexample(ordering(requirement)) is None

    def satisfied_length(self, requirement: Requirement) -> int:
        """The number of leading entries of a requirement that the rows are in order of.

        Examples
        --------
        >>> OrderingProperties(orderings=[[("a", "asc")]]).satisfied_length([("a", "asc"), ("b", "asc")])
        1
        """
        broken = self._counterexample(items := ordering(requirement))
        return len(items) if broken is None else broken[0]

    def witness(self, requirement: Requirement) -> Witness | None:
        """Two rows that have every property and break a requirement; None if it is satisfied.

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
        """The first entry that two rows can break, and what is known of those rows.

        Source: ``docs/order.md`` section 2, the tie closure; where functions of several arguments leave choices open, a search.
        """
        state = self.pair_state()
        for index, item in enumerate(items):
            if state.impossible:
                return None
            broken = violations(item.allowed)
            if state.column_outcomes(item.column) & broken:
                rows = state.copy()
                rows.restrict_column(item.column, broken)
                found = find_rows(rows)
                if found is not None:
                    return index, rows if found is UNDECIDED else found
            state.restrict_column(item.column, TIES)
        return None

    def satisfies_set(self, columns: Iterable[Column]) -> tuple[Column, ...] | None:
        """An order of the columns in which they lead, so that equal rows are neighbours; None if there is none.

        Columns that tie with what is before them come where they are found. The directions are those that happen to hold.

        Source: ``docs/order.md`` section 2: take any available column, no search among permutations.

        Examples
        --------
        >>> known = OrderingProperties(orderings=[[("a", "desc"), ("b", "asc")]])
        >>> known.satisfies_set(["b", "a"]), known.satisfies_set(["b"])
        (('a', 'b'), None)
        """
        wanted = dict.fromkeys(columns)
        order = [column for column in leading_order(self.pair_state(), wanted) if column in wanted]
        return tuple(order) if len(order) == len(wanted) else None

    def is_constant(self, column: Column) -> bool:
        """Whether a column has one value in all rows."""
        return self.determines((), (column,))

    def equivalent(self, first: Column, second: Column) -> bool:
        """Whether two columns are equal in every row."""
        return first == second or any(first in group and second in group for group in self.equivalences)

    def is_not_null(self, column: Column) -> bool:
        """Whether a column, or one that is equal to it, is known to be without null."""
        if self._present is None:
            known = {*self.not_null}
            equal = [group for group in self.equivalences if not known.isdisjoint(group)]
            object.__setattr__(self, "_present", known.union(*equal))
        assert self._present is not None
        return column in self._present

    def has_key(self, columns: Iterable[Column]) -> bool:
        """Whether no two rows are equal on all the columns.

        Examples
        --------
        >>> OrderingProperties(keys=[["id"]], functional_dependencies=[[["name"], ["id"]]]).has_key(["name", "day"])
        True
        """
        return find_rows(self._tied(columns)) is None

    def determines(self, determinant: Iterable[Column], dependent: Iterable[Column]) -> bool:
        """Whether rows that are equal on the first columns are equal on the second."""
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
        """Properties of the rows with other columns.

        Columns that are not kept become hidden: what they imply for the others stays.

        Parameters
        ----------
        mapping
            For each new column the old one that it is, or None if it is something else of which nothing is known.

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
        """Properties of the rows in opposite order.

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
        """These properties and further facts about the same rows.

        Examples
        --------
        >>> OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]]).add(constants=["a"]).satisfies([("b", "asc")])
        True
        """
        more = read_facts(constants, equivalences, orderings, functional_dependencies, keys, monotone, not_null, tuple(cases))
        return self if more == SequenceFacts() else OrderingProperties.of(merged(self._facts, more))

    def meet(self, other: OrderingProperties) -> OrderingProperties:
        """The facts of both sides together: rows that have both properties, as when frames are zipped.

        Hidden columns of the two sides are kept apart.
        """
        return OrderingProperties.of(facts_of_both(self._facts, other._facts))

    def join(self, other: OrderingProperties) -> OrderingProperties:
        """The facts that hold on both sides: rows that have one of the two properties, it is not known which.

        No requirement is satisfied that one side does not satisfy.

        Examples
        --------
        >>> ascending = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
        >>> either = ascending.join(OrderingProperties(orderings=[[("a", "asc")]]))
        >>> either.satisfies([("a", "asc")]), either.satisfies([("a", "asc"), ("b", "asc")])
        (True, False)
        """
        return self if self == other else OrderingProperties.of(facts_of_either(self._facts, other._facts, self.common_orderings(other)))

    def common_orderings(self, other: OrderingProperties) -> tuple[Ordering, ...]:
        """Orderings of one side as far as the other side has them too; where both have an ordering that neither states, it is not found."""
        result = []
        for known, partner in ((self, other), (other, self)):
            for items in known.orderings:
                shown = tuple(itertools.takewhile(lambda item: not isinstance(item.column, Hidden), items))
                result.append(shown[: partner.satisfied_length(shown)])
        return tuple(filter(None, dict.fromkeys(result)))


# Everything known of a relation's rows before they are computed: order and dependencies, what a true mask adds, bounds of values.

# Smallest and largest value of a column that has neither missing values nor NaN.
ValueBounds = tuple[Any, Any]


@attrs.frozen
class RelationProperties:
    """Properties of a node's rows; columns are positions.

    Parameters
    ----------
    order
        Order, constants, equal columns, dependencies and keys of the row sequence.
    where
        For int columns that are masks: facts that hold among the rows where the column is true.
    bounds
        Smallest and largest value of columns that have no missing values and no NaN, for any part of the rows.

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
        """True when nothing is known."""
        return self.order.facts == SequenceFacts() and not self.where and not self.bounds

    def project(self, origins: Sequence[int | None]) -> RelationProperties:
        """Properties of rows whose column ``i`` is the column ``origins[i]`` of these, or something unknown where that is None."""
        if self.says_nothing:
            return self
        places = {place: origin for place, origin in enumerate(origins) if origin is not None}
        where: dict[int, SequenceFacts] = {}
        if self.where and list(places.items()) == [(p, p) for p in range(len(origins))]:
            where = dict(self.where)
        bounds = {place: self.bounds[origin] for place, origin in places.items() if origin in self.bounds}
        return RelationProperties(self.order.project(dict(enumerate(origins))), where, bounds)

    @classmethod
    def side_by_side(cls, inputs: Sequence[RelationProperties], widths: Sequence[int]) -> RelationProperties:
        """Properties of the columns of several inputs, of so many columns each, taken as one row; they are brought together at once."""
        starts = [*accumulate(widths, initial=0)]
        telling = [(place, rows) for place, rows in enumerate(inputs) if place and not rows.says_nothing]
        if not telling:
            return inputs[0]
        shifted = [moved_right(rows.order.facts, starts[place], place) for place, rows in telling]
        order = OrderingProperties.of(merged_all([inputs[0].order.facts, *shifted]))
        bounds = {column + starts[place]: found for place, rows in [(0, inputs[0]), *telling] for column, found in rows.bounds.items()}
        return cls(order, inputs[0].where, bounds)

    def reordered(self, order: OrderingProperties) -> RelationProperties:
        """The same values in an order of which other things are known."""
        return attrs.evolve(self, order=order)


def moved_right(facts: SequenceFacts, start: int, place: int) -> SequenceFacts:
    """Facts about columns that stand further right, behind those of other inputs; hidden ones are told from those of the others by the place."""

    def moved(column: Column) -> Column:
        return Hidden((f"{place:06}", column.number)) if isinstance(column, Hidden) else column + start  # type: ignore[operator]

    return rename_facts(facts, moved)


def requirement(by: Sequence[tuple[int, bool]]) -> list[tuple[int, str]]:
    """A sort's columns and directions as a requirement.

    Examples
    --------
    >>> requirement([(2, True), (0, False)])
    [(2, 'asc'), (0, 'desc')]
    """
    return [(position, "asc" if ascending else "desc") for position, ascending in by]
