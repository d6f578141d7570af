"""Bins with round edges, of numbers and of times."""

from __future__ import annotations

import bisect
import math
import sys

import attrs

# Of seconds: what clocks and calendars count in.
_TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200]
_DAY = 86400


@attrs.frozen
class Bins:
    """Bins of equal width: bin ``i`` is ``[(first + i) * step, (first + i + 1) * step)``.

    Parameters
    ----------
    first
        Number of the first bin, counted from zero.
    step
        Width of a bin.
    count
        Number of bins.
    """

    first: float
    step: float
    count: int

    def edge(self, number: int) -> float:
        """Where a bin begins.

        Examples
        --------
        >>> Bins(2, 0.1, 5).edge(1)
        0.3
        """
        edge = (self.first + number) * self.step
        # Bins around the largest floats would begin and end beyond them.
        edge = min(max(edge, -sys.float_info.max), sys.float_info.max)
        return float(f"{edge:.12g}") if abs(self.first) < 1e9 and abs(edge) < sys.float_info.max else edge

    def finer(self, parts: int) -> Bins:
        """As many bins in the place of each."""
        return Bins(self.first * parts, self.step / parts, self.count * parts)

    @property
    def parameters(self) -> tuple[float, float, int]:
        """What the aggregate ``histogram`` takes."""
        return self.first, self.step, self.count


def round_bins(least: float, largest: float, whole: bool, most: int) -> Bins:
    """Bins over all numbers from the least to the largest, of a width of 1, 2 or 5 times a power of ten.

    Parameters
    ----------
    least, largest
        Finite numbers.
    whole
        The numbers are ints: no bin is narrower than one.
    most
        Number of bins that are not exceeded by more than one.

    Examples
    --------
    >>> round_bins(3, 98, True, 20)
    Bins(first=0, step=5, count=20)
    >>> round_bins(0.5, 0.5, False, 20)
    Bins(first=10, step=0.05, count=1)
    """
    wanted = largest / most - least / most
    # Bins that are narrower than the distance of two floats would be empty, all but a few.
    wanted = max(wanted, max(abs(least), abs(largest)) * 2.0**-45)
    if least == largest and not whole:
        wanted = abs(least) / 10 or 1.0
    return _over(least, largest, round_step(max(wanted, 1.0) if whole else max(wanted, 1e-300)))


def time_bins(least: float, largest: float, most: int) -> Bins:
    """Bins over a time in seconds, as wide as clocks and calendars count.

    Examples
    --------
    >>> time_bins(0, 86399, 24)
    Bins(first=0, step=3600, count=24)
    """
    # A moment is shown in its day. No clock of a browser tells less than a millisecond.
    wanted = (largest - least) / most if largest > least else float(_DAY)
    if wanted <= _TIMES[-1]:
        step: float = _TIMES[bisect.bisect_left(_TIMES, wanted)] if wanted > 0.5 else round_step(max(wanted, 1e-3))
    else:
        step = _DAY * round_step(max(wanted / _DAY, 1.0))
    return _over(least, largest, step)


def round_step(wanted: float) -> float:
    """The least of 1, 2 and 5 times powers of ten that is not less.

    Examples
    --------
    >>> round_step(0.03), round_step(7)
    (0.05, 10)
    """
    power = math.floor(math.log10(wanted))
    for times, exponent in ((1, power), (2, power), (5, power), (1, power + 1)):
        # The nearest float of the decimal number, which a product of floats may miss.
        step = float(f"{times}e{exponent}")
        if step >= wanted * (1 - 1e-9):
            break
    return int(step) if step >= 1 and step < 2**53 else step


def _over(least: float, largest: float, step: float) -> Bins:
    first = math.floor(least / step)
    return Bins(first, step, max(math.floor(largest / step) - first, 0) + 1)
