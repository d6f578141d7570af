"""Frames as CSV: written range by range into a file that appears when it is complete, so that ``read_csv`` gives every value back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from sframe_spark.api.column_names import require_unicode
from sframe_spark.api.io.csv.columns import ColumnWriter, lines_of
from sframe_spark.api.io.csv.writer import CsvFormat, nested_text
from sframe_spark.api.io.paths import file_path_text
from sframe_spark.engine.execution.export import write_text
from sframe_spark.locations import place_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType

__all__ = ["CsvFormat", "nested_text", "write_csv"]


def write_csv(node: PlannerNode, names: Sequence[str], path: Any, form: CsvFormat | None = None) -> None:
    """Write all rows as CSV into a file that appears when it is complete; compressed as its name says.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    chosen = form or CsvFormat()
    require_unicode(names)
    chosen.require_readable(len(names))
    write_text(node, place_of(file_path_text(path)), CsvRows(chosen, tuple(names), tuple(node.schema)))


@attrs.frozen
class CsvRows:
    """Rows as lines of CSV.

    Parameters
    ----------
    form
        How they are written.
    names
        Names of the columns.
    types
        Their types.
    """

    form: CsvFormat
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]

    @property
    def between(self) -> bytes:
        """What stands between two rows and not before the first."""
        return self.form.line_prefix.encode() if self.form.no_prefix_on_first_value else b""

    @property
    def before(self) -> bytes:
        """What stands before all rows."""
        end = self.form.line_terminator
        first = self.form.file_header + end if self.form.file_header else ""
        return (first + (self.form.delimiter.join(map(self.form.field, self.names)) + end if self.form.header and self.names else "")).encode()

    @property
    def after(self) -> bytes:
        """What stands after all rows."""
        return (self.form.file_footer + self.form.line_terminator).encode() if self.form.file_footer else b""

    def blocks(self, chunks: Iterator[Chunk], first_row: int | None) -> Iterator[bytes | memoryview]:
        """The lines of some rows, of which the first has that number if it is known."""
        writers = [ColumnWriter(self.form, kind, name, len(self.names) == 1) for kind, name in zip(self.types, self.names, strict=True)]
        for chunk in chunks if writers else ():
            fields = [writer.fields(column, first_row) for writer, column in zip(writers, chunk.columns, strict=True)]
            are_plain = all(writer.are_plain(found) for writer, found in zip(writers, fields, strict=True))
            yield from lines_of(fields, self.form, are_plain)
            first_row = None if first_row is None else first_row + chunk.rows
