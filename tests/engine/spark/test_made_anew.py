"""A query that left out numbers is made anew with all of them; of the first nothing is seen, whatever becomes of the second."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.engine.spark import query
from sframe_spark.errors import ExecutionError, NumbersLeftOutError

LEFT_OUT = NumbersLeftOutError("left out")


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each query that is made has all numbers: that stands for the query itself."""
    found: list[bool] = []

    def lower(root: Any, every_number: bool = True) -> bool:
        found.append(every_number)
        return every_number

    monkeypatch.setattr(query, "lower", lower)
    return found


def made(outcomes: dict[bool, Any]) -> Any:
    """What is made of a plan, where a query without all numbers, and one with them, gives or raises something."""

    def action(every_number: Any) -> Any:
        outcome = outcomes[every_number]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return query.made_of(SFrame({"a": [1]})._node, action)


def test_only_numbers_that_were_left_out_ask_for_another_query(lowered: list[bool]) -> None:
    assert (made({False: 1}), lowered) == (1, [False])
    lowered.clear()
    assert (made({False: LEFT_OUT, True: 2}), lowered) == (2, [False, True])
    for error in (ExecutionError("no"), KeyboardInterrupt()):
        lowered.clear()
        with pytest.raises(type(error)):
            made({False: error})
        assert lowered == [False]


@pytest.mark.parametrize("error", [ExecutionError("no"), KeyboardInterrupt(), MemoryError()])
def test_errors_of_the_second_query_show_nothing_of_the_first(error: BaseException, lowered: list[bool]) -> None:
    with pytest.raises(type(error)) as told:
        made({False: LEFT_OUT, True: error})
    assert lowered == [False, True]
    assert "NumbersLeftOutError" not in "".join(traceback.format_exception(told.value))
