"""Pickling of frames and columns.

A pickle has few rows itself, and of more rows the names of the files that hold them. If the user has chosen a directory, all rows are saved there
instead, as in Turi Create, and the pickle has the name of the saved data.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa

from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.api.column_names import FrameNames
from sframe_spark.api.io.path_arguments import path_text
from sframe_spark.api.io.saved_frames import COLUMN_NAME, load_frame, save_node
from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate
from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.paths_and_uris import normalised
from sframe_spark.planner.chunk import Chunk, concatenate, to_stream
from sframe_spark.planner.handles import register_handle
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.manifest.manifest import SARRAY, SFRAME
from sframe_spark.types import ColumnType
from sframe_spark.udf.pickling import is_packing
from sframe_spark.values.arrow_layouts import table_of

MAX_PICKLED_BYTES = 64 << 20
"""So many bytes of rows are in a pickle itself."""
_NAME = re.compile(r"[0-9a-f]{32}")
# Attributes left out of the pickle: they are restored from the saved rows, or are valid only in this process.
_SAVED = ("_node", "_names", "_recent")


def enable_sframe_serialization(serialization_directory: str | os.PathLike[str] | None) -> None:
    """Save the rows of frames and columns that are pickled in a directory; the pickle then contains only the name under which they are saved.

    Without a directory a pickle has up to 64 MiB of rows itself, and of more rows the names of their files: those of a saved frame, or temporary ones
    of this process, which other processes can read as long as it runs. With one, both the pickle and the directory are needed to unpickle. Another
    process may choose another directory if the saved rows were moved there.
    The saved rows are never deleted automatically.

    Parameters
    ----------
    serialization_directory
        The directory, which is created if it does not exist; None: rows are not saved.

    Raises
    ------
    TypeError
        If it is not a path.
    ValueError
        If it is empty, or a file.
    OSError
        If it cannot be created.

    Examples
    --------
    >>> import pickle, tempfile
    >>> from sframe_spark import SFrame
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     enable_sframe_serialization(directory)
    ...     list(pickle.loads(pickle.dumps(SFrame({"stars": [5, 3]}))))
    [{'stars': 5}, {'stars': 3}]
    >>> enable_sframe_serialization(None)
    """
    if serialization_directory is None:
        config.serialization_directory = None
        return
    directory = normalised(path_text(serialization_directory))
    if os.path.lexists(directory) and not os.path.isdir(directory):
        raise InvalidArgumentError(f"{directory} is not a directory: name one, or a place where one can be made")
    with translate_os_errors("make", directory):
        os.makedirs(directory, exist_ok=True)
    config.serialization_directory = directory


def get_serialization_directory() -> str | None:
    """Return the directory where rows of pickled frames and columns are saved; None if they are not.

    Examples
    --------
    >>> get_serialization_directory() is None
    True
    """
    return config.serialization_directory


class Pickled:
    """Mixin of SFrame and SArray: pickling evaluates the rows, and saves them in the serialization directory if there is one."""

    _is_evaluated_when_pickled: ClassVar[bool] = True

    def __reduce_ex__(self, protocol: Any) -> Any:
        if is_packing():
            # A user's function that refers to this object is being sent to a task, which reads this process's files.
            return super().__reduce_ex__(protocol)
        state = {name: value for name, value in vars(self).items() if name not in _SAVED}
        # SFrame and SArray themselves are stored by a keyword instead of their module, which may be renamed later.
        words: dict[type, str] = {ClassRegistry.frame: SFRAME, ClassRegistry.array: SARRAY}
        kind = words.get(type(self), type(self))
        if config.serialization_directory is not None:
            return restored, (kind, _saved_rows(self)), state
        node: PlannerNode = vars(self)["_node"]
        names = None if (all_names := vars(self).get("_names")) is None else list(all_names)
        rows = _few_rows(node)
        return restored_rows, (kind, names, node if rows is None else tuple(node.schema), rows), state


class NeverPickled:
    """Mixin of objects that users cannot pickle, because they refer to files that are deleted when the process ends."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        if is_packing():
            return super().__reduce_ex__(protocol)
        raise SchemaError(f"{type(self).__name__} cannot be pickled: pickle the frame or the column, or the result")


def _few_rows(node: PlannerNode) -> bytes | None:
    """Evaluate a node, and return its rows as a stream of Arrow; None if they have more than ``MAX_PICKLED_BYTES``."""
    chunks, size = [], 0
    for chunk in iterate(node):
        size += chunk.size
        if size > MAX_PICKLED_BYTES:
            return None
        chunks.append(chunk)
    stream: bytes = to_stream(chunks or [concatenate([], node.schema)]).to_pybytes()
    return stream


def _saved_rows(frame_or_column: Any) -> str:
    """Save all rows in the serialization directory, and return the random name under which they are saved."""
    name = secrets.token_hex(16)
    names: Sequence[str] | None = getattr(frame_or_column, "_names", None)
    save_node(frame_or_column._node, _path_of(name), [COLUMN_NAME] if names is None else names, SARRAY if names is None else SFRAME)
    return name


def _path_of(name: str) -> str:
    """Return the path of saved rows in the serialization directory.

    Raises
    ------
    SchemaError
        If no serialization directory is set.
    """
    directory = config.serialization_directory
    if directory is None:
        raise SchemaError(
            "pickling and unpickling frames and columns needs a directory for their rows: name one by "
            "sframe_spark.data_structures.serialization.enable_sframe_serialization(directory)"
        )
    return os.path.join(directory, name)


def restored(kind: Any, name: Any) -> Any:
    """Return the frame or column that was saved in the serialization directory under a name. Called when a pickle is loaded.

    Parameters
    ----------
    kind
        ``sframe``, ``sarray``, or a subclass of SFrame or SArray.
    name
        The name of the saved rows. Only a directory with that name, inside the serialization directory, is read.

    Raises
    ------
    TypeError
        If no serialization directory is set, or an argument is invalid.
    OSError
        If the rows are not in the directory, or are damaged.
    """
    kind = _checked_kind(kind)
    if type(name) is not str or not _NAME.fullmatch(name):
        raise SchemaError(f"the pickle is damaged: {name!r:.80} does not name rows")
    path = _path_of(name)
    if os.path.islink(path):
        raise StorageError(f"{path} is a link: only rows inside the serialization directory are read; move them there")
    if not os.path.lexists(path):
        raise StorageError(f"the rows of the pickle are missing: {path} does not exist. Name their directory by enable_sframe_serialization()")
    node, names = load_frame(path, own_files_only=True)
    return _made(kind, node, names, path)


def restored_rows(kind: Any, names: Any, rows_of: Any, rows: Any) -> Any:
    """Return a frame or column whose pickle has the rows, or names their files. Called when a pickle is loaded.

    Parameters
    ----------
    kind
        As for :func:`restored`.
    names
        The names of columns; None for a column.
    rows_of
        The types of columns, or a plan that reads files.
    rows
        The rows as a stream of Arrow; None if the files have them.

    Raises
    ------
    TypeError
        If an argument is invalid.
    OSError
        When rows are read, if the files are gone.
    """
    kind = _checked_kind(kind)
    if rows is None and isinstance(rows_of, PlannerNode):
        node = rows_of
    elif isinstance(rows, bytes) and isinstance(rows_of, tuple) and all(isinstance(column_type, ColumnType) for column_type in rows_of):
        try:
            table = table_of(rows)
            table.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise SchemaError(f"the pickle is damaged: its rows cannot be read ({error})") from error
        if table.schema.types != [column_type.physical for column_type in rows_of]:
            raise SchemaError("the pickle is damaged: its rows do not have the types that it records")
        node = memory_source(Chunk.from_table(table).columns, list(rows_of), table.num_rows)
    else:
        raise SchemaError("the pickle is damaged: it has no rows")
    if names is not None and not (isinstance(names, list) and len(names) == len(node.schema) and all(isinstance(name, str) for name in names)):
        raise SchemaError("the pickle is damaged: its names do not match its columns")
    return _made(kind, node, [COLUMN_NAME] if names is None else names, "the pickle")


def _made(kind: Any, node: PlannerNode, names: Sequence[str], place: str) -> Any:
    frame_or_column: Any = kind.__new__(kind)
    frame_or_column._node = node
    register_handle(frame_or_column)
    if issubclass(kind, ClassRegistry.frame):
        frame_or_column._names = FrameNames(names)
        node.record_column_names(frame_or_column._names)
    elif len(names) != 1:
        raise StorageError(f"{place} holds {len(names)} columns, but the pickle is that of a single column: pickle it again")
    return frame_or_column


def _checked_kind(kind: Any) -> Any:
    kind = {SFRAME: ClassRegistry.frame, SARRAY: ClassRegistry.array}.get(kind, kind) if isinstance(kind, str) else kind
    if not (isinstance(kind, type) and issubclass(kind, (ClassRegistry.frame, ClassRegistry.array))):
        raise SchemaError(f"the pickle is damaged: {kind!r:.80} is neither an SFrame nor an SArray")
    return kind


# A pickle contains this module name, which must stay valid in later versions even if the functions move.
restored.__module__ = restored_rows.__module__ = "sframe_spark.data_structures.serialization"
