"""How long stored rows are: as manifests record it, and as footers and samples say, which meet damage first and tell it as every reader does."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.storage.datasets.adoption_of_spark_files import adopt
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments import row_sizes
from sframe_spark.storage.segments.row_sizes import column_bytes, recorded_bytes
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT, STR, list_of

ROWS = 200


def test_a_changed_byte_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sizes, "WORTH_SAMPLING", 0)
    place = tmp_path / "words.parquet"
    for compression in ("snappy", "none"):
        pq.write_table(pa.table({"word": [f"x{row % 9}" for row in range(ROWS)]}), place, compression=compression)
        content, told = place.read_bytes(), 0
        pages = pq.ParquetFile(place).metadata.row_group(0).column(0).total_compressed_size
        for position in range(4, 4 + pages, 4):
            place.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
            try:
                column_bytes(SFrame(str(place))._node.operator.manifest, [0], 0, ROWS)  # type: ignore[attr-defined]
            except StorageError as error:
                told += str(place) in str(error)
        assert told > 5


TYPES = [INT, STR, list_of(STR)]


def growing(place: Path, segments: int = 20) -> Manifest:
    """Rows whose texts are longer in later segments, saved."""
    written = []
    for number in range(segments):
        texts = [str(row) * number for row in range(ROWS)]
        columns = [pa.array(range(ROWS)), pa.array(texts), pa.array([[text, "é"] for text in texts])]
        written.append(write_segment(str(place), number, TYPES, [columns]))
    return publish(str(place), TYPES, written)


@pytest.mark.parametrize(("start", "stop"), [(0, 20 * ROWS), (0, ROWS), (ROWS // 2, 5 * ROWS), (3 * ROWS, 20 * ROWS - 7), (8 * ROWS, 8 * ROWS)])
def test_recorded_sizes_are_near_those_of_the_rows(tmp_path: Path, start: int, stop: int) -> None:
    made = growing(tmp_path)
    rows = [column.nbytes for column in SegmentSource.of(made).read(start, stop).columns]
    for manifest in (made, load_manifest(tmp_path)):
        assert recorded_bytes(manifest, [0, 1, 2], start, stop) == pytest.approx(rows, rel=0.15, abs=100)


def test_sizes_of_files_that_spark_wrote_come_from_their_footers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = growing(tmp_path, 3)
    adopted = publish(str(tmp_path), TYPES, adopt(str(tmp_path), TYPES))
    assert adopted.column_bytes == pytest.approx(column_bytes(manifest, [0, 1, 2], 0, 3 * ROWS), abs=3)
    # Texts that repeat may be much longer than they are on disk.
    monkeypatch.setattr(row_sizes, "WORTH_SAMPLING", 0)
    assert adopt(str(tmp_path), TYPES)[0].column_bytes == (8 * ROWS, None, None)
    mixed = publish(str(tmp_path), TYPES, [adopt(str(tmp_path), TYPES)[0], *manifest.segments[1:]])
    assert mixed.column_bytes[1:] == (None, None) and recorded_bytes(mixed, [1, 2], 0, ROWS) == [None, None]
    assert None not in recorded_bytes(mixed, [1, 2], ROWS, 2 * ROWS)
