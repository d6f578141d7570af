"""Keys of two sides that are numbered together, against what Python finds equal."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute.key_equality_and_codes import EvenSteps, matched_codes

TEXTS, INTS, FLOATS = ["a", "", "é", None, "b" * 40], [3, None, -(2**63), 2**63 - 1, 4], [0.5, None, float("inf"), 1e300, -1.0]


@pytest.mark.parametrize("lengths", [(1, 40), (40, 1), (30, 30), (0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("pools", [[TEXTS], [INTS], [FLOATS], [TEXTS, INTS], [INTS, FLOATS, TEXTS], [range(2), range(3), range(2)]], ids=str)
def test_numbers_are_equal_where_all_columns_are(pools: list[list[object]], lengths: tuple[int, int]) -> None:
    random = np.random.default_rng(sum(lengths))
    sides = []
    for length in lengths:
        columns = [[list(pool)[place] for place in random.integers(0, len(pool), length)] for pool in pools]
        sides.append([pa.array(column, type=pa.array(list(pool)).type) for column, pool in zip(columns, pools, strict=True)])
    left, right, count = matched_codes(*sides)
    keys = [list(zip(*(column.to_pylist() for column in side), strict=True)) for side in sides]
    for code, key in zip(left, keys[0], strict=True):
        assert [other == code and code >= 0 for other in right] == [other == key for other in keys[1]]
    shorter = (left, right)[lengths[1] < lengths[0]]
    assert all(0 <= code < count for code in shorter.tolist())
    for codes, side in ((left, keys[0]), (right, keys[1])):
        assert len({(code, key) for code, key in zip(codes, side, strict=True) if code >= 0}) == len({code for code in codes.tolist() if code >= 0})


@given(st.data())
def test_even_steps_are_found_where_all_ints_are_on_them(data: st.DataObject) -> None:
    step, low = data.draw(st.sampled_from([1, 2, 41, 86_400_000_000, 2**62, 2**64 - 1])), data.draw(st.integers(-(2**63), 2**63 - 1))
    drawn = [low + step * place for place in data.draw(st.lists(st.integers(0, 20_000), min_size=1))]
    numbers = [number for number in drawn if number < 2**63]
    strays = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=1))
    steps = EvenSteps.among(np.array([*numbers, *strays], dtype=np.int64)) if numbers or strays else None
    if steps is None:
        return
    others = [number + data.draw(st.integers(-2, 2)) * steps.step for number in numbers]
    for number in (number for number in (*numbers, *strays, *others, -(2**63), 2**63 - 1) if -(2**63) <= number < 2**63):
        place, rest = divmod(number - steps.low, steps.step)
        assert steps.numbers(pa.array([number, None])).tolist() == [place if not rest and 0 <= place < steps.count else -1, -1]
    assert (steps.numbers(pa.array([*numbers, *strays], pa.int64())) >= 0).all()


@pytest.mark.parametrize("spread", [1, 41, 86_400_000_000])
def test_ints_of_even_steps_and_all_others_match_alike(spread: int) -> None:
    random = np.random.default_rng(spread)
    left, right = (random.integers(-3_000, 3_000, size) * spread for size in (2_000, 5_000))
    of_left, of_right, count = matched_codes([pa.array(left)], [pa.array(right)])
    strange, others, more = matched_codes([pa.array([*left, 2**63 - 1])], [pa.array(right)])
    assert np.array_equal(of_left[:, None] == of_right, left[:, None] == right) and count <= 6_000
    assert np.array_equal(strange[:-1, None] == others, left[:, None] == right) and more <= 2_001


def test_texts_too_long_for_one_array_match_those_of_a_short_one() -> None:
    left, right, count = matched_codes([pa.array(["a", None, "b"], pa.large_string())], [pa.array(["b", None])])
    assert [left.tolist(), right.tolist(), count] == [[-1, 1, 0], [0, 1], 2]


def test_a_key_of_which_the_last_part_is_missing_on_one_side_matches_no_other() -> None:
    """One less than the number of the pair (b, x) would be that of (a, z)."""
    left = [pa.array(["a", "a", "b"]), pa.array(["y", "z", "y"])]
    of_left, of_right, _ = matched_codes(left, [pa.array(["b", "a", "b", "c"]), pa.array(["x", "x", "y", "z"])])
    assert of_right.tolist() == [-1, -1, int(of_left[2]), -1]


def test_numbers_of_pairs_of_many_keys_find_room() -> None:
    """More pairs than 32 bits tell apart; the numbers of one column have 32."""
    numbers = pa.array(np.arange(70_000) * 5_000)
    of_left, of_right, count = matched_codes([numbers, numbers], [numbers, numbers])
    assert count == 70_000 and np.array_equal(of_left, of_right)
