"""Reads CSV files in blocks of rows, so that a file may be larger than memory; where a block ends never changes how a row is read.

`parser.py` defines where lines end. Arrow parses a block up to the last line that it certainly reads as `parser.py` does; if this is uncertain from
the first line on, the block is parsed line by line. How a line is read does not depend on the text before it, so a reader that begins at the start
of any line reads the same rows. A reader that begins in the middle of a file guesses where a line starts; `reader.py` verifies the guess.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.io.csv.options import CsvOptions
from sframe_spark.api.io.csv.parser import (
    BYTE_ORDER_MARK,
    NumberColumns,
    arrow_safe_end,
    parse_with_arrow,
    quoted_empty_fields,
    read_line,
    without_escapes,
)
from sframe_spark.api.io.csv.row_blocks import TextBlock
from sframe_spark.api.io.text_encoding import UTF_8, encoding_error, open_utf8
from sframe_spark.errors import CsvEncodingError, CsvLineError
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import BEHIND_BYTES, FileRange, open_bytes
from sframe_spark.storage.filesystem.format_recognition import TEXT, kind_of
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState

# Maximum and minimum bytes of a block, and blocks per core: small enough that all cores have work, large enough to make up for Arrow's start-up cost.
BLOCK_BYTES, MIN_BLOCK_BYTES, BLOCKS_OF_CORE = 8 << 20, 512 << 10, 3
# Up to this number of pending bytes, reading them again is faster than copying them.
MAX_AGAIN = 64 << 10
# The first block shows which columns are numeric. It is read as strings, which takes four times as long, so it is small: 1/64 of the file within
# these limits.
FIRST_BYTES, MIN_FIRST_BYTES, FIRST_OF_BYTES = 256 * 1024, 32 * 1024, 64
# The line above the header with which Excel declares the delimiter.
_DELIMITER_LINE = re.compile(rb'"?sep=(.)"?[ \t]*(?:\r\n|\n|\r)', re.IGNORECASE)
# Number of line ends that are tried when searching for a line with the right number of fields.
GUESSES = 50


def block_bytes_for(size: int, threads: int) -> int:
    """Return the block size for a file of ``size`` bytes that is read by a number of threads.

    Examples
    --------
    >>> block_bytes_for(1_000, 2), block_bytes_for(32 << 20, 2), block_bytes_for(1 << 30, 2)
    (524288, 5592405, 8388608)
    """
    return BLOCK_BYTES if threads == 1 else min(BLOCK_BYTES, max(MIN_BLOCK_BYTES, size // (BLOCKS_OF_CORE * threads)))


def first_block_bytes(size: int) -> int:
    """Return the size of the first block, which shows the numeric columns, of a file of ``size`` bytes.

    Examples
    --------
    >>> first_block_bytes(1_000), first_block_bytes(8 << 20), first_block_bytes(1 << 30)
    (32768, 131072, 262144)
    """
    return min(FIRST_BYTES, max(MIN_FIRST_BYTES, size // FIRST_OF_BYTES))


@attrs.frozen(eq=False)
class ArrowLines:
    """Lines that are not parsed yet, which Arrow reads as `parser.py` does; any thread may parse them.

    Parameters
    ----------
    path
        The file.
    text, end
        Bytes that begin with the lines, and the index at which the lines end.
    options
        The dialect.
    width
        Number of columns in the file.
    selected
        Indices of the columns to read.
    by_line
        Function that parses the same lines one by one instead.
    """

    path: str
    text: bytes
    end: int
    options: CsvOptions
    width: int
    selected: Sequence[int]
    by_line: Callable[[], TextBlock]

    def read(self, numbers: NumberColumns) -> TextBlock:
        """Parse the lines and return their rows; columns in ``numbers`` are parsed as numbers if possible."""
        escape = self.options.escape_char.encode()
        text, end, has_escapes = self.text, self.end, bool(escape) and self.text.find(escape, 0, self.end) >= 0
        if has_escapes:
            text = without_escapes(text[:end], self.options)
            end = len(text)
        # Skipped lines must be reported exactly as in the file, with escapes; and parsing invalid bytes line by line raises an error with
        # their position.
        with contextlib.suppress(pa.ArrowInvalid):
            lines = parse_with_arrow(text, end, self.width, self.selected, self.options, numbers)
            if not (lines.bad_lines and has_escapes):
                rows = len(lines.columns[0]) if lines.columns else 0
                return TextBlock(self.path, lines.columns, lines.bad_lines, rows, lines.quoted_empty)
        return self.by_line()


@attrs.define(eq=False)
class CsvText:
    """The text of a CSV file, from the start of a line on, which is read step by step.

    Parameters
    ----------
    path
        The file.
    options
        The dialect.
    stream
        The stream that bytes are read from.
    block_bytes
        Number of bytes to read at a time.
    pending
        Bytes that were read but not parsed yet.
    is_last
        Whether the pending bytes end with the end of the file.
    state
        State of a remote file when it was listed.
    position
        Offset of the pending bytes in the file.
    stop
        Lines that start at this offset or later are not read; None: no limit.
    later_bytes
        Block size after the first block, if it is larger.
    reports_position
        Whether an error about invalid bytes names their line and column, for which the file is read again from its start.
    """

    path: str
    options: CsvOptions
    stream: Any
    block_bytes: int
    pending: bytes = b""
    is_last: bool = False
    state: FileState | None = None
    position: int = 0
    stop: int | None = None
    later_bytes: int = 0
    reports_position: bool = True

    def fill(self) -> None:
        """Read more bytes and append them to the pending ones."""
        if self.is_last:
            return
        size, before = self._bytes_to_read(), len(self.pending)
        with translate_os_errors("read", self.path):
            if 0 < before <= MAX_AGAIN and isinstance(self.stream, pa.OSFile):
                # Reading the start of the line again is faster than prepending it to new bytes, which allocates memory each time.
                self.stream.seek(-before, os.SEEK_CUR)
                self.pending = self.stream.read(before + size)
            else:
                self.pending += self.stream.read(size)
        self.is_last = len(self.pending) <= before

    def _bytes_to_read(self) -> int:
        # For an unfinished line, the bytes are doubled each time, because all of them are scanned again.
        if self.stop is None:
            return max(self.block_bytes, len(self.pending))
        left = self.stop - self.position - len(self.pending)
        if left < 0:
            return max(BEHIND_BYTES, len(self.pending))
        # Another request for a few bytes would take as long as one for many.
        return self.block_bytes if left > self.block_bytes + BEHIND_BYTES else left + BEHIND_BYTES

    def _drop(self, size: int) -> None:
        """Remove bytes from the start of the pending ones, because they were parsed."""
        self.pending = self.pending[size:]
        self.position += size

    @property
    def _ends(self) -> re.Pattern[bytes]:
        """The pattern of a line end outside quotes."""
        return re.compile(rb"\r\n|\n|\r" if self.options.has_standard_line_ends else re.escape(self.options.line_terminator.encode()))

    def find_line(self, first: int, width: int) -> None:
        """Move to the first likely start of a line at the offset ``first`` or after it. This is a guess, as quoted fields may contain line ends.

        If no line starts before ``stop``, move to ``stop``.
        """
        starts: list[int] = []
        while not self.is_last and (self.stop is None or self.position + len(self.pending) < self.stop + len(self.options.line_terminator)):
            self.fill()
            if starts := self._starts(first):
                break
        starts = starts or self._starts(first)
        if not starts:
            self._drop(len(self.pending) if self.stop is None else min(len(self.pending), self.stop - self.position))
            return
        self._drop(starts[0])
        with contextlib.suppress(UnicodeDecodeError):
            self._drop(self._likely([start - starts[0] for start in starts], width))

    def _starts(self, first: int) -> list[int]:
        """Return indices of pending bytes, from the offset ``first`` on, at which lines start if no line end is inside quotes."""
        # A carriage return at the end may be followed by its line feed.
        last = len(self.pending) if self.is_last else len(self.pending) - 1
        ends = (match.end() for match in self._ends.finditer(self.pending))
        return list(itertools.islice((end for end in ends if first - self.position <= end <= last), GUESSES))

    def _likely(self, starts: list[int], width: int) -> int:
        """Return the first of some indices at which a line has ``width`` fields and closed quotes, and from which Arrow can parse.

        If Arrow cannot parse from any of them, return the first at which such a line begins, or zero if there is none. A line inside a quoted field
        may
        look like a row, but there quotes usually occur inside fields, which Arrow does not parse.
        """
        sample = self.pending[: starts[-1] + BEHIND_BYTES]
        is_last = self.is_last and len(sample) == len(self.pending)
        # The last bytes may be an incomplete character.
        text, quote = codecs.utf_8_decode(sample, "strict", is_last)[0], self.options.quote_char
        likely: list[int] = []
        for start in starts:
            position = len(sample[:start].decode())
            fields, end = read_line(text, position, self.options, is_last, width=width) or ([], position)
            if fields and len(fields) == width and not (quote and text.count(quote, position, end) % 2):
                if arrow_safe_end(sample[start:], width, self.options, is_last):
                    return start
                likely.append(start)
        return likely[0] if likely else 0

    def start(self) -> bool:
        """Skip the byte order mark and the lines that the user wants to skip; return False if the file is empty."""
        while len(self.pending) < len(BYTE_ORDER_MARK) and not self.is_last:
            self.fill()
        self._drop(len(BYTE_ORDER_MARK) if self.pending.startswith(BYTE_ORDER_MARK) else 0)
        if not self.pending:
            self.fill()
        if not self.pending:
            return False
        kind = kind_of(self.pending)
        if kind is not None and kind != TEXT and self.options.encoding in UTF_8:
            raise CsvEncodingError(f"{self.path} is not text: it is {kind.name}; {kind.advice}")
        self._skip_delimiter_line()
        left = self.options.skiprows
        while left:
            line_ends = [match.end() for match in itertools.islice(self._ends.finditer(self.pending), left)]
            if line_ends and line_ends[-1] == len(self.pending) and not self.is_last:
                # The line end may be a carriage return whose line feed was not read yet.
                line_ends.pop()
            left -= len(line_ends)
            self._drop(line_ends[-1] if line_ends else 0)
            if left and self.is_last:
                self._drop(len(self.pending))
                left = 0
            elif left:
                self.fill()
        return True

    def _skip_delimiter_line(self) -> None:
        """Skip a first line such as ``sep=;``, which declares the delimiter for Excel.

        Raises
        ------
        CsvLineError
            If the declared delimiter is not the requested one.
        """
        match = _DELIMITER_LINE.match(self.pending) if self.options.header and not self.options.skiprows else None
        if match is None:
            return
        delimiter = match[1].decode(errors="replace")
        if delimiter != self.options.delimiter:
            raise CsvLineError(f"{self.path}: the first line says that {delimiter!r} divides fields: give delimiter={delimiter!r}")
        self._drop(match.end())

    def header(self) -> list[str]:
        """Return the fields of the first line that is not blank, or an empty list; the line is skipped if it is a header."""
        while True:
            text, position = self._text(), 0
            while position < len(text):
                line = read_line(text, position, self.options, self.is_last, is_header=self.options.header)
                if line is None:
                    break
                fields, end = line
                if fields:
                    self._use(text, end if self.options.header else position)
                    return fields
                position = end
            self._use(text, position)
            if self.is_last:
                return []
            self.fill()

    def is_arrow_safe(self, width: int) -> bool:
        """Return whether Arrow can parse the next rows. Otherwise Python parses them line by line, and threads wait for each other."""
        self.fill()
        return arrow_safe_end(self.pending, width, self.options, self.is_last) > 0

    def blocks(self, width: int, selected: Sequence[int]) -> Iterator[ArrowLines | TextBlock]:
        """Yield the remaining rows in blocks, with the selected columns; blocks that Arrow can parse are not parsed yet."""
        while (self.pending or not self.is_last) and self._bytes_before_stop():
            size = len(self.pending)
            is_filled = size < self.block_bytes and (self.stop is None or self.position + size <= self.stop)
            if is_filled:
                self.fill()
            block = self._arrow_lines(width, selected) or self._by_line(width, selected)
            if isinstance(block, ArrowLines) or block.rows or block.bad_lines:
                yield block
                self.block_bytes = max(self.block_bytes, self.later_bytes)
            if not is_filled and len(self.pending) == size:
                # A line that is longer than a block.
                self.fill()
                self.block_bytes = max(self.block_bytes, min(2 * self.block_bytes, BLOCK_BYTES))

    def _bytes_before_stop(self) -> int:
        """Return the number of pending bytes before ``stop``; at least one if ``stop`` is not reached and nothing is pending."""
        left = max(len(self.pending), 1)
        return left if self.stop is None else max(0, min(left, self.stop - self.position))

    def _arrow_lines(self, width: int, selected: Sequence[int]) -> ArrowLines | None:
        text = self.pending[: self._bytes_before_stop()]
        end = arrow_safe_end(text, width, self.options, self.is_last and len(text) == len(self.pending))
        if not end:
            return None
        self._drop(end)

        def by_line() -> TextBlock:
            lines = CsvText(self.path, self.options, None, end, text[:end], True, self.state, reports_position=self.reports_position)
            return lines._by_line(width, selected)

        return ArrowLines(self.path, text, end, self.options, width, selected, by_line)

    def _by_line(self, width: int, selected: Sequence[int]) -> TextBlock:
        rows: list[list[str]] = []
        bad: list[str] = []
        text, position = self._text(), 0
        # The limit is in characters. A line that begins before it may end after it.
        limit = len(self.pending[: self._bytes_before_stop()].decode(errors="replace"))
        while position < min(limit, self.block_bytes):
            parsed = read_line(text, position, self.options, self.is_last, width=width)
            if parsed is None:
                break
            fields, end = parsed
            if len(fields) == width:
                rows.append(fields)
            elif fields:
                line = text[position:end]
                bad.append(line.rstrip("\r\n") if self.options.has_standard_line_ends else line.removesuffix(self.options.line_terminator))
            position = end
        self._use(text, position)
        texts = [[row[index] for row in rows] for index in selected]
        columns = tuple(pa.array(column, pa.string()) for column in texts)
        return TextBlock(self.path, columns, bad, len(rows), tuple(map(quoted_empty_fields, texts)))

    def _text(self) -> str:
        """Return the pending bytes as a string, without an incomplete last character.

        Raises
        ------
        CsvEncodingError
            If the bytes are not valid UTF-8.
        """
        try:
            return codecs.utf_8_decode(self.pending, "strict", self.is_last)[0]
        except UnicodeDecodeError:
            if not self.reports_position:
                raise CsvEncodingError(f"{self.path} contains bytes that are not text") from None
            raise encoding_error(self.path, self.options.encoding, self.state) from None

    def _use(self, text: str, position: int) -> None:
        self._drop(len(text[:position].encode()))


@contextlib.contextmanager
def open_csv(
    path: str, options: CsvOptions, state: FileState | None = None, first_bytes: int | None = None, later_bytes: int | None = None
) -> Iterator[CsvText]:
    """Open a file for reading from its start; ``state`` is the state of a remote file when it was listed."""
    later = later_bytes or BLOCK_BYTES
    with open_utf8(path, options.encoding, state) as stream:
        yield CsvText(path, options, stream, min(first_bytes or later, later), state=state, later_bytes=later)


@contextlib.contextmanager
def open_csv_range(file_range: FileRange, options: CsvOptions, reports_position: bool) -> Iterator[CsvText]:
    """Open a range of a file: at its start, or at the line end just before the range, which shows whether a line starts with the range."""
    if not file_range.start:
        with open_csv(file_range.path, options, file_range.state) as text:
            yield attrs.evolve(text, stop=file_range.stop, reports_position=reports_position)
        return
    # A line starts after the end of the previous one.
    end_bytes = 1 if options.has_standard_line_ends else len(options.line_terminator.encode())
    start = max(0, file_range.start - (0 if file_range.is_line else end_bytes))
    with translate_os_errors("read", file_range.path):
        stream = open_bytes(file_range.path, file_range.state, start)
    with stream:
        text = CsvText(file_range.path, options, stream, BLOCK_BYTES, state=file_range.state, position=start, stop=file_range.stop)
        yield attrs.evolve(text, reports_position=reports_position)
