"""DuckDB: results that are kept become tables in memory, in the order of the rows where that is asked for."""

from __future__ import annotations

from typing import Any

import duckdb

from benchmarks.peers.data import Place


class Programs:
    """The programs of :mod:`benchmarks.peers.ours`; a function of Python for each row is left out."""

    def __init__(self, place: Place) -> None:
        self.base = duckdb.connect()
        self.lines = place.file("part.csv")
        for name, source in {"rows": place.rows, "side": place.file("right.parquet"), "quotes": place.file("quotes.parquet")}.items():
            self.base.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{source}')")

    def _kept(self, query: str) -> int:
        self.base.execute(f"CREATE OR REPLACE TEMP TABLE kept AS {query}")
        return int(self._found("SELECT count(*) FROM kept")[0][0])

    def _found(self, query: str) -> list[tuple[Any, ...]]:
        return self.base.execute(query).fetchall()

    def _rounded(self, query: str) -> Any:
        return [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in self._found(query)]

    def sum_of_a_column(self) -> Any:
        return round(self._found("SELECT sum(f) FROM rows")[0][0], 3)

    def filter_and_derive(self) -> Any:
        return self._kept("SELECT *, f * 2 + k AS d FROM rows WHERE f > 0.5")

    def assign(self) -> Any:
        return self._kept("SELECT *, i + k AS d FROM rows")

    def group_by_ints(self) -> Any:
        return self._rounded("SELECT k, avg(f), count(*) FROM rows GROUP BY k ORDER BY k")

    def group_by_texts(self) -> Any:
        return self._rounded("SELECT s, avg(f), count(*) FROM rows GROUP BY s ORDER BY s")

    def group_by_much(self) -> Any:
        return self._rounded("SELECT k, arg_max(i, f), count(DISTINCT s), stddev_pop(f) FROM rows GROUP BY k ORDER BY k")

    def join(self) -> Any:
        return self._kept("SELECT rows.*, g FROM rows JOIN side USING (i)")

    def top_rows(self) -> Any:
        return [row[0] for row in self._found("SELECT i FROM rows ORDER BY f DESC LIMIT 10")]

    def unique_texts(self) -> Any:
        return self._kept("SELECT DISTINCT s FROM rows ORDER BY s")

    def unique_ints(self) -> Any:
        return self._kept("SELECT DISTINCT i FROM rows ORDER BY i")

    def read_csv(self) -> Any:
        rows = self._kept(f"SELECT * FROM read_csv('{self.lines}')")
        return [rows, round(self._found("SELECT sum(f) FROM kept")[0][0], 3)]

    def as_of_join(self) -> Any:
        return self._kept("SELECT rows.t, f, q FROM rows ASOF LEFT JOIN quotes ON rows.t >= quotes.t")

    def cumulative_sum(self) -> Any:
        self._kept("SELECT sum(f) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING) AS c, t FROM rows")
        return round(self._found("SELECT c FROM kept ORDER BY t DESC LIMIT 1")[0][0], 3)

    def rolling_mean(self) -> Any:
        self._kept("SELECT avg(f) OVER (ORDER BY t ROWS 9 PRECEDING) AS c, t FROM rows")
        return round(self._found("SELECT c FROM kept ORDER BY t DESC LIMIT 1")[0][0], 6)

    def sort(self) -> Any:
        self._kept("SELECT * FROM rows ORDER BY i")
        return [row[0] for row in self._found("SELECT t FROM kept LIMIT 3")]

    def filter_join_group_sort(self) -> Any:
        query = "SELECT count(*) AS n, avg(g) FROM rows LEFT JOIN side USING (i) WHERE f > 0.5 GROUP BY k ORDER BY n DESC"
        return sorted(self._rounded(query))
