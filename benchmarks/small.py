"""Latencies: small data, materialised frames, planning, import. Each gives milliseconds and the greatest allowed."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.frames import Data
from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.rewrite_laws import optimize

Line = tuple[str, float, float]


# The JVM compiles what runs often, so the first queries of a kind are slow.
WARM_UPS = 12


def milliseconds(action: Callable[[], Any], runs: int = 7, warm_ups: int = 1) -> float:
    """Median time of warm runs."""
    for _ in range(warm_ups):
        action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def materialised_lines(data: Data) -> Iterator[Line]:
    """What costs nothing once a frame is materialised."""
    frame, middle = data.frame, len(data.frame) // 2
    yield "len of a materialised frame", milliseconds(lambda: len(frame)), 50
    yield "head(10) of a materialised frame", milliseconds(lambda: list(frame.head(10))), 50
    yield "[i] of a materialised frame", milliseconds(lambda: frame[middle]), 50
    yield "[i:i+100] of a materialised frame", milliseconds(lambda: list(frame[middle : middle + 100])), 50
    yield "[i] of a materialised column", milliseconds(lambda: frame["word"][middle]), 50


def memory_lines() -> Iterator[Line]:
    """1,000 rows in memory."""
    frame = SFrame({"k": [i % 10 for i in range(1000)], "v": [float(i) for i in range(1000)]})
    right = SFrame({"k": [7 * i % 10 for i in range(10)], "name": [str(i) for i in range(10)]})
    ordered = right.sort("k")
    ordered.materialize()
    sums = {"s": aggregate.SUM("v")}
    yield "element-wise to list, 1,000 rows", milliseconds(lambda: list(frame["v"] * 2 + 1)), 5
    yield "sum, 1,000 rows", milliseconds(frame["v"].sum), 5
    yield "group-by, 1,000 rows", milliseconds(lambda: list(frame.groupby("k", sums)), warm_ups=WARM_UPS), 100
    yield "join, 1,000 rows", milliseconds(lambda: list(frame.join(right, on="k")), warm_ups=WARM_UPS), 100
    yield "join with a sorted frame, 1,000 rows", milliseconds(lambda: list(frame.join(ordered, on="k"))), 100
    yield "sort, 1,000 rows", milliseconds(lambda: list(frame.sort("v", ascending=False)), warm_ups=WARM_UPS), 100


def chain(length: int) -> Any:
    """A plan of about so many nodes: each step is one more operator over the last."""
    column = SArray(list(range(100)))
    for _ in range(length):
        column = column + 1
    return column._node


def wide(length: int) -> Any:
    """A plan of about so many nodes: column after column is put on a frame, used, and filtered at the end."""
    frame = SFrame({"a": list(range(100))})
    for number in range(length // 3):
        frame[f"c{number % 50}"] = frame["a"] * number
    return frame[frame["a"] > 3].sort("a").head(5)._node


def planning_lines() -> Iterator[Line]:
    """Time of the optimizer alone."""
    for nodes, most in ((100, 20.0), (10_000, 2_000.0)):
        for shape in (chain, wide):
            plan, runs = shape(nodes), 5 if nodes < 1000 else 1
            yield f"planning {nodes:,} nodes ({shape.__name__})", milliseconds(lambda: optimize(plan), runs), most  # noqa: B023


def import_lines() -> Iterator[Line]:
    """Import in a fresh interpreter, without that interpreter's own start."""
    code = "import time; t = time.perf_counter(); from sframe_spark import SFrame; print(time.perf_counter() - t)"

    def once() -> float:
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    once()
    yield "from sframe_spark import SFrame", statistics.median(once() for _ in range(3)) * 1000, 1000


def latencies(data: Data) -> Iterator[Line]:
    """All lines."""
    for part in (materialised_lines(data), memory_lines(), planning_lines(), import_lines()):
        yield from part
