"""The main loop of a Python worker process, which runs the tasks that its parent sends, one after the other."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from sframe_spark.config import config
from sframe_spark.engine.task_pickling import TaskPayload
from sframe_spark.errors import CarriedError, ExecutionError, SFrameError
from sframe_spark.optional_libraries import import_cloudpickle
from sframe_spark.process.python_worker_pool_and_message_channel import BYTES_OF_REPORT, READY, Channel
from sframe_spark.process.worker_python_start import STARTING, environment_of_functions
from sframe_spark.session.progress import reporting_rows
from sframe_spark.udf.error_transport import error_text
from sframe_spark.udf.function_errors import process_ended

MAX_OF_TRACEBACK = 20
# Whether a task failed, and its pickled result or its error as bytes.
Answered = tuple[bool, bytes]


@attrs.frozen(eq=False)
class TaskEnvironment:
    """The environment that all tasks of one call share.

    Parameters
    ----------
    shared
        Values that several tasks refer to.
    storage_options
        The options of remote file systems.
    directory, environment
        The working directory of the parent process (None if it was deleted) and its environment variables, so that functions find the same as in the
        parent.
    """

    shared: Sequence[Any]
    storage_options: Mapping[str, Mapping[str, Any]]
    directory: str | None
    environment: Mapping[str, str]

    @classmethod
    def of_this_process(cls, shared: Sequence[Any]) -> TaskEnvironment:
        """Return the environment for tasks that this process sends."""
        return cls(shared, config.storage_options, _directory(), environment_of_functions(os.environ))


def _directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def serve(requests: int, life: int) -> None:
    """Report that the process is ready, and answer requests until the parent closes the pipe.

    Parameters
    ----------
    requests, life
        Numbers of pipes: the one of requests, and one whose other end is closed when the parent process ends.
    """
    # Everything that tasks need is imported before the process reports that it is ready, as the parent counts the time after that as work.
    import sframe_spark.engine.runtime.row_range_tasks_and_sequential_states  # noqa: F401

    import_cloudpickle()

    # Imported modules stay, so they are excluded from garbage collection: scanning them takes as long as scanning 20,000 nested values, and a task
    # with many nested values makes Python scan again and again.
    gc.freeze()
    os.environ.pop(STARTING, None)
    channel = Channel(requests)
    # Processes that users' functions fork must not answer in place of this one, nor keep the parent waiting.
    os.register_at_fork(after_in_child=channel.close)
    threading.Thread(target=_end_with_parent, args=(life,), daemon=True).start()
    common: TaskEnvironment | Answered = TaskEnvironment((), {}, None, {})
    channel.send(READY)
    while True:
        try:
            described, packed_task, rows = pickle.loads(channel.receive())
            if described is not None:
                common = _enter_environment(described)
            # If the environment cannot be unpickled, for instance because of a function in it, all its tasks are answered with that error.
            with reporting_rows(rows or 0, None if rows is None else partial(_report, channel)):
                answer = _answer(common, packed_task) if isinstance(common, TaskEnvironment) else common
            # Users' functions may have closed standard output, or replaced it by anything.
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            channel.send(pickle.dumps(answer))
        except (EOFError, ConnectionError):
            return


def _report(channel: Channel, done: int) -> None:
    """Report to the parent how many rows of the task are done. A process that a user's function has forked reports nothing."""
    with contextlib.suppress(OSError):
        channel.send(done.to_bytes(BYTES_OF_REPORT, "little"))


def _end_with_parent(life: int) -> None:
    """End this process when the parent process has ended, whatever the main thread is doing."""
    while os.read(life, 1):
        pass
    os._exit(1)


def _enter_environment(described: tuple[Sequence[str], bytes]) -> TaskEnvironment | Answered:
    """Set this process to an environment, given the search path and the pickled rest; return it, or an answer with the error if that fails."""
    search_path, content = described
    sys.path[:] = search_path
    try:
        common: TaskEnvironment = pickle.loads(content)
        os.environ.clear()
        os.environ.update(common.environment)
        if common.directory is not None:
            os.chdir(common.directory)
    except (Exception, SystemExit) as error:
        return _failed(error)
    return common


def _answer(common: TaskEnvironment, packed_task: TaskPayload) -> Answered:
    """Run a task; return whether it failed, and its pickled result or its error as bytes."""
    try:
        with config.using(storage_options=common.storage_options):
            return False, pickle.dumps(packed_task.unpack(common.shared)())
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return _failed(error)


def _failed(error: BaseException) -> Answered:
    """Return an answer with an error, which the parent raises."""
    if isinstance(error, CarriedError):
        return True, f"{type(error).__name__}: {error}".encode("ascii", "backslashreplace")
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        error = process_ended(error)
    if not isinstance(error, SFrameError):
        lines = "".join(traceback.format_exception(error)[-MAX_OF_TRACEBACK:])
        error = ExecutionError(f"{type(error).__name__}: {error}\n{lines}")
    return True, error_text(error).encode("ascii")
