"""Sums of floats without rounding in Spark: digits of 30 bits, a column of whole numbers for each place, which Spark's own sum adds up.

Digits are cut off by arithmetic of floats, in which no step rounds. There are columns for usual numbers only, those of a
window of places; who adds up says what becomes of others. Sums of digits become a float in Spark (:func:`carried`,
:func:`leading` and :func:`nearest`, each of names of columns that the one before made, as Spark computes an expression anew
for each place where it stands), or :class:`~sframe_spark.compute.exact_grouped_sum.Digits` in Python.

Expressions are texts of SQL: made of columns, each operation would be a call of the JVM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import attrs
import numpy as np

from sframe_spark.compute.exact_grouped_sum import BITS as DIGIT_BITS
from sframe_spark.compute.exact_grouped_sum import Digits
from sframe_spark.compute.exact_sum import SPLITTER

# Digits of 2**32 rows add up in 64 bits.
BITS = 30
HALF, MASK = 1 << (BITS - 1), (1 << BITS) - 1
# Two digits are 60 bits; below them two more, and whether there is anything below these.
PAIR_BITS = 2 * BITS
SIGN_BITS = 2
# By how many bits a pair of digits is moved so that it has 55 bits at least, two more than a float, and 62 at most.
MOVES = (26, 19, 12, 5, 0)
NOTHING = "0L"


@attrs.frozen
class Window:
    """The places that have columns: of multiples of ``2**lowest`` below ``2**highest``.

    Parameters
    ----------
    lowest
        The lowest bit.
    places
        How many digits there are.

    Examples
    --------
    >>> Window(-116, 6).highest, Window(-116, 6).of_squares
    (64, Window(lowest=-232, places=12))
    """

    lowest: int
    places: int

    @property
    def highest(self) -> int:
        """The bit above all digits."""
        return self.lowest + BITS * self.places

    @property
    def of_squares(self) -> Window:
        """The window of the squares of its numbers."""
        return Window(2 * self.lowest, 2 * self.places)

    def holds(self, number: str) -> str:
        """Whether all bits of a number are in the window; of no infinite one, nor of NaN, which Spark has above all others."""
        units = f"({number} * {power(-self.lowest)})"
        return f"(abs({number}) < {power(self.highest)} AND rint({units}) = {units})"

    def digits(self, number: str) -> list[str]:
        """The digits of a number of the window, the lowest first; of others anything."""
        # Of rint Spark expects that it may be missing, and its code would ask so after each step that follows.
        rounded = [f"coalesce(rint({number} * {power(-self.lowest - BITS * place)}), 0.0D)" for place in range(self.places)]
        parts = [f"{low} - {high} * {power(BITS)}" for low, high in pairwise(rounded)]
        return [f"CAST({part} AS BIGINT)" for part in [*parts, rounded[-1]]]


# All digits of floats from 1e-19, and all ints. With a place more, those of numbers and their squares took twice as long.
DEFAULT_WINDOW = Window(-116, 6)
# All digits of floats from 1e-46 up to 1e28: where a column has such, most of its numbers may be.
WIDE_WINDOW = Window(-206, 10)


def power(exponent: int) -> str:
    """A power of two.

    Examples
    --------
    >>> power(-30)
    '9.313225746154785e-10D'
    """
    return f"{math.ldexp(1.0, exponent)!r}D"


def square_of(number: str) -> tuple[str, str]:
    """The square of a number as a float, and what that lacks.

    Source: Dekker, "A floating-point technique for extending the available precision" (1971).
    """
    square, scaled = f"({number} * {number})", f"({number} * {SPLITTER!r}D)"
    high = f"({scaled} - ({scaled} - {number}))"
    low = f"({number} - {high})"
    return square, f"(({high} * {high} - {square}) + {high} * {low} * 2.0D) + {low} * {low}"


def carried(totals: Sequence[str]) -> list[str]:
    """Sums of digits as digits from ``-2**29`` up to ``2**29``, two more of them: equal sums have equal digits.

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
    """Of carried digits the first two that count as one number, the next two and the sign of all others as another, and what the first is worth."""

    def pair(place: int) -> str:
        first, second = (digits[at] if at >= 0 else NOTHING for at in (place, place - 1))
        return f"(shiftleft({first}, {BITS}) + {second})"

    def below(place: int) -> str:
        sign = at_first(digits[: max(place - 3, 0)], lambda other: side(digits[other]), NOTHING)
        return f"shiftleft({pair(place - 2)}, {SIGN_BITS}) + {sign}"

    worth = at_first(digits, lambda place: power(lowest + BITS * (place - 1)), power(0))
    return [at_first(digits, pair, NOTHING), at_first(digits, below, NOTHING), worth]


def at_first(digits: Sequence[str], value: Callable[[int], str], nothing: str) -> str:
    """A value by the highest place whose digit is not zero; another where there is none.

    Examples
    --------
    >>> at_first(["a", "b"], str, "2")
    '(CASE WHEN b != 0 THEN 1 WHEN a != 0 THEN 0 ELSE 2 END)'
    """
    cases = [f"WHEN {digits[place]} != 0 THEN {value(place)}" for place in reversed(range(len(digits)))]
    return f"(CASE {' '.join(cases)} ELSE {nothing} END)" if cases else nothing


def side(digit: str) -> str:
    """One for a digit above zero, minus one for one below it."""
    return f"(shiftright({digit}, 63) | 1L)"


def nearest(first: str, below: str, worth: str) -> str:
    """The float next to a sum, of its leading digits.

    These become a whole number with more bits than a float, whose last bit is set where there is anything below it: so it is
    rounded as all digits would be.
    """

    def moved(bits: int) -> str:
        left = PAIR_BITS + SIGN_BITS - bits
        rest = f"least({below} & {(1 << left) - 1}L, 1L)"
        return f"CAST(((shiftleft({first}, {bits}) + shiftright({below}, {left})) | {rest}) AS DOUBLE) * {power(-bits)}"

    cases = [f"WHEN abs({first}) < {1 << (PAIR_BITS + SIGN_BITS - bits)}L THEN {moved(bits)}" for bits in MOVES[:-1]]
    return f"(CASE {' '.join(cases)} ELSE {moved(MOVES[-1])} END) * {worth}"


def digits_of_totals(totals: Sequence[np.ndarray], lowest: int) -> Digits:
    """The sums of groups of sums of the digits of a window, the lowest first.

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
    """Add whole numbers of 30 bits, or of somewhat more as they are carried at the end, times ``2**bit``, to sums with room for few such digits."""
    place, moved = divmod(bit, DIGIT_BITS)
    room = DIGIT_BITS - moved
    for position, digits in ((place, (numbers & ((1 << room) - 1)) << moved), (place + 1, numbers >> room)):
        if digits.any():
            sums.places[position] = sums.places[position] + digits if position in sums.places else digits
