"""Count, sum and sum of squares of numbers, of parts and of parts together, without rounding."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sframe_spark.compute.exact_sum import LOWEST, ExactSum, largest_of, piece, quotient

# Products of two pieces of so many bits add up exactly in a float, of so many numbers.
PIECE, BLOCK = 20, 1 << 13


@attrs.frozen
class Moments:
    """What means and spreads of some numbers are made of.

    Parameters
    ----------
    count
        How many numbers there are.
    total
        Their sum.
    square_units
        The sum of the squares of the finite ones, in units of the square of the smallest float, ``2**-2148``.
    """

    count: int = 0
    total: ExactSum = attrs.field(factory=ExactSum)
    square_units: int = 0

    @classmethod
    def of(cls, values: np.ndarray) -> Moments:
        """Of floats.

        Examples
        --------
        >>> found = Moments.of(np.array([1e9 + 1, 1e9 + 3]))
        >>> found.count, found.mean, found.squares
        (2, 1000000002.0, 2.0)
        """
        units = squares = 0
        others = 0.0
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            if not math.isfinite(largest_of(block)):
                finite = np.isfinite(block)
                with np.errstate(invalid="ignore"):
                    others += float(block[~finite].sum())
                block = block[finite]
            more = units_of(block)
            units, squares = units + more[0], squares + more[1]
        return cls(len(values), ExactSum(units, others), squares)

    def merged(self, other: Moments) -> Moments:
        """Of both groups of numbers.

        Examples
        --------
        >>> Moments.of(np.array([1.0])).merged(Moments.of(np.array([3.0]))) == Moments.of(np.array([1.0, 3.0]))
        True
        """
        return Moments(self.count + other.count, self.total + other.total, self.square_units + other.square_units)

    @property
    def mean(self) -> float:
        """The mean, finite where the numbers are; zero of none."""
        return self.total.mean(self.count) if self.count else 0.0

    @property
    def squares(self) -> float:
        """The float next to the sum of squared deviations from the mean; NaN where a number is not finite, zero of none."""
        if not self.count:
            return 0.0
        if self.total.others:
            return math.nan
        # Whole numbers: what cancels here leaves no rounding behind.
        return quotient(self.count * self.square_units - self.total.units**2, self.count << (2 * LOWEST))


def units_of(block: np.ndarray) -> tuple[int, int]:
    """The sum of at most a block of finite floats, and that of their squares, in units of the smallest one and of its square."""
    pieces: list[tuple[int, np.ndarray]] = []
    largest, left = largest_of(block), block
    place = math.frexp(largest)[1] - PIECE
    while largest:
        whole, left = piece(left, place)
        pieces.append((place + LOWEST, whole))
        largest, place = float(left.any()), place - PIECE
    # Below the smallest float there are zeros only, which a shift to the right keeps.
    total = sum(shifted(int(whole.sum()), place) for place, whole in pieces)
    squares = 0
    for number, (place, whole) in enumerate(pieces):
        squares += shifted(int(whole.dot(whole)), 2 * place)
        squares += sum(shifted(2 * int(whole.dot(other)), place + below) for below, other in pieces[number + 1 :])
    return total, squares


def shifted(number: int, places: int) -> int:
    """A whole number with so many binary zeros more, or less."""
    return number << places if places >= 0 else number >> -places
