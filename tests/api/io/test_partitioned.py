"""Partitioned tables: the values in names of directories are columns, typed as Spark types them, and filters leave out what they exclude."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame, aggregate
from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError, StorageError
from sframe_spark.plugin import column_of, graph_from_json, graph_to_json, node_of
from sframe_spark.storage.filesystem.input_files import DataFile
from sframe_spark.storage.segments.partition_columns import partition_columns
from sframe_spark.types import DATETIME, FLOAT, INT, STR

FILES = {"year=2023/city=New%20York": [1, 2], "year=2023/city=__HIVE_DEFAULT_PARTITION__": [3], "year=2024/city=Oslo": [4, 5]}
ROWS = {"n": [1, 2, 3, 4, 5], "year": [2023, 2023, 2023, 2024, 2024], "city": ["New York", "New York", None, "Oslo", "Oslo"]}


def table(place: Path, form: str) -> Path:
    for directory, values in FILES.items():
        (place / directory).mkdir(parents=True)
        if form == "csv":
            (place / directory / "part-0.csv").write_text("n\n" + "".join(f"{value}\n" for value in values))
        else:
            pq.write_table(pa.table({"n": values}), place / directory / "part-0.parquet")
    return place


def read(form: str, place: Any, **options: Any) -> SFrame:
    return SFrame.read_csv(place, **options) if form == "csv" else SFrame.read_parquet(place)


def values(frame: SFrame) -> dict[str, list[Any]]:
    return {name: list(frame[name]) for name in frame.column_names()}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_directories_give_columns(form: str, tmp_path: Path) -> None:
    frame = read(form, table(tmp_path / "t", form))
    assert values(frame) == ROWS and frame.column_types() == [int, int, str]
    assert values(read(form, tmp_path / "t" / "year=2024")) == {"n": [4, 5], "city": ["Oslo", "Oslo"]}
    assert values(frame[frame["city"] == "Oslo"])["n"] == [4, 5] and values(frame[frame["year"] < 2024])["n"] == [1, 2, 3]
    assert values(frame[frame["city"] == None])["n"] == [3]  # noqa: E711
    assert frame[["city", "year"]][2] == {"city": None, "year": 2023}


@pytest.mark.spark
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_spark_reads_the_same(form: str, everything_on_spark: None, spark: Any, tmp_path: Path) -> None:
    frame = read(form, table(tmp_path / "t", form))
    assert sorted(frame.to_spark().collect(), key=lambda row: row["n"]) == sorted(
        spark.read.option("header", True).schema("n bigint, year bigint, city string").format(form).load(f"file://{tmp_path}/t").collect(),
        key=lambda row: row["n"],
    )
    assert values(frame.sort("n"))["n"] == [1, 2, 3, 4, 5]
    assert dict(zip(*values(frame.groupby("year", {"n": aggregate.COUNT()})).values(), strict=True)) == {2023: 3, 2024: 2}


def test_files_that_a_filter_excludes_are_not_opened(tmp_path: Path) -> None:
    frame = read("parquet", table(tmp_path / "t", "parquet"))
    chosen = frame[frame["year"] == 2024]
    assert "rows 3..5" in str(chosen.explain()) and list(chosen["n"]) == [4, 5]
    assert frame.is_sorted("year")


def test_columns_of_directories_can_be_chosen(tmp_path: Path) -> None:
    place = table(tmp_path / "t", "csv")
    assert values(SFrame.read_csv(place, usecols=["city", "n"])) == {"city": ROWS["city"], "n": ROWS["n"]}
    assert values(SFrame.read_csv(place, usecols=["year"])) == {"year": ROWS["year"]}
    assert values(SFrame.read_csv(place, nrows=2, column_type_hints={"n": str})) == {
        "n": ["1", "2"],
        "year": [2023] * 2,
        "city": ["New York"] * 2,
    }
    with config.using(memory_budget=1):
        assert values(SFrame.read_csv(place)) == ROWS


@pytest.mark.parametrize(
    ("texts", "column_type", "expected"),
    [
        (["1", "02", None], INT, [1, 2, None]),
        (["1", "2.5", "1d"], FLOAT, [1.0, 2.5, 1.0]),
        (["9" * 19], STR, ["9" * 19]),
        (["2024-01-02", None], DATETIME, [1704153600000000, None]),
        (["2024-02-30"], STR, ["2024-02-30"]),
        (["1", "x"], STR, ["1", "x"]),
        (["nan", "inf"], STR, ["nan", "inf"]),
        (["1_0"], STR, ["1_0"]),
        (["\u0661"], INT, [1]),
        ([None], STR, [None]),
    ],
)
def test_types_of_columns(texts: list[str | None], column_type: Any, expected: list[Any]) -> None:
    (column,) = partition_columns([DataFile("", "", (("p", text),)) for text in texts])
    assert column.type == column_type and list(column.values) == expected


def test_dates_are_date_times(tmp_path: Path) -> None:
    (tmp_path / "day=2024-01-02").mkdir()
    pq.write_table(pa.table({"n": [1], "day": ["what the file says"]}), tmp_path / "day=2024-01-02" / "x.parquet")
    assert SFrame.read_parquet(tmp_path)[0] == {"n": 1, "day": datetime.datetime(2024, 1, 2)}


def test_a_plan_keeps_what_directories_say(tmp_path: Path) -> None:
    frame = read("parquet", table(tmp_path / "t", "parquet"))
    text = graph_to_json(node_of(frame["city"]))
    assert list(column_of(graph_from_json(text))) == ROWS["city"]
    for wrong in ("[[2, 7]]", '[[9, "Oslo"]]', '[["2", "Oslo"]]'):
        assert '[[1, 2024], [2, "Oslo"]]' in text
        with pytest.raises((StorageError, InvalidArgumentError)):
            graph_from_json(text.replace('[[1, 2024], [2, "Oslo"]]', wrong))


def test_a_partitioned_table_is_saved_whole(tmp_path: Path) -> None:
    frame = read("parquet", table(tmp_path / "t", "parquet"))
    frame.save(str(tmp_path / "saved"))
    assert values(SFrame(str(tmp_path / "saved"))) == ROWS
    with pytest.raises(StorageError, match="is named twice"):
        SFrame.read_parquet([tmp_path / "t", tmp_path / "t"])
