"""Parses CSV text: line by line, which defines how text is read; and with Arrow, where Arrow certainly gives the same fields."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from sframe_spark.api.io.csv.options import CsvOptions
from sframe_spark.values.single_value_conversion import ESCAPED, ESCAPES

# Where fields and lines end, defined by parsing line by line

SPACE = " \t"
# Limit for a quoted field. Without it, a quote that is never closed would make the rest of the file one field. In a longer field, quotes are
# ordinary characters.
LONGEST_RECORD_BYTES = 64 * 1024 * 1024
_BRACKETS = r"[\[\]{}\r\n]"
_TEXTS = {"'": r"""'(?:\\.|[^'\\\r\n])*'|'""", '"': r'''"(?:\\.|[^"\\\r\n])*"|"'''}
# Tokens that matter inside brackets: quoted strings, unclosed quotes, brackets and line ends. The keys are the quotes that may still be closed.
_BRACKET_TOKENS = {quotes: re.compile("|".join([*map(_TEXTS.__getitem__, quotes), _BRACKETS])) for quotes in ("'\"", "'", '"', "")}


@attrs.frozen(eq=False)
class Patterns:
    """Regular expressions for the fields of a dialect. Their groups: quoted text, text with inner quotes, plain text, and the end of the field.

    Parameters
    ----------
    usual
        Any field; white space before it is ignored if the dialect says so.
    without_space
        Any field; white space before it is always ignored.
    unquoted
        A field in which quotes are ordinary characters.
    end
        White space, and the end of a field.
    margin
        Number of characters after a line that may still belong to its end.
    """

    usual: re.Pattern[str]
    without_space: re.Pattern[str]
    unquoted: re.Pattern[str]
    end: re.Pattern[str]
    margin: int


@functools.lru_cache(maxsize=16)
def patterns_of(options: CsvOptions) -> Patterns:
    """Return the regular expressions for a dialect."""
    delimiter, quote, comment = (re.escape(text) for text in (options.delimiter, options.quote_char, options.comment_char))
    terminator = r"\r\n|\n|\r" if options.has_standard_line_ends else re.escape(options.line_terminator)
    if options.has_standard_line_ends and len(options.delimiter) == 1:
        plain = rf"[^{delimiter}{comment}\r\n]*+"
    else:
        plain = rf"(?:(?!{'|'.join(filter(None, (delimiter, comment, terminator)))}).)*+"
    to_line_end = rf"{comment}(?:(?!{terminator}).)*+(?:{terminator}|\Z)|" if comment else ""
    end = rf"({delimiter}|{to_line_end}{terminator}|\Z)"
    stop = rf"{delimiter}|{terminator}|\Z" + (f"|{comment}" if comment else "")
    quoted = _quoted(quote, options, stop, plain) if quote else "(?!)()()"
    skipped = "[ ]*" if options.delimiter == "\t" else "[ \t]*"
    space = skipped if options.skip_initial_space else ""
    return Patterns(
        re.compile(rf"{space}(?:{quoted}|({plain})){end}", re.DOTALL),
        re.compile(rf"{skipped}(?:{quoted}|({plain})){end}", re.DOTALL),
        re.compile(rf"{space}(?:(?!)()()|({plain})){end}", re.DOTALL),
        re.compile(skipped + end, re.DOTALL),
        max(2, len(options.delimiter), len(options.line_terminator)),
    )


def _quoted(quote: str, options: CsvOptions, stop: str, plain: str) -> str:
    """Return the pattern of a field that begins with a quote. It scans no character more than twice, so unclosed quotes take no quadratic time."""
    escape = re.escape(options.escape_char)
    pairs = "|".join(filter(None, (f"{escape}." if escape else "", quote * 2 if options.double_quote else "")))
    within = rf"[^{quote}{escape}]*+" + (rf"(?:(?:{pairs})[^{quote}{escape}]*+)*+" if pairs else "")
    # Outside quotes, the escape character only escapes quotes and itself.
    escaped = f"{escape}[{quote}{escape}]|" if escape else ""
    outside = rf"(?:(?!{stop})(?:{escaped}[^{quote}]))*+"
    last, other = rf"{quote}(?=[ \t]*(?:{stop}))", rf"{quote}(?![ \t]*(?:{stop}))"
    parts = rf"{within}(?:{other}{outside}{other}{within})*+"
    return rf"{quote}({parts}(?:{other}{outside})?+){last}{plain}|({quote}{parts}{other}{outside})(?={stop})"


def read_line(text: str, start: int, options: CsvOptions, is_last: bool, is_header: bool = False, width: int = 0) -> tuple[list[str], int] | None:
    """Return the fields of the line at position ``start``, and where the next line starts. A blank line has no fields, unless each line is one field.

    Return None if the result depends on text that has not been read yet; ``is_last``: the text ends with the end of the file. ``width`` is the number
    of columns, or zero if it is unknown.

    Examples
    --------
    >>> read_line('1,"2\\n3"\\n4', 0, CsvOptions(), is_last=True), read_line('1,"2\\n3', 0, CsvOptions(), is_last=False)
    ((['1', '2\\n3'], 8), None)
    """
    fields: list[str] = []
    closing: dict[int, int] = {}
    blank = True
    patterns, position, delimiter = patterns_of(options), start, options.delimiter
    # White space before the first field of a header does not belong to the name.
    match = (patterns.without_space if is_header else patterns.usual).match(text, position)
    while match is not None:
        quoted, _, plain, end = match.groups()
        position = match.end()
        if plain is None:
            if position - match.start() > LONGEST_RECORD_BYTES // 4 and _is_too_long(text[match.start() : match.start(4)]):
                match = patterns.unquoted.match(text, match.start(2) if quoted is None else match.start(1) - 1)
                continue
        elif plain[:1] == options.quote_char != "" and not is_last and not _is_too_long(text[match.start(3) :]):
            return None
        bracketed = _bracketed(text, match.start(3), options, closing) if plain and plain[0] in "[{" else None
        if bracketed is None:
            fields.append(_value(match, options, keeps_space=is_header))
        else:
            value, end, position = bracketed
            fields.append(value)
        blank = blank and quoted is None and not fields[-1]
        if end != delimiter:
            break
        if options.is_blank_delimited and len(fields) >= width:
            # Only white space may be left of the line.
            rest = patterns.end.match(text, position)
            if rest is not None and rest.group(1) != delimiter:
                position = rest.end()
                break
        match = patterns.usual.match(text, position)
    if not is_last and position > len(text) - patterns.margin:
        return None
    return ([] if blank and len(fields) == 1 and not options.has_one_field else fields), position


def _is_too_long(text: str) -> bool:
    return len(text) > LONGEST_RECORD_BYTES or (len(text) > LONGEST_RECORD_BYTES // 4 and len(text.encode()) > LONGEST_RECORD_BYTES)


def _bracketed(text: str, start: int, options: CsvOptions, known: dict[int, int]) -> tuple[str, str, int] | None:
    """Return a field that is exactly a list or dict, its end, and where the next field starts; None if it is not. See :func:`closing_bracket`."""
    line_end = -1 if options.has_standard_line_ends or start in known else text.find(options.line_terminator, start)
    closing = closing_bracket(text, start, None if line_end < 0 else line_end, known)
    end = patterns_of(options).end.match(text, closing) if closing else None
    return None if end is None else (text[start:closing], end.group(1), end.end())


def closing_bracket(text: str, start: int, end: int | None = None, known: dict[int, int] | None = None) -> int:
    """Return where the list or dict that begins at a position ends; 0 if it does not end on its line.

    Parameters
    ----------
    text, start, end
        The text, and the range to scan, which begins with an opening bracket.
    known
        Results for other brackets of the same line, to which new results are added, so that not every opening bracket is scanned up to the end of the
        line. They can be reused, because the meaning of the text after a bracket does not depend on where the scan began.

    Examples
    --------
    >>> closing_bracket('[1, {"a]": 2}] more', 0), closing_bracket("[1", 0)
    (14, 0)
    """
    known = {} if known is None else known
    if start in known:
        return known[start]
    opened: list[int] = []
    position, limit, quotes = start, len(text) if end is None else end, "'\""
    while (token := _BRACKET_TOKENS[quotes].search(text, position, limit)) is not None:
        position, character = token.end(), token.group()
        if character in quotes:
            # This quote is not closed on the line, nor is any later quote of its kind, so from here on quotes of this kind are ordinary characters.
            quotes = quotes.replace(character, "")
            continue
        if character in "[{":
            opening = token.start()
            position = known.get(opening, position)
            if not position:
                break
            if opening not in known:
                opened.append(opening)
        elif character in "]}":
            known[opened.pop()] = position
        elif character in "\r\n":
            break
        if not opened:
            return position
    known.update(dict.fromkeys(opened, 0))
    return 0


class _QuotedEmpty(str):
    """An empty text that was in quotes, unlike an empty field. It equals ``""``; only :func:`quoted_empty_fields` distinguishes it."""

    __slots__ = ()


_QUOTED_EMPTY = _QuotedEmpty()


def quoted_empty_fields(fields: Sequence[str]) -> pa.Array | None:
    """Return a mask of the fields of a column, as :func:`read_line` gives them, that are empty and in quotes; None if none is."""
    mask = [field is _QUOTED_EMPTY for field in fields]
    return pa.array(mask) if any(mask) else None


def _value(match: re.Match[str], options: CsvOptions, keeps_space: bool) -> str:
    quoted, parts, plain, _ = match.groups()
    if quoted is not None:
        return _unescaped(quoted, options)
    text: str = (plain if parts is None else parts).rstrip(SPACE)
    if parts is not None or keeps_space or text[:1] not in SPACE:
        return text
    # After white space that the dialect does not ignore, quotes around a field do not protect delimiters, but do not belong to it either.
    text, quote = text.lstrip(SPACE), options.quote_char
    return _unescaped(text[1:-1], options) if quote and len(text) > 1 and text[0] == text[-1] == quote else text


def _unescaped(quoted: str, options: CsvOptions) -> str:
    """Return the text inside quotes with its escapes replaced."""
    if not quoted:
        return _QUOTED_EMPTY
    if options.double_quote and options.quote_char in quoted:
        quoted = quoted.replace(options.quote_char * 2, options.quote_char)
    if options.escape_char and options.escape_char in quoted:
        meanings = meanings_of(options)
        quoted = re.sub(re.escape(options.escape_char) + "(.)", lambda match: meanings.get(match.group(1), match.group()), quoted, flags=re.DOTALL)
    return str(quoted)


def meanings_of(options: CsvOptions) -> dict[str, str]:
    """Return what each character stands for after an escape character."""
    return {character: character for character in (*ESCAPED, options.escape_char, options.quote_char) if character} | ESCAPES


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Numbers of at least this size are examined as strings: an int may have more than 64 bits, and a float may have been written as a long int.
MAX_PLAIN = 10**18
SPACE_BYTES = np.frombuffer(SPACE.encode(), np.uint8)


@attrs.frozen
class NumberColumns:
    """The columns that Arrow parses directly as numbers.

    Parameters
    ----------
    types
        For each selected column, int64 or float64; None for a column that is read as strings.
    missing
        Fields that stand for a missing value.
    quoted_empty_is_text
        Whether an empty field in quotes is neither a number nor a missing one.
    """

    types: tuple[pa.DataType | None, ...] = ()
    missing: tuple[str, ...] = ()
    quoted_empty_is_text: bool = False

    def read_exactly_by_arrow(self, text: bytes, end: int, width: int, delimiter: str) -> bool:
        """Return whether Arrow converts each field of these columns as `column_types.py` would convert its text, or raises an error.

        It does not do so for hexadecimal numbers, which it reads as ints, nor for missing values that look like numbers and have white space around
        them.
        """
        if not any(self.types) or width == 1:
            return False
        spaces = [space.encode() for space in SPACE.replace(delimiter, "")]
        numbers = [missing.encode() for missing in self.missing if any(map(str.isdigit, missing))]
        misread = [(letter, b"0" + letter) for letter in (b"x", b"X")]
        misread += [(space, pattern) for space in spaces for number in numbers for pattern in (space + number, number + space)]
        # Search for one character first, which is much faster than for a pattern.
        return not any(text.find(character, 0, end) >= 0 and text.find(pattern, 0, end) >= 0 for character, pattern in misread)


NO_NUMBERS = NumberColumns()


@attrs.frozen(eq=False)
class ParsedLines:
    """The selected columns of some lines.

    Parameters
    ----------
    columns
        One array per column: numbers or strings.
    bad_lines
        Lines with a wrong number of fields.
    quoted_empty
        For each column a mask of the empty fields that are in quotes; None if there is none, or the column was parsed as numbers.
    """

    columns: tuple[pa.Array, ...]
    bad_lines: list[str]
    quoted_empty: tuple[pa.Array | None, ...]


@attrs.frozen(eq=False)
class Quotes:
    """The quoted parts of a text in which each quote opens or closes a quoted part.

    Parameters
    ----------
    opening, closing
        Indices of the quotes. A doubled quote closes one part and opens another.
    end
        Index of a quote that is not closed; the length of the text if there is none.
    """

    opening: np.ndarray
    closing: np.ndarray
    end: int


def arrow_safe_end(text: bytes, width: int, options: CsvOptions, is_last: bool) -> int:
    """Return the end of the last line up to which Arrow certainly parses a text as :func:`read_line` does; 0 if there is no such line.

    Parameters
    ----------
    text
        Bytes that begin with the start of a line.
    width
        Number of columns.
    options
        The dialect.
    is_last
        Whether the text ends with the end of the file.

    Examples
    --------
    >>> arrow_safe_end(b'1,2\\n3,"4\\n5', 2, CsvOptions(), is_last=False), arrow_safe_end(b'1,5" pipe\\n2,', 2, CsvOptions(), is_last=False)
    (4, 0)
    """
    if len(options.delimiter.encode()) != 1 or options.delimiter == " " or options.comment_char or not options.has_standard_line_ends:
        return 0
    quote = options.quote_char.encode()
    has_quotes = bool(quote) and quote in text
    if has_quotes and (len(quote) > 1 or width == 1 or not options.double_quote or len(options.escape_char.encode()) > 1):
        return 0
    escape = options.escape_char.encode() if options.escape_char.encode() in text else b""
    quotes = _quotes(text, quote if has_quotes else b"", escape)
    end = _last_line_end(text, quotes, is_last)
    characters = np.frombuffer(text, np.uint8)[:end]
    ends = np.frombuffer(options.delimiter.encode() + b"\r\n", np.uint8)
    if any(_starts_field(characters, ends, np.flatnonzero(characters == bracket)).any() for bracket in b"[{" if bracket in text):
        return 0
    return 0 if has_quotes and _has_doubtful_quotes(characters, ends, quotes, escape) else end


def _quotes(text: bytes, quote: bytes, escape: bytes) -> Quotes:
    if not escape or not quote:
        indices = np.flatnonzero(np.frombuffer(text, np.uint8) == quote[0]) if quote else np.zeros(0, int)
        return Quotes(indices[: len(indices) // 2 * 2 : 2], indices[1::2], int(indices[-1]) if len(indices) % 2 else len(text))
    bounds: list[tuple[int, int]] = []
    end = len(text)
    for match in _parts(quote, escape).finditer(text):
        if match.end() - match.start() == 1:
            # An unclosed quote: stop here, because each later quote would be searched up to the end of the text.
            end = match.start()
            break
        bounds.append((match.start(), match.end() - 1))
    opening, closing = np.array(bounds, int).reshape(-1, 2).T
    return Quotes(opening, closing, end)


def _parts(quote: bytes, escape: bytes) -> re.Pattern[bytes]:
    """Return a pattern that matches a quoted part, or a single unclosed quote."""
    q, e = re.escape(quote), re.escape(escape)
    return re.compile(q + b"[^" + q + e + b"]*+(?:" + e + b".[^" + q + e + b"]*+)*+" + q + b"|" + q, re.DOTALL)


def _last_line_end(text: bytes, quotes: Quotes, is_last: bool) -> int:
    """Return the end of the last complete line; 0 if there is none."""
    limit = quotes.end
    if is_last and limit == len(text):
        return limit
    terminator = b"\n"
    if b"\n" not in text and b"\r" in text:
        # The line end may be a carriage return whose line feed was not read yet.
        terminator, limit = b"\r", min(limit, len(text) - 1)
    while (line_end := text.rfind(terminator, 0, limit)) >= 0:
        part = int(np.searchsorted(quotes.opening, line_end)) - 1
        if part < 0 or quotes.closing[part] < line_end:
            return line_end + 1
        limit = int(quotes.opening[part])
    return 0


def _starts_field(characters: np.ndarray, ends: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return for each position whether a field starts there; white space before it is ignored."""
    before = positions - 1
    spaces = np.setdiff1d(SPACE_BYTES, ends)
    previous = characters.take(before, mode="clip")
    active = np.flatnonzero(_are_among(spaces, previous) & (before >= 0))
    while len(active):
        before[active] -= 1
        previous[active] = characters.take(before[active], mode="clip")
        active = active[(before[active] >= 0) & _are_among(spaces, previous[active])]
    return (before < 0) | _are_among(ends, previous)


def _are_among(letters: np.ndarray, characters: np.ndarray) -> np.ndarray:
    """Return for each character whether it is one of the given letters."""
    matches = characters == letters[0]
    for letter in letters[1:]:
        matches |= characters == letter
    return matches


def _has_doubtful_quotes(characters: np.ndarray, ends: np.ndarray, quotes: Quotes, escape: bytes) -> bool:
    """Return whether Arrow might read quotes differently: quotes inside fields, very long quoted fields, or white space next to a field's quotes."""
    number = int(np.searchsorted(quotes.opening, len(characters)))
    if not number:
        return False
    opening, closing = quotes.opening[:number], quotes.closing[:number]
    doubled = opening[1:] == closing[:-1] + 1
    if doubled.any():
        opening, closing = opening[np.concatenate([[True], ~doubled])], closing[np.concatenate([~doubled, [True]])]
    starts, stops = (_are_among(ends, characters.take(positions, mode="clip")) for positions in (opening - 1, closing + 1))
    # A line starts at the first character and ends at the last one.
    starts[0] |= opening[0] == 0
    stops[-1] |= closing[-1] == len(characters) - 1
    if not starts.all() or not stops.all():
        return True
    if len(characters) >= LONGEST_RECORD_BYTES and (closing - opening >= LONGEST_RECORD_BYTES - 1).any():
        return True
    return _has_space_at_ends(characters, opening, closing, escape)


def _has_space_at_ends(characters: np.ndarray, opening: np.ndarray, closing: np.ndarray, escape: bytes) -> bool:
    """Return whether a quoted field begins or ends with white space, escaped or not, because that would be trimmed after parsing."""
    # Indices are valid: each opening quote is followed, and each closing one preceded, at least by the other quote.
    if any(_are_among(SPACE_BYTES, characters.take(positions)).any() for positions in (opening + 1, closing - 1)):
        return True
    if not escape:
        return False
    positions = np.concatenate([opening + 1, closing - 2])
    escaped = characters[np.minimum(positions[characters[positions] == escape[0]] + 1, len(characters) - 1)]
    return bool(_are_among(np.append(SPACE_BYTES, ord("t")), escaped).any())


def without_escapes(text: bytes, options: CsvOptions) -> bytes:
    """Return the text with escapes inside quotes replaced by the characters they stand for; an escaped quote becomes a doubled one."""
    escape, quote = options.escape_char.encode(), options.quote_char.encode()
    if not escape or not quote or escape not in text or quote not in text:
        return text
    letters = {letter.encode(): character.encode() for letter, character in meanings_of(options).items()}
    escaped = re.compile(re.escape(escape) + b"(.)", re.DOTALL)

    def character(match: re.Match[bytes]) -> bytes:
        return quote * 2 if match.group(1) == quote else letters.get(match.group(1), match.group())

    return _parts(quote, escape).sub(lambda part: escaped.sub(character, part.group()) if escape in part.group() else part.group(), text)


def parse_with_arrow(
    text: bytes, end: int, width: int, selected: Sequence[int], options: CsvOptions, numbers: NumberColumns = NO_NUMBERS
) -> ParsedLines:
    """Return the selected columns of a text up to ``end``, and the lines with a wrong number of fields. The text must not contain escapes.

    Columns are strings. The columns in ``numbers`` are numbers if all their fields are numbers, and the text of no field is needed.

    Raises
    ------
    pa.ArrowInvalid
        If the bytes are not valid UTF-8.
    """
    if text.startswith(BYTE_ORDER_MARK):
        # Arrow always skips one byte order mark, so one is added before that of the text.
        text, end = BYTE_ORDER_MARK + text, len(BYTE_ORDER_MARK) + end
    _require_text(text, end)
    if numbers.read_exactly_by_arrow(text, end, width, options.delimiter):
        with contextlib.suppress(pa.ArrowInvalid):
            table, bad = _table(text, end, width, selected, options, numbers)
            if all(map(_is_plain, table.columns)):
                return ParsedLines(tuple(map(_trimmed, table.columns)), bad, (None,) * len(selected))
    table, bad = _table(text, end, width, selected, options, NO_NUMBERS)
    masks = tuple(map(_quoted_empty, table.columns)) if _has_quotes(text, end, options) else (None,) * len(selected)
    columns = tuple(map(_trimmed, table.columns))
    if width == 1 and columns and pc.any(pc.equal(columns[0], "")).as_py():
        columns = (columns[0].filter(pc.not_equal(columns[0], "")),)
    return ParsedLines(columns, bad, masks)


def _has_quotes(text: bytes, end: int, options: CsvOptions) -> bool:
    return bool(options.quote_char) and text.find(options.quote_char.encode(), 0, end) >= 0


def _quoted_empty(column: pa.ChunkedArray) -> pa.Array | None:
    """Return a mask of the empty strings of a column in which empty fields without quotes are null; None if there is none."""
    mask = pc.equal(column, "")
    return pc.fill_null(mask.combine_chunks(), False) if pc.any(mask).as_py() else None


def _require_text(text: bytes, end: int) -> None:
    """Raise an error for bytes that are not UTF-8. Arrow would check only the selected columns, and leave out malformed lines with such bytes.

    Raises
    ------
    pa.ArrowInvalid
        If bytes are not valid UTF-8.
    """
    offsets = pa.py_buffer(np.array([0, end], np.int64))
    pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(text)]).validate(full=True)


def _table(text: bytes, end: int, width: int, selected: Sequence[int], options: CsvOptions, numbers: NumberColumns) -> tuple[pa.Table, list[str]]:
    """Return the selected columns, and the lines with a wrong number of fields."""
    bad: list[str] = []
    blank = SPACE.replace(options.delimiter, "")

    def keep(row: pcsv.InvalidRow) -> str:
        if row.text.strip(blank):
            bad.append(row.text)
        return "skip"

    quoted = _has_quotes(text, end, options)
    names = list(map(str, range(width)))
    selected_names = list(map(str, selected))
    known = {name: kind for name, kind in zip(selected_names, numbers.types, strict=False) if kind is not None}
    table = pcsv.read_csv(
        pa.BufferReader(pa.py_buffer(text).slice(0, end)),
        # Blocks are parsed in parallel, each by one thread; several threads for one block would use 50% more CPU time.
        pcsv.ReadOptions(column_names=names, block_size=end + 1, use_threads=False),
        pcsv.ParseOptions(
            delimiter=options.delimiter, quote_char=options.quote_char if quoted else False, newlines_in_values=quoted, invalid_row_handler=keep
        ),
        pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()) | known,
            # Arrow compares fields with missing values before white space is trimmed, so missing values with white space around them cannot match.
            null_values=["", *(text for text in numbers.missing if text == text.strip(SPACE))],
            # Where columns are parsed as strings, empty fields are null until those in quotes are known.
            strings_can_be_null=quoted and not known,
            quoted_strings_can_be_null=bool(known) and not numbers.quoted_empty_is_text,
            check_utf8=False,
            include_columns=selected_names,
        ),
    )
    return table, bad


def _is_plain(column: pa.ChunkedArray) -> bool:
    """Return whether no value's text in the file is needed: ints and floats are smaller than ``MAX_PLAIN``, and floats are finite."""
    if pa.types.is_string(column.type):
        return True
    if pa.types.is_integer(column.type):
        # ``abs`` of Arrow has no result for the smallest int.
        extremes = pc.min_max(column).as_py()
        return all(value is None or abs(value) < MAX_PLAIN for value in extremes.values())
    return pc.all(pc.less(pc.abs(column), float(MAX_PLAIN)), min_count=0).as_py() is not False


def _trimmed(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, strings without white space at both ends and without nulls."""
    if not pa.types.is_string(column.type):
        return column.combine_chunks()
    text = pc.ascii_trim(column, characters=SPACE).combine_chunks()
    return pc.fill_null(text, "") if text.null_count else text
