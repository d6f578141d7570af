"""Rows among many values, or values that nobody has computed: a join, whose rows are those that few values in the plan choose."""

from __future__ import annotations

import datetime
from array import array
from typing import Any
from unittest import mock

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.api import value_membership
from sframe_spark.errors import SchemaError
from tests.examples import square

UTC, DAY = datetime.UTC, datetime.datetime(2024, 2, 29)
# Long ints in lists of numbers are rounded, which is said.
ROUNDED = pytest.mark.filterwarnings("ignore::sframe_spark.errors.InexactNumberWarning")
COLUMNS: dict[str, tuple[list[Any], list[Any]]] = {
    "ints": ([3, None, 1, 3, 2, 2**60 + 1], [3, 2**60, 9, 3]),
    "ints and a missing one": ([3, None, 1, 3, None], [None, 1]),
    "floats": ([1.5, float("nan"), 0.0, None, -0.0], [float("nan"), -0.0]),
    "texts": (["b", "a", None, "", "b"], ["b", "", "z"]),
    "moments": ([DAY, None, DAY.replace(day=28)], [DAY, DAY]),
    "moments with an offset": ([DAY.replace(tzinfo=UTC), None, DAY.replace(tzinfo=UTC, hour=1)], [DAY.replace(tzinfo=UTC)]),
    "lists": ([[1, 2], [], None, [2, 1]], [[2, 1], []]),
    "lists of long ints": ([[1, 2**53 + 1], [2**53], [-(2**63)], None], [[1, 2**53], [2**53 + 1], [-(2**63)]]),
    "lists of ints and floats": ([[1, 2.0], [2**53 + 1, 0.5], None], [[1.0, 2], [2**53, 0.5]]),
    "arrays": ([array("d", [1.0, float("nan")]), array("d"), None], [array("d", [1.0, float("nan")])]),
    "mixed lists": ([[1, "a"], [1, 2], None], [[1, 2]]),
    "no values of another type": ([1, 2, None], [None, None]),
}


def chosen(rows: SFrame, values: Any, exclude: bool) -> tuple[list[Any], list[Any]]:
    """Numbers of the rows that are chosen, from the frame and from its column."""
    frame, column = rows.filter_by(values, "v", exclude), rows["v"].filter_by(values, exclude)
    assert frame.column_names() == rows.column_names() and frame.column_types() == rows.column_types() and column.dtype is rows["v"].dtype
    # Of NaN and zeros the text tells which they are.
    assert repr(list(column)) == repr(list(frame["v"]))
    return list(frame["n"]), [*map(repr, column)]


@ROUNDED
@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.behaviour
@pytest.mark.parametrize(("name", "exclude"), square(2, COLUMNS, [False, True]))
def test_many_values_choose_the_rows_that_few_do(name: str, exclude: bool) -> None:
    column, values = COLUMNS[name]
    rows = SFrame({"n": range(len(column)), "v": column})
    looked_for = SArray(values, dtype=rows["v"].dtype)
    few = chosen(rows, looked_for, exclude)
    with mock.patch.object(value_membership, "MAX_PLAN_VALUES", 0):
        assert chosen(rows, looked_for, exclude) == few
        # How many there are of these is not known before they are computed.
        assert chosen(rows, looked_for[looked_for.apply(lambda _: 1, skip_na=False, dtype=int)], exclude) == few


@ROUNDED
@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.behaviour
@pytest.mark.parametrize("name", COLUMNS)
def test_many_values_mark_the_rows_that_few_do(name: str) -> None:
    column, values = COLUMNS[name]
    rows = SFrame({"n": range(len(column)), "v": column})
    looked_for = SArray(values, dtype=rows["v"].dtype)
    few = list(rows["v"].is_in(looked_for))
    with mock.patch.object(value_membership, "MAX_PLAN_VALUES", 0):
        for many in (looked_for, looked_for[looked_for.apply(lambda _: 1, skip_na=False, dtype=int)]):
            mask = rows["v"].is_in(many)
            assert mask.dtype is int and list(mask) == few and list(1 - mask) == [1 - value for value in few]
            assert list(rows[rows["v"].is_in(many)]["n"]) == [number for number, value in enumerate(few) if value]
            beside = rows.add_column(mask, "m", inplace=False)
            assert list(beside["m"]) == few and list(beside["n"]) == list(range(len(few)))


@ROUNDED
@pytest.mark.parametrize("name", COLUMNS)
def test_each_value_of_a_column_is_among_them(name: str) -> None:
    column = SArray(COLUMNS[name][0], dtype=list if "lists" in name else None)
    # NaN is equal to nothing among numbers alone: all these columns have a missing value, too.
    assert None in list(column) and list(column.is_in(column)) == [1] * len(column)
    assert [*map(repr, column.filter_by(column))] == [*map(repr, column)] and not len(column.filter_by(column, exclude=True))


def test_ints_in_lists_keep_their_digits() -> None:
    column = SArray([[1, 2**53 + 1], [1, 2**53], None], list)
    assert list(column.is_in([[1, 2**53 + 1]])) == [1, 0, 0] and list(column.is_in([(1, 2.0**53), None])) == [0, 1, 1]
    assert list(column.is_in(SArray([[1, 2**53 + 1]], list))) == [1, 0, 0]


def test_values_that_are_looked_for_do_not_stand_in_the_plan_nor_go_through_python() -> None:
    rows, others = SFrame({"v": range(5_000)}), SArray(range(0, 10_000, 2))
    with mock.patch.object(SArray, "__iter__", side_effect=AssertionError("values are gone through one by one")):
        found = rows["v"].is_in(others)
        assert len(repr(found.explain())) < 10_000 and found.to_numpy().tolist() == [1, 0] * 2_500


@pytest.mark.parametrize("exclude", [False, True])
def test_values_are_computed_when_rows_are_and_not_by_python(exclude: bool) -> None:
    calls: list[int] = []
    rows, others = SFrame({"v": range(5_000)}), SArray(range(0, 10_000, 2))
    found = rows.filter_by(others[others.apply(lambda value: calls.append(value) or 1, dtype=int)], "v", exclude)  # type: ignore[func-returns-value]
    assert not calls
    with mock.patch.object(SArray, "__iter__", side_effect=AssertionError("values are gone through one by one")):
        assert found["v"].to_numpy().tolist() == list(range(int(exclude), 5_000, 2))
    assert len(calls) == 5_000


def test_values_of_a_long_list_do_not_stand_in_the_plan() -> None:
    found = SFrame({"v": range(10)}).filter_by(list(range(5, 100_000)), "v")
    assert len(repr(found.explain())) < 10_000 and list(found["v"]) == [5, 6, 7, 8, 9]


def test_mistakes_are_told_whatever_there_is_of_values() -> None:
    with mock.patch.object(value_membership, "MAX_PLAN_VALUES", 0):
        frame = SFrame({"v": [1, 2], "t": [DAY, DAY]})
        with pytest.raises(SchemaError, match="'v' holds int, but the values are str"):
            frame.filter_by(["a"], "v")
        with pytest.raises(SchemaError, match="filter_by: date-times with and without an offset"):
            frame.filter_by([DAY.replace(tzinfo=UTC)], "t")
