"""Iceberg tables without Java: the rows that the library `pyiceberg` reads, and what of metadata is not believed."""

from __future__ import annotations

import datetime
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import InvalidArgumentError, SchemaError, UnsupportedOperationError
from sframe_spark.storage.external import iceberg
from sframe_spark.storage.segments import reader
from tests.api.io.conftest import made, message, same, with_metadata

STAMP = datetime.datetime(2024, 2, 29, 1, 2, 3, 4)


def data_files(table: Any) -> list[Path]:
    return [Path(task.file.file_path.removeprefix("file://")) for task in table.scan().plan_files()]


def test_every_snapshot_has_the_rows_of_its_time(catalog: Any) -> None:
    table = made(catalog, {"a": [1, 2]}, {"a": [3]})
    table.delete("a == 2")
    table.overwrite(pa.table({"a": [7, 8]}))
    snapshots = [snapshot.snapshot_id for snapshot in table.snapshots()]
    assert [list(same(table, one)["a"]) for one in snapshots[:2]] == [[1, 2], [1, 2, 3]]
    for one in [*snapshots, None]:
        same(table, one)
    assert list(SFrame.read_iceberg(table)["a"]) == [7, 8]
    path = table.metadata_location.removeprefix("file://")
    assert (
        list(SFrame.read_iceberg(path)["a"])
        == list(SFrame.read_iceberg(Path(path))["a"])
        == list(SFrame.read_iceberg(f"file://{path}")["a"])
        == [7, 8]
    )
    assert "no snapshot 99" in message(table, snapshot_id=99) and str(snapshots[-1]) in message(table, snapshot_id=99)


def test_odd_names_of_directories(catalog: Any, tmp_path: Path) -> None:
    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64()}), location=f"file://{tmp_path}/a b%20é[*]{{}}")
    table.append(pa.table({"a": [1]}))
    assert list(same(table)["a"]) == [1]
    assert list(SFrame.read_iceberg(table.metadata_location.removeprefix("file://"))["a"]) == [1]


def test_values_of_all_types(catalog: Any) -> None:
    rows = {
        "i": pa.array([1, None], pa.int32()), "f": pa.array([float("nan"), -0.0], pa.float32()), "s": ["", "ä\n"],
        "d": [datetime.date(1, 1, 1), None],
        "z": pa.array([STAMP, None], pa.timestamp("us", "UTC")), "n": pa.array([STAMP, None], pa.timestamp("us")), "b": [True, None],
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())), "l": [[1, None], []], "t": [{"u": 1, "v": "w"}, None],
        "a name, `odd` {}": [1.5, 2.5], "x": [b"ab", None],
    }  # fmt: skip
    same(made(catalog, rows))


def test_a_table_without_rows_has_its_columns(catalog: Any) -> None:
    table = catalog.create_table("n.t", schema=pa.schema({"a": pa.int64(), "s": pa.string()}))
    frame = SFrame.read_iceberg(table)
    assert (frame.column_names(), frame.column_types(), len(frame)) == (["a", "s"], [int, str], 0)


def test_partitions_are_no_columns(catalog: Any, tmp_path: Path) -> None:
    table = made(catalog, {"a": [1, 2, 3], "s": ["x y%2F", None, "ä/é"]}, partition="s")
    assert same(table).column_names() == ["a", "s"]
    other = catalog.create_table("n.u", schema=pa.schema({"a": pa.int64()}))
    from pyiceberg.transforms import VoidTransform

    with other.update_spec() as update:
        update.add_field("a", VoidTransform(), "hidden")
    other.append(pa.table({"a": [1]}))
    assert same(other).column_names() == ["a"]


def test_filters_open_only_files_that_can_match(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(catalog, *({"a": list(range(10 * k, 10 * k + 10))} for k in range(3)))
    opened: list[str] = []
    inner = reader._file_batches

    def counted(location: str, *arguments: Any) -> Any:
        opened.append(location)
        return inner(location, *arguments)

    monkeypatch.setattr(reader, "_file_batches", counted)
    frame = SFrame.read_iceberg(table)
    assert list(frame[frame["a"] == 14]["a"]) == [14] and len(set(opened)) == 1
    opened.clear()
    assert frame["a"].max() == 29 and len(frame) == 30 and opened == []


def test_files_are_not_as_metadata_says(catalog: Any) -> None:
    table = made(catalog, {"a": [1, 2]})
    (file,) = data_files(table)
    content = file.read_bytes()
    pq.write_table(pq.read_table(file).slice(0, 1), file)
    assert str(file) in message(table) and "the log of the table says" in message(table)
    file.unlink()
    assert str(file) in message(table) and f"snapshot {table.current_snapshot().snapshot_id}" in message(table)
    file.write_bytes(content)
    assert list(SFrame.read_iceberg(table)["a"]) == [1, 2]


def test_files_without_numbers_of_columns_and_elsewhere(catalog: Any, tmp_path: Path) -> None:
    table = made(catalog, {"a": [1]})
    pq.write_table(pa.table({"a": [2]}), tmp_path / "x.parquet")
    table.add_files([f"file://{tmp_path}/x.parquet"])
    assert "x.parquet' that is not inside its directory" in message(table)
    other = made(catalog, {"a": [1]}, name="u")
    inside = data_files(other)[0].with_name("y.parquet")
    pq.write_table(pa.table({"a": [2]}), inside)
    other.add_files([f"file://{inside}"])
    assert "without field numbers" in message(other)


def manifests(table: Any) -> list[Path]:
    return [Path(one.manifest_path.removeprefix("file://")) for one in table.current_snapshot().manifests(table.io)]


def test_manifests_cut_short_are_told(catalog: Any) -> None:
    # The library takes what is left for all of it where the cut is between two blocks, and the first one begins behind the header.
    table = made(catalog, {"a": [1]}, {"a": [2]})
    for path in (manifests(table)[0], Path(table.current_snapshot().manifest_list.removeprefix("file://"))):
        content = path.read_bytes()
        mark = content[-16:]
        for cut in range(content.index(mark) + 16, len(content), 40):
            path.write_bytes(content[:cut])
            assert "damaged" in message(copied(table)) or "cannot be read" in message(copied(table))
        path.write_bytes(content)
        assert sorted(SFrame.read_iceberg(copied(table))["a"]) == [1, 2]


def copied(table: Any) -> Path:
    """The metadata, read anew: the library remembers lists of manifests by their paths."""
    from pyiceberg import manifest

    manifest.clear_manifest_cache()
    return with_metadata(table, lambda content: None)


def test_summaries_with_other_numbers_of_files_are_told(catalog: Any) -> None:
    table = made(catalog, {"a": [1]}, {"a": [2]})
    for name in ("total-data-files", "total-delete-files"):
        for number in ("1", "-1", "\x1b[2J"):
            text = message(with_metadata(table, lambda content: content["snapshots"][-1]["summary"].update({name: number})))  # noqa: B023
            assert f"({name})" in text and "\x1b" not in text


def with_deletes(table: Any, content: str, rows: dict[str, Any], **fields: Any) -> Path:
    """Metadata of a table with one more snapshot, which has a delete file: the library reads such files and writes none."""
    from pyiceberg import manifest as m
    from pyiceberg.typedef import Record

    class Deletes(m.ManifestWriterV2):
        _meta = property(lambda self: {**super()._meta, "content": "deletes"})

        def content(self) -> m.ManifestContent:
            return m.ManifestContent.DELETES

    root, snapshot, number = table.location(), table.current_snapshot(), 77
    pq.write_table(pa.table(rows), f"{root.removeprefix('file://')}/data/deletes.parquet")
    size = Path(f"{root.removeprefix('file://')}/data/deletes.parquet").stat().st_size
    file = m.DataFile.from_args(
        content=m.DataFileContent[content], file_path=f"{root}/data/deletes.parquet", file_format=m.FileFormat.PARQUET, partition=Record(),
        record_count=len(next(iter(rows.values()))), file_size_in_bytes=size, spec_id=0, **fields,
    )  # fmt: skip
    with Deletes(table.spec(), table.schema(), table.io.new_output(f"{root}/metadata/deletes.avro"), number, "null") as writer:
        writer.add_entry(m.ManifestEntry.from_args(status=m.ManifestEntryStatus.ADDED, snapshot_id=number, data_file=file))
    sequence = table.metadata.last_sequence_number + 1
    out = table.io.new_output(f"{root}/metadata/list.avro")
    with m.write_manifest_list(2, out, number, snapshot.snapshot_id, sequence, "null") as lists:
        lists.add_manifests([writer.to_manifest_file(), *snapshot.manifests(table.io)])

    def change(metadata: dict[str, Any]) -> None:
        last = metadata["snapshots"][-1]
        told = {"snapshot-id": number, "sequence-number": sequence, "manifest-list": f"{root}/metadata/list.avro"}
        metadata["snapshots"].append({**last, **told, "summary": {**last["summary"], "total-delete-files": "1"}})
        metadata.update({"current-snapshot-id": number, "last-sequence-number": sequence, "refs": {}})

    return with_metadata(table, change)


def test_files_with_deleted_positions_are_refused(catalog: Any) -> None:
    from pyiceberg.table import StaticTable

    table = made(catalog, {"a": [1, 2, 3]})
    (file,) = [task.file.file_path for task in table.scan().plan_files()]
    path = with_deletes(table, "POSITION_DELETES", {"file_path": [file], "pos": [1]})
    assert StaticTable.from_metadata(str(path)).scan().to_arrow().to_pydict() == {"a": [1, 3]}
    assert "delete files" in message(path, UnsupportedOperationError)
    # Before them the rows are those of the files.
    assert list(SFrame.read_iceberg(path, table.current_snapshot().snapshot_id)["a"]) == [1, 2, 3]
    table.append(pa.table({"a": [4]}))
    path = with_deletes(table, "POSITION_DELETES", {"file_path": ["file:///of/another"], "pos": [1]})
    assert "delete files" in message(path, UnsupportedOperationError)


def test_rows_deleted_by_their_values_are_refused(catalog: Any) -> None:
    path = with_deletes(made(catalog, {"a": [1, 2, 3]}), "EQUALITY_DELETES", {"a": [2]}, equality_ids=[1])
    assert "delete files" in message(path, UnsupportedOperationError)


TRANSFORMS = {
    "bucket[3]": "i",
    "bucket[5]": "s",
    "truncate[2]": "s",
    "truncate[10]": "i",
    "day": "t",
    "month": "t",
    "year": "d",
    "hour": "t",
    "void": "s",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("transform", "column"), [*TRANSFORMS.items(), ("identity", "d")])
def test_hidden_partitions(catalog: Any, transform: str, column: str) -> None:
    import uuid

    from pyiceberg.io.pyarrow import write_file
    from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
    from pyiceberg.table import WriteTask
    from pyiceberg.transforms import parse_transform

    day = datetime.date(1969, 12, 30)
    rows = [
        {"i": i, "s": s, "t": None if i is None else STAMP.replace(year=1969 + i % 3, day=28), "d": day + datetime.timedelta(days=place)}
        for place, (i, s) in enumerate([(-7, ""), (None, "/"), (12, "a b%2F"), (5, None), (12, "ä=日"), (-1, "..")])
    ]
    schema = pa.schema({"i": pa.int64(), "s": pa.string(), "t": pa.timestamp("us"), "d": pa.date32()})
    table = catalog.create_table("n.t", schema=schema)
    table.append(pa.Table.from_pylist(rows[:1], schema=schema))
    with table.update_spec() as update:
        update.add_field(column, parse_transform(transform), "hidden part")
    # The library computes partitions of many rows by another one, which need not be there; of a value it does so itself.
    (field,) = table.spec().fields
    of = field.transform.transform(table.schema().find_field(column).field_type)
    tasks = []
    for place, row in enumerate(rows[1:]):
        with_key = pa.Table.from_pylist([row], schema=schema)
        value = with_key[column].cast(pa.int32() if column == "d" else pa.int64() if column == "t" else with_key[column].type)[0].as_py()
        key = PartitionKey([PartitionFieldValue(field, of(value))], table.spec(), table.schema())
        tasks.append(WriteTask(uuid.uuid4(), place, table.schema(), with_key.to_batches(), partition_key=key))
    with table.transaction() as change, change.update_snapshot().fast_append() as append:
        for file in write_file(table.io, table.metadata, iter(tasks)):
            append.append_data_file(file)
    frame = same(table)
    assert sorted(map(repr, frame)) == sorted(map(repr, SFrame(pa.Table.from_pylist(rows, schema=schema))))
    for row in rows:
        if row[column] is not None:
            assert len(frame[frame[column] == row[column]]) == sum(other[column] == row[column] for other in rows)
    with table.update_spec() as update:
        update.remove_field("hidden part")
    table.append(pa.Table.from_pylist(rows, schema=schema))
    assert len(same(table)) == 12


def test_metadata_that_names_other_places(catalog: Any, tmp_path: Path) -> None:
    table = made(catalog, {"a": [1]})
    path = Path(table.metadata_location.removeprefix("file://"))
    content = json.loads(path.read_text())
    for elsewhere in ("/etc/passwd", "http://127.0.0.1:1/x.avro", f"file://{path.parent}/../../x.avro"):
        content["snapshots"][-1]["manifest-list"] = elsewhere
        path.write_text(json.dumps(content))
        assert "not inside its directory" in message(path)
    moved = tmp_path / "moved" / "metadata"
    moved.mkdir(parents=True)
    (moved / path.name).write_text(json.dumps(content))
    assert "not inside its directory" in message(moved / path.name)


def test_metadata_names_no_code(catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The library imports the class that opens files by the name that metadata has for it.
    table = made(catalog, {"a": [1]})
    path = Path(table.metadata_location.removeprefix("file://"))
    (tmp_path / "code_in_metadata.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    content = json.loads(path.read_text())
    for name in ("py-io-impl", "write.py-location-provider.impl", "py-catalog-impl", "type"):
        content["properties"][name] = "code_in_metadata.Class"
    path.write_text(json.dumps(content))
    assert list(SFrame.read_iceberg(path)["a"]) == [1]
    assert "code_in_metadata" not in sys.modules


def test_compressed_metadata(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(catalog, {"a": [1]})
    path = Path(table.metadata_location.removeprefix("file://"))
    compressed = path.with_name("x.gz.metadata.json")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(SFrame.read_iceberg(compressed)["a"]) == [1]
    monkeypatch.setattr(iceberg, "MAX_METADATA", 1 << 20)
    compressed.write_bytes(gzip.compress(b" " * (1 << 20) + path.read_bytes()))
    assert "more than 1 MB" in message(compressed)
    for broken in (compressed.read_bytes()[:-9], b"{}", gzip.compress(b"\xff")):
        compressed.write_bytes(broken)
        assert str(compressed) in message(compressed)


def test_wrong_calls(catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(catalog, {"a": [1]})
    for number in (True, "1", 1.0):
        assert "snapshot_id must be the number" in message(table, InvalidArgumentError, snapshot_id=number)
    assert "no snapshot -1" in message(table, snapshot_id=-1)
    assert "table of pyiceberg" in message(7, SchemaError) and "there is no file" in message(tmp_path / "none.json")
    assert "Spark" in message("s3://b/metadata/x.json", UnsupportedOperationError)
    (tmp_path / "x.json").write_text("{not json\x1b[2J")
    assert "holds no metadata of an Iceberg table" in message(tmp_path / "x.json") and "\x1b" not in message(tmp_path / "x.json")
    assert "is a directory: give the newest file below its metadata" in message(tmp_path)
    assert "for a table in a catalog pass catalog.load_table(...)" in message("ns.t")
    monkeypatch.setitem(sys.modules, "pyiceberg.io.pyarrow", None)
    assert "pip install 'sframe_spark[iceberg]'" in message(table, UnsupportedOperationError)
