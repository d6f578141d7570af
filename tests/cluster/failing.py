"""Programs amid which something fails; started by `test_failures.py`.

    python -m tests.cluster.failing NAME JSON

What is said is one line: the rows are right, or the error.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
from sframe_spark.errors import SFrameError
from tests.cluster.run import start_session

ROWS, KEYS = 6_000, 7
MANY_ROWS = 6_000_000
SECONDS_OF_A_PART = 1.5
SECONDS_BEFORE_IT_IS_SAID = 0.7
RIGHT = "right"
PROGRAMS: dict[str, Callable[[Any, str, Path], tuple[Any, Any]]] = {}


def program(function: Callable[[Any, str, Path], tuple[Any, Any]]) -> Callable[[Any, str, Path], tuple[Any, Any]]:
    """Add a program, which returns what it found and what is right."""
    PROGRAMS[function.__name__] = function
    return function


def table() -> SFrame:
    """Numbers with a key of a few values."""
    numbers = np.arange(ROWS)
    return SFrame({"n": numbers, "k": numbers * 5 % KEYS})


def slowly(notes: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows of a Spark query, each part of which takes a while and says that it has begun."""
    place, wait = str(notes), SECONDS_OF_A_PART

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            Path(place, "begun").touch()
            time.sleep(wait)
            yield batch

    return rows


@program
def query(spark: Any, place: str, notes: Path) -> tuple[Any, Any]:
    """Tasks of Spark's own query, then an exchange, saved."""
    frame = SFrame(spark.range(0, ROWS, 1, 6).mapInArrow(slowly(notes), "n bigint"))
    frame.sort("n", ascending=False).save(f"{place}/sorted")
    return list(load_sframe(f"{place}/sorted")["n"]), list(range(ROWS))[::-1]


@program
def function(spark: Any, place: str, notes: Path) -> tuple[Any, Any]:
    """Tasks of ours that call a function, kept on the way."""
    begun, wait = str(notes / "begun"), SECONDS_OF_A_PART * 6 / ROWS

    def slow(n: int) -> int:
        if n % 500 == 0:
            Path(begun).touch()
        time.sleep(wait)
        return n * n

    frame = table()
    frame["square"] = frame["n"].apply(slow, dtype=int)
    frame.materialize()
    return list(frame["square"]), [n * n for n in range(ROWS)]


@program
def exchange(spark: Any, place: str, notes: Path) -> tuple[Any, Any]:
    """More texts than a small disk holds, sorted."""
    (notes / "begun").touch()
    random = np.random.default_rng(3)
    frame = SFrame({"n": random.permutation(ROWS), "text": [random.bytes(1500).hex() for _ in range(ROWS)]})
    ordered = frame.sort("n")
    ordered.materialize()
    return list(ordered["n"]), list(range(ROWS))


@program
def given(spark: Any, place: str, notes: Path) -> tuple[Any, Any]:
    """Rows that tasks exchange in files, the first of which says that it has begun."""
    numbers = np.random.default_rng(3).permutation(MANY_ROWS)
    SFrame({"n": numbers, "m": numbers * 3}).save(f"{place}/many")

    def watch() -> None:
        while not list(Path(place, "tmp").rglob("shuffle-*")):
            time.sleep(0.005)
        (notes / "begun").touch()

    with config.using(small_rows=40):
        ordered = load_sframe(f"{place}/many").sort("n")
        threading.Thread(target=watch, daemon=True).start()
        ordered.materialize()
    assert not list(Path(place, "tmp").rglob("shuffle-*"))
    expected = np.arange(MANY_ROWS)
    return [np.array_equal(ordered["n"].to_numpy(), expected), np.array_equal(ordered["m"].to_numpy(), 3 * expected)], [True, True]


@program
def sent(spark: Any, place: str, notes: Path) -> tuple[Any, Any]:
    """Rows that tasks send one another, which begins a moment before it is said."""
    numbers = np.random.default_rng(3).permutation(MANY_ROWS)
    SFrame({"n": numbers, "m": numbers * 3}).save(f"{place}/many")
    exchange, exchanges = SparkTaskRunner.exchange, list[str]()

    def watched(self: SparkTaskRunner, senders: Any, receivers: Any, description: str, *others: Any) -> Any:
        exchanges.append(description)
        threading.Timer(SECONDS_BEFORE_IT_IS_SAID, (notes / "begun").touch).start()
        return exchange(self, senders, receivers, description, *others)

    SparkTaskRunner.exchange = watched  # type: ignore[method-assign]
    with config.using(small_rows=40):
        ordered = load_sframe(f"{place}/many").sort("n")
        ordered.materialize()
    expected = np.arange(MANY_ROWS)
    right = [np.array_equal(ordered["n"].to_numpy(), expected), np.array_equal(ordered["m"].to_numpy(), 3 * expected)]
    return [len(exchanges), *right], [1, True, True]


@program
def remade(spark: Any, place: str, notes: Path) -> tuple[Any, Any]:
    """Temporary rows that are made again when their file is gone, and what was made of them."""
    frame = table().sort("k")
    frame.materialize()
    sums = frame["n"].cumulative_sum()
    forget_one(place)
    grouped = frame.groupby("k", {"s": aggregate.SUM("n")}).sort("k")
    order = sorted(range(ROWS), key=lambda n: n * 5 % KEYS)
    right = [[sum(n for n in order if n * 5 % KEYS == k) for k in range(KEYS)], list(np.cumsum(order)), order]
    return [list(grouped["s"]), list(sums), list(frame["n"])], right


@program
def called(spark: Any, place: str, notes: Path) -> tuple[Any, Any]:
    """Temporary rows that a function has made, whose file is gone: it is not called again."""
    frame = table()
    frame["square"] = frame["n"].apply(lambda n: n * n, dtype=int)
    frame.materialize()
    forget_one(place)
    return list(frame["square"]), [n * n for n in range(ROWS)]


def forget_one(place: str) -> None:
    """Delete a file of temporary rows."""
    files, path = fsspec.url_to_fs(place, **config.storage_options.get("s3://", {}))
    files.invalidate_cache()
    found = sorted(name for name in files.find(f"{path}/tmp") if name.endswith(".parquet"))
    assert found, "nothing was written there"
    files.rm(found[0])


def main(name: str, arguments: str) -> None:
    """Run a program and say how it ended."""
    url, settings, place, options, notes = json.loads(arguments)
    session = start_session(url, settings)
    config.storage_options = {"s3://": options} if options else {}
    config.temporary_directory = f"{place}/tmp"
    config.single_task_rows = config.small_rows = config.memory_budget = 0
    try:
        found, right = PROGRAMS[name](session, place, Path(notes))
        said = RIGHT if found == right else f"wrong: {found!r:.200}"
    except SFrameError as error:
        said = f"{type(error).__name__}: {error}"
    print(said)  # noqa: T201
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
