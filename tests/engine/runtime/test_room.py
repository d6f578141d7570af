"""Threads share room in memory: together they never take more than there is, unless one alone does."""

from __future__ import annotations

import threading
import time

import pytest

from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import BlockingReservation
from sframe_spark.errors import CancelledError
from sframe_spark.process.threads import call_cancellable, in_threads

SIZE = 100


def test_what_finds_too_little_waits_and_what_takes_more_than_all_is_alone() -> None:
    room, taken, seen, lock = BlockingReservation(SIZE), list[int](), list[list[int]](), threading.Lock()

    def work(size: int) -> None:
        with room.taken(size):
            with lock:
                taken.append(size)
                seen.append(list(taken))
            time.sleep(0.002)
            with lock:
                taken.remove(size)

    in_threads(work, [30, 70, 1, 99, 250, 50, 50, 0, 100, 40] * 4, 8)
    assert len(seen) == 40 and any(len(sizes) > 1 for sizes in seen)
    # What takes nothing is beside anything.
    assert all(sum(sizes) <= SIZE or len([size for size in sizes if size]) == 1 for sizes in seen)


def test_room_is_given_back_whatever_ends_the_work() -> None:
    room = BlockingReservation(SIZE)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), room.taken(SIZE):
            1 / 0  # noqa: B018
    with room.taken(SIZE):
        pass


def test_who_waits_for_room_is_ended_by_ctrl_c() -> None:
    room, cancelled, errors = BlockingReservation(SIZE), threading.Event(), list[BaseException]()

    def wait() -> None:
        with room.taken(1):
            pass

    def run() -> None:
        try:
            call_cancellable(cancelled.is_set, wait)
        except CancelledError as error:
            errors.append(error)

    with room.taken(SIZE):
        waiting = threading.Thread(target=run)
        waiting.start()
        cancelled.set()
        waiting.join(5)
        assert not waiting.is_alive() and len(errors) == 1
    with room.taken(SIZE):
        pass
