"""Who runs what plug-ins define: threads what says so, this process kernels of all rows, and Java only what is left.

No mark ``spark``, where Spark is not meant: a plan that needed Java would fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow.compute as pc
import pytest

import sframe_spark as sfs
from sframe_spark import SArray, SFrame
from sframe_spark.errors import SFrameError, TooLargeError, UnsupportedOperationError, UserFunctionError
from sframe_spark.explain.dry_run import plan_dry_run
from sframe_spark.plugin import (
    FLOAT,
    INT,
    Chunk,
    Decomposition,
    Need,
    Operator,
    RangeSplit,
    WholeKernel,
    aggregate_of,
    call,
    column_of,
    define_aggregate,
    define_function,
    node_of,
    register,
)
from tests.strategies import RANGE_SHUFFLE_BY_THREADS, STREAM_BY_PROCESSES, STREAM_BY_THREADS, WHOLE_BY_THREADS

ROWS = 300_000


@pytest.fixture(autouse=True)
def registered(own_registry: None) -> None:
    """The operators, for the time of a test."""
    for operator in (Doubled, DoubledInProcesses, Largest, LargestOfRanges):
        register(operator)


def halved(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
    return pc.multiply(arguments[0].cast("double", safe=False), 0.5)


define_function("threads_halved", lambda types, parameters: FLOAT, halved, arguments=1, threads=True)
define_function("processes_halved", lambda types, parameters: FLOAT, halved, arguments=1)


def numbers(rows: int = ROWS) -> SFrame:
    return SFrame({"k": np.arange(rows) % 7, "v": np.arange(rows) * 7919 % rows})


def strategies(data: SFrame | SArray) -> list[Any]:
    return [section.strategy for section in plan_dry_run(data._node).sections]


WITH_A_FUNCTION: dict[str, Callable[[SFrame, Callable[[SArray], SArray]], SFrame]] = {
    "a column": lambda sf, of: sf.add_column(of(sf["v"]), "w"),
    "a filter": lambda sf, of: sf[of(sf["v"]) > 3.0],
    "a sort": lambda sf, of: sf.add_column(of(sf["v"]), "w").sort("w"),
    "groups": lambda sf, of: sf.add_column(of(sf["v"]), "w").groupby("k", {"s": sfs.aggregate.SUM("w")}).sort("k"),
    "a running value": lambda sf, of: sf.add_column(of(sf["v"]), "w").running({"s": sfs.aggregate.SUM("w")}),
    "a join": lambda sf, of: sf.add_column(of(sf["v"]), "w").join(SFrame({"w": [1.0, 2.5], "n": [1, 2]}), on="w"),
    "a function of the user's that only computes": lambda sf, of: sf.head(1_000).add_column(of(sf["v"].head(1_000).apply(lambda v: v + 1)), "w"),
}


@pytest.mark.parametrize("name", WITH_A_FUNCTION)
def test_a_function_for_threads_is_run_as_a_built_in_one(name: str, tmp_path: Path) -> None:
    numbers().save(str(tmp_path / "frame"))
    sf, build = sfs.load_sframe(str(tmp_path / "frame")), WITH_A_FUNCTION[name]
    with sfs.config.using(segment_rows=40_000):
        ours, theirs = build(sf, lambda column: column * 0.5), build(sf, lambda column: call("threads_halved", column))
        assert strategies(theirs) == strategies(ours)
        assert theirs.to_arrow().equals(ours.to_arrow())


def test_one_that_does_not_say_so_is_run_by_processes() -> None:
    assert strategies(call("processes_halved", numbers()["v"])) == [STREAM_BY_PROCESSES]
    assert strategies(call("threads_halved", numbers()["v"])) == [STREAM_BY_THREADS]


def run_of(column: SArray) -> list[str]:
    column.materialize()
    return [outcome.strategy.text for outcome in column._node.ran.outcomes]


def test_few_rows_of_what_is_for_threads_need_no_plan() -> None:
    assert run_of(call("threads_halved", SArray([1, 2]))) == run_of(SArray([1, 2]) * 0.5) == ["driver, without a plan"]
    assert run_of(call("processes_halved", SArray([1, 2]))) == ["driver"]
    assert run_of(column_of(Doubled().make_planner_node(node_of(SArray([1, 2]))))) == ["driver, without a plan"]


def test_a_kernel_may_wait_for_a_thread_that_computes_a_frame() -> None:
    def waiting(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.extend(SFrame({"a": [3, 1]}).sort("a")["a"]))
        thread.start()
        thread.join(30)
        return pc.add(arguments[0], found[0])

    define_function("threads_waiting", lambda t, p: INT, waiting, arguments=1, threads=True)
    assert list(call("threads_waiting", SArray([1, 2]))) == [2, 3]


def test_an_error_of_few_rows_names_the_function() -> None:
    define_function("threads_failing", lambda t, p: INT, lambda a, t, p, n: {}["x"], threads=True)
    with pytest.raises(UserFunctionError, match="the scalar function 'threads_failing' failed with KeyError: 'x'"):
        list(call("threads_failing", SArray([1])))


# Operators.


@attrs.frozen
class Doubled(Operator):
    name: ClassVar[str] = "threads_doubled"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    threads: ClassVar[bool] = True

    def infer_type(self, inputs: Any) -> Any:
        return (INT,)

    def kernel(self, inputs: Any, facts: Any) -> Chunk:
        return Chunk.of([pc.multiply(inputs[0].columns[0], 2)])


@attrs.frozen
class DoubledInProcesses(Doubled):
    name: ClassVar[str] = "processes_doubled"
    threads: ClassVar[bool] = False


def test_an_operator_for_threads_is_run_by_threads() -> None:
    column = numbers()["v"]
    in_threads = column_of(Doubled().make_planner_node(node_of(column)))
    assert strategies(in_threads) == [STREAM_BY_THREADS]
    assert strategies(column_of(DoubledInProcesses().make_planner_node(node_of(column)))) == [STREAM_BY_PROCESSES]
    assert in_threads.to_numpy().tolist() == (column * 2).to_numpy().tolist()


# A kernel of all rows.


class Calls:
    """How many threads call a kernel at a time, and which."""

    def __init__(self) -> None:
        self.at_once = self.most = 0
        self.threads: set[int] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            self.threads.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.at_once -= 1


CALLS: list[Calls] = [Calls()]


@pytest.fixture(autouse=True)
def calls() -> Iterator[Calls]:
    CALLS[0] = Calls()
    yield CALLS[0]


@attrs.frozen
class Largest(Operator):
    """The largest of the ints, of which only this process makes a row."""

    name: ClassVar[str] = "whole_largest"
    deterministic: ClassVar[bool] = True

    @property
    def whole_kernel(self) -> WholeKernel:
        return WholeKernel()

    def infer_type(self, inputs: Any) -> Any:
        return (INT,)

    def requires(self, slot: int) -> Need:
        return Need.ANY

    def kernel(self, inputs: Any, facts: Any) -> Chunk:
        with CALLS[0]:
            rows = inputs[0]
            return rows.rows_at(pc.array_sort_indices(rows.columns[0], order="descending")[:1])


@attrs.frozen
class LargestOfRanges(Largest):
    name: ClassVar[str] = "whole_largest_of_ranges"

    @property
    def whole_kernel(self) -> WholeKernel:
        return WholeKernel(RangeSplit(0, ascending=False, first_rows=1))


def largest(column: SArray, operator: Operator | None = None) -> SArray:
    return column_of((operator or Largest()).make_planner_node(node_of(column)))


WHOLE_OVER: dict[str, Callable[[SFrame], SArray]] = {
    "rows": lambda sf: largest(sf["v"]),
    "below another operator": lambda sf: largest(sf["v"]) + 0,
    "what processes compute": lambda sf: largest(call("processes_halved", sf["v"] * 2).astype(int)),
    "a filter": lambda sf: largest(sf[sf["k"] < 7]["v"]),
    "a sort": lambda sf: largest(sf.sort("v")["v"]),
    "groups": lambda sf: largest(sf.groupby("v", {"m": sfs.aggregate.MAX("v")})["m"]),
    "itself": lambda sf: largest(largest(sf["v"])),
    "both sides of an append": lambda sf: largest(sf["v"]).append(largest(sf["v"]))[1:],
}


@pytest.mark.parametrize("over", WHOLE_OVER)
@pytest.mark.parametrize("rows", [300_000, 3])
def test_a_kernel_of_all_rows_needs_no_spark(over: str, rows: int) -> None:
    assert list(WHOLE_OVER[over](numbers(rows))) == [rows - 1]


@pytest.mark.spark
@pytest.mark.parametrize("over", WHOLE_OVER)
def test_a_kernel_of_all_rows_runs_here_where_all_else_is_sparks(over: str) -> None:
    with sfs.config.using(small_rows=0):
        assert list(WHOLE_OVER[over](numbers(1_000))) == [999]
        found = SFrame({"v": WHOLE_OVER[over](numbers(1_000))}).to_spark().collect()
        assert [row["v"] for row in found] == [999]


def test_explain_says_that_rows_must_have_room() -> None:
    column = largest(numbers()["v"])
    assert strategies(column) == [WHOLE_BY_THREADS]
    assert "an error, if the rows that it reads take more than config.work_memory" in str(column.explain())


def test_rows_without_room_are_told_with_what_to_do() -> None:
    said = r"'whole_largest' needs all its rows at once.* raise config.work_memory, or define its plan_to_operator"
    with sfs.config.using(work_memory=4 << 20), pytest.raises(TooLargeError, match=said):
        list(largest(numbers(2_000_000)["v"]))


def test_rows_without_room_are_computed_range_by_range_in_turn(calls: Calls) -> None:
    with sfs.config.using(work_memory=64 << 20):
        column = largest(numbers(3_000_000)["v"], LargestOfRanges())
        assert strategies(column)[-1] == RANGE_SHUFFLE_BY_THREADS
        assert list(column) == [2_999_999]
    assert calls.most == 1


def test_what_spark_alone_may_compute_is_told() -> None:
    column = largest(numbers(10)["v"])
    with sfs.config.using(check="result"), pytest.raises(UnsupportedOperationError, match="'whole_largest' has no Spark lowering"):
        column.materialize()


def test_an_error_of_a_kernel_of_all_rows_names_its_operator() -> None:
    texts = SArray(["b", "a"] * 200_000)
    for column in (largest(texts[:2]), largest(texts)):
        with pytest.raises(SFrameError, match="whole_largest"):
            column.materialize()


@pytest.mark.spark
def test_a_kernel_of_ranges_without_lowering_is_run_above_a_query() -> None:
    with sfs.config.using(small_rows=0):
        above = column_of(DoubledInProcesses().make_planner_node(node_of(numbers(1_000).sort("v")["v"])))
        assert "processes_doubled has no Spark lowering" in str(above.explain())
        assert above.to_numpy().tolist() == list(range(0, 2_000, 2))


# Aggregates that are Python functions.


def spread(arrays: Any, types: Any, parameters: Any) -> Any:
    bounds = pc.min_max(arrays[0]).as_py()
    return None if bounds["max"] is None else bounds["max"] - bounds["min"]


define_aggregate("whole_spread", lambda types, parameters: INT, spread, order_sensitive=False)


def bounds(arrays: Any, rows: int, types: Any, parameters: Any) -> Any:
    found = pc.min_max(arrays[0]).as_py()
    return found["min"], found["max"]


def wider(first: Any, second: Any, types: Any) -> Any:
    return min(first[0], second[0]), max(first[1], second[1])


PARTS = Decomposition(bounds, wider, lambda part, types, parameters: part[1] - part[0])
define_aggregate("whole_spread_of_parts", lambda types, parameters: INT, parts=PARTS, order_sensitive=False)


@pytest.mark.parametrize("work_memory", [512 << 20, 24 << 20])
@pytest.mark.parametrize("groups", [7, 20_000])
@pytest.mark.parametrize("name", ["whole_spread", "whole_spread_of_parts"])
def test_groups_of_a_python_function_need_no_spark(name: str, groups: int, work_memory: int) -> None:
    frame = SFrame({"k": np.arange(ROWS) % groups, "v": np.arange(ROWS)})
    with sfs.config.using(work_memory=work_memory):
        found = frame.groupby("k", {"s": aggregate_of(name, "v")}).sort("k").to_arrow()
    first = np.arange(groups)
    assert found.column("s").to_pylist() == ((ROWS - 1 - first) // groups * groups).tolist()


def test_groups_by_texts_of_a_python_function_need_no_spark() -> None:
    keys = [f"key {number % 5_000}" for number in range(ROWS)]
    groups = SFrame({"k": keys, "v": np.arange(ROWS)}).groupby("k", {"s": aggregate_of("whole_spread", "v")})
    assert set(groups["s"]) == {ROWS - 5_000}
