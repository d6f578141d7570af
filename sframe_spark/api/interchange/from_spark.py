"""Makes frames of Spark DataFrames. Columns get the same types as the columns of the Arrow table that ``df.toArrow()`` returns."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.column_names import require_distinct
from sframe_spark.compute.spark_columns import ddl, fit, spark_type
from sframe_spark.engine.spark.error_translation import run_spark
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.python_of_spark_workers import naming_our_python
from sframe_spark.session.spark_versions import arrow_function, utc_datetime_of_microseconds
from sframe_spark.storage.filesystem.format_recognition import refuse_files_of_saved_for_spark
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.types import (
    ARRAY,
    DATETIME,
    DATETIME_KIND,
    DICT_KIND,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    FLOAT_KIND,
    INT,
    INT_KIND,
    LIST_KIND,
    STR,
    STR_KIND,
    ZONED_DATETIME,
    ColumnType,
)
from sframe_spark.values.arrow_to_column_types import arrow_column_type, normalize, warn_of_decimal_types
from sframe_spark.values.invalid_unicode_errors import column_named
from sframe_spark.values.plain_values import plain_dict, plain_list
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.spark_variant_decoding_and_json import MISSING_KIND, ZONED_KIND, VariantType, refuse_damaged, variant_kind, variant_value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType


# VARIANT columns: the common type of their values, and conversion of the values to it

# The kinds of VARIANTs that a column of each type can hold. A column gets the first type that can hold all its kinds.
_KINDS_BY_TYPE: dict[ColumnType, frozenset[str]] = {
    ENCODED_DICT: frozenset({DICT_KIND}),
    ENCODED_LIST: frozenset({LIST_KIND}),
    INT: frozenset({INT_KIND}),
    FLOAT: frozenset({INT_KIND, FLOAT_KIND}),
    STR: frozenset({STR_KIND}),
    DATETIME: frozenset({DATETIME_KIND}),
    ZONED_DATETIME: frozenset({DATETIME_KIND, ZONED_KIND}),
}
# For messages: what the kinds are called, and the Spark types to which VARIANTs of each kind can be cast.
_KIND_WORDS = {
    DICT_KIND: ("dicts", "map<string,variant>"),
    LIST_KIND: ("lists", "array<variant>"),
    FLOAT_KIND: ("floats", "double"),
    INT_KIND: ("ints", "bigint"),
    STR_KIND: ("texts", "string"),
    ZONED_KIND: ("moments", "timestamp"),
    DATETIME_KIND: ("date-times", "timestamp_ntz"),
}


def kinds_of_variants(values: pa.Array) -> pa.Array:
    """Return the kind of each VARIANT in a Spark array, as strings; null where the VARIANT is missing or null."""
    content, _ = values.flatten()
    starts = pc.binary_slice(content, 0, 2).dictionary_encode()
    kinds = [variant_kind(start) for start in starts.dictionary.to_pylist()]
    encoded = pa.DictionaryArray.from_arrays(starts.indices, pa.array([None if kind == MISSING_KIND else kind for kind in kinds], pa.string()))
    return encoded.dictionary_decode()


def type_of_kinds(kinds: Collection[str]) -> ColumnType:
    """Return the type of a column whose VARIANTs have the given kinds; float if there are none.

    Raises
    ------
    SchemaError
        If no column type can hold all kinds, or VARIANTs are damaged.

    Examples
    --------
    >>> str(type_of_kinds({"int", "float"})), str(type_of_kinds({"list"})), str(type_of_kinds(()))
    ('float', 'list', 'float')
    """
    refuse_damaged(kinds)
    if not kinds:
        return FLOAT
    for column_type, allowed in _KINDS_BY_TYPE.items():
        if allowed.issuperset(kinds):
            return column_type
    raise SchemaError(f"its VARIANTs are {_words(kinds)}, but a column holds values of one kind: {_advice(kinds)}")


def may_widen(kinds: Collection[str]) -> bool:
    """Return whether other kinds of VARIANTs could still change the type of a column to a wider one.

    Examples
    --------
    >>> may_widen({"int"}), may_widen(()), may_widen({"dict"}), may_widen({"int", "float"})
    (True, True, False, False)
    """
    return sum(allowed.issuperset(kinds) for allowed in _KINDS_BY_TYPE.values()) > 1


def variant_column(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return VARIANTs as an array in the physical form of the column's inferred type.

    Raises
    ------
    SchemaError
        If some have a kind that the type cannot hold, or contain values that no column can hold.
    """
    expected = _KINDS_BY_TYPE[column_type]
    unexpected = set(pc.unique(kinds_of_variants(values)).drop_null().to_pylist()) - expected
    refuse_damaged(unexpected)
    if unexpected:
        problem = f"some of its VARIANTs are {_words(unexpected)}, but the first ones, which determined its type, were {_words(expected)}"
        raise SchemaError(f"{problem}: {_advice(unexpected | expected)}")
    parts = zip(*(part.to_pylist() for part in values.flatten()), strict=True)
    cells = [None if value is None else variant_value(value, names) for value, names in parts]
    if column_type.is_encoded:
        plain = plain_dict if column_type == ENCODED_DICT else plain_list
        cells = [None if cell is None else plain(cell) for cell in cells]
    return encode_plain(cells, column_type)


def _words(kinds: Collection[str]) -> str:
    named = [words for kind, (words, _) in _KIND_WORDS.items() if kind in kinds]
    return " and ".join([*named, *sorted(f"of kind {kind}" for kind in kinds if kind not in _KIND_WORDS)])


def _advice(kinds: Collection[str]) -> str:
    kind = next((kind for kind in _KIND_WORDS if kind in kinds), STR_KIND)
    words, ddl = _KIND_WORDS[kind]
    call = f"try_variant_get(..., '$', '{ddl}')"
    return f"take the {words} out of it with {call}, which gives None for values of other types, or the text of all values with to_json()"


# Spark's types: the Arrow type for each, and advice for types that no column can hold

# Spark's timestamps become date-times in UTC, as in ``df.toArrow()``, whatever the session's time zone is, so that both give equal values.
ZONE = "UTC"

ATOMIC: dict[str, Callable[[Any], pa.DataType]] = {
    "boolean": lambda kind: pa.bool_(),
    "byte": lambda kind: pa.int8(),
    "short": lambda kind: pa.int16(),
    "integer": lambda kind: pa.int32(),
    "long": lambda kind: pa.int64(),
    "float": lambda kind: pa.float32(),
    "double": lambda kind: pa.float64(),
    "decimal": lambda kind: pa.decimal128(kind.precision, kind.scale),
    "void": lambda kind: pa.null(),
    "string": lambda kind: pa.string(),
    "char": lambda kind: pa.string(),
    "varchar": lambda kind: pa.string(),
    "binary": lambda kind: pa.binary(),
    "date": lambda kind: pa.date32(),
    "timestamp": lambda kind: pa.timestamp("us", ZONE),
    "timestamp_ntz": lambda kind: pa.timestamp("us"),
    "time": lambda kind: pa.time64("ns"),
    "daytimeinterval": lambda kind: pa.duration("us"),
    "variant": lambda kind: VariantType(),
}
"""Arrow types of Spark's atomic types, by PySpark's type names."""

TO_STRING = "cast it to a string"
ADVICE = {
    "yearmonthinterval": f"{TO_STRING}, or extract its years and months",
    "interval": TO_STRING,
    "geometry": "take its bytes in hexadecimal with hex(st_asbinary())",
    "geography": "take its bytes in hexadecimal with hex(st_asbinary())",
    "udt": "make arrays of vectors with pyspark.ml.functions.vector_to_array(), or cast other values to another type",
}
"""Advice about types that no column holds."""


def arrow_type_of(data_type: DataType, name: str, part: str = "") -> pa.DataType:
    """Return the Arrow type for a Spark type; all its parts are nullable. ``part``: the part of the column's type, for errors.

    Raises
    ------
    SchemaError
        If no column can hold the values; the message names the column and the part of its type.
    """
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(data_type, ArrayType):
        return pa.list_(arrow_type_of(data_type.elementType, name, f"{part}[]"))
    if isinstance(data_type, MapType):
        return pa.map_(arrow_type_of(data_type.keyType, name, f"{part} key"), arrow_type_of(data_type.valueType, name, f"{part} value"))
    if isinstance(data_type, StructType):
        repeated = sorted(field for field, count in Counter(data_type.names).items() if count > 1)
        if repeated:
            raise SchemaError(
                f"{_described(name, part)}: a dict has one value for each key, but several fields are named {repeated[0]!r}: rename them first"
            )
        return pa.struct([pa.field(field.name, arrow_type_of(field.dataType, name, f"{part}.{field.name}")) for field in data_type.fields])
    kind = kind_of(data_type)
    if kind not in ATOMIC:
        advice = ADVICE.get(kind, "cast it to another type")
        raise SchemaError(f"{_described(name, part)}: a column cannot hold Spark's {data_type.simpleString():.200} values; {advice} first")
    return ATOMIC[kind](data_type)


def nullable(data_type: DataType) -> DataType:
    """Return a Spark type with all its parts nullable."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(data_type, ArrayType):
        return ArrayType(nullable(data_type.elementType), True)
    if isinstance(data_type, MapType):
        return MapType(nullable(data_type.keyType), nullable(data_type.valueType), True)
    if isinstance(data_type, StructType):
        return StructType([StructField(field.name, nullable(field.dataType), True) for field in data_type.fields])
    return data_type


def kind_of(data_type: DataType) -> str:
    """Return the name of a Spark type in these tables; all user-defined types are ``udt``."""
    from pyspark.sql.types import UserDefinedType

    return "udt" if isinstance(data_type, UserDefinedType) else data_type.typeName().split("(")[0]


def _described(name: str, part: str) -> str:
    return f"column {name!r}" + (f", in {part.lstrip('. ')!r} of it" if part else "")


# Conversion of Spark columns: by Spark expressions if they give the same results as Arrow, else by Arrow

# Spark types that Spark casts with the same result as Arrow.
CAST = ("boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "void", "string", "char", "varchar", "date", "timestamp_ntz")
# Structs with more fields are converted by Arrow, because Spark would plan the expression slowly.
MAX_FIELDS = 100


ITEMS = "transform(CAST({0} AS array<double>), item -> coalesce(item, CAST('NaN' AS double)))"


def native_expression(column: str, data_type: DataType, column_type: ColumnType) -> str | None:
    """Return an SQL expression that converts a column to its physical type; None if there is none.

    The expression is a string, because each call of a PySpark function sends several messages to the JVM, and there may be thousands of columns.
    """
    from pyspark.sql import types as kinds

    is_cast = _is_cast(data_type)
    if isinstance(data_type, kinds.TimestampType):
        # By its microseconds: a cast would give the local time in the session's time zone.
        moment = utc_datetime_of_microseconds(f"unix_micros({column})")
        return f"CASE WHEN {column} IS NOT NULL THEN named_struct('instant', {moment}, 'offset', 0) END"
    if not is_cast and column_type in (ENCODED_LIST, ENCODED_DICT):
        return None
    if isinstance(data_type, kinds.ArrayType) and _is_cast(data_type.elementType):
        if column_type == ARRAY:
            return ITEMS.format(column)
        is_cast = True
    # Not for decimal keys: Spark assumes that a cast of decimals may give null, and refuses to cast such keys.
    if isinstance(data_type, kinds.MapType) and _is_cast(data_type.valueType) and data_type.keyType.typeName() in set(CAST) - {"decimal"}:
        is_cast = True
    target = spark_type(column_type)
    if data_type.simpleString() == target:
        return column
    return f"CAST({column} AS {target})" if is_cast else None


def converted_column(column: Column, data_type: DataType, arrow: pa.DataType, column_type: ColumnType, name: str) -> Column:
    """Return a column converted without an SQL expression; errors about values that cannot be stored use ``name``."""
    from pyspark.sql import types as kinds

    if isinstance(data_type, kinds.StructType) and column_type not in (ENCODED_LIST, ENCODED_DICT):
        as_dict = _dict_of_fields(column, data_type, column_type)
        if as_dict is not None:
            return as_dict
    return converted_by_arrow(column.cast(nullable(data_type)), arrow, column_type, name)


def _is_cast(data_type: DataType) -> bool:
    return data_type.typeName() in CAST


def _dict_of_fields(column: Column, data_type: StructType, column_type: ColumnType) -> Column | None:
    """Return a struct converted to a dict of its fields, if Spark can cast all fields; else None."""
    from pyspark.sql import functions as F

    names = data_type.names
    # Spark ignores case when it looks up a field by name.
    has_unique_names = len({name.casefold() for name in names}) == len(names) <= MAX_FIELDS
    if not has_unique_names or not all(_is_cast(field.dataType) for field in data_type.fields):
        return None
    item = ddl(column_type.physical.item_type)
    pairs = [part for name in names for part in (F.lit(name), column.getField(name).cast(item))]
    return F.when(column.isNotNull(), F.create_map(*pairs))


def converted_by_arrow(column: Column, arrow: pa.DataType, column_type: ColumnType, name: str) -> Column:
    """Return a column whose batches Arrow converts, with the same result as for a column of an Arrow table."""
    from sframe_spark.udf.error_transport import error_transport

    transport = error_transport()

    def normalized(values: pa.Array) -> pa.Array:
        fitted = fit(values, arrow)
        try:
            with column_named(name):
                return variant_column(fitted.storage, column_type) if isinstance(arrow, VariantType) else normalize(fitted)[0]
        except DateTimeRangeError as error:
            raise error.located(name, None) from None

    def converted(values: pa.Array) -> pa.Array:
        return transport.guarded(lambda: normalized(values))

    return arrow_function(converted, spark_type(column_type))(column)


# Type inference for VARIANT columns, whose values are read when a frame is made

FIRST_ROWS = 1_000
"""Rows of the limit query that determines the type, unless later rows may widen it, as floats widen ints."""


def variant_types(df: DataFrame, names: Mapping[int, str]) -> dict[int, ColumnType]:
    """Return the types of VARIANT columns, given and returned by index; the columns of ``df`` are named c0, c1 and so on.

    Raises
    ------
    SchemaError
        If no type can hold the values of a column; the message uses the name in ``names``.
    """
    if not names:
        return {}
    first_kinds = _kinds_of_first_rows(df, list(names))
    types: dict[int, ColumnType] = {}
    for index, name in names.items():
        with column_named(name):
            types[index] = type_of_kinds(first_kinds[index])
    unsettled = [index for index in names if may_widen(first_kinds[index])]
    for index, kinds in _kinds_of_all_rows(df, unsettled).items():
        with column_named(names[index]):
            types[index] = type_of_kinds(kinds)
    return types


def _kinds(df: DataFrame, indices: Sequence[int]) -> DataFrame:
    """Return the kinds of the VARIANTs in some columns, as columns of strings with the same names."""
    with naming_our_python(df.sparkSession):
        return df.select(*[_kind(index) for index in indices])


def _kinds_of_first_rows(df: DataFrame, indices: Sequence[int]) -> dict[int, set[str]]:
    first = _kinds(df, indices).limit(FIRST_ROWS)
    rows = run_spark(first.collect, "reading the first VARIANTs of a DataFrame")
    return {index: {row[number] for row in rows} - {None} for number, index in enumerate(indices)}


def _kinds_of_all_rows(df: DataFrame, indices: Sequence[int]) -> dict[int, set[str]]:
    """Return the kinds in all rows of the given columns, by one aggregate query that reads only these."""
    from pyspark.sql import functions as F

    if not indices:
        return {}
    kinds = _kinds(df, indices).agg(*[F.collect_set(f"c{index}") for index in indices])
    (row,) = run_spark(kinds.collect, "reading the VARIANTs of a DataFrame")
    return {index: set(row[number]) for number, index in enumerate(indices)}


def _kind(index: int) -> Column:
    from pyspark.sql import functions as F

    def kinds(values: Any) -> pa.Array:
        return kinds_of_variants(values)

    return arrow_function(kinds, "string")(F.col(f"c{index}")).alias(f"c{index}")


def frame_from_spark(df: Any) -> tuple[PlannerNode, list[str]]:
    """Return a Spark DataFrame as a lazy source, and its column names.

    While a frame of a DataFrame is in use, further frames of that DataFrame share its rows and their order.

    Raises
    ------
    SchemaError
        If ``df`` is not a DataFrame of Spark, or no column type can hold the values of a column.
    StorageError
        If the DataFrame reads the files of a saved frame, which do not contain the column types.
    InvalidArgumentError
        If it is a streaming DataFrame.
    TakenNameError
        If two columns have the same name.
    """
    from sframe_spark.engine.physical.user_dataframes_to_materialize_first import shared_node
    from sframe_spark.engine.spark.error_translation import translated_errors
    from sframe_spark.session.session import require_frame_open

    _require_dataframe(df)
    require_frame_open(df.sparkSession)
    with translated_errors("checking the columns of a DataFrame"):
        # With Spark Connect, this sends a request to the server.
        if df.isStreaming:
            raise InvalidArgumentError("a frame cannot be made of a stream, which has no end: read its table or files with spark.read instead")
        return shared_node(df, lambda: _source(df).make_planner_node()), list(df.columns)


def _require_dataframe(data: Any) -> None:
    from pyspark.sql import DataFrame

    if not isinstance(data, DataFrame):
        known = hasattr(type(data), "to_spark") and hasattr(type(data), "to_pandas")
        advice = "pass its to_pandas(), whose rows are in order, or its to_spark()" if known else "pass a DataFrame, or collect() its rows"
        raise SchemaError(f"an SFrame cannot be made of {type(data).__module__}.{type(data).__name__}: {advice}")


def _source(df: Any) -> SparkSource:
    from pyspark.sql import functions as F

    from sframe_spark.engine.spark.user_dataframe_files import files_with_columns

    require_distinct(df.columns)
    refuse_files_of_saved_for_spark(files_with_columns(df, file_column(0), KEY_NAME))
    fields = [(field, arrow_type_of(field.dataType, field.name)) for field in df.schema.fields]
    positional = df.toDF(*[f"c{index}" for index in range(len(fields))])
    types_of_variants = variant_types(
        positional, {index: field.name for index, (field, arrow) in enumerate(fields) if isinstance(arrow, VariantType)}
    )
    types = [types_of_variants.get(index) or _column_type(arrow, field.name) for index, (field, arrow) in enumerate(fields)]
    names = [f"c{index}" for index in range(len(fields))]
    expressions = [native_expression(name, field.dataType, kind) for name, (field, _), kind in zip(names, fields, types, strict=True)]
    with naming_our_python(df.sparkSession) if None in expressions else nullcontext():
        converted = {
            index: converted_column(F.col(name), field.dataType, arrow, column_type, field.name)
            for index, (name, (field, arrow), column_type) in enumerate(zip(names, fields, types, strict=True))
            if expressions[index] is None
        }
    native = positional
    # Only if necessary, because each step of a plan costs Spark some milliseconds of analysis.
    if any(expression not in (None, name) for name, expression in zip(names, expressions, strict=True)):
        native = positional.selectExpr(*[f"{expression or name} AS {name}" for name, expression in zip(names, expressions, strict=True)])
    selected = _selected(native, converted, df.schema.fields)
    warn_of_decimal_types((field.name, arrow) for field, arrow in fields)
    return SparkSource(selected, tuple(types), weakref.ref(df), selected is positional, tuple(df.columns))


def _selected(df: Any, columns: Mapping[int, Column], fields: Sequence[StructField]) -> Any:
    """Return a DataFrame with some of its columns replaced by expressions.

    Raises
    ------
    SchemaError
        If Spark rejects the expression for a column; the message names the column.
    """
    from pyspark.errors import PySparkException

    if not columns:
        return df
    try:
        return _analysed(df, columns)
    except PySparkException as error:
        refused = error
    suspects = list(columns)
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        try:
            _analysed(df, {index: columns[index] for index in half})
            suspects = suspects[len(half) :]
        except PySparkException as error:
            suspects, refused = half, error
    raise SchemaError(_refusal(fields[suspects[0]], str(refused))) from None


def _analysed(df: Any, columns: Mapping[int, Column]) -> Any:
    replaced = df.withColumns({f"c{index}": column for index, column in columns.items()})
    # Spark Connect reports errors only when the schema is requested.
    _ = replaced.schema
    return replaced


def _refusal(field: StructField, message: str) -> str:
    """Return the error message about a column that Spark can display but not compute with, such as times of day unless a setting enables them."""
    from sframe_spark.engine.spark.error_translation import in_one_line

    kind, reason = field.dataType.simpleString(), in_one_line(message)
    change = "set spark.sql.timeType.enabled to true" if "TIME_TYPE" in message else "cast it to another type first"
    return f"column {field.name!r}: Spark cannot compute with {kind:.200} values: {reason} To keep them, {change}"


def _column_type(arrow: pa.DataType, name: str) -> ColumnType:
    with column_named(name):
        return arrow_column_type(arrow)
