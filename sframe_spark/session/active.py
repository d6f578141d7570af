"""The session that Spark calls active belongs to the user: what we do in ours leaves it as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sframe_spark.session.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextlib.contextmanager
def keeping_active(session: SparkSession) -> Iterator[None]:
    """Give back, after the block, the session that was active before it.

    ``createDataFrame`` makes its session the active one of the thread. Without this a user's ``SparkSession.active()``
    would, after a query of ours, no longer find their own views and settings.
    """
    if is_remote(session):
        # A remote session becomes active only when it is created.
        yield
        return
    from pyspark.sql import SparkSession

    # No public call makes a session active, and nothing here decides a result.
    java_class = SparkSession._get_j_spark_session_class(session.sparkContext._jvm)
    python_side, java_side = SparkSession._activeSession, java_class.getActiveSession()
    try:
        yield
    finally:
        SparkSession._activeSession = python_side
        if java_side.isDefined():
            java_class.setActiveSession(java_side.get())
        else:
            java_class.clearActiveSession()
