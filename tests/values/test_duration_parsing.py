"""Durations: every accepted form gives the same number, everything else a message that names it."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from sframe_spark.errors import SFrameError
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ZONED_DATETIME
from sframe_spark.values.duration_parsing import UNITS, parse_duration, parse_positive_duration

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3d", 259_200),
        ("15min", 900),
        ("1h30min", 5_400),
        ("1h 30min", 5_400),
        ("1 hour, 30 minutes", 5_400),
        ("250ms", 0.25),
        ("2w", 1_209_600),
        ("day", 86_400),
        ("hours", 3_600),
        ("1.5h", 5_400),
        ("-3d", -259_200),
        ("+2 s", 2),
        ("  10 sec ", 10),
        ("7us", 7e-6),
        ("0s", 0),
        ("1W", 604_800),
    ],
)
def test_texts(text: str, seconds: float) -> None:
    assert parse_duration(text, DATETIME) == round(seconds * SECOND)
    assert parse_duration(text, ZONED_DATETIME) == round(seconds * SECOND)


@pytest.mark.parametrize(
    "value",
    [datetime.timedelta(hours=1, microseconds=1), np.timedelta64(3_600_000_001, "us"), pd.Timedelta(hours=1, microseconds=1), "1h1us"],
)
def test_forms_of_one_duration(value: object) -> None:
    assert parse_duration(value, DATETIME) == 3_600 * SECOND + 1


@pytest.mark.parametrize("value", [5, -5, 2.5, np.int32(5), np.float64(2.5)])
def test_numbers(value: float) -> None:
    for column_type in (INT, FLOAT):
        result = parse_duration(value, column_type)
        assert result == value
        assert type(result) in (int, float)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("1month", "no fixed length"),
        ("2 years", "no fixed length"),
        ("1y", "no fixed length"),
        ("5m", "minutes or months"),
        ("5 parsecs", "not a unit"),
        ("1bd", "are business days, by which times are moved"),
        ("2 B", "are business days, by which times are moved"),
        ("3", "not a duration"),
        ("", "not a duration"),
        ("d3", "not a duration"),
        ("1.2.3d", "not a number"),
        ("0.5us", "whole number of microseconds"),
        ("1d -3h", "not a duration"),
        ("999999999999999w", "longer than"),
        ("d" * 10_000 + "!", "not a unit"),
        (np.timedelta64(1, "M"), "no fixed length"),
        (np.timedelta64("NaT", "s"), "no fixed length"),
    ],
)
def test_wrong_values_are_named(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_duration(value, DATETIME, "tolerance")
    assert isinstance(caught.value, SFrameError)
    assert str(caught.value).startswith("tolerance: ")


@pytest.mark.parametrize("value", [3, 2.5, None, True, datetime.time(1), [1], pd.NaT])
def test_wrong_types_for_datetimes(value: object) -> None:
    with pytest.raises(TypeError, match=r"every: .*timedelta or a text"):
        parse_duration(value, DATETIME, "every")


@pytest.mark.parametrize("value", ["3d", datetime.timedelta(1), None, True, np.bool_(True)])
def test_wrong_types_for_numbers(value: object) -> None:
    for column_type in (INT, FLOAT):
        with pytest.raises(TypeError, match="takes a number"):
            parse_duration(value, column_type)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        parse_duration(value, FLOAT)


def test_columns_without_durations() -> None:
    with pytest.raises(TypeError, match="str has no durations"):
        parse_duration(3, STR)


@pytest.mark.parametrize("value", ["0s", "-1d", datetime.timedelta(0)])
def test_positive(value: object) -> None:
    with pytest.raises(ValueError, match="above zero"):
        parse_positive_duration(value, DATETIME)


@given(st.lists(st.tuples(st.integers(0, 999), st.sampled_from(sorted(UNITS))), min_size=1, max_size=4), st.booleans())
def test_parts_add_up(parts: list[tuple[int, str]], negative: bool) -> None:
    text = ("-" if negative else "") + " ".join(f"{number}{unit}" for number, unit in parts)
    total = sum(number * UNITS[unit] for number, unit in parts)
    assert parse_duration(text, DATETIME) == (-total if negative else total)


@given(st.timedeltas(min_value=datetime.timedelta(days=-100_000), max_value=datetime.timedelta(days=100_000)))
def test_timedeltas_are_exact(value: datetime.timedelta) -> None:
    assert datetime.timedelta(microseconds=parse_duration(value, DATETIME)) == value
