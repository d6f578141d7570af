"""Numbers of the keys of two sides of a join: the keys of the shorter side are hashed, those of the longer one are looked up among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import encoded


def matched_codes(left: Sequence[pa.Array], right: Sequence[pa.Array]) -> tuple[np.ndarray, np.ndarray, int]:
    """For each row of both sides the number of its key, -1 for one that the other side has not, and how many numbers there are.

    Each number from zero on is that of a row of the side that is shorter, which has no -1.

    Parameters
    ----------
    left, right
        For each column of keys an array of :func:`~sframe_spark.compute.key_encoding.comparable_values`.

    Examples
    --------
    >>> of_left, of_right, count = matched_codes([pa.array(["a", "b"]), pa.array([1, 2])], [pa.array(["b", "b", None]), pa.array([2, 1, 2])])
    >>> of_left.tolist(), of_right.tolist(), count
    ([0, 1], [1, -1, -1], 2)
    """
    if len(right[0]) < len(left[0]):
        of_right, of_left, count = matched_codes(right, left)
        return of_left, of_right, count
    shorter, longer, count = _matched_columns(left[0], right[0])
    for first, second in zip(left[1:], right[1:], strict=True):
        one, other, more = _matched_columns(first, second)
        # Small again after each column, so that the product cannot wrap around.
        pairs = np.where((longer < 0) | (other < 0), -1, longer.astype(np.int64) * more + other)
        shorter, longer, count = _matched_columns(pa.array(shorter * more + one), pa.array(pairs))
    return shorter, longer, count


def _matched_columns(shorter: pa.Array, longer: pa.Array) -> tuple[np.ndarray, np.ndarray, int]:
    """The same of one column of keys."""
    if shorter.type != longer.type:
        # Of long texts: an array has no room for them otherwise.
        shorter, longer = shorter.cast(pa.large_string()), longer.cast(pa.large_string())
    codes, keys = encoded(shorter)
    found = pc.index_in(longer, value_set=keys)
    # Numbers of 32 bits: those of many rows are memory that is new to the process.
    return codes, (found.fill_null(-1) if found.null_count else found).to_numpy(), len(keys)
