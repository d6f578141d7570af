"""Parses JSON files into blocks of values: the elements of one array, or one value per line."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import attrs
import pyarrow as pa

from sframe_spark.api.io.json.vectorized_parser import JsonMembers, TypedMembers, members_of, typed_members
from sframe_spark.api.io.text_encoding import UTF_8, encoding_error, open_utf8
from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import InfiniteNumberError, JsonError
from sframe_spark.message_text import visible
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import FileRange, WholeLines, open_bytes
from sframe_spark.storage.filesystem.format_recognition import TEXT, kind_of
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState

# Values, and lines to parse

ItemT = TypeVar("ItemT")
# Number of characters at the end of a block that may belong to a word, number or escape that continues in the next block.
LONGEST_WORD = 64


@attrs.frozen
class JsonValues:
    """A block of values from one file.

    Parameters
    ----------
    path
        The file.
    values
        The values.
    lines
        For each value, the number of the line on which it starts.
    size
        Approximate number of characters of the values in the file.
    is_plain
        True if no value at any level is true, false, or an int of more than 64 bits; False if this is unknown.
    members
        The values as columns, if all are objects in a simple form.
    is_sparse
        Whether the values are such objects, but with so many names that Python parses them faster than columns can be made.
    """

    path: str
    values: Sequence[Any]
    lines: Sequence[int]
    size: int
    is_plain: bool = False
    members: JsonMembers | TypedMembers | None = None
    is_sparse: bool = False


# The message for the only error of Python's parser without a position: it refuses ints with thousands of digits, which are slow to parse.
TOO_MANY_DIGITS = "a whole number has thousands of digits: write it as a text"


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InfiniteNumberError(text, LONGEST_WORD)
    return value


class JsonDecoder:
    """Python's JSON parser. If an object has several members of one name, the last one is used, as in Python and Turi Create.

    If the object is a row of a frame, the first one is used, as in Turi Create.

    Parameters
    ----------
    are_rows
        Whether objects at the top level are rows of a frame.
    refuses_infinity
        Whether a number that is too large for a float raises an error; otherwise it becomes infinite.

    Examples
    --------
    >>> JsonDecoder(are_rows=True).decode('{"a":1,"a":2,"b":{"c":3,"c":4}}'), JsonDecoder(are_rows=False).decode('{"a":1,"a":2}')
    ({'a': 1, 'b': {'c': 4}}, {'a': 2})
    """

    def __init__(self, are_rows: bool, refuses_infinity: bool = True) -> None:
        self._are_rows = are_rows
        # For objects with several members of one name, by id(): the object as a value, and the same object as a row.
        self._as_rows: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_float=_float if refuses_infinity else None)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if self._are_rows and len(members) < len(pairs):
            self._as_rows[id(members)] = members, {**members, **dict(reversed(pairs))}
        return members

    def decode(self, text: str) -> Any:
        """Return the value that a text consists of."""
        self._as_rows.clear()
        return self._rows([self._decoder.decode(text)])[0]

    def decode_elements(self, text: str) -> list[Any]:
        """Return the values in a text, which are separated by commas."""
        self._as_rows.clear()
        elements: list[Any] = self._rows(self._decoder.decode(f"[{text}]"))
        return elements

    def raw_decode(self, text: str, start: int) -> tuple[Any, int]:
        """Return the value that begins at position ``start`` of a text, and the position where it ends."""
        self._as_rows.clear()
        value, end = self._decoder.raw_decode(text, start)
        return self._rows([value])[0], end

    def _rows(self, values: list[Any]) -> list[Any]:
        rows = self._as_rows
        return [rows[id(value)][1] if id(value) in rows else value for value in values] if rows else values


# Matches numbers that Python and Arrow may read differently: with 19 or more digits, or with a large exponent.
UNUSUAL_NUMBER = re.compile(r"[0-9][eE]\+?[0-9]{3}|(?:^|[^.0-9])[0-9]{19}")


def are_plain(text: str) -> bool:
    """Return whether a text without unusual numbers contains neither ``true`` nor ``false``, which become numbers in columns."""
    return "true" not in text and "false" not in text


class LazyList(Sequence[ItemT]):
    """A list of known length, whose items are computed when one of them is first accessed."""

    def __init__(self, count: int, make: Callable[[], list[ItemT]]) -> None:
        self._count, self._make = count, make

    @cached_property
    def _items(self) -> list[ItemT]:
        return self._make()

    @overload
    def __getitem__(self, index: int) -> ItemT: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ItemT]: ...
    def __getitem__(self, index: int | slice) -> ItemT | Sequence[ItemT]:
        return self._items[index]

    def __len__(self) -> int:
        return self._count


@attrs.frozen(eq=False)
class JsonLines:
    """Some lines of a file; each is a JSON value or blank.

    Parameters
    ----------
    path
        The file.
    text
        The lines.
    first_line
        The number of the first line.
    known
        Types of the members of objects, if all values read so far are objects of numbers and strings; else empty.
    """

    path: str
    text: str
    first_line: int
    known: Mapping[str, pa.DataType]

    def read(self) -> JsonValues:
        """Parse the lines. Any thread may call this.

        Raises
        ------
        JsonError
            If a line is not JSON.
        """
        members = typed_members(self.text, self.known, on_lines=True) or members_of(self.text, on_lines=True)
        if members is None or members.is_sparse:
            return self._line_by_line(members is not None)
        return self._as_columns(members)

    def _as_columns(self, members: JsonMembers | TypedMembers) -> JsonValues:
        """Return the values on the lines, which are objects already parsed as columns; each value is parsed only if it is accessed."""
        count, decoder = len(members.counts), JsonDecoder(are_rows=True)
        values = LazyList(count, lambda: [decoder.decode(line) for _, line in self._not_blank()])
        lines = LazyList(count, lambda: [number for number, _ in self._not_blank()])
        return JsonValues(self.path, values, lines, len(self.text), members=members)

    def _not_blank(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line that is not blank."""
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
# Longer values raise an error; otherwise a value that is never closed would be read into memory up to the end of the file.
LONGEST_VALUE = 256 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_BEFORE_ELEMENT = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")


def values_of(path: str, is_array: bool, encoding: str = "utf-8", state: FileState | None = None) -> Iterator[JsonValues]:
    """Yield the values of a text file, block by block; ``state`` is the state of a remote file when it was listed.

    Raises
    ------
    JsonError
        If the file does not have the requested form; the error names the line.
    """
    with open_json(FileRange(path, state, 0), encoding) as text:
        yield from text.elements() if is_array else text.on_lines()


@contextlib.contextmanager
def open_json(
    file_range: FileRange,
    encoding: str,
    first_line: int = 1,
    reports_position: bool = True,
    known: Known = dict,
    blocks: Blocks | None = None,
    are_rows: bool = True,
) -> Iterator[JsonText]:
    """Open a JSON file, or (in UTF-8 only) the lines that start in a range of the file; ``first_line`` is the number of the first line."""
    if not file_range.is_part:
        with open_utf8(file_range.path, encoding, file_range.state) as stream:
            yield JsonText(file_range, stream, encoding, known=known, blocks=blocks, are_rows=are_rows)
        return
    with translate_os_errors("read", file_range.path):
        stream = open_bytes(file_range.path, file_range.state, max(0, file_range.start - 1))
    with stream:
        yield JsonText(file_range, WholeLines(stream, file_range.start, file_range.stop), encoding, first_line, reports_position, known, blocks)


# What stands directly before and after the comma between two objects of an array, in nearly all files. A block ends just before that comma.
_BETWEEN_OBJECTS = (("}\n", "{"), ("}", "\n{"), ("}", "{"), ("}", " {"), ("}\r\n", "{"), ("}", "\r\n{"))


def _lines_of_elements(text: str, line: int) -> list[int]:
    """Return the number of the line on which each element of a part of an array begins; ``line`` is the number of the part's first line."""
    decoder = json.JSONDecoder()
    lines, counted, position = [], 0, 0
    while position < len(text):
        match = _BEFORE_ELEMENT.match(text, position)
        assert match is not None
        line, counted = line + text.count("\n", counted, match.end()), match.end()
        lines.append(line)
        position = decoder.raw_decode(text, counted)[1]
    return lines


class JsonText:
    """The text of a JSON file, which is read and decoded step by step.

    Parameters
    ----------
    file_range
        The file, or a range of it.
    stream
        A stream of its bytes in UTF-8.
    encoding
        The encoding of the file.
    first_line
        The number of the first line.
    reports_position
        Whether an error about invalid bytes names their line and column, for which the file is read again from its start.
    known
        Called for each block; returns the types of members if all values so far are objects of numbers and strings, else an empty dict.
    blocks
        Sizes of the first block and of later blocks; None: the default.
    are_rows
        Whether the elements of an array are rows of a frame, not values of a column.
    """

    def __init__(
        self,
        file_range: FileRange,
        stream: Any,
        encoding: str,
        first_line: int = 1,
        reports_position: bool = True,
        known: Known = dict,
        blocks: Blocks | None = None,
        are_rows: bool = True,
    ) -> None:
        self._path, self._state, self._stream = file_range.path, file_range.state, stream
        self._encoding, self._reports_position = encoding, reports_position
        # A byte order mark is removed only at the start of a file.
        self._decoder = codecs.getincrementaldecoder("utf-8" if file_range.start else "utf-8-sig")()
        self._text, self._is_last, self._is_first = "", False, not file_range.start
        # A position in the text and its line number, from which other line numbers are counted.
        self._line, self._counted = first_line, 0
        self._known = known
        self._are_rows, self._reader, self._block_reader = are_rows, JsonDecoder(are_rows), JsonDecoder(are_rows, refuses_infinity=False)
        self._block_bytes, self._later_bytes = (min(size, BLOCK_BYTES) for size in blocks or (BLOCK_BYTES, BLOCK_BYTES))

    @property
    def line(self) -> int:
        """The number of the line that was reached."""
        return self._line

    def _fill(self) -> None:
        """Read more text, at least as much as there is, so that a long value is not scanned too often."""
        room = LONGEST_VALUE + 2 * BLOCK_BYTES - len(self._text)
        if room <= 0:
            raise self._wrong(0, f"a value has more than {LONGEST_VALUE:,} characters")
        size = max(self._block_bytes, min(len(self._text), room))
        with translate_os_errors("read", self._path):
            data = self._stream.read(size)
        # Files in other encodings were converted to UTF-8 and checked before.
        if self._is_first and self._encoding in UTF_8 and (kind := kind_of(data)) is not None and kind != TEXT:
            raise JsonError(f"{visible(self._path)} is not JSON: it is {kind.name}; {kind.advice}")
        self._is_first, self._is_last = False, not data
        try:
            self._text += self._decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            if not self._reports_position:
                raise JsonError(f"{visible(self._path)} contains bytes that are not text") from None
            raise encoding_error(self._path, "utf-8", self._state) from None

    def _drop(self, end: int) -> None:
        self._line_at(end)
        self._text, self._counted = self._text[end:], 0

    def _line_at(self, position: int) -> int:
        """Return the line number of a position, counted from the position of the previous call."""
        first, last = sorted((position, self._counted))
        between = self._text.count("\n", first, last)
        self._line += between if position == last else -between
        self._counted = position
        return self._line

    def _wrong(self, position: int, reason: str) -> JsonError:
        return JsonError(f"{visible(self._path)}, line {self._line_at(position)}: {reason}")

    def lines(self) -> Iterator[JsonLines]:
        """Yield the lines of the file in blocks; they are not parsed yet."""
        while not self._is_last:
            self._fill()
            end = len(self._text) if self._is_last else self._text.rfind("\n") + 1
            if end:
                yield JsonLines(self._path, self._text[:end], self._line, self._known())
            self._block_bytes = self._later_bytes
            self._drop(end)

    def on_lines(self) -> Iterator[JsonValues]:
        """Yield the values on all lines that are not blank, in blocks."""
        yield from (block for lines in self.lines() if len((block := lines.read()).values))

    def elements(self) -> Iterator[JsonValues]:
        """Yield the elements of the array that the file consists of, in blocks; nothing for an empty file.

        Raises
        ------
        JsonError
            If the file is not one array, or an element is not JSON.
        """
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
                # Dropping copies the rest of the text, so it is done only after many characters.
                if position > max(BLOCK_BYTES, len(self._text)) // 64:
                    self._drop(position)
                    position = 0
            if values:
                yield JsonValues(self._path, values, lines, size)
            if size < self._block_bytes:
                return
            self._block_bytes = self._later_bytes

    def _block(self, position: int, is_first: bool) -> JsonValues | None:
        """Return a block of elements, and drop them from the text; None if they are unusual or invalid, so that they must be parsed one by one."""
        end = self._end_of_block(position)
        begin = None if end is None else self._after_comma(position, is_first)
        if end is None or begin is None or begin >= end:
            return None
        text = self._text[begin:end].rstrip(" \t\r\n")
        members = typed_members(text, self._known(), on_lines=False) or members_of(text, on_lines=False)
        is_sparse = members is not None and members.is_sparse
        members = None if is_sparse else members
        values: Sequence[Any] | None = None
        if members is not None:
            values = LazyList(len(members.counts), lambda: JsonDecoder(self._are_rows, refuses_infinity=False).decode_elements(text))
        elif not UNUSUAL_NUMBER.search(text):
            # Parsing fails if, for example, the text does not end between two elements.
            with contextlib.suppress(ValueError, RecursionError):
                values = self._block_reader.decode_elements(text)
        if values is None:
            return None
        line = self._line_at(begin)
        lines = LazyList(len(values), lambda: _lines_of_elements(text, line))
        block = JsonValues(self._path, values, lines, len(text), members is None and are_plain(text), members, is_sparse)
        self._drop(end)
        return block

    def _end_of_block(self, position: int) -> int | None:
        """Return the end of the array if the file was read completely, else a likely end of an element in the second half of a block, or None."""
        while not self._is_last and len(self._text) - position < self._block_bytes:
            self._fill()
        if self._is_last:
            end = self._text.rfind("]")
            return None if self._text[end + 1 :].strip(" \t\r\n") else end
        # rfind() returns -1 if there is no match, which gives a small position.
        end = max(self._text.rfind(f"{before},{after}", position) + len(before) for before, after in _BETWEEN_OBJECTS)
        return end if end >= position + self._block_bytes // 2 else None

    def _next(self, position: int) -> int | None:
        """Return the next position that is not white space; None at the end of the file."""
        while True:
            match = _SPACE.match(self._text, position)
            assert match is not None
            if match.end() < len(self._text):
                return match.end()
            if self._is_last:
                return None
            self._fill()

    def _after_comma(self, position: int, is_first: bool) -> int | None:
        """Return where the next element starts; None at the end of the array, after which the file must end."""
        next_position = self._next(position)
        if next_position is None:
            raise self._wrong(len(self._text), "the array has no end: the file was cut off")
        if self._text[next_position] == "]":
            behind = self._next(next_position + 1)
            if behind is not None:
                raise self._wrong(behind, "something follows the end of the array: a file must contain one array only")
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
        """Return the value that begins at a position, and where it ends; more text is read if necessary."""
        while True:
            reason = ""
            try:
                value, end = self._reader.raw_decode(self._text, begin)
                if end < len(self._text) or self._is_last:
                    return value, end
            except RecursionError:
                raise self._wrong(begin, "lists and objects are nested too deep: keep inner ones in columns of their own") from None
            except InfiniteNumberError as error:
                # If the number is at the end of the text read so far, an exponent that makes it small may follow.
                start = self._text.index(error.text, begin)
                if self._is_last or start + len(error.text) < len(self._text) - LONGEST_WORD:
                    raise self._wrong(start, str(error)) from None
            except json.JSONDecodeError as error:
                reason = f"it is not JSON ({error.msg})"
                # Reading more can only remove an error near the end of the text.
                if self._is_last or (error.pos < len(self._text) - LONGEST_WORD and not error.msg.startswith("Unterminated")):
                    raise self._wrong(error.pos, reason) from None
            except ValueError:
                raise self._wrong(begin, TOO_MANY_DIGITS) from None
            self._fill()
