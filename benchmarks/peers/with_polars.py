"""Polars: lazy scans of the same rows."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl

from benchmarks.peers.data import Place


class Programs:
    """The programs of :mod:`benchmarks.peers.ours`."""

    def __init__(self, place: Place) -> None:
        self.rows = pl.scan_parquet(place.rows)
        self.right = pl.scan_parquet(place.file("right.parquet"))
        self.quotes = pl.scan_parquet(place.file("quotes.parquet"))
        self.lines = place.file("part.csv")

    def sum_of_a_column(self) -> Any:
        return round(self.rows.select(pl.sum("f")).collect().item(), 3)

    def filter_and_derive(self) -> Any:
        return self.rows.filter(pl.col("f") > 0.5).with_columns(d=pl.col("f") * 2 + pl.col("k")).collect().height

    def assign(self) -> Any:
        return self.rows.with_columns(d=pl.col("i") + pl.col("k")).collect().height

    def group_by_ints(self) -> Any:
        return self._groups("k", [pl.mean("f").alias("m"), pl.len().alias("n")])

    def group_by_texts(self) -> Any:
        return self._groups("s", [pl.mean("f").alias("m"), pl.len().alias("n")])

    def group_by_much(self) -> Any:
        at = pl.col("i").get(pl.col("f").arg_max()).alias("a")
        return self._groups("k", [at, pl.n_unique("s").alias("c"), pl.std("f", ddof=0).alias("d")])

    def _groups(self, key: str, wanted: list[Any]) -> Any:
        found = self.rows.group_by(key).agg(wanted).sort(key).collect()
        return [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in found.rows()]

    def join(self) -> Any:
        return self.rows.join(self.right, on="i", maintain_order="left").collect().height

    def top_rows(self) -> Any:
        return self.rows.top_k(10, by="f").sort("f", descending=True).collect()["i"].to_list()

    def unique_texts(self) -> Any:
        return self.rows.select(pl.col("s").unique().sort()).collect().height

    def unique_ints(self) -> Any:
        return self.rows.select(pl.col("i").unique().sort()).collect().height

    def apply(self) -> Any:
        # That there is a faster way is not the question.
        warnings.simplefilter("ignore", pl.exceptions.PolarsInefficientMapWarning)
        column = self.rows.select(pl.col("i").map_elements(lambda value: value * 2 + 1, return_dtype=pl.Int64)).collect()
        return round(column["i"].sum(), 3)

    def apply_to_rows(self) -> Any:
        pair = pl.struct("k", "f").map_elements(lambda row: row["k"] + row["f"], return_dtype=pl.Float64).alias("x")
        return round(self.rows.select(pair).collect()["x"].sum(), 2)

    def read_csv(self) -> Any:
        frame = pl.read_csv(self.lines)
        return [frame.height, round(frame["f"].sum(), 3)]

    def as_of_join(self) -> Any:
        return self.rows.select("t", "f").set_sorted("t").join_asof(self.quotes.set_sorted("t"), on="t").collect().height

    def cumulative_sum(self) -> Any:
        return round(self.rows.select(pl.col("f").cum_sum()).collect()["f"][-1], 3)

    def rolling_mean(self) -> Any:
        return round(self.rows.select(pl.col("f").rolling_mean(10)).collect()["f"][-1], 6)

    def sort(self) -> Any:
        return self.rows.sort("i").collect()["t"][:3].to_list()

    def filter_join_group_sort(self) -> Any:
        joined = self.rows.filter(pl.col("f") > 0.5).join(self.right, on="i", how="left")
        found = joined.group_by("k").agg(g=pl.mean("g"), n=pl.len()).sort("n", descending=True).collect()
        return sorted((row["n"], round(row["g"], 6)) for row in found.to_dicts())
