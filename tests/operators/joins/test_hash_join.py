"""How long the pairs of a join are, as they are counted and as they are made."""

from __future__ import annotations

import numpy as np
import pytest

from sframe_spark.operators.joins import hash_join
from sframe_spark.operators.joins.hash_join import HashJoin, Pairs
from sframe_spark.operators.lookup.cached_reader import as_lookup
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import STR
from sframe_spark.values.python_to_arrow import encode

LONG = 5_000


def pairs_of(how: str, longest: int) -> Pairs:
    random = np.random.default_rng(5)
    sides = []
    for rows in (40, 25):
        keys = [None if key == 9 else f"k{key}" for key in random.integers(0, 30, rows).tolist()]
        texts = ["x" * (longest if row == 3 else 20) for row in range(rows)]
        sides.append(as_lookup(Chunk((encode(keys, STR), encode(texts, STR)), rows), (STR, STR)))
    return HashJoin((0,), (0,), how).pairs_of(*sides)


def bytes_of_each(pairs: Pairs, start: int, stop: int) -> int:
    of_left, of_right, of_keys = pairs.lengths
    rows = zip(*(places.tolist() for places in pairs.between(start, stop)), strict=True)
    return sum((of_left[a] if a >= 0 else of_keys[b]) + (of_right[b] if b >= 0 else 0) for a, b in rows)


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
@pytest.mark.parametrize("longest", [20, LONG])
def test_bytes_of_pairs_are_those_of_each(how: str, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_join, "ROWS_PER_STEP", 7)
    pairs = pairs_of(how, longest)
    assert sum(pairs.total_bytes) == bytes_of_each(pairs, 0, pairs.rows)
    for start, stop in ((0, pairs.rows), (3, 9)):
        exact = bytes_of_each(pairs, start, stop)
        assert pairs.bytes_between(start, stop) == (pytest.approx(exact, rel=0.6) if longest < LONG else exact)
