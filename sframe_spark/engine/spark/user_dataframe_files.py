"""Finds the files that a user's Spark DataFrame reads and that have certain columns, in its plan, without a job."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from sframe_spark.operators.sources.segments_read_in_spark import FRAME_SCAN
from sframe_spark.session import is_remote
from sframe_spark.session.spark_versions import strings_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


FILE_RELATION = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"


def files_with_columns(df: DataFrame, first: str, other: str) -> list[str]:
    """Return the files that a DataFrame reads, if their first column is named ``first`` and they have a column named ``other``.

    Files that scans of this package read are left out. A Spark Connect server lists files without their columns, so the DataFrame's own columns must
    have these names there.
    """
    if is_remote(df.sparkSession):
        return _files_named_by_server(df) if {first, other} <= set(df.columns) else []
    leaves = df._jdf.queryExecution().analyzed().collectLeaves()
    # Most plans read no such files, which one call of the JVM shows.
    if f"[{first}#" not in leaves.mkString("\n"):
        return []
    from py4j.java_gateway import is_instance_of

    gateway = df.sparkSession.sparkContext._gateway
    files = []
    iterator = leaves.iterator()
    while iterator.hasNext():
        leaf = iterator.next()
        relation = leaf.relation() if leaf.nodeName() == "LogicalRelation" else None
        if relation is None or not is_instance_of(gateway, relation, FILE_RELATION):
            continue
        is_own_scan = all(relation.options().contains(option) for option in FRAME_SCAN)
        if not is_own_scan and other in list(relation.schema().fieldNames()):
            files += strings_of(df.sparkSession, relation.inputFiles())
    return files


def _files_named_by_server(df: DataFrame) -> list[str]:
    from pyspark.errors import PySparkException

    # Scans of this package have an option that no other scan has.
    if next(iter(FRAME_SCAN)) in str(df._plan.to_proto(df.sparkSession.client)):
        return []
    # Spark optimizes the query to list its files; an error in it is raised when its rows are computed.
    with contextlib.suppress(PySparkException):
        return list(df.inputFiles())
    return []
