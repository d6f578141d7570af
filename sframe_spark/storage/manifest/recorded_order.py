"""What was proved about the rows of a result before they were written, beyond what looking at single columns tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from sframe_spark.storage.manifest.json_values import flag_of


@attrs.frozen
class RecordedOrder:
    """What was proved about the rows of a result before they were written, beyond what looking at single columns tells.

    Parameters
    ----------
    orderings
        Lists of column and whether it ascends; the rows are in order of each, compared column by column. Missing values are the smallest.
    keys
        Lists of columns on which no two rows are equal.
    compared
        Orderings that files of others seem to be in, whose rows were compared, each with how many of its first columns they are in order of. No
        manifest file and no plan's text says it.

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
        """Return these facts and one more ordering."""
        return self if ordering in self.orderings else attrs.evolve(self, orderings=(*self.orderings, ordering))

    def and_compared(self, ordering: tuple[tuple[int, bool], ...], held: int, key: int | None) -> RecordedOrder:
        """Return these facts and what comparing rows told: of how many leading columns the order holds, and how many of these are a key.

        Examples
        --------
        >>> RecordedOrder().and_compared(((0, True), (1, True)), 1, None).orderings
        (((0, True),),)
        """
        known = self.and_ordering(ordering[:held]) if held else self
        keys = known.keys if key is None else (*known.keys, tuple(column for column, _ in ordering[:key]))
        return attrs.evolve(known, keys=keys, compared=(*self.compared, (ordering, held)))

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object."""
        return {"orderings": self.orderings, "keys": self.keys}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RecordedOrder:
        """Return the facts that :meth:`to_json` described."""
        orderings = tuple(tuple((column, flag_of(up)) for column, up in items) for items in value.get("orderings", ()))
        return cls(orderings, tuple(tuple(key) for key in value.get("keys", ())))


NO_RECORDED_ORDER = RecordedOrder()
