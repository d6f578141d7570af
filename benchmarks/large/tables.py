"""The rows: one table of groups, and tables whose keys are numbers in random order, as Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PROGRAMS = (
    *("groups_of_few", "groups_of_some", "groups_of_many", "distinct"),
    *("join_small", "join_tenth", "join_equal", "join_left", "join_semi"),
)
# How many times fewer rows than the largest tables the right sides of joins have.
SMALLER = {"small": 1_000, "tenth": 10, "equal": 1}
MEMORY = 2_000_000_000
ROWS_OF_FILE = 10_000_000


def make(rows: int, directory: Path) -> None:
    """Write the tables, each as files of some rows in a directory of its name."""
    random = np.random.default_rng(0)

    def write(name: str, count: int, **columns: np.ndarray) -> None:
        place = directory / name
        place.mkdir(parents=True)
        for start in range(0, count, ROWS_OF_FILE):
            part = {key: values[start : start + ROWS_OF_FILE] for key, values in columns.items()}
            pq.write_table(pa.table(part), place / f"part-{start // ROWS_OF_FILE:05}.parquet", row_group_size=1 << 20)

    few, some, many = (random.integers(0, max(1, groups), rows) for groups in (100, 100_000, rows // 10))
    write("groups", rows, few=few, some=some, many=many, v=random.random(rows))
    write("left", rows, k=random.permutation(rows), a=random.integers(0, 1_000, rows))
    for name, times in SMALLER.items():
        count = max(1, rows // times)
        write(name, count, k=random.permutation(rows)[:count], b=random.integers(0, 1_000, count))
