"""Each look of a program takes one of the ways that the engine has, chosen at random: few rows, threads, processes, little memory, Spark.

In every other block Spark is taken to be elsewhere: its tasks do what threads do otherwise, and exchange rows.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from sframe_spark.engine import costs
from sframe_spark.engine.physical import site
from sframe_spark.engine.shapes import joins_in_memory, partial_states, plan_part_and_gathered_rows, stream
from sframe_spark.engine.shapes.joins_in_memory import can_stay
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import calls_pure_functions
from sframe_spark.engine.shapes.rows_near_this_process import is_cheaper_locally
from sframe_spark.planner import chunk
from sframe_spark.rewrite_laws import group_join_and_sort_algorithms as algorithm_choice
from tests.examples import examples
from tests.random_programs.equivalence import AnyPathRunner, check_program
from tests.random_programs.plans import random_program

BLOCKS, PROGRAMS, FIRST = 4, examples(10, every=3), 820_000


@pytest.fixture(autouse=True)
def in_short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in memory stay in short pieces, more than three are exchanged, and processes of ours work, as if no Spark had started, or do not."""
    monkeypatch.setattr(chunk, "MIN_CHUNK_ROWS", 2)
    monkeypatch.setattr(costs, "MIN_ROWS_SPLIT", 4)
    choose = random.Random(FIRST)
    monkeypatch.setattr(site, "is_spark_requested", lambda: choose.random() < 0.5)
    # Threads call functions that only compute, or leave them to others.
    for module in (stream, partial_states):
        monkeypatch.setattr(module, "calls_pure_functions", lambda root, at: choose.random() < 0.5 and calls_pure_functions(root, at))
    monkeypatch.setattr(costs, "STEPS_OF_SMALL_ROW", 10_000)


@pytest.fixture
def perhaps_elsewhere(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is elsewhere in every other block, and few bytes are for threads of the driver, or not."""
    if block % 2:
        choose = random.Random(block)
        monkeypatch.setattr(site, "is_spark_local", lambda: False)
        for module in (plan_part_and_gathered_rows, partial_states, stream):
            monkeypatch.setattr(module, "is_cheaper_locally", lambda root, at: choose.random() < 0.3 and is_cheaper_locally(root, at))
        monkeypatch.setattr(costs, "BYTES_OF_RANGE_OF_TASK", 50)


@pytest.fixture
def perhaps_without_few(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every other pair of blocks two rows are too many for the ways of few, and sides of joins often find no room, so that pieces are joined."""
    if block % 4 >= 2:
        choose = random.Random(block)
        monkeypatch.setattr(joins_in_memory, "can_stay", lambda sides, at: choose.random() < 0.3 and can_stay(sides, at))
        for module in (algorithm_choice, algorithm_choice):
            monkeypatch.setattr(module, "MAX_TIES", 1)


def check(seed: int, most_steps: int) -> None:
    choose = random.Random(seed)
    check_program(random_program(choose, most_steps=most_steps), AnyPathRunner(choose), choose)


@pytest.mark.spark
@pytest.mark.usefixtures("perhaps_elsewhere", "perhaps_without_few")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_programs(spark: Any, block: int) -> None:
    for seed in range(FIRST + PROGRAMS * block, FIRST + PROGRAMS * (block + 1)):
        check(seed, most_steps=6)


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.usefixtures("perhaps_elsewhere", "perhaps_without_few")
@pytest.mark.parametrize("block", range(8))
def test_many_programs(spark: Any, block: int) -> None:
    for seed in range(FIRST + 1_000 + 100 * block, FIRST + 1_000 + 100 * (block + 1)):
        check(seed, most_steps=9)
