"""Random programs: everything that is claimed of them agrees, and every plan can be explained."""

from __future__ import annotations

from hypothesis import given, settings

from sframe_spark.config import config
from sframe_spark.explain.column_names import ColumnNames
from sframe_spark.explain.sort_and_exchange_reasons import order_reasons
from sframe_spark.explain.verification import verification
from sframe_spark.planner.optimizer import Trace
from sframe_spark.rewrite_laws import optimize
from tests.examples import examples
from tests.random_programs.plans import DRIVER_STEPS, RandomProgram, programs

DRIVER_PROGRAMS = programs(tuple(DRIVER_STEPS))


@settings(max_examples=examples(40))
@given(DRIVER_PROGRAMS)
def test_claims_of_random_programs_agree(program: RandomProgram) -> None:
    for node in program.nodes:
        before = (node.operator, node.inputs)
        lines = verification(node, [f"n{position}" for position in range(node.facts.width)])
        assert lines[-1].endswith("all agree"), "\n".join(lines)
        assert (node.operator, node.inputs) == before


@settings(max_examples=examples(60))
@given(DRIVER_PROGRAMS)
def test_reasons_are_given_for_random_programs(program: RandomProgram) -> None:
    node = program.nodes[-1]
    trace = Trace()
    for small in (0, 1_000):
        with config.using(small_rows=small):
            plan = optimize(node, None, trace)
            names = ColumnNames.of_plan(plan, [f"n{position}" for position in range(node.facts.width)], trace, node)
            assert all(line.strip() for line in order_reasons(plan, trace, names))
