"""Makes, replaces and empties tables of the databases whose SQL is known here, before rows are inserted over a DB-API connection.

PostgreSQL, SQLite and DuckDB make tables within a transaction. MySQL and MariaDB commit when a table is made or dropped: there, a table that replaces
another one is made under another name, and renamed when all rows are in it, and a table that was made is dropped if an error occurs.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import attrs

from sframe_spark.api.io.jdbc import require_choice, require_flat_columns
from sframe_spark.errors import InvalidArgumentError, SchemaError, UnsupportedOperationError
from sframe_spark.message_text import brief, visible
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, INT_KIND, STR_KIND

IF_EXISTS = ("append", "fail", "replace", "delete_rows")
# The kind of date-times with an offset from UTC; other keys of types are kinds of columns.
ZONED = "datetime with offset"
_NO_SUCH_TABLE_OF_MYSQL = 1146
# As many characters of a table's name are kept in the name of the table that will replace it; names have 64 in MySQL.
_KEPT_OF_NAME = 40


@attrs.frozen
class TableRequest:
    """The table that rows are inserted into; the parameters are those of ``SFrame.to_sql``."""

    table: Any
    module: Any = None
    specifiers: bool = False
    exact_names: bool = True
    if_exists: Any = "append"

    @property
    def parts(self) -> list[str]:
        """The parts of the table's name."""
        return str(self.table).split(".")

    def require_valid(self, names: Sequence[str], node: PlannerNode) -> None:
        """Raise an error if the table has no name, or cannot have the columns.

        Raises
        ------
        SchemaError
            If the name is not a string, or a column holds lists, arrays or dicts.
        InvalidArgumentError
            If ``if_exists`` is not one of the known words.
        """
        if not isinstance(self.table, str) or not self.table:
            raise SchemaError(f"table_name must be the name of a table, not {self.table!r:.60}")
        require_choice("if_exists", self.if_exists, IF_EXISTS)
        require_flat_columns(names, node)


@attrs.frozen
class Dialect:
    """The particularities of one database.

    Parameters
    ----------
    name
        Name of the database, for messages.
    modules
        Beginnings of the names of its DB-API modules.
    types
        SQL types by kind of column.
    exists
        Function of a cursor and the parts of a table's name: whether there is a table, or view, of that name.
    quote
        The character that encloses names.
    commits_tables
        Whether making and dropping tables ends the transaction.
    has_offsets
        Whether date-times may have an offset from UTC.
    """

    name: str
    modules: tuple[str, ...]
    types: Mapping[str, str]
    exists: Callable[[Any, Sequence[str]], bool]
    quote: str = '"'
    commits_tables: bool = False
    has_offsets: bool = True

    def quoted(self, parts: Sequence[str]) -> str:
        """Return the name of a table, or of a column, quoted for statements without placeholders."""
        return ".".join(quoted(part, self.quote) for part in parts)

    def definition(self, parts: Sequence[str], columns: Sequence[tuple[str, str]]) -> str:
        """Return the statement that makes a table; ``columns`` are pairs of name and kind."""
        return f"CREATE TABLE {self.quoted(parts)} ({', '.join(f'{self.quoted([name])} {self.types[kind]}' for name, kind in columns)})"


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
        raise InvalidArgumentError(f"the name {visible(repr(name))} contains a NUL character, which no database accepts: rename it first")
    text = name.replace(quote, quote * 2)
    # In these parameter styles, a percent sign starts a placeholder.
    return f"{quote}{text.replace('%', '%%') if style in ('format', 'pyformat') else text}{quote}"


def _is_in_sqlite(cursor: Any, parts: Sequence[str]) -> bool:
    schema = "".join(f"{quoted(part)}." for part in parts[:-1])
    return cursor.execute(f"PRAGMA {schema}table_info({quoted(parts[-1])})").fetchone() is not None


def _is_in_postgresql(cursor: Any, parts: Sequence[str]) -> bool:
    cursor.execute("SELECT to_regclass(%s)", (".".join(map(quoted, parts)),))
    return cursor.fetchone()[0] is not None


def _is_in_mysql(cursor: Any, parts: Sequence[str]) -> bool:
    # The catalog has no temporary tables.
    try:
        cursor.execute(f"SELECT 1 FROM {'.'.join(quoted(part, '`') for part in parts)} LIMIT 0")
        cursor.fetchall()
    except Exception as error:
        if _NO_SUCH_TABLE_OF_MYSQL in (getattr(error, "errno", None), *error.args[:1]):
            return False
        # Whoever may insert rows may not be allowed to read them.
        if "denied" not in str(error):
            raise
    return True


def _is_in_duckdb(cursor: Any, parts: Sequence[str]) -> bool:
    # A table that is not found by its name would end the transaction.
    *place, name = parts
    where = {
        0: "table_catalog = 'temp' OR (table_schema = current_schema() AND table_catalog = current_database())",
        1: "(lower(table_schema) = lower(?) AND table_catalog = current_database()) OR lower(table_catalog) = lower(?)",
        2: "lower(table_catalog) = lower(?) AND lower(table_schema) = lower(?)",
    }[len(place)]
    statement = f"SELECT count(*) FROM information_schema.tables WHERE lower(table_name) = lower(?) AND ({where})"
    return bool(cursor.execute(statement, [name, *place * (2 // max(len(place), 1))]).fetchall()[0][0])


_SQLITE_TYPES = {INT_KIND: "INTEGER", FLOAT_KIND: "REAL", STR_KIND: "TEXT", DATETIME_KIND: "TIMESTAMP", ZONED: "TIMESTAMP"}
_STANDARD_TYPES = {
    INT_KIND: "BIGINT",
    FLOAT_KIND: "DOUBLE PRECISION",
    STR_KIND: "TEXT",
    DATETIME_KIND: "TIMESTAMP",
    ZONED: "TIMESTAMP WITH TIME ZONE",
}
_MYSQL_TYPES = {INT_KIND: "BIGINT", FLOAT_KIND: "DOUBLE", STR_KIND: "LONGTEXT", DATETIME_KIND: "DATETIME(6)"}

MYSQL = Dialect(
    "MySQL or MariaDB",
    ("pymysql", "MySQLdb", "mysql", "mariadb", "cymysql"),
    _MYSQL_TYPES,
    _is_in_mysql,
    quote="`",
    commits_tables=True,
    has_offsets=False,
)
SQLITE = Dialect("SQLite", ("sqlite3", "pysqlite", "sqlcipher"), _SQLITE_TYPES, _is_in_sqlite)
DIALECTS = (
    SQLITE,
    Dialect("PostgreSQL", ("psycopg", "pg8000"), _STANDARD_TYPES, _is_in_postgresql),
    Dialect("DuckDB", ("duckdb", "_duckdb"), _STANDARD_TYPES, _is_in_duckdb),
    MYSQL,
)


def dialect_of(library: ModuleType) -> Dialect | None:
    """Return the dialect of a DB-API module's database; None if it is not known.

    Examples
    --------
    >>> import sqlite3
    >>> dialect_of(sqlite3).name
    'SQLite'
    """
    return next((dialect for dialect in DIALECTS if library.__name__.startswith(dialect.modules)), None)


def existing_table_error(table: str) -> InvalidArgumentError:
    """Return the error for ``if_exists="fail"``."""
    return InvalidArgumentError(f"there is a table {visible(table)} already: if_exists='append' adds rows to it, and 'replace' replaces it")


@contextlib.contextmanager
def prepared_table(
    cursor: Any,
    dialect: Dialect | None,
    request: TableRequest,
    columns: Callable[[], Sequence[tuple[str, str]]],
    transaction: AbstractContextManager[None],
) -> Iterator[Sequence[str]]:
    """Return a context manager that makes or empties a table, and gives the name to insert into; it finishes when all rows are in the table.

    Parameters
    ----------
    cursor
        A cursor.
    dialect
        What is known of the database; if nothing is, there must be a table, and rows are appended.
    request
        The name of the table, and what to do if it exists.
    columns
        Function that gives pairs of name and kind, called only if a table is made.
    transaction
        A context manager of one transaction, for the block, and for all of the table that the database does within a transaction.

    Raises
    ------
    InvalidArgumentError
        If there is a table, and there must be none.
    UnsupportedOperationError
        If nothing is known of the database, and rows are not just appended.
    """
    if dialect is None:
        if request.if_exists != "append":
            raise UnsupportedOperationError(
                f"if_exists={request.if_exists!r} depends on the database, which this connection does not tell: pass an Engine of SQLAlchemy"
            )
        with transaction:
            yield request.parts
    elif dialect.commits_tables:
        yield from _table_of_another_name(cursor, dialect, request, columns, transaction)
    else:
        with transaction:
            exists = _exists(cursor, dialect, request)
            if exists and request.if_exists == "delete_rows":
                cursor.execute(f"DELETE FROM {dialect.quoted(request.parts)}")
            if exists and request.if_exists == "replace":
                cursor.execute(f"DROP TABLE {dialect.quoted(request.parts)}")
            if not exists or request.if_exists == "replace":
                cursor.execute(dialect.definition(request.parts, columns()))
            yield request.parts


def _exists(cursor: Any, dialect: Dialect, request: TableRequest) -> bool:
    exists = dialect.exists(cursor, request.parts)
    if exists and request.if_exists == "fail":
        raise existing_table_error(request.table)
    return exists


def _table_of_another_name(
    cursor: Any,
    dialect: Dialect,
    request: TableRequest,
    columns: Callable[[], Sequence[tuple[str, str]]],
    transaction: AbstractContextManager[None],
) -> Iterator[Sequence[str]]:
    """Yield the name of the table once, where making tables commits: a table that replaces another one is made under another name."""
    parts = request.parts
    exists = _exists(cursor, dialect, request)
    if exists and request.if_exists != "replace":
        with transaction:
            if request.if_exists == "delete_rows":
                cursor.execute(f"DELETE FROM {dialect.quoted(parts)}")
            yield parts
        return
    made = [*parts[:-1], f"{parts[-1][:_KEPT_OF_NAME]}_{secrets.token_hex(6)}"] if exists else parts
    cursor.execute(dialect.definition(made, columns()))
    try:
        with transaction:
            yield made
        if exists:
            old = [*parts[:-1], f"{made[-1]}_old"]
            names = [dialect.quoted(name) for name in (parts, old, made, parts)]
            cursor.execute("RENAME TABLE {} TO {}, {} TO {}".format(*names))
            made = old
            cursor.execute(f"DROP TABLE {dialect.quoted(old)}")
    except BaseException as error:
        try:
            cursor.execute(f"DROP TABLE IF EXISTS {dialect.quoted(made)}")
        except Exception as other:
            error.add_note(f"the table {visible('.'.join(made))} could not be dropped ({visible(brief(str(other)))})")
        raise
