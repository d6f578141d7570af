"""Users' functions in plans that read rows beside each other: batches stay batches where results are remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.execution.action_planning_and_function_call_claims import takes_few
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import needs_one_batch
from sframe_spark.expressions.python_function import PythonFunction

ROWS = 40_000

Work = Callable[[SArray, Callable[[int], int]], tuple[list[int], list[int]]]


def beside_running(s: SArray, function: Callable[[int], int]) -> tuple[list[int], list[int]]:
    sf = SFrame({"u": s.apply(function, dtype=int), "c": s.cumulative_max()})
    sf.materialize()
    return list(sf["u"]), list(sf["c"])


def above_filtered(s: SArray, function: Callable[[int], int]) -> tuple[list[int], list[int]]:
    u = s[s >= 0].apply(function, dtype=int)
    u.materialize()
    return list(u), list(s)


def below_running(s: SArray, function: Callable[[int], int]) -> tuple[list[int], list[int]]:
    u = s.apply(function, dtype=int)
    sf = SFrame({"u": u, "c": u.cumulative_max()})
    sf.materialize()
    return list(sf["u"]), [value // 2 for value in sf["c"]]


def below_rolling(s: SArray, function: Callable[[int], int]) -> tuple[list[int], list[int]]:
    u = s.apply(function, dtype=int)
    sf = SFrame({"u": u, "c": u.rolling_max(-5, 0)})
    sf.materialize()
    return list(sf["u"]), [0 if value is None else value // 2 for value in sf["c"]]


@pytest.mark.parametrize("work", [beside_running, above_filtered, below_running, below_rolling])
def test_rows_beside_each_other_are_no_reason_for_one_batch(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    counts: Counter[int] = Counter()
    kernel = PythonFunction.kernel

    def seen(self: PythonFunction, arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
        sizes.append(rows)
        return kernel(self, arguments, types, parameters, rows)

    def twice(value: int) -> int:
        counts[value] += 1
        return 2 * value

    monkeypatch.setattr(PythonFunction, "kernel", seen)
    with config.using(batch_bytes=32 << 10):
        values, beside = work(SArray(range(ROWS)), twice)
    assert values == [2 * value for value in range(ROWS)] and beside[5:] == list(range(5, ROWS))
    assert set(counts.values()) == {1} and len(counts) == ROWS
    assert max(sizes) <= costs.ROWS_OF_FIRST_BATCH * costs.MAX_GROWTH_OF_BATCH


@pytest.mark.usefixtures("called_functions")
def test_results_that_nobody_remembers_are_read_in_one_batch() -> None:
    s = SArray(range(10))
    assert needs_one_batch(s.apply(lambda value: value, dtype=int).rolling_max(-5, 0)._node)
    assert not needs_one_batch(s.rolling_max(-5, 0).apply(lambda value: value, dtype=int)._node)


def test_only_few_first_rows_are_looked_for_on_the_driver() -> None:
    s = SArray(range(ROWS))
    assert takes_few(s.head(costs.MAX_FIRST_ROWS)._node)
    assert not takes_few(s.head(costs.MAX_FIRST_ROWS + 1)._node)
