"""What would be a surprise without an error gives a warning, of the user's line."""

from __future__ import annotations

import datetime
import operator
import warnings
from typing import Any

import pytest

from sframe_spark import SArray
from sframe_spark.errors import NeverEqualWarning, SetOrderWarning

DAY = datetime.datetime(2024, 1, 31)
COLUMNS = {"int": [5, None], "float": [5.0, None], "str": ["5", None], "datetime": [DAY, None], "list": [["a"], None], "dict": [{"a": 1}, None]}
VALUES = {"int": 5, "float": 5.0, "str": "5", "datetime": DAY, "list": ["a"], "dict": {"a": 1}}
ON_ONE_SCALE = {"int", "float", "datetime"}


@pytest.mark.parametrize("other", VALUES)
@pytest.mark.parametrize("kind", COLUMNS)
def test_types_that_are_never_equal_are_warned_of(kind: str, other: str) -> None:
    column = SArray(COLUMNS[kind])
    may_be_equal = kind == other or {kind, other} <= ON_ONE_SCALE
    for value in (VALUES[other], SArray(COLUMNS[other])):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            equal, different = column == value, column != value
        assert [(warning.category, warning.filename) for warning in warned] == [] if may_be_equal else [(NeverEqualWarning, __file__)] * 2
        # The answers are those of Turi Create.
        missing = [0, int(isinstance(value, SArray))]
        assert may_be_equal or (list(equal), list(different)) == (missing, [1 - one for one in missing])


@pytest.mark.filterwarnings("error::sframe_spark.errors.NeverEqualWarning")
@pytest.mark.parametrize("kind", COLUMNS)
def test_none_is_compared_with_anything(kind: str) -> None:
    for compare in (operator.eq, operator.ne):
        assert sorted(compare(SArray(COLUMNS[kind]), None)) == [0, 1]


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (
            [5],
            "5",
            "never equal to '5', which is str: compare with values of int, or convert the column with astype(str)",
        ),
        (["5"], 5, "compare with values of str, or convert the column with astype(int)"),
        ([DAY], "2024-01-31", "compare with datetime.datetime(2024, 1, 31)"),
        ([5], SArray(["5"]), "never equal to the values of another column, which is str"),
    ],
)
def test_the_remedy_is_told(column: list[Any], value: Any, told: str) -> None:
    with pytest.warns(NeverEqualWarning) as warned:
        _ = SArray(column) != value
    assert told in str(warned[0].message)


@pytest.mark.parametrize(("made", "kind"), [({1, 2}, "array"), (frozenset("a"), "list")])
def test_sets_have_no_order(made: Any, kind: str) -> None:
    with pytest.warns(SetOrderWarning, match=f"become values of class {kind} in any order: return sorted") as warned:
        SArray([1, 2]).apply(lambda _: made)
    assert len(warned) == 1 and warned[0].filename == __file__


@pytest.mark.filterwarnings("error::sframe_spark.errors.SetOrderWarning")
def test_a_type_that_is_given_is_known() -> None:
    assert list(SArray([1]).apply(lambda _: {3}, list)) == [[3]]
    assert list(SArray([1]).apply(lambda _: sorted({3, 1}))) == [SArray([[1, 3]])[0]]
