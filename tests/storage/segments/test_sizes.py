"""How long stored rows are: a look at the first of them meets damage first, and tells it as every reader does."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import StorageError
from sframe_spark.storage.segments import row_sizes
from sframe_spark.storage.segments.row_sizes import column_bytes

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
