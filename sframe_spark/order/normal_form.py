"""Brings facts to a normal form, in which the same knowledge is usually the same value, however it was written down.

In normal form an ordering contains no constants, one representative stands for each group of equal columns, no ordering is a prefix of
another, useless hidden columns are removed, and all facts are sorted.

Source: design brief section 6; ``docs/order.md`` section 1 (families that a purely syntactic form misses, such as constants learnt late).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from sframe_spark.order.fact_transforms import number_hidden, rename_facts, without_useless_hidden
from sframe_spark.order.facts import (
    Case,
    Column,
    FunctionalDependency,
    Hidden,
    Monotone,
    Ordering,
    OrderingItem,
    SequenceFacts,
    column_sort_key,
    merged,
)
from sframe_spark.order.implication import PairProblem, PairState, SignedClasses

# Above this number of keys only equal keys are removed: comparing all pairs of keys takes quadratic time.
_COMPARED_KEYS = 32


@functools.lru_cache(maxsize=512)
def normal_form(raw: SequenceFacts) -> tuple[SequenceFacts, PairState | None]:
    """Return the facts in normal form, and the :class:`PairState` for them; None instead of the state if it must be computed from the result.

    Examples
    --------
    >>> from sframe_spark.order.facts import ordering
    >>> facts, _ = normal_form(SequenceFacts(constants=("c",), orderings=(ordering([["a", "asc"], ["c", "asc"]]), ordering([["a", "asc"]]))))
    >>> facts.orderings
    ((OrderingItem(column='a', direction='asc', nulls='nulls_first'),),)
    """
    if raw == SequenceFacts():
        return raw, None
    raw = _with_merged_arguments(raw)
    state = PairState(PairProblem(raw))
    while raw.cases and (lifted := _decide_cases(raw, state)) != raw:
        raw = _with_merged_arguments(lifted)
        state = PairState(PairProblem(raw))
    representative, groups = _representatives(raw.equivalences)
    named = rename_facts(raw._replace(equivalences=()), lambda column: representative.get(column, column))
    if state.impossible:
        return _sorted(_facts_of_one_row(named, groups)), state
    tied = {representative.get(column, column) for column in state.problem.classes.index if state.column_ties(column)}
    deciding = set(_columns_that_decide(named))
    constants = tuple(sorted((column for column in tied if column in deciding or not isinstance(column, Hidden)), key=column_sort_key))
    facts = _tidy(named._replace(constants=()), tied, set(named.not_null))
    facts = facts._replace(constants=constants, equivalences=groups, not_null=named.not_null)
    if not any(isinstance(column, Hidden) for column in state.problem.classes.index):
        return _sorted(facts), state
    # Dropping hidden columns may lose knowledge that the state still has. Equal facts must give equal answers, so the state is not returned.
    return _sorted(number_hidden(without_useless_hidden(facts))), None


def _with_merged_arguments(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts with equal arguments of a function merged: more follows from a function of one column than of several columns."""
    if not facts.equivalences or all(len(function.arguments) < 2 for function in facts.monotone):
        return facts
    representative, _ = _representatives(facts.equivalences)
    functions = []
    for function in facts.monotone:
        arguments = tuple(dict.fromkeys((representative.get(column, column), effect) for column, effect in function.arguments))
        functions.append(function._replace(arguments=arguments))
    return facts._replace(monotone=tuple(functions))


def _decide_cases(facts: SequenceFacts, state: PairState) -> SequenceFacts:
    """Return the facts without cases that never apply, and with the facts of cases that always apply moved out of them."""
    cases, lifted = [], []
    for case in facts.cases:
        possible = state.column_outcomes(case.column)
        if not possible & case.outcomes:
            continue
        if possible & ~case.outcomes or case.facts.equivalences:
            cases.append(case)
            continue
        lifted.append(case.facts)
    return functools.reduce(merged, lifted, facts._replace(cases=tuple(cases)))


def _columns_that_decide(facts: SequenceFacts) -> Iterator[Column]:
    """Yield the columns of functions and the columns that decide cases: facts still need to know which of them are constant."""
    for function in facts.monotone:
        yield function.column
        yield from (column for column, _ in function.arguments)
    for case in facts.cases:
        yield case.column
        yield from _columns_that_decide(case.facts)


def _representatives(equivalences: Iterable[tuple[Column, ...]]) -> tuple[dict[Column, Column], tuple[tuple[Column, ...], ...]]:
    """Return the representative of each column in a group of equal columns, and the groups without their hidden columns."""
    classes = SignedClasses()
    for group in equivalences:
        for column in group:
            classes.merge(group[0], column, 1)
    members: dict[int, list[Column]] = {}
    for column in classes.columns:
        members.setdefault(classes.find(column)[0], []).append(column)
    representative, groups = {}, []
    for group_members in members.values():
        group_members.sort(key=column_sort_key)
        representative.update(dict.fromkeys(group_members, group_members[0]))
        visible = tuple(column for column in group_members if not isinstance(column, Hidden))
        if len(visible) > 1:
            groups.append(visible)
    return representative, tuple(groups)


def _facts_of_one_row(named: SequenceFacts, groups: tuple[tuple[Column, ...], ...]) -> SequenceFacts:
    """Return the facts if there is at most one row: an empty key, and the facts about single rows."""
    visible = tuple(dict.fromkeys(column for column in named.not_null if not isinstance(column, Hidden)))
    return SequenceFacts(equivalences=groups, keys=((),), not_null=visible)


def _tidy(facts: SequenceFacts, constants: set[Column], not_null: set[Column]) -> SequenceFacts:
    """Return the facts without constants, repetitions and empty facts."""
    dependencies: dict[tuple[Column, ...], dict[Column, None]] = {}
    for determinant, dependent in facts.functional_dependencies:
        left = tuple(sorted(set(determinant) - constants, key=column_sort_key))
        right = [column for column in dependent if column not in constants and column not in left]
        if right:
            dependencies.setdefault(left, {}).update(dict.fromkeys(right))
    return facts._replace(
        constants=tuple(column for column in facts.constants if column not in constants),
        orderings=_longest(_tidy_ordering(items, constants, not_null) for items in facts.orderings),
        functional_dependencies=tuple(FunctionalDependency(left, tuple(sorted(right, key=column_sort_key))) for left, right in dependencies.items()),
        keys=_smallest_keys(tuple(sorted(set(key) - constants, key=column_sort_key)) for key in facts.keys),
        monotone=tuple(dict.fromkeys(map(_tidy_monotone, facts.monotone))),
        cases=tuple(
            Case(case.column, case.outcomes, inner)
            for case, inner in ((case, _tidy(case.facts, constants, not_null)) for case in dict.fromkeys(facts.cases))
            if case.outcomes and inner != SequenceFacts()
        ),
    )


def _tidy_monotone(fact: Monotone) -> Monotone:
    arguments = tuple(sorted(dict.fromkeys(fact.arguments), key=lambda argument: (column_sort_key(argument[0]), argument[1])))
    return Monotone(fact.column, arguments, fact.strict)


def _tidy_ordering(items: Ordering, constants: set[Column], not_null: set[Column]) -> Ordering:
    seen = set(constants)
    remaining = []
    for item in items:
        if item.column in seen:
            continue
        seen.add(item.column)
        if item.column in not_null:
            item = OrderingItem(item.column, item.direction, "nulls_last" if item.direction == "desc" else "nulls_first")
        remaining.append(item)
    while remaining and remaining[-1].direction == "any":
        remaining.pop()
    return tuple(remaining)


def _longest(orderings: Iterable[Ordering]) -> tuple[Ordering, ...]:
    """Return the orderings that are not a prefix of another ordering; in sorted order a prefix directly precedes a longer ordering."""
    ranked = sorted(filter(None, set(orderings)), key=_ordering_sort_key)
    return tuple(items for items, following in zip(ranked, (*ranked[1:], ()), strict=False) if following[: len(items)] != items)


def _smallest_keys(keys: Iterable[tuple[Column, ...]]) -> tuple[tuple[Column, ...], ...]:
    """Return the distinct keys without those that contain another key; if there are very many keys, all distinct keys."""
    distinct = sorted(set(keys), key=lambda key: (len(key), _columns_sort_key(key)))
    if len(distinct) > _COMPARED_KEYS:
        return tuple(distinct)
    minimal: list[tuple[Column, ...]] = []
    for key in distinct:
        if not any(set(smaller) <= set(key) for smaller in minimal):
            minimal.append(key)
    return tuple(minimal)


def _columns_sort_key(columns: Iterable[Column]) -> tuple:
    return tuple(map(column_sort_key, columns))


def _ordering_sort_key(items: Ordering) -> tuple:
    return tuple((column_sort_key(item.column), item.direction, item.nulls) for item in items)


def _facts_sort_key(facts: SequenceFacts) -> tuple:
    return (
        _columns_sort_key(facts.constants),
        tuple(map(_columns_sort_key, facts.equivalences)),
        tuple(map(_ordering_sort_key, facts.orderings)),
        tuple((_columns_sort_key(left), _columns_sort_key(right)) for left, right in facts.functional_dependencies),
        tuple(map(_columns_sort_key, facts.keys)),
        tuple(map(_monotone_sort_key, facts.monotone)),
        _columns_sort_key(facts.not_null),
        tuple(map(_case_sort_key, facts.cases)),
    )


def _monotone_sort_key(fact: Monotone) -> tuple:
    return column_sort_key(fact.column), tuple((column_sort_key(column), effect) for column, effect in fact.arguments), fact.strict


def _case_sort_key(case: Case) -> tuple:
    return column_sort_key(case.column), case.outcomes, _facts_sort_key(case.facts)


def _sorted(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts in an order that does not depend on how they were written down."""
    return SequenceFacts(
        constants=tuple(sorted(set(facts.constants), key=column_sort_key)),
        equivalences=tuple(sorted(facts.equivalences, key=_columns_sort_key)),
        orderings=tuple(sorted(facts.orderings, key=_ordering_sort_key)),
        functional_dependencies=tuple(
            sorted(facts.functional_dependencies, key=lambda fd: (_columns_sort_key(fd.determinant), _columns_sort_key(fd.dependent)))
        ),
        keys=tuple(sorted(facts.keys, key=_columns_sort_key)),
        monotone=tuple(sorted(facts.monotone, key=_monotone_sort_key)),
        not_null=tuple(sorted(set(facts.not_null), key=column_sort_key)),
        cases=tuple(sorted((case._replace(facts=_sorted(case.facts)) for case in facts.cases), key=_case_sort_key)),
    )
