"""The scalar function and the aggregate, on the driver and on Spark, held against plain Python."""

from __future__ import annotations

import math

import pytest
from sframe_lag import HARMONIC_MEAN, fahrenheit

import sframe_spark as sf
from sframe_spark import SArray, SFrame
from sframe_spark.errors import SchemaError
from sframe_spark.plugin import INT, reduce
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate, check_function

CELSIUS = [None if i % 5 == 4 else float(i) for i in range(40)]
SMALL_ROWS = pytest.mark.parametrize("small_rows", [0, 1_000_000])


@SMALL_ROWS
def test_fahrenheit(small_rows: int) -> None:
    with sf.config.using(small_rows=small_rows):
        found = list(fahrenheit(SArray(CELSIUS)))
        expected = [None if value is None else value * 1.8 + 32.0 for value in CELSIUS]
    assert found == expected
    assert list(fahrenheit(SArray([-40]))) == [-40.0]


def test_a_sort_by_fahrenheit_of_sorted_rows_is_none() -> None:
    frame = SFrame({"celsius": CELSIUS}).sort("celsius")
    frame["fahrenheit"] = fahrenheit(frame["celsius"])
    plan = str(frame.sort("fahrenheit").explain()).split("-- optimized plan")[1]
    assert "sort[celsius asc" in plan
    assert "sort[fahrenheit" not in plan


@SMALL_ROWS
def test_harmonic_mean(small_rows: int) -> None:
    values = [float(i % 4 + 1) for i in range(40)]
    with sf.config.using(small_rows=small_rows):
        frame = SFrame({"k": [i % 2 for i in range(40)], "v": values})
        found = list(frame.groupby("k", {"mean": HARMONIC_MEAN("v")}).sort("k")["mean"])
        whole = reduce("harmonic_mean", frame["v"])
    assert found == pytest.approx([2 / (1 + 1 / 3), 2 / (1 / 2 + 1 / 4)])
    assert whole == pytest.approx(4 / (1 + 1 / 2 + 1 / 3 + 1 / 4))


def test_texts_are_refused() -> None:
    with pytest.raises(SchemaError, match="numbers are needed"):
        fahrenheit(SArray(["warm"]))


def warmth(celsius: float | None) -> float | None:
    """What fahrenheit means."""
    return None if celsius is None else celsius * 1.8 + 32.0


def mean(values: list[float | None]) -> float | None:
    """What the harmonic mean means, of numbers above zero."""
    known = [value for value in values if value is not None]
    return len(known) / math.fsum(1 / value for value in known) if known else None


def test_what_they_say_of_themselves_is_true() -> None:
    check_function("fahrenheit", [3.5, None, -40.0, float("nan"), 0.0], expected=warmth)
    check_function("fahrenheit", INT, spark=False, expected=warmth)
    check_aggregate("harmonic_mean", [1.0, 4.0, None, 2.0, 2.0, 0.5], expected=mean, generated=0)
