"""How much data a query has decides how it is run; a small heap is enough for much data."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.engine import costs
from sframe_spark.engine.spark.query import lower
from sframe_spark.engine.spark.shuffle_partitions import next_power, row_bytes_in_spark, size_of
from sframe_spark.operators.sources.in_memory import RangeSource
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session import QuerySize, get_session, shuffle_partitions
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP
from tests.properties.other_sparks import last_line

pytestmark = pytest.mark.spark


def rows(count: int) -> PlannerNode:
    return RangeSource(0, count).make_planner_node()


def most_usual_rows() -> int:
    return shuffle_partitions() * costs.BYTES_OF_SHUFFLE_PARTITION // int(row_bytes_in_spark(rows(1)))


def test_size_follows_the_rows_of_the_sources() -> None:
    assert size_of(rows(1_000)) == QuerySize.SMALL
    assert size_of(rows(100_000)) == QuerySize.DEFAULT
    assert size_of(rows(most_usual_rows())) == QuerySize.DEFAULT
    assert size_of(rows(most_usual_rows() + 1)) == QuerySize.large(next_power(shuffle_partitions() + 1))
    assert size_of(rows(most_usual_rows() + 1), root_observed=False) == QuerySize.DEFAULT


def test_exchanges_of_much_data_start_with_more_partitions() -> None:
    usual, large, larger = (lower(rows(count)).df.sparkSession for count in (100_000, 2 * most_usual_rows(), 64 * most_usual_rows()))
    assert usual is get_session() and large is not larger
    assert [int(session.conf.get("spark.sql.shuffle.partitions")) for session in (large, larger)] == [
        next_power(times * shuffle_partitions()) for times in (2, 64)
    ]


def test_row_groups_written_by_spark_are_small(tmp_path: Path) -> None:
    count = 6 * ROWS_PER_GROUP
    frame = SFrame({"a": SArray(range(count)) * 7 % count, "b": SArray(range(count)) * 0.1})
    frame.sort("a").save(str(tmp_path / "sorted.sframe"))
    files = [pq.ParquetFile(file).metadata for file in (tmp_path / "sorted.sframe").glob("*.parquet")]
    groups = [file.row_group(place).num_rows for file in files for place in range(file.num_row_groups)]
    assert sum(groups) == count
    assert max(groups) <= ROWS_PER_GROUP


@pytest.mark.campaign
def test_frame_of_three_times_the_heap(tmp_path: Path) -> None:
    assert last_line("tests.engine.small_heap", tmp_path) == "40000000 rows with a heap of 512m"
