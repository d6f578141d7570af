"""Groups of ranges of rows: tasks send groups, not rows; where there are too many, Spark exchanges them, and the answer is the same."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.api.node_value_conversion import row_tuples
from sframe_spark.engine import costs
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.explain.executed_spark_plans import recorded_plans
from sframe_spark.operators.groupby import groupby
from sframe_spark.testing.oracle_functions import rows_equal
from tests.examples import part

ROWS = 500
pytestmark = pytest.mark.spark
NOON = datetime.datetime(2020, 1, 1, 12)
EAST = datetime.timezone(datetime.timedelta(hours=5))
AGGREGATES = {
    "sum": aggregate.SUM("a"), "mean": aggregate.MEAN("f"), "least": aggregate.MIN("f"), "most": aggregate.MAX("a"), "spread": aggregate.STD("f"),
    "at": aggregate.ARGMAX("f", "s"), "first": aggregate.SELECT_ONE("s"), "rows": aggregate.COUNT, "kinds": aggregate.COUNT_DISTINCT("s"),
    "floats": aggregate.COUNT_DISTINCT("f"),
}  # fmt: skip
KEYS = {"ints": ["k"], "floats": ["z"], "texts": ["s"], "times": ["t"], "lists": ["l"], "two": ["k", "s"], "three": ["z", "t", "k"]}


@pytest.fixture(params=[1, 7], autouse=True)
def on_spark(request: pytest.FixtureRequest, spark: Any) -> Iterator[None]:
    """All work is done by so many tasks, in batches of a few rows."""
    with config.using(small_rows=0, single_task_rows=0, default_segments=request.param, batch_rows=64):
        yield


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> str:
    place = str(tmp_path_factory.mktemp("groups") / "frame")
    rows = range(ROWS)
    SFrame(
        {
            "k": [None if row % 11 == 0 else row * 7 % 5 - 2 for row in rows],
            "z": [[0.0, -0.0, math.nan, None, 1.5][row * 3 % 5] for row in rows],
            "s": [None if row % 17 == 0 else "abé"[row % 3] for row in rows],
            "t": [[NOON, NOON.replace(tzinfo=datetime.UTC), NOON.replace(tzinfo=EAST), None][row % 4] for row in rows],
            "l": [[[1, 2], [], None, [1]][row % 4] for row in rows],
            "a": [None if row % 13 == 0 else row * 7919 % 1000 - 400 for row in rows],
            "f": [[math.nan, None, row * 0.5, -0.0, 0.0, math.inf][row % 6] if row % 7 == 0 else row % 10 * 0.25 for row in rows],
            "i": rows,
        }
    ).save(place)
    return place


def groups(sf: SFrame, keys: list[str], naive: bool = False) -> tuple[list[Any], bool]:
    """Rows of a group-by, and whether Spark had a query to run."""
    node = sf.groupby(keys, AGGREGATES)._node
    with recorded_plans() as plans:
        materialize(node, MaterializeOptions(naive=naive))
    return row_tuples(node), any(plan.root.name != "MapPartitions" for plan in plans)


@pytest.fixture(scope="module")
def by_queries() -> dict[str, list[Any]]:
    """Groups of the naive plan by a name for the program: one query each, however many tasks the others are done by."""
    return {}


def by_query(known: dict[str, list[Any]], name: str, sf: SFrame, keys: list[str]) -> list[Any]:
    """Groups by the naive plan."""
    if name not in known:
        known[name], _ = groups(sf, keys, naive=True)
    return known[name]


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", part(KEYS, 2))
def test_parts_give_what_a_query_gives(saved: str, by_queries: dict[str, list[Any]], name: str) -> None:
    found, asked = groups(load_sframe(saved), KEYS[name])
    assert not asked
    assert rows_equal(found, by_query(by_queries, name, load_sframe(saved), KEYS[name]))


def test_filters_and_expressions_are_computed_in_the_tasks(saved: str, by_queries: dict[str, list[Any]]) -> None:
    sf = load_sframe(saved)
    sf["k"] = sf["a"] // 100
    found, asked = groups(sf[sf["i"] % 3 != 0], ["k"])
    other = load_sframe(saved)
    other["k"] = other["a"] // 100
    assert not asked and rows_equal(found, by_query(by_queries, "filtered", other[other["i"] % 3 != 0], ["k"]))
    assert groups(sf[sf["i"] < 0], ["k"]) == ([], False)


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", ["groups", "bytes"])
def test_too_many_groups_are_exchanged(saved: str, by_queries: dict[str, list[Any]], limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if limit == "groups":
        monkeypatch.setattr(groupby, "MAX_GROUPS", 60)
    else:
        monkeypatch.setattr(costs, "MAX_BYTES_OF_PARTIAL_STATES", 100)
        monkeypatch.setattr(costs, "MIN_BYTES_OF_PARTIAL_STATE", 100)
    found, asked = groups(load_sframe(saved), ["a"])
    assert asked and len(found) > ROWS / 2
    assert rows_equal(found, by_query(by_queries, "many", load_sframe(saved), ["a"]))


def test_a_function_is_called_once_for_each_row(saved: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groupby, "MAX_GROUPS", 60)
    calls = tmp_path_factory.mktemp("calls")
    sf = load_sframe(saved)

    def called(row: int) -> int:
        with open(calls / str(row), "a") as stream:
            stream.write(".")
        return row

    sf["key"] = sf["i"].apply(called, dtype=int)
    assert len(sf.groupby("key", {"rows": aggregate.COUNT})) == ROWS
    assert [(calls / str(row)).read_text() for row in range(ROWS)] == ["."] * ROWS
