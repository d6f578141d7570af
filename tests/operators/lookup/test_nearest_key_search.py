"""Rows found by group and key: many at once, which go through all rows in order, and each by a search of its own."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sframe_spark.compute.sorting_and_searching import SMALL_SORT
from sframe_spark.operators.lookup.nearest_key_search import BlockIndex

FAR = 2**62


def random_codes(generator: np.random.Generator, rows: int, kinds: int, are_far: bool) -> np.ndarray:
    """Codes of groups, near each other or as far apart as ints can be."""
    codes = generator.integers(0, kinds, rows)
    return np.where(codes % 2 == 0, -FAR, FAR) + codes if are_far else codes - kinds // 2


@pytest.mark.parametrize("seed", range(24))
def test_many_rows_are_found_as_each_alone(seed: int) -> None:
    choose, generator = random.Random(seed), np.random.default_rng(seed)
    rows, wanted = choose.choice([1, 900, 30_000]), SMALL_SORT + choose.randrange(5000)
    kinds, are_far = choose.choice([1, 7, 3000]), choose.random() < 0.3
    keys = np.sort(generator.integers(0, choose.choice([3, rows, 2**40]), rows))
    there = generator.random(rows) < choose.choice([0.0, 0.5, 1.0])
    index = BlockIndex.of(choose.choice([0, 77]), keys, random_codes(generator, rows, kinds, are_far), there)
    low = generator.integers(-3, int(keys.max()) + 5, wanted)
    low = np.sort(low) if choose.random() < 0.5 else low
    codes = random_codes(generator, wanted, kinds + choose.randrange(3), are_far)
    high = low + choose.choice([-1, 0, 50])
    parts = np.array_split(np.arange(wanted), wanted // 1000)

    spans = [index.spans(low[part], high[part], codes[part]) for part in parts]
    starts, stops = index.spans(low, high, codes)
    some = stops > starts
    for found, alone in zip((starts, stops), zip(*spans, strict=True), strict=True):
        assert (found[some] == np.concatenate(alone)[some]).all()
    assert (some == np.concatenate([b > a for a, b in spans])).all()
    for after in (False, True):
        for equal in (False, True):
            alone = [index.nearest(low[part], codes[part], after, equal) for part in parts]
            assert (index.nearest(low, codes, after, equal) == np.concatenate(alone)).all()
