"""Float keys at a distance of others, compared as the real numbers that floats are: a rounded sum would include or leave out neighbours at random.

As-of joins and windows share this rule: two floats lie within a distance if their exact difference does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pyspark.sql import Column

    Floats = np.ndarray[Any, Any]


def rounded_sum(keys: Floats, distance: float) -> tuple[Floats, Floats]:
    """Return each key plus a distance, rounded, and what rounding left out, which is NaN where a number is infinite.

    Source: TwoSum; D. E. Knuth, The Art of Computer Programming 2, section 4.2.2.
    """
    with np.errstate(all="ignore"):
        total = keys + distance
        added = total - keys
        return total, (keys - (total - added)) + (distance - added)


def first_from(keys: Floats, distance: float) -> Floats:
    """Return the smallest float that is not below the exact sum of each key and a distance.

    Examples
    --------
    >>> first_from(np.array([0.7, 0.4]), -0.1).tolist()  # the rounded sums are 0.6 and 0.30000000000000004
    [0.6, 0.30000000000000004]
    """
    total, rest = rounded_sum(keys, distance)
    return np.where(rest > 0, np.nextafter(total, np.inf), total)


def last_until(keys: Floats, distance: float) -> Floats:
    """Return the largest float that is not above the exact sum of each key and a distance."""
    total, rest = rounded_sum(keys, distance)
    return np.where(rest < 0, np.nextafter(total, -np.inf), total)


def first_after(keys: Floats, distance: float) -> Floats:
    """Return the smallest float that is above the exact sum of each key and a distance; infinity if that is infinite."""
    total, rest = rounded_sum(keys, distance)
    return np.where(rest < 0, total, np.nextafter(total, np.inf))


def last_before(keys: Floats, distance: float) -> Floats:
    """Return the largest float that is below the exact sum of each key and a distance; minus infinity if that is."""
    total, rest = rounded_sum(keys, distance)
    return np.where(rest > 0, total, np.nextafter(total, -np.inf))


def is_from(key: Column, center: Column, distance: float, *, including: bool = True) -> Column:
    """Return a Spark column: whether a float key is not below the exact sum of another and a distance (not ``including``: above it)."""
    total, is_more, is_less = _rounded_in_spark(center, distance)
    from pyspark.sql import functions as F

    return F.when(is_more, key > total).otherwise(key >= total) if including else F.when(is_less, key >= total).otherwise(key > total)


def is_until(key: Column, center: Column, distance: float, *, including: bool = True) -> Column:
    """Return a Spark column: whether a float key is not above the exact sum of another and a distance (not ``including``: below it)."""
    total, is_more, is_less = _rounded_in_spark(center, distance)
    from pyspark.sql import functions as F

    return F.when(is_less, key < total).otherwise(key <= total) if including else F.when(is_more, key <= total).otherwise(key < total)


def _rounded_in_spark(center: Column, distance: float) -> tuple[Column, Column, Column]:
    """Return the rounded sum, whether the exact one is above it, and whether it is below."""
    from pyspark.sql import functions as F

    by = F.lit(float(distance))
    total = center + by
    added = total - center
    rest = (center - (total - added)) + (by - added)
    # For Spark NaN is above all numbers.
    return total, (rest > 0) & ~F.isnan(rest), rest < 0
