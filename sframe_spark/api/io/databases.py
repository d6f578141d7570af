"""Reads and writes databases: over JDBC with Spark, and over connections of libraries that follow Python's DB-API."""

from __future__ import annotations

import contextlib
import datetime
import decimal
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

from sframe_spark.api import node_value_conversion
from sframe_spark.api.column_names import require_distinct, require_unicode, with_automatic_names
from sframe_spark.api.interchange.from_spark import frame_from_spark
from sframe_spark.api.interchange.to_spark import to_spark
from sframe_spark.api.node_value_conversion import iterate_tuples, node_from_batches
from sframe_spark.engine.spark.error_translation import in_one_line, is_of_spark
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
from sframe_spark.session.users_own_spark_session import user_session
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT, INT, INT_KIND, LIST_KIND, STR, ColumnType, of_any_offset
from sframe_spark.values.invalid_unicode_errors import column_named
from sframe_spark.values.python_to_arrow import column_type_for, encode_parts, infer_type
from sframe_spark.values.rounding_warnings import RoundedNumbers, may_be_rounded
from sframe_spark.values.single_value_conversion import construct_value

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
# Depending on the database, Spark quotes column names with one of these characters, without escaping it inside a name.
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
    predicates = request.predicates
    if predicates is not None:
        is_list = isinstance(predicates, Sequence) and not isinstance(predicates, str)
        if not is_list or not predicates or not all(isinstance(item, str) for item in predicates):
            raise SchemaError("predicates are a list of conditions, each a text")
    with errors_of_database(request.url, options):
        reader = user_session().read
        if predicates is not None:
            df = reader.jdbc(request.url, source, predicates=list(predicates), properties={**_DEFAULTS, **options})
        else:
            df = reader.format("jdbc").options(**{**_DEFAULTS, **options, **bounds, "url": request.url, "dbtable": source}).load()
        df.schema  # noqa: B018 - Spark Connect asks the database for the table only when the schema is read
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
    """Return the options of Spark's reader for reading ranges of a column with several tasks; empty if no column is given."""
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
    """Return a context manager that gives an open cursor, or the connection itself if its cursors have transactions of their own.

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
    """Return a context manager that commits the statements in the ``with`` block, or rolls back all of them if an error occurs.

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
    transaction, has_started = _transaction_of(conn, cursor), False
    try:
        transaction.begin()
        has_started = True
        yield
        transaction.commit()
    except BaseException as error:
        # Raise the original error even if rolling back fails.
        try:
            if has_started:
                transaction.undo()
            transaction.end()
        except Exception as other:
            error.add_note(f"the rows that were inserted could not be taken back ({visible(brief(str(other)))}): look whether there are some")
        else:
            if has_started and transaction.rolls_back_more:
                error.add_note("all of the open transaction was rolled back: the database has no savepoints")
        raise
    transaction.end()


def _nothing() -> None:
    """Do nothing."""


@attrs.frozen
class _Transaction:
    """How a transaction is begun, committed and rolled back.

    Parameters
    ----------
    begin, commit, undo
        Functions that begin the transaction, commit it, and roll back its statements.
    end
        Function that restores the state of the connection after a commit or rollback.
    rolls_back_more
        Whether ``undo`` also rolls back earlier statements of the user.
    """

    begin: Callable[[], object]
    commit: Callable[[], object]
    undo: Callable[[], object]
    end: Callable[[], object] = _nothing
    rolls_back_more: bool = False


def _transaction_of(conn: Any, cursor: Any) -> _Transaction:
    is_autocommit, is_open = _is_autocommit(conn, cursor), _is_open(conn, cursor)
    if is_autocommit and not is_open:
        return _explicit_transaction(conn, cursor)
    # The transaction may contain earlier statements of the user; a savepoint protects these from being rolled back.
    has_savepoint = bool(is_open) and not _is_duckdb(conn)
    begin: Callable[[], object] = _nothing
    release: Callable[[], object] = _nothing
    undo: Callable[[], object] = lambda: conn.rollback()  # noqa: E731
    if has_savepoint:
        statements = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")
        begin, release, undo = (partial(cursor.execute, f"{statement} {_SAVEPOINT}") for statement in statements)
    # If the connection is in autocommit mode, the user has begun the transaction, and will commit it.
    commit, is_users = (release, True) if is_autocommit else (conn.commit, False)
    return _Transaction(begin, commit, undo, rolls_back_more=is_users and not has_savepoint)


def _is_duckdb(conn: Any) -> bool:
    return type(conn).__module__.lstrip("_").partition(".")[0] == "duckdb"


def _is_sqlite(conn: Any) -> bool:
    return hasattr(conn, "in_transaction") and hasattr(conn, "isolation_level")


def _is_autocommit(conn: Any, cursor: Any) -> bool | None:
    """Return whether each statement is committed immediately; None if this is unknown."""
    if _is_duckdb(conn):
        return True
    autocommit = getattr(conn, "autocommit", None)
    if isinstance(autocommit, bool):
        return autocommit
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
    in_transaction = getattr(conn, "in_transaction", None)
    if isinstance(in_transaction, bool):
        return in_transaction
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
        # Switching autocommit on again commits statements that are still pending, so it is done after the commit or rollback.
        switch = partial(setattr, conn, "autocommit")
        return _Transaction(partial(switch, False), conn.commit, lambda: conn.rollback(), partial(switch, True))
    methods = [getattr(conn, name, None) for name in ("begin", "start_transaction")]
    candidates: list[Any] = [*filter(callable, methods), *([partial(cursor.execute, "BEGIN")] if _is_sqlite(conn) else [])]
    if not candidates:
        raise UnsupportedOperationError(
            f"the connection ({type(conn).__name__}) commits each statement, and has no begin(): to_sql() inserts all rows or none; "
            "turn autocommit off"
        )
    return _Transaction(candidates[0], conn.commit, lambda: conn.rollback())


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
        hinted = _hinted_types(hints, names)
        types = _types(first, cursor.description, names, hinted)
        rounded = RoundedNumbers()
        node = node_from_batches(_batches(chain(first, rows), names, types, rounded), types)
        rounded.warn(but={name for name, kind in hinted.items() if kind == FLOAT})
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
    while batch := list(islice(numbered, node_value_conversion.ROWS_PER_BATCH)):
        for number, row in batch:
            if len(row) != len(types):
                raise SchemaError(f"row {number} has {len(row)} values for {len(types)} columns: the library that made the connection is wrong")
        first, columns = batch[0][0], zip(*(row for _, row in batch), strict=True)
        parts = [
            encode_parts([_fitting(value, kind, name, number, rounded) for number, value in enumerate(column, first)], kind)
            for column, kind, name in zip(columns, types, names, strict=True)
        ]
        yield from (list(run.columns) for run in aligned_chunks(parts))


def _types(
    first: Sequence[Sequence[Any]], description: Sequence[Sequence[Any]], names: Sequence[str], hinted: Mapping[str, ColumnType]
) -> list[ColumnType]:
    """Return the column types: the requested type, else that of the column's first value; string for columns without a value in the first rows.

    A column of decimals that the database declares to have no digits after the point, as ``NUMERIC(18, 0)``, is one of ints: all digits are kept.
    """
    types = []
    for index, name in enumerate(names):
        value = next((row[index] for row in first if row[index] is not None), None)
        if name not in hinted and isinstance(value, decimal.Decimal) and _scale(description[index]) == 0:
            types.append(INT)
            continue
        with column_named(name):
            types.append(of_any_offset(hinted.get(name) or (STR if value is None else infer_type([value]))))
    return types


def _scale(column: Sequence[Any]) -> int | None:
    """Return how many digits a column of a cursor's description has after the point; None if the library does not tell it."""
    return column[5] if len(column) > 5 else None


def _hinted_types(hints: Any, names: Sequence[str]) -> dict[str, ColumnType]:
    """Return the types that the user requests, by column name; ``hints`` is a class, a list of classes, or a dict of them.

    Raises
    ------
    ColumnNotFoundError
        If a dict has a name that is not in ``names``.
    SchemaError
        If ``hints`` is something else, or a list is longer than ``names``.
    """
    if isinstance(hints, Mapping):
        for name in hints:
            if name not in names:
                raise ColumnNotFoundError(name, names)
    elif isinstance(hints, type):
        hints = dict.fromkeys(names, hints)
    elif hints is not None and (not isinstance(hints, (list, tuple)) or len(hints) > len(names)):
        raise SchemaError(f"column_type_hints is a class, a list of classes, one for each column at most, or a dict of them, not {hints!r:.60}")
    else:
        hints = dict(zip(names, hints or (), strict=False))
    return {name: column_type_for(hint) for name, hint in hints.items()}


def _fitting(value: Any, kind: ColumnType, name: str, number: int, rounded: RoundedNumbers) -> Any:
    try:
        with rounded.of(name) if may_be_rounded(value) else nullcontext():
            converted = construct_value(bytes(value) if isinstance(value, memoryview) else value, kind.kind)
        if kind.kind == INT_KIND and converted is not None and not isinstance(value, datetime.datetime) and converted != value:
            raise SchemaError(f"as an int it would be {converted}")
        return converted
    except (SFrameError, UnicodeDecodeError) as error:
        problem = f"column {name!r}, row {number}: {visible(brief(value))} ({type(value).__name__}) is no {kind.kind}"
        hint = f"{{{name!r}: {'float' if isinstance(value, float) else 'str'}}}"
        raise SchemaError(f"{problem}: give column_type_hints={hint}, or convert it in the query") from error


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
    with opened_cursor(conn) as cursor, one_transaction(conn, cursor):
        rows: Iterator[Sequence[Any]] = iterate_tuples(node, names)
        if _adapts_datetimes_itself(library) and any(kind.kind == DATETIME_KIND for kind in node.schema):
            rows = (tuple(value.isoformat(" ") if isinstance(value, datetime.datetime) else value for value in row) for row in rows)
        while batch := list(islice(rows, ROWS_PER_INSERT)):
            named = [{f"p{number}": value for number, value in enumerate(row, 1)} for row in batch] if library.paramstyle == "named" else batch
            require_answer(conn, cursor.executemany(statement, named))


def _adapts_datetimes_itself(library: ModuleType) -> bool:
    """Return whether sqlite3 would make texts of date-times by an adapter of its own, deprecated since Python 3.12; not one of the user's."""
    adapter = getattr(library, "adapters", {}).get((datetime.datetime, getattr(library, "PrepareProtocol", None)))
    return getattr(adapter, "__module__", "").startswith("sqlite3")


def _insert(library: ModuleType, names: Sequence[str], types: Sequence[ColumnType], table: str, specifiers: bool, exact_names: bool) -> str:
    """Return the INSERT statement, with quoted names and a placeholder for each value."""
    style = library.paramstyle
    marks = [MARKS[style].format(number) for number in range(1, len(names) + 1)]
    if specifiers and style in ("format", "pyformat"):
        marks = [_SPECIFIERS.get(kind.kind, "%s") for kind in types]
    quote = "`" if any(word in library.__name__.lower() for word in _BACKTICKS) else '"'
    target = ".".join(quoted(part, quote, style) for part in table.split("."))
    columns = f" ({', '.join(quoted(name, quote, style) for name in names)})" if exact_names else ""
    return f"INSERT INTO {target}{columns} VALUES ({', '.join(marks)})"


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
