"""Saves frames and columns, loads them again, makes checkpoints, merges short files, and determines what is saved at a path.

A saved frame may refer to columns of other saved frames. Archives of Turi Create are loaded, too.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import attrs

from sframe_spark.api.column_names import require_unicode
from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.io.path_arguments import file_path_text, path_text
from sframe_spark.engine.execution.action_planning_and_function_call_claims import ActionPlan, awaited, run_action
from sframe_spark.engine.execution.materialize_count_and_read_rows import is_decoded_on_read, materialize
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.column_lineage import source_column
from sframe_spark.engine.physical.user_dataframes_to_materialize_first import keep_frames
from sframe_spark.errors import (
    ConcurrentSaveError,
    InvalidArgumentError,
    NoArchiveError,
    NotOneColumnError,
    NotSavedError,
    PlanInvariantError,
    SchemaError,
    StorageError,
)
from sframe_spark.lazily_imported_subpackages import ARCHIVE, ARCHIVE_SOURCE, optional_part
from sframe_spark.message_text import visible
from sframe_spark.operators.project_zip_arrange import columns_of, project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, Source, segment_source, source_of
from sframe_spark.paths_and_uris import is_in_process_memory, is_remote_location, location_of, normalised, scheme_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import optimize
from sframe_spark.storage.datasets import atomic_directory_save, dataset_copies
from sframe_spark.storage.datasets.dataset_verification import damage_in
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import OPEN_DATASETS, digest_for_reference, load_referred, read_manifest
from sframe_spark.storage.datasets.numbered_versions_of_remote_frames import load_remote, saving_version
from sframe_spark.storage.filesystem.compression import require_clear_name, without_packing
from sframe_spark.storage.filesystem.format_recognition import ARCHIVE_FILE, is_archive
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import WEB, Download
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.storage.manifest.manifest import OWN, SARRAY, SFRAME, ColumnReferences, Manifest, ReferencedDataset, SecondOrder

# Archives of Turi Create, local or remote; an optional part of the package reads them

# Value of ``encoding_errors``: raise an error for strings in an archive that are not UTF-8.
STRICT = "strict"


def load_archive(
    path: str | os.PathLike[str], references: Sequence[str | os.PathLike[str]] = (), encoding_errors: str = STRICT, verify: bool = False
) -> tuple[PlannerNode, list[str]] | None:
    """Return the node and column names of the Turi Create archive at a path; None if there is no archive.

    Raises
    ------
    StorageError
        If the archive is damaged, or refers to files outside of it and of the directories in ``references``.
    """
    directories = reference_paths(references)
    location, handle = _archive_at(path)
    if location is None:
        return None
    if handle is not None:
        # All files of a remote archive are downloaded; it may not refer to files elsewhere.
        directories = []
    archive: tuple[PlannerNode, list[str]] = optional_part(ARCHIVE_SOURCE).load_archive(location, directories, encoding_errors, verify, handle)
    return archive


def _archive_at(path: str | os.PathLike[str]) -> tuple[str | None, Any]:
    """Return the local directory of the archive at a path, and the holder of its files if they were downloaded; None if there is no archive."""
    text = path_text(path)
    if scheme_of(text) is None:
        location = normalised(text)
        return (location if is_archive(location) else None), None
    download = Download()
    return download.fetch_directory(text, ARCHIVE_FILE), download.holder


def kind_of_archive(path: str | os.PathLike[str]) -> str | None:
    """Return what the archive at a path contains, ``sframe`` or ``sarray``; None if there is no archive.

    Raises
    ------
    StorageError
        If the archive contains something else, or its index file is damaged.
    """
    location, handle = _archive_at(path)
    if location is None:
        return None
    archive = optional_part(ARCHIVE)
    kind: str = archive.archive_kind(location) if handle is None else archive.open_archive(location).contents.kind
    return kind


def reference_paths(references: Any) -> list[str]:
    """Return the directories that an archive may refer to, as strings.

    Raises
    ------
    SchemaError
        If ``references`` is not a list of paths.
    InvalidArgumentError
        If a path is empty.
    """
    if isinstance(references, (str, os.PathLike)) or not isinstance(references, Sequence):
        raise SchemaError(f"references must be a list of directories, got {references!r:.80}")
    return list(map(path_text, references))


# Frames that refer to columns of other saved frames


def stored_columns(node: PlannerNode) -> dict[int, tuple[SegmentSource, int]]:
    """Return the columns of a node that are unchanged columns of saved frames: their source and position in the saved frame, by position."""
    with GRAPH_LOCK:
        plan = optimize(node)
    columns = {}
    for column in range(node.facts.width):
        origin, position = source_column(plan, column)
        if isinstance(origin.operator, SegmentSource):
            columns[column] = origin.operator, origin.operator.positions[position]
    return columns


def external_columns_of(node: PlannerNode, names: Sequence[str], target: str) -> ColumnReferences | None:
    """Return the columns of other saved frames to which a frame saved at ``target`` can refer; None if there are no such columns."""
    datasets: dict[ReferencedDataset, int] = {}
    digests: dict[tuple[object, ...], str | None] = {}
    # For each column of another frame, the number of the dataset and the position in it.
    external: dict[int, tuple[int, int]] = {}
    for column, (source, position) in stored_columns(node).items():
        manifest = source.manifest
        if manifest.identity not in digests:
            digests[manifest.identity] = digest_for_reference(manifest, target)
        if (digest := digests[manifest.identity]) is not None:
            item = ReferencedDataset(manifest.directory, digest, source.start, source.stop)
            external[column] = datasets.setdefault(item, len(datasets)), position
    if not external:
        return None
    own = itertools.count()
    columns = tuple(external[column] if column in external else (OWN, next(own)) for column in range(len(names)))
    return ColumnReferences(tuple(names), columns, tuple(datasets))


def own_columns(external: ColumnReferences) -> list[int]:
    """Return the positions of the columns that are stored in the frame's own files."""
    return [column for column, (dataset, _) in enumerate(external.columns) if dataset == OWN]


def with_external_columns(own: Manifest, external: ColumnReferences) -> Manifest:
    """Return the manifest of a frame with some columns in its own files (``own``) and some in files of other frames (``external``).

    Raises
    ------
    PlanInvariantError
        If the own columns differ in number or length from what ``external`` says.
    """
    try:
        external.check_own(len(own.types), own.rows)
    except ValueError as error:
        raise PlanInvariantError(f"the columns of the frame do not fit together: {error}") from error
    return attrs.evolve(own, references=external)


def referring_frame(manifest: Manifest, verify: bool) -> tuple[PlannerNode, list[str]]:
    """Return the node and column names of a frame with some columns in files of other frames.

    Raises
    ------
    StorageError
        If one of these frames cannot be read.
    """
    external = manifest.references
    assert external is not None
    nodes: dict[int, PlannerNode] = {OWN: segment_source(manifest)} if own_columns(external) else {}
    for number, (item, referred) in enumerate(zip(external.datasets, load_referred(manifest, verify), strict=True)):
        nodes[number] = SegmentSource.of(referred).rows_between(item.start, item.stop).make_planner_node()
    # For each dataset, the position of its first column among the columns of all datasets.
    firsts = dict(zip(nodes, itertools.accumulate((node.facts.width for node in nodes.values()), initial=0), strict=False))
    for dataset, position in external.columns:
        if position >= nodes[dataset].facts.width:
            raise StorageError(f"the manifest of {manifest.directory} is damaged: it names a column that does not exist; save the frame again")
    return project(zip_columns(*nodes.values()), [firsts[dataset] + position for dataset, position in external.columns]), list(external.names)


COLUMN_NAME = "X1"
_CSV, _JSON, _LINES = ".csv", ".json", ".txt"


def saving(target: str) -> AbstractContextManager[atomic_directory_save.PendingSave]:
    """Return a context manager for a save. At its end, a local save is renamed to ``target``; a remote save makes a new version when committed."""
    return saving_version(target) if is_remote_location(target) else atomic_directory_save.saving_directory(target)


def save_node(node: PlannerNode, path: str | os.PathLike[str], names: Sequence[str], kind: str = SFRAME, also_by: Sequence[int] = ()) -> Manifest:
    """Save all rows of a node; a frame that was saved at ``path`` before stays readable until the new one is complete.

    Parameters
    ----------
    node, path, names, kind
        The rows, where they are saved, the names of their columns, and whether they are a frame or a column.
    also_by
        Positions of columns: the rows are saved once more in the order of each.

    Returns
    -------
    Manifest
        The manifest as it was written; it may name the temporary directory that was renamed afterwards.
    """
    target = location_of(path_text(path))
    require_unicode(names)
    if not is_remote_location(target):
        atomic_directory_save.check_replaceable(target)
    for column in also_by:
        # Columns that cannot be sorted by are refused before anything is written.
        sort_rows(node, [(column, True)])
    return run_action(node, lambda action: _save(action, target, names, kind, also_by=also_by), materialize)


def _save(
    action: ActionPlan, target: str, names: Sequence[str], kind: str, external: ColumnReferences | None = None, also_by: Sequence[int] = ()
) -> Manifest:
    """Save the rows of a plan; with ``external``, these are the frame's own columns, and it refers to the others."""

    def attempt(plan: PlannerNode) -> Manifest:
        with saving(target) as pending:
            manifest = _stored(action, plan, pending.directory)
            manifest = manifest.with_second_orders(tuple(_second_order(action, manifest, column) for column in also_by))
            return pending.commit(manifest if external is None else with_external_columns(manifest, external), names, kind)

    source = action.plan.operator
    if not isinstance(source, Source):
        return attempt(action.plan)
    return source.saved_by(lambda narrowed: attempt(action.plan if narrowed is source else narrowed.make_planner_node()))


def _stored(action: ActionPlan, plan: PlannerNode, directory: str) -> Manifest:
    """Write the rows of a plan into a new directory, local or remote; files or columns that are already stored are copied if possible."""
    source = plan.operator
    if isinstance(source, SegmentSource) and source == SegmentSource.of(source.manifest):
        return dataset_copies.copied_dataset(source.manifest, directory)
    if (
        isinstance(source, SegmentSource)
        and source.row_count == source.manifest.rows
        and dataset_copies.may_copy_columns(source.manifest, source.positions)
    ):
        return dataset_copies.copied_columns(source.manifest, source.positions, directory)
    if is_in_process_memory(directory):
        # Other processes cannot write to the memory of this process, so rows are written to temporary files first.
        holder = temporary_store().new_dataset()
        return dataset_copies.copied_dataset(_written(action, plan, holder.directory), directory)
    return _written(action, plan, directory)


def _second_order(action: ActionPlan, first: Manifest, column: int) -> SecondOrder:
    """Write the rows of a dataset, which need not be committed, to its directory once more, in the order of a column."""
    rows = SegmentSource.of(first).make_planner_node()
    holder = temporary_store().new_dataset()
    ordered = _written(action, optimize(sort_rows(zip_columns(rows, row_number(rows)), [(column, True)])), holder.directory)
    return SecondOrder.of(column, first, dataset_copies.copied_dataset(ordered, first.directory).segments)


def _written(action: ActionPlan, plan: PlannerNode, directory: str) -> Manifest:
    stored = source_of(Executor(MaterializeOptions(directory=directory), owned=action.owned, run_log=action.run_log).save(plan))
    assert isinstance(stored, SegmentSource)
    return stored.manifest


def compact_dataset(path: str | os.PathLike[str]) -> int:
    """Merge the short files of a saved frame or column, and return the number of files afterwards; rows and their order do not change.

    Raises
    ------
    StorageError
        If nothing is saved at the path, or the frame refers to files of other frames.
    """
    target = location_of(path_text(path))
    node, names = load_frame(path)
    source = node.operator
    if not isinstance(source, SegmentSource) or source != SegmentSource.of(source.manifest):
        raise StorageError(f"{target} has columns in files of other saved frames: save it under another name first, which copies them")
    manifest = source.manifest
    if all(len(stretch.entries) == 1 for stretch in dataset_copies.stretches(manifest, 2)):
        return len(manifest.segments)
    with saving(target) as pending:
        merged = dataset_copies.copied_dataset(manifest, pending.directory, min_combined=2)
        seconds = []
        for second in manifest.second_orders:
            rows = dataset_copies.copied_dataset(second.rows, pending.directory, min_combined=2)
            seconds.append(SecondOrder.of(second.column, merged, rows.segments))
        merged = merged.with_second_orders(tuple(seconds))
        return len(pending.commit(merged, names, manifest.kind).segments)


def save_reference(node: PlannerNode, names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Save a frame like :func:`save_node`, but refer to columns of saved frames instead of copying them."""
    target = location_of(path_text(path))
    require_unicode(names)
    external = None
    # Readers of a remote frame may have no access to files on this machine, so columns are copied.
    if not is_remote_location(target):
        atomic_directory_save.check_replaceable(target)
        external = external_columns_of(node, names, target)
    if external is None:
        save_node(node, target, names)
        return
    own = own_columns(external)
    if own:
        own_names = [names[column] for column in own]
        run_action(columns_of(node, own), lambda action: _save(action, target, own_names, SFRAME, external), materialize)
        return
    with atomic_directory_save.saving_directory(target) as pending:
        pending.commit(with_external_columns(Manifest((), (), pending.directory), external), ())


def save_frame(node: PlannerNode, names: Sequence[str], path: str | os.PathLike[str], format: str | None, also_by: Sequence[int] = ()) -> None:
    """Save a frame as a directory, as CSV or as JSON; if ``format`` is None, the extension of the path decides.

    Raises
    ------
    InvalidArgumentError
        If the format is unknown, or is that of a file and ``also_by`` has columns.
    """
    from sframe_spark.api.io.csv.writer import write_csv
    from sframe_spark.api.io.json.writer import RECORDS, write_json

    text = path_text(path)
    if format is None:
        require_clear_name(text, (_CSV, _JSON))
    inner = without_packing(text)
    is_named_csv = inner.endswith(_CSV)
    chosen = format or ("csv" if is_named_csv else "json" if inner.endswith(_JSON) else "binary")
    if also_by and chosen in ("csv", "json"):
        raise InvalidArgumentError(f"also_by is for frames that are saved as directories, not for {chosen} files: omit it, or use format='binary'")
    if chosen == "csv":
        write_csv(node, names, text if is_named_csv else f"{file_path_text(text)}.csv")
    elif chosen == "binary":
        save_node(node, path, names, also_by=also_by)
    elif chosen == "json":
        write_json(node, names, path, RECORDS)
    else:
        raise InvalidArgumentError(f"format must be 'binary', 'csv' or 'json', got {format!r}")


def save_column(node: PlannerNode, path: str | os.PathLike[str], format: str | None) -> None:
    """Save a column as a directory or as a text file with one value per line; if ``format`` is None, the extension of the path decides.

    Raises
    ------
    InvalidArgumentError
        If the format is unknown.
    """
    from sframe_spark.api.io.csv.writer import CsvFormat, write_csv

    text = path_text(path)
    if format is None:
        require_clear_name(text, (_CSV, _LINES))
    chosen = format or ("text" if text.endswith(_LINES) or without_packing(text).endswith(_CSV) else "binary")
    if chosen in ("text", "csv"):
        write_csv(node, [COLUMN_NAME], path, CsvFormat(header=False))
    elif chosen == "binary":
        save_node(node, path, [COLUMN_NAME], SARRAY)
    else:
        raise InvalidArgumentError(f"format must be 'binary' or 'text', got {format!r}")


def load_frame(
    path: str | os.PathLike[str],
    verify: bool = False,
    references: Sequence[str | os.PathLike[str]] = (),
    encoding_errors: str = STRICT,
    own_files_only: bool = False,
    version: int | None = None,
) -> tuple[PlannerNode, list[str]]:
    """Return the node and column names of a saved frame, or of an archive of Turi Create.

    Parameters
    ----------
    path
        The directory or URI of the frame, or the index file of an archive.
    verify
        Whether to read all files first and compare their check sums.
    references
        Directories, besides its own, in which an archive may have files.
    encoding_errors
        How to handle strings in an archive that are not UTF-8.
    own_files_only
        Whether to refuse a frame that refers to columns of other frames.
    version
        Number of the version, for a frame in remote storage; None: the newest.

    Raises
    ------
    StorageError
        If no complete frame is saved at the path, or it is damaged.
    InvalidArgumentError
        If ``version`` is not an int, or the path is a local directory, which has only one version.
    """
    from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest

    missing: NotSavedError | None = None
    if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
        raise InvalidArgumentError(f"version must be the number of a version or None, got {version!r:.30}")
    if may_have_versions(path):
        try:
            return _frame_of(load_remote(location_of(path_text(path)), version), verify)
        except NotSavedError as error:
            missing = error
    elif version is not None:
        raise InvalidArgumentError(f"version={version!r:.30}: frames in local directories have only one version, the last that was saved")
    archive = load_archive(path, references, encoding_errors, verify)
    if archive is not None:
        return archive
    if missing is not None:
        raise missing
    location = normalised(path_text(path))
    manifest = OPEN_DATASETS.open(location, lambda: load_manifest(location, verify))
    if manifest.references is not None:
        if own_files_only:
            raise StorageError(f"{location} refers to rows in another place, which are not read")
        return referring_frame(manifest, verify)
    return _frame_of(manifest, verify=False)


def _frame_of(manifest: Manifest, verify: bool) -> tuple[PlannerNode, list[str]]:
    if verify and (damage := damage_in(manifest)):
        raise damage[0]
    return segment_source(manifest), list(manifest.names or [f"X{i + 1}" for i in range(len(manifest.types))])


def may_have_versions(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URI in remote storage, where a frame can have versions."""
    scheme = scheme_of(path_text(path))
    return scheme is not None and scheme.lower() not in WEB and is_remote_location(location_of(path_text(path)))


def load_column(
    path: str | os.PathLike[str],
    verify: bool = False,
    references: Sequence[str | os.PathLike[str]] = (),
    encoding_errors: str = STRICT,
    version: int | None = None,
) -> PlannerNode:
    """Return the node of a saved column, or of a column in an archive of Turi Create; see :func:`load_frame` for the parameters.

    Raises
    ------
    StorageError
        If the path contains a frame with several columns.
    """
    node, names = load_frame(path, verify, references, encoding_errors, version=version)
    if len(names) != 1:
        raise NotOneColumnError(f"{path} contains a frame of {len(names)} columns: load it with load_sframe()")
    return node


# Checkpoints


def checkpoint_node(node: PlannerNode, path: str | os.PathLike[str], names: Sequence[str], kind: str = SFRAME) -> None:
    """Save all rows, then replace the node by a source that reads them, in every plan that contains the node.

    Raises
    ------
    ConcurrentSaveError
        If another program has saved to the same path in the meantime; the node is not replaced then.
    """
    if is_decoded_on_read(node):
        # The node reads an archive without having converted its values, so its types are not known yet. Saving needs the final types.
        materialize(node, MaterializeOptions(converts=True))
    saved = save_node(node, path, names, kind)
    loaded = load_frame(path)[0]
    source = source_of(loaded)
    if not isinstance(source, SegmentSource) or _identity(source.manifest) != _identity(saved):
        raise ConcurrentSaveError(f"another program has saved to {visible(path_text(path))} in the meantime: choose another place for these rows")
    while True:
        with GRAPH_LOCK:
            busy = awaited([node])
            if busy is None:
                keep_frames(node)
                node.splice(loaded)
                return
        busy.wait()


def _identity(manifest: Manifest) -> tuple[object, ...]:
    """Return what distinguishes a save from others: column types and random file names. Without rows there are no files, so only types differ."""
    return (*manifest.types, *(entry.file for entry in manifest.segments if entry.rows))


# What kind of object is saved at a path


@call_hint
def get_turicreate_object_type(url: str | os.PathLike[str]) -> str:
    """Return what is saved at a path, by this package or by Turi Create: ``sframe`` or ``sarray``.

    Parameters
    ----------
    url
        Path or URI of a directory.

    Raises
    ------
    TypeError, ValueError
        If it is not a path, or is empty.
    OSError
        If nothing is saved there, or what is saved is neither a frame nor a column, such as a model of Turi Create.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark import SArray
    >>> from sframe_spark.util import get_turicreate_object_type
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     SArray([1, 2]).save(directory + "/column")
    ...     get_turicreate_object_type(directory + "/column")
    'sarray'
    """
    if may_have_versions(url):
        with contextlib.suppress(NotSavedError):
            return load_remote(location_of(path_text(url))).kind
    return kind_of_archive(url) or read_manifest(normalised(path_text(url))).kind


@call_hint
def get_archive_type(path: str | os.PathLike[str]) -> str:
    """Return what is saved at a path, by this package or by Turi Create: ``sframe`` or ``sarray``.

    Parameters
    ----------
    path
        Path or URI of a directory.

    Raises
    ------
    TypeError
        If neither a frame nor a column is saved there.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark import SFrame
    >>> from sframe_spark.util import get_archive_type
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     SFrame({"a": [1]}).save(directory + "/frame")
    ...     get_archive_type(directory + "/frame")
    'sframe'
    """
    try:
        return get_turicreate_object_type(path)
    except (StorageError, SchemaError, InvalidArgumentError) as error:
        raise NoArchiveError(f"nothing is saved under {path!r:.200}: {error}") from error


@call_hint
def is_directory_archive(path: Any) -> bool:
    """Return whether a frame or a column is saved at a path, by this package or by Turi Create.

    Parameters
    ----------
    path
        Path or URI of a directory.

    Examples
    --------
    >>> from sframe_spark.util import is_directory_archive
    >>> is_directory_archive("/nothing/is/here")
    False
    """
    try:
        get_archive_type(path)
    except NoArchiveError:
        return False
    return True
