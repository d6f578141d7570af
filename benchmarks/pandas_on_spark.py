"""The same cases as a user of pandas on Spark writes them: the row order is the index, which is a stored column."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.frames import Data


def cases(data: Data) -> dict[str, Callable[[], Any]]:
    """Actions by the names of ``benchmarks/cases.py``."""
    import pyspark.pandas as ps

    # It advises against what each case does on purpose.
    warnings.filterwarnings("ignore", category=ps.utils.PandasAPIOnSparkAdviceWarning)
    frame, other, right = (table.pandas_api(index_col="_key") for table in (data.table, data.other_table, data.right_table))

    def written(result: Any) -> None:
        result = result if isinstance(result, ps.DataFrame) else result.to_frame()
        result.to_parquet(str(data.scratch), mode="overwrite", index_col="_key")

    def derive() -> None:
        part = frame[frame["value"] > 0.5]
        part["twice"] = part["value"] * 2 + part["key"]
        written(part)

    def assign() -> None:
        copy = frame.copy()
        copy["sum"] = frame["number"] + frame["key"]
        written(copy)

    def group(key: str) -> Callable[[], Any]:
        wanted = {"n": ("number", "count"), "sum": ("number", "sum"), "top": ("value", "max")}
        return lambda: frame.groupby(key).agg(**wanted).sort_index().to_pandas()

    def side_by_side() -> None:
        with ps.option_context("compute.ops_on_diff_frames", True):
            both = frame[["number", "key"]]
            both["value"], both["word"] = other["value"], other["word"]
            both["sum"] = both["key"] + both["value"]
            written(both)

    def function(number: int) -> int:
        return number % 7 + 1

    return {
        "sum": lambda: frame["number"].sum(),
        "filter, derive, materialise": derive,
        "group by int": group("key"),
        "group by text": group("word"),
        "join with 100,000 rows": lambda: written(frame.merge(right, on="number").rename_axis("_key")),
        "sort, materialise": lambda: written(frame.sort_values("value")),
        "top 10": lambda: frame.nlargest(10, "value").to_pandas(),
        "head after filter": lambda: frame[frame["value"] > 0.9].head(10).to_pandas(),
        "column from the same frame": assign,
        "zip of two frames": side_by_side,
        "cumulative sum": lambda: written(frame["value"].cumsum()),
        "rolling mean": lambda: written(frame["value"].rolling(10).mean()),
        "apply": lambda: written(frame["number"].apply(function)),
    }
