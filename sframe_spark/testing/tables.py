"""Random source tables: distinct cells, ties, missing values, NaN, no rows, one row; in memory or as segments on disk."""

from __future__ import annotations

import datetime
import os
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.dataset_writer import new_dataset
from sframe_spark.operators.sources.generated import constant_source, range_source
from sframe_spark.operators.sources.memory import memory_source
from sframe_spark.operators.sources.source import segment_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.testing.random_tables import KINDS, made_column, write_archive
from sframe_spark.turicreate.archive import open_archive
from sframe_spark.turicreate.source import archive_source
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType
from sframe_spark.values.encode import encode

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
    if column_type.is_encoded or column_type.is_zoned:
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
    return segments_source(columns, types, [0, *cuts, rows])
