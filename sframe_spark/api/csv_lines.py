"""The bytes of a CSV file in blocks that end where a line ends, so that a file larger than memory can be read."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from sframe_spark.api.csv_options import CsvOptions, opened_file
from sframe_spark.storage.failures import telling

BLOCK_BYTES = 8 * 1024 * 1024
# A quote that is never closed would make the rest of a file one field: after so many bytes it counts as a plain character.
LONGEST_RECORD_BYTES = 64 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def line_blocks(path: str, options: CsvOptions, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Blocks of whole lines; a line break inside quotes ends no line."""
    pending = b""
    first = True
    with opened_file(path) as stream:
        while True:
            with telling("read", path):
                data = stream.read(block_bytes)
            if first:
                data, first = data.removeprefix(BYTE_ORDER_MARK), False
            if not data:
                break
            pending += data
            end = end_of_lines(pending, options)
            if not end and len(pending) > max(LONGEST_RECORD_BYTES, block_bytes):
                end = pending.rfind(_terminator(options)) + len(_terminator(options))
            if end:
                yield pending[:end]
                pending = pending[end:]
    if pending:
        yield pending


def end_of_lines(block: bytes, options: CsvOptions) -> int:
    """Where the last line ends that is complete, counted from the start of a line; 0: nowhere.

    Examples
    --------
    >>> end_of_lines(b'1,2\\n3,"4\\n5', CsvOptions())
    4
    """
    terminator = _terminator(options)
    quote = options.quote_char.encode()
    limit = len(block)
    if options.usual_lines and b"\n" not in block and b"\r" in block:
        terminator = b"\r"
        # The next block may start with the other half of this line's end.
        limit -= 1
    quotes = _quotes(block, quote, options) if quote and quote in block else []
    while True:
        end = block.rfind(terminator, 0, limit)
        if end < 0:
            return 0
        after = end + len(terminator)
        before = bisect.bisect_left(quotes, after)
        if before % 2 == 0:
            return after
        limit = quotes[before - 1]


def _quotes(block: bytes, quote: bytes, options: CsvOptions) -> list[int]:
    """Places of the quotes that are not escaped."""
    escape = options.escape_char.encode()
    pattern = re.escape(quote)
    if escape and escape in block:
        pattern = re.escape(escape) + b"(?s:.)|(" + pattern + b")"
        return [match.start() for match in re.finditer(pattern, block) if match.group(1) is not None]
    return [match.start() for match in re.finditer(pattern, block)]


def _terminator(options: CsvOptions) -> bytes:
    return b"\n" if options.usual_lines else options.line_terminator.encode()


def without_first_lines(block: bytes, count: int, options: CsvOptions) -> bytes:
    """A block without its first lines, whatever is in them."""
    ends = rb"\r\n|\n|\r" if options.usual_lines else re.escape(options.line_terminator.encode())
    for _ in range(count):
        match = re.search(ends, block)
        if match is None:
            return b""
        block = block[match.end() :]
    return block
