"""Batches end where row groups end: what is read from the middle of one is decoded from its start."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate
from sframe_spark.engine.runtime.division_into_row_ranges import at_row_groups
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.rewrite_laws import optimize
from sframe_spark.storage.segments.reader import last_group_start

GROUPS = (30, 7, 41)


@pytest.fixture
def frame(tmp_path: Path) -> SFrame:
    """Three files of several row groups each."""
    rows = 0
    for number, size in enumerate(GROUPS):
        table = pa.table({"a": range(rows, rows + 2 * size + 3)})
        pq.write_table(table, tmp_path / f"part-{number}.parquet", row_group_size=size)
        rows += table.num_rows
    return SFrame.read_parquet(str(tmp_path))


def starts() -> list[int]:
    found, rows = [], 0
    for size in GROUPS:
        found += [rows, rows + size, rows + 2 * size]
        rows += 2 * size + 3
    return [*found, rows]


def test_the_last_start_of_a_group(frame: SFrame) -> None:
    manifest, known = source_of(frame._node).manifest, starts()
    for start in range(known[-1]):
        for stop in range(start + 1, known[-1] + 1):
            expected = max((place for place in known if start < place <= stop), default=stop)
            assert last_group_start(manifest, start, stop) == expected, (start, stop)


@pytest.mark.parametrize("batch_rows", [1, 5, 30, 45, 1000])
@pytest.mark.parametrize("rows", [slice(None), slice(13, 140)])
def test_batches(frame: SFrame, batch_rows: int, rows: slice) -> None:
    part = frame[rows]
    plus = part["a"] + 1
    for node, more in ((part._node, 0), (plus._node, 1)):
        chunks = list(iterate(node, batch_rows))
        values = [value for chunk in chunks for value in chunk.columns[0].to_pylist()]
        assert values == [value + more for value in range(starts()[-1])[rows]]
        assert all(chunk.rows <= batch_rows for chunk in chunks)
        # A short one is followed by one that is not.
        assert all(left.rows + right.rows >= batch_rows for left, right in itertools.pairwise(chunks[:-1]))


def test_each_group_is_read_once(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.storage.segments import reader

    read: list[tuple[str, int]] = []
    before = reader._batches

    def counted(file: pq.ParquetFile, groups: list[int], *rest: Any) -> Any:
        read.extend((str(id(file)), group) for group in groups)
        return before(file, groups, *rest)

    monkeypatch.setattr(reader, "_batches", counted)
    with config.using(batch_rows=2 * max(GROUPS)):
        assert len(list(frame["a"])) == starts()[-1]
    assert len(read) == len(starts()) - 1


@pytest.mark.usefixtures("called_functions")
def test_functions_of_users_see_shorter_batches_of_long_rows() -> None:
    texts = SFrame({"s": ["x" * 1000] * 20})
    plain, applied = texts["s"] + "y", texts["s"].apply(lambda text: text + "y", str)
    with config.using(batch_bytes=1 << 20):
        rows = [Pipeline.of(optimize(column._node)).batch_size([0]).rows(10**6) for column in (plain, applied)]
    assert 7 <= rows[0] / rows[1] <= 9


@pytest.mark.parametrize(("rows", "expected"), [(30, 30), (32, 30), (34, 34), (50, 50), (57, 63), (62, 63), (122, 121)])
def test_ranges_end_with_row_groups_that_end_near(frame: SFrame, rows: int, expected: int) -> None:
    runner, stop = PipelineRunner(Pipeline.of((frame["a"] + 1)._node)), starts()[-1]
    assert at_row_groups(runner, [(0, rows), (rows, stop)]) == [(0, expected), (expected, stop)]
