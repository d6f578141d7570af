"""One transaction on a connection of any library of Python's DB-API, whatever the connection does with statements outside of one.

Most libraries begin a transaction with the first statement and wait for a commit. A connection that commits each
statement (autocommit) has to be told to begin one, in a way that each library has of its own. A transaction that the
user has begun there stays open: a savepoint undoes what is ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.message_text import brief, visible

_SAVEPOINT = "sframe_rows"
# As the protocol of MySQL tells it.
_MYSQL_IN_TRANSACTION = 1
# As libpq tells it: a command is active, waits in a transaction, or waits in one that failed.
_POSTGRES_OPEN = (1, 2, 3)


@contextlib.contextmanager
def one_transaction(conn: Any, cursor: Any) -> Iterator[None]:
    """Commit what is done inside the block, or undo all of it if anything fails.

    Parameters
    ----------
    conn
        The connection of the library.
    cursor
        A cursor of it, or for libraries whose cursors are connections the connection itself.

    Raises
    ------
    UnsupportedOperationError
        If each statement is committed at once, and nothing tells how a transaction begins.
    """
    transaction = _transaction_of(conn, cursor)
    try:
        transaction.begin()
        yield
        transaction.commit()
    except BaseException as error:
        # What went wrong is raised, and not what goes wrong after it.
        try:
            transaction.undo()
            transaction.end()
        except Exception as other:
            error.add_note(f"the rows that were inserted could not be taken back ({visible(brief(str(other)))}): look whether there are some")
        else:
            if transaction.takes_back_more:
                error.add_note("all of the open transaction was rolled back: the database has no savepoints")
        raise
    transaction.end()


def _transaction_of(conn: Any, cursor: Any) -> _Transaction:
    is_autocommit, is_open = _is_autocommit(conn, cursor), _is_open(conn, cursor)
    has_savepoints = not _is_duckdb(conn)
    if is_autocommit:
        # Who has begun a transaction on such a connection says when it ends.
        return _Inside(conn, cursor, has_savepoints) if is_open else _begun(conn, cursor)
    return _Waiting(conn, cursor, bool(is_open) and has_savepoints)


def _is_duckdb(conn: Any) -> bool:
    return type(conn).__module__.lstrip("_").partition(".")[0] == "duckdb"


def _is_sqlite(conn: Any) -> bool:
    return hasattr(conn, "in_transaction") and hasattr(conn, "isolation_level")


def _is_autocommit(conn: Any, cursor: Any) -> bool | None:
    """Whether each statement is committed at once; None where nothing tells."""
    if _is_duckdb(conn):
        return True
    said = getattr(conn, "autocommit", None)
    if isinstance(said, bool):
        return said
    if _is_sqlite(conn):
        # In the way of before Python 3.12 no isolation level means that nothing is begun.
        return conn.isolation_level is None
    asked = getattr(conn, "get_autocommit", None)
    return bool(asked()) if callable(asked) else None


def _is_open(conn: Any, cursor: Any) -> bool | None:
    """Whether a transaction is open; None where nothing tells."""
    if _is_duckdb(conn):
        # Numbers of transactions: two statements have one where they are in one. To begin a second one would end the first.
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


def _begun(conn: Any, cursor: Any) -> _Transaction:
    """A transaction on a connection that commits each statement: by its own member, by its switch, or by the statement.

    Raises
    ------
    UnsupportedOperationError
        If there is no way.
    """
    if isinstance(getattr(conn, "autocommit", None), bool):
        return _Switched(conn, cursor)
    for name in ("begin", "start_transaction"):
        if callable(begin := getattr(conn, name, None)):
            return _Begun(conn, cursor, begin)
    if _is_sqlite(conn):
        return _Begun(conn, cursor, lambda: cursor.execute("BEGIN"))
    raise UnsupportedOperationError(
        f"the connection ({type(conn).__name__}) commits each statement, and has no begin(): to_sql() inserts all rows or none; turn autocommit off"
    )


class _Transaction:
    """A transaction that the library begins by itself, and that is committed or rolled back as a whole.

    Parameters
    ----------
    conn, cursor
        As for :func:`one_transaction`.
    """

    takes_back_more = False

    def __init__(self, conn: Any, cursor: Any) -> None:
        self._conn, self._cursor, self._is_begun = conn, cursor, False

    def begin(self) -> None:
        """Begin it."""
        self._is_begun = True

    def commit(self) -> None:
        """Make what was done last."""
        self._conn.commit()

    def undo(self) -> None:
        """Take back what was done since it was begun."""
        if self._is_begun:
            self._conn.rollback()

    def end(self) -> None:
        """Leave the connection, on which nothing of ours waits, as it was."""


class _Waiting(_Transaction):
    """On a connection that waits for a commit: of earlier statements that wait, too, none is taken back.

    Parameters
    ----------
    conn, cursor
        As for :func:`one_transaction`.
    has_earlier
        Whether it is known that there are such, and that the database has savepoints.
    """

    def __init__(self, conn: Any, cursor: Any, has_earlier: bool) -> None:
        super().__init__(conn, cursor)
        self._has_earlier = has_earlier

    def begin(self) -> None:
        """Remember where ours begins."""
        if self._has_earlier:
            self._cursor.execute(f"SAVEPOINT {_SAVEPOINT}")
        super().begin()

    def undo(self) -> None:
        """Take ours back."""
        if self._has_earlier and self._is_begun:
            self._cursor.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
        else:
            super().undo()


class _Inside(_Waiting):
    """Within a transaction that the user has begun, and ends."""

    @property
    def takes_back_more(self) -> bool:  # type: ignore[override]
        """Whether earlier statements of the user are taken back with ours."""
        return self._is_begun and not self._has_earlier

    def commit(self) -> None:
        """Leave it to the user."""
        if self._has_earlier:
            self._cursor.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")


class _Begun(_Transaction):
    """On a connection that commits each statement, and knows how a transaction begins.

    Parameters
    ----------
    conn, cursor
        As for :func:`one_transaction`.
    begin
        Begins it.
    """

    def __init__(self, conn: Any, cursor: Any, begin: Callable[[], Any]) -> None:
        super().__init__(conn, cursor)
        self._begin = begin

    def begin(self) -> None:
        """Begin it."""
        self._begin()
        super().begin()


class _Switched(_Transaction):
    """On a connection that commits each statement as long as it is switched so."""

    def begin(self) -> None:
        """Let it wait for a commit."""
        self._conn.autocommit = False
        super().begin()

    def end(self) -> None:
        """Switch it back: what waits would be committed by that."""
        self._conn.autocommit = True
