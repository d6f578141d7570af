"""``python -m benchmarks.scale [measure] [simulate]``: measure anew, simulate a driver anew, and print the tables of both."""

from __future__ import annotations

import sys

from benchmarks.scale.measured_runs import SHAPES, TASKS, THREADS, measure
from benchmarks.scale.simulated_driver import simulate_all
from benchmarks.scale.tables import all_tables


def main(wanted: list[str]) -> None:
    """Do what is wanted, then print the tables."""
    if "measure" in wanted:
        for by in (THREADS, TASKS):
            for shape in SHAPES:
                measure(shape, by)
    if "simulate" in wanted:
        simulate_all()
    print(all_tables())


if __name__ == "__main__":
    main(sys.argv[1:])
