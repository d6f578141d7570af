"""Joins of which nobody observes the order: their pieces come in any order, here in a random one, and give what rows in order give."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sframe_spark import SFrame, aggregate, config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical import site
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.shapes.partitioned_operators import JoinedPartitions
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.engine.shapes.section_tree import Section, in_order_of_running
from sframe_spark.operators.joins.equi_join import KINDS
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.length_and_order_inference import in_any_order, is_in_order, properties_of
from sframe_spark.rewrite_laws import group_join_and_sort_algorithms as algorithm_choice, optimize
from tests.examples import examples
from tests.strategies import HASH_JOIN_BY_THREADS, STATES_OF_HASH_JOIN_BY_THREADS

KEYS = st.one_of(st.none(), st.integers(-3, 9), st.integers(-(2**63), 2**63 - 1))
# What a frame of all rows of the join gives, without seeing their order.
READERS: dict[str, Callable[[SFrame], Any]] = {
    "rows": len,
    "sum": lambda joined: joined["w"].sum(),
    "exact sum": lambda joined: joined["f"].sum(),
    "groups": lambda joined: list(joined.groupby("v", {"n": aggregate.COUNT(), "sum": aggregate.SUM("f"), "most": aggregate.MAX("w")})),
    "variance": lambda joined: joined["f"].var(),
    "distinct": lambda joined: sorted(joined["w"].unique(), key=str),
    "filtered": lambda joined: joined[joined["w"] > 2]["f"].sum(),
    "derived": lambda joined: (joined["v"] * 3 - joined["w"]).max(),
    "groups of groups": lambda joined: list(joined.groupby(["v", "w"], {"n": aggregate.COUNT()}).groupby("n", {"m": aggregate.SUM("w")})),
}


def shuffle_unobserved(choose: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins give the rows of partitions in a random order wherever order is not kept."""
    chunks = JoinedPartitions.chunks

    def shuffled(self: JoinedPartitions, numbers: Sequence[int]) -> Iterator[Chunk]:
        for chunk in chunks(self, choose.sample(numbers, len(numbers))):
            yield chunk.rows_at(np.array(choose.sample(range(chunk.rows), chunk.rows), dtype=np.int64))

    monkeypatch.setattr(JoinedPartitions, "chunks", shuffled)


@pytest.fixture
def in_random_order(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Joins search nothing, and the rows of pieces come in a random order wherever order is not kept."""
    shuffle_unobserved(random.Random(7), monkeypatch)
    monkeypatch.setattr(costs, "MAX_ROWS_SEARCHED", 0)
    for module in (algorithm_choice, algorithm_choice):
        monkeypatch.setattr(module, "MAX_TIES", 0)
    with config.using(small_rows=1, batch_rows=3, progress="off"):
        yield


def sections(frame: SFrame) -> list[Section]:
    """The sections of a frame's plan, in the order in which they run."""
    return list(in_order_of_running([SectionPlanner(Site.now()).plan(optimize(frame._node))]))


def strategies_of(frame: SFrame) -> list[Any]:
    return [section.strategy for section in sections(frame)]


def joined_by_k(how: str = "inner") -> SFrame:
    left = SFrame({"k": [2, 1, 3, 1, 7], "v": [1, 2, 3, 1, 2]})
    return left.join(SFrame({"k": [2, 1, 2, 1, 9], "w": [1, 2, 3, 4, 5], "f": [0.1, 0.2, 1e16, -1e16, 0.3]}), on="k", how=how)


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_order_gives_what_rows_in_order_give(in_random_order: None, data: st.DataObject) -> None:
    columns = []
    for _ in range(2):
        keys = data.draw(st.lists(KEYS, max_size=12))
        columns.append(pa.array(keys, pa.int64()))
    values = [pa.array([data.draw(st.integers(0, 4)) for _ in column], pa.int64()) for column in columns]
    floats = pa.array([data.draw(st.sampled_from([0.1, 1e16, -1e16, 3.0, None])) for _ in columns[1]], pa.float64())
    left, right = pa.table({"k": columns[0], "v": values[0]}), pa.table({"k": columns[1], "w": values[1], "f": floats})
    how, reader = data.draw(st.sampled_from(KINDS)), READERS[data.draw(st.sampled_from(sorted(READERS)))]
    with config.using(small_rows=10_000):
        expected = reader(SFrame(left).join(SFrame(right), on="k", how=how))
    assert reader(SFrame(left).join(SFrame(right), on="k", how=how)) == expected


@pytest.mark.parametrize("how", KINDS)
def test_rows_are_not_stored_where_states_follow_from_each_piece(in_random_order: None, how: str) -> None:
    joined = joined_by_k(how)
    assert strategies_of(joined.groupby("v", {"s": aggregate.SUM("w")})) == [STATES_OF_HASH_JOIN_BY_THREADS]
    assert strategies_of(joined[joined["w"] > 1].groupby("v", {"s": aggregate.SUM("w")})) == [STATES_OF_HASH_JOIN_BY_THREADS]


@pytest.mark.parametrize("how", KINDS)
def test_order_is_kept_for_what_observes_it(in_random_order: None, how: str) -> None:
    with config.using(small_rows=10_000):
        rows = list(joined_by_k(how))
        firsts = list(joined_by_k(how).groupby("v", {"all": aggregate.CONCAT("w"), "first": aggregate.FIRST("w")}))
        by_v = list(joined_by_k(how).sort("v"))
    assert [section.is_observed for section in sections(joined_by_k(how))] == [True]
    assert list(joined_by_k(how)) == rows
    # Ties of a sort are in the order of its input.
    assert all(section.is_observed for section in sections(joined_by_k(how).sort("v"))) and list(joined_by_k(how).sort("v")) == by_v
    grouped = joined_by_k(how).groupby("v", {"all": aggregate.CONCAT("w"), "first": aggregate.FIRST("w")})
    assert all(section.is_observed for section in sections(grouped)) and list(grouped) == firsts


def test_very_many_pairs_are_counted_and_not_made(in_random_order: None) -> None:
    left, right = (SFrame({"k": [5] * 100_000, name: range(100_000)}) for name in "vw")
    assert len(left.join(right, on="k")) == 10**10


def test_functions_of_users_get_rows_in_order(in_random_order: None) -> None:
    seen: list[int] = []
    joined = joined_by_k()
    seconds = joined.apply(lambda row: seen.append(row["w"]) or row["w"] * 2, dtype=int)
    assert HASH_JOIN_BY_THREADS in strategies_of(SFrame({"x": seconds}).groupby("x", {"n": aggregate.COUNT()}))
    planned = sections(SFrame({"x": seconds}).groupby("x", {"n": aggregate.COUNT()}))
    assert all(section.is_observed for section in planned if section.strategy == HASH_JOIN_BY_THREADS)
    assert seconds.sum() == 2 * (1 + 3 + 2 + 4 + 2 + 4)
    assert list(seconds) == [row["w"] * 2 for row in joined_by_k()]


def test_rows_that_two_read_are_joined_once_and_in_no_order_that_anything_relies_on(in_random_order: None) -> None:
    def both() -> SFrame:
        joined = joined_by_k()
        sums = joined.groupby("v", {"s": aggregate.SUM("w")})
        return sums.join(joined.groupby("v", {"n": aggregate.COUNT()}), on="v").sort("v")

    planned = sections(both())
    hidden = [section for section in planned if section.strategy == HASH_JOIN_BY_THREADS and not section.is_observed]
    assert len(hidden) >= 1 and STATES_OF_HASH_JOIN_BY_THREADS not in [section.strategy for section in planned]
    with config.using(small_rows=10_000):
        expected = list(both())
    assert list(both()) == expected


def test_of_rows_in_any_order_no_order_is_known() -> None:
    left, right = SFrame({"k": [1, 2, 3], "v": [1, 2, 3]}), SFrame({"k": [3, 1, 2], "w": [1, 2, 3]})
    node = left.join(right, on="k")._node
    assert is_in_order(node, [(0, True)])
    unknown = in_any_order(node)
    assert not is_in_order(unknown, [(0, True)]) and not properties_of(unknown).order.orderings


def test_too_many_groups_are_planned_again(in_random_order: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def groups() -> SFrame:
        rows = 3_000
        left, right = SFrame({"k": range(rows), "v": range(rows)}), SFrame({"k": [i * 7 % rows for i in range(rows)], "w": range(rows)})
        return left.join(right, on="k").groupby("v", {"s": aggregate.SUM("w")})

    monkeypatch.setattr(costs, "MAX_BYTES_OF_PARTIAL_STATES", 1)
    monkeypatch.setattr(costs, "MIN_BYTES_OF_PARTIAL_STATE", 1)
    executor = Executor(MaterializeOptions())
    executor.execute(optimize(groups()._node))
    assert any("too many" in line for line in executor.log)
    assert executor.run_log.outcomes[-1].strategy != STATES_OF_HASH_JOIN_BY_THREADS
    assert {row["v"]: row["s"] for row in groups()} == {i * 7 % 3_000: i for i in range(3_000)}


@pytest.mark.parametrize("how", KINDS)
def test_pieces_that_find_no_room_are_read_in_parts(in_random_order: None, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that most rows have makes a piece that has no room; of an outer join that is told before a row is made."""
    rows = 2_000
    left, right = SFrame({"k": [5] * rows + [6], "v": range(rows + 1)}), SFrame({"k": [5, 7], "w": [1, 2], "f": [0.5, 0.25]})
    with config.using(small_rows=100_000):
        expected = left.join(right, on="k", how=how)["w"].sum(), len(left.join(right, on="k", how=how))
    monkeypatch.setattr(site, "result_memory_left", lambda: 0)
    if how == "outer":
        return
    with config.using(work_memory=120_000):
        joined = left.join(right, on="k", how=how)
        assert (joined["w"].sum(), len(left.join(right, on="k", how=how))) == expected


@pytest.mark.spark
def test_a_join_with_a_dataframe_of_sparks_is_in_the_order_of_the_left_rows(spark: Any) -> None:
    ages = SFrame(spark.createDataFrame([("ann", 30), ("bob", 40)], "name string, age int"))
    people = SFrame({"id": [1, 2, 3, 4], "name": ["cid", "ann", "bob", "ann"]})
    joined = people.join(ages, on="name", how="left")
    assert list(joined["id"]) == [1, 2, 3, 4] and list(joined["age"]) == [None, 30, 40, 30]
    assert list(people.join(SFrame(spark.createDataFrame([("ann", 30), ("bob", 40)], "name string, age int")), on="name")["id"]) == [2, 3, 4]
