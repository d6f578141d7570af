"""PySpark: the texts that DuckDB takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.data import Place
from benchmarks.tpch.answers import plain_rows
from benchmarks.tpch.tables import TABLES
from benchmarks.tpch.texts import TEXTS


class Programs:
    """A member for each query."""

    def __init__(self, place: Place) -> None:
        from sframe_spark.session import get_session

        self.spark = get_session().newSession()
        for name in TABLES:
            self.spark.read.parquet(place.file(name)).createOrReplaceTempView(name)

    def __getattr__(self, name: str) -> Callable[[], Any]:
        return lambda: plain_rows(self.spark.sql(TEXTS[name]).collect())
