"""Three sides of one case, run in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

# A case that takes longer than this is run once in each of fewer turns.
LONG_SECONDS = 45.0
SHORT_SECONDS = 1.0
RUNS_TO_COMPILE = 3
Side = Callable[[], float]


class ReferenceError(RuntimeError):
    """The reference engine cannot do what is asked."""


@attrs.define
class Reference:
    """The reference engine in a process of its own."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, python: str, rows: int, place: Path, files: Path) -> Reference:
        """The engine that makes its own frames of the same rows."""
        place.mkdir()
        command = [os.path.expanduser(python), str(Path(__file__).with_name("reference.py")), str(rows), str(place), str(files)]
        environment = {**os.environ, "TMPDIR": str(place), "TURI_CACHE_FILE_LOCATIONS": str(place)}
        return cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment))

    def ask(self, what: str, name: str) -> Any:
        """Its answer to a request."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([what, name]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise ReferenceError("the process ended")
        found = json.loads(line)
        if "error" in found:
            raise ReferenceError(found["error"])
        return found["found"]

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def seconds(action: Callable[[], Any]) -> float:
    """Time of one run."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def medians(sides: list[Side], runs: int) -> list[float]:
    """Median seconds of each side, taken in turns.

    A side that takes less than a second runs some times before, as the JVM compiles it, and twice in each of its turns, of which the second counts.
    """
    start = time.perf_counter()
    first = [side() for side in sides]
    short = [taken < SHORT_SECONDS for taken in first]
    for side, is_short in zip(sides, short, strict=True):
        for _ in range(RUNS_TO_COMPILE * is_short):
            side()
    times: list[list[float]] = [[] for _ in sides]
    while len(times[0]) < runs and (not times[0] or time.perf_counter() - start < LONG_SECONDS):
        for taken, side, is_short in zip(times, sides, short, strict=True):
            if is_short:
                side()
            taken.append(side())
    return [statistics.median(taken) for taken in times]
