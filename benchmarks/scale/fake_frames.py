"""Saved frames without rows: the real manifest, over files that are as long as they should be and have nothing in them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.scale.shapes import FEW_GROUPS, ROWS_OF_A_GROUP, Shape
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics, Scalar
from sframe_spark.storage.manifest.manifest import SegmentEntry

FOOTER_BYTES = 4_096
SEED = 7


def write_fake(directory: Path, shape: Shape, spread: int = 1) -> None:
    """Write a frame whose files are holes.

    Parameters
    ----------
    directory
        Where; it must not be there.
    shape
        How large it says that it is.
    spread
        What the times are multiplied by, so that those of two frames cover each other.
    """
    directory.mkdir()
    publish(str(directory), shape.types, entries(directory, shape, spread), names=shape.names, durable=False)


def entries(directory: Path, shape: Shape, spread: int) -> Iterator[SegmentEntry]:
    """What a manifest says of each segment, beside a file of that length."""
    sums = np.random.default_rng(SEED).integers(0, 2**32, (min(shape.segments, 1_000), shape.columns + 1)).tolist()
    edges = [shape.rows * number // shape.segments for number in range(shape.segments + 1)]
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        name, size = f"segment-{number:06d}.parquet", (stop - start) * shape.columns * 8 + FOOTER_BYTES
        make_hole(directory / name, size)
        known = tuple(facts(place, column, start * spread, (stop - 1) * spread, shape.rows) for place, column in enumerate(shape.names))
        tail = (FOOTER_BYTES, number)
        yield SegmentEntry(
            name, number, stop - start, known, size=size, tail=tail, pages=tuple(sums[number % len(sums)]), group_bytes=size - FOOTER_BYTES
        )


def make_hole(file: Path, size: int) -> None:
    """Make a file of so many bytes that takes no room."""
    with open(file, "xb") as stream:
        os.truncate(stream.fileno(), size)


def facts(place: int, name: str, first: int, last: int, rows: int) -> ColumnStatistics:
    """What a writer would have found out about the values of a column."""
    if name == "t":
        return ColumnStatistics(True, False, True, False, first == last, False, False, True, first, last, True, first, last)
    bounds: dict[str, tuple[int | float, int | float]] = {"i": (0, rows - 1), "g": (0, rows // ROWS_OF_A_GROUP), "k": (0, FEW_GROUPS - 1)}
    low, high = bounds.get(name, (0.0, 1.0 + place))
    return bounded(low, high)


def bounded(low: Scalar, high: Scalar) -> ColumnStatistics:
    """Facts about values in no order."""
    return ColumnStatistics(False, False, False, False, False, False, False, True, low, high, True, low, high)
