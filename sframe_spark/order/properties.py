"""OrderingProperties: what is known about the order of a row sequence, its constants, equal columns, dependencies and keys."""

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
    """What is known about a sequence of rows; immutable, hashable, always in normal form.

    Every fact holds for the whole row sequence. A column is any hashable value. Null equals null; an entry of an ordering without a null
    placement takes null as the smallest value.

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
        self._normalize(read_facts(constants, equivalences, orderings, functional_dependencies, keys, monotone, not_null))

    @classmethod
    def of(cls, facts: SequenceFacts) -> OrderingProperties:
        """Properties with the given facts, which are brought to normal form."""
        made = object.__new__(cls)
        made._normalize(facts)
        return made

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
        """All facts, hidden columns and cases included."""
        return self._facts

    @property
    def constants(self) -> tuple[Column, ...]:
        """Columns with a single value; of a group of equal columns, only the representative."""
        return tuple(column for column in self._facts.constants if not isinstance(column, Hidden))

    @property
    def equivalences(self) -> tuple[tuple[Column, ...], ...]:
        """Groups of equal columns, each with its representative first."""
        return self._facts.equivalences

    @property
    def orderings(self) -> tuple[Ordering, ...]:
        """The orderings; an entry may be a column that is no longer visible."""
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
        """Columns without null; of a group of equal columns, only the representative."""
        return tuple(column for column in self._facts.not_null if not isinstance(column, Hidden))

    @property
    def at_most_one_row(self) -> bool:
        """Whether there is at most one row."""
        return () in self._facts.keys

    def pair_state(self) -> PairState:
        """What is known about any two rows; a copy that the caller may refine."""
        if self._start is None:
            object.__setattr__(self, "_start", PairState(PairProblem(self._facts)))
        assert self._start is not None
        return self._start.copy()

    def satisfies(self, requirement: Requirement) -> bool:
        """Return whether every table with these properties is in the required order.

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
        """The number of leading entries of a requirement that the rows satisfy.

        Examples
        --------
        >>> OrderingProperties(orderings=[[("a", "asc")]]).satisfied_length([("a", "asc"), ("b", "asc")])
        1
        """
        broken = self._counterexample(items := ordering(requirement))
        return len(items) if broken is None else broken[0]

    def witness(self, requirement: Requirement) -> Witness | None:
        """Two rows that have all these properties and violate a requirement; None if it is satisfied.

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
        """The first entry that two rows can violate, and what is known about those rows.

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
                solution = find_rows(rows)
                if solution is not None:
                    return index, rows if solution is UNDECIDED else solution
            state.restrict_column(item.column, TIES)
        return None

    def satisfies_set(self, columns: Iterable[Column]) -> tuple[Column, ...] | None:
        """An order of the columns in which rows that are equal on all of them are adjacent; None if there is none.

        Columns that tie given the columns before them may come anywhere. The directions are those that happen to hold.

        Source: ``docs/order.md`` section 2: take any available column, no search among permutations.

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
        """Return whether a column has one value in all rows."""
        return self.determines((), (column,))

    def equivalent(self, first: Column, second: Column) -> bool:
        """Return whether two columns are equal in every row."""
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
        """Return whether no two rows are equal on all the columns.

        Examples
        --------
        >>> OrderingProperties(keys=[["id"]], functional_dependencies=[[["name"], ["id"]]]).has_key(["name", "day"])
        True
        """
        return find_rows(self._tied(columns)) is None

    def determines(self, determinant: Iterable[Column], dependent: Iterable[Column]) -> bool:
        """Return whether rows that are equal on the first columns are equal on the second."""
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
        """Properties of the rows after a projection.

        Dropped columns become hidden columns, because they may still link others.

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
        """These properties together with further facts about the same rows.

        Examples
        --------
        >>> OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]]).add(constants=["a"]).satisfies([("b", "asc")])
        True
        """
        more = read_facts(constants, equivalences, orderings, functional_dependencies, keys, monotone, not_null, tuple(cases))
        return self if more == SequenceFacts() else OrderingProperties.of(merged(self._facts, more))

    def meet(self, other: OrderingProperties) -> OrderingProperties:
        """The facts of both sides together: rows that have both properties, as when frames are zipped.

        Hidden columns of the two sides stay distinct.
        """
        return OrderingProperties.of(facts_of_both(self._facts, other._facts))

    def join(self, other: OrderingProperties) -> OrderingProperties:
        """The facts that hold on both sides: properties of rows that have those of one side, without knowing which.

        It satisfies no requirement that one side does not satisfy.

        Examples
        --------
        >>> ascending = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
        >>> either = ascending.join(OrderingProperties(orderings=[[("a", "asc")]]))
        >>> either.satisfies([("a", "asc")]), either.satisfies([("a", "asc"), ("b", "asc")])
        (True, False)
        """
        return self if self == other else OrderingProperties.of(facts_of_either(self._facts, other._facts, self.common_orderings(other)))

    def common_orderings(self, other: OrderingProperties) -> tuple[Ordering, ...]:
        """Orderings of one side as far as the other side has them too; common orderings that neither side states are not found."""
        result = []
        for known, partner in ((self, other), (other, self)):
            for items in known.orderings:
                visible = tuple(itertools.takewhile(lambda item: not isinstance(item.column, Hidden), items))
                result.append(visible[: partner.satisfied_length(visible)])
        return tuple(filter(None, dict.fromkeys(result)))


# Smallest and largest value of a column that has neither missing values nor NaN.
ValueBounds = tuple[Any, Any]


@attrs.frozen
class RelationProperties:
    """Everything known about a node's rows before they are computed; columns are positions.

    Parameters
    ----------
    order
        Order, constants, equal columns, dependencies and keys of the row sequence.
    where
        For int columns used as masks: additional facts about the rows where the column is true.
    bounds
        Smallest and largest value of columns without missing values and NaN; they bound any part of the rows.

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
        """Properties of rows whose column ``i`` copies the column ``origins[i]`` of these, or is unknown if that is None."""
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
        """Properties of rows with the columns of several zipped inputs, which have the given widths."""
        starts = [*accumulate(widths, initial=0)]
        informative = [(slot, rows) for slot, rows in enumerate(inputs) if slot and not rows.says_nothing]
        if not informative:
            return inputs[0]
        shifted = [shifted_facts(rows.order.facts, starts[slot], slot) for slot, rows in informative]
        order = OrderingProperties.of(merged_all([inputs[0].order.facts, *shifted]))
        bounds = {column + starts[slot]: limits for slot, rows in [(0, inputs[0]), *informative] for column, limits in rows.bounds.items()}
        return cls(order, inputs[0].where, bounds)

    def reordered(self, order: OrderingProperties) -> RelationProperties:
        """These properties with another order: the values are the same."""
        return attrs.evolve(self, order=order)


def shifted_facts(facts: SequenceFacts, start: int, slot: int) -> SequenceFacts:
    """Facts with columns shifted to the right, after those of other inputs; the slot keeps hidden columns of different inputs distinct."""

    def moved(column: Column) -> Column:
        return Hidden((f"{slot:06}", column.number)) if isinstance(column, Hidden) else column + start  # type: ignore[operator]

    return rename_facts(facts, moved)


def requirement(by: Sequence[tuple[int, bool]]) -> list[tuple[int, str]]:
    """Convert a sort's columns and directions to a requirement.

    Examples
    --------
    >>> requirement([(2, True), (0, False)])
    [(2, 'asc'), (0, 'desc')]
    """
    return [(position, "asc" if ascending else "desc") for position, ascending in by]
