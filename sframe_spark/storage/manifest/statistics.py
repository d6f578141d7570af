"""Statistics of columns, and the recorded order and keys of rows."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.storage.manifest.manifest_json import flag_of, scalar_from_json, scalar_to_json

Scalar = int | float | str | None


@attrs.frozen
class ColumnStatistics:
    """Proven facts about the values of one column, in row order; None and False flags mean nothing is known.

    Order is that of the engine: missing values first, then numbers (or texts, or instants) ascending, NaN last, with
    -0.0 equal to 0.0. Datetimes are given as microseconds since 1970.

    Parameters
    ----------
    ascending, descending, strictly_ascending, strictly_descending, constant
        How each value compares to the one before it; None when it was not examined.
    has_missing, has_nan
        Whether any value is missing, or NaN; None when unknown.
    edges_known, first, last
        The first and the last value (None for missing), meaningful only if ``edges_known``.
    bounds_known, minimum, maximum
        Bounds of the values that are neither missing nor NaN, meaningful only if ``bounds_known``; both None when there
        are no such values.
    """

    ascending: bool | None = None
    descending: bool | None = None
    strictly_ascending: bool | None = None
    strictly_descending: bool | None = None
    constant: bool | None = None
    has_missing: bool | None = None
    has_nan: bool | None = None
    edges_known: bool = False
    first: Scalar = None
    last: Scalar = None
    bounds_known: bool = False
    minimum: Scalar = None
    maximum: Scalar = None

    def to_json(self) -> dict[str, Any]:
        """Return the known facts as a JSON object.

        Examples
        --------
        >>> ColumnStatistics(has_missing=False, bounds_known=True, minimum=1, maximum=float("inf")).to_json()
        {'has_missing': False, 'bounds_known': True, 'minimum': 1, 'maximum': {'float': 'inf'}}
        """
        # Not `attrs.asdict`, which takes longer than all the rest of it: there may be thousands of columns.
        known: dict[str, Any] = {}
        for name, value in zip(_FACTS, _facts_of(self), strict=True):
            if value is not None and (value is not False or name not in ("edges_known", "bounds_known")):
                known[name] = scalar_to_json(value) if isinstance(value, float) else value
        return known

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ColumnStatistics:
        """Return the facts that :meth:`to_json` described; facts of a later version are left out."""
        known = {field.name for field in attrs.fields(cls)}
        return cls(**{name: scalar_from_json(fact) for name, fact in value.items() if name in known})


_FACTS = tuple(field.name for field in attrs.fields(ColumnStatistics))
_facts_of = operator.attrgetter(*_FACTS)
UNKNOWN_STATISTICS = ColumnStatistics()


# The order and the keys of rows.


@attrs.frozen
class RecordedOrder:
    """Orderings and keys that were proved when the rows were computed, beyond statistics of single columns.

    Parameters
    ----------
    orderings
        Lists of column and whether it ascends; the rows are in order of each, compared column by column. Missing values are the smallest.
    keys
        Lists of columns on which no two rows are equal.
    compared
        Orderings that external files seem to have and that were compared with the rows, each with the number of its leading columns that hold.
        Not part of any text.

    Examples
    --------
    >>> order = RecordedOrder(orderings=(((1, True), (0, False)),), keys=((0,),))
    >>> RecordedOrder.from_json(order.to_json()) == order
    True
    """

    orderings: tuple[tuple[tuple[int, bool], ...], ...] = ()
    keys: tuple[tuple[int, ...], ...] = ()
    compared: tuple[tuple[tuple[tuple[int, bool], ...], int], ...] = attrs.field(default=(), eq=False)

    def and_ordering(self, ordering: tuple[tuple[int, bool], ...]) -> RecordedOrder:
        """Return these facts with one more ordering."""
        return self if ordering in self.orderings else attrs.evolve(self, orderings=(*self.orderings, ordering))

    def and_compared(self, ordering: tuple[tuple[int, bool], ...], verified_columns: int, key: int | None) -> RecordedOrder:
        """Return these facts with the result of comparing rows: how many leading columns hold, and how many of them are a key.

        Examples
        --------
        >>> RecordedOrder().and_compared(((0, True), (1, True)), 1, None).orderings
        (((0, True),),)
        """
        known = self.and_ordering(ordering[:verified_columns]) if verified_columns else self
        keys = known.keys if key is None else (*known.keys, tuple(column for column, _ in ordering[:key]))
        return attrs.evolve(known, keys=keys, compared=(*self.compared, (ordering, verified_columns)))

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object."""
        return {"orderings": self.orderings, "keys": self.keys}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RecordedOrder:
        """Return the facts that :meth:`to_json` described."""
        orderings = tuple(tuple((column, flag_of(up)) for column, up in items) for items in value.get("orderings", ()))
        return cls(orderings, tuple(tuple(key) for key in value.get("keys", ())))


NO_RECORDED_ORDER = RecordedOrder()


# Projection of a recorded order.


def projected_order(order: RecordedOrder, positions: Sequence[int]) -> RecordedOrder:
    """Return a recorded order in terms of some columns; an ordering ends at the first column that is not among them.

    Examples
    --------
    >>> projected_order(RecordedOrder((((2, True), (0, False)),), ((2,), (0, 1))), [2])
    RecordedOrder(orderings=(((0, True),),), keys=((0,),), compared=())
    """
    places = {position: place for place, position in enumerate(positions)}
    orderings = (
        tuple((places[column], up) for column, up in itertools.takewhile(lambda item: item[0] in places, items)) for items in order.orderings
    )
    keys = tuple(tuple(places[column] for column in key) for key in order.keys if all(column in places for column in key))
    return RecordedOrder(tuple(filter(None, orderings)), keys)
