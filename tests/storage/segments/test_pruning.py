"""Rows left out by recorded bounds are rows that do not match, and of a sorted column few others are read."""

from __future__ import annotations

import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest import sidecar_file_of_segment_statistics_and_checksums as sidecar_file
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.sidecar_file_of_segment_statistics_and_checksums import StoredSegments
from sframe_spark.storage.segments.pruning import Bounds, RowRange, matching_ranges
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP, SegmentWriter
from sframe_spark.types import FLOAT, INT, STR, ColumnType

COLUMNS: dict[str, tuple[ColumnType, list[list[Any]]]] = {
    "ascending": (INT, [[1, 2, 2], [2, 5], [], [9]]),
    "descending": (INT, [[9, 7], [7, 6], [1]]),
    "unordered": (INT, [[3, 8], [1, 2], [9, 4], [2]]),
    "with missing": (INT, [[None, None], [None, 4], [6, None]]),
    "floats": (FLOAT, [[-math.inf, 0.0], [-0.0, 2.5], [math.nan], [math.inf, math.nan]]),
    "texts": (STR, [["", "a"], ["a", "b"], ["é", None]]),
}


def dataset(directory: Path, column_type: ColumnType, segments: list[list[Any]]) -> Manifest:
    """A dataset with these values in these segments."""
    os.makedirs(directory, exist_ok=True)
    entries = []
    for number, values in enumerate(segments):
        writer = SegmentWriter(str(directory), number, [column_type])
        if values:
            writer.write([pa.array(values, column_type.physical)])
        entries.append(writer.close())
    return publish(str(directory), [column_type], entries)


def is_wanted(value: Any, wanted: list[Bounds]) -> bool:
    """Whether a value lies in one of some ranges."""
    if value is None or value != value:
        return False
    return any((low is None or value >= low) and (high is None or value <= high) for low, high in wanted)


def rows_of(ranges: tuple[RowRange, ...]) -> set[int]:
    """The rows in some ranges."""
    return {row for first, last in ranges for row in range(first, last)}


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_left_out_do_not_match(name: str, tmp_path: Path) -> None:
    column_type, segments = COLUMNS[name]
    manifest = dataset(tmp_path, column_type, segments)
    values = [value for segment in segments for value in segment]
    known = sorted({value for value in values if value is not None and value == value})
    limits = [None, *known]
    single: list[list[Bounds]] = [[(low, high)] for low in limits for high in limits]
    several: list[list[Bounds]] = [[(None, low), (high, high)] for low in known for high in known if low < high]
    open_ends: list[list[Bounds]] = [[(None, low), (high, None)] for low in known for high in known if low < high]
    for wanted in [[], *single, *several, *open_ends, [(value, value) for value in known]]:
        for start in (0, 2):
            found = matching_ranges(manifest, 0, wanted, start, len(values))
            assert all(start <= first < last <= len(values) for first, last in found)
            assert all(one[1] < other[0] for one, other in pairwise(found))
            assert {row for row in range(start, len(values)) if is_wanted(values[row], wanted)} <= rows_of(found), wanted


def test_of_a_sorted_column_only_row_groups_that_match_are_left(tmp_path: Path) -> None:
    rows = 5 * ROWS_PER_GROUP
    manifest = dataset(tmp_path, INT, [list(range(start, start + rows)) for start in range(0, 3 * rows, rows)])
    wanted = rows + ROWS_PER_GROUP + 5
    group = (rows + ROWS_PER_GROUP, rows + 2 * ROWS_PER_GROUP)
    assert matching_ranges(manifest, 0, [(wanted, wanted + 1)], 0, 3 * rows) == (group,)
    assert matching_ranges(manifest, 0, [(4 * rows, None)], 0, 3 * rows) == ()
    last = 3 * rows - 1
    ends = ((0, ROWS_PER_GROUP), (last + 1 - ROWS_PER_GROUP, last + 1))
    assert matching_ranges(manifest, 0, [(0, 0), (last, last)], 0, 3 * rows) == ends
    assert matching_ranges(manifest, 0, [(None, 0), (wanted, wanted), (last, None)], 0, 3 * rows) == (ends[0], group, ends[1])


def test_facts_about_single_row_groups_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_file, "MIN_CELLS", 1)
    dataset(tmp_path / "d", INT, [[place, place + 10] for place in range(30)])
    manifest = load_manifest(tmp_path / "d")
    assert manifest.stored is not None

    def refused(*_: Any) -> None:
        raise AssertionError("facts about one segment")

    monkeypatch.setattr(StoredSegments, "facts_of", refused)
    assert matching_ranges(manifest, 0, [(15, 20)], 0, manifest.rows) == ((10, 42),)


def test_segments_whose_bounds_are_not_known_can_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_file, "MIN_CELLS", 1)
    entries = dataset(tmp_path / "d", INT, [[place, place + 10] for place in range(30)]).segments
    publish(str(tmp_path / "d"), [INT], [attrs.evolve(entry, columns=(UNKNOWN_STATISTICS,)) if entry.number == 7 else entry for entry in entries])
    manifest = load_manifest(tmp_path / "d")
    assert manifest.stored is not None
    assert matching_ranges(manifest, 0, [(100, 200)], 0, manifest.rows) == ((14, 16),)
