"""What Spark has to do for programs over files of others that are in an order, with everything sent to Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sframe_spark as tc
from sframe_spark import aggregate as agg
from sframe_spark.engine import costs
from sframe_spark.explain.executed_spark_plans import recorded_plans

ROWS = 4_000
pytestmark = pytest.mark.spark

PROGRAMS: dict[str, Callable[[tc.SFrame, tc.SFrame], tc.SFrame]] = {
    "sort": lambda sf, other: sf.sort("t"),
    "sort of a filter": lambda sf, other: sf[sf["v"] > 3].sort("t"),
    "group-by": lambda sf, other: sf.groupby("t", {"all": agg.CONCAT("v")}),
    "join": lambda sf, other: sf.join(other, on="t"),
    "as-of join": lambda sf, other: sf.asof_join(other, on="t"),
}


@pytest.fixture
def everything_on_spark(spark: Any) -> Iterator[None]:
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    with tc.config.using(small_rows=0, single_task_rows=0, default_segments=4):
        yield
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """Files that ascend by ``t``, files that say so and do not, and ones to look up in."""
    number = np.arange(ROWS)
    time = number // 3
    swapped = time.copy()
    swapped[[7, 900]] = swapped[[900, 7]]
    keys = np.arange(ROWS // 3) * 2
    tables = {
        "true": pa.table({"t": time, "v": number % 7}),
        "false": pa.table({"t": swapped, "v": number % 7}),
        "other": pa.table({"t": keys, "w": keys % 5}),
    }
    for name, table in tables.items():
        (tmp_path / name).mkdir()
        for part in (0, 1):
            half = table.slice(part * (len(table) // 2), None if part else len(table) // 2)
            path = tmp_path / name / f"part-{part}.parquet"
            pq.write_table(half, path, row_group_size=500, sorting_columns=[pq.SortingColumn(0)])
    return {name: str(tmp_path / name) for name in tables}


def work_of(program: Callable[[tc.SFrame, tc.SFrame], tc.SFrame], place: str, other: str) -> tuple[int, int, list[dict[str, Any]]]:
    """Exchanges and sorts of a program over files, and its rows."""
    with recorded_plans() as plans:
        result = program(tc.SFrame.read_parquet(place), tc.SFrame.read_parquet(other))
        result.materialize()
    found = sum(plan.count("Exchange") for plan in plans), sum(plan.count("Sort") for plan in plans)
    return (*found, [dict(row) for row in result])


@pytest.mark.usefixtures("everything_on_spark")
@pytest.mark.parametrize("title", PROGRAMS)
def test_programs_over_files_in_order_need_no_exchange(title: str, places: dict[str, str]) -> None:
    exchanges, sorts, rows = work_of(PROGRAMS[title], places["true"], places["other"])
    assert (exchanges, sorts) == (0, 0)
    plain = [tc.SFrame(pq.read_table(places[name])) for name in ("true", "other")]
    with tc.config.using(small_rows=10**6):
        assert rows == [dict(row) for row in PROGRAMS[title](*plain)]


@pytest.mark.usefixtures("everything_on_spark")
@pytest.mark.parametrize("title", ["sort", "group-by"])
def test_programs_over_files_that_lie_are_planned_without_the_order(title: str, places: dict[str, str]) -> None:
    exchanges, _, rows = work_of(PROGRAMS[title], places["false"], places["other"])
    assert exchanges > 0
    with tc.config.using(small_rows=10**6):
        assert rows == [dict(row) for row in PROGRAMS[title](tc.SFrame(pq.read_table(places["false"])), tc.SFrame())]


def test_many_rows_are_compared_by_tasks(spark: Any, places: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_ROWS_COMPARED_LOCALLY", 1_000)
    monkeypatch.setattr(costs, "ROWS_COMPARED_FIRST", 500)
    with tc.config.using(segment_rows=700):
        true, false, other = (tc.SFrame.read_parquet(places[name]) for name in ("true", "false", "other"))
        assert true.is_sorted("t") and not false.is_sorted("t") and other.is_sorted("t")
    assert other.ordering().keys == [["t"]] and true.ordering().keys == []


def test_damage_that_tasks_find_is_an_error_of_ours(spark: Any, places: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_ROWS_COMPARED_LOCALLY", 1_000)
    monkeypatch.setattr(costs, "ROWS_COMPARED_FIRST", 500)
    path = Path(places["true"]) / "part-1.parquet"
    content = bytearray(path.read_bytes())
    content[8:400] = b"\xff" * 392
    path.write_bytes(content)
    with pytest.raises(tc.errors.StorageError, match=r"part-1\.parquet"):
        tc.SFrame.read_parquet(places["true"]).is_sorted("t")
