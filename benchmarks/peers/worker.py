"""One peer in a process of its own: ``python -m benchmarks.peers.worker MODULE DIRECTORY RUNS NAME...`` prints a line of JSON for each program."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.data import Place

TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """User and system time of this process and of all that it has started and that still run."""
    parents, times = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                fields = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry)], times[int(entry)] = int(fields[1]), sum(map(int, fields[11:15])) / TICK
    own, size = {os.getpid()}, 0
    while size < len(own):
        size = len(own)
        own |= {process for process, parent in parents.items() if parent in own}
    return sum(times.get(process, 0.0) for process in own)


def timed(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """What an action gives, and its seconds on the clock and of the processors."""
    began, used = time.perf_counter(), processor_seconds()
    found = action()
    return found, time.perf_counter() - began, processor_seconds() - used


def main() -> None:
    """Run programs; the first run of each is told apart from the best of the others."""
    module, directory, runs, *names = sys.argv[1:]
    programs = importlib.import_module(module).Programs(Place(Path(directory)))
    for name in names:
        action = getattr(programs, name, None)
        if action is None:
            continue
        found, *cold = timed(action)
        warm = [timed(action)[1:] for _ in range(int(runs))]
        wall, cpu = min((wall for wall, _ in warm), default=cold[0]), min((cpu for _, cpu in warm), default=cold[1])
        print(json.dumps({"name": name, "found": found, "cold": cold, "wall": wall, "cpu": cpu}), flush=True)


if __name__ == "__main__":
    main()
