"""Nanoseconds that are cut off are told once, whichever door they come by: of what is read at once all, of Parquet files what their bounds prove."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.engine.runtime import external_file_import
from sframe_spark.errors import LostNanosecondsWarning
from sframe_spark.values.datetimes import lost_nanoseconds

CUT, WHOLE = 1_234_567_891, 1_234_567_000
KEPT = datetime.datetime(1970, 1, 1, 0, 0, 1, 234567)
MOMENT = pa.timestamp("ns")
OFFSET = pa.struct([pa.field("timestamp", pa.timestamp("ns", "UTC"), nullable=False), pa.field("offset_minutes", pa.int16(), nullable=False)])

HOLDERS: dict[str, Callable[[int], pa.Array]] = {
    "date-times": lambda ticks: pa.array([None, ticks, WHOLE], MOMENT),
    "moments": lambda ticks: pa.array([None, ticks, WHOLE], pa.timestamp("ns", "UTC")),
    "with an offset": lambda ticks: pa.array([None, {"timestamp": ticks, "offset_minutes": 60}], OFFSET),
    "in lists": lambda ticks: pa.array([None, [ticks, None, WHOLE], []], pa.list_(MOMENT)),
    "in structs": lambda ticks: pa.array([None, {"a": ticks, "b": "x"}], pa.struct([("a", MOMENT), ("b", pa.string())])),
    "in maps": lambda ticks: pa.array([None, [("k", ticks)]], pa.map_(pa.string(), MOMENT)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_columns_of_arrow(holder: str) -> None:
    with pytest.warns(LostNanosecondsWarning, match="the nanoseconds of 1 of column 'x' are cut off") as told:
        frame = SFrame(pa.table({"x": HOLDERS[holder](CUT)}))
    assert len(told) == 1 and told[0].filename == __file__
    with_whole = SFrame(pa.table({"x": HOLDERS[holder](WHOLE)}))
    assert repr(list(frame)) == repr(list(with_whole))


def test_rows_that_are_not_there_are_not_counted() -> None:
    both = pa.array([[CUT, CUT], [CUT], None], pa.list_(MOMENT))
    assert (lost_nanoseconds(both), lost_nanoseconds(both.slice(1)), lost_nanoseconds(both.slice(2))) == (3, 1, 0)
    maps = pa.array([[("a", CUT), ("b", CUT)], [("c", CUT)]], pa.map_(pa.string(), MOMENT))
    assert (lost_nanoseconds(maps), lost_nanoseconds(maps.slice(1)), lost_nanoseconds(pa.chunked_array([maps, maps.slice(1)]))) == (3, 1, 4)
    for kind in (pa.large_list(MOMENT), pa.list_(MOMENT, 1), pa.list_view(MOMENT), pa.large_list_view(MOMENT)):
        assert lost_nanoseconds(pa.array([[WHOLE], [CUT], None], kind).slice(1)) == 1, kind
    assert lost_nanoseconds(pa.array([CUT, CUT, None], MOMENT).dictionary_encode()) == 2
    assert lost_nanoseconds(pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([WHOLE, CUT], MOMENT))) == 2
    hidden = pa.StructArray.from_arrays([pa.array([CUT, WHOLE], MOMENT)], names=["a"], mask=pa.array([True, False]))
    assert lost_nanoseconds(hidden) == 0
    assert lost_nanoseconds(pa.array([CUT], pa.time64("ns"))) == lost_nanoseconds(pa.array([CUT], pa.duration("ns"))) == 0


def test_times_of_day_and_durations_keep_theirs() -> None:
    table = pa.table({"t": pa.array([CUT], pa.time64("ns")), "d": pa.array([CUT], pa.duration("ns"))})
    assert list(SFrame(table)) == [{"t": CUT / 10**9, "d": CUT / 10**9}]


def test_parquet_files(tmp_path: Path) -> None:
    """Bounds of row groups tell, without reading a value."""
    path = str(tmp_path / "x.parquet")
    pq.write_table(pa.table({name: pa.array([None, CUT if name != "c" else WHOLE], MOMENT) for name in "abc"}), path)
    with pytest.warns(LostNanosecondsWarning, match="the nanoseconds of some of column 'a', some of column 'b' are cut off") as told:
        frame = SFrame.read_parquet(path)
    assert len(told) == 1 and told[0].filename == __file__ and list(frame["a"]) == [None, KEPT]
    for table, options in (
        (pa.table({"x": pa.array([WHOLE, None], MOMENT)}), {}),
        (pa.table({"x": pa.array([KEPT], pa.timestamp("us"))}), {"use_deprecated_int96_timestamps": True}),
        (pa.table({"x": pa.nulls(2, MOMENT)}), {}),
        (pa.table({"x": pa.array([], MOMENT)}), {}),
    ):
        pq.write_table(table, path, **options)
        assert len(SFrame.read_parquet(path)) == table.num_rows


@pytest.mark.parametrize("few", [True, False])
def test_orc_files(few: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_file_import, "IN_MEMORY_ROWS", 100_000 if few else 1)
    path = str(tmp_path / "x.orc")
    rows: dict[str, Any] = {"a": [CUT, None, CUT], "b": [WHOLE] * 3, "c": [CUT, WHOLE, WHOLE]}
    pyarrow.orc.write_table(pa.table({name: pa.array(cells, MOMENT) for name, cells in rows.items()}), path)
    with pytest.warns(LostNanosecondsWarning, match="the nanoseconds of 2 of column 'a', 1 of column 'c' are cut off") as told:
        frame = SFrame.read_orc([path])
    assert len(told) == 1 and told[0].filename == __file__ and list(frame["a"]) == [KEPT, None, KEPT]
    pyarrow.orc.write_table(pa.table({"b": pa.array([WHOLE] * 3, MOMENT)}), path)
    assert list(SFrame.read_orc(path)["b"]) == [KEPT] * 3


@pytest.mark.spark
def test_orc_files_that_tasks_read(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "x.orc")
    pyarrow.orc.write_table(pa.table({"a": pa.array([CUT, None, CUT] * 1_000, MOMENT)}), path)
    with config.using(memory_budget=1_000), pytest.warns(LostNanosecondsWarning, match="the nanoseconds of 2000 of column 'a' are cut off") as told:
        frame = SFrame.read_orc(path)
    assert len(told) == 1 and len(frame) == 3_000
