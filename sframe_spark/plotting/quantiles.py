"""Quantiles found by counting: bins are divided where a quantile lies, those of all columns in the same pass, until they are narrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from sframe_spark.plotting.bins import Bins
from sframe_spark.types import DATETIME_KIND, INT_KIND

QUARTILES = (0.25, 0.5, 0.75)
# Where a quantile lies among so many bins, the next pass divides one of them into as many.
PARTS = 1000
# Six divisions are enough for any two floats that differ in their first ten digits.
MOST_PASSES = 7
# Of itself, and of all numbers: as many digits as are shown.
EXACTNESS, OF_THE_WHOLE = 1e-5, 1e-10
LARGE = 1e15
# Seconds.
MOMENT = 0.01


@attrs.define
class Quantile:
    """A quantile that is looked for.

    Parameters
    ----------
    owner
        The place of the column, or of the label, whose it is.
    place
        How many numbers come before it.
    bins
        Where it lies; all numbers before are counted in the first of them, all behind in the last.
    span
        From the least number to the largest.
    kind
        The kind of the column.
    found
        The number, when its bin is narrow.
    """

    owner: int
    place: int
    bins: Bins
    span: float
    kind: str
    found: float | None = None

    def narrow(self, counts: np.ndarray) -> None:
        """Go on to the bin in which it lies, of which so many numbers are in each."""
        chosen = int(np.searchsorted(np.cumsum(counts), self.place, side="right"))
        inside = min(max(chosen, 1), self.bins.count - 1)
        least = self.bins.edge(inside)
        # A number at an edge may be counted on either side of it.
        if chosen != inside or chosen == self.bins.count - 1 or self.bins.step <= self._tolerance(least):
            self.found = math.ceil(least - 1e-9) if self.kind == INT_KIND else least
        else:
            self.bins = guarded(Bins(self.bins.first + chosen, self.bins.step, 1).finer(PARTS))

    def _tolerance(self, number: float) -> float:
        """How wide a bin may be that is told as this number."""
        if self.kind == DATETIME_KIND:
            return MOMENT
        if self.kind == INT_KIND and abs(number) < LARGE:
            return 1.0
        relative = abs(number) * EXACTNESS
        return max(relative if abs(number) >= LARGE else min(relative, 0.5), self.span * OF_THE_WHOLE)

    @property
    def number(self) -> float:
        """What was found, or where the search ended."""
        return self.bins.edge(1) if self.found is None else self.found


def guarded(bins: Bins) -> Bins:
    """The same bins and one more at each end, for all that lies outside."""
    return Bins(bins.first - 1, bins.step, bins.count + 2)


def place_of(numbers: int, share: float) -> int:
    """How many numbers come before a quantile.

    Examples
    --------
    >>> place_of(5, 0.5), place_of(4, 1.0)
    (2, 3)
    """
    return min(int(numbers * share), numbers - 1)


Asked = tuple[int, Bins]


def find_quantiles(searched: Sequence[Quantile], counts_of: Callable[[Sequence[Asked]], Sequence[np.ndarray]]) -> dict[Asked, np.ndarray]:
    """Find all of them, and give the counts of the first pass.

    Parameters
    ----------
    searched
        They are changed.
    counts_of
        Counts, in one pass, the numbers of each owner in bins of its own.
    """
    first: dict[Asked, np.ndarray] = {}
    for _ in range(MOST_PASSES):
        left = [quantile for quantile in searched if quantile.found is None]
        if not left:
            break
        asked = list(dict.fromkeys((quantile.owner, quantile.bins) for quantile in left))
        counted = dict(zip(asked, counts_of(asked), strict=True))
        first = first or counted
        for quantile in left:
            quantile.narrow(counted[quantile.owner, quantile.bins])
    return first
