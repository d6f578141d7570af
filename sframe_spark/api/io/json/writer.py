"""Writes frames as JSON files: one array of objects, or one object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.column_names import require_unicode
from sframe_spark.api.io.csv.writer import string_data
from sframe_spark.api.io.open_files import path_to_write
from sframe_spark.api.io.path_arguments import file_path_text
from sframe_spark.engine.execution.export import write_text
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError
from sframe_spark.paths_and_uris import location_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.datetimes import all_in_years_of_python, format_datetimes
from sframe_spark.values.export_to_arrow_and_json import compact_json_text
from sframe_spark.values.invalid_unicode_errors import column_named
from sframe_spark.values.nested.conversion_of_repeated_values import int_texts
from sframe_spark.values.nested.float_and_datetime_text import json_floats
from sframe_spark.values.nested.json_item_splitting_and_joining import json_strings
from sframe_spark.values.nested.text_writer import IN_JSON, in_quotes, written

RECORDS, LINES = "records", "lines"
# The format in which `isoformat()` writes date-times without an offset.
_ISO_FORMAT = "%Y-%m-%dT%H:%M:%S%F"


def require_orient(orient: Any) -> None:
    """Raise an error if ``orient`` is unknown.

    Raises
    ------
    InvalidArgumentError
        If it is neither ``records`` nor ``lines``.
    """
    if orient not in (RECORDS, LINES):
        raise InvalidArgumentError(f"orient must be 'records' (one array of objects) or 'lines' (an object on each line), got {orient!r:.80}")


def write_json(node: PlannerNode, names: Sequence[str], path: Any, orient: str) -> None:
    """Write all rows to a JSON file, which appears only when it is complete; it is compressed if its extension says so.

    Raises
    ------
    StorageError
        If the file cannot be written.
    InvalidArgumentError
        If ``orient`` is unknown, or a column name is not valid Unicode.
    """
    require_orient(orient)
    require_unicode(names)
    with path_to_write(path, ".json") as place:
        write_text(node, location_of(file_path_text(place)), JsonRows(orient == RECORDS, tuple(names), tuple(node.schema)))


@attrs.frozen
class JsonRows:
    """Formats rows as JSON objects, one per line.

    Parameters
    ----------
    is_array
        Whether the objects are the elements of one array.
    names
        Names of the columns.
    types
        Types of the columns.
    """

    is_array: bool
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]

    @property
    def between(self) -> bytes:
        """The bytes between two rows."""
        return b"," if self.is_array else b""

    @property
    def before(self) -> bytes:
        """The bytes before the first row."""
        return b"[\n" if self.is_array else b""

    @property
    def after(self) -> bytes:
        """The bytes after the last row."""
        return b"]\n" if self.is_array else b""

    def blocks(self, chunks: Iterator[Chunk], first_row: int | None) -> Iterator[bytes | memoryview]:
        """Yield the lines of some rows as bytes; ``first_row`` is the number of the first row if known, for errors."""
        start, empty = pa.scalar(self.between.decode() + "{", pa.large_string()), pa.scalar("", pa.large_string())
        for chunk in chunks if self.names else ():
            members = [
                _member(name, _values(column, kind, name, first_row))
                for name, kind, column in zip(self.names, self.types, chunk.columns, strict=True)
            ]
            joined = pc.ascii_rtrim(pc.binary_join_element_wise(*members, empty), characters=",")
            yield string_data(pc.binary_join_element_wise(start, joined, pa.scalar("}\n", pa.large_string()), empty))
            first_row = None if first_row is None else first_row + chunk.rows


def _member(name: str, values: pa.Array) -> pa.Array:
    """Return the name, the value and a comma for each row; an empty string where the value is missing, as in Turi Create."""
    start, end, between = (pa.scalar(text, pa.large_string()) for text in (json.dumps(name, ensure_ascii=False) + ":", ",", ""))
    return pc.binary_join_element_wise(start, values.cast(pa.large_string()), end, between).fill_null("")


def _values(values: pa.Array, kind: ColumnType, name: str, first_row: int | None) -> pa.Array:
    """Return the values of a column as JSON; ``first_row`` is the number of the first row if known, for errors."""
    writers: dict[ColumnType, Callable[[pa.Array], pa.Array]] = {INT: int_texts, FLOAT: json_floats, STR: json_strings}
    if kind in writers:
        return writers[kind](values)
    if kind == DATETIME and all_in_years_of_python(values):
        return in_quotes(format_datetimes(values, pa.nulls(len(values), pa.int32()), _ISO_FORMAT))
    texts = written(values, kind, IN_JSON) if kind.has_items else None
    if texts is not None:
        return texts
    try:
        with column_named(name):
            return pa.array([None if value is None else compact_json_text(value) for value in decode(values, kind)], pa.large_string())
    except DateTimeRangeError as error:
        raise error.located(name, first_row) from error.__cause__
