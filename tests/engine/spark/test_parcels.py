"""Works as bytes: a task is sent its own, and of stored rows only where its own are."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.runtime.division_into_row_ranges import DividedPlan
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import chunks_of
from sframe_spark.engine.task_pickling import SharedValue, pack_tasks
from sframe_spark.errors import StorageError
from sframe_spark.operators.joins.asof_join import AsofJoin
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, segment_source
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.operators.window.shift import Shift
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import optimize
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT
from tests.examples import square


class Table(SharedValue):
    """Something that works share."""

    def __init__(self, values: list[int]) -> None:
        self.values = values


def at(table: Table, other: Table, place: int) -> tuple[int, bool]:
    return table.values[place], table is other


class Apart:
    """Something that is pickled by itself."""

    travels_as_one = True

    def __init__(self, table: Table) -> None:
        self.table = table


def test_nobody_looks_at_what_is_within_a_value_that_travels_as_one() -> None:
    table = Table([3, 5])
    parcels, shared = pack_tasks([partial(getattr, Apart(table), "table"), partial(getattr, [table], "__len__")])
    assert shared == [table]
    assert parcels[0].unpack([])().values == [3, 5]


def stored(directory: Path, rows: int, segments: int) -> PlannerNode:
    directory.mkdir()
    edges = [rows * number // segments for number in range(segments + 1)]
    entries = [
        write_segment(str(directory), number, [INT], [[pa.array(range(edges[number], edges[number + 1]), pa.int64())]]) for number in range(segments)
    ]
    return segment_source(publish(str(directory), [INT], entries))


def test_what_works_share_is_pickled_once_and_stays_one_object() -> None:
    table = Table(list(range(10_000)))
    parcels, shared = pack_tasks([partial(at, table, table, place) for place in (3, 5)])
    assert shared == [table]
    assert max(len(parcel.content) for parcel in parcels) < 500
    sent = pickle.loads(pickle.dumps((parcels, shared)))
    assert [parcel.unpack(sent[1])() for parcel in sent[0]] == [(3, True), (5, True)]


def test_what_cannot_be_pickled_is_told_before_anything_is_sent() -> None:
    with pytest.raises(pickle.PicklingError, match="lock"):
        pack_tasks([partial(print, threading.Lock())])


def test_a_task_is_told_of_its_own_segments(tmp_path: Path) -> None:
    node = stored(tmp_path / "rows", 4_000, 400)
    divided = DividedPlan.of(Pipeline.of(Shift(1).make_planner_node(node)))
    tasks = [divided.task((first, first + 100), {}) for first in range(0, 4_000, 100)]
    parcels, shared = pack_tasks([partial(chunks_of, task) for task in tasks])
    assert len(shared) == 1
    # Ten segments each and one for the row before, however many there are.
    assert [len(source.manifest.segments) for task in tasks[1:] for source in task.own.values()] == [11] * 39  # type: ignore[attr-defined]
    assert max(len(parcel.content) for parcel in parcels) < 5_000
    (plan,) = shared
    assert [len(operator.manifest.segments) for operator in plan.operators if isinstance(operator, SegmentSource)] == [0]
    found = [value for parcel in parcels for chunk in parcel.unpack(shared)() for value in chunk.columns[0].to_pylist()]
    assert found == [None, *range(3_999)]


READS: dict[str, Callable[[SFrame], SArray | SFrame]] = {
    "every third row": lambda sf: sf["a"][2:90:3] + 1,
    "steps behind": lambda sf: sf["a"][40::2].diff(1),
    "part of a part": lambda sf: sf[1::2].tail(20)["a"].shift(2),
    "rows before": lambda sf: sf["a"].shift(7),
    "rows after": lambda sf: sf["a"].shift(-30),
    "rows on both sides": lambda sf: sf["a"].rolling_sum(-5, 4),
    "other rows of the same": lambda sf: sf["a"][:50] + sf["a"][50:],
    "one after the other": lambda sf: sf[60:].append(sf[:10])["a"].shift(1),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "segments", "batch_rows"), square(3, READS, [1, 3, 50], [1, 4, 1000]))
def test_tasks_read_no_rows_of_which_they_were_not_told(tmp_path: Path, name: str, segments: int, batch_rows: int) -> None:
    node = optimize(READS[name](SFrame(_node=stored(tmp_path / "rows", 100, segments), _names=["a"]))._node)
    rows, plan = node.length.known_rows, Pipeline.of(node)
    expected = [value for chunk in PipelineRunner(plan).stream(0, rows, rows) for value in chunk.columns[0].to_pylist()]
    for count in (1, 2, 7, rows):
        with config.using(batch_rows=batch_rows):
            divided = DividedPlan.of(plan)
            tasks = [divided.task((rows * number // count, rows * (number + 1) // count), {}) for number in range(count)]
        assert divided.indices
        assert [value for task in tasks for chunk in chunks_of(task) for value in chunk.columns[0].to_pylist()] == expected


def test_sources_that_are_searched_are_told_whole(tmp_path: Path) -> None:
    right = stored(tmp_path / "right", 100, 10)
    left = memory_source([pa.array([5, 55])], [INT])
    divided = DividedPlan.of(Pipeline.of(AsofJoin(0, (), (0,)).make_planner_node(left, right)))
    assert divided.indices == ()
    (chunk,) = chunks_of(divided.task((0, 2), {}))
    assert chunk.columns[0].to_pylist() == [5, 55]


def test_rows_of_which_a_task_was_not_told_are_no_rows_that_are_not_there(tmp_path: Path) -> None:
    node = stored(tmp_path / "rows", 100, 10)
    manifest: Any = node.operator.manifest  # type: ignore[attr-defined]
    part = pickle.loads(pickle.dumps(manifest.between(35, 52)))
    assert (part.rows, part.offsets, part.left_out) == (100, (30, 40, 50), (30, 40))
    assert read_rows(part, [0], 30, 60).column(0).to_pylist() == list(range(30, 60))
    for start, stop in ((29, 40), (50, 61), (0, 100), (70, None)):
        with pytest.raises(StorageError, match="does not know"):
            read_rows(part, [0], start, stop)
    nothing = manifest.between(0, 0)
    assert (nothing.rows, nothing.segments) == (100, ())
    with pytest.raises(StorageError, match="does not know"):
        read_rows(nothing, [0], 0, 1)
    assert read_rows(nothing, [0], 5, 5).num_rows == 0
