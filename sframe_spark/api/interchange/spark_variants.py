"""What columns of VARIANT hold: their values are looked at when a frame is made, as a column of a frame has one type and VARIANTs have any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.api.interchange.variant_columns import may_widen, type_of_kinds, variant_kinds
from sframe_spark.compute.spark_columns import arrow_function
from sframe_spark.engine.spark.spark_actions import run_spark
from sframe_spark.session.deployment import naming_our_python
from sframe_spark.types import ColumnType
from sframe_spark.values.value_errors import column_named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIRST_ROWS = 1_000
"""Rows of a limit query that settle the type unless others might make it a wider one, as floats do among ints."""


def variant_types(df: DataFrame, names: Mapping[int, str]) -> dict[int, ColumnType]:
    """The types of columns of VARIANT, by their places, of a DataFrame whose columns are named after their places.

    Raises
    ------
    SchemaError
        If no type has the values of one; it tells the column's own name.
    """
    if not names:
        return {}
    found = _kinds_of_first_rows(df, list(names))
    types: dict[int, ColumnType] = {}
    for place, name in names.items():
        with column_named(name):
            types[place] = type_of_kinds(found[place])
    unsettled = [place for place in names if may_widen(found[place])]
    for place, kinds in _kinds_of_all_rows(df, unsettled).items():
        with column_named(names[place]):
            types[place] = type_of_kinds(kinds)
    return types


def _kinds(df: DataFrame, places: Sequence[int]) -> DataFrame:
    with naming_our_python(df.sparkSession):
        return df.select(*[_kind(place) for place in places])


def _kinds_of_first_rows(df: DataFrame, places: Sequence[int]) -> dict[int, set[str]]:
    first = _kinds(df, places).limit(FIRST_ROWS)
    rows = run_spark(first.collect, "looking at the first VARIANTs of a DataFrame")
    return {place: {row[number] for row in rows} - {None} for number, place in enumerate(places)}


def _kinds_of_all_rows(df: DataFrame, places: Sequence[int]) -> dict[int, set[str]]:
    """By one aggregate, which reads these columns alone."""
    from pyspark.sql import functions as F

    if not places:
        return {}
    kinds = _kinds(df, places).agg(*[F.collect_set(f"c{place}") for place in places])
    (row,) = run_spark(kinds.collect, "looking at the VARIANTs of a DataFrame")
    return {place: set(row[number]) for number, place in enumerate(places)}


def _kind(place: int) -> Column:
    from pyspark.sql import functions as F

    def kinds(values: Any) -> pa.Array:
        return variant_kinds(values)

    return arrow_function(kinds, "string")(F.col(f"c{place}")).alias(f"c{place}")
