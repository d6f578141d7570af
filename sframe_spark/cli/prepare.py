"""``python -m sframe_spark prepare``: writes an archive of Spark's classes for this user, or deletes all such archives."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sframe_spark.api import aggregate
from sframe_spark.api.sframe import SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.errors import SFrameError
from sframe_spark.process.directory_trees import size_on_disk
from sframe_spark.session.java import find_java
from sframe_spark.session.jvm_class_archive_lookup import JvmStart
from sframe_spark.session.jvm_class_archive_writing import keep_archive, remove_archives

ROWS, SEGMENTS = 300, 3


def run_sample_queries(directory: Path) -> None:
    """Create, save, load, filter, join, group and sort a frame, and call a function for each row, in Spark, with files in an empty directory."""
    with config.using(small_rows=0, single_task_rows=0, default_segments=SEGMENTS):
        frame = SFrame({"a": range(ROWS), "k": [str(number % 7) for number in range(ROWS)], "x": [number / 8 for number in range(ROWS)]})
        frame.save(str(directory / "saved"))
        frame = load_sframe(str(directory / "saved"))
        frame["b"] = frame["a"].apply(lambda value: value + 1, dtype=int)
        joined = frame[frame["x"] > 3].join(frame.groupby("k", {"n": aggregate.COUNT(), "s": aggregate.SUM("x")}), on="k")
        joined.sort("b", ascending=False).materialize()
        joined["x"].cumulative_sum().materialize()
        # Programs that have their own session run queries like these.
        joined.to_spark().groupBy("k").count().collect()
        SFrame(joined.to_spark()).unique().materialize()


def run_prepare(use_spark: Callable[[Path], None], delete: bool, show: Callable[[str], None]) -> int:
    """Write the archive, or delete all archives, and show what was done; return 1 if it failed, otherwise 0."""
    try:
        if delete:
            deleted, busy = remove_archives()
            show(f"deleted {deleted} archives of Spark's classes")
            if busy:
                show(f"{busy} more are being written by other processes: delete them when these have ended")
            return 0
        start = JvmStart.of_this_process(find_java())
        reason = start.hindrance()
        if reason is not None:
            show(f"nothing was written: {reason}")
            return 1
        show("Spark is started, used and stopped to record its classes: about half a minute")
        started = time.monotonic()
        directory = keep_archive(start, use_spark)
    except (OSError, SFrameError) as error:
        show(f"nothing was written: {error}")
        return 1
    size = size_on_disk(str(directory)) / (1 << 20)
    show(f"written in {time.monotonic() - started:.0f} s, {size:.0f} MiB in {directory}: new Spark sessions will use it")
    return 0
