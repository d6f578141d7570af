"""Classes that users derive from frames and columns: attributes and arguments of their own, and what operations on them give."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import NoAttributeError


class Trades(SFrame):
    """A frame with an argument, an attribute, a property and a method of its own."""

    def __init__(self, data: Any, unit: str) -> None:
        super().__init__(data)
        self.unit = unit

    @property
    def total(self) -> Any:
        return self["lots"].sum()


class Lengths(SArray):
    def __init__(self, data: Any, unit: str) -> None:
        super().__init__(data)
        self.unit = unit


def test_attributes_of_classes_derived_from_frames() -> None:
    trades = Trades({"lots": [3, 1, 2]}, "kg")
    assert (trades.unit, trades.total, len(trades)) == ("kg", 6, 3)
    trades.unit = "t"
    trades.lots = "an attribute, not the column"
    assert trades.unit == "t" and list(trades["lots"]) == [3, 1, 2]
    del trades.unit
    with pytest.raises(AttributeError):
        trades.total = 5  # type: ignore[misc]
    with pytest.raises(AttributeError):
        trades.unit  # noqa: B018


def test_attributes_of_classes_derived_from_columns() -> None:
    lengths = Lengths([3, 1, 2], "m")
    lengths.unit = "km"
    assert (lengths.unit, lengths.sum()) == ("km", 6)
    assert type(Lengths.from_sequence(3)) is SArray


def test_operations_give_frames_and_columns() -> None:
    trades, lengths = Trades({"lots": [3, 1, 2]}, "kg"), Lengths([3, 1, 2], "m")
    trades["l"] = lengths
    frames = [
        trades.head(1),
        trades[1:],
        trades[trades["lots"] > 1],
        trades.sort("lots"),
        trades.append(trades),
        trades.copy(),
        copy.deepcopy(trades),
    ]
    assert {type(frame) for frame in frames} == {SFrame}
    assert {type(column) for column in (trades["l"], lengths + 1, lengths.sort(), lengths[lengths > 1], copy.copy(lengths))} == {SArray}
    assert Trades(trades, "g").unit == "g" and list(trades["l"]) == [3, 1, 2]


def test_errors_of_properties_are_their_own() -> None:
    class Broken(SFrame):
        @property
        def rate(self) -> Any:
            return self.nothing_of_this_name

    class BrokenColumn(SArray):
        @property
        def rate(self) -> Any:
            return self.nothing_of_this_name

    for made in (Broken({"a": [1]}), BrokenColumn([1])):
        with pytest.raises(AttributeError, match="nothing_of_this_name"):
            made.rate  # noqa: B018
        assert not hasattr(made, "other")


def test_a_class_that_asks_before_its_frame_is_made() -> None:
    class Early(SFrame):
        def __init__(self, data: Any) -> None:
            self.early = getattr(self, "early", 1)
            super().__init__(data)

    assert Early({"a": [1]}).early == 1


@pytest.mark.parametrize("made", [SFrame({"a": [1]}), SArray([1])], ids=["frame", "column"])
def test_frames_and_columns_themselves_have_no_others(made: Any) -> None:
    with pytest.raises(NoAttributeError):
        made.unit = "kg"
