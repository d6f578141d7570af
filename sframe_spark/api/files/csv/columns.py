"""Columns as fields of CSV, by Arrow as far as that writes what :class:`~.format.CsvFormat` writes, value by value elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.files.csv.format import BYTE_ORDER_MARK, ESCAPES, QUOTE_ALL, QUOTE_NONE, CsvFormat
from sframe_spark.errors import DateTimeRangeError
from sframe_spark.types import ARRAY_KIND, DATETIME, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, STR_KIND, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.flat.floats import brief_floats
from sframe_spark.values.flat.written import IN_CSV, written
from sframe_spark.values.temporal import all_in_years_of_python

_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())


def lines_of(fields: Sequence[pa.Array], form: CsvFormat) -> memoryview:
    """Rows of fields as text in UTF-8, each row a line."""
    rows = fields[0] if len(fields) == 1 else pc.binary_join_element_wise(*fields, pa.scalar(form.delimiter, pa.large_string()))
    if form.line_prefix:
        rows = pc.binary_join_element_wise(pa.scalar(form.line_prefix, pa.large_string()), rows, pa.scalar("", pa.large_string()))
    lines = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), pa.scalar(form.line_terminator, pa.large_string()))
    return text_of(lines)


def text_of(lines: pa.Array) -> memoryview:
    """The texts of an array end to end, without a copy."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int64)
    first, last = int(ends[lines.offset]), int(ends[lines.offset + len(lines)])
    return memoryview(data)[first:last] if data is not None else memoryview(b"")


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

    def _one_by_one(self, values: pa.Array) -> pa.Array:
        write = self.form.writer_of(self.type.kind, self.is_alone)
        return pa.array([write(value) for value in decode(values, self.type)], pa.large_string())

    def _by_arrow(self, values: pa.Array) -> pa.Array | None:
        """The fields, if Arrow writes them; None otherwise."""
        found = None
        if self.type.kind in (INT_KIND, FLOAT_KIND) and self.form.has_plain_numbers:
            found = values.cast(pa.string()) if self.type.kind == INT_KIND else brief_floats(values)
        elif self.type.kind == STR_KIND and self.form.quote_level != QUOTE_ALL:
            found = self._texts(values)
        elif self.type == DATETIME:
            found = self._date_times(values)
        elif self.type.kind in (LIST_KIND, DICT_KIND, ARRAY_KIND):
            texts = written(values, self.type, IN_CSV)
            found = None if texts is None else self._quoted(texts)
        return found if found is None or not found.null_count else found.fill_null(self.form.missing_field(self.is_alone))

    def _texts(self, values: pa.Array) -> pa.Array:
        """Texts as they are but for those that need a closer look."""
        special = pc.match_substring_regex(values, special_texts(self.form))
        if not special.true_count:
            return values
        write = self.form.writer_of(STR_KIND, self.is_alone)
        special = special.fill_null(False)
        return pc.replace_with_mask(values, special, pa.array(list(map(write, values.filter(special).to_pylist())), values.type))

    def _quoted(self, texts: pa.Array) -> pa.Array:
        """Texts in quotes, as :meth:`CsvFormat.quoted` writes each."""
        form = self.form
        if form.quote_level == QUOTE_NONE:
            return texts
        escape, quote = form.escape_char, form.quote_char
        replaced = [(escape, escape * 2), *((character, escape + letter) for character, letter in ESCAPES.items())] if escape else []
        replaced += [(quote, quote * 2 if form.double_quote else escape + quote)] if quote else []
        for character, instead in replaced:
            texts = pc.replace_substring(texts, character, instead)
        return pc.binary_join_element_wise(quote, texts, quote, "")

    def _date_times(self, values: pa.Array) -> pa.Array | None:
        """Date-times without an offset, if the dialect does nothing to digits."""
        digits = "0123456789T."
        start, _, end = self.form.quoted(digits).partition(digits)
        if not all_in_years_of_python(values) or start + digits + end != self.form.quoted(digits):
            return None
        text = values.cast(pa.string())
        parts = [pc.utf8_slice_codeunits(text, *place) for place in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 26))]
        years, months, days, hours, minutes, seconds, micros = parts
        micros = pc.if_else(pc.equal(micros, "000000"), "", pc.binary_join_element_wise("", micros, "."))
        return pc.binary_join_element_wise(start, years, months, days, "T", hours, minutes, seconds, micros, end, "")


@functools.lru_cache(maxsize=16)
def special_texts(form: CsvFormat) -> str:
    """A regular expression that matches every text that is not its own field, and perhaps others."""
    marks = {*form.quote_char, *form.escape_char, "\n", "\t", "\r"}
    if form.quote_level == QUOTE_NONE:
        return f"^$|{_any_of(marks)}"
    # A text may end with the start of a delimiter.
    anywhere = _any_of(marks | {*form.delimiter, *form.line_terminator, "\\"})
    return f"^$|^{_any_of([*_SPACES, '[', '{', BYTE_ORDER_MARK])}|{_any_of(_SPACES)}$|{anywhere}"


def _any_of(characters: Sequence[str] | set[str]) -> str:
    return "[" + "".join(sorted(f"\\x{{{ord(character):x}}}" for character in characters)) + "]"
