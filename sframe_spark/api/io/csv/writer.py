"""How rows are written as CSV: fields of values, in quotes where they would not be read back without."""

from __future__ import annotations

import array
import datetime
import json
from collections.abc import Callable
from typing import Any

import attrs

from sframe_spark.api.io.csv.fields import SPACE, closing_bracket
from sframe_spark.api.io.csv.options import NEWLINES, CsvOptions, escape_by_doubling, line_ends, require_unicode_text
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.values.convert import ESCAPES as READ_ESCAPES
from sframe_spark.values.datetimes import datetime_text
from sframe_spark.values.tagged_json import display_text, exact_float_text
from sframe_spark.values.value_model import is_number, plain_number

QUOTE_ALL, QUOTE_NONE = 1, 3
BYTE_ORDER_MARK = "\ufeff"
UNUSUAL_STARTS = frozenset("[{" + BYTE_ORDER_MARK)
ESCAPES = {"\n": "n", "\t": "t", "\r": "r"}
# What numbers are written with, nan and inf among them.
NUMBER_CHARACTERS = frozenset("0123456789.+-einfa")


def _option_text(value: Any) -> Any:
    """A text that is written; that of a number, and none for None, as in the reference."""
    if value is None:
        return ""
    return display_text(plain_number(value)) if is_number(value) and not isinstance(value, bool) else value


@attrs.frozen
class CsvFormat:
    """How a CSV file is written, in the order of the reference's arguments.

    Whatever a field holds, a number too, is in quotes where it would not be read back without them. What cannot be read back then is refused,
    but where there are no quotes: with ``quote_level=3`` or without a ``quote_char``, or where quotes in a text are neither doubled nor escaped.

    Parameters
    ----------
    delimiter
        Text between two fields.
    line_terminator
        Text after each line.
    header
        Whether the first line holds the column names.
    quote_level
        1: quotes around every field; 3: around none, so that a field that holds a delimiter is read as two; otherwise around those that need them.
    double_quote
        Whether a quote in a field is written twice; otherwise after the escape character.
    escape_char
        Character before a character that would not be itself; empty: none. The quote itself: no more than that quotes are written twice.
    quote_char
        Character around fields that hold anything.
    na_rep
        What is written for a missing value, a text or a number; None: nothing.
    file_header, file_footer
        First and last line of the file, which ``read_csv`` takes for rows unless it is told otherwise; empty: none.
    line_prefix
        What every line with a row starts with, as it is: ``read_csv`` takes it for the start of the first field.
    no_prefix_on_first_value
        Whether the first row has no such start.

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
                raise SchemaError(f"{name} is a text, got {getattr(self, name)!r}")
            require_unicode_text(getattr(self, name), name)
        if not self.delimiter or not self.line_terminator:
            raise InvalidArgumentError("delimiter and line_terminator must be texts of at least one character")
        escape_by_doubling(self)
        if self.quote_level != QUOTE_NONE:
            self._require_told_apart()
            if self.delimiter not in NEWLINES:
                # Refuses what could not be read.
                CsvOptions(self.delimiter, True, "", self.escape_char, self.double_quote, self.quote_char, self.line_terminator)

    def _require_told_apart(self) -> None:
        """Refuse what the reader could not tell from each other.

        Raises
        ------
        InvalidArgumentError
            If two parts of the dialect look alike.
        """
        for end in line_ends(self.line_terminator):
            if self.delimiter not in NEWLINES and (self.delimiter.startswith(end) or end.startswith(self.delimiter)):
                raise InvalidArgumentError(
                    f"one of the delimiter {self.delimiter!r} and the line terminator {end!r} starts with the other: take others"
                )
        for mark in (self.delimiter, self.line_terminator):
            if self.quote_char and self.quote_char in mark:
                raise InvalidArgumentError(f"the quote_char {self.quote_char!r} is in the delimiter or line_terminator {mark!r}: take others")
        for name in ("quote_char", "escape_char"):
            character = getattr(self, name)
            if character and (character in READ_ESCAPES or character in " \t\r\n"):
                raise InvalidArgumentError(
                    f"{name} {character!r} has a meaning of its own, as white space or after an escape character: take another"
                )

    def require_readable(self, width: int) -> None:
        """Refuse to write several columns where a line is one field.

        Raises
        ------
        InvalidArgumentError
            If the delimiter is a line break.
        """
        if width > 1 and self.delimiter in NEWLINES and self.quote_level != QUOTE_NONE:
            raise InvalidArgumentError(f"with {self.delimiter!r} as delimiter each line would be read as one field: take another for several columns")

    def field(self, text: str) -> str:
        """A text as a field: in quotes where it would not be read as it is; without any, still on one line."""
        if self.quote_level == QUOTE_NONE:
            quote = self.quote_char
            return self._escaped(text).replace(quote, quote * 2) if quote and self.double_quote else self._escaped(text)
        return self.quoted(text) if self.quote_level == QUOTE_ALL or self._needs_quotes(text) else text

    def quoted(self, text: str) -> str:
        """A text in quotes."""
        if self.quote_level == QUOTE_NONE:
            return text
        escape, quote = self.escape_char, self.quote_char
        text = self._escaped(text)
        text = text.replace(quote, quote * 2 if self.double_quote else escape + quote) if quote else text
        return f"{quote}{text}{quote}"

    def _escaped(self, text: str) -> str:
        """A text on one line, if there is an escape character."""
        escape = self.escape_char
        if escape:
            text = text.replace(escape, escape * 2)
            for character, letter in ESCAPES.items():
                text = text.replace(character, escape + letter)
        return text

    def _needs_quotes(self, text: str) -> bool:
        if not text or text[0].isspace() or text[-1].isspace():
            return True
        return self._is_divided(text) or any(mark in text for mark in ("\t", "\\", self.escape_char) if mark)

    def _is_divided(self, text: str) -> bool:
        """True if a text that is not in quotes is not one field to the reader, or holds quotes."""
        if text[:1] in UNUSUAL_STARTS and (text[0] == BYTE_ORDER_MARK or _is_open_bracket(text)):
            return True
        # Of one character, a mark is never there in part.
        if (len(self.delimiter) > 1 or len(self.line_terminator) > 1) and self._ends_early(text):
            return True
        return any(mark in text for mark in (self.delimiter, self.quote_char, self.line_terminator, "\n", "\r") if mark)

    def _ends_early(self, text: str) -> bool:
        """True if the end of a text and the start of what is written after it are read as what may be written after it."""
        marks = (self.delimiter, self.line_terminator)
        return any(len(mark) > 1 and 0 <= (text + after).find(mark) < len(text) for mark in marks for after in marks)

    @property
    def _blanks_vanish(self) -> bool:
        """True if the reader takes what ends an empty field for white space before the next one."""
        # Before a field it leaves out no tab where tabs are the delimiter.
        return self.line_terminator[0] in SPACE or (self.delimiter[0] in SPACE and self.delimiter != "\t")

    def plain(self, text: str) -> str:
        """A text as a field, as it is unless it would be read as something else."""
        return self.quoted(text) if self.quote_level == QUOTE_ALL or self._is_divided(text) else text

    def _number_writer(self) -> Callable[[str], str]:
        """The function from the text of a number to its field."""
        return (lambda text: text) if self.has_plain_numbers else self.plain

    @property
    def has_plain_numbers(self) -> bool:
        """True if the text of any number is its field."""
        return self.quote_level != QUOTE_ALL and not NUMBER_CHARACTERS & {*self.delimiter, *self.line_terminator, *self.quote_char}

    def writer_of(self, kind: str, is_alone: bool = False) -> Callable[[Any], str]:
        """The function from a value of a kind of column to its field; of an only column, an empty text is never a blank line."""
        vanishes, number = self._blanks_vanish, self._number_writer()
        empty = self.quote_char * 2 if is_alone or vanishes else ""
        texts: dict[str, Callable[[Any], str]] = {
            "int": lambda value: number(str(value)),
            "float": lambda value: number(exact_float_text(value)),
            "str": lambda value: self.field(value) or empty,
            "datetime": lambda value: self.quoted(instant_text(value)),
            "array": lambda value: self.quoted(f"[{' '.join(map(exact_float_text, value))}]"),
        }
        write = texts.get(kind, lambda value: self.quoted(nested_text(value)))
        missing = self.missing_field(is_alone)
        return lambda value: missing if value is None else write(value)

    def missing_field(self, is_alone: bool = False) -> str:
        """The field of a missing value; of an only column an empty line, as in the reference, unless there is a text for it."""
        is_lost = not self.na_rep.strip(SPACE) and (self._blanks_vanish or (is_alone and self.na_rep != ""))
        return self.quoted(self.na_rep) if is_lost else self.plain(self.na_rep)


def _is_open_bracket(text: str) -> bool:
    """True if the list or dict that a text starts may end in a later field, so that the reader would take all up to there for one."""
    closing = closing_bracket(text, 0)
    # A later field may also close a quote in this one.
    return not closing or any(closing_bracket(text + quote, 0) != closing for quote in "'\"")


def _nested_number(value: float) -> str:
    """A float amid other values, where numbers without a point are read as integers, which have no negative zero."""
    text = exact_float_text(value)
    return "-0.0" if text == "-0" else text


def nested_text(value: Any) -> str:
    """A list, dict or array as ``read_csv`` reads it; a list of one missing element, for which there is no text, reads as empty.

    Examples
    --------
    >>> nested_text([1, 'a"b', None]), nested_text({"k": array.array("d", [1, 2.5])})
    ('[1,"a\\\\"b",]', '{"k":[1,2.5]}')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        # Of a form feed JSON's own escape is a backslash and an f to the reader, as to the reference.
        return '"' + r"\u000c".join(json.dumps(part, ensure_ascii=False)[1:-1] for part in value.split("\f")) + '"'
    if isinstance(value, array.array):
        return "[" + ",".join(map(_nested_number, value)) + "]"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(nested_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{nested_text(key)}:{nested_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, float):
        return _nested_number(value)
    return str(value) if isinstance(value, int) else instant_text(value)


def instant_text(value: datetime.datetime) -> str:
    """A date and time with its offset from UTC, if it has one.

    Examples
    --------
    >>> instant_text(datetime.datetime(2011, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc))
    '20110102T030405+0000'
    """
    return datetime_text(value) + value.strftime("%z")
