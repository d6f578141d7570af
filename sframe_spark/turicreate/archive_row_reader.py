"""Reads ranges of rows of an archive, with a cache of the blocks that hold them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import ArchiveDateError, ArchiveTextError, BrokenPayload, MisfitError, NarrowTypeError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.turicreate import archive_files
from sframe_spark.turicreate.archive import Archive, ArchiveColumn
from sframe_spark.turicreate.archive_files import ColumnBlocks
from sframe_spark.turicreate.block import Block
from sframe_spark.turicreate.number_datetime_and_vector_decoding import OUT_OF_YEARS

# How many segment files are open at the same time.
MAX_OPEN = 32
# While rows are read, the cache may exceed its limit up to this many times the size of the decompressed blocks.
MAX_GROWTH = 8
# Position of the column in the archive, index of its part, and index of the block in the part.
BlockKey = tuple[int, int, int]
CountedColumns = tuple[int, list[pa.ChunkedArray]]


class ArchiveReader:
    """Reads ranges of rows of an archive, and keeps the most recently used blocks in a cache.

    Parameters
    ----------
    archive
        The archive.
    max_bytes
        Limit of the cache in bytes, ``config.batch_bytes`` if None. The blocks of the latest call are kept even if they exceed it.
    """

    def __init__(self, archive: Archive, max_bytes: int | None = None) -> None:
        self.archive = archive
        self._max_bytes = config.batch_bytes if max_bytes is None else max_bytes
        # The least recently used block comes first.
        self._cached: dict[BlockKey, Block] = {}
        self._size = self._payloads = 0

    def read(self, positions: Sequence[int], first: int, last: int) -> list[pa.ChunkedArray]:
        """Return the rows from ``first`` up to, but without, ``last`` of the columns at the given positions.

        Raises
        ------
        StorageError
            If a file is damaged, missing or was changed, or a string cannot be decoded, or a datetime is outside the years 1 to 9999.
            Errors about damaged blocks and invalid values name the file and the column, and the block or the row.
        NarrowTypeError
            If a value does not fit the narrower type with which a column is read (see :meth:`Archive.with_types`).
        """
        with self._keeping() as requested, _OpenFiles(self.archive) as files:
            return [self._column(position, first, last, files, requested) for position in positions]

    def bytes_between(self, positions: Sequence[int], first: int, last: int) -> list[float]:
        """Return an estimate, for each column, of the bytes that a range of rows takes in memory; the blocks of the range are read and cached."""
        with self._keeping() as requested, _OpenFiles(self.archive) as files:
            return [self._bytes(position, first, last, files, requested) for position in positions]

    def batches(self, positions: Sequence[int], first: int, last: int, max_rows: int, max_bytes: float) -> Iterator[CountedColumns]:
        """Yield consecutive batches of a range of rows, each as its number of rows and its columns.

        Batches have at most ``max_rows`` rows, and about ``max_bytes`` bytes unless a single row is larger.
        """
        while first < last:
            stop = min(first + max_rows, last)
            while stop - first > 1 and sum(self.bytes_between(positions, first, stop)) > max_bytes:
                stop = first + (stop - first) // 2
            yield stop - first, self.read(positions, first, stop)
            first = stop

    def close(self) -> None:
        """Clear the cache."""
        self._cached.clear()
        self._size = self._payloads = 0

    def _column(self, position: int, first: int, last: int, files: _OpenFiles, requested: set[BlockKey]) -> pa.ChunkedArray:
        column, chunks = self.archive.contents.columns[position], []
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _name_block_in_errors(column, key, blocks):
                block = self._block(key, blocks, files, requested)
                with _name_row_in_errors(column, key, blocks, block, low, high):
                    chunks.append(block.values(low, high))
        return pa.chunked_array(chunks, column.column_type.physical)

    def _bytes(self, position: int, first: int, last: int, files: _OpenFiles, requested: set[BlockKey]) -> float:
        column, total = self.archive.contents.columns[position], 0.0
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _name_block_in_errors(column, key, blocks):
                total += self._block(key, blocks, files, requested).bytes_between(low, high)
        return total

    def _blocks(self, column: ArchiveColumn, position: int, first: int, last: int) -> Iterator[tuple[BlockKey, ColumnBlocks, int, int]]:
        """Yield each block that has rows of a range: its key, the blocks of its part, and the first and the end row within the block."""
        for number, low, high in archive_files.parts_between(column.starts, first, last):
            part = column.parts[number]
            blocks = archive_files.footer_of(self.archive.contents.files[part.file]).blocks(part.column, part.rows, column.name)
            for block, start, stop in archive_files.parts_between(blocks.starts, low, high):
                raise_if_cancelled()
                yield (position, number, block), blocks, start, stop

    def _block(self, key: BlockKey, blocks: ColumnBlocks, files: _OpenFiles, requested: set[BlockKey]) -> Block:
        requested.add(key)
        block = self._cached.get(key)
        if block is not None:
            self._evict(key)
        else:
            position, part, number = key
            record, file = blocks.record(number), self.archive.contents.columns[position].parts[part].file
            content = archive_files.unpacked(archive_files.read_bytes(files.descriptor(file), blocks.path, record.offset, record.length), record)
            block = Block(content, record.length, record.rows, record.flags, self.archive.form(position))
        self._keep(key, block)
        return block

    @contextlib.contextmanager
    def _keeping(self) -> Iterator[set[BlockKey]]:
        """Collect the keys of the blocks that are read in the ``with`` block, then evict other blocks, the least recently used first."""
        requested: set[BlockKey] = set()
        try:
            yield requested
        finally:
            excess = self._size - max(self._max_bytes, sum(self._cached[key].size for key in requested if key in self._cached))
            for key in [key for key in self._cached if key not in requested]:
                if excess <= 0:
                    break
                excess -= self._cached[key].size
                self._evict(key)

    def _keep(self, key: BlockKey, block: Block) -> None:
        """Cache a block; evict the least recently used others while the cache exceeds both its limit and ``MAX_GROWTH`` times the payloads."""
        self._cached[key] = block
        self._size += block.size
        self._payloads += block.payload_size
        for other in list(self._cached):
            if other == key or self._size <= max(self._max_bytes, MAX_GROWTH * self._payloads):
                break
            self._evict(other)

    def _evict(self, key: BlockKey) -> None:
        block = self._cached.pop(key)
        self._size -= block.size
        self._payloads -= block.payload_size


class _OpenFiles(contextlib.ExitStack):
    """Opens segment files of an archive on demand, and closes them at the end of the ``with`` block."""

    def __init__(self, archive: Archive) -> None:
        super().__init__()
        self._archive = archive
        self._open: dict[int, int] = {}

    def descriptor(self, number: int) -> int:
        """Return the file descriptor of the segment file with an index; opens the file if it is not open."""
        if number not in self._open:
            if len(self._open) >= MAX_OPEN:
                self.close()
                self._open.clear()
            self._open[number] = self.enter_context(archive_files.opened(self._archive.contents.files[number]))
        return self._open[number]


@contextlib.contextmanager
def _name_block_in_errors(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks) -> Iterator[None]:
    """Turn errors about the content of a block into errors that name the file, the column, the block and its rows.

    A value that does not fit a narrower type becomes a NarrowTypeError with the position of the column.
    """
    try:
        yield
    except MisfitError:
        raise NarrowTypeError(str(key[0])) from None
    except BrokenPayload as error:
        number = key[2]
        before = column.starts[key[1]]
        rows = f"rows {before + int(blocks.starts[number])} to {before + int(blocks.starts[number + 1])}"
        position = "" if error.place is None else f", at byte {error.place} of what it holds"
        raise archive_files.damaged(blocks.path, f"column {column.name!r}, block {number} ({rows}){position}: {error.reason}") from None


@contextlib.contextmanager
def _name_row_in_errors(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks, block: Block, low: int, high: int) -> Iterator[None]:
    """Turn the error of an invalid string or datetime into one that names the file, the column and the row."""
    try:
        yield
    except (UnicodeDecodeError, OverflowError) as error:
        if isinstance(error, StorageError):
            raise
        row = column.starts[key[1]] + int(blocks.starts[key[2]]) + block.first_refused(low, high)
        where = f"{visible(blocks.path)}: column {column.name!r}, row {row}"
        if isinstance(error, UnicodeDecodeError):
            advice = "encoding_errors='latin-1' (--encoding-errors) reads such texts as Latin-1, 'replace' puts signs in place of their bytes"
            raise ArchiveTextError(f"{where}: {error.object[:40]!r} is not UTF-8: {advice}") from None
        raise ArchiveDateError(f"{where}: {OUT_OF_YEARS}") from None
