"""Writes what pandas and Polars make of months, weeks, days and zones to ``data/calendar_peers.json``.

Run ``python tests/calendar_peers.py`` where both are installed.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "data" / "calendar_peers.json"
ZONES = ("America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo")
FLOORS = ("1d", "1w", "1mo", "1q", "1y", "1h", "15m")
BY_POLARS = ("1mo", "-1mo", "1q", "13mo", "1y", "1d", "-1d", "1w", "36h", "1mo2d3h")


def moments() -> list[int]:
    """Seconds since 1970: around ends of months, and around changes of the clock."""
    found = []
    for text in ("1999-12-30", "2024-01-29", "2024-02-27", "2024-03-08", "2024-03-30", "2024-04-05", "2024-10-04", "2024-10-26", "2024-11-02"):
        start = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
        found += [int(start.timestamp()) + 7 * 1200 * step for step in range(28)]
    return found


def seconds(series: Any) -> list[int | None]:
    """A column of Polars as seconds since 1970."""
    return [None if value is None else value // 10**6 for value in series.dt.timestamp("us").to_list()]


def by_polars() -> dict[str, Any]:
    """Floors and shifts of instants in zones, and local times."""
    import polars as pl

    result: dict[str, Any] = {}
    at = pl.from_epoch(pl.Series("t", moments()), "s").dt.cast_time_unit("us")
    for zone in ZONES:
        local = at.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        result[f"offset {zone}"] = seconds(local.dt.replace_time_zone(None).dt.replace_time_zone("UTC"))
        for every in FLOORS:
            result[f"floor {every} {zone}"] = seconds(local.dt.truncate(every))
        for which in ("earliest", "latest", "null"):
            name = {"earliest": "earlier", "latest": "later", "null": "missing"}[which]
            result[f"from {name} {zone}"] = seconds(at.dt.replace_time_zone(zone, ambiguous=which, non_existent="null"))
    for by in BY_POLARS:
        result[f"shift {by}"] = seconds(at.dt.offset_by(by))
    result["month end"] = seconds(at.dt.month_end())
    return result


def by_pandas() -> dict[str, Any]:
    """Counts of a resampling by calendar, month ends and business days."""
    import pandas as pd

    at = pd.DatetimeIndex([datetime.datetime.fromtimestamp(second, datetime.UTC) for second in moments()]).as_unit("us")
    result: dict[str, Any] = {}
    for zone in ZONES:
        ones = pd.Series(1, index=at.tz_convert(zone).sort_values())
        for rule in ("D", "MS", "QS", "YS", "W-MON"):
            options = {"closed": "left", "label": "left"}
            counts = ones.resample(rule, **options).sum()
            counts = counts[counts > 0]
            result[f"resample {rule} {zone}"] = [[int(start.timestamp()), int(count)] for start, count in counts.items()]
    naive = at.tz_localize(None)
    for offset in ("9h30min", "-6h"):  # which pandas leaves out of account in zones
        counts = pd.Series(1, index=naive.sort_values()).resample("D", offset=offset).sum()
        counts = counts[counts > 0]
        result[f"resample D {offset}"] = [[int(start.timestamp()), int(count)] for start, count in counts.items()]
    holidays = ["2024-01-31", "2024-04-01", "2024-11-04"]
    for count in (-3, -1, 0, 1, 2, 40):
        result[f"business days {count}"] = [int((t + pd.offsets.BusinessDay(count)).timestamp()) for t in naive]
        result[f"business days {count} without"] = [int((t + pd.offsets.CustomBusinessDay(count, holidays=holidays)).timestamp()) for t in naive]
        result[f"month ends {count}"] = [int((t + pd.offsets.MonthEnd(count)).timestamp()) for t in naive]
    return result


if __name__ == "__main__":
    import pandas
    import polars

    versions = {"polars": polars.__version__, "pandas": pandas.__version__}
    FILE.write_text(json.dumps({"versions": versions, "moments": moments(), "polars": by_polars(), "pandas": by_pandas()}) + "\n")
