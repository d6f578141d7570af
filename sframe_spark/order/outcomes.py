"""How two rows can compare in one column, as sets of outcomes held in the bits of an integer.

Every property of a row sequence that is used here speaks about pairs of rows, the earlier one and the later one. In one
column such a pair has exactly one of six outcomes. A set of outcomes is an ``int``, so that intersection is ``&``.

Source: ``docs/order.md`` section 2 (allowed sets). Ties are split into "both null" and "equal values", because a
function of several arguments is null as soon as one argument is.
"""

from __future__ import annotations

from typing import Literal

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

# Values that show an outcome: the earlier row, then the later row.
WITNESS_VALUES: dict[int, tuple[int | None, int | None]] = {
    LESS: (0, 1),
    GREATER: (1, 0),
    NULL_TO_VALUE: (None, 0),
    VALUE_TO_NULL: (0, None),
    EQUAL: (0, 0),
    BOTH_NULL: (None, None),
}


def allowed_outcomes(direction: Direction, nulls: NullPlacement) -> int:
    """Outcomes that an entry of an ordering allows while everything before it ties.

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
    """The outcomes seen when the two rows change places.

    Examples
    --------
    >>> exchange_rows(LESS | NULL_TO_VALUE) == GREATER | VALUE_TO_NULL
    True
    """
    earlier, later = outcomes & (LESS | NULL_TO_VALUE), outcomes & (GREATER | VALUE_TO_NULL)
    return (outcomes & TIES) | earlier << 1 | later >> 1


def one_of(outcomes: int) -> int:
    """One outcome of a set, by preference a difference: a difference triggers no dependency and no later entry.

    Examples
    --------
    >>> one_of(EQUAL | GREATER) == GREATER
    True
    """
    return outcomes & -outcomes


def in_one_direction(outcomes: int) -> bool:
    """Whether rows with these outcomes stand in some order: no difference is possible in both directions.

    Examples
    --------
    >>> in_one_direction(LESS | NULL_TO_VALUE | EQUAL), in_one_direction(LESS | GREATER)
    (True, False)
    """
    both_values, both_nulls = LESS | GREATER, NULL_TO_VALUE | VALUE_TO_NULL
    return outcomes & both_values != both_values and outcomes & both_nulls != both_nulls
