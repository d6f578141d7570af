"""Databases whose libraries take and give Arrow batches: DuckDB, and all that ADBC has drivers for."""

from __future__ import annotations

import contextlib
import decimal
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from sframe_spark.api.io.database_connections import one_transaction
from sframe_spark.api.io.database_tables import ZONED, TableRequest, existing_table_error, quoted
from sframe_spark.api.io.database_values import QueryRequest, columns_of_table, is_numeric_of_postgresql, no_rows_error, node_of_arrow
from sframe_spark.engine.execution.materialize_count_and_read_rows import iterate
from sframe_spark.errors import InvalidArgumentError, SchemaError, UnsupportedOperationError
from sframe_spark.message_text import visible
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME

_TYPE_WITH_OFFSET = pa.timestamp("us", "UTC")


def _batches(node: PlannerNode, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield all rows in batches, at least one, which may be empty; date-times with an offset as instants in UTC."""
    columns = columns_of_table(node, names)
    types = [
        kind.physical if not kind.is_zoned else _TYPE_WITH_OFFSET if found == ZONED else DATETIME.physical
        for kind, (_, found) in zip(node.schema, columns, strict=True)
    ]
    schema = pa.schema(list(zip(names, types, strict=True)))
    for chunk in chain(iterate(node), [Chunk.empty(node.schema)]):
        values = [
            _datetimes(column, data_type) if kind.is_zoned else column
            for column, kind, data_type in zip(chunk.columns, node.schema, types, strict=True)
        ]
        yield pa.Table.from_arrays(values, schema=schema)


def _datetimes(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    # Missing rows may have an instant below.
    (instants, _) = values.flatten()
    return instants.cast(pa.int64()).cast(data_type)


# DuckDB

_SIMPLE = re.compile(
    r"(?:U?(?:TINY|SMALL|BIG)?INT(?:EGER)?|HUGEINT|FLOAT|DOUBLE|BOOLEAN|VARCHAR|DATE|TIME|TIMESTAMP(?: WITH TIME ZONE)?|DECIMAL\(\d+,\d+\))"
)
_VIEW = "sframe_rows"


def read_duckdb(conn: Any, request: QueryRequest) -> tuple[PlannerNode, list[str]] | None:
    """Return the rows of a query as a source, and its column names; None if they must be read as Python values.

    These are statements other than a single query, and columns of types that Arrow does not have, or has with another meaning.
    """
    if not isinstance(request.statement, str):
        return None
    statements = conn.extract_statements(request.statement)
    if len(statements) != 1 or not str(statements[0].type).endswith("SELECT"):
        return None
    relation = conn.sql(request.statement) if request.params is None else conn.sql(request.statement, params=request.params)
    if relation is None or not all(_SIMPLE.fullmatch(str(kind)) for kind in relation.types):
        return None
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    with contextlib.closing(read(request.batch_size)) as reader:
        return node_of_arrow(reader, reader.schema, request)


def insert_into_duckdb(node: PlannerNode, names: Sequence[str], conn: Any, table: Sequence[str], exact_names: bool) -> None:
    """Insert all rows into a table, batch by batch: DuckDB takes a hundred times as long for rows of Python values."""
    columns = f" ({', '.join(map(quoted, names))})" if exact_names else ""
    statement = f"INSERT INTO {'.'.join(map(quoted, table))}{columns} SELECT * FROM {_VIEW}"
    for batch in _batches(node, names):
        conn.register(_VIEW, batch)
        conn.execute(statement)
        conn.unregister(_VIEW)


# ADBC

# The qualifiers of a table, from its name leftwards, and the attributes of connections with the one in use.
_PLACES = {"db_schema_name": "adbc_current_db_schema", "catalog_name": "adbc_current_catalog"}


def is_adbc(conn: Any) -> bool:
    """Return whether it is a DB-API connection of ADBC."""
    return hasattr(conn, "adbc_get_table_schema")


def read_adbc(conn: Any, request: QueryRequest) -> tuple[PlannerNode, list[str]]:
    """Return the rows of a query as a source, and its column names.

    Raises
    ------
    SchemaError
        If no column can hold the type of a column.
    """
    with contextlib.closing(conn.cursor()) as cursor:
        cursor.execute(request.statement, request.params)
        if not cursor.description:
            raise no_rows_error(request.statement)
        with contextlib.closing(cursor.fetch_record_batch()) as reader:
            return node_of_arrow(reader, reader.schema, request)


def write_adbc(node: PlannerNode, names: Sequence[str], conn: Any, request: TableRequest) -> None:
    """Insert all rows into a table, which is created if necessary, in one transaction.

    Raises
    ------
    InvalidArgumentError
        If there is a table, and ``if_exists`` is ``"fail"``; or values are inserted by position into a table that has another number of columns.
    SchemaError
        If a value does not fit the type of its column in the table.
    """
    request.require_valid(names, node)
    *place, name = request.parts
    with contextlib.closing(conn.cursor()) as cursor, one_transaction(conn, cursor):
        places = dict(zip(_PLACES, reversed(place), strict=False)) or _place_in_postgresql(conn, cursor, name)
        existing = _columns_in_adbc(conn, name, places)
        if existing is not None and request.if_exists == "fail":
            raise existing_table_error(request.table)
        if existing is not None and request.if_exists == "delete_rows":
            cursor.execute(f"DELETE FROM {'.'.join(map(quoted, request.parts))}")
        mode = "create" if existing is None else "replace" if request.if_exists == "replace" else "append"
        if mode == "append" and not request.exact_names and existing is not None:
            if len(existing) != len(names):
                raise InvalidArgumentError(f"the table {visible(request.table)} has {len(existing)} columns, but the frame has {len(names)}")
            names = existing
        # Drivers may write values in the form of their Arrow type, whatever the type of the column.
        filters = {f"{key}_filter".replace("_name_", "_"): place for key, place in places.items()}
        fields = list(conn.adbc_get_table_schema(name, **filters)) if mode == "append" else []
        for batch in _batches(node, names):
            cursor.adbc_ingest(name, _for_table(batch, fields), mode=mode, **places)
            mode = "append"


def _place_in_postgresql(conn: Any, cursor: Any, name: str) -> dict[str, str]:
    """Return the schema in which PostgreSQL finds a table, as ADBC searches only the first one; nothing if it does not find the table.

    Raises
    ------
    UnsupportedOperationError
        If it is a temporary table, into which ADBC does not insert.
    """
    if conn.adbc_get_info().get("vendor_name") != "PostgreSQL":
        return {}
    asked = "SELECT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = to_regclass($1)"
    cursor.execute(asked, (quoted(name),))
    found = cursor.fetchone()
    if found is None:
        return {}
    if found[0].startswith("pg_temp"):
        raise UnsupportedOperationError(f"{visible(name)} is a temporary table, into which ADBC cannot insert: use psycopg, or another name")
    return {"db_schema_name": found[0]}


def _for_table(batch: pa.Table, fields: Sequence[pa.Field]) -> pa.Table:
    """Return rows with the types of the fields of a table where values have one of these without a change."""
    targets = {field.name: field.type for field in fields}
    for index, name in enumerate(batch.column_names):
        if name in targets:
            converted = _for_column(batch.column(index), targets[name], name)
            batch = batch.set_column(index, pa.field(name, converted.type), converted)
    return batch


def _for_column(values: pa.ChunkedArray, target: pa.DataType, name: str) -> pa.ChunkedArray:
    # What a text becomes, the driver knows; SQLite's holds any value in any column.
    is_narrower = pa.types.is_integer(target) or pa.types.is_boolean(target) or pa.types.is_date(target)
    if is_narrower and target != pa.int64() and not pa.types.is_string(values.type):
        try:
            converted = values.cast(target)
            if converted.cast(values.type).equals(values):
                return converted
        except pa.ArrowNotImplementedError:
            return values
        except pa.ArrowInvalid:
            pass
        raise SchemaError(f"column {name!r} has a value that the column of the table ({target}) cannot hold")
    if pa.types.is_float32(target) and pa.types.is_floating(values.type):
        return values.cast(target, safe=False)
    if is_numeric_of_postgresql(target) and pa.types.is_floating(values.type):
        # As PostgreSQL itself converts a double.
        return pa.chunked_array([pa.array([None if number is None else decimal.Decimal(repr(number)) for number in values.to_pylist()])])
    if isinstance(target, pa.BaseExtensionType) and target.extension_name == "arrow.uuid" and pa.types.is_string(values.type):
        try:
            return pa.chunked_array([pa.array([None if text is None else uuid.UUID(text).bytes for text in values.to_pylist()], pa.binary(16))])
        except ValueError as error:
            raise InvalidArgumentError(f"column {name!r} has a text that is not a UUID: {error}") from error
    return values


def _columns_in_adbc(conn: Any, name: str, places: Mapping[str, str]) -> list[str] | None:
    """Return the columns of a table; None if there is no such table. (PostgreSQL aborts a transaction that asks for a missing table.)"""
    schema, catalog = (places.get(key, _current(conn, attribute)) for key, attribute in _PLACES.items())
    found = conn.adbc_get_objects(depth="columns", catalog_filter=catalog, db_schema_filter=schema, table_name_filter=name).read_all().to_pylist()
    for group in found:
        for of_schema in group["catalog_db_schemas"] or ():
            for table in of_schema["db_schema_tables"] or ():
                # The filters are patterns, in which an underscore is any character.
                if table["table_name"] == name and schema in (None, of_schema["db_schema_name"]) and catalog in (None, group["catalog_name"]):
                    return [column["column_name"] for column in table["table_columns"]]
    return None


def _current(conn: Any, attribute: str) -> str | None:
    """Return the schema or catalog in use; None if the driver does not report it."""
    with contextlib.suppress(Exception):
        return getattr(conn, attribute) or None
    return None
