"""Spark DataFrames of any schema: a frame of the columns, or an error of ours that names the user's column and what to do."""

from __future__ import annotations

import random
import warnings

import pytest
from pyspark.sql import types as T

from sframe_spark import SFrame
from sframe_spark.errors import SFrameError
from sframe_spark.session import get_session
from tests.examples import examples
from tests.hostile.random_tables import NAMES

pytestmark = pytest.mark.spark

ATOMIC: list[T.DataType] = [
    T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType(), T.FloatType(), T.DoubleType(), T.BooleanType(), T.StringType(),
    T.BinaryType(), T.DateType(), T.TimestampType(), T.TimestampNTZType(), T.NullType(),
    T.DayTimeIntervalType(), T.YearMonthIntervalType(), T.CalendarIntervalType(), T.VariantType(),
]  # fmt: skip


def random_type(pick: random.Random, levels: int = 3) -> T.DataType:
    choice = pick.random()
    if levels and choice < 0.2:
        return T.ArrayType(random_type(pick, levels - 1), pick.random() < 0.5)
    if levels and choice < 0.35:
        return T.MapType(pick.choice(ATOMIC[:7]), random_type(pick, levels - 1), pick.random() < 0.5)
    if levels and choice < 0.5:
        return T.StructType([T.StructField(name, random_type(pick, levels - 1)) for name in pick.sample(NAMES, pick.randint(0, 3))])
    if choice < 0.6:
        precision = pick.randint(1, 38)
        return T.DecimalType(precision, pick.randint(0, precision))
    return pick.choice(ATOMIC)


def check(seed: int) -> bool:
    """True if a frame was made."""
    pick = random.Random(seed)
    schema = T.StructType([T.StructField(name, random_type(pick)) for name in pick.sample(NAMES, pick.randint(1, 4))])
    df = get_session().createDataFrame([], schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame = SFrame(df)
        except SFrameError as error:
            message = str(error)
            assert any(repr(name) in message or name in message for name in df.columns), message
            assert not any(f"column 'c{place}'" in message for place in range(4) if f"c{place}" not in df.columns), message
            assert "\x1b" not in message and "\u202e" not in message
            return False
        assert frame.column_names() == df.columns
        assert len(frame.column_types()) == len(df.columns)
        if seed % 20 == 0:
            assert list(frame) == []
    return True


def test_random_schemas() -> None:
    made = [check(seed) for seed in range(examples(100, every=3))]
    assert {True, False} == set(made)


@pytest.mark.campaign
def test_many_random_schemas() -> None:
    assert sum(check(seed) for seed in range(2_000)) > 100
