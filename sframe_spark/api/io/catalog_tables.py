"""Reads and writes tables in the catalogs of the user's Spark session; an additional column keeps the order of rows.

See docs/decisions/022-catalog-tables.md.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs

from sframe_spark.api.interchange.from_spark import frame_from_spark
from sframe_spark.api.interchange.to_spark import to_spark_within
from sframe_spark.api.io.jdbc import MODES, require_choice
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.spark.error_translation import in_one_line, is_of_spark, run_spark
from sframe_spark.engine.spark.shared_file_and_row_count_checks import require_writable
from sframe_spark.errors import (
    ExecutionError,
    InvalidArgumentError,
    SchemaError,
    SFrameError,
    StorageError,
    TakenNameError,
    UnsupportedOperationError,
)
from sframe_spark.message_text import visible
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.planner.node_facts import Length
from sframe_spark.session.spark_locality import is_one_process
from sframe_spark.session.spark_start_and_settings import is_remote
from sframe_spark.session.users_own_spark_session import user_session
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sframe_spark.planner.node import PlannerNode


# Shared directories of tables: tasks write files there, and the driver publishes them.

SHARED_WAREHOUSE = (
    "set spark.sql.warehouse.dir before Spark starts to a directory that this machine and all of Spark's share, or write into a database "
    "whose LOCATION is one, or is on an object store"
)


def require_shared_place(user: SparkSession, table: str, database: str, is_there: bool) -> None:
    """Raise an error if the executors of a cluster and this process do not share the directory of a table, because written rows would be lost.

    Parameters
    ----------
    user
        The session whose catalogs are used.
    table
        The quoted name of the table.
    database
        The part of the name before that of the table; empty for the current database.
    is_there
        Whether the table exists; then its own location is checked, which may be outside of its database.

    Raises
    ------
    NotSharedError
        If the directory is not shared; the message names a machine, the directory and the setting to change.
    """
    # A Spark Connect server publishes tables itself, so this process need not have access.
    if is_remote(user) or is_one_process(user):
        return
    location = _location_of_table(user, table) if is_there else _location_of_database(user, database)
    if not location.startswith("file:"):
        return
    directory = "/" + location.removeprefix("file:").strip("/")
    # Spark creates the directory of its default database only with the first table.
    with translate_os_errors("create", directory):
        os.makedirs(directory, exist_ok=True)
    require_writable(join(directory, "table"), SHARED_WAREHOUSE)


def _location_of_table(user: SparkSession, table: str) -> str:
    """Return the directory that contains a managed table and its siblings; for an external table, its own directory."""
    properties = {row[0]: row[1] for row in user.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    own = (properties.get("Location") or "").rstrip("/")
    return own if properties.get("Type") == "EXTERNAL" else os.path.dirname(own)


def _location_of_database(user: SparkSession, database: str) -> str:
    """Return the directory of a database. Spark's own catalog returns it as a percent-encoded URI."""
    described = user.catalog.getDatabase(database or user.catalog.currentDatabase())
    location = described.locationUri or ""
    return unquote(location) if described.catalog == "spark_catalog" else location


ORDER_COLUMN = "_sframe_row"
FORMATS = ("delta", "iceberg", "parquet")
# Formats in which Spark replaces all rows of a table atomically.
_ATOMIC = ("delta", "iceberg")
_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.\s\0]+)")
_NO_SOURCE = re.compile(r"Failed to find the data source: (?:\w+\.)*(\w+)")
_PACKAGES = {
    "delta": "add io.delta:delta-spark_2.13, of the version made for this Spark, to spark.jars.packages before Spark starts",
    "iceberg": "add org.apache.iceberg:iceberg-spark-runtime, of the version made for this Spark, to spark.jars.packages before Spark starts",
}


@attrs.frozen
class OrderedTable:
    """The rows of a table, and which column keeps their order.

    Parameters
    ----------
    node, names
        The rows, in no defined order, and the column names.
    order_column
        Index of the column that keeps the order; None if the table has none.
    """

    node: PlannerNode
    names: list[str]
    order_column: int | None


def read_table(name: Any, version: Any, ordered: bool) -> OrderedTable:
    """Return the rows of a table or view. Its order column is verified first, unless the user requests another order (``ordered``).

    Raises
    ------
    SchemaError, InvalidArgumentError
        If the name or the version is invalid.
    ExecutionError, UnsupportedOperationError
        If Spark does not find the table or version, or a package for its format is missing.
    StorageError
        If rows have no number, or several have the same one.
    """
    table, options = _joined(parts_of(name)), _options_of(version)
    with errors_of_catalog(name):
        df = user_session().read.options(**options).table(table)
        fields = {field.name: field.dataType.typeName() for field in df.schema.fields}
        numbered = fields.get(ORDER_COLUMN) == "long"
        length = None if ordered or not numbered else _verified_length(df, name)
    node, names = frame_from_spark(df)
    if length is not None:
        node.facts = attrs.evolve(node.facts, length=length)
    return OrderedTable(node, names, names.index(ORDER_COLUMN) if numbered else None)


def write_table(node: PlannerNode, names: Sequence[str], name: Any, format: Any, mode: Any, keep_order: bool) -> None:
    """Write all rows and a column that numbers them. They are computed before anything is changed, and counted in the table afterwards.

    Raises
    ------
    SchemaError, InvalidArgumentError, TakenNameError
        If an argument is invalid, or a column has the name of the order column.
    ExecutionError, UnsupportedOperationError
        If Spark cannot write, or a package for the format is missing.
    StorageError
        If the table has another number of rows than expected afterwards.
    """
    parts = parts_of(name)
    require_choice("format", format, FORMATS)
    require_choice("mode", mode, MODES)
    if not names:
        raise InvalidArgumentError("a frame without columns cannot be written as a table")
    for column in names:
        if column.casefold() == ORDER_COLUMN:
            raise TakenNameError(f"column {visible(repr(column))} has the name of the column that keeps the order of rows in tables: rename it first")
    user = user_session()
    with errors_of_catalog(name):
        exists = user.catalog.tableExists(_joined(parts))
    if exists and mode == "error":
        raise ExecutionError(f"table {name} exists already: choose mode='append', 'overwrite' or 'ignore', or another name")
    if exists and mode == "ignore":
        return
    with errors_of_catalog(name):
        require_shared_place(user, _joined(parts), _joined(parts[:-1]), exists)
    materialize(node)
    writing = _Writing(user, parts, format, keep_order)
    if exists and mode == "overwrite" and format not in _ATOMIC:
        writing.replace(node, list(names))
    else:
        start = writing.next_number(list(names)) if exists and mode == "append" else 0
        writing.save(node, list(names), mode if exists else "error", parts, start)


@attrs.frozen
class _Writing:
    """Writes rows into one table.

    Parameters
    ----------
    user
        The session whose catalogs are used.
    parts
        The parts of the table's name.
    format
        The format of the table.
    keep_order
        Whether rows are numbered.
    """

    user: SparkSession
    parts: Sequence[str]
    format: str
    keep_order: bool

    def next_number(self, names: list[str]) -> int:
        """Return the number for the first row to append: one more than the largest in the table, or zero if rows are not numbered."""
        from pyspark.sql import functions as F

        name = ".".join(self.parts)
        with errors_of_catalog(name):
            table = self.user.read.table(_joined(self.parts))
            numbered = ORDER_COLUMN in table.columns
            if numbered and not self.keep_order:
                raise InvalidArgumentError(f"table {name} keeps the order of its rows in {ORDER_COLUMN}: append with keep_order=True")
            if not numbered and self.keep_order:
                raise InvalidArgumentError(f"table {name} has no column {ORDER_COLUMN} that keeps the order of rows: append with keep_order=False")
            _require_same_columns(name, table.columns, [*names, ORDER_COLUMN] if numbered else names)
            if not numbered:
                return 0
            largest = run_spark(table.agg(F.max(ORDER_COLUMN)).collect, f"reading the row order of table {name}")[0][0]
        return 0 if largest is None else int(largest) + 1

    def save(self, node: PlannerNode, names: list[str], mode: str, parts: Sequence[str], start: int) -> None:
        """Write all rows into a table in one of Spark's save modes, numbered from ``start``, and verify how many rows the table has."""
        from pyspark.sql import functions as F

        name = ".".join(parts)
        rows = materialize(node).length.rows
        assert rows is not None
        numbered = zip_columns(node, row_number(node, start)) if self.keep_order else node
        df = to_spark_within(numbered, [*names, ORDER_COLUMN] if self.keep_order else names, self.user)
        with errors_of_catalog(name):
            writer = df.write.format(self.format).mode(mode)
            if mode == "overwrite":
                writer = writer.option("overwriteSchema", "true")
            run_spark(partial(writer.saveAsTable, _joined(parts)), f"writing table {name}")
            written = self.user.read.table(_joined(parts))
            if self.keep_order:
                written = written.where(F.col(ORDER_COLUMN).between(start, start + rows - 1))
            elif mode == "append":
                # Without numbers, the rows of this call cannot be distinguished from others, so they are not counted.
                return
            written_rows = run_spark(written.count, f"counting the rows of table {name}")
        if written_rows > rows:
            raise StorageError(
                f"table {name} has {written_rows} rows with the numbers of the {rows} that were written: another program has written at the same "
                "time; go back to a version before, or read it with order_by="
            )
        if written_rows < rows:
            raise StorageError(f"table {name} has {written_rows} of the {rows} rows that were written: write it again")

    def replace(self, node: PlannerNode, names: list[str]) -> None:
        """Write the rows into a new table, count them, and then rename it. Spark's own overwrite would delete the old rows first."""
        name, above = ".".join(self.parts), self.parts[:-1]
        with errors_of_catalog(name):
            kind = self.user.catalog.getTable(_joined(self.parts)).tableType
        if kind != "MANAGED":
            raise UnsupportedOperationError(
                f"table {name} is {kind.lower()}, whose files the catalog cannot replace: drop it, or choose another name"
            )
        new, old = ((*above, f"{self.parts[-1]}__sframe_{word}") for word in ("new", "old"))
        with errors_of_catalog(name):
            for leftover in (new, old):
                if self.user.catalog.tableExists(_joined(leftover)):
                    raise ExecutionError(
                        f"table {'.'.join(leftover)} is there, which another program that replaces {name} has made, or one that was killed: "
                        "look at it, drop it or rename it, and write again"
                    )
        try:
            self.save(node, names, "error", new, 0)
            self._rename(self.parts, old)
            try:
                self._rename(new, self.parts)
            except BaseException:
                self._rename(old, self.parts)
                raise
        except BaseException:
            self._drop(new)
            raise
        self._drop(old)

    def _rename(self, parts: Sequence[str], other: Sequence[str]) -> None:
        with errors_of_catalog(".".join(parts)):
            self.user.sql(f"ALTER TABLE {_joined(parts)} RENAME TO {_joined(other[1:] if len(other) > 2 else other)}")

    def _drop(self, parts: Sequence[str]) -> None:
        with errors_of_catalog(".".join(parts)):
            self.user.sql(f"DROP TABLE IF EXISTS {_joined(parts)}")


def parts_of(name: Any) -> tuple[str, ...]:
    """Return the parts of a table's name, split as by Spark.

    Raises
    ------
    SchemaError
        If the name is not a string.
    InvalidArgumentError
        If it is not a valid name of a table.

    Examples
    --------
    >>> parts_of("shop.`order lines`")
    ('shop', 'order lines')
    """
    if not isinstance(name, str):
        raise SchemaError(f"the name of a table must be a text, not {type(name).__name__}")
    parts, end = [], 0
    while match := _PART.match(name, end):
        quoted, plain = match.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        end = match.end()
        if end == len(name):
            return tuple(parts)
        if name[end] != ".":
            break
        end += 1
    raise InvalidArgumentError(f"{visible(repr(name[:200]))} is not the name of a table, such as trades, shop.trades or catalog.shop.`order lines`")


def _joined(parts: Sequence[str]) -> str:
    """Return the quoted name of a table, given its parts."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _options_of(version: Any) -> dict[str, str]:
    """Return the options of Spark's reader for a version: a version number, the name of a branch or tag, or a time."""
    if version is None:
        return {}
    if isinstance(version, datetime.datetime):
        return {"timestampAsOf": version.isoformat(sep=" ")}
    if isinstance(version, bool) or not isinstance(version, (int, str)):
        raise SchemaError(f"version must be the number or name of a version, or a datetime, not {type(version).__name__}")
    if version == "" or (isinstance(version, int) and version < 0):
        raise InvalidArgumentError(f"version must be the number of a version, from 0, or its name, got {version!r}")
    return {"versionAsOf": str(version)}


def _require_same_columns(name: str, columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise an error if the table's columns differ from the frame's ``names``; Spark's message would only say how many there are."""
    differences = [f"the frame has no {visible(repr(column))}" for column in columns if column not in names]
    differences += [f"the table has no {visible(repr(column))}" for column in names if column not in columns]
    if differences:
        more_text = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
        raise SchemaError(f"table {name} has other columns: {differences[0]}{more_text}; append rows of its columns")


def _verified_length(df: DataFrame, name: str) -> Length:
    """Return the number of rows, after verifying that each has a distinct row number.

    Raises
    ------
    StorageError
        If rows have no number, or several have the same one.
    """
    from pyspark.sql import functions as F

    number = F.col(ORDER_COLUMN)
    aggregates = df.agg(F.count(F.lit(1)), F.count(number), F.min(number), F.max(number), F.bit_xor(F.xxhash64(number)))
    rows, numbered, first, last, mixed = run_spark(aggregates.collect, f"reading the row order of table {name}")[0]
    if numbered != rows:
        raise StorageError(
            f"{rows - numbered} rows of table {name} have no {ORDER_COLUMN}: another program inserted them; name the columns that order them "
            f"with order_by="
        )
    if not rows:
        return Length.exactly(0)
    if last - first + 1 == rows:
        # There are as many rows as numbers in the range, and the XORs of hashes agree, so each number occurs an odd number of times: exactly once.
        ids = df.sparkSession.range(first, last + 1).agg(F.bit_xor(F.xxhash64(F.col("id"))))
        distinct = run_spark(ids.collect, f"reading the row order of table {name}")[0][0] == mixed
    else:
        # The numbers have gaps: rows were deleted, or some numbers occur twice.
        distinct = run_spark(df.select(ORDER_COLUMN).distinct().count, f"reading the row order of table {name}") == rows
    if not distinct:
        raise StorageError(
            f"several rows of table {name} have the same number in {ORDER_COLUMN}: two programs appended at the same time; name the columns "
            f"that order them with order_by="
        )
    return Length.exactly(int(rows))


@contextlib.contextmanager
def errors_of_catalog(name: str) -> Iterator[None]:
    """Turn Spark's errors about a table into errors whose message is one line, and which name a missing package.

    Raises
    ------
    UnsupportedOperationError
        If a package is missing, or the table keeps no versions.
    ExecutionError
        If Spark raises another error.
    """
    try:
        yield
    except SFrameError as error:
        _raise_if_package_missing(str(error))
        raise
    except Exception as error:
        if not is_of_spark(error):
            raise
        _raise_if_package_missing(str(error))
        if "TIME_TRAVEL" in str(error):
            raise UnsupportedOperationError(f"table {name} keeps no versions: leave version= out; tables of Delta and Iceberg keep them") from None
        raise ExecutionError(f"table {name}: {in_one_line(str(error))}") from None


def _raise_if_package_missing(message: str) -> None:
    match = _NO_SOURCE.search(message)
    if match is not None:
        kind = match.group(1).lower()
        advice = _PACKAGES.get(kind, "add its package to spark.jars.packages before Spark starts")
        raise UnsupportedOperationError(f"this Spark has no tables of {kind}: {advice}") from None
