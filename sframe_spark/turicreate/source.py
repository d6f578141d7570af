"""Rows of an archive of Turi Create, which are decoded where somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import attrs

from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.operators.sources.readers import Reader
from sframe_spark.operators.sources.source import MOST_BYTES_OF_PIECE, Saved, Source, check_range
from sframe_spark.planner.chunk import Chunk, combine
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.relation import LoweringContext, Relation
from sframe_spark.planner.sizes import Sizes, fixed_size
from sframe_spark.storage.manifests.manifest import SegmentEntry
from sframe_spark.turicreate.archive import Archive, open_archive
from sframe_spark.turicreate.convert import archive_segments
from sframe_spark.turicreate.narrowing import with_narrow_types
from sframe_spark.turicreate.reader import ArchiveReader
from sframe_spark.turicreate.scan import scan_archive
from sframe_spark.turicreate.verify import require_readable_rows

# Of texts, lists and dicts nothing but the length of the files is known: they are packed to about a third of what they take.
PACKED_TO_A = 3.0


@register
@attrs.frozen
class ArchiveSource(Source):
    """Rows of an archive of Turi Create: some of its columns, a range of its rows.

    Parameters
    ----------
    archive
        The archive.
    positions
        The columns.
    start, stop
        The rows.
    handle
        Keeps a copy of an archive that is elsewhere.
    """

    name: ClassVar[str] = "archive_source"
    decodes: ClassVar[bool] = True
    archive: Archive = attrs.field(eq=lambda archive: archive.identity)
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    @classmethod
    def of(cls, archive: Archive, handle: Any = None) -> ArchiveSource:
        """A source of all rows and columns."""
        return cls(archive, tuple(range(len(archive.contents.columns))), 0, archive.rows, handle)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The types of the selected columns, from the index."""
        return tuple(self.archive.contents.columns[position].column_type for position in self.positions)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """The exact number of rows, from the index."""
        return Length.exactly(self.stop - self.start)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows from the blocks that hold them; no others are read."""
        return self.read_by(ArchiveReader(self.archive), start, stop)

    def read_by(self, reader: ArchiveReader, start: int, stop: int) -> Chunk:
        """Rows from who may have read some of their blocks already."""
        first = self.start + start
        last = max(first, min(self.start + stop, self.stop))
        return Chunk(tuple(map(combine, reader.read(self.positions, first, last))), last - first)

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """One that decodes each block once for who reads rows in order."""
        return _BlockReader(self)

    def in_pieces(self, threads: int = 0) -> Iterator[Chunk]:
        """All rows, some at a time, of long ones fewer."""
        for rows, columns in ArchiveReader(self.archive).batches(self.positions, self.start, self.stop, config.batch_rows, MOST_BYTES_OF_PIECE):
            yield Chunk(tuple(map(combine, columns)), rows)
        if self.start == self.stop:
            yield self.read_all()

    @property
    def shown(self) -> Sequence[int]:
        """The selected columns."""
        return self.positions

    @property
    def stored_names(self) -> Sequence[str]:
        """Those of the index."""
        return self.archive.names

    @property
    def watched(self) -> Archive:
        """Others may change the files at any time."""
        return self.archive

    @property
    def shared_file(self) -> str | None:
        """A segment file: tasks open it."""
        return next((file.path for file in self.archive.contents.files), None)

    def saved_by(self, save: Callable[[Source], Saved]) -> Saved:
        """What all values of a column are is known when they are written."""
        return with_narrow_types(self.archive, self.positions, lambda archive: save(attrs.evolve(self, archive=archive)))

    def write_segments(self, directory: str) -> list[SegmentEntry]:
        """Ranges of rows side by side, block by block."""
        entries = archive_segments(self.archive, self.positions, (self.start, self.stop), directory)
        self.archive.require_unchanged()
        return entries

    def rows_between(self, start: int, stop: int) -> ArchiveSource:
        """The same archive with another range."""
        return attrs.evolve(self, start=self.start + start, stop=self.start + stop)

    def with_columns(self, positions: Sequence[int]) -> ArchiveSource:
        """The same archive with other columns."""
        return attrs.evolve(self, positions=tuple(self.positions[position] for position in positions))

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """By type where it tells; otherwise what the lengths of the files let expect. No row is read for that."""
        columns, rows = self.archive.contents.columns, max(self.archive.rows, 1)
        open_ended = sum(fixed_size(column.column_type) is None for column in columns)
        each = PACKED_TO_A * self.archive.size / rows / max(open_ended, 1)
        return tuple((each if (size := fixed_size(kind)) is None else size) * (stop - start) for kind in self.infer_type(()))

    def as_read(self) -> ArchiveSource:
        """The archive as it is now; refuses columns and rows that it does not have."""
        count = len(self.archive.contents.columns)
        if not all(0 <= position < count for position in self.positions):
            raise InvalidArgumentError(f"the plan's text names columns that {self.archive.location} does not have: {list(self.positions)!r:.200}")
        check_range(self.start, self.stop, self.archive.rows)
        return self

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Tasks that decode a range of rows each; the row number is the key."""
        return scan_archive(self, context)

    def describe(self) -> str:
        """Archive, columns and rows."""
        return f"{self.archive.location}, columns {list(self.positions)}, rows {self.start}..{self.stop}"


class _BlockReader(Reader):
    """Reads an archive; blocks whose rows were asked for last are decoded, but not read, again."""

    def __init__(self, source: ArchiveSource) -> None:
        super().__init__(source)
        self._rows, self._blocks = source, ArchiveReader(source.archive)
        self._open_ended = tuple(position for position, kind in zip(source.positions, source.infer_type(()), strict=True) if fixed_size(kind) is None)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows of the source."""
        return self._rows.read_by(self._blocks, start, stop)

    def bytes_between(self, start: int, stop: int) -> float:
        """Exact for what is about to be read, whose blocks are kept."""
        first, last = self._rows.start + start, min(self._rows.start + stop, self._rows.stop)
        fixed = sum(size for size in map(fixed_size, self._rows.infer_type(())) if size is not None) * max(last - first, 0)
        return fixed + sum(self._blocks.bytes_between(self._open_ended, first, last))

    def close(self) -> None:
        """Keep no blocks."""
        self._blocks.close()


def load_archive(location: str, references: Sequence[str], encoding_errors: str, verify: bool, handle: Any = None) -> tuple[PlannerNode, list[str]]:
    """Return a node over all rows of the archive at a path, and the names of its columns.

    Raises
    ------
    StorageError
        If it is damaged; with ``verify`` all rows are decoded to find out.
    """
    archive = open_archive(location, references, encoding_errors)
    if verify:
        require_readable_rows(archive)
    return archive_source(archive, handle), archive.names


def archive_source(archive: Archive, handle: Any = None) -> PlannerNode:
    """A node over all rows of an archive."""
    return ArchiveSource.of(archive, handle).make_planner_node()
