"""Rows that are read one at a time: as they are, with few plans, and nothing read ahead that costs or that fails."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.api import single_row_access_and_recent_row_cache
from sframe_spark.api.single_row_access_and_recent_row_cache import MAX_RANGE_BYTES, MAX_RANGE_ROWS, MAX_RANGES

ROWS = 3 * MAX_RANGE_ROWS + 5


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are read."""
    found: list[tuple[int, int]] = []
    rows_of = single_row_access_and_recent_row_cache.rows_of

    def noted(node: Any, start: int, stop: int, **options: Any) -> Any:
        found.append((start, stop))
        return rows_of(node, start, stop, **options)

    monkeypatch.setattr(single_row_access_and_recent_row_cache, "rows_of", noted)
    return found


COLUMNS: dict[str, Callable[[], SArray]] = {
    "memory": lambda: SArray(list(range(ROWS))),
    "lazy": lambda: SArray.from_sequence(ROWS) * 1,
    "filtered": lambda: SArray.from_sequence(-5, ROWS)[SArray.from_sequence(-5, ROWS) >= 0],
}


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("order", ["forwards", "backwards", "at random"])
def test_each_row_is_read_as_it_is_with_few_plans(make: Callable[[], SArray], order: str, ranges: list[tuple[int, int]]) -> None:
    column = make()
    numbers = list(range(ROWS))
    if order == "at random":
        numbers = random.Random(5).sample(numbers, 2000)
    for number in reversed(numbers) if order == "backwards" else numbers:
        assert column[number] == number
    assert column[-1] == ROWS - 1 and len(ranges) < 40


def test_a_row_alone_is_read_alone(ranges: list[tuple[int, int]]) -> None:
    assert SArray.from_sequence(10**9)[5 * 10**8] == 5 * 10**8
    column = SArray.from_sequence(10**9)
    for number in range(0, 10**9, 10**8):
        assert column[number] == number
    assert all(stop - start == 1 for start, stop in ranges)


def test_a_function_is_called_for_few_rows_that_nobody_asked_for() -> None:
    called: list[int] = []
    column = SArray(list(range(10_000))).apply(lambda value: called.append(value) or value + 1, dtype=int)
    for number in (9_000, 17, 5_000, 3):
        assert column[number] == number + 1
    assert called == [9_000, 17, 5_000, 3]
    for number in range(4, 100):
        assert column[number] == number + 1
    assert len(called) < 250 and len(set(called)) == len(called)


def test_what_fails_in_another_row_is_not_told_of_this_one() -> None:
    column = SArray(list(range(12))).apply(lambda value: 1 // (7 - value), dtype=int)
    assert [column[number] for number in range(7)] == [1 // (7 - number) for number in range(7)]
    with pytest.raises(ZeroDivisionError):
        column[7]
    assert column[8] == -1


def test_what_is_done_to_a_list_stays_with_the_user() -> None:
    frame = SFrame({"l": [["a"], ["b"]], "d": [{"k": 1}, {}], "n": [1, 2]})
    for _ in range(3):
        assert frame[0] == {"l": ["a"], "d": {"k": 1}, "n": 1} and frame["l"][1] == ["b"]
        frame[0]["l"].append("changed")
        frame[0]["d"]["changed"] = 1
    column = frame["l"]
    for _ in range(3):
        assert column[0] == ["a"]
        column[0].append("changed")


def test_a_frame_that_was_changed_gives_its_new_rows() -> None:
    frame = SFrame({"a": [1, 2]})
    assert frame[0] == {"a": 1}
    frame["b"] = ["x", "y"]
    assert frame[0] == {"a": 1, "b": "x"}
    frame.rename({"a": "c"}, inplace=True)
    assert frame[0] == {"c": 1, "b": "x"} and frame[True] == {"c": 2, "b": "y"}
    with pytest.raises(IndexError):
        frame[2]


def test_memory_is_bounded_by_bytes() -> None:
    text = "x" * (MAX_RANGE_BYTES // 4)
    column = SArray([text] * 40)
    for number in range(40):
        assert column[number] == text
        kept = [row for rows in column._recent_rows()._ranges[1].values() for row in rows]
        assert len(kept) <= 4 * MAX_RANGES


def test_threads_read_one_column() -> None:
    column = SArray([str(number) for number in range(3000)])
    wrong: list[tuple[int, str]] = []

    def read(seed: int) -> None:
        chosen = random.Random(seed)
        for _ in range(40):
            start = chosen.randrange(2900)
            wrong.extend((number, column[number]) for number in range(start, start + chosen.randrange(100)) if column[number] != str(number))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
