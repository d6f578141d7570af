"""Programs over frames elsewhere give what they give over local copies: on the driver, in Spark's tasks and in its queries."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources import segments_read_in_spark
from sframe_spark.storage.parquet.footer import _load
from tests.storage.damage import frame_of_every_type, save_in_segments
from tests.storage.datasets.conftest import KEY, SECRET, Bucket

pytestmark = pytest.mark.spark

Program = Callable[[SFrame], Any]

PROGRAMS: dict[str, Program] = {
    "all rows": list,
    "one column": lambda frame: list(frame["zoned"]),
    "filter": lambda frame: list(frame[(frame["number"] > 150) & (frame["share"] < 70.0)]),
    "slice": lambda frame: list(frame[195:407]),
    "function": lambda frame: list(frame["number"].apply(lambda n: n * n, dtype=int)),
    "running sum": lambda frame: list(frame["number"].cumulative_sum()),
    "sum": lambda frame: (frame["number"].sum(), frame["share"].mean(), len(frame["text"].unique())),
    "group-by": lambda frame: list(frame.groupby("text", {"n": aggregate.COUNT(), "s": aggregate.SUM("number")}).sort("text")),
    "sort": lambda frame: list(frame[["name", "number", "zoned", "array", "list", "dict"]].sort("name", ascending=False)),
    "join": lambda frame: list(frame[["number", "text"]].join(frame[["number", "day"]][100:300], on="number").sort("number")),
    "append": lambda frame: list(frame[["number", "text"]][:100].append(frame[["number", "text"]][250:]).sort("number")),
    "unique": lambda frame: sorted(frame["text"].unique()),
    "rows of parts": lambda frame: list(frame[frame["day"] >= datetime.datetime(2020, 1, 20)].sort("share")),
}


@pytest.fixture
def places(bucket: Bucket, tmp_path: Path) -> tuple[str, str]:
    """A frame of three files, here and elsewhere."""
    save_in_segments(tmp_path)
    place = bucket.uri + "/frame"
    load_sframe(str(tmp_path / "frame")).save(place)
    return str(tmp_path / "frame"), place


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("small_rows", [None, 0], ids=["driver", "spark"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(places: tuple[str, str], program: str, small_rows: int | None) -> None:
    here, elsewhere = places
    with config.using(**({} if small_rows is None else {"small_rows": small_rows, "single_task_rows": 0})):
        assert repr(PROGRAMS[program](load_sframe(elsewhere))) == repr(PROGRAMS[program](load_sframe(here)))


@pytest.mark.parametrize("program", ["all rows", "function", "group-by", "sort", "slice"])
def test_results_are_saved_by_tasks(places: tuple[str, str], bucket: Bucket, program: str) -> None:
    works: dict[str, Callable[[SFrame], SFrame]] = {
        "all rows": lambda frame: frame,
        "function": lambda frame: SFrame({"n": frame["number"].apply(lambda n: n + 1, dtype=int), "t": frame["text"]}),
        "group-by": lambda frame: frame.groupby("text", {"n": aggregate.SUM("number")}).sort("text"),
        "sort": lambda frame: frame[["name", "number", "dict"]].sort("name"),
        "slice": lambda frame: frame[50:450],
    }
    here, elsewhere = places
    with config.using(small_rows=0, single_task_rows=0, default_segments=3):
        works[program](load_sframe(elsewhere)).save(bucket.uri + "/made")
        expected = list(works[program](load_sframe(here)))
    made = load_sframe(bucket.uri + "/made", verify=True)
    assert list(made) == expected
    # A frame of this process, and one over itself.
    with config.using(small_rows=0):
        frame_of_every_type().save(elsewhere)
        held = load_sframe(elsewhere)
        held[held["number"] >= 300].save(elsewhere)
    assert list(held) == list(frame_of_every_type()) and load_sframe(elsewhere)["number"][0] == 300


def test_queries_are_uploaded_by_their_tasks(places: tuple[str, str], bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sframe_spark.engine.spark.query.write_parquet", lambda *_: pytest.fail("files were written here"))
    with config.using(small_rows=0, single_task_rows=0, memory_budget=0, kept_memory=0):
        load_sframe(places[0]).sort("name", ascending=False).save(bucket.uri + "/sorted")
        for condition in (lambda rows: rows["number"] < 0, lambda rows: rows["number"] % 2 == 0):
            rows = load_sframe(places[1])
            rows[condition(rows)].sort("name").save(bucket.uri + "/some")
            some = load_sframe(bucket.uri + "/some", verify=True)
            expected = sorted((row for row in frame_of_every_type() if condition(row)), key=lambda row: row["name"])
            assert list(some["number"]) == [row["number"] for row in expected] and some.column_types() == rows.column_types()
    found = load_sframe(bucket.uri + "/sorted", verify=True)
    assert list(found) == sorted(frame_of_every_type(), key=lambda row: row["name"], reverse=True)


def test_what_was_opened_before_another_save_is_read_by_queries(places: tuple[str, str]) -> None:
    here, elsewhere = places
    frame = load_sframe(elsewhere)
    query = frame.groupby("text", {"n": aggregate.SUM("number")}).sort("text")
    SFrame({"a": [1]}).save(elsewhere)
    with config.using(small_rows=0, single_task_rows=0):
        assert list(query) == list(load_sframe(here).groupby("text", {"n": aggregate.SUM("number")}).sort("text"))


def test_reading_by_tasks_is_told(places: tuple[str, str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sframe_spark")
    with config.using(small_rows=0, single_task_rows=0):
        list(load_sframe(places[1]).sort("name")["number"])
    told = [record.getMessage() for record in caplog.records if "has no file system for s3://" in record.getMessage()]
    assert told and KEY not in "".join(told) and SECRET not in "".join(told)


def test_damage_is_told_by_tasks(places: tuple[str, str], bucket: Bucket) -> None:
    frame = load_sframe(places[1])
    name = next(name for name in bucket.names() if "/data/" in name)
    path = f"{bucket.uri.removeprefix('s3://')}/{name}"
    content = bucket.files.cat_file(path)
    bucket.files.pipe_file(path, content[: len(content) // 2])
    _load.cache_clear()
    for work in (lambda: list(frame["number"].cumulative_sum()), lambda: list(frame.sort("name")["number"])):
        with config.using(small_rows=0, single_task_rows=0), pytest.raises(StorageError) as raised:
            work()
        assert name.rpartition("/")[2] in str(raised.value) and SECRET not in str(raised.value)


def test_rows_in_the_memory_of_this_process_are_refused_by_tasks(places: tuple[str, str]) -> None:
    load_sframe(places[0]).save("memory://spark-test/frame")
    frame = load_sframe("memory://spark-test/frame")
    assert list(frame) == list(frame_of_every_type())
    for work in (lambda: list(frame["number"].cumulative_sum()), lambda: list(frame.sort("name"))):
        with config.using(small_rows=0, single_task_rows=0), pytest.raises(StorageError, match="in the memory of this process"):
            work()
    # What tasks make is brought here.
    with config.using(small_rows=0, single_task_rows=0, default_segments=2):
        for number, made in enumerate((lambda rows: rows[rows["number"] > 5], lambda rows: rows.sort("number", ascending=False))):
            made(load_sframe(places[0])).save(f"memory://spark-test/{number}")
            assert list(load_sframe(f"memory://spark-test/{number}", verify=True)) == list(made(load_sframe(places[0])))


def test_which_file_systems_spark_has() -> None:
    from sframe_spark.session import get_session

    spark = get_session()
    assert segments_read_in_spark.spark_uri("s3://bucket/frame", spark) is None
    assert segments_read_in_spark.spark_uri("viewfs://cluster/frame", spark) == "viewfs://cluster/frame"
    assert segments_read_in_spark.spark_uri("hdfs://node/frame", spark) == "hdfs://node/frame"
    assert segments_read_in_spark.spark_uri("nosuch://node/frame", spark) is None
