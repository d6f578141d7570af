"""What a recorded order says of some columns alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sframe_spark.storage.manifest.recorded_order import RecordedOrder


def shown_order(order: RecordedOrder, positions: Sequence[int]) -> RecordedOrder:
    """The order of rows in terms of some columns; one ends where a column is not among them.

    Examples
    --------
    >>> shown_order(RecordedOrder((((2, True), (0, False)),), ((2,), (0, 1))), [2])
    RecordedOrder(orderings=(((0, True),),), keys=((0,),), compared=())
    """
    places = {position: place for place, position in enumerate(positions)}
    orderings = (
        tuple((places[column], up) for column, up in itertools.takewhile(lambda item: item[0] in places, items)) for items in order.orderings
    )
    keys = tuple(tuple(places[column] for column in key) for key in order.keys if all(column in places for column in key))
    return RecordedOrder(tuple(filter(None, orderings)), keys)
