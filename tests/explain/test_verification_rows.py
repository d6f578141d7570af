"""Stored rows against what a manifest says of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pyarrow as pa
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.explain.verification_of_facts_and_stored_rows import InOrder, NotMissing, check_rows, check_segments, refuted, row_ranges
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, segment_source
from sframe_spark.operators.sources.in_memory import memory_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import FLOAT, INT


def dataset(directory: Path, *segments: list[int]) -> Manifest:
    """A dataset of one int and one float column."""
    os.makedirs(directory, exist_ok=True)
    entries = []
    for number, values in enumerate(segments):
        writer = SegmentWriter(str(directory), number, (INT, FLOAT))
        writer.write([pa.array(values), pa.array([value * 0.5 for value in values])])
        entries.append(writer.close())
    return publish(str(directory), (INT, FLOAT), entries)


def source(manifest: Manifest) -> SegmentSource:
    """All rows of a dataset."""
    operator = segment_source(manifest).operator
    assert isinstance(operator, SegmentSource)
    return operator


def test_segments_that_are_as_recorded_have_no_problems(tmp_path: Path) -> None:
    assert check_segments(source(dataset(tmp_path, [1, 2, 2], [5], [4, 3]))) == []


def statistics(entry: SegmentEntry, **facts: object) -> SegmentEntry:
    """A segment of which something else is recorded."""
    return attrs.evolve(entry, columns=(attrs.evolve(entry.columns[0], **facts), *entry.columns[1:]))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda entry: attrs.evolve(entry, rows=2), "has 3 rows, not 2"),
        (lambda entry: attrs.evolve(entry, number=7), "has other row keys than its place says"),
        (lambda entry: statistics(entry, strictly_ascending=True), "column 0: recorded as strictly ascending, which it is not"),
        (lambda entry: statistics(entry, first=0), "column 0: recorded with 0 as its first value, which is 1"),
        (lambda entry: statistics(entry, maximum=1), "column 0: recorded to lie in 1..1, but there are values in 1..2"),
    ],
)
def test_what_is_recorded_wrongly_is_found(tmp_path: Path, change: Callable[[SegmentEntry], SegmentEntry], problem: str) -> None:
    manifest = dataset(tmp_path, [1, 2, 2])
    wrong = attrs.evolve(manifest, segments=tuple(change(entry) for entry in manifest.segments))
    problems = check_segments(source(wrong))
    assert len(problems) == 1 and problem in problems[0]


def test_segments_that_have_changed_places_are_found(tmp_path: Path) -> None:
    manifest = dataset(tmp_path, [1, 2], [3, 4])
    with pytest.raises(StorageError, match="out of order"):
        attrs.evolve(manifest, segments=manifest.segments[::-1])
    swapped = attrs.evolve(manifest)
    object.__setattr__(swapped, "segments", manifest.segments[::-1])
    assert ["its row keys are smaller" in problem for problem in check_segments(source(swapped))] == [True]
    assert [item.row for item in check_rows(segment_source(swapped), [InOrder(((0, True),))])] == [2]


def test_only_segments_that_are_read_are_looked_at(tmp_path: Path) -> None:
    manifest = dataset(tmp_path, [1, 2], [3, 4])
    wrong = attrs.evolve(manifest, segments=(manifest.segments[0], attrs.evolve(manifest.segments[1], number=9)))
    assert check_segments(source(wrong).rows_between(0, 2)) == []
    assert len(check_segments(source(wrong).rows_between(0, 3))) == 1


def test_rows_are_looked_at_by_segments_with_the_row_before(tmp_path: Path) -> None:
    manifest = dataset(tmp_path, [1, 5], [4], [6, 7])
    operator = source(manifest).rows_between(1, 5)
    node = PlannerNode(operator)
    assert row_ranges(node) == [(0, 1), (1, 2), (2, 4)]
    assert [item.row for item in check_rows(node, [InOrder(((0, True),)), NotMissing(0), InOrder(((0, False),))])] == [1, None, 2]


def test_no_rows_contradict_nothing() -> None:
    empty = memory_source([pa.array([], pa.int64())], [INT])
    assert row_ranges(empty) == []
    assert [item.row for item in check_rows(empty, [InOrder(((0, True),), strict=True)])] == [None]


def test_facts_that_are_not_recorded_are_not_refuted() -> None:
    found = ColumnStatistics(
        ascending=False, has_missing=True, has_nan=True, edges_known=True, first=1, last=2, bounds_known=True, minimum=1, maximum=2
    )
    assert refuted(ColumnStatistics(), found) == []
    assert refuted(ColumnStatistics(has_missing=False, has_nan=False), found) == [
        "recorded without missing values, but there are some",
        "recorded without NaN, but there are some",
    ]


@pytest.mark.parametrize(("minimum", "maximum", "is_refuted"), [(1, 3, False), (2, 2, False), (0, 3, True), (1, 4, True)])
def test_values_outside_of_recorded_bounds_refute_them(minimum: int, maximum: int, is_refuted: bool) -> None:
    claimed = ColumnStatistics(bounds_known=True, minimum=1, maximum=3)
    assert bool(refuted(claimed, ColumnStatistics(bounds_known=True, minimum=minimum, maximum=maximum))) == is_refuted
