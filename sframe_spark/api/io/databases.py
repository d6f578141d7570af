"""Reads and writes databases: over JDBC with Spark, and over connections of libraries that follow Python's DB-API."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import string
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from types import ModuleType
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.api import node_values
from sframe_spark.api.column_names import require_distinct, require_unicode, with_automatic_names
from sframe_spark.api.interchange.from_spark import frame_from_spark
from sframe_spark.api.interchange.to_spark import to_spark
from sframe_spark.api.node_values import iterate_tuples, node_from_batches
from sframe_spark.engine.spark.actions import in_one_line, is_of_spark
from sframe_spark.errors import (
    ColumnNotFoundError,
    ExecutionError,
    InvalidArgumentError,
    NoAttributeError,
    SchemaError,
    SFrameError,
    UnsupportedOperationError,
    listed,
)
from sframe_spark.message_text import brief, visible
from sframe_spark.planner.chunk import aligned_chunks
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.user_session import user_session
from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT, INT_KIND, LIST_KIND, STR, ColumnType, of_any_offset
from sframe_spark.values.convert import construct_value
from sframe_spark.values.encode import column_type_for, encode_parts, infer_type
from sframe_spark.values.value_errors import RoundedNumbers, column_named, may_be_rounded

# JDBC, which Spark reads and writes in parallel

MODES = ("error", "append", "overwrite", "ignore")
# Options that may not be given in ``properties``, because they are parameters.
_RESERVED = ("url", "dbtable", "query")
_RESERVED_FOR_READING = (*_RESERVED, "partitioncolumn", "lowerbound", "upperbound", "numpartitions")
# Without a fetch size, drivers may fetch all rows at once. The second option makes times without an offset TIMESTAMP_NTZ, so that Spark does not
# interpret them in the session's time zone.
_DEFAULTS = {"fetchsize": "10000", "preferTimestampNTZ": "true"}
_NO_DRIVER = ("No suitable driver", "ClassNotFoundException", "ClassNotFound")
_HIDDEN = "..."
# Spark puts column names between such characters without escaping them.
_QUOTES = '"`[]'


@attrs.frozen
class JdbcRequest:
    """A request to read over JDBC; parameters are named as in PySpark.

    Parameters
    ----------
    url, table, query
        The database, and either a table or a query.
    column, lowerBound, upperBound, numPartitions
        For reading with several tasks: each reads a part of the range of this column.
    predicates
        For reading with several tasks: conditions, one for each task.
    properties
        Options of the driver and of Spark.
    """

    url: Any
    table: Any = None
    query: Any = None
    column: Any = None
    lowerBound: Any = None
    upperBound: Any = None
    numPartitions: Any = None
    predicates: Any = None
    properties: Any = None


def read_jdbc(request: JdbcRequest) -> tuple[PlannerNode, list[str]]:
    """Return the rows of a table as a node, whose order is not defined, and its column names.

    Raises
    ------
    SchemaError, InvalidArgumentError
        If the request is invalid.
    ExecutionError
        If the database or Spark raises an error.
    """
    options = options_of(request.url, request.properties, _RESERVED_FOR_READING)
    source = _source(request)
    bounds = _bounds(request)
    predicates = None if request.predicates is None else _texts(request.predicates)
    with errors_of_database(request.url, options):
        reader = user_session().read
        if predicates is not None:
            df = reader.jdbc(request.url, source, predicates=predicates, properties={**_DEFAULTS, **options})
        else:
            df = reader.format("jdbc").options(**{**_DEFAULTS, **options, **bounds, "url": request.url, "dbtable": source}).load()
        df.schema  # noqa: B018 - a server looks at the table only then
    return frame_from_spark(df)


def write_jdbc(node: PlannerNode, names: Sequence[str], url: Any, table: Any, mode: Any, properties: Any) -> None:
    """Write all rows into a table, with several parallel tasks, each in a transaction of its own.

    Raises
    ------
    SchemaError, InvalidArgumentError
        If databases cannot store a column or its name, or the table or the mode is invalid.
    ExecutionError
        If the database or Spark raises an error.
    """
    options = options_of(url, properties)
    _require_text("table", table)
    if mode is not None:
        require_choice("mode", mode, MODES)
    _require_flat_columns(names, node)
    for name in names:
        if any(sign in name for sign in (*_QUOTES, "\0")):
            raise InvalidArgumentError(f"the name {visible(repr(name))} has a quote or bracket, by which a statement would end it: rename it first")
    df = to_spark(node, list(names))
    with errors_of_database(url, options):
        df.write.jdbc(url, table, mode=mode or "error", properties=options)


def require_choice(name: str, choice: Any, allowed: Sequence[str]) -> None:
    """Raise an error if the argument ``name`` is not one of the allowed strings.

    Raises
    ------
    InvalidArgumentError
        If ``choice`` is not in ``allowed``.
    """
    if not isinstance(choice, str) or choice not in allowed:
        raise InvalidArgumentError(f"{name} is one of {', '.join(map(repr, allowed))}, not {choice!r:.60}")


def _require_flat_columns(names: Sequence[str], node: PlannerNode) -> None:
    for name, kind in zip(names, node.schema, strict=True):
        if kind.kind in (LIST_KIND, DICT_KIND, ARRAY_KIND):
            raise SchemaError(f"column {name!r} holds values of {kind.kind}, which databases do not take: astype(str) makes texts of them")


def options_of(url: Any, properties: Any, reserved: Sequence[str] = _RESERVED) -> dict[str, str]:
    """Return the user's options as strings, as Spark expects them.

    Raises
    ------
    SchemaError
        If ``properties`` is not a dict from names to strings or numbers, or the URL is not a string.
    InvalidArgumentError
        If the URL does not begin with ``jdbc:``, or an option must be given as a parameter instead.

    Examples
    --------
    >>> options_of("jdbc:derby:memory:shop", {"user": "ann", "batchsize": 500})
    {'user': 'ann', 'batchsize': '500'}
    """
    _require_text("url", url)
    if not url.startswith("jdbc:"):
        raise InvalidArgumentError("url is the address of a database, such as jdbc:postgresql://host/database")
    if properties is None:
        return {}
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties):
        raise SchemaError(f"properties are a dict of options by name, not {type(properties).__name__}")
    for name, value in properties.items():
        if not isinstance(value, (str, int, float)):
            raise SchemaError(f"the property {name!r} is a text or a number, not {type(value).__name__}")
        if name.lower() in reserved:
            raise InvalidArgumentError(f"the property {name!r} has a parameter of its own: leave it out of properties")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in properties.items()}


def _source(request: JdbcRequest) -> str:
    """Return what Spark puts after FROM: the table, or the query in parentheses with a name."""
    named = {name: value for name, value in (("table", request.table), ("query", request.query)) if value is not None}
    if len(named) != 1:
        raise InvalidArgumentError("give the name of a table, or query=: one of them")
    ((name, value),) = named.items()
    _require_text(name, value)
    return str(value) if name == "table" else f"({value.rstrip('; ' + string.whitespace)}) sframe_spark_query"


def _bounds(request: JdbcRequest) -> dict[str, str]:
    bounds = {"lowerBound": request.lowerBound, "upperBound": request.upperBound, "numPartitions": request.numPartitions}
    missing = [name for name, value in bounds.items() if value is None]
    if request.column is None:
        if len(missing) < len(bounds):
            raise InvalidArgumentError("lowerBound, upperBound and numPartitions are bounds of a column: give column= too")
        return {}
    _require_text("column", request.column)
    if request.predicates is not None:
        raise InvalidArgumentError("rows are read by the values of a column, or by predicates: give one of them")
    if missing:
        raise InvalidArgumentError(f"rows are read by the values of {request.column!r} with bounds: give {listed(missing)} too")
    if isinstance(request.numPartitions, bool) or not isinstance(request.numPartitions, int) or request.numPartitions < 1:
        raise InvalidArgumentError(f"numPartitions is a number of tasks, not {request.numPartitions!r:.60}")
    return {"partitionColumn": request.column, **{name: str(value) for name, value in bounds.items()}}


def _texts(predicates: Any) -> list[str]:
    if isinstance(predicates, str) or not isinstance(predicates, Sequence) or not predicates or not all(isinstance(item, str) for item in predicates):
        raise SchemaError("predicates are a list of conditions, each a text")
    return list(predicates)


def _require_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise SchemaError(f"{name} is a text, not {type(value).__name__}")
    if not value.strip() or "\0" in value:
        raise InvalidArgumentError(f"{name} is empty, or has a NUL")


@contextlib.contextmanager
def errors_of_database(url: str, options: Mapping[str, str]) -> Iterator[None]:
    """Turn errors of Spark or a driver into errors whose message is one line without passwords.

    Raises
    ------
    ExecutionError
        If Spark or the driver raises an error in the ``with`` block.
    """
    try:
        yield
    except SFrameError:
        raise
    except Exception as error:
        if not is_of_spark(error):
            raise
        text = str(error)
        message = in_one_line(text)
        for secret in sorted({url, *options.values()}, key=len, reverse=True):
            message = message.replace(secret, _HIDDEN) if len(secret) > 3 else message
        advice = ": put the driver's jar into spark.jars, or its coordinates into spark.jars.packages, before Spark starts"
        raise ExecutionError(f"the database cannot be used: {message}{advice if any(word in text for word in _NO_DRIVER) else ''}") from None


# Connections of the DB-API, and their modules and cursors

# Placeholders of values in statements, by the DB-API's parameter styles.
MARKS = {"qmark": "?", "format": "%s", "pyformat": "%s", "numeric": ":{}", "named": ":p{}"}
# Attributes in which wrappers, such as SQLAlchemy's, hold the DB-API connection.
_WRAPPED = ("driver_connection", "dbapi_connection")


def require_connection(conn: Any) -> None:
    """Raise an error if ``conn`` is not a connection; the message says what to pass instead.

    Raises
    ------
    NoAttributeError
        If it is not a connection, or is an asynchronous one.
    """
    if not hasattr(conn, "cursor") or not hasattr(conn, "commit"):
        raise NoAttributeError(
            f"conn is a connection of a DB-API library, such as sqlite3.connect(path), not {type(conn).__name__}{_instead_of(conn)}"
        )
    if inspect.iscoroutinefunction(conn.cursor) or inspect.iscoroutinefunction(conn.commit):
        raise _asynchronous(conn)


def _asynchronous(conn: Any) -> NoAttributeError:
    return NoAttributeError(f"conn ({type(conn).__name__}) is asynchronous: give a connection whose execute() returns when it is done")


def bare_connection(conn: Any) -> Any:
    """Return the DB-API connection inside a wrapper such as SQLAlchemy's, or ``conn`` itself if it is not a wrapper.

    Raises
    ------
    NoAttributeError
        If it is not a connection.
    """
    require_connection(conn)
    for name in _WRAPPED:
        if hasattr(inner := getattr(conn, name, None), "cursor"):
            return inner
    return conn


def _instead_of(conn: Any) -> str:
    if isinstance(conn, str):
        if conn.startswith("jdbc:"):
            return ": SFrame.read_jdbc() and write_jdbc() take addresses"
        return ": connect with the library of the database, and give what it returns"
    if hasattr(conn, "raw_connection"):
        return ": give what its raw_connection() returns"
    if type(conn).__module__.startswith("sqlalchemy.") and hasattr(conn, "connection"):
        return ": give the connection of the library that it holds, connection.connection or session.connection().connection"
    return ""


@contextlib.contextmanager
def opened_cursor(conn: Any) -> Iterator[Any]:
    """Return a context with an open cursor, or with the connection itself if its cursors have transactions of their own.

    Raises
    ------
    NoAttributeError
        If the connection is asynchronous.
    """
    cursor = conn.cursor()
    require_answer(conn, cursor)
    if type(cursor) is type(conn):
        # In DuckDB, a cursor is another connection, with its own transactions and temporary tables.
        cursor.close()
        yield conn
        return
    try:
        yield cursor
    finally:
        cursor.close()


def require_answer(conn: Any, answer: Any) -> None:
    """Raise an error if a method of the connection returned an awaitable, because asynchronous connections are not supported.

    Raises
    ------
    NoAttributeError
        If ``answer`` is awaitable.
    """
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise _asynchronous(conn)


def module_of(conn: Any, module: Any) -> ModuleType:
    """Return the DB-API module of a connection: ``module`` if given, else that of its class.

    Raises
    ------
    NoAttributeError
        If no such module has a known ``paramstyle``.
    """
    candidates: list[ModuleType | None] = [module] if module is not None else _modules_of(conn)
    for candidate in candidates:
        if candidate is not None and getattr(candidate, "paramstyle", None) in MARKS:
            return candidate
    raise NoAttributeError(f"the module of {type(conn).__name__} has no paramstyle: give the library that made the connection as dbapi_module=")


def _modules_of(conn: Any) -> list[ModuleType | None]:
    """Return the modules and packages that define the connection's class and its base classes (the class may be a user's subclass)."""
    names = [kind.__module__.split(".") for kind in type(conn).__mro__]
    # The name of an extension module may begin with an underscore that the name of its package does not have.
    candidates = [".".join(parts[:count]) for parts in names for count in range(1, len(parts) + 1)]
    return [sys.modules.get(name) for candidate in candidates for name in (candidate, candidate.lstrip("_"))]


_SAVEPOINT = "sframe_rows"
# A status flag of MySQL's protocol.
_MYSQL_IN_TRANSACTION = 1
# Transaction states of libpq: active, in a transaction, in a failed transaction.
_POSTGRES_OPEN = (1, 2, 3)


@contextlib.contextmanager
def one_transaction(conn: Any, cursor: Any) -> Iterator[None]:
    """Commit the statements in the ``with`` block, or roll back all of them if an error occurs.

    Parameters
    ----------
    conn
        The DB-API connection.
    cursor
        A cursor of it, or the connection itself if its cursors are other connections.

    Raises
    ------
    UnsupportedOperationError
        If each statement is committed immediately, and no way to begin a transaction is known.
    """
    transaction = _transaction_of(conn, cursor)
    try:
        transaction.begin()
        yield
        transaction.commit()
    except BaseException as error:
        # Raise the original error even if rolling back fails.
        try:
            transaction.undo()
            transaction.end()
        except Exception as other:
            error.add_note(f"the rows that were inserted could not be taken back ({visible(brief(str(other)))}): look whether there are some")
        else:
            if transaction.rolls_back_more:
                error.add_note("all of the open transaction was rolled back: the database has no savepoints")
        raise
    transaction.end()


def _transaction_of(conn: Any, cursor: Any) -> _Transaction:
    is_autocommit, is_open = _is_autocommit(conn, cursor), _is_open(conn, cursor)
    has_savepoints = not _is_duckdb(conn)
    if is_autocommit:
        # The user has begun a transaction, and will end it.
        return _NestedTransaction(conn, cursor, has_savepoints) if is_open else _explicit_transaction(conn, cursor)
    return _SavepointTransaction(conn, cursor, bool(is_open) and has_savepoints)


def _is_duckdb(conn: Any) -> bool:
    return type(conn).__module__.lstrip("_").partition(".")[0] == "duckdb"


def _is_sqlite(conn: Any) -> bool:
    return hasattr(conn, "in_transaction") and hasattr(conn, "isolation_level")


def _is_autocommit(conn: Any, cursor: Any) -> bool | None:
    """Return whether each statement is committed immediately; None if this is unknown."""
    if _is_duckdb(conn):
        return True
    said = getattr(conn, "autocommit", None)
    if isinstance(said, bool):
        return said
    if _is_sqlite(conn):
        # In sqlite3's legacy mode, an isolation level of None means autocommit.
        return conn.isolation_level is None
    get_autocommit = getattr(conn, "get_autocommit", None)
    return bool(get_autocommit()) if callable(get_autocommit) else None


def _is_open(conn: Any, cursor: Any) -> bool | None:
    """Return whether a transaction is open; None if this is unknown."""
    if _is_duckdb(conn):
        # Two statements have the same transaction ID only if a transaction is open. Beginning one to find out would end an open one.
        first, second = (cursor.execute("SELECT txid_current()").fetchall() for _ in range(2))
        return bool(first == second)
    said = getattr(conn, "in_transaction", None)
    if isinstance(said, bool):
        return said
    status = getattr(getattr(conn, "info", None), "transaction_status", None)
    if isinstance(status, int):
        return int(status) in _POSTGRES_OPEN
    flags = getattr(conn, "server_status", None)
    return bool(flags & _MYSQL_IN_TRANSACTION) if isinstance(flags, int) else None


def _explicit_transaction(conn: Any, cursor: Any) -> _Transaction:
    """Return a transaction for an autocommit connection: begun by its ``autocommit`` attribute, a method, or a statement.

    Raises
    ------
    UnsupportedOperationError
        If none of these is known to work.
    """
    if isinstance(getattr(conn, "autocommit", None), bool):
        return _AutocommitTransaction(conn, cursor)
    for name in ("begin", "start_transaction"):
        if callable(begin := getattr(conn, name, None)):
            return _ExplicitTransaction(conn, cursor, begin)
    if _is_sqlite(conn):
        return _ExplicitTransaction(conn, cursor, lambda: cursor.execute("BEGIN"))
    raise UnsupportedOperationError(
        f"the connection ({type(conn).__name__}) commits each statement, and has no begin(): to_sql() inserts all rows or none; turn autocommit off"
    )


class _Transaction:
    """A transaction that the library has begun implicitly; it is committed or rolled back as a whole.

    Parameters
    ----------
    conn, cursor
        As in :func:`one_transaction`.
    """

    rolls_back_more = False

    def __init__(self, conn: Any, cursor: Any) -> None:
        self._conn, self._cursor, self._is_started = conn, cursor, False

    def begin(self) -> None:
        """Record that the transaction has begun."""
        self._is_started = True

    def commit(self) -> None:
        """Commit the transaction."""
        self._conn.commit()

    def undo(self) -> None:
        """Roll back the statements since the transaction began."""
        if self._is_started:
            self._conn.rollback()

    def end(self) -> None:
        """Restore the state of the connection after the commit or rollback; nothing to do here."""


class _SavepointTransaction(_Transaction):
    """A transaction that may contain earlier statements of the user; a savepoint protects these from being rolled back.

    Parameters
    ----------
    conn, cursor
        As in :func:`one_transaction`.
    has_earlier
        Whether a transaction is known to be open, and the database has savepoints.
    """

    def __init__(self, conn: Any, cursor: Any, has_earlier: bool) -> None:
        super().__init__(conn, cursor)
        self._has_earlier = has_earlier

    def begin(self) -> None:
        """Set a savepoint, if there may be earlier statements."""
        if self._has_earlier:
            self._cursor.execute(f"SAVEPOINT {_SAVEPOINT}")
        super().begin()

    def undo(self) -> None:
        """Roll back to the savepoint; without one, roll back the whole transaction."""
        if self._has_earlier and self._is_started:
            self._cursor.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
        else:
            super().undo()


class _NestedTransaction(_SavepointTransaction):
    """Statements inside a transaction that the user has begun and will end."""

    @property
    def rolls_back_more(self) -> bool:  # type: ignore[override]
        """Whether a rollback would also undo earlier statements of the user."""
        return self._is_started and not self._has_earlier

    def commit(self) -> None:
        """Release the savepoint; the user commits the transaction."""
        if self._has_earlier:
            self._cursor.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")


class _ExplicitTransaction(_Transaction):
    """A transaction on an autocommit connection, begun by a call.

    Parameters
    ----------
    conn, cursor
        As in :func:`one_transaction`.
    begin
        Function that begins the transaction.
    """

    def __init__(self, conn: Any, cursor: Any, begin: Callable[[], Any]) -> None:
        super().__init__(conn, cursor)
        self._begin = begin

    def begin(self) -> None:
        """Begin the transaction."""
        self._begin()
        super().begin()


class _AutocommitTransaction(_Transaction):
    """A transaction on a connection whose ``autocommit`` attribute is set to False until it ends."""

    def begin(self) -> None:
        """Switch autocommit off."""
        self._conn.autocommit = False
        super().begin()

    def end(self) -> None:
        """Switch autocommit on again; this would commit statements that are still pending."""
        self._conn.autocommit = True


# Rows from and to DB-API connections

ROWS_PER_INSERT = 1000
_SPECIFIERS = {"int": "%d", "float": "%f"}
# Databases that quote names with backticks instead of the standard's quotes.
_BACKTICKS = ("mysql", "maria")


def read_sql(
    conn: Any, statement: Any, params: Any, inference_rows: Any, module: Any, hints: Any, rows_at_once: Any
) -> tuple[PlannerNode, list[str]]:
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
    conn = bare_connection(conn)
    for name, value in (("type_inference_rows", inference_rows), ("cursor_arraysize", rows_at_once)):
        if not isinstance(value, int) or value < 0:
            raise SchemaError(f"{name} is a number of rows, not {value!r:.60}")
    size = max(rows_at_once, 1)
    with opened_cursor(conn) as cursor:
        with contextlib.suppress(AttributeError, TypeError):
            cursor.arraysize = size
        require_answer(conn, cursor.execute(statement) if params is None else cursor.execute(statement, params))
        if cursor.description is None:
            raise InvalidArgumentError(f"the statement {visible(brief(statement))} gives no rows: from_sql() takes a query")
        names = with_automatic_names(str(column[0]) for column in cursor.description)
        require_distinct(names)
        require_unicode(names)
        rows = _all_rows(cursor, size, names)
        first = list(islice(rows, inference_rows))
        types = _types(first, names, hints)
        rounded = RoundedNumbers()
        float_hints = {name for place, name in enumerate(names) if dict(_hinted_types(hints, names)).get(place) == FLOAT}
        node = node_from_batches(_batches(chain(first, rows), names, types, rounded), types)
        rounded.warn(but=float_hints)
        return node, names


def _all_rows(cursor: Any, size: int, names: Sequence[str]) -> Iterator[Sequence[Any]]:
    # Some cursors have no arraysize, and others do not allow setting it; then the size is passed in each call.
    fetch = cursor.fetchmany if getattr(cursor, "arraysize", None) == size else partial(cursor.fetchmany, size)
    while batch := fetch():
        for row in batch:
            # Some libraries can return rows as dicts; iterating over these would give the column names.
            yield [row[name] for name in names] if isinstance(row, Mapping) else row


def _batches(rows: Iterable[Sequence[Any]], names: Sequence[str], types: Sequence[ColumnType], rounded: RoundedNumbers) -> Iterator[list[pa.Array]]:
    """Yield batches of rows as lists of columns; numbers that are rounded are recorded in ``rounded``."""
    numbered = enumerate(rows)
    while some := list(islice(numbered, node_values.ROWS_PER_BATCH)):
        first, batch = some[0][0], [row for _, row in some]
        for number, row in some:
            if len(row) != len(types):
                raise SchemaError(f"row {number} has {len(row)} values for {len(types)} columns: the library that made the connection is wrong")
        columns = zip(*batch, strict=True)
        parts = [
            encode_parts([_fitting(value, kind, name, number, rounded) for number, value in enumerate(column, first)], kind)
            for column, kind, name in zip(columns, types, names, strict=True)
        ]
        yield from (list(run.columns) for run in aligned_chunks(parts))


def _types(first: Sequence[Sequence[Any]], names: Sequence[str], hints: Any) -> list[ColumnType]:
    """Return the column types: the requested ones, else those of the first values; string for columns without a value in the first rows."""
    hinted = dict(_hinted_types(hints, names))
    types = []
    for place, name in enumerate(names):
        value = next((row[place] for row in first if row[place] is not None), None)
        with column_named(name):
            types.append(of_any_offset(hinted.get(place) or (STR if value is None else infer_type([value]))))
    return types


def _hinted_types(hints: Any, names: Sequence[str]) -> Iterable[tuple[int, ColumnType]]:
    if hints is None:
        return []
    if isinstance(hints, Mapping):
        for name in hints:
            if name not in names:
                raise ColumnNotFoundError(name, names)
        return [(names.index(name), column_type_for(hint)) for name, hint in hints.items()]
    if isinstance(hints, type):
        return [(place, column_type_for(hints)) for place in range(len(names))]
    if not isinstance(hints, (list, tuple)) or len(hints) > len(names):
        raise SchemaError(f"column_type_hints is a class, a list of classes, one for each column at most, or a dict of them, not {hints!r:.60}")
    return [(place, column_type_for(hint)) for place, hint in enumerate(hints)]


def _fitting(value: Any, kind: ColumnType, name: str, number: int, rounded: RoundedNumbers) -> Any:
    try:
        with rounded.of(name) if may_be_rounded(value) else nullcontext():
            converted = construct_value(bytes(value) if isinstance(value, memoryview) else value, kind.kind)
        if kind.kind == INT_KIND and converted is not None and not isinstance(value, datetime.datetime) and converted != value:
            raise SchemaError(f"as an int it would be {converted}")
        return converted
    except (SFrameError, UnicodeDecodeError) as error:
        what = f"column {name!r}, row {number}: {visible(brief(value))} ({type(value).__name__}) is no {kind.kind}"
        raise SchemaError(
            f"{what}: give column_type_hints={{{name!r}: {'float' if isinstance(value, float) else 'str'}}}, or convert it in the query"
        ) from error


def write_sql(node: PlannerNode, names: Sequence[str], conn: Any, table: Any, module: Any, specifiers: bool, exact_names: bool) -> None:
    """Insert all rows into a table in one transaction, even if the connection is in autocommit mode.

    Raises
    ------
    NoAttributeError
        If ``conn`` is not a connection.
    SchemaError
        If a column holds lists, arrays or dicts, or the name of the table is not a string.
    """
    conn = bare_connection(conn)
    library = module_of(conn, module)
    if not isinstance(table, str) or not table:
        raise SchemaError(f"table_name is the name of a table, not {table!r:.60}")
    _require_flat_columns(names, node)
    statement = _insert(library, names, node.schema, table, specifiers, exact_names)
    style = library.paramstyle
    with opened_cursor(conn) as cursor, one_transaction(conn, cursor):
        rows = iterate_tuples(node, names)
        while some := list(islice(rows, ROWS_PER_INSERT)):
            require_answer(conn, cursor.executemany(statement, [_named(row) for row in some] if style == "named" else some))


def _named(row: Sequence[Any]) -> dict[str, Any]:
    return {f"p{place}": value for place, value in enumerate(row, 1)}


def _insert(library: ModuleType, names: Sequence[str], types: Sequence[ColumnType], table: str, specifiers: bool, exact_names: bool) -> str:
    """Return the INSERT statement, with quoted names and a placeholder for each value."""
    style = library.paramstyle
    marks = [MARKS[style].format(place) for place in range(1, len(names) + 1)]
    if specifiers and style in ("format", "pyformat"):
        marks = [_SPECIFIERS.get(kind.kind, "%s") for kind in types]
    quote = "`" if any(word in library.__name__.lower() for word in _BACKTICKS) else '"'
    place = ".".join(quoted(part, quote, style) for part in table.split("."))
    columns = f" ({', '.join(quoted(name, quote, style) for name in names)})" if exact_names else ""
    return f"INSERT INTO {place}{columns} VALUES ({', '.join(marks)})"


def quoted(name: str, quote: str = '"', style: str = "qmark") -> str:
    """Return a name quoted for a statement in a parameter style.

    Raises
    ------
    InvalidArgumentError
        If the name contains a NUL character, which ends statements in some databases.

    Examples
    --------
    >>> quoted('x"; drop table y')
    '"x""; drop table y"'
    """
    if "\0" in name:
        raise InvalidArgumentError(f"the name {visible(repr(name))} has a NUL, which no database takes: rename it first")
    text = name.replace(quote, quote * 2)
    # In these parameter styles, a percent sign starts a placeholder.
    return f"{quote}{text.replace('%', '%%') if style in ('format', 'pyformat') else text}{quote}"
