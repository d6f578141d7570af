"""Saving frames and columns, and loading them again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from sframe_spark.api.files.paths import file_path_text, path_text
from sframe_spark.api.files.references import elsewhere_of, own_columns, referring_frame, write_reference
from sframe_spark.api.names import require_unicode
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.engine.runs.executor import Executor
from sframe_spark.engine.runs.looks import Look, look
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.errors import InvalidArgumentError, NotOneColumnError, StorageError
from sframe_spark.locations import normalised
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.operators.sources.source import SegmentSource, segment_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.datasets.columns import may_save_columns, save_columns
from sframe_spark.storage.datasets.opened import OPEN_DATASETS
from sframe_spark.storage.datasets.save import check_replaceable, save_dataset, staged
from sframe_spark.storage.manifests.manifest import SARRAY, SFRAME

COLUMN_NAME = "X1"
_CSV, _JSON = (".csv", ".csv.gz"), (".json", ".json.gz")
_LINES = (*_CSV, ".txt")


def save_node(node: PlannerNode, path: str | os.PathLike[str], names: Sequence[str], kind: str = SFRAME) -> None:
    """Write all rows beside ``path`` and put them in its place when complete; what was there stays readable until then.

    Segments that exist already are linked or copied as they are; of some of their columns the pages are copied.
    """
    target = normalised(path_text(path))
    require_unicode(names)
    check_replaceable(target)
    look(node, partial(_save_plan, target=target, names=tuple(names), kind=kind), materialize)


def _save_plan(found: Look, target: str, names: tuple[str, ...], kind: str) -> None:
    source = found.plan.operator
    if isinstance(source, SegmentSource) and source == SegmentSource.of(source.manifest):
        save_dataset([source.manifest], target, names, kind)
        return
    if isinstance(source, SegmentSource) and may_save_columns(source.manifest, source.positions) and source.row_count == source.manifest.rows:
        save_columns(source.manifest, source.positions, target, names)
        return
    with staged(target) as staging:
        Executor(MaterializeOptions(directory=staging, names=names, kind=kind), owned=found.owned, journal=found.journal).save(found.plan)


def save_reference(node: PlannerNode, names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Save a frame, as :func:`save_node` does, but for columns of saved frames: these stay where they are, and are read from there."""
    target = normalised(path_text(path))
    require_unicode(names)
    check_replaceable(target)
    elsewhere = elsewhere_of(node, names, target)
    if elsewhere is None:
        save_node(node, target, names)
        return
    own = own_columns(elsewhere)
    with staged(target) as staging:
        if own:
            save_node(project(node, own), staging, [names[column] for column in own])
        write_reference(elsewhere, staging)


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

    chosen = format or ("text" if path_text(path).endswith(_LINES) else "binary")
    if chosen in ("text", "csv"):
        write_csv(node, [COLUMN_NAME], path, CsvFormat(header=False))
    elif chosen == "binary":
        save_node(node, path, [COLUMN_NAME], SARRAY)
    else:
        raise InvalidArgumentError(f"format must be 'binary' or 'text', got {format!r}")


def load_frame(path: str | os.PathLike[str], verify: bool = False, own_files_only: bool = False) -> tuple[PlannerNode, list[str]]:
    """Node and column names of a saved frame.

    Parameters
    ----------
    path
        Its directory.
    verify
        Whether to read every byte and compare all check sums first.
    own_files_only
        Whether to refuse a frame that refers to columns of others.

    Raises
    ------
    StorageError
        If nothing complete is saved there, or it is damaged.
    """
    from sframe_spark.storage.datasets.load import load_manifest

    location = normalised(path_text(path))
    manifest = OPEN_DATASETS.open(location, lambda: load_manifest(location, verify))
    if manifest.elsewhere is not None:
        if own_files_only:
            raise StorageError(f"{location} refers to rows elsewhere, which are not read here")
        return referring_frame(manifest, verify)
    names = list(manifest.names or [f"X{i + 1}" for i in range(len(manifest.types))])
    return segment_source(manifest), names


def load_column(path: str | os.PathLike[str], verify: bool = False) -> PlannerNode:
    """Node of a saved column; ``verify`` reads every byte and compares all check sums first.

    Raises
    ------
    StorageError
        If the path holds a frame of several columns.
    """
    node, names = load_frame(path, verify)
    if len(names) != 1:
        raise NotOneColumnError(f"{path} holds a frame of {len(names)} columns: load it with load_sframe()")
    return node
