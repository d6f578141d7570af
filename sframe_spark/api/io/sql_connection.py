"""Connections of Python's DB-API: what is one, of which library it is, and its cursors."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from sframe_spark.errors import NoAttributeError

# How values are marked in statements, by the styles of the standard.
MARKS = {"qmark": "?", "format": "%s", "pyformat": "%s", "numeric": ":{}", "named": ":p{}"}
# Where wrappers have the connection of the library: SQLAlchemy and others.
_WRAPPED = ("driver_connection", "dbapi_connection")


def require_connection(conn: Any) -> None:
    """Refuse what is no connection, and say what to give instead.

    Raises
    ------
    NoAttributeError
        If it is none.
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
    """Return the connection of the library, which pools and others wrap.

    Raises
    ------
    NoAttributeError
        If it is none.
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
    """A cursor, which is closed when the block ends; the connection itself, where cursors would be others that do not see its transaction.

    Raises
    ------
    NoAttributeError
        If the connection is asynchronous.
    """
    cursor = conn.cursor()
    require_answer(conn, cursor)
    if type(cursor) is type(conn):
        # DuckDB's: each has its own transactions and temporary tables.
        cursor.close()
        yield conn
        return
    try:
        yield cursor
    finally:
        cursor.close()


def require_answer(conn: Any, answer: Any) -> None:
    """Refuse a connection that answers later.

    Raises
    ------
    NoAttributeError
        If what it gave is to be awaited.
    """
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise _asynchronous(conn)


def module_of(conn: Any, module: Any) -> ModuleType:
    """The DB-API module that a connection comes from.

    Raises
    ------
    NoAttributeError
        If its module does not tell how marks are written.
    """
    candidates: list[ModuleType | None] = [module] if module is not None else _modules_of(conn)
    for candidate in candidates:
        if candidate is not None and getattr(candidate, "paramstyle", None) in MARKS:
            return candidate
    raise NoAttributeError(f"the module of {type(conn).__name__} has no paramstyle: give the library that made the connection as dbapi_module=")


def _modules_of(conn: Any) -> list[ModuleType | None]:
    """The modules of the classes of a connection, of which a user may have made the last, and the packages that these are in."""
    names = [kind.__module__.split(".") for kind in type(conn).__mro__]
    # An extension module begins with an underscore where its package does not.
    found = [".".join(parts[:count]) for parts in names for count in range(1, len(parts) + 1)]
    return [sys.modules.get(name) for given in found for name in (given, given.lstrip("_"))]
