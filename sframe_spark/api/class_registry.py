"""Gives mixins access to the classes SFrame and SArray, which they cannot import because these classes inherit from the mixins.

At run time, SFrame and SArray register themselves here. For annotations, the mixins import the class names from this module, the only one below
the classes that imports them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.api.sframe import SFrame
    from sframe_spark.planner.node import PlannerNode
    from sframe_spark.plotting.plot_class_and_chart_choice import Plot
    from sframe_spark.plotting.summary import ColumnFacts, FrameSummary
else:
    # Annotations are not evaluated, so they need the names only.
    ColumnFacts = FrameSummary = Plot = SArray = SFrame = Any

__all__ = ["ClassRegistry", "ColumnFacts", "FrameSummary", "Plot", "SArray", "SFrame", "make_array", "make_frame"]


class ClassRegistry:
    """The classes SArray and SFrame; each registers itself here after its definition."""

    array: ClassVar[type[SArray]]
    frame: ClassVar[type[SFrame]]


def make_array(node: PlannerNode, typed_by_values: bool = False) -> SArray:
    """Return an SArray of a one-column node. With ``typed_by_values``, its ``dtype`` is unknown while all values are missing."""
    return ClassRegistry.array(_node=node, _typed_by_values=typed_by_values)


def make_frame(node: PlannerNode, names: Sequence[str]) -> SFrame:
    """Return an SFrame of a node, with names for its columns."""
    return ClassRegistry.frame(_node=node, _names=names)
