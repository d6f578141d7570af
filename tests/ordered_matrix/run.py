"""Run a part of the matrix in a process of its own: `python -m tests.ordered_matrix.run PARTITIONS on|off EVERY FIRST [cluster|connect]`.

With ``cluster`` it runs on three executor processes, with ``connect`` on a Connect server: the order that Spark gives by accident differs there.
The last line of the output tells how many entries were run, and where.
"""

from __future__ import annotations

import itertools
import sys
import time

from tests.ordered_matrix.matrix import LAYOUTS, entries, failures
from tests.properties.other_sparks import place, start


def main(partitions: int, adaptive: bool, every: int, first: int, kind: str | None) -> int:
    """Run every so many entries of a layout, from the first on; the number of failures."""
    if kind is not None:
        start(kind)
    started = time.monotonic()
    chosen = list(itertools.islice(entries(LAYOUTS.index((partitions, adaptive))), first, None, every))
    found = failures(iter(chosen), partitions, adaptive)
    for text in found:
        sys.stdout.write(f"{text}\n\n")
    sys.stdout.write(f"{time.monotonic() - started:.0f} s\n")
    sys.stdout.write(f"{len(chosen)} entries, {len(found)} failures, {place()}\n")
    return len(found)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2] == "on", int(sys.argv[3]), int(sys.argv[4]), (*sys.argv[5:], None)[0]) > 0)
