"""A Spark column that looks up ints in a constant table: a list or a trie, which takes few JVM calls to build, however large the table is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

# A dense table is used if its size is below FEW + MAX_GAPS * keys, otherwise a trie.
MAX_GAPS, FEW = 8, 1024


# The trie has one level per 6-bit digit of the 30-bit keys.
DIGIT_BITS, NUMBER_BITS = 6, 30


def lookup_column(number: Column, values: Mapping[int, int]) -> Column:
    """Return a Spark column with the value of each key; every key must be in the table.

    Parameters
    ----------
    number
        Column of keys: non-negative ints below ``2**30``.
    values
        Value of each key.
    """
    from pyspark.sql import functions as F

    if max(values) < FEW + MAX_GAPS * len(values):
        return F.get(_array([values.get(position, 0) for position in range(max(values) + 1)]), number.cast("int"))
    table = _array(digit_table(values))
    result = F.lit(0).cast("bigint")
    for shift in shifts():
        digit = F.shiftright(number, shift).bitwiseAND(F.lit((1 << DIGIT_BITS) - 1))
        result = F.get(table, (result + digit).cast("int"))
    return result


def digit_table(values: Mapping[int, int]) -> list[int]:
    """Return a trie as one list, in which each node has 64 entries, one per digit.

    An entry is the offset of the next node; at the last level it is the value.

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
            position = part + (number >> shift & (width - 1))
            if not shift:
                table[position] = value
            elif not table[position]:
                # Offset zero is the root, so zero means that there is no node yet.
                table[position] = len(table)
                table += [0] * width
            part = table[position]
    return table


def shifts() -> Iterator[int]:
    """Return the bit offset of each digit, the highest first."""
    return reversed(range(0, NUMBER_BITS, DIGIT_BITS))


def _array(values: list[int]) -> Column:
    """Return a Spark column with ints as a constant array, which Spark evaluates once, when it plans the query."""
    from pyspark.sql import functions as F

    return F.split(F.lit(",".join(map(str, values))), ",").cast("array<bigint>")
