"""A whole number looked up in a table that a plan of Spark holds: made by a few calls of the JVM, whatever its length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

# Of numbers that are rarer than this the table would be longer than it need be.
MOST_GAPS, FEW = 8, 1024
# Digits of numbers that are rare: each one has its own part of the table.
DIGIT_BITS, NUMBER_BITS = 6, 30


def looked_up(number: Column, values: Mapping[int, int]) -> Column:
    """Return what belongs to each number; there must be something.

    Parameters
    ----------
    number
        Numbers, not negative and of 30 bits.
    values
        What belongs to each number.
    """
    from pyspark.sql import functions as F

    if max(values) < FEW + MOST_GAPS * len(values):
        return F.get(_array([values.get(place, 0) for place in range(max(values) + 1)]), number.cast("int"))
    table = _array(digit_table(values))
    found = F.lit(0).cast("bigint")
    for shift in shifts():
        digit = F.shiftright(number, shift).bitwiseAND(F.lit((1 << DIGIT_BITS) - 1))
        found = F.get(table, (found + digit).cast("int"))
    return found


def digit_table(values: Mapping[int, int]) -> list[int]:
    """Return parts of 64 entries each: what is at the place of a digit says where the part for the next one starts, at last the value itself.

    Examples
    --------
    >>> table = digit_table({5: 70, 2**30 - 1: 80})
    >>> len(table), table[0], table[63], table[table[table[table[table[0]]]] + 5]
    (576, 64, 320, 70)
    """
    width = 1 << DIGIT_BITS
    table = [0] * width
    for number, value in values.items():
        part = 0
        for shift in shifts():
            place = part + (number >> shift & (width - 1))
            if not shift:
                table[place] = value
            elif not table[place]:
                # No part but the first one starts at zero.
                table[place] = len(table)
                table += [0] * width
            part = table[place]
    return table


def shifts() -> Iterator[int]:
    """Where the digits of a number are, the highest first."""
    return reversed(range(0, NUMBER_BITS, DIGIT_BITS))


def _array(values: list[int]) -> Column:
    """Numbers as one constant: Spark computes it once, while it plans."""
    from pyspark.sql import functions as F

    return F.split(F.lit(",".join(map(str, values))), ",").cast("array<bigint>")
