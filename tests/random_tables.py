"""Source tables for tests: random columns with ties, missing values and NaN, in memory or as segments; and archives like Turi Create's."""

from __future__ import annotations

import array
import datetime
import itertools
import json
import os
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.result_storage import new_dataset
from sframe_spark.operators.sources.base_and_segment_source import segment_source
from sframe_spark.operators.sources.in_memory import constant_source, memory_source, range_source
from sframe_spark.operators.sources.row_source import RowSource
from sframe_spark.operators.sources.rows_of_sources import source_node
from sframe_spark.operators.sources.source_predicate import Predicate
from sframe_spark.operators.sources.source_table import table_of_sources
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.turicreate.archive import open_archive
from sframe_spark.turicreate.block import COMPRESSED, EXTENDED, TYPED
from sframe_spark.turicreate.number_datetime_and_vector_decoding import GROUP, NEWER, NO_ZONE, OFFSET, WIDTHS
from sframe_spark.turicreate.source import archive_source
from sframe_spark.turicreate.string_and_object_decoding import DICTIONARY, INTEGER, LIST, MISSING, NEWER_TAGS, REAL, TEXT, TIMESTAMP, VECTOR
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, IMAGE, INT, NDARRAY, STR, ZONED_DATETIME, ColumnType
from sframe_spark.values.datetimes import SECOND, to_microseconds
from sframe_spark.values.python_to_arrow import encode

KINDS: dict[ColumnType, int] = {
    INT: INTEGER,
    FLOAT: REAL,
    STR: TEXT,
    ARRAY: VECTOR,
    ENCODED_LIST: LIST,
    ENCODED_DICT: DICTIONARY,
    ZONED_DATETIME: TIMESTAMP,
}
ALL_BITS = (1 << 64) - 1


@attrs.frozen
class MadeBlock:
    """A block as it is to stand in a segment file.

    Parameters
    ----------
    payload
        What it holds.
    rows, flags
        What its record says.
    packed
        Whether it is packed.
    """

    payload: bytes
    rows: int
    flags: int = TYPED
    packed: bool = False


@attrs.frozen
class MadeColumn:
    """A column: the number of its type, and its blocks in each segment."""

    kind: int
    segments: Sequence[Sequence[MadeBlock]]


def number_bytes(value: int) -> bytes:
    """Return a number of variable length.

    Examples
    --------
    >>> number_bytes(12).hex(), number_bytes(524).hex(), number_bytes(1000).hex(), number_bytes(1 << 63).hex()
    ('18', '3108', 'a10f', '7f0000000000000080')
    """
    for further in range(7):
        if value < 1 << (7 * (further + 1)):
            return ((value << (further + 1)) | ((1 << further) - 1)).to_bytes(further + 1, "little")
    return b"\x7f" + value.to_bytes(8, "little")


def run_bytes(values: Sequence[int], codec: int = OFFSET, width: int | None = None) -> bytes:
    """Return a run of numbers, in groups of one codec, with so many bits as the numbers need, or as are asked for.

    Examples
    --------
    >>> run_bytes([10, 11, 13, 10, 25]).hex(), run_bytes([7, 7, 7]).hex(), run_bytes([1000, 999, 1001, 998], 2).hex()
    ('0c140031f0', '000e', '0ea10f1054')
    """
    return b"".join(_group(list(values[place : place + GROUP]), codec, width) for place in range(0, len(values), GROUP))


def _group(values: list[int], codec: int, width: int | None) -> bytes:
    values = [value & ALL_BITS for value in values]
    if codec == OFFSET:
        base = min(values)
        steps = [value - base for value in values]
    else:
        base = values[0]
        steps = [(after - before) & ALL_BITS for before, after in itertools.pairwise(values)]
        if codec != 1:
            steps = [((step << 1) ^ (ALL_BITS if step >> 63 else 0)) & ALL_BITS for step in steps]
    needed = next(bits for bits in WIDTHS if max(steps, default=0) < 1 << bits) if width is None else width
    header = (WIDTHS.index(needed) << 2) | codec
    return bytes([header]) + number_bytes(base) + _packed(steps, needed)


def _packed(steps: list[int], bits: int) -> bytes:
    if bits >= 8 or not bits:
        return b"".join(step.to_bytes(bits // 8, "little") for step in steps)
    slots = 8 // bits
    padded = [0] * (-len(steps) % slots) + steps
    return bytes(sum(padded[place + slot] << (bits * slot) for slot in range(slots)) for place in range(0, len(padded), slots))


def float_bits(value: float) -> int:
    """Return the bits of a float with its sign as the lowest."""
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return ((bits << 1) | (bits >> 63)) & ALL_BITS


def tagged(value: Any) -> bytes:
    """Return a value that says itself what it is."""
    kind = _kind_of(value)
    return bytes([NEWER_TAGS + kind]) + content(kind, value)


def _kind_of(value: Any) -> int:
    kinds = {int: INTEGER, float: REAL, str: TEXT, array.array: VECTOR, list: LIST, tuple: LIST, dict: DICTIONARY, datetime.datetime: TIMESTAMP}
    return MISSING if value is None else kinds[type(value)]


def content(kind: int, value: Any) -> bytes:
    """Return a value of a known type."""
    if kind == INTEGER:
        return struct.pack("<q", value)
    if kind == REAL:
        return struct.pack("<d", value)
    if kind == TEXT:
        encoded = value if isinstance(value, bytes) else value.encode()
        return struct.pack("<Q", len(encoded)) + encoded
    if kind == VECTOR:
        return struct.pack(f"<Q{len(value)}d", len(value), *value)
    if kind == LIST:
        return struct.pack("<Q", len(value)) + b"".join(map(tagged, value))
    if kind == DICTIONARY:
        return struct.pack("<Q", len(value)) + b"".join(tagged(key) + tagged(item) for key, item in value.items())
    return moment_bytes(value) if kind == TIMESTAMP else b""


def moment_bytes(value: datetime.datetime) -> bytes:
    """Return a date-time."""
    microseconds, offset = to_microseconds(value)
    quarters = 0 if offset is None else offset // 15
    code = NO_ZONE if offset is None else quarters + NEWER if quarters >= 0 else quarters - NEWER
    seconds, fraction = divmod(microseconds, SECOND)
    return seconds.to_bytes(7, "little", signed=True) + code.to_bytes(1, "little", signed=True) + struct.pack("<i", fraction)


def values_bytes(kind: int, values: Sequence[Any]) -> bytes:
    """Return the values of a block that are not missing, in one of the forms that its type has."""
    if kind == INTEGER:
        return run_bytes(values)
    if kind == REAL:
        return b"\0" + run_bytes(list(map(float_bits, values)))
    if kind == TEXT:
        encoded = [value if isinstance(value, bytes) else value.encode() for value in values]
        return b"\0" + run_bytes(list(map(len, encoded))) + b"".join(encoded)
    if kind == VECTOR:
        return b"\0" + run_bytes(list(map(len, values))) + values_bytes(REAL, list(itertools.chain.from_iterable(values)))
    return b"".join(content(kind, value) for value in values)


def made_block(kind: int, values: Sequence[Any], packed: bool = False) -> MadeBlock:
    """Return a block of some values, of which some may be missing.

    Examples
    --------
    >>> made_block(INTEGER, [5, 6, None]).payload.hex()
    '02000400000000000000040a80'
    """
    missing = sum(1 << place for place, value in enumerate(values) if value is None)
    present = [value for value in values if value is not None]
    flags = TYPED | (EXTENDED if kind in (REAL, VECTOR) else 0) | (COMPRESSED if packed else 0)
    if values and not present:
        return MadeBlock(bytes([1, MISSING]), len(values), flags & ~EXTENDED, packed)
    start = bytes([2, kind]) + missing.to_bytes(-(-len(values) // 64) * 8, "little") if missing else bytes([1, kind])
    return MadeBlock(start + values_bytes(kind, present), len(values), flags, packed)


def made_column(kind: int, values: Sequence[Any], segments: Sequence[Sequence[int]], packed: bool = False) -> MadeColumn:
    """Return a column of some values, given how many rows each block of each segment has."""
    rows = iter(values)
    return MadeColumn(kind, [[made_block(kind, list(itertools.islice(rows, count)), packed) for count in counts] for counts in segments])


def write_archive(directory: str, columns: Mapping[str, MadeColumn], is_frame: bool = True) -> None:
    """Write an archive of a frame, or of a column, into a directory, which is made."""
    os.makedirs(directory, exist_ok=True)
    made = list(columns.values())
    count = max((len(column.segments) for column in made), default=0)
    for number in range(count):
        _write(directory, f"m_1.{number:04d}", segment_bytes([column.segments[number] for column in made]))
    index = {
        "sarray": {"version": 2, "num_segments": count},
        "segment_files": {f"{number:04d}": f"m_1.{number:04d}" for number in range(count)},
        "columns": [_described(column) for column in made],
    }
    _write(directory, "m_1.sidx", json.dumps(index).encode())
    kind = "sframe" if is_frame else "sarray"
    prefixes = "0000=dir_archive.ini\n0001=objects.bin\n0002=m_1\n"
    _write(directory, "dir_archive.ini", f"[archive]\nversion=1\nnum_prefixes=3\n[metadata]\ncontents={kind}\n[prefixes]\n{prefixes}".encode())
    if is_frame:
        rows = sum(block.rows for blocks in made[0].segments for block in blocks) if made else 0
        names = "".join(f"{number:04d}={name}\n" for number, name in enumerate(columns))
        files = "".join(f"{number:04d}=m_1.sidx:{number}\n" for number in range(len(made)))
        sections = f"[column_names]\n{names}[column_files]\n{files}" if made else ""
        _write(directory, "m_1.frame_idx", f"[sframe]\nversion=0\nnum_segments=0\nnum_columns={len(made)}\nnrows={rows}\n{sections}".encode())


def _described(column: MadeColumn) -> dict[str, Any]:
    sizes = {f"{number:04d}": str(sum(block.rows for block in blocks)) for number, blocks in enumerate(column.segments)}
    return {"content_type": "", "metadata": {"__type__": str(column.kind)}, "segment_sizes": sizes}


def segment_bytes(columns: Sequence[Sequence[MadeBlock]]) -> bytes:
    """Return a segment file of the blocks of some columns."""
    stored, footer = b"", struct.pack("<Q", len(columns))
    for blocks in columns:
        footer += struct.pack("<Q", len(blocks))
        for block in blocks:
            part = bytes(pa.Codec("lz4_raw").compress(block.payload)) if block.packed else block.payload
            footer += struct.pack("<5QH6x", len(stored), len(part), len(block.payload), block.rows, block.flags, 0)
            stored += part
    return stored + footer + struct.pack("<Q", len(footer))


def _write(directory: str, name: str, data: bytes) -> None:
    with open(os.path.join(directory, name), "wb") as stream:
        stream.write(data)


# Random source tables: distinct cells, ties, missing values, NaN, no rows, one row; in memory or as segments on disk.

ROW_COUNTS = (0, 1, 2, 3, 5, 8, 8, 13)
COLUMN_TYPES = (INT,) * 6 + (FLOAT,) * 4 + (STR,) * 4 + (DATETIME,) * 2 + (ARRAY, ENCODED_LIST, ENCODED_DICT)
# What an archive holds, as the oracle reads it.
WRITTEN = "written.parquet"
FIRST_DAY = datetime.datetime(2020, 1, 1)

# Floats are quarters, so that sums of them are exact in any order of adding.
_NTH_VALUE: dict[ColumnType, Callable[[int], Any]] = {
    INT: lambda number: number - 20,
    FLOAT: lambda number: number * 0.25 - 5.0,
    STR: lambda number: f"{'abcé'[number % 4]}{number}",
    DATETIME: lambda number: FIRST_DAY + datetime.timedelta(hours=number),
    ARRAY: lambda number: [number * 0.5] * (number % 3),
    ENCODED_LIST: lambda number: [number, None, f"v{number}"][: number % 4],
    ENCODED_DICT: lambda number: {"n": number, number: 0.5},
}
_COMMON_VALUES: dict[ColumnType, tuple[Any, ...]] = {
    INT: (0, 1, 2, -1),
    FLOAT: (0.0, -0.0, 1.5, -0.25),
    STR: ("", "x", "y", "X"),
    DATETIME: (FIRST_DAY, FIRST_DAY + datetime.timedelta(days=1)),
    ARRAY: ([], [1.0], [0.25, -1.5]),
    ENCODED_LIST: ([], [None], ["a", ["b", 2.5]]),
    ENCODED_DICT: ({}, {"a": None}, {1: "x", "b": 2.5}),
}


def column_array(values: Sequence[Any], column_type: ColumnType) -> pa.Array:
    """Values as an Arrow array of the physical type; NaN stays NaN."""
    if column_type.is_encoded or column_type.is_zoned or column_type in (IMAGE, NDARRAY):
        return encode(list(values), column_type)
    return pa.array(values, column_type.physical, from_pandas=False)


def table_source(columns: Sequence[Sequence[Any]], types: Sequence[ColumnType], rows: int) -> PlannerNode:
    """A source in memory."""
    return memory_source([column_array(c, t) for c, t in zip(columns, types, strict=True)], types, rows)


def segments_source(columns: Sequence[Sequence[Any]], types: Sequence[ColumnType], bounds: Sequence[int]) -> PlannerNode:
    """A source of segments on disk: rows ``bounds[i]..bounds[i + 1]`` in segment *i*; the files go with the node."""
    with new_dataset(tuple(types), MaterializeOptions()) as dataset:
        entries = []
        for number, (start, stop) in enumerate(pairwise(bounds)):
            rows = [column_array(column[start:stop], t) for column, t in zip(columns, types, strict=True)]
            entries.append(write_segment(dataset.directory, number, types, [rows]))
        manifest = dataset.publish(entries)
    return segment_source(manifest, dataset.handle)


def archive_source_of(columns: Sequence[Sequence[Any]], types: Sequence[ColumnType], segments: Sequence[Sequence[int]]) -> PlannerNode:
    """A source of an archive, given how many rows each block of each segment has; the files go with the node.

    Beside them is what was written, for the oracle.
    """
    handle = scratch_store().new_dataset()
    made = {f"c{place}": made_column(KINDS[kind], values, segments) for place, (values, kind) in enumerate(zip(columns, types, strict=True))}
    write_archive(handle.directory, made)
    written = pa.table([column_array(values, kind) for values, kind in zip(columns, types, strict=True)], names=list(made))
    pq.write_table(written, os.path.join(handle.directory, WRITTEN))
    return archive_source(open_archive(handle.directory), handle)


class ArraySource(RowSource):
    """A plug-in's source of given values, in parts; it makes use of predicates, and may not say how many rows it has."""

    filters: ClassVar[bool] = True

    def __init__(self, columns: Sequence[Sequence[Any]], types: Sequence[ColumnType], bounds: Sequence[int], is_known: bool) -> None:
        names = [f"c{place}" for place in range(len(types))]
        self.types, self.bounds, self.is_known = dict(zip(names, types, strict=True)), bounds, is_known
        self.rows = pa.table([column_array(values, kind) for values, kind in zip(columns, types, strict=True)], names=names)

    def columns(self) -> Mapping[str, ColumnType]:
        return self.types

    def length(self) -> int | None:
        return self.rows.num_rows if self.is_known else None

    def size(self) -> float:
        return float(self.rows.nbytes)

    def parts(self) -> Sequence[int | None]:
        return [stop - start if self.is_known else None for start, stop in pairwise(self.bounds)]

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        first, last = (start, stop) if self.is_known else (self.bounds[start], self.bounds[stop])
        rows = self.rows.slice(first, last - first).select(list(columns))
        yield rows if predicate is None else predicate.filter(rows)


def random_column(choose: random.Random, column_type: ColumnType, rows: int) -> list[Any]:
    """Values of one of five sorts: all distinct, the same ascending, few distinct, with missing values, with missing values and NaN."""
    sort = choose.choice(("distinct", "distinct", "ascending", "ties", "missing", "strange"))
    if sort in ("distinct", "ascending"):
        numbers = list(range(rows))
        if sort == "distinct":
            choose.shuffle(numbers)
        first = choose.randint(0, 30)
        return [_NTH_VALUE[column_type](first + number) for number in numbers]
    pool: list[Any] = list(_COMMON_VALUES[column_type])
    if sort != "ties":
        pool.append(None)
    if sort == "strange" and column_type == FLOAT:
        pool.append(float("nan"))
    return [choose.choice(pool) for _ in range(rows)]


def table_like(choose: random.Random, types: Sequence[ColumnType]) -> PlannerNode:
    """A source in memory of given types with values of its own."""
    rows = choose.choice(ROW_COUNTS)
    return table_source([random_column(choose, column_type, rows) for column_type in types], types, rows)


def random_table(choose: random.Random, on_disk: bool = True) -> PlannerNode:
    """A source of 1 to 4 columns."""
    kind = choose.choice(("memory",) * 5 + ("segments",) * 2 * on_disk + ("range", "constant"))
    rows = choose.choice(ROW_COUNTS)
    if kind == "range":
        return range_source(choose.randint(-3, 3), rows, choose.choice((1, 2, -1)))
    if kind == "constant":
        value, column_type = choose.choice(((7, INT), (0.5, FLOAT), ("k", STR)))
        return constant_source(value, column_type, rows)
    types = [choose.choice(COLUMN_TYPES) for _ in range(choose.randint(1, 4))]
    columns = [random_column(choose, column_type, rows) for column_type in types]
    if kind == "memory":
        return table_source(columns, types, rows)
    cuts = sorted(choose.randint(0, rows) for _ in range(choose.randint(0, 2)))
    if len(cuts) == 1 and all(column_type in KINDS for column_type in types):
        return archive_source_of(columns, types, [[stop - start] for start, stop in pairwise([0, *cuts, rows])])
    if len(cuts) == 2 and cuts[0] % 3 and not any(column_type.is_encoded for column_type in types):
        return source_node(table_of_sources([ArraySource(columns, types, [0, *cuts, rows], is_known=cuts[1] % 2 == 0)]))
    return segments_source(columns, types, [0, *cuts, rows])
