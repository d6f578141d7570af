"""Numbers that tell contents of columns apart: equal for what is the same, whoever asks, and of 64 bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, load_sframe
from tests.interpreters import run_program

PROGRAM = """
import sys
from sframe_spark import SArray, load_sframe
print(load_sframe(sys.argv[1])["a"].__get_content_identifier__(), SArray(["x", None]).__get_content_identifier__())
"""


def identifier(column: SArray) -> int:
    found = column.__get_content_identifier__()
    assert type(found) is int and 0 <= found < 1 << 64
    return found


def test_the_same_values_have_the_same_number_in_every_process(tmp_path: Path) -> None:
    place = str(tmp_path / "frame")
    SFrame({"a": [1, 2, 3], "b": [1, 2, 3]}).save(place)
    first, again = load_sframe(place), load_sframe(place)
    assert identifier(first["a"]) == identifier(again["a"]) != identifier(first["b"])
    told = run_program(PROGRAM, place).stdout.split()
    assert [int(number) for number in told] == [identifier(first["a"]), identifier(SArray(["x", None]))]
    SFrame({"a": [1, 2, 3]}).save(place)
    assert identifier(load_sframe(place)["a"]) != identifier(first["a"])


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], ["a", None], [[1.0]], [{"a": [1]}]])
def test_copies_and_columns_of_frames_have_the_number_of_the_column(values: list[Any]) -> None:
    column = SArray(values)
    frame = SFrame({"other": [0] * len(column), "it": column})
    assert identifier(column) == identifier(column.__copy__()) == identifier(frame["it"])


def test_constants_and_none_have_the_number_of_the_column_too() -> None:
    for column in (SArray([], int), SArray.from_const(1, 3), SArray.from_sequence(3)):
        assert identifier(column) == identifier(column.__copy__()) == identifier(SFrame({"other": [0] * len(column), "it": column})["it"])


def test_what_differs_has_other_numbers() -> None:
    columns = [
        *(SArray([1, 2]), SArray([2, 1]), SArray([1, 2, 3]), SArray([1.0, 2.0]), SArray(["1", "2"]), SArray([1, None]), SArray([None, 1])),
        *(SArray([], int), SArray([], float), SArray.from_const(1, 3), SArray.from_const(2, 3), SArray.from_sequence(3), SArray.from_sequence(4)),
    ]
    assert len({identifier(column) for column in columns}) == len(columns)


def test_a_lazy_column_is_computed_and_keeps_its_number() -> None:
    column = SArray([3, 1, 2]).sort() + 1
    before = identifier(column)
    assert column.__is_materialized__()
    assert identifier(column) == before


def test_ranges_of_rows_in_files_have_numbers_of_their_own(tmp_path: Path) -> None:
    SFrame({"a": [5, 5, 5, 5]}).save(str(tmp_path / "frame"))
    column = load_sframe(str(tmp_path / "frame"))["a"]
    assert len({identifier(column[part]) for part in (slice(0, 2), slice(1, 3), slice(0, 4))}) == 3
