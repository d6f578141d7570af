"""What memos keep: without copies of everything, never more than belongs in memory, and never half written."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SArray
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.udf import result_caching_size_limits_and_storage as udf_results
from sframe_spark.udf.result_caching_size_limits_and_storage import CallMemo

ROWS = 400


class LongTexts:
    """A function that gives 10 KB for a number and counts its calls."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def __call__(self, value: int) -> str:
        self.counts[value] += 1
        return str(value).rjust(10_000, ".")


def test_a_few_more_rows_do_not_copy_all_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    b = SArray(range(ROWS)).apply(LongTexts(), dtype=str)
    list(b.head(300))
    copied: list[int] = []

    def counted(first: Chunk, second: Chunk) -> Chunk:
        copied.append(first.size + second.size)
        return joined(first, second)

    monkeypatch.setattr(udf_results, "joined", counted)
    found = [b[number] for number in range(ROWS - 1, 300, -1)]
    assert [int(text.strip(".")) for text in found] == list(range(ROWS - 1, 300, -1))
    # Each is copied a few times, among its like; all that was known before at most once.
    assert sum(copied) < 300 * 10_000 + 99 * 10_000 * 10
    assert [int(text.strip(".")) for text in b] == list(range(ROWS))


@pytest.mark.parametrize("steps", [(1,) * 60, (40, 3, 3, 9, 5), (1, 2, 30, 1, 26)])
def test_rows_in_any_order_with_any_number_of_results(steps: tuple[int, ...]) -> None:
    generator = np.random.default_rng(len(steps))
    memo, asked = CallMemo(), Counter[int]()
    order = generator.permutation(60)

    def answer(numbers: np.ndarray) -> list[int]:
        def call(places: np.ndarray) -> tuple[Chunk, np.ndarray]:
            asked.update(numbers[places].tolist())
            counts = numbers[places] % 3
            return Chunk.of([pa.array(np.repeat(numbers[places], counts))]), counts

        return memo.completed(numbers, call).columns[0].to_pylist()

    start = 0
    for step in steps:
        numbers = np.concatenate([order[start : start + step], generator.choice(order[: start + step], 5)])
        assert answer(numbers) == np.repeat(numbers, numbers % 3).tolist()
        start += step
    assert answer(np.arange(60)) == np.repeat(np.arange(60), np.arange(60) % 3).tolist()
    assert set(asked.values()) == {1}
    everything = memo.everything()
    assert everything is not None and everything.numbers.tolist() == list(range(60)) and everything.rows.rows == 60


def test_results_too_large_for_memory_are_materialised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udf_results, "MAX_BYTES", 1 << 20)
    calls = LongTexts()
    b = SArray(range(ROWS)).apply(calls, dtype=str)
    assert [int(text.strip(".!")) for text in b + "!"] == list(range(ROWS))
    # A result as any other, which goes to disk where it is too large.
    assert b._node.operator.is_source and not b._node.calls
    assert [int(text.strip(".")) for text in b] == list(range(ROWS))
    assert set(calls.counts.values()) == {1}


def test_first_rows_too_large_for_memory_are_materialised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udf_results, "MAX_BYTES", 1 << 18)
    calls = LongTexts()
    b = SArray(range(ROWS)).apply(calls)
    assert len(b[200]) == 10_000 and not b._node.calls
    assert [int(text.strip(".")) for text in b] == list(range(ROWS))
    assert set(calls.counts.values()) == {1}


def test_a_memo_is_never_seen_half_written() -> None:
    memo = CallMemo()
    twice = lambda numbers: lambda places: (Chunk.of([pa.array(numbers[places] * 2)]), None)  # noqa: E731
    first = np.arange(5)
    memo.completed(first, twice(first))
    seen = []

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        # Whatever is being written, another thread may look now.
        frame.f_trace_opcodes = frame.f_code.co_filename == udf_results.__file__
        if event == "opcode" and frame.f_code.co_name == "record":
            sys.settrace(None)
            wanted = np.array([7, 1, 5, 0])
            seen.append(memo.sent().completed(wanted, twice(wanted)).columns[0].to_pylist())
            sys.settrace(look)
        return look

    more = np.arange(5, 9)
    before = sys.gettrace()
    sys.settrace(look)
    try:
        memo.completed(more, twice(more))
    finally:
        sys.settrace(before)
    assert len(seen) > 20 and all(values == [14, 2, 10, 0] for values in seen)
