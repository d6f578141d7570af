"""Facts about the order of a row sequence: their types, and functions that read, merge, rename, reverse and combine them.

A fact restricts in which ways two rows can compare in a column. These ways are called the *outcomes* of the column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Any, Literal, NamedTuple, get_args

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
    """Return one outcome of a set: a tie only if there is no other, because dependencies and later entries of orderings apply only to rows that tie.

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

_DIRECTIONS, _PLACEMENTS, _EFFECTS = get_args(Direction), get_args(NullPlacement), get_args(Effect)


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
        """The outcomes that the entry allows if all entries before it tie.

        Examples
        --------
        >>> ordering_item(["price", "asc"]).allowed == LESS | NULL_TO_VALUE | TIES
        True
        """
        if self.direction == "any":
            return ALL
        return (LESS if self.direction == "asc" else GREATER) | (NULL_TO_VALUE if self.nulls == "nulls_first" else VALUE_TO_NULL) | TIES

    def reversed(self) -> OrderingItem:
        """Return the entry for the same rows in opposite order."""
        if self.direction == "any":
            return self
        return OrderingItem(self.column, "desc" if self.direction == "asc" else "asc", "nulls_last" if self.nulls == "nulls_first" else "nulls_first")


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
        Whether the value grows if an ``inc`` argument grows or a ``dec`` argument falls, provided that no other argument moves in the direction that
        lowers the value.
    """

    column: Column
    arguments: tuple[tuple[Column, Effect], ...]
    strict: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        """The column and its arguments."""
        return (self.column, *(argument for argument, _ in self.arguments))


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


def merged(*parts: SequenceFacts) -> SequenceFacts:
    """Return the facts of several collections together.

    Examples
    --------
    >>> merged(SequenceFacts(keys=(("a",),)), SequenceFacts(keys=(("b",),))).keys
    (('a',), ('b',))
    """
    return SequenceFacts(*(tuple(chain.from_iterable(field)) for field in zip(*parts, strict=True)))


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


def monotone(value: Any) -> Monotone:
    """Convert ``{"col": f, "args": [[x, "inc"], ...], "strict": bool}`` to a :class:`Monotone`; a :class:`Monotone` is returned unchanged.

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
        functional_dependencies=tuple(FunctionalDependency(*map(tuple, dependency)) for dependency in functional_dependencies),
        keys=tuple(map(tuple, keys)),
        monotone=tuple(map(monotone, functions)),
        not_null=tuple(not_null),
        cases=cases,
    )


def flip(effect: Effect) -> Effect:
    """Return the effect of an argument after its direction is reversed, as by negation.

    Examples
    --------
    >>> flip("inc"), flip("dec"), flip("fixed")
    ('dec', 'inc', 'fixed')
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


# Transformations of facts: renaming columns, reversing rows, combining two inputs, removing hidden columns.

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
    >>> from sframe_spark.order.order_facts import ordering
    >>> turned_facts(SequenceFacts(orderings=(ordering([["a", "desc"]]),))).orderings
    ((OrderingItem(column='a', direction='asc', nulls='nulls_first'),),)
    """
    return facts._replace(
        orderings=tuple(tuple(item.reversed() for item in items) for items in facts.orderings),
        cases=tuple(case._replace(outcomes=exchange_rows(case.outcomes), facts=turned_facts(case.facts)) for case in facts.cases),
    )


# A hidden column that tells the rows of two sides apart: it is null in left rows, and has one value in all right rows.
SIDE = Hidden("side")


def right_side(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts of a right input with hidden columns renamed, so that they differ from the hidden columns of the left input.

    Examples
    --------
    >>> right_side(SequenceFacts(keys=((Hidden(0),),))).keys
    ((hidden ('right', 0),),)
    """
    return rename_facts(facts, lambda column: Hidden(("right", column.number)) if isinstance(column, Hidden) else column)


def facts_of_either(left: SequenceFacts, right: SequenceFacts, orderings: Iterable[Ordering]) -> SequenceFacts:
    """Return the facts about a row sequence for which all facts of one of two sides hold, if it is not known which side that is.

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
    right_groups = {column: number for number, group in enumerate(right.equivalences) for column in group}
    for number, group in enumerate(left.equivalences):
        for column in group:
            if column in right_groups:
                groups.setdefault((number, right_groups[column]), []).append(column)
    without_null = _without_null(right)
    return SequenceFacts(
        equivalences=tuple(tuple(group) for group in groups.values() if len(group) > 1),
        not_null=tuple(column for column in _without_null(left) if column in without_null and not isinstance(column, Hidden)),
    )


def _without_null(facts: SequenceFacts) -> dict[Column, None]:
    """Return all columns without null, including those that are not listed but equal to a column without null."""
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
    >>> from sframe_spark.order.order_facts import ordering
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

    orderings = [tuple(takewhile(lambda item: item.column not in dropped, items)) for items in facts.orderings]
    dependencies = [
        FunctionalDependency(determinant, remaining(dependent))
        for determinant, dependent in facts.functional_dependencies
        if not dropped.intersection(determinant)
    ]
    cases = [case._replace(facts=without_columns(case.facts, dropped)) for case in facts.cases if case.column not in dropped]
    return SequenceFacts(
        constants=remaining(facts.constants),
        equivalences=tuple(group for group in map(remaining, facts.equivalences) if len(group) > 1),
        orderings=tuple(filter(None, orderings)),
        functional_dependencies=tuple(dependency for dependency in dependencies if dependency.dependent),
        keys=tuple(key for key in facts.keys if not dropped.intersection(key)),
        monotone=tuple(fact for fact in facts.monotone if not dropped.intersection(fact.columns)),
        not_null=remaining(facts.not_null),
        cases=tuple(case for case in cases if case.facts != SequenceFacts()),
    )


def _hidden(facts: SequenceFacts) -> dict[Hidden, None]:
    return dict.fromkeys(column for column in columns_of(facts) if isinstance(column, Hidden))


def _without_unlinked(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts without hidden columns that are useless, as :func:`without_useless_hidden` says."""
    while hidden := _hidden(facts):
        mentions, targets, triggers = _roles(facts)
        useful = {column for column in targets & triggers & _linked(facts) if mentions[column] > 1}
        if not (useless := hidden.keys() - useful):
            break
        facts = without_columns(facts, {*useless})
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
        yield fact.columns
    for case in facts.cases:
        yield (case.column, *columns_of(case.facts))


class _Roles(NamedTuple):
    """How facts use columns: how many facts mention each, which columns a fact can restrict, and from which columns a fact concludes something."""

    mentions: Counter[Column]
    targets: set[Column]
    triggers: set[Column]


def _roles(facts: SequenceFacts) -> _Roles:
    """Return how facts, and facts inside cases, use columns."""
    mentions, targets, triggers = _Roles(Counter(), set(), set())
    directions: dict[Column, tuple[str, str]] = {}
    pending = [facts]
    while pending:
        facts = pending.pop()
        mentions.update(facts.constants)
        targets.update(facts.constants, *facts.equivalences)
        triggers.update(*facts.equivalences, *facts.keys)
        for group in (*facts.equivalences, *facts.keys):
            mentions.update(group)
        for items in facts.orderings:
            columns = [item.column for item in items]
            mentions.update(set(columns))
            triggers.update(columns[:-1])
            for column, direction, nulls in items:
                # Orderings by a column in two directions can together make it tie.
                if direction != "any" and directions.setdefault(column, (direction, nulls)) != (direction, nulls):
                    targets.add(column)
        for determinant, dependent in facts.functional_dependencies:
            mentions.update({*determinant, *dependent})
            targets.update(dependent)
            triggers.update(determinant)
        for group in (*(fact.columns for fact in facts.monotone), *((case.column,) for case in facts.cases)):
            mentions.update(set(group))
            targets.update(group)
            triggers.update(group)
        pending += [case.facts for case in facts.cases]
    return _Roles(mentions, targets, triggers)
