"""Everything on Spark: rows do not depend on partitions, segments or adaptive replanning."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from sframe_spark.config import config
from tests.examples import square
from tests.properties.counts import IN_EACH_LAYOUT
from tests.random_programs.equivalence import EngineRunner, check_program, spark_layout
from tests.random_programs.plans import EXCHANGE_STEPS, random_program

LAYOUTS = tuple(itertools.product((1, 2, 7), (True, False)))


@pytest.mark.spark
@pytest.mark.parametrize(("partitions", "adaptive"), LAYOUTS)
def test_programs(spark: Any, partitions: int, adaptive: bool) -> None:
    first = 1_000 + IN_EACH_LAYOUT * LAYOUTS.index((partitions, adaptive))
    with spark_layout(partitions, adaptive) as options:
        for seed in range(first, first + IN_EACH_LAYOUT):
            check_program(random_program(random.Random(seed), most_steps=4), EngineRunner(options), random.Random(seed))


@pytest.mark.spark
@pytest.mark.parametrize(("partitions", "adaptive"), square(2, (1, 2, 7), (True, False)))
def test_one_program_in_every_layout(spark: Any, partitions: int, adaptive: bool) -> None:
    program = random_program(random.Random(7), [*EXCHANGE_STEPS, "append", "filter", "cumulative"], most_steps=5)
    with spark_layout(partitions, adaptive) as options:
        check_program(program, EngineRunner(options))


@pytest.mark.spark
@pytest.mark.parametrize("budget", [0, 100, 1_000])
def test_rows_do_not_depend_on_budgets_of_bytes(spark: Any, budget: int) -> None:
    with config.using(memory_budget=budget, batch_bytes=max(1, budget), single_task_rows=0):
        for seed in range(40 + budget, 43 + budget):
            check_program(random_program(random.Random(seed), most_steps=4), EngineRunner(), random.Random(seed))
