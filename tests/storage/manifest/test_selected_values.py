"""What a task is told of segments: the columns that it reads, and an error rather than a wrong value for any other."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.manifest.column_statistics import UNKNOWN_STATISTICS
from sframe_spark.storage.manifest.sidecar_file_of_segment_statistics_and_checksums import SelectedValues
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.types import INT
from tests.storage.conftest import write_dataset

WIDTH = 6


def test_others_are_refused_and_facts_about_them_are_unknown() -> None:
    sums = pickle.loads(pickle.dumps(SelectedValues.of([0, 1, 2, 3], [0, -1])))
    assert (sums[0], sums[3], sums[-1], len(sums)) == (0, 3, 3, 4) and sums == SelectedValues.of([0, 1, 2, 3], [3, 0])
    for place in (1, 2, -2):
        with pytest.raises(StorageError, match="does not know"):
            sums[place]
    with pytest.raises(IndexError):
        sums[4]
    facts = SelectedValues.of(["a", "b"], [1], "unknown")
    assert (facts[0], facts[1]) == ("unknown", "b") and facts != sums and facts != "b"


def test_equal_ones_have_equal_hashes() -> None:
    one, other = SelectedValues.of([0, 1, 2, 3], [0, -1]), SelectedValues.of([0, 1, 2, 3], [3, 0])
    assert one == other and hash(one) == hash(other) and len({one, other}) == 1


def test_tasks_read_the_columns_that_they_are_told_of(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", [INT] * WIDTH, [[[number * 10 + column] * 2 for column in range(WIDTH)] for number in range(3)])
    whole = load_manifest(tmp_path / "d")
    part = pickle.loads(pickle.dumps(whole.between(2, 6, (1, 4))))
    assert read_rows(part, [4, 1], 2, 6).to_pydict() == read_rows(whole, [4, 1], 2, 6).to_pydict()
    assert [len(entry.pages) for entry in part.segments] == [WIDTH + 1] * 2
    with pytest.raises(StorageError, match="does not know column 0"):
        part.segments[0].pages[0]
    searched = pickle.loads(pickle.dumps(whole.about((4,))))
    assert [entry.columns[4] for entry in searched.segments] == [entry.columns[4] for entry in whole.segments]
    assert {entry.columns[0] for entry in searched.segments} == {UNKNOWN_STATISTICS}
    assert read_rows(searched, [4]).column(0).to_pylist() == read_rows(whole, [4]).column(0).to_pylist()


def test_types_that_are_equal_are_one(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", [INT] * WIDTH, [[[1]] * WIDTH])
    assert len({id(kind) for kind in load_manifest(tmp_path / "d").types}) == 1
