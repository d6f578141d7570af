"""Tables of databases over JDBC, which Spark reads and writes in parallel."""

from __future__ import annotations

import contextlib
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.api.interchange.from_spark import frame_from_spark
from sframe_spark.api.interchange.to_spark import to_spark
from sframe_spark.engine.spark.actions import in_one_line, is_of_spark
from sframe_spark.errors import ExecutionError, InvalidArgumentError, SchemaError, SFrameError, listed
from sframe_spark.message_text import visible
from sframe_spark.session.user_session import user_session

if TYPE_CHECKING:
    from sframe_spark.planner.node import PlannerNode

MODES = ("error", "append", "overwrite", "ignore")
# What has a parameter of its own.
_TAKEN = ("url", "dbtable", "query")
_TAKEN_FOR_READING = (*_TAKEN, "partitioncolumn", "lowerbound", "upperbound", "numpartitions")
# Drivers that are not told so may fetch all rows of a query at once, and a time without an offset is none of the session's zone.
_DEFAULTS = {"fetchsize": "10000", "preferTimestampNTZ": "true"}
_NO_DRIVER = ("No suitable driver", "ClassNotFoundException", "ClassNotFound")
_HIDDEN = "..."
# Spark puts names of columns between these as they are.
_QUOTES = '"`[]'


@attrs.frozen
class JdbcRequest:
    """What is read, by the names that PySpark has for it.

    Parameters
    ----------
    url, table, query
        The database, and a table or a query.
    column, lowerBound, upperBound, numPartitions
        How the rows are read by several tasks: by values of a column.
    predicates
        Or by conditions, one for each task.
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
    """The rows of a table, in no order, and the names of its columns.

    Raises
    ------
    SchemaError, InvalidArgumentError
        If the request is none that a database can be asked.
    ExecutionError
        If the database, or Spark, refuses it.
    """
    options = options_of(request.url, request.properties, _TAKEN_FOR_READING)
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
    """Write all rows into a table, several tasks at a time, each in a transaction of its own.

    Raises
    ------
    SchemaError, InvalidArgumentError
        If a column, its name, the table or the mode is none that a database takes.
    ExecutionError
        If the database, or Spark, refuses it.
    """
    options = options_of(url, properties)
    _require_text("table", table)
    if mode is not None and mode not in MODES:
        raise InvalidArgumentError(f"mode is one of {', '.join(map(repr, MODES))}, not {mode!r:.60}")
    for name, kind in zip(names, node.schema, strict=True):
        if kind.kind in ("list", "dict", "array"):
            raise SchemaError(f"column {name!r} holds values of {kind.kind}, which databases do not take: astype(str) makes texts of them")
        if any(sign in name for sign in (*_QUOTES, "\0")):
            raise InvalidArgumentError(f"the name {visible(repr(name))} has a quote or bracket, by which a statement would end it: rename it first")
    df = to_spark(node, list(names))
    with errors_of_database(url, options):
        df.write.jdbc(url, table, mode=mode or "error", properties=options)


def options_of(url: Any, properties: Any, taken: Sequence[str] = _TAKEN) -> dict[str, str]:
    """The options that a user gives, as Spark takes them.

    Raises
    ------
    SchemaError
        If they are no texts.
    InvalidArgumentError
        If the address is none of JDBC, or an option has a parameter of its own.

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
        if name.lower() in taken:
            raise InvalidArgumentError(f"the property {name!r} has a parameter of its own: leave it out of properties")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in properties.items()}


def _source(request: JdbcRequest) -> str:
    """What stands behind FROM."""
    given = {name: value for name, value in (("table", request.table), ("query", request.query)) if value is not None}
    if len(given) != 1:
        raise InvalidArgumentError("give the name of a table, or query=: one of them")
    ((name, value),) = given.items()
    _require_text(name, value)
    return str(value) if name == "table" else f"({value.rstrip('; ' + string.whitespace)}) sframe_spark_query"


def _bounds(request: JdbcRequest) -> dict[str, str]:
    given = {"lowerBound": request.lowerBound, "upperBound": request.upperBound, "numPartitions": request.numPartitions}
    missing = [name for name, value in given.items() if value is None]
    if request.column is None:
        if len(missing) < len(given):
            raise InvalidArgumentError("lowerBound, upperBound and numPartitions are bounds of a column: give column= too")
        return {}
    _require_text("column", request.column)
    if request.predicates is not None:
        raise InvalidArgumentError("rows are read by the values of a column, or by predicates: give one of them")
    if missing:
        raise InvalidArgumentError(f"rows are read by the values of {request.column!r} with bounds: give {listed(missing)} too")
    if isinstance(request.numPartitions, bool) or not isinstance(request.numPartitions, int) or request.numPartitions < 1:
        raise InvalidArgumentError(f"numPartitions is a number of tasks, not {request.numPartitions!r:.60}")
    return {"partitionColumn": request.column, **{name: str(value) for name, value in given.items()}}


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
    """Tell what Spark or a driver says in one line, without passwords.

    Raises
    ------
    ExecutionError
        Where one of them refuses what is asked.
    """
    try:
        yield
    except SFrameError:
        raise
    except Exception as error:
        if not is_of_spark(error):
            raise
        text = str(error)
        told = in_one_line(text)
        for secret in sorted({url, *options.values()}, key=len, reverse=True):
            told = told.replace(secret, _HIDDEN) if len(secret) > 3 else told
        advice = ": put the driver's jar into spark.jars, or its coordinates into spark.jars.packages, before Spark starts"
        raise ExecutionError(f"the database cannot be used: {told}{advice if any(word in text for word in _NO_DRIVER) else ''}") from None
