"""Reads what was recorded about the columns of a dataset from text, so that laws that use it can be tested on datasets that are never opened."""

from __future__ import annotations

import re

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.planner.facts import Schema
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.manifest.statistics import UNKNOWN_STATISTICS, ColumnStatistics

FACT = re.compile(r"^c(?P<column>\d+) (?P<strict>strictly )?(?P<order>ascending|descending|constant|within) (?P<low>-?\d+)\.\.(?P<high>-?\d+)$")
SEGMENTS = 3


def read_segments(rows: int, types: Schema, text: str | None) -> tuple[SegmentEntry, ...]:
    """Return the segments of a dataset: one of which nothing is known, or three of equal size with the facts that a text states.

    Parameters
    ----------
    rows
        Rows of the dataset.
    types
        Types of its columns; the columns that facts are about hold numbers.
    text
        Facts with commas between: ``c0 strictly ascending 0..29`` (numbers without missing values whose range is split evenly
        among the segments), ``c1 constant 4..4``, ``c2 within 3..5`` (no order, the same bounds everywhere).

    Raises
    ------
    InvalidArgumentError
        If a fact cannot be read.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> [entry.columns[0].first for entry in read_segments(30, (INT,), "c0 strictly ascending 0..29")]
    [0, 10, 20]
    """
    if text is None:
        return (SegmentEntry("segment", 0, rows),)
    columns = [[UNKNOWN_STATISTICS] * len(types) for _ in range(SEGMENTS)]
    for fact in text.split(","):
        match = FACT.match(fact.strip())
        if match is None or int(match["column"]) >= len(types):
            raise InvalidArgumentError(f"{fact.strip()!r} is no fact about a column: write 'c0 ascending 0..9' or 'c1 within 0..9'")
        for number in range(SEGMENTS):
            column = int(match["column"])
            columns[number][column] = part_of_column(match, number, types[column].python_class)
    bounds = [rows * i // SEGMENTS for i in range(SEGMENTS + 1)]
    return tuple(SegmentEntry(f"segment{i}", i, bounds[i + 1] - bounds[i], tuple(columns[i])) for i in range(SEGMENTS))


def part_of_column(fact: re.Match[str], number: int, value: type) -> ColumnStatistics:
    """What a fact about a whole column of values of a class means for one segment."""
    low, high, order = int(fact["low"]), int(fact["high"]), fact["order"]
    plain = ColumnStatistics(has_missing=False, has_nan=False, bounds_known=True, minimum=value(low), maximum=value(high))
    if order == "within":
        return plain
    place = number if order != "descending" else SEGMENTS - 1 - number
    size = high - low + 1
    first, last = low + size * place // SEGMENTS, low + size * (place + 1) // SEGMENTS - 1
    if order == "constant":
        first = last = low
    first, last = value(first), value(last)
    strict = fact["strict"] is not None
    return ColumnStatistics(
        ascending=order != "descending",
        descending=order != "ascending",
        strictly_ascending=strict and order == "ascending",
        strictly_descending=strict and order == "descending",
        constant=order == "constant",
        has_missing=False,
        has_nan=False,
        edges_known=True,
        first=last if order == "descending" else first,
        last=first if order == "descending" else last,
        bounds_known=True,
        minimum=first,
        maximum=last,
    )
