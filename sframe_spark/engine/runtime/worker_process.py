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
from typing import Any

import attrs

from sframe_spark.config import config
from sframe_spark.engine.task_pickling import TaskPayload
from sframe_spark.errors import CarriedError, ExecutionError, SFrameError
from sframe_spark.process.child_processes import READY, Channel
from sframe_spark.process.interpreter import STARTING, environment_of_functions
from sframe_spark.udf.errors import error_text, process_ended

MAX_OF_TRACEBACK = 20
# Whether a task failed, and its pickled result or the error's text.
Answered = tuple[bool, bytes]


@attrs.frozen(eq=False)
class TaskEnvironment:
    """The environment that all tasks of one call share.

    Parameters
    ----------
    shared
        Values that several tasks refer to.
    storage_options
        Those of file systems elsewhere.
    directory, environment
        Where the process that asks is (None: nowhere, as its directory was deleted), and its environment: functions find what they would find there.
    """

    shared: Sequence[Any]
    storage_options: Mapping[str, Mapping[str, Any]]
    directory: str | None
    environment: Mapping[str, str]

    @classmethod
    def of_this_process(cls, shared: Sequence[Any]) -> TaskEnvironment:
        """Return the environment of tasks that this process sends."""
        return cls(shared, config.storage_options, _directory(), environment_of_functions(os.environ))


def _directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def serve(requests: int, life: int) -> None:
    """Say that it is ready, and answer requests until there are no more.

    Parameters
    ----------
    requests, life
        Numbers of pipes, of which the second one ends with the process that asks.
    """
    # What works are made of: what is done from when it is ready is work.
    import pyspark.cloudpickle  # noqa: F401

    import sframe_spark.engine.runtime.tasks  # noqa: F401

    # Modules stay: looking through them once more takes as long as 20,000 nested values, and many of these make Python look again and again.
    gc.freeze()
    os.environ.pop(STARTING, None)
    channel = Channel(requests)
    # What functions fork is not to answer in place of this process, nor to keep the one that asks waiting.
    os.register_at_fork(after_in_child=channel.close)
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    common: TaskEnvironment | Answered = TaskEnvironment((), {}, None, {})
    channel.send(READY)
    while True:
        try:
            described, packed_task = pickle.loads(channel.receive())
            if described is not None:
                common = _entered(described)
            # Works that have in common what cannot be read here, such as a function, are all answered so.
            answer = _answer(common, packed_task) if isinstance(common, TaskEnvironment) else common
            # Functions may have closed it, or put anything in its place.
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            channel.send(pickle.dumps(answer))
        except (EOFError, ConnectionError):
            return


def _end_with(life: int) -> None:
    """End this process when the one that asks has ended, whatever the main thread is at."""
    while os.read(life, 1):
        pass
    os._exit(1)


def _entered(described: tuple[Sequence[str], bytes]) -> TaskEnvironment | Answered:
    """What works have in common, read where their modules are found; the error, where it cannot be read."""
    path, content = described
    sys.path[:] = path
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
    """Whether a work failed, and its pickled result or the error's text."""
    try:
        with config.using(storage_options=common.storage_options):
            return False, pickle.dumps(packed_task.unpack(common.shared)())
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return _failed(error)


def _failed(error: BaseException) -> Answered:
    """The text of an error, which whoever asked raises."""
    if isinstance(error, CarriedError):
        return True, f"{type(error).__name__}: {error}".encode("ascii", "backslashreplace")
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        error = process_ended(error)
    if not isinstance(error, SFrameError):
        lines = "".join(traceback.format_exception(error)[-MAX_OF_TRACEBACK:])
        error = ExecutionError(f"{type(error).__name__}: {error}\n{lines}")
    return True, error_text(error).encode("ascii")
