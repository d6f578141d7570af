"""Laws on random programs: every node means the same before and after optimization, whatever was materialised first."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.config import config
from tests.properties.counts import CLAIMS, FEW_KINDS, LARGE, LAWS
from tests.random_programs.equivalence import LawRunner, check_facts, check_program
from tests.random_programs.plans import RandomProgram, programs

HISTORIES = st.randoms(use_true_random=False)
# Some laws are for few rows, some for what goes to Spark.
SMALL_ROWS = st.sampled_from([config.small_rows, 0])


@settings(max_examples=LAWS)
@given(programs(), HISTORIES, SMALL_ROWS)
def test_every_node_after_a_random_history(program: RandomProgram, history: random.Random, small_rows: int) -> None:
    with config.using(small_rows=small_rows):
        check_program(program, LawRunner(), history)


@settings(max_examples=LARGE)
@given(programs(most_steps=30), HISTORIES, SMALL_ROWS)
def test_large_programs(program: RandomProgram, history: random.Random, small_rows: int) -> None:
    with config.using(small_rows=small_rows):
        check_program(program, LawRunner(), history)


@settings(max_examples=CLAIMS)
@given(programs())
def test_what_nodes_claim_before_anything_runs(program: RandomProgram) -> None:
    check_facts(program)


@pytest.mark.parametrize(
    "kinds",
    [("slice", "append", "filter", "sort", "top_rows"), ("project", "zip", "join", "group_by", "generalized_transform")],
    ids=["rows", "columns"],
)
@settings(max_examples=FEW_KINDS)
@given(st.data())
def test_few_kinds_of_operators_on_top_of_each_other(kinds: tuple[str, ...], data: st.DataObject) -> None:
    check_program(data.draw(programs(kinds, most_steps=12)), LawRunner(), data.draw(HISTORIES))
