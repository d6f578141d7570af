"""What plug-ins define beside the same written as a built-in: ``python -m benchmarks.plugins [--rows N] [--runs N] [--only WORDS]``.

Each function, aggregate, operator and law is there twice: as a plug-in defines it, and once more as if it were of this package. Seconds are those of
the processors, of this process and its children, as medians of runs in turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark import SFrame, load_sframe
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.plugin import (
    FLOAT,
    INT,
    STAGES,
    Chunk,
    ColumnAggregate,
    Decomposition,
    FloatSum,
    Operator,
    ProductSum,
    SArray,
    SequentialOperator,
    WholeKernel,
    aggregate_of,
    call,
    column_of,
    define_aggregate,
    define_function,
    law,
    node_of,
    register,
)
from sframe_spark.rewrite_laws import LAWS

SEED, TARGET = 7, 1.5
ROWS_OF_PYTHON = 300_000
"""Rows for aggregates that are Python functions."""
NODES_OF_LAW = 400
PLUGIN, BUILT_IN = "plugin", "built_in"
# A module of this package, as the engine sees it by its name.
TWIN = "sframe_spark.written_as_built_in"


def twin(function: Any) -> Any:
    """Return a function once more, as one of this package."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__module__, copy.__qualname__ = TWIN, f"twin_{function.__qualname__}"
    return copy


# A function.


def infer_float(types: Any, parameters: Any) -> Any:
    """Return the type of what is computed here."""
    return FLOAT


def share(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
    """Return one number as a share of another."""
    return pc.divide(*arguments)


# Aggregates.


def weighted_mean(types: Any, columns: Any, parameters: Any) -> ColumnAggregate:
    """Return the aggregate of docs/extending.md."""
    value, weight = columns

    def finish(products: Any, weights: Any, *, last: bool) -> pa.Array:
        total = weights.rounded()
        return pa.array(products.rounded() / np.where(total == 0.0, 1.0, total), mask=total == 0.0, from_pandas=False)

    return ColumnAggregate((ProductSum((value, weight)), FloatSum(weight, where=(value, weight))), finish)


def spread(arrays: Any, types: Any, parameters: Any) -> Any:
    """Return the difference of the largest and the smallest value."""
    bounds = pc.min_max(arrays[0]).as_py()
    return None if bounds["max"] is None else bounds["max"] - bounds["min"]


def bounds_of(arrays: Any, rows: int, types: Any, parameters: Any) -> Any:
    """Return the part of a spread."""
    bounds = pc.min_max(arrays[0]).as_py()
    return bounds["min"], bounds["max"]


def wider(first: Any, second: Any, types: Any) -> Any:
    """Return the part of two runs of rows."""
    return min(first[0], second[0]), max(first[1], second[1])


def width(part: Any, types: Any, parameters: Any) -> Any:
    """Return the value of a part."""
    return part[1] - part[0]


# Operators.


@attrs.frozen
class Turned(Operator):
    """The numbers with their signs turned round."""

    name: ClassVar[str] = "bench_turned"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    threads: ClassVar[bool] = True

    def infer_type(self, inputs: Any) -> Any:
        """Return the types of the input."""
        return inputs[0].schema

    def kernel(self, inputs: Any, facts: Any) -> Chunk:
        """Turn the signs."""
        return Chunk((pc.negate(inputs[0].columns[0]),), inputs[0].rows)


@attrs.frozen
class Missing(SequentialOperator):
    """Row by row, how many values are missing so far: the operator of docs/extending.md."""

    name: ClassVar[str] = "bench_missing"
    keeps_dense: ClassVar[bool] = True
    threads: ClassVar[bool] = True

    def infer_type(self, inputs: Any) -> Any:
        """Return ints."""
        return (INT,)

    def initial_state(self, facts: Any) -> Any:
        """Return that none is missing."""
        return 0

    def summarize(self, inputs: Any, facts: Any) -> Any:
        """Count."""
        return inputs[0].columns[0].null_count

    def combine(self, first: Any, second: Any) -> Any:
        """Add."""
        return first + second

    def advance(self, inputs: Any, facts: Any, state: Any) -> Any:
        """Number the missing values."""
        missing = inputs[0].columns[0].is_null().to_numpy(zero_copy_only=False)
        counts = state + np.cumsum(missing, dtype=np.int64)
        return Chunk((pa.array(counts),), inputs[0].rows), state + int(missing.sum())


@attrs.frozen
class Ranked(Operator):
    """The numbers in ascending order, from a kernel of all rows."""

    name: ClassVar[str] = "bench_ranked"
    deterministic: ClassVar[bool] = True
    threads: ClassVar[bool] = True

    @property
    def whole_kernel(self) -> WholeKernel:
        """All rows at once."""
        return WholeKernel()

    def infer_type(self, inputs: Any) -> Any:
        """Return the types of the input."""
        return inputs[0].schema

    def kernel(self, inputs: Any, facts: Any) -> Chunk:
        """Sort."""
        return Chunk((pa.array(np.sort(inputs[0].columns[0].to_numpy(zero_copy_only=False))),), inputs[0].rows)


def built_in_class(operator: type[Operator]) -> type[Operator]:
    """Return an operator class once more, as one of this package."""
    members = {key: twin(value) if isinstance(value, FunctionType) else value for key, value in vars(operator).items() if key != "__dict__"}
    return type(operator.__name__, operator.__bases__, {**members, "__module__": TWIN, "name": f"{operator.name}_built_in"})


OPERATORS: dict[str, dict[str, type[Operator]]] = {}


def negated_twice(node: Any) -> Any:
    """Return the input of the input, where both turn signs."""
    child = node.inputs[0]
    return child.inputs[0] if child.operator.name == node.operator.name else None


def define() -> None:
    """Define everything twice."""
    parts = Decomposition(bounds_of, wider, width)
    twins = Decomposition(twin(bounds_of), twin(wider), twin(width))
    for side, made, partial_forms in ((PLUGIN, lambda function: function, parts), (BUILT_IN, twin, twins)):
        define_function(f"bench_share_{side}", made(infer_float), made(share), arguments=2, threads=True)
        define_function(f"bench_held_share_{side}", made(infer_float), made(share), arguments=2)
        define_aggregate(f"bench_mean_{side}", made(infer_float), of_columns=made(weighted_mean), arguments=2, order_sensitive=False)
        define_aggregate(f"bench_spread_{side}", made(infer_float), made(spread), order_sensitive=False)
        define_aggregate(f"bench_parts_{side}", made(infer_float), parts=partial_forms, order_sensitive=False)
    for table in (FUNCTIONS, AGGREGATES):
        table._built_in |= {name for name in table if name.startswith("bench_") and name.endswith(BUILT_IN)}
    for operator in (Turned, Missing, Ranked):
        OPERATORS[operator.name] = {PLUGIN: register(operator), BUILT_IN: built_in_class(operator)}


def tree_seconds() -> float:
    """Return the seconds of the processors that this process and its children have taken so far."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(place.name))
            ticks[int(place.name)] = sum(map(int, fields[11:13]))
    total, waiting = 0, children.get(os.getpid(), [])
    while waiting:
        process = waiting.pop()
        total += ticks.get(process, 0)
        waiting += children.get(process, [])
    # The seconds of this process are known more exactly.
    return time.process_time() + total / os.sysconf("SC_CLK_TCK")


def applied(name: str, side: str, column: SArray) -> SArray:
    """Return an operator over a column."""
    return column_of(OPERATORS[name][side]().make_planner_node(node_of(column)))


def law_run(side: str) -> Callable[[SFrame], None]:
    """Return a run that plans many nodes to which a law of a side applies."""
    rewrite = negated_twice if side == PLUGIN else twin(negated_twice)
    operator = OPERATORS["bench_turned"][side]
    rule = law(f"bench(bench(x)) = x, {side}", stage="pushdown", on=operator.name)(rewrite)
    optimizer = Optimizer(STAGES, (*LAWS, rule), frozenset(), True)

    def run(frame: SFrame) -> None:
        for _ in range(10):
            node = node_of(frame["x"])
            for _ in range(NODES_OF_LAW):
                node = operator().make_planner_node(node)
            assert optimizer.optimize(node).operator.is_source

    return run


def functions() -> dict[str, Callable[[str, SFrame], Any]]:
    """Return the runs of functions by their titles, each of a side and a frame."""
    return {
        "function, cheap": lambda side, frame: call(f"bench_share_{side}", frame["x"], frame["y"]).materialize(),
        "function below a sum": lambda side, frame: call(f"bench_share_{side}", frame["x"], frame["y"]).sum(),
        "function, in a filter": lambda side, frame: frame[call(f"bench_share_{side}", frame["x"], frame["y"]) > 0.5].materialize(),
        "function that does not say threads": lambda side, frame: call(f"bench_held_share_{side}", frame["x"], frame["y"]).materialize(),
    }


def aggregates() -> dict[str, Callable[[str, SFrame], Any]]:
    """Return the runs of aggregates."""
    mean = "state columns, {}"

    def of_two(side: str) -> Any:
        return aggregate_of(f"bench_mean_{side}", "x", "y")

    def of_python(kind: str, side: str) -> Any:
        return aggregate_of(f"bench_{kind}_{side}", "x")

    return {
        mean.format("100 groups"): lambda side, frame: frame.groupby("key100", {"m": of_two(side)}).materialize(),
        mean.format("100,000 groups"): lambda side, frame: frame.groupby("key100000", {"m": of_two(side)}).materialize(),
        mean.format("running"): lambda side, frame: frame.running({"m": of_two(side)}).materialize(),
        mean.format("running by 100 keys"): lambda side, frame: frame.running({"m": of_two(side)}, by="key100").materialize(),
        mean.format("windows of 100 rows"): lambda side, frame: frame.window("row", {"m": of_two(side)}, before=99).materialize(),
        "all values, 100 groups": lambda side, frame: frame.groupby("key100", {"s": of_python("spread", side)}).materialize(),
        "all values, 100,000 groups": lambda side, frame: few(frame).groupby("key100000", {"s": of_python("spread", side)}).materialize(),
        "parts, 100 groups": lambda side, frame: frame.groupby("key100", {"s": of_python("parts", side)}).materialize(),
        "parts, 100,000 groups": lambda side, frame: few(frame).groupby("key100000", {"s": of_python("parts", side)}).materialize(),
        "parts, running": lambda side, frame: few(frame).head(30_000).running({"s": of_python("parts", side)}).materialize(),
    }


def few(frame: SFrame) -> SFrame:
    """Return the rows for aggregates that are Python functions."""
    return frame.head(ROWS_OF_PYTHON)


def operators() -> dict[str, Callable[[str, SFrame], Any]]:
    """Return the runs of operators."""
    return {
        "operator, row-wise": lambda side, frame: applied("bench_turned", side, frame["x"]).materialize(),
        "operator with a state": lambda side, frame: applied("bench_missing", side, frame["x"]).materialize(),
        "operator of all rows": lambda side, frame: applied("bench_ranked", side, frame["x"]).materialize(),
    }


def measured(title: str, frame: SFrame, runs: int, run: Callable[[str, SFrame], Any]) -> None:
    """Print a line of the table."""
    times: dict[str, list[float]] = {PLUGIN: [], BUILT_IN: []}
    for number in range(runs + 1):
        for side, taken in times.items():
            before = tree_seconds()
            run(side, frame)
            taken += [tree_seconds() - before] if number else []
    plugin, built_in = (statistics.median(taken) for taken in times.values())
    ratio = plugin / built_in if built_in else float("nan")
    print(f"| {title} | {plugin:.2f} | {built_in:.2f} | {ratio:.2f} | {'' if ratio <= TARGET else 'slow'} |", flush=True)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description="What plug-ins define beside the same written as a built-in.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=3 * 10**6)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    define()
    generator, rows = np.random.default_rng(SEED), arguments.rows
    keys = {f"key{groups}": generator.integers(0, groups, rows) for groups in (100, 100_000)}
    columns = {"row": np.arange(rows), **keys, "x": generator.normal(size=rows), "y": generator.random(rows) + 1.0}
    with tempfile.TemporaryDirectory() as directory:
        SFrame(pa.table(columns)).save(str(Path(directory) / "frame"))
        frame = load_sframe(str(Path(directory) / "frame"))
        laws = {side: law_run(side) for side in (PLUGIN, BUILT_IN)}
        of_laws = {f"law, 10 plans of {NODES_OF_LAW} nodes": lambda side, frame: laws[side](frame)}
        print("| | plug-in | built-in | ratio | |\n| --- | ---: | ---: | ---: | --- |")
        for title, run in (functions() | aggregates() | operators() | of_laws).items():
            if arguments.only in title:
                measured(title, frame, arguments.runs, run)


if __name__ == "__main__":
    main()
