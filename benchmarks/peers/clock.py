"""Seconds on the clock and of the processors; the reference's interpreter, which is an old one, reads this too."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")
# The kernel's name of a process's own clock, which counts nanoseconds where /proc counts ticks: linux/posix-timers.h.
SCHEDULER_CLOCK = 2


def seconds_of_children() -> float:
    """User and system time of all that this process has started, and that is at work or was waited for, the latter in ticks."""
    parents, times, ended = {}, {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            process = int(entry)
            try:
                fields = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()
                times[process] = time.clock_gettime(~process << 3 | SCHEDULER_CLOCK)
            except OSError:
                continue
            parents[process], ended[process] = int(fields[1]), sum(map(int, fields[13:15])) / TICK
    own, size = {os.getpid()}, 0
    while size < len(own):
        size = len(own)
        own |= {process for process, parent in parents.items() if parent in own}
    return sum(ended.get(process, 0.0) for process in own) + sum(times.get(process, 0.0) for process in own - {os.getpid()})


def peak_bytes() -> int:
    """The most memory that this process had at a time; what it has started is not counted."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


def timed(action: Callable[[], Any]) -> tuple:  # type: ignore[type-arg]
    """What an action gives, and its seconds on the clock and of the processors."""
    # Looking through all processes takes milliseconds, which are nobody's.
    children, began, own = seconds_of_children(), time.perf_counter(), time.process_time()
    found = action()
    own, wall = time.process_time() - own, time.perf_counter() - began
    return found, wall, own + seconds_of_children() - children


def run(programs: Any, runs: int, names: list) -> None:  # type: ignore[type-arg]
    """Run programs, and print a line of JSON for each; the first run is told apart from the best of the others."""
    for name in names:
        action = getattr(programs, name, None)
        if action is None:
            continue
        found, *cold = timed(action)
        warm = [timed(action)[1:] for _ in range(runs)]
        # Where a process has ended meanwhile, its seconds are gone.
        used = [cpu for _, cpu in warm if cpu > 0]
        wall, cpu = min((wall for wall, _ in warm), default=cold[0]), min(used, default=cold[1])
        print(json.dumps({"name": name, "found": found, "cold": cold, "wall": wall, "cpu": cpu, "peak": peak_bytes()}), flush=True)
