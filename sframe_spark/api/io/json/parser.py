"""Parses JSON files into blocks of values: the elements of one array, or the values on lines."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

import attrs
import pyarrow as pa

from sframe_spark.api.io.json.object_columns import JsonMembers, TypedMembers, members_of, typed_members
from sframe_spark.api.io.text_encoding import UTF_8, encoding_error, open_utf8
from sframe_spark.errors import InfiniteNumberError, JsonError
from sframe_spark.message_text import visible
from sframe_spark.storage.filesystem.byte_streams import FileRange, WholeLines, open_bytes
from sframe_spark.storage.filesystem.file_kind import TEXT, kind_of
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState

# Values, and lines that any thread may parse

ItemT = TypeVar("ItemT")
# Words and escapes up to this length may be cut off at the end of a block.
LONGEST_WORD = 64


@attrs.frozen
class JsonValues:
    """A block of values of a file.

    Parameters
    ----------
    path
        The file.
    values
        The values.
    lines
        The line on which each starts.
    size
        Their approximate number of characters in the file.
    is_plain
        Whether it is known that no value at any level is true, false, or an int of more than 64 bits.
    members
        The same values as columns, if all are objects of a common form.
    is_sparse
        Whether they are such objects, but with so many names that Python parses the values faster.
    """

    path: str
    values: Sequence[Any]
    lines: Sequence[int]
    size: int
    is_plain: bool = False
    members: JsonMembers | TypedMembers | None = None
    is_sparse: bool = False


# Python's parser refuses ints that would take long to parse, the only error without a position.
TOO_MANY_DIGITS = "a whole number has thousands of digits: write it as a text"


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InfiniteNumberError(text, LONGEST_WORD)
    return value


class JsonDecoder:
    """Python's JSON parser. Of several members of one name the last counts, as in Python and the reference.

    In an object that is a row of a frame the first one counts, as in the reference.

    Parameters
    ----------
    are_rows
        Whether the objects that are read are rows.
    refuses_infinity
        Whether a number that no float holds is an error, and not infinite.

    Examples
    --------
    >>> JsonDecoder(are_rows=True).decode('{"a":1,"a":2,"b":{"c":3,"c":4}}'), JsonDecoder(are_rows=False).decode('{"a":1,"a":2}')
    ({'a': 1, 'b': {'c': 4}}, {'a': 2})
    """

    def __init__(self, are_rows: bool, refuses_infinity: bool = True) -> None:
        self._are_rows = are_rows
        # Objects with several members of one name, by identity, and the same objects as rows.
        self._as_rows: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_float=_float if refuses_infinity else None)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if self._are_rows and len(members) < len(pairs):
            self._as_rows[id(members)] = members, {**members, **dict(reversed(pairs))}
        return members

    def decode(self, text: str) -> Any:
        """Return the one value in a text."""
        self._as_rows.clear()
        return self._rows([self._decoder.decode(text)])[0]

    def decode_elements(self, text: str) -> list[Any]:
        """Return the values in a text with commas between them."""
        self._as_rows.clear()
        elements: list[Any] = self._rows(self._decoder.decode(f"[{text}]"))
        return elements

    def raw_decode(self, text: str, start: int) -> tuple[Any, int]:
        """Return the value that begins at a place of a text, and where it ends."""
        self._as_rows.clear()
        value, end = self._decoder.raw_decode(text, start)
        return self._rows([value])[0], end

    def _rows(self, values: list[Any]) -> list[Any]:
        rows = self._as_rows
        return [rows[id(value)][1] if id(value) in rows else value for value in values] if rows else values


# A number that may be unusual: it has many digits before the point, or an exponent that may exceed all floats.
UNUSUAL_NUMBER = re.compile(r"[0-9][eE]\+?[0-9]{3}|(?:^|[^.0-9])[0-9]{19}")


def are_plain(text: str) -> bool:
    """Return whether a text without unusual numbers contains neither true nor false, which are numbers in columns."""
    return "true" not in text and "false" not in text


class LazyList(Sequence[ItemT]):
    """A list that is made when its items are first accessed."""

    def __init__(self, count: int, make: Callable[[], list[ItemT]]) -> None:
        self._count, self._make = count, make

    @cached_property
    def _made(self) -> list[ItemT]:
        return self._make()

    @overload
    def __getitem__(self, place: int) -> ItemT: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ItemT]: ...
    def __getitem__(self, place: int | slice) -> ItemT | Sequence[ItemT]:
        return self._made[place]

    def __len__(self) -> int:
        return self._count


@attrs.frozen(eq=False)
class JsonLines:
    """Lines of a file, each a value or blank.

    Parameters
    ----------
    path
        The file.
    text
        The lines.
    first_line
        The number of the first one.
    known
        Types of the members of objects, if all so far are numbers and texts.
    """

    path: str
    text: str
    first_line: int
    known: Mapping[str, pa.DataType]

    def read(self) -> JsonValues:
        """Parse the values.

        Raises
        ------
        JsonError
            If one is not JSON.
        """
        members = typed_members(self.text, self.known, on_lines=True) or members_of(self.text, on_lines=True)
        if members is None or members.is_sparse:
            return self._line_by_line(members is not None)
        return self._as_columns(members)

    def _as_columns(self, members: JsonMembers | TypedMembers) -> JsonValues:
        """Return objects, one on each line, as columns."""
        count = len(members.counts)
        values = LazyList(count, self._values)
        lines = LazyList(count, lambda: [number for number, _ in self._not_blank()])
        return JsonValues(self.path, values, lines, len(self.text), members=members)

    def _values(self) -> list[Any]:
        """Return the values, which are known to be valid."""
        decoder = JsonDecoder(are_rows=True)
        return [decoder.decode(line) for _, line in self._not_blank()]

    def _not_blank(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, and their numbers."""
        for number, line in enumerate(self.text.split("\n"), self.first_line):
            if line := line.strip(" \t\r"):
                yield number, line

    def _line_by_line(self, is_sparse: bool) -> JsonValues:
        numbered, decoder = list(self._not_blank()), JsonDecoder(are_rows=True)
        values = [self._parsed(decoder, line, number) for number, line in numbered]
        is_plain = are_plain(self.text) and not UNUSUAL_NUMBER.search(self.text)
        return JsonValues(self.path, values, [number for number, _ in numbered], len(self.text), is_plain, is_sparse=is_sparse)

    def _parsed(self, decoder: JsonDecoder, line: str, number: int) -> Any:
        try:
            return decoder.decode(line)
        except InfiniteNumberError as error:
            raise JsonError(f"{visible(self.path)}, line {number}: {error}") from None
        except json.JSONDecodeError as error:
            reason, advice = error.msg, "with orient='lines' each line is one JSON value; orient='records' reads one array"
        except ValueError:
            raise JsonError(f"{visible(self.path)}, line {number}: {TOO_MANY_DIGITS}") from None
        except RecursionError:
            reason, advice = "lists and objects are nested too deep", "keep inner ones in columns of their own"
        raise JsonError(f"{visible(self.path)}, line {number}: {visible(line[:60])!r} is not JSON ({reason}): {advice}")


Known = Callable[[], Mapping[str, pa.DataType]]
Blocks = tuple[int, int]
BLOCK_BYTES = 4 << 20
# Longer values are refused: an unclosed one would take the rest of the file into memory.
LONGEST_VALUE = 256 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_BEFORE_ELEMENT = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")


def values_of(path: str, is_array: bool, encoding: str = "utf-8", state: FileState | None = None) -> Iterator[JsonValues]:
    """Yield the values in a text file, block by block; ``state`` is that of a remote file when it was listed.

    Raises
    ------
    JsonError
        If the file is something else; it names the line.
    """
    with open_json(FileRange(path, state, 0), encoding) as text:
        yield from text.elements() if is_array else text.on_lines()


@contextlib.contextmanager
def open_json(
    place: FileRange,
    encoding: str,
    first_line: int = 1,
    reports_position: bool = True,
    known: Known = dict,
    blocks: Blocks | None = None,
    are_rows: bool = True,
) -> Iterator[JsonText]:
    """Open the values in a file, or on the lines that start in a range of a file in UTF-8, of which the first has a known number."""
    if not place.is_part:
        with open_utf8(place.path, encoding, place.state) as stream:
            yield JsonText(place, stream, encoding, known=known, blocks=blocks, are_rows=are_rows)
        return
    with translate_os_errors("read", place.path):
        stream = open_bytes(place.path, place.state, max(0, place.start - 1))
    with stream:
        yield JsonText(place, WholeLines(stream, place.start, place.stop), encoding, first_line, reports_position, known, blocks)


# What surrounds the comma between two objects in nearly all files.
_BETWEEN_OBJECTS = (("}\n", "{"), ("}", "\n{"), ("}", "{"), ("}", " {"), ("}\r\n", "{"), ("}", "\r\n{"))


def _lines_of_elements(text: str, line: int) -> list[int]:
    """Return the line on which each element of a part of an array begins, given the line of the part."""
    decoder = json.JSONDecoder()
    lines, counted, position = [], 0, 0
    while position < len(text):
        match = _BEFORE_ELEMENT.match(text, position)
        assert match is not None
        line, counted = line + text.count("\n", counted, match.end()), match.end()
        lines.append(line)
        position = decoder.raw_decode(text, counted)[1]
    return lines


def _array_of(text: str, decoder: JsonDecoder) -> list[Any] | None:
    """Return the elements of a part of an array; None if it was not cut between two elements."""
    try:
        return decoder.decode_elements(text)
    except (ValueError, RecursionError):
        return None


class JsonText:
    """The text of a file, read as it is needed.

    Parameters
    ----------
    place
        The file.
    stream
        Its bytes in UTF-8.
    encoding
        The encoding of the file.
    first_line
        The number of the first line.
    reports_position
        Whether an error about bytes that are no text names their position, for which the file is read again from its start.
    known
        Returns the types of the members of objects, if all so far are numbers and texts; called while reading.
    blocks
        Sizes of the first block and of later ones; None: the default.
    are_rows
        Whether the elements of an array are rows of a frame, or values of a column.
    """

    def __init__(
        self,
        place: FileRange,
        stream: Any,
        encoding: str,
        first_line: int = 1,
        reports_position: bool = True,
        known: Known = dict,
        blocks: Blocks | None = None,
        are_rows: bool = True,
    ) -> None:
        self._path, self._state, self._stream, self._encoding, self._reports_position = place.path, place.state, stream, encoding, reports_position
        # A byte order mark is one only at the start of a file.
        self._decoder = codecs.getincrementaldecoder("utf-8" if place.start else "utf-8-sig")()
        self._text, self._is_last, self._is_first = "", False, not place.start
        # The line of a position, from which further lines are counted.
        self._line, self._counted = first_line, 0
        self._known = known
        self._are_rows, self._reader, self._block_reader = are_rows, JsonDecoder(are_rows), JsonDecoder(are_rows, refuses_infinity=False)
        self._block_bytes, self._later_bytes = (min(size, BLOCK_BYTES) for size in blocks or (BLOCK_BYTES, BLOCK_BYTES))

    @property
    def line(self) -> int:
        """The number of the line up to which values were read."""
        return self._line

    def _fill(self) -> None:
        """Read more, at least doubling the text, so that long values are not scanned too often."""
        room = LONGEST_VALUE + 2 * BLOCK_BYTES - len(self._text)
        if room <= 0:
            raise self._wrong(0, f"a value has more than {LONGEST_VALUE:,} characters")
        size = max(self._block_bytes, min(len(self._text), room))
        with translate_os_errors("read", self._path):
            data = self._stream.read(size)
        # Text in other encodings arrives as UTF-8.
        if self._is_first and self._encoding in UTF_8 and (kind := kind_of(data)) is not None and kind != TEXT:
            raise JsonError(f"{visible(self._path)} is not JSON: it is {kind.name}; {kind.advice}")
        self._is_first, self._is_last = False, not data
        try:
            self._text += self._decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            if not self._reports_position:
                raise JsonError(f"{visible(self._path)} has bytes that are no text") from None
            raise encoding_error(self._path, "utf-8", self._state) from None

    def _drop(self, end: int) -> None:
        self._line_at(end)
        self._text, self._counted = self._text[end:], 0

    def _line_at(self, position: int) -> int:
        """Return the line of a position, counted from that of the previous call."""
        first, last = sorted((position, self._counted))
        between = self._text.count("\n", first, last)
        self._line += between if position == last else -between
        self._counted = position
        return self._line

    def _wrong(self, position: int, reason: str) -> JsonError:
        return JsonError(f"{visible(self._path)}, line {self._line_at(position)}: {reason}")

    def lines(self) -> Iterator[JsonLines]:
        """Yield the lines of the file, block by block, which any thread may parse."""
        while not self._is_last:
            self._fill()
            end = len(self._text) if self._is_last else self._text.rfind("\n") + 1
            if end:
                yield JsonLines(self._path, self._text[:end], self._line, self._known())
            self._block_bytes = self._later_bytes
            self._drop(end)

    def on_lines(self) -> Iterator[JsonValues]:
        """Yield one value from each line that is not blank."""
        yield from (block for lines in self.lines() if len((block := lines.read()).values))

    def elements(self) -> Iterator[JsonValues]:
        """Yield the elements of the one array in the file; none for an empty file."""
        position = self._next(0)
        if position is None:
            return
        if self._text[position] != "[":
            raise self._wrong(position, "the file is not one array of objects; orient='lines' reads an object on each line")
        position += 1
        is_first = True
        while True:
            block = self._block(position, is_first)
            if block is not None:
                yield block
                self._block_bytes, position, is_first = self._later_bytes, 0, False
                continue
            values, lines, size = [], [], 0
            while size < self._block_bytes:
                begin = self._after_comma(position, is_first)
                if begin is None:
                    break
                lines.append(self._line_at(begin))
                value, position = self._element(begin)
                values.append(value)
                is_first, size = False, size + position - begin
                # Dropping copies the rest, which may be much longer.
                if position > max(BLOCK_BYTES, len(self._text)) // 64:
                    self._drop(position)
                    position = 0
            if values:
                yield JsonValues(self._path, values, lines, size)
            if size < self._block_bytes:
                return
            self._block_bytes = self._later_bytes

    def _block(self, position: int, is_first: bool) -> JsonValues | None:
        """Return many elements, and drop them from the text; None if they have to be parsed one by one, as unusual or invalid ones."""
        end = self._end_of_block(position)
        begin = None if end is None else self._after_comma(position, is_first)
        if end is None or begin is None or begin >= end:
            return None
        text = self._text[begin:end].rstrip(" \t\r\n")
        members = typed_members(text, self._known(), on_lines=False) or members_of(text, on_lines=False)
        is_sparse = members is not None and members.is_sparse
        members = None if is_sparse else members
        values: Sequence[Any] | None = (
            None
            if members is None
            else LazyList(len(members.counts), lambda: JsonDecoder(self._are_rows, refuses_infinity=False).decode_elements(text))
        )
        if values is None and not UNUSUAL_NUMBER.search(text):
            values = _array_of(text, self._block_reader)
        if values is None:
            return None
        line = self._line_at(begin)
        lines = LazyList(len(values), lambda: _lines_of_elements(text, line))
        block = JsonValues(self._path, values, lines, len(text), members is None and are_plain(text), members, is_sparse)
        self._drop(end)
        return block

    def _end_of_block(self, position: int) -> int | None:
        """Return where the array ends, if all was read, or a likely end of its last complete element; None if that is too near."""
        while not self._is_last and len(self._text) - position < self._block_bytes:
            self._fill()
        if self._is_last:
            end = self._text.rfind("]")
            return None if self._text[end + 1 :].strip(" \t\r\n") else end
        # Without a match, rfind() gives -1, and the sum is a small position.
        end = max(self._text.rfind(f"{before},{after}", position) + len(before) for before, after in _BETWEEN_OBJECTS)
        return end if end >= position + self._block_bytes // 2 else None

    def _next(self, position: int) -> int | None:
        """Return the next position that is no white space; None at the end."""
        while True:
            match = _SPACE.match(self._text, position)
            assert match is not None
            if match.end() < len(self._text):
                return match.end()
            if self._is_last:
                return None
            self._fill()

    def _after_comma(self, position: int, is_first: bool) -> int | None:
        """Return where the next element starts; None where the array and the file end."""
        next_position = self._next(position)
        if next_position is None:
            raise self._wrong(len(self._text), "the array has no end: the file was cut off")
        if self._text[next_position] == "]":
            behind = self._next(next_position + 1)
            if behind is not None:
                raise self._wrong(behind, "something follows the end of the array: a file holds one")
            return None
        if is_first:
            return next_position
        if self._text[next_position] != ",":
            raise self._wrong(next_position, "a comma or the end of the array is missing")
        begin = self._next(next_position + 1)
        if begin is None:
            raise self._wrong(next_position, "the array has no end: the file was cut off")
        return begin

    def _element(self, begin: int) -> tuple[Any, int]:
        """Return a value and where it ends."""
        while True:
            reason = ""
            try:
                value, end = self._reader.raw_decode(self._text, begin)
                if end < len(self._text) or self._is_last:
                    return value, end
            except RecursionError:
                raise self._wrong(begin, "lists and objects are nested too deep: keep inner ones in columns of their own") from None
            except InfiniteNumberError as error:
                # A number at the end of the text may continue with an exponent that makes it small.
                at = self._text.index(error.text, begin)
                if self._is_last or at + len(error.text) < len(self._text) - LONGEST_WORD:
                    raise self._wrong(at, str(error)) from None
            except json.JSONDecodeError as error:
                reason = f"it is not JSON ({error.msg})"
                # An error far from the end of the text does not go away by reading on.
                if self._is_last or (error.pos < len(self._text) - LONGEST_WORD and not error.msg.startswith("Unterminated")):
                    raise self._wrong(error.pos, reason) from None
            except ValueError:
                raise self._wrong(begin, TOO_MANY_DIGITS) from None
            self._fill()
