"""The user's own session: it stays the active one, and our DataFrames can be moved into it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sframe_spark.session.deployment import is_same_program
from sframe_spark.session.launch import WORKER_PYTHON, is_remote
from sframe_spark.session.session import active_session, get_base, get_session, own_sessions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@contextlib.contextmanager
def keeping_active(session: SparkSession) -> Iterator[None]:
    """Restore, after the block, the session that was active before it.

    ``createDataFrame`` makes its session the active one of the thread. Without this a user's ``SparkSession.active()``
    would, after a query of ours, no longer find their own views and settings.
    """
    if is_remote(session):
        # A remote session becomes active only when it is created.
        yield
        return
    from pyspark.sql import SparkSession

    # No public method makes a session active; no result depends on it.
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


def user_session() -> SparkSession:
    """Return the session that is active in this thread, or the one from which ours are derived; never one of ours."""
    base = get_base()
    active = active_session()
    if active is None or is_remote(active) != is_remote(base) or any(is_same(active, own) for own in own_sessions()):
        return base
    if is_remote(active) and active.client.host != base.client.host:
        # Another server does not know the data that ours reads.
        return base
    return base if is_same(active, base) else active


def is_same(one: SparkSession, other: SparkSession) -> bool:
    """Return whether two objects are the same session of Spark."""
    if one is other:
        return True
    if is_remote(one) or is_remote(other):
        return False
    return bool(one._jsparkSession.equals(other._jsparkSession))


def in_session(df: DataFrame, session: SparkSession) -> DataFrame:
    """Return a classic DataFrame as one of another session; the results of its plan do not change.

    The plan is the analysed one: every expression in it has taken from its own session what decides its value (ANSI mode, time zone, case
    sensitivity), and every scan refers to its session. Whatever is built on top is analysed in the other session.
    """
    if df.sparkSession is session:
        return df
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    # `commandExecuted`: the result of a command, which Spark would otherwise run again.
    # No public method does this; without it users could neither name the DataFrame in SQL nor apply their functions to it.
    # The full name at once: each part would be a request to the JVM, and the first of them is slow.
    dataset = getattr(session.sparkContext._jvm, "org.apache.spark.sql.classic.Dataset")
    return ClassicDataFrame(dataset.ofRows(session._jsparkSession, df._jdf.queryExecution().commandExecuted()), session)


@contextlib.contextmanager
def clone_of(session: SparkSession) -> Iterator[SparkSession]:
    """Yield a copy of a user's session with its settings, views and functions; changes to it stay in it. A remote one is closed afterwards."""
    if is_remote(session):
        remote = session.cloneSession()
        try:
            yield remote
        finally:
            remote.client.close()
        return
    from pyspark.sql import SparkSession

    # PySpark's classic sessions have no method for this.
    yield SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


def starts_our_python(session: SparkSession) -> bool:
    """Return whether queries of a user's session start the same Python as ours, which has our packages."""
    if is_remote(session):
        return False
    default = session.sparkContext.pythonExec
    return is_same_program(get_session().conf.get(WORKER_PYTHON, "") or default, session.conf.get(WORKER_PYTHON, "") or default)


def tags_of_user() -> tuple[str, ...]:
    """Return the tags of the user's session for this thread, and the tag by which ``interruptAll`` finds its jobs.

    Our queries run in other sessions, which do not have these by themselves. Pools, job groups and tags of the context are properties of the thread,
    which our threads inherit.
    """
    # The base session: asking for the active one would take more requests to the JVM than everything else here.
    user = get_base()
    if is_remote(user):
        return tuple(sorted(user.getTags()))
    session = user._jsparkSession
    # No public method returns tags as jobs carry them.
    own = str(session.managedJobTags().get().values().mkString(","))
    return (str(session.sessionJobTag()), *filter(None, own.split(",")))
