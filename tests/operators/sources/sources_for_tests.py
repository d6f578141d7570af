"""Sources as authors of plug-ins write them: of known, bounded and unknown length, with and without parts; they note what they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from sframe_spark.plugin import FLOAT, INT, STR, ColumnType, Predicate, RowSource

COLUMNS: dict[str, tuple[ColumnType, Any]] = {
    "hour": (INT, lambda row: row // 10),
    "n": (INT, lambda row: None if row % 7 == 3 else row),
    "half": (FLOAT, lambda row: float("nan") if row % 11 == 5 else None if row % 13 == 2 else row / 2),
    "text": (STR, lambda row: None if row % 5 == 4 else f"t{row % 17}"),
}


def rows_between(start: int, stop: int) -> list[dict[str, Any]]:
    """What the sources hold, in plain Python."""
    return [{name: make(row) for name, (_, make) in COLUMNS.items()} for row in range(start, stop)]


class Hours(RowSource):
    """Rows in parts of ten, an hour each. ``asked`` has, in this process, the arguments of each call of ``read``, and how many tables it yielded."""

    filters: ClassVar[bool] = True

    def __init__(self, hours: int = 24, known: bool = True, has_parts: bool = True, bound: int | None = None, first: int = 0) -> None:
        self.hours, self.known, self.has_parts, self.bound, self.first = hours, known, has_parts, bound, first
        self.asked: list[tuple[int, int, tuple[str, ...], Predicate | None]] = []
        self.yielded = 0

    def columns(self) -> Mapping[str, ColumnType]:
        return {name: kind for name, (kind, _) in COLUMNS.items()}

    def length(self) -> int | None:
        return self.hours * 10 if self.known else None

    def at_most(self) -> int | None:
        return self.length() if self.known else self.bound

    def parts(self) -> Sequence[int | None]:
        if self.known:
            return [10] * self.hours if self.has_parts else [self.hours * 10]
        return [None] * self.hours

    def size(self) -> float | None:
        return 500.0 * self.hours

    def order(self) -> Sequence[tuple[str, bool]]:
        return [("hour", True)]

    def read(self, start: int, stop: int, columns: Sequence[str], predicate: Predicate | None) -> Iterator[pa.Table]:
        self.asked.append((start, stop, tuple(columns), predicate))
        first, last = (start, stop) if self.known else (10 * start, 10 * stop)
        while first < last:
            end = min(last, first + 10 - first % 10)
            hour = self.first + first // 10
            if predicate is None or predicate.may_hold("hour", hour, hour):
                rows = rows_between(10 * self.first + first, 10 * self.first + end)
                table = pa.table({name: pa.array([row[name] for row in rows], COLUMNS[name][0].physical) for name in columns})
                self.yielded += 1
                yield table if predicate is None else predicate.filter(table)
            first = end


class HoursInThreads(Hours):
    """The same, which threads may read side by side."""

    threads: ClassVar[bool] = True


KINDS: dict[str, Any] = {
    "known": Hours,
    "known, no parts": lambda **options: Hours(has_parts=False, **options),
    "bounded": lambda **options: Hours(known=False, bound=1000, **options),
    "unknown": lambda **options: Hours(known=False, **options),
}
