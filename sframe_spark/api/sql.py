"""The function ``sql``, which runs a Spark SQL query over frames."""

from __future__ import annotations

import contextlib
import re
import string
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.interchange.to_spark import make_view, require_view_name
from sframe_spark.api.sframe import SFrame
from sframe_spark.engine.spark.error_translation import in_one_line
from sframe_spark.errors import InvalidArgumentError, SchemaError, listed
from sframe_spark.message_text import visible
from sframe_spark.session import is_remote
from sframe_spark.session.users_own_spark_session import clone_of, in_session, user_session
from sframe_spark.values.invalid_unicode_errors import require_unicode_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# First words of statements that only return rows. Others, such as SET or USE, would change a session that is discarded after the query.
QUERIES = ("select", "with", "from", "values", "table", "show", "describe", "desc", "explain")
# First words that can also begin statements that change tables. Spark would run these at once, and again when their rows are read.
_MAYBE_NO_QUERIES = ("with", "from")
_CHANGES = re.compile(r"\b(?:insert|update|delete|merge)\b", re.IGNORECASE)
_BEFORE = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*", re.DOTALL)


@call_hint
def sql(query: str, /, **frames: Any) -> SFrame:
    """Run a Spark SQL query over frames and return its rows; if it ends with ``ORDER BY``, in that order.

    The query runs with the settings, functions, tables and views of the user's active Spark session. The frames' names exist for this query only.

    Parameters
    ----------
    query
        One query. Column names with spaces, dots or other special characters are written in backticks.
    **frames
        The frames, by the names that the query uses. Each can be anything that SFrame accepts, such as a Spark DataFrame. Their columns have the
        Spark types that ``to_spark`` gives.

    Raises
    ------
    InvalidArgumentError
        If the statement is not a query or Spark rejects it, or a name is not valid for a view.
    SchemaError
        If ``query`` is not a string, an argument cannot become a frame, or an SFrame column cannot hold a column of the result.

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
            if data is None:
                raise SchemaError(f"{name!r} must be a frame, or something that a frame can be made of, got None")
            make_view(name, data if isinstance(data, SFrame) else SFrame(data), session)
        with errors_of_query(frames):
            require_no_change(query, session)
            rows = session.sql(query)
            # Spark Connect analyses the query only when the schema is requested.
            rows.schema  # noqa: B018
        if not is_remote(user):
            return SFrame(in_session(rows, user))
        # A Spark Connect server drops the views when the session closes, so the rows are computed now.
        result = SFrame(rows)
        result.materialize()
        return result


def require_query(query: Any) -> None:
    """Raise an error if a statement is not a query.

    Raises
    ------
    SchemaError
        If it is not a string.
    InvalidArgumentError
        If its first word is not one of ``QUERIES``, or it is not valid Unicode.

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
    """Return the first word of a statement in lower case, and the statement without the white space, comments and parentheses before that word."""
    rest = _BEFORE.sub("", query, count=1)
    return re.split(r"\W", rest, maxsplit=1)[0].casefold(), rest


def require_no_change(query: str, session: SparkSession) -> None:
    """Raise an error if a statement that begins like a query would change tables; the statement is analysed, not run.

    Raises
    ------
    InvalidArgumentError
        If the statement inserts, updates, deletes or merges rows.
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
        # It is a query with some other error. Running it without the parentheses gives a better message.
        return


def require_distinct_names(frames: Mapping[str, Any]) -> None:
    """Raise an error if the names of frames cannot be the names of different views.

    Raises
    ------
    InvalidArgumentError
        If a name is not valid for a view, or two names differ only in upper and lower case, which Spark does not distinguish.
    """
    seen: dict[str, str] = {}
    for name in frames:
        require_view_name(name)
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InvalidArgumentError(f"{other!r} and {name!r} are the same name for Spark: give one of the frames another name")


@contextlib.contextmanager
def errors_of_query(frames: Mapping[str, Any]) -> Iterator[None]:
    """Turn Spark's errors about a query into errors whose message is one line.

    Raises
    ------
    InvalidArgumentError
        If Spark raises an error in the ``with`` block.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        frames_text = f" The frames given are {listed(list(frames))}." if frames else ""
        raise InvalidArgumentError(f"Spark cannot run the query: {_reason(str(error))}.{frames_text}") from None


def _reason(message: str) -> str:
    """Return the first line of Spark's message, with the position of the error if a later line has it, without the query or plan below."""
    first, _, rest = message.strip().partition("\n")
    position = re.search(r"\(line \d+, pos \d+\)", rest) if "(line " not in first else None
    text = in_one_line(first).rstrip(";. ")
    return f"{text} {position.group()}" if position else text
