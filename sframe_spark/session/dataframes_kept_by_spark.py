"""DataFrames whose rows Spark keeps, without the plan that made them: what is lost is an error, and never made again.

They are on disks of executors, or in a directory of a file system that Spark's JVMs reach, and perhaps only they.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import attrs
import pyarrow as pa

from sframe_spark.process.temporary_file_leases import PREFIX, ProcessMark, is_running, new_name, owner_in
from sframe_spark.session.spark_start_and_settings import is_remote
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.session.users_own_spark_session import in_session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# The catalog of views that all sessions of a server see.
SHARED_VIEWS = "global_temp"
# What Spark says where neither copy of a partition is left.
LOST = "Checkpoint block rdd_"


class KeptDataFrame(Protocol):
    """A DataFrame whose rows Spark keeps."""

    @property
    def df(self) -> DataFrame:
        """The rows."""

    def parts(self) -> Column:
        """Return a column that says in which part of the DataFrame a row is."""

    def in_session(self, session: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame of a session."""

    def some_rows(self, part: Any, values: Mapping[str, Sequence[Any]]) -> pa.Table:
        """Return the rows of a part that have one of some values in each of the named columns."""

    def release(self) -> None:
        """Let Spark delete the rows."""


def kept_in(df: DataFrame, directory: str | None) -> KeptDataFrame:
    """Compute a DataFrame and keep its rows: in a new directory below the given one of a file system of Spark's, or on disks of executors."""
    if directory is None:
        return CheckpointedDataFrame.of(df)
    return StoredDataFrame.of(df, f"{directory}/{uuid.uuid4().hex}")


def having(df: DataFrame, values: Mapping[str, Sequence[Any]]) -> DataFrame:
    """Return the rows that have one of some values in each of the named columns."""
    from pyspark.sql import functions as F

    for name, wanted in values.items():
        df = df.where(F.col(name).isin(list(wanted)))
    return df


@attrs.define(eq=False)
class CheckpointedDataFrame:
    """A DataFrame whose partitions are on disks of two executors, if there are two.

    Parameters
    ----------
    df
        The rows.
    view
        The name of the view by which other sessions of a remote server find them; None in classic sessions.
    """

    df: DataFrame
    view: str | None

    @classmethod
    def of(cls, df: DataFrame) -> Self:
        """Compute a DataFrame, and keep its rows in order.

        The rows go to disk at once. In memory they would be objects of the JVM, which it has to serialise, all rows of a partition together, before
        it copies them to another executor.
        """
        from pyspark import StorageLevel

        try:
            kept = df.localCheckpoint(True, StorageLevel.DISK_ONLY_2)
        except TypeError:
            # Before Spark 4.0 there is one copy.
            kept = df.localCheckpoint(True)
        if not is_remote(df.sparkSession):
            return cls(kept, None)
        kept, view = in_own_session(kept, df.sparkSession), new_view_name()
        kept.createGlobalTempView(view)
        return cls(kept, view)

    def parts(self) -> Column:
        """Return a column of the number of the partition."""
        from pyspark.sql import functions as F

        return F.spark_partition_id()

    def in_session(self, session: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame of a session."""
        if self.view is None:
            return in_session(self.df, session)
        return self.df if self.df.sparkSession is session else session.table(f"{SHARED_VIEWS}.{self.view}")

    def some_rows(self, part: int, values: Mapping[str, Sequence[Any]]) -> pa.Table:
        """Return the rows of a partition that have one of some values in each of the named columns."""
        rows = having(self.df, values)
        if is_remote(self.df.sparkSession):
            # No public call runs a query on one partition only.
            return to_arrow(rows)
        names = rows.schema.names
        found: list[Any] = self.df.sparkSession.sparkContext.runJob(rows.rdd, list, [part])
        return pa.table({name: [row[name] for row in found] for name in names})

    def release(self) -> None:
        """Let Spark delete the rows."""
        session = self.df.sparkSession
        if self.view is not None:
            session.catalog.dropGlobalTempView(self.view)
        else:
            # A checkpoint has no public method for this; Spark would delete it when the JVM collects garbage.
            self.df._jdf.queryExecution().analyzed().rdd().unpersist(False)


def in_own_session(checkpointed: DataFrame, session: SparkSession) -> DataFrame:
    """Return a checkpoint of a remote session as a DataFrame of that session: PySpark takes it for one of the session that is active."""
    plan: Any = checkpointed._plan
    kept: DataFrame = session._create_remote_dataframe(plan._relation_id)
    # Otherwise the server would be told to forget it when the other object goes.
    plan._relation_id = None
    return kept


# Settings of Spark's writer for rows of megabytes: few are in memory at a time, and a reader of one passes over the others.
LARGE_VALUES = {"parquet.block.size": str(8 << 20), "parquet.enable.dictionary": "false", "compression": "uncompressed"}


@attrs.define(eq=False)
class StoredDataFrame:
    """A DataFrame whose rows are Parquet files in a directory that Spark reaches.

    Parameters
    ----------
    df
        The rows.
    directory
        The URI of the directory.
    """

    df: DataFrame
    directory: str

    @classmethod
    def of(cls, df: DataFrame, directory: str) -> Self:
        """Compute a DataFrame, and write its rows to a new directory."""
        df.write.options(**LARGE_VALUES).parquet(directory, mode="error")
        return cls(df.sparkSession.read.schema(df.schema).parquet(directory), directory)

    def parts(self) -> Column:
        """Return a column of the file."""
        from pyspark.sql import functions as F

        return F.col("_metadata.file_path")

    def in_session(self, session: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame of a session."""
        return self.df if self.df.sparkSession is session else session.read.schema(self.df.schema).parquet(self.directory)

    def some_rows(self, part: str, values: Mapping[str, Sequence[Any]]) -> pa.Table:
        """Return the rows of a file that have one of some values in each of the named columns."""
        return to_arrow(having(self.df.sparkSession.read.schema(self.df.schema).parquet(part), values))

    def release(self) -> None:
        """Delete the directory; over Spark Connect, which has no call for that, delete the rows in it."""
        session = self.df.sparkSession
        if is_remote(session):
            session.createDataFrame([], self.df.schema).write.parquet(self.directory, mode="overwrite")
        else:
            HadoopDirectory.of(session, self.directory).delete()


@attrs.frozen(eq=False)
class HadoopDirectory:
    """A directory of a file system of Hadoop, which the JVM of a classic session opens.

    Parameters
    ----------
    jvm, settings
        The JVM, and its settings of Hadoop, which outlive the session.
    uri
        The URI.
    """

    jvm: Any
    settings: Any
    uri: str

    @classmethod
    def of(cls, session: SparkSession, uri: str) -> Self:
        """Return a directory that the JVM of a session opens."""
        return cls(session._jvm, session._jsparkSession.sessionState().newHadoopConf(), uri)

    def delete(self) -> None:
        """Delete the directory with all that is in it."""
        self._files.delete(self._path(self.uri), True)

    def names(self) -> list[str]:
        """Return the names of what is in it; none if it does not exist."""
        path = self._path(self.uri)
        return [status.getPath().getName() for status in self._files.listStatus(path)] if self._files.exists(path) else []

    def delete_of_ended_processes(self) -> None:
        """Delete directories in it which processes of this machine that have ended have left."""
        for name in self.names():
            process = owner_in(name)
            if process is not None and is_running(process) is False:
                self._files.delete(self._path(f"{self.uri}/{name}"), True)

    @property
    def _files(self) -> Any:
        return self._path(self.uri).getFileSystem(self.settings)

    def _path(self, uri: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(uri)


def home_directory(session: SparkSession) -> str | None:
    """Return the user's directory on the default file system of Hadoop, as a URI.

    The result is None over Spark Connect, and if there is no such file system, it cannot be reached, or it is the one of a machine.
    """
    if is_remote(session):
        return None
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    jvm = session._jvm
    assert jvm is not None
    try:
        files = jvm.org.apache.hadoop.fs.FileSystem.get(session._jsparkSession.sessionState().newHadoopConf())
        home = str(files.getHomeDirectory().toString())
    except (Py4JError, PySparkException):
        return None
    return None if home.startswith("file:") else home


def new_view_name() -> str:
    """Return a new name for a view, which says which process has made it.

    Examples
    --------
    >>> owner_of_view(new_view_name()) == owner_in(new_name())
    True
    """
    return f"{new_name().replace('-', '_')}_{uuid.uuid4().hex}"


def owner_of_view(name: str) -> ProcessMark | None:
    """Return the process that has made a view; None if its name has none."""
    marks = name.removeprefix(PREFIX.replace("-", "_")).split("_")[:-1]
    return owner_in(f"{PREFIX}{'-'.join(marks)}")


def drop_views_of_ended_processes(session: SparkSession) -> None:
    """Drop the views that processes of this machine which have ended have left on a remote server."""
    for table in session.catalog.listTables(SHARED_VIEWS):
        process = owner_of_view(table.name)
        if process is not None and is_running(process) is False:
            with contextlib.suppress(Exception):
                session.catalog.dropGlobalTempView(table.name)
