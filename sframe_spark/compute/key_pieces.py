"""Pieces of rows by their keys: rows with equal keys are in pieces of the same number, whichever input they are of."""

from __future__ import annotations

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_encoding import comparable_values
from sframe_spark.compute.number_sets import SPREAD
from sframe_spark.compute.text_hashes import text_hashes
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema

HALF = np.uint64(32)


@attrs.frozen
class KeyPieces:
    """Pieces by the hashes of keys, which are equal values.

    Parameters
    ----------
    positions
        Columns of the keys.
    types
        Their types.
    count
        How many pieces there are.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> places = KeyPieces((0,), (INT,), 16).places_in(Chunk.of([pa.array([5, None, 7, None, 5])]))
    >>> bool(places[0] == places[4]), bool(places[1] == places[3]), bool(places.max() < 16)
    (True, True, True)
    """

    positions: tuple[int, ...]
    types: Schema
    count: int

    def places_in(self, rows: Chunk) -> np.ndarray:
        """The number of the piece of each row."""
        found = np.zeros(rows.rows, np.uint64)
        for position, column_type in zip(self.positions, self.types, strict=True):
            for values in comparable_values(rows.columns[position], column_type):
                found ^= words_of(values)
                # The upper half of a product depends on all bits, which the lower half gets from it.
                found *= SPREAD
                found ^= found >> HALF
                found *= SPREAD
        return ((found >> HALF) * np.uint64(self.count) >> HALF).view(np.int64)


def words_of(values: pa.Array) -> np.ndarray:
    """A word of 64 bits for each value of :func:`comparable_values`, equal where they are; a missing one has that of another."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), np.uint64)
    if pa.types.is_string(kind):
        return text_hashes(values.fill_null("") if values.null_count else values)
    numbers = values.view(pa.int64()) if pa.types.is_timestamp(kind) else values if pa.types.is_floating(kind) else values.cast(pa.int64())
    return (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy(zero_copy_only=False).view(np.uint64)
