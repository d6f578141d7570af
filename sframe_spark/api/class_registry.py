"""Access to the classes SFrame and SArray for their mixins, which cannot import them.

The mixins of either class make objects of both. For annotations they import the names from here, the only module below the classes that imports
them, for type checkers only; at run time each class registers itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray as SArray  # noqa: PLC0414 (re-exported)
    from sframe_spark.api.sframe import SFrame as SFrame  # noqa: PLC0414 (re-exported)
    from sframe_spark.planner.node import PlannerNode
    from sframe_spark.plotting.plot import Plot as Plot  # noqa: PLC0414 (re-exported)
    from sframe_spark.plotting.summary import ColumnFacts as ColumnFacts  # noqa: PLC0414 (re-exported)
    from sframe_spark.plotting.summary import FrameSummary as FrameSummary  # noqa: PLC0414 (re-exported)


class ClassRegistry:
    """The two classes, each of which registers itself after its definition."""

    array: ClassVar[type[SArray]]
    frame: ClassVar[type[SFrame]]


def make_array(node: PlannerNode, typed_by_values: bool = False) -> SArray:
    """Return the column of a node; if it is ``typed_by_values``, it has no type while all its values are missing."""
    return ClassRegistry.array(_node=node, _typed_by_values=typed_by_values)


def make_frame(node: PlannerNode, names: Sequence[str]) -> SFrame:
    """Return the frame of a node with column names."""
    return ClassRegistry.frame(_node=node, _names=names)
