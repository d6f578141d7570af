"""What of a result is compared before it is timed, as values that JSON keeps. The reference engine's old Python reads this file too."""

from __future__ import annotations

import array
import datetime
import math
from collections.abc import Callable
from typing import Any

SHOWN = 25


class Case:
    """A member with some arguments.

    Parameters
    ----------
    action
        Gives a column, a frame, several of them, or values; columns and frames are computed by whoever measures.
    sample
        What of the result the engines must agree on.
    """

    def __init__(self, action: Callable[[], Any], sample: Callable[[Any], Any]) -> None:
        self.action, self.sample = action, sample


def is_lazy(result: Any) -> bool:
    """True for columns and frames of either engine."""
    return hasattr(result, "materialize")


def computed(result: Any) -> Any:
    """The result with all rows computed."""
    for part in result if isinstance(result, tuple) else (result,):
        if is_lazy(part):
            part.materialize()
    return result


def columns_of(result: Any) -> dict[str, Any]:
    """Columns by name; a column alone is named by nothing."""
    return {name: result[name] for name in result.column_names()} if hasattr(result, "column_names") else {"": result}


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return sorted(([str(key), plain(item)] for key, item in value.items()), key=lambda pair: pair[0])
    if isinstance(value, (list, tuple, array.array)):
        return [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value


def in_order(result: Any) -> Any:
    """A value, or of rows their number, those at even distances, and sums of numbers."""
    if isinstance(result, tuple):
        return [in_order(part) for part in result]
    if not is_lazy(result):
        return plain(result)
    rows = len(result)
    places = sorted({*range(min(3, rows)), *range(0, rows, max(1, rows // SHOWN)), *range(max(0, rows - 3), rows)})
    return [rows, [plain(result[place]) for place in places], totals(result)]


def totals(result: Any) -> Any:
    """Of each column the sum, if it is of numbers, and how many values are missing."""
    return {
        name: [column.sum() if column.dtype in (int, float) and len(column) else 0, int(column.countna())]
        for name, column in columns_of(result).items()
    }


def by(*names: str) -> Callable[[Any], Any]:
    """The same of rows in the order of some columns, for rows that the reference gives in any."""

    def sample(result: Any) -> Any:
        return in_order(result.sort(list(names) if names else True))

    sample.sorted_by = names  # type: ignore[attr-defined]
    return sample


def of(name: str) -> Callable[[Any], Any]:
    """The same of one column alone, where the engines leave open which of several rows comes first."""
    return lambda result: in_order(result[name])


def at(column: Any) -> Callable[[Any], Any]:
    """The value of a column at a row, where the engines leave open which of several rows is told."""
    return lambda place: plain(column[place])


def how_many(result: Any) -> Any:
    """The number of rows alone, where the engines choose others."""
    return [len(part) for part in (result if isinstance(result, tuple) else (result,))]


def about_how_many(result: Any) -> Any:
    """The number of rows to one digit, where chance has its part."""
    return [float(f"{count:.0e}") for count in how_many(result)]


def nothing(result: Any) -> Any:
    """No value, where the engines mean others by design (docs/deviations.md)."""
    return None


def same(first: Any, second: Any) -> bool:
    """True when two samples hold equal values; the order of summation may show in floats."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) or isinstance(second, float):
        return first is not None and second is not None and not isinstance(first, str) and abs(first - second) <= 1e-7 * max(1.0, abs(first))
    return bool(first == second)
