"""The manifest of a dataset: the types of its columns, and its segment files in row order with their statistics and checksums."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import StorageError, UnknownColumnTypeError
from sframe_spark.message_text import is_unicode
from sframe_spark.storage.filesystem.local_files import Seen
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS, ColumnStatistics, Scalar
from sframe_spark.storage.manifest.manifest_json import damaged, optional_tuple, scalar_from_json, scalar_to_json, sealed, tuple_of_list, unsealed
from sframe_spark.storage.manifest.physical_types import file_column, type_to_json, types_from_json
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER, RecordedOrder
from sframe_spark.storage.manifest.sidecar_file_of_segment_statistics_and_checksums import SelectedValues, StoredSegments
from sframe_spark.storage.manifest.validation import check
from sframe_spark.types import INT, ColumnType

# A cache of decoded columns, which belongs to a manifest.


@attrs.define(eq=False)
class DecodedColumns:
    """A cache of decoded columns of a dataset with many short segments (see :mod:`sframe_spark.storage.segments.decoded_column_cache`).

    Parameters
    ----------
    edges
        The first row of each pack (a run of short segments) and of each long segment, followed by the number of rows. None before they were
        computed; empty if the dataset has no packs.
    long_segments
        The first rows of the segments that are too long for a pack.
    arrays
        The cached columns, by the first row of the pack and the position of the column. Threads may read and add entries concurrently.
    """

    edges: tuple[int, ...] | None = None
    long_segments: frozenset[int] = frozenset()
    arrays: dict[tuple[int, int], pa.Array] = attrs.field(factory=dict, repr=False)


# References to columns of other saved datasets.

# The dataset index of columns that are stored in the dataset itself.
OWN = -1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST = (1 << 63) - 1


@attrs.frozen
class ReferencedDataset:
    """A reference to a range of rows of another saved dataset.

    Parameters
    ----------
    directory
        The absolute local path of the dataset.
    digest
        The SHA-256 of its manifest file, in hexadecimal digits. Since the manifest has checksums of all rows, the digest shows whether the dataset
        was replaced; and a reference can be written only by a process that has read the manifest.
    start, stop
        The first row, and the row behind the last one.
    """

    directory: str
    digest: str
    start: int
    stop: int


@attrs.frozen
class ColumnReferences:
    """The columns of a frame, some of which are stored in other datasets.

    Parameters
    ----------
    names
        The names of all columns of the frame, in order.
    columns
        For each column, the index of its dataset in ``datasets`` (``OWN`` for the dataset of this manifest), and its position in that dataset.
    datasets
        The other datasets.

    Examples
    --------
    >>> dataset = ReferencedDataset("/data/frame", "0" * 64, 0, 3)
    >>> frame = ColumnReferences(("a", "b"), ((0, 2), (OWN, 0)), (dataset,))
    >>> ColumnReferences.from_json(frame.to_json()) == frame
    True
    """

    names: tuple[str, ...]
    columns: tuple[tuple[int, int], ...]
    datasets: tuple[ReferencedDataset, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the columns and datasets as a JSON object."""
        return {
            "names": list(self.names),
            "columns": [list(column) for column in self.columns],
            "datasets": [attrs.asdict(item) for item in self.datasets],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ColumnReferences:
        """Return the object that :meth:`to_json` has converted to JSON.

        Raises
        ------
        ValueError
            If a name occurs twice, a number is out of range, a path is not absolute, a digest is invalid, or there is not one column for each name.
        """
        result = cls(
            tuple(value["names"]),
            tuple((dataset, position) for dataset, position in value["columns"]),
            tuple(ReferencedDataset(item["directory"], item["digest"], item["start"], item["stop"]) for item in value["datasets"]),
        )
        result._check()
        return result

    def _check(self) -> None:
        names, datasets = self.names, self.datasets
        if not all(type(name) is str and is_unicode(name) for name in names) or len(set(names)) != len(names):
            raise ValueError("a name is no text, or there twice")
        if len(names) != len(self.columns) or not datasets:
            raise ValueError(f"{len(names)} names for {len(self.columns)} columns in {len(datasets)} datasets")
        for dataset, position in self.columns:
            if type(dataset) is not int or type(position) is not int or not OWN <= dataset < len(datasets) or not 0 <= position <= _LARGEST:
                raise ValueError(f"no column is at {dataset!r:.30}, {position!r:.30}")
        for item in datasets:
            directory = item.directory
            if type(directory) is not str or not directory.startswith("/") or not is_unicode(directory) or "\0" in directory:
                raise ValueError(f"{directory!r:.200} is no absolute path")
            if type(item.digest) is not str or not _DIGEST.fullmatch(item.digest):
                raise ValueError(f"{item.digest!r:.80} is no digest")
            if type(item.start) is not int or type(item.stop) is not int or not 0 <= item.start <= item.stop <= _LARGEST:
                raise ValueError(f"there are no rows {item.start!r:.30} to {item.stop!r:.30}")
            if item.stop - item.start != self.rows:
                raise ValueError("datasets of several lengths")

    def check_own(self, width: int, rows: int) -> None:
        """Check that the dataset of this manifest has the columns that are referred to, and as many rows as the other datasets.

        Parameters
        ----------
        width, rows
            The number of columns and of rows in the dataset's own files.

        Raises
        ------
        ValueError
            If the number of columns or of rows differs.
        """
        if sorted({position for dataset, position in self.columns if dataset == OWN}) != list(range(width)):
            raise ValueError(f"its files have {width} columns, and others are named")
        if width and rows != self.rows:
            raise ValueError(f"its files have {rows} rows, and {self.rows} are elsewhere")

    @property
    def rows(self) -> int:
        """The number of rows of the frame, which all datasets have."""
        return self.datasets[0].stop - self.datasets[0].start


SFRAME, SARRAY = "sframe", "sarray"


@attrs.frozen
class SegmentEntry:
    """One file of a dataset, which holds a range of the dataset's rows.

    Parameters
    ----------
    file
        The path of the file, relative to the directory of the dataset.
    number
        The segment number: the upper bits of the hidden row keys.
    rows
        The number of rows.
    columns
        The statistics of each column; empty if there are none.
    checksum
        The checksum of the whole file, ``crc32:`` and eight hexadecimal digits; None if the checksums of its parts cover all bytes.
    size
        The size of the file in bytes; None if unknown.
    first_position
        The position of the file's first row in the segment; it is not 0 only if a writer split a segment into several files.
    tail
        The number of bytes after the last page, and their checksum; None if it was not computed.
    pages
        The checksum of the page headers of each column and of the key; None if they were not computed. The pages themselves have checksums
        in their headers.
    seen
        The state of an external file when its statistics were computed; not serialised.
    constants
        Positions and values of the columns that have one value in all rows and are not in the file, such as partition columns.
    group_bytes
        The size of the rows in memory if the file has a single row group; None otherwise, or if unknown.
    group_pages
        For remote files, the checksums in ``pages`` for each row group, so that a row group can be checked by itself; None for other files.
    whole
        The checksum of all bytes of a short file, which is read as a whole; None if it was not computed.
    column_bytes
        The bytes that the values of each column take in memory, None for a column of which they are unknown; None if all are unknown.
    """

    file: str
    number: int
    rows: int
    # Statistics and checksums follow from the content of the file, so entries are compared without them.
    columns: Sequence[ColumnStatistics] = attrs.field(default=(), eq=False)
    checksum: str | None = None
    size: int | None = None
    first_position: int = 0
    tail: tuple[int, int] | None = attrs.field(default=None, eq=False)
    pages: Sequence[int] | None = attrs.field(default=None, eq=False)
    seen: Seen | None = attrs.field(default=None, eq=False)
    constants: tuple[tuple[int, Scalar], ...] = ()
    group_bytes: int | None = attrs.field(default=None, eq=False)
    group_pages: Sequence[Sequence[int]] | None = attrs.field(default=None, eq=False)
    whole: int | None = attrs.field(default=None, eq=False)
    column_bytes: tuple[int | None, ...] | None = attrs.field(default=None, eq=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # This is ten times faster than the default of attrs. There may be a hundred thousand entries.
        return SegmentEntry, _of_entry(self)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        fields = {name: getattr(self, name) for name in _IN_FILES}
        fields["columns"] = [statistics.to_json() for statistics in self.columns]
        fields.update({name: value for name in _IF_KNOWN if (value := getattr(self, name)) is not None})
        fields.update({name: tuple(fields[name]) for name in ("pages", "group_pages") if fields.get(name) is not None})
        if self.constants:
            fields["constants"] = [[position, scalar_to_json(value)] for position, value in self.constants]
        return fields

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SegmentEntry:
        """Return the entry that :meth:`to_json` has converted to JSON."""
        columns = tuple(ColumnStatistics.from_json(statistics) for statistics in value.get("columns", ()))
        return cls(
            file=value["file"],
            number=value["number"],
            rows=value["rows"],
            columns=columns,
            checksum=value.get("checksum"),
            size=value.get("size"),
            first_position=value.get("first_position", 0),
            tail=optional_tuple(value.get("tail")),
            pages=optional_tuple(value.get("pages")),
            constants=tuple((position, scalar_from_json(constant)) for position, constant in value.get("constants", ())),
            group_bytes=value.get("group_bytes"),
            group_pages=None if (groups := optional_tuple(value.get("group_pages"))) is None else tuple(map(tuple_of_list, groups)),
            whole=value.get("whole"),
            column_bytes=optional_tuple(value.get("column_bytes")),
        )


_FIELDS = tuple(field.name for field in attrs.fields(SegmentEntry))
_of_entry = operator.attrgetter(*_FIELDS)
_IF_KNOWN = ("group_bytes", "group_pages", "whole", "column_bytes")
_IN_FILES = tuple(name for name in _FIELDS if name not in ("seen", "constants", *_IF_KNOWN))


@attrs.frozen
class SecondOrder:
    """All rows of a dataset once more, in the order of one of its columns and then of their row numbers, which are the last column.

    Parameters
    ----------
    column
        The position of the column, which ascends; missing values come first.
    rows
        The rows: a dataset in the same directory, with the columns of the first one and the row numbers.
    """

    column: int
    rows: Manifest

    @classmethod
    def of(cls, column: int, first: Manifest, segments: tuple[SegmentEntry, ...]) -> SecondOrder:
        """Return the second order of a dataset, given the segments of its rows in that order."""
        width = len(first.types)
        order = RecordedOrder((((column, True), (width, True)),), ((width,),))
        return cls(column, Manifest((*first.types, INT), segments, first.directory, order=order, ordered_by=column))

    def to_json(self) -> dict[str, Any]:
        """Return the second order as a JSON object."""
        return {"column": self.column, "segments": [entry.to_json() for entry in self.rows.segments]}


@attrs.frozen(cache_hash=True)
class Manifest:
    """The description of a dataset, whose rows are the rows of its segments, one segment after the other.

    Parameters
    ----------
    types
        The type of each column.
    segments
        The entries of the segment files, in row order.
    directory
        The absolute local path or the URI of the directory. It is not stored in the manifest file, so that a dataset can be moved.
    names
        The names of the columns of a saved frame; None for intermediate results.
    kind
        ``sframe`` or ``sarray``.
    has_key
        Whether the files have the hidden column with the row keys.
    column_names_in_files
        The names of the columns in the files; None for c0, c1 and so on.
    order
        The known orderings and keys of the rows.
    references
        The columns that a frame has in other datasets; None if it has all columns in its own files. Not part of a serialised plan.
    left_out
        In a manifest for a task, the number of rows before the first segment and after the last one (see :meth:`between`). Not serialised as JSON.
    stored
        The sidecar file with all segments; None if there is none. Not part of a serialised plan.
    second_orders
        The rows once more, in other orders. Not part of a serialised plan, nor of a manifest for a task.
    ordered_by
        The column of a second order if this is its manifest; None otherwise.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> manifest = Manifest((INT,), (SegmentEntry("a", 0, 3), SegmentEntry("b", 2, 4)), "/data")
    >>> manifest.rows, manifest.offsets, manifest.offset_of_number
    (7, (0, 3), {0: 0, 2: 3})
    """

    # With this mark, the pickler of tasks does not inspect the attributes, which may include a hundred thousand segments.
    travels_as_one: ClassVar[bool] = True

    types: tuple[ColumnType, ...]
    segments: tuple[SegmentEntry, ...]
    directory: str
    names: tuple[str, ...] | None = None
    kind: str = SFRAME
    has_key: bool = True
    column_names_in_files: tuple[str, ...] | None = None
    order: RecordedOrder = NO_RECORDED_ORDER
    references: ColumnReferences | None = attrs.field(default=None, eq=False)
    left_out: tuple[int, int] = (0, 0)
    stored: StoredSegments | None = attrs.field(default=None, eq=False)
    second_orders: tuple[SecondOrder, ...] = attrs.field(default=(), eq=False)
    ordered_by: int | None = attrs.field(default=None, eq=False)

    def __attrs_post_init__(self) -> None:
        if self.stored is not None and not self.stored.is_of(self.segments):
            object.__setattr__(self, "stored", None)
        check(self)

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return sum(entry.rows for entry in self.segments) + sum(self.left_out)

    @property
    def called(self) -> str:
        """What printed plans call the dataset."""
        return self.directory if self.ordered_by is None else f"{self.directory} by column {self.ordered_by}"

    @property
    def every_segment(self) -> tuple[SegmentEntry, ...]:
        """The entries of all files: those of the rows, and of the rows in other orders."""
        return (*self.segments, *(entry for second in self.second_orders for entry in second.rows.segments))

    @cached_property
    def column_bytes(self) -> tuple[int | None, ...]:
        """The bytes that all values of each column take in memory; None for a column of which some are unknown."""
        if self.stored is not None:
            return self.stored.column_bytes
        unknown = (None,) * len(self.types)
        columns = zip(*(entry.column_bytes or unknown for entry in self.segments), strict=True)
        return tuple(sum(known) if len(known := [size for size in sizes if size is not None]) == len(sizes) else None for sizes in columns) or unknown

    @cached_property
    def has_sizes(self) -> bool:
        """Whether the sizes of all files are known."""
        return all(entry.size is not None for entry in self.segments)

    @cached_property
    def decoded(self) -> DecodedColumns:
        """The cache of decoded columns of this object, which is not pickled."""
        return DecodedColumns()

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The row number of the first row of each segment."""
        starts = itertools.accumulate((entry.rows for entry in self.segments), initial=self.left_out[0])
        return tuple(itertools.islice(starts, len(self.segments)))

    @cached_property
    def offset_of_number(self) -> dict[int, int]:
        """The row number of position 0, by segment number: the row with a key has the number ``offset[_key >> 33] + (_key & mask)``."""
        starts: dict[int, int] = {}
        for entry, offset in zip(self.segments, self.offsets, strict=True):
            starts.setdefault(entry.number, offset - entry.first_position)
        return starts

    @property
    def identity(self) -> tuple[Any, ...]:
        """A key that is equal only for datasets with the same rows, even if the dataset in the directory is replaced."""
        # Segment files have unique names. Plans compare sources often, so only the first and the last name are compared.
        ends = self.segments[:1] + self.segments[-1:]
        # Empty versions of a frame share a directory and have no segments, so their types are compared.
        types = self.types if not ends else None
        return (self.directory, len(self.segments), *((entry.file, entry.size) for entry in ends), self.version, types)

    @cached_property
    def watched(self) -> tuple[SegmentEntry, ...]:
        """The non-empty external files, which may be rewritten, and are checked for changes before their statistics are used."""
        return tuple(entry for entry in self.segments if entry.seen is not None and entry.rows)

    @cached_property
    def version(self) -> str | None:
        """A hash of the names and states of the external files, which changes when one of them is rewritten; None if there are none."""
        if not self.watched:
            return None
        digest = hashlib.blake2b(digest_size=16)
        for entry in self.watched:
            digest.update(repr((entry.file, entry.rows, entry.seen)).encode())
        return digest.hexdigest()

    def with_segments(self, segments: tuple[SegmentEntry, ...]) -> Manifest:
        """Return a copy of the manifest with other entries: some of its segments, or all of them with changed statistics or checksums."""
        return self._trusted("segments", segments)

    def between(self, start: int, stop: int, columns: Sequence[int] | None = None) -> Manifest:
        """Return a manifest for a task that reads a range of rows, without other segments and without statistics; row numbers stay the same.

        If ``columns`` is given, the entries have only the checksums of these columns.

        Examples
        --------
        >>> from sframe_spark.types import INT
        >>> whole = Manifest((INT,), (SegmentEntry("a", 0, 3), SegmentEntry("b", 2, 4), SegmentEntry("c", 3, 5)), "/data")
        >>> part = whole.between(3, 5)
        >>> part.rows, part.offsets, [entry.file for entry in part.segments], part.left_out
        (12, (3,), ['b'], (3, 5))
        """
        first = bisect.bisect_right(self.offsets, start) - 1
        last = bisect.bisect_left(self.offsets, stop, lo=max(first, 0))
        segments = tuple(_trimmed(entry, (), columns) for entry in self.segments[max(first, 0) : last])
        before = self.offsets[max(first, 0)] if segments else self.rows
        left_out = (before, self.rows - before - sum(entry.rows for entry in segments))
        return self.with_segments(segments)._trusted("second_orders", ())._trusted("left_out", left_out)

    def about(self, columns: Sequence[int]) -> Manifest:
        """Return a manifest for a task that searches all rows by some columns, without statistics and checksums of other columns."""
        facts = (SelectedValues.of(entry.columns, columns, UNKNOWN_STATISTICS) if len(entry.columns) else () for entry in self.segments)
        trimmed = tuple(_trimmed(entry, known, columns) for entry, known in zip(self.segments, facts, strict=True))
        return self.with_segments(trimmed)._trusted("second_orders", ())

    def with_order(self, order: RecordedOrder) -> Manifest:
        """Return a copy of the manifest with other known orderings and keys."""
        return self._trusted("order", order)

    def with_second_orders(self, second_orders: tuple[SecondOrder, ...]) -> Manifest:
        """Return a copy of the manifest with other second orders."""
        return self._trusted("second_orders", second_orders)

    def _trusted(self, field: str, value: Any) -> Manifest:
        """Return a copy with one field replaced, without validating all segments again."""
        copy = object.__new__(Manifest)
        for attribute in attrs.fields(Manifest):
            object.__setattr__(copy, attribute.name, value if attribute.name == field else getattr(self, attribute.name))
        if field == "segments":
            # The sidecar file describes only the original segments.
            object.__setattr__(copy, "stored", None)
        object.__setattr__(copy, "_attrs_cached_hash", None)
        return copy

    def follow_to(self, directory: str) -> None:
        """Change the directory of this manifest after its files were moved there; all sources that use this object then read from there."""
        object.__setattr__(self, "directory", directory)
        if self.stored is not None:
            self.stored.directory = directory
        # The hash that attrs has cached depends on the directory.
        object.__setattr__(self, "_attrs_cached_hash", None)

    def file_name(self, column: int) -> str:
        """Return the name of a column in the files."""
        if not 0 <= column < len(self.types):
            raise StorageError(f"{self.directory} has {len(self.types)} columns, none at position {column}")
        return file_column(column) if self.column_names_in_files is None else self.column_names_in_files[column]

    def to_json(self, more: Mapping[str, Any] | None = None, sidecar: Mapping[str, Any] | None = None) -> str:
        """Return the content of the manifest file.

        Parameters
        ----------
        more
            Additional keys and values.
        sidecar
            The reference to the sidecar file with the segments; None if the segments are stored in the manifest file.
        """
        content = {
            "kind": self.kind,
            "names": self.names,
            "types": [type_to_json(column_type) for column_type in self.types],
            "has_key": self.has_key,
            "column_names_in_files": self.column_names_in_files,
            "rows": self.rows,
            "order": self.order.to_json(),
            **({"segments": [entry.to_json() for entry in self.segments]} if sidecar is None else {"beside": sidecar}),
            **({"second_orders": [second.to_json() for second in self.second_orders]} if self.second_orders else {}),
            **(more or {}),
        }
        return sealed(content if self.references is None else {**content, "elsewhere": self.references.to_json()})

    @classmethod
    def from_json(cls, text: str, directory: str) -> Manifest:
        """Return the manifest in the content of a manifest file in a directory.

        Raises
        ------
        StorageError
            If the content is damaged, is not a manifest, or is of a newer format version.
        """
        content = unsealed(text, directory)
        try:
            types = types_from_json(content["types"])
            if "beside" in content:
                stored = StoredSegments(directory, content["beside"], types, ColumnStatistics)
                segments = stored.remember(tuple(itertools.starmap(SegmentEntry, stored.entries())))
            else:
                stored, segments = None, tuple(map(SegmentEntry.from_json, content["segments"]))
            manifest = cls(
                types=types,
                segments=segments,
                stored=stored,
                directory=directory,
                names=optional_tuple(content["names"]),
                kind=content["kind"],
                has_key=content["has_key"],
                column_names_in_files=optional_tuple(content["column_names_in_files"]),
                order=RecordedOrder.from_json(content.get("order", {})),
                references=None if content.get("elsewhere") is None else ColumnReferences.from_json(content["elsewhere"]),
            )
            if manifest.references is not None:
                manifest.references.check_own(len(manifest.types), manifest.rows)
            manifest = manifest.with_second_orders(tuple(_second_orders(content.get("second_orders", ()), manifest)))
        except UnknownColumnTypeError as error:
            raise damaged(directory, str(error)) from None
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise damaged(directory, repr(error)[:200]) from error
        if content.get("rows") != manifest.rows:
            raise damaged(directory, "its segments have another number of rows than it says")
        return manifest


def _second_orders(found: Any, manifest: Manifest) -> Iterator[SecondOrder]:
    """Yield the second orders in the content of a manifest file.

    Raises
    ------
    ValueError
        If one is of no column, or has other rows than the dataset, or its files are those of the dataset.
    """
    for item in found:
        column, segments = item["column"], tuple(map(SegmentEntry.from_json, item["segments"]))
        if type(column) is not int or not 0 <= column < len(manifest.types):
            raise ValueError(f"a second order by column {column!r:.20}")
        second = SecondOrder.of(column, manifest, segments)
        if second.rows.rows != manifest.rows:
            raise ValueError(f"a second order of {second.rows.rows} rows, of {manifest.rows}")
        if {entry.file for entry in segments} & {entry.file for entry in manifest.segments}:
            raise ValueError("a second order in the files of the rows")
        yield second


def _trimmed(entry: SegmentEntry, facts: Sequence[ColumnStatistics], columns: Sequence[int] | None) -> SegmentEntry:
    # Tasks do not plan, so they need no sizes of columns.
    values = dict(zip(_FIELDS, _of_entry(entry), strict=True), columns=facts, column_bytes=None)
    if columns is not None and entry.pages is not None and len(columns) + 1 < len(entry.pages):
        values["pages"] = SelectedValues.of(entry.pages, (*columns, -1))
        values["group_pages"] = entry.group_pages and tuple(SelectedValues.of(group, (*columns, -1)) for group in entry.group_pages)
    return SegmentEntry(**values)
