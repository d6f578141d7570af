"""Temporary files that somebody has deleted: rows are made again, at every door, or it is told why they are not, in one line."""

from __future__ import annotations

import gc
import glob
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution import lost_row_recovery
from sframe_spark.engine.execution.lost_row_recovery import RowLineage, lineage_of
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all, stored_chunks
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.storage.filesystem.temporary_datasets import DatasetHandle, temporary_store

pytestmark = pytest.mark.spark

ROWS = 4_000
KEPT = [(number, number * 7 % 11) for number in range(0, ROWS, 2)]


@pytest.fixture
def place(tmp_path: Path, own_options: None) -> Path:
    """A saved frame, and a temporary directory of this test, into which all materialised rows go."""
    SFrame({"n": range(ROWS)}).save(str(tmp_path / "saved"))
    config.temporary_directory, config.memory_budget, config.kept_memory = str(tmp_path / "tmp"), 0, 0
    return tmp_path


def made(place: Path) -> SFrame:
    """Rows in temporary files."""
    base = load_sframe(str(place / "saved"))
    frame = SFrame({"n": base["n"], "k": base["n"] * 7 % 11})[::2]
    frame.materialize()
    assert datasets() and isinstance(frame._node.operator, SegmentSource)
    return frame


def datasets() -> list[str]:
    return sorted(glob.glob(temporary_store().directory + "/dataset-*"))


def lose(whole: bool = True) -> None:
    """Delete temporary data behind the back of the process: all of it, or a file of each dataset."""
    for directory in datasets():
        files = glob.glob(directory + "/*.parquet")
        if whole:
            shutil.rmtree(directory)
        elif files:
            os.remove(files[-1])


def n_and_k(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(table.column("n").to_pylist(), table.column("k").to_pylist(), strict=True))


NUMBERS = [number for number, _ in KEPT]
DOORS: dict[str, Callable[[SFrame, Path], tuple[Any, Any]]] = {
    "iteration": lambda frame, place: ([(row["n"], row["k"]) for row in frame], KEPT),
    "one row": lambda frame, place: (frame[7], {"n": 14, "k": 14 * 7 % 11}),
    "last row": lambda frame, place: (frame[-1]["n"], ROWS - 2),
    "slice": lambda frame, place: (list(frame["n"][5:8]), [10, 12, 14]),
    "head": lambda frame, place: (list(frame.head(3)["n"]), [0, 2, 4]),
    "tail": lambda frame, place: (list(frame.tail(2)["n"]), [ROWS - 4, ROWS - 2]),
    "print": lambda frame, place: (f"[{ROWS // 2} rows x 2 columns]" in str(frame), True),
    "Arrow table": lambda frame, place: (n_and_k(frame.to_arrow()), KEPT),
    "Arrow stream": lambda frame, place: (n_and_k(pa.table(frame)), KEPT),
    "numpy": lambda frame, place: (list(frame["n"].to_numpy()), NUMBERS),
    "pandas": lambda frame, place: (list(frame.to_pandas()["n"]), NUMBERS),
    "sum": lambda frame, place: (frame["n"].sum(), sum(NUMBERS)),
    "running sum": lambda frame, place: (frame["n"].cumulative_sum()[-1], sum(NUMBERS)),
    "length of a filter": lambda frame, place: (len(frame[frame["k"] == 3]), sum(k == 3 for _, k in KEPT)),
    "function": lambda frame, place: (frame["n"].apply(lambda n: n + 1, dtype=int)[2], 5),
    "CSV": lambda frame, place: (frame.export_csv(str(place / "out.csv")), None),
    "save": lambda frame, place: (frame.save(str(place / "out")) or list(load_sframe(str(place / "out"))["n"]), NUMBERS),
    "filter": lambda frame, place: (list(frame[frame["k"] == 3]["n"]), [n for n, k in KEPT if k == 3]),
    "sort": lambda frame, place: (list(frame.sort("n", ascending=False)["n"]), NUMBERS[::-1]),
    "group-by": lambda frame, place: (sorted(frame.groupby("k", {"c": aggregate.COUNT()})["k"]), list(range(11))),
    "different values": lambda frame, place: (sorted(frame["k"].unique()), list(range(11))),
    "to_spark": lambda frame, place: (frame.to_spark().count(), len(KEPT)),
}


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("whole", [True, False], ids=["all data", "one file"])
@pytest.mark.parametrize("door", DOORS)
def test_rows_are_made_again_at_every_door(door: str, whole: bool, place: Path) -> None:
    frame = made(place)
    lose(whole)
    found, expected = DOORS[door](frame, place)
    assert found == expected
    # Of the frame itself, whoever looks next.
    assert list(frame["n"]) == NUMBERS


def test_what_is_lost_while_rows_are_read_goes_on_where_it_was(place: Path) -> None:
    frame = made(place)
    batches = pa.RecordBatchReader.from_stream(frame)
    with config.using(batch_rows=100):
        rows = iter(frame)
        first = [next(rows)["n"] for _ in range(10)]
    lose()
    assert first + [row["n"] for row in rows] == NUMBERS
    assert sum(batch.num_rows for batch in batches) == len(NUMBERS)


def test_rows_that_others_hold_are_made_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = made(place)
    one, two = frame["n"] + 1, frame["n"] + 2
    calls: list[Any] = []
    again = lost_row_recovery._are_same
    monkeypatch.setattr(lost_row_recovery, "_are_same", lambda old, new: calls.append(old) or again(old, new))
    lose()
    assert (one.sum(), two.sum(), frame["k"].max()) == (sum(NUMBERS) + len(NUMBERS), sum(NUMBERS) + 2 * len(NUMBERS), 10)
    assert len(calls) == 1
    lose()
    assert list(frame["n"]) == NUMBERS and len(calls) == 2


def test_a_recipe_keeps_no_other_temporary_data(place: Path) -> None:
    frame = made(place)
    above = SFrame({"m": frame["n"] * 3 + 1})
    above.materialize()
    assert len(datasets()) == 2
    del frame
    gc.collect()
    assert len(datasets()) == 1
    lose()
    # What it was made of is made on the way, and kept by nobody.
    assert list(above["m"]) == [number * 3 + 1 for number in NUMBERS]
    gc.collect()
    assert len(datasets()) == 1


def test_a_long_history_keeps_no_more_than_its_limit(place: Path) -> None:
    column = made(place)["n"]
    kept: list[RowLineage] = []
    for _ in range(costs.MAX_GENERATIONS_OF_KEPT_PLANS + 3):
        column = column + 1
        column.materialize()
        assert isinstance(column._node.operator, SegmentSource) and isinstance(column._node.operator.handle, DatasetHandle)
        kept.append(column._node.operator.handle.lineage)  # type: ignore[arg-type]
    assert max(lineage.generations for lineage in kept) <= costs.MAX_GENERATIONS_OF_KEPT_PLANS
    assert lost_row_recovery.TOO_LONG in {lineage.reason for lineage in kept}
    gc.collect()
    assert len(datasets()) == 1
    lose()
    try:
        assert column.sum() == sum(NUMBERS) + len(kept) * len(NUMBERS)
    except StorageError as error:
        assert lost_row_recovery.TOO_LONG in str(error) or lost_row_recovery.UNKNOWN in str(error)


def test_large_tables_in_memory_are_not_kept_for_a_recipe(own_options: None, monkeypatch: pytest.MonkeyPatch) -> None:
    column = SFrame({"n": range(ROWS)})["n"] + 1
    assert lineage_of(column._node).plan is not None
    monkeypatch.setattr(costs, "MAX_BYTES_OF_KEPT_PLANS", 8_000)
    assert lineage_of(column._node).reason == lost_row_recovery.TOO_LONG


@pytest.mark.parametrize("whole", [True, False])
def test_what_functions_gave_is_not_made_again(place: Path, whole: bool) -> None:
    calls: list[int] = []
    result = made(place)["n"].apply(lambda n: calls.append(n) or n, dtype=int)
    with config.using(memory_budget=128 << 20, kept_memory=None):
        result.materialize()
    stored = result + 1
    stored.materialize()
    before = len(calls)
    lose(whole)
    assert stored.sum() == sum(NUMBERS) + len(NUMBERS)
    assert len(calls) == before


@pytest.mark.usefixtures("called_functions")
def test_it_is_told_why_rows_are_not_made_again(place: Path, spark: Any) -> None:
    called = made(place)["n"].apply(lambda n: n, dtype=int)
    called.materialize()
    evaluated = SFrame(spark.range(ROWS))
    evaluated.materialize()
    lose()
    for rows, reason in ((called, "computed by your functions"), (evaluated["id"], "Spark DataFrame")):
        with pytest.raises(StorageError, match=rf"is missing: its rows are lost.*\(.*{reason}.*\).*save\(\)") as told:
            list(rows)
        assert "\n" not in str(told.value)


def test_other_rows_than_before_are_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = made(place)
    lose()
    shutil.rmtree(place / "saved")
    with pytest.raises(StorageError, match="saved"):
        list(frame)
    other = made_of(place, range(5, ROWS + 5))
    monkeypatch.setattr(lineage_behind(other), "plan", made_of(place, range(ROWS))._node)
    lose()
    with pytest.raises(StorageError, match="their inputs have changed"):
        list(other)


def made_of(place: Path, numbers: range) -> SFrame:
    """Rows in temporary files, of some in memory."""
    frame = SFrame({"n": SFrame({"n": numbers})["n"] + 1})
    frame.materialize()
    return frame


def lineage_behind(frame: SFrame) -> RowLineage:
    operator = frame._node.operator
    assert isinstance(operator, SegmentSource) and isinstance(operator.handle.lineage, RowLineage)
    return operator.handle.lineage


def test_saved_frames_are_not_made_again(place: Path) -> None:
    frame = made(place)
    frame.save(str(place / "out"))
    loaded = load_sframe(str(place / "out"))
    for file in glob.glob(str(place / "out" / "*.parquet")):
        os.remove(file)
    with pytest.raises(StorageError, match="is missing"):
        list(loaded)


def test_reading_doors_of_the_engine(place: Path) -> None:
    frame = made(place)
    lose()
    assert sum(chunk.rows for chunk in stored_chunks(frame._node)) == len(NUMBERS)
    lose()
    assert read_all(frame._node).rows == len(NUMBERS)
