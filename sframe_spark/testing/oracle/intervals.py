"""The meaning of cycles and intervals on plain rows, in exact fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sframe_spark.testing.oracle.values import Row, token
from sframe_spark.values.decode import decode

if TYPE_CHECKING:
    from sframe_spark.testing.oracle.evaluate import Table

EPOCH = datetime(1970, 1, 1)


def number_of(value: Any) -> Any:
    """A time as an exact number: date-times as microseconds since 1970; None where it has no place in time."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return None if value is None or not math.isfinite(value) else Fraction(value)


def time_of(number: Fraction, like: Any, is_float: bool) -> Any:
    """A number as a time of the kind of another."""
    if isinstance(like, datetime):
        return EPOCH + timedelta(microseconds=int(number))
    return float(number) if is_float else int(number)


def interval(number: Any, every: Any, closed: str) -> tuple[Fraction, Fraction]:
    """Both ends of the interval of a grid that holds a number."""
    shares = Fraction(number) / Fraction(every)
    place = math.floor(shares) if closed == "left" else math.ceil(shares) - 1
    return place * Fraction(every), (place + 1) * Fraction(every)


def between(number: Any, ticks: Sequence[Any], closed: str) -> tuple[Any, Any] | None:
    """Both ends of the interval of a clock that holds a number."""
    pairs = itertools.pairwise(ticks)
    found = [(a, b) for a, b in pairs if (a <= number < b if closed == "left" else a < number <= b)]
    return found[0] if found else None


def _assign(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    grid, place = operator.grid, operator.position
    ticks = None if operator.clock is None else [number_of(tick) for tick in decode(operator.clock.columns[0], operator.clock_type)]
    is_float = inputs[0].kinds[place] == "float" or isinstance(grid.every, float) or getattr(operator.clock_type, "kind", "") == "float"
    result: list[Row] = []
    for row in inputs[0].rows:
        number = number_of(row[place])
        if number is None:
            continue
        ends = interval(number, grid.every, grid.closed) if ticks is None else between(number, ticks, grid.closed)
        if ends is not None:
            label = time_of(ends[grid.label == "right"], row[place], is_float)
            result.append((*row[:place], label, *row[place + 1 :]))
    return result


def _fill(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    result: list[Row] = []
    before: Row | None = None
    is_float = inputs[0].kinds[0] == "float"
    for row in inputs[0].rows:
        width = 1 + operator.keys
        if before is not None and [token(value) for value in before[1:width]] == [token(value) for value in row[1:width]]:
            label = number_of(before[0]) + Fraction(operator.every)
            while label < number_of(row[0]):
                rest = before[width:] if operator.forward else (None,) * (len(row) - width)
                result.append((time_of(label, row[0], is_float), *before[1:width], *rest))
                label += Fraction(operator.every)
        result.append(row)
        before = row
    return result


def _map_cycles(operator: Any, inputs: Sequence[Table]) -> list[Row]:
    names = operator.function.function.names
    result: list[Row] = []
    for _, run in itertools.groupby(inputs[0].rows, lambda row: [token(row[position]) for position in operator.keys]):
        rows = list(run)
        parts: dict[Any, list[int]] = {}
        for place, row in enumerate(rows):
            parts.setdefault(tuple(token(row[position]) for position in operator.within), []).append(place)
        added: list[Any] = [None] * len(rows)
        for places in parts.values():
            found = operator.function.function.function([dict(zip(names, rows[place], strict=False)) for place in places])
            lists = [found] if operator.function.single else [found[name] for name in operator.function.columns]
            for index, place in enumerate(places):
                added[place] = tuple(values[index] for values in lists)
        result += [(*row, *new) for row, new in zip(rows, added, strict=True)]
    return result


INTERVALS: dict[str, Callable[[Any, Sequence[Table]], list[Row]]] = {
    "assign_intervals": _assign,
    "fill_intervals": _fill,
    "map_cycles": _map_cycles,
}
"""Meanings by operator name."""
