"""Files and streams of Arrow's IPC format (Feather files are such files), read and written through the door that plug-ins use."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, SFrameError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.file_kinds import register_source, register_writer
from sframe_spark.operators.sources.row_source import FileSource, Rows, SourceFile
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.storage.export_files import schema_of
from sframe_spark.storage.file_writer import FileWriter
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_to_column_types import arrow_column_type
from sframe_spark.values.invalid_unicode_errors import column_named

MAGIC = b"ARROW1"
# What stands before each message, also before the first one of a stream.
CONTINUATION = b"\xff\xff\xff\xff"
COMPRESSIONS = (None, "lz4", "zstd")


# The footer of a file and the heads of its messages are flatbuffers; pyarrow does not show the numbers of rows in them.


class Flatbuffer:
    """A table of a flatbuffer: a field that is left out has the number 0.

    Parameters
    ----------
    content
        The whole flatbuffer.
    position
        Where the table begins; by default where the flatbuffer says that its root table does.
    """

    def __init__(self, content: bytes, position: int | None = None) -> None:
        self._content = content
        self._position = struct.unpack_from("<I", content, 0)[0] if position is None else position
        self._fields = self._position - struct.unpack_from("<i", content, self._position)[0]

    def _place(self, field: int) -> int | None:
        slot = 4 + 2 * field
        offset = struct.unpack_from("<H", self._content, self._fields + slot)[0] if slot < self._number("<H", self._fields) else 0
        return self._position + offset if offset else None

    def _number(self, form: str, position: int) -> int:
        number: int = struct.unpack_from(form, self._content, position)[0]
        return number

    def long(self, field: int) -> int:
        """Return a field of 64 bits."""
        place = self._place(field)
        if place is None:
            return 0
        return self._number("<q", place)

    def table(self, field: int) -> Flatbuffer:
        """Return a table that a field refers to."""
        place = self._place(field)
        if place is None:
            raise ValueError(f"there is no field {field}")
        return Flatbuffer(self._content, place + self._number("<I", place))

    def blocks(self, field: int) -> list[tuple[int, int]]:
        """Return where messages are, and how long their heads are, from a field that is a list of blocks."""
        place = self._place(field)
        if place is None:
            return []
        start = place + self._number("<I", place)
        return [struct.unpack_from("<qi", self._content, start + 4 + 24 * number) for number in range(self._number("<I", start))]


_RECORD_BATCHES_OF_FOOTER, _HEADER_OF_MESSAGE, _LENGTH_OF_BATCH = 3, 2, 0


def batch_lengths(file: SourceFile) -> list[int]:
    """Return the number of rows of each record batch of a file, from its footer and the heads of the batches."""
    length, magic = struct.unpack("<i6s", file.read(max(0, file.size - 10), file.size))
    if magic != MAGIC or not 0 < length <= file.size - 10:
        raise ValueError("there is no footer")
    footer = Flatbuffer(file.read(file.size - 10 - length, file.size - 10))
    rows = []
    for start, head in footer.blocks(_RECORD_BATCHES_OF_FOOTER):
        content = file.read(start, start + head)
        # Files of old versions of Arrow have no continuation before the length of a message.
        message = Flatbuffer(content[8 if content.startswith(CONTINUATION) else 4 :])
        rows.append(message.table(_HEADER_OF_MESSAGE).long(_LENGTH_OF_BATCH))
    return rows


class ArrowSource(FileSource, ABC):
    """The common base class of files and streams."""

    threads: ClassVar[bool] = True

    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        with self._translated_errors(), self._opened() as stream:
            self._schema = self._reader(stream, None).schema
        duplicates = {name for name in self._schema.names if self._schema.names.count(name) > 1}
        if duplicates:
            raise InvalidArgumentError(f"{visible(file.origin)} has several columns named {min(duplicates)!r}: have them written under other names")

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns of the file's schema."""
        types = {}
        for field in self._schema:
            with column_named(field.name):
                types[field.name] = arrow_column_type(field.type)
        return types

    @abstractmethod
    def _reader(self, stream: Any, columns: Sequence[str] | None) -> Any:
        """Return pyarrow's reader of some columns."""

    def _options(self, columns: Sequence[str] | None) -> pa.ipc.IpcReadOptions:
        fields = [] if columns is None else [self._schema.get_field_index(name) for name in columns]
        return pa.ipc.IpcReadOptions(included_fields=sorted(fields), use_threads=False)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file: a local one by Arrow, which needs no Python to read it, and is compared with its state before and afterwards."""
        with ExitStack() as stack:
            if is_remote_location(self.file.location):
                yield stack.enter_context(self.file.open(8 << 20))
                return
            self.file.require_unchanged()
            yield stack.enter_context(pa.OSFile(self.file.location))
            self.file.require_unchanged()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except SFrameError:
            raise
        except (pa.ArrowException, ValueError, OSError, struct.error) as error:
            raise StorageError(f"{visible(self.file.origin)} is not a readable {self.word}: {error}") from error

    word: ClassVar[str] = "Arrow file"

    def _checked(self, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        """Return some columns of a batch. A damaged file may have values that lie outside of the batch, which nothing else would notice."""
        chosen = batch.select(list(columns))
        chosen.validate(full=True)
        return chosen


@register_source
class ArrowFile(ArrowSource):
    """A file of record batches, each of which is a part; its footer says where they are."""

    name: ClassVar[str] = "arrow"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    beginning: ClassVar[bytes] = MAGIC

    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        with self._translated_errors():
            self._lengths = batch_lengths(file)

    def length(self) -> int:
        """Return the number of rows of all record batches."""
        return sum(self._lengths)

    def parts(self) -> Sequence[int]:
        """Return the number of rows of each record batch."""
        return self._lengths or (0,)

    def _reader(self, stream: Any, columns: Sequence[str] | None) -> Any:
        return pa.ipc.open_file(stream, options=self._options(columns))

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[Rows]:
        """Yield the rows of the record batches that have some of them."""
        with self._translated_errors(), self._opened() as stream:
            reader, first = self._reader(stream, columns), 0
            for number, rows in enumerate(self._lengths):
                low, high = max(start - first, 0), min(stop - first, rows)
                if low < high:
                    yield self._checked(reader.get_batch(number), columns).slice(low, high - low)
                first += rows


@register_source
class ArrowStream(ArrowSource):
    """A stream of record batches in a file. How many there are is known at its end only."""

    name: ClassVar[str] = "arrow_stream"
    suffixes: ClassVar[tuple[str, ...]] = (".arrows",)
    beginning: ClassVar[bytes] = CONTINUATION
    word: ClassVar[str] = "Arrow stream"

    def _reader(self, stream: Any, columns: Sequence[str] | None) -> Any:
        return pa.ipc.open_stream(stream, options=self._options(columns))

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[Rows]:
        """Yield the record batches, one after the other."""
        if start == stop:
            return
        with self._translated_errors(), self._opened() as stream:
            for batch in self._reader(stream, columns):
                yield self._checked(batch, columns)


@register_writer
class ArrowWriter(FileWriter):
    """Writes files of record batches.

    Parameters
    ----------
    file, columns
        As for all writers.
    compression
        None, ``lz4`` or ``zstd``.
    """

    name: ClassVar[str] = "arrow"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def __init__(self, file: BinaryIO, columns: Mapping[str, ColumnType], compression: str | None = None) -> None:
        super().__init__(file, columns, compression=compression)
        self._writer = self._opened(file, schema_of(columns), pa.ipc.IpcWriteOptions(compression=compression))

    @staticmethod
    def _opened(file: BinaryIO, schema: pa.Schema, options: pa.ipc.IpcWriteOptions) -> Any:
        return pa.ipc.new_file(file, schema, options=options)

    @classmethod
    def check(cls, columns: Mapping[str, ColumnType], options: Mapping[str, Any]) -> None:
        """Refuse other compressions."""
        compression = options.get("compression")
        if compression not in COMPRESSIONS:
            raise InvalidArgumentError(f"Arrow files have no compression {compression!r:.80}: there are {', '.join(map(repr, COMPRESSIONS))}")

    def write(self, rows: pa.Table) -> None:
        """Write rows as record batches."""
        self._writer.write_table(rows.combine_chunks())

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


@register_writer
class ArrowStreamWriter(ArrowWriter):
    """Writes streams of record batches to files."""

    name: ClassVar[str] = "arrow_stream"
    suffixes: ClassVar[tuple[str, ...]] = (".arrows",)

    @staticmethod
    def _opened(file: BinaryIO, schema: pa.Schema, options: pa.ipc.IpcWriteOptions) -> Any:
        return pa.ipc.new_stream(file, schema, options=options)
