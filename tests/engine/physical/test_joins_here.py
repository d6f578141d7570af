"""Joins of many rows whose sides have room in memory: threads make them, with the rows that few have and in their order, and start no Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine import costs
from sframe_spark.engine.execution import materialize_count_and_read_rows as materialize_module
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes import hash_join
from sframe_spark.engine.shapes.count_matches import may_have_many
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.engine.shapes.section_tree import Strategy, in_order_of_running
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.operators.joins.equi_join import KINDS
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.rewrite_laws import group_join_and_sort_algorithms as algorithm_choice, optimize
from tests.examples import examples, square
from tests.strategies import HASH_JOIN_BY_THREADS, SPARK_QUERY, STREAM_BY_THREADS, WHOLE_BY_THREADS

INTS = st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ä", "a\0"]))


@contextlib.contextmanager
def without_few() -> Iterator[None]:
    """Two rows are too many for the ways of few rows, whose kernels run without sections."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (algorithm_choice, algorithm_choice):
            patch.setattr(module, "MAX_TIES", 1)
        with config.using(small_rows=1):
            yield


@pytest.fixture
def nothing_is_few() -> Iterator[None]:
    """The same for a test."""
    with without_few():
        yield


def modes(frame: SFrame) -> list[Strategy]:
    """How the sections of a frame's plan would run, in order."""
    section = SectionPlanner(Site.now()).plan(optimize(frame._node))
    return [each.strategy for each in in_order_of_running([section])]


def rows_of(frame: SFrame) -> list[dict[str, Any]]:
    """All rows, made by threads alone."""
    assert not any(strategy.workers.are_on_spark for strategy in modes(frame))
    frame.materialize()
    return list(frame)


@st.composite
def sides(draw: st.DrawFn) -> tuple[SFrame, SFrame]:
    found = []
    for value in ("v", "w"):
        rows = draw(st.integers(0, 8))
        columns = {"k": draw(st.lists(INTS, min_size=rows, max_size=rows)), "s": draw(st.lists(TEXTS, min_size=rows, max_size=rows))}
        types = {"k": pa.int64(), "s": pa.string(), value: pa.int64()}
        found.append(SFrame(pa.table({**columns, value: list(range(rows))}, schema=pa.schema(types.items()))))
    return found[0], found[1]


def parts_of(both: tuple[SFrame, SFrame]) -> tuple[SFrame, SFrame]:
    """Sides of which nobody knows how many rows they have."""
    left, right = both
    return left[left["v"] != 2], right[right["w"] != 1]


@given(sides(), st.sampled_from(KINDS), st.sampled_from([["k"], ["s"], ["k", "s"]]), st.booleans(), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_rows_are_those_of_few(both: tuple[SFrame, SFrame], how: str, on: list[str], filtered: bool, derived: bool) -> None:
    def made() -> SFrame:
        left, right = parts_of(both) if filtered else both
        found = left.join(right, on=on, how=how)
        if derived:
            found["sum"] = found["v"] + found["w"]
        return found

    few = made()
    few.materialize()
    with without_few():
        assert rows_of(made()) == list(few)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("on", ["k", "s"])
def test_saved_sides_are_read_into_memory(how: str, on: str, nothing_is_few: None, tmp_path: Path) -> None:
    left = {"k": [3, 1, 2, 1, 9], "s": ["c", "a", "b", "a", "z"], "v": [1, 2, 3, 4, 5]}
    right = {"k": [1, 2, 2, 7, 3], "s": ["a", "b", "b", "q", "c"], "w": [10, 20, 21, 70, 30]}
    saved = []
    for name, columns in (("left", left), ("right", {key: right[key] for key in (on, "w")})):
        SFrame(columns).save(str(tmp_path / name))
        saved.append(load_sframe(str(tmp_path / name)))
    matched = [(1, 30), (2, 10), (3, 20), (3, 21), (4, 10)]
    wanted = {
        "inner": matched,
        "left": [*matched, (5, None)],
        "right": [(2, 10), (4, 10), (3, 20), (3, 21), (None, 70), (1, 30)],
        "outer": [*matched, (5, None), (None, 70)],
    }[how]
    assert [(row["v"], row["w"]) for row in rows_of(saved[0].join(saved[1], on=on, how=how))] == wanted


def test_a_searched_side_is_sorted_and_the_other_streams(nothing_is_few: None) -> None:
    left, right = SFrame({"k": [2, 1], "v": [1, 2]}), SFrame({"k": [2, 1], "w": [1, 2]})
    assert modes(left[left["v"] > 0].join(right, on="k")) == [WHOLE_BY_THREADS, STREAM_BY_THREADS]
    assert modes(left.join(right, on="k", how="outer")) == [STREAM_BY_THREADS]


def test_joins_of_joins(nothing_is_few: None) -> None:
    first, second = SFrame({"k": [2, 1, 2], "v": [1, 2, 3]}), SFrame({"k": [1, 2], "s": ["a", "b"]})
    third = SFrame({"s": ["b", "a"], "w": [5, 6]})
    joined = first.join(second, on="k").join(third, on="s").join(second.rename({"s": "t"}), on="k", how="outer")
    assert [(row["v"], row["w"], row["t"]) for row in rows_of(joined)] == [(1, 5, "b"), (2, 6, "a"), (3, 5, "b")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("read", ["sort", "groups", "filter"])
def test_a_join_that_others_read_is_no_exchange_where_its_sides_have_room(how: str, read: str, nothing_is_few: None) -> None:
    def made() -> SFrame:
        joined = SFrame({"k": [2, 1, 3], "v": [1, 2, 3]}).join(SFrame({"k": [2, 1, 2], "w": [1, 2, 3]}), on="k", how=how)
        if read == "sort":
            return joined.sort(["w", "v"], ascending=False)
        return joined[joined["w"] > 1] if read == "filter" else joined.groupby("k", {"sum": aggregate.SUM("w")}).sort("k")

    assert HASH_JOIN_BY_THREADS not in modes(made())
    with config.using(small_rows=100):
        few = list(made())
    assert rows_of(made()) == few


@pytest.mark.parametrize("how", KINDS)
def test_a_join_is_an_exchange_where_too_many_rows_would_be_searched(how: str, nothing_is_few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_ROWS_SEARCHED", 2)
    left, right = SFrame({"k": [2, 1, 3], "v": [1, 2, 3]}), SFrame({"k": [2, 1, 2], "w": [1, 2, 3]})
    joined = left.join(right, on="k", how=how)
    assert HASH_JOIN_BY_THREADS in modes(joined.sort(["w", "v"], ascending=False)) and modes(joined) == [HASH_JOIN_BY_THREADS]
    with config.using(small_rows=100):
        few = list(left.join(right, on="k", how=how).sort(["w", "v"], ascending=False))
    assert rows_of(joined.sort(["w", "v"], ascending=False)) == few


def test_a_side_that_others_read_stays_in_its_order(nothing_is_few: None) -> None:
    left, right = SFrame({"k": [2, 1], "v": [1, 2]}), SFrame({"k": [2, 1, 2], "w": [1, 2, 3]})
    right = right[right["w"] > 0]
    both = left.join(right, on="k").append(right.rename({"w": "v"})[["k", "v"]].join(SFrame({"k": [1, 2], "w": [7, 8]}), on="k"))
    assert [(row["k"], row["v"], row["w"]) for row in rows_of(both)] == [(2, 1, 1), (2, 1, 3), (1, 2, 2), (2, 1, 8), (1, 2, 7), (2, 3, 8)]


def test_groups_that_are_sorted_before_anybody_has_counted_them_are_no_reason_for_spark(nothing_is_few: None) -> None:
    rows = 50_000
    first, second, third = [SFrame({"k": list(range(rows)), "l": list(range(rows)), name: list(range(rows))}) for name in "abc"]
    joined = first.join(second, on=["k", "l"]).join(third[["k", "c"]], on="k")
    found = joined.groupby("k", {"sum": aggregate.SUM("c")}).sort("sum", ascending=False)
    # There may be as many groups as pairs, which nobody could sort in memory: the sort is planned again when they are there.
    found.materialize()
    assert found.shape == (rows, 2) and found[0] == {"k": rows - 1, "sum": rows - 1}


# No memory for the rows, or too little for the row ids that a join makes of them.
@pytest.mark.parametrize(("module", "refused", "value"), [(site, "result_memory_left", lambda: 0), (costs, "BYTES_OF_ROW_OF_HASH_JOIN", 1 << 60)])
@pytest.mark.parametrize("how", ["inner", "outer"])
def test_without_room_pieces_are_joined_or_a_query_joins(
    module: Any, refused: str, value: Any, how: str, nothing_is_few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, refused, value)
    left, right = SFrame({"k": [2, 1], "v": [1, 2]}), SFrame({"k": [2, 1], "w": [1, 2]})
    assert modes(left.join(right, on="k", how=how)) == [HASH_JOIN_BY_THREADS]
    # No piece has room either.
    monkeypatch.setattr(site, "work_memory", lambda: 0)
    assert modes(left.join(right, on="k", how=how)) == [SPARK_QUERY]


def test_keys_that_python_compares_are_a_query_s(nothing_is_few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "result_memory_left", lambda: 0)
    left, right = SFrame({"k": [{"a": 1}, {"b": 2}], "v": [1, 2]}), SFrame({"k": [{"b": 2}, {"a": 1}], "w": [1, 2]})
    assert modes(left.join(right, on="k")) == [SPARK_QUERY]


@pytest.mark.parametrize("how", KINDS)
def test_sides_that_find_no_room_are_cut_into_pieces(how: str, nothing_is_few: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # There was room when the join was planned.
    monkeypatch.setattr("sframe_spark.engine.shapes.stream.reservation_for_results", lambda: MemoryReservation(0, 0))
    left, right = SFrame({"s": ["b", "a", "b"], "v": [1, 2, 3]}), SFrame({"s": ["b", "c", "a"], "w": [1, 2, 3]})
    wanted = left.join(right, on="s", how=how)
    for name, frame in (("left", left), ("right", right)):
        frame.save(str(tmp_path / name))
    saved = [load_sframe(str(tmp_path / name)) for name in ("left", "right")]
    executor = Executor(MaterializeOptions(in_memory=0))
    found = executor.execute(optimize(saved[0].join(saved[1], on="s", how=how)._node))
    assert any(line.startswith("joined: join") for line in executor.log), executor.log
    with config.using(small_rows=262_144):
        columns = [column.to_pylist() for column in source_of(found).read(0, found.length.known_rows).columns]
        assert list(zip(*columns, strict=True)) == [tuple(row.values()) for row in wanted]


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("on", [["k"], ["s"], ["k", "s"]])
def test_rows_are_those_of_spark(how: str, on: list[str], nothing_is_few: None) -> None:
    left = SFrame({"k": [3, None, 2, 1, 3], "s": ["a", "b", None, "a", "a"], "v": [1, 2, 3, 4, 5]})
    right = SFrame({"k": [None, 3, 3, 8, 2], "s": ["b", "a", "a", "x", None], "w": [1, 2, 3, 4, 5]})
    here = rows_of(left.join(right, on=on, how=how))
    with config.using(small_rows=0):
        assert list(left.join(right, on=on, how=how)) == here


@pytest.mark.spark
def test_groups_above_a_join_are_as_they_were(nothing_is_few: None) -> None:
    left, right = SFrame({"k": [2, 1, 2], "v": [1, 2, 3]}), SFrame({"k": [1, 2], "w": [5, 6]})
    groups = left.join(right, on="k").groupby("w", {"sum": aggregate.SUM("v")}).sort("w")
    assert [(row["w"], row["sum"]) for row in groups] == [(5, 2), (6, 4)]


@given(sides(), st.sampled_from(KINDS), st.sampled_from([["k"], ["s"], ["k", "s"]]), st.booleans(), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_rows_are_counted_and_found_by_number(both: tuple[SFrame, SFrame], how: str, on: list[str], filtered: bool, stays: bool) -> None:
    """Whether the rows that were counted have room or not."""

    def made() -> SFrame:
        left, right = parts_of(both) if filtered else both
        return left.join(right, on=on, how=how)

    few = list(made())
    with without_few(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(materialize_module, "has_room", lambda counted: stays)
        joined = made()
        assert len(joined) == len(few)
        for place in (0, len(few) // 2, -1) if few else ():
            assert joined[place] == few[place]
        assert list(joined[1:4]) == few[1:4]
        assert list(joined) == few


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("how", "on"), square(2, KINDS, [["k"], ["k", "s"]]))
def test_many_pairs_are_counted_and_not_made(how: str, on: list[str], tmp_path: Path) -> None:
    """A key of many rows on both sides: 10^10 pairs, of which three are looked at."""
    rows = 200_000
    for name in ("v", "w"):
        numbers = np.arange(rows)
        SFrame({"k": numbers % 2 * 10, "s": (numbers % 2).astype(str).tolist(), name: numbers}).save(str(tmp_path / name))
    left, right = (load_sframe(str(tmp_path / name)) for name in ("v", "w"))
    joined = left.join(right, on=on, how=how)
    half = rows // 2
    assert len(joined) == 2 * half * half
    # Row by row of the side whose rows come in order, each with all of the other's.
    place = half * 70_001 + 5
    sides_of_row = [joined[place]["v"], joined[place]["w"]]
    assert sides_of_row == ([11, 70_001] if how == "right" else [70_001, 11])
    assert joined[-1]["v"] == joined[-1]["w"] == rows - 1
    assert [row["w" if how != "right" else "v"] for row in joined[place : place + 3]] == [11, 13, 15]
    assert not joined.is_materialized()


def test_no_function_is_called_to_count(nothing_is_few: None, called_functions: None) -> None:
    """A side of which a function of the user's has a part is made once, for its rows and their number."""
    left, right = SFrame({"k": [1, 2, 2], "v": [1, 2, 3]}), SFrame({"k": [2, 2, 1], "w": [1, 2, 3]})
    assert may_have_many(optimize(left.join(right, on="k")._node), Site.now())
    left["k"] = left["k"].apply(lambda value: value, dtype=int)
    assert not may_have_many(optimize(left.join(right, on="k")._node), Site.now())


def test_a_bound_that_no_source_has_tells_nothing_of_how_many_pieces_there_are() -> None:
    many = SFrame({"k": [1, 2, 3] * 50, "v": range(150)})
    assert hash_join.has_rows_of_sources(many[many["v"] > 3]._node)
    assert hash_join.has_rows_of_sources(many.append(many)._node)
    assert not hash_join.has_rows_of_sources(many.join(many, on="k")._node)
