"""Worker processes that are forked from one that has imported the package: a start costs 20 ms of a processor, not 600.

For tests of the pool, which start dozens. How a worker's interpreter itself starts is tested in ``tests/process/test_worker_python_start.py``.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from sframe_spark.process import python_worker_pool_and_message_channel as pool
from sframe_spark.process.worker_python_start import START, environment_at_start

INTERPRETER = sys.executable
# The first process forks a worker for each message, and says of each how it has ended.
TEMPLATE = """
import json, os, select, signal, socket, sys
import pyspark.cloudpickle
import sframe_spark.engine.runtime.row_range_tasks_and_sequential_states
from sframe_spark.engine.runtime.worker_process_main_loop import serve

connection = socket.socket(fileno=int(sys.argv[1]))
ended, woken = os.pipe()
os.set_blocking(ended, False)
os.set_blocking(woken, False)
signal.signal(signal.SIGCHLD, lambda *_: None)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
statuses = {}
while True:
    ready, _, _ = select.select([connection, ended], [], [])
    if ended in ready:
        os.read(ended, 1000)
        while statuses and (found := os.waitpid(-1, os.WNOHANG))[0]:
            status = statuses.pop(found[0])
            os.write(status, str(os.waitstatus_to_exitcode(found[1])).encode())
            os.close(status)
    if connection in ready:
        content, numbers, _, _ = socket.recv_fds(connection, 1 << 20, 5)
        if not content:
            sys.exit()
        if not (child := os.fork()):
            break
        statuses[child] = numbers.pop()
        for number in numbers:
            os.close(number)
        connection.send(str(child).encode())

signal.set_wakeup_fd(-1)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
for number in (ended, woken, numbers.pop(), *statuses.values()):
    os.close(number)
connection.close()
asked, nothing = json.loads(content), os.open(os.devnull, os.O_RDONLY)
for stream, number in enumerate((nothing, numbers.pop(2), numbers.pop(2))):
    os.dup2(number, stream)
    os.close(number)
os.chdir(asked["directory"])
os.environ.clear()
os.environ.update(asked["environment"])
sys.path[:] = asked["path"]
try:
    serve(*numbers)
finally:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
"""


@cache
def _template(process: int) -> socket.socket:
    """Return the connection to the template of a process; the template ends when that process does."""
    ours, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with others:
        command = [sys.executable, "-c", TEMPLATE, str(others.fileno())]
        environment = {**environment_at_start(os.environ), "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.Popen(command, pass_fds=[others.fileno()], stdin=subprocess.DEVNULL, env=environment)
    return ours


class ForkedWorker:
    """A worker that the template has forked, with the members of `subprocess.Popen` that the pool uses."""

    def __init__(self, command: Sequence[str], pass_fds: Sequence[int], env: Mapping[str, str], **streams: Any) -> None:
        path = command[command.index(START) + 6 :]
        asked = json.dumps({"directory": os.getcwd(), "environment": dict(env), "path": path}).encode()
        self._status, status = os.pipe()
        connection = _template(os.getpid())
        connection.sendmsg([asked], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [*pass_fds, 1, 2, status]))])
        os.close(status)
        self.pid = int(connection.recv(100))
        self.returncode: int | None = None
        self._one_asks = threading.Lock()

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("a forked worker", timeout or 0.0)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            # It may have ended meanwhile: the template, and not this process, keeps its number from others.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        with self._one_asks:
            if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
                self.returncode = int(os.read(self._status, 100))
                os.close(self._status)
            return self.returncode


def start(command: Sequence[str], **how: Any) -> Any:
    """Fork a worker, or start what is no worker of this interpreter."""
    return ForkedWorker(command, **how) if command[0] == INTERPRETER and START in command else subprocess.Popen(command, **how)


@contextlib.contextmanager
def workers_forked_from_a_template() -> Iterator[None]:
    """Let the pool start its workers so for the block."""
    with pytest.MonkeyPatch.context() as patch:
        standing_in = SimpleNamespace(Popen=start, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired)
        patch.setattr(pool, "subprocess", standing_in)
        yield
