"""Frames that are read through the text of a plan are compared with the check sums that were saved with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, segment_source
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from tests.storage.saved import save_dataset


def test_a_footer_that_changed_is_found_through_a_plan_too(dataset: Any, tmp_path: Path) -> None:
    saved = save_dataset([dataset("a", [1, 2], [3])], tmp_path / "saved")
    text = graph_to_json(segment_source(load_manifest(saved.directory)))
    source = graph_from_json(text).operator
    assert isinstance(source, SegmentSource) and source.read(0, 3).columns[0].to_pylist() == [1, 2, 3]
    file = tmp_path / "saved" / saved.segments[1].file
    content = file.read_bytes()
    assert content.count(b"parquet-cpp") == 1
    file.unlink()
    file.write_bytes(content.replace(b"parquet-cpp", b"parquet-cpq"))
    again = graph_from_json(text).operator
    assert isinstance(again, SegmentSource)
    for entry, known in zip(again.manifest.segments, saved.segments, strict=True):
        assert entry.tail == known.tail is not None and entry.pages == known.pages is not None
    with pytest.raises(StorageError, match="is damaged"):
        again.read(0, 3)
