"""Frames of the rows of Spark DataFrames: each column as the same column of an Arrow table would be."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.api.column_names import require_distinct
from sframe_spark.api.interchange.spark_types import arrow_type_of
from sframe_spark.api.interchange.spark_values import made_column, native_text
from sframe_spark.api.interchange.spark_variants import variant_types
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.deployment import naming_our_python
from sframe_spark.storage.filesystem.saved_places import refuse_files_of_saved_for_spark
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.types import ColumnType
from sframe_spark.values.from_arrow import arrow_column_type, tell_of_types
from sframe_spark.values.value_errors import column_named
from sframe_spark.values.variant import VariantType

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructField


def frame_from_spark(df: Any) -> tuple[PlannerNode, list[str]]:
    """A Spark DataFrame as a lazy source; its columns are brought into our physical types.

    Frames of one DataFrame are frames of the same rows in the same order as long as one of them is in use.

    Raises
    ------
    SchemaError
        If it is something else of Spark's, or no column can hold a column's type.
    StorageError
        If it reads the files of a saved frame, which do not say what its columns are.
    InvalidArgumentError
        If it is a stream.
    TakenNameError
        If two columns have one name.
    """
    from sframe_spark.engine.physical.user_dataframes import shared_node
    from sframe_spark.engine.spark.spark_actions import translated_errors
    from sframe_spark.session.session import require_frame_open

    _require_dataframe(df)
    require_frame_open(df.sparkSession)
    with translated_errors("looking at the columns of a DataFrame"):
        # Over Connect this is asked of the server.
        if df.isStreaming:
            raise InvalidArgumentError("a stream has no last row, and a frame has one: read its table or files with spark.read instead")
        return shared_node(df, lambda: _source(df).make_planner_node()), list(df.columns)


def _require_dataframe(given: Any) -> None:
    from pyspark.sql import DataFrame

    if not isinstance(given, DataFrame):
        known = hasattr(type(given), "to_spark") and hasattr(type(given), "to_pandas")
        advice = "give its to_pandas(), whose rows are in order, or its to_spark()" if known else "give a DataFrame, or collect() its rows"
        raise SchemaError(f"an SFrame is not made of {type(given).__module__}.{type(given).__name__}: {advice}")


def _source(df: Any) -> SparkSource:
    from pyspark.sql import functions as F

    from sframe_spark.engine.spark.files_read import files_with_columns

    require_distinct(df.columns)
    refuse_files_of_saved_for_spark(files_with_columns(df, file_column(0), KEY_NAME))
    fields = [(field, arrow_type_of(field.dataType, field.name)) for field in df.schema.fields]
    positional = df.toDF(*[f"c{place}" for place in range(len(fields))])
    looked_at = variant_types(positional, {place: field.name for place, (field, arrow) in enumerate(fields) if isinstance(arrow, VariantType)})
    types = [looked_at.get(place) or _column_type(arrow, field.name) for place, (field, arrow) in enumerate(fields)]
    texts = [native_text(f"c{place}", field.dataType, column_type) for place, ((field, _), column_type) in enumerate(zip(fields, types, strict=True))]
    with naming_our_python(df.sparkSession) if None in texts else nullcontext():
        others = {
            place: made_column(F.col(f"c{place}"), field.dataType, arrow, column_type, field.name)
            for place, ((field, arrow), column_type) in enumerate(zip(fields, types, strict=True))
            if texts[place] is None
        }
    native = positional
    # Each step of a plan takes Spark some milliseconds to look at.
    if any(text not in (None, f"c{place}") for place, text in enumerate(texts)):
        native = positional.selectExpr(*[f"c{place}" if text is None else f"{text} AS c{place}" for place, text in enumerate(texts)])
    selected = _selected(native, others, df.schema.fields)
    tell_of_types((field.name, arrow) for field, arrow in fields)
    return SparkSource(selected, tuple(types), weakref.ref(df), selected is positional, tuple(df.columns))


def _selected(df: Any, columns: Mapping[int, Column], fields: Sequence[StructField]) -> Any:
    """A DataFrame with other columns in some places, computed of its fields.

    Raises
    ------
    SchemaError
        If Spark does not compute with the values of one of them.
    """
    from pyspark.errors import PySparkException

    if not columns:
        return df
    try:
        return _analysed(df, columns)
    except PySparkException as error:
        refused = error
    found = list(columns)
    while len(found) > 1:
        half = found[: len(found) // 2]
        try:
            _analysed(df, {place: columns[place] for place in half})
            found = found[len(half) :]
        except PySparkException as error:
            found, refused = half, error
    raise SchemaError(_refusal(fields[found[0]], str(refused))) from None


def _analysed(df: Any, columns: Mapping[int, Column]) -> Any:
    found = df.withColumns({f"c{place}": column for place, column in columns.items()})
    # A server says what is wrong when it is asked for the schema.
    _ = found.schema
    return found


def _refusal(field: StructField, told: str) -> str:
    """What to do about a column that Spark shows but does not compute with, such as times of day where its settings do not say so."""
    from sframe_spark.engine.spark.actions import in_one_line

    kind, reason = field.dataType.simpleString(), in_one_line(told)
    change = "set spark.sql.timeType.enabled to true" if "TIME_TYPE" in told else "cast it to another type first"
    return f"column {field.name!r}: Spark does not compute with {kind:.200} values: {reason} To hold them, {change}"


def _column_type(arrow: pa.DataType, name: str) -> ColumnType:
    with column_named(name):
        return arrow_column_type(arrow)
