"""Members beside the reference engine and hand-written PySpark, in one run: ``python -m benchmarks.members [--rows N] [--only NAME] [--json FILE]``.

Results are compared before they are timed. Rows of hand-written queries go nowhere (Spark's ``noop`` writer); ours and the reference's are kept.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
from pyspark.sql import functions as F

import sframe_spark
from benchmarks.members.by_hand import Query, Tables, by_hand
from benchmarks.members.every import every, run
from benchmarks.members.files import prepare_files
from benchmarks.members.frames import FEWER, Frames, prepare
from benchmarks.members.hand_totals import alike, comparable, totals, totals_by_hand
from benchmarks.members.samples import Case, same
from benchmarks.members.turns import Reference, ReferenceError, medians, seconds
from benchmarks.run import REFERENCE, arguments

SIDES = ("ours", "by hand", "reference")


@attrs.frozen
class Sides:
    """What is run of each case."""

    cases: dict[str, Case]
    queries: dict[str, Query]
    reference: Reference | None

    def compare(self, name: str) -> str:
        """What differs, in words; nothing where the results are the same."""
        result = run(self.cases[name])
        differs = []
        if self.reference is not None:
            ours, theirs = json.loads(json.dumps(self.cases[name].sample(result))), self.reference.ask("sample", name)
            if not same(ours, theirs):
                differs.append(f"the reference has {str(theirs)[:600]}, ours {str(ours)[:600]}")
        if name in self.queries and comparable(self.cases[name].sample, name):
            found, hand = totals(result), totals_by_hand(self.queries[name]())
            if not alike(found, hand):
                differs.append(f"by hand {str(hand)[:300]}, ours {str(found)[:300]}")
        return "; ".join(differs)

    def measure(self, name: str, runs: int) -> dict[str, float]:
        """Median seconds by side."""
        sides = {"ours": partial(seconds, partial(run, self.cases[name]))}
        if name in self.queries:
            sides["by hand"] = partial(seconds, partial(run_by_hand, self.queries[name]))
        if self.reference is not None:
            sides["reference"] = partial(self.reference.ask, "time", name)
        return dict(zip(sides, medians(list(sides.values()), runs), strict=True))


def table(spark: Any, frames: Frames, name: str, directory: Path) -> Any:
    """A frame as Parquet files, with dicts of any keys as maps."""
    files, written = str(directory / f"{name}.files"), str(directory / f"{name}.parquet")
    getattr(frames, name).write_parquet(files)
    if name != "nested":
        return spark.read.parquet(files)
    df = spark.read.parquet(files)
    df.withColumn("tags", F.from_json("tags", "map<string,bigint>")).write.parquet(written)
    return spark.read.parquet(written)


def run_by_hand(query: Query) -> None:
    """All rows of a query."""
    found = query()
    for part in found if isinstance(found, tuple) else (found,):
        if hasattr(part, "write"):
            part.write.format("noop").mode("overwrite").save()


@contextlib.contextmanager
def opened(rows: int, python: str | None) -> Iterator[Sides]:
    """All sides over frames of their own."""
    from sframe_spark.session import get_session

    with tempfile.TemporaryDirectory(prefix="sframe-bench-") as place:
        directory, scratch = Path(place), Path(place, "scratch")
        scratch.mkdir()
        frames = prepare(sframe_spark, rows, place, place)
        prepare_files(frames)
        reference = Reference.start(python, rows, directory / "reference", directory) if python else None
        try:
            spark = get_session().newSession()
            tables = [table(spark, frames, name, directory) for name in ("plain", "nested", "right")]
            queries = by_hand(Tables(*tables, spark, directory, scratch))
            yield Sides(every(sframe_spark, frames, place + "/scratch"), dict(queries), reference)
        finally:
            if reference is not None:
                reference.stop()


def line(name: str, found: dict[str, float]) -> str:
    """A row of the table."""
    ratios = [found["ours"] / found.get(side, math.nan) for side in SIDES[1:]]
    return " ".join([f"{name:<34}", *(f"{found.get(side, math.nan):9.4f}" for side in SIDES), *(f"{ratio:7.2f}" for ratio in ratios)])


def geometric_mean(values: list[float]) -> float:
    """Of numbers that are there."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def chosen_names(names: Any, only: str) -> list[str]:
    """The names that contain one of some texts; they are separated by ``|``."""
    return [name for name in names if any(part in name for part in only.split("|"))]


def main() -> None:
    """Measure what the command line asks for."""
    chosen = arguments()
    with opened(chosen.rows, chosen.reference or REFERENCE) as sides:
        print(f"{chosen.rows:,} rows, of nested columns {chosen.rows // FEWER:,}; median of {chosen.runs} warm runs, seconds")
        print(f"{'case':<34} {'ours':>9} {'by hand':>9} {'reference':>9} {'to hand':>7} {'to ref.':>7}", flush=True)
        numbers: dict[str, dict[str, float]] = {}
        for name in chosen_names(sides.cases, chosen.only):
            try:
                differs = sides.compare(name)
                if differs:
                    print(f"{name:<34} DIFFERS: {differs}", flush=True)
                numbers[name] = sides.measure(name, chosen.runs)
            except ReferenceError as error:
                print(f"{name:<34} REFERENCE: {error}", flush=True)
            except Exception:
                print(f"{name:<34} FAILED: {traceback.format_exc()[-800:]}", flush=True)
            else:
                print(line(name, numbers[name]), flush=True)
            if chosen.json:
                chosen.json.write_text(json.dumps(numbers, indent=1))
        for side in SIDES[1:]:
            ratios = {name: found["ours"] / found[side] for name, found in numbers.items() if side in found}
            slow = sum(ratio > 1 for ratio in ratios.values())
            worst = max(ratios, key=lambda name: ratios[name], default="")
            print(f"{side}: geometric mean {geometric_mean(list(ratios.values())):.2f}, {slow} of {len(ratios)} slower, most of all {worst}")


if __name__ == "__main__":
    main()
