"""Helpers for tests of the storage layer: datasets written in given pieces, values of every physical type."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import INT, ColumnType


def write_dataset(
    directory: Any,
    types: Sequence[ColumnType],
    segments: Sequence[Sequence[Sequence[Any]]],
    numbers: Sequence[int] | None = None,
    **options: Any,
) -> Manifest:
    """Write one segment per item; an item has one list of values per column."""
    os.makedirs(directory, exist_ok=True)
    entries = []
    for number, columns in zip(numbers or range(len(segments)), segments, strict=True):
        writer = SegmentWriter(str(directory), number, types)
        writer.write([pa.array(values, column_type.physical) for values, column_type in zip(columns, types, strict=True)])
        entries.append(writer.close())
    return publish(str(directory), types, entries, **options)


@pytest.fixture
def dataset(tmp_path: Any) -> Callable[..., Manifest]:
    """Return a function that writes integer segments to a directory below the test's own."""

    def write(name: str, *segments: Sequence[int], **options: Any) -> Manifest:
        return write_dataset(tmp_path / name, [INT], [[list(values)] for values in segments], **options)

    return write
