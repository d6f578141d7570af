"""How much data a query has, and the settings that suit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Where the work is small, scheduling is the cost: each of these saves tens of milliseconds a query.
FEW_ROWS_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    # A broadcast is a job of its own.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "false",
}

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
# Takes its place where Spark joins partitions that turn out small.
INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
JOINS_PARTITIONS = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.coalescePartitions.enabled")


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
    """Return how many partitions exchanges start with by the settings of a session."""
    initial = session.conf.get(INITIAL_PARTITIONS, None)
    if initial is not None and all(str(session.conf.get(key)).lower() == "true" for key in JOINS_PARTITIONS):
        return int(initial)
    return int(session.conf.get(SHUFFLE_PARTITIONS))
