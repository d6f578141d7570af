"""Connections of DB-API libraries: how to recognise them, their cursors, and transactions in which either all rows are written or none."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import attrs

from sframe_spark.errors import NoAttributeError, UnsupportedOperationError
from sframe_spark.message_text import brief, visible

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
            f"conn must be a connection of a DB-API library, such as sqlite3.connect(path), not {type(conn).__name__}{_instead_of(conn)}"
        )
    if inspect.iscoroutinefunction(conn.cursor) or inspect.iscoroutinefunction(conn.commit):
        raise _asynchronous(conn)


def _asynchronous(conn: Any) -> NoAttributeError:
    return NoAttributeError(f"conn ({type(conn).__name__}) is asynchronous: pass a connection whose execute() returns when it is done")


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
        return ": connect with the library of the database, and pass the connection, or an address as SQLAlchemy writes it"
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


# Statements that a server-side cursor may run: one query that changes nothing.
_QUERY = re.compile(r"\s*(?:select|values|table|with)\b[^;]*;?\s*", re.IGNORECASE)
_CHANGES = re.compile(r"\b(?:insert|update|delete|merge|into)\b", re.IGNORECASE)
_SERVER_CURSOR = "sframe_rows"


@contextlib.contextmanager
def cursor_of_query(conn: Any, statement: Any, params: Any, size: int) -> Iterator[Any]:
    """Return a context manager that gives a cursor which has executed a query, and whose rows stay at the server until they are fetched, if they can.

    By default, cursors of psycopg, PyMySQL and mysqlclient fetch all rows when the query is executed.

    Parameters
    ----------
    conn
        The DB-API connection.
    statement, params
        The query, and the values of its placeholders, or None.
    size
        How many rows will be fetched at a time.

    Raises
    ------
    NoAttributeError
        If the connection is asynchronous.
    """
    arguments = _streaming_arguments(conn, statement)
    with contextlib.ExitStack() as stack:
        if arguments:
            may_repeat = "name" in arguments and _is_open(conn, None) is False
            cursor = stack.enter_context(contextlib.closing(conn.cursor(**arguments)))
            try:
                _execute(conn, cursor, statement, params, size)
            except Exception:
                if not may_repeat:
                    raise
                # Databases that only speak PostgreSQL's protocol may have no cursors; the error of any other is raised once more, without the cursor.
                conn.rollback()
            else:
                yield cursor
                return
        cursor = stack.enter_context(opened_cursor(conn))
        _execute(conn, cursor, statement, params, size)
        yield cursor


def _streaming_arguments(conn: Any, statement: Any) -> dict[str, Any]:
    """Return the arguments with which the connection makes a cursor whose rows stay at the server; none if that is not known, or not possible."""
    libraries = {kind.__module__.partition(".")[0] for kind in type(conn).__mro__}
    if libraries & {"psycopg", "psycopg2"}:
        # Outside of a transaction, PostgreSQL has no cursors.
        return {"name": _SERVER_CURSOR} if conn.autocommit is False and reads_only(statement) else {}
    for library in libraries & {"pymysql", "MySQLdb", "cymysql"}:
        return {"cursorclass" if library == "MySQLdb" else "cursor": sys.modules[f"{library}.cursors"].SSCursor}
    return {}


def _execute(conn: Any, cursor: Any, statement: Any, params: Any, size: int) -> None:
    with contextlib.suppress(AttributeError, TypeError):
        cursor.arraysize = size
    require_answer(conn, cursor.execute(statement) if params is None else cursor.execute(statement, params))


def reads_only(statement: Any) -> bool:
    """Return whether a statement is one query, as a server-side cursor needs it; False where that is not certain.

    Examples
    --------
    >>> reads_only("select * from t;"), reads_only("insert into t values (1) returning a"), reads_only("select 1; drop table t")
    (True, False, False)
    """
    return isinstance(statement, str) and _QUERY.fullmatch(statement) is not None and _CHANGES.search(statement) is None


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
    found = known_module(conn, module)
    if found is None:
        raise NoAttributeError(f"the module of {type(conn).__name__} has no paramstyle: pass the library that made the connection as dbapi_module=")
    return found


def known_module(conn: Any, module: Any) -> ModuleType | None:
    """Return the DB-API module of a connection: ``module`` if given, else that of its class; None if it has no known ``paramstyle``."""
    candidates: list[ModuleType | None] = [module] if module is not None else _modules_of(conn)
    return next((candidate for candidate in candidates if getattr(candidate, "paramstyle", None) in MARKS), None)


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
            error.add_note(
                f"the inserted rows could not be rolled back ({visible(brief(str(other)))}): check whether the table contains some of them"
            )
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
    commits_each, is_open = is_autocommit(conn), _is_open(conn, cursor)
    if commits_each and not is_open:
        return _explicit_transaction(conn, cursor)
    # The transaction may contain earlier statements of the user; a savepoint protects these from being rolled back.
    has_savepoint = bool(is_open) and not is_duckdb(conn)
    begin: Callable[[], object] = _nothing
    release: Callable[[], object] = _nothing
    undo: Callable[[], object] = lambda: conn.rollback()  # noqa: E731
    if has_savepoint:
        statements = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")
        begin, release, undo = (partial(cursor.execute, f"{statement} {_SAVEPOINT}") for statement in statements)
    if is_sqlite(conn) and is_open is False and isinstance(conn.isolation_level, str):
        # Otherwise a transaction begins only when rows are inserted, after a table was made.
        begin = partial(cursor.execute, f"BEGIN {conn.isolation_level}")
    # If the connection is in autocommit mode, the user has begun the transaction, and will commit it.
    commit, is_users = (release, True) if commits_each else (conn.commit, False)
    return _Transaction(begin, commit, undo, rolls_back_more=is_users and not has_savepoint)


def is_duckdb(conn: Any) -> bool:
    """Return whether it is a connection of DuckDB."""
    return type(conn).__module__.lstrip("_").partition(".")[0] == "duckdb"


def is_sqlite(conn: Any) -> bool:
    """Return whether it is a connection of sqlite3, or has its members."""
    return hasattr(conn, "in_transaction") and hasattr(conn, "isolation_level")


def is_autocommit(conn: Any) -> bool | None:
    """Return whether each statement is committed immediately; None if this is unknown."""
    if is_duckdb(conn):
        return True
    if hasattr(conn, "adbc_connection"):
        with contextlib.suppress(Exception):
            return bool(conn.adbc_connection.get_option("adbc.connection.autocommit") == "true")
        return None
    autocommit = getattr(conn, "autocommit", None)
    if isinstance(autocommit, bool):
        return autocommit
    if is_sqlite(conn):
        # In sqlite3's legacy mode, an isolation level of None means autocommit.
        return conn.isolation_level is None
    get_autocommit = getattr(conn, "get_autocommit", None)
    return bool(get_autocommit()) if callable(get_autocommit) else None


def _is_open(conn: Any, cursor: Any) -> bool | None:
    """Return whether a transaction is open; None if this is unknown."""
    if is_duckdb(conn):
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
    if hasattr(conn, "adbc_connection"):
        # Its own commit() and rollback() do nothing on a connection that was opened to commit each statement.
        inner = conn.adbc_connection
        return _Transaction(partial(inner.set_autocommit, False), inner.commit, inner.rollback, partial(inner.set_autocommit, True))
    methods = [getattr(conn, name, None) for name in ("begin", "start_transaction")]
    candidates: list[Any] = [*filter(callable, methods), *([partial(cursor.execute, "BEGIN")] if is_sqlite(conn) else [])]
    if not candidates:
        raise UnsupportedOperationError(
            f"the connection ({type(conn).__name__}) commits each statement, and has no begin(): to_sql() inserts all rows or none; "
            "turn autocommit off"
        )
    return _Transaction(candidates[0], conn.commit, lambda: conn.rollback())
