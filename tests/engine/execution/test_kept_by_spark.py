"""Rows that tasks write where nothing is shared are kept by Spark, and all is right that is done with them; threads are in Spark's place."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.execution import plan_executor
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime import result_storage
from sframe_spark.engine.shapes import hash_join, range_shuffle, section_runner
from sframe_spark.errors import NotSharedError, StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import get_unshared, is_started
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, is_kept_by_spark
from sframe_spark.storage.filesystem.temporary_datasets import kept_store, temporary_store
from tests.sent_to_threads import KeptBySparkOfThreads, KeptHere

ROWS, KEYS = 1_200, 41
COLUMNS: dict[str, list[Any]] = {
    "n": list(range(ROWS)),
    "k": [row * 5 % KEYS for row in range(ROWS)],
    "text": [f"x{row % 90}" for row in range(ROWS)],
}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptHere]:
    """Few rows count as many, Spark is elsewhere, and shares neither the directory of temporary data nor others with this process."""
    started = is_started()
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    monkeypatch.setattr(plan_executor, "start_ahead", lambda: None)
    for module in (hash_join, range_shuffle, section_runner):
        monkeypatch.setattr(module, "SparkTaskRunner", KeptBySparkOfThreads)
    monkeypatch.setattr(range_shuffle, "is_shared_with", lambda workers, directory: False)
    monkeypatch.setattr(result_storage, "require_keeping", lambda why: None)
    monkeypatch.setattr(KEPT_FILES, "keeper", keeper := KeptHere())
    with config.using(
        small_rows=50, segment_rows=200, batch_rows=70, memory_budget=0, progress="off", temporary_directory=str(tmp_path / "temporary")
    ):
        for directory in (temporary_store().directory, str(tmp_path)):
            get_unshared()[directory, "written"] = f"{directory} is not shared; set config.temporary_directory"
        yield keeper
        get_unshared().clear()
    assert is_started() == started


@pytest.fixture
def frame(kept: KeptHere) -> SFrame:
    """A frame whose rows Spark has computed, and keeps."""
    with config.using(small_rows=10 * ROWS, memory_budget=1 << 30):
        node = SFrame(COLUMNS)._node
        with result_storage.new_dataset(node.schema, MaterializeOptions(), by_spark=True) as dataset:
            runs = (SFrame({name: values[start : start + 200] for name, values in COLUMNS.items()}) for start in range(0, ROWS, 200))
            columns = ([part._node.operator.read_all().columns[place] for place in range(3)] for part in runs)
            source = dataset.source(result_storage.segments_of_runs(columns, node.schema, dataset.directory))
    made = SFrame(COLUMNS)
    made._node = source
    assert is_kept(source) and len(kept.files) == 6
    return made


def is_kept(node: PlannerNode) -> bool:
    """Whether Spark keeps the rows of a node."""
    return isinstance(node.operator, SegmentSource) and is_kept_by_spark(node.operator.manifest.directory)


def columns_of(frame: SFrame) -> dict[str, list[Any]]:
    """All rows."""
    return {name: list(frame[name]) for name in frame.column_names()}


PROGRAMS: dict[str, Callable[[SFrame], SFrame]] = {
    "derive": lambda frame: with_column(frame, "twice", frame["n"] * 2),
    "filter": lambda frame: frame[frame["k"] > 20],
    "apply": lambda frame: with_column(frame, "v", frame.apply(lambda row: row["n"] * row["k"], dtype=int)),
    "running sum": lambda frame: with_column(frame, "sum", frame["k"].cumulative_sum()),
    "sort": lambda frame: frame.sort(["text", "k"]),
    "groups": lambda frame: frame.groupby("text", {"sum": aggregate.SUM("n"), "all": aggregate.CONCAT("k")}).sort("text"),
    "join of two": lambda frame: frame.join(frame[frame["n"] % 7 == 0], on="n"),
    "sum of a column beside another": lambda frame: with_column(frame[frame["k"] > 20], "r", frame[frame["k"] > 20]["n"].cumulative_sum()),
    "as-of join": lambda frame: frame.asof_join(frame[frame["n"] % 10 == 0][["n", "text"]], on="n"),
}


def with_column(frame: SFrame, name: str, column: Any) -> SFrame:
    """The frame with one more column."""
    made = frame.copy()
    made[name] = column
    return made


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_over_kept_rows(frame: SFrame, kept: KeptHere, name: str) -> None:
    with config.using(small_rows=100 * ROWS, memory_budget=1 << 30):
        expected = columns_of(PROGRAMS[name](SFrame(COLUMNS)))
    made, given = PROGRAMS[name](frame), kept.given
    materialize(made._node, MaterializeOptions(in_memory=0))
    assert is_kept(made._node) and kept.given > given and kept.written
    assert columns_of(made) == expected
    assert [len(made), made.head(3)["n"][0] if "n" in expected else 0] == [len(expected["text"]), expected["n"][0] if "n" in expected else 0]


def test_a_save_to_a_directory_of_this_machine_is_copied_there(frame: SFrame, kept: KeptHere, tmp_path: Path) -> None:
    frame.save(str(tmp_path / "whole"))
    frame.sort("k").save(str(tmp_path / "sorted"))
    files = set(kept.files)
    kept.files.clear()
    assert columns_of(load_sframe(str(tmp_path / "whole"))) == COLUMNS
    assert list(load_sframe(str(tmp_path / "sorted"))["n"]) == sorted(range(ROWS), key=lambda row: row * 5 % KEYS)
    assert files == {file for file in files if is_kept_by_spark(file)}


def test_an_export_to_a_directory_of_this_machine_is_written_here(frame: SFrame, tmp_path: Path) -> None:
    frame[frame["k"] > 20].export_csv(str(tmp_path / "part.csv"))
    with config.using(small_rows=10 * ROWS, memory_budget=1 << 30):
        assert list(SFrame.read_csv(str(tmp_path / "part.csv"), verbose=False)["n"]) == [row for row in range(ROWS) if row * 5 % KEYS > 20]


def test_kept_rows_go_with_their_frame(frame: SFrame, kept: KeptHere) -> None:
    made = frame.sort("k")
    materialize(made._node, MaterializeOptions(in_memory=0))
    directory = made._node.operator.manifest.directory
    assert kept.sizes_below(directory)
    del made
    gc.collect()
    for _ in range(200):
        if not kept.sizes_below(directory):
            break
        time.sleep(0.02)
    assert not kept.sizes_below(directory) and kept.sizes_below(kept_store().directory)


@pytest.mark.usefixtures("called_functions")
def test_lost_rows_are_made_again_where_that_gives_the_same(frame: SFrame, kept: KeptHere) -> None:
    made, calls = frame.sort("k"), with_column(frame, "v", frame.apply(lambda row: row["n"], dtype=int))
    for node in (made._node, calls._node):
        materialize(node, MaterializeOptions(in_memory=0))
    first = set(kept.sizes_below(frame._node.operator.manifest.directory))
    for file in [file for file in kept.files if file not in first]:
        del kept.files[file]
    assert list(made["n"]) == sorted(range(ROWS), key=lambda row: row * 5 % KEYS)
    with pytest.raises(StorageError, match=r"no executor of Spark has them any more.*they were computed by your functions"):
        list(calls["v"])


def test_what_spark_does_not_keep_is_refused(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(why: str) -> None:
        raise NotSharedError(f"Spark does not keep rows, and {why}")

    monkeypatch.setattr(result_storage, "require_keeping", refuse)
    with pytest.raises(NotSharedError, match=r"does not keep rows, and .* is not shared; set config\.temporary_directory"):
        materialize(frame.sort("k")._node, MaterializeOptions(in_memory=0))
