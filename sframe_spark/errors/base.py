"""Every exception that sframe_spark raises on purpose.

Each class derives from :class:`SFrameError`, so one ``except`` clause catches all of them, and also from the built-in
class that the original SFrame raises in the same situation, so existing ``except TypeError`` clauses go on working.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from sframe_spark.redaction import redacted
from sframe_spark.visible import brief, visible

# A message with two thousand names helps nobody.
MOST_NAMES_SHOWN = 20


class SFrameError(Exception):
    """Base of every error of this package.

    Catch it to handle whatever sframe_spark reports; it is never raised itself.

    Examples
    --------
    >>> print(SFrameError("no such file: \x1b[2J"))
    no such file: \\x1b[2J
    >>> print(SFrameError("cannot read https://me:secret@host/a.csv?sig=abc"))
    cannot read https://host/a.csv
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Whatever a message quotes, and wherever it goes: as text, as repr, in pickles of tasks.
        self.args = tuple(redacted(argument) if isinstance(argument, str) else argument for argument in arguments)

    def __str__(self) -> str:
        # Messages quote names and values of others.
        return visible(super().__str__(), lines=True)


ErrorClass = TypeVar("ErrorClass", bound=type[SFrameError])

TRAVELLING_ERRORS: dict[str, type[SFrameError]] = {"SFrameError": SFrameError}
"""The only classes that an error from a task can have on the driver, by name; one of another class arrives as its nearest base."""


def travelling(error_class: ErrorClass) -> ErrorClass:
    """Class decorator: errors of the class keep it on their way from a task to the driver."""
    if TRAVELLING_ERRORS.setdefault(error_class.__name__, error_class) is not error_class:
        raise ValueError(f"two classes of errors are named {error_class.__name__}")
    return error_class


@travelling
class SchemaError(SFrameError, TypeError):
    """A value or a column has a type that the operation does not take.

    Raised when a query is built, by type inference. Convert with ``astype`` first, or choose another operation.
    """


@travelling
class InvalidArgumentError(SFrameError, ValueError):
    """An argument has the right type but a value outside what is allowed.

    Raised by the API and by ``config`` before anything runs. The message names the argument and the values it takes.
    """


@travelling
class ColumnNotFoundError(SFrameError, KeyError):
    """A column was asked for by a name that the frame does not have.

    Raised by the API when a name is looked up. The message offers the names that are nearest and lists those that exist.

    Parameters
    ----------
    name
        What was asked for.
    available
        Names of the columns that exist.

    Examples
    --------
    >>> print(ColumnNotFoundError("prise", ["price", "count"]))
    no column is named 'prise', did you mean 'price'? The columns are 'price', 'count'
    """

    def __init__(self, name: Any, available: Iterable[Any] = ()) -> None:
        self.name = name
        self.available = tuple(available)
        super().__init__(name, self.available)

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put a whole sentence in quotes.
        missing = f"no column is named {brief(self.name)}"
        if not self.available:
            return f"{missing}: there are no columns"
        near = near_names(self.name, self.available)
        names = listed(self.available)
        if not near:
            return f"{missing}; the columns are {names}"
        return f"{missing}, did you mean {' or '.join(map(repr, near))}? The columns are {names}"


def near_names(name: Any, available: Iterable[Any]) -> list[Any]:
    """Return the names that a user may have meant, nearest first: those that differ by case or by a few letters.

    Examples
    --------
    >>> near_names("Prize", ["price", "count"])
    ['price']
    """
    by_text: dict[str, Any] = {}
    for candidate in available:
        by_text.setdefault(str(candidate).strip().casefold(), candidate)
    return [
        by_text[text]
        for text in difflib.get_close_matches((name if isinstance(name, str) else brief(name)).strip().casefold(), by_text, n=3, cutoff=0.6)
    ]


def listed(names: Sequence[Any]) -> str:
    """Return names in quotes, the first ones only when there are many.

    Examples
    --------
    >>> listed(range(22))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more'
    """
    shown = ", ".join(map(repr, names[:MOST_NAMES_SHOWN]))
    return shown if len(names) <= MOST_NAMES_SHOWN else f"{shown} and {len(names) - MOST_NAMES_SHOWN} more"


@travelling
class LengthMismatchError(SFrameError, RuntimeError):
    """Two columns or frames that must have the same number of rows do not.

    Raised when the query is built if both lengths are known, otherwise when it runs. Cut or pad one side first.
    """


@travelling
class UnsupportedOperationError(SFrameError, RuntimeError):
    """The operation exists but not for these types or in this place.

    Raised when a query is built. The message says which forms are supported.
    """


@travelling
class ExecutionError(SFrameError, RuntimeError):
    """A query failed while it ran.

    Raised by the engine; the error that Spark or a kernel reported is its ``__cause__``. Nothing was changed: the frame
    can be used and the query repeated.
    """


@travelling
class UserFunctionError(ExecutionError):
    """A function that the user passed (to ``apply``, ``filter`` ...) raised an exception.

    Raised by the engine when a row makes the function fail. The message shows the input of that row and the traceback
    of the user's own lines, so that the call can be repeated by hand.

    Parameters
    ----------
    message
        What happened, in one sentence.
    traceback_text
        The traceback inside the user's function, as Python prints it.
    row
        The input that made the function fail.
    """

    def __init__(self, message: str, traceback_text: str = "", row: Any = None) -> None:
        self.message = message
        self.traceback_text = traceback_text
        self.row = row
        super().__init__(message, traceback_text, row)

    def __str__(self) -> str:
        called = self.row is not None or self.traceback_text
        parts = [self.message, f"input: {self.row!r}"] if called else [self.message]
        if self.traceback_text:
            parts.append(self.traceback_text.rstrip())
        return visible("\n".join(parts), lines=True)


@travelling
class StateNotSharedError(UserFunctionError):
    """A user's function reads state of the program that is not what it was for other rows, or cannot be sent to those who call it.

    Raised by the engine; the message names the variable or the setting. Let the function make what it needs itself, give it as an argument, or
    materialise the column before the state is changed.
    """


@travelling
class ConversionError(ExecutionError):
    """A value cannot be converted to the type that was asked for.

    Raised by the engine when it meets the value. The message shows the value and its row, where rows can be counted.

    Parameters
    ----------
    value
        Text of the value.
    kind
        Name of the type that was asked for.
    row
        Row number; None when it is not known.

    Examples
    --------
    >>> print(ConversionError("'x'", "int", 3))
    row 3: 'x' cannot be cast to int; undefined_on_failure=True makes it missing
    """

    def __init__(self, value: str, kind: str, row: int | None = None) -> None:
        self.value = value
        self.kind = kind
        self.row = row
        super().__init__(value, kind, row)

    def counted_from(self, first_row: int | None) -> ConversionError:
        """Return the error with its row, so far counted within a batch, counted from the frame's first; None: unknown."""
        known = first_row is not None and self.row is not None
        return ConversionError(self.value, self.kind, first_row + self.row if known else None)  # type: ignore[operator]

    def __str__(self) -> str:
        place = "" if self.row is None else f"row {self.row}: "
        return f"{place}{visible(self.value)} cannot be cast to {self.kind}; undefined_on_failure=True makes it missing"


@travelling
class DateTimeRangeError(ExecutionError, OverflowError):
    """A date-time lies outside the years 1 to 9999, which is all that Python's ``datetime`` can show.

    Raised where such a value is shown or would be made as the end of an interval or a tick of a clock. Columns hold date-times of 292,000 years
    before and after 1970, which may be compared, filtered, moved and cast to int.

    Parameters
    ----------
    message
        The value and what to do.
    row
        Row number among the rows that were decoded; None when it is not known.
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        self.message = message
        self.row = row
        super().__init__(message)

    def located(self, column: str | None, first_row: int | None) -> DateTimeRangeError:
        """Return the error with the name of the column and the row counted from the frame's first, as far as they are known."""
        row = f"row {first_row + self.row}" if first_row is not None and self.row is not None else ""
        place = ", ".join(filter(None, [f"column {column!r}" if column is not None else "", row]))
        return DateTimeRangeError(f"{place}: {self.message}" if place else self.message)


@travelling
class RunTooLongError(ExecutionError):
    """More rows are equal than a shortcut takes.

    Raised in a task; the engine meets it with the plan without the shortcut, so users do not see it.
    """


@travelling
class NarrowTypeError(ExecutionError):
    """A value of an archive does not fit the type that others of its column suggested.

    Raised where an archive is written in our form; whoever writes it begins again with a wider type, so users do not see it.

    Parameters
    ----------
    position
        The column, as text.
    """

    def __init__(self, position: str) -> None:
        self.position = int(position)
        super().__init__(position)


@travelling
class TooLargeError(ExecutionError, MemoryError):
    """Rows were asked for in one piece that do not fit the memory there is.

    Raised before anything is computed or read where that can be known, otherwise before the rows are brought together.
    The message says what they would need, what there is, and which ways need less.
    """


@travelling
class CancelledError(ExecutionError):
    """A running query was told to stop.

    Raised inside an action whose caller pressed Ctrl-C; the caller itself sees ``KeyboardInterrupt``. An action lets it
    pass, so that nothing is published after the user gave up.
    """


@travelling
class SessionClosedError(SFrameError, RuntimeError):
    """The Spark session that the data belongs to has been stopped.

    Raised when a query needs a session that someone else started and stopped. Start a new ``SparkSession``, or call
    ``sframe_spark.session.stop()`` to let a local session be started on the next use.
    """


@travelling
class JavaNotFoundError(SFrameError, RuntimeError):
    """No Java runtime that Spark can use was found.

    Raised when the first query needs Spark. The message names the one command that installs a runtime.
    """


@travelling
class PlanInvariantError(SFrameError, AssertionError):
    """A rewrite, an operator or the engine broke one of its promises: a bug in it, not in the query.

    Raised by the planner's checks (see ``config.check``). Report it with the plan in the message; switching off the law
    that it names (``config.disabled_laws``) is a way around it.
    """


@travelling
class NonConvergenceError(PlanInvariantError):
    """The laws of a stage went on rewriting a plan without coming to an end.

    Raised by the optimizer. The message names the laws that took part; one of them undoes another.

    Parameters
    ----------
    stage
        Name of the stage.
    laws
        Equations of the laws that were applied last, in order.
    """

    def __init__(self, stage: str, laws: Sequence[str] = ()) -> None:
        self.stage = stage
        self.laws = tuple(laws)
        super().__init__(stage, self.laws)

    def __str__(self) -> str:
        names = "; ".join(self.laws) or "none recorded"
        return f"stage {self.stage!r} does not come to an end; laws applied last: {names}"


@travelling
class StorageError(SFrameError, OSError):
    """Saved data is missing, damaged or of a format that this version does not read, or cannot be written.

    Raised by the reader and the writer of segments. The message names the path and what is wrong with it.
    """


@travelling
class NotSharedError(StorageError):
    """Spark's processes do not see the files of this process, or do not run the same packages.

    Raised before anything is written on a cluster or a Spark Connect server. The message names the machine, the
    directory and the option to set: ``config.temporary_directory``, or the environment variable ``SFRAME_SPARK_TMP``.
    """


class InexactWarning(UserWarning):
    """Values come in with less than they had."""

    def __str__(self) -> str:
        # It quotes names of others.
        return visible(redacted(super().__str__()), lines=True)


class LostNanosecondsWarning(InexactWarning):
    """Date-times of a table are cut to the microsecond, as columns hold them; warned of once, when a frame or column is made of them."""


class InexactNumberWarning(InexactWarning):
    """Numbers have more digits than a column holds, so that some of them are rounded: ints of more than 64 bits, large ints beside floats.

    Warned of once for each column. Give texts, or ask for them with ``dtype=str``, to keep all digits; ask for ``dtype=float`` to have no warning.
    """


class InexactDecimalWarning(InexactNumberWarning):
    """Decimals have more digits than a float holds, so that some of them are rounded.

    Warned of once, when a frame is made of the table; of tables that are read later, such as Spark DataFrames and Parquet files, by their types.
    Cast the column to a string first to keep all digits.

    Examples
    --------
    >>> print(InexactDecimalWarning("longer values of 'price\x1b' are rounded"))
    longer values of 'price\\x1b' are rounded
    """


def users_level() -> int:
    """How many calls above the one who asks the user's own line is, for warnings."""
    level, frame = 1, sys._getframe(1)
    # Methods of attrs' classes, and blocks that open a context, are called by way of other modules.
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in (__name__.split(".")[0], "contextlib"):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level
