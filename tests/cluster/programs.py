"""Programs whose rows are known, for clusters whose processes see other directories: each gives its rows."""

from __future__ import annotations

import csv
import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark import SFrame, aggregate, load_sframe

ROWS = 6_000
KEYS = 7
# More than a row group: Spark is not sent the rows of such a table with each query.
LARGE = 150_000
GOOD = [1, 2, 3]

PROGRAMS: dict[str, Callable[[Place], tuple[Any, Any]]] = {}
# The part of the list that every run of the tests has; the second for another look at a cluster.
SHORT = ("rows of a DataFrame", "group-by of a table in memory", "sort and save", "CSV of a join", "to_spark and back")
SHORTEST = ("rows of a DataFrame", "group-by of a table in memory", "sort and save")


@attrs.frozen
class Place:
    """Where a program runs.

    Parameters
    ----------
    directory
        A directory, shared or not, or a URI, with the saved frames ``good`` and ``saved``.
    spark
        The user's session.
    notes
        A directory that all machines see.
    options
        What opens files of a URI.
    """

    directory: str
    spark: Any
    notes: str
    options: Mapping[str, str] = attrs.field(factory=dict)

    def prepare(self) -> None:
        """Save what programs load: this process does it alone."""
        SFrame({"a": GOOD}).save(self.path("good"))
        table().save(self.path("saved"))
        for part in range(3):
            numbers = np.arange(ROWS * part // 3, ROWS * (part + 1) // 3)
            with self.open(f"part-{part}.parquet", "wb") as file:
                pq.write_table(pa.table({"n": numbers, "k": numbers * 5 % KEYS}), file)
        lines = "".join(f"{n},{n * 5 % KEYS}\n" for n in range(ROWS))
        with self.open("table.csv", "wb") as file:
            file.write(f"n,k\n{lines}".encode("ascii"))

    def from_spark(self) -> SFrame:
        """The table as the user's DataFrame."""
        return SFrame(self.spark.range(0, ROWS, 1, 4).selectExpr("id AS n", f"id * 5 % {KEYS} AS k"))

    def saved(self) -> SFrame:
        """The table, loaded."""
        return load_sframe(self.path("saved"))

    def path(self, name: str) -> str:
        """A new place to save to."""
        return f"{self.directory}/{name}"

    def open(self, name: str, mode: str) -> Any:
        """A file of the directory, opened by neither this package nor Spark."""
        return fsspec.open(self.path(name), mode, **self.options)


def table(rows: int = ROWS) -> SFrame:
    """Numbers with a key of a few values, in memory."""
    numbers = np.arange(rows)
    return SFrame({"n": numbers, "k": numbers * 5 % KEYS})


def key(n: int) -> int:
    """The key of a row."""
    return n * 5 % KEYS


def by_key(rows: int = ROWS) -> list[int]:
    """Numbers of the rows in the order of their keys."""
    return sorted(range(rows), key=key)


def members() -> dict[int, list[int]]:
    """Numbers of the rows with each key."""
    found: dict[int, list[int]] = defaultdict(list)
    for n in range(ROWS):
        found[key(n)].append(n)
    return dict(found)


def program(name: str) -> Callable[[Callable[[Place], tuple[Any, Any]]], Any]:
    """Add a program, which returns what it found and what is right."""

    def add(function: Callable[[Place], tuple[Any, Any]]) -> Any:
        PROGRAMS[name] = function
        return function

    return add


@program("rows of a DataFrame")
def _(place: Place) -> tuple[Any, Any]:
    return sorted(place.from_spark()["n"]), list(range(ROWS))


@program("numbers of a DataFrame")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.from_spark()
    return [len(frame), frame["n"].sum(), frame["k"].max()], [ROWS, sum(range(ROWS)), KEYS - 1]


@program("filter of a DataFrame")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.from_spark()
    return sorted(frame[frame["k"] > 3]["n"]), [n for n in range(ROWS) if key(n) > 3]


@program("empty filter of a DataFrame")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.from_spark()
    found = frame[frame["k"] > KEYS]
    found.save(place.path("none"))
    return [list(found["n"]), len(load_sframe(place.path("none")))], [[], 0]


@program("filter of a table in memory")
def _(place: Place) -> tuple[Any, Any]:
    frame = table()
    return frame[frame["k"] == 2]["n"].sum(), sum(members()[2])


@program("filter of a saved frame")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.saved()
    return list(frame[frame["k"] == 2]["n"]), members()[2]


@program("join")
def _(place: Place) -> tuple[Any, Any]:
    joined = place.from_spark().join(table(), on="n")
    return sorted(zip(joined["n"], joined["k.1"], strict=True)), [(n, key(n)) for n in range(ROWS)]


@program("join of saved frames")
def _(place: Place) -> tuple[Any, Any]:
    other = table()[["n", "k"]].rename({"k": "other"})
    joined = place.saved().join(other, on="n", how="left")
    return list(joined["other"]), [key(n) for n in range(ROWS)]


@program("group-by of a table in memory")
def _(place: Place) -> tuple[Any, Any]:
    grouped = table().groupby("k", {"s": aggregate.SUM("n")})
    return dict(zip(grouped["k"], grouped["s"], strict=True)), {k: sum(rows) for k, rows in members().items()}


@program("group-by with many groups")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.from_spark()
    grouped = frame.groupby("n", {"s": aggregate.SUM("k")})
    return dict(zip(grouped["n"], grouped["s"], strict=True)), {n: key(n) for n in range(ROWS)}


@program("values of each group in order")
def _(place: Place) -> tuple[Any, Any]:
    grouped = place.saved().groupby("k", {"all": aggregate.CONCAT("n")})
    return {row["k"]: list(row["all"]) for row in grouped}, members()


@program("unique")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.from_spark()
    return [sorted(frame["k"].unique()), len(frame["n"].unique())], [list(range(KEYS)), ROWS]


@program("sort")
def _(place: Place) -> tuple[Any, Any]:
    return list(place.saved().sort("k")["n"]), by_key()


@program("first rows of a sort")
def _(place: Place) -> tuple[Any, Any]:
    return list(place.saved().sort("k").head(20)["n"]), by_key()[:20]


@program("sort and save")
def _(place: Place) -> tuple[Any, Any]:
    place.from_spark().sort(["k", "n"]).save(place.path("sorted"))
    return list(load_sframe(place.path("sorted"))["n"]), by_key()


@program("save over a saved frame")
def _(place: Place) -> tuple[Any, Any]:
    try:
        place.from_spark().sort(["k", "n"]).save(place.path("good"))
    except OSError:
        assert list(load_sframe(place.path("good"))["a"]) == GOOD, "a refused save has changed what was there"
        raise
    return list(load_sframe(place.path("good"))["n"]), by_key()


@program("save of a part of a saved frame")
def _(place: Place) -> tuple[Any, Any]:
    place.saved()[10:500].save(place.path("part"))
    return list(load_sframe(place.path("part"))["n"]), list(range(10, 500))


@program("CSV of a join")
def _(place: Place) -> tuple[Any, Any]:
    joined = place.from_spark().join(table(), on="n")
    joined.export_csv(place.path("joined.csv"))
    with place.open("joined.csv", "rb") as file:
        found = sorted(int(row["n"]) for row in csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline="")))
    return found, list(range(ROWS))


@program("function of each row")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.saved()
    return list(frame.apply(lambda row: row["n"] * 2 + row["k"], dtype=int)), [2 * n + key(n) for n in range(ROWS)]


@program("function, saved")
def _(place: Place) -> tuple[Any, Any]:
    frame = table()
    frame["v"] = frame["n"].apply(lambda n: n * n, dtype=int)
    frame.save(place.path("squares"))
    return list(load_sframe(place.path("squares"))["v"]), [n * n for n in range(ROWS)]


@program("running sum in memory")
def _(place: Place) -> tuple[Any, Any]:
    return list(table()["n"].cumulative_sum()), list(np.cumsum(np.arange(ROWS)))


@program("running sum of a saved frame")
def _(place: Place) -> tuple[Any, Any]:
    return list(place.saved()["k"].cumulative_sum()), list(np.cumsum([key(n) for n in range(ROWS)]))


@program("append")
def _(place: Place) -> tuple[Any, Any]:
    both = place.saved().append(place.from_spark())
    return sorted(both["n"]), sorted([*range(ROWS), *range(ROWS)])


@program("as-of join")
def _(place: Place) -> tuple[Any, Any]:
    right = SFrame({"n": range(0, ROWS, 10), "v": range(0, ROWS, 10)})
    joined = place.from_spark().sort("n").asof_join(right, on="n")
    return list(joined["v"]), [n - n % 10 for n in range(ROWS)]


@program("to_spark and back")
def _(place: Place) -> tuple[Any, Any]:
    df = place.saved().sort("k").to_spark()
    return [df.count(), sorted(SFrame(df)["n"])], [ROWS, list(range(ROWS))]


@program("loaded frame")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.saved()
    return [len(frame), frame["n"].sum(), list(frame["k"])], [ROWS, sum(range(ROWS)), [key(n) for n in range(ROWS)]]


@program("large table in memory")
def _(place: Place) -> tuple[Any, Any]:
    frame = table(LARGE)
    return [len(frame[frame["k"] < 3]), frame.sort("k")["n"][LARGE - 1]], [sum(key(n) < 3 for n in range(LARGE)), by_key(LARGE)[-1]]


@program("Parquet files of others")
def _(place: Place) -> tuple[Any, Any]:
    frame = SFrame.read_parquet(place.path("part-0.parquet")).append(SFrame.read_parquet(place.path("part-1.parquet")))
    return list(frame.sort("k")["n"]), by_key(ROWS * 2 // 3)


@program("CSV file")
def _(place: Place) -> tuple[Any, Any]:
    return list(SFrame.read_csv(place.path("table.csv"), verbose=False).sort("k")["n"]), by_key()


@program("column of a filter beside another")
def _(place: Place) -> tuple[Any, Any]:
    frame = place.from_spark().sort("n")
    kept = frame[frame["k"] > 3]
    kept["r"] = kept["n"].cumulative_sum()
    return list(kept["r"]), list(np.cumsum([n for n in range(ROWS) if key(n) > 3]))


@program("tasks that fail and run again")
def _(place: Place) -> tuple[Any, Any]:
    notes = place.notes

    def frail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
        try:
            os.close(os.open(f"{notes}/{batch.column(0)[0]}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        raise RuntimeError("the first attempt fails")

    df = place.spark.range(0, ROWS, 1, 3).mapInArrow(frail, "id bigint")
    return [sorted(SFrame(df)["id"]), len(os.listdir(notes))], [list(range(ROWS)), 3]
