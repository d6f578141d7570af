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


def programs_until_caught(rule: Law) -> int | None:
    """Which random program shows that a law is wrong: the number of programs tried."""
    runner = LawRunner(Optimizer(STAGES, (rule, *builtin_laws())), settled=False)
    for seed in range(MOST_PROGRAMS):
        try:
            check_program(random_program(random.Random(seed), most_steps=12), runner, random.Random(seed))
        except NotEquivalent as error:
            assert rule.equation in str(error)
            return seed + 1
    return None


@pytest.mark.parametrize("rule", WRONG_LAWS, ids=[rule.equation for rule in WRONG_LAWS])
def test_a_wrong_law_is_caught(rule: Law) -> None:
    assert programs_until_caught(rule) is not None


def test_right_laws_alone_pass_the_same_check() -> None:
    rule = builtin_laws()[0]
    assert programs_until_caught(rule) is None


def test_ten_different_laws() -> None:
    assert len({rule.equation for rule in WRONG_LAWS}) == 10
    assert not {rule.equation for rule in WRONG_LAWS} & {rule.equation for rule in builtin_laws()}
