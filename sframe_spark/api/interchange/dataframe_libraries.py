"""Converts to and from pandas, pyarrow and libraries with Arrow's C stream interface, such as Polars; recognises their frames and columns."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.api.column_names import require_distinct, require_unicode, with_automatic_names
from sframe_spark.api.node_value_conversion import collect_chunks, combine_columns, node_from_values, python_columns, rows_of
from sframe_spark.errors import InvalidArgumentError, SchemaError, SFrameError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import visible
from sframe_spark.operators.project_zip_arrange import columns_of
from sframe_spark.operators.sources.in_memory import memory_source_of_parts
from sframe_spark.optional_libraries import import_library
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY, DATETIME_KIND, DICT_KIND, ENCODED_DICT, ENCODED_LIST, LIST_KIND, STR, STR_KIND, ColumnType
from sframe_spark.values.input_copying_simplification_and_validation import library_of, require_known_extensions, require_valid_arrow
from sframe_spark.values.invalid_unicode_errors import column_named, naming_broken_string
from sframe_spark.values.python_to_arrow import encode_parts
from sframe_spark.values.rounding_warnings import rounding_warnings

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate, materialize
    from sframe_spark.values import export_to_arrow_and_json as exported
    from sframe_spark.values.arrow_to_column_types import normalized_parts, warn_of_long_decimals
    from sframe_spark.values.datetimes import all_in_years_of_python, warn_of_nanoseconds
    from sframe_spark.values.export_to_arrow_and_json import Form, FormFinder, kind_of_json, values_of_texts

# Frames made of Arrow tables; metadata of a field may give the original column type

ENCODED = {LIST_KIND: ENCODED_LIST, DICT_KIND: ENCODED_DICT}
JSON_EXTENSION = "arrow.json"


def frame_from_arrow(table: pa.Table) -> tuple[PlannerNode, list[str]]:
    """Return the columns of an Arrow table as a source, and their names.

    Raises
    ------
    SchemaError
        If no column type can hold the values of a column; the message names it.
    InvalidArgumentError
        If the data of a column are invalid; the message names it.
    """
    names = [str(name) for name in table.column_names]
    require_distinct(names)
    pairs = []
    for name, field, column in zip(names, table.schema, table.columns, strict=True):
        with column_named(name):
            pairs.append(column_from_arrow(field, column))
    warn_of_long_decimals(zip(names, table.columns, strict=True))
    return memory_source_of_parts([parts for parts, _ in pairs], [kind for _, kind in pairs], table.num_rows), names


def column_from_arrow(field: pa.Field, column: pa.ChunkedArray) -> tuple[list[pa.Array], ColumnType]:
    """Return a column as physical arrays, and its column type. JSON strings become lists or dicts if all values are lists, or all dicts."""
    require_known_extensions(field)
    require_valid_arrow(column)
    warn_of_nanoseconds(column, field.name)
    with rounding_warnings(field.name):
        parts, column_type = normalized_parts(column)
    kind, text = field_metadata(field, exported.KIND), field_metadata(field, exported.TEXT)
    if column_type == STR and kind in ENCODED and text in (exported.JSON, exported.TAGGED):
        return _of_texts(parts, kind, text == exported.TAGGED)
    if column_type == STR and isinstance(field.type, pa.BaseExtensionType) and field.type.extension_name == JSON_EXTENSION:
        kind = kind_of_json(_texts(parts))
        return (parts, column_type) if kind is None else _of_texts(parts, kind, False)
    # Arrays and lists of floats have the same physical type, so the metadata decides.
    return parts, ColumnType(LIST_KIND, column_type.physical) if kind == LIST_KIND and column_type == ARRAY else column_type


def _of_texts(parts: Sequence[pa.Array], kind: str, tagged: bool) -> tuple[list[pa.Array], ColumnType]:
    values = values_of_texts(_texts(parts), kind, tagged)
    with naming_broken_string(values):
        return encode_parts(values, ENCODED[kind]), ENCODED[kind]


def _texts(parts: Sequence[pa.Array]) -> list[Any]:
    return [text for part in parts for text in part.to_pylist()]


def field_metadata(field: pa.Field, key: str) -> str | None:
    """Return an entry of a field's metadata as a string, or None. Metadata is not trusted: bytes that are not UTF-8 are replaced.

    Examples
    --------
    >>> field_metadata(pa.field("a", pa.int64(), metadata={"k": "v"}), "k"), field_metadata(pa.field("a", pa.int64()), "k")
    ('v', None)
    """
    value: Any = (field.metadata or {}).get(key.encode())
    return None if value is None else value.decode("utf-8", "replace")


def gives_rows(data: Any) -> bool:
    """Return whether data is a table of another library, or a lazy Polars frame. Single columns, which have a ``dtype``, are not tables.

    Examples
    --------
    >>> gives_rows(pa.table({"a": [1]}).to_reader()), gives_rows([1])
    (True, False)
    """
    gives = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return (gives and not hasattr(data, "dtype") and not isinstance(data, (pa.Array, pa.ChunkedArray))) or is_polars_query(data)


def is_polars_query(data: Any) -> bool:
    """Return whether data is a Polars LazyFrame."""
    return library_of(data) == "polars" and type(data).__name__ == "LazyFrame"


def arrow_table(data: Any) -> pa.Table:
    """Return all rows of another library's data as an Arrow table; a stream of single values becomes a column ``X1``.

    Raises
    ------
    InvalidArgumentError
        If the other library raises an error when it exports the data.
    SchemaError
        If the library exports a type with a wrong meaning.
    """
    try:
        data = data.collect() if is_polars_query(data) else data
        _refuse_mistranslated_types(data)
        if not hasattr(data, "__arrow_c_stream__"):
            values = pa.array(data)
            return pa.table(pa.RecordBatch.from_struct_array(values)) if pa.types.is_struct(values.type) else pa.table({"X1": values})
        try:
            reader = pa.RecordBatchReader.from_stream(data)
        except (pa.ArrowException, TypeError):
            return pa.table({"X1": pa.chunked_array(data)})
        return reader.read_all()
    except (SFrameError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        # Errors inside Polars are BaseExceptions, not Exceptions.
        column = _column_that_fails(data)
        origin = f"the {type(data).__name__}" if column is None else f"column {column!r} of the {type(data).__name__}"
        raise InvalidArgumentError(f"{origin} cannot be converted to rows: {visible(str(error))}; cast it to another type first") from error


def _refuse_mistranslated_types(data: Any) -> None:
    """Raise an error for types that libraries export with a wrong meaning: DuckDB's BIT and UHUGEINT, and Polars' Python objects.

    Raises
    ------
    SchemaError
        If a column has such a type.
    """
    if library_of(data) in ("duckdb", "_duckdb"):
        types = list(zip(getattr(data, "columns", ()), getattr(data, "types", ()), strict=False))
        _refuse_types(types, "BIT", "DuckDB returns BIT values as bytes that are not text: cast them to VARCHAR first")
        _refuse_types(types, "UHUGEINT", "DuckDB returns the largest UHUGEINT values as negative numbers: cast them to HUGEINT or VARCHAR first")
    elif library_of(data) == "polars" and isinstance(schema := getattr(data, "schema", None), Mapping):
        _refuse_types(schema.items(), "Object", "polars exports Python objects as memory addresses: give SFrame a dict of lists")


def _refuse_types(types: Iterable[tuple[Any, Any]], refused: str, reason: str) -> None:
    for name, data_type in types:
        # Remove quoted names of fields and categories from the type's text before searching it.
        if re.search(rf"\b{refused}\b", re.sub(r'"[^"]*"|\'[^\']*\'', "", str(data_type))):
            raise SchemaError(f"column {visible(str(name))!r}: {reason}")


def _column_that_fails(data: Any) -> str | None:
    """Return the name of the first column that a Polars DataFrame cannot export; None for other data, which may not be readable twice."""
    is_frame_of_polars = library_of(data) == "polars" and type(data).__name__ == "DataFrame"
    for name in data.columns if is_frame_of_polars else ():
        try:
            pa.RecordBatchReader.from_stream(data.select([name])).read_all()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException:
            return str(name)
    return None


def forms_of(node: PlannerNode) -> list[Form]:
    """Return the export form of each column. For date-times with an offset and mixed lists and dicts, all values are computed and inspected."""
    finders = [FormFinder(column_type) for column_type in node.schema]
    inspected = [index for index, finder in enumerate(finders) if finder.needs_values]
    if inspected:
        materialize(node)
        for chunk in iterate(columns_of(node, inspected)):
            for index, column in zip(inspected, chunk.columns, strict=True):
                finders[index].add(column)
    return [finder.form() for finder in finders]


def form_of_arrays(arrays: Iterable[pa.Array], column_type: ColumnType, makes_tensors: bool = True) -> Form:
    """Return the export form of a column whose arrays are in memory."""
    finder = FormFinder(column_type, makes_tensors)
    for array in arrays:
        finder.add(array)
    return finder.form()


def schema_of(forms: Sequence[Form], names: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of exported columns.

    Raises
    ------
    InvalidArgumentError
        If a name is not valid Unicode.
    """
    require_unicode(names)
    return pa.schema([form.field(name) for form, name in zip(forms, names, strict=True)])


def table_of_rows(node: PlannerNode, names: Sequence[str]) -> pa.Table:
    """Return all rows as an Arrow table in memory."""
    columns = [list(column) for column in zip(*(chunk.columns for chunk in collect_chunks(node)), strict=True)]
    forms = [form_of_arrays(arrays, column_type) for arrays, column_type in zip(columns, node.schema, strict=True)]
    schema = schema_of(forms, names)
    for index, (form, field) in enumerate(zip(forms, schema, strict=True)):
        # Replaced one by one, so that the memory of the previous arrays is released.
        columns[index] = pa.chunked_array(list(map(form.convert, columns[index])), field.type)
    return pa.Table.from_arrays(columns, schema=schema)


def stream_of_rows(node: PlannerNode, names: Sequence[str]) -> pa.RecordBatchReader:
    """Return a reader of all rows in order. The node is materialized now, so that errors are raised here and not by the other library."""
    materialize(node)
    forms = forms_of(node)
    schema = schema_of(forms, names)
    return pa.RecordBatchReader.from_batches(schema, _batches(node, forms, schema))


def _batches(node: PlannerNode, forms: Sequence[Form], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for chunk in iterate(node):
        if chunk.columns:
            converted = [form.convert(column) for form, column in zip(forms, chunk.columns, strict=True)]
            yield from pa.Table.from_arrays(converted, schema=schema).to_batches()


def array_of_values(node: PlannerNode, makes_tensors: bool = True) -> pa.Array:
    """Return all values of a one-column node as an array in memory."""
    column = rows_of(node).columns[0]
    return form_of_arrays([column], node.schema[0], makes_tensors).convert(column)


def stream_of_values(node: PlannerNode) -> pa.ChunkedArray:
    """Return all values of a one-column node in memory, because Arrow has no stream that computes single values lazily."""
    return pa.chunked_array([array_of_values(node, makes_tensors=False)])


# Columns of other libraries that are used as operands: numpy arrays, Series of pandas and Polars, and Arrow arrays


def is_column(value: Any) -> bool:
    """Return whether a value is a column of another library; numpy scalars and lists are not.

    Examples
    --------
    >>> import numpy as np
    >>> is_column(np.array([1, 2])), is_column(pa.array([1])), is_column(np.float64(1)), is_column([1, 2])
    (True, True, False, False)
    """
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return True
    # The attribute is searched on the class; an SArray would compute its values for it.
    if not callable(getattr(type(value), "__array__", None)) or not hasattr(value, "dtype"):
        return False
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) > 0


def is_mask(value: Any) -> bool:
    """Return whether a value is a one-dimensional column of Booleans of any library.

    Examples
    --------
    >>> import numpy as np
    >>> is_mask(np.array([True, False])), is_mask(pa.array([True, None])), is_mask(np.array([1, 0]))
    (True, True, False)
    """
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return pa.types.is_boolean(value.type)
    if not is_column(value) or len(value.shape) != 1:
        return False
    return str(value.dtype).lower() in ("bool", "boolean", "bool[pyarrow]", "boolean[pyarrow]", "torch.bool")


# pandas DataFrames, column by column


def frame_from_pandas(data: Any, naive: bool = False) -> tuple[PlannerNode, list[str]]:
    """Return the columns of a pandas DataFrame as a node, and their names as strings; a name in a MultiIndex is a tuple, written as a string.

    Parameters
    ----------
    data
        The DataFrame; its index is left out.
    naive
        Whether date-times without a time zone remain without an offset; otherwise they are in UTC, as in SFrame.

    Raises
    ------
    SchemaError
        If no column type can hold the values of a column; the message names it.
    TakenNameError
        If two columns have the same name.
    """
    names = with_automatic_names(map(str, data.columns))
    require_distinct(names)
    nodes = [_column(data.iloc[:, index], name, naive) for index, name in enumerate(names)]
    return combine_columns(nodes), names


def _column(series: Any, name: str, naive: bool) -> PlannerNode:
    with column_named(name):
        if hasattr(series.dtype, "pyarrow_dtype"):
            values = pa.chunked_array(series.array.__arrow_array__())
            parts, column_type = column_from_arrow(pa.field(name, series.dtype.pyarrow_dtype), values)
            warn_of_long_decimals([(name, values)])
            return memory_source_of_parts([parts], [column_type])
        if naive and series.dtype.kind == "M" and getattr(series.dtype, "tz", None) is None:
            return node_from_values(pa.array(series.copy(), from_pandas=True), name=name)
        return node_from_values(series, name=name)


# The dtypes of columns without rows.
EMPTY_DTYPES = {"int": "int64", "float": "float64", "datetime": "datetime64[us]"}


def pandas_frame(node: PlannerNode, names: Sequence[str]) -> Any:
    """Return all rows as a pandas DataFrame."""
    pandas = import_library("pandas")
    if not names:
        return pandas.DataFrame({})
    chunk = rows_of(node, as_objects=True)
    columns = zip(names, chunk.columns, node.schema, strict=True)
    frame = pandas.DataFrame({number: pandas_column(column, kind, name) for number, (name, column, kind) in enumerate(columns)})
    try:
        frame.columns = pandas.Index(names)
    except UnicodeEncodeError:
        # From pandas 3 on strings are Arrow's, which hold no half of a surrogate pair.
        frame.columns = pandas.Index(names, dtype="object")
    return frame


def pandas_column(column: pa.Array, column_type: ColumnType, name: str) -> Any:
    """Return a column as a pandas Series. Numbers, strings and most date-times are converted without making Python objects of all values."""
    pandas = import_library("pandas")
    if not len(column):
        return pandas.Series([], dtype=EMPTY_DTYPES.get(column_type.kind, "object"))
    if column_type.kind == STR_KIND:
        # As objects, so that missing strings remain None.
        return pandas.Series(column.to_numpy(zero_copy_only=False), dtype="object")
    if column.null_count < len(column):
        if column_type.is_numeric:
            return pandas.Series(column.to_numpy(zero_copy_only=False))
        datetimes = _naive_or_utc(column) if column_type.kind == DATETIME_KIND else None
        if datetimes is not None:
            return datetimes
    return pandas.Series(python_columns(Chunk((column,), len(column)), (column_type,), 0, [name])[0])


def _naive_or_utc(column: pa.Array) -> Any:
    """Return date-times as a Series, if all have no offset or all are in UTC, and pandas can hold their years; else None."""
    pandas = import_library("pandas")
    zoned = pa.types.is_struct(column.type)
    if zoned:
        offsets = pc.unique(column.field("offset").filter(column.is_valid())).to_pylist()
        if offsets != [0]:
            return None
        column = if_else(column.is_valid(), column.field("instant"), None)
    if not all_in_years_of_python(column):
        return None
    # As pandas makes of datetimes: nanoseconds before version 3, and microseconds since.
    unit = pandas.Series([datetime.datetime(2000, 1, 1)]).dt.unit
    try:
        values = pandas.Series(column.cast(pa.timestamp(unit)).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None
    return values.dt.tz_localize(datetime.UTC) if zoned else values
