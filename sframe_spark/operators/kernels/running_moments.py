"""Means and spreads of all numbers so far.

Numbers are looked at in short blocks. Each block begins with a sum and a sum of squares about the mean of all numbers
before it, in more digits than a float has; within a block sums of floats do, since a few numbers move what many before
them have made by little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sframe_spark.operators.kernels.moments import Moments

# Of as many first numbers each is added in more digits: they are not many beside a block.
FIRST_ROWS = 4096
BLOCK = 64
# Products of a half of a float with whole numbers are floats; what is left of a number of few digits less a quarter of another is one.
HALF, QUARTER = float(2**27 + 1), float(2**33 + 1)
# Squares of deviations within these are neither infinite nor without digits.
SMALLEST, LARGEST = 1e-100, 1e100


def running_moments(values: np.ndarray, valid: np.ndarray, state: Moments, kind: str) -> tuple[np.ndarray, np.ndarray, Moments]:
    """The ``mean``, ``var`` or ``std`` of all numbers up to each of some floats, how many these are, and their moments at the end.

    Examples
    --------
    >>> floats, counts, state = running_moments(np.array([1.0, 3.0, 8.0]), np.array([True, True, False]), Moments(), "mean")
    >>> floats.tolist(), counts.tolist(), state.count
    ([1.0, 2.0, 2.0], [1, 2, 2], 2)
    """
    found: list[np.ndarray] = []
    counts = np.cumsum(valid) + state.count
    start = 0
    while start < len(values):
        stop = start + max(FIRST_ROWS, state.count)
        part, known = values[start:stop], valid[start:stop]
        done = in_blocks(part, known, counts[start:stop], state, kind) if state.count >= FIRST_ROWS else None
        floats, state = done or one_by_one(part, known, state, kind)
        found.append(floats)
        start = stop
    return np.concatenate(found) if found else np.empty(0), counts, state


def joined_means(first: Any, second: Any, step: Any) -> Any:
    """The mean of two groups, given theirs and how far it is from the first one's; an infinity stays, as it does within a group."""
    return np.where(np.isfinite(first) & np.isfinite(second), first + step, first + second)


def one_by_one(values: np.ndarray, valid: np.ndarray, state: Moments, kind: str) -> tuple[np.ndarray, Moments]:
    """The same in more digits than a float has, for any numbers."""
    finite = values[valid & np.isfinite(values)]
    shift = finite[0] if len(finite) else 0.0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        counts = np.cumsum(valid)
        # Two floats may differ by more than a float holds.
        moved = np.where(valid, values.astype(np.longdouble) - shift, 0.0)
        sums, squares = np.cumsum(moved), np.cumsum(moved * moved)
        parts = np.maximum(counts, 1)
        mean = shift + sums / parts
        deviations = squares - sums * sums / parts
        total = counts + state.count
        delta = mean - state.mean
        whole = np.maximum(total, 1)
        weight = counts / whole
        means = np.where(counts > 0, joined_means(state.mean, mean, delta * weight) if state.count else mean, state.mean)
        spread = state.squares + np.where(counts > 0, deviations + delta * delta * state.count * weight, 0.0)
        result = means if kind == "mean" else np.maximum(spread, 0.0) / whole
        # Less wide than what it was computed in, in which squares of all floats have a place.
        floats = np.asarray(np.sqrt(result) if kind == "std" else result, dtype=np.float64)
    return floats, Moments(int(total[-1]), means[-1], spread[-1])


def in_blocks(values: np.ndarray, valid: np.ndarray, counts: np.ndarray, state: Moments, kind: str) -> tuple[np.ndarray, Moments] | None:
    """The same of no more numbers than there were before; None where some deviate too far, or are not finite."""
    base = base_of(state)
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.where(valid, values - base, 0.0)
        largest = np.abs(moved).max(initial=0.0)
    if not (largest == 0.0 or SMALLEST < largest < LARGEST) or not SMALLEST < state.squares < LARGEST**2:
        return None
    blocks = np.zeros((-(-len(moved) // BLOCK), BLOCK))
    blocks.ravel()[: len(moved)] = moved
    # Sums about the base of all numbers before each block, and of all.
    low = state.mean - base
    sums = about(state.count * low, blocks.sum(axis=1))
    squares = about(state.squares + state.count * low * low, (blocks * blocks).sum(axis=1))
    before = np.concatenate([[state.count], counts[BLOCK - 1 :: BLOCK]])[: len(blocks)]
    ends = np.append(before, counts[-1])
    shifts = sums / ends
    spreads = np.maximum(squares - sums * shifts, 0.0)
    end = Moments(int(counts[-1]), base + shifts[-1], spreads[-1])
    totals = np.ones_like(blocks)
    totals.ravel()[: len(counts)] = counts
    blocks -= shifts[:-1, None].astype(np.float64)
    if not valid.all():
        blocks.ravel()[: len(moved)][~valid] = 0.0
    gained = np.cumsum(blocks, axis=1)
    if kind == "mean":
        found = plus(base + shifts[:-1], gained / totals)[0]
    else:
        grown = np.cumsum(blocks * blocks, axis=1) - gained * (gained / totals)
        found = np.maximum(divided(*plus(spreads[:-1], grown), totals), 0.0)
    floats = found.ravel()[: len(moved)]
    return (np.sqrt(floats) if kind == "std" else floats), end


def base_of(state: Moments) -> float:
    """A number near the mean: one of few digits, from which many numbers differ by floats, where that is as near as the numbers are."""
    mean = float(state.mean)
    base = float(leading_digits(mean, QUARTER))
    return base if (base - mean) ** 2 * state.count <= state.squares else mean


def leading_digits(numbers: Any, splitter: float) -> Any:
    """The numbers with fewer digits.

    Source: Dekker, "A floating-point technique for extending the available precision" (1971), as is the division below.
    """
    scaled = splitter * numbers
    return scaled - (scaled - numbers)


def about(first: Any, sums: np.ndarray) -> np.ndarray:
    """Running sums, each before one of some numbers, and that of all."""
    return np.cumsum(np.concatenate([[first], sums]).astype(np.longdouble))


def plus(wide: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A wide number and each number of its row, as a float and what that lacks.

    Source: Knuth, "The Art of Computer Programming", volume 2, section 4.2.2, theorem B.
    """
    high = wide.astype(np.float64)
    low = (wide - high).astype(np.float64)
    first, second = high[:, None], numbers + low[:, None]
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def divided(high: np.ndarray, low: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Floats and what they lack, divided by whole numbers, with what the quotient lacks added."""
    quotient = high / counts
    upper = leading_digits(quotient, HALF)
    rest = ((high - upper * counts) - (quotient - upper) * counts) + low
    return quotient + rest / counts
