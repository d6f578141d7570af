"""What differs between the versions of Spark: which are supported, and one function for each thing that some of them lack or name differently.

Other modules call these functions and test no version. The functions ask what a session, its JVM or PySpark offers, since vendors add features of
later versions to their builds; a version is compared only for messages.
"""

from __future__ import annotations

import copy
import importlib.metadata
import importlib.util
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.pyarrow_versions import version_numbers
from sframe_spark.session.arrow_functions_of_old_workers import ArrowBatches
from sframe_spark.session.worker_sockets import OnArrival

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@attrs.frozen
class SparkRelease:
    """A release line of Spark and what it lacks.

    Parameters
    ----------
    version
        The line, such as ``3.5``.
    lacks
        What users of this version cannot do, each a clause for messages; empty if nothing is known to be missing.
    newest_java
        The newest Java with which it works; None if no limit is known.
    """

    version: str
    lacks: tuple[str, ...] = ()
    newest_java: int | None = None


NO_VARIANT = "lists and dicts of mixed values as Spark columns (VARIANT)"
NO_CONNECT = "Spark Connect"
NO_CONNECT_SQL = "sql() of Spark Connect"

# Java 21 took away the constructor of buffers by which Arrow of Spark 3.5 sends rows to Python.
LAST_JAVA_WITH_OLD_BUFFERS = 20
# Hadoop of Spark 4.0 asks for the security manager when Spark starts, which Java 23 refuses unless told otherwise, and Java 24 took away.
LAST_JAVA_WITH_SECURITY_MANAGER = 22
# From Java 25 on Netty uses memory outside the heap only if it is told to, as Spark does since 4.2; Arrow needs it.
LAST_JAVA_WITH_UNSAFE_MEMORY = 24

# The release lines that the tests run with, the oldest first. `docs/install.md` has the same table.
RELEASES = (
    SparkRelease("3.5", (NO_CONNECT, NO_VARIANT), LAST_JAVA_WITH_OLD_BUFFERS),
    SparkRelease("4.0", (NO_CONNECT_SQL,), LAST_JAVA_WITH_SECURITY_MANAGER),
    SparkRelease("4.1", newest_java=LAST_JAVA_WITH_UNSAFE_MEMORY),
    SparkRelease("4.2"),
    SparkRelease("4.3"),
)
# `pyproject.toml` has the same bound.
FIRST_VERSION = (3, 5)
FIRST_WITHOUT_DISTUTILS = (4, 0)


def release_of(version: str) -> SparkRelease | None:
    """Return the release line of a version of Spark; None for a later one than the known ones."""
    line = ".".join(version.split(".")[:2])
    return next((release for release in RELEASES if release.version == line), None)


def missing_in(version: str) -> tuple[str, ...]:
    """Return what users of a version of Spark cannot do, each a clause; empty for a later version than the known ones.

    Examples
    --------
    >>> missing_in("4.0.5")
    ('sql() of Spark Connect',)
    """
    release = release_of(version)
    return () if release is None else release.lacks


def newest_java() -> int | None:
    """Return the newest Java with which the PySpark that is installed works; None if no limit is known. PySpark is not imported."""
    try:
        release = release_of(importlib.metadata.version("pyspark"))
    except importlib.metadata.PackageNotFoundError:
        return None
    return None if release is None else release.newest_java


def advice_about_java() -> str:
    """Return, for the message of a query that failed, that the running Java is too new for the running Spark; empty if nothing is known of it."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    release = None if context is None else release_of(context.version)
    if context is None or release is None or release.newest_java is None:
        return ""
    try:
        java = str(context._jvm.java.lang.System.getProperty("java.specification.version"))
    except (Py4JError, OSError):
        # The JVM may have ended, which is why the query failed.
        return ""
    if not java.isdecimal() or int(java) <= release.newest_java:
        return ""
    return f". Spark {context.version} works with Java {release.newest_java} at most, but this is Java {java}"


def supported_versions() -> str:
    """Return the supported versions for messages.

    Examples
    --------
    >>> supported_versions()
    'Spark 3.5 and 4.0 to 4.3'
    """
    return f"Spark {RELEASES[0].version} and {RELEASES[1].version} to {RELEASES[-1].version}"


def first_version_with(feature: str) -> str:
    """Return the first release line that does not lack a feature."""
    last = max(index for index, release in enumerate(RELEASES) if feature in release.lacks)
    return RELEASES[last + 1].version


def _refuse(feature: str, version: str, advice: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(f"this is Spark {version}, but {feature} needs Spark {first_version_with(feature)} or later. {advice}")


def require_supported(session: SparkSession, remote: bool) -> None:
    """Raise an error if the Spark of a session is too old, or too old for Spark Connect or for this Python.

    Raises
    ------
    UnsupportedOperationError
        If it is; the message names the versions that are supported, or what is missing.
    """
    version = str(session.version)
    if version_numbers(version) < FIRST_VERSION:
        raise UnsupportedOperationError(f"this session runs Spark {version}, but this package needs {supported_versions()}")
    if remote and NO_CONNECT in missing_in(version):
        raise _refuse(NO_CONNECT, version, "A session that is not remote works with this version.")
    if FIRST_VERSION <= version_numbers(version) < FIRST_WITHOUT_DISTUTILS and importlib.util.find_spec("distutils") is None:
        raise UnsupportedOperationError(
            f"Spark {version} imports distutils, which Python has no more since 3.12: python -m pip install setuptools brings it, here and for "
            "Spark's workers"
        )


# Tables of Arrow to Spark and back.


def to_arrow(df: DataFrame) -> pa.Table:
    """Return all rows of a DataFrame as an Arrow table."""
    if hasattr(df, "toArrow"):
        return df.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(df.schema)
    return pa.Table.from_batches([_in_types(batch, schema) for batch in df._collect_as_arrow()], schema)


def _in_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [column if column.type.equals(field.type) else column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def dataframe_of(session: SparkSession, table: pa.Table, ddl: str) -> DataFrame:
    """Return an Arrow table, whose columns have the physical types of a DDL string, as a DataFrame."""
    if hasattr(session, "_create_from_arrow_table") or not hasattr(session, "_jsparkSession"):
        return session.createDataFrame(table, schema=ddl)
    return _dataframe_by_the_jvm(session, table, ddl)


def _dataframe_by_the_jvm(session: SparkSession, table: pa.Table, ddl: str) -> DataFrame:
    """Return an Arrow table as a DataFrame where ``createDataFrame`` takes pandas only: by the calls that it makes once pandas is Arrow."""
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import _parse_datatype_string

    schema = _parse_datatype_string(ddl)
    fitted = table.rename_columns(schema.names).cast(to_arrow_schema(schema))
    batches = fitted.to_batches(max_chunksize=int(session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")))
    jvm = session._jvm
    rows = session._sc._serialize_to_jvm(batches, ArrowStreamSerializer(), jvm.PythonSQLUtils.readArrowStreamFromFile, jvm.ArrowIteratorServer)
    df = DataFrame(jvm.PythonSQLUtils.toDataFrame(rows, schema.json(), session._jsparkSession), session)
    df._schema = schema
    return df


def arrow_function(function: Callable[..., pa.Array], result: str) -> Any:
    """Return one of our own functions over Arrow arrays as one over Spark columns; ``result`` is the DDL string of its result type."""
    from pyspark.sql import functions as F

    if not hasattr(F, "arrow_udf"):
        return _arrow_function_of_pandas_udf(function, result)
    arriving = OnArrival(function)

    def called(*arrays: pa.Array) -> pa.Array:
        return arriving(*arrays)

    # Without annotations Spark does not infer types from them; the name appears in query plans.
    called.__annotations__, called.__name__ = {}, function.__name__
    return F.arrow_udf(called, result)


def _arrow_function_of_pandas_udf(function: Callable[..., pa.Array], result: str) -> Any:
    """Return a pandas UDF whose worker hands it Arrow arrays: see :mod:`sframe_spark.session.arrow_functions_of_old_workers`."""
    import pandas as pd
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType, _parse_datatype_string

    over_batches = ArrowBatches(function, isinstance(_parse_datatype_string(result), StructType))

    def called(batches: Any) -> Any:
        return over_batches(batches)

    # Spark takes the kind of a pandas UDF from its annotations; the name appears in query plans.
    called.__annotations__ = {"batches": Iterator[tuple[pd.Series, ...]], "return": Iterator[pd.Series]}
    called.__name__ = function.__name__
    made = F.pandas_udf(called, result)
    # They are not sent to workers.
    called.__annotations__ = {}
    return made


def connect_to_jvm(port: int | str, secret: str) -> tuple[IO[bytes], Any]:
    """Return a stream, and its socket, from a thread of the JVM that waits for this process to connect."""
    try:
        from pyspark.util import local_connect_and_auth
    except ImportError:
        from pyspark.java_gateway import local_connect_and_auth
    stream, socket = local_connect_and_auth(port, secret)
    # Rows come when the query has computed them.
    socket.settimeout(None)
    return stream, socket


# Sessions and their settings.


def new_session(base: SparkSession) -> SparkSession:
    """Return a session of the same application, or server, that shares no settings, views or functions."""
    if hasattr(type(base), "newSession"):
        return base.newSession()
    # A remote session, which has the method since Spark 4.3. An address may name the session: another one with that name would be the same.
    address = copy.deepcopy(base.client._builder)
    address._params.pop("session_id", None)
    return type(base)(connection=address, userId=base.client._user_id)


def clone_of_remote(session: SparkSession) -> SparkSession:
    """Return a copy of a remote session with its settings, views and functions.

    Raises
    ------
    UnsupportedOperationError
        If the server or PySpark is too old.
    """
    if hasattr(type(session), "cloneSession"):
        return session.cloneSession()
    raise _refuse(NO_CONNECT_SQL, str(session.version), "Make a DataFrame with to_spark() and query it with spark.sql().")


def settings_of(session: SparkSession) -> dict[str, str]:
    """Return all settings of a session."""
    if hasattr(type(session.conf), "getAll"):
        return dict(session.conf.getAll)
    java = session.conf._jconf.getAll().mkString(_BETWEEN_SETTINGS)
    return dict(pair.split(_ARROW, 1) for pair in java.split(_BETWEEN_SETTINGS)) if java else {}


# Scala prints a map as these arrows between keys and values; no setting contains the separator.
_ARROW, _BETWEEN_SETTINGS = " -> ", "\x00"


def text_of_settings(session: SparkSession) -> str:
    """Return all settings of a classic session as one string, which takes one call of the JVM."""
    java = session.conf._jconf
    return str((java.getAllAsJava() if hasattr(type(session.conf), "getAll") else java.getAll()).toString())


def java_sessions(session: SparkSession) -> Any:
    """Return the Java class that has the active session of each thread of a classic session's JVM."""
    jvm = session.sparkContext._jvm
    return session._get_j_spark_session_class(jvm) if _has_classic_package(session) else jvm.org.apache.spark.sql.SparkSession


def dataframe_of_plan(session: SparkSession, plan: Any) -> DataFrame:
    """Return a logical plan of the JVM as a DataFrame of a classic session."""
    if _has_classic_package(session):
        from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

        name = "org.apache.spark.sql.classic.Dataset"
    else:
        from pyspark.sql import DataFrame as ClassicDataFrame

        name = "org.apache.spark.sql.Dataset"
    # By its whole name in one call: each part of it would be a question to the JVM.
    return ClassicDataFrame(getattr(session.sparkContext._jvm, name).ofRows(session._jsparkSession, plan), session)


def strings_of(session: SparkSession, array: Any) -> list[str]:
    """Return the strings in an array of a classic session's JVM, by one call where its Scala has the class for it."""
    if not _has_classic_package(session):
        return list(filter(None, array))
    # The class is looked up by its full name, because looking up each part of the name would take a call of the JVM.
    wrapped = getattr(session.sparkContext._jvm, "scala.collection.immutable.ArraySeq").unsafeWrapArray(array)
    return list(filter(None, wrapped.mkString("\n").split("\n")))


def _has_classic_package(session: SparkSession) -> bool:
    """Return whether the classes of classic sessions are in packages of their own, as they are since the API is shared with Spark Connect."""
    return hasattr(type(session), "_get_j_spark_session_class")


# Threads, jobs and errors.


def inheriting_thread(target: Callable[[], Any], session: SparkSession) -> threading.Thread:
    """Return a thread whose jobs have the local properties of this thread, and the tags of a remote session."""
    from pyspark import InheritableThread

    if "session" in inspect.signature(InheritableThread.__init__).parameters:
        return InheritableThread(target=target, session=session)
    return InheritableThread(target=target)


def tags_of_jobs(session: SparkSession) -> tuple[str, ...]:
    """Return the tags of a classic session for this thread, in the form that jobs have, and the tag by which ``interruptAll`` finds its jobs."""
    if not _has_classic_package(session):
        # Before Spark 4.0 only remote sessions have tags.
        return ()
    java = session._jsparkSession
    # There is no public method that returns tags in this form.
    own = str(java.managedJobTags().get().values().mkString(","))
    return (str(java.sessionJobTag()), *filter(None, own.split(",")))


def silence_query_loggers() -> None:
    """Silence the JSON that PySpark prints for a failing query, in addition to the exception; versions without these loggers print none."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel("CRITICAL")


def error_condition(error: Any) -> str | None:
    """Return the name of the condition of an error of PySpark, such as ``TABLE_OR_VIEW_NOT_FOUND``."""
    condition: str | None = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()
    return condition


# Types and SQL functions.


def utc_datetime_of_microseconds(number: str) -> str:
    """Return an SQL expression for the ``TIMESTAMP_NTZ`` that is a number of microseconds after 1970; it does not depend on settings of a session."""
    from pyspark.sql import functions as F

    start = "CAST('1970-01-01' AS TIMESTAMP_NTZ)"
    if hasattr(F, "timestamp_add"):
        return f"timestampadd(MICROSECOND, {number}, {start})"
    # The function takes 32 bits before Spark 4.0, and larger numbers lose their high bits silently.
    days, seconds, microseconds = f"{number} div 86400000000", f"{number} % 86400000000 div 1000000", f"{number} % 1000000"
    after_days = f"timestampadd(DAY, CAST({days} AS INT), {start})"
    return f"timestampadd(MICROSECOND, CAST({microseconds} AS INT), timestampadd(SECOND, CAST({seconds} AS INT), {after_days}))"


def require_variant() -> None:
    """Raise an error if PySpark has no VARIANT, which holds lists and dicts of mixed values.

    Raises
    ------
    UnsupportedOperationError
        If it has none.
    """
    import pyspark
    from pyspark.sql import types

    if not hasattr(types, "VariantType"):
        raise _refuse(NO_VARIANT, pyspark.__version__, "Convert such columns with astype(str) first.")
