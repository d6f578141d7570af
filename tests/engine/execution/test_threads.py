"""Many rows without Spark: what kernels make is made by threads of this process where Spark would run here too, and no JVM is started."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.physical import site
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.engine.shapes.section_tree import Strategy
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.errors import MemoryReservationError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.planner.chunk import Chunk
from sframe_spark.session import is_started
from sframe_spark.session.spark_locality import is_spark_local
from sframe_spark.testing.oracle_functions import rows_equal
from tests.strategies import (
    PARTIAL_STATES_BY_TASKS,
    PARTIAL_STATES_BY_THREADS,
    SPARK_QUERY,
    STREAM_BY_PROCESSES,
    STREAM_BY_TASKS,
    STREAM_BY_THREADS,
    STREAM_ON_DRIVER,
    WHOLE_BY_THREADS,
)

ROWS = 3_000
KEYS = 40
pytestmark = pytest.mark.usefixtures("over_ranges")
Program = Callable[[SFrame], Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    choose = random.Random(3)
    directory = str(tmp_path_factory.mktemp("threads") / "frame")
    SFrame(
        {
            "i": choose.sample(range(ROWS), ROWS),
            "k": [None if row % 31 == 0 else choose.randrange(KEYS) for row in range(ROWS)],
            "f": [[None, float("nan"), -0.0, 0.0][row % 4] if row % 50 < 4 else choose.uniform(-9, 9) for row in range(ROWS)],
            "s": [None if row % 17 == 0 else choose.choice(("", "a", "é", "tea")) for row in range(ROWS)],
            "t": range(ROWS),
        }
    ).save(directory)
    return directory


def grouped(sf: SFrame) -> SFrame:
    """Aggregates of groups, few of them."""
    wanted = {"n": aggregate.COUNT(), "at": aggregate.ARGMAX("f", "i"), "kinds": aggregate.COUNT_DISTINCT("s"), "spread": aggregate.STD("f")}
    return sf.groupby("k", wanted)


def derived(sf: SFrame) -> SFrame:
    """Rows of a filter with one more column."""
    chosen = sf[sf["i"] % 3 != 0]
    chosen["more"] = chosen["i"] * 2 + chosen["t"]
    return chosen


def doubled(sf: SFrame) -> SFrame:
    """Rows with one more column."""
    sf["twice"] = sf["t"] * 2
    return sf


def many_groups(sf: SFrame) -> SFrame:
    """Groups that hold values."""
    return sf.groupby("k", {"n": aggregate.COUNT(), "all": aggregate.CONCAT("i")})


def other(sf: SFrame) -> SFrame:
    """Rows in no order of a key that some have twice, some never, and one with none."""
    chosen = sf[["i", "f"]][sf["i"] % 3 == 0]
    chosen["i"] = chosen["i"] * 7 % 800
    return chosen.append(SFrame({"i": [-1, 5], "f": [0.5, 0.25]}))


PROGRAMS: dict[str, tuple[Strategy, Program]] = {
    "filter and assign": (STREAM_BY_THREADS, derived),
    "running values": (STREAM_BY_THREADS, lambda sf: SFrame({"sum": sf["t"].cumulative_sum(), "mean": sf["t"].rolling_mean(-3, 2)})),
    "running values of a filter": (STREAM_BY_THREADS, lambda sf: SFrame({"sum": derived(sf)["more"].cumulative_sum()})),
    "few groups": (PARTIAL_STATES_BY_THREADS, grouped),
    "all values of groups": (WHOLE_BY_THREADS, lambda sf: sf.groupby("k", {"all": aggregate.CONCAT("i")})),
    "sort": (WHOLE_BY_THREADS, lambda sf: sf.sort([("k", False), ("f", True)])),
    "sort by text": (WHOLE_BY_THREADS, lambda sf: sf.sort("s")),
    "running values of a sort": (STREAM_BY_THREADS, lambda sf: SFrame({"sum": sf.sort("i")["t"].cumulative_sum()})),
    "columns of a sort beside each other": (STREAM_BY_THREADS, lambda sf: doubled(sf.sort([("s", True), ("i", False)]))),
    "groups of a sort": (PARTIAL_STATES_BY_THREADS, lambda sf: grouped(sf.sort("i"))),
    "a filter of all values of groups": (STREAM_ON_DRIVER, lambda sf: many_groups(sf)[many_groups(sf)["n"] > 1]),
    "join with rows in no order": (STREAM_BY_THREADS, lambda sf: sf.join(other(sf), on="i")),
    "left join with rows in no order": (STREAM_BY_THREADS, lambda sf: derived(sf).join(other(sf), on="i", how="left")),
    "groups of a join": (PARTIAL_STATES_BY_THREADS, lambda sf: grouped(sf.join(other(sf)[["i"]], on="i"))),
    "unique": (PARTIAL_STATES_BY_THREADS, lambda sf: sf[["k", "s"]].unique()),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_those_of_few_rows(place: str, name: str) -> None:
    mode, program = PROGRAMS[name]
    frame = program(load_sframe(place))
    sections = plan_dry_run(frame._node).sections
    assert sections[-1].strategy == mode and not any(section.workers.are_on_spark for section in sections)
    with config.using(small_rows=10 * ROWS):
        expected = list(program(load_sframe(place)))
    frame.materialize()
    found = list(frame)
    assert rows_equal([tuple(row.values()) for row in found], [tuple(row.values()) for row in expected])
    assert [list(row) for row in found[:1]] == [list(row) for row in expected[:1]]


def test_one_row_of_all_rows(place: str) -> None:
    sf = load_sframe(place)
    assert (sf["i"].sum(), sf["t"].max(), len(sf[sf["s"] == "tea"])) == (
        ROWS * (ROWS - 1) // 2,
        ROWS - 1,
        sum(row["s"] == "tea" for row in sf),
    )


def test_a_save_of_what_threads_make(place: str, tmp_path: Path) -> None:
    derived(load_sframe(place)).save(str(tmp_path / "again"))
    saved = load_sframe(str(tmp_path / "again"))
    assert list(saved["more"]) == [2 * row["i"] + row["t"] for row in load_sframe(place) if row["i"] % 3]


@pytest.mark.parametrize("name", ["sort", "all values of groups"])
def test_what_has_no_room_is_a_query(place: str, name: str) -> None:
    with config.using(work_memory=0):
        assert plan_dry_run(PROGRAMS[name][1](load_sframe(place))._node).sections[-1].strategy == SPARK_QUERY


@pytest.mark.usefixtures("called_functions")
@pytest.mark.parametrize("runs", [False, True])
def test_functions_of_users_and_dicts_that_python_makes_are_worth_processes(place: str, monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:
    monkeypatch.setattr(site, "is_spark_requested", lambda: runs)
    sf, mode = load_sframe(place), STREAM_BY_TASKS if runs else STREAM_BY_PROCESSES
    assert plan_dry_run(sf["i"].apply(lambda value: value + 1, dtype=int)._node).sections[-1].strategy == mode
    assert plan_dry_run(sf[["i", "k"]].pack_columns(dtype=dict, fill_na=[])._node).sections[-1].strategy == mode
    assert plan_dry_run(sf[["i", "k"]].pack_columns(dtype=dict)._node).sections[-1].strategy == STREAM_BY_THREADS
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    assert plan_dry_run(sf["i"].apply(lambda value: value + 1, dtype=int)._node).sections[-1].strategy == STREAM_BY_TASKS
    with config.using(small_rows=0):
        assert plan_dry_run(derived(sf)._node).sections[-1].strategy == STREAM_BY_TASKS


@pytest.mark.parametrize("variable", ["PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"])
def test_who_has_a_cluster_wants_it_to_work(place: str, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    if is_started():
        pytest.skip("Spark runs here")
    assert is_spark_local()
    monkeypatch.setenv(variable, "somewhere")
    assert not is_spark_local()
    with config.using(memory_budget=20 * ROWS):
        assert plan_dry_run(derived(load_sframe(place))._node).sections[-1].strategy == STREAM_BY_TASKS


NOT_JOINED = [name for name in PROGRAMS if "join" not in name and name != "a filter of all values of groups"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NOT_JOINED)
def test_so_few_bytes_are_sooner_here_than_on_a_cluster(place: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    mode, program = PROGRAMS[name]
    assert plan_dry_run(program(load_sframe(place))._node).sections[-1].strategy == mode
    for refused in ({"small_rows": 0}, {"memory_budget": 4 * ROWS}):
        with config.using(**refused):
            assert plan_dry_run(program(load_sframe(place))._node).sections[-1].workers.are_on_spark
    with config.using(small_rows=10 * ROWS):
        expected = list(program(load_sframe(place)))
    frame = program(load_sframe(place))
    frame.materialize()
    assert rows_equal([tuple(row.values()) for row in frame], [tuple(row.values()) for row in expected])
    assert not is_started()


def test_first_rows_are_weighed_by_the_columns_that_decide(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    monkeypatch.setattr(costs, "MIN_ROWS_FOR_EACH_READ_LATE", 10)
    with config.using(memory_budget=20 * ROWS):
        assert plan_dry_run(load_sframe(place).topk("f", 5)._node).sections[-1].strategy == PARTIAL_STATES_BY_THREADS
        assert plan_dry_run(load_sframe(place).topk("f", ROWS // 9)._node).sections[-1].strategy == PARTIAL_STATES_BY_TASKS


def test_what_is_elsewhere_is_a_clusters(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "is_spark_local", lambda: False)
    load_sframe(place).save("memory://few-bytes-elsewhere")
    assert plan_dry_run(load_sframe("memory://few-bytes-elsewhere")["i"].cumulative_sum()._node).sections[-1].strategy == STREAM_BY_TASKS
    sf = load_sframe(place)
    assert plan_dry_run(sf["t"].astype(str)._node).sections[-1].strategy == STREAM_BY_THREADS


def test_results_come_in_order_and_the_first_error_ends_the_rest() -> None:
    assert ThreadRunner().run([lambda value=value: value for value in range(50)], "counting") == list(range(50))
    begun = []

    def fails() -> None:
        raise ValueError("broken")

    def waits() -> None:
        begun.append(threading.current_thread())

    with pytest.raises(ValueError, match="broken"):
        ThreadRunner().run([fails, *[waits] * 500], "failing")
    assert all(thread is not threading.main_thread() for thread in begun)


def test_a_bar_counts_works(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sframe_spark.session.progress.DELAY_SECONDS", 0.0)
    with config.using(progress="on"):
        ThreadRunner().run([lambda: time.sleep(0.3)] * 4, "computing things")
    assert "/4 tasks" in capsys.readouterr().err


def test_room_is_counted_in_bytes() -> None:
    import pyarrow as pa

    room = MemoryReservation(100, 64)
    room.take(Chunk.of([pa.array([1, 2, 3]), pa.array([1.0, 2.0, 3.0])]))
    with pytest.raises(MemoryReservationError):
        room.take(Chunk.of([pa.array([1, 2, 3, 4]), pa.array([1.0, 2.0, 3.0, 4.0])]))
    with pytest.raises(MemoryReservationError):
        MemoryReservation(1_000, 64).take(Chunk.of([pa.array(["x" * 65])]))
