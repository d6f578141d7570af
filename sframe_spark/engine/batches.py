"""How many rows kernels see at a time: at most a number of rows, and no more than take a number of bytes."""

from __future__ import annotations

import attrs

# Rows looked at first where it shows only then how long values are.
FIRST_ROWS = 4_096
# Batches grow by this factor at most, so that a run of short rows does not hide long ones behind it.
GROWTH = 4

# A kernel is called for each column of a batch, which takes tens of microseconds however few the rows are: of more columns batches are longer.
WIDE_COLUMNS = 512
# Batches of wide rows are at most so many times as long as others.
MOST_OF_WIDE = 4


def bytes_of_batch(columns: int, batch_bytes: int) -> int:
    """Return what a batch of so many columns should not exceed: of very many columns more, so that each has rows enough to be worth a call.

    Examples
    --------
    >>> bytes_of_batch(10, 32 << 20) >> 20, bytes_of_batch(1_000, 32 << 20) >> 20, bytes_of_batch(100_000, 32 << 20) >> 20
    (32, 62, 128)
    """
    return min(max(batch_bytes, batch_bytes * columns // WIDE_COLUMNS), MOST_OF_WIDE * batch_bytes)


@attrs.define(eq=False)
class BatchSize:
    """The number of rows that take about so many bytes, by what is known of them and by what the last ones took.

    Parameters
    ----------
    most_bytes
        What a batch should not exceed.
    row_bytes
        What a row takes as far as that is known.
    is_known
        Whether that is all; otherwise a few rows are looked at first.

    Examples
    --------
    >>> size = BatchSize(1_000, 10.0)
    >>> size.rows(500)
    100
    >>> size.saw(100, 5_000)
    >>> size.rows(500)
    20
    """

    most_bytes: int
    row_bytes: float
    is_known: bool = True
    _seen: float = 0.0
    _last_rows: int = 0

    def rows(self, most_rows: int) -> int:
        """Rows of the next batch."""
        fitting = max(1, int(self.most_bytes / max(self.row_bytes, self._seen, 1.0)))
        if not self.is_known:
            fitting = min(fitting, GROWTH * self._last_rows or FIRST_ROWS)
        return min(most_rows, fitting)

    def saw(self, rows: int, size: int) -> None:
        """Take note of what some rows took."""
        if rows:
            self._seen = max(size / rows, self._seen / GROWTH)
            self._last_rows = rows
