"""Columns as fields of CSV, by Arrow as far as that writes what :class:`~.format.CsvFormat` writes, value by value elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from sframe_spark.api.io.csv.texts import found_in, quoted_texts, text_fields, text_of
from sframe_spark.api.io.csv.writer import QUOTE_ALL, CsvFormat
from sframe_spark.errors import DateTimeRangeError
from sframe_spark.types import ARRAY_KIND, DATETIME, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, STR_KIND, ColumnType
from sframe_spark.values.datetimes import all_in_years_of_python
from sframe_spark.values.decode import decode
from sframe_spark.values.nested.scalar_text import brief_floats, compact_moments
from sframe_spark.values.nested.text_spans import int_texts
from sframe_spark.values.nested.text_writer import IN_CSV, written


def lines_of(fields: Sequence[pa.Array], form: CsvFormat, are_plain: bool = False) -> Iterator[bytes | memoryview]:
    """Rows of fields as text in UTF-8, each row a line, in blocks; it is enough to put them side by side.

    Parameters
    ----------
    fields
        Those of each column.
    form
        How they are written.
    are_plain
        That none holds what CSV is made of (:meth:`ColumnWriter.are_plain`): Arrow's own writer, which refuses such, takes half the time.
    """
    if not len(fields[0]):
        return
    if are_plain and len(fields) > 1 and is_of_arrow(form):
        yield _lines_of_arrow(fields, form.delimiter)
        return
    delimiter, end, prefix, nothing = (_scalar(text) for text in (form.delimiter, form.line_terminator, form.line_prefix, ""))
    rows = fields[0] if len(fields) == 1 else pc.binary_join_element_wise(*fields, delimiter)
    if form.line_prefix:
        rows = pc.binary_join_element_wise(prefix, rows, nothing)
    # All in one list: half the time of an end appended to each.
    yield text_of(pc.binary_join(pa.LargeListArray.from_arrays(pa.array([0, len(rows)], pa.int64()), rows), end))
    yield form.line_terminator.encode()


def is_of_arrow(form: CsvFormat) -> bool:
    """Whether Arrow's own writer has a delimiter and an end of lines."""
    usual = form.delimiter == "\t" or (form.delimiter.isascii() and form.delimiter.isprintable() and form.delimiter != '"')
    return usual and len(form.delimiter) == 1 and form.line_terminator == "\n" and not form.line_prefix


def _lines_of_arrow(fields: Sequence[pa.Array], delimiter: str) -> memoryview:
    options = pcsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none", batch_size=len(fields[0]))
    lines = pa.BufferOutputStream()
    pcsv.write_csv(pa.record_batch(list(fields), [str(number) for number in range(len(fields))]), lines, options)
    return memoryview(lines.getvalue())


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


@attrs.frozen
class ColumnWriter:
    """Writes the fields of a column.

    Parameters
    ----------
    form
        How.
    type
        Type of the column.
    name
        Its name.
    is_alone
        Whether it is the only column.
    """

    form: CsvFormat
    type: ColumnType
    name: str
    is_alone: bool

    def fields(self, values: pa.Array, first_row: int | None) -> pa.Array:
        """The fields of some rows, of which the first has that number if it is known.

        Raises
        ------
        DateTimeRangeError
            If a date-time is outside the years of Python's; it names the column and the row.
        """
        found = self._by_arrow(values)
        if found is None:
            try:
                found = self._one_by_one(values)
            except DateTimeRangeError as error:
                raise error.located(self.name, first_row) from error.__cause__
        return found.cast(pa.large_string())

    def are_plain(self, fields: pa.Array) -> bool:
        """Whether it is sure, and soon known, that no field holds a quote of Arrow's, a delimiter or the end of a line."""
        structure = ('"', "\n", "\r", self.form.delimiter)
        if self.type.kind in (INT_KIND, FLOAT_KIND) and self.form.has_plain_numbers:
            return not any(mark in self.form.missing_field(self.is_alone) for mark in structure)
        return self.type.kind == STR_KIND and not found_in(fields, structure)

    def _one_by_one(self, values: pa.Array) -> pa.Array:
        write = self.form.writer_of(self.type.kind, self.is_alone)
        return pa.array([write(value) for value in decode(values, self.type)], pa.large_string())

    def _by_arrow(self, values: pa.Array) -> pa.Array | None:
        """The fields, if Arrow writes them; None otherwise."""
        found = None
        if self.type.kind in (INT_KIND, FLOAT_KIND):
            found = self._numbers(values)
        elif self.type.kind == STR_KIND:
            found = text_fields(values, self.form, self.is_alone)
        elif self.type == DATETIME:
            found = self._date_times(values)
        elif self.type.kind in (LIST_KIND, DICT_KIND, ARRAY_KIND):
            texts = written(values, self.type, IN_CSV)
            # A form feed as JSON escapes it is none to the reader.
            found = None if texts is None or pc.any(pc.match_substring(texts, r"\f")).as_py() else quoted_texts(texts, self.form)
        return found if found is None or not found.null_count else found.fill_null(self.form.missing_field(self.is_alone))

    def _numbers(self, values: pa.Array) -> pa.Array | None:
        """Numbers, unless some would be read as several fields."""
        if self.form.quote_level != QUOTE_ALL and not self.form.has_plain_numbers:
            return None
        texts = int_texts(values) if self.type.kind == INT_KIND else brief_floats(values)
        return quoted_texts(texts, self.form) if self.form.quote_level == QUOTE_ALL else texts

    def _date_times(self, values: pa.Array) -> pa.Array | None:
        """Date-times without an offset, if the dialect does nothing to digits."""
        digits = "0123456789T."
        start, _, end = self.form.quoted(digits).partition(digits)
        if not all_in_years_of_python(values) or start + digits + end != self.form.quoted(digits):
            return None
        return compact_moments(values, start, end)
