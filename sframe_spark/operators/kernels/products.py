"""What products of floats lack."""

from __future__ import annotations

import numpy as np

SPLITTER = float(2**27 + 1)


def halves(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Floats as sums of two with half of the digits, whose products are floats."""
    scaled = numbers * SPLITTER
    high = scaled - (scaled - numbers)
    return high, numbers - high


def lacking_product(first: np.ndarray, second: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What the float next to a product lacks, where neither is near the ends of floats.

    Source: Dekker, "A floating-point technique for extending the available precision" (1971).

    Examples
    --------
    >>> number = np.array([1.0 + 2.0**-30])
    >>> lacking_product(number, number, number * number).tolist() == [2.0**-60]
    True
    """
    high, low = halves(first)
    other, below = halves(second)
    return ((high * other - product) + high * below + low * other) + low * below
