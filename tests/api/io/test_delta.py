"""Delta tables without Java: the rows that the library `deltalake` reads, and what of a log is not believed."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import InvalidArgumentError, SchemaError, SFrameError, StorageError, UnsupportedOperationError
from sframe_spark.storage.segments import reader
from tests.lake_tables import rows_of_delta

UTC = datetime.UTC
DAY = datetime.datetime(2024, 2, 29, tzinfo=UTC)


def write(place: Path, *tables: Any, **options: Any) -> Path:
    import deltalake

    for table in tables:
        deltalake.write_deltalake(str(place), pa.table(table), mode="append", **options)
    return place


def sorted_rows(frame: SFrame) -> list[str]:
    return sorted(map(repr, SFrame(frame)))


def theirs(place: Path, version: int | None = None) -> SFrame:
    return SFrame(rows_of_delta(place, version))


def same(place: Path, version: int | None = None) -> SFrame:
    ours, other = SFrame.read_delta(place, version), theirs(place, version)
    assert ours.column_names() == other.column_names() and ours.column_types() == other.column_types()
    assert sorted_rows(ours) == sorted_rows(other) and len(ours) == len(other)
    return ours


def logs(place: Path) -> list[Path]:
    return sorted((place / "_delta_log").glob("*.json"))


def edit(place: Path, change: Callable[[str, dict[str, Any]], None]) -> Path:
    """Change what the first log of a table says; the function gets the kind of each action and the action."""
    actions = [json.loads(line) for line in logs(place)[0].read_text().splitlines()]
    for action in actions:
        for kind, content in action.items():
            change(kind, content)
    logs(place)[0].write_text("\n".join(map(json.dumps, actions)))
    return place


def of_add(**fields: Any) -> Callable[[str, dict[str, Any]], None]:
    return lambda kind, content: content.update(fields) if kind == "add" else None


def features(*names: str, **configuration: str) -> Callable[[str, dict[str, Any]], None]:
    def change(kind: str, content: dict[str, Any]) -> None:
        if kind == "protocol":
            content.clear()
            content.update(minReaderVersion=3, minWriterVersion=7, readerFeatures=list(names), writerFeatures=list(names))
        elif kind == "metaData":
            content["configuration"] = configuration

    return change


def message(place: Any, error: type[SFrameError] = StorageError, **options: Any) -> str:
    with pytest.raises(error) as caught:
        SFrame.read_delta(place, **options)
    return str(caught.value)


def test_every_version_has_the_rows_of_its_time(tmp_path: Path) -> None:
    import deltalake

    place = write(tmp_path / "a b#é", {"a": [1, 2]}, {"a": [3]})
    deltalake.DeltaTable(str(place)).delete("a = 2")
    deltalake.write_deltalake(str(place), pa.table({"a": [7, 8]}), mode="overwrite")
    assert [list(SFrame.read_delta(place, version)["a"]) for version in (0, 1, 3, None)] == [[1, 2], [1, 2, 3], [7, 8], [7, 8]]
    assert sorted(SFrame.read_delta(place, 2)["a"]) == [1, 3]
    assert list(SFrame.read_delta(f"file://{tmp_path}/a%20b%23%C3%A9")["a"]) == [7, 8]
    deltalake.DeltaTable(str(place)).create_checkpoint()
    assert list(SFrame.read_delta(str(place))["a"]) == [7, 8]
    assert "no version 9: its newest is 3" in message(place, version=9)


def test_a_directory_with_per_cent_signs(tmp_path: Path) -> None:
    # The library takes these for escapes, and would read the log of the other table.
    write(tmp_path / "a b", {"a": [1]})
    write(tmp_path / "t", {"a": [2]}).rename(tmp_path / "a%20b")
    (tmp_path / "link").symlink_to(tmp_path / "a%20b")
    for name in ("a%20b", "link", "a\\b"):
        assert "per cent" in message(tmp_path / name, UnsupportedOperationError)


@pytest.mark.parametrize("name", ["100%", "{}", "a?b", "*", "[a]", "a#b", "ä 日本", "a:b", "x=1"])
def test_directories_with_odd_names(name: str, tmp_path: Path) -> None:
    write(tmp_path / "t", {"a": [3]}).rename(tmp_path / name)
    assert list(SFrame.read_delta(tmp_path / name)["a"]) == [3]


def test_values_of_all_types(tmp_path: Path) -> None:
    rows = {
        "i": pa.array([1, None], pa.int8()), "f": pa.array([float("nan"), -0.0], pa.float32()), "s": ["", "ä\n"], "d": [datetime.date(1, 1, 1), None],
        "z": [DAY, None], "n": pa.array([datetime.datetime(1900, 1, 1), None], pa.timestamp("us")), "b": [True, None], "x": [b"ab", None],
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())), "l": [[1, None], []], "t": [{"u": 1, "v": "w"}, None],
        "a name, `odd` {}": [1.5, 2.5], "e": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
    }  # fmt: skip
    same(write(tmp_path / "t", rows))


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    schema = pa.schema({"a": pa.int64(), "p": pa.string(), "z": pa.timestamp("us", "UTC")})
    frame = same(write(tmp_path / "t", schema.empty_table(), partition_by=["p"]))
    assert frame.column_types() == [int, str, datetime.datetime] and len(frame) == 0


def test_partitions_have_the_values_of_the_log(tmp_path: Path) -> None:
    odd = ["x y/ä%", "../..", "1", "__HIVE", None, "a=b", "'\"\\"]
    rows = {
        "p": odd, "a": range(7), "d": [datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1), *[datetime.date(9999, 12, 31)] * 4],
        "i": pa.array([1, -1, None, 4, 5, 6, 7], pa.int16()), "b": [True, None, False, True, True, True, True],
        "n": pa.array([datetime.datetime(2024, 1, 1, 1, 2, 3, 4), None, *[datetime.datetime(1970, 1, 1)] * 5], pa.timestamp("us")),
    }  # fmt: skip
    place = write(tmp_path / "t", rows, partition_by=["d", "p", "i", "b", "n"])
    frame = same(place)
    assert frame.column_names() == ["p", "a", "d", "i", "b", "n"]
    assert list(frame[frame["p"] == "x y/ä%"]["a"]) == [0] and list(frame[frame["p"] == None]["a"]) == [4]  # noqa: E711
    assert sorted(frame[frame["i"] > 4]["a"]) == [4, 5, 6] and list(frame[["i", "p"]][0].values()) == [frame["i"][0], frame["p"][0]]


def test_partitions_by_instants_are_refused_by_name(tmp_path: Path) -> None:
    assert "partitioned by column 'when'" in message(write(tmp_path / "t", {"a": [1], "when": [DAY]}, partition_by=["when"]), SchemaError)


def test_partitions_by_bytes_are_refused_and_texts_that_are_no_values_told(tmp_path: Path) -> None:
    assert "partitioned by column 'p'" in message(write(tmp_path / "t", {"a": [1], "p": [b"\xff"]}, partition_by=["p"]), SchemaError)
    place = edit(write(tmp_path / "u", {"a": [1], "p": [5]}, partition_by=["p"]), of_add(partitionValues={"p": "abc\x1b"}))
    assert "abc" in message(place) and "\x1b" not in message(place)
    frame = SFrame.read_delta(write(tmp_path / "v", {"a": [1, 2], "p": [float("nan"), 0.5]}, partition_by=["p"]))
    assert list(frame[frame["p"] > 0]["a"]) == [2] and sorted(map(repr, frame["p"])) == ["0.5", "nan"]


def test_other_capitals_are_no_missing_values(tmp_path: Path) -> None:
    def change(kind: str, content: dict[str, Any]) -> None:
        if kind == "metaData":
            content["schemaString"] = content["schemaString"].replace('"a"', '"A"')

    assert "'A' with other capitals" in message(edit(write(tmp_path / "t", {"a": [1]}), change))


def test_columns_that_came_later_and_wider_types(tmp_path: Path) -> None:
    import deltalake

    place = write(tmp_path / "t", {"a": pa.array([1, 2], pa.int32())})
    new = pa.table({"b": ["x"], "a": pa.array([3], pa.int32())})
    deltalake.write_deltalake(str(place), new, mode="append", schema_mode="merge")
    frame = same(place)
    assert list(frame["b"]) == [None, None, "x"] and list(frame[frame["b"] == "x"]["a"]) == [3]

    def widened(kind: str, content: dict[str, Any]) -> None:
        if kind == "metaData":
            content["schemaString"] = content["schemaString"].replace('"integer"', '"long"')

    assert list(SFrame.read_delta(edit(place, widened), 0)["a"]) == [1, 2]


def test_a_column_of_another_type_is_refused_by_name(tmp_path: Path) -> None:
    def change(kind: str, content: dict[str, Any]) -> None:
        if kind == "metaData":
            content["schemaString"] = content["schemaString"].replace('"long"', '"string"')

    text = message(edit(write(tmp_path / "t", {"a": [1]}), change))
    assert "column 'a' is string in the table but int64" in text


def test_a_struct_that_got_a_part_is_refused(tmp_path: Path) -> None:
    import deltalake

    place = write(tmp_path / "t", {"a": [{"u": 1}]})
    deltalake.write_deltalake(str(place), pa.table({"a": [{"u": 1, "v": 2}]}), mode="append", schema_mode="merge")
    assert "column 'a' is struct<" in message(place)


def test_time_stamps_of_older_spark(tmp_path: Path) -> None:
    place = write(tmp_path / "t", {"z": [DAY, None]})
    (file,) = place.glob("*.parquet")
    pq.write_table(pa.table({"z": [DAY.replace(tzinfo=None), None]}), file, use_deprecated_int96_timestamps=True)
    assert list(SFrame.read_delta(edit(place, of_add(size=file.stat().st_size)))["z"]) == [DAY.replace(tzinfo=None), None]
    pq.write_table(pa.table({"z": pa.array([DAY.replace(tzinfo=None), None], pa.timestamp("us"))}), file)
    assert "column 'z' is timestamp" in message(edit(place, of_add(size=file.stat().st_size)))


def test_filters_open_only_files_that_can_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write(tmp_path / "t", *({"a": range(10 * k, 10 * k + 10), "p": [k] * 10} for k in range(6)), partition_by=["p"])
    opened: list[str] = []
    inner = reader._file_batches

    def counted(location: str, *arguments: Any) -> Any:
        opened.append(location)
        return inner(location, *arguments)

    monkeypatch.setattr(reader, "_file_batches", counted)
    frame = SFrame.read_delta(place)
    assert list(frame[frame["a"] == 34]["p"]) == [3] and len(set(opened)) == 1
    opened.clear()
    assert list(frame[frame["p"] >= 4]["a"]) == list(range(40, 60)) and len(set(opened)) == 2
    opened.clear()
    assert frame["a"].max() == 59 and len(frame) == 60 and opened == []


def test_files_are_not_as_the_log_says(tmp_path: Path) -> None:
    place = write(tmp_path / "t", {"a": [1, 2]})
    assert "has 2 rows, the log of the table says 3" in message(edit(place, of_add(stats='{"numRecords":3}')))
    assert list(SFrame.read_delta(edit(place, of_add(stats=None)))["a"]) == [1, 2]
    (file,) = place.glob("*.parquet")
    assert f"has {file.stat().st_size} bytes" in message(edit(place, of_add(size=1)))
    edit(place, of_add(size=file.stat().st_size))
    file.unlink()
    text = message(place)
    assert file.name in text and "version 0" in text and "vacuum" in text


@pytest.mark.parametrize(
    "path",
    [
        "../other/x.parquet",
        "%2E%2E/other/x.parquet",
        "/etc/passwd",
        "file:///etc/passwd",
        "s3://b/x",
        "a/../../x",
        "a//b",
        "link/x.parquet",
        "%00",
        "",
        "9" * 5000,
    ],
)
def test_paths_that_leave_the_table(path: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other" / "x.parquet")
    place = edit(write(tmp_path / "t", {"a": [1]}), of_add(path=path, size=(tmp_path / "other" / "x.parquet").stat().st_size))
    (place / "link").symlink_to(tmp_path / "other")
    assert str(place) in message(place)


def test_features_that_change_rows_are_refused(tmp_path: Path) -> None:
    from deltalake import DeltaTable

    place = write(tmp_path / "t", {"a": [1, 2, 3]})
    assert list(SFrame.read_delta(edit(place, features("deletionVectors")))["a"]) == [1, 2, 3]
    assert DeltaTable(str(place)).protocol().reader_features == ["deletionVectors"]
    vectors = {"inline": ("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"), "file": ("u", "ab^-aqEH.-t@S}K{vb[*k^")}
    for kind, content in vectors.values():
        vector = {"storageType": kind, "pathOrInlineDv": content, "offset": 1, "sizeInBytes": 36, "cardinality": 1}
        edit(place, of_add(deletionVector=vector))
        text = message(place, UnsupportedOperationError)
        assert "deletion vectors" in text and "spark.read.format('delta')" in text
    edit(place, features())
    assert "deletion vectors" in message(place, UnsupportedOperationError)
    edit(place, of_add(deletionVector=None))
    assert len(SFrame.read_delta(place)) == 3
    assert "not in its protocol" in message(edit(place, features(**{"delta.columnMapping.mode": "name"})), SFrameError)
    assert "columnMapping by 'hash'" in message(edit(place, features("columnMapping", **{"delta.columnMapping.mode": "hash"})), SFrameError)
    assert "fooBar" in message(edit(place, features("fooBar")), SFrameError)


def mapped(place: Path, mode: str, *columns: tuple[str, str, Any]) -> Path:
    """Give a table columns of some types with names, and names in files, of their own."""

    def change(kind: str, content: dict[str, Any]) -> None:
        if kind == "metaData":
            content["configuration"]["delta.columnMapping.maxColumnId"] = str(len(columns))
            fields = [
                {"name": name, "type": of, "nullable": True, "metadata": {PHYSICAL: stored, "delta.columnMapping.id": number}}
                for number, (name, stored, of) in enumerate(columns, 1)
            ]
            content["schemaString"] = json.dumps({"type": "struct", "fields": fields})
            content["partitionColumns"] = [name for name, stored, _ in columns if stored in content["partitionColumns"]]

    return edit(edit(place, features("columnMapping", **{"delta.columnMapping.mode": mode})), change)


PHYSICAL = "delta.columnMapping.physicalName"


def by_query(place: Path) -> SFrame:
    """The rows as the library's SQL has them: its other reader knows fewer features."""
    from deltalake import DeltaTable, QueryBuilder

    return SFrame(pa.table(QueryBuilder().register("t", DeltaTable(str(place))).execute("select * from t")))


def test_columns_that_files_call_otherwise(tmp_path: Path) -> None:
    rows = {"c1": [1, None], "c2": ["x", "y"], "p": [5, 6], "c3": [[1], []], "c4": [{"u": 1}, None]}
    place = write(tmp_path / "t", rows, partition_by=["p"])
    part = {"type": "struct", "fields": [{"name": "u", "type": "long", "nullable": True, "metadata": {PHYSICAL: "u", "delta.columnMapping.id": 9}}]}
    numbers = {"type": "array", "elementType": "long", "containsNull": True}
    columns = ("c2", "c1", "long"), ("c1", "c2", "string"), ("new", "c9", "string"), ("day", "p", "long"), ("l", "c3", numbers), ("s", "c4", part)
    frame, expected = SFrame.read_delta(mapped(place, "name", *columns)), by_query(place)
    assert frame.column_names() == expected.column_names() == ["c2", "c1", "new", "day", "l", "s"]
    assert frame.column_types() == expected.column_types() and sorted_rows(frame) == sorted_rows(expected)
    assert list(frame[frame["c2"] == 1]["c1"]) == ["x"] and list(frame[frame["day"] == 6]["c1"]) == ["y"]
    assert "without field numbers" in message(mapped(place, "id", *columns))


def test_columns_by_their_numbers(tmp_path: Path) -> None:
    place = write(tmp_path / "t", {"a": [1], "b": [2]})
    (file,) = place.glob("*.parquet")
    numbered = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": number}) for name, number in (("a", "2"), ("b", "1"))]
    pq.write_table(pa.table({"a": [1], "b": [2]}, schema=pa.schema(numbered)), file)
    place = mapped(edit(place, of_add(size=file.stat().st_size)), "id", ("x", "q", "long"), ("y", "r", "long"))
    assert list(SFrame.read_delta(place)) == [{"x": 2, "y": 1}]


def test_parts_that_files_call_otherwise_are_refused(tmp_path: Path) -> None:
    place = write(tmp_path / "t", {"a": [{"u": 1, "v": 2}]})
    # Renamed to each other's names, and then put in another order: names alone tell nothing.
    swapped = [("u", "v", 5), ("v", "u", 6)]
    parts = [{"name": n, "type": "long", "nullable": True, "metadata": {PHYSICAL: s, "delta.columnMapping.id": i}} for n, s, i in swapped]
    mapped(place, "name", ("a", "a", {"type": "struct", "fields": parts}))
    assert "column 'a' is struct" in message(place)
    assert "cannot be read" in message(mapped(place, "name", ("a", "a", {"type": "struct", "fields": [parts[0] | {"metadata": {}}]})))


def test_metadata_of_columns_is_no_mapping(tmp_path: Path) -> None:
    place = write(tmp_path / "t", {"a": [1], "b": [2]})

    def change(kind: str, content: dict[str, Any]) -> None:
        if kind == "metaData":
            found = json.loads(content["schemaString"])
            for field, other in zip(found["fields"], ("b", "a"), strict=True):
                field["metadata"] = {PHYSICAL: other, "sframe:stored_name": other, "PARQUET:field_id": 1}
            content["schemaString"] = json.dumps(found)

    assert list(SFrame.read_delta(edit(place, change))) == [{"a": 1, "b": 2}]


def test_a_file_changed_after_the_frame_was_made_is_told(tmp_path: Path) -> None:
    place = write(tmp_path / "t", {"a": [1, 2]})
    frame = SFrame.read_delta(place)
    (file,) = place.glob("*.parquet")
    pq.write_table(pa.table({"a": [5, 6]}), file)
    with pytest.raises(StorageError, match="changed"):
        list(frame["a"])


def test_wrong_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in (-1, True, "1", 1.0, 1 << 70):
        assert "version must be the number" in message(tmp_path, InvalidArgumentError, version=version)
    assert "no Delta table" in message(tmp_path / "nothing") and "no Delta table" in message(tmp_path)
    assert "Spark" in message("s3://bucket/t", UnsupportedOperationError) and "str" in message(7, SchemaError)
    place = write(tmp_path / "t", {"a": [1]})
    logs(place)[0].write_text("{not json\x1b[2J")
    assert "\x1b" not in message(place) and str(place) in message(place)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert "pip install 'sframe_spark[delta]'" in message(place, UnsupportedOperationError)


@pytest.mark.spark
def test_spark_has_the_same_rows(everything_on_spark: None, tmp_path: Path) -> None:
    import deltalake

    place = write(tmp_path / "t", {"a": [3, 1, 2], "p": ["x", "y z", None]}, partition_by=["p"])
    deltalake.write_deltalake(str(place), pa.table({"a": [4], "p": ["x"], "b": [1.5]}), mode="append", schema_mode="merge")
    frame = SFrame.read_delta(place)
    expected = theirs(place)
    assert sorted_rows(frame) == sorted_rows(expected)
    assert list(frame.sort("a")["b"]) == [None, None, None, 1.5] and list(frame.sort("a")["p"]) == ["y z", None, "x", "x"]
    assert list(frame[frame["p"] == "x"].sort("a")["a"]) == [3, 4]
    assert sorted(map(tuple, frame.to_spark().collect()), key=repr) == sorted((tuple(row.values()) for row in expected), key=repr)
