"""Rows that Spark says it wrote against rows that are found: files that only an executor sees are rows lost, and nobody else would say so."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.storage.manifest.manifest import SegmentEntry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = "rows"

SHARED_DIRECTORY = (
    "set config.temporary_directory or the environment variable SFRAME_SPARK_TMP to a directory that this machine and all of "
    "Spark's share, or to a URI such as s3://bucket/tmp, and save into such a place"
)


@attrs.frozen(eq=False)
class ObservedRows:
    """Rows that pass through a DataFrame while an action runs on it.

    Parameters
    ----------
    df
        The DataFrame to run the action on, once.
    """

    df: DataFrame
    _metrics: Callable[[], dict[str, int]]

    @property
    def count(self) -> int | None:
        """How many rows passed, after the action; None when Spark did not tell.

        Spark adds what the first attempt of each task that succeeds has counted: failed and speculative ones do not count.
        """
        return self._metrics().get(ROWS)


def observed_rows(df: DataFrame) -> ObservedRows:
    """A DataFrame of the same rows that counts them."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observation = Observation()
    return ObservedRows(df.observe(observation, F.count(F.lit(1)).alias(ROWS)), lambda: observation.get)


def require_all_rows(entries: Sequence[SegmentEntry], counted: int | None, expected: int | None, directory: str) -> None:
    """Let files pass that hold every row that Spark wrote.

    Parameters
    ----------
    entries
        What this process finds in the directory.
    counted
        Rows that Spark counted while it wrote; None when it did not tell.
    expected
        Rows that there must be; None where that was not known before.
    directory
        Where Spark wrote.

    Raises
    ------
    StorageError
        If rows are missing, or nobody knows whether any are.
    """
    found = sum(entry.rows for entry in entries)
    host = platform.node()
    if counted is None:
        raise StorageError(f"Spark did not tell how many rows it wrote to {directory}, so the {found} rows that {host} finds there may not be all")
    if found != counted:
        raise StorageError(
            f"Spark wrote {counted} rows to {directory}, but {host} finds {found} of them there: its executors see another directory "
            f"of that name. Nothing was published; {SHARED_DIRECTORY}"
        )
    require_known_rows(found, expected, f"wrote {counted} rows to {directory}", ". Nothing was published")


def require_known_rows(found: int, expected: int | None, done: str, outcome: str = "") -> None:
    """Let as many rows pass as were known to be there before Spark read them.

    Parameters
    ----------
    found
        How many rows there are now.
    expected
        How many there must be; None where that was not known before.
    done
        What Spark has done.
    outcome
        What the error says has become of it.

    Raises
    ------
    StorageError
        If there are others.
    """
    if expected is not None and found != expected:
        raise StorageError(
            f"Spark {done}, but there are {expected}: its executors read other files than {platform.node()}, or files that were changed "
            f"meanwhile{outcome}; {SHARED_DIRECTORY}, and load saved data again"
        )
