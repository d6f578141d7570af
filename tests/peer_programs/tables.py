"""Random rows in three libraries: in order of time, with missing values, NaN, ties and changes of the clock."""

from __future__ import annotations

import datetime
import random
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pandas as pd
import polars as pl

from sframe_spark import SFrame
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ZONED_DATETIME, ColumnType
from tests.random_tables import segments_source, table_source

NAN = float("nan")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
ZONES = ("America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Asia/Kathmandu")
# Starts of time lines that cross a change of the clock in one of the zones, or the end of a year.
STARTS = ("2024-03-09", "2024-11-02", "2024-03-30", "2024-10-26", "2024-04-06", "2024-10-05", "2023-12-29")
SECOND = 10**6
# Distances of neighbours in seconds: ties, odd distances, and such that hit ends of windows and intervals.
STEPS = ((0, 0, 900, 1800, 3600), (0, 1200, 3600, 7200), (0, 3600, 43_200, 86_400, 90_000), (0, 86_400, 604_800, 2_000_000))


@attrs.frozen
class Table:
    """Rows by columns, as plain values; date-times are microseconds since 1970.

    Parameters
    ----------
    columns
        The values.
    kinds
        The type of each column.
    zone
        Whose clock the times show, if they have offsets.
    """

    columns: dict[str, list[Any]]
    kinds: dict[str, ColumnType]
    zone: str | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))

    def plain(self, name: str) -> list[Any]:
        """Values of a column as Python has them."""
        values = self.columns[name]
        if self.kinds[name] is DATETIME:
            return [None if value is None else (EPOCH + value * MICROSECOND).replace(tzinfo=None) for value in values]
        if self.kinds[name] is ZONED_DATETIME:
            assert self.zone is not None
            clock = ZoneInfo(self.zone)
            return [None if value is None else (EPOCH + value * MICROSECOND).astimezone(clock) for value in values]
        return values

    def here(self, segments: int | None, choose: random.Random) -> SFrame:
        """The rows in memory, or in so many saved segments of random sizes."""
        columns, types = [self.plain(name) for name in self.columns], list(self.kinds.values())
        if segments is None:
            node = table_source(columns, types, self.rows)
        else:
            cuts = sorted({0, self.rows, *(choose.randint(0, self.rows) for _ in range(segments - 1))})
            node = segments_source(columns, types, cuts if len(cuts) > 1 else [0, 0])
        return SFrame(_node=node, _names=list(self.columns))

    def polars(self) -> pl.DataFrame:
        """The rows of Polars."""
        kinds = {INT: pl.Int64, FLOAT: pl.Float64, STR: pl.String, DATETIME: pl.Datetime("us"), ZONED_DATETIME: pl.Datetime("us", self.zone)}
        series = []
        for name, values in self.columns.items():
            kind = self.kinds[name]
            if kind is ZONED_DATETIME:
                instants = pl.Series(name, values, pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
                series.append(instants.dt.convert_time_zone(self.zone or "UTC"))
            elif kind is DATETIME:
                series.append(pl.Series(name, values, pl.Int64).cast(pl.Datetime("us")))
            else:
                series.append(pl.Series(name, values, kinds[kind]))
        return pl.DataFrame(series)

    def pandas(self) -> pd.DataFrame:
        """The rows of pandas: numbers are floats, as its ints have no missing values."""
        found: dict[str, Any] = {}
        for name, values in self.columns.items():
            kind = self.kinds[name]
            if kind in (DATETIME, ZONED_DATETIME):
                times = pd.Series(pd.array(values, "Int64")).astype("datetime64[us]")
                found[name] = times.dt.tz_localize("UTC").dt.tz_convert(self.zone) if kind is ZONED_DATETIME else times
            elif kind is STR:
                found[name] = pd.Series(values, dtype=object)
            else:
                found[name] = pd.Series([NAN if value is None else value for value in values], dtype=float)
        return pd.DataFrame(found)


def random_table(choose: random.Random, peer: str) -> Table:
    """Rows in order of `time`: a key, a float `x`, an int `n`, a weight `w` above zero; for pandas without NaN, which it takes for missing."""
    rows = choose.choice((0, 1, 2, 5, 12, 12, 30, 60))
    kind = choose.choice((INT, FLOAT, DATETIME, ZONED_DATETIME, ZONED_DATETIME))
    times = _times(choose, rows, kind)
    missing = choose.choice((0.0, 0.0, 0.2, 0.6))
    floats = (-2.5, 0.25, 1.0, 1.0, 3.5, 7.0, *((0.0, -0.0, NAN) if peer == "polars" else ()))
    keys = choose.choice((("a",), ("a", "b"), ("a", "b", "c", None)))

    def some(values: Any) -> list[Any]:
        return [None if choose.random() < missing else choose.choice(values) for _ in range(rows)]

    columns = {
        "time": times,
        "key": [choose.choice(keys) for _ in range(rows)],
        "x": some(floats),
        "n": some((-3, 0, 1, 1, 2, 5, 40)),
        "w": some((0.5, 1.0, 1.0, 2.0, 4.0)),
    }
    zone = choose.choice(ZONES) if kind is ZONED_DATETIME else None
    return Table(columns, {"time": kind, "key": STR, "x": FLOAT, "n": INT, "w": FLOAT}, zone)


def other_table(choose: random.Random, table: Table, peer: str) -> Table:
    """Rows for the right side of a join, with times of the same kind and about the same place: `time`, `key`, a bid, and an `end` after the time."""
    rows = choose.choice((0, 1, 3, 8, 20))
    kind = table.kinds["time"]
    first = min((time for time in table.columns["time"] if time is not None), default=0)
    times = _times(choose, rows, kind, first)
    lengths = [0, *(step for step in ([3_600 * SECOND, 86_400 * SECOND] if kind in (DATETIME, ZONED_DATETIME) else [1, 5]))]
    bids = (1.5, 2.5, *((NAN,) if peer == "polars" else ()), None)
    columns = {
        "time": times,
        "key": [choose.choice(("a", "b", "c", None)) for _ in range(rows)],
        "end": [None if time is None else time + choose.choice(lengths) for time in times],
        "bid": [choose.choice(bids) for _ in range(rows)],
    }
    return Table(columns, {"time": kind, "key": STR, "end": kind, "bid": FLOAT}, table.zone)


def _times(choose: random.Random, rows: int, kind: ColumnType, first: int | None = None) -> list[Any]:
    if kind in (DATETIME, ZONED_DATETIME):
        steps = [step * SECOND for step in choose.choice(STEPS)]
        moment = datetime.datetime.fromisoformat(choose.choice(STARTS)).replace(tzinfo=datetime.UTC)
        at = round((moment - EPOCH) / MICROSECOND) + choose.choice((0, 0, 5 * 3600, 17 * 3600 + 1)) * SECOND
        at = at if first is None else first + choose.choice((-1, 0, 1)) * steps[-1]
    else:
        steps = [0, 1, 1, 2, 5] if kind is INT else [0, 0.5, 1.0, 2.25]
        at = choose.choice((-3, 0, 7))
    found = []
    for _ in range(rows):
        at += choose.choice(steps)
        found.append(float(at) if kind is FLOAT else at)
    return found


def strictly_ascending(values: list[Any]) -> bool:
    """Return whether no value is as large as the next one."""
    return all(first < second for first, second in pairwise(values))
