"""Operations give the recorded values with the Spark that is installed, on the driver and as queries and jobs of Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.versions.operations import OPERATIONS, PLACES, recorded, value_of

VALUES = recorded()


def test_all_operations_are_recorded() -> None:
    assert list(VALUES) == list(OPERATIONS)


@pytest.mark.spark
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_are_those_of_every_version(name: str, place: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if PLACES[place]:
        monkeypatch.setenv("SFRAME_SPARK_SMALL_ROWS", PLACES[place])
    assert value_of(name) == VALUES[name]
