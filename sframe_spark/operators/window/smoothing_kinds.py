"""The results of exponential smoothing: what weighted sums of the values so far say after each value."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from sframe_spark.operators.window.exponentially_decayed_sums import TimeCells, decays


def means(sums: np.ndarray, lasts: np.ndarray, specials: np.ndarray) -> np.ndarray:
    """Return weighted means from weighted sums and sums of weights, given the latest value in each mean, and the sum of its non-finite values."""
    mean = sums[0] / sums[1]
    # No result is -0.0, because the sign of a zero sum depends on the boundaries of batches and cells.
    mean += 0.0
    # Where the weighted sum is exactly the latest value times the sum of weights, the mean is that value; the quotient could be off by a rounding.
    np.copyto(mean, lasts, where=lasts * sums[1] == sums[0])
    return np.where(specials == 0, mean, specials) if specials.any() else mean


@attrs.frozen(eq=False)
class AfterValues:
    """What is known after each of some values of their key: of itself and of those before it.

    Parameters
    ----------
    sums
        Two rows: the weighted sum and the sum of weights, both relative to the cell of the value.
    values, times
        The value and its time.
    specials
        The sum of the values that are not finite.
    cells
        The cells of time.
    """

    sums: np.ndarray
    values: np.ndarray
    times: np.ndarray
    specials: np.ndarray
    cells: TimeCells

    def means(self) -> np.ndarray:
        """Return the weighted means."""
        return means(self.sums, self.values, self.specials)

    def totals(self) -> np.ndarray:
        """Return the weighted sums, in which the value itself has the weight one."""
        weights = self._own_weights()
        total = self.sums[0] / weights
        # The sign of a zero sum depends on the boundaries of batches and cells.
        total += 0.0
        # The sum of one value is the value.
        np.copyto(total, self.values, where=self.values * weights == self.sums[0])
        return np.where(self.specials == 0, total, self.specials) if self.specials.any() else total

    def total_weights(self) -> np.ndarray:
        """Return the sums of weights, in which the value itself has the weight one."""
        return self.sums[1] / self._own_weights()

    def _own_weights(self) -> np.ndarray:
        return self.cells.weights(self.times, self.cells.begins(self.times))


@attrs.frozen
class SmoothingKind:
    """A result that is known after each value, and at the rows that follow it.

    Parameters
    ----------
    results
        Returns the result after each value.
    decays
        Whether it becomes less in the time after the value; other results stay.
    """

    results: Callable[[AfterValues], np.ndarray]
    decays: bool = False


# By name: results of all rows so far. A ``total`` is the sum at the last value.
KINDS = {"mean": SmoothingKind(AfterValues.means), "sum": SmoothingKind(AfterValues.totals, decays=True), "total": SmoothingKind(AfterValues.totals)}


def added_squares(before: AfterValues, is_known: np.ndarray, after: AfterValues) -> tuple[np.ndarray, np.ndarray]:
    """Return what each value adds to the weighted sum of squared deviations from the mean, and that all of these are known.

    A value ``x`` adds ``(x - mean) ** 2 * weight / (weight + 1)``, where ``mean`` and ``weight`` are of the earlier values: never less than
    nothing, so nothing cancels. Source: D. H. D. West, Updating mean and variance estimates, Communications of the ACM 22 (1979).
    """
    weights = before.total_weights() * decays(before.times, after.times, after.cells.half_life)
    squares = (after.values - before.means()) ** 2 * (weights / (weights + 1.0))
    return np.where(np.isfinite(after.values), np.where(is_known, squares, 0.0), np.nan), np.ones(len(squares), dtype=bool)


def gaps(before: AfterValues, is_known: np.ndarray, after: AfterValues) -> tuple[np.ndarray, np.ndarray]:
    """Return the time between each value and the one before it, and whether there is one."""
    return np.where(before.times == after.times, 0.0, after.times.astype(np.float64) - before.times.astype(np.float64)), is_known


def totals_before(before: AfterValues, is_known: np.ndarray, after: AfterValues) -> tuple[np.ndarray, np.ndarray]:
    """Return what is left at each value of the weighted sum of those before it, and that all of these are known."""
    totals = before.totals() * decays(before.times, after.times, after.cells.half_life)
    return np.where(is_known, totals, 0.0), np.ones(len(totals), dtype=bool)


def shares_between(passed: np.ndarray, interpolation: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what two values weigh in an exponential mean over the time between them, as parts of the mean over all time.

    The mean is the integral of the values, each time weighing by its age, so the whole time between weighs ``1 - 0.5 ** passed``. On a line the
    later value weighs ``1 - (1 - 0.5 ** passed) / (passed * log(2))`` of it. Source: A. Eckner, Algorithms for unevenly spaced time series (2012).

    Parameters
    ----------
    passed
        The time between them, in half-lives.
    interpolation
        What holds between them: a name in ``INTERPOLATIONS``.

    Examples
    --------
    >>> [[float(part) for part in shares_between(np.array(1.0), name)] for name in ("previous", "current")]
    [[0.5, 0.0], [0.0, 0.5]]
    """
    exponents = passed * math.log(2.0)
    whole = -np.expm1(-exponents)
    if interpolation == "previous":
        return whole, np.zeros_like(whole)
    if interpolation == "current":
        return np.zeros_like(whole), whole
    # The quotient cancels where hardly any time passes, and its series is too short where much does.
    near = np.where(exponents < 1e-3, exponents, 0.0)
    series = near / 2.0 - near**2 / 6.0 + near**3 / 24.0 - near**4 / 120.0
    later = np.where(exponents < 1e-3, series, 1.0 - whole / np.where(exponents > 0.0, exponents, 1.0))
    return whole - later, later


def added_between(interpolation: str, from_zero: bool = False) -> Callable[[AfterValues, np.ndarray, AfterValues], tuple[np.ndarray, np.ndarray]]:
    """Return a function that gives what the time since the value before adds to an exponential mean: 0 for a first value.

    With ``from_zero`` there is a value 0 before the first, at time zero, if that is earlier.
    """

    def added(before: AfterValues, is_known: np.ndarray, after: AfterValues) -> tuple[np.ndarray, np.ndarray]:
        passed = np.where(is_known, gaps(before, is_known, after)[0], np.maximum(after.times.astype(np.float64), 0.0) if from_zero else 0.0)
        earlier, later = shares_between(passed / after.cells.half_life, interpolation)
        # What has no share is not in the mean, even if it is not finite.
        parts = ((earlier, np.where(is_known, before.values, 0.0)), (later, after.values))
        first, second = (np.where(share > 0.0, share * values, 0.0) for share, values in parts)
        return first + second, np.ones(len(passed), dtype=bool)

    return added


def shares(before: AfterValues, is_known: np.ndarray, after: AfterValues) -> tuple[np.ndarray, np.ndarray]:
    """Return what the time since the value before weighs in an exponential mean: 0 for a first value; all of these are known."""
    passed = np.where(is_known, gaps(before, is_known, after)[0], 0.0)
    return shares_between(passed / after.cells.half_life, "current")[1], np.ones(len(passed), dtype=bool)


def firsts(before: AfterValues, is_known: np.ndarray, after: AfterValues) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 for a first value and 0 for others; all of these are known."""
    return np.where(is_known, 0.0, 1.0), np.ones(len(is_known), dtype=bool)


# What holds between two values: the earlier one, the line between them, or the later one.
INTERPOLATIONS = ("previous", "linear", "current")
# By name: results of rows that have a value, given what is known before it, whether anything is, and what is known after it.
KINDS_AT_VALUES = {
    "added_squares": added_squares,
    "first": firsts,
    "gap": gaps,
    "share": shares,
    "total_before": totals_before,
    **{f"added_{interpolation}": added_between(interpolation) for interpolation in INTERPOLATIONS},
    **{f"added_{interpolation}_from_zero": added_between(interpolation, True) for interpolation in INTERPOLATIONS},
}
