"""Spark SQL over frames."""

from __future__ import annotations

import contextlib
import re
import string
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sframe_spark.api.hints import call_hint
from sframe_spark.api.interchange.to_spark import make_view, require_view_name
from sframe_spark.api.sframe import SFrame
from sframe_spark.engine.spark.actions import in_one_line
from sframe_spark.errors import InvalidArgumentError, SchemaError, listed
from sframe_spark.message_text import visible
from sframe_spark.session import is_remote
from sframe_spark.session.user_session import clone_of, in_session, user_session
from sframe_spark.values.value_errors import require_unicode_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Statements that return rows and change nothing. Settings and names of a session would vanish with the temporary session.
QUERIES = ("select", "with", "from", "values", "table", "show", "describe", "desc", "explain")
# First words of both queries and statements that change tables; Spark would run the latter immediately, and again for their rows.
_MAYBE_NO_QUERIES = ("with", "from")
_CHANGES = re.compile(r"\b(?:insert|update|delete|merge)\b", re.IGNORECASE)
_BEFORE = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*", re.DOTALL)


@call_hint
def sql(query: str, /, **frames: Any) -> SFrame:
    """Run a query of Spark SQL over frames and return its rows; those of an ``ORDER BY`` at its end are in that order.

    It runs as in the user's active session, with its settings, functions, tables and views. The frames' names are there for this query alone.

    Parameters
    ----------
    query
        One query. Names of columns with blanks, dots or other signs stand in backticks.
    **frames
        By the names that the query uses: frames and whatever an SFrame is made of, Spark DataFrames too. Columns have the types that
        ``to_spark`` gives them.

    Raises
    ------
    InvalidArgumentError
        If the query is none, or not right, or a name cannot be that of a view.
    SchemaError
        If no column can hold the values of a column of the result.

    Examples
    --------
    >>> import sframe_spark
    >>> trades = sframe_spark.SFrame({"user": ["ann", "bob", "ann"], "lots": [5, 3, 4]})
    >>> sframe_spark.sql("SELECT user, sum(lots) AS n FROM trades GROUP BY user ORDER BY n", trades=trades)[1]  # doctest: +SKIP
    {'user': 'ann', 'n': 9}
    """
    require_query(query)
    require_distinct_names(frames)
    user = user_session()
    with clone_of(user) as session:
        for name, data in frames.items():
            make_view(name, data if isinstance(data, SFrame) else _made(name, data), session)
        with errors_of_query(frames):
            require_no_change(query, session)
            rows = session.sql(query)
            # A server analyses the query only when the schema is requested.
            rows.schema  # noqa: B018
        if not is_remote(user):
            return SFrame(in_session(rows, user))
        # The server knows the views only as long as their session is open.
        result = SFrame(rows)
        result.materialize()
        return result


def _made(name: str, data: Any) -> SFrame:
    """Return the frame made of a named argument.

    Raises
    ------
    SchemaError
        If no frame can be made of it.
    """
    if data is None:
        raise SchemaError(f"{name!r} is a frame, or something that a frame is made of, got None")
    return SFrame(data)


def require_query(query: Any) -> None:
    """Refuse a text that is no query.

    Raises
    ------
    InvalidArgumentError
        If it begins like another statement, or is no Unicode text.

    Examples
    --------
    >>> require_query("/* all */ (SELECT 1)")
    """
    if not isinstance(query, str):
        raise SchemaError(f"sql() takes a query as a str, got {type(query).__name__}")
    require_unicode_values([query])
    word, rest = _first_word(query)
    if word not in QUERIES:
        raise InvalidArgumentError(
            f"sql() runs queries, which begin with SELECT, WITH, FROM, VALUES, TABLE, SHOW or DESCRIBE, not with {rest[:20]!r}: "
            "run other statements with spark.sql()"
        )


def _first_word(query: str) -> tuple[str, str]:
    """Return the first word of a statement, in lower case, and the statement from there."""
    start = _BEFORE.match(query)
    rest = query[start.end() :] if start else query
    word = re.match(r"\w*", rest)
    return word.group().casefold() if word else "", rest


def require_no_change(query: str, session: SparkSession) -> None:
    """Refuse statements that change tables, without running them.

    Raises
    ------
    InvalidArgumentError
        If it inserts, updates, deletes or merges.
    """
    from pyspark.errors import AnalysisException, ParseException

    match = _CHANGES.search(query) if _first_word(query)[0] in _MAYBE_NO_QUERIES else None
    if match is None:
        return
    try:
        # Only queries stand in parentheses.
        session.sql(f"SELECT * FROM (\n{query.rstrip('; ' + string.whitespace)}\n)").schema  # noqa: B018
    except ParseException:
        raise InvalidArgumentError(
            f"sql() runs queries, which change nothing, and Spark cannot read this one, with {visible(match.group())} in it, as such: "
            "run other statements with spark.sql()"
        ) from None
    except AnalysisException:
        # It is a query; its own error message is better without the parentheses.
        return


def require_distinct_names(frames: Mapping[str, Any]) -> None:
    """Refuse names that are equal to Spark.

    Raises
    ------
    InvalidArgumentError
        If one cannot be that of a view, or two differ in upper and lower case alone.
    """
    seen: dict[str, str] = {}
    for name in frames:
        require_view_name(name)
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InvalidArgumentError(f"{other!r} and {name!r} are one name to Spark: give one of the frames another name")


@contextlib.contextmanager
def errors_of_query(frames: Mapping[str, Any]) -> Iterator[None]:
    """Translate Spark's errors about a query into one line.

    Raises
    ------
    InvalidArgumentError
        Where Spark does not understand the query.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        frames_text = f" The frames given are {listed(list(frames))}." if frames else ""
        raise InvalidArgumentError(f"Spark cannot run the query: {_reason(str(error))}.{frames_text}") from None


def _reason(message: str) -> str:
    """Return the first line of a message, without the plan or the query below it."""
    first, _, rest = message.strip().partition("\n")
    place = re.search(r"\(line \d+, pos \d+\)", rest) if "(line " not in first else None
    text = in_one_line(first).rstrip(";. ")
    return f"{text} {place.group()}" if place else text
