"""What is known of the rows of a join."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties


def joined_properties(inputs: Sequence[RelationProperties], widths: Sequence[int], on: Sequence[tuple[int, int]], how: str) -> RelationProperties:
    """Properties of a join whose output has all left columns, then the right ones that are not keys.

    Parameters
    ----------
    inputs, widths
        Properties and numbers of columns of the left and the right input.
    on
        Pairs of a left and a right key position.
    how
        ``inner``, ``left``, ``right`` or ``outer``; of an outer join nothing is known.
    """
    if how == "outer":
        return RelationProperties()
    width = widths[0]
    right = inputs[1].order.project({width + position: position for position in range(widths[1])})
    left_columns, right_columns = list(range(width)), [width + position for position in range(widths[1])]
    pairs = [(a, width + b) for a, b in on]
    keys = dict(on)
    values = [position for position in range(widths[1]) if position not in keys.values()]
    origins = [*left_columns, *[width + position for position in values]]
    bounds = {} if how == "right" else dict(inputs[0].bounds)
    if how == "right":
        swapped = [(b, a) for a, b in pairs]
        order = derive.join_left(right, inputs[0].order, swapped, right_columns, left_columns, matches_in_order=True)
        origins[:width] = [width + keys[position] if position in keys else position for position in left_columns]
    else:
        join = derive.join_inner if how == "inner" else derive.join_left
        order = join(inputs[0].order, right, pairs, left_columns, right_columns, matches_in_order=True)
    if how != "left":
        shown = {position: place for place, position in enumerate(origins)}
        bounds.update({shown[width + p]: found for p, found in inputs[1].bounds.items() if width + p in shown})
    return RelationProperties(order.project(dict(enumerate(origins))), bounds=bounds)
