"""The same rows in few and in many segments: ``python -m benchmarks.segments [--rows N] [--segments 4,64,10000] [--only NAME]``."""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.session import get_session
from sframe_spark.storage.datasets.commit import publish
from sframe_spark.storage.rows.writer import write_segment
from sframe_spark.types import FLOAT, INT

SEED = 7
TYPES = {"t": INT, "i": INT, "k": INT, "f": FLOAT}
GROUPS = 100
ROWS_FOR_A_QUOTE = 20


@attrs.frozen
class Case:
    """One line of the table: its name, how often the seconds of the fewest segments it may take, and what is timed."""

    name: str
    target: float
    action: Callable[[SFrame, SFrame], Any]


def columns(rows: int) -> dict[str, Any]:
    """Ascending ``t``, a permutation ``i``, ``k`` of 100 values and floats ``f``."""
    generator = np.random.default_rng([SEED, rows])
    numbers = np.arange(rows)
    return {"t": numbers * 2, "i": generator.permutation(rows), "k": generator.integers(0, GROUPS, rows), "f": generator.random(rows)}


def write(directory: Path, values: dict[str, Any], segments: int) -> SFrame:
    """Columns as a saved frame of so many segments."""
    directory.mkdir()
    types = [TYPES[name] for name in values]
    rows = len(next(iter(values.values())))
    edges = [rows * number // segments for number in range(segments + 1)]
    entries = []
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        entries.append(write_segment(str(directory), number, types, [[pa.array(column[start:stop]) for column in values.values()]]))
    publish(str(directory), types, entries, names=list(values), durable=False)
    return load_sframe(str(directory))


def filtered(frame: SFrame, _: SFrame) -> None:
    """Half of the rows."""
    frame[frame["f"] > 0.5].materialize()


def cumulative(frame: SFrame, _: SFrame) -> None:
    """A running value of all rows."""
    frame["f"].cumulative_sum().materialize()


def as_of(frame: SFrame, quotes: SFrame) -> None:
    """The last quote before each row."""
    frame.asof_join(quotes, on="t").materialize()


def grouped(frame: SFrame, _: SFrame) -> None:
    """Means of 100 groups."""
    frame.groupby("k", {"mean": aggregate.MEAN("f")}).materialize()


def ordered(frame: SFrame, _: SFrame) -> None:
    """All rows in another order."""
    frame.sort("i").materialize()


CASES = [
    Case("filter + materialise", 1.5, filtered),
    Case("cumulative sum", 1.5, cumulative),
    Case("as-of join", 1.5, as_of),
    Case("group-by", 1.5, grouped),
    Case("sort", 1.2, ordered),
]


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measured(case: Case, frames: Sequence[tuple[SFrame, SFrame]], runs: int) -> list[float]:
    """The best seconds of a case for each number of segments, taken in turns; the first run of each is not counted."""
    best = [float("inf")] * len(frames)
    for run in range(runs + 1):
        for place, (frame, quotes) in enumerate(frames):
            took = seconds(lambda frame=frame, quotes=quotes: case.action(frame, quotes))
            best[place] = min(best[place], took) if run else best[place]
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What many segments cost.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=2 * 10**7)
    parser.add_argument("--segments", type=lambda text: [int(item) for item in text.split(",")], default=[4, 64, 10_000])
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--runs", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        values = columns(chosen.rows)
        stride = {name: values[name][::ROWS_FOR_A_QUOTE] for name in ("t", "f")}
        frames = []
        for count in chosen.segments:
            began = time.perf_counter()
            frame = write(Path(scratch, f"rows-{count}"), values, count)
            quotes = write(Path(scratch, f"quotes-{count}"), stride, min(count, len(stride["t"])))
            frames.append((frame, quotes))
            print(f"{count} segments written in {time.perf_counter() - began:.1f} s", flush=True)
        get_session().range(1).count()
        print("| seconds | " + " | ".join(f"{count:,} segments" for count in chosen.segments) + " | ratio | at most |")
        print("| --- |" + " ---: |" * (len(chosen.segments) + 2))
        base = min(range(len(frames)), key=lambda place: abs(chosen.segments[place] - 64))
        for case in [case for case in CASES if chosen.only in case.name]:
            took = measured(case, frames, chosen.runs)
            shown = " | ".join(f"{each:.2f}" for each in took)
            print(f"| {case.name} | {shown} | {took[-1] / took[base]:.2f} | {case.target} |", flush=True)


if __name__ == "__main__":
    main()
