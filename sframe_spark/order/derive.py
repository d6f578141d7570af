"""Functions that derive what is known about the order of an operator's output from what is known about its inputs, one for each type of operator.

Each function takes and returns :class:`~sframe_spark.order.properties.OrderingProperties`, whose columns are any hashable values. A fact that is
not in the result is not guaranteed. For an operator without a function here, nothing is known (``OrderingProperties()``).

Source: ``docs/order.md`` section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from sframe_spark.order.order_facts import (
    ALL,
    EQUAL,
    GREATER,
    LESS,
    NO_NULLS,
    NULL_TO_VALUE,
    TIES,
    VALUE_TO_NULL,
    Case,
    Column,
    FunctionalDependency,
    Hidden,
    Monotone,
    NullPlacement,
    Ordering,
    OrderingItem,
    SequenceFacts,
    columns_of,
    common_row_facts,
    facts_of_rows_of_both,
    merged,
    ordering,
    right_side,
    turned_facts,
)
from sframe_spark.order.properties import OrderingProperties

# Concatenation, merge and zip.


def append(left: OrderingProperties, right: OrderingProperties, boundary: Iterable[Sequence[Any]] = (), strict: bool = False) -> OrderingProperties:
    """Return the properties of all rows of the left input, followed by all rows of the right input, which has the same columns.

    Parameters
    ----------
    left, right
        Properties of the inputs.
    boundary
        An ordering that is known to hold between the last row of the left and the first row of the right.
    strict
        Whether those two rows differ in at least one column of ``boundary``.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
    >>> append(known, known).satisfies([("a", "asc")])
    False
    >>> append(known, known, boundary=[("a", "asc")]).satisfies([("a", "asc")])
    True
    >>> append(known, known, boundary=[("a", "asc")], strict=True).satisfies([("a", "asc"), ("b", "asc")])
    True
    """
    items = ordering(boundary)
    # If both inputs are in the order of the boundary, every left row and every right row are in that order too.
    length = min(left.satisfied_length(items), right.satisfied_length(items))
    across = SequenceFacts(orderings=(items[:length],), keys=(_columns(items),) if strict and length == len(items) else ())
    if not length:
        return OrderingProperties.of(common_row_facts(left.facts, right.facts))
    facts = facts_of_rows_of_both(left.facts, right.facts, across, None)
    return OrderingProperties.of(facts._replace(orderings=_orderings_of_all(left, right, across, items[:length])))


def merge_sorted(left: OrderingProperties, right: OrderingProperties, by: Iterable[Sequence[Any]]) -> OrderingProperties:
    """Return the properties of two sorted inputs merged by an ordering, with left rows before right rows that tie with them.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
    >>> merge_sorted(known, known, [("a", "asc")]).satisfies([("a", "asc")])
    True
    """
    items = ordering(by)
    length = min(left.satisfied_length(items), right.satisfied_length(items))
    across = SequenceFacts(orderings=(items[:length],))
    ties = (_columns(items),) if length == len(items) else ()
    facts = facts_of_rows_of_both(left.facts, right.facts, across, across._replace(keys=ties))
    return OrderingProperties.of(facts._replace(orderings=_orderings_of_all(left, right, across, items[:length])))


def zip_rows(left: OrderingProperties, right: OrderingProperties) -> OrderingProperties:
    """Return the properties of two inputs with different columns that are zipped row by row: the facts of both inputs hold.

    Examples
    --------
    >>> known = zip_rows(OrderingProperties(orderings=[[("a", "asc")]]), OrderingProperties(orderings=[[("b", "asc")]]))
    >>> known.satisfies([("b", "asc"), ("a", "asc")])
    True
    """
    return left.meet(right)


def _columns(items: Ordering) -> tuple[Any, ...]:
    return tuple(item.column for item in items)


def _orderings_of_all(left: OrderingProperties, right: OrderingProperties, across: SequenceFacts, items: Ordering) -> tuple[Ordering, ...]:
    """Return the orderings that hold on both sides and between a row of one side and a row of the other.

    They follow from the cases too, but cases may be dropped later.
    """
    between = OrderingProperties.of(merged(common_row_facts(left.facts, right.facts), across))
    candidates = [items, *left.common_orderings(right)]
    return tuple(filter(None, (candidate[: between.satisfied_length(candidate)] for candidate in candidates)))


# Projections and filters.


def project(
    properties: OrderingProperties,
    outputs: Mapping[Any, Column | None],
    monotone: Iterable[Monotone] = (),
    determined: Iterable[Sequence[Iterable[Column]]] = (),
    constants: Iterable[Column] = (),
) -> OrderingProperties:
    """Return the properties of the rows after a projection.

    Parameters
    ----------
    properties
        Properties of the input.
    outputs
        For each output column the input column or computed column that it copies, or None if nothing is known about it.
    monotone
        Computed columns that are monotone functions of input columns or of other computed columns, and null exactly where an argument is null.
    determined
        Pairs of a list of columns and a list of columns that they determine. Each deterministic expression is determined by its arguments; the
        arguments of an injective expression are determined by its value.
    constants
        Computed columns that are literals.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]])
    >>> negated = project(known, {"x": "-a", "b": "b"}, [Monotone("-a", (("a", "dec"),), True)])
    >>> negated.satisfies([("x", "desc", "nulls_first"), ("b", "asc")])
    True
    """
    return properties.add(monotone=monotone, functional_dependencies=determined, constants=constants).project(outputs)


def filtered(
    properties: OrderingProperties,
    constants: Iterable[Column] = (),
    equivalences: Iterable[Iterable[Column]] = (),
    not_null: Iterable[Column] = (),
) -> OrderingProperties:
    """Return the properties of the rows that satisfy a predicate.

    Parameters
    ----------
    properties
        Properties of the input.
    constants
        Columns that the predicate compares with a literal by ``=``.
    equivalences
        Groups of columns that the predicate compares with each other by ``=``, if ``=`` holds exactly for values that tie in sorting. This is not
        the case for types with -0.0 and 0.0, or NaN.
    not_null
        Columns for which the predicate is never true if they are null.

    Examples
    --------
    >>> filtered(OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]]), constants=["a"]).satisfies([("b", "asc")])
    True
    """
    return properties.add(constants=constants, equivalences=equivalences, not_null=not_null)


# Slices, reversal, repetition and row numbers.


def subset(properties: OrderingProperties) -> OrderingProperties:
    """Return the properties of a subset of the rows in unchanged order. Every fact is about single rows or pairs of rows, so all facts still hold.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc")]])
    >>> subset(known) == known
    True
    """
    return properties


def first_rows(properties: OrderingProperties, rows: int) -> OrderingProperties:
    """Return the properties of at most ``rows`` of the rows in unchanged order, for example the first rows, the last rows or a slice.

    Examples
    --------
    >>> first_rows(OrderingProperties(), 1).satisfies([("a", "asc"), ("a", "desc")])
    True
    """
    return properties.add(keys=[()]) if rows <= 1 else properties


def reverse(properties: OrderingProperties) -> OrderingProperties:
    """Return the properties of the rows in opposite order.

    Examples
    --------
    >>> reverse(OrderingProperties(orderings=[[("a", "desc")]])).satisfies([("a", "asc")])
    True
    """
    return properties.reverse()


def repeat_each(properties: OrderingProperties, columns: Iterable[Column]) -> OrderingProperties:
    """Return the properties after each row is repeated any number of times in place: a key is no longer unique, but determines all columns.

    Parameters
    ----------
    properties
        Properties of the input.
    columns
        All columns of the input.

    Examples
    --------
    >>> known = repeat_each(OrderingProperties(orderings=[[("i", "asc")]], keys=[["i"]]), ["i", "a"])
    >>> known.has_key(["i"]), known.satisfies([("i", "asc"), ("a", "desc")])
    (False, True)
    """
    determined = tuple(dict.fromkeys([*columns, *columns_of(properties.facts)]))
    return OrderingProperties.of(keys_that_determine(properties.facts, determined))


def keys_that_determine(facts: SequenceFacts, determined: tuple[Column, ...]) -> SequenceFacts:
    """Return the facts with each key replaced by a functional dependency: rows with equal keys are equal in the columns ``determined``.

    Examples
    --------
    >>> keys_that_determine(SequenceFacts(keys=(("i",),)), ("a",)).functional_dependencies
    (FunctionalDependency(determinant=('i',), dependent=('a',)),)
    """
    dependencies = tuple(FunctionalDependency(key, determined) for key in facts.keys)
    return facts._replace(
        keys=(),
        functional_dependencies=facts.functional_dependencies + dependencies,
        cases=tuple(case._replace(facts=keys_that_determine(case.facts, determined)) for case in facts.cases),
    )


def row_number(properties: OrderingProperties, column: Column) -> OrderingProperties:
    """Return the properties of the rows with an added column that numbers them.

    Examples
    --------
    >>> row_number(OrderingProperties(), "i").satisfies([("i", "asc"), ("a", "desc")])
    True
    """
    return properties.add(orderings=[[(column, "asc")]], keys=[[column]], not_null=[column])


# Joins that keep the order of the left rows.

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
    """Return the properties of an inner join.

    Parameters
    ----------
    left, right
        Properties of the inputs, whose columns have different names.
    on
        Pairs of a left and a right column that are equal in all result rows.
    left_columns, right_columns
        All columns of the inputs.
    matches_in_order
        Whether the matches of a left row are in the order of the right input; otherwise their order is unknown.

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
    """Return the properties of an inner join by a condition other than equal columns; see :func:`join_inner`.

    Examples
    --------
    >>> left = OrderingProperties(orderings=[[("a", "asc")]])
    >>> join_range(left, OrderingProperties(), ["a"], ["k"]).satisfies([("a", "asc")])
    True
    """
    return join_inner(left, right, (), left_columns, right_columns, matches_in_order)


def join_range_left(
    left: OrderingProperties,
    right: OrderingProperties,
    left_columns: Sequence[Column],
    right_columns: Sequence[Column],
    matches_in_order: bool = False,
) -> OrderingProperties:
    """Return the properties of a left outer join by a condition other than equal columns; see :func:`join_left`.

    Examples
    --------
    >>> left = OrderingProperties(orderings=[[("a", "asc")]], not_null=["a"])
    >>> joined = join_range_left(left, OrderingProperties(not_null=["k"]), ["a"], ["k"])
    >>> joined.satisfies([("a", "asc")]), joined.is_not_null("a"), joined.is_not_null("k")
    (True, True, False)
    """
    facts = merged(_left_facts(left, left_columns, matches_in_order), _facts_with_filler(right, right_columns))
    return OrderingProperties.of(merged(facts, SequenceFacts(not_null=(_LEFT_ROW,))))


def join_left(
    left: OrderingProperties,
    right: OrderingProperties,
    on: KeyPairs,
    left_columns: Sequence[Column],
    right_columns: Sequence[Column],
    matches_in_order: bool = False,
) -> OrderingProperties:
    """Return the properties of a left outer join, in which left rows without a match have null in all right columns; see :func:`join_inner`.

    Examples
    --------
    >>> left, right = OrderingProperties(orderings=[[("a", "asc")]]), OrderingProperties(keys=[["k"]], not_null=["k", "v"])
    >>> joined = join_left(left, right, [("a", "k")], ["a"], ["k", "v"])
    >>> joined.satisfies([("a", "asc"), ("v", "asc")]), joined.satisfies([("k", "asc")])
    (True, False)
    """
    facts = merged(_left_facts(left, left_columns, matches_in_order), _facts_with_filler(right, right_columns))
    matched = Case(_RIGHT_ROW, NO_NULLS, SequenceFacts(equivalences=tuple(on)))
    # Left rows with equal keys either all have matches or all have none.
    one_matched = Case(_RIGHT_ROW, NULL_TO_VALUE | VALUE_TO_NULL, SequenceFacts(keys=(tuple(column for column, _ in on),)))
    return OrderingProperties.of(merged(facts, SequenceFacts(not_null=(_LEFT_ROW,), cases=(matched, one_matched))))


def join_semi(left: OrderingProperties, right: OrderingProperties, on: KeyPairs) -> OrderingProperties:
    """Return the properties of the left rows that have a match, each once.

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
    """Return the properties of an as-of join: each left row with the columns of a right row that is near in time, or with null in these columns.

    Parameters
    ----------
    left, right
        Properties of the inputs, whose columns have different names.
    on
        The time column of the left and of the right input.
    right_columns
        All columns of the right input.
    by
        Pairs of a left and a right column that must be equal.
    direction
        Which right row matches: the last row that is not after the left row, the first row that is not before it, or the nearest row.
    tolerance
        Whether right rows that are too far away do not match.

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
        # If several right rows have the same time, left rows always match the same one of them.
        matched = matched._replace(functional_dependencies=(FunctionalDependency((on[1], *partners), (_RIGHT_ROW,)),))
    one_match = FunctionalDependency((on[0], *(column for column, _ in by)), (_RIGHT_ROW,))
    cases = (Case(_RIGHT_ROW, NO_NULLS, matched), *(() if tolerance else steps))
    return OrderingProperties.of(merged(facts, SequenceFacts(functional_dependencies=(one_match,), cases=cases)))


def _steps(right: OrderingProperties, on: tuple[Column, Column], by: KeyPairs, nulls: NullPlacement) -> tuple[Case, Case]:
    """Return the cases of result rows with different left times.

    If the left time grows, the matched right time does not fall; if the left time falls, it does not grow. If the right rows are sorted by time, this
    is also true of the position of the matched right row.
    """
    in_right_order = right.satisfies([*(OrderingItem(partner, "any") for _, partner in by), (on[1], "asc")])
    moving = (on[1], _RIGHT_ROW) if in_right_order else (on[1],)
    among_equal = [OrderingItem(column, "any") for column, _ in by]
    forth = SequenceFacts(orderings=tuple((*among_equal, OrderingItem(column, "asc", nulls)) for column in moving))
    return Case(on[0], LESS, forth), Case(on[0], GREATER, turned_facts(forth))


def _left_facts(left: OrderingProperties, columns: Sequence[Column], matches_in_order: bool) -> SequenceFacts:
    """Return the facts about the left rows of two result rows, which may come from the same left row."""
    facts = keys_that_determine(left.facts, (_LEFT_ROW,))
    within = (OrderingItem(_RIGHT_ROW),) if matches_in_order else ()
    row = FunctionalDependency((_LEFT_ROW,), tuple(dict.fromkeys([*columns, *columns_of(left.facts)])))
    more = SequenceFacts(orderings=((OrderingItem(_LEFT_ROW), *within),), functional_dependencies=(row,), keys=((_LEFT_ROW, _RIGHT_ROW),))
    return merged(facts, more)


def _matched_facts(right: OrderingProperties, columns: Sequence[Column]) -> SequenceFacts:
    """Return the facts about the right rows of two result rows with a match, which are in any order and may be the same right row."""
    facts = keys_that_determine(right_side(right.facts), (_RIGHT_ROW,))
    ordered = SequenceFacts(orderings=facts.orderings, cases=facts.cases)
    row = FunctionalDependency((_RIGHT_ROW,), tuple(dict.fromkeys([*columns, *columns_of(facts)])))
    return facts._replace(
        orderings=(),
        functional_dependencies=(*facts.functional_dependencies, row),
        cases=(Case(_RIGHT_ROW, LESS, ordered), Case(_RIGHT_ROW, GREATER, turned_facts(ordered))),
    )


def _facts_with_filler(right: OrderingProperties, columns: Sequence[Column]) -> SequenceFacts:
    """Return the facts about the right columns of result rows if rows without a match have null in them."""
    matched = _matched_facts(right, columns)
    # A right column without nulls is null exactly in unmatched rows.
    null_with_row = [Monotone(column, ((_RIGHT_ROW, "fixed"),), False) for column in right_side(right.facts).not_null]
    row = matched.functional_dependencies[-1]
    return SequenceFacts(
        equivalences=matched.equivalences,
        functional_dependencies=(row,),
        monotone=tuple(null_with_row),
        cases=(Case(_RIGHT_ROW, LESS | GREATER | EQUAL, matched._replace(equivalences=())),),
    )


# Running values and lags.


def cumulative_max(properties: OrderingProperties, of: Column, column: Column, per: Sequence[Column] = ()) -> OrderingProperties:
    """Return the properties of the rows with an added running maximum, which ignores missing values and is missing before the first value.

    Parameters
    ----------
    properties
        Properties of the input.
    of, column
        The column whose maximum is computed, and the added column.
    per
        Grouping columns: the maximum is computed separately for each group.

    Examples
    --------
    >>> cumulative_max(OrderingProperties(), "a", "m").satisfies([("m", "asc")])
    True
    >>> cumulative_max(OrderingProperties(orderings=[[("a", "asc")]]), "a", "m").equivalent("a", "m")
    True
    """
    return _running_extreme(properties, of, column, per, OrderingItem(of, "asc", "nulls_first"))


def cumulative_min(properties: OrderingProperties, of: Column, column: Column, per: Sequence[Column] = ()) -> OrderingProperties:
    """Return the properties of the rows with an added running minimum; see :func:`cumulative_max`.

    Examples
    --------
    >>> cumulative_min(OrderingProperties(), "a", "m").satisfies([("m", "desc", "nulls_first")])
    True
    """
    return _running_extreme(properties, of, column, per, OrderingItem(of, "desc", "nulls_first"))


def _running_extreme(properties: OrderingProperties, of: Column, column: Column, per: Sequence[Column], towards: OrderingItem) -> OrderingProperties:
    """Return the properties of the rows with an added running extreme of a column. If the rows are sorted by ``towards``, the running
    extreme of each row is its own value."""
    among_equal = [OrderingItem(key, "any") for key in per]
    not_null = [column] if properties.is_not_null(of) else []
    if properties.satisfies([*among_equal, towards]):
        return properties.add(equivalences=[(of, column)])
    if properties.satisfies([*among_equal, towards.reversed()]):
        return properties.add(functional_dependencies=[(per, (column,))], not_null=not_null)
    return properties.add(orderings=[[*among_equal, towards._replace(column=column)]], not_null=not_null)


def cumulative_sum(properties: OrderingProperties, of: Column, column: Column, non_negative: bool, positive: bool = False) -> OrderingProperties:
    """Return the properties of the rows with an added running sum.

    Parameters
    ----------
    properties
        Properties of the input.
    of, column
        The column that is summed, and the added column.
    non_negative
        Whether no value is below 0, and no sum overflows or is rounded.
    positive
        Whether, in addition, no value is 0 or missing.

    Examples
    --------
    >>> cumulative_sum(OrderingProperties(), "a", "s", non_negative=True).satisfies([("s", "asc")])
    True
    >>> cumulative_sum(OrderingProperties(), "a", "s", non_negative=False).satisfies([("s", "asc")])
    False
    """
    if not non_negative:
        return properties
    if positive:
        return properties.add(orderings=[[(column, "asc")]], keys=[[column]], not_null=[column])
    if properties.is_not_null(of):
        # The sums of two rows tie only if the later row has the value 0, which is the smallest possible value.
        return properties.add(orderings=[[(column, "asc"), (of, "desc")]], not_null=[column])
    return properties.add(orderings=[[(column, "asc")]])


def lag(properties: OrderingProperties, of: Column, column: Column, missing_first: bool) -> OrderingProperties:
    """Return the properties of the rows with an added column that holds the value of the row a fixed number of rows earlier.

    Parameters
    ----------
    properties
        Properties of the input.
    of, column
        The column whose values are read, and the added column.
    missing_first
        Whether the first rows, before which there is no row at that distance, hold null; otherwise they hold the value of the first row.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "desc")]], not_null=["a"])
    >>> lag(known, "a", "p", True).satisfies([("p", "desc", "nulls_first")])
    True
    """
    if not missing_first and properties.is_constant(of):
        return properties.add(equivalences=[(of, column)])
    placements = ("nulls_first",) if missing_first else ("nulls_first", "nulls_last")
    orders = [(direction, nulls) for direction in ("asc", "desc") for nulls in placements if properties.satisfies([(of, direction, nulls)])]
    not_null = [column] if properties.is_not_null(of) and not missing_first else []
    return properties.add(orderings=[[(column, direction, nulls)] for direction, nulls in orders], not_null=not_null)


# Sorts.

# A column that does not exist in the rows: it ties for two rows exactly if the sort has not changed their relative order.
_MOVED = Hidden("moved")


def sort(properties: OrderingProperties, by: Iterable[Sequence[Any]], stable: bool) -> OrderingProperties:
    """Return the properties of the rows after a sort.

    Parameters
    ----------
    properties
        Properties of the input.
    by
        The ordering by which the rows are sorted.
    stable
        Whether rows that tie keep their order.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc")]])
    >>> sort(known, [("b", "desc")], stable=True).satisfies([("b", "desc"), ("a", "asc")])
    True
    >>> sort(known, [("b", "desc")], stable=False).satisfies([("b", "desc"), ("a", "asc")])
    False
    """
    items = ordering(by)
    if stable and properties.satisfies(items):
        return properties
    facts = reordered(properties.facts)
    if not stable:
        return OrderingProperties.of(facts._replace(orderings=(items,)))
    ties_stay = FunctionalDependency(tuple(item.column for item in items), (_MOVED,))
    orderings = (items, *(items + old for old in properties.orderings))
    dependencies = (*facts.functional_dependencies, ties_stay)
    return OrderingProperties.of(facts._replace(orderings=orderings, functional_dependencies=dependencies))


def unordered(properties: OrderingProperties) -> OrderingProperties:
    """Return the properties of the same rows in an unknown order.

    For any two rows, the known orderings still hold either as they are or reversed. This fact is kept, because a later sort can use it.

    Examples
    --------
    >>> known = unordered(OrderingProperties(orderings=[[("a", "asc")], [("b", "asc")]], keys=[["a"]]))
    >>> known.satisfies([("a", "asc")]), known.has_key(["a"])
    (False, True)
    >>> sort(known, [("a", "asc")], stable=True).satisfies([("a", "asc"), ("b", "asc")])
    True
    """
    return OrderingProperties.of(reordered(properties.facts))


def reordered(facts: SequenceFacts) -> SequenceFacts:
    """Return the facts about the same rows in another order.

    Orderings and cases become cases: they hold as before for two rows in their old relative order, and reversed otherwise. Other facts stay.
    """
    ordered = SequenceFacts(orderings=facts.orderings, cases=facts.cases)
    if ordered == SequenceFacts():
        return facts
    return facts._replace(orderings=(), cases=(Case(_MOVED, TIES, ordered), Case(_MOVED, ALL & ~TIES, turned_facts(ordered))))


# Groups.


def unique_first(properties: OrderingProperties, on: Sequence[Column]) -> OrderingProperties:
    """Return the properties of the first row of each distinct value of the columns ``on``, in input order.

    Examples
    --------
    >>> unique_first(OrderingProperties(orderings=[[("a", "asc")]]), ["a"]).satisfies([("a", "asc"), ("b", "desc")])
    True
    """
    return properties.add(keys=[on])


def group_any_order(properties: OrderingProperties, by: Sequence[Column], count: Column | None = None) -> OrderingProperties:
    """Return the properties of the result of a hash aggregation: the grouping columns are a key, and the order is unknown.

    Parameters
    ----------
    properties
        Properties of the input.
    by
        The grouping columns.
    count
        An output column with the number of rows of each group. Nothing is known about other aggregates.

    Examples
    --------
    >>> groups = group_any_order(OrderingProperties(orderings=[[("a", "asc")]]), ["a"])
    >>> groups.satisfies([("a", "asc")]), groups.has_key(["a"])
    (False, True)
    """
    groups = unordered(properties).project({column: column for column in by})
    return groups.add(keys=[by], constants=_counts_of_one(properties, by, count))


def group_streaming(
    properties: OrderingProperties, by: Sequence[Column], first: Mapping[Any, Column] | None = None, count: Column | None = None
) -> OrderingProperties:
    """Return the properties of the result of a streaming aggregation, which has one row for each run of adjacent rows with equal grouping columns.

    Parameters
    ----------
    properties
        Properties of the input.
    by
        The grouping columns.
    first
        Maps each output column that holds a value of the run's first row to the input column that the value is from.
    count
        An output column with the number of rows of each run. Nothing is known about other aggregates.

    Examples
    --------
    >>> runs = group_streaming(OrderingProperties(orderings=[[("a", "desc"), ("b", "asc")]]), ["b", "a"])
    >>> runs.satisfies([("a", "desc"), ("b", "asc")]), runs.has_key(["a", "b"])
    (True, True)
    """
    outputs = {**{column: column for column in by}, **(first or {})}
    # If rows that are equal in some columns are adjacent, and these columns determine the grouping columns, the rows are in one run.
    candidates = [(by, by), *(((output,), (column,)) for output, column in outputs.items())]
    keys = [key for key, read in candidates if properties.satisfies_set(read) is not None and properties.determines(read, by)]
    return properties.project(outputs).add(keys=keys, constants=_counts_of_one(properties, by, count))


def _counts_of_one(properties: OrderingProperties, by: Sequence[Column], count: Column | None) -> list[Column]:
    """Return a list with the count column if each group has one row because the grouping columns are a key; otherwise an empty list."""
    return [] if count is None or not properties.has_key(by) else [count]


__all__ = [
    "append", "asof_left", "cumulative_max", "cumulative_min", "cumulative_sum", "filtered", "first_rows", "group_any_order", "group_streaming",
    "join_inner", "join_left", "join_range", "join_semi", "lag", "merge_sorted", "project", "repeat_each", "reverse", "row_number", "sort", "subset",
    "unique_first", "unordered", "zip_rows",
]  # fmt: skip
