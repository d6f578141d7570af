"""Columns as fields of CSV, by Arrow as far as that writes what :class:`~.format.CsvFormat` writes, value by value elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.files.csv.format import BYTE_ORDER_MARK, QUOTE_ALL, QUOTE_NONE, CsvFormat
from sframe_spark.errors import DateTimeRangeError
from sframe_spark.types import DATETIME, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.temporal import all_in_years_of_python
from sframe_spark.values.text import exact_float_text

# Between these, Arrow writes floats as Python does, with the fewest digits that tell them apart.
LEAST_LIKE_PYTHON, MOST_LIKE_PYTHON = 1e-4, 1e9
# From here on a whole number of few digits is written with an exponent.
LEAST_WITH_EXPONENT = 1e6
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
            found = values.cast(pa.string()) if self.type.kind == INT_KIND else float_texts(values)
        elif self.type.kind == STR_KIND and self.form.quote_level != QUOTE_ALL:
            found = self._texts(values)
        elif self.type == DATETIME:
            found = self._date_times(values)
        return found if found is None or not found.null_count else found.fill_null(self.form.missing_field(self.is_alone))

    def _texts(self, values: pa.Array) -> pa.Array:
        """Texts as they are but for those that need a closer look."""
        special = pc.match_substring_regex(values, special_texts(self.form))
        if not special.true_count:
            return values
        write = self.form.writer_of(STR_KIND, self.is_alone)
        special = special.fill_null(False)
        return pc.replace_with_mask(values, special, pa.array(list(map(write, values.filter(special).to_pylist())), values.type))

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


def float_texts(values: pa.Array) -> pa.Array:
    """Floats as :func:`~sframe_spark.values.text.exact_float_text` writes them.

    Examples
    --------
    >>> float_texts(pa.array([0.1, 2.0, 1e16, float("nan"), None])).to_pylist()
    ['0.1', '2', '1e+16', 'nan', None]
    """
    numbers = values.fill_null(0.5).to_numpy(zero_copy_only=False)
    size, is_whole = np.abs(numbers), numbers == np.floor(numbers)
    is_small = is_whole & (size < LEAST_WITH_EXPONENT)
    # Of six digits no larger whole number ends in another one than zero.
    is_brief = is_whole & ~is_small & (numbers == np.floor(numbers / 10) * 10)
    text = values.cast(pa.string())
    if is_small.any():
        wholes = pa.array(np.where(is_small, numbers, 0).astype(np.int64), pa.int64(), mask=~is_small).cast(pa.string())
        text = pc.coalesce(wholes, text)
    is_long = is_whole & ~is_small & ~is_brief & (size < MOST_LIKE_PYTHON)
    if is_long.any():
        text = pc.if_else(pa.array(is_long), pc.binary_join_element_wise(text, ".0", ""), text)
    is_alike = (size >= LEAST_LIKE_PYTHON) & (size < MOST_LIKE_PYTHON) & ~is_brief
    other = ~(is_alike | (is_small & ~((numbers == 0) & np.signbit(numbers))))
    if not other.any():
        return text
    mask = pa.array(other)
    return pc.replace_with_mask(text, mask, pa.array(list(map(exact_float_text, values.filter(mask).to_pylist())), pa.string()))


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
