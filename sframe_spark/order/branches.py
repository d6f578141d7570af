"""Facts of two row sequences brought together: both hold, or one of them holds for each pair of rows.

A hidden *side* column says where two rows come from: null stands for the left side, a value for the right side, so that each of the four
combinations is one outcome.
"""

from __future__ import annotations

from collections.abc import Iterable

from sframe_spark.order.facts import Case, Column, Hidden, Ordering, SequenceFacts, merged
from sframe_spark.order.outcomes import (
    BOTH_NULL,
    EQUAL,
    GREATER,
    LESS,
    NULL_TO_VALUE,
    TIES,
    VALUE_TO_NULL,
)
from sframe_spark.order.rename import rename_facts

SIDE = Hidden("side")


def right_side(facts: SequenceFacts) -> SequenceFacts:
    """Facts whose hidden columns cannot be taken for those of another side.

    Examples
    --------
    >>> right_side(SequenceFacts(keys=((Hidden(0),),))).keys
    ((hidden ('right', 0),),)
    """
    return rename_facts(facts, lambda column: Hidden(("right", column.number)) if isinstance(column, Hidden) else column)


def facts_of_both(left: SequenceFacts, right: SequenceFacts) -> SequenceFacts:
    """All facts of both sides."""
    return merged(left, right_side(right))


def facts_of_either(left: SequenceFacts, right: SequenceFacts, orderings: Iterable[Ordering]) -> SequenceFacts:
    """Facts of rows that have the facts of one side.

    Parameters
    ----------
    left, right
        The two sides.
    orderings
        Orderings that hold on both; they stay when cases become too many.
    """
    return common_row_facts(left, right)._replace(constants=(SIDE,), orderings=tuple(orderings), cases=side_cases(left, right))


def facts_of_rows_of_both(left: SequenceFacts, right: SequenceFacts, left_first: SequenceFacts, right_first: SequenceFacts | None) -> SequenceFacts:
    """Facts of a sequence that holds the rows of both sides, each side in its order.

    Parameters
    ----------
    left, right
        Facts of pairs of rows of one side.
    left_first
        What holds for a row of the left and a later row of the right.
    right_first
        What holds for a row of the right and a later row of the left; None if there are no such pairs.
    """
    impossible = LESS | GREATER | (VALUE_TO_NULL if right_first is None else 0)
    cases = (
        *side_cases(left, right),
        Case(SIDE, NULL_TO_VALUE, left_first),
        Case(SIDE, VALUE_TO_NULL, right_first or SequenceFacts()),
        Case(SIDE, impossible, SequenceFacts(keys=((),))),
    )
    return common_row_facts(left, right)._replace(cases=cases)


def side_cases(left: SequenceFacts, right: SequenceFacts) -> tuple[Case, ...]:
    """The facts of each side, for pairs of rows that are both on that side."""
    if left == right:
        return (Case(SIDE, TIES, left),)
    return Case(SIDE, BOTH_NULL, left), Case(SIDE, EQUAL, right_side(right))


def common_row_facts(left: SequenceFacts, right: SequenceFacts) -> SequenceFacts:
    """Facts about single rows that hold on both sides.

    Examples
    --------
    >>> common_row_facts(SequenceFacts(equivalences=(("a", "b", "c"),)), SequenceFacts(equivalences=(("b", "c", "d"),))).equivalences
    (('b', 'c'),)
    """
    groups: dict[tuple[int, int], list[Column]] = {}
    places = {column: number for number, group in enumerate(right.equivalences) for column in group}
    for number, group in enumerate(left.equivalences):
        for column in group:
            if column in places:
                groups.setdefault((number, places[column]), []).append(column)
    without_null = _without_null(right)
    return SequenceFacts(
        equivalences=tuple(tuple(group) for group in groups.values() if len(group) > 1),
        not_null=tuple(column for column in _without_null(left) if column in without_null and not isinstance(column, Hidden)),
    )


def _without_null(facts: SequenceFacts) -> dict[Column, None]:
    """All columns without null, not only the representatives."""
    declared = dict.fromkeys(facts.not_null)
    for group in facts.equivalences:
        if group[0] in declared:
            declared.update(dict.fromkeys(group))
    return declared
