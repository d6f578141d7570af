"""Decimals become ints where they are, otherwise the nearest floats; digits that a float does not hold are told once."""

from __future__ import annotations

import random
import warnings
from decimal import Decimal

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import InexactDecimalWarning
from sframe_spark.types import FLOAT, INT, list_of
from sframe_spark.values.arrow_to_column_types import normalize


@pytest.mark.parametrize(("precision", "scale"), [(5, 2), (15, 15), (18, 4), (19, 0), (38, 18), (38, 38)])
def test_floats_are_the_nearest_ones(precision: int, scale: int) -> None:
    drawn = random.Random(precision + scale)
    cells = [Decimal(drawn.randrange(-(10**precision) + 1, 10**precision)).scaleb(-scale) for _ in range(500)]
    for wide in (pa.decimal128, pa.decimal256):
        found, kind = normalize(pa.array([*cells, None], wide(precision, scale)))
        assert kind == FLOAT and found.to_pylist() == [*map(float, cells), None]


def test_whole_decimals_are_ints() -> None:
    cells = [Decimal(10**18 - 1), Decimal(1 - 10**18), None]
    assert normalize(pa.array(cells, pa.decimal128(18, 0)))[0].to_pylist() == [10**18 - 1, 1 - 10**18, None]
    assert normalize(pa.array([[Decimal(10**18 - 1)]], pa.list_(pa.decimal128(18, 0))))[1] == list_of(INT)
    pairs = pa.array([{"a": Decimal(10**18 - 1), "b": "x"}], pa.struct([("a", pa.decimal128(18, 0)), ("b", pa.string())]))
    assert list(SFrame(pa.table({"d": pairs}))["d"]) == [{"a": 10**18 - 1, "b": "x"}]
    assert normalize(pa.array([Decimal("1e3")], pa.decimal128(3, -2)))[1] == FLOAT


@pytest.mark.parametrize(
    ("text", "told"),
    [("1234567890.12345", False), ("-0.000000000123456789", False), ("12345678901.123456", True), ("0.1000000000000001", True), ("1e15", False)],
)
def test_what_is_told_depends_on_the_values(text: str, told: bool) -> None:
    table = pa.table({"d": pa.array([Decimal(text), None], pa.decimal128(38, 18))})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert SFrame(table)["d"][0] == float(text)
    assert [entry.category for entry in caught] == [InexactDecimalWarning] * told
    assert not told or caught[0].filename == __file__


def test_many_columns_are_told_at_once() -> None:
    cells = pa.array([Decimal("0.12345678901234567890")])
    with pytest.warns(InexactDecimalWarning, match=r"'c0' \(20 digits\).* and 5 more are rounded") as told:
        SFrame(pa.table({f"c{number}": cells for number in range(25)}))
    assert len(told) == 1
    SFrame(pa.table({"d": pa.array([None], pa.decimal128(38, 18)), "e": pa.array([Decimal(1)])}))
