"""Turns Spark's errors into readable errors of one line, and runs Spark actions that raise such errors and that Ctrl-C cancels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sframe_spark.errors import ExecutionError, SFrameError, StorageError
from sframe_spark.session.dataframes_kept_by_spark import LOST
from sframe_spark.session.job_labels_and_cancellation import run_cancellable
from sframe_spark.session.spark_versions import advice_about_java
from sframe_spark.storage.filesystem.io_errors import NOT_KEPT, file_damage_in_message, full_disk, full_disk_of_executor, is_full_disk_message
from sframe_spark.storage.filesystem.temporary_datasets import scratch_root
from sframe_spark.udf.error_transport import error_transport

LONGEST = 600
TRACEBACK = "Traceback (most recent call last):"

# What Spark puts around the cause of an error: the Py4J call, the lost task, names of Java classes, error codes.
_AROUND = re.compile(
    r"An error occurred while calling \S+"
    r"|Job aborted due to stage failure: Task .*? most recent failure: Lost task .*?\): "
    r"|Exception thrown in awaitResult:"
    r"|\b(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)(?:: |$)"
    r"|Caused by: "
    r"|\[[A-Z][A-Z0-9_.]*\] "
    r"|,? ?SQLSTATE: \w+"
    # Spark 3.5 gives the cause after it.
    r"|Task failed while writing rows to .*\.$"
)
_WORKER_ENDED = "Python worker exited unexpectedly"
_WHY_WORKERS_END = (
    "one of your functions or a library ended it, which functions must not do, or the system killed it for lack of memory, "
    "of which spark.executor.memoryOverhead gives executors more"
)
_JVM_ENDED = "its JVM has ended or was killed; restart this program, or its session"
_FRAME = re.compile(r"\s*(?:at |\.\.\. \d+ more)")


def is_of_spark(error: BaseException) -> bool:
    """Return whether an error was raised by PySpark or by Py4J, or because the JVM of the session has ended.

    Examples
    --------
    >>> from pyspark.errors import PySparkTypeError
    >>> is_of_spark(PySparkTypeError("no text")), is_of_spark(TypeError("no text"))
    (True, False)
    """
    return type(error).__module__.startswith(("pyspark", "py4j")) or is_of_ended_jvm(error)


def is_of_ended_jvm(error: BaseException) -> bool:
    """Return whether Py4J has lost its connection to the JVM of the session, or finds that nothing listens there."""
    if type(error).__name__ == "Py4JNetworkError":
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return isinstance(error, ConnectionError) and last is not None and str(last.tb_frame.f_globals.get("__name__")).startswith("py4j")


def in_one_line(text: str) -> str:
    """Return the cause that a Spark error names, without stack traces and error codes.

    Examples
    --------
    >>> in_one_line("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n\\tat org.apache.spark")
    'Division by zero.'
    >>> in_one_line("(java.sql.SQLException) No suitable driver\\n\\nJVM stacktrace:\\njava.sql.SQLException\\n\\tat java")
    '(java.sql.SQLException) No suitable driver'
    >>> in_one_line("An error occurred while calling o7.collect.\\n: java.lang.OutOfMemoryError: Java heap space\\n\\tat java.base\\n\\t... 2 more")
    'Java heap space'
    >>> in_one_line("[TASK_WRITE_FAILED] Task failed while writing rows to file:/tmp/x.\\n\\tat a\\nCaused by: java.lang.Error: no such row")
    'java.lang.Error: no such row'
    """
    if TRACEBACK in text:
        return raised_in_python(text)
    shortened = text.partition("Driver stacktrace:")[0].partition("JVM stacktrace:")[0]
    lines = (_AROUND.sub("", line).strip(" :") for line in shortened.splitlines() if not _FRAME.match(line))
    cause = " ".join(list(dict.fromkeys(filter(None, lines)))[:3])[:LONGEST]
    # Spark advises settings that show where in Python the worker was, which does not help if it was killed.
    return f"{_WORKER_ENDED} each time it was tried: {_WHY_WORKERS_END}" if cause.startswith(_WORKER_ENDED) else cause or text[:LONGEST]


def raised_in_python(text: str) -> str:
    """Return the exception at the end of a Python traceback.

    Examples
    --------
    >>> raised_in_python("An exception was thrown:\\nTraceback (most recent call last):\\n  File 'a', line 1\\nKeyError: 'b'\\n\\tat java")
    "KeyError: 'b'"
    """
    last = text.rpartition(TRACEBACK)[2]
    return next((line for line in last.splitlines() if line and not line[0].isspace()), text)[:LONGEST].strip()


# Actions of Spark that Ctrl-C cancels, with translated errors.

Value = TypeVar("Value")


def run_spark(action: Callable[[], Value], description: str, location: str | None = None) -> Value:
    """Run a Spark action, which may write to ``location``; Ctrl-C cancels it, and its errors are translated by :func:`translated_errors`."""
    with translated_errors(description, location):
        return run_cancellable(action, description)


@contextmanager
def translated_errors(description: str, location: str | None = None) -> Iterator[None]:
    """Raise an error that a worker sent as it was raised there, and any other error of Spark as an SFrameError with one readable line."""
    try:
        yield
    except SFrameError:
        raise
    except Exception as error:
        if not is_of_spark(error):
            raise
        if is_of_ended_jvm(error):
            raise ExecutionError(f"Spark failed while {description}: its JVM has ended or was killed; restart this program, or its session") from None
        text = str(error)
        carried = error_transport().unpacked(text)
        if carried is not None:
            raise carried from None
        damage = file_damage_in_message(text)
        if damage is not None:
            raise StorageError(damage) from None
        if LOST in text:
            raise StorageError(f"Spark failed while {description}: {NOT_KEPT}") from None
        if is_full_disk_message(text):
            directory = location or scratch_root()
            raise StorageError(f"Spark failed while {description}: {full_disk_of_executor(text, directory) or full_disk(directory)}") from None
        raise ExecutionError(f"Spark failed while {description}: {in_one_line(text)}{advice_about_java()}") from None
