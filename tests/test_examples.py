"""What the normal run holds of a matrix: each value of each axis, or the matrix is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.examples import part, square


def normal(parameters: list[Any]) -> list[Any]:
    return [values for values in parameters if not hasattr(values, "marks")]


def test_a_square_holds_each_value_and_the_campaign_the_rest() -> None:
    found = square(2, "abc", [True, False], [None, 0])
    assert len(found) == 12 and len(normal(found)) == 6
    assert [set(values) for values in zip(*normal(found), strict=True)] == [set("abc"), {True, False}, {None, 0}]


def test_a_square_that_would_leave_a_value_out_is_refused() -> None:
    """Of seven values, two and two, every fourth leaves out the second and the sixth."""
    with pytest.raises(ValueError, match=r"\['b', 'f'\] would not run: take one of fewer than 4"):
        square(4, "abcdefg", [True, False], [None, 0])


def test_seeds_need_not_all_run() -> None:
    assert len(normal(square(4, range(60), [True, False]))) == 30
    assert normal(part(range(6), 3)) == [0, 3]
