"""Count, mean and sum of squared deviations of numbers, of parts and of parts together."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np


@attrs.frozen
class Moments:
    """Count, mean and sum of squared deviations of some numbers (of none: all zero)."""

    count: int = 0
    mean: Any = 0.0
    squares: Any = 0.0

    @classmethod
    def of(cls, values: np.ndarray) -> Moments:
        """Of floats.

        Examples
        --------
        >>> Moments.of(np.array([1.0, 3.0]))
        Moments(count=2, mean=2.0, squares=2.0)
        """
        if not len(values):
            return cls()
        # Sums beyond the largest float are infinite, those of infinities of both signs NaN: no reason for numpy to warn.
        with np.errstate(invalid="ignore", over="ignore"):
            mean = float(values.mean())
            return cls(len(values), mean, float(((values - mean) ** 2).sum()))

    def merged(self, other: Moments) -> Moments:
        """Of both groups of numbers.

        Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).

        Examples
        --------
        >>> Moments(1, 1.0).merged(Moments(1, 3.0))
        Moments(count=2, mean=2.0, squares=2.0)
        """
        if not self.count or not other.count:
            return other if other.count else self
        count = self.count + other.count
        delta = other.mean - self.mean
        # An infinity stays, as it does within a group.
        finite = math.isfinite(self.mean) and math.isfinite(other.mean)
        mean = self.mean + delta * (other.count / count) if finite else self.mean + other.mean
        squares = self.squares + other.squares + delta * delta * (self.count * other.count / count)
        return Moments(count, mean, squares)
