"""Rows of an archive by their numbers: only the blocks that hold some of them are read, each once for who goes through the rows in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import ArchiveDateError, ArchiveTextError, BrokenPayload, MisfitError, NarrowTypeError, StorageError
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.turicreate.archive import Archive, ArchiveColumn
from sframe_spark.turicreate.block import Block
from sframe_spark.turicreate.moments import OUT_OF_YEARS
from sframe_spark.turicreate.segments import ColumnBlocks, damaged_file, footer_of, opened, read_bytes, unpacked
from sframe_spark.visible import visible

# So many files are open at a time.
MOST_OPEN = 32
# What is looked up in a block takes no more than so many times its bytes, of blocks that a writer makes.
USUAL_TIMES = 8
# The column, its part and the block.
BlockKey = tuple[int, int, int]
CountedColumns = tuple[int, list[pa.ChunkedArray]]


class ArchiveReader:
    """Reads rows of an archive; blocks that were read last are kept, as the next rows may be in them.

    Parameters
    ----------
    archive
        The archive.
    most_bytes
        How many bytes of blocks are kept besides those of the last rows.
    """

    def __init__(self, archive: Archive, most_bytes: int | None = None) -> None:
        self.archive = archive
        self._most_bytes = config.batch_bytes if most_bytes is None else most_bytes
        # In the order in which they were asked for last.
        self._kept: dict[BlockKey, Block] = {}
        self._size = self._payloads = 0

    def read(self, positions: Sequence[int], first: int, last: int) -> list[pa.ChunkedArray]:
        """Return rows ``first`` to ``last`` of some columns.

        Raises
        ------
        StorageError
            If a file is damaged, gone or another one, or a value is nothing that a column holds; the message names file, column and block.
        """
        with self._keeping() as asked, _OpenFiles(self.archive) as files:
            return [self._column(position, first, last, files, asked) for position in positions]

    def bytes_between(self, positions: Sequence[int], first: int, last: int) -> list[float]:
        """Return about how many bytes rows ``first`` to ``last`` of each column take in memory; their blocks are read for that, and kept."""
        with self._keeping() as asked, _OpenFiles(self.archive) as files:
            return [self._bytes(position, first, last, files, asked) for position in positions]

    def batches(self, positions: Sequence[int], first: int, last: int, most_rows: int, most_bytes: float) -> Iterator[CountedColumns]:
        """Yield rows ``first`` to ``last`` some at a time, with how many they are: at most so many, of long ones no more than take so many bytes."""
        while first < last:
            stop = min(first + most_rows, last)
            while stop - first > 1 and sum(self.bytes_between(positions, first, stop)) > most_bytes:
                stop = first + (stop - first) // 2
            yield stop - first, self.read(positions, first, stop)
            first = stop

    def close(self) -> None:
        """Keep no blocks."""
        self._kept.clear()
        self._size = self._payloads = 0

    def _column(self, position: int, first: int, last: int, files: _OpenFiles, asked: set[BlockKey]) -> pa.ChunkedArray:
        column, found = self.archive.contents.columns[position], []
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _telling(column, key, blocks):
                block = self._block(key, blocks, files, asked)
                with _telling_rows(column, key, blocks, block, low, high):
                    found.append(block.values(low, high))
        return pa.chunked_array(found, column.column_type.physical)

    def _bytes(self, position: int, first: int, last: int, files: _OpenFiles, asked: set[BlockKey]) -> float:
        column, found = self.archive.contents.columns[position], 0.0
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _telling(column, key, blocks):
                found += self._block(key, blocks, files, asked).bytes_between(low, high)
        return found

    def _blocks(self, column: ArchiveColumn, position: int, first: int, last: int) -> Iterator[tuple[BlockKey, ColumnBlocks, int, int]]:
        """Each block that holds some rows, with those of its own rows that are meant."""
        for number, low, high in column.between(first, last):
            part = column.parts[number]
            blocks = footer_of(self.archive.contents.files[part.file]).blocks(part.column, part.rows, column.name)
            for block, start, stop in blocks.between(low, high):
                raise_if_cancelled()
                yield (position, number, block), blocks, start, stop

    def _block(self, key: BlockKey, blocks: ColumnBlocks, files: _OpenFiles, asked: set[BlockKey]) -> Block:
        asked.add(key)
        block = self._kept.get(key)
        if block is not None:
            self._let_go(key)
        else:
            position, part, number = key
            record, file = blocks.record(number), self.archive.contents.columns[position].parts[part].file
            content = unpacked(read_bytes(files.descriptor(file), blocks.path, record.offset, record.length), record)
            block = Block(content, record.length, record.rows, record.flags, self.archive.form(position))
        self._keep(key, block)
        return block

    @contextlib.contextmanager
    def _keeping(self) -> Iterator[set[BlockKey]]:
        """Let go of the blocks that nobody has asked for longest; what the block asks for stays."""
        asked: set[BlockKey] = set()
        yield asked
        left = self._size - max(self._most_bytes, sum(self._kept[key].size for key in asked if key in self._kept))
        for key in list(self._kept):
            if left <= 0:
                break
            if key not in asked:
                left -= self._kept[key].size
                self._let_go(key)

    def _keep(self, key: BlockKey, block: Block) -> None:
        """Keep a block, and no others that are much longer in memory than they are in their payloads, as nobody writes them."""
        self._kept[key] = block
        self._size += block.size
        self._payloads += block.payload_size
        for other in list(self._kept):
            if other == key or self._size <= max(self._most_bytes, USUAL_TIMES * self._payloads):
                break
            self._let_go(other)

    def _let_go(self, key: BlockKey) -> None:
        block = self._kept.pop(key)
        self._size -= block.size
        self._payloads -= block.payload_size


class _OpenFiles:
    """Segment files of an archive, opened when they are asked for and closed at the end of the block."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._open: dict[int, int] = {}
        self._stack = contextlib.ExitStack()

    def descriptor(self, number: int) -> int:
        """Return the descriptor of a file."""
        if number not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._stack.close()
                self._open.clear()
            self._open[number] = self._stack.enter_context(opened(self._archive.contents.files[number]))
        return self._open[number]

    def __enter__(self) -> _OpenFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return self._stack.__exit__(kind, error, trace)


@contextlib.contextmanager
def _telling(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks) -> Iterator[None]:
    """Tell which block is damaged."""
    try:
        yield
    except MisfitError:
        raise NarrowTypeError(str(key[0])) from None
    except BrokenPayload as error:
        number = key[2]
        before = column.starts[key[1]]
        rows = f"rows {before + int(blocks.starts[number])} to {before + int(blocks.starts[number + 1])}"
        place = "" if error.place is None else f", at byte {error.place} of what it holds"
        where = f"column {column.name!r}, block {number} ({rows}){place}"
        raise damaged_file(blocks.path, f"{where}: {error.reason}") from None


@contextlib.contextmanager
def _telling_rows(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks, block: Block, low: int, high: int) -> Iterator[None]:
    """Tell which row holds what no column does."""
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
