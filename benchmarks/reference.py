"""The same cases in the reference engine. Its interpreter runs this file: ``PYTHON benchmarks/reference.py ROWS [NAME]``."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path


def measure(action, runs=3):  # type: ignore[no-untyped-def]
    """Median seconds of warm runs."""
    action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def load(rows):  # type: ignore[no-untyped-def]
    """The benchmark's data as frames of the reference engine."""
    import turicreate as tc

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from benchmarks import data

    frame = None
    for start, stop in data.blocks(rows):
        part = tc.SFrame({name: tc.SArray(list(column)) for name, column in data.block(start, stop).items()})
        frame = part if frame is None else frame.append(part)
    frame.materialize()
    return frame, tc.SFrame({name: tc.SArray(column) for name, column in data.right_side().items()})


def cases(frame, right):  # type: ignore[no-untyped-def]
    """Actions by the names of ``benchmarks/cases.py``."""
    import turicreate as tc

    agg = tc.aggregate

    def derive():  # type: ignore[no-untyped-def]
        part = frame[frame["value"] > 0.5]
        part["twice"] = part["value"] * 2 + part["key"]
        part.materialize()

    def assign():  # type: ignore[no-untyped-def]
        copy = frame.copy()
        copy["sum"] = frame["number"] + frame["key"]
        copy.materialize()

    def group(key):  # type: ignore[no-untyped-def]
        return list(frame.groupby(key, {"n": agg.COUNT(), "sum": agg.SUM("number"), "top": agg.MAX("value")}))

    return {
        "sum": frame["number"].sum,
        "filter, derive, materialise": derive,
        "group by int": lambda: group("key"),
        "group by text": lambda: group("word"),
        "join with 100,000 rows": lambda: frame.join(right, on="number").materialize(),
        "sort, materialise": lambda: frame.sort("value").materialize(),
        "top 10": lambda: list(frame.topk("value", 10)),
        "head after filter": lambda: list(frame[frame["value"] > 0.9].head(10)),
        "column from the same frame": assign,
        "zip of two frames": assign,
        "cumulative sum": lambda: frame["value"].cumulative_sum().materialize(),
        "rolling mean": lambda: frame["value"].rolling_mean(-9, 0).materialize(),
        "apply": lambda: frame["number"].apply(lambda number: number % 7 + 1, dtype=int).materialize(),
    }


if __name__ == "__main__":
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    print(json.dumps({name: measure(action) for name, action in cases(*load(int(sys.argv[1]))).items() if wanted in name}))
