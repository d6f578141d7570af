"""Random programs of ordered operations give what Polars and pandas give, but for documented differences.

The normal run takes some of 300 programs of each; ``-m campaign`` all of them, from ``SFRAME_SPARK_CAMPAIGN_SEED`` on. Each runs from memory and
from one, two and seven segments, with room and with hardly any.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.peer_programs import differences, programs
from tests.peer_programs.programs import OPERATIONS, check_program, random_peer_program
from tests.random_programs.equivalence import spark_layout

ROOT = Path(__file__).parents[2]
FIRST = int(os.environ.get("SFRAME_SPARK_CAMPAIGN_SEED", "0"))
PEERS = ("polars", "pandas")
IN_CAMPAIGN, BLOCKS = 300, 10
ALWAYS = 30


def check_programs(peer: str, first: int, count: int, **how: Any) -> None:
    """Compare programs of numbers from `first` on; what pandas warns of is not its answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + count):
            check_program(random_peer_program(seed, peer), **how)


@pytest.mark.parametrize("peer", PEERS)
def test_some_programs(peer: str) -> None:
    check_programs(peer, 1_000_000, ALWAYS)


@pytest.mark.campaign
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_all_programs(peer: str, block: int) -> None:
    check_programs(peer, FIRST + block * IN_CAMPAIGN // BLOCKS, IN_CAMPAIGN // BLOCKS)


@pytest.mark.spark
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("partitions", [2, 7])
def test_programs_in_the_tasks_of_spark(spark: Any, peer: str, partitions: int) -> None:
    with spark_layout(partitions, adaptive=True):
        check_programs(peer, 2_000_000 + partitions, 4, ways=(partitions,), little=False)


@pytest.mark.parametrize("peer", PEERS)
def test_each_operation_is_in_some_program(peer: str) -> None:
    drawn = {type(operation) for seed in range(IN_CAMPAIGN) for operation, _ in random_peer_program(seed, peer).steps}
    assert drawn == {type(operation) for operation in OPERATIONS}


@pytest.mark.parametrize("name", differences.DIFFERENCES)
def test_each_difference_is_documented(name: str) -> None:
    page, words = differences.DIFFERENCES[name]
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert words in text


def test_differences_without_a_line_are_refused() -> None:
    with pytest.raises(AssertionError, match="'Polars is wrong' is not a documented difference"):
        differences.differs("Polars is wrong")


@pytest.mark.parametrize("peer", PEERS)
def test_a_wrong_value_is_told_with_its_program(peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = next(program for program in (random_peer_program(seed, peer) for seed in range(99)) if program.table.rows > 10 and program.steps)
    check_program(program)
    there = programs.columns_there
    monkeypatch.setattr(programs, "columns_there", lambda frame: {name: [*values[:-1], -77.0] for name, values in there(frame).items()})
    with pytest.raises(AssertionError, match=rf"program {program.seed} of {peer}.*(?s:.*)here, .* there"):
        check_program(program)
