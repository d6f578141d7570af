"""How Spark runs work outside this process: with which Python, and which files it can reach."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.config import config
from sframe_spark.errors import NotSharedError
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.interpreter import environment_of_workers
from sframe_spark.session.launch import NO_PYTHON, USERS_PYTHON, WORKER_PYTHON, is_attached, is_on_this_machine, is_remote, python_of_tasks
from sframe_spark.session.session import active_session, get_session, is_started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@attrs.define
class NamedPython:
    """The settings of a Spark context that are replaced while functions of this package are created; blocks of all threads are counted.

    Parameters
    ----------
    lock
        Guards the other fields.
    blocks, safe_blocks
        The number of open blocks that set the Python interpreter, and of those that set the environment.
    before, environment
        The Python interpreter and the environment to be restored.
    """

    lock: threading.Lock = attrs.field(factory=threading.Lock)
    blocks: int = 0
    before: str = ""
    safe_blocks: int = 0
    environment: dict[str, Any] = attrs.field(factory=dict)


_NAMED = NamedPython()
keep_whole_at_fork(_NAMED.lock, "python of workers")


@contextmanager
def naming_our_python(session: SparkSession) -> Iterator[None]:
    """Let functions that are created in the block run in this process's Python, even in a user's session on this machine.

    The user's session would start the ``python3`` of the PATH, which may lack our packages, for example in notebooks. The session's settings, and the
    Python of the user's own functions, are not changed; if the session's settings name a Python, our functions use that.
    """
    if is_remote(session) or not is_on_this_machine(session):
        yield
        return
    python = python_of_tasks()
    if python == NO_PYTHON:
        # The user's session may name an interpreter.
        with importing_safely(session):
            yield
        return
    context = session.sparkContext
    with _NAMED.lock:
        if not _NAMED.blocks:
            _NAMED.before = context.pythonExec
        # A function records this attribute when it is created; there is no public method to set it.
        _NAMED.blocks, context.pythonExec = _NAMED.blocks + 1, python
    try:
        with importing_safely(session):
            yield
    finally:
        with _NAMED.lock:
            _NAMED.blocks -= 1
            if not _NAMED.blocks:
                context.pythonExec = _NAMED.before


@contextmanager
def importing_safely(session: SparkSession) -> Iterator[None]:
    """Keep functions that are created in the block, for a Spark on this machine, from importing modules in the directory in which Spark was started.

    A function records the environment when it is created, so the user's own functions are not affected.
    """
    if is_remote(session) or not is_on_this_machine(session):
        yield
        return
    environment = session.sparkContext.environment
    with _NAMED.lock:
        if not _NAMED.safe_blocks:
            _NAMED.environment = dict(environment)
        _NAMED.safe_blocks += 1
        environment.update({name: value for name, value in environment_of_workers(os.environ).items() if name not in environment})
    try:
        yield
    finally:
        with _NAMED.lock:
            _NAMED.safe_blocks -= 1
            if not _NAMED.safe_blocks:
                environment.clear()
                environment.update(_NAMED.environment)


def require_python_of_tasks() -> None:
    """Raise an error if a Spark on this machine has no Python interpreter to start for its tasks.

    Raises
    ------
    NotSharedError
        If this program's interpreter is embedded, and the user names no other.
    """
    session = get_session()
    if is_on_this_machine(session) and session.conf.get(WORKER_PYTHON, None) == NO_PYTHON:
        raise NotSharedError(
            f"Spark's tasks need a Python interpreter, and this program has its own built in (sys.executable is {sys.executable!r}): "
            f"name one that has the same versions of Python, pyarrow and sframe_spark in the environment variable {USERS_PYTHON}"
        )


def start_as_queries_do(session: SparkSession) -> bool:
    """Return whether jobs without a query run in this process's JVM, with the same Python as queries.

    A query starts the Python that its session names. A job starts the one that was set when Spark was started; a user's ``python3`` may lack our
    packages.
    """
    if is_remote(session):
        return False
    of_queries = session.conf.get(WORKER_PYTHON, None)
    return not of_queries or is_same_program(of_queries, session.sparkContext.pythonExec)


def is_same_program(first: str, second: str) -> bool:
    """Return whether two commands start the same program in the same directory, which is what identifies a virtual environment.

    Examples
    --------
    >>> import sys
    >>> is_same_program(sys.executable, sys.executable), is_same_program(sys.executable, "no such program")
    (True, False)
    """
    paths = [os.path.abspath(path) for command in (first, second) if (path := shutil.which(command)) is not None]
    if len(paths) < 2:
        return first == second
    # A link in the directory of the program, such as `python`, counts as the program.
    return len({(os.path.dirname(path), os.path.realpath(path)) for path in paths}) == 1


def reads_our_files(session: SparkSession) -> bool:
    """Return whether Spark is expected to see this process's temporary data: on this machine, or if the user has set its directory."""
    return config.temporary_directory is not None or (not is_remote(session) and is_on_this_machine(session))


def is_one_process(session: SparkSession) -> bool:
    """Return whether the JVM of this process does all work of the session, so that it sees the files of this process."""
    return not is_remote(session) and str(session.sparkContext.master).split("[")[0] == "local"


def is_spark_requested() -> bool:
    """Return whether Spark is in use: a session of this package or the user's exists, or the environment names a Spark to use."""
    return is_started() or is_attached() or ("pyspark" in sys.modules and active_session() is not None)


def is_spark_local() -> bool:
    """Return whether Spark does, or would do, all work on this machine; none is started. A user who is connected to a cluster wants to use it."""
    if is_started():
        return is_one_process(get_session())
    if is_attached():
        return False
    # If PySpark is not imported, there is no session.
    session = active_session() if "pyspark" in sys.modules else None
    return session is None or is_one_process(session)
