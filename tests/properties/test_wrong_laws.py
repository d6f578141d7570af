"""The checks find wrong laws: ten of them, one at a time among the right ones, each within a bounded number of programs.

A hundred programs of a law's own operators are enough; the long run looks for it in programs of many operators.
"""

from __future__ import annotations

import random

import pytest

from sframe_spark.planner.law import Law
from sframe_spark.planner.optimizer import Optimizer
from sframe_spark.rewrite_laws import STAGES, builtin_laws
from tests.properties.counts import RIGHT_LAWS
from tests.properties.wrong_laws import WRONG_LAWS
from tests.random_programs.equivalence import LawRunner, NotEquivalent, check_rows
from tests.random_programs.plans import random_program

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


def programs_until_caught(rule: Law, kinds: tuple[str, ...], most: int) -> int | None:
    """Which random program shows that a law is wrong: the number of programs tried."""
    runner = LawRunner(Optimizer(STAGES, (rule, *builtin_laws())), settled=False)
    for seed in range(most):
        try:
            check_rows(random_program(random.Random(seed), kinds, most_steps=12), runner, random.Random(seed))
        except NotEquivalent as error:
            assert rule.equation in str(error)
            return seed + 1
    return None


EACH_LAW = pytest.mark.parametrize("rule", WRONG_LAWS, ids=[rule.equation for rule in WRONG_LAWS])


@pytest.mark.sampled(3)
@EACH_LAW
def test_a_wrong_law_is_caught_by_programs_of_its_operators(rule: Law) -> None:
    assert programs_until_caught(rule, WRONG_LAWS[rule], 100) is not None


@pytest.mark.campaign
@EACH_LAW
def test_a_wrong_law_is_caught_by_programs_of_many_operators(rule: Law) -> None:
    assert programs_until_caught(rule, KINDS, 600) is not None


def test_right_laws_alone_pass_the_same_check() -> None:
    assert programs_until_caught(builtin_laws()[0], KINDS, RIGHT_LAWS) is None
    assert all(programs_until_caught(builtin_laws()[0], kinds, 5) is None for kinds in WRONG_LAWS.values())


def test_ten_different_laws() -> None:
    assert len({rule.equation for rule in WRONG_LAWS}) == 10
    assert not {rule.equation for rule in WRONG_LAWS} & {rule.equation for rule in builtin_laws()}
