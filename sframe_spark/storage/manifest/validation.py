"""Validates all manifests that are created, from files, from plans or by this program, in time linear in segments and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import StorageError
from sframe_spark.message_text import is_unicode
from sframe_spark.storage.manifest.physical_types import KEY_SHIFT
from sframe_spark.types import ColumnType

if TYPE_CHECKING:
    from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
    from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry


_CHECKSUM = re.compile(r"crc32:[0-9a-f]{8}")
# File names that this package and Spark create for segments. Spark ignores files whose names start with a dot or an
# underscore, and interprets the part before a colon as a file system.
_WRITTEN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HIDDEN_END = "._COPYING_"
_MAX_LEVELS = 8
_LARGEST = (1 << 63) - 1
_CLASSES: dict[pa.DataType, type] = {pa.int64(): int, pa.timestamp("us"): int, pa.float64(): float, pa.string(): str}


class _Wrong(Exception):
    """An error whose message says what is wrong with a manifest."""


def check(manifest: Manifest) -> None:
    """Raise if a manifest is not consistent.

    Raises
    ------
    StorageError
        If a field has a wrong type, is out of range, or contradicts other fields.
    """
    try:
        _check_columns(manifest)
        if manifest.stored is None:
            _check_segments(manifest)
        else:
            # The segments of a sidecar file were validated all at once when they were read.
            if not manifest.has_key or len(manifest.stored.summary) != len(manifest.types):
                raise _Wrong("segments beside it that are of another dataset")
            for facts, column_type in zip(manifest.stored.summary, manifest.types, strict=True):
                _check_facts(facts, class_of_values(column_type))
        for columns in (*manifest.order.keys, *([column for column, _ in items] for items in manifest.order.orderings)):
            if not all(_is_number(column, len(manifest.types)) for column in columns):
                raise _Wrong(f"an order over columns {list(columns)!r:.60}, but there are {len(manifest.types)}")
    except _Wrong as error:
        raise StorageError(f"the manifest of {manifest.directory} is damaged: {error}; restore it from a copy or save the frame again") from None


def _check_columns(manifest: Manifest) -> None:
    if not all(isinstance(column_type, ColumnType) for column_type in manifest.types):
        raise _Wrong("a type is none")
    if manifest.kind not in ("sframe", "sarray"):
        raise _Wrong(f"a dataset is an sframe or an sarray, not {manifest.kind!r:.80}")
    if type(manifest.has_key) is not bool:
        raise _Wrong("has_key is neither true nor false")
    if manifest.has_key != (manifest.column_names_in_files is None):
        raise _Wrong("files with keys of rows have columns c0, c1 and so on, and files without have names of their own")
    for names in (manifest.names, manifest.column_names_in_files):
        if names is None:
            continue
        if len(names) != len(manifest.types):
            raise _Wrong(f"{len(names)} names for {len(manifest.types)} columns")
        if not all(type(name) is str for name in names):
            raise _Wrong("a name is no text")
        if not all(map(is_unicode, names)):
            raise _Wrong("a name is not Unicode text: it has half of a character")
        if len(set(names)) != len(names):
            raise _Wrong("two columns have one name")


def _check_segments(manifest: Manifest) -> None:
    classes = [class_of_values(column_type) for column_type in manifest.types]
    width, files = len(manifest.types), set()
    number, end = -1, 0
    for entry in manifest.segments:
        _check_entry(entry, is_built_in=manifest.has_key)
        if entry.file in files and entry.rows:
            raise _Wrong(f"the file {entry.file!r:.200} is there twice")
        files.add(entry.file)
        if entry.number < number or (entry.number == number and entry.first_position != end):
            raise _Wrong(f"segment {entry.number} is there twice, or out of order")
        number, end = entry.number, entry.first_position + entry.rows
        if entry.columns and len(entry.columns) != width:
            raise _Wrong(f"facts about {len(entry.columns)} columns of {width}")
        if entry.column_bytes is not None and len(entry.column_bytes) != width:
            raise _Wrong(f"sizes of {len(entry.column_bytes)} columns of {width}")
        if entry.pages is not None and not manifest.has_key:
            raise _Wrong("check sums of a key that the files do not have")
        if entry.pages is not None and len(entry.pages) != width + 1:
            raise _Wrong(f"check sums of {len(entry.pages)} columns of {width}")
        if entry.group_pages is not None and (
            entry.pages is None or (type(entry.group_pages) is tuple and any(len(sums) != width + 1 for sums in entry.group_pages))
        ):
            raise _Wrong("check sums of row groups for other columns than there are")
        for facts, kind in zip(entry.columns, classes, strict=False) if type(entry.columns) is tuple else ():
            _check_facts(facts, kind)
        for position, value in entry.constants:
            if manifest.has_key or not _is_number(position, width):
                raise _Wrong(f"column {position!r:.30} is said to be in no file")
            _check_scalars([value], classes[position])


def _check_entry(entry: SegmentEntry, is_built_in: bool) -> None:
    if not _is_number(entry.number, 1 << (63 - KEY_SHIFT)) or not _is_number(entry.first_position, 1 << KEY_SHIFT):
        raise _Wrong(f"there is no segment {entry.number!r:.30} at position {entry.first_position!r:.30}")
    if not _is_number(entry.rows, _LARGEST) or entry.first_position + entry.rows > 1 << KEY_SHIFT:
        raise _Wrong(f"no segment has {entry.rows!r:.30} rows")
    if entry.size is not None and not _is_number(entry.size, _LARGEST):
        raise _Wrong(f"no file has {entry.size!r:.30} bytes")
    if entry.group_bytes is not None and not _is_number(entry.group_bytes, _LARGEST):
        raise _Wrong(f"no rows take {entry.group_bytes!r:.30} bytes")
    for size in entry.column_bytes or ():
        if size is not None and not _is_number(size, _LARGEST):
            raise _Wrong(f"no values take {size!r:.30} bytes")
    if entry.rows or entry.file:
        _check_file_name(entry.file, is_built_in)
    if entry.checksum is not None and not (type(entry.checksum) is str and _CHECKSUM.fullmatch(entry.checksum)):
        raise _Wrong(f"{entry.checksum!r:.30} is no check sum")
    if entry.tail is not None and not (
        entry.size is not None and len(entry.tail) == 2 and _is_number(entry.tail[0], entry.size + 1) and _is_number(entry.tail[1], 1 << 32)
    ):
        raise _Wrong("the check sum of a footer is none")
    # Checksums in a sidecar file, which are not tuples, are validated when they are read.
    groups = entry.group_pages if type(entry.group_pages) is tuple else ()
    for sums in (() if entry.whole is None else (entry.whole,), entry.pages if type(entry.pages) is tuple else (), *groups):
        if not all(_is_number(value, 1 << 32) for value in sums):
            raise _Wrong("the check sum of a column, or of a file, is none")


def _check_file_name(file: Any, is_built_in: bool) -> None:
    """Raise unless a file name is a path inside the directory of the dataset, and, for segment files, one that Spark does not interpret."""
    parts = file.split("/") if type(file) is str else [""]
    is_inside = {"", ".", ".."}.isdisjoint(parts) and is_unicode(file) and "\0" not in file
    is_written = len(parts) <= _MAX_LEVELS and all(_WRITTEN_NAME.fullmatch(name) and not name.endswith(_HIDDEN_END) for name in parts)
    if not is_inside or (is_built_in and not is_written):
        raise _Wrong(f"{file!r:.200} is not the name of a file in its directory that a writer gives")


def _check_facts(facts: ColumnStatistics, kind: type | None) -> None:
    for flag in (
        facts.ascending, facts.descending, facts.strictly_ascending, facts.strictly_descending, facts.constant, facts.has_missing, facts.has_nan,
        facts.edges_known or None, facts.bounds_known or None,
    ):  # fmt: skip
        if flag is not None and type(flag) is not bool:
            raise _Wrong(f"a fact about a column is {flag!r:.30}, neither true nor false")
    if facts.edges_known:
        _check_scalars((facts.first, facts.last), kind)
    if facts.bounds_known:
        bounds: tuple[Any, Any] = (facts.minimum, facts.maximum)
        _check_scalars(bounds, kind)
        low, high = bounds
        # Comparisons with NaN are false, so NaN is refused, too.
        if (low is None) != (high is None) or (low is not None and not low <= high):
            raise _Wrong(f"no values lie between {low!r:.30} and {high!r:.30}")


def _check_scalars(values: Iterable[Any], kind: type | None) -> None:
    for value in values:
        if value is not None and (type(value) is not kind or (isinstance(value, int) and not -_LARGEST - 1 <= value <= _LARGEST)):
            raise _Wrong(f"{value!r:.30} is no value of its column")
        if type(value) is str and not is_unicode(value):
            raise _Wrong(f"{value!r:.30} is not Unicode text: it has half of a character")


def class_of_values(column_type: ColumnType) -> type | None:
    """Return the Python class of the values in the statistics of a column; None if the statistics have no values."""
    if column_type.is_zoned:
        return int
    return None if column_type.is_encoded else _CLASSES.get(column_type.physical)


def _is_number(value: Any, end: int) -> bool:
    return type(value) is int and 0 <= value < end


# The same checks, made for all segments of a sidecar file at once.

# The patterns above, in the syntax of RE2.
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_FILE = rf"^(?:{_PART}/){{0,7}}{_PART}$"
_HIDDEN_END_PATTERN = r"\._COPYING_(?:/|$)"
_CHECKSUM_PATTERN = r"^crc32:[0-9a-f]{8}$"
_NEVER_MISSING = ("file", "number", "rows", "first_position", "has_sums", "has_facts")


def impossible_segments(batch: pa.RecordBatch) -> str | None:
    """Return what is wrong with the segments of a sidecar file; None if they are consistent.

    Parameters
    ----------
    batch
        The segments, one row for each.
    """
    missing = [name for name in _NEVER_MISSING if batch.column(name).null_count]
    if missing:
        return f"a segment has no {missing[0]}"
    files = batch.column("file")
    if not _all(pc.match_substring_regex(files, _FILE)) or _any(pc.match_substring_regex(files, _HIDDEN_END_PATTERN)):
        return "a segment's file has a name that no writer gives"
    if pc.count_distinct(files).as_py() != batch.num_rows:
        return "a file is there twice"
    if not _all(pc.match_substring_regex(batch.column("checksum"), _CHECKSUM_PATTERN)):
        return "the check sum of a file is none"
    integers = {field.name: _numbers(batch, field.name) for field in batch.schema if pa.types.is_integer(field.type)}
    number, rows, first = integers["number"], integers["rows"], integers["first_position"]
    if any((values < 0).any() for values in integers.values()):
        return "a number of a segment is below zero"
    limit = 1 << KEY_SHIFT
    if (number >= 1 << (63 - KEY_SHIFT)).any() or (first >= limit).any() or (rows > limit).any() or (first + rows > limit).any():
        return "a segment has numbers of rows that there are not"
    goes_on = number[1:] == number[:-1]
    if (
        (number[1:] < number[:-1]).any()
        or (goes_on & (first[1:] != (first + rows)[:-1])).any()
        or (~goes_on & (first[1:] != 0)).any()
        or first[:1].any()
    ):
        return "segments are there twice, or out of order"
    if any((integers[name] >= 1 << 32).any() for name in ("tail_sum", "whole")):
        return "the check sum of a file is none"
    tails = [batch.column(name).is_null() for name in ("tail_length", "tail_sum")]
    has_tail = pc.invert(tails[0])
    if not tails[0].equals(tails[1]) or _any(pc.and_(has_tail, batch.column("size").is_null())) or (integers["tail_length"] > integers["size"]).any():
        return "the check sum of a footer is none"
    if _any(pc.and_(pc.invert(batch.column("has_sums")), batch.column("groups").is_valid())):
        return "row groups have check sums, and their files have none"
    return None


def _numbers(batch: pa.RecordBatch, name: str) -> npt.NDArray[np.int64]:
    """Return a column of integers as a NumPy array, with zero for nulls."""
    numbers: npt.NDArray[np.int64] = pc.fill_null(batch.column(name).cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return numbers


def _all(flags: Any) -> bool:
    return bool(pc.all(flags, min_count=0).as_py())


def _any(flags: Any) -> bool:
    return bool(pc.any(flags, min_count=0).as_py())
