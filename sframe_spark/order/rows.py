"""Operators that keep, leave out, repeat, turn round or number rows."""

from __future__ import annotations

from collections.abc import Iterable

from sframe_spark.order.facts import Column, FunctionalDependency, SequenceFacts
from sframe_spark.order.properties import OrderingProperties
from sframe_spark.order.rename import columns_of


def subset(properties: OrderingProperties) -> OrderingProperties:
    """Properties of any part of the rows in the same order: every fact is about all pairs of rows, so all stay.

    Examples
    --------
    >>> known = OrderingProperties(orderings=[[("a", "asc")]])
    >>> subset(known) == known
    True
    """
    return properties


def first_rows(properties: OrderingProperties, rows: int) -> OrderingProperties:
    """Properties of a given number of neighbouring rows: the first, the last or a slice.

    Examples
    --------
    >>> first_rows(OrderingProperties(), 1).satisfies([("a", "asc"), ("a", "desc")])
    True
    """
    return properties.add(keys=[()]) if rows <= 1 else properties


def reverse(properties: OrderingProperties) -> OrderingProperties:
    """Properties of the rows in opposite order.

    Examples
    --------
    >>> reverse(OrderingProperties(orderings=[[("a", "desc")]])).satisfies([("a", "asc")])
    True
    """
    return properties.reverse()


def repeat_each(properties: OrderingProperties, columns: Iterable[Column]) -> OrderingProperties:
    """Properties after each row is repeated in place: a key is one no more, but it still determines the row.

    Parameters
    ----------
    properties
        Of the input.
    columns
        All columns.

    Examples
    --------
    >>> known = repeat_each(OrderingProperties(orderings=[[("i", "asc")]], keys=[["i"]]), ["i", "a"])
    >>> known.has_key(["i"]), known.satisfies([("i", "asc"), ("a", "desc")])
    (False, True)
    """
    determined = tuple(dict.fromkeys([*columns, *columns_of(properties.facts)]))
    return OrderingProperties.of(keys_that_determine(properties.facts, determined))


def keys_that_determine(facts: SequenceFacts, determined: tuple[Column, ...]) -> SequenceFacts:
    """Facts in which each key determines some columns instead of excluding a second row.

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
    """Properties with an added column that numbers the rows.

    Examples
    --------
    >>> row_number(OrderingProperties(), "i").satisfies([("i", "asc"), ("a", "desc")])
    True
    """
    return properties.add(orderings=[[(column, "asc")]], keys=[[column]], not_null=[column])
