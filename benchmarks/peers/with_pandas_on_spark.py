"""pandas on Spark: the order of rows is the index, which is the stored column ``t``; rows that are kept are written as Parquet."""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.peers.data import Place


def _line(value: int) -> int:
    return value * 2 + 1


def _total(row: Any) -> float:
    return float(row["k"] + row["f"])


class Programs:
    """The programs of :mod:`benchmarks.peers.ours`; it has no as-of join that reads no data into one process, and no column of dicts."""

    def __init__(self, place: Place) -> None:
        from sframe_spark.session import get_session

        get_session()
        import pyspark.pandas as ps

        # It advises against what each program does on purpose.
        warnings.filterwarnings("ignore", category=ps.utils.PandasAPIOnSparkAdviceWarning)
        self.library = ps
        self.rows = ps.read_parquet(str(place.directory / "rows"), index_col="t")
        self.by_number = ps.read_parquet(str(place.directory / "rows"), index_col="i")
        self.right = ps.read_parquet(place.file("right.parquet"))
        self.target, self.lines = place.file("written"), place.file("part.csv")

    def _kept(self, result: Any) -> Any:
        frame = result.to_frame() if isinstance(result, self.library.Series) else result
        frame.to_parquet(self.target, mode="overwrite", index_col="kept")
        return self.library.read_parquet(self.target, index_col="kept")

    def sum_of_a_column(self) -> Any:
        return round(float(self.rows["f"].sum()), 3)

    def filter_and_derive(self) -> Any:
        chosen = self.rows[self.rows["f"] > 0.5]
        chosen["d"] = chosen["f"] * 2 + chosen["k"]
        return len(self._kept(chosen.sort_index()))

    def assign(self) -> Any:
        frame = self.rows.copy()
        frame["d"] = frame["i"] + frame["k"]
        return len(self._kept(frame.sort_index()))

    def group_by_ints(self) -> Any:
        return self._groups("k")

    def group_by_texts(self) -> Any:
        return self._groups("s")

    def _groups(self, key: str) -> Any:
        found = self.rows.groupby(key).agg(m=("f", "mean"), n=("f", "count")).sort_index().to_pandas()
        return [(name, round(mean, 6), count) for name, mean, count in found.itertuples()]

    def group_by_much(self) -> Any:
        groups = self.by_number.groupby("k")
        rows, texts, spreads = (found.sort_index().to_pandas() for found in (groups["f"].idxmax(), groups["s"].nunique(), groups["f"].std(ddof=0)))
        return list(zip(rows.index.tolist(), rows.tolist(), texts.tolist(), spreads.round(6).tolist(), strict=True))

    def join(self) -> Any:
        return len(self._kept(self.rows.reset_index().merge(self.right, on="i").set_index("t").sort_index()))

    def top_rows(self) -> Any:
        return self.rows.nlargest(10, "f")["i"].to_pandas().tolist()

    def unique_texts(self) -> Any:
        return len(self._kept(self.rows["s"].drop_duplicates().sort_values()))

    def unique_ints(self) -> Any:
        return len(self._kept(self.rows["i"].drop_duplicates().sort_values()))

    def apply(self) -> Any:
        return int(self._kept(self.rows["i"].apply(_line).sort_index())["i"].sum())

    def apply_to_rows(self) -> Any:
        return round(float(self._kept(self.rows[["k", "f"]].apply(_total, axis=1).rename("x").sort_index())["x"].sum()), 2)

    def read_csv(self) -> Any:
        kept = self._kept(self.library.read_csv(self.lines))
        return [len(kept), round(float(kept["f"].sum()), 3)]

    def cumulative_sum(self) -> Any:
        return round(float(self._kept(self.rows["f"].cumsum())["f"].sort_index().tail(1).to_pandas().iloc[0]), 3)

    def rolling_mean(self) -> Any:
        return round(float(self._kept(self.rows["f"].rolling(10).mean())["f"].sort_index().tail(1).to_pandas().iloc[0]), 6)

    def sort(self) -> Any:
        kept = self._kept(self.rows.reset_index().set_index("i").sort_index())
        return kept.sort_index().head(3)["t"].to_pandas().tolist()

    def filter_join_group_sort(self) -> Any:
        joined = self.rows[self.rows["f"] > 0.5].reset_index().merge(self.right, on="i", how="left")
        found = joined.groupby("k").agg(g=("g", "mean"), n=("i", "count")).sort_values("n", ascending=False).to_pandas()
        return sorted((count, round(mean, 6)) for mean, count in found[["g", "n"]].itertuples(index=False))
