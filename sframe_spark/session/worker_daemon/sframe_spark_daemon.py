"""Spark's parent process of Python workers, changed so that a worker ends silently when Spark closes its connection, and collects less garbage.

Spark closes workers that have been idle for a minute. Over a Unix socket, what they write then raises an error, whose traceback would appear on the
user's terminal. And each task ends with a garbage collection, which traverses everything that was ever imported unless that is frozen: 20 to 50 ms.
Spark runs this file as a module of its own (see ``session/worker_sockets.py``); nothing of sframe_spark is imported before workers are forked, as
that starts threads.
"""

from __future__ import annotations

import gc
import os
import socket
import sys

from pyspark import daemon

serve = daemon.worker


def worker(connection: socket.socket, authenticated: bool) -> int:
    """Run one task as Spark does; the process ends if Spark has closed the connection."""
    modules = len(sys.modules)
    try:
        return serve(connection, authenticated)
    except BrokenPipeError:
        # The process ends at once: otherwise buffers would be flushed when they are collected, which from Python 3.13 on reports an error of its own.
        os._exit(1)
    finally:
        if len(sys.modules) != modules:
            # Existing garbage is collected first, as it would stay forever once frozen: cycles of the task's functions.
            gc.collect()
            gc.freeze()


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
