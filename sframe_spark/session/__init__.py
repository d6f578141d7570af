"""Spark sessions: finding Java, finding or starting Spark, and running actions that can be cancelled. Importing this package imports no Spark."""

from sframe_spark.session.session import (
    QuerySize,
    default_parallelism,
    follow_user,
    get_frames,
    get_reached,
    get_session,
    get_sources,
    get_unshared,
    is_remote,
    is_started,
    require_frame_open,
    shuffle_partitions,
    start_ahead,
    stop,
)

__all__ = [
    "QuerySize",
    "default_parallelism",
    "follow_user",
    "get_frames",
    "get_reached",
    "get_session",
    "get_sources",
    "get_unshared",
    "is_remote",
    "is_started",
    "require_frame_open",
    "shuffle_partitions",
    "start_ahead",
    "stop",
]
