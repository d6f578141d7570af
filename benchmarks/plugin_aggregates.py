"""Aggregates of plug-ins beside built-in ones of the same kind: ``python -m benchmarks.plugin_aggregates [--rows N] [--runs N] [--only WAY]``.

Each is grouped by few and by many keys, in the threads of one process, in Python processes (a user's function makes the keys) and in Spark's tasks.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.run import seconds
from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.engine.physical import site
from sframe_spark.plugin import FLOAT, ColumnAggregate, Count, FloatSum, ProductSum, aggregate as of_plugin, define_aggregate
from sframe_spark.session import get_session

SEED = 7
GROUPS = {"100": 100, "100,000": 100_000}
THREADS, PROCESSES, TASKS = WAYS = ("threads", "processes", "tasks")
TARGET = 1.5


def infer(types: Sequence[Any], parameters: Sequence[Any]) -> Any:
    """Return the type of all aggregates here."""
    return FLOAT


def weighted_mean(types: Sequence[Any], columns: Sequence[int], parameters: Sequence[Any]) -> ColumnAggregate:
    """Return the aggregate of docs/extending.md."""
    value, weight = columns

    def finish(products: Any, weights: Any, *, last: bool) -> pa.Array:
        total = weights.rounded()
        mean = products.rounded() / np.where(total == 0.0, 1.0, total)
        return pa.array(mean, mask=total == 0.0, from_pandas=False)

    return ColumnAggregate((ProductSum((value, weight)), FloatSum(weight, where=(value, weight))), finish)


def covariance(types: Sequence[Any], columns: Sequence[int], parameters: Sequence[Any]) -> ColumnAggregate:
    """Return the population covariance, as an author would write it who does not need the last digits."""
    both = tuple(sorted(columns))

    def finish(counts: Any, products: Any, first: Any, second: Any, *, last: bool) -> pa.Array:
        rows = np.maximum(counts, 1).astype(np.float64)
        result = products.rounded() / rows - first.rounded() / rows * (second.rounded() / rows)
        return pa.array(result, mask=counts == 0, from_pandas=False)

    sums = (FloatSum(column, where=both) for column in columns)
    return ColumnAggregate((Count(both), ProductSum((columns[0], columns[1])), *sums), finish)


def define() -> None:
    """Define the plug-in's aggregates."""
    define_aggregate("bench_weighted_mean", infer, of_columns=weighted_mean, arguments=2, order_sensitive=False)
    define_aggregate("bench_covariance", infer, of_columns=covariance, arguments=2, order_sensitive=False)


def same(key: int) -> int:
    """Return a key: a function of the user's, which processes call where no Spark runs."""
    return key


def run(frame: SFrame, key: str, of_two: Any, way: str) -> None:
    """Group a frame."""
    if way == PROCESSES:
        frame = frame[["x", "y"]].add_column(frame[key].apply(same, dtype=int), key)
    frame.groupby(key, {"value": of_two}).materialize()


def measured(frame: SFrame, way: str, runs: int) -> None:
    """Print a line for each aggregate of a plug-in."""
    for said, groups in GROUPS.items():
        key = f"key{groups}"
        built_in = {"VARIANCE": aggregate.VARIANCE("x"), "CORRELATION": aggregate.CORRELATION("x", "y")}
        sides = {**built_in, **{name: of_plugin(f"bench_{name}", "x", "y") for name in ("weighted_mean", "covariance")}}
        times: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(runs + 1):
            for name, of_two in sides.items():
                taken = seconds(partial(run, frame, key, of_two, way))
                times[name] += [taken] if number else []
        medians = {name: statistics.median(taken) for name, taken in times.items()}
        for name in ("weighted_mean", "covariance"):
            ratio = medians[name] / medians["CORRELATION"]
            numbers = " | ".join(f"{medians[each]:.3f}" for each in (name, *built_in))
            print(f"| {way} | {said} | {name} | {numbers} | {ratio:.2f} | {'' if ratio <= TARGET else 'slow'} |", flush=True)


def main() -> None:
    """Measure each way of running: first those without Spark."""
    parser = argparse.ArgumentParser(description="Aggregates of plug-ins beside built-in ones of the same kind.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=3 * 10**6)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", choices=("", *WAYS))
    arguments = parser.parse_args()
    define()
    generator = np.random.default_rng(SEED)
    table = {f"key{groups}": generator.integers(0, groups, arguments.rows) for groups in GROUPS.values()}
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "frame")
        SFrame(pa.table({**table, "x": generator.normal(size=arguments.rows), "y": generator.random(arguments.rows)})).save(path)
        print("| way | groups | aggregate | seconds | VARIANCE | CORRELATION | ratio to CORRELATION | |\n| --- | ---: | --- " + "| ---: " * 5 + "|")
        for way in WAYS:
            if arguments.only not in ("", way):
                continue
            if way == TASKS:
                site.is_spark_local = lambda: False
                get_session()
            measured(load_sframe(path), way, arguments.runs)


if __name__ == "__main__":
    main()
