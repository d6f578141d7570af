"""The two classes that users see, for the members below them that make frames and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.api.sframe import SFrame
    from sframe_spark.planner.node import PlannerNode


class Faces:
    """Where each of the two classes says that it is there, once, below its definition."""

    array: ClassVar[type[SArray]]
    frame: ClassVar[type[SFrame]]


def made_array(node: PlannerNode, typed_by_values: bool = False) -> SArray:
    """The column of a node; ``typed_by_values`` is one without a class as long as all its values are missing."""
    return Faces.array(_node=node, _typed_by_values=typed_by_values)


def made_frame(node: PlannerNode, names: Sequence[str]) -> SFrame:
    """The frame of a node and the names of its columns."""
    return Faces.frame(_node=node, _names=names)
