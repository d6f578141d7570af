"""Operations that aggregate: group-bys, running aggregates, windows of time, intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl

from sframe_spark import SFrame
from sframe_spark.types import FLOAT
from tests.peer_programs.differences import differs
from tests.peer_programs.operation import FOREVER, ROW, Draw, Operation, Parameters, beside, parts_of
from tests.peer_programs.summaries import draw_summaries, expressions, requests, values_of


def beside_rows(df: pd.DataFrame, p: Parameters, windows: Any) -> pd.DataFrame:
    """A frame of pandas with aggregates of a window for each row; `windows` gives these for the rows of a key."""
    found: dict[Any, dict[str, Any]] = {}
    for part in parts_of(df, p["by"]):
        for place, window in zip(part.index, windows(part), strict=True):
            found[place] = values_of(p["summaries"], window)
    made = {name: [found[place][name] for place in df.index] for name in p["summaries"]}
    lists = {name for name, values in made.items() if any(isinstance(value, list) for value in values)}
    return df.assign(**{name: pd.Series(values, index=df.index, dtype=object if name in lists else float) for name, values in made.items()})


class Groups(Operation):
    """``groupby`` with aggregates."""

    def draw(self, d: Draw) -> Parameters | None:
        return {"summaries": draw_summaries(d)} if d.keyed else None

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        return sf.groupby("key", requests(p["summaries"]))

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("groups ascend")
        return df.group_by("key", maintain_order=True).agg(expressions(p["summaries"])).sort("key")

    def pandas(self, df: Any, p: Parameters) -> Any:
        rows = [{"key": part["key"].iloc[0], **values_of(p["summaries"], part)} for part in parts_of(df, "key") if len(part)]
        found = pd.DataFrame(rows, columns=["key", *p["summaries"]], dtype=object)
        return found.sort_values("key", na_position="first", kind="stable")


class Running(Operation):
    """``running`` aggregates of the rows so far."""

    def draw(self, d: Draw) -> Parameters:
        return {"summaries": draw_summaries(d), "by": d.by()}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        return sf.running(requests(p["summaries"]), by=p["by"])

    def polars(self, df: Any, p: Parameters) -> Any:
        def of_part(part: Any) -> Any:
            asked = expressions(p["summaries"])
            return part.with_columns(pl.col(ROW).cast(pl.Int64)).rolling(ROW, period=f"{FOREVER}i").agg(asked).select(list(p["summaries"]))

        return beside(df, p["by"], of_part)

    def pandas(self, df: Any, p: Parameters) -> Any:
        return beside_rows(df, p, lambda part: (part.iloc[: place + 1] for place in range(len(part))))


class Window(Operation):
    """``window`` over a range of time around each row."""

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed or (d.peer == "polars" and d.kind is FLOAT):
            return None
        unit = 3600 if d.dated else 1
        before, after = d.one(
            (1, None), (2, None), (24, None), ("all", None), (1, 1), (None, 2), (24, -1), (48, -24), (-1, 3), ("all", -1), (None, "all")
        )
        if d.peer == "pandas" and (before == "all" or after is not None):
            before, after = d.one(1, 2, 24), None
        closed = d.one("both", "left", "right", "neither")
        return {"summaries": draw_summaries(d), "by": d.by(), "before": before, "after": after, "unit": unit, "dated": d.dated, "closed": closed}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        before, after = ((f"{end * p['unit']}s" if p["dated"] else end) if isinstance(end, int) else end for end in (p["before"], p["after"]))
        return sf.window("time", requests(p["summaries"]), before, after, by=p["by"], closed=p["closed"])

    def polars(self, df: Any, p: Parameters) -> Any:
        before, after = ({"all": FOREVER, None: 0}.get(end, end) for end in (p["before"], p["after"]))
        before, after = (end if end == FOREVER else end * p["unit"] for end in (before, after))
        unit = "s" if p["dated"] else "i"

        def of_part(part: Any) -> Any:
            found = part.rolling(
                "time", period=f"{before + after}{unit}", offset=f"{-before}{unit}", closed={"neither": "none"}.get(p["closed"], p["closed"])
            )
            return found.agg(expressions(p["summaries"])).select(list(p["summaries"]))

        return beside(df, p["by"], of_part)

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("rows of one time")
        keep = "last" if p["closed"] in ("both", "right") else "first"

        def windows(part: Any) -> Any:
            if not len(part):
                return []
            if not p["dated"]:
                part = part.assign(time=pd.to_datetime(part["time"] * 10**6, unit="us"))
            seconds = p["before"] * p["unit"]
            found = dict(zip(part.index, part.rolling(f"{seconds}s", on="time", closed=p["closed"]), strict=True))
            places = pd.Series(part.index, index=part.index).groupby(part["time"]).transform(keep)
            return [found[place] for place in places]

        return beside_rows(df, p, windows)


class Intervals(Operation):
    """``groupby_intervals``, or with a row for every interval ``resample``."""

    LENGTHS = ("1h", "2h", "30min", "1d", "1w", "1mo", "1q")

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed or not d.keyed or not d.dated:
            return None
        every = d.choose.choice(self.LENGTHS)
        zone = d.table.zone if every[1:] in ("d", "w", "mo", "q") and d.one(True, False) else None
        offset = d.one(None, "20min") if zone is None and every in ("1h", "2h", "30min", "1d") else None
        parts = {"closed": d.one("left", "left", "right"), "label": d.one("left", "right"), "all": d.one(False, True), "period": None}
        if d.peer == "pandas" and every == "1w":
            differs("weeks end with a day in pandas")
            parts["closed"] = "left"
        if d.peer == "polars" and zone is None and every in ("1h", "30min", "1d") and not parts["all"]:
            parts["period"] = d.one(None, None, "45min", "2h", "26h")
        return {
            "summaries": draw_summaries(d),
            "by": d.by(),
            "every": every,
            "zone": zone,
            "offset": offset,
            "zoned": d.table.zone is not None,
            **parts,
        }

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        options = {name: p[name] for name in ("by", "closed", "label", "zone", "offset")} | ({"period": p["period"]} if p["period"] else {})
        return (sf.resample if p["all"] else sf.groupby_intervals)("time", p["every"], operations=requests(p["summaries"]), **options)

    def polars(self, df: Any, p: Parameters) -> Any:
        every, offset = p["every"].replace("min", "m"), (p["offset"] or "0s").replace("min", "m")
        period = p["period"] and p["period"].replace("min", "m")
        if p["zoned"]:
            df = df.with_columns(pl.col("time").dt.convert_time_zone(p["zone"] or "UTC"))
        numbered = df.with_row_index(ROW)
        by = [p["by"]] if p["by"] else []
        if period:
            return self._longer_in_polars(numbered, p, every, offset, period)
        windows = numbered.group_by_dynamic("time", every=every, offset=offset, closed=p["closed"], label=p["label"], group_by=by)
        found = windows.agg(*expressions(p["summaries"]), pl.col(ROW).min())
        if not p["all"]:
            differs("order of intervals")
            return found.sort("time", ROW).drop(ROW)
        differs("order of resampled rows")
        differs("intervals without rows")
        parts = []
        for part in parts_of(found.drop(ROW), p["by"]):
            if part.height:
                ticks = pl.datetime_range(part["time"].min(), part["time"].max(), every, eager=True, time_unit="us").alias("time")
                keys = {p["by"]: part[p["by"]][0]} if p["by"] else {}
                parts.append(
                    ticks.to_frame()
                    .with_columns(**{name: pl.lit(value, pl.String) for name, value in keys.items()})
                    .join(part.drop(by), on="time", how="left")
                )
        return (pl.concat(parts) if parts else found.drop(ROW)).sort("time", *by)

    def _longer_in_polars(self, numbered: Any, p: Parameters, every: str, offset: str, period: str) -> Any:
        """Intervals that begin before the first row, too, which ``group_by_dynamic(period=)`` leaves out: each row with all that hold it."""
        differs("intervals before the first row")
        moment = pl.col("time").dt.offset_by("-" + offset).dt.truncate(every).dt.offset_by(offset)
        begun = [moment.dt.offset_by(every if back < 0 else f"-{back * int(every[:-1])}{every[-1]}") for back in range(-1, 56)]
        pairs = numbered.with_columns(pl.concat_list(begun).alias("start")).explode("start").with_columns(end=pl.col("start").dt.offset_by(period))
        left = (pl.col("time") >= pl.col("start")) & (pl.col("time") < pl.col("end"))
        right = (pl.col("time") > pl.col("start")) & (pl.col("time") <= pl.col("end"))
        kept = pairs.filter(left if p["closed"] == "left" else right).sort("start", ROW)
        keys = ["start", "end", *([p["by"]] if p["by"] else [])]
        found = kept.group_by(keys, maintain_order=True).agg(*expressions(p["summaries"]), pl.col(ROW).min()).sort("start", ROW)
        return found.rename({"start" if p["label"] == "left" else "end": "time"}).drop("end" if p["label"] == "left" else "start", ROW)

    def pandas(self, df: Any, p: Parameters) -> Any:
        rule = {"mo": "MS", "q": "QS", "d": "D", "w": "W-MON"}.get(p["every"][1:], p["every"])
        origin = {"origin": "epoch"} if rule == p["every"] or rule == "D" else {}
        rows = []
        if p["zoned"]:
            df = df.assign(time=df["time"].dt.tz_convert(p["zone"] or "UTC"))
        if rule == "D":
            origin = {}
        for part in parts_of(df.assign(**{ROW: range(len(df))}), p["by"]):
            if not len(part):
                continue
            offset = {"offset": p["offset"]} if p["offset"] else {}
            for time, interval in part.resample(rule, on="time", closed=p["closed"], label=p["label"], **origin, **offset):
                key = {p["by"]: part[p["by"]].iloc[0]} if p["by"] else {}
                values = values_of(p["summaries"], interval) if len(interval) else dict.fromkeys(p["summaries"])
                if len(interval) or p["all"]:
                    rows.append({"time": time, **key, **values, ROW: interval[ROW].min() if len(interval) else -1, "known": len(interval) > 0})
        names = ["time", *([p["by"]] if p["by"] else []), *p["summaries"]]
        if p["by"] and p["all"]:
            differs("order of resampled rows")
            rows.sort(key=lambda row: (row["time"], row["key"] is not None and row["key"] == row["key"], str(row["key"])))
        else:
            differs("order of intervals")
            rows.sort(key=lambda row: (row["time"], row[ROW]))
        return pd.DataFrame([{name: row[name] for name in names} for row in rows], columns=names, dtype=object)


class FloorTime(Operation):
    """``floor_time``."""

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed or not d.dated:
            return None
        every = d.one("1h", "30min", "1d", "1mo") if d.peer == "pandas" else d.one(*Intervals.LENGTHS, "1y", "15min", "3h")
        zone = d.table.zone if every[1:] in ("d", "w", "mo", "q", "y") and d.one(True, False) else None
        return {"to": d.result, "every": every, "zone": zone, "zoned": d.table.zone is not None}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        sf[p["to"]] = sf.floor_time("time", p["every"], zone=p["zone"])
        return sf

    def polars(self, df: Any, p: Parameters) -> Any:
        time = pl.col("time").dt.convert_time_zone(p["zone"] or "UTC") if p["zoned"] else pl.col("time")
        return df.with_columns(time.dt.truncate(p["every"].replace("min", "m")).alias(p["to"]))

    def pandas(self, df: Any, p: Parameters) -> Any:
        time = df["time"].dt.tz_convert(p["zone"] or "UTC") if p["zoned"] else df["time"]
        if p["every"] == "1mo":
            local = time.dt.tz_localize(None).dt.to_period("M").dt.to_timestamp()
            floors = local.dt.tz_localize(p["zone"] or "UTC") if p["zoned"] else local
        else:
            floors = time.dt.floor({"1d": "D"}.get(p["every"], p["every"]))
        return df.assign(**{p["to"]: floors})


FRAME_OPERATIONS: tuple[Operation, ...] = (Groups(), Running(), Window(), Intervals(), FloorTime())
