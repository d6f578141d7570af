"""Small row groups of a file that are decoded as one: each time a file is opened has its price, and rows are those of each for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments import row_group_read_ahead
from sframe_spark.storage.segments.row_group_read_ahead import Cursor

# A data page's number of values, 100, as its header writes it, and one less.
HUNDRED, LESS = b"\xc8\x01", b"\xc6\x01"


@pytest.mark.parametrize("threads", [0, 2])
def test_small_row_groups_are_decoded_together_in_parts_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Each time a file is opened has its price; parts end where row groups do, of which the last may be shorter."""
    pq.write_table(pa.table({"a": range(4_050)}), tmp_path / "rows.parquet", row_group_size=100)
    manifest = source_of(SFrame.read_parquet(str(tmp_path / "rows.parquet"))._node).manifest
    opened, before = [], row_group_read_ahead.segment_batches

    def counted(manifest: Manifest, entry: Any, columns: Any, low: int, high: int, *others: Any, **named: Any) -> Any:
        opened.append(high - low)
        return before(manifest, entry, columns, low, high, *others, **named)

    monkeypatch.setattr(row_group_read_ahead, "segment_batches", counted)
    # What threads have decoded leaves room for one more only.
    for most, count in ((10**9, 10), (1_600.0, 41 if threads else 23), (0.0, 41)):
        opened.clear()
        read = Cursor(manifest, (0,), 4_050, lambda start, stop: 8.0 * (stop - start), most, threads)
        parts = [part[0] for start in range(30, 4_050, 100) for part in read.read(start, min(start + 100, 4_050))]
        assert [value for part in parts for value in part.to_pylist()] == list(range(30, 4_050))
        assert {len(part) for part in parts} <= {30, 50, 70, 20, 100} and sum(opened) == 4_020 and len(opened) <= count, (most, opened)
        read.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("start", [0, 30, 250])
def test_rows_of_a_column_that_ends_too_early_are_not_those_of_the_next_row_group(
    tmp_path: Path, threads: int, column: int, empty: bool, start: int
) -> None:
    """Pyarrow would go on with the next one, and tell so behind the last: who takes no more than the rows before it does not hear of it."""
    path, table = tmp_path / "rows.parquet", pa.table({"a": range(1_000), "b": [float(row) for row in range(1_000)]})
    with pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, 1_000, 100):
            writer.write_table(table.slice(first, 100))
            if empty and first % 200:
                writer.write_table(table.slice(0, 0))
    content, metadata = path.read_bytes(), pq.read_metadata(path)
    filled = [number for number in range(metadata.num_row_groups) if metadata.row_group(number).num_rows]
    for number in filled[start // 100 :]:
        place = content.index(HUNDRED, metadata.row_group(number).column(column).data_page_offset)
        path.write_bytes(content[:place] + LESS + content[place + len(LESS) :])
        manifest = source_of(SFrame.read_parquet(str(path))._node).manifest
        read, found = Cursor(manifest, (0, 1), 1_000, lambda first, stop: 16.0 * (stop - first), 10**9, threads), list[tuple[Any, ...]]()
        with pytest.raises(StorageError, match=r"rows\.parquet"):
            for row in range(start, 1_000, 50):
                found.extend(pair for a, b in read.read(row, min(row + 50, 1_000)) for pair in zip(a.to_pylist(), b.to_pylist(), strict=True))
        assert found == [(row, float(row)) for row in range(start, start + len(found))]
        read.close()


def test_an_interrupt_amid_decoding_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after the rows that were decoded by then, with which somebody may be content."""
    pq.write_table(pa.table({"a": range(1_000)}), tmp_path / "rows.parquet", row_group_size=100)
    manifest = source_of(SFrame.read_parquet(str(tmp_path / "rows.parquet"))._node).manifest
    before = row_group_read_ahead.segment_batches

    def interrupted(manifest: Manifest, entry: Any, columns: Any, low: int, *others: Any, **named: Any) -> Any:
        yield from before(manifest, entry, columns, low, *others, **named)
        if low == 100:
            raise KeyboardInterrupt

    monkeypatch.setattr(row_group_read_ahead, "segment_batches", interrupted)
    read = Cursor(manifest, (0,), 1_000, lambda start, stop: 8.0 * (stop - start), 10**9, 0)
    read.read(0, 100)
    with pytest.raises(KeyboardInterrupt):
        read.read(100, 200)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("most", [800, 1_600, 3_200, 8_000, 20_000])
def test_no_more_is_decoded_ahead_where_units_get_longer(tmp_path: Path, threads: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": range(10_000)}), tmp_path / "rows.parquet", row_group_size=100)
    manifest = source_of(SFrame.read_parquet(str(tmp_path / "rows.parquet"))._node).manifest
    ahead, before = [0.0], row_group_read_ahead.Decoder._submit_ahead

    def looked(self: row_group_read_ahead.Decoder, units: Any) -> None:
        before(self, units)
        ahead.append(sum(self._sizes_ahead()))

    monkeypatch.setattr(row_group_read_ahead.Decoder, "_submit_ahead", looked)
    read = Cursor(manifest, (0,), 10_000, lambda start, stop: 8.0 * (stop - start), most, threads)
    parts = [part[0] for start in range(0, 10_000, 100) for part in read.read(start, start + 100)]
    assert [value for part in parts for value in part.to_pylist()] == list(range(10_000)) and 800 <= max(ahead) <= most
    read.close()
