"""The checks find wrong laws: ten of them, one at a time among the right ones, each within a bounded number of programs."""

from __future__ import annotations

import random

import pytest

from sframe_spark.operators.laws import STAGES, builtin_laws
from sframe_spark.planner.law import Law
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.testing.equivalence import LawRunner, NotEquivalent, check_program
from sframe_spark.testing.plans import random_program
from tests.properties.wrong_laws import WRONG_LAWS

MOST_PROGRAMS = 600

# Fixed, so that operators that are added do not make programs of these rarer.
KINDS = (
    "append",
    "cumulative",
    "filter",
    "generalized_transform",
    "group_by",
    "join",
    "lambda_transform",
    "project",
    "row_number",
    "slice",
    "sort",
    "top_rows",
    "transform",
    "zip",
)


def programs_until_caught(rule: Law, most: int = MOST_PROGRAMS) -> int | None:
    """Which random program shows that a law is wrong: the number of programs tried."""
    runner = LawRunner(Optimizer(STAGES, (rule, *builtin_laws())), settled=False)
    for seed in range(most):
        try:
            check_program(random_program(random.Random(seed), KINDS, most_steps=12), runner, random.Random(seed))
        except NotEquivalent as error:
            assert rule.equation in str(error)
            return seed + 1
    return None


@pytest.mark.parametrize("rule", WRONG_LAWS, ids=[rule.equation for rule in WRONG_LAWS])
def test_a_wrong_law_is_caught(rule: Law) -> None:
    assert programs_until_caught(rule) is not None


def test_right_laws_alone_pass_the_same_check() -> None:
    assert programs_until_caught(builtin_laws()[0], most=150) is None


def test_ten_different_laws() -> None:
    assert len({rule.equation for rule in WRONG_LAWS}) == 10
    assert not {rule.equation for rule in WRONG_LAWS} & {rule.equation for rule in builtin_laws()}
