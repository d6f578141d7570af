"""The session in which a user works: it stays the active one, and DataFrames of ours can be made to belong to it."""

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


# The session, and what belongs to it.


def user_session() -> SparkSession:
    """Return the session that is active in this thread, or the one that ours are beside when none is; never one of ours."""
    base = get_base()
    active = active_session()
    if active is None or is_remote(active) != is_remote(base) or any(is_same(active, own) for own in own_sessions()):
        return base
    if is_remote(active) and active.client.host != base.client.host:
        # Another server knows nothing of what ours reads.
        return base
    return base if is_same(active, base) else active


def is_same(one: SparkSession, other: SparkSession) -> bool:
    """Say whether two objects are one session of Spark's."""
    if one is other:
        return True
    if is_remote(one) or is_remote(other):
        return False
    return bool(one._jsparkSession.equals(other._jsparkSession))


def in_session(df: DataFrame, session: SparkSession) -> DataFrame:
    """Return a DataFrame of this process's JVM as one of another session of it; whatever is computed by it already is computed as before.

    The plan is the analysed one: every expression in it has taken from its own session what decides its value (ANSI mode, time zone, upper
    and lower case in names), and every scan has its session with it. What is built on top is analysed in the other session.
    """
    if df.sparkSession is session:
        return df
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    # Of a command, what it gave: Spark would run it again.
    # No public call does this; without it a user could neither name the DataFrame in their SQL nor give it their functions.
    # By its whole name: each part would be a question to the JVM, and the first of them it answers slowly.
    dataset = getattr(session.sparkContext._jvm, "org.apache.spark.sql.classic.Dataset")
    return ClassicDataFrame(dataset.ofRows(session._jsparkSession, df._jdf.queryExecution().commandExecuted()), session)


@contextlib.contextmanager
def clone_of(session: SparkSession) -> Iterator[SparkSession]:
    """Yield a session with all that a user's has: settings, views, functions. What it gets more is its own; that of a server ends with the block."""
    if is_remote(session):
        remote = session.cloneSession()
        try:
            yield remote
        finally:
            remote.client.close()
        return
    from pyspark.sql import SparkSession

    # PySpark knows no call for what Spark Connect's sessions have.
    yield SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


def starts_our_python(session: SparkSession) -> bool:
    """Say whether queries of a user's session start the Python that queries of ours do, which has our packages."""
    if is_remote(session):
        return False
    ours = get_session()
    default = session.sparkContext.pythonExec
    return is_same_program(ours.conf.get(WORKER_PYTHON, "") or default, session.conf.get(WORKER_PYTHON, "") or default)


def tags_of_user() -> tuple[str, ...]:
    """What this thread's work carries by the user's session: their tags there, and what ``interruptAll`` of it goes by.

    Queries of ours run in sessions beside it, which have none of these by themselves. Pools, job groups and tags of the context are properties of
    the thread, which threads of ours inherit.
    """
    # Which session is active in this thread would be more questions to the JVM than all others.
    user = get_base()
    if is_remote(user):
        return tuple(sorted(user.getTags()))
    session = user._jsparkSession
    # No public call gives a tag as jobs carry it.
    own = str(session.managedJobTags().get().values().mkString(","))
    return (str(session.sessionJobTag()), *filter(None, own.split(",")))
