"""What a process takes at most for long rows, as the kernel counts it, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.peaks import PEAK

START = (
    PEAK
    + """
import sys
from sframe_spark import SArray, SFrame, aggregate, load_sframe
from sframe_spark.session import is_started
place = sys.argv[1]
def text(value):
    return str(value % 10) * 20_000
def told(what):
    print(what, peak() >> 20, flush=True)
"""
)

ON_DRIVER = (
    START
    + """
long = SArray(range(5_000)).apply(lambda value: str(value % 10) * 100_000, dtype=str)
long.materialize()
assert len(long[4_999]) == 100_000
told("results of 100 KB")
side = {"k": [1] * 30_000, "v": list(range(30_000))}
joined = SFrame(side).join(SFrame(side).rename({"v": "w"}), on="k")
assert list(joined.head(2)) == [{"k": 1, "v": 0, "w": 0}, {"k": 1, "v": 0, "w": 1}]
assert joined[450_000_000]["v"] == 15_000
told("join")
frame = SFrame({"a": range(40_000)})
frame["t"] = frame["a"].apply(text, dtype=str)
frame.save(place + "/long")
told("apply and save")
found = load_sframe(place + "/long")
assert len(found) == 40_000 and found[39_999]["t"] == "9" * 20_000
found[found["a"] % 2 == 0].save(place + "/even")
assert len(load_sframe(place + "/even")) == 20_000
told("filter and save")
found.export_csv(place + "/long.csv")
told("CSV")
assert not is_started()
"""
)

ON_SPARK = (
    START
    + """
frame = SFrame({"a": [7 * row % 10_000 for row in range(10_000)]})
frame["t"] = frame["a"].apply(text, dtype=str)
frame.save(place + "/long")
found = load_sframe(place + "/long")
ordered = found.sort("a")
ordered.save(place + "/sorted")
assert ordered[9_999]["a"] == 9_999
told("sort")
groups = found.groupby("a", {"t": aggregate.CONCAT("t"), "n": aggregate.COUNT()})
groups.save(place + "/groups")
assert len(groups) == 10_000 and len(groups[5]["t"][0]) == 20_000
told("group-by")
"""
)


WRITE_WIDE = (
    START
    + """
import numpy
import pyarrow
numbers = {f"f{place}": numpy.arange(200_000) * 0.5 for place in range(60)}
SFrame.from_arrow(pyarrow.table({**numbers, "s": ["a text of some length " * 20] * 200_000})).save(place + "/wide")
"""
)

PASS_WIDE = (
    START
    + """
import os
import pyarrow
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
from sframe_spark import config
config.work_memory = config.kept_memory = 48 << 20
found = load_sframe(place + "/wide")
found["c"] = found["f3"].cumulative_sum()
chosen = found[found["c"] >= 0.0]
chosen.materialize()
assert len(chosen) == 200_000 and not is_started()
print("held by Arrow", pyarrow.default_memory_pool().max_memory() >> 20)
"""
)


def peaks_of(program: str, place: Path, seconds: int) -> dict[str, int]:
    """Peaks of a program, in MiB, at the ends of its steps."""
    done = subprocess.run([sys.executable, "-c", program, str(place)], capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return {what: int(size) for what, size in (line.rsplit(" ", 1) for line in done.stdout.splitlines())}


@pytest.mark.campaign
def test_long_rows_pass_through_the_driver_in_bounded_memory(tmp_path: Path) -> None:
    peaks = peaks_of(ON_DRIVER, tmp_path, 300)
    # 800 MB of texts, 500 MB of results of a function and 900 million pairs.
    assert list(peaks) == ["results of 100 KB", "join", "apply and save", "filter and save", "CSV"]
    assert peaks["join"] < 700, peaks
    assert peaks["CSV"] < 1_000, peaks


@pytest.mark.campaign
def test_rows_that_find_no_room_pass_in_batches_that_the_memory_for_work_has_room_for(tmp_path: Path) -> None:
    peaks_of(WRITE_WIDE, tmp_path, 300)
    peaks = peaks_of(PASS_WIDE, tmp_path, 300)
    # Of 180 MiB of rows: what is kept, and what two threads read, make, and write as row groups of 64 MiB.
    assert peaks["held by Arrow"] < 48 + 2 * 64 + 2 * 20, peaks


@pytest.mark.campaign
@pytest.mark.spark
def test_long_rows_are_sorted_and_grouped_in_bounded_memory(tmp_path: Path) -> None:
    peaks = peaks_of(ON_SPARK, tmp_path, 300)
    assert list(peaks) == ["sort", "group-by"]
    assert peaks["group-by"] < 900, peaks
