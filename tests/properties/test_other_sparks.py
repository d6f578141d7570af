"""Random programs on Spark Connect, and on a cluster of three executor processes: `pytest tests/properties -m cluster`."""

from __future__ import annotations

import pytest

from tests.properties.other_sparks import last_line

MODULE, SEED, PROGRAMS = "tests.properties.other_sparks", 3000, 10
# The first ones are in every run of the tests, in `tests/session/test_connect.py`.
FEW_PROGRAMS = 4


@pytest.mark.cluster
def test_programs_on_three_executors() -> None:
    assert last_line(MODULE, "cluster", SEED, PROGRAMS) == f"{PROGRAMS} programs, local-cluster[3,1,700] with 3 executors"


@pytest.mark.cluster
def test_more_programs_on_spark_connect() -> None:
    assert last_line(MODULE, "connect", SEED + FEW_PROGRAMS, PROGRAMS) == f"{PROGRAMS} programs, Spark Connect on local[2]"
