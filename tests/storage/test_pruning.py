"""Rows left out by recorded bounds are rows that do not match, and of a sorted column few others are read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.storage.commit import publish
from sframe_spark.storage.manifest import Manifest
from sframe_spark.storage.pruning import matching_rows
from sframe_spark.storage.writer import ROWS_PER_GROUP, SegmentWriter
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
    entries = []
    for number, values in enumerate(segments):
        writer = SegmentWriter(str(directory), number, [column_type])
        if values:
            writer.write([pa.array(values, column_type.physical)])
        entries.append(writer.close())
    return publish(str(directory), [column_type], entries)


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_left_out_do_not_match(name: str, tmp_path: Path) -> None:
    column_type, segments = COLUMNS[name]
    manifest = dataset(tmp_path, column_type, segments)
    values = [value for segment in segments for value in segment]
    known = [value for value in values if value is not None and value == value]
    limits = [None, *known]
    for low in limits:
        for high in limits:
            for start in (0, 2):
                first, last = matching_rows(manifest, 0, (low, high), start, len(values))
                assert start <= first <= last <= len(values)
                for row, value in enumerate(values):
                    if value is None or value != value or row < start:
                        continue
                    matches = (low is None or value >= low) and (high is None or value <= high)
                    assert not matches or first <= row < last, (low, high, row)


def test_of_a_sorted_column_only_row_groups_that_match_are_left(tmp_path: Path) -> None:
    rows = 5 * ROWS_PER_GROUP
    manifest = dataset(tmp_path, INT, [list(range(rows)), list(range(rows, 2 * rows))])
    wanted = rows + ROWS_PER_GROUP + 5
    assert matching_rows(manifest, 0, (wanted, wanted + 1), 0, 2 * rows) == (rows + ROWS_PER_GROUP, rows + 2 * ROWS_PER_GROUP)
    assert matching_rows(manifest, 0, (3 * rows, None), 0, 2 * rows) == (0, 0)
