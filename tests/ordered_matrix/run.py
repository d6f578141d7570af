"""Run a part of the matrix in a process of its own: `python -m tests.ordered_matrix.run PARTITIONS on|off EVERY FIRST [cluster]`.

With ``cluster`` it runs on three executor processes, where the order that Spark gives by accident differs: tasks end in another order, and
blocks come from other processes. The last line of the output tells how many entries were run, and where.
"""

from __future__ import annotations

import itertools
import sys
import time

from sframe_spark.session import get_session
from tests.ordered_matrix.matrix import LAYOUTS, entries, failures
from tests.properties.cluster_programs import start_cluster


def main(partitions: int, adaptive: bool, every: int, first: int, on_cluster: bool) -> int:
    """Run every so many entries of a layout, from the first on; the number of failures."""
    if on_cluster:
        start_cluster()
    context = get_session().sparkContext
    started = time.monotonic()
    chosen = list(itertools.islice(entries(LAYOUTS.index((partitions, adaptive))), first, None, every))
    found = failures(iter(chosen), partitions, adaptive)
    for text in found:
        sys.stdout.write(f"{text}\n\n")
    executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1
    sys.stdout.write(f"{time.monotonic() - started:.0f} s\n")
    sys.stdout.write(f"{context.master} {len(chosen)} entries, {len(found)} failures, {executors} executors\n")
    context.stop()
    return len(found)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2] == "on", int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:] == ["cluster"]) > 0)
