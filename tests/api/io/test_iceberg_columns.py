"""Columns of Iceberg tables that came later, went, are wider or have another name are found by their numbers, as the library finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame
from tests.api.io.conftest import made, message, same, with_metadata


def test_columns_that_came_later_or_went_or_are_wider(catalog: Any) -> None:
    from pyiceberg.types import LongType, StringType

    table = made(catalog, {"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]})
    with table.update_schema() as update:
        update.update_column("a", LongType())
        update.add_column("c", StringType())
        update.move_first("c")
    table.append(pa.table({"c": ["z"], "a": [3], "b": ["w"]}))
    assert list(same(table)["c"]) == [None, None, "z"]
    assert same(table, table.snapshots()[0].snapshot_id).column_names() == ["a", "b"]
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("b")
    with table.update_schema() as update:
        update.add_column("b", StringType())
    # The column of that name in the files is another one.
    assert list(same(table)["b"]) == [None, None, None]


def test_renamed_columns_are_found_by_their_numbers(catalog: Any) -> None:
    table = made(catalog, {"a": [1, 2], "b": [10, 20]})
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        with table.update_schema() as update:
            update.rename_column(old, new)
    frame = same(table)
    assert list(frame["a"]) == [10, 20] and list(frame[frame["b"] == 2]["a"]) == [20]
    table.append(pa.table({"b": [3], "a": [30]}))
    # Files of before have what is `a` now as `b`.
    frame = same(table)
    assert list(frame["a"]) == [10, 20, 30] and list(frame[frame["b"] == 3]["a"]) == [30] and list(frame[frame["a"] == 10]["b"]) == [1]
    assert frame["a"].max() == 30 and len(frame) == 3 and frame.sort("a", ascending=False)[0] == {"a": 30, "b": 3}
    table.append(pa.table({"b": [4], "a": [40]}))
    with table.update_schema() as update:
        update.rename_column("a", "z")
    table.append(pa.table({"b": [5], "z": [50]}))
    assert list(same(table)["z"]) == [10, 20, 30, 40, 50]


def test_structs_with_other_parts_are_refused(catalog: Any) -> None:
    table = made(catalog, {"t": [{"u": 1, "v": 2}]})
    for old, new in (("u", "w"), ("v", "u"), ("w", "v")):
        with table.update_schema() as update:
            update.rename_column(("t", old), new)
    assert "column 't' is struct" in message(table)


def with_new_column(table: Any, **column: Any) -> Path:
    """Metadata of format 3, where columns have values in files of before they came."""

    def change(metadata: dict[str, Any]) -> None:
        old = metadata["schemas"][-1]
        metadata["schemas"].append({**old, "schema-id": 9, "fields": [*old["fields"], {"id": 100, "required": False, **column}]})
        metadata.update({"format-version": 3, "next-row-id": 0, "last-column-id": 100, "current-schema-id": 9})

    return with_metadata(table, change)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kind", "value"),
    [("long", 7), ("double", 0.5), ("string", "x y"), ("boolean", True), ("date", "2024-02-29"), ("timestamp", "2024-02-29T01:02:03.000004"),
     ("decimal(9,2)", "1.50"), ("int", -1), ("uuid", "00000000-0000-0000-0000-000000000001")],
)  # fmt: skip
def test_columns_with_values_of_before(catalog: Any, kind: str, value: Any) -> None:
    from pyiceberg.table import StaticTable

    table = made(catalog, {"a": [1, None]}, {"a": [3]})
    path = with_new_column(table, name="b", type=kind, **{"initial-default": value, "write-default": None})
    frame, expected = SFrame.read_iceberg(path), SFrame(StaticTable.from_metadata(str(path)).scan().to_arrow())
    assert frame.column_types() == expected.column_types()
    assert sorted(map(repr, frame)) == sorted(map(repr, expected)) and None not in list(frame["b"])
    (first,) = set(frame["b"])
    assert len(frame[frame["b"] == first]) == 3 and len(frame[frame["b"] != first]) == 0
    assert SFrame.read_iceberg(path, table.snapshots()[0].snapshot_id).column_names() == ["a"]


def test_defaults_that_no_missing_column_can_have_are_refused(catalog: Any) -> None:
    table = made(catalog, {"a": [1]})
    for kind, value in (("timestamptz", "2024-02-29T01:02:03+00:00"), ("binary", "6162")):
        path = with_new_column(table, name="b", type=kind, **{"initial-default": value})
        assert "no column 'b': it has a default value" in message(path)


@pytest.mark.spark
def test_spark_has_the_same_rows(everything_on_spark: None, catalog: Any) -> None:
    table = made(catalog, {"a": [1, 2, 3], "b": [10, 20, 30], "s": ["x", "y", "x"]}, partition="s")
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        with table.update_schema() as update:
            update.rename_column(old, new)
    table.append(pa.table({"b": [4], "a": [40], "s": ["z"]}))
    frame = same(table)
    assert list(frame.sort("b")["a"]) == [10, 20, 30, 40] and list(frame[frame["s"] == "y"]["a"]) == [20]
    assert sorted(map(tuple, frame.to_spark().collect())) == sorted(tuple(row.values()) for row in frame)
