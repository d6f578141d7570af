"""What a task that gives its rows meets on a disk is told as ours, at whatever byte it meets it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.compute.range_and_hash_partitioning import RangePartitioner
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.division_into_row_ranges import range_tasks
from sframe_spark.engine.runtime.exchange import ranges_of_outputs, write_exchange_rows
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.errors import StorageError
from sframe_spark.planner.chunk import concatenate
from sframe_spark.types import INT

ROWS = 3_000


def ranges_of(count: int) -> RangePartitioner:
    return RangePartitioner.of(pa.array(range(ROWS)), INT, True, count)


@contextmanager
def files_have_room_for(size: int) -> Iterator[None]:
    """Files of this process cannot have more bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("count", [1, 40, 300])
@pytest.mark.parametrize("run", [0, 10_000, 1 << 27])
def test_a_disk_without_room_is_told_at_any_byte(tmp_path: Path, count: int, run: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "BYTES_BUFFERED_BY_SHUFFLE_TASK", run)
    frame = SFrame({"k": [row * 7 % ROWS for row in range(ROWS)], "t": range(ROWS)})
    (task,) = range_tasks(frame._node, ROWS, 1, ThreadRunner())
    given = write_exchange_rows(task, 0, 0, ranges_of(count), str(tmp_path))
    (written,) = tmp_path.iterdir()
    size = written.stat().st_size
    for room in {0, 1, 1_000, size // 2, size - 1}:
        with files_have_room_for(room), pytest.raises(StorageError, match="cannot write temporary rows to"):
            write_exchange_rows(task, 0, 0, ranges_of(count), str(tmp_path))
    # What was given before is still whole.
    ranges = [concatenate(of_range.passed(), (INT, INT)) for of_range in ranges_of_outputs([given], np.zeros(len(given.rows), dtype=bool))]
    assert [key for rows in ranges for key in sorted(rows.columns[0].to_pylist())] == list(range(ROWS))
