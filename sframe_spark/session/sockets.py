"""Spark talks with its Python workers over Unix sockets where the machine has them: over TCP each small message waits for an acknowledgement."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from sframe_spark.process.interpreter import environment_of_tasks
from sframe_spark.process.leases import directory_of_system, own_directory, remove_orphans

# A path of a Unix socket has at most 103 bytes on any system; Spark's own names and ours take the rest.
LONGEST_PARENT = 14
SEARCH_PATH = "spark.executorEnv.PYTHONPATH"


def socket_settings() -> dict[str, str]:
    """Settings for a Spark on this machine alone; none where its sockets would have no short path.

    Measured: a job of two short Python tasks takes 40 ms less, a quarter.
    """
    if not hasattr(socket, "AF_UNIX"):
        return {}
    for parent in (directory_of_system(), "/tmp"):
        if len(os.fsencode(parent)) <= LONGEST_PARENT and os.access(parent, os.W_OK | os.X_OK):
            return {
                "spark.python.unix.domain.socket.enabled": "true",
                "spark.python.unix.domain.socket.dir": socket_directory(parent),
                "spark.python.daemon.module": "sframe_spark_daemon",
                # Before what the program imports from.
                SEARCH_PATH: os.pathsep.join([str(Path(__file__).with_name("worker_daemon")), environment_of_tasks(sys.path)["PYTHONPATH"]]),
            }
    return {}


def socket_directory(parent: str) -> str:
    """A new directory that only this user can enter, deleted when the process ends, or by the next that starts if it is killed."""
    remove_orphans(parent)
    return own_directory(parent)


def acknowledge_at_once() -> None:
    """Let a Python worker of Spark's acknowledge what has come over TCP, before it reads on: sessions of users talk so, on any cluster.

    Spark writes a task, then its rows and their end. The second write waits until the first is acknowledged, and a process that answers otherwise
    keeps an acknowledgement back for 40 ms, as it may go along with an answer. Measured: a task that does nothing took 48 ms, and takes 6.
    """
    if not hasattr(socket, "TCP_QUICKACK"):
        return
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                acknowledge(int(name))


@attrs.frozen
class OnArrival:
    """A function in what a query sends to Python workers: the one that it comes to acknowledges what has come, before it reads rows.

    Parameters
    ----------
    function
        What is called there.
    """

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives."""
        return self.function(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return arrived, (self.function,)


def arrived(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a worker unpickles: the function itself."""
    acknowledge_at_once()
    return function


def acknowledge(number: int) -> None:
    """Send what acknowledgement is due on a connection over TCP, given the number of its file; it stays open.

    Raises
    ------
    OSError
        If that is no such connection.
    """
    connection = socket.socket(fileno=number)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    finally:
        connection.detach()
