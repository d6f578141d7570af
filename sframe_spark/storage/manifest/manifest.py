"""The manifest of a dataset: column types, segments in row order, and what is known about each column."""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import pyarrow as pa

from sframe_spark.errors import StorageError, UnknownColumnTypeError
from sframe_spark.message_text import is_unicode
from sframe_spark.storage.filesystem.local_files import Seen
from sframe_spark.storage.manifest.manifest_json import damaged, optional_tuple, scalar_from_json, scalar_to_json, sealed, tuple_of_list, unsealed
from sframe_spark.storage.manifest.physical_types import file_column, type_to_json, types_from_json
from sframe_spark.storage.manifest.segment_index import SelectedValues, StoredSegments
from sframe_spark.storage.manifest.statistics import NO_RECORDED_ORDER, UNKNOWN_STATISTICS, ColumnStatistics, RecordedOrder, Scalar
from sframe_spark.storage.manifest.validation import check
from sframe_spark.types import ColumnType

# Decoded columns, cached as long as their manifest lives.


@attrs.define(eq=False)
class DecodedColumns:
    """Decoded columns of a dataset of many short segments (:mod:`sframe_spark.storage.segments.row_group_decoder`).

    Parameters
    ----------
    edges
        Row offsets of packs (runs of short segments) and the end; None before they were computed, empty where there are none.
    long_segments
        First rows of the segments that are too long for a pack.
    arrays
        Cached columns, by the first row of the pack and the column position. Threads may read and add concurrently.
    """

    edges: tuple[int, ...] | None = None
    long_segments: frozenset[int] = frozenset()
    arrays: dict[tuple[int, int], pa.Array] = attrs.field(factory=dict, repr=False)


# References to columns of other saved datasets.

# Stands for the dataset itself among those referred to.
OWN = -1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST = (1 << 63) - 1


@attrs.frozen
class DatasetElsewhere:
    """A range of rows of another saved dataset.

    Parameters
    ----------
    directory
        Its absolute local path.
    digest
        SHA-256 of its manifest file, in hexadecimal digits. The manifest has checksums of all rows, so no other rows can be substituted, and
        whoever has not read the manifest cannot refer to it.
    start, stop
        Which rows, the last one excluded.
    """

    directory: str
    digest: str
    start: int
    stop: int


@attrs.frozen
class Elsewhere:
    """The columns of a frame, some of which are stored in other datasets.

    Parameters
    ----------
    names
        Of all columns, in order.
    columns
        For each of them, the index of its dataset (``OWN``: the one with this manifest) and its position there.
    datasets
        The other datasets.

    Examples
    --------
    >>> dataset = DatasetElsewhere("/data/frame", "0" * 64, 0, 3)
    >>> found = Elsewhere(("a", "b"), ((0, 2), (OWN, 0)), (dataset,))
    >>> Elsewhere.from_json(found.to_json()) == found
    True
    """

    names: tuple[str, ...]
    columns: tuple[tuple[int, int], ...]
    datasets: tuple[DatasetElsewhere, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "names": list(self.names),
            "columns": [list(place) for place in self.columns],
            "datasets": [attrs.asdict(item) for item in self.datasets],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Elsewhere:
        """Return what :meth:`to_json` described.

        Raises
        ------
        ValueError
            If a number is out of range, a path is not absolute, or names and columns do not go together.
        """
        found = cls(
            tuple(value["names"]),
            tuple((dataset, position) for dataset, position in value["columns"]),
            tuple(DatasetElsewhere(item["directory"], item["digest"], item["start"], item["stop"]) for item in value["datasets"]),
        )
        _check(found)
        return found

    def check_own(self, width: int, rows: int) -> None:
        """Check the dataset's own number of columns and rows against the references.

        Raises
        ------
        ValueError
            If it has another number of columns, or of rows.
        """
        if sorted({position for dataset, position in self.columns if dataset == OWN}) != list(range(width)):
            raise ValueError(f"its files have {width} columns, and others are named")
        if width and rows != self.rows:
            raise ValueError(f"its files have {rows} rows, and {self.rows} are elsewhere")

    @property
    def rows(self) -> int:
        """Number of rows of each dataset."""
        return self.datasets[0].stop - self.datasets[0].start


def _check(found: Elsewhere) -> None:
    if not all(type(name) is str and is_unicode(name) for name in found.names) or len(set(found.names)) != len(found.names):
        raise ValueError("a name is no text, or there twice")
    if len(found.names) != len(found.columns) or not found.datasets:
        raise ValueError(f"{len(found.names)} names for {len(found.columns)} columns in {len(found.datasets)} datasets")
    for dataset, position in found.columns:
        if type(dataset) is not int or type(position) is not int or not OWN <= dataset < len(found.datasets) or not 0 <= position <= _LARGEST:
            raise ValueError(f"no column is at {dataset!r:.30}, {position!r:.30}")
    for item in found.datasets:
        _check_dataset(item)
        if item.stop - item.start != found.rows:
            raise ValueError("datasets of several lengths")


def _check_dataset(item: DatasetElsewhere) -> None:
    directory = item.directory
    if type(directory) is not str or not directory.startswith("/") or not is_unicode(directory) or "\0" in directory:
        raise ValueError(f"{directory!r:.200} is no absolute path")
    if type(item.digest) is not str or not _DIGEST.fullmatch(item.digest):
        raise ValueError(f"{item.digest!r:.80} is no digest")
    if type(item.start) is not int or type(item.stop) is not int or not 0 <= item.start <= item.stop <= _LARGEST:
        raise ValueError(f"there are no rows {item.start!r:.30} to {item.stop!r:.30}")


SFRAME, SARRAY = "sframe", "sarray"


@attrs.frozen
class SegmentEntry:
    """One file of a dataset: a range of its rows.

    Parameters
    ----------
    file
        Path relative to the directory of the dataset.
    number
        Segment number: the upper bits of the hidden keys of its rows.
    rows
        How many rows it has.
    columns
        Statistics of each column.
    checksum
        Checksum of the whole file, ``crc32:`` and eight hexadecimal digits; None where the checksums of its parts cover all bytes.
    size
        Length of the file in bytes; None when unknown.
    first_position
        Position of its first row inside the segment; not zero only where a writer split a segment into several files.
    tail
        Number of bytes after the last page, and their checksum; None when it was not computed.
    pages
        Checksum of the page headers of each column and of the key; pages carry checksums of their own. None when not computed.
    seen
        State of an external file when its statistics were taken; not stored in any text.
    constants
        Columns, by position, that have one value in all rows and are not in the file, such as partition columns.
    group_bytes
        Size of its rows in memory if they are one row group; None otherwise or if unknown.
    group_pages
        Like ``pages``, for each row group, of remote files, so that one group can be checked by itself; None where ``pages`` suffices.
    whole
        Checksum of all bytes of a short file, which is read at once; None where it was not computed.
    """

    file: str
    number: int
    rows: int
    # Statistics follow from the file, so they take no part in comparisons.
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

    def __reduce__(self) -> tuple[Any, ...]:
        # Ten times faster than attrs' default; there may be a hundred thousand entries.
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
        """Return the entry that :meth:`to_json` described."""
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
        )


_FIELDS = tuple(field.name for field in attrs.fields(SegmentEntry))
_of_entry = operator.attrgetter(*_FIELDS)
_IF_KNOWN = ("group_bytes", "group_pages", "whole")
_IN_FILES = tuple(name for name in _FIELDS if name not in ("seen", "constants", *_IF_KNOWN))


@attrs.frozen(cache_hash=True)
class Manifest:
    """A dataset: the rows of its segments, one after the other.

    Parameters
    ----------
    types
        Type of each column.
    segments
        Entries in row order.
    directory
        Absolute local path or URI of the directory; not written into the file, so that a dataset can be moved.
    names
        Names of the columns of a saved frame; None for intermediate results.
    kind
        ``sframe`` or ``sarray``.
    has_key
        Whether the files carry the hidden key column.
    column_names_in_files
        What the columns are called inside the files; None for c0, c1 and so on.
    order
        What is known of the row order.
    elsewhere
        References of a frame to columns of other datasets; None for all others. Not part of a plan's text.
    left_out
        Rows before the first and after the last segment that a task does not know (see :meth:`between`). Not part of any text.
    stored
        The sidecar file with all segments; None where there is none. Not part of a plan's text.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> manifest = Manifest((INT,), (SegmentEntry("a", 0, 3), SegmentEntry("b", 2, 4)), "/data")
    >>> manifest.rows, manifest.offsets, manifest.offset_of_number
    (7, (0, 3), {0: 0, 2: 3})
    """

    # The pickler of tasks inspects the values of an object unless it is marked; there may be a hundred thousand segments.
    travels_as_one: ClassVar[bool] = True

    types: tuple[ColumnType, ...]
    segments: tuple[SegmentEntry, ...]
    directory: str
    names: tuple[str, ...] | None = None
    kind: str = SFRAME
    has_key: bool = True
    column_names_in_files: tuple[str, ...] | None = None
    order: RecordedOrder = NO_RECORDED_ORDER
    elsewhere: Elsewhere | None = attrs.field(default=None, eq=False)
    left_out: tuple[int, int] = (0, 0)
    stored: StoredSegments | None = attrs.field(default=None, eq=False)

    def __attrs_post_init__(self) -> None:
        if self.stored is not None and not self.stored.is_of(self.segments):
            object.__setattr__(self, "stored", None)
        check(self)

    @functools.cached_property
    def rows(self) -> int:
        """Number of rows."""
        return sum(entry.rows for entry in self.segments) + sum(self.left_out)

    @functools.cached_property
    def has_sizes(self) -> bool:
        """Whether the size of each file is known."""
        return all(entry.size is not None for entry in self.segments)

    @functools.cached_property
    def decoded(self) -> DecodedColumns:
        """The cache of decoded columns, which belongs to this very object and is not pickled."""
        return DecodedColumns()

    @functools.cached_property
    def offsets(self) -> tuple[int, ...]:
        """Row number of the first row of each segment."""
        starts = itertools.accumulate((entry.rows for entry in self.segments), initial=self.left_out[0])
        return tuple(itertools.islice(starts, len(self.segments)))

    @functools.cached_property
    def offset_of_number(self) -> dict[int, int]:
        """Dense row number of position 0 of each segment number: ``offset[_key >> 33] + (_key & mask)`` is the row."""
        found: dict[int, int] = {}
        for entry, offset in zip(self.segments, self.offsets, strict=True):
            found.setdefault(entry.number, offset - entry.first_position)
        return found

    @property
    def identity(self) -> tuple[Any, ...]:
        """Identifies the rows of this dataset, also among later ones in the same directory."""
        # Our segments have unique names, so the first and the last suffice; plans compare sources often.
        ends = self.segments[:1] + self.segments[-1:]
        # Versions of a frame share a directory.
        types = self.types if not ends else None
        return (self.directory, len(self.segments), *((entry.file, entry.size) for entry in ends), self.version, types)

    @functools.cached_property
    def watched(self) -> tuple[SegmentEntry, ...]:
        """External files, which may be rewritten under the same names and must be checked for changes before facts about them are used."""
        return tuple(entry for entry in self.segments if entry.seen is not None and entry.rows)

    @functools.cached_property
    def version(self) -> str | None:
        """Identifies the contents of the watched files; None where there are none."""
        if not self.watched:
            return None
        found = hashlib.blake2b(digest_size=16)
        for entry in self.watched:
            found.update(repr((entry.file, entry.rows, entry.seen)).encode())
        return found.hexdigest()

    def with_segments(self, segments: tuple[SegmentEntry, ...]) -> Manifest:
        """Return a manifest of some of the segments, or of the same ones with more facts."""
        return self._trusted("segments", segments)

    def between(self, start: int, stop: int, columns: Sequence[int] | None = None) -> Manifest:
        """Return a manifest of the rows ``start`` to ``stop`` for a task: no other segments, no statistics, the same row numbers.

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
        return self.with_segments(segments)._trusted("left_out", left_out)

    def about(self, columns: Sequence[int]) -> Manifest:
        """Return a manifest for a task that searches all rows by some columns, without facts about others."""
        facts = (SelectedValues.of(entry.columns, columns, UNKNOWN_STATISTICS) if len(entry.columns) else () for entry in self.segments)
        return self.with_segments(tuple(_trimmed(entry, known, columns) for entry, known in zip(self.segments, facts, strict=True)))

    def with_order(self, order: RecordedOrder) -> Manifest:
        """Return the same rows with what is known of their order."""
        return self._trusted("order", order)

    def _trusted(self, field: str, value: Any) -> Manifest:
        """Return a copy with one field replaced, without validating all segments again."""
        made = object.__new__(Manifest)
        for each in attrs.fields(Manifest):
            object.__setattr__(made, each.name, value if each.name == field else getattr(self, each.name))
        if field == "segments":
            # The sidecar describes exactly the original segments.
            object.__setattr__(made, "stored", None)
        object.__setattr__(made, "_attrs_cached_hash", None)
        return made

    def follow_to(self, directory: str) -> None:
        """Follow the same files into another directory; every source over this manifest follows."""
        object.__setattr__(self, "directory", directory)
        if self.stored is not None:
            self.stored.directory = directory
        # attrs caches the hash, of which the directory is a part.
        object.__setattr__(self, "_attrs_cached_hash", None)

    def file_name(self, column: int) -> str:
        """Return what a column is called inside the files."""
        if not 0 <= column < len(self.types):
            raise StorageError(f"{self.directory} has {len(self.types)} columns, none at position {column}")
        return file_column(column) if self.column_names_in_files is None else self.column_names_in_files[column]

    def to_json(self, more: Mapping[str, Any] | None = None, sidecar: Mapping[str, Any] | None = None) -> str:
        """Return the text of the manifest file with additional keys; ``sidecar`` is the reference to the file with its segments."""
        content = {
            "kind": self.kind,
            "names": self.names,
            "types": [type_to_json(column_type) for column_type in self.types],
            "has_key": self.has_key,
            "column_names_in_files": self.column_names_in_files,
            "rows": self.rows,
            "order": self.order.to_json(),
            **({"segments": [entry.to_json() for entry in self.segments]} if sidecar is None else {"beside": sidecar}),
            **(more or {}),
        }
        return sealed(content if self.elsewhere is None else {**content, "elsewhere": self.elsewhere.to_json()})

    @classmethod
    def from_json(cls, text: str, directory: str) -> Manifest:
        """Return the manifest whose text is given; raises :class:`StorageError` when it is not one we can read."""
        content = unsealed(text, directory)
        try:
            types = types_from_json(content["types"])
            stored = StoredSegments(directory, content["beside"], types, ColumnStatistics) if "beside" in content else None
            manifest = cls(
                types=types,
                segments=_segments(content, stored),
                stored=stored,
                directory=directory,
                names=optional_tuple(content["names"]),
                kind=content["kind"],
                has_key=content["has_key"],
                column_names_in_files=optional_tuple(content["column_names_in_files"]),
                order=RecordedOrder.from_json(content.get("order", {})),
                elsewhere=None if content.get("elsewhere") is None else Elsewhere.from_json(content["elsewhere"]),
            )
            if manifest.elsewhere is not None:
                manifest.elsewhere.check_own(len(manifest.types), manifest.rows)
        except UnknownColumnTypeError as error:
            raise damaged(directory, str(error)) from None
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise damaged(directory, repr(error)[:200]) from error
        if content.get("rows") != manifest.rows:
            raise damaged(directory, "its segments have another number of rows than it says")
        return manifest


def _trimmed(entry: SegmentEntry, facts: Sequence[ColumnStatistics], columns: Sequence[int] | None) -> SegmentEntry:
    values = dict(zip(_FIELDS, _of_entry(entry), strict=True), columns=facts)
    if columns is not None and entry.pages is not None and len(columns) + 1 < len(entry.pages):
        values["pages"] = SelectedValues.of(entry.pages, (*columns, -1))
        values["group_pages"] = entry.group_pages and tuple(SelectedValues.of(group, (*columns, -1)) for group in entry.group_pages)
    return SegmentEntry(**values)


def _segments(content: Mapping[str, Any], stored: StoredSegments | None) -> tuple[SegmentEntry, ...]:
    """The segments in a manifest's text or in its sidecar."""
    if stored is None:
        return tuple(map(SegmentEntry.from_json, content["segments"]))
    return stored.remember(tuple(itertools.starmap(SegmentEntry, stored.entries())))
