"""Operations that aggregate or join: group-bys, running aggregates, windows of time, intervals, as-of joins, joins on intervals."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import polars as pl

from sframe_spark import SFrame
from sframe_spark.types import FLOAT
from tests.peer_programs.differences import differs
from tests.peer_programs.operation import FOREVER, OTHER_ROW, ROW, Draw, Operation, Parameters, beside, parts_of
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
        parts = {"closed": d.one("left", "left", "right"), "label": d.one("left", "right"), "all": d.one(False, True)}
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
        options = {name: p[name] for name in ("by", "closed", "label", "zone", "offset")}
        return (sf.resample if p["all"] else sf.groupby_intervals)("time", p["every"], operations=requests(p["summaries"]), **options)

    def polars(self, df: Any, p: Parameters) -> Any:
        every, offset = p["every"].replace("min", "m"), (p["offset"] or "0s").replace("min", "m")
        if p["zoned"]:
            df = df.with_columns(pl.col("time").dt.convert_time_zone(p["zone"] or "UTC"))
        numbered = df.with_row_index(ROW)
        by = [p["by"]] if p["by"] else []
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


class AsofJoin(Operation):
    """``asof_join``."""

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed:
            return None
        tolerance = d.one(None, 0, 3600, 86_400) if d.dated else d.one(None, 0, 1, 3)
        parts = {"direction": d.one("backward", "forward", "nearest"), "exact": d.one(True, True, False), "dated": d.dated}
        return {"to": d.result, "other": d.other(), "by": d.by(), "tolerance": tolerance, "seed": d.choose.randint(0, 99), **parts}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        other = p["other"].here(random.Random(p["seed"]).choice((None, 1, 2)), random.Random(p["seed"])).rename({"bid": p["to"]})
        other = other[["time", "key", p["to"]] if p["by"] else ["time", p["to"]]]
        tolerance = f"{p['tolerance']}s" if p["dated"] and p["tolerance"] is not None else p["tolerance"]
        return sf.asof_join(other, "time", p["by"], tolerance, p["direction"], p["exact"])

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("missing keys find nothing")
        other = p["other"].polars().rename({"bid": p["to"]}).drop("end")
        other = other.filter(pl.col("key").is_not_null()) if p["by"] else other.drop("key")
        other = other.with_columns(pl.col("time").alias("found"))
        directions = ("backward", "forward") if p["direction"] == "nearest" else (p["direction"],)
        tolerance = f"{p['tolerance']}s" if p["dated"] and p["tolerance"] is not None else p["tolerance"]
        joined = [
            df.join_asof(other, on="time", by=p["by"], strategy=way, tolerance=tolerance, allow_exact_matches=p["exact"], check_sortedness=False)
            for way in directions
        ]
        if len(joined) == 2:
            differs("nearest of two")
            back, forth = joined
            distances = [frame["time"].cast(pl.Float64) - frame["found"].cast(pl.Float64) for frame in joined]
            take = distances[1].is_not_null() & (distances[0].is_null() | (distances[1].abs() < distances[0].abs()))
            chosen = pl.select(pl.when(take).then(forth[p["to"]]).otherwise(back[p["to"]]).alias(p["to"])).to_series() if df.height else back[p["to"]]
            joined = [back.with_columns(chosen)]
        return joined[0].drop("found")

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("missing keys find nothing")
        other = p["other"].pandas().rename(columns={"bid": p["to"]}).drop(columns="end")
        other = other[other["key"].notna()] if p["by"] else other.drop(columns="key")
        tolerance = pd.Timedelta(seconds=p["tolerance"]) if p["dated"] and p["tolerance"] is not None else p["tolerance"]
        return pd.merge_asof(df, other, on="time", by=p["by"], tolerance=tolerance, direction=p["direction"], allow_exact_matches=p["exact"])


class JoinBetween(Operation):
    """``join_between`` with intervals of another frame."""

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed:
            return None
        other, by = d.other(), d.by()
        return {"to": d.result, "other": other, "by": by, "how": d.one("inner", "left"), "closed": d.one("both", "left", "right", "neither")}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        names = {"bid": p["to"], "time": p["to"] + "_start", "end": p["to"] + "_end"}
        other = p["other"].here(None, random.Random(0)).rename(names)
        other = other if p["by"] else other.remove_column("key")
        return sf.join_between(other, "time", names["time"], names["end"], by=p["by"], how=p["how"], closed=p["closed"])

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("matches in row order")
        start, end = p["to"] + "_start", p["to"] + "_end"
        other = p["other"].polars().rename({"bid": p["to"], "time": start, "end": end, "key": "other key"}).with_row_index(OTHER_ROW)
        numbered = df.with_row_index(ROW)
        left = pl.col("time") >= pl.col(start) if p["closed"] in ("both", "left") else pl.col("time") > pl.col(start)
        right = pl.col("time") <= pl.col(end) if p["closed"] in ("both", "right") else pl.col("time") < pl.col(end)
        same = pl.col("key").eq_missing(pl.col("other key")) if p["by"] else pl.lit(True)
        found = numbered.join(other, how="cross").filter(left & right & same)
        if p["how"] == "left":
            found = pl.concat([found, numbered.join(found, on=ROW, how="anti")], how="diagonal_relaxed")
        return found.sort(ROW, OTHER_ROW).drop(ROW, OTHER_ROW, "other key")

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("matches in row order")
        start, end = p["to"] + "_start", p["to"] + "_end"
        other = p["other"].pandas().rename(columns={"bid": p["to"], "time": start, "end": end, "key": "other key"})
        numbered = df.assign(**{ROW: range(len(df))})
        found = numbered.merge(other.assign(**{OTHER_ROW: range(len(other))}), how="cross")
        left = found["time"] >= found[start] if p["closed"] in ("both", "left") else found["time"] > found[start]
        right = found["time"] <= found[end] if p["closed"] in ("both", "right") else found["time"] < found[end]
        keep = left & right
        if p["by"]:
            keep &= found["key"].fillna("missing") == found["other key"].fillna("missing")
        found = found[keep]
        if p["how"] == "left":
            found = pd.concat([found, numbered[~numbered[ROW].isin(found[ROW])]])
        return found.sort_values([ROW, OTHER_ROW], kind="stable").drop(columns=[ROW, OTHER_ROW, "other key"])


FRAME_OPERATIONS: tuple[Operation, ...] = (Groups(), Running(), Window(), Intervals(), FloorTime(), AsofJoin(), JoinBetween())
