"""Count, mean and sum of squared deviations of numbers, of parts and of parts together."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

# Of larger numbers the square of a mean's last digit may be infinite, and so may their sum.
LARGE = 1e100


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
        # Squares beyond the largest float are infinite, distances of infinities NaN: no reason for numpy to warn.
        with np.errstate(invalid="ignore", over="ignore"):
            mean = mean_of(values)
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
        # An infinity stays, as it does within a group; a difference may be infinite where both are not.
        finite = math.isfinite(self.mean) and math.isfinite(other.mean)
        share = other.count / count
        between = self.mean + delta * share if math.isfinite(delta) else self.mean * (1 - share) + other.mean * share
        mean = between if finite else self.mean + other.mean
        squares = self.squares + other.squares + delta * delta * (self.count * other.count / count)
        return Moments(count, mean, squares)


def mean_of(values: np.ndarray) -> float:
    """The mean of some floats, one at least; that of large ones is finite where they are, and that of equal large ones is one of them.

    Examples
    --------
    >>> mean_of(np.array([1.5, 2.5])), mean_of(np.array([1e308] * 3)), mean_of(np.array([1.5e308, -1.5e308, 1.5e308]))
    (2.0, 1e+308, 5e+307)
    """
    # A sum beyond the largest float is infinite, which is looked at: no reason for numpy to warn.
    with np.errstate(invalid="ignore", over="ignore"):
        mean = float(values.mean())
        if abs(mean) < LARGE or not np.isfinite(values).all():
            return mean
        most = values.max()
        return float(mean_of_large(most, (values - most).mean(), (values / len(values)).sum()))


def mean_of_large(most: Any, moved: Any, shares: Any) -> Any:
    """The mean of large numbers, given the largest one, the mean of their distances to it, and the sum of the numbers by their count."""
    about = most + moved
    return np.where(np.isfinite(about), about, shares)
