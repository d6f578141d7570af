"""Columns of users' functions in appended frames of more rows than ``small_rows``: every way to read what is made of them agrees with lists."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SFrame, config
from tests.examples import by_turns, part, square

ROWS, FEW = 120, 40
Column = list[int | None]
Columns = dict[str, Column]


def zero(value: int | None) -> int:
    """A missing value as 0, which no function below treats otherwise."""
    return value or 0


class Program:
    """A frame with the lists that it stands for, both changed by the same random steps."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.frame = SFrame({"a": range(ROWS)})
        self.columns: Columns = {"a": list(range(ROWS))}
        self.made = 0

    def any_name(self) -> str:
        return self.choose.choice(list(self.columns))

    def add(self, column: Any, values: Column) -> None:
        name, self.made = f"c{self.made}", self.made + 1
        self.frame = self.frame[list(self.columns)]
        self.frame[name] = column
        self.columns = {**self.columns, name: values}

    def keep(self, frame: SFrame, change: Callable[[Column], Column]) -> None:
        self.frame, self.columns = frame, {name: change(values) for name, values in self.columns.items()}

    def function(self) -> None:
        name, more = self.any_name(), self.choose.randrange(1, 9)
        self.add(self.frame[name].apply(lambda x: zero(x) + more, dtype=int, skip_na=False), [zero(x) + more for x in self.columns[name]])

    def function_of_rows(self) -> None:
        one, two = self.any_name(), self.any_name()
        values: Column = [zero(x) - zero(y) for x, y in zip(self.columns[one], self.columns[two], strict=True)]
        self.add(self.frame.apply(lambda row: zero(row[one]) - zero(row[two]), dtype=int), values)

    def shift(self) -> None:
        name = self.any_name()
        self.add(self.frame[name].shift(2), [None, None, *self.columns[name]][: len(self.columns[name])])

    def running_sum(self) -> None:
        name, total, sums = self.any_name(), 0, []
        for value in self.columns[name]:
            total += zero(value)
            sums.append(total)
        self.add(self.frame[name].fillna(0).cumulative_sum(), sums)

    def rolling_max(self) -> None:
        name = self.any_name()
        values = [zero(value) for value in self.columns[name]]
        self.add(self.frame[name].fillna(0).rolling_max(-1, 0), [None, *map(max, values, values[1:])][: len(values)])

    def append(self) -> None:
        if len(self.frame) <= 4 * ROWS:
            self.keep(self.frame.append(self.frame), lambda values: values + values)

    def append_other(self) -> None:
        if len(self.frame) <= 4 * ROWS:
            other = self.frame[self.frame["a"] > 5]
            rest = [place for place, value in enumerate(self.columns["a"]) if zero(value) > 5]
            self.keep(self.frame.append(other), lambda values: values + [values[place] for place in rest])

    def filter(self) -> None:
        name = self.any_name()
        places = [place for place, value in enumerate(self.columns[name]) if zero(value) % 3]
        self.keep(self.frame[self.frame[name].fillna(0) % 3 != 0], lambda values: [values[place] for place in places])

    def slice(self) -> None:
        self.keep(self.frame[3:], lambda values: values[3:])

    def rows(self, start: int, stop: int) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in list(zip(*self.columns.values(), strict=True))[start:stop]]

    def read(self, door: str) -> None:
        frame, count, name = self.frame, len(self.columns["a"]), self.any_name()
        middle = max(count // 2 - 2, 0)
        found, expected = {
            "head": lambda: (list(frame.head(3)), self.rows(0, 3)),
            "tail": lambda: (list(frame.tail(3)), self.rows(max(count - 3, 0), count)),
            "slice": lambda: (list(frame[middle : middle + 4]), self.rows(middle, middle + 4)),
            "iteration": lambda: (list(frame), self.rows(0, count)),
            "print": lambda: (" rows x " in str(frame), True),
            "explain": lambda: (bool(frame.explain()), True),
            "first row": lambda: ([frame[0]] if count else [], self.rows(0, 1)),
            "last row": lambda: ([frame[-1]] if count else [], self.rows(max(count - 1, 0), count)),
            "sum": lambda: (zero(frame[name].sum()), sum(map(zero, self.columns[name]))),
            "column": lambda: (list(frame[name]), self.columns[name]),
            "head of column": lambda: (list(frame[name].head(5)), self.columns[name][:5]),
            "append of column": lambda: (list(frame[name].append(frame[name]).tail(2)), (self.columns[name] * 2)[-2:]),
        }[door]()
        assert found == expected, door


STEPS = ["function", "function", "function_of_rows", "shift", "running_sum", "rolling_max", "append", "append", "append_other", "filter", "slice"]
DOORS = ["head", "tail", "slice", "iteration", "print", "explain", "first row", "last row", "sum", "column", "head of column", "append of column"]


def run(seed: int) -> None:
    choose = random.Random(seed)
    program = Program(choose)
    for _ in range(choose.randrange(3, 8)):
        getattr(program, choose.choice(STEPS))()
        if choose.random() < 0.2:
            program.read(choose.choice(DOORS))
    for _ in range(3):
        program.read(choose.choice(DOORS))


@pytest.mark.parametrize("first", part(range(0, 240, 40), 6))
def test_every_way_to_read_agrees_with_lists(first: int) -> None:
    with config.using(small_rows=FEW):
        for seed in by_turns(range(first, first + 40), 3, 0):
            run(seed)


@pytest.mark.spark
def test_every_way_to_read_agrees_with_lists_in_tasks() -> None:
    with config.using(small_rows=0):
        for seed in range(5):
            run(seed)


APPENDS = [["append"], ["append", "append"], ["filter", "append"], ["append_other"], ["append", "slice"]]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("appends", "sequential", "door"), square(3, APPENDS, ["shift", "running_sum", "rolling_max"], DOORS))
def test_a_sequential_operator_over_an_appended_function(appends: list[str], sequential: str, door: str) -> None:
    with config.using(small_rows=FEW):
        program = Program(random.Random(1))
        program.any_name = lambda: list(program.columns)[-1]  # type: ignore[method-assign]
        for step in ["function", *appends, sequential]:
            getattr(program, step)()
        program.read(door)
