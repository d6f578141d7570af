"""Spark tells the row number from the key by a table of a few calls of the JVM, however many segments there are, and whatever their numbers."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark import aggregate, load_sframe
from sframe_spark.compute.int_lookup_table_in_spark import DIGIT_BITS, digit_table, lookup_column, shifts
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.segments_read_in_spark import KEY_BITS, dense_position
from sframe_spark.session.spark_start_and_settings import open_session
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import INT, STR

LARGEST = 2**30 - 1
NUMBERS = st.dictionaries(st.integers(0, LARGEST) | st.integers(0, 70), st.integers(-5, 2**62), min_size=1, max_size=40)


@given(NUMBERS)
def test_every_number_is_found_in_a_table_as_long_as_there_are_numbers(values: dict[int, int]) -> None:
    table = digit_table(values)
    assert len(table) <= (1 + 4 * len(values)) << DIGIT_BITS
    for number, value in values.items():
        part = 0
        for shift in shifts():
            part = table[part + (number >> shift & 63)]
        assert part == value


def source_of(numbers: list[int], rows: int = 3) -> SegmentSource:
    """A source of segments that nobody reads."""
    return SegmentSource.of(Manifest((INT,), tuple(SegmentEntry(f"f{number}", number, rows) for number in numbers), "/nothing"))


CASES: dict[str, list[int]] = {
    "one": [7],
    "from zero": [*range(200)],
    "some": [0, 2, 3, 900],
    "rare": [0, 5, 100_000],
    "the largest": [0, LARGEST],
    "spread": sorted(random.Random(1).sample(range(2**30), 300)),
    "with equal gaps": [*range(0, 2**30, 2**22)],
}


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES)
def test_spark_finds_them(spark: Any, case: str) -> None:
    from pyspark.sql import functions as F

    numbers = CASES[case]
    values = {number: place * 1000 - 5 for place, number in enumerate(numbers)}
    rows = spark.createDataFrame([(number,) for number in numbers], "n bigint")
    found = {row["n"]: row["v"] for row in rows.select("n", lookup_column(F.col("n"), values).alias("v")).collect()}
    assert found == values
    source = source_of(numbers).rows_between(1, 3 * len(numbers))
    keys = spark.createDataFrame([((number << KEY_BITS) + place,) for number in numbers for place in range(3)], "k bigint")
    positions = [row["p"] for row in keys.orderBy("k").select(dense_position(source, F.col("k")).alias("p")).collect()]
    assert positions == [*range(-1, 3 * len(numbers) - 1)]


@pytest.mark.spark
def test_calls_of_the_jvm_do_not_grow_with_segments_or_their_numbers(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    client = spark.sparkContext._gateway._gateway_client
    send, counts = client.send_command, []
    monkeypatch.setattr(client, "send_command", lambda *command, **options: (counts.append(1), send(*command, **options))[1])
    calls = {}
    for numbers in ([0, 1], [*range(2000)], [0, LARGEST], [*range(0, 2**30, 2**19)]):
        source, key = source_of(numbers), F.col("k")
        counts.clear()
        dense_position(source, key)
        calls[len(numbers), numbers[-1]] = len(counts)
    # Commands that let go of old objects are among them.
    assert max(calls.values()) <= 500, calls


@pytest.mark.spark
@pytest.mark.usefixtures("everything_on_spark")
def test_a_frame_of_segments_with_rare_numbers_is_read(tmp_path: Path) -> None:
    numbers = [0, 3, 70_000, LARGEST]
    entries = [
        write_segment(str(tmp_path), number, [INT, STR], [[pa.array([place, place + 1]), pa.array(["x", "y"])]])
        for place, number in enumerate(numbers)
    ]
    publish(str(tmp_path), [INT, STR], entries, ["a", "b"])
    frame = load_sframe(str(tmp_path))
    rows = list(itertools.chain.from_iterable((place, place + 1) for place in range(4)))
    assert list(frame.groupby("b", {"n": aggregate.SUM("a")})["n"]) == [6, 10]
    assert list(frame.add_row_number().sort("a", ascending=False)["id"])[-1] == 0
    assert sorted(frame.add_row_number().sort("a")["id"]) == list(range(len(rows)))


@pytest.mark.spark
def test_naming_many_files_starts_no_job(spark: Any, tmp_path: Path) -> None:
    files = [str(tmp_path / write_segment(str(tmp_path), number, [INT], [[pa.array([number])]]).file) for number in range(40)]
    jobs = spark.sparkContext.statusTracker()
    before = set(jobs.getJobIdsForGroup(None))
    open_session(spark).read.schema("c0 bigint").parquet(*files)
    assert set(jobs.getJobIdsForGroup(None)) == before
    # As Spark would do it by itself.
    spark.newSession().read.schema("c0 bigint").parquet(*files)
    assert set(jobs.getJobIdsForGroup(None)) != before
