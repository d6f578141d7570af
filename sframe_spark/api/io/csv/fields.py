"""Where the fields and lines of CSV text end: the one home of that rule, which reads text line by line.

A field in quotes starts with one, white space aside, and ends at the first that is followed by the end of the field. Between them anything
may stand: two quotes for one, and the escape character, which gives ``n``, ``t`` ... their meaning. Quotes amid such a field that are neither
open and close parts of it; where the field ends outside of such parts, it is not in quotes but holds them, and they still keep delimiters and
line breaks together. A quote that nothing closes, and any quote in a field that starts otherwise, is a character like all others. White space
around a field, quoted or not, does not belong to it. A list or dict is one field up to its closing bracket, if that is on its line. Where blanks are
the delimiter, those at the end of a line which has all its fields start no other.
"""

from __future__ import annotations

import functools
import re

import attrs

from sframe_spark.api.io.csv.options import CsvOptions
from sframe_spark.values.convert import ESCAPED, ESCAPES

SPACE = " \t"
# A quote that is never closed would make the rest of a file one field: a field of more bytes is not in quotes.
LONGEST_RECORD_BYTES = 64 * 1024 * 1024
_BRACKETS = r"[\[\]{}\r\n]"
_TEXTS = {"'": r"""'(?:\\.|[^'\\\r\n])*'|'""", '"': r'''"(?:\\.|[^"\\\r\n])*"|"'''}
# By the quotes that may still be closed on the line, what matters there: texts in quotes, quotes that nothing closes, brackets, ends of lines.
_BRACKET_TOKENS = {quotes: re.compile("|".join([*map(_TEXTS.__getitem__, quotes), _BRACKETS])) for quotes in ("'\"", "'", '"', "")}


@attrs.frozen(eq=False)
class Patterns:
    """What the fields of a dialect look like: groups text in quotes, text with quotes that are not around it, plain text, end.

    Parameters
    ----------
    usual
        Any field; white space before it is left out if the dialect says so.
    spaceless
        The same without white space before it, whatever the dialect says.
    unquoted
        A field whose quotes are characters like all others.
    end
        White space and the end of a field.
    margin
        So many characters of what follows a line may belong to its end.
    """

    usual: re.Pattern[str]
    spaceless: re.Pattern[str]
    unquoted: re.Pattern[str]
    end: re.Pattern[str]
    margin: int


@functools.lru_cache(maxsize=16)
def patterns_of(options: CsvOptions) -> Patterns:
    """The patterns of a dialect."""
    delimiter, quote, comment = (re.escape(text) for text in (options.delimiter, options.quote_char, options.comment_char))
    terminator = r"\r\n|\n|\r" if options.usual_lines else re.escape(options.line_terminator)
    if options.usual_lines and len(options.delimiter) == 1:
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
    """A field that starts with a quote; nothing is looked at more than twice, so that text without an end costs no quadratic time."""
    escape = re.escape(options.escape_char)
    pairs = "|".join(filter(None, (f"{escape}." if escape else "", quote * 2 if options.double_quote else "")))
    within = rf"[^{quote}{escape}]*+" + (rf"(?:(?:{pairs})[^{quote}{escape}]*+)*+" if pairs else "")
    # Outside an escape character takes away the meaning of quotes and of itself, of nothing else.
    escaped = f"{escape}[{quote}{escape}]|" if escape else ""
    outside = rf"(?:(?!{stop})(?:{escaped}[^{quote}]))*+"
    last, other = rf"{quote}(?=[ \t]*(?:{stop}))", rf"{quote}(?![ \t]*(?:{stop}))"
    parts = rf"{within}(?:{other}{outside}{other}{within})*+"
    return rf"{quote}({parts}(?:{other}{outside})?+){last}{plain}|({quote}{parts}{other}{outside})(?={stop})"


def read_line(text: str, start: int, options: CsvOptions, is_last: bool, is_header: bool = False, width: int = 0) -> tuple[list[str], int] | None:
    """The fields of the line at a place, none if it is blank and lines are divided, and where the next one starts.

    None if it depends on what follows the text; ``is_last``: nothing does. ``width``: so many fields a line has at least, as far as is known.

    Examples
    --------
    >>> read_line('1,"2\\n3"\\n4', 0, CsvOptions(), is_last=True), read_line('1,"2\\n3', 0, CsvOptions(), is_last=False)
    ((['1', '2\\n3'], 8), None)
    """
    fields: list[str] = []
    closing: dict[int, int] = {}
    blank = True
    patterns, position, delimiter = patterns_of(options), start, options.delimiter
    # White space at the start of a header belongs to no name.
    match = (patterns.spaceless if is_header else patterns.usual).match(text, position)
    while match is not None:
        quoted, _, plain, end = match.groups()
        position = match.end()
        if plain is None:
            if position - match.start() > LONGEST_RECORD_BYTES // 4 and _is_too_long(text[match.start() : match.start(4)]):
                match = patterns.unquoted.match(text, match.start(2) if quoted is None else match.start(1) - 1)
                continue
        elif plain[:1] == options.quote_char != "" and not is_last and not _is_too_long(text[match.start(3) :]):
            return None
        whole = _bracketed(text, match.start(3), options, closing) if plain and plain[0] in "[{" else None
        if whole is None:
            fields.append(_value(match, options, keeps_space=is_header))
        else:
            value, end, position = whole
            fields.append(value)
        blank = blank and quoted is None and not fields[-1]
        if end != delimiter:
            break
        if options.is_blank_delimited and len(fields) >= width and (rest := _blank_rest(text, position, patterns, delimiter)) is not None:
            position = rest
            break
        match = patterns.usual.match(text, position)
    if not is_last and position > len(text) - patterns.margin:
        return None
    return ([] if blank and len(fields) == 1 and not options.is_undivided else fields), position


def _blank_rest(text: str, position: int, patterns: Patterns, delimiter: str) -> int | None:
    """Where the next line starts if nothing but white space is left of this one; None otherwise."""
    rest = patterns.end.match(text, position)
    return None if rest is None or rest.group(1) == delimiter else rest.end()


def _is_too_long(text: str) -> bool:
    return len(text) > LONGEST_RECORD_BYTES or (len(text) > LONGEST_RECORD_BYTES // 4 and len(text.encode()) > LONGEST_RECORD_BYTES)


def _bracketed(text: str, start: int, options: CsvOptions, known: dict[int, int]) -> tuple[str, str, int] | None:
    """A field that is a list or a dict and nothing more, what ends it, and where the next one starts; ``known`` as for :func:`closing_bracket`."""
    line_end = -1 if options.usual_lines or start in known else text.find(options.line_terminator, start)
    closing = closing_bracket(text, start, None if line_end < 0 else line_end, known)
    end = patterns_of(options).end.match(text, closing) if closing else None
    return None if end is None else (text[start:closing], end.group(1), end.end())


def closing_bracket(text: str, start: int, end: int | None = None, known: dict[int, int] | None = None) -> int:
    """Where the list or dict that starts at a place ends; 0 if it does not end on its line.

    Parameters
    ----------
    text, start, end
        Where to look; there is an opening bracket at the start.
    known
        What was found for brackets of the same line, and is added to: they are opened in many fields, and whoever looked for the end of each
        would look from each to the end of the line. What follows a bracket means the same wherever the look at it began.

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
            # Nothing closes it, and so no other of its kind after it: each would be looked for to the end of the line.
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


def _value(match: re.Match[str], options: CsvOptions, keeps_space: bool) -> str:
    quoted, parts, plain, _ = match.groups()
    if parts is not None:
        return str(parts.rstrip(SPACE))
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
        meanings = meanings_of(options)
        quoted = re.sub(re.escape(options.escape_char) + "(.)", lambda found: meanings.get(found.group(1), found.group()), quoted, flags=re.DOTALL)
    return str(quoted)


def meanings_of(options: CsvOptions) -> dict[str, str]:
    """What the characters mean to which an escape character gives another meaning, or none."""
    return {character: character for character in (*ESCAPED, options.escape_char, options.quote_char) if character} | ESCAPES
