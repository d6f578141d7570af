"""The benchmark's data. The reference engine's old Python reads this file too, so it needs numpy only."""

from __future__ import annotations

import numpy as np

NAMES = ("number", "key", "value", "word")
RIGHT_ROWS = 100_000
NUMBERS = 1_000_000


def block(start, stop):  # type: ignore[no-untyped-def]
    """Columns of rows ``start..stop``: int64, int64 of 100 values, float64, text of 1,000 values."""
    random = np.random.default_rng(start)
    rows = stop - start
    words = np.array([f"word{i:04}" for i in range(1000)], dtype=object)
    return {
        "number": random.integers(0, NUMBERS, rows),
        "key": random.integers(0, 100, rows),
        "value": random.random(rows),
        "word": words[random.integers(0, 1000, rows)],
    }


def right_side():  # type: ignore[no-untyped-def]
    """Columns of the right side of the join: a tenth of all numbers, each once."""
    return {"number": np.arange(RIGHT_ROWS) * (NUMBERS // RIGHT_ROWS), "extra": np.arange(RIGHT_ROWS) * 0.5}


def blocks(rows, size=1 << 20):  # type: ignore[no-untyped-def]
    """Ranges that all rows are generated in."""
    return [(start, min(start + size, rows)) for start in range(0, rows, size)]
