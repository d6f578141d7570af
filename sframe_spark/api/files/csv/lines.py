"""CSV files as blocks of rows, so that a file larger than memory can be read; where a block ends makes no difference to any row.

A line ends where `fields.py` says. What is read at a time goes through Arrow up to the last line for which that is sure to be the same,
and is read line by line where it is not sure of the first.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api.files.csv.arrow import BYTE_ORDER_MARK, NO_NUMBERS, NumberColumns, read_by_arrow, sure_end, without_escapes
from sframe_spark.api.files.csv.encoding import UTF_8, opened_file, wrong_bytes
from sframe_spark.api.files.csv.fields import read_line
from sframe_spark.api.files.csv.options import CsvOptions
from sframe_spark.errors import CsvEncodingError
from sframe_spark.storage.files.failures import telling
from sframe_spark.storage.files.magic import TEXT, kind_of

BLOCK_BYTES = 8 * 1024 * 1024


@attrs.frozen(eq=False)
class TextBlock:
    """Rows as columns of text, or of numbers, and the lines that are no rows.

    Parameters
    ----------
    path
        The file.
    columns
        One array per column: of text, or of numbers where these were known to be some.
    bad_lines
        Lines with another number of fields.
    rows
        Number of rows.
    """

    path: str
    columns: tuple[pa.Array, ...]
    bad_lines: Sequence[str]
    rows: int


@attrs.define(eq=False)
class LeftOut:
    """Lines of a file that are no rows.

    Parameters
    ----------
    number
        How many there are.
    lines
        The first ones: as many as are kept.
    """

    number: int = 0
    lines: list[str] = attrs.Factory(list)


@attrs.define(eq=False)
class CsvText:
    """A file from a place on that is the start of a line.

    Parameters
    ----------
    path
        The file.
    options
        Its dialect.
    stream
        Where its bytes come from.
    block_bytes
        How many are read at a time.
    pending
        Bytes that were read and not used yet.
    is_last
        Whether the file ends with these.
    numbers
        Columns to be read as numbers where nothing speaks against it.
    """

    path: str
    options: CsvOptions
    stream: Any
    block_bytes: int
    pending: bytes = b""
    is_last: bool = False
    numbers: NumberColumns = NO_NUMBERS

    def fill(self) -> None:
        """Read some more bytes."""
        if not self.is_last:
            with telling("read", self.path):
                data = self.stream.read(self.block_bytes)
            self.pending += data
            self.is_last = not data

    def start(self) -> bool:
        """Go behind the byte order mark and the lines that are left out, whatever is in them; False if the file is empty."""
        while len(self.pending) < len(BYTE_ORDER_MARK) and not self.is_last:
            self.fill()
        self.pending = self.pending.removeprefix(BYTE_ORDER_MARK)
        if not self.pending:
            self.fill()
        if not self.pending:
            return False
        kind = kind_of(self.pending)
        if kind is not None and kind != TEXT and self.options.encoding in UTF_8:
            raise CsvEncodingError(f"{self.path} is not text: it is {kind.name}; {kind.advice}")
        ends = re.compile(rb"\r\n|\n|\r" if self.options.usual_lines else re.escape(self.options.line_terminator.encode()))
        left = self.options.skiprows
        while left:
            found = [match.end() for match in itertools.islice(ends.finditer(self.pending), left)]
            if found and found[-1] == len(self.pending) and not self.is_last:
                # What follows may start with the other half of this line's end.
                found.pop()
            left -= len(found)
            self.pending = self.pending[found[-1] if found else 0 :]
            if left and self.is_last:
                self.pending, left = b"", 0
            elif left:
                self.fill()
        return True

    def header(self) -> list[str]:
        """The fields of the first line that is not blank, none if there is none; a header is used up, other lines are not."""
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

    def blocks(self, width: int, wanted: Sequence[int]) -> Iterator[TextBlock]:
        """The rows from here on: the wanted ones of ``width`` columns."""
        while self.pending or not self.is_last:
            size = len(self.pending)
            if size < self.block_bytes:
                self.fill()
            block = self._by_arrow(width, wanted) or self._by_line(width, wanted)
            if block.rows or block.bad_lines:
                yield block
            if size >= self.block_bytes and len(self.pending) == size:
                # A line that is longer than what is read at a time.
                self.fill()

    def _by_arrow(self, width: int, wanted: Sequence[int]) -> TextBlock | None:
        end = sure_end(self.pending, width, self.options, self.is_last)
        if not end:
            return None
        block = self.pending[:end]
        plain = without_escapes(block, self.options)
        try:
            columns, bad = read_by_arrow(plain, width, wanted, self.options, self.numbers)
        except pa.ArrowInvalid:
            # Bytes that are no text: reading them line by line says which.
            return None
        if bad and plain != block:
            # A line that is left out is told as it stands in the file.
            return None
        self.pending = self.pending[end:]
        return TextBlock(self.path, columns, bad, len(columns[0]) if columns else 0)

    def _by_line(self, width: int, wanted: Sequence[int]) -> TextBlock:
        rows: list[list[str]] = []
        bad: list[str] = []
        text, position = self._text(), 0
        while position < min(len(text), self.block_bytes):
            found = read_line(text, position, self.options, self.is_last)
            if found is None:
                break
            fields, end = found
            if len(fields) == width:
                rows.append(fields)
            elif fields:
                line = text[position:end]
                bad.append(line.rstrip("\r\n") if self.options.usual_lines else line.removesuffix(self.options.line_terminator))
            position = end
        self._use(text, position)
        columns = tuple(pa.array([row[place] for row in rows], pa.string()) for place in wanted)
        return TextBlock(self.path, columns, bad, len(rows))

    def _text(self) -> str:
        """The bytes that were read as text, but for a character that is not complete.

        Raises
        ------
        CsvEncodingError
            If they are not UTF-8.
        """
        try:
            return codecs.utf_8_decode(self.pending, "strict", self.is_last)[0]
        except UnicodeDecodeError:
            raise wrong_bytes(self.path, self.options.encoding) from None

    def _use(self, text: str, position: int) -> None:
        self.pending = self.pending[len(text[:position].encode()) :]


@contextlib.contextmanager
def opened_text(path: str, options: CsvOptions) -> Iterator[CsvText]:
    """A file to be read from its start."""
    with opened_file(path, options.encoding) as stream:
        yield CsvText(path, options, stream, BLOCK_BYTES)
