"""Runs of whole numbers, decoded many groups at a time, are what reading them bit by bit gives: every codec with every width, in any part."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sframe_spark.errors import BrokenPayload
from sframe_spark.turicreate.block_payload_reader import Payload
from sframe_spark.turicreate.number_datetime_and_vector_decoding import GROUP, WIDTHS, NumberRun
from tests.examples import examples
from tests.random_tables import number_bytes, run_bytes

ALL = 1 << 64
LENGTHS = (0, 1, 2, 3, 7, 8, 9, 127, 128, 129, 255, 256, 257, 300, 1000)


def read_slowly(content: bytes, count: int) -> tuple[list[int], int]:
    """Numbers of a run, one after the other, as the specification tells it; and how many bytes they took."""
    place, found = 0, list[int]()
    while count:
        numbers = min(count, GROUP)
        header = content[place]
        codec, bits = header & 3, WIDTHS[header >> 2]
        place += 1
        further = next((k for k in range(7) if not content[place] >> k & 1), 8)
        if further == 8:
            base, place = int.from_bytes(content[place + 1 : place + 9], "little"), place + 9
        else:
            base, place = int.from_bytes(content[place : place + further + 1], "little") >> (further + 1), place + further + 1
        steps = numbers - (codec != 0)
        size = (steps * bits + 7) // 8
        bitmap = int.from_bytes(content[place : place + size], "little")
        dropped = size * 8 - steps * bits if bits < 8 else 0
        packed = [bitmap >> (dropped + bits * number) & ((1 << bits) - 1) for number in range(steps)]
        place += size
        if not bits:
            found += [base] * numbers
        elif codec == 0:
            found += [(base + step) % ALL for step in packed]
        else:
            found.append(base)
            for step in packed:
                found.append((found[-1] + (step if codec == 1 else (step >> 1) ^ -(step & 1))) % ALL)
        count -= numbers
    return found, place


@pytest.mark.parametrize("codec", range(3))
@pytest.mark.parametrize("width", range(1, len(WIDTHS)))
def test_every_form_of_groups(codec: int, width: int) -> None:
    choose = random.Random(codec * 100 + width)
    for count in LENGTHS:
        content = b""
        for start in range(0, count, GROUP):
            numbers = min(GROUP, count - start)
            base = choose.choice((0, 1, 127, 128, 1 << 20, 1 << 34, 1 << 41, (1 << 49) - 1, 1 << 49, ALL - 1))
            size = ((numbers - (codec != 0)) * WIDTHS[width] + 7) // 8
            content += bytes([width << 2 | codec]) + number_bytes(base) + choose.randbytes(size)
        expected, used = read_slowly(content, count)
        payload = Payload(content + b"rest")
        run = NumberRun(payload, count)
        assert payload.place == used == len(content)
        assert run.values(0, count).tolist() == expected


@pytest.mark.parametrize("seed", range(examples(20, every=1)))
def test_any_part_of_a_run_of_mixed_groups(seed: int) -> None:
    choose = random.Random(seed)
    count = choose.choice((1, 127, 128, 129, 1000, 5000))
    runs = [[choose.randrange(1 << choose.choice((1, 3, 7, 15, 31, 63, 64))) for _ in range(count)], [choose.randrange(5)] * count]
    runs += [list(range(count)), [choose.randrange(3) - 1 for _ in range(count)]]
    for values in runs:
        for codec in range(3):
            run = NumberRun(Payload(run_bytes(values, codec)), count)
            found = run.values(0, count)
            assert found.tolist() == [value % ALL for value in values]
            for _ in range(5):
                first, last = sorted((choose.randrange(count + 1), choose.randrange(count + 1)))
                assert run.values(first, last).tolist() == found[first:last].tolist()


def test_numbers_of_variable_length() -> None:
    choose = random.Random(5)
    values = [0, 1, 127, 128, ALL - 1] + [choose.randrange(1 << choose.randrange(1, 65)) for _ in range(500)]
    payload = Payload(b"".join(map(number_bytes, values)))
    assert [payload.number() for _ in values] == values
    payload.end()
    assert Payload(b"\xff" + bytes(range(8))).number() == int.from_bytes(bytes(range(8)), "little")


@pytest.mark.parametrize("header", [0x07, 0x20, 0x21, 0xFF, 0x0B])
def test_unknown_headers_are_refused(header: int) -> None:
    for count in (1, 5, 128, 129, 300):
        content = b"\x05\x02" + bytes(16) if count > 128 else b""
        with pytest.raises(BrokenPayload, match="header"):
            NumberRun(Payload(content + bytes([header, 0]) + bytes(4000)), count)
    # Three bits of codec without any of width are all one number.
    assert NumberRun(Payload(b"\x03\x0e"), 3).values(0, 3).tolist() == [7, 7, 7]


@pytest.mark.parametrize("count", [1, 127, 128, 129, 400])
def test_a_run_that_ends_early_is_refused_wherever_it_ends(count: int) -> None:
    choose = random.Random(count)
    content = run_bytes([choose.randrange(1 << 20) for _ in range(count)])
    for end in {0, 1, 2, 3, 4, len(content) // 2, *range(max(0, len(content) - 40), len(content))}:
        if end < len(content):
            with pytest.raises(BrokenPayload):
                NumberRun(Payload(content[:end]), count)


def test_a_run_of_more_numbers_than_bytes_can_hold_takes_no_memory() -> None:
    for count in (1 << 30, 1 << 60, 1 << 64):
        with pytest.raises(BrokenPayload, match="would take"):
            NumberRun(Payload(bytes(1000)), count)


def test_numbers_are_not_changed_by_who_reads_them_twice() -> None:
    run = NumberRun(Payload(run_bytes([3, 5, 9] * 100)), 300)
    first = run.values(0, 300)
    first[:] = 0
    assert run.values(0, 300).tolist() == [3, 5, 9] * 100
    assert run.values(7, 7).dtype == np.uint64
