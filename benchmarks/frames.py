"""The benchmark's data as a saved frame, and the very same Parquet files as PySpark sees them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from benchmarks import data
from sframe_spark import SFrame, load_sframe
from sframe_spark.session import get_session
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import FLOAT, INT, STR

TYPES = {"number": INT, "key": INT, "value": FLOAT, "word": STR}


@attrs.frozen
class Data:
    """Both views of the data, and a place for what hand-written queries write.

    Parameters
    ----------
    frame, other, right
        Saved frames, opened again; ``other`` has as many rows as ``frame``, in its own files.
    spark
        A plain Spark session with default settings.
    table, other_table, right_table
        The frames' Parquet files with column names; ``_key`` gives the row order.
    scratch
        Directory for results.
    """

    frame: SFrame
    other: SFrame
    right: SFrame
    spark: Any
    table: Any
    other_table: Any
    right_table: Any
    scratch: Path


def prepare(rows: int, directory: Path) -> Data:
    """Write the data and open it from both sides."""
    main, other, right = directory / "main", directory / "other", directory / "right"
    write(main, rows, data.NAMES)
    write(other, rows, ("value", "word"))
    SFrame(pa.table({name: pa.array(column) for name, column in data.right_side().items()})).save(str(right))
    spark = get_session().newSession()
    frames = [load_sframe(str(path)) for path in (main, other, right)]
    tables = [read_table(spark, path, frame.column_names()) for path, frame in zip((main, other, right), frames, strict=True)]
    return Data(*frames, spark, *tables, directory / "scratch")


def write(directory: Path, rows: int, names: Sequence[str]) -> None:
    """Some columns of the data as a saved frame."""
    types = [TYPES[name] for name in names]
    entries = []
    directory.mkdir()
    for number, (start, stop) in enumerate(data.blocks(rows)):
        columns = data.block(start, stop)
        entries.append(write_segment(str(directory), number, types, [[pa.array(columns[name]) for name in names]]))
    publish(str(directory), types, entries, names=names)


def read_table(spark: Any, directory: Path, names: Sequence[str]) -> Any:
    """The Parquet files of a saved frame."""
    files = sorted(str(file) for file in directory.glob("*.parquet"))
    return spark.read.parquet(*files).withColumnsRenamed({f"c{i}": name for i, name in enumerate(names)})
