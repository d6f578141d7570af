"""Rows from and to databases, over connections of any library that follows Python's DB-API."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from types import ModuleType
from typing import Any

import pyarrow as pa

from sframe_spark.api import node_values
from sframe_spark.api.column_names import require_distinct, require_unicode, with_automatic_names
from sframe_spark.api.io.databases import one_transaction
from sframe_spark.api.io.sql_connection import MARKS, bare_connection, module_of, opened_cursor, require_answer
from sframe_spark.api.node_values import iterate_tuples, node_from_runs
from sframe_spark.errors import ColumnNotFoundError, InvalidArgumentError, SchemaError, SFrameError
from sframe_spark.message_text import brief, visible
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.pieces import aligned_chunks
from sframe_spark.types import FLOAT, INT_KIND, STR, ColumnType, of_any_offset
from sframe_spark.values.convert import construct_value
from sframe_spark.values.encode import encode_parts
from sframe_spark.values.inexact_numbers import RoundedNumbers, may_be_rounded
from sframe_spark.values.infer import column_type_for, infer_type
from sframe_spark.values.value_errors import column_named

ROWS_PER_INSERT = 1000
_SPECIFIERS = {"int": "%d", "float": "%f"}
# Databases whose names stand in other quotes than those of the standard.
_BACKTICKS = ("mysql", "maria")


def read_sql(
    conn: Any, statement: Any, params: Any, inference_rows: Any, module: Any, hints: Any, rows_at_once: Any
) -> tuple[PlannerNode, list[str]]:
    """Rows of a query as a source, and the names of its columns; some rows at a time are in memory.

    Raises
    ------
    NoAttributeError
        If ``conn`` is no connection.
    InvalidArgumentError
        If the statement gives no rows.
    SchemaError
        If a value does not go into its column.
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
        asked_for = {name for place, name in enumerate(names) if dict(_hinted(hints, names)).get(place) == FLOAT}
        found = node_from_runs(_runs(chain(first, rows), names, types, rounded), types)
        rounded.tell(but=asked_for)
        return found, names


def _all_rows(cursor: Any, size: int, names: Sequence[str]) -> Iterator[Sequence[Any]]:
    # Not all cursors have a size of their own, nor do all take one.
    fetch = cursor.fetchmany if getattr(cursor, "arraysize", None) == size else partial(cursor.fetchmany, size)
    while found := fetch():
        for row in found:
            # Some libraries give rows as dicts where they are told so: what they iterate over is names.
            yield [row[name] for name in names] if isinstance(row, Mapping) else row


def _runs(rows: Iterable[Sequence[Any]], names: Sequence[str], types: Sequence[ColumnType], rounded: RoundedNumbers) -> Iterator[list[pa.Array]]:
    """Rows as columns, some at a time; numbers that are rounded are noted."""
    numbered = enumerate(rows)
    while some := list(islice(numbered, node_values.ROWS_PER_RUN)):
        first, given = some[0][0], [row for _, row in some]
        for number, row in some:
            if len(row) != len(types):
                raise SchemaError(f"row {number} has {len(row)} values for {len(types)} columns: the library that made the connection is wrong")
        columns = zip(*given, strict=True)
        parts = [
            encode_parts([_fitting(value, kind, name, number, rounded) for number, value in enumerate(column, first)], kind)
            for column, kind, name in zip(columns, types, names, strict=True)
        ]
        yield from (list(run.columns) for run in aligned_chunks(parts))


def _types(first: Sequence[Sequence[Any]], names: Sequence[str], hints: Any) -> list[ColumnType]:
    """The types asked for, else those of the first values that there are; text where there is none."""
    hinted = dict(_hinted(hints, names))
    found = []
    for place, name in enumerate(names):
        value = next((row[place] for row in first if row[place] is not None), None)
        with column_named(name):
            found.append(of_any_offset(hinted.get(place) or (STR if value is None else infer_type([value]))))
    return found


def _hinted(hints: Any, names: Sequence[str]) -> Iterable[tuple[int, ColumnType]]:
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
            found = construct_value(bytes(value) if isinstance(value, memoryview) else value, kind.kind)
        if kind.kind == INT_KIND and found is not None and not isinstance(value, datetime.datetime) and found != value:
            raise SchemaError(f"as an int it would be {found}")
        return found
    except (SFrameError, UnicodeDecodeError) as error:
        what = f"column {name!r}, row {number}: {visible(brief(value))} ({type(value).__name__}) is no {kind.kind}"
        raise SchemaError(
            f"{what}: give column_type_hints={{{name!r}: {'float' if isinstance(value, float) else 'str'}}}, or convert it in the query"
        ) from error


def write_sql(node: PlannerNode, names: Sequence[str], conn: Any, table: Any, module: Any, specifiers: bool, exact_names: bool) -> None:
    """Insert all rows into a table, in one transaction, whether or not the connection commits each statement.

    Raises
    ------
    NoAttributeError
        If ``conn`` is no connection.
    SchemaError
        If a column holds lists, arrays or dicts, or the table's name is no text.
    """
    conn = bare_connection(conn)
    library = module_of(conn, module)
    if not isinstance(table, str) or not table:
        raise SchemaError(f"table_name is the name of a table, not {table!r:.60}")
    for name, kind in zip(names, node.schema, strict=True):
        if kind.kind in ("list", "dict", "array"):
            raise SchemaError(f"column {name!r} holds values of {kind.kind}, which databases do not take: astype(str) makes texts of them")
    statement = _insert(library, names, node.schema, table, specifiers, exact_names)
    style = library.paramstyle
    with opened_cursor(conn) as cursor, one_transaction(conn, cursor):
        rows = iterate_tuples(node, names)
        while some := list(islice(rows, ROWS_PER_INSERT)):
            require_answer(conn, cursor.executemany(statement, [_named(row) for row in some] if style == "named" else some))


def _named(row: Sequence[Any]) -> dict[str, Any]:
    return {f"p{place}": value for place, value in enumerate(row, 1)}


def _insert(library: ModuleType, names: Sequence[str], types: Sequence[ColumnType], table: str, specifiers: bool, exact_names: bool) -> str:
    """The statement, with a mark for each value: what the database is told of names is quoted."""
    style = library.paramstyle
    marks = [MARKS[style].format(place) for place in range(1, len(names) + 1)]
    if specifiers and style in ("format", "pyformat"):
        marks = [_SPECIFIERS.get(kind.kind, "%s") for kind in types]
    quote = "`" if any(word in library.__name__.lower() for word in _BACKTICKS) else '"'
    place = ".".join(quoted(part, quote, style) for part in table.split("."))
    columns = f" ({', '.join(quoted(name, quote, style) for name in names)})" if exact_names else ""
    return f"INSERT INTO {place}{columns} VALUES ({', '.join(marks)})"


def quoted(name: str, quote: str = '"', style: str = "qmark") -> str:
    """A name as it stands in a statement, whatever is in it.

    Raises
    ------
    InvalidArgumentError
        If it has a NUL, which ends statements for some databases.

    Examples
    --------
    >>> quoted('x"; drop table y')
    '"x""; drop table y"'
    """
    if "\0" in name:
        raise InvalidArgumentError(f"the name {visible(repr(name))} has a NUL, which no database takes: rename it first")
    text = name.replace(quote, quote * 2)
    # Drivers of these styles take a percent sign for the start of a mark.
    return f"{quote}{text.replace('%', '%%') if style in ('format', 'pyformat') else text}{quote}"
