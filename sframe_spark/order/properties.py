"""Known facts about the rows of a relation: :class:`OrderingProperties` for a row sequence, :class:`RelationProperties` for a plan node."""

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
        """Return the facts of both together: properties of rows for which both hold, as when two frames are zipped.

        Hidden columns of the two sides stay distinct.
        """
        return OrderingProperties.of(facts_of_both(self._facts, other._facts))

    def join(self, other: OrderingProperties) -> OrderingProperties:
        """Return properties of rows for which the facts of one of both sides hold, without knowing which side.

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

        Common orderings that neither side states, but that follow from its facts, are not found.
        """
        result = []
        for known, partner in ((self, other), (other, self)):
            for items in known.orderings:
                visible = tuple(itertools.takewhile(lambda item: not isinstance(item.column, Hidden), items))
                result.append(visible[: partner.satisfied_length(visible)])
        return tuple(filter(None, dict.fromkeys(result)))


# The smallest and the largest value of a column without missing values and NaN.
ValueBounds = tuple[Any, Any]


@attrs.frozen
class RelationProperties:
    """All that is known about the rows of a plan node before they are computed; columns are given by position.

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
        """Return the properties of rows whose column ``i`` copies column ``origins[i]`` of these rows; if that is None, nothing is known about it."""
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
        order = OrderingProperties.of(merged_all([inputs[0].order.facts, *shifted]))
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
