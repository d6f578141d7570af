"""Rows of a query come to this process as tasks compute them, within a number of bytes; beyond it the query is stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, config
from sframe_spark.engine.spark.bounded_collection import max_rows_within, table_within, with_bounded_partitions
from sframe_spark.errors import ExecutionError
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.session import get_unshared
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.types import INT, STR

pytestmark = pytest.mark.spark
ROWS = 10_000


@pytest.fixture
def unshared() -> Iterator[None]:
    """Spark is said to share no directory with this process."""
    get_unshared()[temporary_store().directory, "written"] = "it is not shared"
    yield
    get_unshared().clear()


def test_all_rows_come_in_order(spark: Any) -> None:
    df = spark.range(0, ROWS, 1, 7).selectExpr("id", "repeat('x', cast(id % 9 as int)) AS text")
    found = table_within(df, (INT, STR), 1 << 20)
    assert found is not None and found.column(0).to_pylist() == list(range(ROWS))
    assert found.column(1).to_pylist() == ["x" * (row % 9) for row in range(ROWS)]


def test_no_rows_have_the_types_of_the_columns(spark: Any) -> None:
    df = spark.range(5).where("id > 9").selectExpr("id", "'a' AS text")
    found = table_within(df, (INT, STR), 100)
    assert found is not None and found.schema.types == [pa.int64(), pa.string()] and found.num_rows == 0


@pytest.mark.parametrize("budget", [0, 8 * ROWS - 1])
def test_more_bytes_than_the_budget_are_none(spark: Any, budget: int) -> None:
    assert table_within(spark.range(0, ROWS, 1, 3), (INT,), budget) is None


def test_the_jobs_end_as_soon_as_too_much_has_come(spark: Any, tmp_path: Path) -> None:
    notes = str(tmp_path)

    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            first = batch.column(0)[0].as_py()
            if first > 0:
                time.sleep(4)
                Path(notes, str(first)).touch()
            yield batch

    # The first task gives too much, while others are at work, or wait.
    df = spark.range(0, 8 * ROWS, 1, 8).mapInArrow(slow, "id bigint")
    assert table_within(df, (INT,), 4 * ROWS) is None
    assert len(list(tmp_path.iterdir())) < 7
    assert spark.range(3).count() == 3


def test_of_a_partition_no_more_is_fetched_than_the_budget_holds(spark: Any) -> None:
    kept = with_bounded_partitions(spark.range(0, 100 * ROWS, 1, 2), max_rows_within((INT,), 8 * ROWS))
    assert 2 * ROWS < kept.count() <= 4 * (ROWS + 1)
    assert table_within(spark.range(0, 100 * ROWS, 1, 2), (INT,), 8 * ROWS) is None


def test_columns_that_are_narrower_than_their_types_lose_no_rows(spark: Any) -> None:
    df = spark.range(0, 100, 1, 1).selectExpr("cast(id as tinyint) AS id")
    assert max_rows_within((INT,), 200) < 100
    assert table_within(df, (INT,), 200) is None
    found = table_within(df, (INT,), 8 * 100)
    assert found is not None and found.num_rows == 100


def test_an_error_of_the_query_is_told(spark: Any, unshared: None) -> None:
    frame = SFrame(spark.range(0, ROWS, 1, 3).selectExpr("assert_true(id < 9000, 'too large') AS nothing", "id"))
    with pytest.raises(ExecutionError, match="too large"):
        frame.materialize()


def test_rows_of_a_dataframe_stay_in_memory_where_no_directory_is_shared(spark: Any, unshared: None) -> None:
    frame = SFrame(spark.range(0, 300_000, 1, 3))
    frame.materialize()
    assert isinstance(frame._node.operator, MemorySource) and frame["id"].sum() == sum(range(300_000))
    assert "more than" not in str(frame.last_run()) and "in memory" in str(frame.last_run())


def test_more_rows_than_may_be_collected_are_kept_by_spark(spark: Any, unshared: None) -> None:
    with config.using(memory_budget=1_000):
        frame = SFrame(spark.range(0, ROWS, 1, 3))
        frame.materialize()
        assert "on disk" in str(frame.last_run()) and frame["id"].sum() == sum(range(ROWS))
