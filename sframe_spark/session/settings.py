"""What a user has set in their session at run time, such as credentials and catalogs, followed by the sessions of ours beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sframe_spark.session.build import FIXED_SETTINGS, LEGACY_PREFIX, LOCAL_SETTINGS, PERMITTING_SETTINGS, ROWS_PER_BATCH, is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# These are ours to set.
OWN_SETTINGS = {*FIXED_SETTINGS, *PERMITTING_SETTINGS, *LOCAL_SETTINGS, ROWS_PER_BATCH}


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
