"""Facts said of other columns: every column of a set of facts replaced by the result of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sframe_spark.order.facts import Case, Column, FunctionalDependency, Hidden, Monotone, SequenceFacts

Rename = Callable[[Column], Column]


def rename_facts(facts: SequenceFacts, rename: Rename) -> SequenceFacts:
    """The same facts with every column renamed; two columns may get one name only if they are equal.

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
    """Every column named by a fact, in order of appearance, with repetitions.

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
    """The columns that facts speak of and that are not hidden.

    Examples
    --------
    >>> visible_columns(SequenceFacts(keys=(("a", Hidden(0)),)))
    {'a'}
    """
    return {column for column in columns_of(facts) if not isinstance(column, Hidden)}
