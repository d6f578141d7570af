"""Members of frames: rows, groups and joins. The reference engine's old Python reads this file too."""

from __future__ import annotations

from typing import Any

from benchmarks.members.frames import Frames
from benchmarks.members.samples import Case, about_how_many, by, how_many, in_order, of


def rows(engine: Any, f: Frames) -> dict[str, Case]:
    """All of them, by name."""
    return {**chosen(f), **ordered(f), **groups(engine, f), **joins(f), **changed(f)}


def chosen(f: Frames) -> dict[str, Case]:
    """Some of the rows."""
    p = f.plain[["id", "key", "value", "gap", "word"]]
    return {
        "sf[mask]": Case(lambda: p[p["value"] > 300.0], in_order),
        "sf[a:b]": Case(lambda: p[len(p) // 4 : len(p) // 2], in_order),
        "sf.head": Case(lambda: p.head(10), in_order),
        "sf.tail": Case(lambda: p.tail(10), in_order),
        "sf.dropna": Case(lambda: p.dropna(), in_order),
        "sf.dropna_split": Case(lambda: p.dropna_split(), in_order),
        "sf.fillna": Case(lambda: p.fillna("gap", 0.0), in_order),
        "sf.filter_by": Case(lambda: p.filter_by(["w1", "w5", "w99"], "word"), by("id")),
        "sf.filter_by, exclude": Case(lambda: p.filter_by(["w1", "w5", "w99"], "word", exclude=True), by("id")),
        "sf.sample": Case(lambda: p.sample(0.5, seed=1), about_how_many),
        "sf.random_split": Case(lambda: p.random_split(0.3, seed=1), about_how_many),
        "sf.unique": Case(lambda: f.plain[["small", "key"]].unique(), by("small", "key")),
        "sf.drop_duplicates": Case(lambda: f.plain[["small", "key", "id"]].drop_duplicates(["small"]), how_many),
    }


def ordered(f: Frames) -> dict[str, Case]:
    """Rows in another order."""
    p = f.plain[["id", "key", "mixed", "value", "word"]]
    return {
        "sf.sort": Case(lambda: p.sort("value"), of("value")),
        "sf.sort by ints": Case(lambda: p.sort("mixed"), of("mixed")),
        "sf.sort by text": Case(lambda: p.sort("word"), of("word")),
        "sf.sort by two": Case(lambda: p.sort([("key", True), ("value", False)]), of("value")),
        "sf.topk": Case(lambda: p.topk("mixed", 100), of("mixed")),
        "sf.shuffle": Case(lambda: f.plain[["id", "word"]].shuffle(), how_many),
    }


def groups(engine: Any, f: Frames) -> dict[str, Case]:
    """One row for each group."""
    p, aggregate = f.plain, engine.aggregate
    one = {
        "COUNT": aggregate.COUNT(),
        "SUM": aggregate.SUM("value"),
        "MEAN": aggregate.MEAN("value"),
        "MIN": aggregate.MIN("value"),
        "MAX": aggregate.MAX("value"),
        "VAR": aggregate.VAR("value"),
        "STD": aggregate.STD("value"),
        "COUNT_DISTINCT": aggregate.COUNT_DISTINCT("word"),
        "DISTINCT": aggregate.DISTINCT("word"),
        "FREQ_COUNT": aggregate.FREQ_COUNT("word"),
        "QUANTILE": aggregate.QUANTILE("value", [0.1, 0.5]),
        "SELECT_ONE": aggregate.SELECT_ONE("word"),
        "ARGMAX": aggregate.ARGMAX("value", "id"),
        "ARGMIN": aggregate.ARGMIN("mixed", "id"),
    }
    unlike = ("DISTINCT", "FREQ_COUNT", "QUANTILE", "SELECT_ONE", "ARGMAX", "ARGMIN")

    def grouped(key: str, requests: dict[str, Any]) -> Any:
        return lambda: p.groupby(key, requests)

    return {
        **{
            f"group by: {name}": Case(grouped("small", {"it": request}), how_many if name in unlike else by("small")) for name, request in one.items()
        },
        "group by text": Case(grouped("word", {"n": aggregate.COUNT(), "sum": aggregate.SUM("value")}), by("word")),
        "group by two keys": Case(lambda: p.groupby(["small", "key"], {"n": aggregate.COUNT(), "sum": aggregate.SUM("value")}), by("small", "key")),
        "group by many": Case(grouped("mixed", {"n": aggregate.COUNT(), "sum": aggregate.SUM("value")}), by("mixed")),
        "group by many: ARGMAX": Case(grouped("mixed", {"it": aggregate.ARGMAX("value", "id")}), how_many),
        "group by many: COUNT_DISTINCT": Case(grouped("mixed", {"it": aggregate.COUNT_DISTINCT("word")}), by("mixed")),
        "group by many: STD": Case(grouped("mixed", {"it": aggregate.STD("value")}), by("mixed")),
        "group by: several": Case(grouped("key", {name: one[name] for name in ("ARGMAX", "COUNT_DISTINCT", "STD")}), how_many),
    }


def joins(f: Frames) -> dict[str, Case]:
    """With another frame."""
    p, right = f.plain[["id", "mixed", "value"]], f.right
    few, other = f.nested[["key", "small"]].head(500), f.plain[["id", "word"]]
    return {
        "join": Case(lambda: p.join(right, on="mixed"), by("id")),
        "join, left": Case(lambda: p.join(right, on="mixed", how="left"), by("id")),
        "join, right": Case(lambda: p.join(right, on="mixed", how="right"), by("mixed", "id")),
        "join, outer": Case(lambda: p.join(right, on="mixed", how="outer"), by("mixed", "id")),
        "join by text": Case(lambda: f.plain[["id", "word"]].join(f.plain[["word", "key"]].head(500), on="word"), by("id")),
        "join of few": Case(lambda: f.plain[["id", "key"]].join(few, on="key"), by("id", "small")),
        "join of large frames": Case(lambda: p.join(other, on="id"), by("id")),
    }


def changed(f: Frames) -> dict[str, Case]:
    """Columns and rows more."""
    p = f.plain[["id", "value", "word"]]
    return {
        "sf.add_row_number": Case(lambda: p.add_row_number("row"), in_order),
        "sf.append": Case(lambda: p.append(p), in_order),
        "sf['new'] = ...": Case(lambda: added(p), in_order),
        "sf.split_datetime": Case(lambda: f.plain[["id", "time"]].split_datetime("time"), in_order),
    }


def added(frame: Any) -> Any:
    """A frame with one more column."""
    other = frame.copy()
    other["twice"] = other["value"] * 2 + other["id"]
    return other
