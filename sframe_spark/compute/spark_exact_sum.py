"""Exact sums of floats in Spark: SQL that splits each float into 30-bit digits, one int column per digit, which Spark's own ``sum`` adds up.

No step of the split rounds. Only the digits of a :class:`Window` have columns; the caller decides what happens to numbers outside it. The sums of
the digits become a float in Spark, by :func:`carried`, :func:`leading` and :func:`nearest`, or :class:`Digits` in Python, by
:func:`digits_of_totals`. Each of the three steps should read named columns that the step before computed, because Spark
evaluates an expression once per occurrence.

Expressions are SQL strings: building them from Column objects would take a JVM call per operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import attrs
import numpy as np

from sframe_spark.compute.exact_sum_and_variance import SPLITTER
from sframe_spark.compute.exact_sums_of_groups import BITS as DIGIT_BITS
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sums_of_groups import Digits

# Bits of a digit: 64 bits hold the sum of the digits of 2**32 rows.
BITS = 30
HALF, MASK = 1 << (BITS - 1), (1 << BITS) - 1
# The leading pair of digits has 60 bits. A second int holds the next pair, and in its two lowest bits the sign of all further digits.
PAIR_BITS = 2 * BITS
SIGN_BITS = 2
# Left shifts, one of which gives the leading pair of digits 55 to 62 bits: at least two more than the 53 bits of a float.
MOVES = (26, 19, 12, 5, 0)
NOTHING = "0L"


@attrs.frozen
class Window:
    """The range of digits that have columns: it holds multiples of ``2**lowest`` whose absolute value is below ``2**highest``.

    Parameters
    ----------
    lowest
        Exponent of the lowest bit of the lowest digit.
    places
        Number of digits.

    Examples
    --------
    >>> Window(-116, 6).highest, Window(-116, 6).of_squares
    (64, Window(lowest=-232, places=12))
    """

    lowest: int
    places: int

    @property
    def highest(self) -> int:
        """Exponent of the bit above the highest digit."""
        return self.lowest + BITS * self.places

    @property
    def of_squares(self) -> Window:
        """The window that holds the squares of all numbers of this window."""
        return Window(2 * self.lowest, 2 * self.places)

    def holds(self, number: str) -> str:
        """Return the SQL condition that the window holds a number; false for infinities and NaN, as Spark considers NaN larger than any number."""
        units = f"({number} * {power(-self.lowest)})"
        return f"(abs({number}) < {power(self.highest)} AND rint({units}) = {units})"

    def digits(self, number: str) -> list[str]:
        """Return SQL for each digit of a number, the lowest first; the digits are arbitrary for a number that the window does not hold."""
        # Spark considers rint nullable: without coalesce its generated code would check for null after each later step.
        rounded = [f"coalesce(rint({number} * {power(-self.lowest - BITS * place)}), 0.0D)" for place in range(self.places)]
        parts = [f"{low} - {high} * {power(BITS)}" for low, high in pairwise(rounded)]
        return [f"CAST({part} AS BIGINT)" for part in [*parts, rounded[-1]]]


# Holds all bits of floats between 1e-19 and 1e19 in absolute value, and all ints. One more digit doubled the time of sums with squares.
DEFAULT_WINDOW = Window(-116, 6)
# For columns of very small or large numbers: holds all bits of floats between 1e-46 and 1e28 in absolute value.
WIDE_WINDOW = Window(-206, 10)


def power(exponent: int) -> str:
    """Return ``2**exponent`` as a SQL literal of type double.

    Examples
    --------
    >>> power(-30)
    '9.313225746154785e-10D'
    """
    return f"{math.ldexp(1.0, exponent)!r}D"


def square_of(number: str) -> tuple[str, str]:
    """Return SQL for the rounded square of a number, and for its rounding error: both together are the exact square.

    Source: Dekker, "A floating-point technique for extending the available precision" (1971).
    """
    square, scaled = f"({number} * {number})", f"({number} * {SPLITTER!r}D)"
    high = f"({scaled} - ({scaled} - {number}))"
    low = f"({number} - {high})"
    return square, f"(({high} * {high} - {square}) + {high} * {low} * 2.0D) + {low} * {low}"


def carried(totals: Sequence[str]) -> list[str]:
    """Return SQL that carries between the sums of digits, the lowest first, so that equal numbers get equal digits.

    The resulting digits are from ``-2**29`` up to, but not including, ``2**29``; there are two more than sums.

    Examples
    --------
    >>> carried(["a"])[0]
    '(a + 0L) - shiftleft(shiftright((a + 0L) + 536870912L, 30), 30)'
    """
    result, carry = [], NOTHING
    for total in [*totals, NOTHING]:
        sums = f"({total} + {carry})"
        carry = f"shiftright({sums} + {HALF}L, {BITS})"
        result.append(f"{sums} - shiftleft({carry}, {BITS})")
    return [*result, carry]


def leading(digits: Sequence[str], lowest: int) -> list[str]:
    """Return SQL for the three arguments of :func:`nearest`, from carried digits, the lowest first.

    They are the highest nonzero digit and the next one as one int; the two digits below them and the sign of all further digits as another int;
    and the value of one unit of the first int. The exponent of the lowest bit of the lowest digit is ``lowest``.
    """

    def pair(position: int) -> str:
        first, second = (digits[index] if index >= 0 else NOTHING for index in (position, position - 1))
        return f"(shiftleft({first}, {BITS}) + {second})"

    def below(position: int) -> str:
        sign = at_first(digits[: max(position - 3, 0)], lambda other: side(digits[other]), NOTHING)
        return f"shiftleft({pair(position - 2)}, {SIGN_BITS}) + {sign}"

    worth = at_first(digits, lambda position: power(lowest + BITS * (position - 1)), power(0))
    return [at_first(digits, pair, NOTHING), at_first(digits, below, NOTHING), worth]


def at_first(digits: Sequence[str], value: Callable[[int], str], nothing: str) -> str:
    """Return SQL for ``value(i)``, where ``i`` is the index of the highest nonzero digit, or for ``nothing`` if all digits are zero.

    Examples
    --------
    >>> at_first(["a", "b"], str, "2")
    '(CASE WHEN b != 0 THEN 1 WHEN a != 0 THEN 0 ELSE 2 END)'
    """
    cases = [f"WHEN {digits[position]} != 0 THEN {value(position)}" for position in reversed(range(len(digits)))]
    return f"(CASE {' '.join(cases)} ELSE {nothing} END)" if cases else nothing


def side(digit: str) -> str:
    """Return SQL for the sign of a nonzero digit: 1 or -1."""
    return f"(shiftright({digit}, 63) | 1L)"


def nearest(first: str, below: str, worth: str) -> str:
    """Return SQL for the float nearest to a sum, from the three values that :func:`leading` computes.

    The leading bits of the sum become an int with more bits than a float. Its lowest bit is set if any lower bit of the sum is ("sticky bit"),
    so that it rounds as the whole sum would.
    """

    def moved(bits: int) -> str:
        left = PAIR_BITS + SIGN_BITS - bits
        rest = f"least({below} & {(1 << left) - 1}L, 1L)"
        return f"CAST(((shiftleft({first}, {bits}) + shiftright({below}, {left})) | {rest}) AS DOUBLE) * {power(-bits)}"

    cases = [f"WHEN abs({first}) < {1 << (PAIR_BITS + SIGN_BITS - bits)}L THEN {moved(bits)}" for bits in MOVES[:-1]]
    return f"(CASE {' '.join(cases)} ELSE {moved(MOVES[-1])} END) * {worth}"


def digits_of_totals(totals: Sequence[np.ndarray], lowest: int) -> Digits:
    """Combine the sums of each digit, the lowest first, into one sum per group; each array has the sums of one digit in all groups.

    Examples
    --------
    >>> digits_of_totals([np.array([1, -1]), np.array([3, 0])], -30).rounded().tolist()
    [3.0000000009313226, -9.313225746154785e-10]
    """
    result, bit = Digits(len(totals[0])), lowest
    carry = np.zeros(result.count, dtype=np.int64)
    for total in totals:
        sums = carry + total
        carry = sums >> BITS
        add_at(result, sums & MASK, bit)
        bit += BITS
    add_at(result, carry, bit)
    return result


def add_at(sums: Digits, numbers: np.ndarray, bit: int) -> None:
    """Add ``numbers * 2**bit``, one number per group and of about 30 bits, to the sums, without carrying."""
    place, moved = divmod(bit, DIGIT_BITS)
    room = DIGIT_BITS - moved
    for position, digits in ((place, (numbers & ((1 << room) - 1)) << moved), (place + 1, numbers >> room)):
        if digits.any():
            sums.places[position] = sums.places[position] + digits if position in sums.places else digits
