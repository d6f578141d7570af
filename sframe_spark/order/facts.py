"""The facts that order properties consist of: types, reading from plain lists, merging, and how two rows can compare in a column."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

# How two rows can compare in one column; sets of outcomes are bit masks.

Direction = Literal["asc", "desc", "any"]
NullPlacement = Literal["nulls_first", "nulls_last"]

LESS = 1
GREATER = 2
NULL_TO_VALUE = 4
VALUE_TO_NULL = 8
EQUAL = 16
BOTH_NULL = 32

TIES = EQUAL | BOTH_NULL
ALL = 63
NO_NULLS = LESS | GREATER | EQUAL
OUTCOMES = (LESS, GREATER, NULL_TO_VALUE, VALUE_TO_NULL, EQUAL, BOTH_NULL)

# Example values for an outcome: the earlier row, then the later row.
WITNESS_VALUES: dict[int, tuple[int | None, int | None]] = {
    LESS: (0, 1),
    GREATER: (1, 0),
    NULL_TO_VALUE: (None, 0),
    VALUE_TO_NULL: (0, None),
    EQUAL: (0, 0),
    BOTH_NULL: (None, None),
}


def allowed_outcomes(direction: Direction, nulls: NullPlacement) -> int:
    """Outcomes that an entry of an ordering allows if all entries before it tie.

    Examples
    --------
    >>> allowed_outcomes("asc", "nulls_first") == LESS | NULL_TO_VALUE | TIES
    True
    """
    if direction == "any":
        return ALL
    values = LESS if direction == "asc" else GREATER
    nulls_outcome = NULL_TO_VALUE if nulls == "nulls_first" else VALUE_TO_NULL
    return values | nulls_outcome | TIES


def negate(outcomes: int) -> int:
    """The outcomes of a strictly decreasing function of the column: values swap, nulls stay null.

    Examples
    --------
    >>> negate(LESS | NULL_TO_VALUE) == GREATER | NULL_TO_VALUE
    True
    """
    return (outcomes & ~(LESS | GREATER)) | (outcomes & LESS) << 1 | (outcomes & GREATER) >> 1


def exchange_rows(outcomes: int) -> int:
    """The outcomes after swapping the two rows.

    Examples
    --------
    >>> exchange_rows(LESS | NULL_TO_VALUE) == GREATER | VALUE_TO_NULL
    True
    """
    earlier, later = outcomes & (LESS | NULL_TO_VALUE), outcomes & (GREATER | VALUE_TO_NULL)
    return (outcomes & TIES) | earlier << 1 | later >> 1


def one_of(outcomes: int) -> int:
    """One outcome of a set, a difference if possible: a difference triggers no dependency and no later entry.

    Examples
    --------
    >>> one_of(EQUAL | GREATER) == GREATER
    True
    """
    return outcomes & -outcomes


def in_one_direction(outcomes: int) -> bool:
    """Return whether rows with these outcomes are ordered: they differ in at most one direction.

    Examples
    --------
    >>> in_one_direction(LESS | NULL_TO_VALUE | EQUAL), in_one_direction(LESS | GREATER)
    (True, False)
    """
    both_values, both_nulls = LESS | GREATER, NULL_TO_VALUE | VALUE_TO_NULL
    return outcomes & both_values != both_values and outcomes & both_nulls != both_nulls


Column = Hashable
Effect = Literal["inc", "dec", "fixed"]

_DIRECTIONS = ("asc", "desc", "any")
_PLACEMENTS = ("nulls_first", "nulls_last")
_EFFECTS = ("inc", "dec", "fixed")


class Hidden(NamedTuple):
    """A column that a relation no longer has, but that its properties still mention.

    A dropped column may still link the remaining ones. Hidden columns are
    numbered in order of appearance, so equal properties compare equal.
    """

    number: Hashable

    def __repr__(self) -> str:
        return f"hidden {self.number}"


class OrderingItem(NamedTuple):
    """One entry of an ordering.

    ``any`` as direction says only "within equal values of this column": ``[(g, any), (m, asc)]`` means that ``m``
    ascends among the rows of each value of ``g``, wherever those rows are.

    Examples
    --------
    >>> ordering_item(["price", "desc"])
    OrderingItem(column='price', direction='desc', nulls='nulls_last')
    """

    column: Column
    direction: Direction = "asc"
    nulls: NullPlacement = "nulls_first"

    @property
    def allowed(self) -> int:
        """Outcomes that the entry allows."""
        return allowed_outcomes(self.direction, self.nulls)

    def reversed(self) -> OrderingItem:
        """The entry for the rows in opposite order."""
        return item_allowing(self.column, exchange_rows(self.allowed))


Ordering = tuple[OrderingItem, ...]


class FunctionalDependency(NamedTuple):
    """Rows equal on ``determinant`` are equal on ``dependent``."""

    determinant: tuple[Column, ...]
    dependent: tuple[Column, ...]


class Monotone(NamedTuple):
    """``column`` is a function of its arguments, monotone in each.

    Parameters
    ----------
    column
        The function's value; null exactly where an argument is null.
    arguments
        Pairs of column and effect. ``inc``: not smaller when the argument grows; ``dec``: not larger; ``fixed``: the
        other effects hold only among rows that are equal in this argument.
    strict
        Whether a growing ``inc`` (or falling ``dec``) argument makes the value larger, if the others do not make it smaller.
    """

    column: Column
    arguments: tuple[tuple[Column, Effect], ...]
    strict: bool


class Case(NamedTuple):
    """Facts that hold only for pairs of rows that compare in a certain way in one column.

    Sorting is the standard example: pairs that keep their old order still have the old properties.

    Parameters
    ----------
    column
        The column that decides.
    outcomes
        Set of outcomes (bits) for which ``facts`` hold.
    facts
        Facts that hold for them, with the two rows in output order.
    """

    column: Column
    outcomes: int
    facts: SequenceFacts


class SequenceFacts(NamedTuple):
    """All facts about a row sequence; each is a statement about pairs of rows (or single rows)."""

    constants: tuple[Column, ...] = ()
    equivalences: tuple[tuple[Column, ...], ...] = ()
    orderings: tuple[Ordering, ...] = ()
    functional_dependencies: tuple[FunctionalDependency, ...] = ()
    keys: tuple[tuple[Column, ...], ...] = ()
    monotone: tuple[Monotone, ...] = ()
    not_null: tuple[Column, ...] = ()
    cases: tuple[Case, ...] = ()


def merged(first: SequenceFacts, second: SequenceFacts) -> SequenceFacts:
    """The facts of both.

    Examples
    --------
    >>> merged(SequenceFacts(keys=(("a",),)), SequenceFacts(keys=(("b",),))).keys
    (('a',), ('b',))
    """
    return merged_all([first, second])


def merged_all(parts: Sequence[SequenceFacts]) -> SequenceFacts:
    """The facts of several."""
    return SequenceFacts(*(tuple(chain.from_iterable(field)) for field in zip(*parts, strict=True)))


def item_allowing(column: Column, allowed: int) -> OrderingItem:
    """The entry with exactly these allowed outcomes."""
    for direction in _DIRECTIONS:
        for nulls in _PLACEMENTS:
            if allowed_outcomes(direction, nulls) == allowed:  # type: ignore[arg-type]
                return OrderingItem(column, direction, nulls)  # type: ignore[arg-type]
    raise ValueError(f"no ordering entry allows exactly the outcomes {allowed:06b}")


def ordering_item(value: Sequence[Any]) -> OrderingItem:
    """Read ``(column, direction)`` or ``(column, direction, nulls)``; null is the smallest value unless said."""
    if isinstance(value, OrderingItem):
        return value
    if isinstance(value, str) or not isinstance(value, Sequence) or not 2 <= len(value) <= 3:
        raise ValueError(f"an ordering entry is (column, direction[, null placement]), not {value!r}")
    column, direction = value[0], value[1]
    if direction not in _DIRECTIONS:
        raise ValueError(f"direction {direction!r} is not one of {', '.join(_DIRECTIONS)}")
    nulls = value[2] if len(value) == 3 else ("nulls_last" if direction == "desc" else "nulls_first")
    if nulls not in _PLACEMENTS:
        raise ValueError(f"null placement {nulls!r} is not one of {', '.join(_PLACEMENTS)}")
    return OrderingItem(column, direction, "nulls_first" if direction == "any" else nulls)  # type: ignore[arg-type]


def ordering(items: Iterable[Sequence[Any]]) -> Ordering:
    """Read a list of entries."""
    return tuple(ordering_item(item) for item in items)


def functional_dependency(value: Sequence[Iterable[Column]]) -> FunctionalDependency:
    """Read ``[[determinant ...], [dependent ...]]``."""
    determinant, dependent = value
    return FunctionalDependency(tuple(determinant), tuple(dependent))


def monotone(value: Any) -> Monotone:
    """Read a :class:`Monotone` or ``{"col": f, "args": [[x, "inc"], ...], "strict": bool}``.

    Examples
    --------
    >>> monotone({"col": "year", "args": [["time", "inc"]], "strict": False})
    Monotone(column='year', arguments=(('time', 'inc'),), strict=False)
    """
    if isinstance(value, Monotone):
        return value
    arguments = tuple((column, effect) for column, effect in value["args"])
    for _, effect in arguments:
        if effect not in _EFFECTS:
            raise ValueError(f"effect {effect!r} is not one of {', '.join(_EFFECTS)}")
    return Monotone(value["col"], arguments, bool(value["strict"]))


def read_facts(
    constants: Iterable[Column],
    equivalences: Iterable[Iterable[Column]],
    orderings: Iterable[Iterable[Sequence[Any]]],
    functional_dependencies: Iterable[Sequence[Iterable[Column]]],
    keys: Iterable[Iterable[Column]],
    functions: Iterable[Monotone | Mapping[str, Any]],
    not_null: Iterable[Column],
    cases: tuple[Case, ...] = (),
) -> SequenceFacts:
    """Read facts written as lists.

    Raises
    ------
    ValueError
        If an entry of an ordering or an effect is none.
    """
    return SequenceFacts(
        constants=tuple(constants),
        equivalences=tuple(map(tuple, equivalences)),
        orderings=tuple(map(ordering, orderings)),
        functional_dependencies=tuple(map(functional_dependency, functional_dependencies)),
        keys=tuple(map(tuple, keys)),
        monotone=tuple(map(monotone, functions)),
        not_null=tuple(not_null),
        cases=cases,
    )


def flip(effect: Effect) -> Effect:
    """The effect of the argument's negative.

    Examples
    --------
    >>> flip("inc"), flip("fixed")
    ('dec', 'fixed')
    """
    return {"inc": "dec", "dec": "inc"}.get(effect, effect)  # type: ignore[return-value]


def column_sort_key(column: Column) -> tuple[bool, str, int, str]:
    """A key that orders columns of any kind, the same in every process; hidden columns come last.

    Examples
    --------
    >>> sorted([10, 9, "b", Hidden(0), "a"], key=column_sort_key)
    [9, 10, 'a', 'b', hidden 0]
    """
    if isinstance(column, Hidden):
        return (True, *column_sort_key(column.number)[1:])
    if isinstance(column, int):
        return False, "int", column, ""
    return False, type(column).__name__, 0, column if isinstance(column, str) else repr(column)
