"""Page headers are compared with their check sums before pages are read, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

from sframe_spark.storage import footers, sizes
from sframe_spark.storage.commit import publish
from sframe_spark.storage.manifest import Manifest
from sframe_spark.storage.writer import write_segment
from sframe_spark.types import INT, STR


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    """A dataset of two files."""
    rows = [pa.array(range(1_000)), pa.array([f"text {row % 7}" for row in range(1_000)])]
    entries = [write_segment(str(tmp_path), number, [INT, STR], [rows]) for number in range(2)]
    return publish(str(tmp_path), [INT, STR], entries, durable=False)


@pytest.fixture
def walks() -> Iterator[mock.Mock]:
    """Counts the walks through the page headers of a file."""
    with mock.patch.object(footers, "header_checksums", wraps=footers.header_checksums) as counting:
        yield counting


def test_planning_walks_through_no_page_headers(manifest: Manifest, walks: mock.Mock) -> None:
    assert sizes.column_bytes(manifest, [0, 1], 0, manifest.rows)[1] > 0
    assert walks.call_count == 0


def test_headers_are_checked_before_a_page_is_read_to_learn_how_long_values_are(
    manifest: Manifest, walks: mock.Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "WORTH_A_LOOK", 0)
    sizes.column_bytes(manifest, [0, 1], 0, manifest.rows)
    assert [call.args[2] for call in walks.call_args_list] == [{"c1"}, {"c1"}]
