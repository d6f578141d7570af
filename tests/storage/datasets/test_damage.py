"""Damage of a saved frame is told, whichever way it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sframe_spark.config import config
from tests.storage.damage import DRIVER_DOORS, SPARK_DOORS, flips, frame_of_every_type, save_in_segments


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frame of several segments, written by the driver."""
    place = tmp_path_factory.mktemp("saved")
    save_in_segments(place)
    return place / "frame"


@pytest.mark.attack
def test_a_changed_byte_gives_right_rows_or_an_error(saved: Path, tmp_path: Path) -> None:
    counts, wrong = flips(saved, tmp_path, DRIVER_DOORS, 80, seed=1)
    assert wrong == [] and counts["refused"] > 60


@pytest.mark.campaign
def test_thousands_of_changed_bytes(saved: Path, tmp_path: Path) -> None:
    counts, wrong = flips(saved, tmp_path, DRIVER_DOORS, 5000, seed=2)
    assert wrong == [] and counts["refused"] > 4000


@pytest.fixture(scope="module")
def saved_by_spark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same frame, written by Spark."""
    place = tmp_path_factory.mktemp("spark") / "frame"
    with config.using(small_rows=0):
        frame_of_every_type().sort("name").save(str(place))
    assert any(file.name.startswith("part-") for file in place.iterdir())
    return place


@pytest.mark.spark
@pytest.mark.parametrize("writer", ["saved", "saved_by_spark"])
def test_a_changed_byte_on_spark(request: pytest.FixtureRequest, tmp_path: Path, writer: str) -> None:
    with config.using(small_rows=0):
        counts, wrong = flips(request.getfixturevalue(writer), tmp_path, SPARK_DOORS, 8, seed=3, every=())
    assert wrong == [] and counts["refused"] >= 4


@pytest.mark.spark
@pytest.mark.campaign
@pytest.mark.parametrize("writer", ["saved", "saved_by_spark"])
def test_hundreds_of_changed_bytes_on_spark(request: pytest.FixtureRequest, tmp_path: Path, writer: str) -> None:
    with config.using(small_rows=0):
        counts, wrong = flips(request.getfixturevalue(writer), tmp_path, SPARK_DOORS, 500, seed=5, every=())
    assert wrong == [] and counts["refused"] > 350


@pytest.mark.spark
def test_a_changed_byte_of_a_file_of_spark_on_the_driver(saved_by_spark: Path, tmp_path: Path) -> None:
    counts, wrong = flips(saved_by_spark, tmp_path, DRIVER_DOORS, 60, seed=4)
    assert wrong == [] and counts["refused"] > 40
