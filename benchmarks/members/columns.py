"""Members of columns of numbers, texts and times. The reference engine's old Python reads this file too."""

from __future__ import annotations

import datetime
from typing import Any

from benchmarks.members.frames import Frames
from benchmarks.members.samples import Case, about_how_many, at, by, how_many, in_order, nothing

WINDOW = (-9, 0)


def columns(engine: Any, f: Frames) -> dict[str, Case]:
    """All of them, by name."""
    return {
        **arithmetic(f),
        **reductions(f),
        **choices(f),
        **missing(engine, f),
        **casts(f),
        **running(f),
        **texts(f),
        **times(f),
        **orders(f),
        **functions(f),
        **chance(f),
        **made(engine, f),
        **sketches(f),
    }


def arithmetic(f: Frames) -> dict[str, Case]:
    """Row by row."""
    p = f.plain
    return {
        "column + column": Case(lambda: p["id"] + p["key"], in_order),
        "column * constant": Case(lambda: p["value"] * 2.5, in_order),
        "column / column": Case(lambda: p["value"] / (p["small"] + 1), in_order),
        "column // constant": Case(lambda: p["id"] // 7, in_order),
        "column % constant": Case(lambda: p["id"] % 7, in_order),
        "column ** constant": Case(lambda: p["value"] ** 2, in_order),
        "column > constant": Case(lambda: p["value"] > 300.0, in_order),
        "text == constant": Case(lambda: p["word"] == "w7", in_order),
        "and": Case(lambda: (p["value"] > 300.0) & (p["small"] < 50), in_order),
        "abs": Case(lambda: (p["value"] - 300.0).abs(), in_order),
        "clip": Case(lambda: p["value"].clip(100.0, 500.0), in_order),
        "clip_lower": Case(lambda: p["id"].clip_lower(1000), in_order),
        "clip_upper": Case(lambda: p["value"].clip_upper(500.0), in_order),
        "hash": Case(lambda: p["id"].hash(), how_many),
        "hash of floats": Case(lambda: p["value"].hash(), how_many),
        "hash of text": Case(lambda: p["word"].hash(), how_many),
    }


def reductions(f: Frames) -> dict[str, Case]:
    """One value of all rows."""
    p = f.plain
    return {
        "sum": Case(lambda: p["value"].sum(), in_order),
        "mean": Case(lambda: p["value"].mean(), in_order),
        "std": Case(lambda: p["value"].std(), in_order),
        "var": Case(lambda: p["id"].var(), in_order),
        "min": Case(lambda: (p["value"] + 1).min(), in_order),
        "max": Case(lambda: (p["value"] + 1).max(), in_order),
        "min of times": Case(lambda: p["time"][p["small"] > 1].min(), in_order),
        "argmax": Case(lambda: p["mixed"].argmax(), at(p["mixed"])),
        "argmin": Case(lambda: p["mixed"].argmin(), at(p["mixed"])),
        "nnz": Case(lambda: p["small"].nnz(), in_order),
        "countna": Case(lambda: p["gap"].countna(), in_order),
        "all": Case(lambda: p["id"].all(), in_order),
        "any": Case(lambda: (p["value"] < 0).any(), in_order),
        "median": Case(lambda: p["value"].median(), nothing),
        "len of a filter": Case(lambda: len(p["value"][p["value"] > 300.0]), in_order),
    }


def choices(f: Frames) -> dict[str, Case]:
    """Some of the rows."""
    p = f.plain
    return {
        "sa[mask]": Case(lambda: p["value"][p["small"] < 50], in_order),
        "sa[::7]": Case(lambda: p["value"][::7], in_order),
        "sa[i]": Case(lambda: p["value"][len(p) // 2], in_order),
        "sa.head": Case(lambda: (p["value"] * 2).head(10), in_order),
        "sa.tail": Case(lambda: (p["value"] * 2).tail(10), in_order),
        "is_in of ints": Case(lambda: p["key"].is_in([1, 5, 99, 500]), in_order),
        "is_in of text": Case(lambda: p["word"].is_in(["w1", "w5", "w99"]), in_order),
        "sa.filter_by": Case(lambda: p["key"].filter_by([1, 5, 99, 500]), by()),
        "sa.append": Case(lambda: p["value"].append(p["gap"]), in_order),
    }


def missing(engine: Any, f: Frames) -> dict[str, Case]:
    """What becomes of values that are missing."""
    p = f.plain
    return {
        "sa.fillna": Case(lambda: p["gap"].fillna(0.0), in_order),
        "sa.dropna": Case(lambda: p["gap"].dropna(), in_order),
        "where": Case(lambda: engine.SArray.where(p["small"] > 50, p["value"], 0.0), in_order),
        "where of columns": Case(lambda: engine.SArray.where(p["small"] > 50, p["id"], p["key"]), in_order),
    }


def casts(f: Frames) -> dict[str, Case]:
    """To another type."""
    p = f.plain
    return {
        "astype: int to float": Case(lambda: p["id"].astype(float), in_order),
        "astype: float to int": Case(lambda: p["value"].astype(int), in_order),
        "astype: int to str": Case(lambda: p["id"].astype(str), in_order),
        "astype: float to str": Case(lambda: p["value"].astype(str), how_many),
        "astype: str to int": Case(lambda: p["digits"].astype(int), in_order),
        "astype: str to float": Case(lambda: p["decimal"].astype(float), in_order),
        "astype: int to datetime": Case(lambda: p["id"].astype(datetime.datetime), in_order),
        "astype: datetime to int": Case(lambda: p["time"].astype(int), in_order),
        "astype: datetime to str": Case(lambda: p["time"].astype(str), in_order),
    }


def running(f: Frames) -> dict[str, Case]:
    """Values of all rows so far, and of those near."""
    p, value = f.plain, f.plain["value"]
    return {
        "cumulative_sum": Case(value.cumulative_sum, in_order),
        "cumulative_sum of ints": Case(p["key"].cumulative_sum, in_order),
        "cumulative_mean": Case(value.cumulative_mean, in_order),
        "cumulative_max": Case(value.cumulative_max, in_order),
        "cumulative_min": Case(value.cumulative_min, in_order),
        "cumulative_std": Case(value.cumulative_std, in_order),
        "cumulative_var": Case(value.cumulative_var, in_order),
        "rolling_sum": Case(lambda: value.rolling_sum(*WINDOW), in_order),
        "rolling_mean": Case(lambda: value.rolling_mean(*WINDOW), in_order),
        "rolling_max": Case(lambda: value.rolling_max(*WINDOW), in_order),
        "rolling_min": Case(lambda: value.rolling_min(*WINDOW), in_order),
        "rolling_var": Case(lambda: value.rolling_var(*WINDOW), in_order),
        "rolling_stdv": Case(lambda: value.rolling_stdv(*WINDOW), in_order),
        "rolling_count": Case(lambda: p["gap"].rolling_count(*WINDOW), in_order),
    }


def texts(f: Frames) -> dict[str, Case]:
    """Of columns of text."""
    p = f.plain
    return {
        "contains": Case(lambda: p["word"].contains("9"), in_order),
        "element_slice of text": Case(lambda: p["word"].element_slice(1, 3), in_order),
        "text + text": Case(lambda: p["word"] + p["word"], in_order),
        "text + constant": Case(lambda: p["word"] + "!", in_order),
    }


def times(f: Frames) -> dict[str, Case]:
    """Of columns of date-times."""
    p = f.plain
    return {
        "datetime_to_str": Case(lambda: p["time"].datetime_to_str("%d.%m.%Y %H:%M:%S"), in_order),
        "str_to_datetime": Case(lambda: p["stamp"].str_to_datetime("%Y-%m-%d %H:%M:%S"), in_order),
        "sa.split_datetime": Case(lambda: p["time"].split_datetime(), in_order),
        "time > constant": Case(lambda: p["time"] > datetime.datetime(2021, 1, 1), in_order),
        "time - time": Case(lambda: p["time"] - datetime.datetime(2021, 1, 1), in_order),
    }


def orders(f: Frames) -> dict[str, Case]:
    """Sorting, and distinct values."""
    p = f.plain
    return {
        "sa.sort": Case(lambda: p["value"].sort(), in_order),
        "sa.sort descending": Case(lambda: p["mixed"].sort(ascending=False), in_order),
        "sa.sort of text": Case(lambda: p["word"].sort(), in_order),
        "is_topk": Case(lambda: p["mixed"].is_topk(10), how_many),
        "sa.unique": Case(lambda: p["key"].unique(), by()),
        "sa.unique of many": Case(lambda: p["mixed"].unique(), by()),
        "sa.unique of text": Case(lambda: p["word"].unique(), by()),
        "value_counts": Case(lambda: p["word"].value_counts(), by("value")),
        "value_counts of many": Case(lambda: p["mixed"].value_counts(), by("value")),
    }


def functions(f: Frames) -> dict[str, Case]:
    """Functions of Python."""
    p = f.plain
    return {
        "sa.apply": Case(lambda: p["key"].apply(lambda number: number % 7 + 1, dtype=int), in_order),
        "sa.apply of text": Case(lambda: p["word"].apply(lambda word: word[1:], dtype=str), in_order),
        "sa.filter": Case(lambda: p["key"].filter(lambda number: number % 7 == 1), in_order),
    }


def chance(f: Frames) -> dict[str, Case]:
    """Rows by chance."""
    p = f.plain
    return {
        "sa.sample": Case(lambda: p["value"].sample(0.5, seed=1), about_how_many),
        "sa.random_split": Case(lambda: p["value"].random_split(0.3, seed=1), about_how_many),
        "sa.shuffle": Case(lambda: p["mixed"].shuffle(), how_many),
    }


def made(engine: Any, f: Frames) -> dict[str, Case]:
    """Columns made of nothing, and what other libraries take."""
    p, rows = f.plain, len(f.plain)
    return {
        "from_sequence": Case(lambda: engine.SArray.from_sequence(rows), in_order),
        "from_const": Case(lambda: engine.SArray.from_const(1.5, rows), in_order),
        "random_integers": Case(lambda: engine.SArray.random_integers(rows, seed=1), how_many),
        "SArray(list)": Case(lambda: engine.SArray(LIST), in_order),
        "SArray(list of text)": Case(lambda: engine.SArray(TEXTS), in_order),
        "sa.to_numpy": Case(lambda: p["value"].to_numpy().sum(), in_order),
        "for value in sa": Case(lambda: sum(f.nested["value"]), in_order),
        "for text in sa": Case(lambda: sum(map(len, f.nested["word"])), in_order),
        "list(sa)": Case(lambda: len(list(f.nested["time"])), in_order),
    }


LIST = [number * 0.5 for number in range(1_000_000)]
TEXTS = [str(number % 1000) for number in range(1_000_000)]


def sketches(f: Frames) -> dict[str, Case]:
    """What summaries tell; the reference estimates quantiles, frequent and distinct values."""
    p = f.plain
    return {
        "summary": Case(lambda: p["value"].summary().mean(), in_order),
        "summary of ints": Case(lambda: p["small"].summary().max(), in_order),
        "summary of text": Case(lambda: p["word"].summary().num_unique(), nothing),
        "summary: quantile": Case(lambda: p["value"].summary().quantile(0.5), nothing),
        "summary: frequent_items": Case(lambda: p["small"].summary().frequent_items(), nothing),
    }
