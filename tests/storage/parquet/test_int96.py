"""Time stamps of 96 bits, which Spark writes by default, are the moments that they are in Spark, in all years."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame

YEARS = (1, 1582, 1677, 1678, 1970, 2261, 2262, 2263, 9999)
MOMENTS = [dt.datetime(year, 2, 28, 12, 30, 15, 123456) for year in YEARS]
# What this Arrow writes in 96 bits: it makes nanoseconds of them first.
NEAR = [moment for moment in MOMENTS if 1678 <= moment.year <= 2261]


@pytest.mark.parametrize("by_spark", [True, False])
def test_only_files_of_spark_tell_the_zone(by_spark: bool, tmp_path: Path) -> None:
    cells: dict[str, Any] = {"t": [*NEAR, None], "l": [NEAR, []], "m": [{"a": NEAR[0]}, None], "n": [1, 2]}
    rows = len(cells["t"])
    metadata = {"org.apache.spark.version": "4.1.0"} if by_spark else {"someone": "else"}
    table = pa.table({name: pa.array([*values, *[None] * rows][:rows]) for name, values in cells.items()})
    with pq.ParquetWriter(tmp_path / "part.parquet", table.schema, use_deprecated_int96_timestamps=True, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    sf = SFrame.read_parquet(str(tmp_path))
    zone = dt.UTC if by_spark else None
    expected = [moment.replace(tzinfo=zone) for moment in NEAR]
    assert list(sf["t"]) == [*expected, None] and next(iter(sf["l"])) == expected and sf["m"][0] == {"a": expected[0]} and list(sf["n"])[:2] == [1, 2]
    assert len(sf[sf["t"] >= expected[0]]) == len(NEAR) and len(sf[sf["n"] == 1]) == 1
    sf.save(str(tmp_path / "saved"))
    assert list(SFrame(str(tmp_path / "saved"))["t"]) == [*expected, None]


@pytest.mark.spark
def test_what_spark_writes_by_default_is_what_the_dataframe_is(spark: Any, tmp_path: Path) -> None:
    user = spark.newSession()
    user.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    user.conf.set("spark.sql.parquet.int96RebaseModeInWrite", "CORRECTED")
    user.conf.set("spark.sql.session.timeZone", "America/New_York")
    texts = [f"timestamp'{moment.isoformat(' ')}Z'" for moment in MOMENTS]
    lines = [
        f"SELECT {t} AS t, array({t}, null) AS l, map('k', {t}) AS m, named_struct('a', {t}, 'b', 1) AS s, timestamp_ntz'2020-01-01 00:00:00' AS n"
        for t in texts
    ]
    df = user.sql(" UNION ALL ".join(lines)).coalesce(1)
    df.write.parquet(str(tmp_path / "files"))
    written, given = SFrame.read_parquet(str(tmp_path / "files")), SFrame(df)
    assert "INT96" in str(pq.ParquetFile(next((tmp_path / "files").glob("*.parquet"))).schema).upper()
    assert written.column_types() == given.column_types()
    assert list(map(repr, written)) == list(map(repr, given))
    assert list(written["t"]) == [moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]
