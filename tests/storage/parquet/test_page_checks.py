"""Page headers are compared with their check sums before pages are read, and only then."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.filesystem.local_files import FileState
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.physical_types import KEY_NAME
from sframe_spark.storage.parquet import checksums, footer, open_file
from sframe_spark.storage.parquet.checksums import FileChecksums, PageCheck, checksum_positions
from sframe_spark.storage.parquet.footer import VerifiedColumns
from sframe_spark.storage.segments import row_sizes
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import FLOAT, INT, STR

STATE = FileState(1, 1, 1, 1)


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """A dataset of two files, which are read as long ones are."""
    monkeypatch.setattr(open_file, "SHORT_BYTES", 0)
    rows = [pa.array(range(1_000)), pa.array([f"text {row % 7}" for row in range(1_000)])]
    entries = [write_segment(str(tmp_path), number, [INT, STR], [rows]) for number in range(2)]
    return publish(str(tmp_path), [INT, STR], entries, durable=False)


@pytest.fixture
def walks() -> Iterator[mock.Mock]:
    """Counts the walks through the page headers of a file."""
    with mock.patch.object(checksums, "page_headers", wraps=checksums.page_headers) as counting:
        yield counting


def test_planning_walks_through_no_page_headers(manifest: Manifest, walks: mock.Mock) -> None:
    assert row_sizes.column_bytes(manifest, [0, 1], 0, manifest.rows)[1] > 0
    assert walks.call_count == 0


def test_headers_are_checked_before_a_page_is_read_to_learn_how_long_values_are(
    manifest: Manifest, walks: mock.Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sizes, "WORTH_SAMPLING", 0)
    row_sizes.column_bytes(manifest, [0, 1], 0, manifest.rows)
    assert [call.args[2] for call in walks.call_args_list] == [{"c1"}, {"c1"}]


def test_what_was_found_sound_is_known_after_its_footer_was_forgotten(manifest: Manifest, walks: mock.Mock) -> None:
    for _ in range(2):
        read_rows(manifest, [0, 1])
        footer._load.cache_clear()
    assert walks.call_count == 2
    # A column that was not read yet.
    read_rows(manifest, [0], with_key=True)
    for segment in manifest.segments:
        PageCheck(manifest.directory, segment, FileChecksums(checksum_positions(manifest, [0, 1], with_key=True), segment.pages)).run()
    assert [call.args[2] for call in walks.call_args_list[2:]] == [{KEY_NAME}] * 2


def test_a_changed_file_is_checked_again(manifest: Manifest, walks: mock.Mock) -> None:
    read_rows(manifest, [0])
    os.utime(Path(manifest.directory) / manifest.segments[0].file, ns=(1, 1))
    read_rows(manifest, [0])
    assert walks.call_count == 3


def test_what_is_remembered_is_bounded() -> None:
    sound = VerifiedColumns(capacity=1_000)
    for number in range(1_000):
        sound.add((f"/{number}", STATE), ["c0", "c1"])
    # Files share the set of their columns, which is counted once.
    assert len(sound._names) == 124 and sound._size == 124 * 8 + 2
    assert sound.unchecked(("/999", STATE), ["c0"]) == set() and sound.unchecked(("/0", STATE), ["c0"]) == {"c0"}


def test_wide_files_are_remembered_as_narrow_ones_are() -> None:
    sound, names = VerifiedColumns(capacity=1_500), [f"c{place}" for place in range(100)]
    for number in range(100):
        sound.add((f"/{number}", STATE), iter(names))
    assert sound.unchecked(("/0", STATE), names) == set()
    # One file of which more is known has a set of its own, and lets go of the other.
    sound.add(("/0", STATE), ["k"])
    assert sound._size == 100 * 8 + 100 + 101
    sound.add(("/0", STATE), ["k"])
    assert sound._size == 100 * 8 + 100 + 101


def test_a_header_that_pages_own_check_sums_do_not_cover_gives_no_other_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_file, "SHORT_BYTES", 0)
    entry = write_segment(str(tmp_path), 0, [FLOAT], [[pa.array([row + 0.25 for row in range(1_000)])]])
    manifest = publish(str(tmp_path), [FLOAT], [entry], durable=False)
    file = tmp_path / entry.file
    content, good = bytearray(file.read_bytes()), pq.read_table(file)
    with pq.ParquetFile(file) as parquet:
        start = parquet.metadata.row_group(0).column(0).data_page_offset

    def others() -> Iterator[int]:
        """Places of the header where another value gives other rows in pyarrow, which compares the check sums of pages."""
        for place in range(start, start + 40):
            damaged = bytearray(content)
            # Plain floats are said to be split into streams of bytes: the number 9, as Thrift writes it.
            damaged[place] = 18
            file.write_bytes(damaged)
            try:
                found = pq.read_table(file, page_checksum_verification=True)
            except (OSError, pa.ArrowException):
                continue
            if found.num_rows == 1_000 and not found.equals(good):
                yield place
                with pytest.raises(StorageError, match=entry.file):
                    read_rows(manifest, [0])

    assert list(others())
