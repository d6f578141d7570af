"""Texts as fields of CSV, all of a batch at once: as they are, or in quotes where they would not be read back without."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.io.csv.writer import BYTE_ORDER_MARK, ESCAPES, QUOTE_ALL, QUOTE_NONE, CsvFormat
from sframe_spark.types import STR_KIND
from sframe_spark.values.nested.text_spans import of_different, seem_repeated

_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())


def _table(characters: Sequence[str], place: int) -> np.ndarray:
    found = np.zeros(256, bool)
    found[[character.encode()[place] for character in characters]] = True
    return found


# Of the first byte of a text, and of its last one, whether it may start or end with what needs quotes.
_FIRST, _LAST = _table([*_SPACES, "[", "{", BYTE_ORDER_MARK], 0), _table([*_SPACES], -1)
# One after the other, so many cost less than a regular expression.
_FEW_MARKS = 2


def text_of(texts: pa.Array) -> memoryview:
    """The texts of an array end to end, without a copy.

    Examples
    --------
    >>> bytes(text_of(pa.array(["a", "é", None, "b"])))
    b'a\\xc3\\xa9b'
    """
    data, ends = texts.buffers()[2], _ends_of(texts)
    return memoryview(data)[int(ends[0]) : int(ends[-1])] if data is not None else memoryview(b"")


def _ends_of(texts: pa.Array) -> np.ndarray:
    """Where each text starts in the buffer, and where the last one ends."""
    wide = pa.types.is_large_string(texts.type)
    offsets = texts.buffers()[1]
    if offsets is None or not len(texts):
        return np.zeros(1, np.int64)
    return np.frombuffer(offsets, np.int64 if wide else np.int32)[texts.offset : texts.offset + len(texts) + 1]


def text_fields(values: pa.Array, form: CsvFormat, is_alone: bool = False) -> pa.Array:
    """Texts as fields, perhaps of an only column; missing ones stay.

    Examples
    --------
    >>> text_fields(pa.array(["plain", "a,b", "", "[1", None]), CsvFormat()).to_pylist()
    ['plain', '"a,b"', '""', '"[1"', None]
    """
    if form.quote_level == QUOTE_ALL:
        return quoted_texts(values, form)
    marks = found_in(values, _marks(form))
    if marks and seem_repeated(values):
        return of_different(values, lambda texts: _fields_of_some(texts, form, is_alone))
    chosen = _perhaps_special(values, form, marks)
    if not chosen.any():
        return values
    mask = pa.array(chosen)
    texts = values.filter(mask)
    fields = _fields_of_some(texts, form, is_alone)
    return values if fields is texts else pc.replace_with_mask(values, mask, fields)


def quoted_texts(texts: pa.Array, form: CsvFormat) -> pa.Array:
    """Texts in quotes, as :meth:`~.format.CsvFormat.quoted` writes each.

    Examples
    --------
    >>> quoted_texts(pa.array(['5" long', None]), CsvFormat()).to_pylist()
    ['"5"" long"', None]
    """
    if form.quote_level == QUOTE_NONE:
        return texts
    escape, quote = form.escape_char, form.quote_char
    replaced = [(escape, escape * 2), *((character, escape + letter) for character, letter in ESCAPES.items())] if escape else []
    replaced += [(quote, quote * 2 if form.double_quote else escape + quote)] if quote else []
    # What escapes stand for is in no escape, nor is a quote: who looks once has seen all.
    there = found_in(texts, [character for character, _ in replaced])
    for character, instead in replaced:
        if character in there:
            texts = pc.replace_substring(texts, character, instead)
    return pc.binary_join_element_wise(quote, texts, quote, "")


def found_in(texts: pa.Array, characters: Sequence[str]) -> list[str]:
    """Those of some characters that are in one of some texts.

    Examples
    --------
    >>> found_in(pa.array(["a,b", "c"]), ",;")
    [',']
    """
    data = bytes(text_of(texts))
    return [character for character in characters if character.encode() in data]


def _fields_of_some(texts: pa.Array, form: CsvFormat, is_alone: bool) -> pa.Array:
    """Fields of texts that may be others than they are themselves; of which most are."""
    fields, rest = texts, None
    if form.quote_level != QUOTE_NONE:
        in_quotes = pc.match_substring_regex(texts, texts_in_quotes(form))
        if in_quotes.true_count == len(texts):
            return quoted_texts(texts, form)
        if in_quotes.true_count:
            fields, rest = pc.if_else(in_quotes, quoted_texts(texts, form), texts), pc.invert(in_quotes)
    special = pc.match_substring_regex(texts, special_texts(form))
    special = special if rest is None else pc.and_(special, rest)
    if not special.true_count:
        return fields
    write = form.writer_of(STR_KIND, is_alone)
    return pc.replace_with_mask(fields, special, pa.array(list(map(write, texts.filter(special).to_pylist())), texts.type))


def _perhaps_special(values: pa.Array, form: CsvFormat, marks: Sequence[str]) -> np.ndarray:
    """Which texts may be other fields than they are themselves, for one of some marks or their ends: of the others none is, missing ones neither."""
    inside = _have_one_of(values, marks)
    ends = _ends_of(values)
    starts, ends, lengths = ends[:-1], ends[1:], np.diff(ends)
    chosen = lengths == 0
    data = values.buffers()[2]
    if data is not None and len(data) and form.quote_level != QUOTE_NONE:
        codes = np.frombuffer(data, np.uint8)
        # Of an empty text, which is chosen already, what stands beside it.
        chosen |= _FIRST[codes[np.minimum(starts, len(codes) - 1)]] | _LAST[codes[np.maximum(ends - 1, 0)]]
    if inside is not None:
        chosen |= inside
    return chosen & values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else chosen


def _have_one_of(values: pa.Array, marks: Sequence[str]) -> np.ndarray | None:
    if not marks:
        return None
    if len(marks) <= _FEW_MARKS:
        found = functools.reduce(pc.or_, (pc.match_substring(values, mark) for mark in marks))
    else:
        found = pc.match_substring_regex(values, _any_of(marks))
    return found.fill_null(False).to_numpy(zero_copy_only=False)


def _marks(form: CsvFormat) -> list[str]:
    """Characters that a text is another field with, perhaps."""
    marks = {*form.quote_char, *form.escape_char, "\n", "\t", "\r"}
    # A text may end with the start of a delimiter.
    return sorted(marks if form.quote_level == QUOTE_NONE else marks | {*form.delimiter, *form.line_terminator, "\\"})


@functools.lru_cache(maxsize=16)
def special_texts(form: CsvFormat) -> str:
    """A regular expression that matches every text that is not its own field, and perhaps others."""
    if form.quote_level == QUOTE_NONE:
        return f"^$|{_any_of(_marks(form))}"
    return f"^$|^{_any_of([*_SPACES, '[', '{', BYTE_ORDER_MARK])}|{_any_of(_SPACES)}$|{_any_of(_marks(form))}"


@functools.lru_cache(maxsize=16)
def texts_in_quotes(form: CsvFormat) -> str:
    """A regular expression that matches texts that are in quotes whatever else they hold, if not all of these."""
    parts = {mark for text in (form.delimiter, form.line_terminator) if len(text) > 1 for mark in text}
    sure = {*form.quote_char, *form.escape_char, "\n", "\t", "\r", "\\"}
    return f"^$|^{_any_of([*_SPACES, BYTE_ORDER_MARK])}|{_any_of(_SPACES)}$|{_any_of(sure | ({*_marks(form)} - parts))}"


def _any_of(characters: Sequence[str] | set[str]) -> str:
    return "[" + "".join(sorted(f"\\x{{{ord(character):x}}}" for character in characters)) + "]"
