"""Where floats, texts and constants meet the edges of 64-bit ints: as the reference has it, or exactly."""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.errors import ConversionError, InexactNumberWarning, InvalidArgumentError, UnsupportedOperationError

LEAST, GREATEST = -(2**63), 2**63 - 1
FLOATS: dict[float, int | None] = {
    float(GREATEST): LEAST,  # 9223372036854775807.0 is 2**63
    2.0**63: LEAST,
    math.nextafter(2.0**63, 0): 9223372036854774784,
    -(2.0**63): LEAST,
    math.nextafter(-(2.0**63), -math.inf): LEAST,
    math.nextafter(-(2.0**63), 0): -9223372036854774784,
    2.0**53 + 2: 2**53 + 2,
    -0.5: 0,
    math.inf: LEAST,
    -math.inf: LEAST,
    1e300: LEAST,
    math.nan: None,
}
"""What the reference makes of floats: the smallest int where there is no int of 64 bits."""
TEXTS = {
    str(GREATEST): GREATEST,
    str(GREATEST + 1): None,
    str(LEAST): LEAST,
    str(LEAST - 1): None,
    f"+{GREATEST}": GREATEST,
    "9223372036854775807.0": None,
}


def cast() -> list[Any]:
    """All of the floats, cast."""
    return list(SArray(list(FLOATS)).astype(int))


def test_floats_as_ints() -> None:
    assert cast() == list(FLOATS.values())
    assert [next(iter(SArray([value], float).astype(int))) for value in FLOATS] == list(FLOATS.values())


@pytest.mark.spark
def test_floats_as_ints_on_spark(everything_on_spark: None) -> None:
    assert cast() == list(FLOATS.values())
    assert list(SArray(list(TEXTS)).astype(int, undefined_on_failure=True)) == list(TEXTS.values())
    column = SArray([LEAST, 0, GREATEST])
    assert [list(compare(column, 2**63)) for compare in COMPARISONS] == [[compare(value, 2**63) for value in column] for compare in COMPARISONS]
    assert list(column.clip(LEAST - 1, 2**63)) == list(column)


def test_texts_as_ints(tmp_path: Path) -> None:
    assert list(SArray(list(TEXTS)).astype(int, undefined_on_failure=True)) == list(TEXTS.values())
    for text, number in TEXTS.items():
        if number is None:
            with pytest.raises(ConversionError, match="cannot be cast to int"):
                list(SArray([text]).astype(int))
    kinds = {str(GREATEST): int, str(GREATEST + 1): str, str(LEAST): int, str(LEAST - 1): str, "9223372036854775807.0": float}
    for text, kind in kinds.items():
        path = tmp_path / "numbers.csv"
        path.write_text(f"a\n1\n{text}\n")
        column = SFrame.read_csv(str(path), verbose=False)["a"]
        assert (column.dtype, list(column)) == (kind, [kind("1"), kind(text)])


COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("constant", [2**63, 2**64, LEAST - 1, -(2**70), GREATEST, LEAST])
def test_ints_compared_with_constants_beyond_them(constant: int) -> None:
    values = [LEAST, LEAST + 1, 0, GREATEST - 1, GREATEST]
    for compare in COMPARISONS:
        assert list(compare(SArray(values), constant)) == [int(compare(value, constant)) for value in values]
        assert list(compare(SArray([*values, None]), constant))[:5] == [int(compare(value, constant)) for value in values]


def test_limits_beyond_ints() -> None:
    column = SArray([LEAST, 0, GREATEST])
    assert list(column.clip(0, 2**63)) == [0, 0, GREATEST]
    assert list(column.clip(LEAST - 1, 5)) == [LEAST, 0, 5]
    for limits in ((2**63, 2**64), (-(2**70), LEAST - 1)):
        with pytest.raises(UnsupportedOperationError, match="no int of 64 bits"):
            column.clip(*limits)
    with pytest.raises(InvalidArgumentError, match="more than 64 bits"):
        SArray.from_sequence(GREATEST, GREATEST + 2)
    assert list(SArray.from_sequence(GREATEST - 1, GREATEST + 1)) == [GREATEST - 1, GREATEST]


def test_constants_and_sums() -> None:
    """Constants beyond 64 bits are floats; sums of ints wrap around, as in the reference."""
    with pytest.warns(InexactNumberWarning, match=str(LEAST - 1)):
        assert list(SArray([2**63, LEAST - 1])) == [2.0**63, -(2.0**63)]
    assert list(SArray([GREATEST, LEAST])) == [GREATEST, LEAST]
    column = SArray([GREATEST, 1])
    assert column.sum() == LEAST
    assert list(SFrame({"a": column}).groupby([], {"sum": aggregate.SUM("a")})["sum"]) == [LEAST]
    assert list(column.cumulative_sum()) == [GREATEST, LEAST]
    assert list(column.is_in([2**63, GREATEST])) == [1, 0]
