"""Limits of memory are bytes: rows that are few and long are not small, and batches, results and gathered rows keep within budgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sframe_spark as tc
from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.config import config
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.placement_and_blocking_inputs import is_small
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import BatchSize, fits_driver, plan_size_of
from sframe_spark.operators.sources.base_and_segment_source import Reader, SegmentReader, SegmentSource, source_of
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import optimize
from sframe_spark.session import is_started
from sframe_spark.storage.segments import reader, row_sizes as segments_row_sizes

ROWS, LONG = 2_000, 1_000


def ready_root(node: PlannerNode) -> PlannerNode:
    """What is left to run of a plan, over sources."""
    executor = Executor(MaterializeOptions())
    return executor.ready(executor.plan(optimize(node))).root


@pytest.fixture(params=["memory", "saved", "saved with a dictionary"])
def frame(request: pytest.FixtureRequest, tmp_path: Any) -> SFrame:
    """Rows of a short and a long column."""
    distinct = 2 if "dictionary" in request.param else ROWS
    texts = [f"{row % distinct:05d}" * (LONG // 5) for row in range(ROWS)]
    made = SFrame({"a": list(range(ROWS)), "t": texts})
    if request.param == "memory":
        return made
    made.save(str(tmp_path / "saved"))
    return SFrame(str(tmp_path / "saved"))


def bytes_of_row(made: Any) -> float:
    sizes = sizes_of(made._node)[id(made._node)]
    return sum(size or 0 for size in sizes)


def test_a_source_knows_how_long_its_rows_are(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(segments_row_sizes, "WORTH_SAMPLING", 0)
    assert LONG < bytes_of_row(frame) < 1.1 * LONG
    assert bytes_of_row(frame["a"]) == 8
    assert bytes_of_row(frame[10:20]) > LONG


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "derived",
    [
        lambda sf: sf[sf["a"] > 3],
        lambda sf: sf.sort("t"),
        lambda sf: sf.groupby("t", {"n": aggregate.COUNT()}),
        lambda sf: sf.append(sf),
        lambda sf: SFrame({"t": sf["t"] + "x"}),
        lambda sf: sf.join(SFrame({"a": [1]}), on="a"),
    ],
)
def test_long_rows_are_not_small_however_few(frame: SFrame, derived: Any, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(segments_row_sizes, "WORTH_SAMPLING", 0)
    with config.using(memory_budget=ROWS * LONG // 2):
        assert not is_small(optimize(derived(frame)._node), Site.now())
    with config.using(memory_budget=ROWS * LONG * 4):
        assert is_small(optimize(derived(frame)._node), Site.now())


def test_a_column_that_nobody_reads_does_not_count(frame: SFrame) -> None:
    with config.using(memory_budget=ROWS * LONG // 2):
        assert is_small(optimize(frame[frame["a"] > 3]["a"]._node), Site.now())


def test_batches_hold_bytes_not_rows(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    for kind in (Reader, SegmentReader):
        original = kind.read
        monkeypatch.setattr(kind, "read", lambda self, a, b, original=original: read.append(b - a) or original(self, a, b))
    decoded: list[int] = []
    batches = reader._batches

    def counted(*arguments: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches(*arguments):
            decoded.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(segments_row_sizes, "WORTH_SAMPLING", 0)
    expected = [text[:5] for text in frame["t"]]
    read.clear()
    monkeypatch.setattr(reader, "_batches", counted)
    with config.using(batch_bytes=100 * LONG):
        assert [row["t"][:5] for row in frame] == expected
    assert sum(read) == ROWS and max(read) <= 100
    # The files have one row group, which is longer.
    assert max(decoded, default=0) <= 100


def test_long_rows_after_short_ones_are_noticed_before_they_are_read() -> None:
    texts = ["x"] * 10_000 + ["y" * LONG] * 1_000
    node = SArray(texts)._node
    with config.using(batch_bytes=50_000):
        sizes = [chunk.size for chunk in PipelineRunner(Pipeline.of(node)).stream(0, len(texts), 131_072)]
    assert max(sizes) < 200_000


def test_results_of_a_function_are_watched_as_they_come() -> None:
    column = SArray(list(range(20_000)))
    calls: list[int] = []

    def long_text(value: int) -> str:
        calls.append(value)
        return str(value) * 100

    node = optimize(column.apply(long_text, dtype=str)._node)
    with config.using(batch_bytes=100_000):
        sizes = [chunk.size for chunk in PipelineRunner(Pipeline.of(node)).stream(0, 20_000, 131_072)]
    assert max(sizes) < 300_000
    assert calls == list(range(20_000))


def test_results_that_turn_out_too_large_go_to_disk_without_spark() -> None:
    started = is_started()
    calls: list[int] = []

    def long_text(value: int) -> str:
        calls.append(value)
        return str(value) * 100

    with config.using(memory_budget=500_000, batch_bytes=50_000):
        found = SArray(list(range(10_000))).apply(long_text, dtype=str)
        found.materialize()
        assert isinstance(found._node.operator, SegmentSource)
        small = SArray(list(range(10))).apply(long_text, dtype=str)
        small.materialize()
        assert isinstance(small._node.operator, MemorySource)
    assert list(found) == [str(value) * 100 for value in range(10_000)]
    assert calls == [*range(10_000), *range(10)]
    assert is_started() == started


def test_groups_of_a_function_that_makes_long_texts_call_it_once() -> None:
    calls: list[int] = []

    def text(value: int) -> str:
        calls.append(value)
        return str(value % 3) * 10

    with config.using(memory_budget=100_000):
        frame = SFrame({"a": list(range(5_000))})
        frame["t"] = frame["a"].apply(text, dtype=str)
        found = list(frame.groupby("t", {"n": aggregate.COUNT()}))
    assert sorted(row["n"] for row in found) == [1666, 1667, 1667]
    assert calls == list(range(5_000))


def test_lists_of_groups_may_hold_all_rows(tmp_path: Any) -> None:
    frame = SFrame({"k": [1, 2] * 500, "t": ["x" * 1_000] * 1_000})
    node = frame.groupby("k", {"all": aggregate.CONCAT("t")})._node
    weight = plan_size_of(frame._node)
    assert weight is not None
    with config.using(memory_budget=int(weight.size) - 1):
        assert not fits_driver(node, 100_000, config.memory_budget)
    unknown, long = plan_size_of(node), plan_size_of(node, 1 << 20)
    assert unknown == weight and long is not None and long.size > 1_000 << 20


def test_batches_grow_slowly_where_nothing_is_known() -> None:
    size = BatchSize(1_000_000, 8.0, is_known=False)
    found = []
    for _ in range(4):
        found.append(size.rows(131_072))
        size.saw(found[-1], found[-1])
    assert found == [4_096, 16_384, 65_536, 125_000]


def test_the_size_of_a_chunk_is_that_of_its_rows() -> None:
    texts = pa.array(["x" * 100] * 100)
    assert Chunk.of([texts]).slice(0, 10).size < 1_200
    assert Chunk.of([pa.array(np.arange(100))]).size == 800


def test_budgets_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFRAME_SPARK_MEMORY_BUDGET", "1000")
    assert tc.config.memory_budget == 1_000


def test_a_large_row_group_of_others_is_several_blocks(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sframe_spark.operators.lookup import cached_reader, cached_reader as blocks

    monkeypatch.setattr(blocks, "LARGEST_BLOCK_BYTES", 20 * LONG)
    table = pa.table({"k": pa.array(range(0, 200, 2)), "t": pa.array([f"{row:05d}" * (LONG // 5) for row in range(100)])})
    pq.write_table(table, tmp_path / "one.parquet")
    right = SFrame.read_parquet(str(tmp_path / "one.parquet"))
    assert 4 <= cached_reader.Lookup.of(source_of(right._node)).block_count <= 6
    found = SFrame({"k": [0, 77, 198]}).asof_join(right.assume_sorted("k"), on="k")
    assert [row["t"][:5] for row in found] == ["00000", "00038", "00099"]


def test_long_rows_of_a_csv_file_go_to_disk(tmp_path: Any) -> None:
    path = str(tmp_path / "long.csv")
    written = SFrame({"a": list(range(500)), "t": ["x" * 1_000] * 500})
    written.export_csv(path)
    with config.using(memory_budget=100_000, kept_memory=100_000):
        found = SFrame.read_csv(path, verbose=False)
        assert isinstance(found._node.operator, SegmentSource)
    assert found.to_arrow() == written.to_arrow()
    assert isinstance(SFrame.read_csv(path, verbose=False)._node.operator, MemorySource)


@pytest.mark.parametrize("value", [{"key": "x" * 1_000}, ["x" * 500, "y" * 500]])
def test_lists_and_dicts_weigh_what_is_in_them(value: Any) -> None:
    rows = SFrame({"k": ["a", "b", "b"], "v": [value, type(value)(), None]})
    section = ready_root(rows.join(SFrame({"k": ["a", "a"]}), on="k", how="outer")._node)
    assert 2_000 < section.operator.counting.bytes_between(0, 2) < 2_100
    assert section.operator.counting.bytes_between(2, 4) < 100
