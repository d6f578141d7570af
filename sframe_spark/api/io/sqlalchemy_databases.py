"""Databases of SQLAlchemy: engines, connections, sessions and addresses; SQLAlchemy, which is imported when used, writes the SQL of each database."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from sframe_spark.api.io.database_connections import is_autocommit, is_sqlite, reads_only
from sframe_spark.api.io.database_tables import MYSQL, ZONED, TableRequest, existing_table_error, prepared_table
from sframe_spark.api.io.database_values import QueryRequest, column_names, columns_of_table, no_rows_error, node_of_rows, require_no_offsets
from sframe_spark.api.node_value_conversion import iterate_tuples
from sframe_spark.errors import InvalidArgumentError, MissingLibraryError, NoAttributeError, UnsupportedOperationError
from sframe_spark.message_text import visible
from sframe_spark.optional_libraries import import_library
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, INT_KIND, STR_KIND

ROWS_PER_INSERT = 1000


def is_for_sqlalchemy(conn: Any) -> bool:
    """Return whether SQLAlchemy takes it: an engine, connection or session of it, or an address, as a string or a URL of it.

    Connections of its pools, which hold one of a DB-API library, are not meant.

    Examples
    --------
    >>> is_for_sqlalchemy("sqlite:///shop.db"), is_for_sqlalchemy("jdbc:derby:shop"), is_for_sqlalchemy(None)
    (True, False, False)
    """
    if isinstance(conn, str):
        return "://" in conn and not conn.startswith("jdbc:")
    is_its = any(kind.__module__.partition(".")[0] == "sqlalchemy" for kind in type(conn).__mro__)
    return is_its and not hasattr(conn, "cursor")


@contextlib.contextmanager
def _opened(conn: Any) -> Iterator[Any]:
    """Return a context manager that gives a connection of SQLAlchemy, and closes it if it was opened here."""
    sqlalchemy = import_library("sqlalchemy")
    if isinstance(conn, (str, sqlalchemy.URL)):
        engine = _engine(sqlalchemy, conn)
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()
    elif isinstance(conn, sqlalchemy.Engine):
        with conn.connect() as connection:
            yield connection
    elif isinstance(conn, sqlalchemy.Connection):
        yield conn
    elif hasattr(conn, "get_bind") and not inspect.iscoroutinefunction(getattr(conn, "connection", None)):
        yield conn.connection()
    else:
        raise NoAttributeError(f"conn ({type(conn).__name__}) is not a synchronous engine, connection, session or URL of SQLAlchemy")


def _engine(sqlalchemy: Any, address: Any) -> Any:
    try:
        return sqlalchemy.create_engine(address)
    except ModuleNotFoundError as error:
        driver = (error.name or "").partition(".")[0]
        raise MissingLibraryError(
            f"the address needs {driver}: pip install {driver}, or name another library in it, as in postgresql+psycopg://host/database"
        ) from None


def read_sqlalchemy(conn: Any, request: QueryRequest) -> tuple[PlannerNode, list[str]]:
    """Return the rows of a query, a string or a statement of SQLAlchemy, as a source, and its column names.

    Raises
    ------
    NoAttributeError
        If ``conn`` is asynchronous.
    InvalidArgumentError
        If the statement returns no rows.
    """
    size = request.batch_size
    with _opened(conn) as connection:
        options = {"stream_results": _may_stream(connection, request.statement), "max_row_buffer": size, "no_parameters": request.params is None}
        run = connection.exec_driver_sql if isinstance(request.statement, str) else connection.execute
        with contextlib.closing(run(request.statement, request.params, execution_options=options)) as result:
            if not result.returns_rows:
                raise no_rows_error(request.statement)
            names = column_names(result.keys())
            description = [tuple(column) for column in result.cursor.description]
            batches = iter(partial(result.fetchmany, size), [])
            return node_of_rows(batches, description, names, request, connection.dialect.dbapi), names


def _may_stream(connection: Any, statement: Any) -> bool:
    """Return whether rows can stay at the server until they are fetched: SQLAlchemy leaves that to be known by who asks for it."""
    is_query = getattr(statement, "is_select", False) or reads_only(getattr(statement, "text", statement))
    driver = connection.connection.driver_connection
    return is_query and hasattr(driver, "cursor") and is_autocommit(driver) is not True


def write_sqlalchemy(node: PlannerNode, names: Sequence[str], conn: Any, request: TableRequest) -> None:
    """Insert all rows into a table, which is created if necessary, in one transaction, or in a savepoint of the open one.

    Raises
    ------
    NoAttributeError
        If ``conn`` is asynchronous.
    InvalidArgumentError
        If there is a table, and ``if_exists`` is ``"fail"``; or values are inserted by position into a table that has another number of columns.
    """
    request.require_valid(names, node)
    with _opened(conn) as connection, contextlib.ExitStack() as stack:
        sqlalchemy = import_library("sqlalchemy")
        columns = partial(columns_of_table, node, names)
        if connection.dialect.name in ("mysql", "mariadb"):
            require_no_offsets(MYSQL.name, node, names)
            cursor = stack.enter_context(contextlib.closing(connection.connection.cursor()))
            *place, name = stack.enter_context(prepared_table(cursor, MYSQL, request, columns, _one_transaction(connection)))
        else:
            *place, name = request.parts
            stack.enter_context(_one_transaction(connection))
            _prepare(sqlalchemy, connection, request, columns)
        schema = ".".join(place) or None
        targets = list(names)
        if not request.exact_names:
            targets = [column["name"] for column in sqlalchemy.inspect(connection).get_columns(name, schema)]
            if len(targets) != len(names):
                raise InvalidArgumentError(f"the table {visible(request.table)} has {len(targets)} columns, but the frame has {len(names)}")
        insert = sqlalchemy.insert(sqlalchemy.table(name, *map(sqlalchemy.column, targets), schema=schema))
        rows = iterate_tuples(node, names)
        while batch := list(islice(rows, ROWS_PER_INSERT)):
            connection.execute(insert, [dict(zip(targets, row, strict=True)) for row in batch])


def _prepare(sqlalchemy: Any, connection: Any, request: TableRequest, columns: Callable[[], Sequence[tuple[str, str]]]) -> None:
    """Make or empty the table; most databases do so within the transaction.

    Raises
    ------
    InvalidArgumentError
        If there is a table, and there must be none.
    """
    *place, name = request.parts
    schema = ".".join(place) or None
    exists = sqlalchemy.inspect(connection).has_table(name, schema)
    if exists and request.if_exists == "fail":
        raise existing_table_error(request.table)
    if exists and request.if_exists == "replace":
        sqlalchemy.Table(name, sqlalchemy.MetaData(), schema=schema).drop(connection)
    if exists and request.if_exists == "delete_rows":
        connection.execute(sqlalchemy.delete(sqlalchemy.table(name, schema=schema)))
    if not exists or request.if_exists == "replace":
        made = [sqlalchemy.Column(column, _type_of(sqlalchemy, kind)) for column, kind in columns()]
        sqlalchemy.Table(name, sqlalchemy.MetaData(), *made, schema=schema).create(connection)


def _type_of(sqlalchemy: Any, kind: str) -> Any:
    """Return SQLAlchemy's type of a kind of column: of 64 bits, and with microseconds."""
    types = {
        INT_KIND: sqlalchemy.BigInteger(),
        FLOAT_KIND: sqlalchemy.Double(),
        STR_KIND: sqlalchemy.Text(),
        DATETIME_KIND: sqlalchemy.DateTime(),
        ZONED: sqlalchemy.DateTime(timezone=True),
    }
    return types[kind]


@contextlib.contextmanager
def _one_transaction(connection: Any) -> Iterator[None]:
    """Return a context manager that commits or rolls back what is done in it; a transaction that is open stays open, with the rows in it.

    Raises
    ------
    UnsupportedOperationError
        If the connection commits each statement, and is in use.
    """
    driver = connection.connection.driver_connection
    commits_each = hasattr(driver, "cursor") and is_autocommit(driver) is True
    if not connection.in_transaction():
        if commits_each:
            connection.execution_options(isolation_level=connection.default_isolation_level)
        try:
            with connection.begin():
                _begin_sqlite(connection, driver)
                yield
        finally:
            if commits_each:
                connection.execution_options(isolation_level="AUTOCOMMIT")
        return
    if commits_each:
        raise UnsupportedOperationError("the connection commits each statement, but to_sql() inserts all rows or none: pass its engine")
    _begin_sqlite(connection, driver)
    with connection.begin_nested():
        yield


def _begin_sqlite(connection: Any, driver: Any) -> None:
    # Python's sqlite3 begins a transaction when a row is changed, not when a table is made or a savepoint set.
    if is_sqlite(driver) and not driver.in_transaction:
        connection.exec_driver_sql("BEGIN")
