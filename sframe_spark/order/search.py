"""Finding two rows that have given outcomes and all properties, where narrowing alone does not decide.

Orderings, dependencies and keys need no search: differences can be chosen freely. Monotone functions of several
arguments and cases relate outcomes that are open; with them the question is coNP-complete (three-argument functions
express clauses), so the search has a budget, and running out of it counts as "such rows may exist", the safe side.

Source: own derivation; the budget follows design brief section 6 (a wrong "satisfied" is a wrong result, a wrong "not
satisfied" only costs time).
"""

from __future__ import annotations

import enum

from sframe_spark.order.closure import PairState
from sframe_spark.order.outcomes import one_of

SEARCH_BUDGET = 500


class Undecided(enum.Enum):
    """The search ran out of its budget."""

    UNDECIDED = 0


UNDECIDED = Undecided.UNDECIDED


def find_rows(state: PairState) -> PairState | Undecided | None:
    """A state in which every open choice is made, or None if there is none.

    The given state is not changed.
    """
    if state.impossible:
        return None
    if not state.problem.branch_classes:
        return state
    first = _choose_greedily(state)
    return first if first is not None else _choose_with_backtracking(state)


def _choose_greedily(state: PairState) -> PairState | None:
    state = state.copy()
    for column_class in state.problem.branch_classes:
        outcomes = state.outcomes[column_class]
        if outcomes & (outcomes - 1) and not state.restrict(column_class, one_of(outcomes)):
            return None
    return state


def _choose_with_backtracking(start: PairState) -> PairState | Undecided | None:
    stack = [(start, 0)]
    budget = SEARCH_BUDGET
    while stack:
        state, position = stack.pop()
        column_class, position = _next_open(state, position)
        if column_class is None:
            return state
        remaining = state.outcomes[column_class]
        choices = []
        while remaining:
            choice, remaining = one_of(remaining), remaining & (remaining - 1)
            budget -= 1
            branch = state.copy()
            if branch.restrict(column_class, choice):
                choices.append((branch, position))
        if budget < 0:
            return UNDECIDED
        stack.extend(reversed(choices))
    return None


def _next_open(state: PairState, position: int) -> tuple[int | None, int]:
    classes = state.problem.branch_classes
    while position < len(classes):
        outcomes = state.outcomes[classes[position]]
        if outcomes & (outcomes - 1):
            return classes[position], position
        position += 1
    return None, position
