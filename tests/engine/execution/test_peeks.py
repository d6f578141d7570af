"""Looking at a frame of a user's Spark DataFrame copies nothing: a limit query, and a line that says so."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.engine.execution import preview_of_user_dataframes
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.engine.runtime import result_storage as datasets
from sframe_spark.errors import UserFunctionError
from tests.spark_jobs import last_job, remembered_jobs

SAID = "their order is fixed when they are first used in order."
PARTITIONS = 24

LOOKS: dict[str, Callable[[SFrame], str]] = {
    "print": str,
    "repr": repr,
    "html": lambda sf: sf._repr_html_(),
    "head": lambda sf: str(sf.head(3)),
    "part": lambda sf: str(sf[5:8]),
    "filter": lambda sf: str(sf[sf["id"] > 5]),
    "head of a filter": lambda sf: repr(sf[sf["id"] > 5].head(2)),
    "columns": lambda sf: str(sf[["twice"]]),
    "column": lambda sf: str(sf["twice"]),
    "column's repr": lambda sf: repr(sf["twice"] + sf["id"]),
    "few values": lambda sf: str(sf["id"].head(2)),
}


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators whose rows Spark wrote."""
    found: list[str] = []
    write = datasets.query.write_parquet

    def spied(node: Any, directory: str) -> Any:
        found.append(node.operator_type)
        return write(node, directory)

    monkeypatch.setattr(datasets.query, "write_parquet", spied)
    return found


def tasks_of_jobs_after(spark: Any, last: int) -> int:
    return sum(job.numTasks() for number, job in remembered_jobs(spark).items() if number > last)


def many_rows(spark: Any) -> SFrame:
    return SFrame(spark.range(0, 24_000, 1, PARTITIONS).selectExpr("id", "id * 2 AS twice"))


@pytest.mark.spark
@pytest.mark.parametrize("name", LOOKS)
def test_a_look_runs_few_tasks_writes_nothing_and_says_so(name: str, spark: Any, writes: list[str]) -> None:
    sf = many_rows(spark)
    before = last_job(spark)
    text = LOOKS[name](sf)
    assert tasks_of_jobs_after(spark, before) < PARTITIONS / 4
    assert SAID in text and not writes and not sf.is_materialized()
    if name == "print":
        list(sf["id"].head(1))
        assert writes == ["spark_source"] and SAID not in LOOKS[name](sf) and sf.is_materialized()


@pytest.mark.spark
def test_types_and_names_start_no_job(spark: Any) -> None:
    sf = many_rows(spark)
    before = last_job(spark)
    assert (sf.column_types(), sf.column_names(), sf["id"].dtype) == ([int, int], ["id", "twice"], int)
    sf.head(3)
    assert tasks_of_jobs_after(spark, before) == 0


@pytest.mark.spark
def test_print_rows_does_not_count(spark: Any, writes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    sf = many_rows(spark)
    sf.print_rows(2)
    assert "[? rows x 2 columns]" in capsys.readouterr().out and not writes
    assert len(sf) == 24_000
    sf.print_rows(2)
    shown = capsys.readouterr().out
    assert "[24000 rows x 2 columns]" in shown and SAID not in shown


@pytest.mark.spark
def test_result_types_are_looked_for_without_a_copy_and_their_results_are_not_kept(spark: Any, tmp_path: Path, writes: list[str]) -> None:
    """The rows of the sample may be others than the first ones: what the function gave for them belongs to nobody."""
    turns = str(tmp_path / "turn")

    def other_rows_each_time(batches: Any) -> Any:
        import os

        for batch in batches:
            first = not os.path.exists(turns)
            open(turns, "a").close()
            yield batch if first else batch.take(list(reversed(range(batch.num_rows))))

    df = spark.range(0, 30, 1, 1).mapInArrow(other_rows_each_time, "id bigint")
    sf = SFrame(df)
    tenfold, pairs = sf["id"].apply(lambda value: value * 10), sf.apply(lambda row: row["id"] * 10)
    spread = sf.flat_map(["a", "b"], lambda row: [[row["id"], 1.5]])
    assert not writes and (tenfold.dtype, pairs.dtype, spread.column_types()) == (int, int, [int, float])
    ids = list(sf["id"])
    assert ids == list(reversed(range(30))) and list(tenfold) == list(pairs) == [value * 10 for value in ids]
    assert list(spread["a"]) == ids and writes == ["spark_source"]


@pytest.mark.spark
@pytest.mark.usefixtures("called_functions")
def test_rows_that_users_functions_made_are_those_of_the_snapshot(spark: Any, writes: list[str]) -> None:
    """A function is called once for each row, so what it gave is shown of rows that stay."""
    sf = many_rows(spark).head(50)
    sf["tenfold"] = sf["id"].apply(lambda value: value * 10, dtype=int)
    assert SAID not in str(sf) and writes == ["spark_source"]


@pytest.mark.spark
def test_what_uses_the_order_fixes_it(spark: Any, writes: list[str]) -> None:
    sf = many_rows(spark)
    sums = sf["twice"].cumulative_sum()
    assert str(sums.head(3)) == "[0, 2, 6]" and writes == ["spark_source"]
    assert SAID not in str(sf) + str(sf.head(3))


@pytest.mark.spark
def test_a_head_that_is_used_is_the_head_of_the_snapshot(spark: Any, writes: list[str], tmp_path: Path) -> None:
    sf = many_rows(spark)
    head = sf.head(3)
    assert SAID in str(head) and not writes
    head.save(str(tmp_path / "head"))
    assert writes == ["spark_source"] and SAID not in str(sf) + str(head)
    assert list(SFrame(str(tmp_path / "head"))) == list(head) == list(sf[:3])


EVERY_FORM = """timestamp'2020-07-01 12:30:00.000001' a, timestamp_ntz'0001-01-01 00:00:00.000007' b,
map('z',1,'b',2,'c',3,'d',4,'e',5,'f',6) c, array(1,null) d, array(1.5D,null) e, map(1,2.5D) f, struct(1,'x') g, date'1400-01-01' h,
array('a') i, cast(null as void) j, timestamp_ntz'9999-12-31 23:59:59.999999' k, X'61' l, cast('NaN' as double) m, map('a','b') n, '' o"""


@pytest.mark.spark
def test_rows_looked_at_are_the_rows(spark: Any) -> None:
    df = spark.sql(f"SELECT {EVERY_FORM} UNION ALL SELECT {', '.join(['null'] * 15)}").coalesce(1)
    sf = SFrame(df)
    found = preview_of_user_dataframes.preview_of(sf._node, 10)
    assert found is not None and found.rows == 2
    for seen, kept in zip(found.columns, read_all(sf._node).columns, strict=True):
        assert seen.type == kept.type and list(map(repr, seen.to_pylist())) == list(map(repr, kept.to_pylist()))
    assert repr(sf[0]["k"]) == repr(dt.datetime(9999, 12, 31, 23, 59, 59, 999999))


@pytest.mark.spark
def test_looks_at_nothing(spark: Any) -> None:
    assert str(SFrame(spark.range(5).select())) and repr(SFrame(spark.range(5).select())) and SFrame(spark.range(5).select())._repr_html_()
    for sf in (SFrame(spark.range(0)), SFrame(spark.range(3)).head(0), SFrame(spark.range(3))[SFrame(spark.range(3))["id"] > 9]):
        assert str(sf["id"]).startswith("[]")
    with pytest.raises(UserFunctionError, match="division"):
        SFrame(spark.range(3))["id"].apply(lambda value: 1 / value)
