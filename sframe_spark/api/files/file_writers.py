"""Frames as files of other programs: directories of Parquet and ORC files, and JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sframe_spark.api.column_names import require_unicode
from sframe_spark.api.files.paths import path_text
from sframe_spark.engine.runs.exports import write_parts
from sframe_spark.errors import InvalidArgumentError, listed
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.exports.exported import exporting
from sframe_spark.storage.exports.part_files import ORC, PartForm


def write_directory(node: PlannerNode, names: Sequence[str], path: str | os.PathLike[str], ending: str) -> None:
    """Write all rows as a directory of files, which appears when it is complete.

    Raises
    ------
    InvalidArgumentError
        If there are no columns, or one has a name that readers cannot take.
    StorageError
        If there is something at the path that was not written so, or the files cannot be written.
    """
    require_unicode(names)
    if not names:
        raise InvalidArgumentError(f"a frame without columns cannot be written as {ending}: such files have columns, and rows only in them")
    if ending == ORC:
        _require_names_for_orc(names)
    with exporting(path_text(path)) as export:
        form = PartForm(ending, tuple(names), tuple(node.schema))
        export.publish(write_parts(node, export.staging, form), ending)


def _require_names_for_orc(names: Sequence[str]) -> None:
    """Refuse names that readers of ORC in Java, such as Spark's, cannot take: they find none, or another.

    Raises
    ------
    InvalidArgumentError
        If there are such.
    """
    found = [name for name in names if not name or "`" in name]
    if found:
        raise InvalidArgumentError(
            f"Spark, and others that read ORC as it does, cannot read columns whose names are empty or have a backtick in them: {listed(found)}; "
            "rename them first, or use write_parquet()"
        )
