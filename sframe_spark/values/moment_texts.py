"""Date-times as texts of a format: the directives of C's ``strftime``, fractions of seconds and offsets from UTC."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ZONE = "ZP"
# Directives that stand for several others.
_SHORT_FOR = {"T": "%H:%M:%S", "X": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "x": "%m/%d/%y", "r": "%I:%M:%S %p", "c": "%a %b %e %H:%M:%S %Y"}
_DIRECTIVE = re.compile(r"%(ZP|.)", re.DOTALL)


def directives(form: str) -> list[str]:
    """A format cut into what is copied and directives, which begin with ``%``; one sign for several others is replaced by them.

    Examples
    --------
    >>> directives("on %D %ZP")
    ['on ', '%m', '/', '%d', '/', '%y', ' ', '%ZP']
    """
    found, position = [], 0
    for match in _DIRECTIVE.finditer(form):
        found.append(form[position : match.start()])
        position = match.end()
        name = match[1]
        found += directives(_SHORT_FOR[name]) if name in _SHORT_FOR else [match[0]]
    # A % at the end stands for nothing.
    found.append(form[position:].removesuffix("%"))
    return [part for part in found if part]


def _names(names: Sequence[str], letters: int | None, place: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    texts = pa.array([name[:letters] for name in names], pa.string())
    return lambda wall: texts.take(place(wall))


def _number(part: Callable[[pa.Array], pa.Array], width: int, padding: str = "0") -> Callable[[pa.Array], pa.Array]:
    return lambda wall: pc.utf8_lpad(part(wall).cast(pa.int64()).cast(pa.string()), width, padding)


def _remainder(numbers: pa.Array, divisor: int) -> pa.Array:
    return pc.subtract(numbers, pc.multiply(pc.divide(numbers, divisor), divisor))


def _clock_hour(wall: pa.Array) -> pa.Array:
    return pc.add(_remainder(pc.add(pc.hour(wall), 11), 12), 1)


def _week_from(first_day: int) -> Callable[[pa.Array], pa.Array]:
    """Number of the week of which the first begins at the first such weekday of the year."""

    def week(wall: pa.Array) -> pa.Array:
        return pc.divide(pc.subtract(pc.add(pc.day_of_year(wall), 6), pc.day_of_week(wall, week_start=first_day)), 7)

    return week


def _microseconds(wall: pa.Array) -> pa.Array:
    return pc.add(pc.multiply(pc.millisecond(wall), 1000), pc.microsecond(wall))


def _fraction(wall: pa.Array) -> pa.Array:
    """A dot and six digits; nothing where no microsecond is left over."""
    parts = _microseconds(wall)
    digits = pc.binary_join_element_wise(".", pc.utf8_lpad(parts.cast(pa.string()), 6, "0"), "")
    return pc.if_else(pc.equal(parts, 0), "", digits)


def _seconds(wall: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(_TEXTS["S"](wall), ".", _TEXTS["f"](wall), "")


def _half_of_day(names: tuple[str, str]) -> Callable[[pa.Array], pa.Array]:
    return lambda wall: pc.if_else(pc.less(pc.hour(wall), 12), *names)


_TEXTS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "Y": _number(pc.year, 4),
    "y": _number(lambda wall: _remainder(pc.year(wall), 100), 2),
    "C": _number(lambda wall: pc.divide(pc.year(wall), 100), 2),
    "G": _number(pc.iso_year, 4),
    "g": _number(lambda wall: _remainder(pc.iso_year(wall), 100), 2),
    "m": _number(pc.month, 2),
    "d": _number(pc.day, 2),
    "e": _number(pc.day, 2, " "),
    "j": _number(pc.day_of_year, 3),
    "H": _number(pc.hour, 2),
    "k": _number(pc.hour, 2, " "),
    "I": _number(_clock_hour, 2),
    "l": _number(_clock_hour, 2, " "),
    "M": _number(pc.minute, 2),
    "S": _number(pc.second, 2),
    "s": _seconds,
    "f": _number(_microseconds, 6),
    "F": _fraction,
    "p": _half_of_day(("AM", "PM")),
    "P": _half_of_day(("am", "pm")),
    "u": _number(lambda wall: pc.day_of_week(wall, count_from_zero=False), 1),
    "w": _number(lambda wall: pc.day_of_week(wall, week_start=7), 1),
    "U": _number(_week_from(7), 2),
    "W": _number(_week_from(1), 2),
    "V": _number(pc.iso_week, 2),
    "b": _names(MONTHS, 3, lambda wall: pc.subtract(pc.month(wall), 1)),
    "h": _names(MONTHS, 3, lambda wall: pc.subtract(pc.month(wall), 1)),
    "B": _names(MONTHS, None, lambda wall: pc.subtract(pc.month(wall), 1)),
    "a": _names(WEEKDAYS, 3, pc.day_of_week),
    "A": _names(WEEKDAYS, None, pc.day_of_week),
}
_CHARACTERS = {"%%": "%", "%n": "\n", "%t": "\t"}


def _offset_texts(name: str, offsets: pa.Array) -> pa.Array:
    """Offsets from UTC as ``+0530``, ``+05:30`` or ``GMT+05:30``; the last is empty where there is none, and without minutes of full hours."""
    known = offsets.fill_null(0).cast(pa.int64())
    sign, size = pc.if_else(pc.less(known, 0), "-", "+"), pc.abs(known)
    hours, minutes = (pc.utf8_lpad(part.cast(pa.string()), 2, "0") for part in (pc.divide(size, 60), _remainder(size, 60)))
    if name in ("%z", "%q"):
        return pc.binary_join_element_wise(sign, hours, minutes, "")
    if name == "%Q":
        return pc.binary_join_element_wise(sign, hours, ":", minutes, "")
    if name == "%Z":
        return pc.if_else(offsets.is_valid(), "GMT", "UTC")
    rest = pc.if_else(pc.equal(minutes, "00"), "", pc.binary_join_element_wise(":", minutes, ""))
    return pc.if_else(offsets.is_valid(), pc.binary_join_element_wise("GMT", sign, hours, rest, ""), "")


def moment_texts(wall: pa.Array, offsets: pa.Array, form: str) -> pa.Array:
    """Texts of a format, of what the clock on the wall shows and minutes east of UTC, which are missing where there are none.

    Examples
    --------
    >>> wall = pa.array([0, None], pa.timestamp("us"))
    >>> moment_texts(wall, pa.array([90, None], pa.int32()), "%d %b %Y %ZP").to_pylist()
    ['01 Jan 1970 GMT+01:30', None]
    """
    parts = [_text(directive, wall, offsets) for directive in directives(form)]
    joined = pc.binary_join_element_wise(*parts, "") if parts else pa.scalar("", pa.string())
    return pc.if_else(wall.is_valid(), joined, pa.scalar(None, pa.string()))


def _text(directive: str, wall: pa.Array, offsets: pa.Array) -> Any:
    name = directive[1:]
    if directive[0] == "%" and name in _TEXTS:
        return _TEXTS[name](wall)
    if directive in ("%q", "%Q", "%z", "%Z", "%ZP"):
        return _offset_texts(directive, offsets)
    return pa.scalar(_CHARACTERS.get(directive, directive), pa.string())
