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
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("sign", [1, -1])
def test_an_int_beyond_the_largest_float_is_told_by_our_error(make: Callable[[int], Any], sign: int) -> None:
    with pytest.raises(BeyondRangeError, match=r"an int of \d+ bits is beyond the largest float: give its text") as caught:
        make(sign * HUGE)
    assert isinstance(caught.value, SFrameError)
    assert isinstance(caught.value, OverflowError)


def test_ints_beyond_64_bits_are_floats() -> None:
    assert list(SArray([[1, "a", 2**70]])) == [[1, "a", 2.0**70]]
