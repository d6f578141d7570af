"""Windows and as-of joins take float keys within a distance by one rule: the exact difference of the floats."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from sframe_spark import SFrame, aggregate, config
from sframe_spark.compute.exact_float_distances import first_after, first_from, last_before, last_until

TENTHS = [index / 10 for index in range(118)]
ODD = [0.1, 1e-300, -1e-300, 5e-324, 1e16, 1e16 + 2, -0.3, 1 / 3, 2 / 3, 1e308, 123456.7, 0.7, 0.6]


def test_bounds_are_next_to_the_exact_sum() -> None:
    choose = random.Random(4)
    numbers = [*ODD, *[choose.uniform(-1, 1) * 10 ** choose.randrange(-20, 20) for _ in range(60)]]
    for distance in (0.1, -0.1, 1e-17, -1e17, 0.0, 5e-324, choose.uniform(0, 9)):
        bounds = [bound(np.array(numbers), distance).tolist() for bound in (first_from, last_until, first_after, last_before)]
        for key, first, last, after, before in zip(numbers, *bounds, strict=True):
            at = Fraction(key) + Fraction(distance)
            assert Fraction(first) >= at > Fraction(math.nextafter(first, -math.inf))
            assert Fraction(last) <= at < Fraction(math.nextafter(last, math.inf))
            assert Fraction(after) > at >= Fraction(math.nextafter(after, -math.inf))
            assert Fraction(before) < at <= Fraction(math.nextafter(before, math.inf))
    infinite = np.array([math.inf, -math.inf])
    assert first_from(infinite, 1.0).tolist() == last_until(infinite, -1.0).tolist() == infinite.tolist()


PAIRS = [(min(pair), max(pair)) for pair in [*itertools.pairwise(TENTHS), *itertools.combinations(ODD, 2)]]


def keyed(keys: Sequence[float]) -> SFrame:
    """One key of each pair, with the number of the pair."""
    return SFrame({"pair": range(len(PAIRS)), "t": keys, "row": range(len(PAIRS))})


def answers(distance: float) -> tuple[list[bool], list[bool], list[bool]]:
    """Whether the keys of each pair are within a distance, as a window, a join backwards and one forwards say."""
    lows, highs = keyed([low for low, _ in PAIRS]), keyed([high for _, high in PAIRS])
    windows = highs.append(lows).window("t", {"n": aggregate.COUNT()}, before=distance, by="pair")
    back = highs.asof_join(lows, on="t", by="pair", tolerance=distance)
    ahead = lows.asof_join(highs, on="t", by="pair", tolerance=distance, direction="forward")
    return [n == 2 for n in windows["n"]][: len(PAIRS)], [row is not None for row in back["row.1"]], [row is not None for row in ahead["row.1"]]


@pytest.mark.parametrize("distance", [0.1, 0.2, 1e-300, 0.0])
def test_windows_and_joins_agree(distance: float) -> None:
    expected = [Fraction(high) - Fraction(low) <= Fraction(distance) for low, high in PAIRS]
    for found in answers(distance):
        assert found == expected


@pytest.mark.spark
def test_spark_agrees(spark: object) -> None:
    with config.using(check="result"):
        answers(0.1)
    expected = answers(0.1)
    with config.using(small_rows=0):
        assert answers(0.1) == expected
