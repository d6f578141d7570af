"""Types of the facts about the order of a row sequence, with functions that read facts from plain lists and merge them.

A fact restricts how two rows can compare in columns: the *outcomes* of a column.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

# Outcomes: how an earlier and a later row can compare in one column. A set of outcomes is the bitwise OR of its members.

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

# Example values for each outcome: those of the earlier row and of the later row.
WITNESS_VALUES: dict[int, tuple[int | None, int | None]] = {
    LESS: (0, 1),
    GREATER: (1, 0),
    NULL_TO_VALUE: (None, 0),
    VALUE_TO_NULL: (0, None),
    EQUAL: (0, 0),
    BOTH_NULL: (None, None),
}


def allowed_outcomes(direction: Direction, nulls: NullPlacement) -> int:
    """Return the outcomes that an entry of an ordering allows if all entries before it tie.

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
    """Return the outcomes of a strictly decreasing function of a column with the given outcomes: LESS and GREATER are swapped.

    Examples
    --------
    >>> negate(LESS | NULL_TO_VALUE) == GREATER | NULL_TO_VALUE
    True
    """
    return (outcomes & ~(LESS | GREATER)) | (outcomes & LESS) << 1 | (outcomes & GREATER) >> 1


def exchange_rows(outcomes: int) -> int:
    """Return the outcomes after the two rows are swapped.

    Examples
    --------
    >>> exchange_rows(LESS | NULL_TO_VALUE) == GREATER | VALUE_TO_NULL
    True
    """
    earlier, later = outcomes & (LESS | NULL_TO_VALUE), outcomes & (GREATER | VALUE_TO_NULL)
    return (outcomes & TIES) | earlier << 1 | later >> 1


def one_of(outcomes: int) -> int:
    """Return one outcome of a set, a tie only if there is no other: only a tie activates dependencies and later entries of orderings.

    Examples
    --------
    >>> one_of(EQUAL | GREATER) == GREATER
    True
    """
    return outcomes & -outcomes


def in_one_direction(outcomes: int) -> bool:
    """Return whether a column with these outcomes is sorted: values only rise or only fall, and nulls only come first or only last.

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
    """A column that a relation no longer has, but that its order facts still mention.

    A dropped column may still link the remaining ones: sorting by ``(a, b)`` says something about ``b`` after ``a`` is dropped.
    :class:`~sframe_spark.order.properties.OrderingProperties` numbers hidden columns in order of appearance, so that equal facts compare equal.
    """

    number: Hashable

    def __repr__(self) -> str:
        return f"hidden {self.number}"


class OrderingItem(NamedTuple):
    """One entry of an ordering: a column, its direction, and where its nulls are.

    The direction ``any`` does not order the rows by the column, but limits the entries after it to rows with equal values: ``[(g, any), (m, asc)]``
    means that ``m`` ascends among the rows of each value of ``g``, which need not be adjacent.

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
        """The outcomes that the entry allows if all entries before it tie."""
        return allowed_outcomes(self.direction, self.nulls)

    def reversed(self) -> OrderingItem:
        """Return the entry for the same rows in opposite order."""
        return item_allowing(self.column, exchange_rows(self.allowed))


Ordering = tuple[OrderingItem, ...]


class FunctionalDependency(NamedTuple):
    """The fact that rows with equal values in all columns of ``determinant`` have equal values in all columns of ``dependent``."""

    determinant: tuple[Column, ...]
    dependent: tuple[Column, ...]


class Monotone(NamedTuple):
    """The fact that a column is a function of other columns, and monotone in each of them, except ``fixed`` ones.

    Parameters
    ----------
    column
        The function's value; null exactly where an argument is null.
    arguments
        Pairs of a column and its effect. ``inc``: the value does not fall when the argument grows. ``dec``: the value does not grow when the
        argument grows. ``fixed``: the other effects hold only among rows that are equal in this argument.
    strict
        Whether the value grows whenever an ``inc`` argument grows or a ``dec`` argument falls, and no other argument changes it the other way.
    """

    column: Column
    arguments: tuple[tuple[Column, Effect], ...]
    strict: bool


class Case(NamedTuple):
    """Facts that hold only for pairs of rows that compare in a certain way in one column.

    Sorting is the standard example: for two rows whose relative order the sort keeps, the facts of the input still hold.

    Parameters
    ----------
    column
        The column whose outcome decides whether the facts hold.
    outcomes
        The outcomes (a bit mask) for which ``facts`` hold.
    facts
        The facts, about the two rows in output order.
    """

    column: Column
    outcomes: int
    facts: SequenceFacts


class SequenceFacts(NamedTuple):
    """All facts about a row sequence. Each says something about every pair of its rows, or about every row."""

    constants: tuple[Column, ...] = ()
    equivalences: tuple[tuple[Column, ...], ...] = ()
    orderings: tuple[Ordering, ...] = ()
    functional_dependencies: tuple[FunctionalDependency, ...] = ()
    keys: tuple[tuple[Column, ...], ...] = ()
    monotone: tuple[Monotone, ...] = ()
    not_null: tuple[Column, ...] = ()
    cases: tuple[Case, ...] = ()


def merged(first: SequenceFacts, second: SequenceFacts) -> SequenceFacts:
    """Return the facts of two collections together.

    Examples
    --------
    >>> merged(SequenceFacts(keys=(("a",),)), SequenceFacts(keys=(("b",),))).keys
    (('a',), ('b',))
    """
    return merged_all([first, second])


def merged_all(parts: Sequence[SequenceFacts]) -> SequenceFacts:
    """Return the facts of several collections together."""
    return SequenceFacts(*(tuple(chain.from_iterable(field)) for field in zip(*parts, strict=True)))


def item_allowing(column: Column, allowed: int) -> OrderingItem:
    """Return the entry of an ordering that allows exactly the given outcomes.

    Raises
    ------
    ValueError
        If there is no such entry.
    """
    for direction in _DIRECTIONS:
        for nulls in _PLACEMENTS:
            if allowed_outcomes(direction, nulls) == allowed:  # type: ignore[arg-type]
                return OrderingItem(column, direction, nulls)  # type: ignore[arg-type]
    raise ValueError(f"no ordering entry allows exactly the outcomes {allowed:06b}")


def ordering_item(value: Sequence[Any]) -> OrderingItem:
    """Convert ``(column, direction)`` or ``(column, direction, nulls)`` to an entry; without ``nulls``, null counts as the smallest value.

    Raises
    ------
    ValueError
        If the value has another form, or the direction or the placement of nulls is unknown.
    """
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
    """Convert a list of entries to an ordering; see :func:`ordering_item`."""
    return tuple(ordering_item(item) for item in items)


def functional_dependency(value: Sequence[Iterable[Column]]) -> FunctionalDependency:
    """Convert ``[[determinant ...], [dependent ...]]`` to a functional dependency."""
    determinant, dependent = value
    return FunctionalDependency(tuple(determinant), tuple(dependent))


def monotone(value: Any) -> Monotone:
    """Convert ``{"col": f, "args": [[x, "inc"], ...], "strict": bool}`` to a :class:`Monotone`; one that is given is returned unchanged.

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
    """Convert facts written as plain lists.

    Raises
    ------
    ValueError
        If an entry of an ordering is invalid, or an effect is unknown.
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
    """Return the effect of an argument after its direction is reversed, as by negation.

    Examples
    --------
    >>> flip("inc"), flip("fixed")
    ('dec', 'fixed')
    """
    return {"inc": "dec", "dec": "inc"}.get(effect, effect)  # type: ignore[return-value]


def column_sort_key(column: Column) -> tuple[bool, str, int, str]:
    """Return a sort key that orders columns of any types, in the same way in every process; hidden columns come last.

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
