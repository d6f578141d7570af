"""Scalar functions and aggregates of plug-ins do what the built-in ones do, wherever they are used and wherever rows are computed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sframe_spark as sfs
from sframe_spark import SArray, SFrame
from sframe_spark.errors import (
    ExecutionError,
    InvalidArgumentError,
    LengthMismatchError,
    MissingArgumentColumnError,
    PlanInvariantError,
    SchemaError,
    UnsupportedOperationError,
    UserFunctionError,
)
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.plugin import (
    FLOAT,
    INT,
    STR,
    ColumnAggregate,
    Count,
    Decomposition,
    FloatSum,
    ProductSum,
    StateColumn,
    aggregate,
    call,
    define_aggregate,
    define_function,
    list_of,
    reduce,
)
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate
from tests.strategies import PARTIAL_STATES_BY_THREADS, STREAM_BY_THREADS

VALUES = [float(i % 7 + 1) if i % 5 else None for i in range(60)]
KEYS = [i % 3 for i in range(60)]


def hypotenuse(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
    return pc.sqrt(pc.add(pc.power(arguments[0], 2.0), pc.power(arguments[1], 2.0)))


def column_of_sum(columns: Any, types: Any, parameters: Any) -> Any:
    return columns[0] + columns[1]


def whole_log(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
    if pc.any(pc.less_equal(arguments[0], 0.0)).as_py():
        raise ValueError("no logarithm of what is not above zero")
    return pc.ln(arguments[0])


define_function("test_hypotenuse", lambda types, parameters: FLOAT, hypotenuse)
define_function("test_sum", lambda types, parameters: FLOAT, lambda a, t, p, rows: pc.add(a[0], a[1]), column_of_sum)
define_function("test_log", lambda types, parameters: FLOAT, whole_log, monotone=lambda types, literals: "strictly increasing", may_fail=True)
define_function("test_constant", lambda types, parameters: INT, lambda a, t, parameters, rows: pa.scalar(parameters[0]))


def parts_of_mean(arrays: Any, rows: int, types: Any, parameters: Any) -> tuple[int, float]:
    values = arrays[0].drop_null()
    return len(values), pc.sum(pc.ln(values)).as_py() or 0.0


GEOMETRIC = Decomposition(parts_of_mean, lambda a, b, types: (a[0] + b[0], a[1] + b[1]), lambda p, t, q: math.exp(p[1] / p[0]) if p[0] else None)
define_aggregate("test_geometric_mean", lambda types, parameters: FLOAT, parts=GEOMETRIC, order_sensitive=False)
define_aggregate("test_joined", lambda types, parameters: STR, lambda arrays, types, parameters: parameters[0].join(map(str, arrays[0].to_pylist())))
define_aggregate("test_dot", lambda types, parameters: FLOAT, lambda arrays, t, p: pc.sum(pc.multiply(*arrays)).as_py(), arguments=2)


def geometric_mean(values: list[float | None]) -> float | None:
    present = [math.log(value) for value in values if value is not None]
    return math.exp(math.fsum(present) / len(present)) if present else None


def frame() -> SFrame:
    return SFrame({"k": KEYS, "v": VALUES, "w": [float(i) for i in range(60)]})


def of_key(key: int) -> list[float | None]:
    return [value for value, other in zip(VALUES, KEYS, strict=True) if other == key]


@pytest.mark.spark
@pytest.mark.behaviour
def test_a_scalar_function_has_the_values_of_its_kernel() -> None:
    sf = frame()
    expected = [None if v is None else math.hypot(v, w) for v, w in zip(VALUES, range(60), strict=True)]
    assert list(call("test_hypotenuse", sf["v"], sf["w"])) == pytest.approx(expected)
    assert list(call("test_hypotenuse", sf["w"], 4.0))[:4] == pytest.approx([math.hypot(w, 4.0) for w in range(4)])
    assert list(call("test_sum", sf["v"], sf["w"]))[:3] == [None, 3.0, 5.0]
    assert list(call("test_constant", sf["v"], parameters=[7])) == [7] * 60


WITH_FUNCTIONS_OF_OURS = {
    "scalar": lambda sf: call("test_hypotenuse", sf["v"], sf["w"]),
    "scalar in a filter": lambda sf: sf[call("test_sum", sf["v"], sf["w"]) > 3.0],
    "scalar below a sort": lambda sf: sf.add_column(call("test_sum", sf["v"], sf["w"]), "log").sort("log"),
    "scalar below groups": lambda sf: sf.add_column(call("test_sum", sf["v"], sf["w"]), "log").groupby("k", {"s": sfs.aggregate.SUM("log")}),
    "groups": lambda sf: sf.groupby("k", {"g": aggregate("test_geometric_mean", "v"), "n": sfs.aggregate.COUNT}),
    "groups by all values": lambda sf: sf.groupby("k", {"g": aggregate("test_dot", "v", "w")}),
    "running": lambda sf: sf.running({"g": aggregate("test_geometric_mean", "v")}),
    "window": lambda sf: sf.window("w", {"g": aggregate("test_geometric_mean", "v")}, before=2.0),
}
# A kernel of all rows is called once, by the thread that asks.
SIDE_BY_SIDE = {STREAM_BY_THREADS, PARTIAL_STATES_BY_THREADS}


@pytest.mark.parametrize("name", WITH_FUNCTIONS_OF_OURS)
def test_threads_do_not_call_what_was_not_written_for_threads(name: str, tmp_path: Path) -> None:
    frame().save(str(tmp_path / "frame"))
    with sfs.config.using(small_rows=5, segment_rows=20):
        saved = sfs.load_sframe(str(tmp_path / "frame"))
        assert {section.strategy for section in plan_dry_run((saved["w"] + 1.0)._node).sections} == {STREAM_BY_THREADS}
        sections = plan_dry_run(WITH_FUNCTIONS_OF_OURS[name](saved)._node).sections
    calling = [section for section in sections if any("test_" in node.operator.describe() for node in postorder([section.root]))]
    assert calling and not any(section.strategy in SIDE_BY_SIDE for section in calling)


@pytest.mark.spark
def test_spark_calls_kernels_and_state_columns_once_for_each_batch() -> None:
    define_function("test_batch", lambda t, p: INT, lambda a, t, p, rows: pa.array([rows] * rows))
    define_aggregate("test_batched", lambda t, p: INT, of_columns=groups_at_once, order_sensitive=False)
    rows = 6_000
    frame = SFrame({"v": list(range(rows)), "k": [number // 2 for number in range(rows)]})
    column = SFrame({"n": call("test_batch", frame["v"])})
    groups = frame.groupby("k", {"n": aggregate("test_batched", "v")})
    for data in (column, groups):
        data.materialize(naive=True)
    # At most one short batch for each of the tasks.
    assert np.mean(column["n"].to_numpy() >= 500) > 0.9
    assert np.mean(groups["n"].to_numpy() >= 250) > 0.9


def groups_at_once(types: Any, columns: Any, parameters: Any) -> ColumnAggregate:
    """For each group, how many groups were computed in one call."""

    def finish(counts: Any, *, last: bool) -> pa.Array:
        return pa.array(np.full(len(counts), len(counts)))

    return ColumnAggregate((Count(columns),), finish)


@pytest.mark.spark
@pytest.mark.behaviour
def test_it_is_not_called_for_rows_that_a_filter_leaves_out() -> None:
    sf = SFrame({"v": [1.0, -1.0, math.e, 0.0] * 20})
    logs = call("test_log", sf[sf["v"] > 0]["v"])
    assert list(logs)[:2] == pytest.approx([0.0, 1.0])
    with pytest.raises(ValueError, match="scalar function 'test_log' failed with ValueError: no logarithm"):
        list(call("test_log", sf["v"]))


def test_it_is_one_program_with_what_is_done_before_and_after() -> None:
    with sfs.config.using(small_rows=0):
        column = (call("test_log", SArray([float(i) for i in range(1, 500)]) * 2.0) + 1.0)[10:20]
        plan = str(column.explain(trace=True)).split("-- optimized plan")[1].split("-- ")[0]
    # Only the rows of the slice are read.
    assert [line.split(" := ")[1].split("[")[0] for line in plan.strip().splitlines() if " := " in line] == ["memory_source", "generalized_transform"]
    assert "rows 10..20" in plan
    assert all(name in plan for name in ("multiply", "test_log", "add"))


def test_what_it_promises_of_order_is_used() -> None:
    sf = SFrame({"t": [float(i) for i in range(1, 100)]}).sort("t")
    sf["log"] = call("test_log", sf["t"])
    assert "sort" not in str(sf.sort("log").explain()).split("physical plan")[-1].replace("sorted", "")


@pytest.mark.spark
@pytest.mark.behaviour
def test_an_aggregate_works_wherever_there_are_aggregates() -> None:
    sf = frame()
    mean = aggregate("test_geometric_mean", "v")
    groups = sf.groupby("k", {"g": mean, "n": sfs.aggregate.COUNT}).sort("k")
    assert list(groups["g"]) == pytest.approx([geometric_mean(of_key(key)) for key in range(3)])
    assert reduce("test_geometric_mean", sf["v"]) == pytest.approx(geometric_mean(VALUES))
    assert list(sf.running({"g": mean})["g"]) == pytest.approx([geometric_mean(VALUES[: i + 1]) for i in range(60)])
    running = list(sf.running({"g": mean}, by="k")["g"])
    assert running[-3:] == pytest.approx([geometric_mean(of_key(KEYS[i])) for i in range(57, 60)])
    near = sf.window("w", {"g": mean}, before=2.0, after=1.0)
    assert list(near["g"]) == pytest.approx([geometric_mean(VALUES[max(i - 2, 0) : i + 2]) for i in range(60)])
    cycles = sf.groupby_cycles("w", operations={"g": mean})
    assert list(cycles["g"]) == pytest.approx(VALUES)
    tens = sf.groupby_intervals("w", 10.0, operations={"g": mean})
    assert list(tens["g"]) == pytest.approx([geometric_mean(VALUES[i : i + 10]) for i in range(0, 60, 10)])


@pytest.mark.spark
@pytest.mark.behaviour
def test_an_aggregate_sees_rows_in_their_order_with_its_parameters() -> None:
    sf = frame().sort("w", ascending=False)
    joined = sf.groupby("k", {"all": aggregate("test_joined", "w", parameters=["-"])}).sort("k")
    assert list(joined["all"]) == ["-".join(str(float(w)) for w in range(57 + key, -1, -3)) for key in range(3)]
    assert reduce("test_joined", sf["w"].head(3), parameters=["+"]) == "59.0+58.0+57.0"
    assert list(sf.head(3).running({"r": aggregate("test_joined", "w", parameters=[""])})["r"])[-1] == "59.058.057.0"


@pytest.mark.spark
@pytest.mark.behaviour
def test_an_aggregate_of_two_columns() -> None:
    sf = SFrame({"k": [1, 1, 2], "a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    assert list(sf.groupby("k", {"dot": aggregate("test_dot", "a", "b")}).sort("k")["dot"]) == [14.0, 18.0]
    assert reduce("test_dot", sf["a"], sf["b"]) == 32.0


@pytest.mark.spark
@pytest.mark.behaviour
def test_what_a_plug_in_does_wrong_is_told_where_it_is() -> None:
    wrong = {
        "test_wrong_type": (lambda t, p: INT, lambda a, t, p, rows: pa.array(["a"] * rows), "returned Arrow's string, which is not the int"),
        "test_wrong_rows": (lambda t, p: INT, lambda a, t, p, rows: pa.array([1]), "returned 1 values for 3 rows"),
        "test_no_arrow": (lambda t, p: INT, lambda a, t, p, rows: [1] * rows, "returned a list"),
        "test_fails": (lambda t, p: INT, lambda a, t, p, rows: 1 // 0, "failed with ZeroDivisionError"),
        "test_no_type": (lambda t, p: int, lambda a, t, p, rows: a[0], "infers <class 'int'>"),
    }
    for name, (infer, kernel, message) in wrong.items():
        define_function(name, infer, kernel)
        with pytest.raises((SchemaError, LengthMismatchError, UserFunctionError), match=f"the .*scalar function '{name}' {message}"):
            list(call(name, SArray([1, 2, 3])))
    define_aggregate("test_wrong_value", lambda t, p: INT, lambda a, t, p: "x")
    define_aggregate("test_failing", lambda t, p: INT, lambda a, t, p: 1 // 0)
    sf = SFrame({"k": [1, 2, 1], "v": [1, 2, 3]})
    for name, kind, message in (
        ("test_wrong_value", SchemaError, r"gave 'x' \(str\), which is not a value of the int"),
        ("test_failing", ZeroDivisionError, "failed with ZeroDivisionError"),
    ):
        for compute in (
            lambda name=name: reduce(name, sf["v"]),
            lambda name=name: list(sf.groupby("k", {"a": aggregate(name, "v")})["a"]),
            lambda name=name: list(sf.running({"a": aggregate(name, "v")})["a"]),
            lambda name=name: list(sf.window("v", {"a": aggregate(name, "v")}, before=1)["a"]),
        ):
            with pytest.raises(kind, match=f"the aggregate '{name}' {message}"):
                compute()


def test_wrong_calls_are_told() -> None:
    x, sf = SArray([1, 2]), SFrame({"v": [1]})
    with pytest.raises(InvalidArgumentError, match="no scalar function is named 'test_lok': did you mean 'test_log'"):
        call("test_lok", x)
    with pytest.raises(LengthMismatchError, match="different lengths"):
        call("add", x, SArray([1]))
    with pytest.raises(SchemaError, match="at least one column"):
        call("add", 1, 2)
    with pytest.raises(InvalidArgumentError, match="no aggregate is named 'summ': did you mean 'sum'"):
        aggregate("summ", "v")
    with pytest.raises(InvalidArgumentError, match="no aggregate is named 'summ'"):
        reduce("summ", x)
    with pytest.raises(LengthMismatchError):
        reduce("test_dot", x, SArray([1.0]))
    for columns in ([], ["v", "v"]):
        with pytest.raises(UnsupportedOperationError, match=f"the aggregate sum takes 1 column, not {len(columns)}"):
            sf.groupby("v", aggregate("sum", *columns))
    with pytest.raises(MissingArgumentColumnError):
        sf.groupby("v", aggregate("sum", "w"))


def of_one(only: Any) -> Any:
    return only


def of_two(first: Any, second: Any) -> Any:
    return first


def unpacked(arguments: Any) -> Any:
    (only,) = arguments
    return only


ARITIES = {
    "too few, handed on": (lambda a: of_two(*a), 1, "missing 1 required positional argument"),
    "too few, by place": (lambda a: pc.add(a[0], a[1]), 1, "list index out of range"),
    "too many, unpacked": (unpacked, 2, "too many values to unpack"),
    "too many, handed on, of all": (lambda a: of_one(*a), 2, "takes 1 positional argument but 2 were given"),
}


@pytest.mark.parametrize("name", ARITIES)
def test_a_kernel_that_takes_another_number_of_arguments_is_told_at_the_call(name: str) -> None:
    kernel, count, said = ARITIES[name]
    function = f"test_arity_{len(name)}"
    define_function(function, lambda t, p: INT, lambda a, t, p, rows: kernel(a))
    with pytest.raises(UnsupportedOperationError, match=f"scalar function '{function}' does not take {count} argument.*{said}") as raised:
        call(function, *[SArray([1, 2])] * count)
    assert "give define_function() arguments=" in str(raised.value)


def test_what_else_fails_for_a_missing_value_is_no_matter_of_the_call() -> None:
    define_function("test_first_value", lambda t, p: INT, lambda a, t, p, rows: pa.array([a[0].to_pylist()[0] + 1] * rows))
    assert list(call("test_first_value", SArray([1]))) == [2]


def test_what_was_made_of_a_function_that_gives_another_type_now_is_told() -> None:
    def infer(types: Any, parameters: Any) -> Any:
        return KIND[0]

    KIND = [INT]
    for rows in (2, 300_000):
        KIND[0] = INT
        define_function("test_changed", infer, lambda a, t, p, rows: pc.add(a[0], 1))
        define_aggregate("test_changed_aggregate", infer, lambda a, t, p: 1)
        frame = SFrame({"k": np.arange(rows) % 2, "v": np.arange(rows)})
        made = call("test_changed", frame["v"]), frame.groupby("k", {"n": aggregate("test_changed_aggregate", "v")})
        KIND[0] = FLOAT
        define_function("test_changed", infer, lambda a, t, p, rows: pc.multiply(a[0].cast("double"), 0.5))
        define_aggregate("test_changed_aggregate", infer, lambda a, t, p: 0.5)
        for each, name in zip(made, ("test_changed", "test_changed_aggregate"), strict=True):
            with pytest.raises(UnsupportedOperationError, match=rf"'{name}' was redefined: .*int.* but would have .*float.* now; make it anew"):
                each.materialize()


@pytest.mark.spark
def test_a_spark_expression_of_several_rows_is_told_as_such() -> None:
    from pyspark.sql import functions as F

    def exploded(columns: Any, types: Any, parameters: Any) -> Any:
        return F.explode(F.array(columns[0], columns[0]))

    for kind in (INT, list_of(INT)):
        name = f"test_exploded_{kind.kind}"
        define_function(name, lambda t, p, kind=kind: kind, lambda a, t, p, rows: a[0], exploded)
        column = SArray([[1], [2]] if kind != INT else [1, 2], dtype=list if kind != INT else int)
        with pytest.raises(ExecutionError, match=r"(?i)generator"):
            SFrame({"n": call(name, column)}).materialize(naive=True)


def test_names_are_taken_once_and_a_definition_may_be_read_again() -> None:
    def first(types: Any, parameters: Any) -> Any:
        return INT

    def second(types: Any, parameters: Any) -> Any:
        return INT

    for number in (1, 2):
        define_function("test_again", first, lambda a, t, p, rows, number=number: pa.scalar(number))
        assert list(call("test_again", SArray([0]))) == [number]
    with pytest.raises(ValueError, match=r"'test_again' is taken by the scalar function of tests\.test_plugin"):
        define_function("test_again", second, lambda a, t, p, rows: pa.scalar(3))
    with pytest.raises(ValueError, match="'add' is taken"):
        define_function("add", first, lambda a, t, p, rows: pa.scalar(3))
    with pytest.raises(ValueError, match="'sum' is taken"):
        define_aggregate("sum", first, lambda a, t, p: 1)
    with pytest.raises(ValueError, match="must consist of letters, digits"):
        define_function("two words", first, lambda a, t, p, rows: pa.scalar(3))
    with pytest.raises(ValueError, match="neither 'reduce' nor 'parts'"):
        define_aggregate("test_nothing", first)


def test_an_aggregate_of_no_columns_is_of_parts_or_state_columns() -> None:
    with pytest.raises(InvalidArgumentError, match=r"'test_no_columns' may be used without a column, but 'reduce' gets columns only"):
        define_aggregate("test_no_columns", lambda t, p: INT, lambda a, t, p: 0, arguments=(0, 1))
    rows = Decomposition(lambda a, n, t, p: n, lambda x, y, t: x + y, lambda part, t, p: part)
    define_aggregate("test_rows", lambda t, p: INT, parts=rows, arguments=0, order_sensitive=False)
    frame = SFrame({"k": [1, 2, 1]})
    assert list(frame.groupby("k", {"n": aggregate("test_rows")}).sort("k")["n"]) == [2, 1]
    assert list(frame.running({"n": aggregate("test_rows")})["n"]) == [1, 2, 3]


def test_lists_are_values_of_groups_of_rows_so_far_and_of_windows() -> None:
    """As in https://github.com/pola-rs/polars/issues/12234, where those of windows had another shape."""
    define_aggregate("test_list", lambda t, p: list_of(STR), lambda a, t, p: list(map(str, a[0].to_pylist())))
    frame, values = SFrame({"k": [1, 1, 2], "v": [1, None, 3], "t": [1, 2, 3]}), aggregate("test_list", "v")
    assert list(frame.groupby("k", {"x": values}).sort("k")["x"]) == [["1", "None"], ["3"]]
    assert list(frame.running({"x": values})["x"]) == [["1"], ["1", "None"], ["1", "None", "3"]]
    assert list(frame.window("t", {"x": values}, before=1)["x"]) == [["1"], ["1", "None"], ["None", "3"]]
    assert reduce("test_list", frame["v"]) == ["1", "None", "3"]


def test_missing_constants_and_results_without_a_type() -> None:
    """As in https://github.com/duckdb/duckdb/issues/13138, where a constant that is missing was treated unlike a column."""
    define_function("test_added", lambda t, p: FLOAT, lambda a, t, p, rows: pc.add(a[0].cast("double"), a[1].cast("double")))
    assert list(call("test_added", SArray([1.0, None]), None)) == list(call("test_added", SArray([1.0, None]), SArray([None, 1.0]))) == [None, None]
    for kind in (INT, FLOAT, STR, list_of(INT)):
        define_function(f"test_nothing_{kind.kind}", lambda t, p, kind=kind: kind, lambda a, t, p, rows: pa.nulls(rows))
        assert list(call(f"test_nothing_{kind.kind}", SArray([1, 2]))) == [None, None]


@attrs.frozen
class StateOfTwo(StateColumn):
    """A state of two arrays, and nothing that says how it is sent."""

    column: int

    def empty(self, groups: int) -> Any:
        return np.zeros(groups), np.zeros(groups)

    def lift(self, rows: Any, groups: Any) -> Any:
        return self.empty(groups.count)

    def merge(self, state: Any, groups: Any) -> Any:
        return self.empty(groups.count)


def test_a_state_that_cannot_be_sent_is_told_with_what_to_define() -> None:
    def of_columns(types: Any, columns: Any, parameters: Any) -> ColumnAggregate:
        return ColumnAggregate((StateOfTwo(columns[0]),), lambda state, *, last: pa.array(state[0]))

    define_aggregate("test_two_arrays", lambda t, p: FLOAT, of_columns=of_columns, order_sensitive=False)
    said = r"'StateOfTwo' has states that are no array .* a tuple: define to_arrow\(\), of_arrow\(\) and arrow_width"
    with pytest.raises(PlanInvariantError, match=said):
        check_aggregate("test_two_arrays", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], spark=False, generated=0, expected=lambda values: 0.0)


def test_what_an_aggregate_gives_is_of_the_type_that_it_infers_whoever_asks() -> None:
    halves = Decomposition(lambda a, n, t, p: n, lambda x, y, t: x + y, lambda part, t, p: part / 2)
    define_aggregate("test_halves", lambda t, p: INT, parts=halves, order_sensitive=False)
    define_aggregate("test_arrow_value", lambda t, p: INT, lambda a, t, p: pc.sum(a[0]))
    sf = SFrame({"k": [1, 2, 1, 1], "v": [1, 2, 3, 4]})
    for ask in (
        lambda: list(sf.groupby("k", {"a": aggregate("test_halves", "v")})),
        lambda: list(sf.running({"a": aggregate("test_halves", "v")})),
        lambda: reduce("test_halves", sf["v"][:3]),
    ):
        with pytest.raises(SchemaError, match=r"'test_halves' gave \d.5 \(float\), which is not a value of the int"):
            ask()
    assert reduce("test_halves", sf["v"]) == 2
    assert type(reduce("test_halves", sf["v"])) is int
    assert list(sf.groupby("k", {"a": aggregate("test_arrow_value", "v")}).sort("k")["a"]) == [8, 2]


def test_parts_of_functions_that_are_none_are_told() -> None:
    with pytest.raises(InvalidArgumentError, match="the scalar function 'test_no_kernel' consists of functions, and None is none"):
        define_function("test_no_kernel", lambda t, p: INT, None)
    with pytest.raises(InvalidArgumentError, match="the aggregate 'test_no_reduce' consists of functions, and 5 is none"):
        define_aggregate("test_no_reduce", lambda t, p: INT, 5)
    define_function("test_upwards", lambda t, p: INT, lambda a, t, p, rows: a[0], monotone=lambda t, literals: "upwards")
    with pytest.raises(InvalidArgumentError, match="gave 'upwards': it gives one of 'increasing'"):
        call("test_upwards", SArray([1, 2])).sort().materialize()
    define_function("test_no_promise", lambda t, p: INT, lambda a, t, p, rows: a[0], monotone=lambda t, literals: t[7])
    with pytest.raises(UserFunctionError, match="'test_no_promise' failed with IndexError"):
        call("test_no_promise", SArray([1, 2])).sort().materialize()


@pytest.mark.spark
def test_spark_expressions_of_another_type_are_told_where_rows_come_back_and_where_they_are_written() -> None:
    from pyspark.sql import functions as F

    define_function("test_thirds", lambda t, p: INT, lambda a, t, p, rows: a[0], build=lambda columns, t, p: columns[0] / 3)
    mean = {"column": lambda columns, t, p, order: F.avg(columns[0]), "order_sensitive": False}
    define_aggregate("test_mean_as_int", lambda t, p: INT, lambda a, t, p: 0, **mean)
    with sfs.config.using(small_rows=0):
        for rows in (1_000, 200_000):
            sf = SFrame({"x": [number * 7_919 % 200_003 for number in range(rows)]})
            with pytest.raises(PlanInvariantError, match=r"Spark computed double in column \d, which is one of int"):
                sf.groupby("x", {"n": aggregate("test_mean_as_int", "x")}).materialize()
            sf["y"] = call("test_thirds", sf["x"])
            with pytest.raises(ExecutionError, match="expression of the scalar function 'test_thirds' is not of Spark's type bigint"):
                sf.groupby("y", {"all": aggregate("concat", "x")}).materialize()


def weighted_mean(types: Any, columns: Any, parameters: Any) -> ColumnAggregate:
    value, weight = columns

    def finish(products: Any, weights: Any, *, last: bool) -> pa.Array:
        total = weights.rounded()
        return pa.array(products.rounded() / np.where(total == 0.0, 1.0, total), mask=total == 0.0, from_pandas=False)

    return ColumnAggregate((ProductSum((value, weight)), FloatSum(weight, where=(value, weight))), finish)


@pytest.mark.spark
def test_an_aggregate_of_state_columns_works_wherever_there_are_aggregates() -> None:
    define_aggregate("test_weighted_mean", lambda types, parameters: FLOAT, of_columns=weighted_mean, arguments=2, order_sensitive=False)
    check_aggregate("test_weighted_mean", [2.0, None, 4.0, 5.0, 0.5, 1e300], [3, 1, 1, None, 0, 2])
    frame = SFrame({"k": [1, 2, 1, 2], "v": [2.0, 5.0, 4.0, None], "w": [3, 1, 1, 7], "t": [1, 2, 3, 4]})
    mean = aggregate("test_weighted_mean", "v", "w")
    assert list(frame.groupby("k", {"m": mean}).sort("k")["m"]) == [2.5, 5.0]
    assert list(frame.running({"m": mean}, by="k")["m"]) == [2.0, 5.0, 2.5, 5.0]
    assert reduce("test_weighted_mean", frame["v"], frame["w"]) == 3.0


def test_an_aggregate_of_state_columns_takes_threads_as_a_built_in_one_does() -> None:
    """No mark `spark`: groups that are too many for parts are put in order in this process too."""
    define_aggregate("test_threaded_mean", lambda types, parameters: FLOAT, of_columns=weighted_mean, arguments=2, order_sensitive=False)
    define_aggregate("test_held_mean", lambda types, parameters: FLOAT, of_columns=mean_by_python, arguments=2, order_sensitive=False)
    rows = 300_000
    frame = SFrame({"k": np.arange(rows) % 50_000, "v": np.arange(rows) * 0.5, "w": np.arange(rows) % 7})
    groups = frame.groupby("k", {"m": aggregate("test_threaded_mean", "v", "w")})
    assert "threads that each make a part" in groups.explain()
    assert "Python processes that each send a part" in frame.groupby("k", {"m": aggregate("test_held_mean", "v", "w")}).explain()
    values, weights = np.arange(rows).reshape(-1, 50_000) * 0.5, np.arange(rows).reshape(-1, 50_000) % 7
    assert list(groups["m"]) == pytest.approx(((values * weights).sum(axis=0) / weights.sum(axis=0)).tolist())


def mean_by_python(types: Any, columns: Any, parameters: Any) -> ColumnAggregate:
    return attrs.evolve(weighted_mean(types, columns, parameters), calls_python=True)
