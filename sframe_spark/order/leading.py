"""Orders of columns in which they lead: each goes one way only among rows that tie on those before it, so rows equal on all are neighbours.

Source: ``docs/order.md`` section 2: take any available column, no search among permutations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sframe_spark.order.closure import PairState
from sframe_spark.order.facts import Column
from sframe_spark.order.outcomes import TIES, in_one_direction


def leading_order(state: PairState, wanted: Mapping[Column, None]) -> list[Column]:
    """Columns in an order in which they lead, chosen from the wanted ones and from those that they determine.

    Parameters
    ----------
    state
        What is known of two rows; it learns that the columns tie.
    wanted
        The columns that are asked for. Where the result lacks some, nothing known makes them lead.
    """
    determined = state.copy()
    unknown = dict.fromkeys(column for column in wanted if state.problem.class_of(column) is None)
    order: list[Column] = []
    remaining = _leading(state, [column for column in wanted if column not in unknown], order)
    for column in wanted:
        determined.restrict_column(column, TIES)
    # Where nothing leads and nothing follows from ties, other columns do not help: wide frames ask for many columns, each alone.
    if remaining and (order or determined.has_learned_more(state, remaining)):
        helpers = [column for column in determined.problem.classes.index if column not in wanted and determined.column_ties(column)]
        remaining += _leading(state, helpers, order)
        before = 0
        while len(order) > before:
            before = len(order)
            remaining = _leading(state, remaining, order)
    return [*order, *unknown] if state.impossible else order


def _leading(state: PairState, columns: Iterable[Column], order: list[Column]) -> list[Column]:
    """The columns that do not lead after those before them; those that do are appended to an order, and learned to tie."""
    others = []
    for column in columns:
        if state.impossible or in_one_direction(state.column_outcomes(column)):
            state.restrict_column(column, TIES)
            order.append(column)
        else:
            others.append(column)
    return others
