"""Cycles and runs of an SFrame: against plain Python, with every section on Spark, and against the naive plan."""

from __future__ import annotations

import datetime
from itertools import groupby, product
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.errors import ColumnNotFoundError, UserFunctionError
from sframe_spark.session import is_started
from tests.examples import examples, part

NAN = float("nan")
TIMES = [3, 1, 1, None, 2, 3, 3, None, 1, 2, 2, 2, 2, 2, 2]
KEYS = ["b", "a", "b", "a", None, "a", "b", "b", "a", "a", None, "b", "a", "c", "a"]
VALUES = [1.5, 2.0, None, NAN, 4.0, 8.0, 16.0, 32.0, 64.0, 0.5, 0.25, 1.0, 2.0, 4.0, None]


def frame() -> SFrame:
    return SFrame({"t": TIMES, "k": KEYS, "v": VALUES})


def rows_of(sf: SFrame) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in sf]


def in_time_order() -> list[tuple[Any, ...]]:
    rows = list(zip(TIMES, KEYS, VALUES, strict=True))
    return sorted(rows, key=lambda row: (row[0] is not None, row[0] or 0))


def cycles(by: bool) -> list[list[tuple[Any, ...]]]:
    result = []
    for _, run in groupby(in_time_order(), lambda row: row[0]):
        groups: dict[Any, list[Any]] = {}
        for row in run:
            groups.setdefault(row[1] if by else None, []).append(row)
        result += list(groups.values())
    return result


@pytest.mark.spark
@pytest.mark.parametrize(("by", "segments"), part(product([None, "k", ["k"]], [7, 1]), 3))
def test_one_row_per_time_and_key(by: Any, segments: int, spark: Any) -> None:
    operations = {"rows": aggregate.COUNT(), "first": aggregate.SELECT_ONE("v"), "keys": aggregate.CONCAT("k"), "top": aggregate.ARGMAX("v", "k")}
    with config.using(small_rows=0):
        found = frame().groupby_cycles("t", by, operations)
        found.materialize(segments=segments)
    assert found.column_names() == ["t", *(["k"] if by else []), "rows", "first", "keys", "top"]
    expected = []
    for rows in cycles(bool(by)):
        numbers = [row for row in rows if row[2] is not None and row[2] == row[2]] or [row for row in rows if row[2] is not None]
        top = max(numbers, key=lambda row: row[2])[1] if numbers else None
        key = (rows[0][1],) if by else ()
        expected.append((rows[0][0], *key, len(rows), rows[0][2], [row[1] for row in rows if row[1] is not None], top))
    assert repr(rows_of(found)) == repr(expected)


@pytest.mark.spark
def test_programs_equal_their_naive_plans(spark: Any) -> None:
    with config.using(check="result"):
        frame().groupby_cycles("t", "k", {"n": aggregate.COUNT(), "s": aggregate.SUM("v")}).materialize()
        frame().groupby_runs(["k", "t"], [aggregate.MIN("v"), aggregate.CONCAT("v")]).materialize()
        frame().add_columns_by_cycle(numbered, "place", "t", "k").materialize()


def numbered(rows: list[dict[str, Any]]) -> list[int]:
    return list(range(len(rows)))


@pytest.mark.spark
@pytest.mark.parametrize("segments", [1, 7])
def test_new_columns_leave_rows_in_their_places(segments: int, spark: Any) -> None:
    def places(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
        return {"of": [len(rows)] * len(rows), "keys": [[row["k"] for row in rows]] * len(rows)}

    with config.using(small_rows=0):
        found = frame().add_columns_by_cycle(places, ["of", "keys"], "t")
        found.materialize(segments=segments)
    sizes = {rows[0][0]: [row[1] for row in rows] for rows in cycles(False)}
    wanted = [(k, t, v, len(sizes[t]), sizes[t]) for t, k, v in zip(TIMES, KEYS, VALUES, strict=True)]
    assert repr(rows_of(found)) == repr(wanted)


@pytest.mark.spark
def test_values_go_to_the_rows_they_were_made_for(spark: Any) -> None:
    found = frame().add_columns_by_cycle(lambda rows: [f"{row['k']}{row['v']}" for row in rows], "x", "t", "k")
    assert list(found["x"]) == [f"{k}{v}" for k, v in zip(KEYS, VALUES, strict=True)]
    assert found["x"].dtype is str


@pytest.mark.spark
def test_failures_of_functions_show_the_cycle(spark: Any) -> None:
    def fails(rows: list[dict[str, Any]]) -> list[float]:
        return [1 / (row["t"] - 2) for row in rows]

    sf = SFrame({"t": [1, 2]})
    with pytest.raises(ZeroDivisionError, match=r"fails at .*test_cycles\.py") as error:
        sf.add_columns_by_cycle(fails, "x", "t", dtypes=float).materialize()
    assert isinstance(error.value, UserFunctionError)
    assert "row['t'] - 2" in str(error.value) or 'row["t"] - 2' in str(error.value)
    assert "{'t': 2}" in str(error.value)


@pytest.mark.spark
@pytest.mark.parametrize("result", [lambda rows: [1] * (len(rows) + 1), lambda rows: 1, lambda rows: {"x": [1]}])
def test_functions_return_one_value_per_row(result: Any, spark: Any) -> None:
    with pytest.raises(TypeError, match="one value for each of the 2 row"):
        SFrame({"t": [1, 1]}).add_columns_by_cycle(result, "x", "t", dtypes=int).materialize()


def test_bad_arguments_are_refused_before_work() -> None:
    sf = SFrame({"t": [1], "l": [[1]]})
    with pytest.raises(ColumnNotFoundError):
        sf.groupby_cycles("nothing")
    with pytest.raises(TypeError, match="has no order"):
        sf.groupby_cycles("l")
    with pytest.raises(TypeError, match="by takes a column name"):
        sf.groupby_cycles("t", by=3)
    with pytest.raises(TypeError, match="operations="):
        sf.groupby_cycles("t", {"n": aggregate.COUNT()})
    with pytest.raises(KeyError):
        sf.groupby_runs("t", aggregate.SUM("nothing"))
    with pytest.raises(ValueError, match="at least one column"):
        sf.groupby_runs([])
    with pytest.raises(RuntimeError, match="occurs twice"):
        sf.groupby_runs("t", {"t": aggregate.COUNT()})
    with pytest.raises(RuntimeError, match="already"):
        sf.add_columns_by_cycle(numbered, "t", "t")
    with pytest.raises(TypeError, match="takes a function"):
        sf.add_columns_by_cycle(3, "x", "t")  # type: ignore[arg-type]


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.tuples(st.sampled_from([None, 0, 1, 2]), st.sampled_from("ab"), st.integers(0, 9)), min_size=1), st.integers(1, 5))
def test_rows_in_time_order_need_no_spark(rows: list[tuple[Any, Any, Any]], batch_rows: int) -> None:
    rows = sorted(rows, key=lambda row: (row[0] is not None, row[0] or 0))
    sf = SFrame({"k": [row[1] for row in rows], "t": SArray([row[0] for row in rows], int), "v": [row[2] for row in rows]})
    sf = sf[["k", "t", "v"]]
    started = is_started()
    with config.using(batch_rows=batch_rows):
        found = rows_of(sf.groupby_cycles("t", "k", {"values": aggregate.CONCAT("v")}))
        added = rows_of(sf.add_columns_by_cycle(lambda cycle: [str([row["v"] for row in cycle])] * len(cycle), "all", "t", "k"))
    groups: dict[Any, list[int]] = {}
    for time, key, value in rows:
        groups.setdefault((time, key), []).append(value)
    order = {time: place for place, (time, _, _) in enumerate(reversed(rows))}
    expected = sorted(groups.items(), key=lambda item: -order[item[0][0]])
    assert found == [(*key, values) for key, values in expected]
    assert added == [(key, time, value, str(groups[time, key])) for time, key, value in rows]
    assert is_started() == started


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(-9, 9))), max_size=12))
def test_runs_agree_with_plain_python(rows: list[tuple[Any, Any]]) -> None:
    sf = SFrame({"k": [key for key, _ in rows] or ["x"], "v": [value for _, value in rows] or [1]})[: len(rows)]
    found = sf.groupby_runs("k", {"n": aggregate.COUNT(), "s": aggregate.SUM("v")})
    expected = []
    for key, run in groupby(rows, lambda row: row[0]):
        values = [value for _, value in run]
        expected.append((key, len(values), sum(value for value in values if value is not None)))
    assert rows_of(found) == expected


def test_runs_of_date_times_go_by_the_instant() -> None:
    east = datetime.timezone(datetime.timedelta(hours=2))
    utc = datetime.UTC
    times = [datetime.datetime(2024, 3, 31, hour, tzinfo=zone) for hour, zone in ((1, utc), (3, east), (3, utc))]
    found = SFrame({"t": times}).groupby_runs("t", {"n": aggregate.COUNT()})
    assert [(row["t"].hour, row["n"]) for row in found] == [(1, 2), (3, 1)]


def test_runs_of_nothing() -> None:
    sf = SFrame({"k": ["a"], "v": [1.0]})[:0]
    found = sf.groupby_runs("k", aggregate.MEAN("v"))
    assert rows_of(found) == []
    assert found.column_types() == [str, float]


def test_runs_without_aggregates_are_the_distinct_neighbours() -> None:
    found = SFrame({"k": [1, 1, 2, 2, 1], "x": [0, 0, 0, 0, 0]}).groupby_runs(["k", "x"])
    assert rows_of(found) == [(1, 0), (2, 0), (1, 0)]


def test_the_first_rows_of_runs_do_not_need_the_rest() -> None:
    sf = SFrame({"k": [i // 3 for i in range(3000)]})
    assert rows_of(sf.groupby_runs("k", {"n": aggregate.COUNT()}).head(2)) == [(0, 3), (1, 3)]
    assert rows_of(SFrame({"k": [1, 1]}).groupby_runs("k", {"n": aggregate.COUNT()}).head(2)) == [(1, 2)]
