"""Short files of another form are not joined in memory: what files have in common is found once, and no file is taken for one that is like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark.errors import StorageError
from sframe_spark.storage.manifests.manifest import SegmentEntry
from sframe_spark.storage.parquet.checksums import sealed
from sframe_spark.storage.parquet.joined_files import joined_columns, may_join
from sframe_spark.storage.parquet.joined_footer import SharedFooter
from sframe_spark.storage.rows.reader import read_rows
from tests.storage.damage import new_identity
from tests.storage.parquet.test_joined_files import joined, numbers_written


def test_what_files_have_in_common_is_found_once_for_each_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    manifest, looked = numbers_written(tmp_path / "a"), list[bytes]()
    of = SharedFooter.of
    monkeypatch.setattr(SharedFooter, "of", lambda footer: looked.append(footer) or of(footer))
    for _ in range(3):
        for names in (["c0"], ["_key"], ["c0", "_key"], ["_key", "c0"]):
            table = joined_columns(manifest, manifest.segments, names)
            assert table is not None and table.column_names == names and table.column(names[0]).to_pylist()[0] == 0
    assert len(looked) == 1
    table = table_of([7, 8], pa.int64()).replace_schema_metadata({"a": "b"})
    others = tuple(rewritten(entry, tmp_path / "a", table) for entry in manifest.segments[1:])
    changed = manifest.with_segments((manifest.segments[0], *others))
    for entries, expected in ((others, [7, 8, 7, 8]), (manifest.segments[:1], [0, 1]), (others, [7, 8, 7, 8]), (changed.segments, None)):
        found = joined_columns(changed, entries, ["c0"])
        assert (found if found is None else found.column(0).to_pylist()) == expected


def rewritten(entry: SegmentEntry, directory: Path, table: pa.Table, **options: Any) -> SegmentEntry:
    """The entry of another file with its name, whose check sum is right."""
    pq.write_table(table, directory / entry.file, write_page_checksum=True, **options)
    new_identity(directory / entry.file)
    return attrs.evolve(sealed(entry, str(directory / entry.file), table.num_columns - 1), rows=entry.rows)


def table_of(values: list[Any], kind: pa.DataType) -> pa.Table:
    keys = pa.array(range(len(values)), pa.int64())
    schema = pa.schema([pa.field("c0", kind), pa.field("_key", pa.int64(), nullable=False)])
    return pa.Table.from_arrays([pa.array(values, kind), keys], schema=schema)


FORMS: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "more rows": (table_of([1, 2, 3], pa.int64()), {}),
    "fewer rows": (table_of([1], pa.int64()), {}),
    "another type": (table_of(["a", "b"], pa.string()), {}),
    "other metadata": (table_of([1, 2], pa.int64()).replace_schema_metadata({"a": "b"}), {}),
    "two row groups": (table_of([1, 2], pa.int64()), {"row_group_size": 1}),
    "no schema of Arrow's": (table_of([1, 2], pa.int64()), {"store_schema": False}),
}


@pytest.mark.parametrize("name", FORMS)
def test_files_of_another_form_are_not_joined(tmp_path: Path, name: str) -> None:
    manifest = numbers_written(tmp_path)
    table, options = FORMS[name]
    changed = list(manifest.segments)
    changed[1] = rewritten(changed[1], tmp_path, table, **options)
    other = manifest.with_segments(tuple(changed))
    assert all(map(may_join, other.segments)) and joined(other) is None
    if table.num_rows == 2 and table.schema.field(0).type == pa.int64():
        # Who reads file by file has their rows.
        assert read_rows(other, [0]).column(0).to_pylist() == [0, 1, 1, 2, 20, 21]
    elif table.num_rows != 2:
        with pytest.raises(StorageError, match=f"has {table.num_rows} rows, its manifest says 2"):
            read_rows(other, [0])


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_files_are_joined_however_they_are_compressed(tmp_path: Path, compression: str) -> None:
    manifest = numbers_written(tmp_path)
    changed = [rewritten(entry, tmp_path, table_of([7, entry.number], pa.int64()), compression=compression) for entry in manifest.segments]
    table = joined(manifest.with_segments(tuple(changed)))
    assert table is not None and table.column("c0").to_pylist() == [7, 0, 7, 1, 7, 2]
