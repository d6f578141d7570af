"""Columns of repeated texts in no order: no bounds in the footer, the right ones in the manifest, and files that anybody reads as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.parquet import checksums, footer
from sframe_spark.storage.segments import writer
from sframe_spark.storage.segments.column_statistics_collection import LONGEST_TEXT, column_statistics
from sframe_spark.storage.segments.pruning import matching_ranges
from sframe_spark.storage.segments.reader import read_rows
from sframe_spark.storage.segments.writer import MIN_ROWS, SegmentWriter, is_mixed, written_bounds
from sframe_spark.types import INT, STR, ColumnType, list_of

# Of two batches, so that the second may find a dictionary full.
GROUP = 2 * MIN_ROWS
MIXED = [f"k{number}" for number in range(50)] + ["", "é", "\U0001f600", "z" * 300]
ALL_LATER: dict[str, list[str | None]] = {
    "as before": [],
    "missing": [None],
    "one missing at the start": [None, "a"],
    "others": ["", "0", "\U0001f680"],
    "long": ["y" * LONGEST_TEXT, *["x"] * 499],
    "too long": ["\U0001f601" * (LONGEST_TEXT + 1), *["x"] * 499],
    # The greatest one is stored as it is.
    "too many for a dictionary": [f"\U0001f602{number:050d}" for number in range(GROUP)],
}


def mixed(rows: int = GROUP, texts: list[str] | None = None) -> list[str]:
    """Texts in no order, all of them in any few thousand rows."""
    chosen = texts or MIXED
    return [chosen[place] for place in np.random.default_rng(rows).integers(0, len(chosen), rows)]


def written(directory: Path, types: list[ColumnType], columns: list[list[Any]]) -> Manifest:
    """One segment of these rows, in row groups of ``GROUP``."""
    segment = SegmentWriter(str(directory), 0, types)
    segment.write([pa.array(values, column_type.physical) for values, column_type in zip(columns, types, strict=True)])
    return publish(str(directory), types, [segment.close()], names=[f"c{place}" for place in range(len(types))])


def has_bounds(manifest: Manifest, column: int) -> list[bool]:
    """For each row group, whether the footer has bounds of a column."""
    metadata = pq.read_metadata(Path(manifest.directory) / manifest.segments[0].file)
    chunks = [metadata.row_group(group).column(column) for group in range(metadata.num_row_groups)]
    return [chunk.statistics is not None and chunk.statistics.has_min_max for chunk in chunks]


def facts(manifest: Manifest, column: int) -> ColumnStatistics:
    """What the manifest says of a column."""
    return manifest.segments[0].columns[column]


@pytest.fixture(autouse=True)
def short_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups that are just long enough to be looked at."""
    monkeypatch.setattr(writer, "ROWS_PER_GROUP", GROUP)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("later", ALL_LATER)
@pytest.mark.parametrize("first_missing", [False, True])
def test_the_manifest_has_the_bounds_that_the_footer_has_not(later: str, first_missing: bool, tmp_path: Path) -> None:
    following = [ALL_LATER[later][place % len(ALL_LATER[later])] if ALL_LATER[later] else MIXED[place % 50] for place in range(GROUP)]
    texts = [None if first_missing and place % 5 == 0 else text for place, text in enumerate(mixed())] + following + mixed(100)
    manifest = written(tmp_path, [INT, STR], [list(range(len(texts))), texts])
    assert [has_bounds(manifest, column) for column in range(3)] == [[True] * 3, [False] * 3, [True] * 3]
    assert facts(manifest, 1) == column_statistics(pa.array(texts), STR)
    assert facts(manifest, 1).bounds_known == (later != "too long")
    assert read_rows(manifest, [1])["c1"].to_pylist() == texts
    table = pq.read_table(Path(manifest.directory) / manifest.segments[0].file)
    assert table.schema.field("c1").type == pa.string() and table["c1"].to_pylist() == texts
    load_sframe(str(tmp_path), verify=True)


@pytest.mark.parametrize(
    "texts",
    [
        sorted(mixed()),
        sorted(mixed(), reverse=True),
        ["one"] * GROUP,
        [None] * GROUP,
        [f"{place // 100:06d}" for place in range(GROUP)],
        # Nearly in order, as logs are.
        [f"{(place + place % 7 * 300) // 100:06d}" for place in range(GROUP)],
        # Runs in no order.
        [MIXED[place // 2000 * 7 % 50] for place in range(GROUP)],
        # The rare ones stand together.
        ["b"] * (GROUP - 1000) + ["c"] * 1000,
        mixed()[: MIN_ROWS - 1],
    ],
    ids=["ascending", "descending", "constant", "missing", "steps", "nearly", "runs", "rare", "few"],
)
def test_bounds_that_tell_row_groups_apart_are_kept(texts: list[str | None], tmp_path: Path) -> None:
    manifest = written(tmp_path, [STR], [texts])
    assert not is_mixed(pa.chunked_array([pa.array(texts, pa.string())]))
    assert has_bounds(manifest, 0) == [any(text is not None for text in texts)]
    assert facts(manifest, 0) == column_statistics(pa.array(texts, pa.string()), STR)


def test_row_groups_of_sorted_texts_are_told_apart_and_of_mixed_ones_all_read(tmp_path: Path) -> None:
    rows = 4 * GROUP
    # Distinct steps of texts that repeat.
    steps, texts = [f"{place // 100:06d}" for place in range(rows)], mixed(rows)
    manifest = written(tmp_path, [STR, STR], [steps, texts])
    assert matching_ranges(manifest, 0, [(steps[GROUP + 500], steps[GROUP + 500])], 0, rows) == ((GROUP, 2 * GROUP),)
    assert matching_ranges(manifest, 1, [("k7", "k7")], 0, rows) == ((0, rows),)
    assert matching_ranges(manifest, 1, [("zzzz", "zzzzz")], 0, rows) == ((0, rows),)
    assert matching_ranges(manifest, 1, [("\U0001f601", None)], 0, rows) == ()
    frame = load_sframe(str(tmp_path))
    assert len(frame[frame["c1"] == "k7"]) == texts.count("k7")


def test_lists_of_texts_and_encoded_values_are_as_before(tmp_path: Path) -> None:
    lists = [[text, None, "b"] if place % 3 else None for place, text in enumerate(mixed())]
    manifest = written(tmp_path, [list_of(STR), STR], [lists, mixed()])
    assert read_rows(manifest, [0, 1]).to_pydict() == {"c0": lists, "c1": mixed()}
    assert facts(manifest, 0).has_missing and facts(manifest, 1).maximum == "\U0001f600"
    load_sframe(str(tmp_path), verify=True)


def page_lengths(manifest: Manifest, column: int) -> list[int]:
    """How many bytes the data of each page of a column have in the file."""
    location = str(Path(manifest.directory) / manifest.segments[0].file)
    metadata, found = pq.read_metadata(location), []
    with pa.OSFile(location) as source:
        for group in range(metadata.num_row_groups):
            start, end = footer.chunk_range(metadata.row_group(group).column(column))
            found += [stop - data for _, data, stop, _ in checksums._pages(checksums.FileBytes(source), start, end)]
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("length", [10, 100, 1000, 10_000, 100_000])
def test_pages_of_long_texts_are_bounded(length: int, tmp_path: Path) -> None:
    # Random bytes, which cannot be compressed.
    rows = max(32, min(100_000, 16_000_000 // length))
    letters = np.random.default_rng(length).integers(33, 127, rows * length, np.uint8).tobytes().decode()
    texts = [letters[place : place + length] for place in range(0, len(letters), length)]
    manifest = written(tmp_path, [STR, INT], [texts, list(range(rows))])
    # Up to 1,024 rows are written between two looks, whatever their length; what cannot be compressed grows a little.
    assert max(page_lengths(manifest, 0)) < max(2 << 20, 1034 * (length + 8))
    assert read_rows(manifest, [0])["c0"].to_pylist() == texts


def test_row_groups_are_bounded_where_the_first_rows_are_the_long_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "BYTES_PER_GROUP", 100_000)
    texts = ["short"] * 20_000 + ["long" * 250] * 2000 + ["short"] * 200_000
    manifest = written(tmp_path, [STR], [texts])
    metadata = pq.read_metadata(Path(manifest.directory) / manifest.segments[0].file)
    assert max(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)) > 1000
    assert max(column_bytes(manifest)) <= 2 * writer.BYTES_PER_GROUP
    assert read_rows(manifest, [0])["c0"].to_pylist() == texts


def column_bytes(manifest: Manifest) -> list[int]:
    """How many bytes the first column takes in memory, for each row group."""
    with pq.ParquetFile(Path(manifest.directory) / manifest.segments[0].file) as file:
        return [file.read_row_group(group, columns=["c0"]).nbytes for group in range(file.num_row_groups)]


@pytest.mark.parametrize("place", ["dictionary", "header"])
def test_a_file_that_changed_before_it_is_read_back_is_not_kept(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged_first(location: str, metadata: pq.FileMetaData, name: str) -> Any:
        column = metadata.row_group(0).column(0)
        # The header of the first page of data tells no length then, which only the walk over all headers finds.
        at = column.dictionary_page_offset + 40 if place == "dictionary" else column.data_page_offset
        with open(location, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 0x41]))
        return ("", "z") if place == "header" else written_bounds(location, metadata, name)

    monkeypatch.setattr(writer, "written_bounds", damaged_first)
    with pytest.raises(StorageError, match=r"cannot read back segment .*(CRC checksum|a page has no length)") as caught:
        written(tmp_path, [STR], [mixed()])
    assert "restore it from a copy" not in str(caught.value) and not list(tmp_path.iterdir())


@pytest.mark.spark
def test_spark_reads_them_as_texts(spark: Any, tmp_path: Path) -> None:
    texts = [*mixed(), *[None] * GROUP, *[f"{number:050d}" for number in range(GROUP)]]
    manifest = written(tmp_path, [STR], [texts])
    read = spark.read.parquet(str(tmp_path / manifest.segments[0].file))
    assert read.schema["c0"].dataType.simpleString() == "string"
    assert [row.c0 for row in read.orderBy("_key").collect()] == texts
    assert read.where("c0 = 'k7'").count() == texts.count("k7")
