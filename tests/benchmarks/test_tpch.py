"""TPC-H's 22 queries at scale 0.01: our answers are those that DuckDB gave, and none needs Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peers.compared import is_same
from benchmarks.peers.data import Place
from benchmarks.tpch import ours, with_polars
from benchmarks.tpch.record import SCALE
from benchmarks.tpch.tables import TABLES, make
from benchmarks.tpch.texts import TEXTS

# What `python -m benchmarks.tpch.record` writes.
ANSWERS = json.loads((Path(__file__).parents[1] / "data" / "tpch_answers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The tables at a hundredth of their size."""
    directory = tmp_path_factory.mktemp("tpch")
    make(SCALE, directory)
    return Place(directory)


@pytest.fixture(scope="module")
def programs(place: Place) -> ours.Programs:
    """The frames, opened once for all queries."""
    return ours.Programs(place)


def test_every_query_has_an_answer_that_is_not_empty() -> None:
    assert list(ANSWERS) == list(TEXTS) == sorted(ours.QUERIES) and len(TEXTS) == 22
    for name, rows in ANSWERS.items():
        assert rows and all(value is not None for row in rows for value in row), name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TEXTS)
def test_our_answers_are_those_of_duckdb(programs: ours.Programs, name: str) -> None:
    found = getattr(programs, name)()
    assert is_same(found, ANSWERS[name]), found[:3]


def test_the_same_rows_are_drawn_wherever_this_runs(place: Place) -> None:
    # Polars reads the Parquet files: they hold what the recorded answers are about, and so do the frames beside them.
    other = with_polars.Programs(place)
    assert is_same(other.q01(), ANSWERS["q01"]) and is_same(other.q16(), ANSWERS["q16"])


def test_keys_refer_to_rows_that_are_there() -> None:
    made = {name: table(0.001) for name, table in TABLES.items()}
    pairs = {tuple(pair) for pair in zip(made["partsupp"]["ps_partkey"], made["partsupp"]["ps_suppkey"], strict=True)}
    lines, orders = made["lineitem"], made["orders"]
    assert {tuple(pair) for pair in zip(lines["l_partkey"], lines["l_suppkey"], strict=True)} <= pairs
    assert set(lines["l_orderkey"]) == set(orders["o_orderkey"]) and len(set(orders["o_orderkey"])) == len(orders["o_orderkey"])
    assert set(orders["o_custkey"]) < set(made["customer"]["c_custkey"]) and all(key % 3 for key in orders["o_custkey"])


def test_rows_that_nearly_tie_may_stand_in_another_order_and_no_others() -> None:
    rows = [["a", 3.0], ["b", 2.0], ["c", 2.0], ["d", 1.0]]
    for other, same in (
        ([["a", 3.0 + 1e-12], ["c", 2.0 + 1e-15], ["b", 2.0], ["d", 1.0]], True),
        ([["b", 2.0], ["a", 3.0], ["c", 2.0], ["d", 1.0]], False),
        ([["a", 3.0], ["c", 2.0], ["c", 2.0], ["d", 1.0]], False),
        ([["a", 3.0], ["b", 2.0], ["c", 2.1], ["d", 1.0]], False),
        (rows[:3], False),
    ):
        assert is_same(rows, other) == is_same(other, rows) == same
    assert not is_same([["a", 1], ["b", 1]], [["b", 1], ["a", 1]])
