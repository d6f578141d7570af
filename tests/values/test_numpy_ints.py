"""Ints of numpy's classes are the numbers that they are, beside floats too: Arrow takes those without a sign for others."""

from __future__ import annotations

import array
import itertools
from typing import Any

import numpy as np
import pytest

from sframe_spark.types import ARRAY, FLOAT
from sframe_spark.values.python_to_arrow import encode, infer_type

CLASSES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.longlong, np.ulonglong)
BESIDE: tuple[Any, ...] = (0.5, -2.5, None, 3, np.float32(0.25))


def numbers_of(python_class: type) -> list[Any]:
    """The ends of a class, and what is near those of the ints that floats are."""
    limits = np.iinfo(python_class)
    near = [int(limits.max) - 2**53 + step for step in (-1, 0, 1)] + [2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63]
    inside = [number for number in near if int(limits.min) <= number <= int(limits.max)]
    return [python_class(number) for number in (int(limits.min), -1 if limits.min < 0 else 1, int(limits.max) - 1, int(limits.max), *inside)]


@pytest.mark.parametrize("python_class", CLASSES)
def test_they_are_floats_beside_floats(python_class: type) -> None:
    for number, other in itertools.product(numbers_of(python_class), BESIDE):
        expected = [float(int(number)), None if other is None else float(other)]
        assert encode([number, other], FLOAT).to_pylist() == expected
        assert encode([other, number], infer_type([0.5, number])).to_pylist() == expected[::-1]
        if other is not None:
            assert encode([[number, other], array.array("d", [1.0])], ARRAY).to_pylist() == [expected, [1.0]]
            assert encode([[number, other], None], ARRAY).to_pylist() == [expected, None]


@pytest.mark.parametrize("python_class", CLASSES)
def test_alone_they_are_ints_where_they_fit(python_class: type) -> None:
    for number in numbers_of(python_class):
        found = infer_type([number])
        assert encode([number], found).to_pylist() == [int(number) if int(number) < 2**63 else float(int(number))]
