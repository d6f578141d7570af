"""Values of Python's as columns hold them."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import BeyondRangeError, SFrameError

# Python itself shows no int of so many digits.
HUGE = 10**5000

MADE: dict[str, Callable[[int], Any]] = {
    "ints": lambda huge: SArray([1, huge]),
    "floats": lambda huge: SArray([1.5, huge]),
    "as floats": lambda huge: SArray([huge], dtype=float),
    "as texts": lambda huge: SArray([huge], dtype=str),
    "array": lambda huge: SArray([[1.0, huge]], dtype=array.array),
    "in a list": lambda huge: SArray([[1, "a", huge]]),
    "in a list of a list": lambda huge: SArray([[[1, huge]]]),
    "in a dict": lambda huge: SArray([{"a": [huge]}]),
    "a key": lambda huge: SArray([{huge: 1}]),
    "a constant": lambda huge: SArray.from_const(huge, 2),
    "a frame": lambda huge: SFrame({"a": [huge]}),
    "compared": lambda huge: SArray([1.5]) < huge,
    "looked for": lambda huge: SArray([1, 2]).is_in([1, huge]),
    "looked for among floats": lambda huge: SArray([1.5]).is_in([huge]),
    "a lower limit": lambda huge: SArray([1, 2]).clip_lower(huge),
    "an upper limit": lambda huge: SArray([1.5]).clip_upper(huge),
    "both limits": lambda huge: SArray([1, 2]).clip(huge, huge),
    "limits of arrays": lambda huge: SArray([array.array("d", [1.0])]).clip(upper=huge),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("sign", [1, -1])
def test_an_int_beyond_the_largest_float_is_told_by_our_error(make: Callable[[int], Any], sign: int) -> None:
    with pytest.raises(BeyondRangeError, match=r"an int of \d+ bits is beyond the largest float: pass its text") as caught:
        make(sign * HUGE)
    assert isinstance(caught.value, SFrameError)
    assert isinstance(caught.value, OverflowError)


def test_ints_beyond_64_bits_are_floats() -> None:
    assert list(SArray([[1, "a", 2**70]])) == [[1, "a", 2.0**70]]


def test_a_key_that_no_dict_has_is_none_and_one_that_none_can_have_is_told() -> None:
    unpacked = SArray([{1: 2}]).unpack(limit=[1, 10**30])
    assert [list(column) for column in map(unpacked.__getitem__, unpacked.column_names())] == [[2], [None]]
    with pytest.raises(BeyondRangeError):
        SArray([{1: 2}]).unpack(limit=[1, 10**400])


@pytest.mark.parametrize("beside", [2**63, 2**64, 10**30, -(10**30), 1e300, 2.0**63, float("inf"), float("nan"), 0.5])
def test_ints_are_looked_for_with_all_their_digits_whatever_is_beside(beside: float) -> None:
    column = SArray([2**53 + 1, 2**53, 2**63 - 1, -(2**63), None])
    assert list(column.is_in([2**53, beside])) == [0, 1, 0, 0, 0]
    assert list(column.is_in([2.0**53, beside])) == [0, 1, 0, 0, 0]
    assert list(column.is_in([beside])) == [0, 0, 0, 0, 0]
