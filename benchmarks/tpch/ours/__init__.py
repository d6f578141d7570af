"""The queries in our own API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.data import Place
from benchmarks.tpch.answers import plain_rows
from benchmarks.tpch.ours import first_half, second_half
from benchmarks.tpch.ours.frames import Frames
from sframe_spark import SFrame

QUERIES: dict[str, Callable[[Frames], SFrame]] = {
    name: query for module in (first_half, second_half) for name, query in vars(module).items() if name.startswith("q") and name[1:].isdecimal()
}


class Programs:
    """A member for each query."""

    def __init__(self, place: Place) -> None:
        self.frames = Frames(place)

    def __getattr__(self, name: str) -> Callable[[], Any]:
        return lambda: plain_rows(row.values() for row in QUERIES[name](self.frames))
