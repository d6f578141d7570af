"""Writes rows as CSV that ``read_csv`` can read back: a field is quoted if it would be read differently without quotes."""

from __future__ import annotations

import array
import datetime
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from sframe_spark.api.column_names import require_unicode
from sframe_spark.api.io.csv.options import NEWLINES, CsvOptions, escape_by_doubling, line_ends, require_unicode_text
from sframe_spark.api.io.csv.parser import SPACE, closing_bracket
from sframe_spark.api.io.open_files import path_to_write
from sframe_spark.api.io.path_arguments import file_path_text
from sframe_spark.engine.execution.export import write_text
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.images import Image, text_of_image
from sframe_spark.paths_and_uris import location_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.pyarrow_versions import if_else, replace_with_mask
from sframe_spark.types import DATETIME, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.datetimes import all_in_years_of_python, datetime_text
from sframe_spark.values.nested.conversion_of_repeated_values import int_texts, map_distinct, seem_repeated
from sframe_spark.values.nested.float_and_datetime_text import brief_floats, compact_datetimes
from sframe_spark.values.nested.text_writer import IN_CSV, csv_string, written
from sframe_spark.values.plain_values import is_number, plain_number
from sframe_spark.values.single_value_conversion import ESCAPES as READ_ESCAPES
from sframe_spark.values.tagged_json_display_and_canonical_text import display_text, exact_float_text

QUOTE_ALL, QUOTE_NONE = 1, 3
BYTE_ORDER_MARK = "\ufeff"
UNUSUAL_STARTS = frozenset("[{" + BYTE_ORDER_MARK)
ESCAPE_LETTERS = {"\n": "n", "\t": "t", "\r": "r"}
# All characters that occur in written numbers, including nan and inf.
NUMBER_CHARACTERS = frozenset("0123456789.+-einfa")


def _option_text(value: Any) -> Any:
    """Return an option as a string: numbers are formatted, and None becomes an empty string, as in Turi Create."""
    if value is None:
        return ""
    return display_text(plain_number(value)) if is_number(value) and not isinstance(value, bool) else value


@attrs.frozen
class CsvFormat:
    """The format of a CSV file to write, with the arguments in the order of Turi Create's engine.

    A field, even a number, is quoted if it would be read differently without quotes. A format that cannot be read back raises an error, except
    formats without quotes: with ``quote_level=3``, without a ``quote_char``, or if quotes in a field are neither doubled nor escaped.

    Parameters
    ----------
    delimiter
        String between two fields.
    line_terminator
        String after each line.
    header
        Whether the first line contains the column names.
    quote_level
        1: all fields are quoted; 3: no field is quoted, so that a field with a delimiter is read as two; other numbers: quoted if necessary.
    double_quote
        Whether a quote in a field is written twice; otherwise it is written after the escape character.
    escape_char
        Character that is written before special characters in a field; empty: none. If it is the same as ``quote_char``, quotes are doubled, and
        nothing else is escaped.
    quote_char
        Character before and after a quoted field.
    na_rep
        What is written for a missing value, a string or a number; None: nothing.
    file_header, file_footer
        First and last line of the file, which ``read_csv`` reads as rows unless they are skipped; empty: none.
    line_prefix
        Written unchanged at the start of every row; ``read_csv`` reads it as the beginning of the first field.
    no_prefix_on_first_value
        Whether the first row is written without ``line_prefix``.

    Examples
    --------
    >>> CsvFormat().field("a,b"), CsvFormat().field("plain")
    ('"a,b"', 'plain')
    """

    delimiter: str = ","
    line_terminator: str = "\n"
    header: bool = True
    quote_level: int = 2
    double_quote: bool = True
    escape_char: str = attrs.field(default="\\", converter=_option_text)
    quote_char: str = attrs.field(default='"', converter=_option_text)
    na_rep: str = attrs.field(default="", converter=_option_text)
    file_header: str = attrs.field(default="", converter=_option_text)
    file_footer: str = attrs.field(default="", converter=_option_text)
    line_prefix: str = attrs.field(default="", converter=_option_text)
    no_prefix_on_first_value: bool = False

    def __attrs_post_init__(self) -> None:
        for name in ("delimiter", "line_terminator", "escape_char", "quote_char", "na_rep", "file_header", "file_footer", "line_prefix"):
            if not isinstance(getattr(self, name), str):
                raise SchemaError(f"{name} must be a text, got {getattr(self, name)!r}")
            require_unicode_text(getattr(self, name), name)
        if not self.delimiter or not self.line_terminator:
            raise InvalidArgumentError("delimiter and line_terminator must be texts of at least one character")
        escape_by_doubling(self)
        if self.quote_level != QUOTE_NONE:
            self._require_distinguishable()
            if self.delimiter not in NEWLINES:
                # Raises an error for options with which the file could not be read.
                CsvOptions(self.delimiter, True, "", self.escape_char, self.double_quote, self.quote_char, self.line_terminator)

    def _require_distinguishable(self) -> None:
        """Raise an error if the reader could not distinguish delimiters, line ends, quotes and escapes.

        Raises
        ------
        InvalidArgumentError
            If one of these contains or begins with another, or has another meaning.
        """
        for end in line_ends(self.line_terminator):
            if self.delimiter not in NEWLINES and (self.delimiter.startswith(end) or end.startswith(self.delimiter)):
                raise InvalidArgumentError(
                    f"the delimiter {self.delimiter!r} and the line terminator {end!r} must not start with each other: choose others"
                )
        for mark in (self.delimiter, self.line_terminator):
            if self.quote_char and self.quote_char in mark:
                raise InvalidArgumentError(f"the quote_char {self.quote_char!r} occurs in the delimiter or line_terminator {mark!r}: choose others")
        for name in ("quote_char", "escape_char"):
            character = getattr(self, name)
            if character and (character in READ_ESCAPES or character in " \t\r\n"):
                raise InvalidArgumentError(f"{name} {character!r} has a special meaning, as white space or after an escape character: choose another")

    def require_readable(self, width: int) -> None:
        """Raise an error if several columns are to be written with a line break as delimiter, because each line would be read as one field.

        Raises
        ------
        InvalidArgumentError
            If there are several columns, the delimiter is a line break, and the format has quotes.
        """
        if width > 1 and self.delimiter in NEWLINES and self.quote_level != QUOTE_NONE:
            raise InvalidArgumentError(
                f"with {self.delimiter!r} as delimiter each line would be read as one field: choose another for several columns"
            )

    def field(self, text: str) -> str:
        """Return a string as a field, quoted if it would be read differently without quotes. A format without quotes still escapes line ends."""
        if self.quote_level == QUOTE_NONE:
            quote = self.quote_char
            return self._escaped(text).replace(quote, quote * 2) if quote and self.double_quote else self._escaped(text)
        return self.quoted(text) if self.quote_level == QUOTE_ALL or self._needs_quotes(text) else text

    def quoted(self, text: str) -> str:
        """Return a string in quotes; without them if the format has no quotes."""
        if self.quote_level == QUOTE_NONE:
            return text
        escape, quote = self.escape_char, self.quote_char
        text = self._escaped(text)
        text = text.replace(quote, quote * 2 if self.double_quote else escape + quote) if quote else text
        return f"{quote}{text}{quote}"

    def _escaped(self, text: str) -> str:
        """Return a string with line ends and other special characters escaped, if there is an escape character."""
        escape = self.escape_char
        if escape:
            text = text.replace(escape, escape * 2)
            for character, letter in ESCAPE_LETTERS.items():
                text = text.replace(character, escape + letter)
        return text

    def _needs_quotes(self, text: str) -> bool:
        if not text or text[0].isspace() or text[-1].isspace():
            return True
        return self._is_divided(text) or any(mark in text for mark in ("\t", "\\", self.escape_char) if mark)

    def _is_divided(self, text: str) -> bool:
        """Return whether an unquoted string would not be read as one field, or contains quotes."""
        if text[:1] in UNUSUAL_STARTS and (text[0] == BYTE_ORDER_MARK or _is_open_bracket(text)):
            return True
        # Delimiters and line ends of several characters may be formed by the end of the string and the text after it.
        if (len(self.delimiter) > 1 or len(self.line_terminator) > 1) and self._ends_early(text):
            return True
        return any(mark in text for mark in (self.delimiter, self.quote_char, self.line_terminator, "\n", "\r") if mark)

    def _ends_early(self, text: str) -> bool:
        """Return whether a string followed by a delimiter or line end contains a delimiter or line end that begins earlier."""
        marks = (self.delimiter, self.line_terminator)
        return any(len(mark) > 1 and 0 <= (text + after).find(mark) < len(text) for mark in marks for after in marks)

    @property
    def _blanks_vanish(self) -> bool:
        """Whether the reader would skip the delimiter or line end of an empty field, as white space before the next field."""
        # The reader skips no tabs before a field if the delimiter is a tab.
        return self.line_terminator[0] in SPACE or (self.delimiter[0] in SPACE and self.delimiter != "\t")

    def plain(self, text: str) -> str:
        """Return a string as a field, quoted only if it would not be read as one field."""
        return self.quoted(text) if self.quote_level == QUOTE_ALL or self._is_divided(text) else text

    @property
    def has_plain_numbers(self) -> bool:
        """Whether numbers never need quotes."""
        return self.quote_level != QUOTE_ALL and not NUMBER_CHARACTERS & {*self.delimiter, *self.line_terminator, *self.quote_char}

    def writer_of(self, kind: str, is_alone: bool = False) -> Callable[[Any], str]:
        """Return the function that converts a value of a kind to a field. In a single column, an empty string is quoted, so that no line is blank."""
        number: Callable[[str], str] = str if self.has_plain_numbers else self.plain
        empty = self.quote_char * 2 if is_alone or self._blanks_vanish else ""
        texts: dict[str, Callable[[Any], str]] = {
            "int": lambda value: number(str(value)),
            "float": lambda value: number(exact_float_text(value)),
            "str": lambda value: self.field(value) or empty,
            "datetime": lambda value: self.quoted(instant_text(value)),
            "image": lambda value: self.quoted(text_of_image(value)),
            "array": lambda value: self.quoted(f"[{' '.join(map(exact_float_text, value))}]"),
        }
        write = texts.get(kind, lambda value: self.quoted(nested_text(value)))
        missing = self.missing_field(is_alone)
        return lambda value: missing if value is None else write(value)

    def missing_field(self, is_alone: bool = False) -> str:
        """Return the field for a missing value: ``na_rep``, in quotes if it consists of white space that the reader would skip.

        In a single column, a missing value gives an empty line if ``na_rep`` is empty, as in Turi Create.
        """
        is_lost = not self.na_rep.strip(SPACE) and (self._blanks_vanish or (is_alone and self.na_rep != ""))
        return self.quoted(self.na_rep) if is_lost else self.plain(self.na_rep)


def _is_open_bracket(text: str) -> bool:
    """Return whether the list or dict that a string begins may end in a later field; the reader would read everything up to there as one field."""
    closing = closing_bracket(text, 0)
    # A later field may also contain the quote that closes one in this field.
    return not closing or any(closing_bracket(text + quote, 0) != closing for quote in "'\"")


def _nested_number(value: float) -> str:
    """Return a float for a list or dict. Negative zero is written with a point, because without one it would be read as the int 0."""
    text = exact_float_text(value)
    return "-0.0" if text == "-0" else text


def nested_text(value: Any) -> str:
    """Return a list, dict or array as ``read_csv`` reads it. A list of one missing item is written as an empty list.

    Examples
    --------
    >>> nested_text([1, 'a"b', None]), nested_text({"k": array.array("d", [1, 2.5])})
    ('[1,"a\\\\"b",]', '{"k":[1,2.5]}')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return csv_string(value)
    if isinstance(value, array.array):
        return "[" + ",".join(map(_nested_number, value)) + "]"
    if isinstance(value, np.ndarray):
        return nested_text(value.tolist())
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(nested_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{nested_text(key)}:{nested_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, float):
        return _nested_number(value)
    if isinstance(value, Image):
        return csv_string(text_of_image(value))
    return str(value) if isinstance(value, int) else instant_text(value)


def instant_text(value: datetime.datetime) -> str:
    """Return a date-time as a string, with its offset from UTC if it has one.

    Examples
    --------
    >>> instant_text(datetime.datetime(2011, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc))
    '20110102T030405+0000'
    """
    return datetime_text(value) + value.strftime("%z")


# Strings as fields, a whole batch at once

_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())


def _table(characters: Sequence[str], index: int) -> np.ndarray:
    """Return a table that says for each byte whether one of the characters, encoded in UTF-8, has this byte at an index."""
    table = np.zeros(256, bool)
    table[[character.encode()[index] for character in characters]] = True
    return table


# For each byte, whether a string whose first byte (or last byte) it is may need quotes because of it.
_FIRST, _LAST = _table([*_SPACES, "[", "{", BYTE_ORDER_MARK], 0), _table([*_SPACES], -1)
# Up to this number of characters, searching for each separately is faster than a regular expression.
_FEW_MARKS = 2


def string_data(texts: pa.Array) -> memoryview:
    """Return the concatenated strings of an array as bytes, without copying them.

    Examples
    --------
    >>> bytes(string_data(pa.array(["a", "é", None, "b"])))
    b'a\\xc3\\xa9b'
    """
    data, ends = texts.buffers()[2], _string_offsets(texts)
    return memoryview(data)[int(ends[0]) : int(ends[-1])] if data is not None else memoryview(b"")


def _string_offsets(texts: pa.Array) -> np.ndarray:
    """Return where each string starts in the buffer, and where the last one ends."""
    wide = pa.types.is_large_string(texts.type)
    offsets = texts.buffers()[1]
    if offsets is None or not len(texts):
        return np.zeros(1, np.int64)
    return np.frombuffer(offsets, np.int64 if wide else np.int32)[texts.offset : texts.offset + len(texts) + 1]


def string_fields(values: pa.Array, form: CsvFormat, is_alone: bool = False) -> pa.Array:
    """Return strings as fields; missing values remain missing.

    Examples
    --------
    >>> string_fields(pa.array(["plain", "a,b", "", "[1", None]), CsvFormat()).to_pylist()
    ['plain', '"a,b"', '""', '"[1"', None]
    """
    if form.quote_level == QUOTE_ALL:
        return quote_strings(values, form)
    marks = characters_in(values, _marks(form))
    if marks and seem_repeated(values):
        return map_distinct(values, lambda texts: _fields_of_some(texts, form, is_alone))
    chosen = _perhaps_special(values, form, marks)
    if not chosen.any():
        return values
    mask = pa.array(chosen)
    texts = values.filter(mask)
    fields = _fields_of_some(texts, form, is_alone)
    return values if fields is texts else replace_with_mask(values, mask, fields)


def quote_strings(texts: pa.Array, form: CsvFormat) -> pa.Array:
    """Return strings in quotes, as :meth:`CsvFormat.quoted` does.

    Examples
    --------
    >>> quote_strings(pa.array(['5" long', None]), CsvFormat()).to_pylist()
    ['"5"" long"', None]
    """
    if form.quote_level == QUOTE_NONE:
        return texts
    escape, quote = form.escape_char, form.quote_char
    replaced = [(escape, escape * 2), *((character, escape + letter) for character, letter in ESCAPE_LETTERS.items())] if escape else []
    replaced += [(quote, quote * 2 if form.double_quote else escape + quote)] if quote else []
    # No replacement inserts a character that is replaced afterwards, so one search suffices.
    present = characters_in(texts, [character for character, _ in replaced])
    for character, replacement in replaced:
        if character in present:
            texts = pc.replace_substring(texts, character, replacement)
    return pc.binary_join_element_wise(quote, texts, quote, "")


def characters_in(texts: pa.Array, characters: Sequence[str]) -> list[str]:
    """Return the given characters that occur in any of the strings.

    Examples
    --------
    >>> characters_in(pa.array(["a,b", "c"]), ",;")
    [',']
    """
    data = bytes(string_data(texts))
    return [character for character in characters if character.encode() in data]


def _fields_of_some(texts: pa.Array, form: CsvFormat, is_alone: bool) -> pa.Array:
    """Return strings as fields; efficient if most of them differ from their fields."""
    fields, rest = texts, None
    if form.quote_level != QUOTE_NONE:
        in_quotes = pc.match_substring_regex(texts, always_quoted_pattern(form))
        if in_quotes.true_count == len(texts):
            return quote_strings(texts, form)
        if in_quotes.true_count:
            fields, rest = if_else(in_quotes, quote_strings(texts, form), texts), pc.invert(in_quotes)
    special = pc.match_substring_regex(texts, special_pattern(form))
    special = special if rest is None else pc.and_(special, rest)
    if not special.true_count:
        return fields
    write = form.writer_of(STR_KIND, is_alone)
    return replace_with_mask(fields, special, pa.array(list(map(write, texts.filter(special).to_pylist())), texts.type))


def _perhaps_special(values: pa.Array, form: CsvFormat, marks: Sequence[str]) -> np.ndarray:
    """Return a mask of the strings that may differ from their fields, because of the characters that they contain, begin or end with."""
    ends = _string_offsets(values)
    starts, ends, lengths = ends[:-1], ends[1:], np.diff(ends)
    chosen = lengths == 0
    data = values.buffers()[2]
    if data is not None and len(data) and form.quote_level != QUOTE_NONE:
        codes = np.frombuffer(data, np.uint8)
        # For an empty string, these are bytes of its neighbours; it is in the mask anyway.
        chosen |= _FIRST[codes[np.minimum(starts, len(codes) - 1)]] | _LAST[codes[np.maximum(ends - 1, 0)]]
    if marks:
        is_few = len(marks) <= _FEW_MARKS
        matches = [pc.match_substring(values, mark) for mark in marks] if is_few else [pc.match_substring_regex(values, _any_of(marks))]
        chosen |= functools.reduce(pc.or_, matches).fill_null(False).to_numpy(zero_copy_only=False)
    return chosen & values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else chosen


def _marks(form: CsvFormat) -> list[str]:
    """Return the characters that make a string differ from its field, if it contains one of them."""
    marks = {*form.quote_char, *form.escape_char, "\n", "\t", "\r"}
    # Each character of the delimiter counts, because a string may end with the beginning of a delimiter.
    return sorted(marks if form.quote_level == QUOTE_NONE else marks | {*form.delimiter, *form.line_terminator, "\\"})


@functools.lru_cache(maxsize=16)
def special_pattern(form: CsvFormat) -> str:
    """Return a regular expression that matches all strings that differ from their fields, and possibly others."""
    if form.quote_level == QUOTE_NONE:
        return f"^$|{_any_of(_marks(form))}"
    return f"^$|^{_any_of([*_SPACES, '[', '{', BYTE_ORDER_MARK])}|{_any_of(_SPACES)}$|{_any_of(_marks(form))}"


@functools.lru_cache(maxsize=16)
def always_quoted_pattern(form: CsvFormat) -> str:
    """Return a regular expression that matches only strings that are certainly quoted."""
    parts = {mark for text in (form.delimiter, form.line_terminator) if len(text) > 1 for mark in text}
    always = {*form.quote_char, *form.escape_char, "\n", "\t", "\r", "\\"}
    return f"^$|^{_any_of([*_SPACES, BYTE_ORDER_MARK])}|{_any_of(_SPACES)}$|{_any_of(always | ({*_marks(form)} - parts))}"


def _any_of(characters: Sequence[str] | set[str]) -> str:
    return "[" + "".join(sorted(f"\\x{{{ord(character):x}}}" for character in characters)) + "]"


# Columns as fields: written by Arrow where CsvFormat gives the same result, otherwise value by value


def lines_of(fields: Sequence[pa.Array], form: CsvFormat, are_plain: bool = False) -> Iterator[bytes | memoryview]:
    """Yield rows of fields as lines in UTF-8, in blocks.

    Parameters
    ----------
    fields
        The fields of each column.
    form
        The format.
    are_plain
        Whether :meth:`ColumnWriter.are_plain` holds for all columns. Then Arrow's own writer is used, which takes half the time.
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
    # Joining all rows as one list takes half the time of appending a line end to each.
    yield string_data(pc.binary_join(pa.LargeListArray.from_arrays(pa.array([0, len(rows)], pa.int64()), rows), end))
    yield form.line_terminator.encode()


def is_of_arrow(form: CsvFormat) -> bool:
    """Return whether Arrow's own writer supports the format's delimiter and line end."""
    has_plain_delimiter = form.delimiter == "\t" or (form.delimiter.isascii() and form.delimiter.isprintable() and form.delimiter != '"')
    return has_plain_delimiter and len(form.delimiter) == 1 and form.line_terminator == "\n" and not form.line_prefix


def _lines_of_arrow(fields: Sequence[pa.Array], delimiter: str) -> memoryview:
    options = pcsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none", batch_size=len(fields[0]))
    lines = pa.BufferOutputStream()
    pcsv.write_csv(pa.record_batch(list(fields), [str(number) for number in range(len(fields))]), lines, options)
    return memoryview(lines.getvalue())


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


@attrs.frozen
class ColumnWriter:
    """Writes the fields of one column.

    Parameters
    ----------
    form
        The format.
    type
        Type of the column.
    name
        Name of the column.
    is_alone
        Whether it is the only column.
    """

    form: CsvFormat
    type: ColumnType
    name: str
    is_alone: bool

    def fields(self, values: pa.Array, first_row: int | None) -> pa.Array:
        """Return the values of some rows as fields; ``first_row`` is the number of the first row if known, for errors.

        Raises
        ------
        DateTimeRangeError
            If a date-time has a year that Python's ``datetime`` cannot hold; the error names the column and the row.
        """
        fields = self._by_arrow(values)
        if fields is None:
            try:
                fields = self._one_by_one(values)
            except DateTimeRangeError as error:
                raise error.located(self.name, first_row) from error.__cause__
        return fields.cast(pa.large_string())

    def are_plain(self, fields: pa.Array) -> bool:
        """Return whether a quick check shows that no field contains a quote, a delimiter or a line end."""
        structure = ('"', "\n", "\r", self.form.delimiter)
        if self.type.kind in (INT_KIND, FLOAT_KIND) and self.form.has_plain_numbers:
            return not any(mark in self.form.missing_field(self.is_alone) for mark in structure)
        return self.type.kind == STR_KIND and not characters_in(fields, structure)

    def _one_by_one(self, values: pa.Array) -> pa.Array:
        write = self.form.writer_of(self.type.kind, self.is_alone)
        return pa.array([write(value) for value in decode(values, self.type)], pa.large_string())

    def _by_arrow(self, values: pa.Array) -> pa.Array | None:
        """Return the fields if Arrow can write them; None otherwise."""
        fields = None
        if self.type.kind in (INT_KIND, FLOAT_KIND) and (self.form.quote_level == QUOTE_ALL or self.form.has_plain_numbers):
            fields = int_texts(values) if self.type.kind == INT_KIND else brief_floats(values)
            fields = quote_strings(fields, self.form) if self.form.quote_level == QUOTE_ALL else fields
        elif self.type.kind == STR_KIND:
            fields = string_fields(values, self.form, self.is_alone)
        elif self.type == DATETIME:
            fields = self._date_times(values)
        elif self.type.has_items:
            texts = written(values, self.type, IN_CSV)
            fields = None if texts is None else quote_strings(texts, self.form)
        return fields if fields is None or not fields.null_count else fields.fill_null(self.form.missing_field(self.is_alone))

    def _date_times(self, values: pa.Array) -> pa.Array | None:
        """Return date-times without an offset as fields; None if the format would change their digits."""
        digits = "0123456789T."
        start, _, end = self.form.quoted(digits).partition(digits)
        if not all_in_years_of_python(values) or start + digits + end != self.form.quoted(digits):
            return None
        return compact_datetimes(values, start, end)


# Whole frames

__all__ = ["CsvFormat", "nested_text", "write_csv"]


def write_csv(node: PlannerNode, names: Sequence[str], path: Any, form: CsvFormat | None = None) -> None:
    """Write all rows to a CSV file, which appears only when it is complete; it is compressed if its extension says so.

    Raises
    ------
    OSError
        If the file cannot be written.
    InvalidArgumentError
        If a column name is not valid Unicode, or the format cannot be read back.
    """
    form = form or CsvFormat()
    require_unicode(names)
    form.require_readable(len(names))
    with path_to_write(path, ".csv") as place:
        write_text(node, location_of(file_path_text(place)), CsvRows(form, tuple(names), tuple(node.schema)))


@attrs.frozen
class CsvRows:
    """Formats rows as lines of CSV.

    Parameters
    ----------
    form
        The format.
    names
        Names of the columns.
    types
        Types of the columns.
    """

    form: CsvFormat
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]

    @property
    def between(self) -> bytes:
        """The bytes that are written between two rows, but not before the first row."""
        return self.form.line_prefix.encode() if self.form.no_prefix_on_first_value else b""

    @property
    def before(self) -> bytes:
        """The bytes before the first row."""
        names = [self.form.delimiter.join(map(self.form.field, self.names))] if self.form.header and self.names else []
        lines = [*filter(None, [self.form.file_header]), *names]
        return "".join(line + self.form.line_terminator for line in lines).encode()

    @property
    def after(self) -> bytes:
        """The bytes after the last row."""
        return (self.form.file_footer + self.form.line_terminator).encode() if self.form.file_footer else b""

    def blocks(self, chunks: Iterator[Chunk], first_row: int | None) -> Iterator[bytes | memoryview]:
        """Yield the lines of some rows; ``first_row`` is the number of the first row if known, for errors."""
        writers = [ColumnWriter(self.form, kind, name, len(self.names) == 1) for kind, name in zip(self.types, self.names, strict=True)]
        for chunk in chunks if writers else ():
            fields = [writer.fields(column, first_row) for writer, column in zip(writers, chunk.columns, strict=True)]
            are_plain = all(writer.are_plain(column_fields) for writer, column_fields in zip(writers, fields, strict=True))
            yield from lines_of(fields, self.form, are_plain)
            first_row = None if first_row is None else first_row + chunk.rows
