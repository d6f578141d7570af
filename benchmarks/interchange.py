"""What comes in and what goes out, beside the other libraries' own: ``python -m benchmarks.interchange [--rows N] [--only NAME]``.

Times are ratios in one process, in turns; peaks of memory are those of processes of their own, less what imports take.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.dataset

from benchmarks.cases import Case
from benchmarks.frames import Data, prepare
from benchmarks.ordered import arguments
from benchmarks.run import measure, verdict
from sframe_spark import SFrame, load_sframe

MIB = 1 << 20


@attrs.frozen
class Outside:
    """What the hand-written sides need besides: the files, a DataFrame of twice the rows, and places for results."""

    files: list[str]
    saved: str
    df: Any
    scratch: Path
    spark: Any
    table: Any
    sf: SFrame

    def place(self, name: str) -> str:
        """A place that is empty."""
        place = self.scratch / name
        shutil.rmtree(place, ignore_errors=True)
        place.unlink(missing_ok=True) if place.is_file() else None
        return str(place)

    def arrow(self) -> pa.Table:
        """The columns of the saved frame as Arrow's own reader reads them."""
        return pyarrow.dataset.dataset(self.files).to_table(columns=["c0", "c1", "c2", "c3"])


def outside(data: Data, rows: int, directory: Path) -> Outside:
    """Made of the benchmark's data."""
    from pyspark.sql import functions as F

    saved = str(directory / "main")
    files = sorted(map(str, Path(saved).glob("*.parquet")))
    df = data.spark.range(2 * rows).select("id", (F.col("id") * 0.5).alias("half"))
    df.write.parquet(str(directory / "large"))
    data.scratch.mkdir(exist_ok=True)
    return Outside(files, saved, data.spark.read.parquet(str(directory / "large")), data.scratch, data.spark, data.table, load_sframe(saved))


def quiet(action: Callable[[], Any]) -> int:
    """Run an action that prints, and return nothing to compare."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        action()
    return 0


def csv_of_spark(o: Outside) -> int:
    """Spark's own writer; nothing to compare but the rows of the source."""
    o.table.drop("_key").write.csv(o.place("csv by hand"), header=True)
    return 0


def parquet_of_spark(o: Outside) -> int:
    """Spark's own writer."""
    o.table.drop("_key").write.parquet(o.place("parquet by hand"))
    return 0


def polars_of(data: Any) -> int:
    """Rows of a polars frame."""
    import polars

    return int(polars.DataFrame(data).height)


def summed(data: Any) -> float:
    """A sum by DuckDB over a stream."""
    import duckdb

    return float(duckdb.sql("select sum(value) from data").fetchall()[0][0])


def cases(o: Outside) -> list[Case]:
    """What is measured."""
    return [
        Case("print(SFrame(df))", 2.0, lambda _: quiet(lambda: print(SFrame(o.df))), lambda _: quiet(lambda: o.df.show(10))),
        Case("SFrame(df).head(3)", 2.0, lambda _: quiet(lambda: print(SFrame(o.df).head(3))), lambda _: quiet(lambda: o.df.show(10))),
        Case("SFrame(df).to_spark()", 1.1, lambda _: SFrame(o.df).to_spark().count(), lambda _: o.df.count()),
        Case("to_spark().count()", 1.1, lambda _: o.sf.to_spark().count(), lambda _: o.table.count()),
        Case("pyarrow.table", 1.2, lambda _: pa.table(load_sframe(o.saved)).num_rows, lambda _: o.arrow().num_rows),
        Case("polars.DataFrame", 1.2, lambda _: polars_of(load_sframe(o.saved)), lambda _: polars_of(o.arrow())),
        Case("to_pandas(arrow=True)", 1.2, lambda _: len(load_sframe(o.saved).to_pandas(arrow=True)), lambda _: o.arrow().num_rows),
        Case("write_parquet", 1.1, lambda _: load_sframe(o.saved).write_parquet(o.place("parquet")) or 0, lambda _: parquet_of_spark(o)),
        Case("export_csv", 1.1, lambda _: load_sframe(o.saved).export_csv(o.place("rows.csv")) or 0, lambda _: csv_of_spark(o)),
    ]


BY_HAND = "pyarrow.dataset.dataset(sorted(glob.glob(place + '/*.parquet'))).to_table(columns=['c0', 'c1', 'c2', 'c3'])"
# What polars holds: its own estimate leaves out the views of texts.
IN_POLARS = "x.to_arrow(compat_level=polars.CompatLevel.newest()).nbytes"
# What is run, and the bytes of its result.
PEAKS: dict[str, tuple[str, str]] = {
    "pyarrow.table": ("x = pa.table(load_sframe(place))", "x.nbytes"),
    "pyarrow.dataset": (f"x = {BY_HAND}", "x.nbytes"),
    "polars.DataFrame": ("x = polars.DataFrame(load_sframe(place))", IN_POLARS),
    "polars of pyarrow.dataset": (f"x = polars.DataFrame({BY_HAND})", IN_POLARS),
    "duckdb sum of a stream": ("sf = load_sframe(place); duckdb.sql('select sum(value) from sf').fetchall()", "0"),
}
PROGRAM = """
import glob, sys, pyarrow as pa, pyarrow.dataset, polars, duckdb
from sframe_spark import SFrame, load_sframe
def peak():
    return next(int(line.split()[1]) * 1024 for line in open('/proc/self/status') if line.startswith('VmHWM'))
place = sys.argv[1]
duckdb.sql('select 1').fetchall(); pa.table(load_sframe(place)[:1000])
before = peak()
{action}
most = peak()
print(most - before, {size})
"""


def peak_of(action: str, size: str, saved: str) -> tuple[int, int]:
    """Bytes at most while an action runs, in a process of its own, and those of its result."""
    program = PROGRAM.replace("{action}", action).replace("{size}", size)
    done = subprocess.run([sys.executable, "-c", program, saved], capture_output=True, text=True, check=True)
    peak, bytes_of_result = done.stdout.split()[-2:]
    return int(peak), int(bytes_of_result)


def main() -> None:
    """Measure and print."""
    chosen = arguments(__doc__ or "")
    with tempfile.TemporaryDirectory(prefix="sframe-bench-") as directory:
        data = prepare(chosen.rows, Path(directory))
        o = outside(data, chosen.rows, Path(directory))
        print(f"{chosen.rows:,} rows; median of {chosen.runs} warm runs, seconds, ours and the other's", flush=True)
        for case in cases(o):
            if chosen.only in case.name:
                ours, other = measure(case, data, chosen.runs)
                print(
                    f"{case.name:<28} {ours:8.3f} {other:8.3f} {ours / other:6.2f} {case.target:6.2f} {verdict(ours / other, case.target):>4}",
                    flush=True,
                )
        for name, (action, counted) in PEAKS.items():
            if chosen.only in name:
                peak, size = peak_of(action, counted, o.saved)
                most = 1.2 * size if size else 256 * MIB
                print(
                    f"{name:<28} peak {peak / MIB:8.0f} MiB, result {size / MIB:6.0f} MiB, at most {most / MIB:6.0f} {verdict(peak, most):>4}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
