"""Lengths, domains and schemas as facts."""

from __future__ import annotations

import pytest

from sframe_spark.planner.node_facts import Facts, Length, RowDomain
from sframe_spark.types import INT, STR


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (Length.exactly(3), Length.exactly(3), True),
        (Length.exactly(3), Length.exactly(4), False),
        (Length.exactly(3), Length.unknown(), None),
        (Length.exactly(3), Length.unknown(at_most=2), False),
        (Length.exactly(3), Length.unknown(at_most=3), None),
        (Length.unknown(at_most=2), Length.unknown(at_most=3), None),
        (Length.unknown("token"), Length.unknown("token"), True),
        (Length.unknown("token"), Length.unknown("token", at_most=3), True),
        (Length.unknown("token"), Length.unknown("other"), None),
        (Length.unknown(), Length.unknown(), None),
    ],
)
def test_equality_of_lengths(first: Length, second: Length, answer: bool | None) -> None:
    assert first.provably_equals(second) is answer
    assert second.provably_equals(first) is answer


def test_an_unknown_length_equals_itself() -> None:
    length = Length.unknown()
    assert length.provably_equals(length) is True


def test_lengths_as_text() -> None:
    assert [str(length) for length in (Length.exactly(0), Length.exactly(7), Length.unknown(), Length.unknown(at_most=5))] == ["0", "7", "?", "<=5"]


def test_an_exact_length_bounds_itself() -> None:
    assert Length.exactly(4).at_most == 4


def test_domains_are_compared_by_identity() -> None:
    assert RowDomain() != RowDomain()
    first, second = Facts((INT,), Length.exactly(1)), Facts((INT,), Length.exactly(1))
    assert first.domain is not second.domain


def test_width_counts_columns() -> None:
    assert Facts((INT, STR, INT), Length.unknown()).width == 3
    assert Facts((), Length.unknown()).width == 0
