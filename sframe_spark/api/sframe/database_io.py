"""Members of SFrame that read and write databases and catalog tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import make_frame
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.operators.project import project
from sframe_spark.operators.sort import SORTABLE, sort_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sframe_spark.api.class_registry import SFrame


class FrameDatabases(Columns):
    """Rows over a connection of Python's DB-API, over JDBC, or of the catalogs that Spark knows."""

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
        """The rows of a query of a database, in its order.

        Parameters
        ----------
        conn
            A connection of any library that follows Python's DB-API, such as ``sqlite3``.
        sql_statement
            The query.
        params
            Values for its marks.
        type_inference_rows
            The first value of a column in so many rows decides its type; a column without one is of text.
        dbapi_module
            The library that made the connection, if its class does not show it.
        column_type_hints
            A class for all columns, a list of classes, or a dict from name to class.
        cursor_arraysize
            How many rows the database is asked for at a time.

        Raises
        ------
        AttributeError
            If ``conn`` is no connection.
        TypeError
            If a value is of another class than its column.
        ValueError
            If the statement gives no rows.
        RuntimeError
            If two columns have one name.

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
        from sframe_spark.api.io.databases import read_sql

        return make_frame(*read_sql(conn, sql_statement, params, type_inference_rows, dbapi_module, column_type_hints, cursor_arraysize))

    def to_sql(
        self, conn: Any, table_name: str, dbapi_module: Any = None, use_python_type_specifiers: bool = False, use_exact_column_names: bool = True
    ) -> None:
        """Insert all rows into a table of a database, all or none, whether or not the connection commits each statement (autocommit).

        They are committed. Of a connection that commits each statement a transaction that the program has begun stays open, with the rows in it.
        If anything fails, no earlier statement that waits for a commit is rolled back. All of this depends on what the connection shows of its state:
        of one that shows nothing it is assumed that it waits for a commit, as in the standard.

        Parameters
        ----------
        conn
            A connection of any library that follows Python's DB-API.
        table_name
            The table, which is there; names are quoted, whatever is in them.
        dbapi_module
            The library that made the connection, if its class does not show it.
        use_python_type_specifiers
            Whether numbers are marked with ``%d`` and ``%f`` where the library marks with ``%s``.
        use_exact_column_names
            Whether the table's columns are named as the frame's; otherwise they are taken in their order.

        Raises
        ------
        AttributeError
            If ``conn`` is no connection.
        TypeError
            If a column holds lists, arrays or dicts.

        Examples
        --------
        >>> import contextlib, sqlite3
        >>> from sframe_spark import SFrame
        >>> with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        ...     _ = conn.execute("create table t(id integer)")
        ...     SFrame({"id": range(3)}).to_sql(conn, "t")
        ...     conn.execute("select sum(id) from t").fetchone()
        (3,)
        """
        from sframe_spark.api.io.databases import write_sql

        write_sql(self._node, self._names, conn, table_name, dbapi_module, use_python_type_specifiers, use_exact_column_names)

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
        """The rows of a table of a database, in the order of some columns, which Spark reads over JDBC when they are first needed.

        Rows of a table have no order, so it has to be named. Rows that are equal in these columns are in the order of the others, from the first on:
        reading the same rows again gives the same frame, however many tasks read them. A frame is read once, and its rows are kept.

        Parameters
        ----------
        url
            The address, ``jdbc:...``. The driver is a jar of the Spark session.
        table
            The table, or a query in parentheses with a name behind it.
        column, lowerBound, upperBound, numPartitions
            So many tasks read rows, each those with values of the column in a part between the bounds; rows beyond them are read too. Without them,
            and without ``predicates``, one task reads all rows.
        predicates
            Conditions, one for each task, that each row fulfils one of.
        properties
            Options of the driver and of Spark, such as ``user``, ``password``, ``driver``, ``fetchsize`` (10,000 rows unless given).
        query
            Instead of a table.
        order_by
            As in :meth:`sort`: a name, a list of names, or a list of (name, ascending) pairs.

        Raises
        ------
        TypeError, ValueError
            If an argument is none that can be asked of a database, or ``order_by`` names no column.
        RuntimeError
            If the database, its driver or Spark refuses it.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"id": [2, 1], "name": ["bob", "ann"]}).write_jdbc("jdbc:derby:memory:shop;create=true", "users")  # doctest: +SKIP
        >>> list(SFrame.read_jdbc("jdbc:derby:memory:shop", "users", order_by="id"))  # doctest: +SKIP
        [{'id': 1, 'name': 'ann'}, {'id': 2, 'name': 'bob'}]
        """
        from sframe_spark.api.io.databases import JdbcRequest, read_jdbc

        if not order_by:
            raise InvalidArgumentError("rows of a table have no order: name the columns that tell it, such as order_by='id'")
        frame = make_frame(*read_jdbc(JdbcRequest(url, table, query, column, lowerBound, upperBound, numPartitions, predicates, properties)))
        return make_frame(sort_rows(frame._node, _with_ties(frame, frame._order(order_by, True))), frame._names)

    def write_jdbc(self, url: str, table: str, mode: str | None = None, properties: Mapping[str, Any] | None = None) -> None:
        """Write all rows into a table of a database, which Spark does over JDBC, several tasks at a time.

        Each task is a transaction of its own: where one fails, the rows of others may be there. With ``numPartitions`` 1 among the properties all
        rows are one transaction. A table has no order of rows: write that of :meth:`add_row_number` too where it matters.

        Parameters
        ----------
        url
            The address, ``jdbc:...``. The driver is a jar of the Spark session.
        table
            The table.
        mode
            ``error`` (unless given: refuses a table that is there), ``append``, ``overwrite`` or ``ignore`` (leaves a table that is there).
        properties
            Options of the driver and of Spark, such as ``user``, ``password``, ``driver``, ``batchsize``, ``numPartitions``.

        Raises
        ------
        TypeError
            If a column holds lists, arrays or dicts.
        ValueError
            If there is no such mode, or a name has a quote.
        RuntimeError
            If the database, its driver or Spark refuses it.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"id": [2, 1]}).write_jdbc("jdbc:derby:memory:shop;create=true", "numbers", mode="overwrite")  # doctest: +SKIP
        """
        from sframe_spark.api.io.databases import write_jdbc

        write_jdbc(self._node, self._names, url, table, mode, properties)

    @staticmethod
    def from_table(name: str, version: Any = None, order_by: Any = None) -> SFrame:
        """The rows of a table that the user's Spark session knows, in the order in which :meth:`to_table` wrote them or in that of some columns.

        A table has no order of rows; :meth:`to_table` keeps theirs in a column ``_sframe_row``, which is no column of this frame. That each row has
        a number of its own is verified first: that column is read once. Rows that are appended meanwhile are not read. The planner knows the
        order, and nothing is sorted for what needs none.

        Parameters
        ----------
        name
            As Spark has it: ``trades``, ``shop.trades``, ``catalog.shop.trades``; parts of other signs in backticks. Views too.
        version
            For tables that keep versions (Delta, Iceberg): the number of one, the name of a branch or tag, or a time.
        order_by
            As in :meth:`sort`: a name, a list of names, or a list of (name, ascending) pairs. It is needed for tables that others have written.
            Rows that are equal in these columns are in the order in which they were written, where that is kept, else in that of the other columns.

        Raises
        ------
        ValueError
            If nothing tells an order, or ``order_by`` names no column.
        RuntimeError
            If Spark knows no such table or version, or lacks the package that reads it, which is named.
        OSError
            If others have inserted rows without numbers, or two programs have given the same ones.

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
        place = table.place
        if order_by is None and place is None:
            raise InvalidArgumentError(
                f"rows of table {name} have no order: name the columns that tell it, such as order_by='id'; "
                "SFrame(spark.table(name)) takes them in the order in which Spark gives them"
            )
        order = [] if order_by is None else frame._order(order_by, True)
        if place is None:
            return make_frame(sort_rows(frame._node, _with_ties(frame, order)), frame._names)
        known = [*order, (place, True)] if all(place != column for column, _ in order) else order
        visible_columns = [column for column in range(len(table.names)) if column != place]
        return make_frame(project(sort_rows(frame._node, known), visible_columns), [table.names[column] for column in visible_columns])

    def to_table(self, name: str, format: str = "parquet", mode: str = "error", *, keep_order: bool = True) -> None:
        """Write all rows into a table of a catalog that the user's Spark session knows.

        The rows are computed first, so that nothing is changed where that fails, and counted in the table at the end. A column ``_sframe_row``,
        which no frame may have, numbers them, and :meth:`from_table` gives them back in their order. Columns have the types of :meth:`to_spark`.

        Parameters
        ----------
        name
            As Spark has it: ``trades``, ``shop.trades``, ``catalog.shop.trades``; parts of other signs in backticks.
        format
            ``parquet``, or ``delta`` or ``iceberg``, for which the session needs their packages.
        mode
            ``error`` (refuses a table that is there), ``append`` (rows come after those that are there), ``overwrite`` (the old rows stay until the
            new ones are there and counted) or ``ignore`` (leaves a table that is there).
        keep_order
            Whether rows are numbered. Without it a table of others takes rows too, in no order.

        Raises
        ------
        ValueError
            If the name, the format or the mode is none, or the frame has no columns.
        TypeError
            If rows are appended to a table of other columns.
        RuntimeError
            If Spark refuses to write, or lacks the package that writes the format, which is named.
        OSError
            If the table has other rows with these numbers at the end: another program has appended at the same time.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> SFrame({"name": ["oil", "gas"]}).to_table("shop.trades", mode="append")  # doctest: +SKIP
        """
        from sframe_spark.api.io.catalog_tables import write_table

        write_table(self._node, self._names, name, format, mode, keep_order)


def _with_ties(frame: Any, order: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
    """Return an order extended by all other sortable columns, so that the same rows always come in the same order."""
    tie_breakers = [place for place, kind in enumerate(frame._node.schema) if kind.kind in SORTABLE and all(place != known for known, _ in order)]
    return [*order, *((place, True) for place in tie_breakers)]
