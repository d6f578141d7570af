"""Threads that work on what comes next, while who asked for it goes through what they made."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from sframe_spark import config
from sframe_spark.process.threads import in_threads_ahead


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate() if "ahead" in thread.name}


def have_ended() -> bool:
    until = time.monotonic() + 5
    while names() and time.monotonic() < until:
        time.sleep(0.01)
    return not names()


@pytest.mark.parametrize("threads", [0, 1, 2, 7])
@pytest.mark.parametrize("number", [0, 1, 2, 3, 50])
def test_results_come_in_order_whoever_is_quicker(threads: int, number: int) -> None:
    def work(item: int) -> int:
        time.sleep(0.004 if item % 3 == 0 else 0)
        return -item

    assert list(in_threads_ahead(work, range(number), threads)) == [-item for item in range(number)]
    assert have_ended()


def test_several_work_at_a_time_and_a_few_items_are_taken_ahead() -> None:
    meeting, taken = threading.Barrier(3, timeout=20), list[int]()

    def items() -> Iterator[int]:
        for item in range(30):
            taken.append(item)
            yield item

    def work(item: int) -> int:
        meeting.wait()
        return item

    for item in in_threads_ahead(work, items(), 3):
        assert len(taken) <= item + 1 + 3 + 2


def test_a_single_item_is_worked_on_by_who_asks() -> None:
    assert list(in_threads_ahead(lambda _: threading.current_thread(), [1], 4)) == [threading.current_thread()]
    assert threading.current_thread() not in list(in_threads_ahead(lambda _: threading.current_thread(), [1, 2], 4))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("fails", ["work", "items"])
def test_an_error_comes_where_its_result_would(fails: str, threads: int) -> None:
    """Also where somebody further on fails sooner."""

    def items() -> Iterator[int]:
        yield from range(20)
        raise KeyError("no more items")

    def work(item: int) -> int:
        time.sleep(0.02 if item == 5 else 0)
        if item >= 5 and fails == "work":
            raise ValueError(f"item {item}")
        return item

    found = list[int]()
    with pytest.raises(ValueError if fails == "work" else KeyError, match="item 5" if fails == "work" else "no more"):
        found.extend(in_threads_ahead(work, items(), threads))
    assert found == list(range(5 if fails == "work" else 20)) and have_ended()


def test_whoever_stops_asking_leaves_no_thread() -> None:
    rows = in_threads_ahead(lambda item: item, iter(int, 1), 3)
    assert next(rows) == 0 and names()
    del rows
    gc.collect()
    assert have_ended()


def test_an_interrupt_ends_the_wait_and_what_is_set_for_a_while_is_so_in_threads() -> None:
    def work(item: int) -> int:
        if item == 4:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.2)
        return config.batch_rows

    with config.using(batch_rows=17):
        found = list[int]()
        with pytest.raises(KeyboardInterrupt):
            for rows in in_threads_ahead(work, range(1000), 2):
                found.append(rows)
        assert set(found) == {17} and have_ended()
        assert list(in_threads_ahead(work, [1, 2, 3], 2)) == [17] * 3
