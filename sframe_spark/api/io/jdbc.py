"""Reads and writes databases over JDBC, with several of Spark's tasks at once."""

from __future__ import annotations

import contextlib
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from sframe_spark.api.interchange.from_spark import frame_from_spark
from sframe_spark.api.interchange.to_spark import to_spark
from sframe_spark.engine.spark.error_translation import in_one_line, is_of_spark
from sframe_spark.errors import ExecutionError, InvalidArgumentError, SchemaError, SFrameError, listed
from sframe_spark.message_text import visible
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.users_own_spark_session import user_session

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
            raise SchemaError("predicates must be a list of conditions, each a text")
    with errors_of_database(request.url, options):
        reader = user_session().read
        if predicates is not None:
            df = reader.jdbc(request.url, source, predicates=list(predicates), properties={**_DEFAULTS, **options})
        else:
            df = reader.format("jdbc").options(**{**_DEFAULTS, **options, **bounds, "url": request.url, "dbtable": source}).load()
        df.schema  # noqa: B018 - Spark Connect asks the database for the table only when the schema is read
    return frame_from_spark(df)


def write_jdbc(node: PlannerNode, names: Sequence[str], url: Any, table: Any, mode: Any, properties: Any) -> None:
    """Write all rows into a table, with several parallel tasks, each in its own transaction.

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
    require_flat_columns(names, node)
    for name in names:
        if any(sign in name for sign in (*_QUOTES, "\0")):
            raise InvalidArgumentError(
                f"the name {visible(repr(name))} contains a quote or bracket, which would end it in a statement: rename it first"
            )
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
        raise InvalidArgumentError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {choice!r:.60}")


def require_flat_columns(names: Sequence[str], node: PlannerNode) -> None:
    """Raise an error if a column has values that databases cannot store.

    Raises
    ------
    SchemaError
        If a column holds lists, dicts, arrays or images; the message names it.
    """
    for name, kind in zip(names, node.schema, strict=True):
        if kind.is_compared_as_text:
            raise SchemaError(f"column {name!r} holds values of {kind.kind}, which databases do not accept: convert them with astype(str)")


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
        raise InvalidArgumentError("url must be the address of a database, such as jdbc:postgresql://host/database")
    if properties is None:
        return {}
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties):
        raise SchemaError(f"properties must be a dict of options by name, not {type(properties).__name__}")
    for name, value in properties.items():
        if not isinstance(value, (str, int, float)):
            raise SchemaError(f"the property {name!r} must be a text or a number, not {type(value).__name__}")
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
            raise InvalidArgumentError("lowerBound, upperBound and numPartitions need column= as well")
        return {}
    _require_text("column", request.column)
    if request.predicates is not None:
        raise InvalidArgumentError("give either column= or predicates=, not both")
    if missing:
        raise InvalidArgumentError(f"to read by the values of {request.column!r}, give {listed(missing)} too")
    if isinstance(request.numPartitions, bool) or not isinstance(request.numPartitions, int) or request.numPartitions < 1:
        raise InvalidArgumentError(f"numPartitions must be a number of tasks, not {request.numPartitions!r:.60}")
    return {"partitionColumn": request.column, **{name: str(value) for name, value in bounds.items()}}


def _require_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise SchemaError(f"{name} must be a text, not {type(value).__name__}")
    if not value.strip() or "\0" in value:
        raise InvalidArgumentError(f"{name} is empty, or contains a NUL character")


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
