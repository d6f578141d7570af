"""A frame of stored and new columns computes and keeps the new ones; its rows are what they were, through every door, and in later plans."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution import materialize_count_and_read_rows as materialize
from sframe_spark.engine.execution.materialize_count_and_read_rows import NEW_COLUMNS
from sframe_spark.engine.physical import column_lineage
from sframe_spark.errors import LengthMismatchError, StorageError
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, Source
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import is_started
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import INT

ROWS = 600
Way = Callable[[SFrame], SFrame]


@pytest.fixture(autouse=True)
def many_rows(tmp_path: Path) -> Iterator[None]:
    """Few rows count as many, and no Spark is started."""
    started = is_started()
    with config.using(small_rows=100, segment_rows=210, batch_rows=90, progress="off", temporary_directory=str(tmp_path / "temporary")):
        yield
    assert is_started() == started


def made() -> SFrame:
    choose = random.Random(3)
    return SFrame(
        {
            "i": choose.sample(range(ROWS), ROWS),
            "k": [None if row % 61 == 0 else choose.randrange(9) for row in range(ROWS)],
            "s": [None if row % 57 == 0 else "é" * choose.randrange(4) for row in range(ROWS)],
            "t": range(ROWS),
        }
    )


@pytest.fixture(params=["saved", "in memory"])
def frame(request: pytest.FixtureRequest, tmp_path: Path) -> SFrame:
    if request.param == "in memory":
        return made()
    made().save(str(tmp_path / "frame"))
    return load_sframe(str(tmp_path / "frame"))


def sources(frame: SFrame) -> list[Source]:
    """What a frame's rows are read from, each once."""
    found = [node.operator for node in postorder([frame._node]) if node.operator.is_source]
    assert all(isinstance(operator, Source) for operator in found)
    return found  # type: ignore[return-value]


def with_sum(frame: SFrame) -> SFrame:
    frame["d"] = frame["i"] + frame["t"]
    return frame


def with_several(frame: SFrame) -> SFrame:
    frame["a"] = frame["i"] * 2
    frame["same"] = frame["i"]
    frame["b"] = frame["a"] - frame["t"]
    return frame[["b", "s", "a", "same", "t"]]


def with_replaced(frame: SFrame) -> SFrame:
    frame["k"] = frame["k"].fillna(-1)
    frame["k"] = frame["k"] + frame["t"]
    return frame


def with_function(frame: SFrame) -> SFrame:
    frame["f"] = frame["s"].apply(lambda text: text and text.upper(), str)
    return frame


def with_running(frame: SFrame) -> SFrame:
    frame["sum"] = frame["t"].cumulative_sum()
    frame["before"] = frame["i"].shift(1)
    return frame


def with_split(frame: SFrame) -> SFrame:
    pair = frame.apply(lambda row: {"one": row["i"], "two": row["t"]}, dict).unpack("", column_types=[int, int], limit=["one", "two"])
    return frame.add_columns(pair)


def with_sorted_column(frame: SFrame) -> SFrame:
    frame["sorted"] = frame["i"].sort()
    return frame


WAYS: list[Way] = [with_sum, with_several, with_replaced, with_function, with_running, with_split, with_sorted_column]
ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def rows_of(frame: SFrame) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in frame.column_names()) for row in frame]


@pytest.mark.sampled(4)
@ways
def test_rows_are_those_of_a_frame_that_is_not_materialised(frame: SFrame, way: Way) -> None:
    expected = rows_of(way(made()))
    result = way(frame)
    result.materialize()
    assert result.is_materialized() and len(result) == ROWS
    assert rows_equal(rows_of(result), expected)
    assert rows_equal(rows_of(result.head(7)), expected[:7]) and rows_equal(rows_of(result[450:460]), expected[450:460])
    assert rows_equal([tuple(result[345].values())], [expected[345]])


@pytest.mark.sampled(2)
@ways
def test_only_new_columns_are_made(frame: SFrame, way: Way) -> None:
    before = {id(operator.data) if isinstance(operator, MemorySource) else operator.manifest.identity for operator in sources(frame)}  # type: ignore[attr-defined]
    result = way(frame)
    new = set(result.column_names()) - {"i", "s", "t", "same"} - ({"k"} if way is not with_replaced else set())
    result.materialize()
    after = [
        operator
        for operator in sources(result)
        if (id(operator.data) if isinstance(operator, MemorySource) else operator.manifest.identity) not in before
    ]  # type: ignore[attr-defined]
    assert len(after) == 1 and len(sources(result)) == 2
    assert len(after[0].infer_type(())) == len(new)


@pytest.mark.sampled(4)
@ways
def test_later_plans_over_both(frame: SFrame, way: Way) -> None:
    plain, result = way(made()), way(frame)
    result.materialize()
    last = result.column_names()[-1]
    for later in (
        lambda found: found[found["t"] > 360],
        lambda found: found.sort(last, ascending=False).head(20),
        lambda found: found.groupby("t", {"n": aggregate.COUNT()}).sort("t"),
        lambda found: found.append(found),
        lambda found: found.join(found[["t"]].head(40), on="t").sort("t"),
        lambda found: found[::7],
    ):
        assert rows_equal(rows_of(later(result)), rows_of(later(plain)))


def test_a_held_column_is_there_too(frame: SFrame) -> None:
    column = frame["i"] + frame["t"]
    frame["d"] = column
    frame.materialize()
    assert column.is_materialized() and list(column) == list(made()["i"] + made()["t"])


def test_functions_are_called_once_for_each_row(frame: SFrame) -> None:
    calls: list[int] = []
    with config.using(small_rows=10**6):
        # Of rows that count as few all are made here, so that calls can be counted.
        column = frame["t"].apply(lambda value: calls.append(value) or value, int)
        frame["f"] = column
        frame["g"] = column + 1
        frame.materialize()
        list(column), list(frame["g"])
    assert sorted(calls) == list(range(ROWS))


def test_columns_one_by_one_become_one_source_again(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_SOURCES_OF_FRAME", 4)
    found = []
    for number in range(9):
        frame[f"c{number}"] = frame["t"] * number
        frame.materialize()
        found.append(len(sources(frame)))
    assert found == [2, 3, 4, 1, 2, 3, 4, 1, 2]
    assert [frame[500][f"c{number}"] for number in range(9)] == [500 * number for number in range(9)]


@pytest.mark.parametrize("is_called", [False, True], ids=["computed", "with a function"])
def test_columns_assigned_one_by_one_are_found_in_one_step(frame: SFrame, is_called: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = origins_followed(monkeypatch)
    calls: list[int] = []
    if is_called:
        frame = frame.head(40)
        frame["f"] = frame["i"].apply(lambda value: calls.append(value) or -value, dtype=int)
    for number in range(200):
        frame[f"c{number}"] = frame["t"] + number
    shown = column_lineage.arranged_columns(frame._node)
    assert shown is not None and len(followed) == 1
    frame.materialize()
    assert len(followed) < 20 and frame[30]["c199"] == 229
    assert not is_called or (list(frame["f"]) == [-value for value in calls] and len(calls) == len(frame))


def test_thousands_of_columns_that_stand_one_above_the_other_are_not_followed(frame: SFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step has all columns: followed through all of them, 2,000 columns took seven seconds, and 4,000 of which one is a function's 47."""
    followed = origins_followed(monkeypatch)
    node = frame._node
    for number in range(500):
        node = zip_columns(node, apply_function("add", frame["t"]._node, Literal(number, INT)))
        if number == 9:
            assert column_lineage.arranged_columns(node) is not None and len(followed) >= 10
            followed.clear()
    assert column_lineage.arranged_columns(node) is None and not followed


def origins_followed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The widths of nodes whose columns' origins are asked for, from now on."""
    followed: list[int] = []
    origins = column_lineage.origins_of
    monkeypatch.setattr(column_lineage, "origins_of", lambda node: followed.append(node.facts.width) or origins(node))
    return followed


def test_a_save_over_itself_keeps_rows(frame: SFrame, tmp_path: Path) -> None:
    frame["d"] = frame["i"] + frame["t"]
    frame.materialize()
    expected = rows_of(frame)
    for _ in range(2):
        frame.save(str(tmp_path / "frame"))
        assert rows_of(frame) == expected and rows_of(load_sframe(str(tmp_path / "frame"))) == expected


def test_few_rows_segments_and_spilled_columns(tmp_path: Path) -> None:
    few = made().head(50)
    few["d"] = few["t"] + 1
    few.materialize()
    assert len(sources(few)) == 1
    counted = with_sum(made())
    counted.materialize(segments=3)
    assert len(sources(counted)) == 1
    with config.using(kept_memory=1, memory_budget=3_000):
        full = with_sum(made())
        full.materialize()
    assert {type(source) for source in sources(full)} == {MemorySource, SegmentSource} and rows_of(full) == rows_of(with_sum(made()))


def test_lengths_that_differ_are_told(frame: SFrame) -> None:
    other = made()[made()["t"] > 10]
    with pytest.raises((LengthMismatchError, RuntimeError)):
        frame["d"] = other["i"]
        frame.materialize()


def test_lost_new_columns_are_made_again(tmp_path: Path) -> None:
    with config.using(kept_memory=1, memory_budget=3_000):
        frame = with_sum(made())
        frame.materialize()
        (lost,) = (source for source in sources(frame) if isinstance(source, SegmentSource))
        for entry in lost.manifest.segments:
            (Path(lost.manifest.directory) / entry.file).unlink()
        try:
            found = rows_of(frame)
        except StorageError as error:
            pytest.fail(str(error))
    assert found == rows_of(with_sum(made()))


def test_threads_that_materialise_frames_of_one_column(frame: SFrame) -> None:
    column = frame["i"] + frame["t"]
    frames = [SFrame({"t": frame["t"], "d": column, "e": column * number}) for number in range(6)]
    threads = [threading.Thread(target=each.materialize) for each in frames]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = list(made()["i"] + made()["t"])
    assert all(list(each["d"]) == expected and each.is_materialized() for each in frames)
    assert list(frames[5]["e"]) == [5 * value for value in expected]


@pytest.mark.parametrize("made", ["a column", "both columns", "a frame of both"])
def test_columns_that_another_thread_makes_meanwhile(frame: SFrame, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look for new columns and their run: a view of all of them in the place of one that they are made of was a graph without an end."""
    first, second = frame["i"] + frame["t"], frame["t"] * 2
    expected = [list(frame["i"] + frame["t"]), list(frame["t"] * 2)]
    result = SFrame({"t": frame["t"], "a": first, "b": second})
    others: dict[str, list[Any]] = {
        "a column": [second],
        "both columns": [first, second],
        "a frame of both": [frame.add_column(first).add_column(second)],
    }
    waiting, found = others[made], materialize.new_columns

    def interrupted(root: PlannerNode) -> Any:
        new = found(root)
        while waiting:
            thread = threading.Thread(target=waiting.pop().materialize)
            thread.start()
            thread.join()
        return new

    monkeypatch.setattr(materialize, "new_columns", interrupted)
    result.materialize()
    assert all(column.is_materialized() for column in (first, second)) and result.is_materialized()
    assert [list(result["a"]), list(result["b"])] == [list(first), list(second)] == expected


def test_explain_and_last_run_tell_it(frame: SFrame) -> None:
    result = with_sum(frame)
    (section,) = result.explain().sections
    assert section.reason == NEW_COLUMNS and section.nodes[-1].columns == "d int"
    (section,) = result.explain(analyze=True).sections
    (outcome,) = section.outcomes
    assert outcome.reason == NEW_COLUMNS and outcome.rows == ROWS
    assert NEW_COLUMNS in result.last_run()
    assert not result.explain().sections
