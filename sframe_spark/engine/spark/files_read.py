"""The files that a user's DataFrame reads, as Spark names them: found in its plan, without a job."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sframe_spark.operators.sources.spark_scan import OURS
from sframe_spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def files_with_columns(df: DataFrame, first: str, other: str) -> list[str]:
    """Return the files of others that a DataFrame reads, and whose first column, and another one, have these names; ours read none by these.

    A server tells of files only, so a DataFrame over Connect is asked where its own columns have the names.
    """
    if is_remote(df.sparkSession):
        return _told_by_server(df) if {first, other} <= set(df.columns) else []
    leaves = df._jdf.queryExecution().analyzed().collectLeaves()
    # One call of the JVM tells of most plans that they read nothing of the kind.
    if f"[{first}#" not in leaves.mkString("\n"):
        return []
    gateway = df.sparkSession.sparkContext._gateway
    relations = [leaf.relation() for leaf in _each(leaves) if leaf.nodeName() == "LogicalRelation"]
    files = [relation for relation in relations if _is_of_files(gateway, relation) and not _is_ours(relation)]
    return [uri for relation in files if other in list(relation.schema().fieldNames()) for uri in _texts(gateway, relation.inputFiles())]


def _told_by_server(df: DataFrame) -> list[str]:
    from pyspark.errors import PySparkException

    # What frames of ours became is read by options of ours.
    if next(iter(OURS)) in str(df._plan.to_proto(df.sparkSession.client)):
        return []
    # Spark optimizes the query to tell, and whatever is wrong with it is told where its rows are looked at.
    with contextlib.suppress(PySparkException):
        return list(df.inputFiles())
    return []


def _is_of_files(gateway: Any, relation: Any) -> bool:
    from py4j.java_gateway import is_instance_of

    return bool(is_instance_of(gateway, relation, "org.apache.spark.sql.execution.datasources.HadoopFsRelation"))


def _is_ours(relation: Any) -> bool:
    return all(bool(relation.options().contains(option)) for option in OURS)


def _each(found: Any) -> Iterator[Any]:
    places = found.iterator()
    while places.hasNext():
        yield places.next()


def _texts(gateway: Any, array: Any) -> list[str]:
    """The URIs in an array of the JVM, in one call: each item would be another."""
    # By its whole name: each part would be a question to the JVM.
    wrapped = getattr(gateway.jvm, "scala.collection.immutable.ArraySeq").unsafeWrapArray(array)
    return list(filter(None, wrapped.mkString("\n").split("\n")))
