"""What is written of an archive has the types that its values have: lists and dicts of one type, date-times without offsets."""

from __future__ import annotations

import array
import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, load_sframe
from sframe_spark.config import config
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.turicreate.archive import open_archive
from sframe_spark.turicreate.conversion_and_verification import convert_archive, require_same_rows
from sframe_spark.turicreate.narrow_archive_types import SAMPLE_ROWS, SAMPLES, suggested_types
from sframe_spark.turicreate.string_and_object_decoding import DICTIONARY, INTEGER, LIST, MISSING, TIMESTAMP, VECTOR
from tests.random_tables import MadeColumn, made_block, made_column, run_bytes, write_archive

ROWS = 2 * SAMPLES * SAMPLE_ROWS
NOON = datetime.datetime(2020, 1, 1, 12)
ZONED = NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
WITH_OFFSETS = "datetime:struct<instant: timestamp[us], offset: int32>"
# Kind, what most rows hold, what one holds that nobody looks at before, and the types with and without it.
COLUMNS: dict[str, tuple[int, Any, Any, str, str]] = {
    "texts": (LIST, ["a", None], ["a", 1], "list:list<item: string>", "list"),
    "ints": (LIST, [1, 2, None], [1, 2.5], "list:list<item: int64>", "list"),
    "empty": (LIST, [], ["a"], "list", "list"),
    "words": (DICTIONARY, {"a": 1.5, "b": float("nan")}, {"a": 1}, "dict:map<string, double>", "dict"),
    "keys": (DICTIONARY, {1: "x"}, {None: "x"}, "dict:map<int64, string>", "dict"),
    "nested": (DICTIONARY, {"a": {"b": 1}}, {}, "dict", "dict"),
    "naive": (TIMESTAMP, NOON, ZONED, "datetime", WITH_OFFSETS),
    "zoned": (
        TIMESTAMP,
        ZONED,
        NOON,
        WITH_OFFSETS,
        WITH_OFFSETS,
    ),
}


def written(directory: Path, late: bool) -> str:
    """An archive of these columns, in which a value of another form comes between the places that are looked at."""
    columns = {}
    for name, (kind, value, other, _, _) in COLUMNS.items():
        values = [None if row % 7 == 3 else value for row in range(ROWS)]
        if late:
            values[ROWS - 1] = other
        columns[name] = made_column(kind, values, [[ROWS // 2], [ROWS // 4, ROWS // 4]])
    write_archive(str(directory), columns)
    return str(directory)


@pytest.mark.parametrize("late", [False, True])
def test_types_are_those_of_all_values(tmp_path: Path, late: bool) -> None:
    archive = open_archive(written(tmp_path / "old", late))
    told: list[int] = []
    convert_archive(archive, str(tmp_path / "new"), on_rows=told.append)
    manifest = load_manifest(str(tmp_path / "new"), verify=True)
    found = [str(column_type) for column_type in manifest.types]
    assert found == [column[4 if late else 3] for column in COLUMNS.values()]
    assert sum(told) == ROWS
    require_same_rows(archive, manifest)
    assert repr(list(load_sframe(str(tmp_path / "new")))) == repr(list(load_sframe(str(tmp_path / "old"))))


def test_saving_does_the_same(tmp_path: Path) -> None:
    for late in (False, True):
        load_sframe(written(tmp_path / f"old{late}", late)).save(str(tmp_path / "new"))
        found = [str(column_type) for column_type in load_manifest(str(tmp_path / "new")).types]
        assert found == [column[4 if late else 3] for column in COLUMNS.values()]
        with config.using(small_rows=10):
            load_sframe(str(tmp_path / f"old{late}"))[["naive", "texts"]][5:].save(str(tmp_path / "part"))
        part = load_sframe(str(tmp_path / "part"))
        assert repr(part[0]["naive"]) == repr(load_sframe(str(tmp_path / f"old{late}"))[5]["naive"])


def test_no_row_decides_where_all_that_were_looked_at_are_missing(tmp_path: Path) -> None:
    write_archive(
        str(tmp_path / "old"), {"a": made_column(TIMESTAMP, [None] * 10, [[10]]), "b": MadeColumn(LIST, [[made_block(MISSING, [None] * 10)]])}
    )
    assert suggested_types(open_archive(str(tmp_path / "old")), [0, 1]) == {}


def test_values_of_other_types_than_their_column_fit_or_widen(tmp_path: Path) -> None:
    vectors = made_block(VECTOR, [array.array("d", [1.5])] * 10)
    blocks = [[made_block(LIST, [[0.5], None] * 500), vectors]]
    write_archive(str(tmp_path / "old"), {"a": MadeColumn(LIST, blocks)})
    convert_archive(open_archive(str(tmp_path / "old")), str(tmp_path / "new"))
    assert str(load_manifest(str(tmp_path / "new")).types[0]) == "list:list<item: double>"
    assert load_sframe(str(tmp_path / "new"))["a"][1005] == [1.5]
    tensor = b"\x01\x09\x00" + run_bytes([1]) * 4 + b"\x01" + run_bytes([7])
    block = made_block(INTEGER, [1])
    write_archive(str(tmp_path / "mixed"), {"a": MadeColumn(LIST, [[made_block(LIST, [["x"]] * 1000), type(block)(tensor, 1, 10)]])})
    convert_archive(open_archive(str(tmp_path / "mixed")), str(tmp_path / "new"))
    assert str(load_manifest(str(tmp_path / "new")).types[0]) == "list"
    assert load_sframe(str(tmp_path / "new"))["a"][1000] == [7.0]


def test_other_programs_get_date_times_without_an_offset(tmp_path: Path) -> None:
    """Of the archive itself nobody knows whether they have one."""
    convert_archive(open_archive(written(tmp_path / "old", False)), str(tmp_path / "new"))
    frame = load_sframe(str(tmp_path / "new"))
    frame.write_parquet(str(tmp_path / "out"))
    schema = pq.read_schema(next((tmp_path / "out").glob("*.parquet")))
    assert (str(schema.field("naive").type), str(schema.field("texts").type)) == ("timestamp[us]", "list<element: string>")


@pytest.mark.spark
def test_tasks_tell_of_values_that_need_more(tmp_path: Path) -> None:
    SFrame({"a": [1]}).groupby("a", {}).materialize()
    with config.using(small_rows=0):
        SFrame({"a": [3, 1, 2]}).sort("a").materialize()
        for late in (False, True):
            load_sframe(written(tmp_path / f"old{late}", late)).save(str(tmp_path / "new"))
            found = [str(column_type) for column_type in load_manifest(str(tmp_path / "new")).types]
            assert found == [column[4 if late else 3] for column in COLUMNS.values()]
