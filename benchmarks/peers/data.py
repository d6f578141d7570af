"""The rows that all peers read: a saved frame for us, the same rows as Parquet for the others."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

SEED = 18
RIGHT_ROWS = 100_000
WORDS, GROUPS = 1000, 100
# Of so many rows one becomes a dict, and of so many one is read as text.
DICTS, LINES = 10, 5
ROWS_IN_FILE = 1 << 20


@attrs.frozen
class Place:
    """Where the rows are.

    Parameters
    ----------
    directory
        Parquet files ``rows/*.parquet``, ``right.parquet`` and ``quotes.parquet``, the frames ``frame``, ``right`` and ``quotes``, and ``part.csv``.
    """

    directory: Path

    @property
    def rows(self) -> str:
        """A pattern of the files of all rows."""
        return str(self.directory / "rows" / "*.parquet")

    def file(self, name: str) -> str:
        """A file, or a frame, of that name."""
        return str(self.directory / name)


def make(rows: int, place: Place, with_csv: bool = False) -> None:
    """Write a permutation ``i``, ``k`` of 100 ints, floats ``f``, ``s`` of 1,000 texts, ascending ``t``; a side to join with; quotes."""
    from sframe_spark import SFrame

    generator = np.random.default_rng([SEED, rows])
    words = np.array([f"word {number}" for number in range(WORDS)])
    table = pa.table(
        {
            "i": generator.permutation(rows),
            "k": generator.integers(0, GROUPS, rows),
            "f": generator.random(rows),
            "s": words[generator.integers(0, WORDS, rows)],
            "t": np.arange(rows) * 2,
        }
    )
    keys = np.sort(generator.choice(rows, min(RIGHT_ROWS, rows), replace=False))
    right = pa.table({"i": keys, "g": generator.random(len(keys))})
    times = np.arange(0, 2 * rows, 20)
    quotes = pa.table({"t": times, "q": generator.random(len(times))})
    (place.directory / "rows").mkdir(parents=True)
    for number, start in enumerate(range(0, rows, ROWS_IN_FILE)):
        pq.write_table(table.slice(start, ROWS_IN_FILE), place.directory / "rows" / f"{number:05}.parquet")
    for name, each in {"frame": table, "right": right, "quotes": quotes}.items():
        if name != "frame":
            pq.write_table(each, place.file(f"{name}.parquet"))
        SFrame(each).save(place.file(name))
    pa_csv.write_csv(table.slice(0, rows // LINES), place.file("part.csv"))
    if with_csv:
        pa_csv.write_csv(table, place.file("rows.csv"))
        pa_csv.write_csv(right, place.file("right.csv"))
