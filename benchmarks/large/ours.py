"""This package, with 2 GB for work."""

from __future__ import annotations

from typing import Any

from benchmarks.large.programs import GroupsAndJoins
from benchmarks.large.tables import MEMORY
from benchmarks.peers.data import Place
from sframe_spark import SFrame, aggregate, config


class Programs(GroupsAndJoins):
    """A member for each program."""

    def __init__(self, place: Place) -> None:
        self.place = place
        config.work_memory = MEMORY

    def distinct(self) -> Any:
        return len(self._frame("groups")["many"].unique())

    def join_semi(self) -> Any:
        kept = self._frame("left").filter_by(self._frame("tenth")["k"], "k")
        row = kept.groupby([], {"n": aggregate.COUNT(), "a": aggregate.SUM("a")})[0]
        return [row["n"], row["a"]]

    def _frame(self, name: str) -> SFrame:
        return SFrame.read_parquet(self.place.file(name))

    def _groups(self, key: str) -> list[float]:
        groups = self._frame("groups").groupby(key, {"n": aggregate.COUNT(), "m": aggregate.MEAN("v")})
        groups.materialize()
        return [len(groups), groups["n"].max(), groups["m"].sum()]

    def _join(self, right: str, how: str = "inner") -> list[int]:
        joined = self._frame("left").join(self._frame(right), on="k", how=how)
        row = joined.groupby([], {"n": aggregate.COUNT(), "a": aggregate.SUM("a"), "b": aggregate.SUM("b")})[0]
        return [row["n"], row["a"], row["b"]]
