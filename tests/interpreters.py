"""Run programs each in a process of its own, forked from an interpreter that has imported the package: a start costs 20 ms of a processor, not 800.

A test of how an interpreter starts or ends, of what an import loads, or of memory limits starts an interpreter itself.
"""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

# The first process waits here for programs, and each is run by a process that it forks. That one ends as an interpreter does, but for taking all
# modules apart, which costs 300 ms.
STARTER = """
import atexit, json, os, runpy, socket, sys, threading, traceback, types, warnings
from sframe_spark import SFrame
import sframe_spark.engine.runtime.worker_process_main_loop

def run(asked):
    if asked["module"]:
        sys.argv = [asked["module"], *asked["arguments"]]
        runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *asked["arguments"]]
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(asked["program"], "<string>", "exec"), sys.modules["__main__"].__dict__)

def status_of(asked):
    try:
        run(asked)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

connection = socket.socket(fileno=int(sys.argv[1]))
while True:
    content, streams, _, _ = socket.recv_fds(connection, 1 << 20, 2)
    if not content:
        sys.exit()
    asked = json.loads(content)
    if not (child := os.fork()):
        break
    for stream in streams:
        os.close(stream)
    connection.send(str(child).encode())
    connection.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())

connection.close()
for number, stream in enumerate(streams, 1):
    os.dup2(stream, number)
    os.close(stream)
os.chdir(asked["directory"])
os.environ.clear()
os.environ.update(asked["environment"])
warnings.resetwarnings()
for action in asked["warnings"]:
    warnings.simplefilter(action)
status = status_of(asked)
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
"""


@cache
def _starter(process: int) -> socket.socket:
    """Return the connection to the starter of a process; the starter ends when that process does."""
    ours, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with others:
        subprocess.Popen([sys.executable, "-c", STARTER, str(others.fileno())], pass_fds=[others.fileno()], stdin=subprocess.DEVNULL)
    return ours


def run_program(
    program: str = "",
    *arguments: str,
    module: str = "",
    directory: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    warnings: str = "",
    timeout: float = 100,
) -> subprocess.CompletedProcess[str]:
    """Run a program, or a module as ``python -m`` does, in a process that has imported the package, and return what became of it.

    Raises
    ------
    subprocess.TimeoutExpired
        If it takes longer than it may; it is killed.
    """
    connection = _starter(os.getpid())
    asked = {
        "program": program,
        "module": module,
        "arguments": arguments,
        "directory": str(directory or os.getcwd()),
        "environment": dict(os.environ if environment is None else environment),
        "warnings": [warnings] if warnings else [],
    }
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        streams = array.array("i", [output.fileno(), errors.fileno()])
        connection.sendmsg([json.dumps(asked).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        process = int(connection.recv(100))
        connection.settimeout(timeout)
        try:
            status = int(connection.recv(100))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            connection.settimeout(None)
            connection.recv(100)
            raise subprocess.TimeoutExpired([module or program, *arguments], timeout) from None
        finally:
            connection.settimeout(None)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([module or program, *arguments], status, output.read(), errors.read())
