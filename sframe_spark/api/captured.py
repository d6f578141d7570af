"""Frames and columns that users' functions use: they are computed before the functions are sent, as no task can start another query."""

from __future__ import annotations

from sframe_spark.api.class_registry import Faces
from sframe_spark.engine.planning.placement import is_small
from sframe_spark.engine.runs.materialize import is_materialized, materialize
from sframe_spark.udf.bound_function import FunctionAsNow


def compute_captured(function: FunctionAsNow) -> None:
    """Compute the frames and columns that a function reaches now, but those of few rows: these it computes where it is called.

    As in the reference that is so when the function is given. Rows in memory go with the function, others stay in files that it reads.

    Examples
    --------
    >>> from sframe_spark import SArray
    >>> names = SArray(["a", "b"])
    >>> list(SArray([1, 0]).apply(lambda place: names[place]))
    ['b', 'a']
    """
    for value in function.reached():
        if isinstance(value, (Faces.array, Faces.frame)) and not is_materialized(value._node) and not is_small(value._node):
            materialize(value._node)
