"""Ranges of rows worked on by threads of this process, and rows gathered there: random programs, over ranges and batches of a few rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from unittest import mock

import pytest

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime import task_runners
from sframe_spark.engine.shapes import joins_in_memory
from sframe_spark.engine.shapes.joins_in_memory import can_stay
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Strategy
from sframe_spark.planner import chunk
from sframe_spark.rewrite_laws import group_join_and_sort_algorithms as algorithm_choice
from tests.examples import examples
from tests.random_programs.equivalence import EngineRunner, check_program
from tests.random_programs.plans import ALL_STEPS, random_program
from tests.strategies import HASH_JOIN_BY_THREADS

BLOCKS, PROGRAMS, FIRST = 6, examples(8, every=3), 700_000
# Programs of what is seldom met among all steps.
OF_JOINS = ("join", "join", "join", "filter", "sort", "group_by", "append", "project", "cumulative")


def check(seed: int, most_steps: int, kinds: Sequence[str] = tuple(ALL_STEPS)) -> None:
    """A program whose rows, if more than a few, are made by threads where kernels make them, and by Spark elsewhere."""
    choose = random.Random(seed)
    room = choose.choice((None, None, 0, 300, 2_000, 20_000))
    # Few threads make running values in the order of the rows, more of them side by side.
    threads = choose.choice((1, 2, 8))
    with (
        mock.patch.object(task_runners, "local_threads", lambda: threads),
        config.using(small_rows=choose.choice((1, 2, 5)), batch_rows=choose.choice((1, 2, 3, 100)), work_memory=room),
    ):
        options = MaterializeOptions(segments=choose.choice((1, 2, 7)), in_memory=choose.choice((0, 3, 100_000)))
        check_program(random_program(choose, kinds, most_steps), EngineRunner(options), choose)


@pytest.fixture(autouse=True)
def in_short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that stay in memory stay in pieces of a few rows, and more than three are exchanged between threads."""
    monkeypatch.setattr(chunk, "MIN_CHUNK_ROWS", 1)
    monkeypatch.setattr(costs, "MIN_ROWS_SPLIT", 4)


@pytest.fixture
def perhaps_without_few(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every other block two rows are too many for the ways of few, and sides of joins often find no room, so that pieces are joined."""
    if block % 2:
        choose = random.Random(block)
        monkeypatch.setattr(joins_in_memory, "can_stay", lambda sides, at: choose.random() < 0.3 and can_stay(sides, at))
        for module in (algorithm_choice, algorithm_choice):
            monkeypatch.setattr(module, "MAX_TIES", 1)


@pytest.mark.spark
@pytest.mark.usefixtures("perhaps_without_few")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_programs(spark: Any, block: int) -> None:
    for seed in range(FIRST + PROGRAMS * block, FIRST + PROGRAMS * (block + 1)):
        check(seed, most_steps=5)


@pytest.mark.spark
@pytest.mark.usefixtures("perhaps_without_few")
@pytest.mark.parametrize("block", [1, 3])
def test_programs_of_joins(spark: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, run = list[Strategy](), SectionRunner.run
    monkeypatch.setattr(SectionRunner, "run", lambda self, section: ran.append(section.strategy) or run(self, section))
    for seed in range(FIRST + 500 + 4 * PROGRAMS * block, FIRST + 500 + 4 * PROGRAMS * (block + 1)):
        check(seed, most_steps=5, kinds=OF_JOINS)
    assert ran.count(HASH_JOIN_BY_THREADS) > 1


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.usefixtures("perhaps_without_few")
@pytest.mark.parametrize("block", range(1, 9, 2))
def test_many_programs_of_joins(spark: Any, block: int) -> None:
    for seed in range(FIRST + 2_000 + 100 * block, FIRST + 2_000 + 100 * (block + 1)):
        check(seed, most_steps=8, kinds=OF_JOINS)


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.usefixtures("perhaps_without_few")
@pytest.mark.parametrize("block", range(8))
def test_many_programs(spark: Any, block: int) -> None:
    for seed in range(FIRST + 1_000 + 100 * block, FIRST + 1_000 + 100 * (block + 1)):
        check(seed, most_steps=8)
