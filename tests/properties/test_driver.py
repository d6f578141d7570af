"""The driver's path on random programs, without a JVM."""

from __future__ import annotations

import contextlib
import random
from unittest import mock

from hypothesis import given, settings, strategies as st

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.session import is_started
from tests.properties.counts import BUDGETS, DRIVER, SMALL_BATCHES
from tests.random_programs.equivalence import EngineRunner, check_program
from tests.random_programs.plans import DRIVER_STEPS, RandomProgram, programs

DRIVER_PROGRAMS = programs(tuple(DRIVER_STEPS))
HISTORIES = st.randoms(use_true_random=False)


def planned() -> contextlib.AbstractContextManager[object]:
    """A block in which few rows are planned like others."""
    return mock.patch.object(costs, "MAX_ROWS_RUN_DIRECTLY", -1)


@settings(max_examples=DRIVER)
@given(DRIVER_PROGRAMS, HISTORIES, st.booleans())
def test_every_node_after_a_random_history(program: RandomProgram, history: random.Random, by_plans: bool) -> None:
    started = is_started()
    with planned() if by_plans else contextlib.nullcontext():
        check_program(program, EngineRunner(), history)
    assert is_started() == started


@settings(max_examples=BUDGETS)
@given(DRIVER_PROGRAMS, HISTORIES, st.sampled_from([1, 40, 150]))
def test_rows_do_not_depend_on_budgets_of_bytes(program: RandomProgram, history: random.Random, size: int) -> None:
    with config.using(batch_bytes=size), planned():
        check_program(program, EngineRunner(), history)


@settings(max_examples=SMALL_BATCHES)
@given(DRIVER_PROGRAMS, HISTORIES, st.sampled_from([1, 2, 3]))
def test_rows_do_not_depend_on_the_size_of_batches(program: RandomProgram, history: random.Random, rows: int) -> None:
    with config.using(batch_rows=rows), planned():
        check_program(program, EngineRunner(), history)
