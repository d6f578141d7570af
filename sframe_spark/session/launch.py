"""Start Spark on this machine, tuned for short queries; fix the settings that decide results, and carry over those that a user has set."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import attrs

from sframe_spark.config import config
from sframe_spark.process.interpreter import environment_of_tasks, interpreter
from sframe_spark.process.leases import require_directory
from sframe_spark.process.memory import all_memory
from sframe_spark.process.resource_limits import available_cores, scheduled_cores
from sframe_spark.session.class_data_sharing import JVM_OPTIONS, ClassArchive, JvmStart, find_archive
from sframe_spark.session.java import find_java
from sframe_spark.session.sockets import socket_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LARGEST_DEFAULT_PARALLELISM = 8
LARGEST_DRIVER_MEMORY_GIB = 8
# With less Spark does not start.
MIN_DRIVER_MEMORY_MIB = 512
GIB, MIB = 1 << 30, 1 << 20

# Settings of our own session on which results depend. They are spelled out, even where they repeat Spark's default,
# because a cluster or a user may have set another default.
FIXED_SETTINGS: dict[str, str] = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.unionOutputPartitioning": "false",
    "spark.sql.retainGroupColumns": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}

# Our scans list every file, and for more than 32 Spark would start a task each to check that they exist; the driver has just done so.
COST_SETTINGS = {"spark.sql.sources.parallelPartitionDiscovery.threshold": str(1 << 20)}

# Plans over users' DataFrames are analysed in our sessions, so what the user's session may permit has to be permitted there.
PERMITTING_SETTINGS = {"spark.sql.timeType.enabled": "true"}

# A remote server has no such settings, or does not report how it ran a query.
LOCAL_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    # The form of the plans that Spark keeps, which `explain.executed_plans` reads.
    "spark.sql.ui.explainMode": "formatted",
}

# Settings that bring back the behaviour of old versions; a session of ours starts without any of them.
LEGACY_PREFIX = "spark.sql.legacy."

ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

# Addresses of servers on this machine.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

# PySpark's error condition for a JVM that ended while it started.
GATEWAY_EXITED = "JAVA_GATEWAY_EXITED"

# The environment variable that names the Python of Spark's workers.
USERS_PYTHON = "PYSPARK_PYTHON"
# Not the name of a program; Spark's error message will quote it.
NO_PYTHON = "no-python-interpreter"

# The setting for the Python of a session's functions.
WORKER_PYTHON = "spark.sql.execution.pyspark.python"


def open_session(base: SparkSession) -> SparkSession:
    """Return a new session, derived from ``base``, whose results do not depend on how ``base`` is configured.

    Both share the Spark application but no temporary views or functions, so neither changes the other; what the user has set at run time is carried
    over by :class:`UserSettings`.
    """
    silence_spark()
    session = base.newSession()
    for key in session.conf.getAll:
        if key.startswith(LEGACY_PREFIX):
            session.conf.unset(key)
    for key, value in {**FIXED_SETTINGS, **COST_SETTINGS, **PERMITTING_SETTINGS, **({} if is_remote(session) else LOCAL_SETTINGS)}.items():
        session.conf.set(key, value)
    session.conf.set(ROWS_PER_BATCH, str(config.batch_rows))
    if is_on_this_machine(base) and not base.conf.get(WORKER_PYTHON, ""):
        # Spark would start the `python3` of the PATH, which need not have our packages; a cluster's Python is its owner's.
        session.conf.set(WORKER_PYTHON, python_of_tasks())
    return session


def is_remote(session: SparkSession) -> bool:
    """Return whether the session talks to a Spark Connect server rather than to a JVM of its own."""
    return hasattr(type(session), "is_stopped")


def is_on_this_machine(session: SparkSession) -> bool:
    """Return whether all work of the session is done on this machine; the master of a remote server may be local, too."""
    if is_remote(session) and session.client.host not in LOOPBACK:
        return False
    return str(session.conf.get("spark.master", "")).startswith("local")


def is_attached() -> bool:
    """Return whether Spark was chosen by whoever started this process: by ``spark-submit``, or with the address of a remote server."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ


def start_spark() -> tuple[SparkSession, bool]:
    """Start Spark, or attach to it when this process was started by ``spark-submit`` or with the address of a remote server.

    Returns the session, and whether it is ours: the user may have made one meanwhile.
    """
    from pyspark.sql import SparkSession

    if is_attached():
        # Nothing to tune.
        return SparkSession.builder.getOrCreate(), True
    java = find_java()
    start = JvmStart.of_this_process(java)
    # They are read only while Spark starts, so they are restored afterwards. SPARK_HOME, as Spark's scripts would start a Python to find it;
    # PYTHONPATH is unset, as the JVM would pass it on to workers.
    variables = {"JAVA_HOME": str(java.home), "PYSPARK_PYTHON": python_of_tasks(), "SPARK_HOME": str(start.spark_home), "PYTHONPATH": None}
    silence_spark()
    with _environment(variables):
        return _start_local(find_archive(start))


def python_of_tasks() -> str:
    """Return the Python for Spark on this machine: this program's interpreter; if that is embedded, the one the user names, or none."""
    return interpreter() or os.environ.get(USERS_PYTHON) or NO_PYTHON


def _start_local(archive: ClassArchive | None) -> tuple[SparkSession, bool]:
    """Start Spark in a JVM of this process, from a class archive if there is one; if that makes the JVM fail, drop the archive for good."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{available_cores()}]").appName("sframe_spark")
    for key, value in {**local_settings(archive), **socket_settings()}.items():
        builder = builder.config(key, value)
    try:
        # Under the lock of PySpark, so that users' builders wait. If the user has just started a session, getOrCreate would change its settings, and
        # it would count as ours and be stopped.
        with SparkSession.Builder._lock:
            if SparkContext._active_spark_context is not None:
                return SparkSession.builder.getOrCreate(), False
            return builder.getOrCreate(), True
    except PySparkRuntimeError as error:
        if archive is None or error.getCondition() != GATEWAY_EXITED:
            raise
    archive.forget()
    return _start_local(None)


def connect(master: str) -> SparkSession:
    """Start a session on a cluster or a Spark Connect server, with the machine's settings for all programs."""
    from pyspark.sql import SparkSession

    silence_spark()
    if master.startswith("sc:"):
        return SparkSession.builder.remote(master).getOrCreate()
    with _environment({"JAVA_HOME": str(find_java().home)}):
        return SparkSession.builder.master(master).appName("sframe_spark doctor").getOrCreate()


def local_settings(archive: ClassArchive | None = None) -> dict[str, str]:
    """Return the settings of the local session that we start ourselves, from an archive of Spark's classes if there is one."""
    logging = Path(__file__).with_name("log4j2.properties").as_uri()
    # The user's options come last, and win.
    extra = " ".join(["" if archive is None else archive.options, *options_of_cores(), os.environ.get(JVM_OPTIONS, "")]).strip()
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The loopback address: no prompt of a firewall, no dependence on the host name.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": driver_memory(),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging} {extra}".strip(),
        "spark.sql.shuffle.partitions": str(min(available_cores(), LARGEST_DEFAULT_PARALLELISM)),
        "spark.python.worker.reuse": "true",
        # Recording the caller's line costs three calls to the JVM for every column expression, and the lines would be ours.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    settings.update({f"spark.executorEnv.{name}": value for name, value in environment_of_tasks(sys.path).items()})
    directory = config.temporary_directory
    if directory is not None:
        # Otherwise Spark would start, and then end without a reason.
        require_directory(directory)
    # Spark splits this at commas.
    if directory is not None and "," not in directory:
        settings["spark.local.dir"] = directory
    return settings


def options_of_cores() -> list[str]:
    """Return JVM options if this process has fewer cores than it runs on: Java sees the limits of its own control group only."""
    cores = available_cores()
    return [f"-XX:ActiveProcessorCount={cores}"] if cores < scheduled_cores() else []


def driver_memory_gib() -> int:
    """Return the heap of a local JVM: a quarter of the memory of the machine, or of the container, at least 1 GiB and at most 8."""
    return max(1, min(LARGEST_DRIVER_MEMORY_GIB, all_memory() // (4 * GIB)))


def driver_memory() -> str:
    """Return the heap of a local JVM as Spark takes it: below 1 GiB if that would be more than half of the memory."""
    half = all_memory() // (2 * MIB)
    return f"{driver_memory_gib()}g" if half >= GIB // MIB else f"{max(MIN_DRIVER_MEMORY_MIB, half)}m"


def silence_spark() -> None:
    """Silence two messages of PySpark that are useless to users.

    For every failing query it prints JSON in addition to raising the exception that says the same, and it warns that it does not know every feature
    of a pandas that only has to be installed.
    """
    from pyspark.logger import PySparkLogger

    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel("CRITICAL")


@contextlib.contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables for the block, or unset them (None), and give back the previous values after it."""
    previous = {name: os.environ.get(name) for name in variables}
    _set_variables(variables)
    try:
        yield
    finally:
        _set_variables(previous)


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# Settings that users change at run time, carried over to our sessions.

# Not carried over.
OWN_SETTINGS = {*FIXED_SETTINGS, *PERMITTING_SETTINGS, *LOCAL_SETTINGS, ROWS_PER_BATCH}

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
DEFAULT_PARTITIONS = 200
# Used instead of it when Spark coalesces partitions that turn out small.
INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
ADAPTIVE = "spark.sql.adaptive.enabled"
JOINS_PARTITIONS = (ADAPTIVE, "spark.sql.adaptive.coalescePartitions.enabled")

# For small queries, where scheduling is the cost: each of these saves tens of milliseconds.
SMALL_QUERY_SETTINGS = {
    SHUFFLE_PARTITIONS: "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    ADAPTIVE: "false",
    # A broadcast is a job of its own.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "false",
}


@attrs.frozen
class QuerySize:
    """How much data a query has: each size has a session of its own, with settings that suit it.

    Settings belong to a session, and Spark reads them when a query runs: changing one for a query would affect those of other threads.

    Parameters
    ----------
    name
        Its name.
    partitions
        The number of partitions its exchanges start with; None for the user's setting.
    """

    name: str
    partitions: int | None = None
    SMALL: ClassVar[QuerySize]
    DEFAULT: ClassVar[QuerySize]

    @classmethod
    def large(cls, partitions: int) -> QuerySize:
        """Return the size of a query of much data, by the number of partitions its exchanges start with."""
        return cls("large", partitions)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the session for queries of this size."""
        if self == QuerySize.SMALL:
            return SMALL_QUERY_SETTINGS
        if self.partitions is None:
            return {}
        return dict.fromkeys((SHUFFLE_PARTITIONS, INITIAL_PARTITIONS), str(self.partitions))


QuerySize.SMALL, QuerySize.DEFAULT = QuerySize("few rows", 1), QuerySize("usual")


def partitions_set(session: SparkSession) -> int:
    """Return the number of partitions with which exchanges start, by the settings of a session or else by Spark's default."""
    number = session.conf.get(SHUFFLE_PARTITIONS)
    initial = session.conf.get(INITIAL_PARTITIONS, None)
    if initial is not None and all(str(session.conf.get(key)).lower() == "true" for key in JOINS_PARTITIONS):
        number = initial
    # Databricks accepts `auto`.
    return int(number) if str(number).isdecimal() else DEFAULT_PARTITIONS


class UserSettings:
    """The settings of a user's session at the last check; the session itself is never changed.

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
        """Apply the user's settings to a new session of ours."""
        present = session.conf.getAll
        apply(session, {key: value for key, value in self._values.items() if present.get(key) != value})

    def changes(self) -> Mapping[str, str | None]:
        """Return what the user has set since the last check, None for what was unset; most often nothing."""
        seen = what_is_set(self._base)
        if seen == self._seen:
            return {}
        before, now = self._values, user_settings(self._base)
        self._seen, self._values = seen, now
        unset: dict[str, str | None] = {key: None for key in before if key not in now}
        return unset | {key: value for key, value in now.items() if before.get(key) != value}


def what_is_set(session: SparkSession) -> object:
    """Return all settings of a session in a comparable form; for a classic session one string, a hundred times faster to get."""
    if is_remote(session):
        return session.conf.getAll
    return str(session.conf._jconf.getAllAsJava().toString())


def user_settings(session: SparkSession) -> dict[str, str]:
    """Return the settings of a session except those that are not carried over."""
    return {key: value for key, value in session.conf.getAll.items() if key not in OWN_SETTINGS and not key.startswith(LEGACY_PREFIX)}


def apply(session: SparkSession, changes: Mapping[str, str | None]) -> None:
    """Set and unset what can be changed while Spark runs."""
    from pyspark.errors import AnalysisException

    for key, value in changes.items():
        # Static settings, such as the size of executors, are shared by all sessions anyway.
        with contextlib.suppress(AnalysisException):
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def has_file_system(spark: SparkSession, scheme: str) -> bool:
    """Return whether the Hadoop of a classic session has a file system for a scheme."""
    from py4j.protocol import Py4JError

    jvm, java = spark._jvm, spark._jsparkSession
    assert jvm is not None
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, java.sessionState().newHadoopConf())
    except Py4JError:
        return False
    return True
