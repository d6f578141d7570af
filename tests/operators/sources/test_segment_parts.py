"""Several ranges of a dataset as one source: what planning asks of files does not grow with the number of ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.operators.sources.segment_row_ranges import SegmentParts
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments import row_sizes
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT, STR

ROWS = 4_000


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    """Texts that grow with their row."""
    rows = [pa.array(range(ROWS)), pa.array(["x" * (row // 10) for row in range(ROWS)])]
    return publish(str(tmp_path), [INT, STR], [write_segment(str(tmp_path), 0, [INT, STR], [rows])], durable=False)


def test_sizes_of_many_ranges_are_asked_of_some_of_them(manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    column_bytes = row_sizes.column_bytes

    def counting(manifest: Manifest, columns: Any, start: int, stop: int) -> tuple[float, ...]:
        asked.append((start, stop))
        return column_bytes(manifest, columns, start, stop)

    monkeypatch.setattr(row_sizes, "column_bytes", counting)
    found = {}
    for number in (2, 8, 100, 1_000):
        asked.clear()
        step = ROWS // number
        parts = SegmentParts(manifest, (0, 1), tuple((first, first + step // 2) for first in range(0, ROWS, step)))
        found[number] = parts.sizes_between(0, parts.row_count)
        assert len(asked) <= row_sizes.MAX_GROUPS
    # Half of the rows, however many ranges they are in.
    for few in (100, 1_000):
        assert found[few][0] == found[2][0] == ROWS / 2 * 8
        assert found[few][1] == pytest.approx(found[2][1], rel=0.01)


def test_sizes_of_few_ranges_are_the_sum_of_each(manifest: Manifest) -> None:
    parts = SegmentParts(manifest, (1,), ((0, 10), (20, 25), (100, 400)))
    each = [row_sizes.column_bytes(manifest, [1], first, last)[0] for first, last in parts.ranges]
    assert parts.sizes_between(0, parts.row_count) == (pytest.approx(sum(each)),)
    assert parts.sizes_between(3, 3) == (0.0,)
