"""Functions that make frames from columns, rows, files, tables of other libraries, and combinations of values."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.api.class_registry import ClassRegistry, SFrame, make_frame
from sframe_spark.api.column_names import with_automatic_names
from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.interchange.dataframe_libraries import arrow_table, frame_from_arrow, frame_from_pandas, gives_rows
from sframe_spark.api.interchange.frames_and_records_of_python_libraries import (
    columns_of_records,
    is_other_frame,
    is_record,
    refusal_of_record,
    table_of_other_frame,
)
from sframe_spark.api.node_value_conversion import column_from_values, combine_columns, equal_length, node_from_values, row_count
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.errors import EmptyColumnsError, InvalidArgumentError, LengthMismatchError, SchemaError, SFrameError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.operators.sources.base_and_segment_source import segment_source
from sframe_spark.operators.sources.in_memory import memory_source, memory_source_of_parts
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType
from sframe_spark.values.input_copying_simplification_and_validation import is_of_spark, library_of, snapshot
from sframe_spark.values.invalid_unicode_errors import column_named

with lazy_imports(globals()):
    from sframe_spark.api.interchange.from_spark import frame_from_spark
    from sframe_spark.api.io.csv.options import CsvRequest
    from sframe_spark.api.io.csv.reader import read_csv
    from sframe_spark.api.io.path_arguments import nothing_to_verify, path_text
    from sframe_spark.api.io.saved_frames import load_frame
    from sframe_spark.api.sarray import SArray
    from sframe_spark.engine.runtime.result_storage import write_runs
    from sframe_spark.operators.append import append
    from sframe_spark.storage.external.parquet_footers_to_manifest import manifest_of_files, natural_sort_key
    from sframe_spark.storage.filesystem.compression import without_packing
    from sframe_spark.storage.filesystem.input_files import resolve
    from sframe_spark.storage.filesystem.temporary_datasets import temporary_root
    from sframe_spark.storage.manifest.manifest import Manifest
    from sframe_spark.storage.segments.reader import iterate_rows

Frame = tuple[PlannerNode, list[str]]

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_TEXT_FORMATS = {".csv": "csv", ".txt": "csv", ".tsv": "tsv"}
_PATH = (str, os.PathLike)
# The classes that data must have for a format, of a column SArray; formats that are not listed accept any class.
_CLASSES: dict[str, Any] = {"dict": Mapping, "sarray": None, "sframe_obj": Columns, "sframe": _PATH, "csv": _PATH, "tsv": _PATH}
_FORMATS = ("auto", "array", "dataframe", "empty", *_CLASSES)


def frame_from(data: Any, format: str = "auto", verify: bool = False) -> Frame:
    """Return the node and column names of a frame made of ``data``; ``verify`` is possible only for the path of a saved frame."""
    if verify and not isinstance(data, _PATH):
        raise nothing_to_verify(data)
    _require_format(data, format)
    if data is None or format == "empty":
        return memory_source([], [], 0), []
    if isinstance(data, Columns):
        return data._node, list(data._names)
    if isinstance(data, _PATH):
        return frame_from_path(path_text(data), format, verify)
    if isinstance(data, SArray):
        return data._node, ["X1"]
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return frame_from_arrow(pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data)
    module = library_of(data)
    if module == "pandas" and hasattr(data, "columns"):
        return frame_from_pandas(data)
    if is_of_spark(data):
        return frame_from_spark(data)
    # What xarray streams is one column of structs.
    if module != "xarray" and gives_rows(data):
        return frame_from_arrow(arrow_table(data))
    if is_other_frame(data):
        return frame_from(table_of_other_frame(data))
    if isinstance(data, Mapping):
        return frame_from_columns(data)
    if is_record(data):
        raise refusal_of_record(data)
    if isinstance(data, Iterable):
        return frame_from_iterable(data)
    # A DuckDB connection itself has no rows; a statement returns a relation, which has rows.
    advice = "pass the result of its sql(...)" if module.endswith("duckdb") else "pass a dict of columns, a list of values, a table or a path"
    raise InvalidArgumentError(f"an SFrame cannot be made of {type(data).__name__}: {advice}")


def _require_format(data: Any, format: Any) -> None:
    """Raise an error if the format is unknown, or ``data`` does not have the class that the format requires.

    Raises
    ------
    InvalidArgumentError
        If the format is unknown.
    SchemaError
        If the format is not a string, or ``data`` has another class.
    """
    if not isinstance(format, str):
        raise SchemaError(f"format must be a text, not {format!r:.60}")
    if format not in _FORMATS:
        raise InvalidArgumentError(f"there is no format {format!r:.60}: 'auto' detects the format; the others are {', '.join(_FORMATS[1:])}")
    is_other = not (isinstance(data, SArray) if format == "sarray" else isinstance(data, _CLASSES.get(format, object)))
    if is_other or (format == "array" and isinstance(data, Mapping)) or (format == "dataframe" and not hasattr(data, "columns")):
        raise SchemaError(f"format={format!r} cannot be used with {type(data).__name__}: omit it")


def frame_from_path(path: str, format: str, verify: bool = False) -> Frame:
    """Return the frame in a CSV or Parquet file or a saved frame; for ``auto``, the extension of the path decides."""
    text_format = _TEXT_FORMATS.get(_extension(path)) if format == "auto" else format
    is_parquet = format == "auto" and path.endswith(".parquet")
    if verify and (text_format in _DELIMITERS or is_parquet):
        raise nothing_to_verify(path)
    if text_format in _DELIMITERS:
        return read_csv(CsvRequest(path, _DELIMITERS[text_format]))
    return frame_from_parquet(path) if is_parquet else load_frame(path, verify)


def _extension(path: str) -> str:
    """Return the extension of a file name, without the one of a compressed file, such as .gz."""
    return os.path.splitext(without_packing(path))[1]


def text_frame(path: Any, verify: bool) -> Frame | None:
    """Return the frame in a local CSV file; None if the path does not have the extension of one or is not a file.

    Raises
    ------
    InvalidArgumentError
        If ``verify`` is set, because a CSV file has no check sums.
    """
    text = os.path.expanduser(path_text(path))
    return frame_from_path(text, "auto", verify) if _extension(text) in _TEXT_FORMATS and os.path.isfile(text) else None


def frame_from_columns(columns: Mapping[str, Any]) -> Frame:
    """Return a frame of columns, given by name. A string is treated as a column of its characters, as in Turi Create."""
    for name in columns:
        if not isinstance(name, str):
            raise SchemaError(f"a column name must be a str, got {brief(name)}")
    # As in Turi Create, columns of plain values come first, then SArrays; both groups are sorted by name.
    names = sorted(columns, key=lambda name: (isinstance(columns[name], SArray), name))
    parts: list[PlannerNode | tuple[list[pa.Array], ColumnType]] = []
    for name in names:
        values = columns[name]
        with column_named(name):
            values = list(values) if isinstance(values, str) else values
            parts.append(values._node if isinstance(values, SArray) else column_from_values(values, name=name))
    in_memory = [part for part in parts if isinstance(part, tuple)]
    if len(in_memory) == len(parts) and len({sum(map(len, arrays)) for arrays, _ in in_memory}) == 1:
        # This is the usual case: making one source for all columns takes half the time of making one for each.
        return memory_source_of_parts([arrays for arrays, _ in in_memory], [kind for _, kind in in_memory]), with_automatic_names(names)
    return _frame_of_nodes([memory_source_of_parts([part[0]], [part[1]]) if isinstance(part, tuple) else part for part in parts], names)


def _frame_of_nodes(nodes: list[PlannerNode], names: list[str]) -> Frame:
    for node, name in zip(nodes[1:], names[1:], strict=True):
        if not equal_length(nodes[0], node):
            counts = f"{name!r} has {row_count(node)} rows, {names[0]!r} has {row_count(nodes[0])}"
            raise LengthMismatchError(f"all columns must have the same length, but {counts}")
    return combine_columns(nodes), with_automatic_names(names)


def frame_from_iterable(data: Iterable[Any]) -> Frame:
    """Return a frame whose columns are the given SArrays, or with one column ``X1`` of the given values."""
    is_sequence = isinstance(data, (list, pa.Array, pa.ChunkedArray)) or hasattr(data, "dtype")
    items: Any = data if is_sequence else [item if isinstance(item, SArray) else snapshot(item) for item in data]
    if isinstance(items, list) and all(isinstance(item, SArray) for item in items):
        return _frame_of_nodes([item._node for item in items], [f"X{number}" for number in range(1, len(items) + 1)])
    if isinstance(items, list) and any(isinstance(item, SArray) for item in items):
        raise InvalidArgumentError("a list must hold either columns (SArrays) or values, not both")
    columns = columns_of_records(items) if isinstance(items, list) else None
    if columns is not None:
        names = list(columns)
        return _frame_of_nodes([node_from_values(values, name=name) for name, values in columns.items()], names)
    return node_from_values(items, name="X1"), ["X1"]


def frame_from_parquet(path: Any) -> Frame:
    """Return the rows of Parquet files in order of file names. They are read in place, except files of web servers, which are downloaded."""
    files = resolve(path, lambda name: natural_sort_key(name), "Parquet file", in_place=True)
    with files.named_in_errors():
        manifest = manifest_of_files(files)
        names = list(manifest.names or ())
        if files.holder is not None and is_remote_location(temporary_root()) and manifest.rows:
            # Tasks on other machines cannot read files downloaded to this one, so the rows are copied to shared storage.
            return write_runs(iterate_rows(manifest, range(len(manifest.types))), manifest.types), names
    return segment_source(manifest, files.holder), names


def frame_from_manifests(manifests: Sequence[Manifest]) -> Frame:
    """Return the rows of external files, which are given by manifests in the order of rows."""
    return append(*map(segment_source, manifests)), list(manifests[0].names or ())


def other_frame(data: Any, member: str, refusal: type[SFrameError] = SchemaError) -> SFrame:
    """Return the argument of a method as a frame; a table of another library is converted.

    Raises
    ------
    SFrameError
        The class that ``refusal`` gives, if ``data`` is neither a frame nor a table. ``member`` is the name of the method in the message.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> print(SFrame({"a": [1]}).append({"a": [2]}))
    +---+
    | a |
    +---+
    | 1 |
    | 2 |
    +---+
    [2 rows x 1 columns]
    """
    if isinstance(data, ClassRegistry.frame):
        return data
    if is_table(data):
        return make_frame(*frame_from(data))
    raise refusal(f"{member} takes an SFrame, got {type(data).__name__}: pass a frame, a table of another library or a dict of columns")


def is_table(data: Any) -> bool:
    """Return whether data is a table of another library, a dict of columns, or a path (of something that exists, if it is a string).

    Examples
    --------
    >>> is_table(pa.table({"a": [1]})), is_table({"a": [1]}), is_table([1]), is_table("no such place")
    (True, True, False, False)
    """
    if isinstance(data, str):
        return os.path.exists(data)
    if isinstance(data, (pa.Table, pa.RecordBatch, Mapping, os.PathLike)) or gives_rows(data):
        return True
    return hasattr(data, "columns") and library_of(data) in ("pandas", "pyspark")


@call_hint
def crossproduct(d: Mapping[str, Iterable[Any]]) -> SFrame:
    """Return a frame with a row for each combination of values, one value from each column; the values of the last column change fastest.

    Parameters
    ----------
    d
        Maps the name of each column to its values.

    Raises
    ------
    TypeError
        If ``d`` is not a dict whose keys are strings, or a column has no values.
    RuntimeError
        If ``d`` is empty.

    Examples
    --------
    >>> from sframe_spark.util import crossproduct
    >>> list(crossproduct({"rate": [0.5, 1.0], "kind": ["a", "b"]}))[1]
    {'kind': 'b', 'rate': 0.5}
    """
    if not isinstance(d, Mapping) or not all(isinstance(name, str) for name in d):
        raise SchemaError(f"crossproduct() takes a dict of values by the names of their columns, got {d!r:.60}")
    if not d:
        raise EmptyColumnsError("crossproduct() takes at least one name with its values")
    values = {name: list(column_values) for name, column_values in d.items()}
    for name, column_values in values.items():
        if not column_values:
            raise SchemaError(f"{name!r} has no values: there are no combinations")
    rows = [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
    return ClassRegistry.frame(rows).unpack("X1", column_name_prefix="")
