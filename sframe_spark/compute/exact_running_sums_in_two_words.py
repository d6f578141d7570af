"""Running sums of floats, and sums of equally long windows, held in two words (two ints or two floats) and rounded once.

Usually two words can hold all bits, and this takes a third of the time of sums with more digits; otherwise the functions return None.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sframe_spark.compute.exact_sum_and_variance import MAX_EXPONENT, MIN_EXPONENT
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sum_and_variance import largest_magnitude, rounding_constant, scratch_arrays, split_int_digit
    from sframe_spark.compute.exact_sums_of_groups import ExactSums, TwoWords
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array

# Rows per block.
WORDS_BLOCK = 1 << 16
# Bits of the upper and of the lower word. Both convert to floats exactly.
UPPER, LOWER = 51, 46
# Differences of ints of this many bits are floats without rounding.
MAX_FLOAT_BITS = 52


def grouped_cumsum(numbers: np.ndarray, starts: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Replace numbers by their running sums within groups, in place, and return them; the sums start at ``before``, one for each group.

    Overflow of ints in intermediate results cancels out.
    """
    if len(starts) == 1:
        numbers[0] += before[0]
        return np.cumsum(numbers, out=numbers)
    firsts = numbers[starts]
    np.cumsum(numbers, out=numbers)
    numbers += np.repeat(before - (numbers[starts] - firsts), np.diff(np.append(starts, len(numbers))))
    return numbers


class WordScratch(NamedTuple):
    """Scratch arrays that are reused from block to block.

    Parameters
    ----------
    part, left
        Floats.
    sums
        Two floats per row, as complex numbers.
    """

    part: np.ndarray
    left: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, rows: int) -> WordScratch:
        """Allocate arrays for blocks of at most ``rows`` rows."""
        part, left = scratch_arrays(rows, 2)
        return cls(part, left, new_array(rows, np.complex128))


def two_word_running_sums(numbers: np.ndarray, starts: np.ndarray, before: ExactSums) -> TwoWords | None:
    """Return running sums of at most a block of rows within groups; None if two ints cannot hold all bits."""
    largest = largest_magnitude(numbers)
    top_bit = max(math.frexp(largest)[1] + len(numbers).bit_length(), before.max_bits()) + 1
    unit = top_bit - UPPER - LOWER
    if not (math.isfinite(largest) and unit >= MIN_EXPONENT and top_bit <= MAX_EXPONENT):
        return None
    high, left = split_int_digit(numbers, unit + LOWER)
    low, left = split_int_digit(left, unit)
    words = None if left.any() else before.words(unit, LOWER)
    if words is None:
        return None
    return TwoWords.of_ints(grouped_cumsum(high, starts, words[0]), grouped_cumsum(low, starts, words[1]), unit, LOWER)


def words_of_windows(numbers: np.ndarray, width: int, scratch: WordScratch) -> TwoWords | None:
    """Return the sums of every ``width`` consecutive numbers, in two floats each; None if two words cannot hold all running sums.

    The results are in scratch arrays; ``scratch`` has one row more than there are numbers.

    Examples
    --------
    >>> words_of_windows(np.array([1e9, 0.1, 0.2, 0.3]), 3, WordScratch.of(5)).rounded().tolist()
    [1000000000.3, 0.6]
    """
    largest, length = largest_magnitude(numbers), len(numbers).bit_length()
    top_bit, bits = math.frexp(largest)[1] + length + 1, MAX_FLOAT_BITS - length
    unit = top_bit - MAX_FLOAT_BITS - bits
    if not (math.isfinite(largest) and unit >= MIN_EXPONENT and top_bit <= MAX_EXPONENT and bits > 0):
        return None
    part, left = (array[: len(numbers)] for array in scratch[:2])
    sums = scratch.sums[: len(numbers) + 1]
    sums[0] = 0.0
    if not split_into_words(numbers, (unit, bits), (part, left), sums[1:]):
        return None
    np.cumsum(sums, out=sums)
    rows = len(numbers) - width + 1
    high = np.subtract(sums.real[width:], sums.real[:-width], out=part[:rows])
    return TwoWords(high, np.subtract(sums.imag[width:], sums.imag[:-width], out=left[:rows]))


def split_into_words(numbers: np.ndarray, places: tuple[int, int], scratch: tuple[np.ndarray, np.ndarray], words: np.ndarray) -> bool:
    """Write both words of each number into ``words``; return whether they hold all bits of all numbers."""
    unit, bits = places
    part, left = scratch
    words.real = rounded_to(numbers, unit + bits, part)
    np.subtract(numbers, part, out=left)
    words.imag = rounded_to(left, unit, part)
    return np.array_equal(part, left)


def rounded_to(numbers: np.ndarray, exponent: int, out: np.ndarray) -> np.ndarray:
    """Round numbers to multiples of ``2**exponent`` into ``out``."""
    constant = rounding_constant(exponent)
    np.add(numbers, constant, out=out)
    return np.subtract(out, constant, out=out)
