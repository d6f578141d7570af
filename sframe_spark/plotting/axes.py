"""Axes of charts: which numbers and times stand at them, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs

SECONDS = 1000
DAY = 86400.0
TICKS, TICKS_UP = 8, 6
# Digits beyond these are noise at an axis.
_SCIENTIFIC = ".12~e"
_LONG_LABELS = 44
# Each tick as the largest unit that begins there.
_CLOCK = {"hours": "%H:%M", "minutes": "%H:%M", "seconds": ":%S", "milliseconds": ".%L"}
_TIMES = {"year": "%Y", "quarter": "%b", "month": "%b", "week": "%b %d", "date": "%b %d", "day": "%b %d", **_CLOCK}
_WITHIN_DAYS = {**dict.fromkeys(_TIMES, "%H:%M"), **_CLOCK}


def _utc(form: str) -> str:
    return f"utcFormat(datum.value, '{form}')"


_SECONDS = {"tickCount": TICKS_UP, "labelExpr": f"[{_utc('%H:%M:%S.%L')}, datum.index > 0 ? '' : {_utc('%Y-%m-%d')}]"}


@attrs.frozen
class Scale:
    """What an axis shows.

    Parameters
    ----------
    title
        At the axis.
    kind
        ``number``, ``whole`` or ``time``.
    least, largest
        Of what is drawn; times in seconds since 1970. None where nothing is.
    """

    title: str
    kind: str
    least: float | None = None
    largest: float | None = None

    @property
    def is_time(self) -> bool:
        """Whether times stand at it."""
        return self.kind == "time"

    @property
    def channel_type(self) -> str:
        """What the library takes the numbers for: it draws no times that are parts of a second from each other."""
        return "temporal" if self.is_time and not self._is_within_seconds else "quantitative"

    @property
    def _is_within_seconds(self) -> bool:
        return self.least is not None and self.largest is not None and 0 < self.largest - self.least < 5

    @property
    def has_room(self) -> bool:
        """Whether there is a float for how far the ends are apart."""
        return self.least is None or self.largest is None or math.isfinite((self.largest - self.least) * 2)

    def over(self, rows: Sequence[dict[str, Any]], *fields: str) -> Scale:
        """The same over the numbers of some rows."""
        numbers = [row[field] for row in rows for field in fields]
        return attrs.evolve(self, least=min(numbers), largest=max(numbers)) if numbers else self

    def axis(self, field: str, up: bool = False, **more: Any) -> dict[str, Any]:
        """The channel of a field at this axis."""
        scale = self._scale()
        return {
            "field": field,
            "type": self.channel_type,
            "title": self.title,
            "scale": {**scale, **more.pop("scale", {})},
            "axis": {"tickCount": TICKS_UP if up else TICKS, "labelFlush": False, **self._labels(), **more.pop("axis", {})},
            **more,
        }

    def _scale(self) -> dict[str, Any]:
        # A scale of UTC shows times as they are stored, in no zone.
        return {"type": "utc"} if self.channel_type == "temporal" else {"zero": False}

    def _labels(self) -> dict[str, Any]:
        if self.least is None or self.largest is None:
            return {}
        if self.is_time:
            return _SECONDS if self._is_within_seconds else _time_labels(self.largest - self.least)
        if self.kind == "whole" and max(abs(self.least), abs(self.largest)) < 1e15:
            return {"tickMinStep": 1, "format": ",d"}
        return number_labels(self.least, self.largest)


def number_labels(least: float, largest: float) -> dict[str, Any]:
    """How numbers between two are written: very large and very small ones with an exponent.

    Examples
    --------
    >>> number_labels(0, 1e-9), number_labels(0, 100)
    ({'format': '.12~e', 'labelExpr': "datum.value === 0 ? '0' : datum.label"}, {})
    """
    most = max(abs(least), abs(largest))
    if most >= 1e15 or 0 < most < 1e-4:
        return {"format": _SCIENTIFIC, "labelExpr": "datum.value === 0 ? '0' : datum.label"}
    return {}


def count_axis(field: str, title: str, most: int, up: bool = True) -> dict[str, Any]:
    """The channel of a number of rows, from zero."""
    labels = {"tickCount": TICKS_UP if up else TICKS, **count_labels(most)}
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": True}, "axis": labels}


def count_labels(most: int) -> dict[str, Any]:
    """How numbers of rows are written: never a part of one, and millions short.

    Examples
    --------
    >>> count_labels(2), count_labels(1000)
    ({'format': ',d', 'values': [0, 1, 2]}, {'format': ',d'})
    """
    if most < TICKS_UP:
        return {"format": ",d", "values": list(range(most + 1))}
    return {"format": "~s" if most >= 10**6 else ",d"}


def label_axis(labels: Sequence[str], upright: bool) -> dict[str, Any]:
    """Texts at an axis: below each other, or beside each other and slanted where they are long.

    Examples
    --------
    >>> label_axis(["a", "b"], True)["labelAngle"], label_axis(["a long one"] * 9, True)["labelAngle"]
    (0, -35)
    """
    if not upright:
        return {}
    beside = sum(len(label) + 2 for label in labels) <= _LONG_LABELS
    return {"labelAngle": 0} if beside else {"labelAngle": -35, "labelAlign": "right", "labelLimit": 140}


def _time_labels(span: float) -> dict[str, Any]:
    """Times as calendars write them, and below the first what they leave out: the day of hours, the year of days."""
    if span > 3 * 365 * DAY:
        return {"format": _TIMES}
    # The number of a tick is a share of all of them, and of one alone no number. Expressions hold no text of the data.
    first = "!(datum.index > 0)"
    if span >= 2 * DAY:
        return {"format": _TIMES, "labelExpr": f"{first} && datum.label !== {_utc('%Y')} ? [datum.label, {_utc('%Y')}] : datum.label"}
    midnight = "(utchours(datum.value) + utcminutes(datum.value) + utcseconds(datum.value) + utcmilliseconds(datum.value) === 0)"
    return {"format": _WITHIN_DAYS, "labelExpr": f"{first} || {midnight} ? [datum.label, {_utc('%Y-%m-%d')}] : datum.label"}


def on_axis(value: Any, is_time: bool) -> Any:
    """A number as charts draw it: times in thousandths of seconds."""
    return value * SECONDS if is_time else value
