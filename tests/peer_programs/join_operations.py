"""Operations that join two frames in time: as-of joins, points in intervals, intervals that overlap, windows of another frame."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import polars as pl

from sframe_spark import SFrame
from tests.peer_programs.differences import differs
from tests.peer_programs.operation import OTHER_ROW, ROW, Draw, Operation, Parameters
from tests.peer_programs.summaries import SUMMARIES, expressions, requests, values_of


class AsofJoin(Operation):
    """``asof_join``."""

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed:
            return None
        tolerance = d.one(None, 0, 3600, 86_400) if d.dated else d.one(None, 0, 1, 3)
        known = d.one(False, False, True)
        options = {"known": known, "keep": not known and d.one(False, True)}
        parts = {**options, "direction": d.one("backward", "forward", "nearest"), "exact": d.one(True, True, False), "dated": d.dated}
        return {"to": d.result, "other": d.other(), "by": d.by(), "tolerance": tolerance, "seed": d.choose.randint(0, 99), **parts}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        other = p["other"].here(random.Random(p["seed"]).choice((None, 1, 2)), random.Random(p["seed"])).rename({"bid": p["to"]})
        other = other[["time", "key", p["to"]] if p["by"] else ["time", p["to"]]]
        tolerance = f"{p['tolerance']}s" if p["dated"] and p["tolerance"] is not None else p["tolerance"]
        found = f"{p['to']}_time"
        other = other.rename({"time": found})
        options = {"left_on": "time", "right_on": found, "skip_missing": p["known"], "keep_time": p["keep"]}
        return sf.asof_join(other, None, p["by"], tolerance, p["direction"], p["exact"], **options)

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("missing keys find nothing")
        other = p["other"].polars().rename({"bid": p["to"]}).drop("end")
        other = other.filter(pl.col("key").is_not_null()) if p["by"] else other.drop("key")
        found = f"{p['to']}_time"
        other = other.with_columns(pl.col("time").alias(found))
        if p["known"]:
            differs("NaN counts as missing")
            other = other.filter(pl.col(p["to"]).is_not_nan())
        directions = ("backward", "forward") if p["direction"] == "nearest" else (p["direction"],)
        tolerance = f"{p['tolerance']}s" if p["dated"] and p["tolerance"] is not None else p["tolerance"]
        joined = [
            df.join_asof(other, on="time", by=p["by"], strategy=way, tolerance=tolerance, allow_exact_matches=p["exact"], check_sortedness=False)
            for way in directions
        ]
        if len(joined) == 2:
            differs("nearest of two")
            back, forth = joined
            distances = [frame["time"].cast(pl.Float64) - frame[found].cast(pl.Float64) for frame in joined]
            take = distances[1].is_not_null() & (distances[0].is_null() | (distances[1].abs() < distances[0].abs()))
            names = (p["to"], found)
            joined = [back.with_columns(forth[name].zip_with(take, back[name]) for name in names) if df.height else back]
        return joined[0] if p["keep"] else joined[0].drop(found)

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("missing keys find nothing")
        other = p["other"].pandas().rename(columns={"bid": p["to"]}).drop(columns="end")
        other = other[other["key"].notna()] if p["by"] else other.drop(columns="key")
        tolerance = pd.Timedelta(seconds=p["tolerance"]) if p["dated"] and p["tolerance"] is not None else p["tolerance"]
        found = f"{p['to']}_time"
        other = other[other[p["to"]].notna()] if p["known"] else other
        other = other.assign(**{found: other["time"]})
        options = {"tolerance": tolerance, "direction": p["direction"], "allow_exact_matches": p["exact"]}
        joined = pd.merge_asof(df, other, on="time", by=p["by"], **options)
        return joined if p["keep"] else joined.drop(columns=found)


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


class JoinOverlapping(Operation):
    """``join_overlapping`` of a frame whose intervals begin at its times, with those of another one."""

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed:
            return None
        length = d.one(0, 3600, 100_000) if d.dated else d.one(0, 1, 3)
        return {
            "to": d.result,
            "other": d.other(),
            "by": d.by(),
            "length": length,
            "dated": d.dated,
            "closed": d.one("both", "left", "right", "neither"),
        }

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        end, names = f"{p['to']}_until", {"bid": p["to"], "time": p["to"] + "_start", "end": p["to"] + "_end"}
        sf[end] = sf["time"] + p["length"]
        other = p["other"].here(2, random.Random(0)).rename(names)
        other = other if p["by"] else other.remove_column("key")
        starts, ends = {"time": names["time"]}, {end: names["end"]}
        return sf.join_overlapping(other, starts, ends, by=p["by"], closed=p["closed"])

    def polars(self, df: Any, p: Parameters) -> Any:
        differs("matches in row order")
        until, start, end = (f"{p['to']}_{name}" for name in ("until", "start", "end"))
        other = p["other"].polars().rename({"bid": p["to"], "time": start, "end": end, "key": "other key"}).with_row_index(OTHER_ROW)
        length = pl.duration(seconds=p["length"]) if p["dated"] else p["length"]
        numbered = df.with_columns((pl.col("time") + length).alias(until)).with_row_index(ROW)
        time, until, start, end = (pl.col(name) for name in ("time", until, start, end))
        same = pl.col("key").eq_missing(pl.col("other key")) if p["by"] else pl.lit(True)
        if p["closed"] == "both":
            overlap = (time <= end) & (start <= until)
        else:
            differs("intervals that hold nothing")
            overlap = (time < end) & (start < until) & (time < until) & (start < end)
        return numbered.join(other, how="cross").filter(overlap & same).sort(ROW, OTHER_ROW).drop(ROW, OTHER_ROW, "other key")

    def pandas(self, df: Any, p: Parameters) -> Any:
        differs("matches in row order")
        until, start, end = (f"{p['to']}_{name}" for name in ("until", "start", "end"))
        other = p["other"].pandas().rename(columns={"bid": p["to"], "time": start, "end": end, "key": "other key"})
        length = pd.Timedelta(seconds=p["length"]) if p["dated"] else p["length"]
        numbered = df.assign(**{until: df["time"] + length, ROW: range(len(df))})
        found = numbered.merge(other.assign(**{OTHER_ROW: range(len(other))}), how="cross")
        if p["closed"] == "both":
            keep = (found["time"] <= found[end]) & (found[start] <= found[until])
        else:
            differs("intervals that hold nothing")
            keep = (found["time"] < found[end]) & (found[start] < found[until]) & (found["time"] < found[until]) & (found[start] < found[end])
        if p["by"]:
            keep &= found["key"].fillna("missing") == found["other key"].fillna("missing")
        return found[keep].sort_values([ROW, OTHER_ROW], kind="stable").drop(columns=[ROW, OTHER_ROW, "other key"])


class WindowOfOther(Operation):
    """``window`` over the rows of another frame around each time, perhaps with the row in force at its start."""

    def draw(self, d: Draw) -> Parameters | None:
        if not d.timed:
            return None
        before, after = d.one((1, 0), (24, 0), (0, 0), (24, -1), (2, 30), (-1, 3))
        unit = 3600 if d.dated else 1
        kinds = [name for name, summary in SUMMARIES.items() if name != "geometric mean" and (d.peer == "polars" or summary.pandas is not None)]
        summaries = {f"{d.result}_{number}": (d.choose.choice(kinds), "bid", "bid") for number in range(2)}
        parts = {"before": before * unit, "after": after * unit, "dated": d.dated, "closed": d.one("both", "left", "right", "neither")}
        return {"summaries": summaries, "other": d.other(), "by": d.by(), "prevailing": d.one(False, True), **parts}

    def here(self, sf: SFrame, p: Parameters) -> SFrame:
        other = p["other"].here(2, random.Random(0))
        before, after = (f"{end}s" if p["dated"] else end for end in (p["before"], p["after"]))
        return sf.window("time", requests(p["summaries"]), before, after, p["by"], p["closed"], of=other, prevailing=p["prevailing"])

    def polars(self, df: Any, p: Parameters) -> Any:
        numbered = df.with_row_index(ROW)
        other = p["other"].polars().drop("end").rename({"time": "at", "key": "other key"}).with_row_index(OTHER_ROW)
        before, after = (pl.duration(seconds=p[end]) if p["dated"] else p[end] for end in ("before", "after"))
        start, end, at = pl.col("time") - before, pl.col("time") + after, pl.col("at")
        same = pl.col("key").eq_missing(pl.col("other key")) if p["by"] else pl.lit(True)
        left = at >= start if p["closed"] in ("both", "left") else at > start
        right = at <= end if p["closed"] in ("both", "right") else at < end
        pairs = numbered.select(ROW, "time", *(["key"] if p["by"] else [])).join(other, how="cross").filter(same)
        chosen = pairs.filter(left & right)
        if p["prevailing"]:
            differs("the row in force")
            in_force = pairs.filter(at <= start).sort(ROW, OTHER_ROW).unique(ROW, keep="last", maintain_order=True)
            chosen = pl.concat([chosen, in_force]).unique([ROW, OTHER_ROW])
        asked = expressions(p["summaries"])
        values = chosen.sort(ROW, OTHER_ROW).group_by(ROW, maintain_order=True).agg(asked)
        missing = numbered.select(ROW).join(values, on=ROW, how="anti")
        differs("windows without rows")
        nothing = {name: pl.lit(SUMMARIES[kind].nothing, values.schema[name]) for name, (kind, _, _) in p["summaries"].items()}
        whole = pl.concat([values, missing.with_columns(**nothing)], how="vertical_relaxed")
        return numbered.join(whole, on=ROW, how="left").sort(ROW).drop(ROW)

    def pandas(self, df: Any, p: Parameters) -> Any:
        other = p["other"].pandas()
        before, after = (pd.Timedelta(seconds=p[end]) if p["dated"] else p[end] for end in ("before", "after"))
        made: dict[str, list[Any]] = {name: [] for name in p["summaries"]}
        for row in df.to_dict("records"):
            start, end = row["time"] - before, row["time"] + after
            same = other["key"].fillna("missing") == (row["key"] if isinstance(row["key"], str) else "missing") if p["by"] else other["time"].notna()
            left = other["time"] >= start if p["closed"] in ("both", "left") else other["time"] > start
            right = other["time"] <= end if p["closed"] in ("both", "right") else other["time"] < end
            chosen = same & left & right
            if p["prevailing"]:
                differs("the row in force")
                chosen |= other.index.isin(other.index[same & (other["time"] <= start)][-1:])
            for name, value in values_of(p["summaries"], other[chosen]).items():
                made[name].append(SUMMARIES[p["summaries"][name][0]].nothing if not chosen.any() else value)
        lists = {name for name, values in made.items() if any(isinstance(value, list) for value in values)}
        return df.assign(**{name: pd.Series(values, index=df.index, dtype=object if name in lists else float) for name, values in made.items()})


JOIN_OPERATIONS: tuple[Operation, ...] = (AsofJoin(), JoinBetween(), JoinOverlapping(), WindowOfOther())
