"""What is drawn without a seed has one from when it is made: lost temporary rows are drawn again as they were."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store

ROWS = 3_000


def numbers() -> SArray:
    return SArray.from_sequence(0, ROWS)


# Each way to draw without a seed, public members of frames and of columns.
DRAWN: dict[str, Callable[[], SArray]] = {
    "random_integers": lambda: SArray.random_integers(ROWS),
    "sample": lambda: numbers().sample(0.5),
    "exact sample": lambda: numbers().sample(0.5, exact=True),
    "first of random_split": lambda: numbers().random_split(0.5)[0],
    "second of random_split": lambda: numbers().random_split(0.5)[1],
    "shuffle": lambda: numbers().shuffle()[: ROWS // 2],
    "sample of a frame": lambda: SFrame({"a": numbers()}).sample(0.5)["a"],
    "exact sample of a frame": lambda: SFrame({"a": numbers()}).sample(0.5, exact=True)["a"],
    "random_split of a frame": lambda: SFrame({"a": numbers()}).random_split(0.5)[1]["a"],
    "exact random_split of a frame": lambda: SFrame({"a": numbers()}).random_split(0.5, exact=True)[1]["a"],
    "shuffle of a frame": lambda: SFrame({"a": numbers()}).shuffle()[: ROWS // 2]["a"],
}


def lose_temporary_rows() -> int:
    lost = glob.glob(temporary_store().directory + "/dataset-*")
    for directory in lost:
        shutil.rmtree(directory)
    return len(lost)


def check_survives_losses(make: Callable[[], SArray], place: Path) -> None:
    config.temporary_directory, config.memory_budget, config.kept_memory = str(place), 0, 0
    column = make()
    above = column + 1
    total = column.sum()
    column.materialize()
    assert column.sum() == total
    assert lose_temporary_rows()
    assert column.sum() == total
    lose_temporary_rows()
    values = list(column)
    # Sums of random ints pass 64 bits, and wrap.
    assert SArray(values).sum() == total
    assert list(above.head(5)) == [value + 1 for value in values[:5]]
    assert list(make()) != values, "another column is drawn anew"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("drawn", DRAWN)
def test_lost_rows_are_drawn_again_as_they_were(drawn: str, tmp_path: Path, own_options: None) -> None:
    check_survives_losses(DRAWN[drawn], tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("drawn", ["random_integers", "exact sample", "shuffle of a frame"])
def test_lost_rows_of_tasks_are_drawn_again_as_they_were(drawn: str, tmp_path: Path, own_options: None) -> None:
    config.small_rows = 0
    check_survives_losses(DRAWN[drawn], tmp_path)
