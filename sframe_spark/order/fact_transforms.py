"""Columns that a relation no longer shows: which of them still link visible ones, and what is given up when there are too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sframe_spark.order.facts import Column, FunctionalDependency, Hidden, Ordering, SequenceFacts
from sframe_spark.order.rename import columns_of, rename_facts

# Hidden columns and cases make later answers more complete, never more right; beyond these sizes they only cost time.
_MOST_HIDDEN = 24
_MOST_CASE_ENTRIES = 400


def without_useless_hidden(facts: SequenceFacts) -> SequenceFacts:
    """Facts without the hidden columns that link nothing, and with bounded numbers of hidden columns and cases.

    A hidden column is of use if something can make it tie (or compare in some way), something follows from that, and facts link it to a visible one.

    Examples
    --------
    >>> from sframe_spark.order.facts import ordering
    >>> without_useless_hidden(SequenceFacts(orderings=(ordering([["a", "asc"], [Hidden(0), "asc"], ["b", "asc"]]),))).orderings
    ((OrderingItem(column='a', direction='asc', nulls='nulls_first'),),)
    """
    facts = _without_unlinked(facts)
    if facts.cases and sum(1 for case in facts.cases for _ in columns_of(case.facts)) > _MOST_CASE_ENTRIES:
        facts = _without_unlinked(facts._replace(cases=()))
    hidden = _hidden(facts)
    if len(hidden) > _MOST_HIDDEN and facts.cases:
        facts = _without_unlinked(facts._replace(cases=()))
        hidden = _hidden(facts)
    if len(hidden) > _MOST_HIDDEN:
        facts = _without_unlinked(without_columns(facts, set(list(hidden)[_MOST_HIDDEN:])))
    return facts


def number_hidden(facts: SequenceFacts) -> SequenceFacts:
    """Facts whose hidden columns are numbered in order of appearance.

    Examples
    --------
    >>> number_hidden(SequenceFacts(keys=(("a", Hidden("lost")),))).keys
    (('a', hidden 0),)
    """
    numbers = {column: Hidden(number) for number, column in enumerate(_hidden(facts))}
    if all(old == new for old, new in numbers.items()):
        return facts
    return rename_facts(facts, lambda column: numbers.get(column, column) if isinstance(column, Hidden) else column)


def without_columns(facts: SequenceFacts, gone: set[Column]) -> SequenceFacts:
    """What can be said without some columns; everything else is dropped.

    Examples
    --------
    >>> without_columns(SequenceFacts(constants=("a", "b"), keys=(("a",), ("c",))), {"a"})._asdict()["keys"]
    (('c',),)
    """

    def kept(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(column for column in columns if column not in gone)

    cut = []
    for items in facts.orderings:
        length = next((index for index, item in enumerate(items) if item.column in gone), len(items))
        cut.append(items[:length])
    dependencies = [
        FunctionalDependency(determinant, kept(dependent))
        for determinant, dependent in facts.functional_dependencies
        if not gone.intersection(determinant)
    ]
    cases = [case._replace(facts=without_columns(case.facts, gone)) for case in facts.cases if case.column not in gone]
    return SequenceFacts(
        constants=kept(facts.constants),
        equivalences=tuple(group for group in map(kept, facts.equivalences) if len(group) > 1),
        orderings=tuple(filter(None, cut)),
        functional_dependencies=tuple(dependency for dependency in dependencies if dependency.dependent),
        keys=tuple(key for key in facts.keys if not gone.intersection(key)),
        monotone=tuple(fact for fact in facts.monotone if not gone.intersection(_columns_of_one(fact.column, fact.arguments))),
        not_null=kept(facts.not_null),
        cases=tuple(case for case in cases if case.facts != SequenceFacts()),
    )


def _hidden(facts: SequenceFacts) -> dict[Hidden, None]:
    return dict.fromkeys(column for column in columns_of(facts) if isinstance(column, Hidden))


def _without_unlinked(facts: SequenceFacts) -> SequenceFacts:
    while hidden := _hidden(facts):
        mentions = Counter(_mentions(facts))
        tying = {*_targets(facts), *_ordered_in_two_ways(facts)}
        useful = {column for column in tying & set(_triggers(facts)) & _linked(facts) if mentions[column] > 1}
        gone = hidden.keys() - useful
        if not gone:
            break
        facts = without_columns(facts, set(gone))
    return facts


def _linked(facts: SequenceFacts) -> set[Column]:
    """Columns that are named together with a visible one, or with one that is, and so on."""
    neighbours: dict[Column, list[Column]] = {}
    for group in filter(None, _groups(facts)):
        for column in group[1:]:
            neighbours.setdefault(group[0], []).append(column)
            neighbours.setdefault(column, []).append(group[0])
    linked = {column for column in neighbours if not isinstance(column, Hidden)}
    pending = list(linked)
    while pending:
        for column in neighbours[pending.pop()]:
            if column not in linked:
                linked.add(column)
                pending.append(column)
    return linked


def _groups(facts: SequenceFacts) -> Iterator[tuple[Column, ...]]:
    """The columns of each fact; those of a case with the column that decides."""
    yield from facts.equivalences
    yield from facts.keys
    for items in facts.orderings:
        yield tuple(item.column for item in items)
    for determinant, dependent in facts.functional_dependencies:
        yield determinant + dependent
    for fact in facts.monotone:
        yield tuple(_columns_of_one(fact.column, fact.arguments))
    for case in facts.cases:
        yield (case.column, *columns_of(case.facts))


def _columns_of_one(column: Column, arguments: tuple[tuple[Column, str], ...]) -> Iterator[Column]:
    yield column
    yield from (argument for argument, _ in arguments)


def _mentions(facts: SequenceFacts) -> Iterator[Column]:
    """Each column once for each fact that names it; a fact inside a case counts as one of its own."""
    for group in (*facts.equivalences, *facts.keys):
        yield from group
    for items in facts.orderings:
        yield from {item.column: None for item in items}
    for determinant, dependent in facts.functional_dependencies:
        yield from dict.fromkeys(determinant + dependent)
    for fact in facts.monotone:
        yield from dict.fromkeys(_columns_of_one(fact.column, fact.arguments))
    yield from facts.constants
    for case in facts.cases:
        yield case.column
        yield from _mentions(case.facts)


def _ordered_in_two_ways(facts: SequenceFacts) -> Iterator[Column]:
    """Columns that stand in orderings in more than one way, so that they may be found to tie."""
    seen: dict[Column, tuple[str, str]] = {}
    for items in _all_orderings(facts):
        for column, direction, nulls in items:
            if direction != "any" and seen.setdefault(column, (direction, nulls)) != (direction, nulls):
                yield column


def _all_orderings(facts: SequenceFacts) -> Iterator[Ordering]:
    yield from facts.orderings
    for case in facts.cases:
        yield from _all_orderings(case.facts)


def _targets(facts: SequenceFacts) -> Iterator[Column]:
    """Columns that some fact makes tie, or compare in a way that another fact asks for."""
    yield from facts.constants
    for group in facts.equivalences:
        yield from group
    for _, dependent in facts.functional_dependencies:
        yield from dependent
    for fact in facts.monotone:
        yield from _columns_of_one(fact.column, fact.arguments)
    for case in facts.cases:
        yield case.column
        yield from _targets(case.facts)


def _triggers(facts: SequenceFacts) -> Iterator[Column]:
    """Columns whose comparison has consequences for others."""
    for group in facts.equivalences:
        yield from group
    for items in facts.orderings:
        yield from (item.column for item in items[:-1])
    for determinant, _ in facts.functional_dependencies:
        yield from determinant
    for key in facts.keys:
        yield from key
    for fact in facts.monotone:
        yield from _columns_of_one(fact.column, fact.arguments)
    for case in facts.cases:
        yield case.column
        yield from _triggers(case.facts)
