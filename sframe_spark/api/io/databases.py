"""Reads rows from databases and inserts rows into them: the ways of SQLAlchemy, of Arrow, and of libraries that follow Python's DB-API."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from types import ModuleType
from typing import Any

from sframe_spark.api.io.database_connections import (
    MARKS,
    bare_connection,
    cursor_of_query,
    is_duckdb,
    known_module,
    module_of,
    one_transaction,
    opened_cursor,
    require_answer,
)
from sframe_spark.api.io.database_tables import SQLITE, TableRequest, dialect_of, prepared_table, quoted
from sframe_spark.api.io.database_values import QueryRequest, column_names, columns_of_table, no_rows_error, node_of_rows, require_no_offsets
from sframe_spark.api.io.databases_in_arrow import insert_into_duckdb, is_adbc, read_adbc, read_duckdb, write_adbc
from sframe_spark.api.io.sqlalchemy_databases import is_for_sqlalchemy, read_sqlalchemy, write_sqlalchemy
from sframe_spark.api.node_value_conversion import iterate_tuples
from sframe_spark.optional_libraries import import_library
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, ColumnType

ROWS_PER_INSERT = 1000
# Databases that quote names with backticks instead of the standard's quotes.
_BACKTICKS = ("mysql", "maria")
_SPECIFIERS = {"int": "%d", "float": "%f"}


def read_sql(conn: Any, request: QueryRequest) -> tuple[PlannerNode, list[str]]:
    """Return the rows of a query as a source, and its column names; rows are fetched in batches.

    Raises
    ------
    NoAttributeError
        If ``conn`` is not a connection.
    InvalidArgumentError
        If the statement returns no rows.
    SchemaError
        If a value does not fit the type of its column.
    """
    request.require_valid()
    if is_for_sqlalchemy(conn):
        return read_sqlalchemy(conn, request)
    conn = bare_connection(conn)
    if is_adbc(conn):
        return read_adbc(conn, request)
    if is_duckdb(conn) and (found := read_duckdb(conn, request)) is not None:
        return found
    module, size = known_module(conn, request.module), request.batch_size
    with cursor_of_query(conn, request.statement, request.params, size) as cursor:
        # Some cursors have no arraysize, and others do not allow setting it; then the size is passed in each call.
        fetch = cursor.fetchmany if getattr(cursor, "arraysize", None) == size else partial(cursor.fetchmany, size)
        # Server-side cursors of psycopg2 have a description only after the first rows.
        fetched = [fetch()] if cursor.description is None and getattr(cursor, "name", None) else []
        if cursor.description is None:
            raise no_rows_error(request.statement)
        description = [tuple(column) for column in cursor.description]
        names = column_names(column[0] for column in description)
        return node_of_rows(_all_batches(fetch, fetched, names), description, names, request, module), names


def _all_batches(fetch: Callable[[], Any], fetched: Sequence[Any], names: Sequence[str]) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the rows that were fetched, and those that follow, as the library gives them."""
    for batch in chain(fetched, iter(fetch, None)):
        if not batch:
            return
        # Some libraries can return rows as dicts; iterating over these would give the column names.
        yield [[row[name] for name in names] for row in batch] if isinstance(batch[0], Mapping) else batch


def write_sql(node: PlannerNode, names: Sequence[str], conn: Any, request: TableRequest) -> None:
    """Insert all rows into a table in one transaction, even if the connection is in autocommit mode; a missing table is created.

    Raises
    ------
    NoAttributeError
        If ``conn`` is not a connection.
    SchemaError
        If a column holds values that the table cannot, or the name of the table is not a string.
    InvalidArgumentError
        If there is a table, and ``if_exists`` is ``"fail"``.
    """
    if is_for_sqlalchemy(conn):
        write_sqlalchemy(node, names, conn, request)
        return
    conn = bare_connection(conn)
    if is_adbc(conn):
        write_adbc(node, names, conn, request)
        return
    library = module_of(conn, request.module)
    request.require_valid(names, node)
    dialect = dialect_of(library)
    if dialect is not None and not dialect.has_offsets:
        require_no_offsets(dialect.name, node, names)
    columns = partial(columns_of_table, node, names)
    with opened_cursor(conn) as cursor, prepared_table(cursor, dialect, request, columns, one_transaction(conn, cursor)) as target:
        if is_duckdb(conn):
            insert_into_duckdb(node, names, conn, target, request.exact_names)
            return
        statement = _insert(library, names, node.schema, target, request.specifiers, request.exact_names)
        rows: Iterator[Sequence[Any]] = iterate_tuples(node, names)
        if _adapts_datetimes_itself(library) and any(kind.kind == DATETIME_KIND for kind in node.schema):
            rows = (tuple(value.isoformat(" ") if isinstance(value, datetime.datetime) else value for value in row) for row in rows)
        insert = cursor.executemany
        if library.__name__ == "psycopg2":
            # Its executemany() sends each row by itself.
            insert = partial(import_library("psycopg2.extras").execute_batch, cursor, page_size=ROWS_PER_INSERT)
        while batch := list(islice(rows, ROWS_PER_INSERT)):
            named = [{f"p{number}": value for number, value in enumerate(row, 1)} for row in batch] if library.paramstyle == "named" else batch
            require_answer(conn, insert(statement, named))


def _adapts_datetimes_itself(library: ModuleType) -> bool:
    """Return whether sqlite3 would convert date-times to texts by its own adapter, deprecated since Python 3.12, and not by one of the user."""
    if dialect_of(library) is not SQLITE:
        return False
    adapter = getattr(library, "adapters", {}).get((datetime.datetime, getattr(library, "PrepareProtocol", None)))
    return getattr(adapter, "__module__", "").startswith("sqlite3")


def _insert(library: ModuleType, names: Sequence[str], types: Sequence[ColumnType], table: Sequence[str], specifiers: bool, exact_names: bool) -> str:
    """Return the INSERT statement, with quoted names and a placeholder for each value; ``table`` has the parts of its name."""
    style = library.paramstyle
    # In this library, a percent sign in a name is not a placeholder.
    style_of_names = "qmark" if library.__name__ == "mysql.connector" else style
    marks = [MARKS[style].format(number) for number in range(1, len(names) + 1)]
    if specifiers and style in ("format", "pyformat"):
        marks = [_SPECIFIERS.get(kind.kind, "%s") for kind in types]
    quote = "`" if any(word in library.__name__.lower() for word in _BACKTICKS) else '"'
    target = ".".join(quoted(part, quote, style_of_names) for part in table)
    columns = f" ({', '.join(quoted(name, quote, style_of_names) for name in names)})" if exact_names else ""
    return f"INSERT INTO {target}{columns} VALUES ({', '.join(marks)})"
