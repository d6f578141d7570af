"""Fixtures of tests of the engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sframe_spark import config
from sframe_spark.session import is_started


@pytest.fixture
def over_ranges() -> Iterator[None]:
    """Few rows count as many, and no Spark is there when a test ends that was not before."""
    started = is_started()
    with config.using(small_rows=100, segment_rows=700, batch_rows=90, progress="off"):
        yield
    assert is_started() == started
