"""Frames of many columns: ``python -m benchmarks.wide [--columns 500,1000,2000,5000] [--rows 100] [--only NAME] [--profile NAME]``.

Each line is one step, with its seconds at each width and the exponent of their growth: 1 is linear in columns. What a step reads is made before it
is timed. With ``SFRAME_SPARK_SMALL_ROWS=0`` steps run on Spark; ``--most SECONDS`` leaves out wider frames where a step took longer.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import math
import os
import pstats
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark import SFrame, aggregate, load_sframe

Made = Any


@attrs.frozen
class Step:
    """One line of the table: its name, what is made before, and what is timed."""

    name: str
    make: Callable[[Bench], Made]
    action: Callable[[Made], Any]


@attrs.frozen
class Bench:
    """So many columns of so many rows, and a directory of their own."""

    columns: int
    rows: int
    directory: Path

    def values(self) -> dict[str, Any]:
        """Ints in columns ``c0``, ``c1`` and so on; ``c0`` has ten values."""
        return {
            f"c{column}": pa.array([(row * 7 + column) % (10 if column == 0 else self.rows) for row in range(self.rows)])
            for column in range(self.columns)
        }

    def arrow(self) -> pa.Table:
        """The values as a table."""
        shared = pa.array([row * 7 % self.rows for row in range(self.rows)])
        key = pa.array([row * 7 % 10 for row in range(self.rows)])
        return pa.table({f"c{column}": shared if column else key for column in range(self.columns)})

    def frame(self) -> SFrame:
        """The values in memory."""
        return SFrame(self.arrow())

    def computed(self) -> dict[str, Any]:
        """A column of each, computed."""
        frame = self.frame()
        return {name: frame[name] + 1 for name in frame.column_names()}

    def lazy(self) -> SFrame:
        """A frame whose columns are all computed."""
        return SFrame(self.computed())

    def assigned(self) -> SFrame:
        """Columns added one by one, each made of the one before."""
        frame = SFrame({"c0": list(range(self.rows))})
        for column in range(1, self.columns):
            frame[f"c{column}"] = frame[f"c{column - 1}"] + 1
        return frame

    def beside(self) -> SFrame:
        """Columns added one by one, each made of the first."""
        frame = SFrame({"c0": list(range(self.rows))})
        for column in range(1, self.columns):
            frame[f"c{column}"] = frame["c0"] * column
        return frame

    def shifted(self) -> SFrame:
        """A quarter of the columns shifted by one row, one after the other."""
        frame = self.frame()
        for column in range(0, self.columns, 4):
            frame[f"c{column}"] = frame[f"c{column}"].shift(1)
        return frame

    def mixed(self) -> SFrame:
        """Texts, floats and missing values."""
        kinds = [pa.array(["ab", None] * (self.rows // 2)), pa.array([0.5, 1.5] * (self.rows // 2)), pa.array([1, None] * (self.rows // 2))]
        return SFrame(pa.table({f"c{column}": kinds[column % 3] for column in range(self.columns)}))

    def place(self, name: str) -> str:
        """A path that is not taken."""
        return tempfile.mkdtemp(dir=self.directory) + "/" + name

    def saved(self) -> str:
        """The path of a saved frame."""
        path = self.place("saved")
        self.frame().save(path)
        return path

    def csv(self) -> str:
        """The path of a CSV file."""
        path = self.place("frame.csv")
        self.frame().export_csv(path)
        return path

    def parquet(self) -> str:
        """The path of a Parquet file."""
        import pyarrow.parquet

        path = self.place("frame.parquet")
        pyarrow.parquet.write_table(self.arrow(), path)
        return path

    def sums(self) -> tuple[SFrame, dict[str, Any]]:
        """A frame, and a sum of each of its columns."""
        return self.frame(), {f"s{column}": aggregate.SUM(f"c{column}") for column in range(self.columns)}


def everything(frame: SFrame) -> None:
    """All rows."""
    frame.materialize()


def filtered(frame: SFrame) -> None:
    """Some of the rows."""
    frame[frame["c3"] > 5].materialize()


def replaced(frame: SFrame) -> None:
    """Each column replaced by another, one by one."""
    for name in frame.column_names():
        frame[name] = frame[name] + 1


def removed(frame: SFrame) -> None:
    """Half of the columns removed one by one."""
    for name in frame.column_names()[::2]:
        del frame[name]


def remove_columns(frame: SFrame) -> None:
    """Half of the columns removed at once."""
    frame.remove_columns(frame.column_names()[::2]).materialize()


def renamed(frame: SFrame) -> None:
    """All columns under other names."""
    frame.rename({name: name.upper() for name in frame.column_names()}).materialize()


def swapped(frame: SFrame) -> None:
    """Columns in another order, one by one."""
    names = frame.column_names()
    for first, second in zip(names, reversed(names), strict=True):
        frame.swap_columns(first, second, inplace=True)


def one_by_one(frame: SFrame) -> None:
    """Each column read alone."""
    for name in frame.column_names():
        frame[name].sum()


def doors(frame: SFrame) -> None:
    """Looks at rows that nobody keeps."""
    for _ in range(3):
        frame.head(5).materialize()


def _path_and(action: Callable[[Any, str], Any], make: Callable[[Bench], Any] = Bench.frame) -> tuple[Callable[[Bench], Any], Callable[[Any], Any]]:
    return lambda bench: (make(bench), bench.place("out")), lambda made: action(*made)


STEPS = [
    Step("build from a dict", Bench.values, SFrame),
    Step("build from lists", lambda b: {name: values.to_pylist() for name, values in b.values().items()}, SFrame),
    Step("build from Arrow", Bench.arrow, SFrame),
    Step("build from pandas", lambda b: b.arrow().to_pandas(), SFrame),
    Step("build from SArrays", Bench.computed, SFrame),
    Step("build: assigned one by one, a chain", lambda b: b, Bench.assigned),
    Step("build: assigned one by one, of the first", lambda b: b, Bench.beside),
    Step("build: shifted one by one", lambda b: b, Bench.shifted),
    Step("build: replaced one by one", Bench.frame, replaced),
    Step("head of a chain", Bench.assigned, doors),
    Step("head of columns of the first", Bench.beside, doors),
    Step("head of shifted columns", Bench.shifted, doors),
    Step("head of computed columns", Bench.lazy, doors),
    Step("materialize a chain", Bench.assigned, everything),
    Step("materialize columns of the first", Bench.beside, everything),
    Step("materialize shifted columns", Bench.shifted, everything),
    Step("materialize computed columns", Bench.lazy, everything),
    Step("last row of a chain", Bench.assigned, lambda f: f[-1]),
    Step("print a chain", Bench.assigned, str),
    Step("sum of the last of a chain", Bench.assigned, lambda f: f[f.column_names()[-1]].sum()),
    Step("each column alone", Bench.frame, one_by_one),
    Step(
        "add_columns",
        lambda b: (b.frame(), b.frame().rename({f"c{c}": f"d{c}" for c in range(b.columns)})),
        lambda made: made[0].add_columns(made[1]).materialize(),
    ),
    Step("remove_column one by one", Bench.frame, removed),
    Step("remove_columns", Bench.frame, remove_columns),
    Step("rename", Bench.frame, renamed),
    Step("swap_columns one by one", Bench.frame, swapped),
    Step("select_columns", Bench.frame, lambda f: f.select_columns(f.column_names()[::-1]).materialize()),
    Step("select by class", Bench.frame, lambda f: f.select_columns([int]).materialize()),
    Step("save", *_path_and(SFrame.save)),
    Step("save computed columns", *_path_and(SFrame.save, Bench.lazy)),
    Step("load", Bench.saved, lambda path: str(load_sframe(path))),
    Step("load, all rows", Bench.saved, lambda path: list(load_sframe(path))),
    Step("load, verify", Bench.saved, lambda path: load_sframe(path, verify=True)),
    Step("load, filter, materialize", Bench.saved, lambda path: filtered(load_sframe(path))),
    Step("filter", Bench.frame, filtered),
    Step("filter a chain", Bench.assigned, filtered),
    Step("print", Bench.frame, str),
    Step("repr", Bench.frame, repr),
    Step("html", Bench.frame, SFrame._repr_html_),
    Step("explain", Bench.lazy, SFrame.explain),
    Step("explain why a filter", Bench.frame, lambda f: f[f["c3"] > 5].sort("c1").explain(why=True)),
    Step("head", Bench.frame, lambda f: list(f.head())),
    Step("rows by number", Bench.frame, lambda f: [f[0], f[5], f[-1]]),
    Step("len", Bench.frame, len),
    Step("iterate", Bench.frame, list),
    Step("append", lambda b: (b.frame(), b.lazy()), lambda made: made[0].append(made[1]).materialize()),
    Step("join", lambda b: (b.frame(), b.frame().head(10)), lambda made: made[0].join(made[1], on="c0").materialize()),
    Step("group-by, a sum of each column", Bench.sums, lambda made: made[0].groupby("c0", made[1]).materialize()),
    Step("group-by all columns", Bench.frame, lambda f: f.groupby(f.column_names(), {"n": aggregate.COUNT()}).materialize()),
    Step("sort", Bench.frame, lambda f: f.sort("c0").materialize()),
    Step("sort by all", Bench.frame, lambda f: f.sort(f.column_names()).materialize()),
    Step("sort computed columns", Bench.lazy, lambda f: f.sort("c0").materialize()),
    Step("dropna", Bench.mixed, lambda f: f.dropna().materialize()),
    Step("fillna of each", Bench.mixed, lambda f: [f.fillna(name, 1) for name in f.column_names()[2::3]]),
    Step("unique", Bench.frame, lambda f: f.unique().materialize()),
    Step("drop_duplicates", Bench.frame, lambda f: f.drop_duplicates(["c0"]).materialize()),
    Step("pack_columns", Bench.frame, lambda f: f.pack_columns(f.column_names()[1:]).materialize()),
    Step("unpack", lambda b: b.frame().pack_columns([f"c{c}" for c in range(1, b.columns)]), lambda f: f.unpack("X2").materialize()),
    Step("apply to rows", Bench.frame, lambda f: f.apply(lambda row: row["c1"]).materialize()),
    Step("flat_map", Bench.frame, lambda f: f.flat_map(["a"], lambda row: [[row["c1"]]]).materialize()),
    Step("stack", Bench.frame, lambda f: (f.add_column(f.apply(lambda row: [1, 2]), "l")).stack("l").materialize()),
    Step("cumulative sum beside", Bench.frame, lambda f: f.add_column(f["c1"].cumulative_sum(), "s").materialize()),
    Step("random_split", Bench.frame, lambda f: [part.materialize() for part in f.random_split(0.5, seed=1)]),
    Step("slice of computed columns", Bench.lazy, lambda f: f[10:20].materialize()),
    Step("topk", Bench.frame, lambda f: f.topk("c1", 5).materialize()),
    Step("describe types", Bench.frame, lambda f: (f.column_types(), f.column_names(), f.dtype)),
    Step("to_pandas", Bench.frame, SFrame.to_dataframe),
    Step("to_numpy", Bench.frame, SFrame.to_numpy),
    Step("to_arrow", Bench.frame, SFrame.to_arrow),
    Step("export_csv", *_path_and(lambda f, path: f.export_csv(path + ".csv"))),
    Step("read_csv", Bench.csv, lambda path: SFrame.read_csv(path, verbose=False).materialize()),
    Step("export_json", *_path_and(lambda f, path: f.export_json(path + ".json"))),
    Step("write_parquet", *_path_and(lambda f, path: f.export_parquet(path + ".parquet"))),
    Step("read Parquet", Bench.parquet, lambda path: str(SFrame(path))),
    Step("Parquet, filter, materialize", Bench.parquet, lambda path: filtered(SFrame(path))),
]


def seconds(step: Step, bench: Bench, runs: int) -> float:
    """Least wall time of some runs, each on a frame of its own."""
    best = math.inf
    for _ in range(runs):
        made = step.make(bench)
        began = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            step.action(made)
        best = min(best, time.perf_counter() - began)
    return best


def exponent(widths: Sequence[int], times: Sequence[float]) -> float:
    """The power of the width that times grow with: slope of the logarithms, by least squares."""
    points = [(math.log(width), math.log(took)) for width, took in zip(widths, times, strict=False)]
    if len(points) < 2:
        return math.nan
    middle = [sum(axis) / len(points) for axis in zip(*points, strict=True)]
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / sum((x - middle[0]) ** 2 for x, _ in points)


def profiled(step: Step, bench: Bench) -> None:
    """Print where the time of one step goes."""
    made = step.make(bench)
    profile = cProfile.Profile()
    with contextlib.redirect_stdout(io.StringIO()):
        profile.runcall(step.action, made)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(int(os.environ.get("LINES", "45")))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What many columns cost.")
    parser.add_argument("--columns", type=lambda text: [int(item) for item in text.split(",")], default=[500, 1000, 2000, 5000])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100)
    parser.add_argument("--only", default="", help="only steps whose names contain one of these, parted by commas")
    parser.add_argument("--most", type=float, default=60.0, help="a step that took so many seconds is not tried at more columns")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="profile the steps at the widest frame")
    chosen = parser.parse_args()
    steps = [step for step in STEPS if any(part in step.name for part in chosen.only.split(","))]
    print("| seconds | " + " | ".join(f"{count:,} columns" for count in chosen.columns) + " | exponent |")
    print("| --- |" + " ---: |" * (len(chosen.columns) + 1))
    with tempfile.TemporaryDirectory() as scratch:
        for step in steps:
            if chosen.profile:
                print(step.name)
                profiled(step, Bench(chosen.columns[-1], chosen.rows, Path(scratch)))
                continue
            times: list[float] = []
            with contextlib.suppress(StopIteration):
                for count in chosen.columns:
                    times.append(seconds(step, Bench(count, chosen.rows, Path(scratch)), chosen.runs))
                    if times[-1] > chosen.most:
                        break
            shown = [f"{took:.3f}" for took in times] + [""] * (len(chosen.columns) - len(times))
            print(f"| {step.name} | {' | '.join(shown)} | {exponent(chosen.columns, times):.2f} |", flush=True)


if __name__ == "__main__":
    main()
