"""Group-by of few rows in memory: no Spark, and the groups that Spark makes."""

from __future__ import annotations

import array
import datetime
import functools
import itertools
import math
import random
import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.api.node_value_conversion import row_tuples
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.expressions.aggregates.float_sums import FloatSum
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
from sframe_spark.operators.groupby import in_memory_groupby
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import MAX_GROUPS, GroupBy
from sframe_spark.operators.groupby.in_memory_groupby import GroupingByKeys, group_rows
from sframe_spark.planner.chunk import Chunk
from sframe_spark.testing.oracle_functions import rows_equal
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode_plain
from tests.examples import by_turns, examples, part

NAN = math.nan
EAST = datetime.timezone(datetime.timedelta(hours=5))
NOON = datetime.datetime(2020, 1, 1, 12)
KEYS: dict[str, tuple[type, list[Any]]] = {
    "float": (float, [NAN, -NAN, 1.5, -0.0, 0.0, None, math.inf, -math.inf, -2.0]),
    "zoned": (
        datetime.datetime,
        [None, NOON, NOON.replace(tzinfo=datetime.UTC), NOON.replace(tzinfo=datetime.UTC).astimezone(EAST), datetime.datetime(1960, 1, 1)],
    ),
    "vector": (array.array, [None, *(array.array("d", cell) for cell in ([], [-0.0], [0.0], [0.0, NAN], [0.0, -NAN], [1.0]))]),
    "list": (list, [None, [], [1], [1, 2], [None], [None, 1]]),
    "texts": (list, [None, ["a"], ["é"], ["a", None], [""]]),
    "mixed": (list, [None, [1, "a"], [1.0, "a"], ["a", [2]], []]),
    "text": (str, [None, "", "a", "é", "ab"]),
}
OPERATIONS = {
    "sum": aggregate.SUM("v"), "mean": aggregate.MEAN("v"), "largest": aggregate.MAX("v"), "all": aggregate.CONCAT("s"),
    "first": aggregate.SELECT_ONE("s"), "rows": aggregate.COUNT, "kinds": aggregate.COUNT_DISTINCT("s"),
}  # fmt: skip


def frame(choose: random.Random, kind: str, rows: int) -> SFrame:
    """A frame of keys with equals and near-equals among them, a second key, values and texts."""
    cls, keys = KEYS[kind]
    column = SArray([*choose.choices(keys, k=rows), *keys], cls)[:rows]
    values = [choose.choice([None, 1, 2, 3]) for _ in range(rows)]
    seconds = [choose.choice([None, 1.0, -0.0, 0.0, NAN]) for _ in range(rows)]
    return SFrame({"k": column, "j": SArray(seconds, float), "v": SArray(values, int), "s": SArray([choose.choice("abc") for _ in range(rows)], str)})


def groups(sf: SFrame) -> list[list[tuple[Any, ...]]]:
    """Rows of several group-bys of a frame."""
    return [
        row_tuples(sf.groupby("k", OPERATIONS)._node),
        row_tuples(sf.groupby(["k", "j"], {"rows": aggregate.COUNT})._node),
        row_tuples(sf.groupby([], {"all": aggregate.CONCAT("k")})._node),
        row_tuples(sf[["k", "j"]].drop_duplicates(["k", "j"])._node),
    ]


def test_keys_that_are_no_numbers_or_zeros_are_grouped_without_spark() -> None:
    sf = SFrame({"k": [NAN, 1.5, -0.0, 0.0, None, NAN], "v": [1, 2, 3, 4, 5, 6]})
    found = row_tuples(sf.groupby("k", {"s": aggregate.SUM("v")})._node)
    assert rows_equal(found, [(None, 5), (0.0, 7), (1.5, 2), (NAN, 7)])
    assert math.copysign(1, found[1][0]) == 1
    assert rows_equal([(key,) for key in sf["k"].unique()], [(None,), (0.0,), (1.5,), (NAN,)])


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_no_kind_of_key_needs_spark(kind: str) -> None:
    found = groups(frame(random.Random(3), kind, 12))
    assert sum(row[6] for row in found[0]) == sum(row[2] for row in found[1]) == 12


def test_no_rows() -> None:
    sf = SFrame({"k": SArray([], float), "v": SArray([], int)})
    assert row_tuples(sf.groupby("k", {"s": aggregate.SUM("v")})._node) == []
    assert row_tuples(sf.groupby([], {"s": aggregate.CONCAT("v")})._node) == []


def test_intervals_of_each_key_need_no_spark() -> None:
    times = [NOON + datetime.timedelta(minutes=minutes) for minutes in (0, 7, 14, 21, 28, 35)]
    sf = SFrame({"t": times, "g": ["a", "b", "a", None, "b", "a"], "f": [1.0, -0.0, NAN, 0.0, None, NAN], "v": [1, 2, 3, 4, 5, 6]})
    found = row_tuples(sf.resample("t", "10min", {"s": aggregate.SUM("v")}, by="g")._node)
    assert [(time.minute, key, total) for time, key, total in found] == [
        (0, "a", 1), (0, "b", 2), (10, "a", 3), (10, "b", None), (20, None, 4), (20, "a", None), (20, "b", 5), (30, "a", 6),
    ]  # fmt: skip
    by_float = row_tuples(sf.resample("t", "10min", {"s": aggregate.SUM("v")}, by="f", fill="forward")._node)
    wanted = [(0, 0.0, 2), (0, 1.0, 1), (10, 0.0, 2), (10, NAN, 3), (20, None, 5), (20, 0.0, 4), (20, NAN, 3), (30, NAN, 6)]
    assert rows_equal([(time.minute, key, total) for time, key, total in by_float], wanted)


def test_explained_as_it_runs() -> None:
    sf = SFrame({"k": [NAN, 1.5], "v": [1, 2]})
    text = sf.groupby("k", {"s": aggregate.SUM("v")}).explain(why=True)
    assert "group_by on k: no exchange: few rows (at most 2) are grouped in one place" in text


@pytest.mark.spark
@pytest.mark.parametrize("kind", part(sorted(KEYS), 2))
def test_spark_makes_the_same_groups(kind: str, spark: Any) -> None:
    choose = random.Random(11)
    for _ in by_turns(range(2), 2, 0):
        sf = frame(choose, kind, choose.randrange(1, 30))
        in_memory = groups(sf)
        with config.using(small_rows=0, single_task_rows=0):
            on_spark = groups(sf)
        assert list(map(repr, in_memory)) == list(map(repr, on_spark))


@pytest.mark.spark
def test_intervals_of_each_key_are_those_of_spark(spark: Any) -> None:
    choose = random.Random(5)
    times = [NOON + datetime.timedelta(minutes=choose.randrange(90)) for _ in range(25)]
    for kind in ("float", "text"):
        sf = frame(choose, kind, 25)
        sf["t"] = times
        in_memory = row_tuples(sf.resample("t", "10min", {"s": aggregate.SUM("v"), "n": aggregate.COUNT}, by="k")._node)
        with config.using(small_rows=0, single_task_rows=0):
            on_spark = row_tuples(sf.resample("t", "10min", {"s": aggregate.SUM("v"), "n": aggregate.COUNT}, by="k")._node)
        assert repr(in_memory) == repr(on_spark)


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(sorted(KEYS)), rows=st.integers(0, 40), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_groups_of_parts_are_those_of_all_rows(seed: int, kind: str, rows: int, cuts: list[int]) -> None:
    sf = frame(random.Random(seed), kind, rows)
    chunk, schema = read_all(sf._node), sf._node.schema
    k, j, v, s = map(sf.column_names().index, "kjvs")
    wanted = [
        Aggregation("sum", (v,)), Aggregation("mean", (v,)), Aggregation("max", (j,)), Aggregation("argmin", (v, s)), Aggregation("select_one", (s,)),
        Aggregation("count"), Aggregation("count_distinct", (s,)), Aggregation("distinct", (j,)), Aggregation("concat", (s,)),
        Aggregation("freq_count", (v,)),
    ]  # fmt: skip
    for keys in ([k], [k, j], [s, j, k]):
        grouping = GroupingByKeys.of(schema, keys, wanted)
        edges = sorted({0, *(min(cut, rows) for cut in cuts), rows})
        parts = [grouping.groups(chunk.slice(start, stop)) for start, stop in itertools.pairwise(edges)] or [grouping.groups(chunk)]
        by_twos = grouping.finished(functools.reduce(lambda first, second: grouping.merged([first, second]), parts))
        at_once = grouping.finished(grouping.merged(parts))
        whole = group_rows(chunk, schema, keys, wanted)
        types = [*(schema[key] for key in keys), *(aggregation.infer(schema) for aggregation in wanted)]
        values = [[decode(column, kind) for column, kind in zip(table.columns, types, strict=True)] for table in (whole, by_twos, at_once)]
        rows_of_each = [list(zip(*columns, strict=True)) for columns in values]
        assert rows_equal(rows_of_each[1], rows_of_each[0]) and rows_equal(rows_of_each[2], rows_of_each[0])


@settings(max_examples=examples(80), deadline=None)
@given(
    st.sampled_from([INT, STR]),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=30),
    st.lists(st.integers(0, 30), max_size=3),
)
def test_frequencies_are_those_that_python_counts(kind: ColumnType, rows: list[tuple[int, int]], cuts: list[int]) -> None:
    cells = [None, -3, 2**63 - 1, 0, 1, 2, 3, 4] if kind == INT else [None, "", "a", 'q"', "back\\slash", "é\n", "[", "\U0001f600"]
    chunk = Chunk.of([pa.array([key for key, _ in rows], pa.int64()), pa.array([cells[place] for _, place in rows], kind.physical)])
    grouping = GroupingByKeys.of((INT, kind), [0], [Aggregation("freq_count", (1,))])
    edges = sorted({0, *(min(cut, len(rows)) for cut in cuts), len(rows)})
    parts = [grouping.groups(chunk.slice(start, stop)) for start, stop in itertools.pairwise(edges)] or [grouping.groups(chunk)]
    expected: dict[int, dict[Any, int]] = {}
    for key, place in rows:
        counts = expected.setdefault(key, {})
        counts[cells[place]] = counts.get(cells[place], 0) + 1
    for found in (grouping.finished(grouping.groups(chunk)), grouping.finished(grouping.merged(parts))):
        assert found.columns[0].to_pylist() == sorted(expected)
        assert found.columns[1].to_pylist() == encode_plain([expected[key] for key in sorted(expected)], ENCODED_DICT).to_pylist()


@settings(max_examples=examples(80), deadline=None)
@given(
    st.sampled_from([INT, FLOAT, DATETIME]),
    st.lists(st.lists(st.sampled_from([None, -3, 0, 1, 2, 7]) | st.sampled_from([NAN, -0.0, 0.5, math.inf]), max_size=9), min_size=1, max_size=4),
    st.booleans(),
)
def test_different_numbers_are_the_groups_that_counts_have(kind: ColumnType, runs: list[list[Any]], differ: bool) -> None:
    cells = [[value if kind == FLOAT or value is None or isinstance(value, int) else 5 for value in run] for run in runs]
    columns = [pa.array(run, pa.float64() if kind == FLOAT else pa.int64(), from_pandas=False).cast(kind.physical) for run in cells]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_memory_groupby, "mostly_differ", lambda values: differ)
        found = []
        for aggregations in ([], [Aggregation("count")]):
            grouping = GroupingByKeys.of((kind,), [0], aggregations)
            parts = [grouping.groups(Chunk.of([column])) for column in columns]
            found.append([grouping.finished(grouping.merged(parts)), grouping.finished(grouping.groups(Chunk.of([pa.concat_arrays(columns)])))])
    (together, whole), (counted, _) = found
    assert together.rows == whole.rows == counted.rows and together.types == counted.types[:1]
    assert repr(together.columns[0].to_pylist()) == repr(whole.columns[0].to_pylist()) == repr(counted.columns[0].to_pylist())


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("keys", [[0], [0, 1]])
@pytest.mark.parametrize("kind", [INT, FLOAT])
def test_groups_of_no_rows_have_the_types_of_others(kind: ColumnType, keys: list[int], parts: int) -> None:
    aggregations = [Aggregation(name, (2,)) for name in ("sum", "mean", "var", "std", "min", "max", "count_distinct", "select_one", "concat")]
    grouping = GroupingByKeys.of((INT, STR, kind), keys, aggregations)
    some = Chunk.of([pa.array([1]), pa.array(["a"]), pa.array([1], kind.physical)])
    made = [grouping.finished(grouping.merged([grouping.groups(rows)] * parts)) for rows in (some, some.slice(0, 0))]
    assert made[1].rows == 0 and made[1].types == made[0].types


@pytest.mark.parametrize("name", ["vector", "list", "texts"])
def test_keys_that_repeat_take_room_for_the_different_ones(name: str) -> None:
    rows, values = 20_000, SArray(KEYS[name][1], KEYS[name][0]).dropna()
    kind = values._node.schema[0]
    found = values.to_arrow()
    column = found.take(pa.array([row % len(found) for row in range(rows)])).cast(kind.physical)
    tracemalloc.start()
    try:
        found = group_rows(Chunk.of([column]), (kind,), [0], [Aggregation("count")])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A list and what stands for it are 200 bytes at least; numbers of groups, their order and the like are some words.
    assert sum(found.columns[1].to_pylist()) == rows and peak < 120 * rows


@given(st.lists(st.none() | st.lists(st.none() | st.sampled_from([-0.0, 0.0, NAN, 1.5]), max_size=3), max_size=9), st.integers(0, 4))
def test_zeros_within_lists_are_one(cells: list[list[float | None] | None], first: int) -> None:
    column = pa.array(cells, pa.list_(pa.float64()), from_pandas=False).slice(first)
    expected = [None if cell is None else [None if value is None else value + 0.0 for value in cell] for cell in column.to_pylist()]
    assert repr(in_memory_groupby.one_zero(column, ARRAY).to_pylist()) == repr(expected)


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.behaviour
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("rows", [1, 2])
def test_sums_and_means_begin_with_zero(rows: int, groups: int) -> None:
    frame = SFrame({"k": list(range(groups, 0, -1)) * rows, "f": [-0.0] * rows * groups})
    for made in (frame, frame.sort("k"), frame[frame["k"] > 0]):
        for keys in ("k", []):
            found = made.groupby(keys, {"s": aggregate.SUM("f"), "m": aggregate.MEAN("f")})
            assert {*map(repr, found["s"]), *map(repr, found["m"])} == {"0.0"}
        assert repr(made["f"].sum()) == repr(made["f"].mean()) == "0.0"


def test_the_first_rows_show_that_groups_are_too_many_for_parts() -> None:
    """Lists are not looked at, nor keys of which only both together differ: their parts are made, and found to be too large."""
    count = 2 * MAX_GROUPS + 1
    differ, few = np.arange(count), np.arange(count) % 300
    texts = pa.array(differ).cast(pa.string())
    cases = [
        ([differ], True),
        ([few], False),
        ([few, texts], True),
        ([few, differ // 300], False),
        ([pa.ListArray.from_arrays(np.arange(count + 1), differ)], False),
    ]
    for columns, is_large in cases:
        rows = Chunk.of([pa.array(column) for column in columns])
        assert GroupBy(tuple(range(len(columns)))).makes_large_part(rows) == is_large
        assert not GroupBy(tuple(range(len(columns)))).makes_large_part(rows.slice(0, count - 1))


def test_groups_of_one_row_take_no_bytes_ahead() -> None:
    rows, column = InputRows([pa.array([1e300, 1e-300, 1.0])], 3), FloatSum(0)
    assert column.bytes_ahead(rows, GroupsOfRows(np.arange(3), 3)) == 0
    assert column.bytes_ahead(rows, GroupsOfRows(np.zeros(3, dtype=np.int64), 1)) > 8 * 50
