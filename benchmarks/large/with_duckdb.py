"""DuckDB, with 2 GB; what it gives is what the others must."""

from __future__ import annotations

from typing import Any

import duckdb

from benchmarks.large.programs import GroupsAndJoins
from benchmarks.large.tables import MEMORY, SMALLER
from benchmarks.peers.data import Place


class Programs(GroupsAndJoins):
    """A member for each program."""

    def __init__(self, place: Place) -> None:
        self.base = duckdb.connect()
        self.base.execute(f"SET memory_limit = '{MEMORY // 10**6}MB'")
        self.base.execute(f"SET temp_directory = '{place.file('spilled')}'")
        for name in ("groups", "left", *SMALLER):
            self.base.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{place.file(name)}/*.parquet')")

    def distinct(self) -> Any:
        return self._row("SELECT count(DISTINCT many) FROM groups")[0]

    def join_semi(self) -> Any:
        return self._row('SELECT count(*), sum(a)::BIGINT FROM "left" SEMI JOIN tenth USING (k)')

    def _row(self, text: str) -> list[Any]:
        (row,) = self.base.execute(text).fetchall()
        return list(row)

    def _groups(self, key: str) -> list[Any]:
        self.base.execute(f'CREATE OR REPLACE TEMP TABLE made AS SELECT "{key}", count(*) AS n, avg(v) AS m FROM groups GROUP BY "{key}"')
        return self._row("SELECT count(*), max(n), sum(m) FROM made")

    def _join(self, right: str, how: str = "inner") -> list[Any]:
        return self._row(f'SELECT count(*), sum(a)::BIGINT, sum(b)::BIGINT FROM "left" {how} JOIN {right} USING (k)')
