"""Mistakes of people who come from other libraries: the message says what was wrong, in their names, and what to write."""

from __future__ import annotations

import math
import os
import re
import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sframe_spark
from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.api import error_hints, other_library_names
from sframe_spark.errors import ColumnNotFoundError, DateFormatError, NoAttributeError, SchemaError, SFrameError

FRAME = SFrame({"user": ["ann", "bob"], "stars": [5, None], "day": [datetime(2024, 1, 1), None], "tags": [["a"], []]})
PACKAGE = str(Path(sframe_spark.__file__).parent) + os.sep
STARS, USER, DAY = FRAME["stars"], FRAME["user"], FRAME["day"]


def assign(name: str, value: Any) -> None:
    setattr(FRAME, name, value)


MISTAKES: list[tuple[Callable[[], Any], type[BaseException], str]] = [
    (
        lambda: pd.concat([FRAME, FRAME]),
        TypeError,
        "pandas puts only frames and columns of its own together, not SFrame: use first.append(second), or first.join",
    ),
    (lambda: pd.concat([STARS, STARS]), TypeError, "not SArray: use first.append(second), or to_pandas()"),
    (lambda: pd.merge(FRAME, FRAME, on="user"), TypeError, "first.join(second, on='key')"),
    (lambda: pd.merge_asof(FRAME, FRAME, on="day"), TypeError, "pandas puts only"),
    (lambda: FRAME.plot.scatter(x="stars", y="day"), AttributeError, "plot() has no 'scatter': sframe_spark.plot(sf['a'], sf['b'])"),
    (lambda: STARS.plot.hist(), AttributeError, "plot() has no 'hist': sf['a'].plot()"),
    (lambda: FRAME.write.mode("overwrite").parquet("rows"), AttributeError, "write() has no 'mode'"),
    (lambda: FRAME.write.parquet("rows"), AttributeError, "use sf.write_parquet('rows')"),
    (lambda: FRAME.sort("stars", inplace=True), TypeError, "for inplace: nothing is changed in place: assign the result"),
    (lambda: FRAME.groupby("user", as_index=False), TypeError, "for as_index: keys are columns"),
    (lambda: FRAME.drop_duplicates(["user"], keep="last"), TypeError, "for keep: the first row of each stays; the last by sf.groupby("),
    (lambda: FRAME.join(FRAME, on="user", suffixes=("_x", "_y")), TypeError, "alter_name={'b': 'price'}"),
    (lambda: FRAME.join(FRAME, on="user", how="left_outer"), ValueError, "got 'left_outer': use how='left'"),
    (lambda: FRAME.join(SFrame({"user": [1]}), on="user"), RuntimeError, "convert one, as in other['user'] = other['user'].astype(str)"),
    (
        lambda: USER.str.contains("A", case=False),
        TypeError,
        "it is called as sf['a'].str.contains(pattern, regex=True); for case: ignore case by (?i)",
    ),
    (lambda: STARS.value_counts(normalize=True), TypeError, "for normalize: divide by the number of rows"),
    (lambda: STARS.rolling_mean(window=3), TypeError, "for window: a window is its first and last row"),
    (lambda: assign("columns", ["a"]), AttributeError, "an SFrame has no member 'columns' to assign: names are changed by rename({'a': 'amount'})"),
    (lambda: assign("index", [0]), AttributeError, "rows are numbered from 0"),
    (lambda: FRAME.rename("stars", "n"), TypeError, "names must be a dict from the old name to the new one, as in {'a': 'amount'}, got 'stars'"),
    (lambda: FRAME.select_columns("stars"), TypeError, "select_columns() takes a list of column names, as in sf[['a', 'b']], got 'stars'"),
    (lambda: FRAME["user":"stars"], TypeError, "columns are chosen by a list, as in sf[['user', 'stars']]"),
    (lambda: FRAME[lambda row: row["stars"] > 3], TypeError, "sf[sf['a'] > 0] the rows that meet a condition"),
    (lambda: FRAME.sample(5), ValueError, "for n random rows use sf.shuffle(seed=1).head(n)"),
    (lambda: STARS.quantile(50), RuntimeError, "a quantile must be a number between 0 and 1, got 50: the median is 0.5"),
    (lambda: USER.mean(), RuntimeError, "not of str: astype(float) reads numbers from texts"),
    (lambda: USER.max(), RuntimeError, "not of str: sort() orders texts"),
    (lambda: DAY.mean(), RuntimeError, "astype(float) gives seconds since 1970"),
    (lambda: FRAME["tags"].sum(), RuntimeError, "item_length() counts their items"),
    (lambda: USER + STARS, RuntimeError, "convert with astype first, as in sf['a'].astype(float), or astype(str) for texts"),
    (lambda: 1 < STARS < 5, ValueError, "write & for and, | for or"),
    (lambda: STARS in [1, 2], ValueError, "sa.is_in([1, 2]) for in"),
    (lambda: FRAME.groupby("user", {"n": aggregate.SUM(STARS)}), TypeError, "write the name of the column, as in aggregate.SUM('a')"),
    (lambda: aggregate.SUM(["stars", "day"]), TypeError, "{name: aggregate.SUM(name) for name in ['stars', 'day']}"),
    (lambda: FRAME.groupby("user", {"n": lambda rows: rows}), TypeError, "aggregate.CONCAT('a') gives the values of each group"),
    (lambda: STARS.apply("upper"), TypeError, "apply takes a function, got str: write one, such as str.upper"),
    (lambda: FRAME.apply(lambda row: row.stars), AttributeError, "a row is a dict: write row['stars']"),
    (lambda: FRAME.apply(lambda row: row["stars"] + 1), TypeError, "a missing value is None: fill it first by fillna()"),
    (lambda: STARS.sessions("day", gap="1h"), AttributeError, "an SArray has no member 'sessions': frames have it, sf.sessions(on, gap, *, by=None)"),
    (lambda: STARS.pivot(columns="user"), AttributeError, "an SArray has no member 'pivot': of a frame use groupby("),
    (lambda: FRAME.is_in([1]), AttributeError, "an SFrame has no member 'is_in': columns have it, sf['a'].is_in(other)"),
    (lambda: STARS.shift(1, by="user"), TypeError, "for by: groups are of a frame, as in sf.shift('a', 1, by='key')"),
    (
        lambda: list(SArray(["2024-03-28T08:03:07.46+01:00"]).str_to_datetime()),
        RuntimeError,
        "the format '%Y-%m-%dT%H:%M:%S%F%ZP' reads it",
    ),
    (lambda: int(STARS), TypeError, "sa.astype(int) converts its values"),
    (lambda: math.sqrt(STARS), TypeError, "sa.sqrt(), sa.log() and so on"),
    (lambda: STARS.append([1]), RuntimeError, "append() takes an SArray, got list: SArray([1, 2]) makes one"),
    (lambda: SFrame({"a": 1}), TypeError, "column 'a': the values of a column must be a sequence, not int: write a list"),
    (lambda: SFrame.read_csv("x.csv", inferSchema=True), TypeError, "instead of inferSchema write nothing"),
    (lambda: STARS.dt.year, TypeError, "values of int are not date-times"),
    (lambda: np.mean(USER), RuntimeError, "MEAN takes a column of int"),
]


@pytest.mark.parametrize(("call", "kind", "told"), MISTAKES, ids=[told[-40:] for _, _, told in MISTAKES])
def test_mistakes_are_explained_in_few_lines(call: Callable[[], Any], kind: type[BaseException], told: str) -> None:
    with config.using(tracebacks="short"), pytest.raises(SFrameError, match=re.escape(told)) as caught:
        call()
    assert isinstance(caught.value, kind)
    own = [line for line in traceback.extract_tb(caught.value.__traceback__) if line.filename.startswith(PACKAGE)]
    assert len(own) <= 2


def test_a_list_of_names_is_no_text() -> None:
    with pytest.raises(KeyError) as caught:
        FRAME.remove_columns("stars")
    assert isinstance(caught.value, ColumnNotFoundError) and "write remove_columns(['stars'])" in caught.value.__notes__[0]
    # Turi Create removes columns whose names are letters.
    assert SFrame({"a": [1], "b": [2], "c": [3]}).remove_columns("ab").column_names() == ["c"]


def test_texts_that_are_no_date_times_have_a_row() -> None:
    texts = SArray(["2024", "", None, "ann"])
    with pytest.raises(RuntimeError, match=r"^row 3: 'ann' does not match the date format '%Y': use another") as caught:
        list(texts.str_to_datetime("%Y"))
    assert isinstance(caught.value, DateFormatError)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("from sframe_spark import Sframe", "sframe_spark has no 'Sframe', did you mean 'SFrame'?"),
        ("import sframe_spark.sql", "sframe_spark.sql is no module: write from sframe_spark import sql"),
        ("from sframe_spark.sql import functions", "sframe_spark.sql is no module"),
    ],
)
def test_imports_by_nearly_right_names(statement: str, told: str) -> None:
    with pytest.raises(ImportError, match=re.escape(told)):
        exec(statement, {})


def test_pandas_reads_frames_and_columns_as_before() -> None:
    assert list(pd.DataFrame(FRAME)["user"]) == ["ann", "bob"] and list(pd.Series(USER)) == ["ann", "bob"]
    assert list(pd.isna(STARS)) == [False, True] and not hasattr(FRAME, "_typ")


def test_members_of_methods_have_hints() -> None:
    assert {method: set(names.split()) for method, names in error_hints.MEMBERS_OF_METHODS.items()} == {
        method: set(hints) for method, hints in other_library_names.METHOD.items()
    }


def test_members_of_methods_are_theirs_alone() -> None:
    for member in ("scatter", "mode"):
        assert not hasattr(FRAME.sort, member)
    with pytest.raises(NoAttributeError):
        sframe_spark.plot.line()  # type: ignore[attr-defined]
    with pytest.raises(SchemaError):
        FRAME.sort("stars", nonsense=1)
