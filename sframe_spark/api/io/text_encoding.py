"""Reads text files in any encoding as UTF-8, block by block, and finds the position of bytes that are not valid in the encoding."""

from __future__ import annotations

import codecs
import re
from typing import Any

import attrs

from sframe_spark.errors import CsvEncodingError, InvalidArgumentError, SchemaError
from sframe_spark.message_text import visible
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import open_unpacked
from sframe_spark.storage.filesystem.format_recognition import TEXT, UTF_16, kind_of
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState

UTF_8 = ("utf-8", "utf-8-sig")
BLOCK_BYTES = 4 << 20
_LINE_END = re.compile("\r\n|\n|\r")


def text_encoding(name: Any) -> str:
    """Return Python's standard name of a text encoding.

    Raises
    ------
    InvalidArgumentError
        If Python has no such text encoding.
    SchemaError
        If ``name`` is not a string.

    Examples
    --------
    >>> text_encoding("UTF8"), text_encoding("Latin-1")
    ('utf-8', 'iso8859-1')
    """
    if not isinstance(name, str):
        raise SchemaError(f"encoding must be a name such as 'latin-1', got {name!r}")
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not codec._is_text_encoding or codec.incrementaldecoder is None:
        raise InvalidArgumentError(f"encoding: {name!r} is not a text encoding that Python knows; use one such as 'utf-8', 'latin-1' or 'utf-16'")
    return codec.name


def open_utf8(path: str, encoding: str = "utf-8", state: FileState | None = None) -> Any:
    """Open a file as a stream of UTF-8 bytes; it is decompressed if its extension says so. ``state`` is as for :func:`open_unpacked`."""
    with translate_os_errors("read", path):
        stream = open_unpacked(path, state)
    return stream if encoding in UTF_8 else _InUtf8(path, stream, encoding, state)


class _InUtf8:
    """A stream that converts a file in another encoding to UTF-8."""

    def __init__(self, path: str, stream: Any, encoding: str, state: FileState | None) -> None:
        self._path, self._stream, self._encoding, self._state = path, stream, encoding, state
        self._decoder, self._is_first = codecs.getincrementaldecoder(encoding)(), True

    def read(self, size: int) -> bytes:
        """Read about ``size`` bytes, and return their text in UTF-8; empty at the end of the file."""
        while True:
            data = self._stream.read(size)
            if self._is_first:
                self._require_text(data)
                self._is_first = False
            try:
                text = self._decoder.decode(data, final=not data).encode()
            except UnicodeError:
                raise encoding_error(self._path, self._encoding, self._state) from None
            if text or not data:
                return text

    def _require_text(self, start: bytes) -> None:
        """Raise an error if the file is of a known binary format, because many encodings would accept its bytes.

        Raises
        ------
        CsvEncodingError
            If the first bytes are those of a binary format.
        """
        kind = kind_of(start)
        # UTF-16 files start with a byte order mark. In other encodings these bytes can be letters, unless zero bytes follow.
        is_wide = kind == UTF_16 and (self._encoding.startswith(("utf-16", "utf-32")) or b"\0" not in start)
        if kind is not None and kind != TEXT and not is_wide:
            raise CsvEncodingError(f"{visible(self._path)} is not text in {self._encoding}: it is {kind.name}; {kind.advice}")

    def __enter__(self) -> _InUtf8:
        return self

    def __exit__(self, *_: Any) -> None:
        self._stream.close()


@attrs.define
class _Position:
    """A line and a column in a text, both counted from 1."""

    line: int = 1
    column: int = 1
    after_return: bool = False

    def advance(self, text: str) -> None:
        """Move to the end of ``text``, which begins at this position."""
        if self.after_return and text.startswith("\n"):
            # This line feed belongs to a line end whose carriage return was counted before.
            text = text[1:]
        ends = list(_LINE_END.finditer(text))
        self.line += len(ends)
        self.column = len(text) - ends[-1].end() + 1 if ends else self.column + len(text)
        self.after_return = text.endswith("\r")


def encoding_error(path: str, encoding: str, state: FileState | None = None) -> CsvEncodingError:
    """Return the error about the first bytes of a file that are invalid in an encoding; the file is read again to find their line and column."""
    decoder, position = codecs.getincrementaldecoder(encoding)(), _Position()
    encoding_name = "UTF-8" if encoding in UTF_8 else encoding
    start, problem = b"", ""
    with translate_os_errors("read", path), open_unpacked(path, state) as stream:
        while not problem:
            data = stream.read(BLOCK_BYTES)
            start = start or data[:4]
            before = decoder.getstate()
            try:
                text = decoder.decode(data, final=not data)
                text.encode()
                problem = "" if data else "it is"
            except UnicodeDecodeError as error:
                decoder.setstate(before)
                # Decode the valid bytes before the error; the previous block may have ended inside a character.
                position.advance(decoder.decode(data[: max(0, error.start - len(before[0]))]))
                byte_text = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.end])
                problem = f"the bytes {byte_text} are" if error.end - error.start > 1 else f"the byte {byte_text} is"
            except UnicodeError:
                problem = "what follows is"
            if not problem:
                position.advance(text)
    is_utf16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    advice = "encoding='utf-16' reads it" if is_utf16 and encoding in UTF_8 else "give its encoding, for example encoding='latin-1'"
    location = f"{visible(path)}, line {position.line}, column {position.column}"
    return CsvEncodingError(f"{location}: {problem} not text in {encoding_name}; {advice}")
