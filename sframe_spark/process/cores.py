"""How many cores this process may use, and the threads of Arrow that are to be no more."""

from __future__ import annotations

import functools
import os
import time

import pyarrow as pa

from sframe_spark.process.control_groups import SECONDS_REMEMBERED, ControlGroups


def available_cores() -> int:
    """Return how many cores this process may use: those that it may run on, but no more than its container gets the time of."""
    return min(cores_here(), _most_cores(os.getpid(), int(time.monotonic() / SECONDS_REMEMBERED)))


def cores_here() -> int:
    """Return how many cores the system runs this process on, whatever time it gets there."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.lru_cache(maxsize=1)
def _most_cores(process: int, moment: int) -> int:
    """As many as the groups of the process allow, and as many as Python was told that there are (``-X cpu_count``)."""
    known = [cores for cores in (os.cpu_count(), ControlGroups.of_this_process().cores()) if cores is not None]
    return min(known, default=1)


def fit_arrow() -> None:
    """Let Arrow start no more threads than this process has cores: by itself it does not see what time a container gets.

    A number that the user has set stays.
    """
    cores = available_cores()
    if cores < pa.cpu_count() == cores_here() and not os.environ.get("OMP_NUM_THREADS"):
        pa.set_cpu_count(cores)
