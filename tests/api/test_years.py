"""Date-times outside the years 1 to 9999: refused where they would be made, and in our words where they would be shown."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame, aggregate, load_sframe, uniform_clock
from sframe_spark.errors import DateTimeRangeError, ExecutionError
from sframe_spark.session import is_started

FIRST, LAST = datetime.datetime.min, datetime.datetime.max
ROWS = {"n": aggregate.COUNT}
STRANGE = {"year 0": -62_135_596_800_000_001, "year 10000": 253_402_300_800_000_000, "least": -(2**63), "year 294247": 2**63 - 1}


def zone(hours: int) -> datetime.timezone:
    """A time zone so many hours east of UTC."""
    return datetime.timezone(datetime.timedelta(hours=hours))


def held(microseconds: int) -> SFrame:
    """Three rows, of which the last has such a date-time."""
    return SFrame(pa.table({"n": [0, 1, 2], "when": pa.array([0, None, microseconds], pa.timestamp("us"))}))


@pytest.mark.parametrize("microseconds", STRANGE.values(), ids=STRANGE)
def test_columns_hold_more_years_than_python_shows(microseconds: int) -> None:
    frame = held(microseconds)
    assert frame.to_arrow()["when"].cast(pa.int64()).to_pylist() == [0, None, microseconds]
    assert list(frame["when"].astype(int)) == [0, None, microseconds // 10**6]
    order = [1, 2, 0] if microseconds < 0 else [1, 0, 2]
    assert list(frame.sort("when")["n"]) == order
    assert list(frame[:2]["when"]) == [datetime.datetime(1970, 1, 1), None]
    assert len(frame["when"].unique()) == 3
    assert list((frame["when"] - frame["when"]).is_in([0.0])) == [1, 0, 1]


def doors(tmp_path: Path) -> dict[str, Callable[[SFrame], Any]]:
    """Ways in which values leave a frame as Python's."""
    return {
        "list": list,
        "list of a column": lambda frame: list(frame["when"]),
        "row": lambda frame: frame[2],
        "value": lambda frame: frame["when"][2],
        "print": str,
        "print of a column": lambda frame: str(frame["when"]),
        "html": lambda frame: frame._repr_html_(),
        "numpy": lambda frame: frame.to_numpy(),
        "numpy of a column": lambda frame: frame["when"].to_numpy(),
        "pandas": lambda frame: frame.to_dataframe(),
        "csv": lambda frame: frame.export_csv(str(tmp_path / "out.csv")),
        "apply": lambda frame: list(frame["when"].apply(str, str)),
        "text": lambda frame: list(frame["when"].astype(str)),
        "one aggregate": lambda frame: frame["when"].max() or frame["when"].min(),
        "concat": lambda frame: list(frame.groupby([], {"all": aggregate.CONCAT("when")})),
    }


NAMED = ("list", "row", "print", "html", "numpy", "pandas", "csv")


@pytest.mark.parametrize("door", doors(Path()))
def test_showing_one_is_an_error_of_ours(door: str, tmp_path: Path) -> None:
    started = is_started()
    saved = str(tmp_path / "saved")
    for microseconds in (STRANGE["year 10000"], STRANGE["year 294247"]):
        held(microseconds).save(saved)
        for frame in (held(microseconds), load_sframe(saved)):
            with pytest.raises(ExecutionError, match="lies outside the years 1 to 9999") as caught:
                doors(tmp_path)[door](frame)
            if door in NAMED:
                assert isinstance(caught.value, DateTimeRangeError)
                assert str(caught.value).startswith("column 'when', row 2: the date-time ")
    assert is_started() == started


def test_what_arrow_brings(tmp_path: Path) -> None:
    for unit in ("s", "ms"):
        for zoned in (None, "Europe/Berlin"):
            with pytest.raises(DateTimeRangeError, match="more than 64 bits"):
                SFrame(pa.table({"when": pa.array([2**62], pa.timestamp(unit, zoned))}))
    for days in (-719_163, 2_932_897):
        with pytest.raises(DateTimeRangeError, match="years 1 to 9999"):
            list(SFrame(pa.table({"when": pa.array([days], pa.int32()).cast(pa.date32())})))
    with pytest.raises(DateTimeRangeError, match="in a list"):
        list(SFrame(pa.table({"all": pa.array([[2**62]], pa.list_(pa.timestamp("us")))})))


@pytest.mark.spark
def test_what_spark_brings(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "there.parquet")
    pq.write_table(held(STRANGE["year 10000"]).to_arrow(), path)
    frame = SFrame(spark.read.parquet(path))
    with pytest.raises(DateTimeRangeError, match="column 'when', row 2: the date-time 10000-01-01"):
        list(frame)
    moved = SFrame(spark.createDataFrame([(datetime.datetime(9999, 12, 31, 20),)], "when timestamp_ntz"))
    with pytest.raises(ExecutionError, match="beyond the years 1 to 9999"):
        moved.shift_time("when", "5h").materialize(naive=True)


def test_intervals_whose_label_no_year_holds() -> None:
    frame = SFrame({"when": [FIRST, LAST]})
    for label in ("left", "right"):
        with pytest.raises(DateTimeRangeError, match=r"interval of 25920000000000 microseconds that holds .* outside the years 1 to 9999"):
            list(frame.groupby_intervals("when", every="300d", label=label, operations=ROWS))
    with pytest.raises(DateTimeRangeError, match="the end of the interval"):
        list(frame[1:].resample("when", "1d", ROWS, label="right"))
    zoned = SFrame({"when": [datetime.datetime(9999, 12, 31, 20, tzinfo=zone(-6))]})
    assert list(zoned.groupby_intervals("when", every="1h", operations=ROWS)["when"]) == list(zoned["when"])
    east = SFrame({"when": [datetime.datetime(9999, 12, 31, 22, tzinfo=zone(3))]})
    with pytest.raises(DateTimeRangeError, match="the end of the interval"):
        list(east.groupby_intervals("when", every="6h", label="right", operations=ROWS))


def test_shift_time_asks_the_clock_on_the_wall() -> None:
    """An instant some hours outside the years is shown where the offset brings the clock back."""
    for start, by in ((datetime.datetime(9999, 12, 31, 20, tzinfo=zone(-6)), 3), (datetime.datetime(1, 1, 1, 5, tzinfo=zone(6)), -4)):
        frame = SFrame({"when": [start, None]})
        assert list(frame.shift_time("when", f"{by}h")["when"]) == [start + datetime.timedelta(hours=by), None]
        with pytest.raises(ExecutionError, match="beyond the years 1 to 9999"):
            list(frame.shift_time("when", f"{2 * by}h"))
    east = SFrame({"when": [datetime.datetime(9999, 12, 31, 20, tzinfo=zone(6))]})
    with pytest.raises(ExecutionError, match="beyond the years 1 to 9999"):
        list(east.shift_time("when", "4h"))


@pytest.mark.spark
def test_shift_time_asks_the_clock_on_the_wall_on_spark(everything_on_spark: None) -> None:
    frame = SFrame({"when": [datetime.datetime(9999, 12, 31, 20, tzinfo=zone(-6)), datetime.datetime(2020, 1, 1)]})
    moved = frame.shift_time("when", "3h")
    moved.materialize(naive=True)
    assert list(moved["when"]) == [datetime.datetime(9999, 12, 31, 23, tzinfo=zone(-6)), datetime.datetime(2020, 1, 1, 3)]


def test_clocks_and_casts() -> None:
    with pytest.raises(DateTimeRangeError, match="ticks with the offset of its start"):
        uniform_clock(datetime.datetime(9999, 12, 31, 20, tzinfo=zone(6)), datetime.datetime(9999, 12, 31, 23, tzinfo=zone(-6)), "1h")
    assert len(uniform_clock(datetime.datetime(9999, 12, 31, 20, tzinfo=zone(-6)), datetime.datetime(9999, 12, 31, 23, tzinfo=zone(-6)), "1h")) == 4
    edges = [253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801]
    assert list(SArray(edges).astype(datetime.datetime, undefined_on_failure=True)) == [LAST.replace(microsecond=0), None, FIRST, None]


def test_arithmetic_is_exact_and_does_not_wrap_around() -> None:
    column = SArray([LAST.replace(microsecond=0), datetime.datetime(2020, 1, 1), None])
    later = column + 8.9e12
    assert list(later - 8.9e12) == list(column)
    assert list(later > column) == [1, 1, None]
    with pytest.raises(DateTimeRangeError, match="row 0: the date-time 29"):
        list(later)
    with pytest.raises(ExecutionError, match="64 bits of microseconds"):
        list((later + 8.9e12) - 8.9e12)


@pytest.mark.parametrize("days", [213_503_983, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("unit", ["date32", "date64"])
def test_days_beyond_what_microseconds_hold_are_refused(days: int, unit: str, tmp_path: Path) -> None:
    values = pa.array([0, days], pa.int32()).cast(pa.date32()) if unit == "date32" else pa.array([0, days * 86_400_000], pa.int64()).cast(pa.date64())
    table = pa.table({"when": values})
    pq.write_table(table, tmp_path / "days.parquet")
    for make in (lambda: SFrame(table), lambda: list(SFrame(str(tmp_path / "days.parquet"))["when"])):
        with pytest.raises(DateTimeRangeError, match="since 1970"):
            make()


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "m", "s", "ms"])
def test_numpy_times_beyond_64_bits_are_refused(unit: str) -> None:
    """Numpy lets microseconds wrap around: the year 586568 was a day of 2013."""
    far = np.datetime64("586568-06-01", unit)
    for made in (
        lambda: SArray(np.array([far, np.datetime64("NaT", unit)])),
        lambda: SArray([far]),
        lambda: SArray.from_const(far, 2),
        lambda: SArray([{"at": far}]),
    ):
        with pytest.raises(DateTimeRangeError, match=r"586568.* 64 bits"):
            made()
    assert list(SArray(np.array(["2000-01-01", "NaT"], dtype=f"datetime64[{unit}]"))) == [datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC), None]


def test_numpy_times_that_python_has_not_are_refused_in_our_words() -> None:
    with pytest.raises(DateTimeRangeError, match="20000-01-01 lies outside the years"):
        SArray([np.datetime64("20000-01-01")])


def test_numpy_durations_beyond_64_bits_are_refused() -> None:
    """The clock was moved by what was left after wrapping around."""
    frame = SFrame({"t": [datetime.datetime(2024, 1, 1)]})
    with pytest.raises(ValueError, match="longer than"):
        frame.shift_time("t", np.timedelta64(2**64 // (7 * 86_400 * 10**6) + 1, "W"))


@pytest.mark.parametrize("unit", ["10ns", "1500ns", "7ps", "25us"])
def test_numpy_times_in_steps_of_a_unit(unit: str) -> None:
    """What is shorter than a microsecond is cut off, as for steps of 1, and not taken for a time that does not fit."""
    moment = np.datetime64(15, unit)
    known = moment.astype("datetime64[us]").item().replace(tzinfo=datetime.UTC)
    assert list(SArray(np.array([moment, np.datetime64("NaT", unit)]))) == [known, None]


def test_numpy_times_in_long_steps_beyond_64_bits_are_refused() -> None:
    with pytest.raises(DateTimeRangeError, match="64 bits"):
        SArray(np.array([2**61], dtype="datetime64[25us]"))
