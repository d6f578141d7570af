"""The page about interchange says what happens: its tables are made of what columns become."""

from __future__ import annotations

import pytest

from tests.docs.interchange import (
    CONNECT_IN,
    DOORS,
    DOORS_IN,
    DOORS_OF_SPARK,
    IN_CORNER,
    ON_SPARK,
    OUT_CORNER,
    SPARK_CORNER,
    column_in,
    column_of_spark,
    column_out,
    in_turn,
    some_of_page,
    table_of_page,
)  # fmt: skip
from tests.needs import needs

# The tables have columns of all types that pyarrow knows today.
pytestmark = needs("pyarrow>=26")


@pytest.mark.parametrize("door", DOORS)
def test_out_and_back(door: str) -> None:
    assert table_of_page(OUT_CORNER)[door] == column_out(door)


@pytest.mark.spark
def test_out_to_spark_and_back() -> None:
    names, _ = in_turn("Spark")
    assert some_of_page(OUT_CORNER, "Spark", names) == column_out("Spark", names)


@pytest.mark.parametrize("door", DOORS_IN)
def test_in(door: str) -> None:
    assert table_of_page(IN_CORNER)[door] == column_in(door)


@pytest.mark.spark
@pytest.mark.parametrize("door", DOORS_OF_SPARK)
def test_in_from_spark(door: str) -> None:
    _, names = in_turn(door)
    assert some_of_page(SPARK_CORNER, door, names) == column_of_spark(door, names)


def test_a_type_is_the_same_by_spark_connect_and_in_files() -> None:
    found = table_of_page(SPARK_CORNER)
    assert found["Connect"] == found["Spark"]
    # Spark writes intervals as numbers, and what it stores of VARIANTs it alone reads.
    others = {name: kind for name, kind in found["Spark's Parquet"].items() if kind != found["Spark"][name]}
    assert set(others) <= {"interval day to second", "interval year to month", "interval", "void"} | {name for name in others if "variant" in name}


def test_all_doors_are_on_the_page() -> None:
    assert list(table_of_page(OUT_CORNER)) == [*DOORS, *ON_SPARK]
    assert list(table_of_page(IN_CORNER)) == list(DOORS_IN)
    assert set(table_of_page(SPARK_CORNER)) == {*DOORS_OF_SPARK, *CONNECT_IN}
