"""SFrame and SArray for the code below them: their names for annotations, and the classes themselves once they are defined.

The members of either class make objects of both, and stand below them in files of their own. They name the two classes in annotations as this module
does, the only one below SFrame and SArray that imports them, for type checkers alone; at run time each class registers itself.
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
    """The two classes, each of which registers itself below its definition."""

    array: ClassVar[type[SArray]]
    frame: ClassVar[type[SFrame]]


def make_array(node: PlannerNode, typed_by_values: bool = False) -> SArray:
    """Return the column of a node; one that is ``typed_by_values`` has no type as long as all its values are missing."""
    return ClassRegistry.array(_node=node, _typed_by_values=typed_by_values)


def make_frame(node: PlannerNode, names: Sequence[str]) -> SFrame:
    """Return the frame of a node and the names of its columns."""
    return ClassRegistry.frame(_node=node, _names=names)
