"""The user's own Spark session, beside this package's sessions: finds it, keeps it the active one, and clones it.

Also moves this package's DataFrames into it, and returns its job tags and whether it starts the same Python.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sframe_spark.session.python_of_spark_workers import is_same_program
from sframe_spark.session.session import active_session, get_base, get_session, own_sessions
from sframe_spark.session.spark_start_and_settings import WORKER_PYTHON, is_remote
from sframe_spark.session.spark_versions import clone_of_remote, dataframe_of_plan, java_sessions, tags_of_jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@contextlib.contextmanager
def keeping_active(session: SparkSession) -> Iterator[None]:
    """Restore, after the block, the session that was active before it.

    ``createDataFrame`` makes its session the active one of the thread. Without this, a user's ``SparkSession.active()`` would not return the user's
    session, with its views and settings, after a query of this package.
    """
    if is_remote(session):
        # A remote session becomes active only when it is created.
        yield
        return
    from pyspark.sql import SparkSession

    # There is no public method to make a session active; no result depends on this.
    java_class = java_sessions(session)
    python_side, java_side = SparkSession._activeSession, java_class.getActiveSession()
    try:
        yield
    finally:
        SparkSession._activeSession = python_side
        if java_side.isDefined():
            java_class.setActiveSession(java_side.get())
        else:
            java_class.clearActiveSession()


def user_session() -> SparkSession:
    """Return the session that is active in this thread if it is the user's, else the base session, from which this package's sessions are derived."""
    base = get_base()
    active = active_session()
    if active is None or is_remote(active) != is_remote(base) or any(is_same(active, own) for own in own_sessions()):
        return base
    if is_remote(active) and active.client.host != base.client.host:
        # A session on another server cannot read the data that this package's sessions read.
        return base
    return base if is_same(active, base) else active


def is_same(one: SparkSession, other: SparkSession) -> bool:
    """Return whether two objects are the same Spark session."""
    if one is other:
        return True
    if is_remote(one) or is_remote(other):
        return False
    return bool(one._jsparkSession.equals(other._jsparkSession))


def in_session(df: DataFrame, session: SparkSession) -> DataFrame:
    """Return a classic DataFrame as a DataFrame of another session; the results of its plan do not change.

    The plan is the analysed one: every expression in it has taken the settings that decide its value (ANSI mode, time zone, case sensitivity) from
    its own session, and every scan refers to its session. Whatever is added is analysed in the other session.
    """
    if df.sparkSession is session:
        return df
    # `commandExecuted` returns the result of a command, which Spark would otherwise run again.
    return dataframe_of_plan(session, df._jdf.queryExecution().commandExecuted())


@contextlib.contextmanager
def clone_of(session: SparkSession) -> Iterator[SparkSession]:
    """Yield a copy of a user's session with its settings, views and functions; changes of the copy do not affect the session.

    A copy on a Spark Connect server is closed after the block.
    """
    if is_remote(session):
        remote = clone_of_remote(session)
        try:
            yield remote
        finally:
            remote.client.close()
        return
    from pyspark.sql import SparkSession

    # PySpark's classic sessions have no method for this.
    yield SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


def starts_our_python(session: SparkSession) -> bool:
    """Return whether queries of a user's session run the same Python as queries of this package, which has our packages."""
    if is_remote(session):
        return False
    default = session.sparkContext.pythonExec
    return is_same_program(get_session().conf.get(WORKER_PYTHON, "") or default, session.conf.get(WORKER_PYTHON, "") or default)


def tags_of_user() -> tuple[str, ...]:
    """Return the tags of the user's session for this thread, and the tag by which ``interruptAll`` finds its jobs.

    Queries of this package run in other sessions, which do not have these tags. Pools, job groups and tags of the context are properties of the
    thread, which this package's threads inherit.
    """
    # The base session is asked even if another session of the user's is active in this thread: asking which one is active would take more calls of
    # the JVM than the rest of this function.
    user = get_base()
    if is_remote(user):
        return tuple(sorted(user.getTags()))
    return tags_of_jobs(user)
