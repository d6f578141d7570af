"""Tasks exchange the groups that each makes of its rows where these are far fewer, and rows otherwise; here threads do what tasks are sent."""

from __future__ import annotations

import array
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.runtime.shuffle_by_messages import WrittenPartitions
from sframe_spark.engine.runtime.shuffle_store import ShuffleStore
from sframe_spark.engine.shapes.states_before_exchange import are_far_fewer, expected_distinct
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import PlanSize
from sframe_spark.operators.groupby import groupby
from sframe_spark.planner.chunk import Chunk
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import INT
from tests.engine.execution.test_exchanged import ROWS, Program, frame, rows_of, saved_rows
from tests.engine.execution.test_exchanged_by_tasks import FILES, MESSAGES, NOTHING_SMALL, files_left, tasks

__all__ = ["frame", "saved_rows", "tasks"]

ALL = {
    "rows": aggregate.COUNT(),
    "sum": aggregate.SUM("f"),
    "ints": aggregate.SUM("i"),
    "mean": aggregate.MEAN("f"),
    "spread": aggregate.STDV("i"),
    "least": aggregate.MIN("i"),
    "last": aggregate.MAX("f"),
    "which": aggregate.ARGMAX("f", "i"),
    "first": aggregate.SELECT_ONE("t"),
}


def parity(sf: SFrame) -> SFrame:
    sf["p"], sf["q"] = sf["i"] % 2, sf["i"].apply(lambda number: "odd" if number % 2 else None, dtype=str)
    return sf


def with_lists(sf: SFrame) -> SFrame:
    sf["mixed"] = sf["i"].apply(lambda number: [number % 2, "a"], dtype=list)
    sf["vector"] = sf["i"].apply(lambda number: array.array("d", [number % 2]), dtype=array.array)
    sf.materialize()
    return sf


# Group-bys whose states are of one size.
OF_ONE_SIZE: dict[str, Program] = {
    "by ints": lambda sf: sf.groupby("k", ALL),
    "by floats": lambda sf: sf.groupby("f", {name: value for name, value in ALL.items() if name != "sum"}),
    "by texts": lambda sf: sf.groupby("s", ALL),
    "keys alone": lambda sf: sf.groupby("k", {}),
    "of a filter": lambda sf: sf[sf["i"] % 3 != 0].groupby("s", {"rows": aggregate.COUNT(), "first": aggregate.SELECT_ONE("t")}),
    "of no rows": lambda sf: sf[sf["i"] < 0].groupby("k", {"rows": aggregate.COUNT()}),
    "by two keys": lambda sf: parity(sf).groupby(["k", "p"], {"rows": aggregate.COUNT(), "sum": aggregate.SUM("t")}),
    "by lists, as texts": lambda sf: with_lists(sf).groupby(["k", "mixed"], {"rows": aggregate.COUNT()}),
    "by three": lambda sf: parity(sf).groupby(["p", "f", "q"], {"first": aggregate.SELECT_ONE("t")}),
}
OTHERS: dict[str, Program] = {
    "by vectors, too": lambda sf: with_lists(sf).groupby(["k", "vector"], {"rows": aggregate.COUNT()}),
    "states that grow": lambda sf: sf.groupby("k", {"all": aggregate.CONCAT("t")}),
    "distinct values": lambda sf: sf.groupby("k", {"different": aggregate.COUNT_DISTINCT("s")}),
}


@pytest.fixture
def crossed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Few groups are too many for the driver; how many rows each exchange moves."""
    monkeypatch.setattr(groupby, "MAX_GROUPS", 5)
    found, include, of = list[int](), ShuffleStore.fill, WrittenPartitions.of.__func__  # type: ignore[attr-defined]

    def filled(store: ShuffleStore, *given: Any) -> None:
        include(store, *given)
        found.append(int(store.rows.sum()))

    def written(cls: Any, sent: Any, received: Any) -> Any:
        found.append(sum(int(index.rows.sum()) for index in sent))
        return of(cls, sent, received)

    monkeypatch.setattr(ShuffleStore, "fill", filled)
    monkeypatch.setattr(WrittenPartitions, "of", classmethod(written))
    return found


def expected_of(program: Program, frame: SFrame) -> list[tuple[Any, ...]]:
    with config.using(small_rows=10 * ROWS, memory_budget=1 << 30):
        return rows_of(program(frame))


@pytest.mark.parametrize("share", [0.0, math.inf], ids=["rows", "states"])
@pytest.mark.parametrize("name", OF_ONE_SIZE)
def test_groups_are_those_of_one_kernel(name: str, share: float, frame: SFrame, crossed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_SHARE_OF_STATES", share)
    expected, made = expected_of(OF_ONE_SIZE[name], frame), OF_ONE_SIZE[name](frame)
    materialize(made._node, NOTHING_SMALL)
    assert rows_equal(rows_of(made), expected) and files_left() == []
    if name != "of no rows":
        (moved,), rows_of_input = crossed, sum(1 for number in frame["i"] if name != "of a filter" or number % 3)
        assert len(expected) <= moved < rows_of_input if share else moved == rows_of_input


@pytest.mark.parametrize("name", OTHERS)
def test_rows_cross_where_states_may_be_many_or_long(name: str, frame: SFrame, crossed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_SHARE_OF_STATES", math.inf)
    expected, made = expected_of(OTHERS[name], frame), OTHERS[name](frame)
    materialize(made._node, NOTHING_SMALL)
    assert crossed == [ROWS] and rows_equal(rows_of(made), expected)


@pytest.mark.parametrize(("key", "is_grouped"), [("i", False), ("k", True)])
def test_a_sample_of_the_keys_decides(key: str, is_grouped: bool, frame: SFrame, crossed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value of `i` has one row, each of `k` some seventeen, and a task has all rows."""
    monkeypatch.setattr(costs, "BYTES_BUFFERED_BY_SHUFFLE_TASK", 1 << 20)
    monkeypatch.setattr(costs, "MIN_ROWS_OF_TASK", ROWS)
    made = frame.groupby(key, {"rows": aggregate.COUNT()})
    materialize(made._node, NOTHING_SMALL)
    assert (crossed[0] < ROWS) == is_grouped and sum(made["rows"]) == ROWS


# Numbers of different values: of as many rows as there are, and of groups of one size each, of sizes that differ much, of one large group.
POPULATIONS: dict[str, np.ndarray] = {
    "all differ": np.arange(200_000),
    "of 20 rows": np.arange(200_000) // 20,
    "of 2,000 rows": np.arange(200_000) // 2_000,
    "half is one": np.where(np.arange(200_000) % 2, -1, np.arange(200_000)),
    "of sizes that halve": np.floor(np.log2(1 + np.arange(200_000))),
    "sizes by rank": np.repeat(np.arange(2_000), np.maximum(1, 25_000 // (1 + np.arange(2_000)))),
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("rows", [200, 3_000, 60_000])
def test_how_many_values_differ_is_foretold(name: str, rows: int) -> None:
    choose = np.random.default_rng(7)
    values = choose.permutation(POPULATIONS[name])
    found = expected_distinct(Chunk.of([pa.array(values[:6_000])]), rows)
    true = np.mean([len(np.unique(choose.choice(values, rows, replace=False))) for _ in range(5)])
    # An extrapolation to ten times the sample is a lower bound where most values are rare.
    assert 0.6 * true <= found <= 1.3 * true, (found, true)


@pytest.mark.parametrize("values", [[], [None], [None] * 9, [math.nan] * 9, list(range(9)), ["a", None, "a"], [1, 1, 2, 2]])
@pytest.mark.parametrize("rows", [0, 1, 5, 1_000_000])
def test_a_forecast_is_never_more_than_the_rows(values: list[Any], rows: int) -> None:
    found = expected_distinct(Chunk.of([pa.array(values, None if values else pa.int64())]), rows)
    assert 0 <= found <= rows + 1e-9 and (found > 0 or not rows or not values)


def test_states_longer_than_rows_must_be_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "BYTES_BUFFERED_BY_SHUFFLE_TASK", 128 << 20)
    choose, size = random.Random(3), PlanSize(10**6, 8e6)
    sample = Chunk.of([pa.array([choose.randrange(200_000) for _ in range(100_000)])])
    assert are_far_fewer((INT,), size, sample, 1) and not are_far_fewer((INT,) * 4, size, sample, 1)
    # Of many tasks none has many rows of a group.
    assert not are_far_fewer((INT,), size, sample, 100)


def test_all_rows_of_a_task_may_be_in_one_group(tasks: str, crossed: list[int], tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 groups that most have: as many states as tasks times groups, whatever crosses."""
    assert tasks in (FILES, MESSAGES)
    monkeypatch.setattr(costs, "BYTES_BUFFERED_BY_SHUFFLE_TASK", 1 << 20)
    SFrame({"k": [row % 40 for row in range(ROWS)], "v": range(ROWS)}).save(str(tmp_path / "few"))
    made = SFrame(str(tmp_path / "few")).groupby("k", {"sum": aggregate.SUM("v"), "least": aggregate.MIN("v")})
    materialize(made._node, NOTHING_SMALL)
    assert crossed[0] <= ROWS // 4
    assert list(made["sum"]) == [sum(range(key, ROWS, 40)) for key in range(40)] and list(made["least"]) == list(range(40))


# What groups of parts of the rows went wrong with in other engines: SPARK-38548 (a sum that is too large in one task only), comet 260 and SPARK-8828
# (a sum of missing values alone), ray 64956 (parts of no rows), gluten 11234 (NaN, and zeros of both signs, as keys).
HARD: dict[str, list[Any]] = {
    "too large in one task": [2**62 if row < ROWS // 2 else -(2**62) for row in range(ROWS)],
    "missing alone": [None] * ROWS,
    "missing in most tasks": [1.5 if row < 3 else None for row in range(ROWS)],
    "infinities of both signs": [math.inf if row % 2 else -math.inf for row in range(ROWS)],
    "digits that cancel": [1e300 if row < 700 else -1e300 if row < 1_400 else 1.0 for row in range(ROWS)],
}


@pytest.mark.parametrize("name", HARD)
def test_values_that_others_met(name: str, crossed: list[int], tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [[math.nan, None, 0.0, -0.0, math.inf, -math.inf, 1.5, -1.5][row % 8] for row in range(ROWS)]
    wanted = (aggregate.SUM, aggregate.MEAN, aggregate.VAR, aggregate.MIN, aggregate.MAX, aggregate.SELECT_ONE)
    # One row more than there are is left out, so that the column has a type where all values are missing.
    more = next((value for value in HARD[name] if value is not None), 1.0)
    SFrame({"k": [*keys, 0.0], "v": [*HARD[name], more], "t": range(ROWS + 1)}).save(str(tmp_path / "hard"))

    def made() -> SFrame:
        frame = SFrame(str(tmp_path / "hard"))
        return frame[frame["t"] < ROWS].groupby("k", {function.__name__: function("v") for function in wanted})

    monkeypatch.setattr(costs, "MAX_SHARE_OF_STATES", math.inf)
    expected, found = expected_of(lambda _: made(), SFrame()), made()
    materialize(found._node, NOTHING_SMALL)
    assert crossed[0] < ROWS and rows_equal(rows_of(found), expected) and len(expected) == 7
