"""Parts of runs of rows are put together many at a time, in their order, and never more bytes of them than they may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import attrs
import pytest

from sframe_spark.engine import costs
from sframe_spark.engine.runtime import row_range_tasks_and_sequential_states as row_range_tasks
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import EarlyStop, combined_parts, part_of_range
from sframe_spark.errors import UserFunctionError
from sframe_spark.planner.node_facts import Facts
from sframe_spark.planner.operator import TOO_LARGE, DecomposableOperator


@attrs.frozen
class Joined(DecomposableOperator):
    """Parts are texts that are put end to end; what is held at a time is told."""

    name: ClassVar[str] = "joined_texts"
    shrinks: bool = False
    held: list[int] = attrs.field(factory=list, eq=False)

    def part_of(self, rows: str, facts: Sequence[Facts]) -> str:
        """Texts are their own parts."""
        return rows

    def combined(self, first: str, second: str, facts: Sequence[Facts]) -> str:
        """Both."""
        return max(first, second) if self.shrinks else first + second

    def combined_all(self, parts: Sequence[str], facts: Sequence[Facts]) -> str:
        """All, and how many bytes they have."""
        self.held.append(sum(map(len, parts)))
        return super().combined_all(parts, facts)

    def bytes_of_part(self, part: str) -> float:
        """Letters."""
        return len(part)


@pytest.mark.parametrize(
    "count",
    [
        1,
        2,
        costs.PARTIAL_STATES_MERGED_AT_A_TIME - 1,
        costs.PARTIAL_STATES_MERGED_AT_A_TIME,
        costs.PARTIAL_STATES_MERGED_AT_A_TIME + 1,
        3 * costs.PARTIAL_STATES_MERGED_AT_A_TIME + 5,
    ],
)
def test_parts_are_put_together_in_their_order(count: int) -> None:
    parts = [f"{number} " for number in range(count)]
    operator = Joined()
    assert combined_parts(operator, parts, []) == "".join(parts)
    # As often as there are sixty-three more, and once at the end.
    assert len(operator.held) <= 2 + count // (costs.PARTIAL_STATES_MERGED_AT_A_TIME - 1)


def test_no_parts_are_nothing() -> None:
    assert combined_parts(Joined(), [], []) is None


def test_parts_that_are_alike_are_held_up_to_their_bytes() -> None:
    operator = Joined(shrinks=True)
    assert combined_parts(operator, ["x" * 10] * 1_000, [], 100) == "x" * 10
    # One more than fit is there when that is seen.
    assert max(operator.held) <= 110


def test_parts_that_are_too_large_together_are_told_before_more_are_made() -> None:
    asked = []

    def parts() -> Iterator[Any]:
        for number in range(1_000):
            asked.append(number)
            yield "x" * 10

    assert combined_parts(Joined(), parts(), [], 100) is TOO_LARGE
    assert len(asked) == 11
    assert combined_parts(Joined(), ["x" * 101], [], 100) is TOO_LARGE
    assert combined_parts(Joined(), ["x", TOO_LARGE, "x"], [], 100) is TOO_LARGE
    assert combined_parts(Joined(), ["x" * 50, "x" * 50], [], 100) == "x" * 100


def test_where_the_part_of_one_task_is_too_large_the_others_make_none(monkeypatch: Any) -> None:
    made: list[Any] = []

    def chunks_of(task: Any, coded: Any) -> Iterator[Any]:
        made.append(task.size)
        yield "x" * task.size

    monkeypatch.setattr(row_range_tasks, "chunks_of", chunks_of)
    early_stop = EarlyStop()
    tasks = [SimpleNamespace(size=size, batch_rows=10, plan=SimpleNamespace(batch_bytes=100)) for size in (5, 101, 7)]
    works = [partial(part_of_range, task, Joined(), [], 100, early_stop) for task in tasks]
    assert [work() for work in works] == ["x" * 5, TOO_LARGE, TOO_LARGE]
    assert made == [5, 101]


@attrs.frozen
class Failing(DecomposableOperator):
    """One of a plug-in that fails, and spoils what it is given."""

    name: ClassVar[str] = "failing_parts"

    def combined(self, first: list[int], second: list[int], facts: Sequence[Facts]) -> list[int]:
        """Nothing, for threes."""
        first += second
        if 3 in second:
            raise ValueError("three")
        return first


def test_an_operator_that_fails_is_named_and_parts_stay_as_they_are() -> None:
    parts = [[1], [2], [4]]
    assert combined_parts(Failing(), parts, []) == [1, 2, 4]
    assert parts == [[1], [2], [4]]
    with pytest.raises(UserFunctionError, match="failing_parts"):
        combined_parts(Failing(), [[1], [3]], [])
