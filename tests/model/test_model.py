"""Random programs over many live handles, read through every door, beside a plain-Python model.

A failure prints a short program; ``python -c 'from tests.model.run import replay; replay(\"\"\"...\"\"\")'`` runs it again.
``python -m pytest tests/model -m campaign`` runs 20,000 of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark.config import config
from tests.examples import examples
from tests.model.doors import COLUMN_DOORS, DOORS, FRAME_DOORS
from tests.model.programs import program_of
from tests.model.run import failure_of, replay, shrunk
from tests.model.values import Refused

ON_DRIVER, ON_SPARK = 470, examples(12, every=3)
GROUPS, SPARK_GROUPS = 4, 3
IN_CAMPAIGN, CAMPAIGN_GROUPS, ON_SPARK_IN_CAMPAIGN = 19_500, 195, 500
# Of a few rows a batch.
BATCHES = (None, 2, 5)
FIRST_ON_SPARK, FIRST_IN_CAMPAIGN = 500_000, 1_000_000


def check(seed: int, on_spark: bool = False) -> None:
    """Run the program of a seed; where it fails, say so with a short one."""
    steps, usual_doors, most_doors, most_runs = (8, 0, 3, 40) if on_spark else (11, 1, 8, 300)
    # Every tenth program reads every handle through many doors at its end.
    program = program_of(seed, steps, most_doors if seed % 10 == 0 else usual_doors, on_spark)
    batch_rows = BATCHES[seed % len(BATCHES)]
    failure = failure_of(program, batch_rows)
    if failure is not None:
        short = shrunk(program, lambda part: failure_of(part, batch_rows), most_runs)
        raise AssertionError(f"seed {seed}, batch_rows={batch_rows}\n{short or failure}")


@pytest.mark.parametrize("group", range(GROUPS))
def test_programs_on_the_driver(group: int) -> None:
    for seed in range(group, examples(ON_DRIVER), GROUPS):
        check(seed)


@pytest.mark.spark
@pytest.mark.parametrize("group", range(SPARK_GROUPS))
def test_programs_on_spark(spark: Any, group: int) -> None:
    with config.using(small_rows=0):
        for seed in range(FIRST_ON_SPARK + group, FIRST_ON_SPARK + ON_SPARK, SPARK_GROUPS):
            check(seed, on_spark=True)


# A few of so many group by floats that are not all numbers, which is Spark's.
@pytest.mark.campaign
@pytest.mark.spark
@pytest.mark.parametrize("group", range(CAMPAIGN_GROUPS))
def test_many_programs_on_the_driver(group: int) -> None:
    first = FIRST_IN_CAMPAIGN + group * IN_CAMPAIGN // CAMPAIGN_GROUPS
    for seed in range(first, first + IN_CAMPAIGN // CAMPAIGN_GROUPS):
        check(seed)


@pytest.mark.campaign
@pytest.mark.spark
def test_many_programs_on_spark(spark: Any) -> None:
    with config.using(small_rows=0):
        for seed in range(FIRST_ON_SPARK + ON_SPARK, FIRST_ON_SPARK + ON_SPARK + ON_SPARK_IN_CAMPAIGN):
            check(seed, on_spark=True)


def test_a_program_is_the_same_every_time() -> None:
    assert program_of(3) == program_of(3) != program_of(4)


def test_programs_open_every_door_and_make_every_kind_of_handle() -> None:
    lines = [line for seed in range(60) for line in program_of(seed, last_doors=None)]
    opened = {line.split("'")[3] for line in lines if line.startswith("look(")}
    assert opened == {door.__name__ for door in {*COLUMN_DOORS, *FRAME_DOORS}}
    assert opened < set(DOORS)
    for text in ("together(", "take(", "inplace=True", "del ", ".groupby(", ".append(", "reloaded(", ".copy()", ".cumulative_"):
        assert any(text in line for line in lines), text


def test_a_program_that_the_model_does_not_know_is_refused() -> None:
    with pytest.raises(Refused):
        replay("h1 = SArray([1, 2], int)\nh2 = h1 + h3")
