"""Temporary data has a quota of bytes: what is over it is refused and deleted, and what nobody keeps counts no more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sframe_spark import SFrame, config, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryStore, temporary_store

ROWS = 20_000


@pytest.fixture
def place(tmp_path: Path, own_options: None) -> Path:
    """A temporary directory of this test, into which all materialised rows go."""
    config.temporary_directory, config.memory_budget, config.kept_memory = str(tmp_path / "tmp"), 0, 0
    (tmp_path / "tmp").mkdir()
    return tmp_path


def on_disk() -> int:
    """Bytes of all datasets."""
    return sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(temporary_store().directory) for file in files)


def numbers(start: int) -> SFrame:
    """Rows that do not compress."""
    frame = SFrame({"n": range(start, start + ROWS)})
    return SFrame({"n": (frame["n"] * 2_654_435_761) % 4_294_967_291})


def datasets() -> list[str]:
    return sorted(name for name in os.listdir(temporary_store().directory) if name.startswith("dataset-"))


@pytest.mark.spark
def test_what_is_over_the_quota_is_refused_and_leaves_nothing(place: Path) -> None:
    first = numbers(0)
    first.materialize()
    size = on_disk()
    assert size > 4 * ROWS and len(datasets()) == 1
    config.temporary_quota = size + size // 2
    second = numbers(7)
    with pytest.raises(StorageError, match=rf"with a quota of {config.temporary_quota:,}: save\(\) frames") as told:
        second.materialize()
    assert "\n" not in str(told.value) and "SFRAME_SPARK_TMP_QUOTA" in str(told.value)
    del told
    assert len(datasets()) == 1
    # What it says helps.
    first.save(str(place / "first"))
    first = load_sframe(str(place / "first"))
    second.materialize()
    assert second["n"].sum() == numbers(7)["n"].sum()


@pytest.mark.spark
def test_saved_frames_do_not_count(place: Path) -> None:
    config.temporary_quota = 0
    numbers(0).save(str(place / "frame"))
    assert len(load_sframe(str(place / "frame"))) == ROWS


def test_frames_in_cycles_are_looked_for(place: Path) -> None:
    first = numbers(0)
    first.materialize()
    config.temporary_quota = on_disk() + 100
    holder: dict[str, object] = {"frame": first}
    holder["self"] = holder
    del first, holder
    second = numbers(3)
    second.materialize()
    assert len(datasets()) == 1


def test_datasets_that_were_discarded_do_not_count(tmp_path: Path, own_options: None) -> None:
    store = TemporaryStore(str(tmp_path))
    config.temporary_quota = 10
    handle = store.new_dataset()
    store.usage.count(handle, 10)
    with pytest.raises(StorageError):
        store.usage.count(store.new_dataset(), 1)
    handle.discard()
    store.usage.count(store.new_dataset(), 10)


@pytest.mark.parametrize("value", [-1, 1.5, "much", True])
def test_a_quota_is_a_number_of_bytes(value: object, own_options: None) -> None:
    with pytest.raises(ValueError, match="temporary_quota"):
        config.temporary_quota = value


@pytest.mark.spark
def test_what_spark_writes_counts(place: Path, everything_on_spark: None) -> None:
    config.temporary_quota = 1_000
    frame = SFrame({"n": range(ROWS)}).sort("n", ascending=False)
    with pytest.raises(StorageError, match="with a quota of 1,000"):
        frame.materialize()
    assert datasets() == []
    config.temporary_quota = None
    assert frame["n"][0] == ROWS - 1


@pytest.mark.parametrize("steps", [[900], [100, 900], [300, 600, 899, 900]])
def test_a_dataset_that_grows_counts_once(steps: list[int], tmp_path: Path, own_options: None) -> None:
    config.temporary_quota = 1_000
    store = TemporaryStore(str(tmp_path))
    growing, other = store.new_dataset(), store.new_dataset()
    for size in steps:
        store.usage.count(growing, size)
    store.usage.count(other, 100)
    with pytest.raises(StorageError, match="101 bytes of rows are too many beside 900 bytes of temporary data"):
        store.usage.count(other, 101)
