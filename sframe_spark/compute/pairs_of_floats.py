"""Arithmetic with pairs of floats: twice the bits of floats, for many groups at once."""

from __future__ import annotations

import attrs
import numpy as np

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sum_and_variance import product_error

Number = int | float | np.ndarray


@attrs.frozen(eq=False, slots=True)
class PairsOfFloats:
    """Numbers as pairs of floats: about the nearest float, and the rounded rest. Sums, products and quotients have errors of some ``2**-100``.

    Source: Dekker, "A floating-point technique for extending the available precision" (1971).

    Parameters
    ----------
    high, low
        The floats.

    Examples
    --------
    >>> third = PairsOfFloats.of(np.array([1.0])) / 3
    >>> third.low.tolist(), (third * 3).rounded().tolist()
    ([1.850371707708594e-17], [1.0])
    """

    high: np.ndarray
    low: np.ndarray

    @classmethod
    def of(cls, numbers: PairsOfFloats | Number) -> PairsOfFloats:
        """Return pairs with the values of floats, or of ints that floats hold."""
        if isinstance(numbers, PairsOfFloats):
            return numbers
        floats = np.asarray(numbers, dtype=np.float64)
        return cls(floats, np.zeros(floats.shape))

    def __len__(self) -> int:
        return len(self.high)

    def rounded(self) -> np.ndarray:
        """Return the nearest floats."""
        return self.high + self.low

    def take(self, entries: np.ndarray) -> PairsOfFloats:
        """Return some of the numbers."""
        return PairsOfFloats(self.high[entries], self.low[entries])

    def replaced(self, chosen: np.ndarray, other: PairsOfFloats | Number) -> PairsOfFloats:
        """Return the numbers with those of another array where ``chosen``."""
        others = PairsOfFloats.of(other)
        return PairsOfFloats(np.where(chosen, others.high, self.high), np.where(chosen, others.low, self.low))

    def __neg__(self) -> PairsOfFloats:
        return PairsOfFloats(-self.high, -self.low)

    def __add__(self, other: PairsOfFloats | Number) -> PairsOfFloats:
        return self - (-PairsOfFloats.of(other))

    def __sub__(self, other: PairsOfFloats | Number) -> PairsOfFloats:
        second = PairsOfFloats.of(other)
        difference = self.high - second.high
        taken = difference - self.high
        rest = ((self.high - (difference - taken)) - (second.high + taken)) + (self.low - second.low)
        total = difference + rest
        return PairsOfFloats(total, rest - (total - difference))

    def __mul__(self, other: PairsOfFloats | Number) -> PairsOfFloats:
        second = PairsOfFloats.of(other)
        product = self.high * second.high
        rest = product_error(self.high, second.high, product) + (self.high * second.low + self.low * second.high)
        total = product + rest
        return PairsOfFloats(total, rest - (total - product))

    def __truediv__(self, other: PairsOfFloats | Number) -> PairsOfFloats:
        second = PairsOfFloats.of(other)
        first = PairsOfFloats.of(self.high / second.high)
        left = self - second * first
        more = left.high / second.high
        total = first.high + more
        # A quotient that is infinite or NaN has no rest.
        usual = np.isfinite(total)
        return PairsOfFloats(np.where(usual, total, first.high), np.where(usual, more - (total - first.high), 0.0))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Number) -> PairsOfFloats:
        return -(self - other)
