"""The recorded orderings and keys of the rows of a dataset, with their JSON form, and what remains of them when columns are selected."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.storage.manifest.manifest_json import flag_of


@attrs.frozen
class RecordedOrder:
    """Orderings and keys of the rows of a dataset that statistics of single columns do not show.

    Parameters
    ----------
    orderings
        Each ordering is a list of pairs: a column position, and whether the column ascends. The rows are sorted by each of the orderings; missing
        values are the smallest.
    keys
        Each key is a list of columns, in which no two rows have the same values.
    compared
        Orderings that the metadata of external files suggest, and that were compared with the rows, each with the number of its leading columns by
        which the rows are sorted. Not serialised.
    assumed
        Those of the orderings with which an action would compare the rows before it plans. Only copies of plans that never run have them.

    Examples
    --------
    >>> order = RecordedOrder(orderings=(((1, True), (0, False)),), keys=((0,),))
    >>> RecordedOrder.from_json(order.to_json()) == order
    True
    """

    orderings: tuple[tuple[tuple[int, bool], ...], ...] = ()
    keys: tuple[tuple[int, ...], ...] = ()
    compared: tuple[tuple[tuple[tuple[int, bool], ...], int], ...] = attrs.field(default=(), eq=False)
    assumed: tuple[tuple[tuple[int, bool], ...], ...] = attrs.field(default=(), eq=False)

    def and_ordering(self, ordering: tuple[tuple[int, bool], ...]) -> RecordedOrder:
        """Return a copy with one more ordering."""
        return self if ordering in self.orderings else attrs.evolve(self, orderings=(*self.orderings, ordering))

    def and_assumed(self, ordering: tuple[tuple[int, bool], ...]) -> RecordedOrder:
        """Return a copy with one more ordering, with which the rows have not been compared yet."""
        return attrs.evolve(self.and_ordering(ordering), assumed=(*self.assumed, ordering))

    def and_compared(self, ordering: tuple[tuple[int, bool], ...], verified_columns: int, key: int | None) -> RecordedOrder:
        """Return a copy with the result of comparing an ordering with the rows.

        Parameters
        ----------
        ordering
            The ordering.
        verified_columns
            The number of leading columns of the ordering by which the rows are sorted.
        key
            The number of leading columns of the ordering that are a key; None if they are not known to be one.

        Examples
        --------
        >>> RecordedOrder().and_compared(((0, True), (1, True)), 1, None).orderings
        (((0, True),),)
        """
        known = self.and_ordering(ordering[:verified_columns]) if verified_columns else self
        keys = known.keys if key is None else (*known.keys, tuple(column for column, _ in ordering[:key]))
        return attrs.evolve(known, keys=keys, compared=(*self.compared, (ordering, verified_columns)))

    def to_json(self) -> dict[str, Any]:
        """Return the orderings and keys as a JSON object."""
        return {"orderings": self.orderings, "keys": self.keys}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RecordedOrder:
        """Return the orderings and keys that :meth:`to_json` has converted to JSON."""
        orderings = tuple(tuple((column, flag_of(up)) for column, up in items) for items in value.get("orderings", ()))
        return cls(orderings, tuple(tuple(key) for key in value.get("keys", ())))


NO_RECORDED_ORDER = RecordedOrder()


def projected_order(order: RecordedOrder, positions: Sequence[int]) -> RecordedOrder:
    """Return the orderings and keys that rows have when only some columns are kept, with the columns' new positions.

    An ordering ends before its first column that is not kept; a key is kept if all its columns are.

    Examples
    --------
    >>> projected_order(RecordedOrder((((2, True), (0, False)),), ((2,), (0, 1))), [2])
    RecordedOrder(orderings=(((0, True),),), keys=((0,),), compared=(), assumed=())
    """
    places = {position: place for place, position in enumerate(positions)}
    orderings = (
        tuple((places[column], up) for column, up in itertools.takewhile(lambda item: item[0] in places, items)) for items in order.orderings
    )
    keys = tuple(tuple(places[column] for column in key) for key in order.keys if all(column in places for column in key))
    return RecordedOrder(tuple(filter(None, orderings)), keys)
