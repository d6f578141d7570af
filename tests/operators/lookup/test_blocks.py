"""Blocks of a source: which rows a look-up reads at a time, and which files it opens to know."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.operators.lookup import cached_reader
from sframe_spark.operators.lookup.cached_reader import Lookup, LruCache
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments import writer
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import FLOAT, INT
from tests.examples import examples


def dataset(directory: Path, keys: list[float | None], cuts: list[int]) -> Manifest:
    """Keys as floats, and their numbers, in segments that end at some rows."""
    directory.mkdir(parents=True, exist_ok=True)
    edges = sorted({0, *(min(cut, len(keys)) for cut in cuts), len(keys)})
    entries = []
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        columns = [pa.array(keys[start:stop], pa.float64()), pa.array(range(start, stop), pa.int64())]
        entries.append(write_segment(str(directory), number, [FLOAT, INT], [columns]))
    return publish(str(directory), [FLOAT, INT], entries)


def without_sizes(manifest: Manifest) -> Manifest:
    """As older versions wrote it: nobody knows how many row groups a file has."""
    return manifest.with_segments(tuple(attrs.evolve(entry, group_bytes=None) for entry in manifest.segments))


def test_short_segments_are_put_together_and_no_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = dataset(tmp_path / "many", list(map(float, range(300))), list(range(0, 300, 3)))
    opened: list[Any] = []
    monkeypatch.setattr(cached_reader, "segment_footer", lambda *given: opened.append(given))
    monkeypatch.setattr(cached_reader, "BLOCK_ROWS", 100)
    lookup = Lookup.of(SegmentSource.of(manifest))
    assert lookup.starts.tolist() == [0, 99, 198, 297, 300]
    assert lookup.fences(0).keys.tolist() == [0.0, 99.0, 198.0, 297.0]
    assert not opened


def test_what_is_put_together_counts_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = dataset(tmp_path / "many", list(map(float, range(40))), [10, 20, 30])
    size = manifest.segments[0].group_bytes
    assert size == 10 * 3 * 8
    monkeypatch.setattr(cached_reader, "MAX_BLOCK_BYTES", 2 * size)
    assert Lookup.of(SegmentSource.of(manifest)).starts.tolist() == [0, 20, 40]


def test_a_segment_of_several_row_groups_is_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "ROWS_PER_GROUP", 8)
    manifest = dataset(tmp_path / "long", list(map(float, range(24))), [4])
    assert [entry.group_bytes is None for entry in manifest.segments] == [False, True]
    assert Lookup.of(SegmentSource.of(manifest)).starts.tolist() == [0, 4, 12, 20, 24]


def test_the_size_is_in_the_manifest_file(tmp_path: Path) -> None:
    manifest = dataset(tmp_path / "saved", [1.0, 2.0], [1])
    again = Manifest.from_json(manifest.to_json(), manifest.directory)
    assert [entry.group_bytes for entry in again.segments] == [24, 24]
    plain = without_sizes(manifest).to_json()
    assert "group_bytes" not in plain


KEYS = st.lists(st.one_of(st.none(), st.floats(-3, 3), st.just(float("nan"))), max_size=40)


@settings(max_examples=examples(60), deadline=None)
@given(
    keys=KEYS,
    cuts=st.lists(st.integers(1, 40), max_size=8),
    rows=st.sampled_from([1, 3, 7, 100]),
    group=st.sampled_from([2, 5, 100]),
    known=st.booleans(),
    bounds=st.tuples(st.integers(0, 40), st.integers(0, 40)),
)
def test_fences_and_rows_are_those_of_the_source(
    tmp_path_factory: pytest.TempPathFactory, keys: Any, cuts: Any, rows: int, group: int, known: bool, bounds: tuple[int, int]
) -> None:
    ordered = sorted(keys, key=lambda key: (key is not None, key != key, key if key is not None and key == key else 0.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cached_reader, "BLOCK_ROWS", rows)
        patch.setattr(writer, "ROWS_PER_GROUP", group)
        manifest = dataset(tmp_path_factory.mktemp("blocks"), ordered, cuts)
        source = SegmentSource.of(manifest if known else without_sizes(manifest))
        start, stop = sorted(min(bound, len(ordered)) for bound in bounds)
        source = attrs.evolve(source, start=start, stop=stop)
        lookup = Lookup.of(source)
        assert lookup.rows == stop - start and lookup.starts[0] == 0
        assert all(before < after for before, after in itertools.pairwise(lookup.starts))
        assert lookup.read(0, lookup.rows, [1]).columns[0].to_pylist() == list(range(start, stop))
        fences = lookup.fences(0)
        for number, first in enumerate(lookup.starts[:-1]):
            real = ordered[start + int(first)]
            if number < fences.missing:
                continue
            fence = fences.keys[number - fences.missing]
            assert real is not None and (np.isnan(real) or fence <= real)


def test_a_value_that_is_cached_again_counts_once() -> None:
    cache = LruCache(12)
    for key in ("a", "b", "a", "a"):
        cache.put(key, key.upper(), 6)
    assert [cache.get(key) for key in ("a", "b")] == ["A", "B"]
