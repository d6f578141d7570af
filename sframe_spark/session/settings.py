"""Settings of the sessions of ours beside a user's: what they have set at run time, such as credentials and catalogs, and what suits a query."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs

from sframe_spark.session.build import FIXED_SETTINGS, LEGACY_PREFIX, LOCAL_SETTINGS, PERMITTING_SETTINGS, ROWS_PER_BATCH, is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# These are ours to set.
OWN_SETTINGS = {*FIXED_SETTINGS, *PERMITTING_SETTINGS, *LOCAL_SETTINGS, ROWS_PER_BATCH}

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
DEFAULT_PARTITIONS = 200
# Takes its place where Spark joins partitions that turn out small.
INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
ADAPTIVE = "spark.sql.adaptive.enabled"
JOINS_PARTITIONS = (ADAPTIVE, "spark.sql.adaptive.coalescePartitions.enabled")

# Where the work is small, scheduling is the cost: each of these saves tens of milliseconds a query.
FEW_ROWS_SETTINGS = {
    SHUFFLE_PARTITIONS: "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    ADAPTIVE: "false",
    # A broadcast is a job of its own.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "false",
}


@attrs.frozen
class QuerySize:
    """How much data a query has: each size has a session of its own beside the first, with settings that suit it.

    A setting belongs to a session, and Spark looks at it when a query runs: one that was changed for a query would be so for those of other threads.

    Parameters
    ----------
    name
        What it is called.
    partitions
        How many partitions its exchanges start with; None: as many as the user has set.
    """

    name: str
    partitions: int | None = None
    FEW_ROWS: ClassVar[QuerySize]
    USUAL: ClassVar[QuerySize]

    @classmethod
    def large(cls, partitions: int) -> QuerySize:
        """Of a query of much data, by how many partitions its exchanges start with."""
        return cls("large", partitions)

    @property
    def settings(self) -> dict[str, str]:
        """What is set in the session for queries of this size, and in no other."""
        if self == QuerySize.FEW_ROWS:
            return FEW_ROWS_SETTINGS
        if self.partitions is None:
            return {}
        return dict.fromkeys((SHUFFLE_PARTITIONS, INITIAL_PARTITIONS), str(self.partitions))


QuerySize.FEW_ROWS, QuerySize.USUAL = QuerySize("few rows", 1), QuerySize("usual")


def partitions_set(session: SparkSession) -> int:
    """Return how many partitions exchanges start with by the settings of a session; where these leave it to Spark, Spark's default."""
    number = session.conf.get(SHUFFLE_PARTITIONS)
    initial = session.conf.get(INITIAL_PARTITIONS, None)
    if initial is not None and all(str(session.conf.get(key)).lower() == "true" for key in JOINS_PARTITIONS):
        number = initial
    # Databricks takes `auto` for a number.
    return int(number) if str(number).isdecimal() else DEFAULT_PARTITIONS


class UserSettings:
    """The settings of a user's session as we saw them last; the session itself is never changed.

    Parameters
    ----------
    base
        The user's session.
    """

    def __init__(self, base: SparkSession) -> None:
        self._base = base
        self._seen = what_is_set(base)
        self._values = user_settings(base)

    def carry_over(self, session: SparkSession) -> None:
        """Set in a new session of ours what its user has set in theirs."""
        present = session.conf.getAll
        apply(session, {key: value for key, value in self._values.items() if present.get(key) != value})

    def changes(self) -> Mapping[str, str | None]:
        """What the user has set since we looked last, and None for what they have unset; most often nothing."""
        seen = what_is_set(self._base)
        if seen == self._seen:
            return {}
        before, now = self._values, user_settings(self._base)
        self._seen, self._values = seen, now
        gone: dict[str, str | None] = {key: None for key in before if key not in now}
        return gone | {key: value for key, value in now.items() if before.get(key) != value}


def what_is_set(session: SparkSession) -> object:
    """All settings of a session in a form that can be compared: of a session of this process as one text, a hundred times faster."""
    if is_remote(session):
        return session.conf.getAll
    return str(session.conf._jconf.getAllAsJava().toString())


def user_settings(session: SparkSession) -> dict[str, str]:
    """The settings of a session but for those on which results depend, which are ours to set."""
    return {key: value for key, value in session.conf.getAll.items() if key not in OWN_SETTINGS and not key.startswith(LEGACY_PREFIX)}


def apply(session: SparkSession, changes: Mapping[str, str | None]) -> None:
    """Set and unset what can be changed while Spark runs."""
    from pyspark.errors import AnalysisException

    for key, value in changes.items():
        # What belongs to all sessions, such as the size of executors, is the same in ours already.
        with contextlib.suppress(AnalysisException):
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def has_file_system(spark: SparkSession, scheme: str) -> bool:
    """Say whether the Hadoop of a session in this process has a file system for a scheme."""
    from py4j.protocol import Py4JError

    jvm, java = spark._jvm, spark._jsparkSession
    assert jvm is not None
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, java.sessionState().newHadoopConf())
    except Py4JError:
        return False
    return True
