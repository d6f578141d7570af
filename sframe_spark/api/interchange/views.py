"""Frames as views of a user's session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sframe_spark.api.interchange.to_spark import to_spark_within
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.session.user_session import user_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sframe_spark.api.class_registry import SFrame


def register_view(name: str, frame: SFrame) -> None:
    """Make a frame a temporary view of the user's active session."""
    require_name(name)
    make_view(name, frame, user_session())


def make_view(name: str, frame: SFrame, session: SparkSession) -> None:
    """Make a frame a temporary view of a session, instead of one that is there."""
    to_spark_within(frame._node, frame._names, session).createOrReplaceTempView(f"`{name}`")


def require_name(name: Any) -> None:
    """Let names of views pass.

    Raises
    ------
    InvalidArgumentError
        If it is not one word of letters, digits and underscores.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w{0,127}", name):
        raise InvalidArgumentError(f"the name of a view is at most 128 letters, digits and underscores, a letter first, got {name!r:.200}")
