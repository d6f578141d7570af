"""Starts Spark or connects to it, fixes the settings of this package's sessions, and copies settings that the user changes to them.

Also finds out whether Spark has a file system for a URI scheme.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import attrs

from sframe_spark.config import config
from sframe_spark.process.control_groups import available_cores, scheduled_cores
from sframe_spark.process.memory import all_memory
from sframe_spark.process.temporary_file_leases import require_directory
from sframe_spark.process.worker_python_start import environment_of_tasks, interpreter
from sframe_spark.session.java import find_java
from sframe_spark.session.java_in_containers import directory_of_exchanges, name_user, options_of_java, variables_of_spark
from sframe_spark.session.jvm_class_archive_lookup import JVM_OPTIONS, ClassArchive, JvmStart, find_archive
from sframe_spark.session.spark_versions import error_condition, new_session, require_supported, settings_of, silence_query_loggers, text_of_settings
from sframe_spark.session.worker_sockets import socket_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LARGEST_DEFAULT_PARALLELISM = 8
LARGEST_DRIVER_MEMORY_GIB = 8
# Spark does not start with less memory than this.
MIN_DRIVER_MEMORY_MIB = 512
GIB, MIB = 1 << 30, 1 << 20

# Settings of this package's sessions on which results depend. They are set even where they are Spark's defaults, as a cluster or a user may have set
# other defaults.
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

# This package's scans list every file. For more than 32 files, Spark would start a job to check that they exist, which the driver has just done.
COST_SETTINGS = {"spark.sql.sources.parallelPartitionDiscovery.threshold": str(1 << 20)}

# Plans over users' DataFrames are analysed in this package's sessions, so features that a user's session may enable must be enabled there.
PERMITTING_SETTINGS = {"spark.sql.timeType.enabled": "true"}

# Settings that a Spark Connect server does not have, or that are needed only to report how a query ran, which it does not.
LOCAL_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    # The format of the plans that Spark records, which `explain.executed_spark_plans` reads.
    "spark.sql.ui.explainMode": "formatted",
}

# Settings that restore the behaviour of old versions; a session of this package starts without any.
LEGACY_PREFIX = "spark.sql.legacy."

ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

# Host names of servers on this machine.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

# PySpark's error condition for a JVM that ended during its start.
GATEWAY_EXITED = "JAVA_GATEWAY_EXITED"

# This variable is set if another process, `spark-submit`, has started the JVM.
EXTERNAL_GATEWAY = "PYSPARK_GATEWAY_PORT"

# The environment variable in which the user names the Python of Spark's workers.
USERS_PYTHON = "PYSPARK_PYTHON"
# This is not a program: Spark's error message will quote the name.
NO_PYTHON = "no-python-interpreter"

# The setting that names the Python of a session's functions.
WORKER_PYTHON = "spark.sql.execution.pyspark.python"


def open_session(base: SparkSession) -> SparkSession:
    """Return a new session, derived from ``base``, whose results do not depend on the settings of ``base``.

    Both belong to one Spark application, but share no temporary views or functions, so neither changes the other. Settings that the user changes at
    run time are copied by :class:`UserSettings`.
    """
    silence_spark()
    require_supported(base, is_remote(base))
    session = new_session(base)
    for key in settings_of(session):
        if key.startswith(LEGACY_PREFIX):
            session.conf.unset(key)
    for key, value in {**FIXED_SETTINGS, **COST_SETTINGS, **PERMITTING_SETTINGS, **({} if is_remote(session) else LOCAL_SETTINGS)}.items():
        session.conf.set(key, value)
    session.conf.set(ROWS_PER_BATCH, str(config.batch_rows))
    if is_on_this_machine(base) and not base.conf.get(WORKER_PYTHON, ""):
        # Spark would start the `python3` of the PATH, which may lack our packages. The Python of a cluster is left to its owner.
        session.conf.set(WORKER_PYTHON, python_of_tasks())
    return session


def is_remote(session: SparkSession) -> bool:
    """Return whether the session is connected to a Spark Connect server; otherwise it has a JVM of its own."""
    return hasattr(type(session), "is_stopped")


def is_on_this_machine(session: SparkSession) -> bool:
    """Return whether all work of the session is done on this machine; the master of a remote server may be local, too."""
    if is_remote(session) and session.client.host not in LOOPBACK:
        return False
    return str(session.conf.get("spark.master", "")).startswith("local")


def is_attached() -> bool:
    """Return whether this process was started with a Spark to use: by ``spark-submit``, or with the address of a Spark Connect server."""
    return EXTERNAL_GATEWAY in os.environ or "SPARK_REMOTE" in os.environ


def start_spark() -> tuple[SparkSession, bool]:
    """Start Spark, or attach to it if this process was started by ``spark-submit`` or with the address of a Spark Connect server.

    Return the session, and whether this package started it: the user may have started one meanwhile.
    """
    from pyspark.sql import SparkSession

    if is_attached():
        # Whoever started this process has configured Spark.
        return SparkSession.builder.getOrCreate(), True
    java = find_java()
    start = JvmStart.of_this_process(java)
    # Spark reads these variables only while it starts, so they are restored afterwards. SPARK_HOME is set as Spark's scripts would start a Python to
    # find it; PYTHONPATH is unset as the JVM would pass it on to workers.
    variables = {"JAVA_HOME": str(java.home), "PYSPARK_PYTHON": python_of_tasks(), "SPARK_HOME": str(start.spark_home), "PYTHONPATH": None}
    silence_spark()
    with environment_variables({**variables, **variables_of_spark()}):
        return _start_local(find_archive(start))


def python_of_tasks() -> str:
    """Return the Python for Spark on this machine: this program's interpreter; if it is embedded, the one that the user names, or NO_PYTHON."""
    return interpreter() or os.environ.get(USERS_PYTHON) or NO_PYTHON


def _start_local(archive: ClassArchive | None) -> tuple[SparkSession, bool]:
    """Start Spark in a JVM of this process, with a class archive if there is one. If the JVM fails to start with it, the archive is never used again.

    Return the session, and whether this package started it.
    """
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    named = {"spark.master": f"local[{available_cores()}]", "spark.app.name": "sframe_spark"}
    settings = {**named, **local_settings(archive), **socket_settings()}
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        # The user's own builders wait for PySpark's lock. If the user has just started a session, getOrCreate would change its settings, and the
        # session would count as this package's and be stopped.
        with SparkSession.Builder._lock:
            if SparkContext._active_spark_context is not None:
                return SparkSession.builder.getOrCreate(), False
            name_user(settings)
            return builder.getOrCreate(), True
    except PySparkRuntimeError as error:
        if archive is None or error_condition(error) != GATEWAY_EXITED:
            raise
    archive.forget()
    return _start_local(None)


def connect(master: str) -> SparkSession:
    """Return a session on a cluster or a Spark Connect server, with the settings that this machine has for all programs."""
    from pyspark.sql import SparkSession

    silence_spark()
    if master.startswith("sc:"):
        return SparkSession.builder.remote(master).getOrCreate()
    with environment_variables({"JAVA_HOME": str(find_java().home)}):
        return SparkSession.builder.master(master).appName("sframe_spark doctor").getOrCreate()


@functools.cache
def _logging_settings() -> Path:
    """Return the file of the settings of logging; where this package is in an archive, a copy that stays until this process ends."""
    copies = contextlib.ExitStack()
    atexit.register(copies.close)
    return copies.enter_context(as_file(files("sframe_spark.session") / "log4j2.properties"))


def local_settings(archive: ClassArchive | None = None) -> dict[str, str]:
    """Return the settings of a local session that this package starts, with a class archive if there is one."""
    logging = _logging_settings().as_uri()
    # The user's options come last, so they take precedence.
    own = ["" if archive is None else archive.options, *options_of_cores(), *options_of_java()]
    extra = " ".join([*own, os.environ.get(JVM_OPTIONS, "")]).strip()
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The loopback address: no firewall asks for permission, and the host name does not matter.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": driver_memory(),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging} {extra}".strip(),
        "spark.sql.shuffle.partitions": str(min(available_cores(), LARGEST_DEFAULT_PARALLELISM)),
        "spark.python.worker.reuse": "true",
        # Recording the caller's line takes three calls of the JVM for every column expression, and the lines would be in this package.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    settings.update({f"spark.executorEnv.{name}": value for name, value in environment_of_tasks(sys.path).items()})
    directory = directory_of_exchanges()
    if directory is not None:
        # Otherwise Spark would start, and then end without giving a reason.
        require_directory(directory)
    # Spark splits this setting at commas.
    if directory is not None and "," not in directory:
        settings["spark.local.dir"] = directory
    return settings


def options_of_cores() -> list[str]:
    """Return a JVM option with the number of cores if a quota limits it, as Java sees only the limits of its own control group; else no option."""
    cores = available_cores()
    return [f"-XX:ActiveProcessorCount={cores}"] if cores < scheduled_cores() else []


def driver_memory() -> str:
    """Return the heap of a local JVM as a Spark setting: a quarter of the memory of the machine or container, in whole GiB from 1 to 8.

    If 1 GiB is more than half of the memory, it is half of the memory, or the least with which Spark starts.
    """
    memory = all_memory()
    if memory < 2 * GIB:
        return f"{max(MIN_DRIVER_MEMORY_MIB, memory // (2 * MIB))}m"
    return f"{max(1, min(LARGEST_DRIVER_MEMORY_GIB, memory // (4 * GIB)))}g"


def silence_spark() -> None:
    """Silence two messages of PySpark that do not help users.

    For every failing query PySpark prints JSON, in addition to raising an exception that says the same; and it warns that it does not support every
    feature of pandas, even if pandas is only installed.
    """
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    silence_query_loggers()


@contextlib.contextmanager
def environment_variables(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables for the block, or unset those that are None, and restore the previous values afterwards."""
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


# Settings that users change at run time, which are copied to the sessions of this package.

# Settings of the user's session that are not copied to this package's sessions.
OWN_SETTINGS = {*FIXED_SETTINGS, *PERMITTING_SETTINGS, *LOCAL_SETTINGS, ROWS_PER_BATCH}

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
DEFAULT_PARTITIONS = 200
# The setting that Spark reads instead of ``SHUFFLE_PARTITIONS`` if it coalesces partitions that turn out to be small.
INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
ADAPTIVE = "spark.sql.adaptive.enabled"
# Spark coalesces partitions if all of these settings are true.
COALESCING_SETTINGS = (ADAPTIVE, "spark.sql.adaptive.coalescePartitions.enabled")

# Settings for small queries, whose time is mostly spent on scheduling: each setting saves tens of milliseconds.
SMALL_QUERY_SETTINGS = {
    SHUFFLE_PARTITIONS: "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    ADAPTIVE: "false",
    # A broadcast join would start an additional job.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "false",
}
# Settings for queries whose few values have megabytes each: Spark counts the rows of the batches that it sends to Python, in old versions not their
# bytes.
LARGE_VALUES_SETTINGS = {ROWS_PER_BATCH: "4"}


@attrs.frozen
class QuerySize:
    """How much data a query has. Each size has a session of its own, with settings that suit it.

    Settings belong to a session, and Spark reads them when a query runs: changing one for a query would affect the queries of other threads.

    Parameters
    ----------
    name
        The name of the size.
    partitions
        The number of partitions that exchanges start with; None for the user's setting.
    """

    name: str
    partitions: int | None = None
    SMALL: ClassVar[QuerySize]
    DEFAULT: ClassVar[QuerySize]
    LARGE_VALUES: ClassVar[QuerySize]

    @classmethod
    def large(cls, partitions: int) -> QuerySize:
        """Return the size of a query with much data, given the number of partitions that its exchanges start with."""
        return cls("large", partitions)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the session for queries of this size."""
        if self == QuerySize.SMALL:
            return SMALL_QUERY_SETTINGS
        if self == QuerySize.LARGE_VALUES:
            return LARGE_VALUES_SETTINGS
        if self.partitions is None:
            return {}
        return dict.fromkeys((SHUFFLE_PARTITIONS, INITIAL_PARTITIONS), str(self.partitions))


QuerySize.SMALL, QuerySize.DEFAULT, QuerySize.LARGE_VALUES = QuerySize("few rows", 1), QuerySize("usual"), QuerySize("large values")


def partitions_set(session: SparkSession) -> int:
    """Return the number of partitions that exchanges start with in a session; Spark's default if the setting is not a number."""
    number = session.conf.get(SHUFFLE_PARTITIONS)
    initial = session.conf.get(INITIAL_PARTITIONS, None)
    if initial is not None and all(str(session.conf.get(key)).lower() == "true" for key in COALESCING_SETTINGS):
        number = initial
    # Databricks allows the value `auto`.
    return int(number) if str(number).isdecimal() else DEFAULT_PARTITIONS


class UserSettings:
    """The settings of a user's session when they were last checked; the session itself is never changed.

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
        """Apply the user's settings to a new session of this package."""
        present = settings_of(session)
        apply(session, {key: value for key, value in self._values.items() if present.get(key) != value})

    def changes(self) -> Mapping[str, str | None]:
        """Return the settings that the user has changed since the last check, None for one that was unset; empty in most cases."""
        seen = what_is_set(self._base)
        if seen == self._seen:
            return {}
        before, now = self._values, user_settings(self._base)
        self._seen, self._values = seen, now
        unset: dict[str, str | None] = {key: None for key in before if key not in now}
        return unset | {key: value for key, value in now.items() if before.get(key) != value}


def what_is_set(session: SparkSession) -> object:
    """Return all settings of a session in a form that can be compared.

    For a classic session it is one string, which is a hundred times faster to get than a dict.
    """
    if is_remote(session):
        return settings_of(session)
    return text_of_settings(session)


def user_settings(session: SparkSession) -> dict[str, str]:
    """Return the settings of a session, except those that are not copied."""
    return {key: value for key, value in settings_of(session).items() if key not in OWN_SETTINGS and not key.startswith(LEGACY_PREFIX)}


def apply(session: SparkSession, changes: Mapping[str, str | None]) -> None:
    """Set and unset settings of a session, as far as they can be changed while Spark runs."""
    from pyspark.errors import AnalysisException

    for key, value in changes.items():
        # Static settings, such as the memory of executors, are shared by all sessions anyway.
        with contextlib.suppress(AnalysisException):
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def has_file_system(spark: SparkSession, scheme: str) -> bool:
    """Return whether the Hadoop of a classic session has a file system for a URI scheme."""
    from py4j.protocol import Py4JError

    jvm, java = spark._jvm, spark._jsparkSession
    assert jvm is not None
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, java.sessionState().newHadoopConf())
    except Py4JError:
        return False
    return True
