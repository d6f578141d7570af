"""Members give the same on Spark as without it, for any number of ranges, and on a cluster: `pytest tests/properties -m cluster`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.properties.members_elsewhere import CALLS, SEGMENTS, SOURCES, jobs, outcome
from tests.properties.other_sparks import last_line


@pytest.mark.spark
@pytest.mark.parametrize("name", CALLS)
def test_members_do_not_depend_on_the_number_of_ranges(name: str, spark: Any) -> None:
    """One segment, two, or many, by turns."""
    expected, segments, before = outcome(name), (1, SEGMENTS, 2, SEGMENTS)[list(CALLS).index(name) % 4], jobs()
    assert outcome(name, segments) == expected, segments
    assert jobs() > before or name in SOURCES, "nothing was computed on Spark"


@pytest.mark.cluster
def test_members_on_three_executors() -> None:
    line = last_line("tests.properties.members_elsewhere")
    assert line == f"{len(CALLS)} calls, different: [], not on Spark: [], local-cluster[3,1,700] with 3 executors"
