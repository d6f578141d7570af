"""Ours."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.data import DICTS, Place
from sframe_spark import SArray, SFrame, aggregate, load_sframe


def kept(frame: SFrame) -> tuple[int, SFrame]:
    """A frame with all rows computed."""
    frame.materialize()
    return len(frame), frame


class Programs:
    """Each method is a program; what it gives is compared with what the others give."""

    def __init__(self, place: Place) -> None:
        self.rows = load_sframe(place.file("frame"))
        self.right = load_sframe(place.file("right"))
        self.quotes = load_sframe(place.file("quotes"))
        self.lines = place.file("part.csv")

    def sum_of_a_column(self) -> Any:
        """One number."""
        return round(self.rows["f"].sum(), 3)

    def filter_and_derive(self) -> Any:
        """Half of the rows with one more column."""
        chosen = self.rows[self.rows["f"] > 0.5]
        chosen["d"] = chosen["f"] * 2 + chosen["k"]
        return kept(chosen)[0]

    def assign(self) -> Any:
        """All rows with one more column."""
        frame = self.rows.copy()
        frame["d"] = frame["i"] + frame["k"]
        return kept(frame)[0]

    def group_by_ints(self) -> Any:
        """Means of 100 groups."""
        return self._groups("k", {"m": aggregate.MEAN("f"), "n": aggregate.COUNT()})

    def group_by_texts(self) -> Any:
        """Means of 1,000 groups."""
        return self._groups("s", {"m": aggregate.MEAN("f"), "n": aggregate.COUNT()})

    def group_by_much(self) -> Any:
        """The row of an extreme, distinct texts and a standard deviation."""
        wanted = {"a": aggregate.ARGMAX("f", "i"), "c": aggregate.COUNT_DISTINCT("s"), "d": aggregate.STD("f")}
        return self._groups("k", wanted)

    def _groups(self, key: str, wanted: dict[str, Any]) -> Any:
        found = self.rows.groupby(key, wanted)
        return [tuple(round(value, 6) if isinstance(value, float) else value for value in row.values()) for row in found[[key, *wanted]]]

    def join(self) -> Any:
        """Rows that a side of 100,000 has."""
        return kept(self.rows.join(self.right, on="i"))[0]

    def top_rows(self) -> Any:
        """Ten rows."""
        return [row["i"] for row in self.rows.topk("f", 10)]

    def unique_texts(self) -> Any:
        """1,000 texts."""
        return len(self.rows["s"].unique())

    def unique_ints(self) -> Any:
        """As many ints as rows."""
        return len(self.rows["i"].unique())

    def apply(self) -> Any:
        """A function of Python for each row."""
        return round(self._kept_column(self.rows["i"].apply(lambda value: value * 2 + 1, dtype=int)).sum(), 3)

    def apply_to_dicts(self) -> Any:
        """A dict of each text, of a tenth of the rows."""
        texts = self.rows["s"].head(len(self.rows) // DICTS)
        found = self._kept_column(texts.apply(lambda text: {word: len(word) for word in text.split(" ")}, dtype=dict))
        return [len(found), found[-1]]

    def apply_to_rows(self) -> Any:
        """A function of Python for two columns of each row."""
        return round(self._kept_column(self.rows[["k", "f"]].apply(lambda row: row["k"] + row["f"], dtype=float)).sum(), 2)

    def read_csv(self) -> Any:
        """A fifth of the rows, as text."""
        frame = kept(SFrame.read_csv(self.lines, verbose=False))[1]
        return [len(frame), round(frame["f"].sum(), 3)]

    def as_of_join(self) -> Any:
        """The last quote before each row."""
        return kept(self.rows[["t", "f"]].asof_join(self.quotes, on="t"))[0]

    def cumulative_sum(self) -> Any:
        """A running sum."""
        return round(self._kept_column(self.rows["f"].cumulative_sum())[-1], 3)

    def rolling_mean(self) -> Any:
        """Means of ten rows each."""
        return round(self._kept_column(self.rows["f"].rolling_mean(-9, 0))[-1], 6)

    def _kept_column(self, column: SArray) -> SArray:
        column.materialize()
        return column

    def sort(self) -> Any:
        """All rows in another order."""
        frame = kept(self.rows.sort("i"))[1]
        return [row["t"] for row in frame[:3]]

    def filter_join_group_sort(self) -> Any:
        """Four steps."""
        joined = self.rows[self.rows["f"] > 0.5].join(self.right, on="i", how="left")
        found = joined.groupby("k", {"g": aggregate.MEAN("g"), "n": aggregate.COUNT()}).sort("n", ascending=False)
        return sorted((row["n"], round(row["g"], 6)) for row in found)
