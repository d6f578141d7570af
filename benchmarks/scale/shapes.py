"""How large a frame is, and what its columns are."""

from __future__ import annotations

import attrs

from sframe_spark.types import FLOAT, INT, ColumnType

# An ascending time, a permutation, a group of every four rows, one of a hundred, and a float; all others are floats.
NAMED = ("t", "i", "g", "k", "f")
FEW_GROUPS, ROWS_OF_A_GROUP, ROWS_FOR_A_QUOTE = 100, 4, 20
VALUE_BYTES = 8


@attrs.frozen
class Shape:
    """Rows, columns and segments of a frame; every value takes eight bytes.

    Parameters
    ----------
    rows, columns, segments
        How many.
    """

    rows: int
    columns: int
    segments: int

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        return [*NAMED, *(f"x{place}" for place in range(len(NAMED), self.columns))][: self.columns]

    @property
    def types(self) -> list[ColumnType]:
        """Types of the columns."""
        return [INT if name in NAMED[:4] else FLOAT for name in self.names]

    @property
    def size(self) -> int:
        """Bytes of all values."""
        return self.rows * self.columns * VALUE_BYTES

    @property
    def quotes(self) -> Shape:
        """The frame that an as-of join searches: a twentieth of the rows, with a time, a permutation and groups."""
        return Shape(max(1, self.rows // ROWS_FOR_A_QUOTE), 3, max(1, self.segments // ROWS_FOR_A_QUOTE))


# What the page is about: ten thousand million rows, eight terabytes.
LARGE = Shape(10**10, 100, 10**5)
LARGE_CORES = 1_600
