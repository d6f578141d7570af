"""Polars: lazy scans, and its streaming engine."""

from __future__ import annotations

from typing import Any

import polars as pl

from benchmarks.large.programs import GroupsAndJoins
from benchmarks.peers.data import Place


class Programs(GroupsAndJoins):
    """A member for each program."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def distinct(self) -> Any:
        return self._rows("groups").select(pl.col("many").n_unique()).collect(engine="streaming").item()

    def join_semi(self) -> Any:
        kept = self._rows("left").join(self._rows("tenth"), on="k", how="semi")
        return list(kept.select(pl.len(), pl.col("a").sum()).collect(engine="streaming").row(0))

    def _rows(self, name: str) -> pl.LazyFrame:
        return pl.scan_parquet(f"{self.place.file(name)}/*.parquet")

    def _groups(self, key: str) -> list[float]:
        groups = self._rows("groups").group_by(key).agg(n=pl.len(), m=pl.col("v").mean()).collect(engine="streaming")
        return [len(groups), groups["n"].max(), groups["m"].sum()]

    def _join(self, right: str, how: Any = "inner") -> list[int]:
        joined = self._rows("left").join(self._rows(right), on="k", how=how)
        return list(joined.select(pl.len(), pl.col("a").sum(), pl.col("b").sum()).collect(engine="streaming").row(0))
