"""The reference engine, whose interpreter runs this: ``PYTHON -m benchmarks.peers.with_reference DIRECTORY RUNS NAME...``."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.peers.clock import run


class Programs:
    """The programs of :mod:`benchmarks.peers.ours`."""

    def __init__(self, directory):  # type: ignore[no-untyped-def]
        import turicreate as tc

        self.count, self.mean = tc.aggregate.COUNT(), tc.aggregate.MEAN
        self.aggregate = tc.aggregate
        hints = {"i": int, "k": int, "f": float, "s": str, "t": int, "g": float}
        frames = [tc.SFrame.read_csv(str(Path(directory, name)), column_type_hints=hints, verbose=False) for name in ("rows.csv", "right.csv")]
        for frame in frames:
            frame.materialize()
        self.rows, self.right = frames
        self.lines = str(Path(directory, "part.csv"))

    def sum_of_a_column(self):  # type: ignore[no-untyped-def]
        return round(self.rows["f"].sum(), 3)

    def filter_and_derive(self):  # type: ignore[no-untyped-def]
        chosen = self.rows[self.rows["f"] > 0.5]
        chosen["d"] = chosen["f"] * 2 + chosen["k"]
        return kept(chosen)

    def assign(self):  # type: ignore[no-untyped-def]
        frame = self.rows.copy()
        frame["d"] = frame["i"] + frame["k"]
        return kept(frame)

    def group_by_ints(self):  # type: ignore[no-untyped-def]
        return self._groups("k", {"m": self.mean("f"), "n": self.count})

    def group_by_texts(self):  # type: ignore[no-untyped-def]
        return self._groups("s", {"m": self.mean("f"), "n": self.count})

    def group_by_much(self):  # type: ignore[no-untyped-def]
        wanted = {"a": self.aggregate.ARGMAX("f", "i"), "c": self.aggregate.COUNT_DISTINCT("s"), "d": self.aggregate.STD("f")}
        return self._groups("k", wanted)

    def _groups(self, key, wanted):  # type: ignore[no-untyped-def]
        found = self.rows.groupby(key, wanted).sort(key)
        return [tuple(round(row[name], 6) if isinstance(row[name], float) else row[name] for name in (key, *wanted)) for row in found]

    def join(self):  # type: ignore[no-untyped-def]
        return kept(self.rows.join(self.right, on="i"))

    def top_rows(self):  # type: ignore[no-untyped-def]
        return [row["i"] for row in self.rows.topk("f", 10)]

    def unique_texts(self):  # type: ignore[no-untyped-def]
        return len(self.rows["s"].unique())

    def unique_ints(self):  # type: ignore[no-untyped-def]
        return len(self.rows["i"].unique())

    def apply(self):  # type: ignore[no-untyped-def]
        return round(kept_column(self.rows["i"].apply(lambda value: value * 2 + 1, dtype=int)).sum(), 3)

    def apply_to_dicts(self):  # type: ignore[no-untyped-def]
        texts = self.rows["s"].head(len(self.rows) // 10)
        found = kept_column(texts.apply(lambda text: {word: len(word) for word in text.split(" ")}, dtype=dict))
        return [len(found), found[-1]]

    def apply_to_rows(self):  # type: ignore[no-untyped-def]
        return round(kept_column(self.rows[["k", "f"]].apply(lambda row: row["k"] + row["f"], dtype=float)).sum(), 2)

    def read_csv(self):  # type: ignore[no-untyped-def]
        import turicreate as tc

        frame = tc.SFrame.read_csv(self.lines, verbose=False)
        return [kept(frame), round(frame["f"].sum(), 3)]

    def cumulative_sum(self):  # type: ignore[no-untyped-def]
        return round(kept_column(self.rows["f"].cumulative_sum())[-1], 3)

    def rolling_mean(self):  # type: ignore[no-untyped-def]
        return round(kept_column(self.rows["f"].rolling_mean(-9, 0))[-1], 6)

    def sort(self):  # type: ignore[no-untyped-def]
        frame = self.rows.sort("i")
        frame.materialize()
        return [row["t"] for row in frame[:3]]

    def filter_join_group_sort(self):  # type: ignore[no-untyped-def]
        joined = self.rows[self.rows["f"] > 0.5].join(self.right, on="i", how="left")
        found = joined.groupby("k", {"g": self.mean("g"), "n": self.count}).sort("n", ascending=False)
        return sorted((row["n"], round(row["g"], 6)) for row in found)


def kept(frame):  # type: ignore[no-untyped-def]
    """Number of rows of a frame, all of which are computed."""
    frame.materialize()
    return len(frame)


def kept_column(column):  # type: ignore[no-untyped-def]
    """A column, all of which is computed."""
    column.materialize()
    return column


if __name__ == "__main__":
    run(Programs(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
