"""Saving frames and columns, and loading them again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import attrs

from sframe_spark.api.files.archives import load_archive
from sframe_spark.api.files.paths import file_path_text, path_text
from sframe_spark.api.names import require_unicode
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.engine.runs.executor import Executor
from sframe_spark.engine.runs.looks import Look, look
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.errors import InvalidArgumentError, NotOneColumnError
from sframe_spark.locations import normalised
from sframe_spark.operators.sources.archive_source import ArchiveSource, archive_source
from sframe_spark.operators.sources.source import SegmentSource, segment_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.datasets.opened import OPEN_DATASETS
from sframe_spark.storage.datasets.save import check_replaceable, save_dataset, staged
from sframe_spark.storage.legacy.archive import STRICT
from sframe_spark.storage.legacy.narrowing import with_narrow_types
from sframe_spark.storage.legacy.verify import require_readable_rows

COLUMN_NAME = "X1"
_CSV, _JSON = (".csv", ".csv.gz"), (".json", ".json.gz")


def save_node(node: PlannerNode, path: str | os.PathLike[str], names: Sequence[str]) -> None:
    """Write all rows beside ``path`` and put them in its place when complete; what was there stays readable until then.

    Segments that exist already are linked or copied as they are.
    """
    target = normalised(path_text(path))
    require_unicode(names)
    check_replaceable(target)
    look(node, partial(_save_plan, target=target, names=tuple(names)), materialize)


def _save_plan(found: Look, target: str, names: tuple[str, ...]) -> None:
    source = found.plan.operator
    if isinstance(source, SegmentSource) and source == SegmentSource.of(source.manifest):
        save_dataset([source.manifest], target, names=names)
        return

    def write(plan: PlannerNode) -> None:
        with staged(target) as staging:
            Executor(MaterializeOptions(directory=staging, names=names), owned=found.owned, journal=found.journal).save(plan)

    if isinstance(source, ArchiveSource):
        # What all values of a column are is known when it is written.
        with_narrow_types(source.archive, source.positions, lambda archive: write(attrs.evolve(source, archive=archive).make_planner_node()))
    else:
        write(found.plan)


def save_frame(node: PlannerNode, names: Sequence[str], path: str | os.PathLike[str], format: str | None) -> None:
    """Save a frame as a directory of segments, as CSV, in a file named so, or as JSON; the name tells which, where nothing else does."""
    from sframe_spark.api.files.csv.writer import write_csv
    from sframe_spark.api.files.json_writer import RECORDS, write_json

    text = path_text(path)
    is_named_csv = text.endswith(_CSV)
    chosen = format or ("csv" if is_named_csv else "json" if text.endswith(_JSON) else "binary")
    if chosen == "csv":
        write_csv(node, names, text if is_named_csv else f"{file_path_text(text)}.csv")
    elif chosen == "binary":
        save_node(node, path, names)
    elif chosen == "json":
        write_json(node, names, path, RECORDS)
    else:
        raise InvalidArgumentError(f"format must be 'binary', 'csv' or 'json', got {format!r}")


def save_column(node: PlannerNode, path: str | os.PathLike[str], format: str | None) -> None:
    """Save a column as a directory of segments or as lines of text."""
    from sframe_spark.api.files.csv.writer import CsvFormat, write_csv

    chosen = format or ("text" if path_text(path).endswith(_CSV) else "binary")
    if chosen in ("text", "csv"):
        write_csv(node, [COLUMN_NAME], path, CsvFormat(header=False))
    elif chosen == "binary":
        save_node(node, path, [COLUMN_NAME])
    else:
        raise InvalidArgumentError(f"format must be 'binary' or 'text', got {format!r}")


def load_frame(
    path: str | os.PathLike[str], verify: bool = False, references: Sequence[str | os.PathLike[str]] = (), encoding_errors: str = STRICT
) -> tuple[PlannerNode, list[str]]:
    """Node and column names of a saved frame, or of an archive of Turi Create; ``verify`` reads every byte first."""
    from sframe_spark.storage.datasets.load import load_manifest

    archive = load_archive(path, references, encoding_errors)
    if archive is not None:
        if verify:
            require_readable_rows(archive.opened)
        return archive_source(archive.opened, archive.handle), archive.opened.names
    location = normalised(path_text(path))
    manifest = OPEN_DATASETS.open(location, lambda: load_manifest(location, verify))
    names = list(manifest.names or [f"X{i + 1}" for i in range(len(manifest.types))])
    return segment_source(manifest), names


def load_column(
    path: str | os.PathLike[str], verify: bool = False, references: Sequence[str | os.PathLike[str]] = (), encoding_errors: str = STRICT
) -> PlannerNode:
    """Node of a saved column, or of one in an archive of Turi Create; ``verify`` reads every byte first.

    Raises
    ------
    StorageError
        If the path holds a frame of several columns.
    """
    node, names = load_frame(path, verify, references, encoding_errors)
    if len(names) != 1:
        raise NotOneColumnError(f"{path} holds a frame of {len(names)} columns: load it with load_sframe()")
    return node
