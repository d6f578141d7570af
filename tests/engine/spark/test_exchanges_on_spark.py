"""Exchanges of Spark's own plans have the partitions that bytes ask for, and rows do not depend on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.engine import costs
from sframe_spark.engine.spark import shuffle_partitions as module
from sframe_spark.engine.spark.query import lower
from sframe_spark.engine.spark.shuffle_partitions import size_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws import builtin_optimizer
from sframe_spark.session import QuerySize, follow_user, get_session, shuffle_partitions
from sframe_spark.session.session import get_base
from sframe_spark.session.spark_versions import to_arrow
from tests.examples import by_turns, square

pytestmark = pytest.mark.spark

ROWS = 20_000
INITIAL = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"


@pytest.fixture(autouse=True)
def on_spark() -> Iterator[None]:
    """Few rows go to Spark, and small sides of joins are exchanged as large ones are."""
    with config.using(small_rows=0, single_task_rows=0), user_sets({"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        yield


@contextmanager
def user_sets(settings: dict[str, str]) -> Iterator[None]:
    """What the user sets in their session in the block."""
    base = get_base()
    before = {key: base.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            base.conf.set(key, value)
        follow_user()
        yield
    finally:
        for key, old in before.items():
            base.conf.unset(key) if old is None else base.conf.set(key, old)
        follow_user()


@contextmanager
def partitions_of(size: int) -> Iterator[None]:
    """Partitions of exchanges have at most so many bytes in the block."""
    with mock.patch.object(costs, "BYTES_OF_SHUFFLE_PARTITION", size):
        yield


def frame() -> SFrame:
    return SFrame({"k": [n * 7_919 % 1_000 for n in range(ROWS)], "v": [n % 13 for n in range(ROWS)]})


def other() -> SFrame:
    return SFrame({"k": [n * 31 % 1_500 for n in range(ROWS // 4)], "w": range(ROWS // 4)})


PROGRAMS: dict[str, Callable[[], SFrame]] = {
    "sort": lambda: frame().sort(["v", "k"], ascending=False),
    "join": lambda: frame().join(other(), on="k", how="outer"),
    "group-by": lambda: frame().groupby("k", {"all": aggregate.CONCAT("v"), "most": aggregate.MAX("v")}),
    "unique": lambda: frame()[["k"]].unique(),
    "sort of a join": lambda: frame().join(other(), on="k").sort("w"),
}
EXCHANGES = {"sort": 1, "join": 3, "group-by": 2, "unique": 2, "sort of a join": 3}


def planned(node: PlannerNode) -> list[tuple[str, int]]:
    """The exchanges of a plan as one query, as Spark plans it: what they go by and their partitions."""
    df = lower(builtin_optimizer().optimize(node)).sorted()
    text = str(df._jdf.queryExecution().executedPlan().toString())
    return [(kind, int(count)) for kind, count in re.findall(r"Exchange (hash|range)partitioning\(.*, (\d+)\)", text)]


@pytest.mark.parametrize("name", EXCHANGES)
def test_every_exchange_of_a_plan_has_the_partitions_that_its_bytes_need(name: str) -> None:
    node = PROGRAMS[name]()._node
    with partitions_of(1 << 15):
        found = planned(node)
        flow = module.flow_of(builtin_optimizer().optimize(node))
    assert len(found) == EXCHANGES[name], found
    assert found[0][0] == "range"
    # Sixteen bytes of values and the key, or eight and the key; 32 kB in each.
    assert flow.most in ((16 + costs.BYTES_OF_ROW_KEY_IN_SPARK) * ROWS, (8 + costs.BYTES_OF_ROW_KEY_IN_SPARK) * ROWS)
    assert {count for _, count in found} == {32}


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EXCHANGES)
def test_without_a_reason_exchanges_are_as_the_user_has_set_them(name: str) -> None:
    with user_sets({"spark.sql.shuffle.partitions": "3"}):
        assert {count for _, count in planned(PROGRAMS[name]()._node)} == {3}


@pytest.mark.parametrize(("name", "adaptive"), square(2, PROGRAMS, ["true", "false"]))
def test_rows_and_their_order_do_not_depend_on_partitions(name: str, adaptive: str) -> None:
    expected = list(PROGRAMS[name]())
    for size, usual in by_turns(((1 << 15, "5"), (1 << 18, "2")), 2, list(PROGRAMS).index(name)):
        with user_sets({"spark.sql.adaptive.enabled": adaptive, "spark.sql.shuffle.partitions": usual}), partitions_of(size):
            assert size_of(PROGRAMS[name]()._node).partitions is not None
            assert list(PROGRAMS[name]()) == expected


def test_what_the_user_has_set_is_a_least() -> None:
    node = PROGRAMS["sort"]()._node
    with partitions_of(1 << 15), user_sets({"spark.sql.shuffle.partitions": "50"}):
        assert planned(node) == [("range", 50)]
    # Which takes the place of the setting where Spark joins partitions, and only there.
    with partitions_of(1 << 15), user_sets({INITIAL: "70"}):
        assert planned(node) == [("range", 70)]
        assert shuffle_partitions() == 70
    with partitions_of(1 << 15), user_sets({INITIAL: "70", "spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "3"}):
        assert planned(node) == [("range", 32)]
    with partitions_of(1 << 15), user_sets({INITIAL: "3", "spark.sql.shuffle.partitions": "50"}):
        assert planned(node) == [("range", 32)]


def test_the_settings_of_others_stay() -> None:
    before = {key: (get_base().conf.get(key, None), get_session().conf.get(key, None)) for key in ("spark.sql.shuffle.partitions", INITIAL)}
    with partitions_of(1 << 13):
        PROGRAMS["sort"]().materialize()
    after = {key: (get_base().conf.get(key, None), get_session().conf.get(key, None)) for key in before}
    assert before == after
    assert get_session(QuerySize.large(128)) is get_session(QuerySize.large(128))


def test_spark_joins_partitions_that_turn_out_small() -> None:
    with partitions_of(1 << 13):
        df = lower(builtin_optimizer().optimize(PROGRAMS["sort"]()._node)).sorted()
        to_arrow(df)
    text = str(df._jdf.queryExecution().executedPlan().toString()).partition("Initial Plan")[0]
    assert "AQEShuffleRead coalesced" in text


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_rows(name: str) -> None:
    with partitions_of(1):
        found = PROGRAMS[name]()
        assert list(found[found[found.column_names()[0]] < -1]) == []
