"""The long run: 10,000 random programs. `pytest tests/properties -m campaign`; SFRAME_SPARK_CAMPAIGN_SEED starts it elsewhere."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from sframe_spark.config import config
from tests.properties.test_spark import LAYOUTS
from tests.random_programs.equivalence import EngineRunner, LawRunner, check_program, spark_layout
from tests.random_programs.plans import DRIVER_STEPS, random_program

FIRST = int(os.environ.get("SFRAME_SPARK_CAMPAIGN_SEED", "1000000"))


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(12))
def test_laws(block: int) -> None:
    for seed in range(FIRST + 500 * block, FIRST + 500 * (block + 1)):
        choose = random.Random(seed)
        with config.using(small_rows=choose.choice((config.small_rows, 0))):
            check_program(random_program(choose, most_steps=choose.choice((6, 12, 25))), LawRunner(), choose)


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(8))
def test_driver(block: int) -> None:
    for seed in range(FIRST + 500 * block, FIRST + 500 * (block + 1)):
        choose = random.Random(seed)
        check_program(random_program(choose, tuple(DRIVER_STEPS), most_steps=choose.choice((6, 12, 25))), EngineRunner(), choose)


@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.parametrize(("partitions", "adaptive"), LAYOUTS)
def test_spark(spark: Any, partitions: int, adaptive: bool) -> None:
    first = FIRST + 100 * LAYOUTS.index((partitions, adaptive))
    with spark_layout(partitions, adaptive) as options:
        for seed in range(first, first + 50):
            check_program(random_program(random.Random(seed), most_steps=6), EngineRunner(options), random.Random(seed))
