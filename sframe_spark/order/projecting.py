"""Projections with computed columns, and filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sframe_spark.order.facts import Column, Monotone
from sframe_spark.order.properties import OrderingProperties


def project(
    properties: OrderingProperties,
    outputs: Mapping[Any, Column | None],
    monotone: Iterable[Monotone] = (),
    determined: Iterable[Sequence[Iterable[Column]]] = (),
    constants: Iterable[Column] = (),
) -> OrderingProperties:
    """Properties after a projection.

    Parameters
    ----------
    properties
        Of the input.
    outputs
        For each output column the input or computed column that it shows; None where nothing is known.
    monotone
        Computed columns that are monotone functions of input columns or of other computed columns, null exactly where an argument is.
    determined
        Pairs of columns and columns that they determine: what other deterministic expressions read and give, and the reverse where an
        expression never gives one value for two arguments.
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
    """Properties of the rows that a predicate keeps.

    Parameters
    ----------
    properties
        Of the input.
    constants
        Columns that the predicate compares with a literal by ``=``.
    equivalences
        Columns that it compares with each other by ``=``; only where equality is that of the order (no -0.0 beside 0.0, no NaN).
    not_null
        Columns on which it is not true if they are null.

    Examples
    --------
    >>> filtered(OrderingProperties(orderings=[[("a", "asc"), ("b", "asc")]]), constants=["a"]).satisfies([("b", "asc")])
    True
    """
    return properties.add(constants=constants, equivalences=equivalences, not_null=not_null)
