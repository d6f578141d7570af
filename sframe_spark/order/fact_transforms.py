"""Transformations of facts: renaming columns, reversing rows, combining two inputs, removing hidden columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from sframe_spark.order.facts import (
    BOTH_NULL,
    EQUAL,
    GREATER,
    LESS,
    NULL_TO_VALUE,
    TIES,
    VALUE_TO_NULL,
    Case,
    Column,
    FunctionalDependency,
    Hidden,
    Monotone,
    Ordering,
    SequenceFacts,
    exchange_rows,
    merged,
)

Rename = Callable[[Column], Column]


def rename_facts(facts: SequenceFacts, rename: Rename) -> SequenceFacts:
    """Return the facts with every column renamed; two columns may get the same name only if they are equal in every row.

    Examples
    --------
    >>> rename_facts(SequenceFacts(constants=("a",)), str.upper).constants
    ('A',)
    """

    def renamed(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(map(rename, columns))

    return SequenceFacts(
        constants=renamed(facts.constants),
        equivalences=tuple(map(renamed, facts.equivalences)),
        orderings=tuple(tuple(item._replace(column=rename(item.column)) for item in items) for items in facts.orderings),
        functional_dependencies=tuple(FunctionalDependency(renamed(d), renamed(e)) for d, e in facts.functional_dependencies),
        keys=tuple(map(renamed, facts.keys)),
        monotone=tuple(
            Monotone(rename(fact.column), tuple((rename(column), effect) for column, effect in fact.arguments), fact.strict)
            for fact in facts.monotone
        ),
        not_null=renamed(facts.not_null),
        cases=tuple(Case(rename(case.column), case.outcomes, rename_facts(case.facts, rename)) for case in facts.cases),
    )


def columns_of(facts: SequenceFacts) -> Iterator[Column]:
    """Yield every column that a fact mentions, in order of appearance and with repetitions.

    Examples
    --------
    >>> list(columns_of(SequenceFacts(constants=("a",), keys=(("b", "a"),))))
    ['a', 'b', 'a']
    """
    for group in facts.equivalences:
        yield from group
    yield from facts.constants
    for items in facts.orderings:
        yield from (item.column for item in items)
    for dependency in facts.functional_dependencies:
        yield from dependency.determinant
        yield from dependency.dependent
    for key in facts.keys:
        yield from key
    for fact in facts.monotone:
        yield from (column for column, _ in fact.arguments)
        yield fact.column
    yield from facts.not_null
    for case in facts.cases:
        yield case.column
        yield from columns_of(case.facts)


def visible_columns(facts: SequenceFacts) -> set[Column]:
    """Return the columns that facts mention, without hidden columns.

    Examples
    --------
    >>> visible_columns(SequenceFacts(keys=(("a", Hidden(0)),)))
    {'a'}
    """
    return {column for column in columns_of(facts) if not isinstance(column, Hidden)}


def turned_facts(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts about the same rows in opposite order.

    Examples
    --------
    >>> from sframe_spark.order.facts import ordering
    >>> turned_facts(SequenceFacts(orderings=(ordering([["a", "desc"]]),))).orderings
    ((OrderingItem(column='a', direction='asc', nulls='nulls_first'),),)
    """
    return facts._replace(
        orderings=tuple(tuple(item.reversed() for item in items) for items in facts.orderings),
        cases=tuple(case._replace(outcomes=exchange_rows(case.outcomes), facts=turned_facts(case.facts)) for case in facts.cases),
    )


SIDE = Hidden("side")


def right_side(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts of a right input with hidden columns renamed, so that they differ from the hidden columns of the left input.

    Examples
    --------
    >>> right_side(SequenceFacts(keys=((Hidden(0),),))).keys
    ((hidden ('right', 0),),)
    """
    return rename_facts(facts, lambda column: Hidden(("right", column.number)) if isinstance(column, Hidden) else column)


def facts_of_both(left: SequenceFacts, right: SequenceFacts) -> SequenceFacts:
    """Return the facts of both sides together; hidden columns of the two sides stay distinct."""
    return merged(left, right_side(right))


def facts_of_either(left: SequenceFacts, right: SequenceFacts, orderings: Iterable[Ordering]) -> SequenceFacts:
    """Return the facts about rows for which all facts of one side hold, without knowing which side.

    Parameters
    ----------
    left, right
        The two sides.
    orderings
        Orderings that hold on both sides. They follow from the cases too, but cases may be dropped later.
    """
    return common_row_facts(left, right)._replace(constants=(SIDE,), orderings=tuple(orderings), cases=side_cases(left, right))


def facts_of_rows_of_both(left: SequenceFacts, right: SequenceFacts, left_first: SequenceFacts, right_first: SequenceFacts | None) -> SequenceFacts:
    """Return the facts about a sequence with the rows of both sides, in which the rows of each side keep their order.

    Parameters
    ----------
    left, right
        Facts about pairs of rows of the same side.
    left_first
        Facts about a left row and a later right row.
    right_first
        Facts about a right row and a later left row; None if no left row comes after a right row.
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
    """Return cases with the facts of each side, which hold for two rows of that side."""
    if left == right:
        return (Case(SIDE, TIES, left),)
    return Case(SIDE, BOTH_NULL, left), Case(SIDE, EQUAL, right_side(right))


def common_row_facts(left: SequenceFacts, right: SequenceFacts) -> SequenceFacts:
    """Return the facts about single rows that hold on both sides: equal columns, and columns without null.

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
    """Return all columns without null, including columns that are equal to one without null and not listed themselves."""
    declared = dict.fromkeys(facts.not_null)
    for group in facts.equivalences:
        if group[0] in declared:
            declared.update(dict.fromkeys(group))
    return declared


# Hidden columns and cases only make later answers more precise: above these numbers they are dropped to save time.
_MAX_HIDDEN = 24
_MAX_CASE_ENTRIES = 400


def without_useless_hidden(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts without useless hidden columns, and with a limited number of hidden columns and of cases.

    A hidden column is useful if facts can make it tie (or decide how it compares), other facts use that, and facts link it, directly or
    indirectly, to a visible column.

    Examples
    --------
    >>> from sframe_spark.order.facts import ordering
    >>> without_useless_hidden(SequenceFacts(orderings=(ordering([["a", "asc"], [Hidden(0), "asc"], ["b", "asc"]]),))).orderings
    ((OrderingItem(column='a', direction='asc', nulls='nulls_first'),),)
    """
    facts = _without_unlinked(facts)
    if facts.cases and sum(1 for case in facts.cases for _ in columns_of(case.facts)) > _MAX_CASE_ENTRIES:
        facts = _without_unlinked(facts._replace(cases=()))
    hidden = _hidden(facts)
    if len(hidden) > _MAX_HIDDEN and facts.cases:
        facts = _without_unlinked(facts._replace(cases=()))
        hidden = _hidden(facts)
    if len(hidden) > _MAX_HIDDEN:
        facts = _without_unlinked(without_columns(facts, set(list(hidden)[_MAX_HIDDEN:])))
    return facts


def number_hidden(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts with hidden columns renumbered in order of appearance.

    Examples
    --------
    >>> number_hidden(SequenceFacts(keys=(("a", Hidden("lost")),))).keys
    (('a', hidden 0),)
    """
    numbers = {column: Hidden(number) for number, column in enumerate(_hidden(facts))}
    if all(old == new for old, new in numbers.items()):
        return facts
    return rename_facts(facts, lambda column: numbers.get(column, column) if isinstance(column, Hidden) else column)


def without_columns(facts: SequenceFacts, dropped: set[Column]) -> SequenceFacts:
    """Return the facts that remain if nothing is known about some columns.

    Examples
    --------
    >>> without_columns(SequenceFacts(constants=("a", "b"), keys=(("a",), ("c",))), {"a"})._asdict()["keys"]
    (('c',),)
    """

    def remaining(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(column for column in columns if column not in dropped)

    cut = []
    for items in facts.orderings:
        length = next((index for index, item in enumerate(items) if item.column in dropped), len(items))
        cut.append(items[:length])
    dependencies = [
        FunctionalDependency(determinant, remaining(dependent))
        for determinant, dependent in facts.functional_dependencies
        if not dropped.intersection(determinant)
    ]
    cases = [case._replace(facts=without_columns(case.facts, dropped)) for case in facts.cases if case.column not in dropped]
    return SequenceFacts(
        constants=remaining(facts.constants),
        equivalences=tuple(group for group in map(remaining, facts.equivalences) if len(group) > 1),
        orderings=tuple(filter(None, cut)),
        functional_dependencies=tuple(dependency for dependency in dependencies if dependency.dependent),
        keys=tuple(key for key in facts.keys if not dropped.intersection(key)),
        monotone=tuple(fact for fact in facts.monotone if not dropped.intersection(_columns_of_one(fact.column, fact.arguments))),
        not_null=remaining(facts.not_null),
        cases=tuple(case for case in cases if case.facts != SequenceFacts()),
    )


def _hidden(facts: SequenceFacts) -> dict[Hidden, None]:
    return dict.fromkeys(column for column in columns_of(facts) if isinstance(column, Hidden))


def _without_unlinked(facts: SequenceFacts) -> SequenceFacts:
    while hidden := _hidden(facts):
        mentions = Counter(_mentions(facts))
        tying = {*_targets(facts), *_ordered_in_two_ways(facts)}
        useful = {column for column in tying & set(_triggers(facts)) & _linked(facts) if mentions[column] > 1}
        useless = hidden.keys() - useful
        if not useless:
            break
        facts = without_columns(facts, set(useless))
    return facts


def _linked(facts: SequenceFacts) -> set[Column]:
    """Return the columns that facts connect, directly or indirectly, with a visible column."""
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
    """Yield the columns of each fact; a case counts as one fact, including the column that decides it."""
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
    """Yield each column once for each fact that mentions it; facts inside cases count separately."""
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
    """Yield the columns that occur in orderings in more than one direction: such orderings together can make them tie."""
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
    """Yield the columns that a fact other than an ordering can make tie, or whose outcomes it can narrow."""
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
    """Yield the columns whose outcomes a fact uses to narrow the outcomes of other columns."""
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
