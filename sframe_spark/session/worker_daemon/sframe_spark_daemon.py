"""Spark's parent of Python workers, but a worker ends silently when Spark has closed its connection, and collects garbage among little.

Spark closes workers that had nothing to do for a minute. Their last words get lost over TCP; over a Unix socket they are an error and would be a
traceback on the user's terminal. And each task ends with a garbage collection, which traverses everything that was ever imported unless that is
frozen: 20 to 50 ms. Spark runs this file as a module of its own (see `session/sockets.py`): nothing of sframe_spark is imported before workers are
forked, as that starts threads.
"""

from __future__ import annotations

import gc
import os
import socket
import sys

from pyspark import daemon

serve = daemon.worker


def worker(connection: socket.socket, authenticated: bool) -> int:
    """Run one task as Spark does; the process ends here if nobody listens any more."""
    modules = len(sys.modules)
    try:
        return serve(connection, authenticated)
    except BrokenPipeError:
        # At once: buffers would be flushed when they are collected, which from Python 3.13 on reports an error of its own.
        os._exit(1)
    finally:
        if len(sys.modules) != modules:
            # Before it, what is garbage, which would stay for ever: the cycles of the task's functions.
            gc.collect()
            gc.freeze()


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
