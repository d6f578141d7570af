"""The operator contract: what one gets without saying anything, and what a sequential operator adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pytest

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import domain_of
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Need, Operator, SequentialOperator, any_parameter, known_length
from sframe_spark.planner.operator_parameters import operator_parameters
from sframe_spark.types import INT
from tests.planner.sample import Step, leaf


@attrs.frozen
class Silent(Operator):
    """An operator that says nothing."""

    name: ClassVar[str] = "sample_silent"


@attrs.frozen
class RunningSum(SequentialOperator):
    """The sum of the values so far."""

    name: ClassVar[str] = "sample_running_sum"

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return inputs[0].schema

    def initial_state(self, facts: Sequence[Facts]) -> int:
        return 0

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> int:
        return sum(inputs[0].columns[0].to_pylist())

    def combine(self, first: int, second: int) -> int:
        return first + second

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: int) -> tuple[Chunk, int]:
        sums = []
        for value in inputs[0].columns[0].to_pylist():
            state += value
            sums.append(state)
        return Chunk.of([pa.array(sums, pa.int64())]), state


@attrs.frozen
class Holding(Operator):
    """An operator with a parameter that is not portable."""

    name: ClassVar[str] = "sample_holding"
    count: int
    function: Any = any_parameter()  # noqa: RUF009


FACTS = [Facts((INT,), Length.exactly(4))]


@pytest.mark.parametrize(
    "use",
    [
        lambda operator: operator.infer_type(FACTS),
        lambda operator: operator.plan_to_operator([], None),
        lambda operator: operator.kernel([], FACTS),
        lambda operator: operator.run_interval([], FACTS, 0, 1, [(0, 1)]),
    ],
)
def test_what_an_operator_does_not_have_is_refused_by_its_name(use: Callable[[Operator], Any]) -> None:
    with pytest.raises(PlanInvariantError, match="operator 'sample_silent'"):
        use(Silent())


def test_nothing_is_known_of_an_operator_that_says_nothing() -> None:
    silent = Silent()
    assert silent.infer_length(FACTS).rows is None and silent.infer_length(FACTS).at_most is None
    assert domain_of(silent, FACTS) is not FACTS[0].domain
    assert silent.requires(0) is Need.ORDERED
    assert not any((silent.row_wise, silent.deterministic, silent.has_kernel, silent.keeps_dense, silent.keeps_domain, silent.is_source))


def test_ranges_of_inputs_are_those_of_the_output() -> None:
    assert Silent().input_interval(0, 3, 8, FACTS) == (3, 8)


def test_a_sequential_operator_keeps_length_and_domain() -> None:
    node = RunningSum().make_planner_node(leaf(4))
    assert node.length == Length.exactly(4)
    assert node.facts.domain is node.inputs[0].facts.domain
    assert node.operator.requires(0) is Need.SEQUENTIAL


def test_the_kernel_of_a_sequential_operator_starts_from_its_initial_state() -> None:
    given = [Chunk.of([pa.array([1, 2, 3, 4])])]
    assert RunningSum().kernel(given, FACTS).columns[0].to_pylist() == [1, 3, 6, 10]


@pytest.mark.parametrize("missing", ["initial_state", "summarize", "combine", "advance"])
def test_a_sequential_operator_must_say_how(missing: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {"initial_state": (FACTS,), "summarize": ([], FACTS), "combine": (1, 2), "advance": ([], FACTS, 0)}
    with pytest.raises(PlanInvariantError, match="operator"):
        getattr(SequentialOperator(), missing)(*arguments[missing])


def test_parameters_are_described_by_name() -> None:
    assert Step("x").describe() == "label='x'"
    assert Silent().describe() == ""


def test_parameters_are_portable_unless_they_say_otherwise() -> None:
    function = len
    operator = Holding(3, function)
    assert operator_parameters(operator, portable=True) == {"count": 3}
    assert operator_parameters(operator, portable=False) == {"function": function}


def test_parameters_that_are_not_portable_are_compared_by_identity() -> None:
    first: list[int] = []
    assert Holding(1, first) == Holding(1, first)
    assert Holding(1, first) != Holding(1, [])
    assert hash(Holding(1, first)) == hash(Holding(1, first))


def test_the_length_that_is_known_speaks_for_those_that_are_not() -> None:
    unknown, exact = Facts((INT,), Length.unknown()), Facts((INT,), Length.exactly(2))
    assert known_length([unknown, exact]) == Length.exactly(2)
    assert known_length([unknown]) is unknown.length
