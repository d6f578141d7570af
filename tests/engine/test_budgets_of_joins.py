"""Budgets of joins: their rows are counted and weighed before any is made, and long ones come in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sframe_spark as tc
from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.physical.placement_and_blocking_inputs import placement_of
from sframe_spark.engine.runtime.pipeline import Pipeline, PipelineRunner
from sframe_spark.operators.joins import sorted_join
from sframe_spark.planner.graph_traversal import rebuild, sizes_of
from sframe_spark.planner.length_and_order_inference import known_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.session import is_started
from tests.engine.test_budgets import ready_root

JOINS = ["inner", "left", "right", "outer"]


def pairs_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Filled with the number of pairs of each piece that a join makes."""
    from sframe_spark.operators.joins.sorted_join import Matches

    made: list[int] = []
    pairs = Matches.pairs
    monkeypatch.setattr(Matches, "pairs", lambda found, start, stop: made.append(stop - start) or pairs(found, start, stop))
    return made


# A key, and the names of the columns that hold it: whole numbers are searched, others are numbered.
KEYS: dict[str, dict[str, object]] = {
    "int": {"k": 1},
    "text": {"k": "a"},
    "float": {"k": -0.5},
    "missing": {"k": None},
    "two keys": {"k": 1, "l": "b"},
}


def same_keys(key: str, rows: int, value: str) -> SFrame:
    """Rows of one key, and their numbers."""
    return SFrame({**{name: [found] * rows for name, found in KEYS[key].items()}, value: list(range(rows))})


def pair(key: str, how: str, outer: int, inner: int) -> dict[str, object]:
    """The row of a pair in a join of one key, given its places in the side whose rows come in order and in the other one."""
    v, w = (inner, outer) if how == "right" else (outer, inner)
    return {**KEYS[key], "v": v, "w": w}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize("key", KEYS)
def test_rows_of_a_join_are_counted_before_they_are_made(key: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, started = pairs_made(monkeypatch), is_started()
    joined = same_keys(key, 10_000, "v").join(same_keys(key, 10_000, "w"), on=[*KEYS[key]], how=how)
    assert len(joined) == 10**8
    assert made == []
    assert joined[9_999] == pair(key, how, 0, 9_999)
    assert list(joined.head(2)) == [pair(key, how, 0, 0), pair(key, how, 0, 1)]
    assert sum(made) < 200_000
    assert is_started() == started


@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize("kind", [int, str, float])
def test_one_match_each_is_few_rows(kind: type, how: str) -> None:
    # The product of the lengths says nothing.
    started, keys = is_started(), list(map(kind, range(2_000)))
    single = SFrame({"k": keys, "v": [1] * 2_000}).join(SFrame({"k": keys, "w": [2] * 2_000}), on="k", how=how)
    assert len(single) == 2_000
    assert list(single[-1:]) == [{"k": kind(1_999), "v": 1, "w": 2}]
    assert is_started() == started


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize("key", KEYS)
def test_rows_in_the_middle_of_a_join_make_no_others(key: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, started, rows = pairs_made(monkeypatch), is_started(), 30_000
    joined = same_keys(key, rows, "v").join(same_keys(key, rows, "w"), on=[*KEYS[key]], how=how)
    assert joined[rows * 20_000 + 7] == pair(key, how, 20_000, 7)
    assert joined[-1] == {**KEYS[key], "v": rows - 1, "w": rows - 1}
    assert list(joined[rows * rows - 2 :]) == [pair(key, how, rows - 1, rows - 2), pair(key, how, rows - 1, rows - 1)]
    assert list((joined["v" if how == "right" else "w"] + 1)[50_000:50_100:40]) == [20_001, 20_041, 20_081]
    # Those with texts, which are all as long, are not numbered once more to be weighed.
    assert sum(made) == 1 + 1 + 2 + 100
    assert is_started() == started


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", JOINS)
def test_any_rows_of_a_join_are_those_of_all_its_rows(how: str, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(costs, "MAX_FIRST_ROWS", 0)
    generator = np.random.default_rng(7)
    for kind in (int, float, str, int, int, str, int):
        left = SFrame({"k": list(map(kind, generator.integers(0, 9, 60))), "v": list(range(60))})
        right = SFrame({"k": sorted(map(kind, generator.integers(2, 12, 40))), "w": list(range(40))}).assume_sorted("k")
        everything = [{**row} for row in left.join(right, on="k", how=how).to_arrow().to_pylist()]
        start, stop = sorted(generator.integers(0, len(everything) + 3, 2).tolist())
        for batch in (7, 131_072):
            with config.using(batch_rows=batch):
                joined = left.join(right, on="k", how=how)
                assert list(joined[start:stop]) == everything[start:stop]
                assert list(joined[start:stop:3]) == everything[start:stop:3]
                assert list((joined["v"] * 2)[start:]) == [None if row["v"] is None else 2 * row["v"] for row in everything[start:]]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize(("door", "key"), [("to_arrow", "int"), ("to_pandas", "text"), ("to_numpy", "two keys"), ("column", "missing")])
def test_a_join_that_does_not_fit_is_refused_before_it_is_made(how: str, door: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, started, rows = pairs_made(monkeypatch), is_started(), 100_000
    joined = same_keys(key, rows, "v").join(same_keys(key, rows, "w"), on=[*KEYS[key]], how=how)
    collect = joined["w"].to_numpy if door == "column" else getattr(joined, door)
    with pytest.raises(tc.errors.TooLargeError, match=r"^10000000000 rows of . column.*need about .*head, a slice"):
        collect()
    assert made == []
    assert is_started() == started


@pytest.mark.parametrize("how", JOINS)
def test_rows_without_a_match_are_counted_too(how: str) -> None:
    left = SFrame({"k": [1] * 5_000 + [2, 3], "v": list(range(5_002))})
    right = SFrame({"k": [4, *[1] * 5_000, None], "w": list(range(5_002))})
    joined = left.join(right, on="k", how=how)
    assert len(joined) == 5_000**2 + {"inner": 0, "left": 2, "right": 2, "outer": 4}[how]
    ends = {
        "inner": [(1, 4_999, 5_000)],
        "left": [(2, 5_000, None), (3, 5_001, None)],
        "right": [(1, 4_999, 5_000), (None, None, 5_001)],
        "outer": [(3, 5_001, None), (4, None, 0), (None, None, 5_001)],
    }
    found = list(joined[len(joined) - len(ends[how]) :])
    assert [(row["k"], row["v"], row["w"]) for row in found] == ends[how]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("long_side", ["left", "right"])
@pytest.mark.parametrize("how", JOINS)
def test_a_long_row_of_many_matches_comes_in_pieces(how: str, long_side: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    long, matches = "x" * 100_000, 60
    texts = SFrame({"k": [kind(7)] + [kind(8)] * 3_000, "v": [long] + ["s"] * 3_000})
    numbers = SFrame({"k": [kind(7)] * matches + [kind(9)], "w": list(range(matches + 1))})
    joined = texts.join(numbers, on="k", how=how) if long_side == "left" else numbers.join(texts, on="k", how=how)
    monkeypatch.setattr(sorted_join, "MAX_CHUNK_BYTES", 400 << 10)
    with config.using(batch_bytes=400 << 10, memory_budget=1_600 << 10):
        section = ready_root(joined._node)
        sizes = [chunk.size for chunk in PipelineRunner(Pipeline.of(section)).stream(0, placement_of(section).rows_to_run, 131_072)]
        found = [(row["v"] == long, row["w"]) for row in joined if row["w"] != matches and row["v"] != "s"]
    assert sum(sizes) > matches * len(long)
    assert max(sizes) < 1_200 << 10
    assert found == [(True, number) for number in range(matches)]


def test_a_counted_join_keeps_its_length_where_its_tables_are_stored() -> None:
    left, right = (SFrame({"k": ["a", "b", "b"], name: [1, 2, 3]}) for name in "vw")
    joined = left.join(right, on="k", how="outer")
    section = ready_root(joined.append(joined)._node)
    again = rebuild(section, lambda node: PlannerNode(node.operator, node.inputs))
    assert again.length.rows == section.length.rows == 10


@pytest.mark.parametrize("how", ["right", "outer"])
def test_keys_of_rows_without_a_match_are_weighed(how: str) -> None:
    keys = SFrame({"k": ["x" * 1_000] * 20, "w": list(range(20))})
    section = ready_root(SFrame({"k": ["a"], "v": [1]}).join(keys, on="k", how=how)._node)
    assert section.operator.counting.bytes_between(0, 21) >= 20_000
    assert row_bytes(sizes_of(section)[id(section)], 0) * known_rows(section) >= 20_000


def never(value: Any) -> int:
    raise AssertionError("called to count rows")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "columns",
    [
        lambda joined: joined["v"].apply(never, dtype=int),
        lambda joined: joined["v"].apply(never, dtype=int).cumulative_sum() + 1,
        lambda joined: SFrame({"w": joined["w"], "called": joined.apply(never, dtype=int)}),
        lambda joined: joined.add_row_number()[["v"]].apply(never, dtype=int),
    ],
)
@pytest.mark.parametrize("key", ["int", "text", "two keys"])
def test_a_function_above_a_join_is_not_called_for_its_length(key: str, columns: Any) -> None:
    started = is_started()
    joined = same_keys(key, 2_000, "v").join(same_keys(key, 2_000, "w"), on=[*KEYS[key]])
    made = columns(joined)
    assert len(made) == 2_000**2
    assert len(joined) == 2_000**2
    assert is_started() == started
    with pytest.raises(AssertionError, match="called to count rows"):
        made.head(1).materialize()
