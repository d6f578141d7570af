"""Laws and stages as values."""

from __future__ import annotations

import attrs
import pytest

from sframe_spark.planner.law import Law, Stage, law
from sframe_spark.planner.node import PlannerNode
from tests.planner.sample import leaf, step


@law("step(x) = x", stage="first", on="sample_step")
def drop_step(node: PlannerNode) -> PlannerNode | None:
    """A step above x is x."""
    return node.inputs[0]


def test_a_law_is_named_by_its_equation() -> None:
    assert isinstance(drop_step, Law)
    assert (drop_step.equation, drop_step.stage) == ("step(x) = x", "first")
    assert drop_step.operators == {"sample_step"}
    assert not drop_step.whole_graph


def test_a_law_is_called_as_the_function_it_was() -> None:
    source = leaf()
    assert drop_step(step(source)) is source


@pytest.mark.parametrize(("on", "wanted"), [((), set()), ("a", {"a"}), (("a", "b"), {"a", "b"})])
def test_the_left_hand_side_starts_with_any_of_the_operators(on: str | tuple[str, ...], wanted: set[str]) -> None:
    rule = law("x = x", stage="first", on=on)(lambda node: None)
    assert rule.operators == wanted


def test_laws_and_stages_are_frozen_values() -> None:
    assert Stage("first", "because") == Stage("first", "because")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        drop_step.stage = "second"  # type: ignore[misc]
