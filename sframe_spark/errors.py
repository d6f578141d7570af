"""The exceptions and warnings of this package, and functions that find similar names, list names for messages, and give a warning's ``stacklevel``.

Each error that users see derives from :class:`SFrameError`, so one ``except`` clause catches all of them, and also from the built-in
class that SFrame of Turi Create raises in the same situation, so existing ``except TypeError`` clauses go on working. Internal signals need not
derive from it; most are at the end of the module.

A class has several bases so that programs written for Turi Create catch it as they did there; its docstring names the built-in bases. See
``docs/decisions/045-exception-classes.md``.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief, visible
from sframe_spark.redaction import redacted

with lazy_imports(globals()):
    from difflib import get_close_matches

# What a star import takes: the errors and warnings that users may see.
__all__ = [
    "AbsentModuleError",
    "ArchiveDateError",
    "ArchiveTextError",
    "ArgumentClassError",
    "BeyondRangeError",
    "BoundsError",
    "BuilderError",
    "CancelledError",
    "ColumnCodeError",
    "ColumnNotFoundError",
    "ColumnsOfRowsError",
    "ConcurrentSaveError",
    "ConversionError",
    "CsvCountError",
    "CsvEncodingError",
    "CsvHintError",
    "CsvLineError",
    "CsvNoLineError",
    "CsvWarning",
    "DamagedValueError",
    "DateFormatError",
    "DateTimeRangeError",
    "EmptyColumnsError",
    "ExecutionError",
    "FillValueError",
    "FrameComparisonError",
    "ImageError",
    "InexactDecimalWarning",
    "InexactNumberWarning",
    "InexactWarning",
    "InvalidArgumentError",
    "JavaNotFoundError",
    "JsonError",
    "LengthMismatchError",
    "LostNanosecondsWarning",
    "MaskLengthError",
    "MissingArgumentColumnError",
    "MissingColumnError",
    "MissingImageError",
    "MissingLibraryError",
    "MissingPathError",
    "MixedTypesError",
    "NarrowTypeError",
    "NegativeCountError",
    "NegativeSizeError",
    "NeverEqualWarning",
    "NoArchiveError",
    "NoAttributeError",
    "NoColumnTypeError",
    "NoMemoryError",
    "NoPictureError",
    "NoSubsetError",
    "NonConvergenceError",
    "NotAColumnError",
    "NotANameError",
    "NotCallableError",
    "NotOneColumnError",
    "NotSavedError",
    "NotSharedError",
    "NotValuesError",
    "NumbersLeftOutError",
    "PictureFormatError",
    "PixelError",
    "PlanInvariantError",
    "PluginWarning",
    "RowKeyError",
    "RowNotFoundError",
    "RowNumberError",
    "RunTooLongError",
    "SFrameError",
    "SchemaError",
    "SeedError",
    "SessionClosedError",
    "SetOrderWarning",
    "SettingError",
    "StateNotSharedError",
    "StorageError",
    "TakenKeyError",
    "TakenNameError",
    "TimeFormatError",
    "TooLargeError",
    "UncheckedWarning",
    "UnknownColumnTypeError",
    "UnknownNameError",
    "UnknownResultError",
    "UnorderedError",
    "UnsupportedOperationError",
    "UserFunctionError",
    "ZeroStepError",
]  # fmt: skip

# Longer lists of names in messages are cut.
MAX_NAMES_LISTED = 20


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

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__:
            TRAVELLING_ERRORS[cls.__name__] = cls

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Redacted here, so that it holds for str, repr and the pickles of tasks.
        self.args = tuple(redacted(argument) if isinstance(argument, str) else argument for argument in arguments)

    def __str__(self) -> str:
        # Messages quote names and values from data.
        return visible(super().__str__(), lines=True)


TRAVELLING_ERRORS: dict[str, type[SFrameError]] = {"SFrameError": SFrameError}
"""By name, the classes that an error keeps on its way from a task to the driver. Errors of other classes arrive as their nearest base class here."""


class SchemaError(SFrameError, TypeError):
    """A value or a column has a type that the operation does not take.

    Raised when a query is built, by type inference. Convert with ``astype`` first, or choose another operation.
    """


class InvalidArgumentError(SFrameError, ValueError):
    """An argument has the right type but a value outside what is allowed.

    Raised by the API and by ``config`` before anything runs. The message names the argument and the values it takes.
    """


class ColumnNotFoundError(SFrameError, KeyError):
    """A column was requested by a name that the frame does not have.

    Raised by the API when a name is looked up. The message offers the names that are nearest and lists those that exist.

    Parameters
    ----------
    name
        The requested name.
    available
        Names of the columns that exist.
    frame
        Which of several frames has no such column, for the message, such as "the other frame".

    Examples
    --------
    >>> print(ColumnNotFoundError("prise", ["price", "count"]))
    no column is named 'prise', did you mean 'price'? The columns are 'price', 'count'
    """

    def __init__(self, name: Any, available: Iterable[Any] = (), frame: str = "") -> None:
        self.name = name
        self.available = tuple(available)
        self.frame = frame
        super().__init__(name, self.available, *([frame] if frame else []))

    def __str__(self) -> str:
        # The str of a KeyError is the repr of its argument, which would put the sentence in quotes.
        missing = f"{self.frame} has no column {brief(self.name)}" if self.frame else f"no column is named {brief(self.name)}"
        if not self.available:
            return f"{missing}: there are no columns"
        near, names = near_names(self.name, self.available), listed(self.available)
        return f"{missing}, did you mean {' or '.join(map(repr, near))}? The columns are {names}" if near else f"{missing}; the columns are {names}"


def near_names(name: Any, available: Iterable[Any], similarity: float = 0.6) -> list[Any]:
    """Return the names that a user may have meant, nearest first: those that differ in case or by a few letters.

    ``similarity`` is the least share of letters that two names have in common.

    Examples
    --------
    >>> near_names("Prize", ["price", "count"])
    ['price']
    """
    by_text: dict[str, Any] = {}
    for candidate in available:
        by_text.setdefault(str(candidate).strip().casefold(), candidate)
    text = (name if isinstance(name, str) else brief(name)).strip().casefold()
    return [by_text[match] for match in get_close_matches(text, by_text, n=3, cutoff=similarity)]


def listed(names: Sequence[Any], text_of: Callable[[Any], str] = repr) -> str:
    """Return names, by default in quotes, separated by commas; of many names only the first.

    Examples
    --------
    >>> listed(range(22))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more'
    """
    first = ", ".join(map(text_of, names[:MAX_NAMES_LISTED]))
    return first if len(names) <= MAX_NAMES_LISTED else f"{first} and {len(names) - MAX_NAMES_LISTED} more"


class LengthMismatchError(SFrameError, RuntimeError):
    """Two columns or frames that must have the same number of rows do not.

    Raised when the query is built if both lengths are known, otherwise when it runs. Cut or pad one side first.
    """


class UnsupportedOperationError(SFrameError, RuntimeError):
    """The operation exists, but not for these types or in this context.

    Raised when a query is built. The message says which forms are supported.
    """


class ExecutionError(SFrameError, RuntimeError):
    """A query failed while it ran.

    Raised by the engine; the error that Spark or a kernel reported is its ``__cause__``. Nothing was changed: the frame
    can be used and the query repeated.
    """


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
        # Code that is given no rows, such as that of a source, has an input that is displayed as nothing.
        given = repr(self.row) if called else ""
        parts = [self.message, f"input: {given}"] if given else [self.message]
        if self.traceback_text:
            parts.append(self.traceback_text.rstrip())
        return visible("\n".join(parts), lines=True)


class StateNotSharedError(UserFunctionError):
    """A user's function reads program state that has changed between rows, or that cannot be sent to where the function is called.

    Raised by the engine; the message names the variable or the setting. Let the function create what it needs itself, pass it as an argument, or
    materialise the column before the state is changed.
    """


class ConversionError(ExecutionError):
    """A value cannot be converted to the requested type.

    Raised by the engine when it reaches the value. The message shows the value and its row, where rows can be counted.

    Parameters
    ----------
    value
        The value as a string.
    kind
        Name of the requested type.
    row
        Row number; None if it is not known.

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
        """Return the error with its row counted from the first row of the frame; ``first_row`` is the number of the batch's first row if known."""
        row = None if first_row is None or self.row is None else first_row + self.row
        return type(self)(self.value, self.kind, row)

    def __str__(self) -> str:
        position = "" if self.row is None else f"row {self.row}: "
        return f"{position}{visible(self.value)} cannot be cast to {self.kind}; undefined_on_failure=True makes it missing"


class DateFormatError(ConversionError):
    """A text does not match the given date-time format.

    Raised by the engine when it reaches the text. The message shows the text, its row, where rows can be counted, and what to do.

    Parameters
    ----------
    value
        The text, in quotes.
    kind
        The format in quotes, a colon, and what to do.
    row
        Row number; None if it is not known.

    Examples
    --------
    >>> print(DateFormatError("'x'", "'%Y': give another format", 3))
    row 3: 'x' does not match the date format '%Y': give another format
    """

    def __str__(self) -> str:
        position = "" if self.row is None else f"row {self.row}: "
        return f"{position}{visible(self.value)} does not match the date format {self.kind}"


class DateTimeRangeError(ExecutionError, OverflowError):
    """A date-time lies outside the years 1 to 9999, which is all that Python's ``datetime`` can show.

    Raised when the value is displayed, or would be computed as the end of an interval, or as a row that ``resample()`` or ``fill_intervals()`` adds.
    Columns hold date-times of 292,000 years before and after 1970. These may be compared, filtered, sorted, joined and cast to int.

    Parameters
    ----------
    message
        The value and what to do.
    row
        Row number among the rows that were decoded; None if it is not known.
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        self.message = message
        self.row = row
        super().__init__(message)

    def located(self, column: str | None, first_row: int | None) -> DateTimeRangeError:
        """Return the error with the name of the column and the row counted from the frame's first, as far as they are known."""
        row = f"row {first_row + self.row}" if first_row is not None and self.row is not None else ""
        position = ", ".join(filter(None, [f"column {column!r}" if column is not None else "", row]))
        return DateTimeRangeError(f"{position}: {self.message}" if position else self.message)


class RunTooLongError(ExecutionError):
    """More rows are equal in the columns by which rows are known to be sorted than an optimized plan supports.

    Raised in a task; the engine then uses the plan without that optimization, so users do not see it.
    """


class ImageError(ExecutionError):
    """Bytes are no image of a format that is supported, or they are damaged; a RuntimeError."""


class PixelError(ImageError, ValueError):
    """Numbers are no pixels; a RuntimeError and, as in Turi Create, a ValueError."""


class NarrowTypeError(ExecutionError):
    """A value of an archive does not fit the type inferred from other values of its column.

    Raised while an archive is converted, which then starts again with a wider type, so users do not see it.

    Parameters
    ----------
    position
        The column, as text.
    """

    def __init__(self, position: str) -> None:
        self.position = int(position)
        super().__init__(position)


class TooLargeError(ExecutionError, MemoryError):
    """Rows were requested at once that do not fit into memory.

    Raised before anything is computed or read where that can be known, otherwise before the rows are brought together.
    The message says how much they would need, how much there is, and which alternatives need less.
    """


class CancelledError(ExecutionError):
    """A running query was cancelled.

    Raised inside an action whose caller pressed Ctrl-C; the caller gets ``KeyboardInterrupt``. An action must not catch it, so that nothing is
    published after the user gave up.
    """


class SessionClosedError(SFrameError, RuntimeError):
    """The Spark session that the data belongs to has been stopped.

    Raised when a query needs a session that someone else started and stopped. Start a new ``SparkSession``, or call
    ``sframe_spark.session.stop()`` to let a local session be started on the next use.
    """


class JavaNotFoundError(SFrameError, RuntimeError):
    """No Java runtime that Spark can use was found.

    Raised when the first query needs Spark. The message names the one command that installs a runtime.
    """


class PlanInvariantError(SFrameError, AssertionError):
    """A law, an operator or the engine broke one of its promises: a bug in it, not in the query.

    Raised by the planner's checks (see ``config.check``). Report it with the plan in the message; switching off the law
    that it names (``config.disabled_laws``) is a way around it.
    """


class NonConvergenceError(PlanInvariantError):
    """The laws of a stage rewrote a plan again and again.

    Raised by the optimizer. The message names the laws that were applied last; one law undoes what another law does.

    Parameters
    ----------
    stage
        Name of the stage.
    laws
        Equations of the laws that were applied last, sorted.
    """

    def __init__(self, stage: str, laws: Sequence[str] = ()) -> None:
        self.stage = stage
        self.laws = tuple(laws)
        super().__init__(stage, self.laws)

    def __str__(self) -> str:
        names = "; ".join(self.laws) or "none recorded"
        return f"stage {self.stage!r} does not terminate; laws applied last: {names}"


class StorageError(SFrameError, OSError):
    """Saved data is missing, damaged or of a format that this version does not read, or cannot be written.

    Raised by the reader and the writer of segments. The message names the path and what is wrong with it.
    """


class MissingPathError(StorageError, FileNotFoundError):
    """A file or directory to read does not exist; a FileNotFoundError, whose ``errno`` is ENOENT.

    Examples
    --------
    >>> error = MissingPathError("there is no file rows.csv: check the path")
    >>> isinstance(error, FileNotFoundError), error.errno == errno.ENOENT
    (True, True)
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.errno = errno.ENOENT


class MissingImageError(MissingPathError, ImageError):
    """There is no such file of an image; a FileNotFoundError and, as in Turi Create, a RuntimeError."""


class NotSharedError(StorageError):
    """Spark's processes do not see the files of this process, or do not run the same packages.

    Raised before anything is written on a cluster or a Spark Connect server. The message names the machine, the
    directory and the option to set: ``config.temporary_directory``, or the environment variable ``SFRAME_SPARK_TMP``.
    """


class InexactWarning(UserWarning):
    """Imported values lose digits."""

    def __str__(self) -> str:
        # The message quotes names from data.
        return visible(redacted(super().__str__()), lines=True)


class CsvWarning(UserWarning):
    """Lines of a CSV file are left out, the file has no lines, or its delimiter seems to be another."""

    def __str__(self) -> str:
        # The message quotes lines of the file.
        return visible(redacted(super().__str__()), lines=True)


class NeverEqualWarning(UserWarning):
    """Values of two types are compared by ``==`` or ``!=`` that are never equal, such as numbers and texts."""


class SetOrderWarning(UserWarning):
    """Sets become lists or arrays, in an order that sets do not have."""


class PluginWarning(UserWarning):
    """A plug-in of an installed package is left out, as it cannot be loaded. Everything else works; ``sframe_spark.plugins()`` has the traceback."""


class LostNanosecondsWarning(InexactWarning):
    """Datetimes of a table are truncated to microseconds. Each frame or column that is made of them gives the warning once."""


class InexactNumberWarning(InexactWarning):
    """Numbers have more digits than a column holds, so that some are rounded: ints of more than 64 bits, and large ints in a column with floats.

    The warning is given once for each column. Pass strings, or request strings with ``dtype=str``, to keep all digits; with ``dtype=float`` there is
    no warning.
    """


class InexactDecimalWarning(InexactNumberWarning):
    """Decimals have more digits than a float holds, so that some of them are rounded.

    Each frame that is made of a table gives the warning once. For Spark DataFrames and Parquet files, whose rows are read later, it is given if the
    types of the columns allow more digits. Cast the column to a string first to keep all digits.

    Examples
    --------
    >>> print(InexactDecimalWarning("longer values of 'price\x1b' are rounded"))
    longer values of 'price\\x1b' are rounded
    """


def users_level() -> int:
    """Return the ``stacklevel`` of the user's own line, for warnings."""
    level, frame = 1, sys._getframe(1)
    # Frames of contextlib stand between those of this package where one of its context managers is entered. Code without a module name is not part of
    # it.
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in (__name__.split(".")[0], "contextlib"):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level


# Arguments: names, numbers, types and functions that users pass.


class MixedTypesError(SchemaError):
    """Raised when values that should be one column have no common type."""


class UnknownResultError(SchemaError, UnsupportedOperationError):
    """The results of a function have no common type; a TypeError, and a RuntimeError, which Turi Create raises if the items of lists have none."""


class NotValuesError(SchemaError, UnsupportedOperationError):
    """Several values are required, and one value was passed; a TypeError and, as in Turi Create, a RuntimeError."""


class NoSubsetError(ColumnNotFoundError, TypeError):
    """No column has the name; a KeyError and, as in Turi Create, a TypeError."""


class MissingColumnError(ColumnNotFoundError, RuntimeError):
    """No column has the name; a KeyError and, as in Turi Create, a RuntimeError."""


class TakenNameError(UnsupportedOperationError, ValueError):
    """A column of that name exists already; a RuntimeError and, as in some places of Turi Create, a ValueError."""


class UnknownNameError(ColumnNotFoundError, ValueError):
    """No column has the name; a KeyError and, as in Turi Create, a ValueError."""


class RowNotFoundError(SFrameError, IndexError, OverflowError):
    """There is no row of that number; an IndexError and, as negative numbers in Turi Create, an OverflowError."""


class RowKeyError(SchemaError, IndexError):
    """Rows cannot be selected by this kind of key; a TypeError and, as in Turi Create, an IndexError."""


class MaskLengthError(LengthMismatchError, IndexError):
    """A mask and the rows that it selects from differ in length; a RuntimeError and, as in Turi Create, an IndexError."""


class NegativeCountError(InvalidArgumentError, OverflowError):
    """A number of rows or a step is negative; a ValueError and, as in Turi Create, an OverflowError."""


class BeyondRangeError(InvalidArgumentError, OverflowError):
    """A number of rows needs more than 64 bits, or an int is beyond the largest float; a ValueError and, as in Turi Create, an OverflowError."""


class NegativeSizeError(InvalidArgumentError, RuntimeError):
    """A sequence would have a negative number of rows; a ValueError and, as in Turi Create, a RuntimeError."""


class ZeroStepError(InvalidArgumentError, RuntimeError):
    """A slice has a step of zero; a ValueError, as in Python, and a RuntimeError, as in Turi Create."""


class NotANameError(SchemaError, UnsupportedOperationError):
    """A column is not given by its name; a TypeError and, as in Turi Create for lists with names that no column has, a RuntimeError."""


class NoAttributeError(SFrameError, AttributeError):
    """Raised when an attribute is read or assigned that frames and columns do not have."""


class NotCallableError(SchemaError, AssertionError):
    """A function is required, and something else was passed; a TypeError and, as in Turi Create, an AssertionError."""


class ColumnsOfRowsError(SchemaError, AssertionError):
    """Names, types and rows do not match; a TypeError and, as in Turi Create, an AssertionError."""


class RowNumberError(InvalidArgumentError, AssertionError):
    """A number of rows is negative or not a whole number; a ValueError and, as in Turi Create, an AssertionError."""


class UnorderedError(SchemaError, UnsupportedOperationError):
    """Values have no order; a TypeError and, as in some places of Turi Create, a RuntimeError."""


class MissingArgumentColumnError(ColumnNotFoundError, RuntimeError):
    """An aggregate names a column that does not exist; a KeyError and, as in Turi Create, a RuntimeError."""


class NoColumnTypeError(SchemaError, UnsupportedOperationError):
    """No column can hold values of that class; a TypeError and, as casts in Turi Create, a RuntimeError."""


class FillValueError(UnsupportedOperationError, SchemaError):
    """A value cannot replace missing values of a column; a RuntimeError and, as in Turi Create for values that no column holds, a TypeError."""


class TimeFormatError(InvalidArgumentError, UnsupportedOperationError):
    """A format of date-times has a directive that cannot be read, or none; a ValueError and, as in Turi Create, a RuntimeError."""


class TakenKeyError(TakenNameError, KeyError):
    """A column of that name exists already; as in one place of Turi Create, a KeyError too."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put the sentence in quotes.
        return visible(str(self.args[0]), lines=True)


class SettingError(InvalidArgumentError, UnsupportedOperationError):
    """A setting of Turi Create has no effect here, or does not take the value; a ValueError and, as in Turi Create, a RuntimeError."""


class NotAColumnError(SchemaError, AttributeError):
    """An SArray is required, and something else was passed; a TypeError and, as in Turi Create, an AttributeError."""


class SeedError(SchemaError, InvalidArgumentError):
    """A seed is not a number; a TypeError and, as in parts of Turi Create, a ValueError."""


class BuilderError(UnsupportedOperationError, InvalidArgumentError):
    """A builder does not take a value, has no segment of that number, or is closed; a ValueError and, as in Turi Create, a RuntimeError."""


class BoundsError(InvalidArgumentError, UnsupportedOperationError):
    """A lower bound is above the upper one, or a slice is empty or has a step of zero; a ValueError and, as in Turi Create, a RuntimeError."""


class PictureFormatError(UnsupportedOperationError, NotImplementedError):
    """A chart is not written in that format; a RuntimeError and, as in Turi Create, a NotImplementedError."""


class FrameComparisonError(UnsupportedOperationError, NotImplementedError):
    """A frame is compared with something as a whole; a RuntimeError and, as in Turi Create, a NotImplementedError."""


class MissingLibraryError(SFrameError, ImportError):
    """A library that is not installed with this one is needed; an ImportError."""


class NoPictureError(UnsupportedOperationError, InvalidArgumentError):
    """Values of that type cannot be drawn in this chart; a RuntimeError and, as in parts of Turi Create, a ValueError."""


class ArgumentClassError(SchemaError, AssertionError):
    """An argument is of a class that is not accepted; a TypeError and, as in Turi Create, an AssertionError."""


class ColumnCodeError(InvalidArgumentError, UnsupportedOperationError):
    """No kind of random column has that letter; a ValueError and, as in Turi Create, a RuntimeError."""


class EmptyColumnsError(InvalidArgumentError, UnsupportedOperationError):
    """No column is named; a ValueError and, as in Turi Create, a RuntimeError."""


class NoArchiveError(SchemaError, StorageError):
    """Nothing is saved under a path; an OSError and, as in Turi Create, a TypeError."""


class AbsentModuleError(SFrameError, ModuleNotFoundError):
    """A module that this package does not have was imported; an ImportError that says what to use instead."""


# Files: damaged, missing or of another form.


class DamagedValueError(StorageError, ValueError):
    """A stored string is not the serialised form of a value.

    Raised when a row is read from a file that is damaged or was written by another program.
    """


class JsonError(StorageError, RuntimeError):
    """A file is not JSON of the requested form; an OSError and, as in Turi Create, a RuntimeError."""


class NoMemoryError(StorageError, MemoryError):
    """There is not enough memory for reading or writing; an OSError and a MemoryError. The file need not be damaged."""


class NotOneColumnError(StorageError, RuntimeError):
    """The saved data is not a single column; an OSError and, as in Turi Create, a RuntimeError."""


class NotSavedError(StorageError, RuntimeError):
    """A file is not a saved frame; an OSError and, as in Turi Create, a RuntimeError."""


class ConcurrentSaveError(StorageError):
    """Another process saved a frame at the same location at the same time.

    Raised by a save to a remote file system, and by ``checkpoint`` anywhere. The other frame is intact, and nothing is left of this save: save again.
    """


class CsvHintError(InvalidArgumentError, UnsupportedOperationError):
    """Column names or types do not fit the file; a ValueError and, as in Turi Create, a RuntimeError."""


class CsvCountError(SchemaError, InvalidArgumentError, UnsupportedOperationError):
    """A number of rows or lines is not a number; a TypeError and, as in Turi Create, a ValueError (for a string) and a RuntimeError (otherwise)."""


class CsvNoLineError(StorageError, RuntimeError):
    """A file is not empty, but has no line to read columns from; an OSError and, as in Turi Create, a RuntimeError."""


class CsvLineError(StorageError, RuntimeError):
    """A line does not fit the columns and skipping was not requested; an OSError and, as in Turi Create, a RuntimeError."""


class CsvEncodingError(StorageError, ValueError):
    """The file is not text in the encoding that it is read in; an OSError and, as in Turi Create, a ValueError."""


class BrokenThrift(ValueError):
    """The bytes are not in the Thrift format."""


class EncryptedColumnsError(ValueError):
    """The footer of a Parquet file says that columns are encrypted."""


class UnknownColumnTypeError(StorageError):
    """Raised when a stored name of a column type does not exist in this version."""


class BrokenPages(BrokenThrift):
    """The pages of a column are not where the footer says."""


class BrokenPayload(ValueError):
    """The bytes of a block of an archive are damaged.

    Parameters
    ----------
    reason
        What is wrong.
    place
        Position of the byte at which reading ended; None if it is not known.
    """

    def __init__(self, reason: str, place: int | None = None) -> None:
        self.reason = reason
        self.place = place
        super().__init__(reason, place)


class ArchiveTextError(StorageError, ValueError):
    """A string in an archive of Turi Create is not UTF-8; an OSError and, as in Turi Create, a ValueError."""


class ArchiveDateError(StorageError, OverflowError):
    """A date-time in an archive of Turi Create is outside the years that Python has; an OSError and an OverflowError."""


# Signals inside the engine and the test kit. They do not reach a user, but for those that __all__ names.


class NotPortable(Exception):
    """A value that JSON cannot represent, and its path."""

    def __init__(self, path: str, value: Any, found: str | None = None) -> None:
        text = repr(value)
        super().__init__(path)
        self.path = path
        self.found = found or f"a {type(value).__qualname__} ({text if len(text) <= 80 else text[:77] + '...'}), which is not portable"


class RowsNotFixedError(Exception):
    """A plan would compute rows of users' DataFrames for itself alone, but other plans need the same rows; ``frames`` identifies the DataFrames."""

    def __init__(self, frames: Iterable[int]) -> None:
        super().__init__("a plan keeps the rows of a DataFrame for itself")
        self.frames = frozenset(frames)


class UnownedCallsError(Exception):
    """A Spark task would call functions that are called on the driver or by other plans; ``memos`` identifies their memos."""

    def __init__(self, memos: Sequence[int]) -> None:
        super().__init__("a plan calls functions that it does not own")
        self.memos = memos


class MemoFullError(Exception):
    """A memo has more results than memory should hold: its node has to be materialised. The results so far are kept."""


class StateTooLargeError(Exception):
    """The state that a function reaches takes more bytes than allowed."""


class VariableNotSentError(Exception):
    """A variable that a function reaches cannot be pickled.

    Parameters
    ----------
    place
        The module and the name of the variable.
    reason
        Why it cannot be pickled. Advice is added where the error is reported to the user.
    """

    def __init__(self, place: tuple[str, str], reason: str) -> None:
        super().__init__(f"{'.'.join(place)}, {reason}")
        self.place, self.reason = place, reason


class CarriedError(Exception):
    """An error on its way through Spark; its text contains the original."""


class NumbersLeftOutError(SFrameError):
    """Raised by a query whose sums left out floats of a group: the query is run again with all of them, so users do not see it."""


class ProcessNotStartedError(Exception):
    """A Python worker process could not be started, or ended before it was ready; its work is then done in this process."""


class MemoryReservationError(Exception):
    """Gathered rows take more bytes than reserved; the plan that reads them is changed."""


class Untranslatable(BaseException):
    """A function cannot be translated; the message says what it does that prevents it. An ``except Exception`` in the function does not catch it."""


class ResultsTooLongError(Exception):
    """Results of some rows fill a batch already: ``done`` of the ``requested`` rows have a result."""

    def __init__(self, done: int, requested: int) -> None:
        super().__init__(f"the results of {done} of {requested} rows fill a batch")
        self.done, self.requested = done, requested


class NotOneTypeError(Exception):
    """The values have no common type."""


class InfiniteNumberError(Exception):
    """A JSON number is larger than all floats; Python's reader makes it infinite, which JSON has no number for."""

    def __init__(self, text: str, max_length: int) -> None:
        self.text = text
        start = text if len(text) <= max_length else f"{text[:max_length]}..."
        super().__init__(f"the number {start} is larger than any float: write it as a text")


class MisfitError(Exception):
    """A later value in a file is not of the type inferred from the first rows."""


class ContractBroken(AssertionError):
    """A function, an aggregate, an operator or a law differs from its declarations, or from what is expected of it.

    Parameters
    ----------
    subject
        A node, or the name of what is checked.
    rule
        The rule that does not hold.
    found
        What was found instead.
    remedy
        What an author probably has to change; empty if only the rule says it.
    rows
        The rows on which it was found, as text; empty if the rule is not about rows.
    """

    def __init__(self, subject: Any, rule: str, found: str, remedy: str = "", rows: str = "") -> None:
        name = subject if isinstance(subject, str) else f"{subject.operator_type}[{subject.operator.describe()}]"
        self.subject, self.rule, self.found, self.remedy, self.rows = name, rule, found, remedy, rows
        super().__init__(name, rule, found, remedy, rows)

    def __str__(self) -> str:
        parts = [f"{self.subject} breaks the rule that {self.rule}: {self.found}", self.rows, self.remedy]
        return "\n".join(part for part in parts if part)

    def of(self, subject: str = "", rows: str = "") -> ContractBroken:
        """Return the error with another name of what is checked, and with the rows on which it was found, unless it has them."""
        return ContractBroken(subject or self.subject, self.rule, self.found, self.remedy, self.rows or rows)


class UncheckedWarning(UserWarning):
    """The contract kit says what it could not check."""
