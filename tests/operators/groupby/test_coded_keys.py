"""Groups by texts that files keep as numbers: those of the texts, whatever part of a frame keeps them so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.operators.groupby import in_memory_groupby
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.in_memory_groupby import group_rows
from sframe_spark.planner.chunk import Chunk
from sframe_spark.storage.parquet import open_file
from sframe_spark.storage.segments import dictionary_encoded_strings, reader
from sframe_spark.types import FLOAT, INT, STR
from tests.examples import by_turns

ROWS = 6_000
WORDS = ["b", "", "é", "a" * 50, None, "b\0"]


@pytest.fixture(autouse=True)
def over_ranges(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(dictionary_encoded_strings, "MIN_ROWS", 10)
    monkeypatch.setattr(open_file, "SHORT_BYTES", 0)
    with config.using(small_rows=10, segment_rows=1_700, batch_rows=250, progress="off"):
        yield


def texts_of(kind: str) -> list[str | None]:
    chosen = [WORDS[place] for place in np.random.default_rng(9).integers(0, len(WORDS), ROWS)]
    others = [f"text {number % 2500}" for number in range(ROWS)]
    return {"few": chosen, "many": others, "few, then many": chosen[: ROWS // 2] + others[ROWS // 2 :], "missing": [None] * ROWS}[kind]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lengths of the columns of numbers that were grouped by."""
    found: list[int] = []
    original = in_memory_groupby.coded_ranked
    monkeypatch.setattr(in_memory_groupby, "coded_ranked", lambda column: found.append(len(column)) or original(column))
    return found


@pytest.mark.parametrize("kind", ["few", "many", "few, then many", "missing"])
def test_groups_are_those_of_the_texts(tmp_path: Path, kind: str, looked_at: list[int]) -> None:
    texts = texts_of(kind)
    SFrame({"s": texts, "i": [row * 7 % 11 for row in range(ROWS)], "u": texts[::-1]}).save(str(tmp_path / "f"))
    wanted: dict[str, Any] = {"n": aggregate.COUNT(), "m": aggregate.SUM("i")}
    distinct = wanted | {"d": aggregate.COUNT_DISTINCT("s")}
    groups = [("s", wanted), (["s", "u"], wanted), (["i", "s"], {"n": aggregate.COUNT()}), ("s", distinct)]
    for keys, aggregates in groups if kind == "few" else by_turns(groups, 2, len(kind)):
        rows = load_sframe(str(tmp_path / "f"))
        found = rows.groupby(keys, aggregates)
        materialize(found._node, MaterializeOptions(segments=3))
        with config.using(small_rows=10 * ROWS):
            assert list(found) == list(SFrame({name: list(rows[name]) for name in rows.column_names()}).groupby(keys, aggregates))
    assert set(load_sframe(str(tmp_path / "f"))["s"].unique()) == set(texts)
    # A column of one value is in no file; texts of which most are different are kept as texts.
    assert bool(looked_at) == (kind == "few")


def test_some_parts_of_a_column_may_come_as_numbers(tmp_path: Path, looked_at: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    texts, calls = texts_of("few"), count()
    SFrame({"s": texts, "i": range(ROWS)}).save(str(tmp_path / "f"))
    original = reader.mostly_dictionary_encoded
    monkeypatch.setattr(reader, "mostly_dictionary_encoded", lambda footer, names: original(footer, names) if next(calls) % 2 else [])
    with config.using(batch_bytes=2_000):
        found = load_sframe(str(tmp_path / "f")).groupby("s", {"n": aggregate.COUNT(), "m": aggregate.SUM("i")})
        materialize(found._node, MaterializeOptions(segments=3))
        rows = list(found)
    assert {row["s"]: row["n"] for row in rows} == Counter(texts)
    assert sum(row["m"] for row in rows) == sum(range(ROWS)) and 0 < sum(looked_at) < ROWS


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.lists(st.sampled_from(WORDS[:4]), min_size=1, max_size=8), st.data())
def test_numbers_in_any_dictionary_are_grouped_as_their_texts(values: list[str | None], dictionary: list[str], data: st.DataObject) -> None:
    places = [data.draw(st.integers(0, len(dictionary) - 1) | st.none()) for _ in values]
    coded = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(dictionary, pa.string()))
    numbers = pa.array([float(row % 3) for row in range(len(places))], pa.float64())
    schema, aggregations = (STR, FLOAT), [Aggregation("sum", (1,)), Aggregation("count")]
    one, other = (group_rows(Chunk((column, numbers), len(places)), schema, [0], aggregations) for column in (coded, coded.dictionary_decode()))
    assert [column.to_pylist() for column in one.columns] == [column.to_pylist() for column in other.columns]
    assert one.types == other.types


def test_a_text_that_an_aggregate_reads_comes_as_text() -> None:
    from sframe_spark.operators.groupby.groupby import GroupBy
    from tests.random_tables import table_source

    facts = [table_source([["a"], ["b"], [1]], [STR, STR, INT], 1).facts]
    assert list(GroupBy((0, 1), (Aggregation("count"),)).coded_columns(facts)) == [0, 1]
    assert list(GroupBy((0, 1, 2), (Aggregation("max", (1,)),)).coded_columns(facts)) == [0]
