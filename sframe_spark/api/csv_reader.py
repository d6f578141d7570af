"""CSV files: text first, types only where every value allows them, so that no value is ever corrupted."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from sframe_spark.engine.datasets import new_dataset
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.operators.columns import project, zip_columns
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.sources import memory_source, segment_source
from sframe_spark.planner.chunk import combine
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.writer import SegmentWriter
from sframe_spark.types import FLOAT, INT, STR, ColumnType, type_of_class

IN_MEMORY_ROWS = 100_000
MISSING_TEXT = ("NA",)


def read_csv(
    url: str,
    delimiter: str = ",",
    header: bool = True,
    column_type_hints: Any = None,
    na_values: Sequence[str] = MISSING_TEXT,
    usecols: Sequence[str] = (),
    skiprows: int = 0,
    nrows: int | None = None,
    quote_char: str = '"',
    verbose: bool = False,
) -> tuple[PlannerNode, list[str]]:
    """Rows of CSV files as a source; each column gets the narrowest of int, float and str that all its values have.

    Parameters
    ----------
    url
        A path, or a pattern; files are read in name order.
    column_type_hints
        A class for all columns, a list of classes, or a dict from name to class: no inference there.
    na_values
        Texts that mean a missing value; an empty cell is missing too.
    nrows
        Read at most so many rows.

    Raises
    ------
    OSError
        If there is no such file.
    """
    paths = sorted(glob.glob(url)) or [url]
    names: list[str] = []
    batches: list[pa.RecordBatch] = []
    for path in paths:
        for batch in _batches(path, delimiter, header, skiprows, quote_char):
            names = names or list(batch.schema.names)
            if batch.num_columns != len(names):
                raise StorageError(f"{path} has {batch.num_columns} columns where earlier files have {len(names)}")
            batches.append(batch.rename_columns(names))
    table = pa.Table.from_batches(batches) if batches else pa.table({})
    if nrows is not None:
        table = table.slice(0, nrows)
    if usecols:
        table = table.select(list(usecols))
    return _typed(table, _hints(column_type_hints, list(table.column_names)), list(na_values))


def _batches(path: str, delimiter: str, header: bool, skiprows: int, quote_char: str) -> Iterator[pa.RecordBatch]:
    """Batches of text columns."""
    if len(delimiter) != 1:
        raise InvalidArgumentError(f"delimiter must be one character, got {delimiter!r}")
    read = pcsv.ReadOptions(autogenerate_column_names=not header, skip_rows=skiprows)
    parse = pcsv.ParseOptions(delimiter=delimiter, quote_char=quote_char or False, newlines_in_values=True)
    names = _column_names(path, read, parse)
    convert = pcsv.ConvertOptions(column_types={name: pa.string() for name in names}, strings_can_be_null=False)
    try:
        with pcsv.open_csv(path, read, parse, convert) as reader:
            for batch in reader:
                yield batch.rename_columns([f"X{i + 1}" for i in range(len(names))] if not header else names)
    except pa.ArrowInvalid as error:
        raise StorageError(f"{path} is not a CSV file with a fixed number of columns: {error}") from None


def _column_names(path: str, read: pcsv.ReadOptions, parse: pcsv.ParseOptions) -> list[str]:
    try:
        with pcsv.open_csv(path, read, parse) as reader:
            return list(reader.schema.names)
    except FileNotFoundError:
        raise StorageError(f"there is no file {path}") from None
    except pa.ArrowInvalid as error:
        raise StorageError(f"{path} cannot be read as CSV: {error}") from None


def _hints(hints: Any, names: list[str]) -> dict[str, type]:
    if hints is None:
        return {}
    if isinstance(hints, dict):
        return dict(hints)
    if isinstance(hints, (list, tuple)):
        return dict(zip(names, hints, strict=True))
    return dict.fromkeys(names, hints)


def _typed(table: pa.Table, hints: dict[str, type], missing: list[str]) -> tuple[PlannerNode, list[str]]:
    names = [str(name) for name in table.column_names]
    columns, wanted = [], []
    for name in names:
        text = _with_missing(table.column(name), missing)
        kind = type_of_class(hints[name]) if name in hints else narrowest(text)
        direct = name not in hints and kind in (INT, FLOAT)
        columns.append(combine(text.cast(kind.physical)) if direct else combine(text))
        wanted.append((kind, direct))
    source = _source(columns, [kind if direct else STR for kind, direct in wanted])
    if all(direct or kind == STR for kind, direct in wanted):
        return source, names
    parts = [
        project(source, [i]) if direct or kind == STR else apply_function("cast", project(source, [i]), parameters=(kind, False))
        for i, (kind, direct) in enumerate(wanted)
    ]
    return zip_columns(*parts), names


def _with_missing(text: pa.ChunkedArray, missing: list[str]) -> pa.ChunkedArray:
    absent = pc.is_in(text, value_set=pa.array(["", *missing], pa.string()))
    return pc.if_else(absent, pa.scalar(None, pa.string()), text)


def narrowest(text: pa.ChunkedArray) -> ColumnType:
    """The narrowest type that all values have; text that would not read back the same stays text (leading zeros, for one)."""
    if text.null_count == len(text):
        return STR
    present = text.drop_null()
    if pc.all(pc.match_substring_regex(present, r"^[+-]?(0|[1-9][0-9]{0,17})$")).as_py():
        return INT
    if pc.all(pc.match_substring_regex(present, r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$")).as_py():
        return FLOAT if not pc.any(pc.match_substring_regex(present, r"^[+-]?0[0-9]")).as_py() else STR
    return STR


def _source(columns: list[pa.Array], types: list[ColumnType]) -> PlannerNode:
    """Few rows stay in memory, many go to segments."""
    rows = len(columns[0]) if columns else 0
    if rows <= IN_MEMORY_ROWS:
        return memory_source(columns, types, rows)
    with new_dataset(tuple(types), MaterializeOptions()) as dataset:
        entries = []
        size = 1_048_576
        for number, start in enumerate(range(0, rows, size)):
            with SegmentWriter(dataset.directory, number, types) as writer:
                writer.write([column.slice(start, size) for column in columns])
                entries.append(writer.close())
        manifest = dataset.publish(entries)
    return segment_source(manifest, dataset.handle)
