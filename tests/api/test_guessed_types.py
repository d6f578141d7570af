"""A type that the first rows told changes no later value: what does not fit is told, where a class that was asked for would take it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import SFrameError, UserFunctionError
from tests.examples import square

pytestmark = pytest.mark.behaviour
# More than the first rows that tell a type, whoever asks.
ROWS, FIRST = 1200, 1100
DAY = datetime.datetime(2024, 2, 29)


def both(first: Any, later: Any) -> Callable[[int], Any]:
    return lambda number: first if number < FIRST else later


def doors(value: Callable[[int], Any], dtype: type | None) -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """Members that ask a function for the values of a column, and find out its type."""
    frame = SFrame({"n": range(ROWS)})
    types: dict[str, Any] = {} if dtype is None else {"column_types": [dtype]}
    yield "a column's apply", lambda: list(frame["n"].apply(value, dtype))
    yield "apply", lambda: list(frame.apply(lambda row: value(row["n"]), dtype))
    yield "flat_map", lambda: list(frame.flat_map(["a"], lambda row: [[value(row["n"])]], **types)["a"])
    yield "cycles", lambda: list(frame.add_columns_by_cycle(lambda rows: [value(row["n"]) for row in rows], "a", on="n", dtypes=dtype)["a"])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("later", [2.5, math.nan, math.inf, -math.inf, 2**70, -(2**70), 1e300, DAY])
def test_ints_take_no_other_numbers(later: Any) -> None:
    for name, door in doors(both(1, later), None):
        with pytest.raises(UserFunctionError, match=r"(?s)fit.*int") as told:
            door()
        assert isinstance(told.value, TypeError), name
        assert "first rows gave ints; pass dtype=float to apply()" in str(told.value) or "apply" not in name or later is DAY


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", [None, 1.5])
def test_floats_take_no_dates(first: Any) -> None:
    for name, door in doors(both(first, DAY), None):
        if first is not None or name in ("a column's apply", "apply"):
            with pytest.raises(UserFunctionError, match=r"fit.*float"):
                door()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("first", "later"), square(2, [None, 1.5], [2**53 + 1, -(2**63) + 1, 2**70 + 1, np.int64(2**53 + 1), np.uint64(2**64 - 1)]))
def test_floats_take_no_ints_that_lose_digits(first: Any, later: Any) -> None:
    """Identifiers, where the first rows had none."""
    for name, door in doors(both(first, later), None):
        if first is not None or name in ("a column's apply", "apply"):
            with pytest.raises(UserFunctionError, match=r"(?s)fit.*float") as told:
                door()
            fits = -(2**63) <= int(later) < 2**63
            assert f"pass {'dtype=int' if fits else 'dtype=float'} to apply()" in str(told.value) or "apply" not in name
    for name, door in doors(both(1.5, later), float):
        assert door()[-1] == float(later), name


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("first", "later"), square(2, [DAY, DAY.replace(tzinfo=datetime.UTC)], [5, 2.5, True]))
def test_dates_take_no_numbers(first: Any, later: Any) -> None:
    """They would be seconds since 1970."""
    for _, door in doors(both(first, later), None):
        with pytest.raises(UserFunctionError, match=r"fit.*datetime"):
            door()
    for name, door in doors(both(DAY, 5), datetime.datetime):
        assert door()[-1] == datetime.datetime(1970, 1, 1, 0, 0, 5), name


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("first", "later", "found"),
    [(1, 2.0, 2), (1, True, 1), (True, 2, 2), (1, None, None), (1, -(2**63), -(2**63)), (1.5, 2, 2.0), (1.5, 2**60, 2.0**60)],
)
def test_what_loses_nothing_fits(first: Any, later: Any, found: Any) -> None:
    for name, door in doors(both(first, later), None):
        values = door()
        assert (values[0], values[-1]) == (first, found), name
        assert type(values[-1]) is type(found), name


def test_a_class_that_was_asked_for_takes_what_becomes_one() -> None:
    for name, door in doors(both(1, 2.5), int):
        assert door()[-2:] == [2, 2], name


def test_few_rows_tell_too() -> None:
    """Of a frame ten rows tell the type, so a share of nothing is an int there."""
    sales = SFrame({"sold": [0] * 12 + [1, 3], "seen": [0] * 12 + [2, 4]})
    with pytest.raises(SFrameError, match=r"returned 0.5 .* dtype=float"):
        list(sales.apply(lambda row: row["sold"] / row["seen"] if row["seen"] else 0))
    assert list(sales.apply(lambda row: row["sold"] / row["seen"] if row["seen"] else 0, dtype=float))[-2:] == [0.5, 0.75]
    assert list(SArray([0.5, 2.0]).apply(lambda value: value)) == [0.5, 2.0]


UTC_DAY = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
EAST = pd.Timestamp("2024-06-01", tz="Europe/Berlin")


DATE_TIMES = [
    (DAY, DAY),
    (DAY.date(), DAY),
    (UTC_DAY, UTC_DAY),
    (np.datetime64("2024-02-29"), UTC_DAY),
    (EAST, datetime.datetime(2024, 6, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))),
    (None, None),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("missing", "date_time"), square(4, [None, pd.NaT, pd.NA, np.datetime64("NaT", "us")], DATE_TIMES))
def test_date_times_of_all_classes_are_what_was_asked_for(missing: Any, date_time: tuple[Any, Any]) -> None:
    """Also where the first rows have none: pandas' NaT is a date-time for Python."""
    moment, found = date_time
    for value in (lambda number: missing if number < FIRST else moment, lambda number: missing if number % 2 else moment, lambda number: moment):
        for name, door in doors(value, datetime.datetime):
            assert door()[-2:] == [None if value(number) is missing else found for number in (ROWS - 2, ROWS - 1)], name


def test_a_class_that_was_asked_for_is_that_of_the_column_where_all_is_missing() -> None:
    numbers = SFrame({"n": [1, 2]})
    for missing in (None, pd.NaT, pd.NA, np.datetime64("NaT", "us")):
        assert numbers["n"].apply(lambda number, missing=missing: missing, datetime.datetime).dtype is datetime.datetime
        assert numbers.apply(lambda row, missing=missing: missing, datetime.datetime).dtype is datetime.datetime
