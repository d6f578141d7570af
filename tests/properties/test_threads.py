"""Ranges of rows worked on by threads of this process, and rows gathered there: random programs, over ranges and batches of a few rows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sframe_spark.config import config
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.engine.planning import gathered
from sframe_spark.planner import pieces
from sframe_spark.testing.equivalence import EngineRunner, check_program
from sframe_spark.testing.plans import random_program

BLOCKS, PROGRAMS, FIRST = 6, 8, 700_000


def check(seed: int, most_steps: int) -> None:
    """A program whose rows, if more than a few, are made by threads where kernels make them, and by Spark elsewhere."""
    choose = random.Random(seed)
    room = choose.choice((None, None, 0, 300, 2_000, 20_000))
    with config.using(small_rows=choose.choice((1, 2, 5)), batch_rows=choose.choice((1, 2, 3, 100)), work_memory=room):
        options = MaterializeOptions(segments=choose.choice((1, 2, 7)), in_memory=choose.choice((0, 3, 100_000)))
        check_program(random_program(choose, most_steps=most_steps), EngineRunner(options), choose)


@pytest.fixture(autouse=True)
def in_short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that stay in memory stay in pieces of a few rows, and more than three are exchanged between threads."""
    monkeypatch.setattr(pieces, "FEW_ROWS", 1)
    monkeypatch.setattr(gathered, "LEAST_ROWS_SPLIT", 4)


@pytest.mark.spark
@pytest.mark.parametrize("block", range(BLOCKS))
def test_programs(spark: Any, block: int) -> None:
    for seed in range(FIRST + PROGRAMS * block, FIRST + PROGRAMS * (block + 1)):
        check(seed, most_steps=5)


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.parametrize("block", range(8))
def test_many_programs(spark: Any, block: int) -> None:
    for seed in range(FIRST + 1_000 + 100 * block, FIRST + 1_000 + 100 * (block + 1)):
        check(seed, most_steps=8)
