"""Grids of intervals: which interval a key lies in, and where intervals begin and end, for whole arrays of keys at once."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sframe_spark.errors import ExecutionError, InvalidArgumentError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.operator_parameters import above_zero, one_of

with lazy_imports(globals()):
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
    from sframe_spark.values.calendar_intervals import CalendarIntervals

SIDES = ("left", "right")


@attrs.frozen
class Grid:
    """Length and position of intervals, and which end labels them.

    Parameters
    ----------
    every
        Length of the intervals (microseconds for date-times); None: the calendar or a clock gives the intervals.
    closed
        Which end belongs to an interval: ``left`` or ``right``.
    label
        Which end is the label of an interval: ``left`` or ``right``.
    origin
        A key at which an interval begins; of ints, below ``every`` and not negative.
    calendar
        Intervals of the calendar, for months and for the clock of a zone; None: all intervals have one length.
    """

    every: int | float | None = attrs.field(validator=above_zero)
    closed: str = attrs.field(default="left", validator=one_of(*SIDES))
    label: str = attrs.field(default="left", validator=one_of(*SIDES))
    origin: int | float = 0
    calendar: CalendarIntervals | None = None

    def as_read(self) -> Grid:
        """Check values that were read from JSON: lengths below 2**63, an origin within the first interval, one kind of interval."""
        if self.every is not None and not self.every < 2**63:
            raise InvalidArgumentError(f"the plan's text has intervals of the length {self.every}")
        if self.every is not None and self.calendar is not None:
            raise InvalidArgumentError("the plan's text has intervals both of a length and of the calendar")
        if not math.isfinite(self.origin):
            raise InvalidArgumentError(f"the plan's text has intervals from {self.origin} on")
        if isinstance(self.every, int) and isinstance(self.origin, int) and not 0 <= self.origin < self.every:
            raise InvalidArgumentError(f"the plan's text has intervals of the length {self.every} from {self.origin} on")
        return self

    @property
    def is_float(self) -> bool:
        """Whether the ends of intervals are floats whatever the keys are."""
        return isinstance(self.every, float) or isinstance(self.origin, float)

    def length(self) -> str:
        """Return the length of the intervals, for messages and plans."""
        if self.calendar is not None:
            return f"every {self.calendar.describe()}"
        return f"every {self.every}" + (f" from {self.origin}" if self.origin else "")

    def describe(self) -> str:
        """Return the grid as a string."""
        is_of_clock = self.every is None and self.calendar is None
        return f"{'of a clock' if is_of_clock else self.length()}, closed {self.closed}, label {self.label}"


def grid_labels(keys: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the label (the start or the end) of the interval in which each key lies.

    Raises
    ------
    ExecutionError
        If an end of an interval does not fit into 64 bits.

    Examples
    --------
    >>> grid_labels(np.array([-1, 0, 9, 10]), Grid(10)).tolist()
    [-10, 0, 0, 10]
    >>> grid_labels(np.array([-1, 0, 9, 10]), Grid(10, "right", "right")).tolist()
    [0, 0, 10, 10]
    >>> grid_labels(np.array([-1, 0, 9, 10]), Grid(10, origin=9)).tolist()
    [-1, -1, 9, 9]
    """
    if grid.calendar is not None:
        # Keys are whole microseconds, so the last one before a boundary is one less.
        at = keys - (keys > np.iinfo(np.int64).min) if grid.closed == "right" else keys
        numbers = grid.calendar.numbers(at)
        return grid.calendar.starts_of(numbers + 1 if grid.label == "right" else numbers)
    every = grid.every
    assert every is not None
    if keys.dtype.kind == "f":
        # An end beyond the largest float is infinite.
        with np.errstate(over="ignore"):
            places = float_places(keys, float(every), grid.closed, float(grid.origin))
            return ends_of_floats(places + (grid.label == "right"), float(every), float(grid.origin)) + 0.0
    result = np.floor_divide(keys, every, out=new_array(len(keys), np.int64))
    with np.errstate(over="ignore"):
        if grid.closed == "right" or grid.origin:
            # Ints wrap around in the difference alone, so it is taken of remainders.
            into = keys % every
            result -= (into < grid.origin) | ((into == grid.origin) & (grid.closed == "right"))
        # The start of an interval is not after its keys, and the end not before them, unless they wrap around.
        result *= every
        result += grid.origin
        beyond = result > keys
        if grid.label == "right":
            result += every
            beyond |= result < keys
        if beyond.any():
            raise ExecutionError(f"an interval of {every} around {keys[beyond][0]} has an end that does not fit 64 bits")
        return result


def ends_of_floats(places: np.ndarray, every: float, origin: float) -> np.ndarray:
    """Return where intervals of floats begin."""
    return places * every + origin if origin else places * every


def float_places(keys: np.ndarray, every: float, closed: str, origin: float = 0.0) -> np.ndarray:
    """Return the number of each float's interval, chosen so that the computed ends enclose the float."""
    if closed == "left":
        places = np.floor((keys - origin) / every)
        places = np.where(ends_of_floats(places, every, origin) > keys, places - 1, places)
        return np.where(ends_of_floats(places + 1, every, origin) <= keys, places + 1, places)
    places = np.ceil((keys - origin) / every) - 1
    places = np.where(ends_of_floats(places, every, origin) >= keys, places - 1, places)
    return np.where(ends_of_floats(places + 1, every, origin) < keys, places + 1, places)


def clock_labels(keys: np.ndarray, ticks: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Return the label of the interval between ticks in which each key lies, and which keys lie in an interval.

    Examples
    --------
    >>> labels, inside = clock_labels(np.array([0, 1, 5, 7]), np.array([1, 5, 7]), Grid(None))
    >>> labels[inside].tolist(), inside.tolist()
    ([1, 5], [False, True, True, False])
    """
    if not len(ticks):
        return np.zeros(len(keys), dtype=keys.dtype), np.zeros(len(keys), dtype=bool)
    positions = np.searchsorted(ticks, keys, side="right" if grid.closed == "left" else "left") - 1
    inside = (positions >= 0) & (positions < len(ticks) - 1)
    chosen = np.clip(positions + (grid.label == "right"), 0, len(ticks) - 1)
    return ticks[chosen], inside


def numbers_of_labels(labels: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the number of each label, which is an end of an interval: neighbouring labels differ by 1.

    Raises
    ------
    ExecutionError
        If a number does not fit into 64 bits.
    """
    if grid.calendar is not None:
        return grid.calendar.numbers(labels)
    every = grid.every
    assert every is not None
    if labels.dtype.kind != "f":
        return labels // int(every)
    with np.errstate(over="ignore"):
        numbers = np.rint((labels - grid.origin) / every)
    beyond = ~(np.abs(numbers) < 2.0**63)
    if beyond.any():
        label = labels[beyond][0]
        raise ExecutionError(f"the number of the interval at {label} with intervals of {every} does not fit 64 bits: choose longer intervals")
    return numbers.astype(np.int64)


def numbers_between(start: int | float | None, stop: int | float | None, grid: Grid, is_float: bool) -> tuple[int | None, int | None]:
    """Return the numbers of two labels: of the interval with ``start``, and of the last one that begins before ``stop``.

    Examples
    --------
    >>> numbers_between(12, 30, Grid(10), False), numbers_between(12, 31, Grid(10, label="right"), False)
    ((1, 2), (2, 4))
    """
    left = attrs.evolve(grid, closed="left", label="left")
    more = int(grid.label == "right")

    def number(key: int | float, is_end: bool) -> int:
        keys = np.array([float(key) if is_float else key])
        start_of = grid_labels(keys, left)
        return int(numbers_of_labels(start_of, left)[0]) + more - (is_end and bool(start_of[0] == keys[0]))

    return None if start is None else number(start, False), None if stop is None else number(stop, True)


def labels_of_numbers(numbers: np.ndarray, grid: Grid, is_float: bool) -> np.ndarray:
    """Return the labels that have some numbers; inverse of :func:`numbers_of_labels`."""
    if grid.calendar is not None:
        return grid.calendar.starts_of(numbers)
    every = grid.every
    assert every is not None
    return ends_of_floats(numbers, float(every), float(grid.origin)) + 0.0 if is_float else numbers * int(every) + int(grid.origin)
