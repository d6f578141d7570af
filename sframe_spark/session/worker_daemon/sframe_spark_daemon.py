"""Spark's parent of Python workers, but a worker whose connection Spark has closed ends without a traceback on the user's terminal.

Spark closes workers that had nothing to do for a minute. Their last words get lost over TCP; over a Unix socket they are an error. Spark runs
this file as a module of its own (see `session/sockets.py`): nothing of sframe_spark is imported before workers are forked, as that starts threads.
"""

from __future__ import annotations

import socket

from pyspark import daemon

serve = daemon.worker


def worker(connection: socket.socket, authenticated: bool) -> int:
    """Run one task as Spark does; 1, at which the process ends, if nobody listens any more."""
    try:
        return serve(connection, authenticated)
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
