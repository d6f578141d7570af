"""Ints of more than 64 bits: what functions return, and what is given for columns of ints. Floats, or refused; never the smallest int."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder
from sframe_spark.errors import SFrameError, UserFunctionError
from tests.examples import by_turns, square

pytestmark = pytest.mark.behaviour
# Of a column 100 rows tell the type of results, of a frame ten.
COUNTS = [4, 100, 102, 1200]
WIDE = [2**63, -(2**63) - 1, 2**64 - 1, 2**70 + 1, np.uint64(2**64 - 1)]


def doors(values: list[Any], dtype: Any = None) -> Iterator[tuple[str, Callable[[], tuple[Any, list[Any]]]]]:
    """Members that ask a function for the values of a column: its class and its values."""
    frame = SFrame({"n": range(len(values))})
    types: dict[str, Any] = {} if dtype is None else {"column_types": [str, dtype]}

    def shown(column: SArray) -> tuple[Any, list[Any]]:
        return column.dtype, list(column)

    yield "a column's apply", lambda: shown(frame["n"].apply(lambda n: values[n], dtype))
    yield "apply", lambda: shown(frame.apply(lambda row: values[row["n"]], dtype))
    yield "flat_map", lambda: shown(frame.flat_map(["s", "a"], lambda row: [["x", values[row["n"]]]], **types)["a"])
    yield "cycles", lambda: shown(frame.add_columns_by_cycle(lambda rows: [values[row["n"]] for row in rows], "a", on="n", dtypes=dtype)["a"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", COUNTS)
def test_results_beyond_ints_are_floats_whatever_the_number_of_rows(count: int) -> None:
    wide = ([520**7, 670**7], [520**7, 313**7], [2**70, 1, -(2**70), 3**34], [2**64, None, 0.5, 2**53 + 1])
    for values in by_turns(wide, 2, COUNTS.index(count)):
        results = (values * count)[:count]
        for name, door in doors(results):
            assert door() == (float, [None if value is None else float(value) for value in results]), name


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("count", "value"), square(3, COUNTS, [*WIDE, 2.0**63, 1e300, math.inf, -math.inf]))
def test_results_that_are_no_ints_are_refused_where_ints_are_asked_for(count: int, value: Any) -> None:
    for results in ([1] * (count - 1) + [value], [value] * count):
        for name, door in doors(results, int):
            with pytest.raises(UserFunctionError, match="64 bits") as told:
                door()
            assert isinstance(told.value, TypeError)
            assert "pass dtype=float to apply()" in str(told.value) or "column_types=[str, float]" in str(told.value) or name == "cycles"


def test_advice_can_be_followed() -> None:
    late = [1] * 1199 + [2**70]
    for name, door in doors(late):
        with pytest.raises(UserFunctionError, match=r"dtype=float|column_types=\[str, float\]|dtype"):
            door()
        assert dict(doors(late, float))[name]() == (float, list(map(float, late)))
    for first in ([1.5] * 1199, [None] * 1199):
        with pytest.raises(UserFunctionError, match=r"pass dtype=float to apply\(\), which loses digits") as told:
            dict(doors([*first, 2**64 - 1]))["a column's apply"]()
        assert "dtype=int" not in str(told.value)
    with pytest.raises(UserFunctionError, match="beyond the largest float: let the function return its text"):
        list(SArray([1]).apply(lambda _: 10**400, float))


def test_floats_of_the_first_rows_keep_their_rule() -> None:
    """An int of 64 bits that a float is not, behind floats, is no float: a column of ints holds it."""
    for first in (1.5, math.inf, 1e300):
        for _, door in doors([first] * 1199 + [2**53 + 1]):
            with pytest.raises(UserFunctionError, match="fit"):
                door()


GIVEN: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: SArray([1, value], int),
    "generator": lambda value: SArray((item for item in (1, value)), int),
    "object array": lambda value: SArray(np.array([1, value], object), int),
    "array": lambda value: SArray(np.array([value]), int),
    "Series": lambda value: SArray(pd.Series([value]), int),
    "Arrow": lambda value: SArray(pa.array([float(value)]), int),
    "const": lambda value: SArray.from_const(value, 2, int),
    "fillna": lambda value: SArray([1, None]).fillna(value),
    "fillna of a frame": lambda value: SFrame({"a": [1, None]}).fillna("a", value)["a"],
    "where": lambda value: SArray.where(SArray([1, 0]), SArray([1, 2]), value),
    "column builder": lambda value: built(SArrayBuilder(int), value),
    "frame builder": lambda value: built(SFrameBuilder([int], ["a"]), [value])["a"],
}


def built(builder: Any, value: Any) -> Any:
    builder.append(value)
    return builder.close()


@pytest.mark.parametrize("door", GIVEN)
def test_values_that_are_no_ints_are_refused_for_columns_of_ints(door: str) -> None:
    for value in (*WIDE, 2.0**63, -1e300, math.inf):
        if door == "Arrow" and float(value) == -(2.0**63):
            continue
        with pytest.raises(SFrameError):
            list(GIVEN[door](value))
    for value in (2**60, -(2**63)):
        assert value in list(GIVEN[door](value))


def test_casts_of_columns_follow_the_reference() -> None:
    assert list(SArray([1e300, math.inf, 2.5, math.nan]).astype(int)) == [-(2**63), -(2**63), 2, None]
