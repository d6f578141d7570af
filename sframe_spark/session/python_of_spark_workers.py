"""Chooses the Python that runs this package's functions in Spark's workers: that of this process, or one that the user names.

Also keeps these workers from importing modules in the directory in which Spark was started.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.errors import NotSharedError
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.worker_python_start import environment_of_workers
from sframe_spark.session.session import get_session
from sframe_spark.session.spark_start_and_settings import NO_PYTHON, USERS_PYTHON, WORKER_PYTHON, is_on_this_machine, is_remote, python_of_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@attrs.define
class ReplacedSettings:
    """The settings of a Spark context that are replaced while functions of this package are created.

    Parameters
    ----------
    lock
        Guards the other fields.
    blocks
        For each setting, how many ``with`` blocks of all threads replace it at the moment.
    before
        For each replaced setting, the value to be restored when the last block ends.
    """

    lock: threading.Lock = attrs.field(factory=threading.Lock)
    blocks: Counter[str] = attrs.field(factory=Counter)
    before: dict[str, Any] = attrs.field(factory=dict)

    @contextmanager
    def replaced(self, setting: str, read: Callable[[], Any], write: Callable[[Any], None], value: Any) -> Iterator[None]:
        """Replace a setting, which ``read`` returns and ``write`` sets, during the block."""
        with self.lock:
            if not self.blocks[setting]:
                self.before[setting] = read()
            self.blocks[setting] += 1
            write(value)
        try:
            yield
        finally:
            with self.lock:
                self.blocks[setting] -= 1
                if not self.blocks[setting]:
                    write(self.before[setting])


_NAMED = ReplacedSettings()
keep_whole_at_fork(_NAMED.lock, "python of workers")


@contextmanager
def naming_our_python(session: SparkSession) -> Iterator[None]:
    """Let functions that are created in the block run in this process's Python, even in a user's session on this machine.

    The user's session would start the ``python3`` of the PATH, which may lack our packages, for example in notebooks. The session's settings, and the
    Python of the user's own functions, are not changed; if the session's settings name a Python, our functions use that.
    """
    python = NO_PYTHON if is_remote(session) or not is_on_this_machine(session) else python_of_tasks()
    with contextlib.ExitStack() as stack:
        # Without an interpreter of this process, the user's session may name one.
        if python != NO_PYTHON:
            context = session.sparkContext
            # A function records this attribute when it is created; there is no public method to set it.
            write = partial(setattr, context, "pythonExec")
            stack.enter_context(_NAMED.replaced("python", lambda: context.pythonExec, write, python))
        stack.enter_context(importing_safely(session))
        yield


@contextmanager
def importing_safely(session: SparkSession) -> Iterator[None]:
    """Keep functions that are created in the block, for a Spark on this machine, from importing modules in the directory in which Spark was started.

    A function records the environment when it is created, so the user's own functions are not affected.
    """
    if is_remote(session) or not is_on_this_machine(session):
        yield
        return
    environment = session.sparkContext.environment

    def write(variables: dict[str, Any]) -> None:
        environment.update(variables)
        for name in environment.keys() - variables.keys():
            del environment[name]

    with _NAMED.replaced("environment", lambda: dict(environment), write, {**environment_of_workers(os.environ), **environment}):
        yield


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


def jobs_start_python_of_queries(session: SparkSession) -> bool:
    """Return whether jobs without a query start the same Python as queries; False on a Spark Connect server, which runs no such jobs.

    A query starts the Python that its session names. A job starts the one that was set when Spark was started: for a user's session this may be a
    ``python3`` without our packages.
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
