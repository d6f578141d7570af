"""Messages arrive whole, and nobody waits for a process that has ended, whoever else has its end open."""

from __future__ import annotations

import os
import threading

import pytest

from sframe_spark.process.python_worker_pool_and_message_channel import FIRST_NUMBER, POLL_SECONDS, Channel, above_streams, open_pair

LONG = os.urandom(5_000_000)


def test_messages_of_any_length_arrive_in_order() -> None:
    here, number = open_pair()
    there, found = Channel(number), []
    reader = threading.Thread(target=lambda: found.extend(there.receive() for _ in range(4)))
    reader.start()
    for message in (b"", LONG, b"short", LONG):
        here.send(message, lambda: False)
    reader.join()
    assert found == [b"", LONG, b"short", LONG]
    here.close()
    with pytest.raises(EOFError):
        there.receive()
    with pytest.raises(ConnectionError):
        there.send(b"nobody listens")
    there.close()
    there.close()
    with pytest.raises(ConnectionError):
        there.receive()


@pytest.mark.parametrize("is_reading", [True, False])
def test_who_waits_for_nobody_is_told_though_the_other_end_is_open(is_reading: bool) -> None:
    here, number = open_pair()
    asked = []

    def is_over() -> bool:
        asked.append(True)
        return len(asked) > 2

    with pytest.raises(ConnectionError):
        here.receive(is_over) if is_reading else here.send(LONG, is_over)
    assert len(asked) == 3
    os.close(number)
    here.close()


def test_what_was_sent_before_the_end_is_read() -> None:
    here, number = open_pair()
    there = Channel(number)

    def is_over() -> bool:
        there.send(b"the last words")
        return True

    assert here.receive(is_over) == b"the last words"
    with pytest.raises(ConnectionError):
        here.receive(lambda: True)
    here.close()
    there.close()


def test_a_wait_can_be_given_up() -> None:
    here, number = open_pair()

    def unwanted() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        here.receive(unwanted)
    os.close(number)
    here.close()
    assert POLL_SECONDS < 1


def test_files_have_no_numbers_of_standard_streams() -> None:
    read, write = os.pipe()
    assert (above_streams(read), above_streams(write)) == (read, write)
    os.close(write)
    before = os.dup(0)
    try:
        # As if the program had closed its standard input.
        os.dup2(read, 0)
        other = above_streams(0)
        assert other >= FIRST_NUMBER and not os.get_inheritable(other)
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(0)
        os.close(other)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(read)
