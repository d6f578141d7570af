"""The fields of a block of CSV lines: by Arrow where that reads them as we mean them, one by one otherwise.

A field in quotes is what is between them; two quotes stand for one, and the escape character gives ``n``, ``t`` ... their meaning
there. White space around a field, quoted or not, does not belong to it. Any other quote is a character like all others. A list
or dict is one field up to its closing bracket.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from sframe_spark.api.csv_options import CsvOptions
from sframe_spark.errors import StorageError, travelling

SPACE = " \t"
SPACE_BYTES = np.frombuffer(SPACE.encode(), np.uint8)
_BRACKET_TOKENS = re.compile(r"""'(?:\\.|[^'\\\r\n])*'|"(?:\\.|[^"\\\r\n])*"|[\[\]{}\r\n]""")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


@attrs.frozen(eq=False)
class TextBlock:
    """Rows as columns of text, and the lines that are no rows.

    Parameters
    ----------
    columns
        One array of text per column.
    bad_lines
        Lines with another number of fields.
    rows
        Number of rows.
    """

    columns: tuple[pa.Array, ...]
    bad_lines: tuple[str, ...]
    rows: int


@travelling
class CsvEncodingError(StorageError, ValueError):
    """The file is not text in UTF-8; an OSError and, as in the reference, a ValueError."""


def decoded(block: bytes, path: str) -> str:
    """The text of a block.

    Raises
    ------
    CsvEncodingError
        If it is not UTF-8.
    """
    try:
        return block.decode()
    except UnicodeDecodeError as error:
        near = block[max(0, error.start - 20) : error.start + 20]
        raise CsvEncodingError(f"{path} is not text in UTF-8 (near {near!r}): convert it first, for example with iconv") from None


def text_block(block: bytes, width: int, wanted: Sequence[int], options: CsvOptions, path: str) -> TextBlock:
    """The rows of a block: the wanted ones of ``width`` columns."""
    plain = without_escapes(block, options)
    if is_plain(plain, width, options if plain is block else attrs.evolve(options, escape_char="")):
        try:
            return _by_arrow(plain, width, wanted, options)
        except pa.ArrowInvalid:
            # A quote that is not closed, or bytes that are no text: reading them one by one says which.
            pass
    return _one_by_one(decoded(block, path), width, wanted, options)


def without_escapes(block: bytes, options: CsvOptions) -> bytes:
    """A block with the characters themselves where they are escaped inside quotes, quotes doubled; the block if there is more to it."""
    escape, quote = options.escape_char.encode(), options.quote_char.encode()
    if len(escape) != 1 or len(quote) != 1 or escape not in block or quote not in block or not options.double_quote:
        return block
    letters = {ord(letter): character.encode() for letter, character in ESCAPES.items()}
    escaped = re.compile(re.escape(escape) + b"(.)", re.DOTALL)

    def character(match: re.Match[bytes]) -> bytes:
        return quote * 2 if match.group(1) == quote else letters.get(match.group(1)[0], match.group(1))

    e, q = re.escape(escape), re.escape(quote)
    pieces, end = [], 0
    for match in re.finditer(q + b"(?:[^" + q + e + b"]|" + e + b".)*+" + q + b"|" + q, block, flags=re.DOTALL):
        text = match.group()
        if text == quote:
            # Not closed: whoever looked on would look from every later quote to the end of the block.
            return block
        pieces += [block[end : match.start()], escaped.sub(character, text) if escape in text else text]
        end = match.end()
    return b"".join([*pieces, block[end:]])


def is_plain(block: bytes, width: int, options: CsvOptions) -> bool:
    """True when Arrow's reader understands a block as we do."""
    if len(options.delimiter.encode()) != 1 or options.delimiter == " " or options.comment_char or not options.usual_lines:
        return False
    characters = np.frombuffer(block, np.uint8)
    ends = np.frombuffer(options.delimiter.encode() + b"\r\n", np.uint8)
    if any(_starts_field(characters, ends, bracket).any() for bracket in b"[{" if bracket in block):
        return False
    quote = options.quote_char.encode()
    if not quote or quote not in block:
        return True
    if len(quote) > 1 or width == 1 or not options.double_quote or (options.escape_char and options.escape_char.encode() in block):
        return False
    return not _has_doubtful_quotes(characters, ends, quote[0])


def _starts_field(characters: np.ndarray, ends: np.ndarray, character: int) -> np.ndarray:
    """For each place of a character, whether a field starts there, white space left aside."""
    before = np.flatnonzero(characters == character) - 1
    active = np.arange(len(before))
    while len(active):
        active = active[(before[active] >= 0) & np.isin(characters[before[active]], SPACE_BYTES)]
        before[active] -= 1
    return (before < 0) | np.isin(characters[before], ends)


def _has_doubtful_quotes(characters: np.ndarray, ends: np.ndarray, quote: int) -> bool:
    """True when a quote is amid a field or not closed, or white space is beside one at either end of a field: Arrow keeps that."""
    places = np.flatnonzero(characters == quote)
    starts = _starts_field(characters, ends, quote)
    stops = _starts_field(characters[::-1], ends, quote)[::-1]
    before, after = characters[np.maximum(places - 1, 0)], characters[np.minimum(places + 1, len(characters) - 1)]
    spaced = np.isin(before, SPACE_BYTES) | np.isin(after, SPACE_BYTES)
    # Counted from the first, every second quote ends a field or is the first of two; the others start one or are the second of two.
    opening = starts | ((before == quote) & (places > 0))
    closing = stops | ((after == quote) & (places < len(characters) - 1))
    well_formed = len(places) % 2 == 0 and opening[::2].all() and closing[1::2].all()
    return not well_formed or bool(((starts | stops) & spaced).any())


def _by_arrow(block: bytes, width: int, wanted: Sequence[int], options: CsvOptions) -> TextBlock:
    bad: list[str] = []

    def keep(row: pcsv.InvalidRow) -> str:
        if row.text.strip(SPACE):
            bad.append(row.text)
        return "skip"

    quoted = bool(options.quote_char) and options.quote_char.encode() in block
    names = [str(place) for place in range(width)]
    kept = [names[place] for place in wanted]
    table = pcsv.read_csv(
        pa.BufferReader(block),
        pcsv.ReadOptions(column_names=names, block_size=len(block) + 1),
        pcsv.ParseOptions(
            delimiter=options.delimiter, quote_char=options.quote_char if quoted else False, newlines_in_values=quoted, invalid_row_handler=keep
        ),
        pcsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, include_columns=kept),
    )
    columns = tuple(pc.utf8_trim(column, characters=SPACE).combine_chunks() for column in table.columns)
    if width == 1 and columns and pc.any(pc.equal(columns[0], "")).as_py():
        columns = (columns[0].filter(pc.not_equal(columns[0], "")),)
    return TextBlock(columns, tuple(bad), len(columns[0]) if columns else 0)


@functools.lru_cache(maxsize=16)
def field_pattern(options: CsvOptions, skip_space: bool, unclosed: bool = False) -> re.Pattern[str]:
    """One field and what ends it: groups quoted text, rest after the quotes, plain text, end; white space before it is skipped or its own.

    Once a quote was found ``unclosed`` up to the end of the text, every later one is too, unless it is closed by one of the quotes right after it:
    looking for each of them would take quadratic time.
    """
    delimiter, quote, escape, comment = (
        re.escape(text) for text in (options.delimiter, options.quote_char, options.escape_char, options.comment_char)
    )
    terminator = r"\r\n|\n|\r" if options.usual_lines else re.escape(options.line_terminator)
    if options.usual_lines and len(options.delimiter) == 1:
        plain = rf"([^{delimiter}{comment}\r\n]*)"
    else:
        plain = rf"((?:(?!{'|'.join(filter(None, (delimiter, comment, terminator)))}).)*)"
    to_line_end = rf"{comment}(?:(?!{terminator}).)*(?:{terminator}|\Z)|" if comment else ""
    stop = rf"{delimiter}|{terminator}|\Z" + (f"|{comment}" if comment else "")
    amid = rf"{quote}(?!{quote + '|' if options.double_quote else ''}[ \t]*(?:{stop}))"
    parts = (rf"[^{quote}{escape}]", rf"{escape}." if escape else "", quote * 2 if options.double_quote else "", amid)
    inside = "|".join(filter(None, parts[2:3] if unclosed else parts)) or "(?!)"
    quoted = rf"{quote}((?:{inside})*+){quote}(?=[ \t]*(?:{stop})){plain}" if quote else "(?!)()()"
    space = ("[ ]*" if options.delimiter == "\t" else "[ \t]*") if skip_space else ""
    return re.compile(rf"{space}(?:{quoted}|{plain})({delimiter}|{to_line_end}{terminator}|\Z)", re.DOTALL)


def fields_of_first_line(text: str, options: CsvOptions) -> tuple[list[str], int]:
    """The fields of the first line that is not empty, and where the line ends; no fields if there is none."""
    position = 0
    while position < len(text):
        fields, position, _ = _line(text, position, options, is_header=options.header)
        if fields:
            return fields, position
    return [], position


def _line(text: str, start: int, options: CsvOptions, is_header: bool = False, unclosed: bool = False) -> tuple[list[str], int, bool]:
    """The fields of the line at a place, none if it is blank and lines are divided; the start of the next; whether a quote is unclosed."""
    fields: list[str] = []
    blank = True
    spaceless, position = field_pattern(options, True, unclosed), start
    # White space at the start of a header belongs to no name.
    pattern = spaceless if is_header else field_pattern(options, options.skip_initial_space, unclosed)
    while (match := pattern.match(text, position)) is not None:
        unclosed = unclosed or (match.group(1) is None and bool(options.quote_char) and text.startswith(options.quote_char, match.start(3)))
        pattern = field_pattern(options, options.skip_initial_space, unclosed)
        whole = _bracketed(text, match.start(3), spaceless) if match.group(3) and match.group(3)[0] in "[{" else None
        fields.append(_value(match, options, keeps_space=is_header) if whole is None else text[match.start(3) : whole.start(4)].rstrip(SPACE))
        match = whole or match
        blank = blank and match.group(1) is None and not fields[-1]
        position = match.end()
        if match.group(4) != options.delimiter:
            break
    return ([] if blank and len(fields) == 1 and not options.is_undivided else fields), position, unclosed


def _bracketed(text: str, start: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The end of a field that is a list or a dict and nothing more."""
    closing = closing_bracket(text, start)
    end = pattern.match(text, closing) if closing else None
    return end if end is not None and end.group(3) == "" else None


def closing_bracket(text: str, start: int) -> int:
    """Where the list or dict that starts at a place ends; 0 if it does not end on its line.

    Examples
    --------
    >>> closing_bracket('[1, {"a]": 2}] more', 0), closing_bracket("[1", 0)
    (14, 0)
    """
    depth = 0
    for token in _BRACKET_TOKENS.finditer(text, start):
        if token.group() in "[{":
            depth += 1
        elif token.group() in "]}":
            depth -= 1
        elif token.group() in "\r\n":
            return 0
        if not depth:
            return token.end()
    return 0


def _value(match: re.Match[str], options: CsvOptions, keeps_space: bool) -> str:
    quoted, _, plain, _ = match.groups()
    if quoted is None:
        text = str(plain.rstrip(SPACE))
        return text if keeps_space or text[:1] not in SPACE else _without_quotes(text.lstrip(SPACE), options)
    return _unescaped(quoted, options)


def _without_quotes(text: str, options: CsvOptions) -> str:
    """A field whose quotes came after white space that is not skipped, so that they did not hold a delimiter together."""
    quote = options.quote_char
    is_quoted = quote and len(text) > 1 and text[0] == text[-1] == quote
    return _unescaped(text[1:-1], options) if is_quoted else text


def _unescaped(quoted: str, options: CsvOptions) -> str:
    """What a text in quotes means."""
    if options.double_quote and options.quote_char in quoted:
        quoted = quoted.replace(options.quote_char * 2, options.quote_char)
    if options.escape_char and options.escape_char in quoted:
        quoted = re.sub(re.escape(options.escape_char) + "(.)", lambda found: ESCAPES.get(found.group(1), found.group(1)), quoted, flags=re.DOTALL)
    return str(quoted)


def _one_by_one(text: str, width: int, wanted: Sequence[int], options: CsvOptions) -> TextBlock:
    rows: list[list[str]] = []
    bad: list[str] = []
    position, unclosed = 0, False
    while position < len(text):
        start = position
        fields, position, unclosed = _line(text, start, options, unclosed=unclosed)
        if len(fields) == width:
            rows.append(fields)
        elif fields:
            bad.append(text[start:position].rstrip("\r\n"))
    columns = tuple(pa.array([row[place] for row in rows], pa.string()) for place in wanted)
    return TextBlock(columns, tuple(bad), len(rows))
