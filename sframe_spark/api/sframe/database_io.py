"""Members of SFrame that read and write databases, and tables in the catalogs of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.sframe.columns import Columns, without
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.sort_top_rows_and_assumed_order import SORTABLE, sort_rows


class FrameDatabases(Columns):
    """Mixin of SFrame: databases, over connections of Python's DB-API or over JDBC, and catalog tables."""

    @staticmethod
    def from_sql(
        conn: Any,
        sql_statement: str,
        params: Any = None,
        type_inference_rows: int = 100,
        dbapi_module: Any = None,
        column_type_hints: Any = None,
        cursor_arraysize: int = 128,
    ) -> SFrame:
        """Return a frame of the rows of a database query, in the order in which the database returns them.

        Parameters
        ----------
        conn
            A connection of a library that follows Python's DB-API, such as ``sqlite3``, or of ADBC; or an engine, connection, session or URL of
            SQLAlchemy, also as a string.
        sql_statement
            The query; for SQLAlchemy also a statement of its, such as ``select()`` or ``text()``.
        params
            Values for the placeholders in the query, as the library of the database has them.
        type_inference_rows
            The type of a column is that of its first value that is not missing, among this number of first rows; if there is none, that of the
            library's type code, or string. Libraries that return Arrow batches (ADBC, DuckDB) provide the types themselves.
        dbapi_module
            The library that made the connection; needed only if it cannot be found by the connection's class.
        column_type_hints
            A class for all columns, a list of classes, or a dict from column name to class. Without a hint, decimals without a fraction are ints,
            other decimals floats, and times of day, UUIDs and network addresses strings.
        cursor_arraysize
            Number of rows to fetch at a time.

        Raises
        ------
        AttributeError
            If ``conn`` is not a connection.
        TypeError
            If a value does not fit the type of its column.
        ValueError
            If the statement returns no rows.
        RuntimeError
            If two columns have the same name.

        Examples
        --------
        >>> import contextlib, sqlite3
        >>> from sframe_spark import SFrame
        >>> with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        ...     _ = conn.execute("create table t(id integer, name text)")
        ...     SFrame({"id": [1, 2], "name": ["ann", None]}).to_sql(conn, "t")
        ...     list(SFrame.from_sql(conn, "select * from t where id > ?", params=[1]))
        [{'id': 2, 'name': None}]
        """
        from sframe_spark.api.io.databases import QueryRequest, read_sql

        request = QueryRequest(sql_statement, params, type_inference_rows, dbapi_module, column_type_hints, cursor_arraysize)
        return make_frame(*read_sql(conn, request))

    def to_sql(
        self,
        conn: Any,
        table_name: str,
        dbapi_module: Any = None,
        use_python_type_specifiers: bool = False,
        use_exact_column_names: bool = True,
        *,
        if_exists: str = "append",
    ) -> None:
        """Insert all rows into a table of a database, and commit them; either all rows are inserted or none.

        If there is no such table, it is created, with column types that can hold the values. Rows are inserted batch by batch, and are never all in
        memory.

        On a connection in autocommit mode, a transaction that the program has begun stays open, with the rows in it. If an error occurs, earlier
        statements that are not committed yet are kept, if the database has savepoints. All of this depends on what the connection reveals of its
        state; a connection that reveals nothing is assumed not to be in autocommit mode, as the standard requires. Connections and sessions of
        SQLAlchemy keep an open transaction open, with the rows in it. MySQL and MariaDB commit an open transaction when a table is made; a table
        that was made for rows that could not be inserted is dropped again.

        Parameters
        ----------
        conn
            A connection of a library that follows Python's DB-API, or of ADBC; or an engine, connection, session or URL of
            SQLAlchemy, also as a string.
        table_name
            Name of the table, with its schema if necessary; parts are separated by dots, and quoted in the statement.
        dbapi_module
            The library that made the connection; needed only if it cannot be found by the connection's class.
        use_python_type_specifiers
            Whether the placeholders for numbers are ``%d`` and ``%f``, if the library uses ``%s``.
        use_exact_column_names
            Whether the statement names the columns, as the frame does; otherwise values are inserted in the order of the table's columns.
        if_exists
            What to do if the table exists: ``append`` rows to it, ``fail``, ``replace`` it by a new table, or ``delete_rows`` first.

        Raises
        ------
        AttributeError
            If ``conn`` is not a connection.
        TypeError
            If a column holds lists, arrays or dicts, or date-times with an offset for a database that does not keep offsets.
        ValueError
            If the table exists and ``if_exists`` is ``fail``.
        RuntimeError
            If the connection commits each statement and cannot begin a transaction, or no table can be made in a database of its kind.

        Examples
        --------
        >>> import contextlib, sqlite3
        >>> from sframe_spark import SFrame
        >>> with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        ...     SFrame({"id": range(3)}).to_sql(conn, "t")
        ...     SFrame({"id": range(3)}).to_sql(conn, "t")
        ...     conn.execute("select sum(id) from t").fetchone()
        (6,)
        """
        from sframe_spark.api.io.databases import TableRequest, write_sql

        request = TableRequest(table_name, dbapi_module, use_python_type_specifiers, use_exact_column_names, if_exists)
        write_sql(self._node, self._names, conn, request)

    @staticmethod
    def read_jdbc(
        url: str,
        table: str | None = None,
        column: str | None = None,
        lowerBound: Any = None,
        upperBound: Any = None,
        numPartitions: int | None = None,
        predicates: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        *,
        query: str | None = None,
        order_by: Any,
    ) -> SFrame:
        """Return a frame of the rows of a database table, sorted by some columns; Spark reads them over JDBC when they are first needed.

        Rows of a table have no order, so ``order_by`` is required. Rows that are equal in these columns are sorted by the other columns. So reading
        the same rows again gives the same frame, however many tasks read them. The rows are read once, and kept.

        Parameters
        ----------
        url
            URL of the database, ``jdbc:...``. The Spark session must have the jar of its driver.
        table
            Name of the table, or a query in parentheses, followed by a name for it.
        column, lowerBound, upperBound, numPartitions
            Rows are read by ``numPartitions`` tasks, each of which reads a part of the range of ``column`` between the bounds. Rows outside of the
            bounds are read too. Without these arguments and ``predicates``, one task reads all rows.
        predicates
            SQL conditions, one for each task. Each row must satisfy exactly one of them.
        properties
            Options of the driver and of Spark, such as ``user``, ``password``, ``driver``, and ``fetchsize`` (by default 10,000 rows).
        query
            A query, instead of ``table``.
        order_by
            As in :meth:`sort`: a name, a list of names, or a list of (name, ascending) pairs.

        Raises
        ------
        TypeError, ValueError
            If an argument is invalid, or ``order_by`` names no column.
        RuntimeError
            If the database, its driver or Spark raises an error.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"id": [2, 1], "name": ["bob", "ann"]}).write_jdbc("jdbc:derby:memory:shop;create=true", "users")  # doctest: +SKIP
        >>> list(SFrame.read_jdbc("jdbc:derby:memory:shop", "users", order_by="id"))  # doctest: +SKIP
        [{'id': 1, 'name': 'ann'}, {'id': 2, 'name': 'bob'}]
        """
        from sframe_spark.api.io.jdbc import JdbcRequest, read_jdbc

        if not order_by:
            raise InvalidArgumentError("the rows of a table have no order: name the columns that define it, such as order_by='id'")
        frame = make_frame(*read_jdbc(JdbcRequest(url, table, query, column, lowerBound, upperBound, numPartitions, predicates, properties)))
        return make_frame(sort_rows(frame._node, _with_ties(frame, frame._order(order_by, True))), frame._names)

    def write_jdbc(self, url: str, table: str, mode: str | None = None, properties: Mapping[str, Any] | None = None) -> None:
        """Write all rows into a table of a database; Spark writes them over JDBC in several tasks.

        Each task is a separate transaction: if one fails, the rows of other tasks may be in the table. To write all rows in one transaction, set
        ``numPartitions`` to 1 in ``properties``. A table does not keep the order of rows; if it matters, write the column of :meth:`add_row_number`
        too.

        Parameters
        ----------
        url
            URL of the database, ``jdbc:...``. The Spark session must have the jar of its driver.
        table
            Name of the table.
        mode
            What to do if the table exists: ``error`` (the default), ``append``, ``overwrite`` or ``ignore`` (write nothing).
        properties
            Options of the driver and of Spark, such as ``user``, ``password``, ``driver``, ``batchsize``, ``numPartitions``.

        Raises
        ------
        TypeError
            If a column holds lists, arrays or dicts.
        ValueError
            If the mode is unknown, or a column name contains a quote or bracket.
        RuntimeError
            If the database, its driver or Spark raises an error.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"id": [2, 1]}).write_jdbc("jdbc:derby:memory:shop;create=true", "numbers", mode="overwrite")  # doctest: +SKIP
        """
        from sframe_spark.api.io.jdbc import write_jdbc

        write_jdbc(self._node, self._names, url, table, mode, properties)

    @staticmethod
    def from_table(name: str, version: Any = None, order_by: Any = None) -> SFrame:
        """Return a frame of the rows of a table in the user's Spark session, in the order in which :meth:`to_table` wrote them, or sorted.

        Tables do not keep the order of rows; :meth:`to_table` keeps it in a column ``_sframe_row``, which the frame does not have. Unless
        ``order_by`` is given, this column is first read to verify that each row has a distinct number. Rows that are appended later are not read. The
        planner knows the order, so rows are sorted only if necessary.

        Parameters
        ----------
        name
            Name of a table or view as in Spark, such as ``trades``, ``shop.trades`` or ``catalog.shop.trades``; parts with special characters in
            backticks.
        version
            For formats that keep versions (Delta, Iceberg): a version number, the name of a branch or tag, or a time.
        order_by
            As in :meth:`sort`: a name, a list of names, or a list of (name, ascending) pairs. Required for tables without ``_sframe_row``. Rows that
            are equal in these columns are in the order of ``_sframe_row``, or else sorted by the other columns.

        Raises
        ------
        ValueError
            If the table has no ``_sframe_row`` and ``order_by`` is not given, or it names no column.
        RuntimeError
            If Spark does not find the table or version, or a package for its format is missing, which the message names.
        OSError
            If rows have no number, because another program has inserted them, or rows have the same number.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["oil", "gas"], "lots": [2, 1]}).to_table("trades")  # doctest: +SKIP
        >>> list(SFrame.from_table("trades")["name"])  # doctest: +SKIP
        ['oil', 'gas']
        """
        from sframe_spark.api.io.catalog_tables import read_table

        table = read_table(name, version, order_by is not None)
        frame = make_frame(table.node, table.names)
        number_column = table.order_column
        if order_by is None and number_column is None:
            raise InvalidArgumentError(
                f"rows of table {name} have no order: name the columns that tell it, such as order_by='id'; "
                "SFrame(spark.table(name)) takes them in the order in which Spark gives them"
            )
        order = [] if order_by is None else frame._order(order_by, True)
        if number_column is None:
            return make_frame(sort_rows(frame._node, _with_ties(frame, order)), frame._names)
        if all(number_column != column for column, _ in order):
            order.append((number_column, True))
        other_columns = without(range(len(table.names)), [number_column])
        return make_frame(project(sort_rows(frame._node, order), other_columns), without(table.names, [number_column]))

    def to_table(self, name: str, format: str = "parquet", mode: str = "error", *, keep_order: bool = True) -> None:
        """Write all rows into a table of a catalog in the user's Spark session.

        The rows are computed before anything is changed, and counted in the table afterwards. An additional column ``_sframe_row`` numbers the rows,
        so that :meth:`from_table` returns them in order; the frame must not have a column of this name. Columns have the types of :meth:`to_spark`.

        Parameters
        ----------
        name
            Name of the table as in Spark, such as ``trades``, ``shop.trades`` or ``catalog.shop.trades``; parts with special characters in backticks.
        format
            ``parquet``, ``delta`` or ``iceberg``; for the latter two, the session needs their packages.
        mode
            What to do if the table exists: ``error``, ``append`` (after the existing rows), ``overwrite`` (the old rows are removed only when the new
            ones are written and counted) or ``ignore`` (write nothing).
        keep_order
            Whether to number the rows. Without it, rows can be appended to tables of other programs, and their order is not kept.

        Raises
        ------
        ValueError
            If the name, the format or the mode is invalid, or the frame has no columns.
        TypeError
            If rows are appended to a table with other columns.
        RuntimeError
            If the table exists (mode ``error``), Spark cannot write, or a package for the format is missing, which the message names.
        OSError
            If the table has another number of rows than expected afterwards, for example because another program has appended at the same time.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["oil", "gas"]}).to_table("shop.trades", mode="append")  # doctest: +SKIP
        """
        from sframe_spark.api.io.catalog_tables import write_table

        write_table(self._node, self._names, name, format, mode, keep_order)


def _with_ties(frame: Any, order: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
    """Return the order extended by all other sortable columns, so that the result does not depend on the order in which rows are read."""
    used = {column for column, _ in order}
    sortable = [column for column, column_type in enumerate(frame._node.schema) if column_type.kind in SORTABLE]
    return [*order, *((column, True) for column in sortable if column not in used)]
