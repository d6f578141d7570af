"""DuckDB: the texts in ``sql``; what it gives is what the others must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from benchmarks.peers.data import Place
from benchmarks.tpch.answers import plain_rows
from benchmarks.tpch.tables import TABLES
from benchmarks.tpch.texts import TEXTS


class Programs:
    """A member for each query."""

    def __init__(self, place: Place) -> None:
        self.base = duckdb.connect()
        for name in TABLES:
            self.base.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{place.file(name)}/*.parquet')")

    def __getattr__(self, name: str) -> Callable[[], Any]:
        return lambda: plain_rows(self.base.execute(TEXTS[name]).fetchall())
