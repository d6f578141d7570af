"""How many requests a read takes: two for columns of a row group, one after the other, and none to ask how long a file is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.plugin import node_of
from sframe_spark.storage.datasets import numbered_versions_of_remote_frames
from sframe_spark.storage.filesystem import dataset_file_reads
from sframe_spark.storage.parquet.footer import _load
from tests.storage.damage import frame_of_every_type, save_in_segments
from tests.storage.datasets.conftest import Bucket, Requests

GROUP = 100


@pytest.fixture
def place(bucket: Bucket, tmp_path: Path) -> Iterator[str]:
    """Three files of two row groups each, of which no footer is known."""
    save_in_segments(tmp_path)
    load_sframe(str(tmp_path / "frame")).save(bucket.uri + "/frame")
    _load.cache_clear()
    yield bucket.uri + "/frame"


def read(frame: SFrame, columns: Sequence[int], start: int, stop: int) -> Any:
    """Rows as whoever knows what it needs reads them."""
    source = node_of(frame).operator
    assert isinstance(source, SegmentSource)
    return source.with_columns(columns).read(start, stop)


def test_opening_asks_for_the_manifests_alone(place: str, requests: Requests) -> None:
    assert len(load_sframe(place)) == 600
    assert [line.split(" ")[0] for line in requests.lines] == ["GET", "GET"] and requests.of_data() == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("columns", [[0], [0, 1, 2], list(range(9))])
@pytest.mark.parametrize(("start", "stop"), [(0, 10), (120, 180), (450, 451)])
def test_neighbouring_columns_of_a_row_group_take_two_requests(place: str, requests: Requests, columns: list[int], start: int, stop: int) -> None:
    frame = load_sframe(place)
    assert read(frame, columns, start, stop).rows == stop - start
    assert requests.of_data() == ["GET", "GET"]
    read(frame, columns, start, stop)
    # The footer is known.
    assert requests.of_data() == ["GET"] * 3


def test_columns_that_are_far_from_each_other_take_one_request_each(place: str, requests: Requests) -> None:
    frame = load_sframe(place)
    with mock.patch.object(dataset_file_reads, "GAP_BYTES", 0), mock.patch.object(dataset_file_reads.coalesced, "__defaults__", (0,)):
        read(frame, [0, 2, 4], 0, 10)
    assert requests.of_data() == ["GET"] * 4


@pytest.mark.parametrize(("least", "more"), [(1, 6), (dataset_file_reads.MIN_BYTES, 3)])
def test_large_row_groups_take_one_more_each_and_small_ones_come_together(place: str, requests: Requests, least: int, more: int) -> None:
    frame = load_sframe(place)
    with mock.patch.object(dataset_file_reads.fetch_batches, "__defaults__", (least,)):
        assert list(frame["number"]) == list(range(600))
    assert requests.of_data() == ["GET"] * (3 + more)


def test_saving_takes_one_request_for_each_file_and_one_for_the_manifest(bucket: Bucket, requests: Requests) -> None:
    frame, place = frame_of_every_type(), bucket.uri + "/frame"
    frame.save(place)
    requests.lines.clear()
    frame.save(place)
    methods = [line.split(" ")[0] for line in requests.lines]
    # What versions there are, and whether all files are there.
    assert methods.count("PUT") == 2 and requests.of_data() == ["PUT"] and len(methods) <= 4
    # Whether a killed save has left something is asked once in a process.
    numbered_versions_of_remote_frames._remove_unfinished_once.cache_clear()
    requests.lines.clear()
    frame.save(place)
    assert [line.split(" ")[0] for line in requests.lines] == ["GET", *methods]


def test_large_row_groups_do_not_stay_in_memory(place: str) -> None:
    large = dataset_file_reads.MIN_BYTES
    groups = [[(place * large, (place + 1) * large)] for place in range(3)]
    file = dataset_file_reads.RangedFile("memory://none/x", 3 * large, groups)
    with mock.patch.object(
        dataset_file_reads, "read_ranges", side_effect=lambda uri, ranges: [bytes(stop - start) for start, stop in ranges]
    ) as reads:
        for start in (0, large, 5, 2 * large, large + 1, 0):
            file.seek(start)
            assert len(file.read(3)) == 3
            assert len(file._loaded) <= dataset_file_reads.BATCHES_IN_MEMORY
    assert reads.call_count == 4
