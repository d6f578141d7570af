"""Running sums, means and spreads of floats without rounding: each value is that of all numbers so far, however rows are cut."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.exact_grouped_sum import BITS, LOWEST_PLACE, Digits, first_place, in_reach, sums_and_squares, sums_of_others
from sframe_spark.compute.exact_spreads import squared_deviations
from sframe_spark.compute.exact_sum import LOWEST, ExactSum, largest_of, room_for, whole_piece
from sframe_spark.compute.exact_words import BLOCK, OneSum, RoomForWords, accumulated, in_two_words
from sframe_spark.compute.moments import Moments
from sframe_spark.compute.products import squares

# Digits of so many bits of a block of rows add up in 64.
MOST_BITS = 45
# From the square of the smallest float down to the first digit below it.
SQUARE_SHIFT = 2 * (BITS * LOWEST_PLACE - LOWEST)


@attrs.frozen(eq=False)
class Sums:
    """What is known of the numbers of some groups.

    Parameters
    ----------
    counts
        How many there are.
    sums
        Their sums.
    squares
        The sums of their squares, where somebody asks for these.
    """

    counts: np.ndarray
    sums: Digits
    squares: Digits | None

    @classmethod
    def nothing(cls, count: int, with_squares: bool) -> Sums:
        """Of so many groups without numbers."""
        return cls(np.zeros(count, dtype=np.int64), Digits(count), Digits(count) if with_squares else None)

    @classmethod
    def of(cls, numbers: np.ndarray, valid: np.ndarray | None, codes: np.ndarray, count: int, with_squares: bool) -> Sums:
        """Of rows of groups of these numbers; numbers are zero where there is none."""
        if with_squares:
            sums, squared = sums_and_squares(numbers, codes, count)
        else:
            sums, squared = Digits(count), None
            sums.add(numbers, codes)
        return cls(np.bincount(codes if valid is None else codes[valid], minlength=count), sums, squared)

    @classmethod
    def of_moments(cls, known: Moments, with_squares: bool) -> Sums:
        """Of one group."""
        squares = Digits.of_units(known.square_units << SQUARE_SHIFT, 2 * -LOWEST_PLACE) if with_squares else None
        return cls(np.array([known.count]), Digits.of_sum(known.total), squares)

    def moments(self, group: int) -> Moments:
        """Those of one group."""
        squares = 0 if self.squares is None else self.squares.units(group, 2 * -LOWEST_PLACE) >> SQUARE_SHIFT
        return Moments(int(self.counts[group]), self.sums.sum_of(group), squares)

    def merged(self, other: Sums, groups: np.ndarray) -> Sums:
        """These groups and others, each of which is a part of the group of its number."""
        counts = self.counts.copy()
        counts[groups] += other.counts
        squares = None if self.squares is None or other.squares is None else self.squares.added(other.squares, groups)
        return Sums(counts, self.sums.added(other.sums, groups), squares)

    def replaced(self, other: Sums, groups: np.ndarray) -> Sums:
        """These groups, with others in place of those of these numbers."""
        counts = self.counts.copy()
        counts[groups] = other.counts
        squares = None if self.squares is None or other.squares is None else self.squares.replaced(other.squares, groups)
        return Sums(counts, self.sums.replaced(other.sums, groups), squares)

    def taken(self, groups: np.ndarray) -> Sums:
        """Of some of the groups."""
        return Sums(self.counts[groups], self.sums.taken(groups), None if self.squares is None else self.squares.taken(groups))

    def values(self, kind: str) -> np.ndarray:
        """The ``sum``, ``mean``, ``var`` or ``std`` of each group; zero of none."""
        if kind == "sum":
            return self.sums.rounded()
        sizes = np.maximum(self.counts, 1)
        if kind == "mean" or self.squares is None:
            return self.sums.means(sizes)
        variance = squared_deviations(self.counts, self.sums, self.squares) / sizes
        return np.sqrt(variance) if kind == "std" else variance


def running(kind: str, numbers: np.ndarray, valid: np.ndarray | None, starts: np.ndarray, before: Sums) -> tuple[np.ndarray, np.ndarray, Sums]:
    """The ``sum``, ``mean``, ``var`` or ``std`` of all numbers of its group up to each row, how many these are, and what is known at the end.

    Parameters
    ----------
    kind
        What is asked.
    numbers
        Floats, group by group; zero where there is none.
    valid
        Where there is one; None for everywhere.
    starts
        Where each group begins; none is empty.
    before
        What is known of earlier rows of these groups.

    Examples
    --------
    >>> nothing = Sums.nothing(2, False)
    >>> found, counts, after = running("sum", np.array([0.1, 0.2, 0.3, 5.0]), None, np.array([0, 3]), nothing)
    >>> found.tolist(), counts.tolist(), after.values("sum").tolist()
    ([0.1, 0.30000000000000004, 0.6, 5.0], [1, 2, 3, 1], [0.6, 5.0])
    """
    found, counts = new_array(len(numbers), np.float64), new_array(len(numbers), np.int64)
    ends = np.append(starts[1:], len(numbers))
    states: list[Sums] = []
    first, going_on, room = 0, None, RoomForWords.of(min(len(numbers), BLOCK))
    for start in range(0, len(numbers), BLOCK):
        stop = min(start + BLOCK, len(numbers))
        # The groups of these rows: the first may have begun before, the last may go on.
        last = int(np.searchsorted(starts, stop))
        here = before.taken(np.arange(first, last))
        if going_on is not None:
            here = joined([going_on, here.taken(np.arange(1, last - first))])
        places = np.maximum(starts[first:last] - start, 0)
        part = None if valid is None else valid[start:stop]
        found[start:stop], counts[start:stop], after = block(kind, numbers[start:stop], part, places, here, room)
        is_over = ends[last - 1] == stop
        closed = last if is_over else last - 1
        states.append(after.taken(np.arange(closed - first)))
        going_on = None if is_over else after.taken(np.array([last - 1 - first]))
        first = closed
    return found, counts, joined(states) if states else before


def joined(parts: list[Sums]) -> Sums:
    """Groups of some parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    squares = [part.squares for part in parts if part.squares is not None]
    sums = Digits.joined([part.sums for part in parts])
    return Sums(np.concatenate([part.counts for part in parts]), sums, Digits.joined(squares) if squares else None)


def block(
    kind: str, numbers: np.ndarray, valid: np.ndarray | None, starts: np.ndarray, before: Sums, room: RoomForWords
) -> tuple[np.ndarray, np.ndarray, Sums]:
    """The same of a few rows; what is found may be in an array of the room."""
    ones = np.ones(len(numbers), dtype=np.int64) if valid is None else valid.astype(np.int64)
    counts = accumulated(ones, starts, before.counts)
    ends = np.append(starts[1:], len(numbers)) - 1
    quick = None if before.squares is not None or before.sums.others is not None else in_two_words(numbers, starts, before.sums, room)
    if quick is not None:
        found, words = quick
        sums = Digits.of_words(words)
        return (found if kind == "sum" else found / np.maximum(counts, 1)), counts, Sums(counts[ends], sums, None)
    sums = row_digits([(numbers, 0)], starts, before.sums)
    squares = None
    if before.squares is not None:
        finite = numbers if math.isfinite(largest_of(numbers)) else np.where(np.isfinite(numbers), numbers, 0.0)
        squares = row_digits(squares_of(finite), starts, before.squares)
    every = Sums(counts, sums, squares)
    return every.values(kind), counts, every.taken(ends)


def row_digits(parts: list[tuple[np.ndarray, int]], starts: np.ndarray, before: Digits) -> Digits:
    """The digits of running sums of floats, each times ``2**(40 * place)``, within groups."""
    others = None if before.others is None else np.repeat(before.others, np.diff(np.append(starts, len(parts[0][0]))))
    left = []
    for numbers, moved in parts:
        if math.isfinite(largest_of(numbers)):
            left.append((numbers, moved))
        else:
            finite = np.isfinite(numbers)
            others = running_others(numbers, finite, starts, before.others)
            left.append((np.where(finite, numbers, 0.0), moved))
    found = by_place(left, MOST_BITS)
    # Sums of a block fill 64 bits, so those of the rows before it are carried first.
    nothing, earlier = np.zeros(len(starts), dtype=np.int64), before.carried().places
    for place in {*found, *earlier}:
        digits = found.get(place, np.zeros(len(parts[0][0]), dtype=np.int64))
        found[place] = accumulated(digits, starts, earlier.get(place, nothing))
    return Digits(len(parts[0][0]), found, others)


def squares_of(numbers: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Squares of finite floats without rounding, as parts of which each is floats times ``2**(40 * place)``."""
    return [(pair, place) for part, place in in_reach(numbers) for pair in squares(part, room_for(len(part), 4))]


def by_place(parts: list[tuple[np.ndarray, int]], bits: int) -> dict[int, np.ndarray]:
    """The digits of rows of finite floats, each times ``2**(40 * place)``; the first one of each has at most so many bits.

    Examples
    --------
    >>> {place: digits.tolist() for place, digits in by_place([(np.array([3.0, 2.0**41 + 1.0]), 0)], 40).items()}
    {1: [0, 2], 0: [3, 1]}
    """
    found: dict[int, np.ndarray] = {}
    _, *room = room_for(len(parts[0][0]))
    for left, moved in parts:
        largest = largest_of(left)
        place = first_place(largest, bits)
        while largest:
            digits, left = whole_piece(left, place * BITS, [new_array(len(left), np.float64), *room])
            there = found.get(place + moved)
            found[place + moved] = digits if there is None else np.add(there, digits, out=there)
            largest = largest_of(left)
            place = min(place - 1, first_place(largest, BITS))
    return found


def running_others(numbers: np.ndarray, finite: np.ndarray, starts: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """Running sums of what is not finite, zero for what is."""
    others = np.where(finite, 0.0, numbers)
    if before is not None:
        with np.errstate(invalid="ignore"):
            others[starts] += before
    kinds = [others == math.inf, others == -math.inf, np.isnan(others)]
    nothing = np.zeros(len(starts), dtype=np.int64)
    ups, downs, nans = (accumulated(kind.astype(np.int64), starts, nothing) > 0 for kind in kinds)
    return sums_of_others(ups, downs, nans)


def running_sum(numbers: np.ndarray, before: ExactSum) -> tuple[np.ndarray, ExactSum]:
    """Running sums of one group, and the last one.

    Examples
    --------
    >>> found, after = running_sum(np.array([0.1, 0.2, 0.3]), ExactSum())
    >>> found.tolist(), after.value
    ([0.1, 0.30000000000000004, 0.6], 0.6)
    """
    found, start, room = new_array(len(numbers), np.float64), np.zeros(1, dtype=np.int64), RoomForWords.of(min(len(numbers), BLOCK))
    for place in range(0, len(numbers), BLOCK):
        part = numbers[place : place + BLOCK]
        quick = None if before.others else in_two_words(part, start, OneSum(before.units), room)
        if quick is None:
            state = Sums(start, Digits.of_sum(before), None)
            found[place : place + BLOCK], _, after = block("sum", part, None, start, state, room)
            before = after.sums.sum_of(0)
        else:
            found[place : place + BLOCK], words = quick
            before = ExactSum(OneSum.units_of(words))
    return found, before
