"""What built-in functions, aggregates and operators have, each with how an author of a plug-in gets the same, and a check that it is the same.

``python -m tests.testing.doors_of_plugins`` writes the table in ``docs/doors-of-plug-ins.md``. The checks use the example package, or the plug-in
below where that lacks what is checked.
"""

from __future__ import annotations

import inspect
import os
import pickle
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sframe_spark as sfs
from sframe_spark import SArray, SFrame, config, load_sframe
from sframe_spark.engine.shapes.section_tree import Workers
from sframe_spark.errors import SchemaError, UserFunctionError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.plugin import (
    FLOAT,
    INT,
    UNRECORDED,
    Chunk,
    ColumnAggregate,
    Count,
    FileSource,
    FileWriter,
    FloatSum,
    Literal,
    Operator,
    ProductSum,
    Program,
    Register,
    RowWise,
    RunningOrder,
    SparkCost,
    Step,
    aggregate_of,
    call,
    column_of,
    define_aggregate,
    define_function,
    frame_of,
    graph_from_json,
    graph_to_json,
    node_of,
    reduce,
    register,
    register_source,
    register_writer,
)
from tests.interpreters import run_program
from tests.strategies import PARTIAL_STATES_BY_TASKS, PARTIAL_STATES_BY_THREADS, STREAM_BY_PROCESSES, STREAM_BY_TASKS, STREAM_BY_THREADS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "doors-of-plug-ins.md"
ROWS = 300_000


# A plug-in that uses every door.


def infer_float(types: Any, parameters: Any) -> Any:
    if not all(kind.is_numeric for kind in types):
        raise SchemaError(f"numbers are needed, not {types[0]}")
    return FLOAT


def compute_celsius(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
    """Degrees Celsius of degrees Fahrenheit."""
    return pc.divide(pc.subtract(arguments[0].cast("double", safe=False), 32.0), 1.8)


def celsius_column(columns: Any, types: Any, parameters: Any) -> Any:
    return (columns[0].cast("double") - 32.0) / 1.8


def weighted_mean(types: Any, columns: Any, parameters: Any) -> ColumnAggregate:
    value, weight = columns

    def finish(products: Any, weights: Any, *, last: bool) -> Any:
        total = weights.rounded()
        return pa.array(products.rounded() / np.where(total == 0.0, 1.0, total), mask=total == 0.0, from_pandas=False)

    return ColumnAggregate((ProductSum((value, weight)), FloatSum(weight, where=(value, weight))), finish)


def rows_so_far(types: Any, columns: Any, parameters: Any) -> ColumnAggregate:
    return ColumnAggregate((Count(),), lambda counts, *, last: pa.array(counts), running_order=RunningOrder.NUMBERS_ROWS)


def largest(arrays: Any, types: Any, parameters: Any) -> Any:
    return pc.max(arrays[0])


def recorded_largest(facts: Any, column_type: Any) -> Any:
    return facts.maximum if facts.bounds_known else UNRECORDED


def largest_column(columns: Any, types: Any, parameters: Any, order: Any) -> Any:
    from pyspark.sql import functions as F

    return F.max(columns[0])


@attrs.frozen
class WithDouble(Operator):
    """The rows with one more column: twice the first one, of ints."""

    name: ClassVar[str] = "doors_with_double"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    threads: ClassVar[bool] = True
    filtered_slots: ClassVar[Any] = (0,)
    spark_cost: ClassVar[SparkCost] = SparkCost(is_inlined=True)

    def infer_type(self, inputs: Any) -> Any:
        return (*inputs[0].schema, INT)

    def infer_properties(self, inputs: Any, facts: Any) -> Any:
        return inputs[0]

    def column_origins(self, inputs: Any) -> Any:
        return [[(0, column)] for column in range(inputs[0].width)]

    def input_columns(self, outputs: Any, inputs: Any) -> Any:
        return [sorted({0 if output == inputs[0].width else output for output in outputs})]

    def over_columns(self, outputs: Any, kept: Any, inputs: Any) -> Any:
        return (self, [*kept[0], inputs[0].width]) if kept[0][0] == 0 else None

    def kernel(self, inputs: Any, facts: Any) -> Any:
        rows = inputs[0]
        KERNEL_ROWS.append(rows.rows)
        return Chunk((*rows.columns, pc.multiply(rows.columns[0], 2)), rows.rows)

    def plan_to_operator(self, inputs: Any, context: Any) -> Any:
        rows = inputs[0]
        return rows.with_columns([*(rows.df[name] for name in rows.columns), rows.df[rows.columns[0]] * 2], (*rows.schema, INT))


# The rows of each kernel call in this process.
KERNEL_ROWS: list[int] = []


@attrs.frozen
class Fused(RowWise):
    """Twice a column, as a program of scalar functions."""

    name: ClassVar[str] = "doors_fused"

    def program(self, width: int) -> Program:
        return Program(1, (Step("multiply", (Register(0), Literal(2, INT))),), (Register(1),))

    def infer_type(self, inputs: Any) -> Any:
        return (INT,)


LAYOUT = np.dtype([("n", "<i8"), ("v", "<f8")])
# What is asked of the source below in this process: rows from, to, and columns.
ASKED: list[tuple[int, int, tuple[str, ...]]] = []


class Pairs(FileSource):
    """Files of 16 bytes a row, an int and a float."""

    name: ClassVar[str] = "doors_pairs"
    suffixes: ClassVar[tuple[str, ...]] = (".pairs",)
    threads: ClassVar[bool] = True

    def columns(self) -> Any:
        return {"n": INT, "v": FLOAT}

    def length(self) -> int:
        return self.file.size // LAYOUT.itemsize

    def read(self, start: int, stop: int, columns: Any, predicate: Any) -> Any:
        ASKED.append((start, stop, tuple(columns)))
        rows = np.frombuffer(self.file.read(start * LAYOUT.itemsize, stop * LAYOUT.itemsize), LAYOUT)
        yield pa.table({name: np.ascontiguousarray(rows[name]) for name in columns})


class PairWriter(FileWriter):
    """Writes such files."""

    name: ClassVar[str] = "doors_pairs"
    suffixes: ClassVar[tuple[str, ...]] = (".pairs",)

    def write(self, rows: pa.Table) -> None:
        content = np.empty(rows.num_rows, LAYOUT)
        for name in LAYOUT.names:
            content[name] = rows[name].to_numpy()
        self.file.write(content.tobytes())


def define() -> None:
    """Register everything; a test's own registry forgets it."""
    for operator in (WithDouble, Fused):
        register(operator)
    monotone = lambda types, literals: "increasing"  # noqa: E731
    define_function("doors_celsius", infer_float, compute_celsius, celsius_column, monotone=monotone, arguments=1, threads=True)
    define_aggregate("doors_weighted_mean", infer_float, of_columns=weighted_mean, arguments=2, order_sensitive=False)
    largest_forms = {"column": largest_column, "recorded": recorded_largest, "order_sensitive": False}
    rows_forms = {"of_columns": rows_so_far, "arguments": 0, "order_sensitive": False}
    define_aggregate("doors_rows", lambda types, parameters: INT, **rows_forms)
    define_aggregate("doors_largest", lambda types, parameters: types[0], largest, **largest_forms)


def celsius(column: SArray) -> SArray:
    return call("doors_celsius", column)


def as_built_in(column: SArray) -> SArray:
    """The same of built-in functions."""
    return (column.astype(float) - 32.0) / 1.8


def doubled(frame: SFrame) -> SFrame:
    names = frame.column_names()
    return frame_of(WithDouble().make_planner_node(node_of(frame)), [*names, "double"])


def numbers(rows: int = ROWS) -> SFrame:
    return SFrame({"n": np.arange(rows), "k": np.arange(rows) % 7, "v": np.arange(rows) * 0.5})


def mean_of_groups(frame: SFrame) -> SFrame:
    return frame.groupby("k", {"m": aggregate_of("doors_weighted_mean", "v", "n")})


def strategies(data: SFrame | SArray) -> list[Any]:
    return [section.strategy for section in plan_dry_run(data._node).sections]


def optimized(data: SFrame | SArray) -> str:
    """The optimized plan, as explain() prints it."""
    return str(data.explain(trace=True)).split("-- optimized plan")[1].split("-- ")[0]


def same(found: SFrame | SArray, wanted: SFrame | SArray) -> None:
    assert found.to_arrow().equals(wanted.to_arrow()) if isinstance(found, SFrame) else list(found) == list(wanted)


@attrs.frozen
class Door:
    """One row of the table: what built-ins have, and what an author writes for the same."""

    title: str
    function: str
    aggregate: str
    operator: str
    check: Callable[[Path], None]
    needs_spark: bool = False


DOORS: list[Door] = []
DEFAULT, NONE = "always", ""


def door(title: str, function: str, aggregate: str, operator: str, needs_spark: bool = False) -> Callable[[Callable[[Path], None]], Any]:
    def add(check: Callable[[Path], None]) -> Callable[[Path], None]:
        DOORS.append(Door(title, function, aggregate, operator, check, needs_spark))
        return check

    return add


@door("Whole columns at once, by Arrow and NumPy", "`compute`", "`of_columns`, or `parts`, or `reduce`", "`kernel`")
def whole_columns(place: Path) -> None:
    frame = numbers(10)
    same(celsius(frame["v"]), as_built_in(frame["v"]))
    assert list(mean_of_groups(frame).sort("k")["m"])[:2] == pytest.approx([3.5, (0.5 * 1 + 4.0 * 8) / 9])
    assert list(doubled(frame[["n"]])["double"]) == list(range(0, 20, 2))


@door("A form for Spark's queries", "`build`", "`column` and `finish`, or `exact`", "`plan_to_operator`", needs_spark=True)
def spark_lowering(place: Path) -> None:
    frame = numbers(1_000)
    for ours, theirs in ((SFrame({"c": celsius(frame["v"])}), SFrame({"c": as_built_in(frame["v"])})), (doubled(frame), doubled(frame))):
        ours.materialize(naive=True)
        same(ours, theirs)
    with config.using(small_rows=0):
        groups = frame.sort("v").groupby("k", {"m": aggregate_of("doors_largest", "n")})
        assert sorted(groups["m"]) == list(range(993, 1_000))


@door("Threads", "`threads=True`", "if it has state columns: " + DEFAULT, "`threads = True`")
def threads(place: Path) -> None:
    frame = numbers()
    assert strategies(celsius(frame["v"])) == strategies(as_built_in(frame["v"])) == [STREAM_BY_THREADS]
    assert strategies(doubled(frame)) == [STREAM_BY_THREADS]
    built_in = frame.groupby("k", {"m": sfs.aggregate.CORRELATION("v", "n")})
    assert strategies(mean_of_groups(frame)) == strategies(built_in) == [PARTIAL_STATES_BY_THREADS]


@door("Python processes, together with users' functions", DEFAULT, DEFAULT, DEFAULT)
def processes(place: Path) -> None:
    def of_the_user(value: Any) -> Any:
        return value if os.getpid() else None

    frame = numbers()
    for made, name in ((celsius(frame["n"]), "doors_celsius"), (doubled(frame[["n"]])["double"], "doors_with_double")):
        called = made.apply(of_the_user, dtype=made.dtype)
        (section,) = plan_dry_run(called._node).sections
        assert section.strategy == STREAM_BY_PROCESSES
        assert any(name in f"{node.operator_type} {node.operator.describe()}" for node in postorder([section.root]))
        assert called[30] == made[30]
    groups = SFrame({"k": frame["k"].apply(of_the_user), "n": frame["n"], "v": frame["v"]})
    assert {each.strategy.workers for each in plan_dry_run(mean_of_groups(groups)._node).sections} == {Workers.PROCESSES, Workers.THREADS}


@door("Spark's tasks", DEFAULT, DEFAULT, DEFAULT, needs_spark=True)
def tasks(place: Path) -> None:
    frame = numbers(1_000)
    with config.using(small_rows=0):
        assert strategies(celsius(frame["v"])) == strategies(doubled(frame)) == [STREAM_BY_TASKS]
        assert strategies(mean_of_groups(frame)) == [PARTIAL_STATES_BY_TASKS]
        found = celsius(frame["v"]), doubled(frame), mean_of_groups(frame).sort("k")
        for made in found:
            made.materialize()
    same(found[0], as_built_in(frame["v"]))
    same(found[1], doubled(frame))
    same(found[2], mean_of_groups(frame).sort("k"))


@door("Few rows without a plan", "`threads=True`", "if it has state columns: " + DEFAULT, "`threads = True`")
def few_rows(place: Path) -> None:
    for made in (celsius(numbers(5)["v"]), mean_of_groups(numbers(5)), doubled(numbers(5))):
        made.materialize()
        assert [outcome.strategy.text for outcome in made._node.ran.outcomes] == ["driver, without a plan"]


@door("One program with the steps before and after it", DEFAULT, "", "`RowWise`, with a `program`")
def fused(place: Path) -> None:
    with config.using(small_rows=0):
        for made in (celsius(numbers(9)["n"] * 2) + 1, column_of(Fused().make_planner_node(node_of(numbers(9)["n"] * 2))) + 1):
            assert [line.split(" := ")[1].split("[")[0] for line in optimized(made).splitlines() if " := " in line][1:] == ["generalized_transform"]


@door("Columns that nobody reads are not computed", DEFAULT, DEFAULT, "`input_columns`, `over_columns`")
def columns(place: Path) -> None:
    with config.using(small_rows=0):
        frame = numbers(9)
        frame["c"] = celsius(frame["v"])
        assert "doors_celsius" not in optimized(frame[["n", "v"]]) and "memory_source[1 columns" in optimized(frame["c"])
        assert "memory_source[2 columns" in optimized(frame.groupby("k", {"m": aggregate_of("doors_largest", "n")}))
        assert "memory_source[1 columns" in optimized(doubled(frame[["n", "k", "v"]])["double"])


@door("Filters move below it", "unless `may_fail`", "filters of keys: " + DEFAULT, "`filtered_slots`, `column_origins`")
def filters(place: Path) -> None:
    with config.using(small_rows=0):
        frame = numbers(9)
        groups = mean_of_groups(frame)
        for made, above in ((doubled(frame), "doors_with_double"), (groups, "group_by")):
            plan = optimized(made[made["k"] > 3])
            assert plan.index("filter") < plan.index(above)
        frame["c"] = celsius(frame["v"])
        assert optimized(frame[frame["k"] > 3].sort("c", ascending=False).head(2)).count("filter") == 1


@door("Only rows that are needed are computed", DEFAULT, "", "`row_wise`, or `Need.DENSE` and `input_interval`")
def limits(place: Path) -> None:
    with config.using(small_rows=0):
        assert "rows 10..20" in optimized(celsius(numbers(999)["v"])[10:20])
        assert "rows 10..20" in optimized(doubled(numbers(999))[10:20])
    KERNEL_ROWS.clear()
    assert doubled(numbers()[["n"]])[7]["double"] == 14
    assert sum(KERNEL_ROWS) < ROWS // 2


@door("Facts about order, which save sorts", "`monotone`", "`running_order`", "`infer_properties`")
def order(place: Path) -> None:
    with config.using(small_rows=0):
        frame = numbers(99).sort("k")
        frame["c"] = celsius(frame["k"])
        assert optimized(frame.sort("c")).count("sort[") == 1
        assert optimized(doubled(frame).sort("k")).count("sort[") == 1
        assert "sort[" not in optimized(numbers(9).running({"i": aggregate_of("doors_rows")}).sort("i"))


@door("Facts about length: `len` computes nothing", DEFAULT, DEFAULT, "`infer_length`, `keeps_dense`, `counting`")
def length(place: Path) -> None:
    KERNEL_ROWS.clear()
    made = celsius(numbers()["v"]), doubled(numbers()), numbers().running({"m": aggregate_of("doors_weighted_mean", "v", "n")})
    assert [len(each) for each in made] == [ROWS] * 3
    assert not KERNEL_ROWS and not any(each._node.operator.is_source for each in made)


@door("Statistics in saved files answer for whole columns", "", "`recorded`", "")
def recorded(place: Path) -> None:
    numbers().save(str(place / "frame"))
    saved = load_sframe(str(place / "frame"))
    for file in (place / "frame").rglob("*.parquet"):
        file.unlink()
    assert saved["n"].max() == reduce("doors_largest", saved["n"]) == ROWS - 1


@door("States: groups, rows so far, windows, in any ranges of rows", "", "`of_columns` (a call for all groups), `parts`", "`SequentialOperator`")
def states(place: Path) -> None:
    frame = numbers(40)
    mean = aggregate_of("doors_weighted_mean", "v", "n")
    running, near = list(frame.running({"m": mean})["m"]), list(frame.window("n", {"m": mean}, before=1)["m"])
    assert running[0] is None and running[2] == pytest.approx(2.5 / 3) and near[2] == pytest.approx(2.5 / 3)
    assert list(frame.running({"m": mean}, by="k")["m"])[8] == pytest.approx((1 * 0.5 + 8 * 4.0) / 9)
    assert len(mean_of_groups(SFrame({"k": np.arange(ROWS), "n": np.arange(ROWS), "v": np.arange(ROWS) * 0.5}))) == ROWS


@door("Sources and writers of files", "", "", "`RowSource`, `FileSource`, `FileWriter` and their methods")
def sources(place: Path) -> None:
    register_source(Pairs)
    register_writer(PairWriter)
    frame = numbers()[["n", "v"]]
    frame.write(place / "some.pairs")
    read = SFrame.read(place / "some.pairs")
    assert strategies(read["v"] + 1.0) == [STREAM_BY_THREADS]
    assert read[7] == frame[7] and read["n"].max() == ROWS - 1
    ASKED.clear()
    assert list(read["n"][10:13]) == [10, 11, 12]
    assert ASKED == [(10, 13, ("n",))]


@door("Names: `help()`, completion, hints", "`public_function`", "`public_aggregate`", "`public_function` on the function that makes its node")
def names(place: Path) -> None:
    from sframe_spark import aggregate, functions

    assert {"fahrenheit", "lag"} <= set(dir(functions.lag)) and "HARMONIC_MEAN" in dir(aggregate)
    assert "Degrees Fahrenheit" in inspect.getdoc(functions.lag.fahrenheit) and "sum of one by each" in inspect.getdoc(aggregate.HARMONIC_MEAN)
    assert list(inspect.signature(functions.lag.lag).parameters) == ["column", "rows"]
    with pytest.raises(AttributeError, match="did you mean 'fahrenheit'"):
        _ = functions.lag.farenheit


ELSEWHERE = """
import pickle, sys
node = pickle.load(open(sys.argv[1], "rb"))
from sframe_spark.plugin import frame_of
print(frame_of(node, ["v"])[2]["v"], open(sys.argv[2]).read()[:1])
from sframe_spark.plugin import graph_from_json
print(frame_of(graph_from_json(open(sys.argv[2]).read()), ["v"])[2]["v"])
"""


@door("Plans that are saved, pickled, and read by another process", DEFAULT, DEFAULT, "parameters are plain values")
def plans(place: Path) -> None:
    from sframe_spark.functions import lag

    made = lag.lag(lag.fahrenheit(SArray([0.0, 100.0, 10.0])), 1)
    assert list(column_of(graph_from_json(graph_to_json(node_of(made))))) == list(made)
    made = lag.lag(lag.fahrenheit(SArray([0.0, 100.0, 10.0])), 1)
    (place / "plan.pickle").write_bytes(pickle.dumps(node_of(made)))
    (place / "plan.json").write_text(graph_to_json(node_of(made)), encoding="utf-8")
    program = f"import sys; sys.argv[1:] = {[str(place / 'plan.pickle'), str(place / 'plan.json')]!r}\n{ELSEWHERE}"
    assert run_program(program).stdout.split() == ["212.0", "{", "212.0"]
    SFrame({"v": made}).save(str(place / "frame"))
    assert list(load_sframe(str(place / "frame"))["v"]) == [None, 32.0, 212.0]


@door("`explain()` and errors have its name, at the user's line", DEFAULT, DEFAULT, DEFAULT)
def messages(place: Path) -> None:
    frame = numbers(9)
    for made, name in ((celsius(frame["v"]), "doors_celsius"), (mean_of_groups(frame), "doors_weighted_mean"), (doubled(frame), "doors_with_double")):
        assert name in str(made.explain())
    texts = SFrame({"k": [1], "v": ["a"], "n": [1]})
    for wrong in (lambda: celsius(texts["v"]), lambda: mean_of_groups(texts)):
        with pytest.raises(SchemaError, match="numbers are needed, not str"):
            wrong()
    with pytest.raises(UserFunctionError, match="the operator 'doors_with_double' failed with ArrowNotImplementedError"):
        doubled(SFrame({"a": ["x"]})).materialize()


def page() -> str:
    """Return the page with the table."""
    head = """# Doors of plug-ins

This page lists everything that built-in functions, aggregates and operators can do, and what a plug-in's author writes
to get the same ([extending](extending.md)). A test tries each of these *doors* (`tests/testing/doors_of_plugins.py`)
and compares strategies, plans and rows with those of the built-in ones. Built-in ones can do nothing else.

"""
    rows = ["| | Door | Function | Aggregate | Operator |", "| ---: | --- | --- | --- | --- |"]
    for number, each in enumerate(DOORS, 1):
        rows.append(f"| {number} | {each.title} | {each.function} | {each.aggregate} | {each.operator} |")
    tail = """
*always* means that there is nothing to write. An empty cell means that built-in ones of this kind do not have it
either. A law is a function from a plan to a plan and runs like a built-in one; `help()`, messages and the switch
`config.disabled_laws` use its equation as its name.
"""
    return head + "\n".join(rows) + "\n" + "\n".join(textwrap.wrap(tail.strip(), 120)).join(["\n", "\n"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
