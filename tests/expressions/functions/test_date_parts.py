"""Parts of date-times are those of Python's datetime and of pandas, at each value's own offset; Spark's are the same."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SArray, SFrame, config
from sframe_spark.errors import NoAttributeError, SchemaError
from sframe_spark.expressions.functions.date_parts import DATE_PARTS, PARTS, TIMEZONE
from sframe_spark.expressions.functions.scalar_function import evaluate
from sframe_spark.types import DATETIME, ZONED_DATETIME
from sframe_spark.values.python_to_arrow import encode

EDGES = [datetime.datetime(year, month, day, 23, 59, 59, 999999) for year in (1, 1600, 1900, 1970, 2024, 9999) for month, day in ((1, 1), (12, 31))]
EDGES += [
    datetime.datetime(2024, 2, 29),
    datetime.datetime(2021, 1, 3),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 1),
    datetime.datetime(2023, 6, 30),
]
EAST, WEST = (datetime.timezone(datetime.timedelta(minutes=minutes)) for minutes in (330, -720))
naive = st.lists(st.none() | st.sampled_from(EDGES) | st.datetimes(), max_size=20)
zoned = st.lists(
    st.none() | st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9998, 1, 1), timezones=st.sampled_from([EAST, WEST])), max_size=20
)


def is_last(time: datetime.datetime) -> bool:
    return time.day == calendar.monthrange(time.year, time.month)[1]


MODELS: dict[str, Callable[[datetime.datetime], Any]] = {
    **{name: attrgetter(name) for name in ("year", "month", "day", "hour", "minute", "second", "microsecond")},
    "quarter": lambda time: (time.month + 2) // 3,
    "weekday": datetime.datetime.weekday,
    "isoweekday": datetime.datetime.isoweekday,
    "tmweekday": lambda time: time.isoweekday() % 7,
    "week": lambda time: time.isocalendar().week,
    "iso_year": lambda time: time.isocalendar().year,
    "day_of_year": lambda time: time.timetuple().tm_yday,
    "days_in_month": lambda time: calendar.monthrange(time.year, time.month)[1],
    "is_leap_year": lambda time: calendar.isleap(time.year),
    "is_month_start": lambda time: time.day == 1,
    "is_month_end": is_last,
    "is_quarter_start": lambda time: time.day == 1 and time.month % 3 == 1,
    "is_quarter_end": lambda time: is_last(time) and time.month % 3 == 0,
    "is_year_start": lambda time: (time.month, time.day) == (1, 1),
    "is_year_end": lambda time: (time.month, time.day) == (12, 31),
    "day_name": lambda time: calendar.day_name[time.weekday()],
    "month_name": lambda time: calendar.month_name[time.month],
}


def part_of(column: Any, name: str) -> SArray:
    found = getattr(column.dt, name)
    return found() if name.endswith("_name") else found


def test_every_part_has_a_model() -> None:
    assert set(MODELS) == set(DATE_PARTS) and {line.parameters[0] for line in DATE_PARTS.values()} == set(PARTS) - {TIMEZONE}


@pytest.mark.parametrize("name", MODELS)
@given(naive, zoned)
def test_parts_are_those_of_python(name: str, times: list[Any], with_offsets: list[Any]) -> None:
    for values, kind in ((times, DATETIME), (with_offsets, ZONED_DATETIME)):
        column = encode([None, *values], kind).slice(1)
        # ISO year 0 or 10000 at the ends of the years of Python.
        expected = [
            None if value is None else MODELS[name](value) for value in values if name != "iso_year" or value is None or 1 < value.year < 9999
        ]
        found = evaluate("moment_part", [column], [kind], DATE_PARTS[name].parameters, len(values))[0].to_pylist()
        if name == "iso_year":
            found = [part for part, value in zip(found, values, strict=True) if value is None or 1 < value.year < 9999]
        assert found == expected


def test_parts_are_those_of_pandas() -> None:
    times = [time for time in EDGES if 1900 <= time.year < 2200]
    column, series = SArray(times), pd.Series(times)
    assert list(column.dt.weekday) == series.dt.day_of_week.tolist()
    for name in ("quarter", "day_of_year", "days_in_month", "is_leap_year", "is_month_start", "is_month_end", "is_quarter_start"):
        assert list(part_of(column, name)) == getattr(series.dt, name).tolist(), name
    for name in ("is_quarter_end", "is_year_start", "is_year_end"):
        assert list(part_of(column, name)) == getattr(series.dt, name).tolist(), name
    assert list(column.dt.week) == series.dt.isocalendar().week.tolist() and list(column.dt.day_name()) == series.dt.day_name().tolist()


@pytest.mark.parametrize("line", [*DATE_PARTS.values()], ids=lambda line: line.name)
def test_examples_print_what_they_say(line: Any) -> None:
    expression, printed = line.example
    assert str(list(eval(expression, {"SArray": SArray, "datetime": datetime.datetime}))) == printed


def test_frames_of_parts_take_the_new_ones() -> None:
    frame = SArray([datetime.datetime(2024, 12, 30), None]).split_datetime("t", ["week", "iso_year", "day_name"])
    assert frame[0] == {"t.week": 1, "t.iso_year": 2025, "t.day_name": "Monday"} and frame[1] == {
        "t.week": None,
        "t.iso_year": None,
        "t.day_name": None,
    }


def test_what_is_no_date_time_is_refused_and_other_names_are_answered() -> None:
    with pytest.raises(SchemaError, match="are not date-times"):
        SArray([1]).dt.year  # noqa: B018
    column = SArray([datetime.datetime(2024, 2, 29)])
    answers = {"dayofyear": "use dt.day_of_year", "floor": "use floor_time", "yaer": "did you mean 'year'"}
    for name, told in answers.items():
        with pytest.raises(NoAttributeError, match=f"columns have no dt.{name}.*{told}"):
            getattr(column.dt, name)
    with pytest.raises(NoAttributeError, match=r"use dt\.year"):
        column.year  # type: ignore[attr-defined]  # noqa: B018
    assert list(column.dt.strftime("%d.%m.")) == ["29.02."]


def test_parts_select_rows() -> None:
    frame = SFrame({"time": EDGES})
    assert [row["time"] for row in frame[frame["time"].dt.is_year_end]] == [time for time in EDGES if (time.month, time.day) == (12, 31)]


@pytest.mark.spark
def test_parts_of_spark_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [time for time in [*EDGES, None] if time is None or 1 < time.year < 9999]
    aware = [None if time is None else time.replace(tzinfo=EAST) for time in values]
    monkeypatch.setattr(config, "small_rows", 0)
    frame = SFrame({"time": values, "aware": aware})
    for name, model in MODELS.items():
        for column in ("time", "aware"):
            assert list(part_of(frame[column], name)) == [None if time is None else model(time) for time in values], (name, column)
