"""Joins whose left rows stay in order, each with its matches.

A hidden number for the left row and one for the right row say of two result rows how their origins stand to each other; the right number is
null where a left row has no match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sframe_spark.order.branches import right_side
from sframe_spark.order.facts import Case, Column, FunctionalDependency, Hidden, Monotone, OrderingItem, SequenceFacts, merged
from sframe_spark.order.outcomes import EQUAL, GREATER, LESS, NO_NULLS, NULL_TO_VALUE, VALUE_TO_NULL, NullPlacement
from sframe_spark.order.properties import OrderingProperties
from sframe_spark.order.rename import columns_of
from sframe_spark.order.rows import keys_that_determine
from sframe_spark.order.turned import turned_facts

_LEFT_ROW = Hidden("left row")
_RIGHT_ROW = Hidden("right row")

KeyPairs = Sequence[tuple[Column, Column]]


def join_inner(
    left: OrderingProperties,
    right: OrderingProperties,
    on: KeyPairs,
    left_columns: Sequence[Column],
    right_columns: Sequence[Column],
    matches_in_order: bool = False,
) -> OrderingProperties:
    """Properties of an inner join.

    Parameters
    ----------
    left, right
        Of the inputs, whose columns have different names.
    on
        Pairs of a left and a right column that are equal.
    left_columns, right_columns
        All columns of the inputs.
    matches_in_order
        The matches of one left row come in right order; otherwise in any order.

    Examples
    --------
    >>> left, right = OrderingProperties(orderings=[[("a", "asc")]]), OrderingProperties(keys=[["k"]])
    >>> joined = join_inner(left, right, [("a", "k")], ["a"], ["k", "v"])
    >>> joined.satisfies([("k", "asc"), ("v", "desc")])
    True
    """
    facts = merged(_left_facts(left, left_columns, matches_in_order), _matched_facts(right, right_columns))
    more = SequenceFacts(equivalences=tuple(on), not_null=(_LEFT_ROW, _RIGHT_ROW))
    return OrderingProperties.of(merged(facts, more))


def join_range(
    left: OrderingProperties,
    right: OrderingProperties,
    left_columns: Sequence[Column],
    right_columns: Sequence[Column],
    matches_in_order: bool = False,
) -> OrderingProperties:
    """Properties of a join by any other condition; see :func:`join_inner`.

    Examples
    --------
    >>> left = OrderingProperties(orderings=[[("a", "asc")]])
    >>> join_range(left, OrderingProperties(), ["a"], ["k"]).satisfies([("a", "asc")])
    True
    """
    return join_inner(left, right, (), left_columns, right_columns, matches_in_order)


def join_left(
    left: OrderingProperties,
    right: OrderingProperties,
    on: KeyPairs,
    left_columns: Sequence[Column],
    right_columns: Sequence[Column],
    matches_in_order: bool = False,
) -> OrderingProperties:
    """Properties of a left outer join: left rows without a match have null in the right columns; see :func:`join_inner`.

    Examples
    --------
    >>> left, right = OrderingProperties(orderings=[[("a", "asc")]]), OrderingProperties(keys=[["k"]], not_null=["k", "v"])
    >>> joined = join_left(left, right, [("a", "k")], ["a"], ["k", "v"])
    >>> joined.satisfies([("a", "asc"), ("v", "asc")]), joined.satisfies([("k", "asc")])
    (True, False)
    """
    facts = merged(_left_facts(left, left_columns, matches_in_order), _facts_with_filler(right, right_columns))
    matched = Case(_RIGHT_ROW, NO_NULLS, SequenceFacts(equivalences=tuple(on)))
    # Left rows that are equal on the keys have matches both or neither.
    one_matched = Case(_RIGHT_ROW, NULL_TO_VALUE | VALUE_TO_NULL, SequenceFacts(keys=(tuple(column for column, _ in on),)))
    return OrderingProperties.of(merged(facts, SequenceFacts(not_null=(_LEFT_ROW,), cases=(matched, one_matched))))


def join_semi(left: OrderingProperties, right: OrderingProperties, on: KeyPairs) -> OrderingProperties:
    """Properties of the left rows that have a match.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
    >>> join_semi(known, OrderingProperties(constants=["k"]), [("a", "k")]).satisfies([("b", "asc")])
    True
    """
    return left.add(constants=[column for column, partner in on if right.is_constant(partner)])


def asof_left(
    left: OrderingProperties,
    right: OrderingProperties,
    on: tuple[Column, Column],
    right_columns: Sequence[Column],
    by: KeyPairs = (),
    direction: Literal["backward", "forward", "nearest"] = "backward",
    tolerance: bool = False,
) -> OrderingProperties:
    """Properties of the left rows, each with one right row that is near in time, or null.

    Parameters
    ----------
    left, right
        Of the inputs, whose columns have different names.
    on
        The left and the right time.
    right_columns
        All columns of the right input.
    by
        Pairs of a left and a right column that must be equal.
    direction
        The last right row not after the left one, the first not before it, or the nearest.
    tolerance
        Right rows that are too far away do not match.

    Examples
    --------
    >>> left, right = OrderingProperties(orderings=[[("a", "asc")]]), OrderingProperties(orderings=[[("k", "asc")]])
    >>> asof_left(left, right, ("a", "k"), ["k", "v"]).satisfies([("k", "asc")])
    False
    >>> both = [known.add(not_null=["a", "k"]) for known in (left, right)]
    >>> asof_left(*both, ("a", "k"), ["k", "v"]).satisfies([("k", "asc")])
    True
    """
    facts = merged(left.facts, _facts_with_filler(right, right_columns))
    partners = [partner for _, partner in by]
    steps = _steps(right, on, by, "nulls_last" if direction == "forward" else "nulls_first")
    matched = SequenceFacts(equivalences=tuple(by), cases=steps if tolerance else ())
    if direction != "nearest":
        # Of several right rows with one time it is always the same one that is taken.
        matched = matched._replace(functional_dependencies=(FunctionalDependency((on[1], *partners), (_RIGHT_ROW,)),))
    one_match = FunctionalDependency((on[0], *(column for column, _ in by)), (_RIGHT_ROW,))
    cases = (Case(_RIGHT_ROW, NO_NULLS, matched), *(() if tolerance else steps))
    return OrderingProperties.of(merged(facts, SequenceFacts(functional_dependencies=(one_match,), cases=cases)))


def _steps(right: OrderingProperties, on: tuple[Column, Column], by: KeyPairs, nulls: NullPlacement) -> tuple[Case, Case]:
    """A later left time moves on to a later right time, and to a later right row if those are in order of time."""
    in_right_order = right.satisfies([*(OrderingItem(partner, "any") for _, partner in by), (on[1], "asc")])
    moving = (on[1], _RIGHT_ROW) if in_right_order else (on[1],)
    among_equal = [OrderingItem(column, "any") for column, _ in by]
    forth = SequenceFacts(orderings=tuple((*among_equal, OrderingItem(column, "asc", nulls)) for column in moving))
    return Case(on[0], LESS, forth), Case(on[0], GREATER, turned_facts(forth))


def _left_facts(left: OrderingProperties, columns: Sequence[Column], matches_in_order: bool) -> SequenceFacts:
    """What two result rows know of their left rows, which may be the same."""
    facts = keys_that_determine(left.facts, (_LEFT_ROW,))
    within = (OrderingItem(_RIGHT_ROW),) if matches_in_order else ()
    row = FunctionalDependency((_LEFT_ROW,), tuple(dict.fromkeys([*columns, *columns_of(left.facts)])))
    more = SequenceFacts(orderings=((OrderingItem(_LEFT_ROW), *within),), functional_dependencies=(row,), keys=((_LEFT_ROW, _RIGHT_ROW),))
    return merged(facts, more)


def _matched_facts(right: OrderingProperties, columns: Sequence[Column]) -> SequenceFacts:
    """What two result rows with matches know of their right rows, which come in any order and may be the same."""
    facts = keys_that_determine(right_side(right.facts), (_RIGHT_ROW,))
    ordered = SequenceFacts(orderings=facts.orderings, cases=facts.cases)
    row = FunctionalDependency((_RIGHT_ROW,), tuple(dict.fromkeys([*columns, *columns_of(facts)])))
    return facts._replace(
        orderings=(),
        functional_dependencies=(*facts.functional_dependencies, row),
        cases=(Case(_RIGHT_ROW, LESS, ordered), Case(_RIGHT_ROW, GREATER, turned_facts(ordered))),
    )


def _facts_with_filler(right: OrderingProperties, columns: Sequence[Column]) -> SequenceFacts:
    """What result rows know of their right rows where some have null instead."""
    matched = _matched_facts(right, columns)
    # Without null of its own, a right column is null exactly where there is no match.
    null_with_row = [Monotone(column, ((_RIGHT_ROW, "fixed"),), False) for column in right_side(right.facts).not_null]
    row = matched.functional_dependencies[-1]
    return SequenceFacts(
        equivalences=matched.equivalences,
        functional_dependencies=(row,),
        monotone=tuple(null_with_row),
        cases=(Case(_RIGHT_ROW, LESS | GREATER | EQUAL, matched._replace(equivalences=())),),
    )
