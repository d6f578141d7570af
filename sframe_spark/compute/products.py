"""What products of floats lack."""

from __future__ import annotations

from collections.abc import Sequence

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


def squares(values: np.ndarray, room: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The floats next to the squares, and what these lack, of floats that are not near the ends of floats; in arrays of the room, of four.

    Examples
    --------
    >>> square, lacking = squares(np.array([1.0 + 2.0**-30]), [np.empty(1) for _ in range(4)])
    >>> float(square[0] - 1.0), lacking.tolist() == [2.0**-60]
    (1.862645149230957e-09, True)
    """
    square, high, low, lacking = (array[: len(values)] for array in room)
    np.multiply(values, SPLITTER, out=high)
    np.subtract(high, values, out=low)
    np.subtract(high, low, out=high)
    np.subtract(values, high, out=low)
    np.multiply(values, values, out=square)
    np.multiply(high, high, out=lacking)
    lacking -= square
    high *= low
    high *= 2.0
    lacking += high
    low *= low
    lacking += low
    return square, lacking
