"""Reductions of ranges of rows: tasks send a few numbers each, and nothing is written or exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.shapes import stream
from sframe_spark.errors import UserFunctionError
from sframe_spark.explain.executed_spark_plans import recorded_plans
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.reduce_to_one_row import reduce_columns
from sframe_spark.values.arrow_to_python import decode
from tests.examples import by_turns, part

ROWS = 500
pytestmark = pytest.mark.spark


@pytest.fixture(params=[1, 7], autouse=True)
def on_spark(request: pytest.FixtureRequest, spark: Any) -> Iterator[None]:
    """All work is done by so many tasks, in batches of a few rows."""
    with config.using(small_rows=0, single_task_rows=0, default_segments=request.param, batch_rows=64):
        yield


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> str:
    place = str(tmp_path_factory.mktemp("parts") / "frame")
    numbers = [None if row % 11 == 0 else row * 7919 % 1000 - 400 for row in range(ROWS)]
    SFrame({"a": numbers, "f": [None if number is None else number * 0.25 for number in numbers], "row": range(ROWS)}).save(place)
    return place


PROGRAMS: dict[str, Callable[[SFrame], SArray]] = {
    "column": lambda sf: sf["a"],
    "floats": lambda sf: sf["f"],
    "expression": lambda sf: sf["f"] * 2 + sf["row"],
    "filter": lambda sf: sf[sf["a"] > 100]["f"],
    "nothing": lambda sf: sf[sf["a"] > 10_000]["f"],
    "slice": lambda sf: sf[7:431]["a"],
    "append": lambda sf: sf["a"].append(sf["a"] * 3),
    "running": lambda sf: sf["f"].cumulative_sum(),
    "rolling": lambda sf: sf["f"].rolling_mean(-2, 2, 1),
    "function": lambda sf: sf["a"].apply(lambda number: number % 13, dtype=int),
}
AGGREGATES = ("sum", "mean", "column_min", "column_max", "column_var", "column_std", "count_missing", "count")


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", part(PROGRAMS, 2))
def test_parts_give_what_a_query_gives(saved: str, name: str) -> None:
    column = PROGRAMS[name](load_sframe(saved))
    # Spark plans a sum as tens of columns: each program has half of them.
    wanted = [
        Aggregation(function, () if function == "count" else (0,), (1,) if function in ("column_var", "column_std") else ())
        for function in by_turns(AGGREGATES, 2, list(PROGRAMS).index(name) // 2)
    ]
    found, expected = (values(column, wanted, naive) for naive in (False, True))
    assert [type(value) for value in found] == [type(value) for value in expected]
    assert found == [pytest.approx(value, rel=1e-12, nan_ok=True) if isinstance(value, float) else value for value in expected]


def values(column: SArray, aggregations: list[Aggregation], naive: bool) -> list[Any]:
    node = reduce_columns(column._node, aggregations)
    with recorded_plans() as plans:
        materialize(node, MaterializeOptions(naive=naive))
    queries = [plan for plan in plans if plan.root.name != "MapPartitions"]
    assert bool(queries) is naive and bool(plans)
    return [decode(values, column_type)[0] for values, column_type in zip(node.operator.read(0, 1).columns, node.schema, strict=True)]


def test_results_of_a_function_are_neither_written_nor_computed_twice(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("rows are written")

    monkeypatch.setattr(stream, "write_range", refuse)
    results = load_sframe(saved)["row"].apply(lambda number: number + 1, dtype=int)
    assert results.sum() == ROWS * (ROWS + 1) // 2
    assert list(results.sort(ascending=False).head(2)) == [ROWS, ROWS - 1]


def test_an_error_of_a_function_is_told_with_its_input(saved: str) -> None:
    with pytest.raises(UserFunctionError, match="input: 321"):
        load_sframe(saved)["row"].apply(lambda number: 1 // (number - 321), dtype=int).sum()


def test_the_plan_says_so(saved: str) -> None:
    total = reduce_columns(load_sframe(saved)["a"]._node, [Aggregation("sum", (0,))])
    text = "\n".join(SFrame(_node=total, _names=["sum"]).explain(why=True).splitlines())
    assert "no exchange: each task sends one partial result" in text
    assert "DISAGREE" not in SFrame(_node=total, _names=["sum"]).explain(verify=True)
