"""Spark sessions: find Java, find or start Spark, run actions that can be cancelled; importing it imports no Spark."""

from sframe_spark.session.cancel import raise_if_cancelled, run_cancellable
from sframe_spark.session.session import (
    SessionHolder,
    default_parallelism,
    get_session,
    get_small_session,
    get_sources,
    is_remote,
    is_started,
    require_frame_open,
    stop,
)

__all__ = [
    "SessionHolder",
    "default_parallelism",
    "get_session",
    "get_small_session",
    "get_sources",
    "is_remote",
    "is_started",
    "raise_if_cancelled",
    "require_frame_open",
    "run_cancellable",
    "stop",
]
