"""Queries and tasks of the kinds that programs run most, so that Spark loads the classes that they need."""

from __future__ import annotations

from pathlib import Path

from sframe_spark.api import aggregate
from sframe_spark.api.sframe import SFrame, load_sframe
from sframe_spark.config import config

ROWS, SEGMENTS = 300, 3


def run_usual_queries(place: Path) -> None:
    """Make, save, load, filter, join, group and sort a frame, and call a function for each row: all by Spark, in an empty directory."""
    with config.using(small_rows=0, single_task_rows=0, default_segments=SEGMENTS):
        frame = SFrame({"a": range(ROWS), "k": [str(number % 7) for number in range(ROWS)], "x": [number / 8 for number in range(ROWS)]})
        frame.save(str(place / "saved"))
        frame = load_sframe(str(place / "saved"))
        frame["b"] = frame["a"].apply(lambda value: value + 1, dtype=int)
        joined = frame[frame["x"] > 3].join(frame.groupby("k", {"n": aggregate.COUNT(), "s": aggregate.SUM("x")}), on="k")
        joined.sort("b", ascending=False).materialize()
        joined["x"].cumulative_sum().materialize()
        # As those do who have a session of their own. No assertions: what these contain is not run where Python leaves them out.
        joined.to_spark().groupBy("k").count().collect()
        SFrame(joined.to_spark()).unique().materialize()
