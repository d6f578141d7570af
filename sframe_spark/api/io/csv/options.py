"""Options of CSV files: the dialect, what is read of a file, and how fields become values."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, TypeVar, cast

import attrs

from sframe_spark.api.io.text_encoding import text_encoding
from sframe_spark.errors import CsvCountError, CsvHintError, InvalidArgumentError, SchemaError, listed
from sframe_spark.message_text import is_unicode
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ZONED_DATETIME, ColumnType, type_of_class

NEWLINES = ("\n", "\r\n", "\r")
# Stands for a line break as delimiter, which makes every line one field. This code point is no Unicode character, so no text contains it.
IN_NO_TEXT = "\uffff"
DEFAULT_ROWS_TO_INFER = 100
_TEXTS = ("delimiter", "line_terminator", "comment_char", "escape_char", "quote_char")
# Other names of arguments, as pandas has them.
WRITE_ALIASES = {"sep": "delimiter", "quotechar": "quote_char", "doublequote": "double_quote", "lineterminator": "line_terminator"}
READ_ALIASES = {**WRITE_ALIASES, "comment": "comment_char"}
_ADVICE = "choose another, or an empty text for a character that the file does not use"


@attrs.frozen
class CsvOptions:
    """The dialect of a file, and which of its rows and columns are read.

    Parameters
    ----------
    delimiter
        Text between two fields.
    header
        Whether the first line holds the column names.
    comment_char
        Where a comment starts, which goes to the end of the line; empty: nowhere.
    escape_char
        Character that, inside quotes, takes away or gives the next one its meaning; empty: none. The quote itself: no more than
        that two quotes inside quotes mean one.
    double_quote
        Whether two quotes inside quotes mean one.
    quote_char
        Character around fields that hold anything; empty: none.
    line_terminator
        Text between two lines; each of the usual ones stands for all of them.
    skiprows
        Lines to leave out at the start of every file.
    nrows
        How many rows to read at most; None: all.
    skip_initial_space
        Whether white space before a field is as if it were not there. Otherwise it belongs to column names, a field that starts with it
        is not in quotes or brackets, and where the delimiter is a space each one ends a field.
    encoding
        How characters are written as bytes.
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
        for name in ("delimiter", "line_terminator"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise InvalidArgumentError(f"{name} must be a text of at least one character, got {getattr(self, name)!r}")
        for name in ("comment_char", "escape_char", "quote_char"):
            if not isinstance(getattr(self, name), str) or len(getattr(self, name)) > 1:
                raise InvalidArgumentError(f"{name} must be one character or empty, got {getattr(self, name)!r}")
        for name in _TEXTS:
            require_unicode_text(getattr(self, name), name)
        escape_by_doubling(self)
        self._require_distinct()

    def _require_distinct(self) -> None:
        """Refuse one text with two meanings: which of them applies would depend on where a block of the file ends.

        Raises
        ------
        InvalidArgumentError
            If there is one.
        """
        ends = line_ends(self.line_terminator)
        characters = {name: getattr(self, name) for name in ("comment_char", "escape_char", "quote_char") if getattr(self, name)}
        for name, character in characters.items():
            for other, texts in (("delimiter", (self.delimiter,)), ("line_terminator", ends)):
                if any(character in text for text in texts):
                    raise InvalidArgumentError(f"{name} and {other} must differ, {character!r} is in both: {_ADVICE}")
        for one, other in itertools.combinations(characters, 2):
            if characters[one] == characters[other]:
                raise InvalidArgumentError(f"{one} and {other} must differ, both are {characters[one]!r}: {_ADVICE}")
        if self.quote_char in (" ", "\t"):
            raise InvalidArgumentError(f"quote_char must not be white space, which belongs to no field, got {self.quote_char!r}: {_ADVICE}")
        if any(end.startswith(self.delimiter) for end in ends):
            raise InvalidArgumentError(
                f"line_terminator {self.line_terminator!r} must not start with the delimiter {self.delimiter!r}: no line would end"
            )

    @property
    def is_undivided(self) -> bool:
        """Whether every line is one field, even a blank one."""
        return self.delimiter == IN_NO_TEXT

    @property
    def is_blank_delimited(self) -> bool:
        """Whether fields are separated by blanks, so that blanks at the end of a line need not separate anything."""
        return not self.delimiter.strip(" ")

    @property
    def has_standard_line_ends(self) -> bool:
        """Whether lines end as in text files: with a line feed, a carriage return or both."""
        return self.line_terminator in NEWLINES


def escape_by_doubling(dialect: Any) -> None:
    """Leave doubled quotes as the only escape of a dialect whose quote is also its escape character.

    Otherwise a doubled quote would be unescaped twice when read, and written as four quotes.
    """
    if dialect.escape_char and dialect.escape_char == dialect.quote_char:
        object.__setattr__(dialect, "escape_char", "")
        object.__setattr__(dialect, "double_quote", True)


def line_ends(terminator: str) -> tuple[str, ...]:
    """Return the texts that end a line."""
    return NEWLINES if terminator in NEWLINES else (terminator,)


@attrs.frozen
class CsvValues:
    """How fields become values.

    Parameters
    ----------
    missing
        Texts that mean a missing value; an empty field is missing in every column but those of text.
    true_values, false_values
        Texts that mean 1 and 0 in columns of numbers.
    """

    missing: tuple[str, ...] = ("NA",)
    true_values: tuple[str, ...] = ()
    false_values: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class CsvRequest:
    """A user's request to read CSV, in the order of the reference's arguments.

    Parameters
    ----------
    url
        A path, a directory, a pattern, a URL, or a list of these; files of a directory are read in name order, compressed ones too.
    delimiter, header, comment_char, escape_char, double_quote, quote_char, skip_initial_space, line_terminator, nrows, skiprows
        See :class:`CsvOptions`; no number of rows means all. A line break as delimiter makes every line one field.
    error_bad_lines
        Raise at the first line that is no row.
    nrows_to_infer
        Where ``nrows`` is less: types are inferred from so many rows of the files. Otherwise they are inferred from all rows.
    column_type_hints
        A class for all columns, a list of classes, or a dict from name to class: no inference there, and a line with
        another value is no row.
    na_values, true_values, false_values
        See :class:`CsvValues`.
    usecols
        Names of the columns to read; empty: all.
    verbose
        Log at level INFO what was read.
    encoding
        How the files' characters are written as bytes: ``utf-8``, ``latin-1``, ``utf-16`` or any other that Python knows.
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

    def dialect(self) -> CsvOptions:
        """Return the dialect of the files."""
        rows = None if self.nrows is None else count(self.nrows, "nrows") or None
        delimiter = IN_NO_TEXT if self.delimiter in NEWLINES else self.delimiter
        return CsvOptions(
            delimiter, bool(self.header), self.comment_char or "", self.escape_char or "", bool(self.double_quote),
            self.quote_char or "", self.line_terminator, count(self.skiprows, "skiprows"), rows,
            bool(self.skip_initial_space), text_encoding(self.encoding),
        )  # fmt: skip

    @property
    def rows_to_infer(self) -> int:
        """The number of rows from which types are inferred if fewer are read."""
        return DEFAULT_ROWS_TO_INFER if self.nrows_to_infer is None else count(self.nrows_to_infer, "nrows_to_infer")

    def values(self) -> CsvValues:
        """Return how fields become values."""
        names = ("na_values", "true_values", "false_values")
        return CsvValues(*(texts(getattr(self, name), name) for name in names))


OptionsT = TypeVar("OptionsT")
# What to use instead of arguments of pandas and Polars.
INSTEAD = {
    "dtype": "use column_type_hints={'a': int}",
    "dtypes": "use column_type_hints={'a': int}",
    "schema": "use column_type_hints={'a': int}",
    "parse_dates": "read texts, then sf['a'] = sf['a'].str_to_datetime('%Y-%m-%d')",
    "date_format": "read texts, then sf['a'] = sf['a'].str_to_datetime('%Y-%m-%d')",
    "decimal": "read texts, then sf['a'] = sf['a'].apply(lambda text: float(text.replace(',', '.')))",
    "thousands": "read texts, then sf['a'] = sf['a'].apply(lambda text: float(text.replace(',', '')))",
    "names": "use header=False, then rename({'X1': 'a', 'X2': 'b'})",
    "index_col": "nothing: rows are numbered from 0",
    "compression": "nothing: names that end in .gz and such tell",
    "separator": "use delimiter",
    "comment": "use comment_char",
}


def with_alias_arguments(dialect: OptionsT, options: Mapping[str, Any], aliases: Mapping[str, str], doing: str) -> OptionsT:
    """Return a dialect or request with arguments given by their alternative names.

    Raises
    ------
    SchemaError
        If an argument has an unknown name.

    Examples
    --------
    >>> with_alias_arguments(CsvOptions(), {"sep": ";"}, READ_ALIASES, "reading CSV").delimiter
    ';'
    """
    unknown = [name for name in options if name not in aliases]
    if unknown:
        names = [field.name for field in attrs.fields(cast(Any, type(dialect))) if field.name != "url"]
        advice = "".join(f"; instead of {name} {INSTEAD[name]}" for name in unknown if name in INSTEAD)
        raise SchemaError(f"{doing} takes no argument {listed(unknown)}: it takes {', '.join(names)}{advice}")
    return cast(OptionsT, attrs.evolve(cast(Any, dialect), **{aliases[name]: value for name, value in options.items()}))


def count(value: Any, name: str) -> int:
    """Return a number of rows or lines; negative ones count as zero, as in the reference.

    Raises
    ------
    CsvCountError
        If it is no whole number.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise CsvCountError(f"{name} is a whole number, got {value!r}")
    return max(0, value)


def texts(values: Any, name: str) -> tuple[str, ...]:
    """Return texts given as a list or a single one; none for None.

    Raises
    ------
    SchemaError
        If they are not texts.
    InvalidArgumentError
        If no file holds one.
    """
    strings = (values,) if isinstance(values, str) or not isinstance(values, (Iterable, NoneType)) else tuple(values or ())
    if not all(isinstance(value, str) for value in strings):
        raise SchemaError(f"{name} holds texts, got {values!r}")
    for value in strings:
        require_unicode_text(value, name)
    return strings


def require_unicode_text(value: str, name: str) -> None:
    """Refuse a text that no file holds, of an argument of a name.

    Raises
    ------
    InvalidArgumentError
        If it has half of a character.
    """
    if not is_unicode(value):
        raise InvalidArgumentError(f"{name} {value!r:.60} is not Unicode text, it has half of a character: give another")


def chosen_columns(names: list[str], usecols: Any) -> list[int]:
    """Return the indices of the columns to read, in the requested order; all if none is named.

    Raises
    ------
    CsvHintError
        If a name is not there, or is given twice.
    """
    requested = list(texts(usecols, "usecols"))
    # Searching a list for each name would take quadratic time.
    places, numbers = dict(zip(reversed(names), range(len(names))[::-1], strict=True)), collections.Counter(requested)
    for name in requested:
        if name not in places:
            raise CsvHintError(f"usecols: the file has no column {name!r}, its columns are {', '.join(map(repr, names))}")
        if numbers[name] > 1:
            raise CsvHintError(f"usecols names {name!r} twice")
    return [places[name] for name in requested] if requested else list(range(len(names)))


def hinted_types(hints: Any, names: list[str]) -> dict[str, ColumnType]:
    """Return the column types requested by the user: one class for all columns, a list of classes, or a dict by name.

    Raises
    ------
    CsvHintError
        If a list has another length than there are columns.
    SchemaError
        If a hint is not the class of a column type.
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
    types = {name: type_of_class(kind) for name, kind in by_name.items()}
    # Encodings that hold any value of their kind, as later rows may differ from the first.
    general = {"datetime": ZONED_DATETIME, "list": ENCODED_LIST, "dict": ENCODED_DICT}
    return {name: general.get(kind.kind, kind) for name, kind in types.items()}
