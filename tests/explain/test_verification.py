"""``explain(verify=True)``: what the planner claims holds of what ran, and what does not hold is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import sframe_spark as tc
from sframe_spark import SFrame, aggregate as agg
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.errors import SFrameError, UnsupportedOperationError
from sframe_spark.explain import verification
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.sources.base_and_segment_source import segment_source
from sframe_spark.planner.operator_declarations import NO_WORK, SparkCost

ROWS = 300


def verified(frame: SFrame | tc.SArray) -> list[str]:
    """The report's lines."""
    return frame.explain(verify=True).split("-- verification\n")[1].splitlines()


def by_time() -> SFrame:
    """A frame in order of ``t``."""
    number = np.arange(ROWS)
    return SFrame({"t": number // 3, "v": (number * 79) % ROWS * 0.5, "k": number % 7})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> str:
    """That frame in four segments."""
    place = str(tmp_path_factory.mktemp("verified") / "by_time")
    with tc.config.using(small_rows=0, default_segments=4):
        frame = by_time()
        frame[frame["t"] >= 0].save(place)
    return place


@pytest.fixture
def on_spark() -> Iterator[None]:
    """Nothing runs on the driver."""
    with tc.config.using(small_rows=0, single_task_rows=0, default_segments=4):
        yield


def test_few_rows_are_verified_without_spark() -> None:
    frame = by_time()
    later = frame.sort("v")
    lines = verified(later)
    assert "section 1: suffix_sort, driver, 300 rows" in lines
    assert "  rows in order of v, t: agrees" in lines or "  rows in order of v: agrees" in lines
    assert lines[-1].endswith("all agree")
    assert not later.is_materialized()


def test_a_false_promise_is_found() -> None:
    frame = SFrame({"t": [1, 3, 2, 4]}).assume_sorted("t", verify=False)
    lines = verified(frame.sort("t"))
    assert "  rows in order of t: DISAGREES: row 2 is the first of which this is not so" in lines
    assert "  sort by t left out: rows in order of t: DISAGREES: row 2 comes before the row above it" in lines
    assert lines[-1].endswith("2 DISAGREE")


def test_a_column_is_verified_by_its_name() -> None:
    assert any(line.startswith("  values in bounds: 0 <= value <= 99") for line in verified(by_time()["t"]))


def test_remote_sessions_are_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: Any) -> None:
        raise AssertionError("nothing may run")

    monkeypatch.setattr(verification, "is_started", lambda: False)
    monkeypatch.setattr(verification, "active_session", lambda: None)
    monkeypatch.setattr(verification.RecordingExecutor, "execute", run)
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    with pytest.raises(UnsupportedOperationError, match="needs a classic Spark session") as caught:
        by_time().sort("v").explain(verify=True)
    assert isinstance(caught.value, (SFrameError, RuntimeError))
    monkeypatch.setattr(verification, "active_session", lambda: object())
    monkeypatch.setattr(verification, "is_remote", lambda session: True)
    with pytest.raises(UnsupportedOperationError):
        by_time()["v"].explain(verify=True)


CASES: list[tuple[str, Callable[[SFrame], SFrame | tc.SArray], list[str]]] = [
    ("sort", lambda a: a.sort("v"), ["Sort of all rows", "Exchange rangepartitioning", "exchanges: at most 1 claimed, 1 ran: agrees"]),
    (
        "group",
        lambda a: a.groupby("k", {"s": agg.CONCAT("v")}),
        ["exchanges: at most 2 claimed, 2 ran: agrees", "rows in order of k without ties: agrees"],
    ),
    ("join", lambda a: a.join(a.sort("v"), on=["t", "k"], how="outer"), ["SortMergeJoin", "rows leave Spark in the order of their row key: agrees"]),
    ("zip", lambda a: with_total(a), ["zip of co-partitioned inputs needs no exchange: agrees", "ranges of rows stay in their tasks: agrees"]),
    ("sorted", lambda a: a.groupby("t", {"s": agg.SUM("v")}).sort("t"), ["sort by t left out: rows in order of t: agrees"]),
]


def with_total(frame: SFrame) -> SFrame:
    """The frame with a running sum."""
    copy = frame.copy()
    copy["total"] = copy["v"].cumulative_sum()
    return copy


@pytest.mark.spark
@pytest.mark.usefixtures("on_spark")
@pytest.mark.parametrize(("title", "program", "parts"), CASES, ids=[case[0] for case in CASES])
def test_claims_agree_with_what_ran(title: str, program: Callable[[SFrame], SFrame | tc.SArray], parts: list[str], saved: str) -> None:
    result = program(tc.load_sframe(saved))
    before = result.explain()
    lines = verified(result)
    assert [part for part in parts if not any(part in line for line in lines)] == [], "\n".join(lines)
    assert lines[-1].endswith("all agree"), "\n".join(lines)
    assert result.explain() == before


@pytest.mark.spark
@pytest.mark.usefixtures("on_spark")
def test_results_in_segments_are_compared_with_their_manifest(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MaterializeOptions", lambda: MaterializeOptions(in_memory=0))
    lines = verified(with_total(tc.load_sframe(saved)))
    assert "  4 ranges of rows are 4 segments: agrees" in lines
    assert lines.count("  rows, row keys and statistics of segments as recorded (4 in the dataset): agrees") >= 2


@pytest.mark.spark
@pytest.mark.usefixtures("on_spark")
def test_a_claim_of_too_few_exchanges_is_found(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupBy, "spark_cost", SparkCost(NO_WORK))
    lines = verified(tc.load_sframe(saved).groupby("k", {"s": agg.CONCAT("v")}))
    assert "  exchanges: at most 1 claimed, 2 ran: DISAGREES: 1 more than claimed" in lines
    assert lines[-1].endswith("1 DISAGREE")


@pytest.mark.spark
@pytest.mark.usefixtures("on_spark")
def test_segments_in_another_order_than_recorded_are_found(saved: str) -> None:
    manifest = tc.load_sframe(saved)._node.operator.manifest  # type: ignore[attr-defined]
    promised = attrs.evolve(manifest, order=manifest.order.and_ordering(((manifest.names.index("t"), True),)))
    # Manifests refuse this when they are made.
    object.__setattr__(promised, "segments", (manifest.segments[1], manifest.segments[0], *manifest.segments[2:]))
    frame = SFrame(_node=segment_source(promised), _names=list(manifest.names))
    lines = verified(frame.sort("t"))
    assert any(line.startswith("  rows in order of t: DISAGREES: row 75") for line in lines), "\n".join(lines)
    assert any("but its row keys are smaller" in line for line in lines)


@pytest.mark.spark
@pytest.mark.usefixtures("on_spark")
def test_nothing_is_claimed_of_the_plan_of_a_users_dataframe(spark: Any) -> None:
    frame = SFrame(spark.range(20).selectExpr("id % 3 as k", "id as v").repartition(3, "k"))
    lines = verified(frame.groupby("k", {"s": agg.SUM("v")}))
    assert any(line.startswith("  exchanges: ") and line.endswith("ran: not claimed") for line in lines), "\n".join(lines)
    assert "  rows leave Spark in the order of their row key: agrees" in lines
    assert "spark_source: a snapshot without an exchange" in frame.sort("v").explain(why=True)
    lines = verified(frame.sort("v"))
    assert lines[-1].endswith("all agree") and frame.is_materialized(), "\n".join(lines)


@pytest.mark.spark
@pytest.mark.usefixtures("on_spark")
def test_the_frame_answers_as_before(saved: str) -> None:
    frame = tc.load_sframe(saved).sort("v")
    frame.explain(verify=True, why=True, trace=True)
    assert not frame.is_materialized()
    assert [row["v"] for row in frame.head(3)] == [0.0, 0.5, 1.0]
