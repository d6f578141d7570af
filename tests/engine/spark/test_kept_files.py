"""Spark keeps rows where it shares no directory: as blocks on disks of executors, or in a directory that only it reaches."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.physical import site
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.blocks_kept_by_spark import keeper_of_this_process
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.session import get_reached, get_session, get_unshared
from sframe_spark.session.dataframes_kept_by_spark import new_view_name, owner_of_view
from sframe_spark.storage.filesystem.files_kept_by_spark import is_kept_by_spark
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

pytestmark = pytest.mark.spark
ROWS, KEYS = 5_000, 7
KEY = np.arange(ROWS) * 5 % KEYS


@pytest.fixture(params=["disks of executors", "a directory"])
def unshared(request: pytest.FixtureRequest, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Spark is said to share no directory with this process, and few rows count as many."""
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    if request.param == "a directory":
        PLACE_OF_CLUSTER.blocks = (tmp_path / "blocks").as_uri()
        get_reached().add(("", "kept"))
    for directory in (temporary_store().directory, str(tmp_path)):
        get_unshared()[directory, "written"] = "it is not shared; set config.temporary_directory"
    with config.using(small_rows=40, memory_budget=10_000):
        yield
    get_unshared().clear()
    get_reached().clear()
    PLACE_OF_CLUSTER.blocks = None


def is_kept(frame: SFrame) -> bool:
    """Whether Spark keeps the rows of a frame."""
    frame.materialize()
    return isinstance(frame._node.operator, SegmentSource) and is_kept_by_spark(frame._node.operator.manifest.directory)


def from_spark(spark: Any) -> SFrame:
    """More rows than the driver may have, which Spark computes."""
    return SFrame(spark.range(0, ROWS, 1, 4).selectExpr("id AS n", f"id * 5 % {KEYS} AS k"))


def test_all_is_done_with_kept_rows(spark: Any, unshared: None, tmp_path: Path) -> None:
    frame = from_spark(spark).sort("n")
    assert is_kept(frame) and len(frame) == ROWS
    assert [frame["n"][4_321], frame.head(2)["n"][1], frame["n"].sum()] == [4_321, 1, ROWS * (ROWS - 1) // 2]
    assert list(frame["n"]) == list(range(ROWS))
    kept = frame[frame["k"] > 3]
    assert list(kept["n"]) == np.flatnonzero(KEY > 3).tolist()
    ordered = frame.sort("k")
    assert is_kept(ordered) and list(ordered["n"]) == np.argsort(KEY, kind="stable").tolist()
    groups = frame.groupby("n", {"sum": aggregate.SUM("k")})
    assert dict(zip(groups["n"], groups["sum"], strict=True)) == dict(enumerate(KEY.tolist()))
    frame["sum"] = frame["k"].cumulative_sum()
    frame["twice"] = frame.apply(lambda row: row["n"] * 2, dtype=int)
    assert list(frame["sum"]) == np.cumsum(KEY).tolist() and list(frame["twice"]) == list(range(0, 2 * ROWS, 2))
    joined = ordered.join(kept[["n", "k"]], on="n")
    assert len(joined) == np.count_nonzero(KEY > 3)
    df = ordered.to_spark()
    assert [df.count(), df.agg({"n": "sum"}).collect()[0][0]] == [ROWS, ROWS * (ROWS - 1) // 2]
    ordered.save(str(tmp_path / "saved"))
    assert list(load_sframe(str(tmp_path / "saved"))["n"]) == list(ordered["n"])


def test_what_is_lost_is_told_and_no_dataframe_is_evaluated_again(spark: Any, unshared: None) -> None:
    frame = from_spark(spark)
    assert is_kept(frame)
    keeper = keeper_of_this_process()
    for kept in keeper.frames_with(list(keeper.sizes_below(frame._node.operator.manifest.directory))):
        kept.release()
    for look in (lambda: list(frame["n"]), lambda: frame.sort("k").materialize()):
        with pytest.raises(StorageError, match=r"no executor of Spark has them any more.*they come from a Spark DataFrame"):
            look()


def test_frames_that_are_gone_leave_nothing(spark: Any, unshared: None, tmp_path: Path) -> None:
    persistent = get_session().sparkContext._jsc.getPersistentRDDs
    before = persistent().size()
    frame = from_spark(spark)
    assert is_kept(frame)
    directory = frame._node.operator.manifest.directory
    assert keeper_of_this_process().sizes_below(directory)
    assert PLACE_OF_CLUSTER.blocks is not None or persistent().size() > before
    del frame
    gc.collect()
    for _ in range(300):
        if not keeper_of_this_process().sizes_below(directory):
            break
        time.sleep(0.02)
    time.sleep(0.2)
    assert persistent().size() <= before and list(tmp_path.rglob("*.parquet")) == []


def test_views_carry_the_mark_of_their_process() -> None:
    assert owner_of_view(new_view_name()) is not None and owner_of_view("sframe_spark_mine") is None and owner_of_view("other") is None
