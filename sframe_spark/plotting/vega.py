"""Makes Vega-Lite specifications of charts, as dicts. Field names in them are fixed; names of the user's columns are never used as field names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs

# --- Axes: their ranges, and the format of numbers and times


SECONDS = 1000
DAY = 86400.0
TICKS, TICKS_UP = 8, 6
# An exponent format with at most 12 digits.
_SCIENTIFIC = ".12~e"
_LONG_LABELS = 44
# Formats of ticks on a time axis: each tick has the format of the largest unit that begins there.
_CLOCK = {"hours": "%H:%M", "minutes": "%H:%M", "seconds": ":%S", "milliseconds": ".%L"}
_TIMES = {"year": "%Y", "quarter": "%b", "month": "%b", "week": "%b %d", "date": "%b %d", "day": "%b %d", **_CLOCK}
_WITHIN_DAYS = {**dict.fromkeys(_TIMES, "%H:%M"), **_CLOCK}


def _utc(form: str) -> str:
    return f"utcFormat(datum.value, '{form}')"


_SECONDS = {"tickCount": TICKS_UP, "labelExpr": f"[{_utc('%H:%M:%S.%L')}, datum.index > 0 ? '' : {_utc('%Y-%m-%d')}]"}


@attrs.frozen
class Scale:
    """The scale of an axis.

    Parameters
    ----------
    title
        Title of the axis.
    kind
        ``number``, ``whole`` (ints) or ``time``.
    least, largest
        The smallest and the largest number that is drawn (times in seconds since 1970); None if they are not known yet.
    """

    title: str
    kind: str
    least: float | None = None
    largest: float | None = None

    @property
    def is_time(self) -> bool:
        """Whether the axis shows times."""
        return self.kind == "time"

    @property
    def channel_type(self) -> str:
        """The Vega-Lite type; times that span a few seconds are drawn as numbers, because Vega-Lite cannot draw them as times."""
        return "temporal" if self.is_time and not self._is_within_seconds else "quantitative"

    @property
    def _is_within_seconds(self) -> bool:
        return self.least is not None and self.largest is not None and 0 < self.largest - self.least < 5

    @property
    def has_room(self) -> bool:
        """Whether the length of the axis is a finite float."""
        return self.least is None or self.largest is None or math.isfinite((self.largest - self.least) * 2)

    def over(self, rows: Sequence[dict[str, Any]], *fields: str) -> Scale:
        """Return the scale with the range of the numbers in the given fields of all rows."""
        numbers = [row[field] for row in rows for field in fields]
        return attrs.evolve(self, least=min(numbers), largest=max(numbers)) if numbers else self

    def axis(self, field: str, up: bool = False, **more: Any) -> dict[str, Any]:
        """Return the Vega-Lite channel for a field on this axis; ``up`` means a vertical axis, ``more`` are further properties."""
        # A UTC scale displays stored times without converting them to local time.
        scale: dict[str, Any] = {"type": "utc"} if self.channel_type == "temporal" else {"zero": False}
        axis = {"tickCount": TICKS_UP if up else TICKS, "labelFlush": False, **self._labels()}
        properties = {"scale": {**scale, **more.pop("scale", {})}, "axis": {**axis, **more.pop("axis", {})}}
        return {"field": field, "type": self.channel_type, "title": self.title, **properties, **more}

    def _labels(self) -> dict[str, Any]:
        if self.least is None or self.largest is None:
            return {}
        if self.is_time:
            return _SECONDS if self._is_within_seconds else _time_labels(self.largest - self.least)
        if self.kind == "whole" and max(abs(self.least), abs(self.largest)) < 1e15:
            return {"tickMinStep": 1, "format": ",d"}
        return number_labels(self.least, self.largest)


def number_labels(minimum: float, largest: float) -> dict[str, Any]:
    """Return the format of numbers on an axis: with an exponent if they are very large or very small, else the default.

    Examples
    --------
    >>> number_labels(0, 1e-9), number_labels(0, 100)
    ({'format': '.12~e', 'labelExpr': "datum.value === 0 ? '0' : datum.label"}, {})
    """
    maximum = max(abs(minimum), abs(largest))
    if maximum >= 1e15 or 0 < maximum < 1e-4:
        return {"format": _SCIENTIFIC, "labelExpr": "datum.value === 0 ? '0' : datum.label"}
    return {}


def count_axis(field: str, title: str, max_count: int, up: bool = True) -> dict[str, Any]:
    """Return the channel for a number of rows, on an axis that begins at zero."""
    labels = {"tickCount": TICKS_UP if up else TICKS, **count_labels(max_count)}
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": True}, "axis": labels}


def count_labels(max_count: int) -> dict[str, Any]:
    """Return the format of row counts on an axis: without decimals; from a million on, abbreviated.

    Examples
    --------
    >>> count_labels(2), count_labels(1000)
    ({'format': ',d', 'values': [0, 1, 2]}, {'format': ',d'})
    """
    if max_count < TICKS_UP:
        return {"format": ",d", "values": list(range(max_count + 1))}
    return {"format": "~s" if max_count >= 10**6 else ",d"}


def label_axis(labels: Sequence[str], upright: bool) -> dict[str, Any]:
    """Return how strings on an axis are drawn; on a horizontal axis (``upright``) they are slanted if they are long.

    Examples
    --------
    >>> label_axis(["a", "b"], True)["labelAngle"], label_axis(["a long one"] * 9, True)["labelAngle"]
    (0, -35)
    """
    if not upright:
        return {}
    fits_side_by_side = sum(len(label) + 2 for label in labels) <= _LONG_LABELS
    return {"labelAngle": 0} if fits_side_by_side else {"labelAngle": -35, "labelAlign": "right", "labelLimit": 140}


def _time_labels(span: float) -> dict[str, Any]:
    """Return the format of times on an axis. If it leaves out the day or the year, the first label shows it in a second line."""
    if span > 3 * 365 * DAY:
        return {"format": _TIMES}
    # The index of a tick is relative to the number of ticks, and NaN for a single one. Expressions contain no text of the data.
    first = "!(datum.index > 0)"
    if span >= 2 * DAY:
        return {"format": _TIMES, "labelExpr": f"{first} && datum.label !== {_utc('%Y')} ? [datum.label, {_utc('%Y')}] : datum.label"}
    midnight = "(utchours(datum.value) + utcminutes(datum.value) + utcseconds(datum.value) + utcmilliseconds(datum.value) === 0)"
    return {"format": _WITHIN_DAYS, "labelExpr": f"{first} || {midnight} ? [datum.label, {_utc('%Y-%m-%d')}] : datum.label"}


def on_axis(value: Any, is_time: bool) -> Any:
    """Return a number as charts draw it; times are converted from seconds to milliseconds."""
    return value * SECONDS if is_time else value


# --- Charts


# Version 6 of Vega-Lite draws these charts in the same way.
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH, HEIGHT, STEP = 640, 400, 26
# Each of these colours has a contrast of at least 3.9 on white and on black.
COLOUR, MISSING_COLOUR = "#4c78a8", "#808080"
# The colours of a heat map for the smallest and the largest number.
RAMP = ("rgba(76, 120, 168, 0.2)", "rgba(76, 120, 168, 1)")
# The colours of a heat map with numbers in its cells, which must be readable.
RAMP_BEHIND_TEXT = ("rgba(76, 120, 168, 0.1)", "rgba(76, 120, 168, 0.75)")
# Text and lines have the text colour of the page, so that charts suit light and dark pages.
INK = "currentColor"
_CONFIG: dict[str, Any] = {
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "domainColor", "tickColor", "gridColor"), INK),
        "gridOpacity": 0.12,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "titleLimit": 360,
        "labelLimit": 240,
        "maxExtent": 400,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal", "gradientLength": 160},
    "title": {"color": INK, "subtitleColor": INK, "anchor": "start", "fontWeight": 600, "limit": 620, "offset": 12, "subtitlePadding": 4},
    "view": {"stroke": None},
    # By default, Vega-Lite describes marks by expressions that contain titles. This is switched off, because users' titles must not be in
    # expressions.
    "mark": {"aria": False},
    "text": {"color": INK},
    "tick": {"color": INK},
    "font": "system-ui, sans-serif",
}
TOO_FAR = "the numbers are too far apart for an axis"
ChartRows = Sequence[dict[str, Any]]
# If each bin contains one int, the bins are shifted by this number, so that they are centred on the ints.
_ON_THE_NUMBER = 0.5
# Heat maps have no grid, because its lines would be visible through the cells.
_NO_ROOM: dict[str, Any] = {"scale": {"nice": False}, "axis": {"grid": False}}
# If there are fewer bins, the axis is extended, so that they do not fill the whole chart.
_FEW_BINS = 5


def chart(table: ChartRows, title: str | None, note: str = "", **parts: Any) -> dict[str, Any]:
    """Return the specification of a chart: ``table`` is its data, ``parts`` say how it is drawn, and ``note`` is a subtitle."""
    heading = {"title": {"text": title or "", **({"subtitle": note} if note else {})}} if title or note else {}
    description = ". ".join(filter(None, (title, note))) or "chart"
    properties = {"background": None, **heading, "width": WIDTH, "height": HEIGHT, "data": {"values": list(table)}, **parts}
    return {"$schema": SCHEMA, "description": description, **properties, "config": _CONFIG}


def nothing(title: str | None, note: str, why: str, table: ChartRows = ()) -> dict[str, Any]:
    """Return a chart that shows only the text ``why`` instead of a drawing; ``table`` is part of its data."""
    mark = {"type": "text", "text": why, "fontSize": 14, "opacity": 0.75}
    return chart(table, title, note, layer=[{"data": {"values": [{}]}, "mark": mark}], height=120)


def histogram(table: ChartRows, title: str | None, note: str, scale: Scale, count_title: str) -> dict[str, Any]:
    """Return a histogram; bins with few rows have a line at their foot, so that they remain visible."""
    shift = _shift(table, scale, "left", "right")
    rows = [{**row, **{edge: on_axis(row[edge], scale.is_time) for edge in ("left", "right")}} for row in table]
    scale = scale.over(table, "left", "right")
    if not scale.has_room:
        return nothing(title, note, TOO_FAR, table)
    tooltips = [_tooltip("left", "value", scale.kind)] if shift else [_tooltip("left", "from", scale.kind), _tooltip("right", "to", scale.kind)]
    across = {"x": scale.axis("from", scale={"nice": False}), "x2": {"field": "to"}, "tooltip": [*tooltips, _tooltip("count", "rows")]}
    maximum = max(row["count"] for row in table)
    up = {"y": count_axis("count", count_title, maximum), "y2": {"datum": 0}}
    bar = {"mark": {"type": "bar", "color": COLOUR, "x2Offset": -1}, "encoding": {**across, **up}}
    foot = {
        "transform": [{"filter": "datum.count > 0"}],
        "mark": {"type": "rule", "color": COLOUR, "strokeWidth": 2},
        "encoding": {**across, "y": {"datum": 0}},
    }
    room = _room({"x": _ends(table, scale, "left", "right")}, {"x": scale})
    return chart(rows, title, note, layer=[_with_edges(bar, "", shift), _with_edges(foot, "", shift), *room])


def frequencies(table: ChartRows, title: str | None, note: str, labels: tuple[str, str]) -> dict[str, Any]:
    """Return a bar for each value, most frequent first, with its number of rows and share; ``note`` is about all other values."""
    tooltips = [_text("label", "value"), _tooltip("count", "rows"), _text("percentage", "share")]
    displayed = [row for row in table if not row.get("other")]
    names = [row["label"] for row in displayed]
    y = {"field": "label", "type": "nominal", "scale": {"domain": names}, "title": labels[0]}
    y["axis"] = {"ticks": False, "domain": False, "titleLimit": _title_limit(names)}
    maximum = max(row["count"] for row in displayed)
    colour = {"condition": {"test": "datum.missing === true", "value": MISSING_COLOUR}, "value": COLOUR}
    x = count_axis("count", labels[1], maximum, up=False)
    # Leave space after the longest bar for its text.
    x["scale"] = {"zero": True, "domainMin": 0, "domainMax": maximum * 1.2, "nice": False}
    bar_label = "format(datum.count, ',') + ' \u00b7 ' + datum.percentage"
    layers = [
        {"mark": "bar", "encoding": {"x": x, "color": colour}},
        {
            "transform": [{"calculate": bar_label, "as": "told"}],
            "mark": {"type": "text", "align": "left", "dx": 5},
            "encoding": {"x": x, "text": {"field": "told", "type": "nominal"}},
        },
    ]
    displayed_only = [{"filter": "datum.other !== true"}]
    return chart(table, title, note, transform=displayed_only, encoding={"y": y, "tooltip": tooltips}, layer=layers, height=STEP * len(names))


def scatter(table: ChartRows, title: str | None, note: str, scales: tuple[Scale, Scale]) -> dict[str, Any]:
    """Return a chart with a point for each row."""
    points = [{name: on_axis(row[name], scale.is_time) for name, scale in zip("xy", scales, strict=True)} for row in table]
    over_all = {name: scale.over(table, name) for name, scale in zip("xy", scales, strict=True)}
    if not all(scale.has_room for scale in over_all.values()):
        return nothing(title, note, TOO_FAR, points)
    axes = {name: scale.axis(name, up=name == "y") for name, scale in over_all.items()}
    tooltips = [_tooltip(name, name, scale.kind) for name, scale in zip("xy", scales, strict=True)]
    mark = {"type": "circle", "color": COLOUR, "opacity": 0.6, "size": 30}
    return chart(points, title, note, mark=mark, encoding={**axes, "tooltip": tooltips})


def cells(table: ChartRows, title: str | None, note: str, scales: tuple[Scale, Scale]) -> dict[str, Any]:
    """Return a heat map with a rectangle for each cell of the table."""
    encoding: dict[str, Any] = {"color": _colour(max(row["count"] for row in table)), "tooltip": []}
    rows, drawn = [dict(row) for row in table], {"mark": "rect", "encoding": encoding}
    ends: dict[str, tuple[float, float] | None] = {}
    over_all: dict[str, Scale] = {}
    for name, scale in zip("xy", scales, strict=True):
        low, high = f"{name}_left", f"{name}_right"
        shift = _shift(table, scale, low, high)
        for row in rows:
            row.update({edge: on_axis(row[edge], scale.is_time) for edge in (low, high)})
        over = scale.over(table, low, high)
        encoding[name], encoding[f"{name}2"] = over.axis(f"{name}_from", up=name == "y", **_NO_ROOM), {"field": f"{name}_to"}
        edges = [(low, name)] if shift else [(low, f"{name} from"), (high, f"{name} to")]
        encoding["tooltip"] += [_tooltip(edge, title_of_edge, scale.kind) for edge, title_of_edge in edges]
        drawn = _with_edges(drawn, f"{name}_", shift)
        ends[name], over_all[name] = _ends(table, over, low, high), over
    if not all(scale.has_room for scale in over_all.values()):
        return nothing(title, note, TOO_FAR, rows)
    encoding["tooltip"].append(_tooltip("count", "rows"))
    return chart(rows, title, note, layer=[drawn, *_room(ends, over_all)])


def pairs(table: ChartRows, title: str | None, note: str, labels: tuple[str, str]) -> dict[str, Any]:
    """Return a heat map of pairs of strings, with the number of rows in each cell."""
    axes = {name: _labels(table, name, label, name == "x") for name, label in zip("xy", labels, strict=True)}
    tooltips = [_text("x", "x"), _text("y", "y"), _tooltip("count", "rows")]
    maximum = max(row["count"] for row in table)
    colour = {"condition": {"test": "datum.count === 0", "value": "transparent"}, **_colour(maximum, RAMP_BEHIND_TEXT)}
    text = {"field": "count", "type": "quantitative", "format": "~s" if maximum >= 10**5 else ",d"}
    layers = [
        {"mark": "rect", "encoding": {"color": colour}},
        {"transform": [{"filter": "datum.count > 0"}], "mark": {"type": "text", "fontSize": 10}, "encoding": {"text": text}},
    ]
    return chart(table, title, note, encoding={**axes, "tooltip": tooltips}, layer=layers, height=STEP * len({row["y"] for row in table}))


def boxes(table: ChartRows, title: str | None, note: str, label: str, scale: Scale, upright: bool) -> dict[str, Any]:
    """Return a box plot: for each string, a box between the quartiles with a mark at the median, and a line from minimum to maximum."""
    names = ("min", "lower quartile", "median", "upper quartile", "max")
    rows = [{**row, **{name: on_axis(row[name], scale.is_time) for name in names}} for row in table]
    across, along = ("x", "y") if upright else ("y", "x")
    scale = scale.over(table, *names)
    if not scale.has_room:
        return nothing(title, note, TOO_FAR, rows)
    tooltips = [_text("x", "value"), *(_tooltip(name, name, scale.kind) for name in names), _tooltip("count", "rows")]

    def span(low: str, high: str) -> dict[str, Any]:
        return {along: scale.axis(low, up=upright), f"{along}2": {"field": high}, "tooltip": tooltips}

    def tick(name: str, size: int, thickness: float) -> dict[str, Any]:
        encoding = {along: scale.axis(name, up=upright), "tooltip": tooltips}
        return {"mark": {"type": "tick", "size": size, "thickness": thickness}, "encoding": encoding}

    layers = [
        {"mark": {"type": "rule", "color": COLOUR, "strokeWidth": 1.5}, "encoding": span("min", "max")},
        {"mark": {"type": "bar", "size": 18, "color": COLOUR}, "encoding": span("lower quartile", "upper quartile")},
        tick("min", 8, 1),
        tick("max", 8, 1),
        tick("median", 18, 2),
    ]
    height = HEIGHT if upright else (STEP + 4) * len(rows)
    return chart(rows, title, note, encoding={across: _labels(rows, "x", label, upright)}, layer=layers, height=height)


def line(table: ChartRows, title: str | None, note: str, scales: tuple[Scale, Scale]) -> dict[str, Any]:
    """Return a line through numbers over time; or through their means, with a band from minimum to maximum."""
    rows = [{**row, "x": on_axis(row["x"], True)} for row in table]
    has_band = bool(rows) and "least" in rows[0]
    across, up = scales[0].over(table, "x"), scales[1].over(table, *(("least", "largest") if has_band else ("y",)))
    if not up.has_room:
        return nothing(title, note, TOO_FAR, rows)
    fields = {"y": "mean", "least": "least", "largest": "largest", "count": "rows"} if has_band else {"y": "value"}
    tooltips = [_tooltip("x", "from" if has_band else "time", "time"), *(_tooltip(field, title) for field, title in fields.items())]
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "color": COLOUR, "point": len(rows) <= 50}, "encoding": {"y": up.axis("y", up=True), "tooltip": tooltips}}
    ]
    if has_band:
        band = {"y": up.axis("least", up=True), "y2": {"field": "largest"}, "tooltip": tooltips}
        layers.insert(0, {"mark": {"type": "area", "color": COLOUR, "opacity": 0.25}, "encoding": band})
    return chart(rows, title, note, encoding={"x": across.axis("x", scale={"nice": False})}, layer=layers)


def _shift(table: ChartRows, scale: Scale, low: str, high: str) -> float:
    """Return by how much bins are shifted to be centred on their numbers: 0.5 if each contains one int, else 0."""
    is_one = scale.kind == "whole" and bool(table) and table[0][high] - table[0][low] == 1
    return _ON_THE_NUMBER if is_one else 0.0


def _with_edges(layer: dict[str, Any], prefix: str, shift: float) -> dict[str, Any]:
    """Return a layer in which the edges of bins are computed with the shift."""
    edges = [{"calculate": f"datum.{prefix}{of} - {shift:g}", "as": f"{prefix}{name}"} for name, of in (("from", "left"), ("to", "right"))]
    return {**layer, "transform": [*layer.get("transform", []), *edges]}


def _ends(table: ChartRows, scale: Scale, low: str, high: str) -> tuple[float, float] | None:
    """Return the ends of an axis that is extended because there are few bins; None if there are enough."""
    assert scale.least is not None and scale.largest is not None
    step = table[0][high] - table[0][low]
    missing = _FEW_BINS - (scale.largest - scale.least) / step
    if missing <= 0:
        return None
    shift = _shift(table, scale, low, high)
    return scale.least - shift - missing * step / 2, scale.largest - shift + missing * step / 2


def _room(ends: dict[str, tuple[float, float] | None], scales: dict[str, Scale]) -> list[dict[str, Any]]:
    """Return a layer with two invisible points, which extend the axes beyond the bins."""
    extended = {name: span for name, span in ends.items() if span is not None}
    if not extended:
        return []
    points = [{name: on_axis(span[end], scales[name].is_time) for name, span in extended.items()} for end in (0, 1)]
    encoding = {name: {"field": name, "type": scales[name].channel_type} for name in extended}
    return [{"data": {"values": points}, "mark": {"type": "point", "opacity": 0, "tooltip": False}, "encoding": encoding}]


def _labels(table: ChartRows, field: str, title: str, upright: bool) -> dict[str, Any]:
    names = list(dict.fromkeys(row[field] for row in table))
    axis = {**label_axis(names, upright), "grid": False, **({} if upright else {"titleLimit": _title_limit(names)})}
    return {"field": field, "type": "nominal", "title": title, "sort": None, "scale": {"domain": names}, "axis": axis}


def _title_limit(names: Sequence[str]) -> int:
    """Return the maximum length in pixels of the title of a vertical axis of strings."""
    return max(STEP * len(names), 60)


def _tooltip(field: str, title: str, kind: str = "whole") -> dict[str, Any]:
    if kind == "time":
        return {"field": field, "title": title, "type": "temporal", "timeUnit": "utcyearmonthdatehoursminutesseconds"}
    return {"field": field, "title": title, "type": "quantitative", "format": ",d" if kind == "whole" else ",.6~g"}


def _text(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "title": title, "type": "nominal"}


def _colour(max_count: int, ramp: tuple[str, str] = RAMP) -> dict[str, Any]:
    legend = {"tickCount": 5, **count_labels(max_count)}
    return {"field": "count", "type": "quantitative", "title": "rows", "scale": {"range": list(ramp), "domainMin": 0}, "legend": legend}
