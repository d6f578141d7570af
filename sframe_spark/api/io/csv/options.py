"""Options of CSV files: how fields are separated and quoted, which rows and columns are read, and how fields become values."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, TypeVar, cast

import attrs

from sframe_spark.api.column_names import first_positions
from sframe_spark.api.io.text_encoding import text_encoding
from sframe_spark.errors import CsvCountError, CsvHintError, InvalidArgumentError, SchemaError, listed
from sframe_spark.message_text import is_unicode
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ZONED_DATETIME, ColumnType
from sframe_spark.values.python_to_arrow import column_type_for

NEWLINES = ("\n", "\r\n", "\r")
# Used as the delimiter if the user gives a line break, so that every line is one field. This code point never occurs in valid text.
IN_NO_TEXT = "\uffff"
DEFAULT_ROWS_TO_INFER = 100
# What an empty field in quotes is, to the type of its column: nothing, as an empty field is, or a text.
MISSING, TEXT = "missing", "text"
# Alternative names of arguments, which pandas uses.
WRITE_ALIASES = {"sep": "delimiter", "quotechar": "quote_char", "doublequote": "double_quote", "lineterminator": "line_terminator"}
READ_ALIASES = {**WRITE_ALIASES, "comment": "comment_char"}
_ADVICE = "choose another one, or '' for a character that the file does not use"


@attrs.frozen
class CsvOptions:
    """The dialect of a CSV file, and which of its rows are read.

    Parameters
    ----------
    delimiter
        String between two fields.
    header
        Whether the first line contains the column names.
    comment_char
        Character that starts a comment, which ends with the line; empty: there are no comments.
    escape_char
        Inside quotes, the character that gives the next character another meaning; empty: none. If it is the same as ``quote_char``, doubled
        quotes are the only escape.
    double_quote
        Whether two quotes inside quotes stand for one.
    quote_char
        Character before and after a field that may contain delimiters and line ends; empty: none.
    line_terminator
        String between two lines; each of the usual ones (line feed, carriage return, both) stands for all of them.
    skiprows
        Number of lines to skip at the start of every file.
    nrows
        Maximum number of rows to read; None: all rows.
    skip_initial_space
        Whether white space before a field is ignored. Otherwise white space before any column name but the first is part of the name, a quote that
        follows white space does not begin a quoted field, and each space ends a field if the delimiter is a space. White space before a value is
        never part of the value.
    encoding
        Encoding of the file.
    """

    delimiter: str = ","
    header: bool = True
    comment_char: str = ""
    escape_char: str = "\\"
    double_quote: bool = True
    quote_char: str = '"'
    line_terminator: str = "\n"
    skiprows: int = 0
    nrows: int | None = None
    skip_initial_space: bool = True
    encoding: str = "utf-8"

    def __attrs_post_init__(self) -> None:
        strings, characters = ("delimiter", "line_terminator"), ("comment_char", "escape_char", "quote_char")
        for name in strings:
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise InvalidArgumentError(f"{name} must be a text of at least one character, got {getattr(self, name)!r}")
        for name in characters:
            if not isinstance(getattr(self, name), str) or len(getattr(self, name)) > 1:
                raise InvalidArgumentError(f"{name} must be one character or empty, got {getattr(self, name)!r}")
        for name in (*strings, *characters):
            require_unicode_text(getattr(self, name), name)
        escape_by_doubling(self)
        self._require_distinct({name: getattr(self, name) for name in characters if getattr(self, name)})

    def _require_distinct(self, characters: Mapping[str, str]) -> None:
        """Raise an error if options overlap: a character with two meanings would be read differently depending on where a block of the file ends.

        Raises
        ------
        InvalidArgumentError
            If a character is in two options, the quote is white space, or a line terminator starts with the delimiter.
        """
        ends = line_ends(self.line_terminator)
        for name, character in characters.items():
            for other, texts in (("delimiter", (self.delimiter,)), ("line_terminator", ends)):
                if any(character in text for text in texts):
                    raise InvalidArgumentError(f"{name} and {other} must differ, {character!r} is in both: {_ADVICE}")
        for one, other in itertools.combinations(characters, 2):
            if characters[one] == characters[other]:
                raise InvalidArgumentError(f"{one} and {other} must differ, both are {characters[one]!r}: {_ADVICE}")
        if self.quote_char in (" ", "\t"):
            raise InvalidArgumentError(f"quote_char must not be white space, got {self.quote_char!r}: {_ADVICE}")
        if any(end.startswith(self.delimiter) for end in ends):
            raise InvalidArgumentError(
                f"line_terminator {self.line_terminator!r} must not start with the delimiter {self.delimiter!r}: no line would end"
            )

    @property
    def has_one_field(self) -> bool:
        """Whether every line, even a blank one, is one field."""
        return self.delimiter == IN_NO_TEXT

    @property
    def is_blank_delimited(self) -> bool:
        """Whether the delimiter consists of spaces, so that spaces at the end of a line do not always separate fields."""
        return not self.delimiter.strip(" ")

    @property
    def has_standard_line_ends(self) -> bool:
        """Whether lines end with a line feed, a carriage return or both."""
        return self.line_terminator in NEWLINES


def escape_by_doubling(dialect: Any) -> None:
    """Change a dialect in which the quote is also the escape character to one without an escape character, but with doubled quotes.

    Otherwise a doubled quote would be unescaped twice when read, and written as four quotes.
    """
    if dialect.escape_char and dialect.escape_char == dialect.quote_char:
        object.__setattr__(dialect, "escape_char", "")
        object.__setattr__(dialect, "double_quote", True)


def line_ends(terminator: str) -> tuple[str, ...]:
    """Return the strings that end a line if ``terminator`` is the line terminator."""
    return NEWLINES if terminator in NEWLINES else (terminator,)


@attrs.frozen
class CsvValues:
    """Fields with a special meaning.

    Parameters
    ----------
    missing
        Fields that stand for a missing value; empty fields do too, except in columns of strings.
    true_values, false_values
        Fields that stand for 1 and 0 in columns of numbers.
    quoted_empty_is_text
        Whether a column without a requested type that has an empty field in quotes is one of texts.
    """

    missing: tuple[str, ...] = ("NA",)
    true_values: tuple[str, ...] = ()
    false_values: tuple[str, ...] = ()
    quoted_empty_is_text: bool = False


@attrs.frozen(eq=False)
class CsvRequest:
    """A user's request to read CSV files, with the arguments in the order of Turi Create's engine.

    Parameters
    ----------
    url
        A path, a directory, a pattern, a URL, or a list of these. The files of a directory are read in order of their names. Files may be compressed.
    delimiter, header, comment_char, escape_char, double_quote, quote_char, skip_initial_space, line_terminator, nrows, skiprows
        See :class:`CsvOptions`; zero for ``nrows`` means all rows. If the delimiter is a line break, every line is one field.
    error_bad_lines
        Whether to raise an error at the first line that does not fit the columns; otherwise these lines are left out.
    nrows_to_infer
        If ``nrows`` is smaller than this number, types are inferred from this number of rows, otherwise from all rows that are read.
    column_type_hints
        A class for all columns, a list of classes, or a dict from column name to class. These types are not inferred, and a line with a value of
        another type does not fit the columns.
    na_values, true_values, false_values
        See :class:`CsvValues`.
    usecols
        Names of the columns to read; empty: all columns.
    verbose
        Whether to log, at level INFO, what was read.
    encoding
        Encoding of the files: ``utf-8``, ``latin-1``, ``utf-16`` or any other that Python knows.
    quoted_empty
        ``"missing"``: empty fields in quotes are missing values in columns of numbers, lists and dicts; ``"text"``: they make their column texts.
    """

    url: Any
    delimiter: str = ","
    header: bool = True
    error_bad_lines: bool = False
    comment_char: str | None = ""
    escape_char: str | None = "\\"
    double_quote: bool = True
    quote_char: str | None = '"'
    skip_initial_space: bool = True
    column_type_hints: Any = None
    na_values: Any = ("NA",)
    line_terminator: str = "\n"
    usecols: Any = ()
    nrows: int | None = None
    skiprows: int = 0
    verbose: bool = True
    nrows_to_infer: int | None = DEFAULT_ROWS_TO_INFER
    true_values: Any = ()
    false_values: Any = ()
    encoding: str = "utf-8"
    quoted_empty: str = MISSING

    def dialect(self) -> CsvOptions:
        """Return the dialect of the files that the arguments describe."""
        rows = None if self.nrows is None else count(self.nrows, "nrows") or None
        delimiter = IN_NO_TEXT if self.delimiter in NEWLINES else self.delimiter
        return CsvOptions(
            delimiter, bool(self.header), self.comment_char or "", self.escape_char or "", bool(self.double_quote),
            self.quote_char or "", self.line_terminator, count(self.skiprows, "skiprows"), rows,
            bool(self.skip_initial_space), text_encoding(self.encoding),
        )  # fmt: skip

    @property
    def rows_to_infer(self) -> int:
        """The number of rows from which types are inferred if ``nrows`` is smaller."""
        return DEFAULT_ROWS_TO_INFER if self.nrows_to_infer is None else count(self.nrows_to_infer, "nrows_to_infer")

    def values(self) -> CsvValues:
        """Return the fields with a special meaning.

        Raises
        ------
        InvalidArgumentError
            If ``quoted_empty`` is neither ``"missing"`` nor ``"text"``.
        """
        if self.quoted_empty not in (MISSING, TEXT):
            raise InvalidArgumentError(f"quoted_empty is {MISSING!r} or {TEXT!r}, got {self.quoted_empty!r}")
        missing, true_values, false_values = (texts(getattr(self, name), name) for name in ("na_values", "true_values", "false_values"))
        return CsvValues(missing, true_values, false_values, self.quoted_empty == TEXT and "" not in missing)


OptionsT = TypeVar("OptionsT")
# Advice for arguments of pandas and Polars that are not supported.
INSTEAD = {
    "dtype": "use column_type_hints={'a': int}",
    "dtypes": "use column_type_hints={'a': int}",
    "schema": "use column_type_hints={'a': int}",
    "parse_dates": "read texts, then sf['a'] = sf['a'].str_to_datetime('%Y-%m-%d')",
    "date_format": "read texts, then sf['a'] = sf['a'].str_to_datetime('%Y-%m-%d')",
    "decimal": "read texts, then sf['a'] = sf['a'].str.replace(',', '.').astype(float)",
    "thousands": "read texts, then sf['a'] = sf['a'].str.replace(',', '').astype(float)",
    "names": "use header=False, then rename({'X1': 'a', 'X2': 'b'})",
    "index_col": "write nothing: rows are numbered from 0",
    "compression": "write nothing: the ending of a file's name, such as .gz, says how it is compressed",
    "separator": "use delimiter",
    "index": "write nothing: rows have no index",
    "chunksize": "write nothing: a frame larger than memory is read in parts",
    "low_memory": "write nothing: types are found from all rows",
    "engine": "write nothing: there is one reader",
    "na_filter": "use na_values=[]",
    "keep_default_na": "use na_values=['']",
    "columns": "use usecols=['a', 'b']",
    "n_rows": "use nrows",
    "skip_rows": "use skiprows",
    "has_header": "use header",
    "null_values": "use na_values",
    "schema_overrides": "use column_type_hints={'a': int}",
    "comment": "use comment_char",
    "inferSchema": "write nothing: types are found from the values, and column_type_hints={'a': str} names others",
    "infer_schema_length": "use nrows_to_infer",
    "quote": "use quote_char",
    "quotechar": "use quote_char",
    "escape": "use escape_char",
    "escapechar": "use escape_char",
    "nullValue": "use na_values",
    "multiLine": "write nothing: texts in quotes may have line ends",
    "skipinitialspace": "use skip_initial_space",
    "on_bad_lines": "use error_bad_lines=True for an error; read_csv_with_errors() returns such lines",
    "ignore_errors": "write nothing: lines that fit no columns are left out; read_csv_with_errors() returns them",
    "try_parse_dates": "read texts, then sf['a'] = sf['a'].str_to_datetime('%Y-%m-%d')",
    "timestampFormat": "read texts, then sf['a'] = sf['a'].str_to_datetime('%Y-%m-%d')",
    "dateFormat": "read texts, then sf['a'] = sf['a'].str_to_datetime('%Y-%m-%d')",
    "converters": "read texts, then sf['a'] = sf['a'].apply(function)",
    "new_columns": "use header=False, then rename({'X1': 'a', 'X2': 'b'})",
    "storage_options": "use config.storage_options",
    "n_threads": "write nothing: files are read by all processors",
    "batch_size": "write nothing: a frame larger than memory is read in parts",
}


def with_alias_arguments(dialect: OptionsT, options: Mapping[str, Any], aliases: Mapping[str, str], doing: str) -> OptionsT:
    """Return a copy of a dialect or request, changed by arguments that are given by their alternative names.

    Raises
    ------
    SchemaError
        If a name is not an alternative name; ``doing`` begins the message.

    Examples
    --------
    >>> with_alias_arguments(CsvOptions(), {"sep": ";"}, READ_ALIASES, "reading CSV").delimiter
    ';'
    """
    unknown = [name for name in options if name not in aliases]
    if unknown:
        names = [field.name for field in attrs.fields(cast(Any, type(dialect))) if field.name != "url"]
        advice = [f"instead of {name} {INSTEAD[name]}" for name in unknown if name in INSTEAD]
        # Who knows what to write instead needs no list of all that may be written.
        remedy = "; ".join(advice) if len(advice) == len(unknown) else f"{'; '.join([*advice, ''])}it takes {', '.join(names)}"
        raise SchemaError(f"{doing} takes no argument {listed(unknown)}: {remedy}")
    return cast(OptionsT, attrs.evolve(cast(Any, dialect), **{aliases[name]: value for name, value in options.items()}))


def count(value: Any, name: str) -> int:
    """Return a number of rows or lines as an int; negative numbers become zero, as in Turi Create.

    Raises
    ------
    CsvCountError
        If the value is not an int.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise CsvCountError(f"{name} must be a whole number, got {value!r}")
    return max(0, value)


def texts(values: Any, name: str) -> tuple[str, ...]:
    """Return one string, or a list of strings, as a tuple; None gives an empty tuple.

    Raises
    ------
    SchemaError
        If a value is not a string.
    InvalidArgumentError
        If a string is not valid Unicode.
    """
    strings = (values,) if isinstance(values, str) or not isinstance(values, (Iterable, NoneType)) else tuple(values or ())
    if not all(isinstance(value, str) for value in strings):
        raise SchemaError(f"{name} must contain texts, got {values!r}")
    for value in strings:
        require_unicode_text(value, name)
    return strings


def require_unicode_text(value: str, name: str) -> None:
    """Raise an error if the string for the argument ``name`` is not valid Unicode, because no file can contain it.

    Raises
    ------
    InvalidArgumentError
        If it has an unpaired surrogate.
    """
    if not is_unicode(value):
        raise InvalidArgumentError(f"{name} {value!r:.60} is not valid Unicode text (it contains half of a character): choose another")


def chosen_columns(names: list[str], usecols: Any) -> list[int]:
    """Return the indices of the columns to read, in the order of ``usecols``; all columns if it is empty.

    Raises
    ------
    CsvHintError
        If the file has no column with a requested name, or a name is requested twice.
    """
    requested = texts(usecols, "usecols")
    # Searching a list for each name would take quadratic time.
    indices, counts = first_positions(names), collections.Counter(requested)
    for name in requested:
        if name not in indices:
            raise CsvHintError(f"usecols: the file has no column {name!r}, its columns are {', '.join(map(repr, names))}")
        if counts[name] > 1:
            raise CsvHintError(f"usecols names {name!r} twice")
    return [indices[name] for name in requested] if requested else list(range(len(names)))


def hinted_types(hints: Any, names: list[str]) -> dict[str, ColumnType]:
    """Return the column types that the user requests, by name; ``hints`` is a class for all columns, a list of classes, or a dict by name.

    Raises
    ------
    CsvHintError
        If a list does not have one class for each column.
    SchemaError
        If a hint is not a class whose values a column can hold.
    """
    if hints is None:
        return {}
    if isinstance(hints, dict):
        by_name = dict(hints)
    elif isinstance(hints, (list, tuple)):
        if len(hints) != len(names):
            raise CsvHintError(f"column_type_hints has {len(hints)} types for {len(names)} columns: give one each, or a dict by name")
        by_name = dict(zip(names, hints, strict=True))
    else:
        by_name = dict.fromkeys(names, hints)
    types = {name: column_type_for(kind) for name, kind in by_name.items()}
    # Types for items of any type and date-times with any offset, because later rows may differ from the first.
    general = {"datetime": ZONED_DATETIME, "list": ENCODED_LIST, "dict": ENCODED_DICT}
    return {name: general.get(kind.kind, kind) for name, kind in types.items()}
