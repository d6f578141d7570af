"""Laws of lag on plans given as text: each alone, with a case where it fires and one where it must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from sframe_lag.laws import LAWS
from sframe_lag.operators import Lag

from sframe_spark.plugin import INT, STAGES
from sframe_spark.testing.golden_plans_of_laws import LawCase, laws_without_cases, read_case_files, run_case
from sframe_spark.testing.law_contract import check_law

CASES = [case for cases in read_case_files(Path(__file__).parent / "laws").values() for case in cases]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_law_alone(case: LawCase) -> None:
    assert run_case(case, LAWS, STAGES) is None


def test_rows_are_the_same_with_the_law_and_without_it() -> None:
    check_law(LAWS[0], lambda rows: Lag(2).make_planner_node(Lag(3).make_planner_node(rows)), INT)


def test_every_law_has_a_case_where_it_fires_and_one_where_it_must_not() -> None:
    assert laws_without_cases(LAWS, CASES) == []
