"""Tables of lake formats as their own libraries read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa


def rows_of_delta(place: str | Path, version: int | None = None) -> pa.Table:
    """All rows of a version, by a query: the library's other way of reading, by Arrow's datasets, now and then aborts the process at its end."""
    import deltalake

    table = deltalake.DeltaTable(str(place), version=version)
    return pa.table(deltalake.QueryBuilder().register("t", table).execute("select * from t"))
