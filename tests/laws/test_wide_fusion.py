"""Plans of wide frames: what a law looks at grows as the columns do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.expressions.scalar_function_program import Register
from sframe_spark.operators.elementwise import GeneralizedTransform, apply_function
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.order import OrderingProperties, properties as ordering_module
from sframe_spark.order.properties import RelationProperties
from sframe_spark.rewrite_laws import fusion, optimize


def shifted(columns: int) -> SFrame:
    """A frame of which every fourth column is shifted, one after the other."""
    frame = SFrame({f"x{number}": [number, number + 1, number + 2] for number in range(columns)})
    for number in range(0, columns, 4):
        frame[f"x{number}"] = frame[f"x{number}"].shift(1)
    return frame


def chained(columns: int) -> SFrame:
    """A frame whose columns are each made of the one before."""
    frame = SFrame({"x0": [1, 2, 3]})
    for number in range(1, columns):
        frame[f"x{number}"] = frame[f"x{number - 1}"] + 1
    return frame


def beside(columns: int) -> SFrame:
    """A frame whose columns are each made of the first."""
    frame = SFrame({"x0": [1, 2, 3]})
    for number in range(1, columns):
        frame[f"x{number}"] = frame["x0"] * number
    return frame


def steps_of_fusion(frame: SFrame) -> int:
    """How many lines of the law are run to plan a frame, each turn of a loop counted."""
    node, count = frame._node, 0

    def counting(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return counting

    def entered(frame: FrameType, _: str, __: Any) -> Any:
        return counting if frame.f_code.co_filename == fusion.__file__ else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        optimize(node)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("made", [shifted, chained, beside], ids=lambda made: made.__name__)
def test_fusion_grows_as_the_columns_do(made: Callable[[int], SFrame]) -> None:
    few, many = steps_of_fusion(made(80)), steps_of_fusion(made(320))
    # The square would be 16, the cube 64.
    assert 0 < many < 5 * few


def test_leaves_and_steps_stand_in_the_order_of_the_columns_wherever_they_are_reached_first() -> None:
    first, second = range_source(0, 4), range_source(10, 4)
    sums = apply_function("add", project(zip_columns(first, second), [1]), project(zip_columns(first, second), [0]))
    plan = optimize(zip_columns(sums, sort_rows(first, [(0, False)]), second, first))
    program = plan.operator
    assert isinstance(program, GeneralizedTransform)
    assert [child.operator for child in plan.inputs[0].inputs[:2]] == [first.operator, second.operator]
    assert program.computation.outputs[0] == Register(program.computation.width)


def test_a_region_that_reads_no_column_has_the_rows_of_its_first_leaf() -> None:
    frame = SFrame({"a": [1, 2, 3]}).sort("a", ascending=False)
    frame["b"] = 7
    frame["c"] = frame["a"].shift(1)
    assert list(frame[["b"]]) == [{"b": 7}] * 3 and len(frame[frame["b"] == 7]) == 3


def test_values_are_those_of_each_column() -> None:
    frame = shifted(41)
    assert list(frame)[1] == {f"x{number}": number if not number % 4 else number + 1 for number in range(41)}
    assert list(frame[["x40", "x3"]]) == [{"x40": None, "x3": 3}, {"x40": 40, "x3": 4}, {"x40": 41, "x3": 5}]


def test_orders_side_by_side_are_those_of_two_and_two(monkeypatch: pytest.MonkeyPatch) -> None:
    first = RelationProperties(OrderingProperties(orderings=[[(0, "asc"), (1, "desc")]], keys=[[0, 1]], not_null=[0]), bounds={0: (1, 9)})
    second = RelationProperties(OrderingProperties(constants=[0], orderings=[[(1, "asc")]]), bounds={1: (5, 5)})
    third = RelationProperties(OrderingProperties(orderings=[[(0, "desc")]], functional_dependencies=[[[0], [1]]]))
    nothing = RelationProperties()
    together = RelationProperties.side_by_side([first, second, nothing, third], [2, 2, 1, 2])
    pairs = RelationProperties.side_by_side([RelationProperties.side_by_side([first, second], [2, 2]), nothing, third], [4, 1, 2])
    assert together == pairs and together.bounds == {0: (1, 9), 3: (5, 5)}
    assert together.order.satisfies([(2, "asc"), (5, "desc")])
    settled: list[object] = []
    original = ordering_module.normal_form
    monkeypatch.setattr(ordering_module, "normal_form", lambda facts: settled.append(facts) or original(facts))
    RelationProperties.side_by_side([second] * 300, [2] * 300)
    assert len(settled) == 1


@pytest.mark.parametrize("make", [shifted, chained, beside])
def test_columns_of_what_is_fused_are_not_numbered_again(make: Callable[[int], SFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = optimize(make(8)._node)
    numbered: list[Any] = []
    monkeypatch.setattr(fusion.NumberedColumns, "add", lambda columns, node: numbered.append(node))
    assert fusion.fuse_rowwise(plan) in (None, plan) and numbered == []
