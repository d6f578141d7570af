"""Mistakes of those who write operators, laws and plans are told where they are made, in words."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pytest

import sframe_spark as sf
from sframe_spark import SArray, SFrame
from sframe_spark.errors import InvalidArgumentError, PlanInvariantError
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.plugin import FLOAT, Chunk, Operator, column_of, graph_from_json, graph_to_json, law, node_of, register
from sframe_spark.rewrite_laws import STAGES, builtin_laws, require_sound_laws
from tests.planner.plan_parameters import leaves, with_leaf


def test_a_law_of_an_unknown_stage() -> None:
    wrong = law("f(f(x)) = x", stage="pushdwn", on="transform")(lambda node: None)
    with pytest.raises(
        PlanInvariantError, match=r"the law 'f\(f\(x\)\) = x' should run in the stage 'pushdwn', which is not one of 'share', " r"'expand'"
    ):
        Optimizer(STAGES, [wrong])


def test_a_law_about_an_unknown_operator() -> None:
    wrong = law("f(f(x)) = x", stage="pushdown", on="tranform")(lambda node: None)
    with pytest.raises(PlanInvariantError, match="about the operator 'tranform', which is not registered: did you mean 'transform'"):
        require_sound_laws([wrong])


def test_two_laws_of_one_name() -> None:
    rule = law("f(f(x)) = x", stage="pushdown", on="transform")
    with pytest.raises(PlanInvariantError, match="two laws are named"):
        require_sound_laws([rule(lambda node: None), rule(lambda node: node)])


def test_the_laws_of_this_package_are_sound() -> None:
    laws = builtin_laws()
    require_sound_laws(laws)
    used = {law.stage for law in laws}
    assert all(used.intersection((stage.name, *stage.also)) for stage in STAGES)


def test_a_disabled_law_that_does_not_exist() -> None:
    with (
        sf.config.using(disabled_laws={"reverse(reverse(x)) == x"}),
        pytest.raises(
            InvalidArgumentError, match=r"disabled_laws contains 'reverse\(reverse\(x\)\) == x'.*did you mean " r"'reverse\(reverse\(x\)\) = x'"
        ),
    ):
        list(SArray([3, 1]).sort())
    with sf.config.using(disabled_laws={"reverse(reverse(x)) = x"}):
        assert list(SArray([3, 1]).sort()) == [1, 3]


def test_a_forgotten_decorator(own_registry: None) -> None:
    with pytest.raises(PlanInvariantError, match=r"test_a_forgotten_decorator.*Bare is not frozen: decorate it with @attrs\.frozen"):

        @register
        class Bare(Operator):
            name: ClassVar[str] = "bare"
            rows: int

    with pytest.raises(PlanInvariantError, match=r"decorate it with @attrs\.frozen, between @register and the class"):

        @attrs.frozen
        @register
        class Reversed(Operator):
            name: ClassVar[str] = "reversed"


def test_a_kernel_without_its_flag_and_a_flag_without_kernel(own_registry: None) -> None:
    with pytest.raises(PlanInvariantError, match=r"has a kernel\(\) that would not be called: set has_kernel = True"):

        @register
        @attrs.frozen
        class Silent(Operator):
            name: ClassVar[str] = "silent"

            def kernel(self, inputs: Any, facts: Any) -> Chunk:
                return inputs[0]

    with pytest.raises(PlanInvariantError, match=r"sets has_kernel = True but does not define kernel\(\)"):

        @register
        @attrs.frozen
        class Empty(Operator):
            name: ClassVar[str] = "empty"
            has_kernel: ClassVar[bool] = True


@attrs.frozen
class Wrong(Operator):
    """A kernel that gives something else than is inferred."""

    name: ClassVar[str] = "wrong_kernel"
    has_kernel: ClassVar[bool] = True
    row_wise: ClassVar[bool] = True
    gives: tuple[Any, ...]

    def infer_type(self, inputs: Any) -> Any:
        return (FLOAT,)

    def kernel(self, inputs: Any, facts: Any) -> Chunk:
        return Chunk.of(list(self.gives))

    def plan_to_operator(self, inputs: Any, context: Any) -> Any:
        raise AssertionError("few rows are computed on the driver")


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        ([pa.array([1, 2])], "gave Arrow's int64 in column 0, its infer_type says float, which is double: cast it, or infer another type"),
        ([pa.array([1.0, 2.0])] * 2, "gave 2 columns, its infer_type says 1"),
        ([pa.array([1.0])], "gave 1 rows of 2, and it is row_wise"),
    ],
)
def test_a_kernel_that_does_not_give_what_is_inferred(gives: list[Any], message: str) -> None:
    column = column_of(Wrong(tuple(gives)).make_planner_node(node_of(SArray([1, 2]))))
    with pytest.raises(PlanInvariantError, match=f"the kernel of 'wrong_kernel' {message}"):
        list(column)
    with pytest.raises(PlanInvariantError, match="wrong_kernel"):
        list(column_of(Wrong(tuple(gives)).make_planner_node(node_of(SArray([1, 2])))) + 1)


def plans() -> dict[str, str]:
    """Plans whose operators have parameters with few values."""
    x = SArray([3, 1, 2])
    frame = SFrame({"t": [1, 2, 3], "v": [1.0, 2.0, 3.0]})
    return {
        "cumulative": graph_to_json(node_of(x.cumulative_sum())),
        "rolling": graph_to_json(node_of(x.rolling_sum(-1, 0))),
        "join": graph_to_json(node_of(frame.join(frame, on="t", how="left"))),
        "asof_join": graph_to_json(node_of(frame.asof_join(frame, on="t"))),
        "intervals": graph_to_json(node_of(frame.groupby_intervals("t", 2, operations={"n": sf.aggregate.COUNT}))),
        "group_by": graph_to_json(node_of(frame.groupby("t", {"s": sf.aggregate.SUM("v")}))),
        "transform": graph_to_json(node_of(x + 1)),
    }


@pytest.mark.parametrize("name", ["cumulative", "rolling", "join", "asof_join", "intervals", "group_by", "transform"])
def test_a_plan_with_a_parameter_that_does_not_exist_is_refused(name: str) -> None:
    text = plans()[name]
    graph_from_json(text)
    content, tried = json.loads(text), 0
    for place, node in enumerate(content["nodes"]):
        for path, value in leaves(node["parameters"]):
            if not isinstance(value, str) or str(path[-1]).startswith("$"):
                continue
            with pytest.raises(InvalidArgumentError):
                graph_from_json(json.dumps(with_leaf(content, ("nodes", place, "parameters", *path), value + "m")))
            tried += 1
    assert tried


def test_parameters_have_their_domains_for_everybody() -> None:
    from sframe_spark.operators.row_selection import slice_rows
    from sframe_spark.operators.window.cumulative import cumulative

    x = node_of(SArray([1, 2]))
    with pytest.raises(InvalidArgumentError, match=r"'kind' of the operator 'cumulative' must be one of 'sum', .* not 'summ': did you mean 'sum'"):
        cumulative(x, "summ")
    with pytest.raises(InvalidArgumentError, match="'start' of the operator 'slice' must be 0 or more, not -1"):
        slice_rows(x, -1, 2)
    with pytest.raises(InvalidArgumentError, match="'step' of the operator 'slice' must be 1 or more, not 0"):
        slice_rows(x, 0, 2, 0)
