"""Planning of our programs, milliseconds of the laws and of the sections: ``python -m benchmarks.peers.planning [--rows N]``."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.__main__ import NAMES
from benchmarks.peers.data import Place, make
from benchmarks.peers.ours import Programs
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.planner.optimizer import Optimizer

RUNS = 5


class Planning:
    """Seconds in the laws and in the planner of sections, where neither is called by the other."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def timed(self, planning: Callable[..., Any]) -> Callable[..., Any]:
        """A step of planning that is counted."""

        def counted(*values: Any) -> Any:
            began = time.perf_counter()
            self._depth += 1
            try:
                return planning(*values)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.perf_counter() - began

        return counted

    def of_run(self, program: Callable[[], Any]) -> float:
        """Milliseconds of one run."""
        self.seconds = 0.0
        program()
        return 1e3 * self.seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Planning of our programs.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**6)
    chosen = parser.parse_args()
    planning = Planning()
    for owner, name in ((Optimizer, "optimize"), (SectionPlanner, "plan")):
        setattr(owner, name, planning.timed(getattr(owner, name)))
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch))
        make(chosen.rows, place)
        programs = Programs(place)
        print(f"{chosen.rows:,} rows; milliseconds of planning, of the first run in this process and of the best of {RUNS} others\n")
        print("| program | first | best |\n| --- | ---: | ---: |")
        for name in NAMES:
            first, *others = (planning.of_run(getattr(programs, name)) for _ in range(RUNS + 1))
            print(f"| {name.replace('_', ' ')} | {first:.1f} | {min(others):.1f} |", flush=True)


if __name__ == "__main__":
    main()
