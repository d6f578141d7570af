"""Whether Spark is in use, whether it works on this machine or in one process, and whether it reads the files of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.config import config
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.session.session import active_session, get_session, is_started
from sframe_spark.session.spark_start_and_settings import is_attached, is_on_this_machine, is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def reads_our_files(session: SparkSession) -> bool:
    """Return whether Spark is expected to see this process's temporary data: on this machine, or in a place that the user or the cluster names."""
    return config.temporary_directory is not None or PLACE_OF_CLUSTER.uri is not None or (not is_remote(session) and is_on_this_machine(session))


def is_one_process(session: SparkSession) -> bool:
    """Return whether the JVM of this process does all work of the session, so that it sees the files of this process."""
    return not is_remote(session) and str(session.sparkContext.master).split("[")[0] == "local"


def is_spark_requested() -> bool:
    """Return whether Spark is in use: a session of this package or the user's exists, or the environment names a Spark to use."""
    return is_started() or is_attached() or active_session() is not None


def is_spark_local() -> bool:
    """Return whether Spark does, or would do, all work on this machine; none is started. A user who is connected to a cluster wants to use it."""
    if is_started():
        return is_one_process(get_session())
    if is_attached():
        return False
    # If PySpark is not imported, there is no session.
    session = active_session()
    return session is None or is_one_process(session)
