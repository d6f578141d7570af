"""Joins of two sides that have no room: pieces of both that threads join, in memory and on disk, give the rows of one join of all."""

from __future__ import annotations

import itertools
import os
import random
import threading
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.api.class_registry import make_frame
from sframe_spark.compute.range_and_hash_partitioning import HashPartitioner, RangePartitioner
from sframe_spark.engine import costs
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime.shuffle_store import PartitionRows, ShuffleStore
from sframe_spark.engine.shapes import partitioned_operators as joined_module
from sframe_spark.engine.shapes.partitioned_operators import RowsByRowId
from sframe_spark.engine.shapes.section_tree import Strategy
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import BlockingReservation
from sframe_spark.errors import StorageError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.operators.joins.equi_join import KINDS
from sframe_spark.planner import chunk as pieces
from sframe_spark.planner.chunk import Chunk
from sframe_spark.rewrite_laws import group_join_and_sort_algorithms as algorithm_choice, optimize
from sframe_spark.session import is_started
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import INT
from tests.examples import examples, square
from tests.explain.plans_and_runs import compared
from tests.strategies import HASH_JOIN_BY_THREADS

ROWS, SEGMENT_ROWS = 400, 150
# Bytes of work: too few for both sides, and very few.
WORK = [40_000, 14_000]


@pytest.fixture
def many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows count as many, no side has room, and no Spark is started."""
    started = is_started()
    monkeypatch.setattr(pieces, "MIN_CHUNK_ROWS", 30)
    monkeypatch.setattr(costs, "MIN_ROWS_SPLIT", 100)
    monkeypatch.setattr(costs, "ROWS_OF_RANGE", 200)
    for module in (algorithm_choice, algorithm_choice):
        monkeypatch.setattr(module, "MAX_TIES", 1)
    with config.using(small_rows=100, segment_rows=SEGMENT_ROWS, batch_rows=60, progress="off", temporary_directory=str(tmp_path / "temporary")):
        yield
    assert is_started() == started


def side(seed: int, name: str, rows: int = ROWS) -> SFrame:
    choose = random.Random(seed)
    return SFrame(
        {
            "k": [None if row % 61 == 0 else choose.randrange(ROWS // 2) for row in range(rows)],
            "f": [[None, float("nan"), -0.0, 0.0][row % 4] if row % 150 < 4 else round(choose.uniform(-9, 9), 1) for row in range(rows)],
            "s": [None if row % 57 == 0 else "é" * choose.randrange(3) + str(choose.randrange(90)) for row in range(rows)],
            name: range(rows),
            "l": [[row % 5, None] if row % 3 else None for row in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def saved_sides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with both sides, in several segments each."""
    directory = tmp_path_factory.mktemp("sides")
    with config.using(segment_rows=SEGMENT_ROWS):
        for seed, name in enumerate("vw"):
            side(seed, name).save(str(directory / name))
    return directory


@pytest.fixture
def sides(many_rows: None, saved_sides: Path) -> tuple[SFrame, SFrame]:
    return load_sframe(str(saved_sides / "v")), load_sframe(str(saved_sides / "w"))


def rows_of(frame: SFrame) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in frame]


def expected_of(program: Callable[[], SFrame]) -> list[tuple[Any, ...]]:
    with config.using(small_rows=1_000_000):
        return rows_of(program())


def files_left() -> list[str]:
    """Those of shuffle stores: results may be in files, too."""
    store = scratch_store().directory
    found = [name for place in os.listdir(store) if place.startswith("dataset-") for name in os.listdir(os.path.join(store, place))]
    return [name for name in found if name.startswith("shuffle-")]


def modes(frame: SFrame) -> list[Strategy]:
    return [section.strategy for section in plan_dry_run(frame._node).sections]


def derived(rows: SFrame, name: str) -> SFrame:
    chosen = rows[rows[name] % 3 != 0]
    chosen["sum"] = chosen[name].cumulative_sum() % 1009
    return chosen


# Kinds of joins and keys, each in one of the ways to run it; all kinds with keys of texts and of two columns are those of the random rows below.
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("join", "way"), square(12, product(KINDS, ["k", "f", "s f k"]), product(WORK, [None, 1, 7], [False, True])))
def test_rows_are_those_of_one_join(sides: tuple[SFrame, SFrame], join: tuple[str, str], way: tuple[int, int | None, bool], tmp_path: Path) -> None:
    (how, on), (work, segments, is_derived) = join, way

    def program() -> SFrame:
        left, right = (derived(rows, name) for rows, name in zip(sides, "vw", strict=True)) if is_derived else sides
        return left.join(right, on=on.split(), how=how)

    expected, made = expected_of(program), program()
    with config.using(work_memory=work):
        assert modes(made) == [HASH_JOIN_BY_THREADS]
        if segments == 7:
            made.save(str(tmp_path / "saved"))
        materialize(made._node, MaterializeOptions(in_memory=0, segments=segments))
    assert files_left() == [] and rows_equal(rows_of(made), expected)


PIECES = st.one_of(st.none(), st.integers(-2, 2))


@given(
    left=st.lists(st.tuples(PIECES, st.sampled_from(["", "a", None])), max_size=12),
    right=st.lists(st.tuples(PIECES, st.sampled_from(["", "a", None])), max_size=12),
    how=st.sampled_from(KINDS),
    on=st.sampled_from([["k"], ["s"], ["k", "s"]]),
    work=st.sampled_from([200, 700, 3_000]),
    batch=st.sampled_from([1, 2, 100]),
)
@settings(max_examples=examples(150), deadline=None)
def test_pieces_of_few_rows_and_many_that_tie(left: list[Any], right: list[Any], how: str, on: list[str], work: int, batch: int) -> None:
    def program() -> SFrame:
        found = []
        for rows, name in ((left, "v"), (right, "w")):
            columns = {"k": [k for k, _ in rows], "s": [s for _, s in rows], name: list(range(len(rows)))}
            found.append(SFrame(pa.table(columns, schema=pa.schema({"k": pa.int64(), "s": pa.string(), name: pa.int64()}.items()))))
        return found[0].join(found[1], on=on, how=how)

    expected = expected_of(program)
    with pytest.MonkeyPatch.context() as patch:
        for module in (algorithm_choice, algorithm_choice):
            patch.setattr(module, "MAX_TIES", 1)
        patch.setattr(site, "result_memory_left", lambda: 0)
        # Whatever the sizes: a piece that has no room would be Spark's.
        patch.setattr(joined_module, "max_at_once", lambda: 1 << 20)
        with config.using(small_rows=1, work_memory=work, batch_rows=batch):
            made = program()
            assert not any(strategy.workers.are_on_spark for strategy in modes(made))
            materialize(made._node, MaterializeOptions(in_memory=0, segments=3))
        assert rows_of(made) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("how", "many"), [("inner", "left"), ("inner", "right"), ("left", "left"), ("right", "right")])
def test_a_key_that_most_rows_of_a_side_have_is_joined_part_by_part(how: str, many: str, many_rows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    long = SFrame({"k": [7 if row % 9 else row for row in range(4_000)], "t": [f"{row} {'x' * 20}" for row in range(4_000)]})
    short = SFrame({"k": [7, 9, 7, 18, 5_000, 7] * 200, "u": [f"{row} {'y' * 20}" for row in range(1_200)]})
    short["k"] = short["k"] + (SFrame({"n": range(1_200)})["n"] > 3) * (SFrame({"n": range(1_200)})["n"] + 10)

    def program() -> SFrame:
        return long.join(short, on="k", how=how) if many == "left" else short.join(long, on="k", how=how)

    expected, parts = expected_of(program), list[int]()
    cut = joined_module.parts_of

    def counted(rows: PartitionRows, max_bytes: int) -> Iterator[Any]:
        for part in cut(rows, max_bytes):
            parts.append(part.rows)
            yield part

    joined, taken = list[list[int]](), list[int]()
    pairs_of, take = joined_module.PartitionOfJoin._pairs_of, BlockingReservation.taken
    monkeypatch.setattr(joined_module, "parts_of", counted)
    monkeypatch.setattr(
        joined_module.PartitionOfJoin, "_pairs_of", lambda self, rows: joined.append([side.size for side in rows]) or pairs_of(self, rows)
    )
    monkeypatch.setattr(BlockingReservation, "taken", lambda self, size: taken.append(size) or take(self, size))
    with config.using(work_memory=200_000):
        made, most = program(), joined_module.max_at_once()
        assert modes(made) == [HASH_JOIN_BY_THREADS]
        materialize(made._node, MaterializeOptions(in_memory=0))
    assert len(parts) > 2 and rows_equal(rows_of(made), expected) and files_left() == []
    # A part is somewhat longer than there is room for, by the rows that one task gave at a time.
    assert max(map(sum, joined)) <= 1.25 * most and max(map(min, joined)) <= most // 2 and max(taken) >= most // 2


def test_what_is_above_is_planned_when_the_number_of_rows_is_known(sides: tuple[SFrame, SFrame]) -> None:
    """A sort of so many rows as a join might have would be Spark's."""

    def program() -> SFrame:
        joined = sides[0].join(sides[1], on=["k", "s"], how="outer")
        return joined.groupby("s", {"n": aggregate.COUNT(), "all": aggregate.CONCAT("w")}).join(sides[0], on="s").sort("v")

    expected, made = expected_of(program), program()
    with config.using(work_memory=WORK[0]):
        assert rows_equal(rows_of(made), expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "above",
    [lambda rows: rows, lambda rows: rows.sort("w"), lambda rows: rows.groupby("s", {"n": aggregate.COUNT()}).sort("n"), lambda rows: rows[1:9]],
)
def test_what_runs_is_what_was_said(above: Callable[[SFrame], SFrame], sides: tuple[SFrame, SFrame]) -> None:
    with config.using(work_memory=WORK[0]):
        assert compared(above(sides[0].join(sides[1], on=["k", "s"], how="outer"))._node) == []


def test_rows_are_counted_and_looked_at(sides: tuple[SFrame, SFrame]) -> None:
    def program() -> SFrame:
        return sides[0].join(sides[1], on="k", how="left")

    expected = expected_of(program)
    with config.using(work_memory=WORK[1]):
        assert len(program()) == len(expected)
        assert rows_equal(rows_of(program().head(5)), expected[:5])
        place = program().column_names().index("v")
        assert program()["v"].sum() == sum(row[place] for row in expected)


def test_a_damaged_or_lost_file_is_told(sides: tuple[SFrame, SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    write = ShuffleStore._write

    def damaged(self: ShuffleStore, full: Any, path: str, number: int) -> None:
        write(self, full, path, number)
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))

    monkeypatch.setattr(ShuffleStore, "_write", damaged)
    with config.using(work_memory=WORK[1]), pytest.raises(StorageError, match="damaged"):
        sides[0].join(sides[1], on="k").materialize()
    assert files_left() == []


@pytest.mark.parametrize("step", ["fill", "_join"])
def test_an_error_or_ctrl_c_at_any_step_leaves_no_file(step: str, sides: tuple[SFrame, SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    before, calls = getattr(joined_module.PartitionedJoin, step), itertools.count(1)

    def interrupted(self: Any, *arguments: Any) -> None:
        # Threads call this at the same time: each compares its own number.
        call = next(calls)
        before(self, *arguments)
        if call == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(joined_module.PartitionedJoin, step, interrupted)
    with config.using(work_memory=WORK[1]), pytest.raises(KeyboardInterrupt):
        sides[0].join(sides[1], on="k").materialize()
    assert files_left() == []


def test_files_of_sides_go_before_rows_are_put_in_order(sides: tuple[SFrame, SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    kept, before, in_order = list[int](), list[int](), joined_module.SortByRowId.of_all
    join = joined_module.PartitionedJoin._join
    monkeypatch.setattr(joined_module.PartitionedJoin, "_join", lambda self, *given: before.append(len(files_left())) or join(self, *given))
    monkeypatch.setattr(joined_module.SortByRowId, "of_all", lambda self, rows: kept.append(len(files_left())) or in_order(self, rows))
    with config.using(work_memory=WORK[1]):
        sides[0].join(sides[1], on=["k", "s"]).materialize()
    assert before[0] > kept[0] and len(set(kept)) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("how", "few"), [("left", "left"), ("right", "right"), ("left", "right"), ("right", "left"), ("inner", "left")])
@pytest.mark.parametrize("rows", [1, 3])
def test_few_rows_that_are_all_kept_beside_a_key_of_many_are_joined_here(how: str, few: str, rows: int, many_rows: None) -> None:
    """Keys of one piece, of which one has many rows, one few that are at the end, and one none."""
    texts = [f"{row} {'x' * 20}" for row in range(4_000)]
    many = SFrame({"k": [None if row == 17 else 8 if row % 400 == 5 else 7 for row in range(4_000)], "t": texts, "v": range(4_000)})
    short = SFrame({"k": [*range(10_400, 10_000, -1), *[7, 8, 9][:rows], None], "w": range(401 + rows)})

    def program() -> SFrame:
        return short.join(many, on="k", how=how) if few == "left" else many.join(short, on="k", how=how)

    expected = expected_of(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "result_memory_left", lambda: 0)
        # All keys are in one piece.
        patch.setattr(HashPartitioner, "partition_numbers", lambda self, chunk: np.zeros(chunk.rows, dtype=np.int64))
        with config.using(work_memory=200_000):
            assert modes(program()) == [HASH_JOIN_BY_THREADS]
            executor = Executor(MaterializeOptions(in_memory=0))
            found = executor.execute(optimize(program()._node))
    assert not any(line.startswith("no room") for line in executor.log) and any(line.startswith("joined") for line in executor.log)
    assert rows_equal(rows_of(make_frame(found, program().column_names())), expected) and files_left() == []


@pytest.mark.parametrize("kept", [None, 0, 60_000])
def test_a_range_that_is_exchanged_again_holds_no_memory_beside_what_is_shared_and_is_counted(
    kept: int | None, many_rows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces that nobody looked at have most pairs, so that nearly all rows are of few ranges; results that find no room are left half made."""
    heavy = {3: 40, 4: 30, 5: 20}
    left = SFrame({"k": [row % 400 if row % 10 else 3 + row // 10 % 3 for row in range(ROWS)], "v": range(ROWS)})
    right = SFrame({"k": [*range(400), *(key for key, often in heavy.items() for _ in range(often))], "w": range(400 + sum(heavy.values()))})
    expected = expected_of(lambda: left.join(right, on="k", how="left"))
    monkeypatch.setattr(joined_module, "ranges_of_joined_rows", lambda sample, size: RangePartitioner.of(pa.array([0, 1]), INT, True, 2))
    add, let_go, write = ShuffleStore.add, ShuffleStore.flush_to_disk, ShuffleStore._write
    rooms, held, again, written, lock = list[BlockingReservation](), list[int](), list[ShuffleStore](), [0], threading.Lock()
    made_of = RowsByRowId.of

    def of(*given: Any) -> RowsByRowId:
        rows = made_of(*given)
        rooms.append(rows.room)
        return rows

    def added(self: ShuffleStore, task: int, chunk: Chunk) -> None:
        add(self, task, chunk)
        if rooms:
            held.append(rooms[0]._taken - self.buffered_bytes)

    def flush_to_disk(self: ShuffleStore) -> None:
        let_go(self)
        again.append(self)

    def count(self: ShuffleStore, full: Any, path: str, number: int) -> None:
        write(self, full, path, number)
        with lock:
            written[0] += os.path.getsize(path)

    for name, member in (("add", added), ("flush_to_disk", flush_to_disk), ("_write", count)):
        monkeypatch.setattr(ShuffleStore, name, member)
    monkeypatch.setattr(RowsByRowId, "of", of)
    with config.using(work_memory=60_000, kept_memory=kept):
        executor = Executor(MaterializeOptions(in_memory=0))
        executor.execute(optimize(left.join(right, on="k", how="left")._node))
        assert executor.run_log.outcomes[-1].spilled == written[0] > 0
        # The sides of the next join are not of this room.
        rooms.clear()
        made = left.join(right, on="k", how="left")
        materialize(made._node, MaterializeOptions(in_memory=0))
    assert rows_equal(rows_of(made), expected) and files_left() == []
    assert again and all(store.buffered_bytes == 0 for store in again) and min(held) >= 0


@pytest.mark.spark
@pytest.mark.parametrize("how", KINDS)
def test_a_piece_without_room_is_spark_s(how: str, spark: Any, many_rows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of many rows on both sides; an outer join cannot take one side part by part."""
    left, right = (SFrame({"k": [*range(510, 10, -1), *[7] * 200], name: range(700)}) for name in "vw")
    expected = expected_of(lambda: left.join(right, on="k", how=how))
    monkeypatch.setattr(joined_module, "max_at_once", lambda: 2_000)
    with config.using(work_memory=24_000):
        executor = Executor(MaterializeOptions(in_memory=0))
        found = executor.execute(optimize(left.join(right, on="k", how=how)._node))
    assert any(line.startswith("no room") for line in executor.log) and any(line.startswith("query: join") for line in executor.log)
    assert found.length.rows == len(expected) and files_left() == []
