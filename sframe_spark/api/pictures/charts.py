"""Charts as Vega-Lite specifications: plain dicts, whose fields have names of ours and never of the user's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH, HEIGHT = 640, 400
COLOUR, MISSING_COLOUR = "#4c78a8", "#9a9a9a"
SECONDS = 1000
# Text and lines take the colour of the page, so that charts fit light and dark ones.
INK = "currentColor"
_CONFIG: dict[str, Any] = {
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        "gridOpacity": 0.12,
        "domainOpacity": 0.5,
        "tickOpacity": 0.5,
        "titleFontWeight": "normal",
        "labelLimit": 240,
        "maxExtent": 400,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"},
    "title": {"color": INK, "subtitleColor": INK, "anchor": "start", "fontWeight": 600},
    "view": {"stroke": None},
    # Vega-Lite would write what marks say of themselves, and what tooltips tell, as expressions made of titles: those of users stay out of them.
    "mark": {"aria": False},
    "font": "system-ui, sans-serif",
}
ChartRows = Sequence[dict[str, Any]]


def chart(table: ChartRows, title: str | None, note: str = "", **parts: Any) -> dict[str, Any]:
    """A specification of a table and what is drawn of it; the note stands below the title."""
    heading = {"text": title or "", **({"subtitle": note} if note else {})}
    titled = {"title": heading} if title or note else {}
    return {
        "$schema": SCHEMA,
        "background": None,
        **titled,
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": list(table)},
        **parts,
        "config": _CONFIG,
    }


def histogram(table: ChartRows, title: str | None, note: str, labels: tuple[str, str], is_time: bool) -> dict[str, Any]:
    """Bars over bins."""
    x = {**_axis("left", labels[0], is_time), **({} if is_time else {"bin": {"binned": True}})}
    told = [_told("left", "from", is_time), _told("right", "to", is_time), _told("count", "rows")]
    encoding = {"x": x, "x2": {"field": "right"}, "y": _axis("count", labels[1], starts_at_zero=True), "y2": {"datum": 0}, "tooltip": told}
    return chart(_timed(table, is_time), title, note, mark={"type": "bar", "color": COLOUR, "binSpacing": 1}, encoding=encoding)


def frequencies(table: ChartRows, title: str | None, labels: tuple[str, str]) -> dict[str, Any]:
    """A bar for each value, the most frequent first."""
    told = [_text("label", "value"), _told("count", "rows"), _text("percentage", "share")]
    encoding = {
        "y": {"field": "label", "type": "nominal", "sort": {"field": "label_idx"}, "title": labels[0]},
        "x": _axis("count", labels[1], starts_at_zero=True),
        "color": {"condition": {"test": "datum.missing === true", "value": MISSING_COLOUR}, "value": COLOUR},
        "tooltip": told,
    }
    return chart(table, title, mark="bar", encoding=encoding, height={"step": 26})


def scatter(table: ChartRows, title: str | None, note: str, labels: tuple[str, str], times: tuple[bool, bool]) -> dict[str, Any]:
    """A point for each row."""
    points = [{"x": _time(row["x"], times[0]), "y": _time(row["y"], times[1])} for row in table]
    axes = {name: _axis(name, label, is_time) for name, label, is_time in zip("xy", labels, times, strict=True)}
    told = [_told(name, name, is_time) for name, is_time in zip("xy", times, strict=True)]
    mark = {"type": "circle", "color": COLOUR, "opacity": 0.6, "size": 30}
    return chart(points, title, note, mark=mark, encoding={**axes, "tooltip": told})


def cells(table: ChartRows, title: str | None, note: str, labels: tuple[str, str], times: tuple[bool, bool]) -> dict[str, Any]:
    """A heat map of bins."""
    edges = ("x_left", "x_right", "y_left", "y_right")
    of_time = dict(zip(edges, (times[0], times[0], times[1], times[1]), strict=True))
    rows = [{**{edge: _time(row[edge], of_time[edge]) for edge in edges}, "count": row["count"]} for row in table]
    encoding: dict[str, Any] = {
        "color": _colour(),
        "tooltip": [_told(edge, edge.replace("_", " "), of_time[edge]) for edge in edges] + [_told("count", "rows")],
    }
    for name, label, is_time in zip("xy", labels, times, strict=True):
        encoding[name] = _axis(f"{name}_left", label, is_time)
        encoding[f"{name}2"] = {"field": f"{name}_right"}
    return chart(rows, title, note, mark="rect", encoding=encoding)


def pairs(table: ChartRows, title: str | None, note: str, labels: tuple[str, str]) -> dict[str, Any]:
    """A heat map of texts."""
    axes = {name: {"field": name, "type": "nominal", "title": label, "sort": None} for name, label in zip("xy", labels, strict=True)}
    told = [_text("x", "x"), _text("y", "y"), _told("count", "rows")]
    return chart(table, title, note, mark="rect", encoding={**axes, "color": _colour(), "tooltip": told}, height={"step": 26})


def boxes(table: ChartRows, title: str | None, note: str, labels: tuple[str, str], upright: bool, is_time: bool) -> dict[str, Any]:
    """A box from quartile to quartile with its median, and a line from the least number to the largest, of each text."""
    names = ("min", "lower quartile", "median", "upper quartile", "max")
    rows = [{**row, **{name: _time(row[name], is_time) for name in names}} for row in table]
    across, along = ("x", "y") if upright else ("y", "x")
    across_label, along_label = labels if upright else labels[::-1]
    groups = {across: {"field": "x", "type": "nominal", "sort": None, "title": across_label}}

    def span(low: str, high: str) -> dict[str, Any]:
        return {along: _axis(low, along_label, is_time), f"{along}2": {"field": high}}

    told = [_text("x", "value"), *(_told(name, name, is_time) for name in names), _told("count", "rows")]
    layers = [
        {"mark": {"type": "rule", "color": COLOUR}, "encoding": span("min", "max")},
        {"mark": {"type": "bar", "size": 18, "color": COLOUR}, "encoding": {**span("lower quartile", "upper quartile"), "tooltip": told}},
        {"mark": {"type": "tick", "size": 18, "color": "white", "thickness": 2}, "encoding": {along: _axis("median", along_label, is_time)}},
    ]
    return chart(rows, title, note, encoding=groups, layer=layers)


def line(table: ChartRows, title: str | None, note: str, labels: tuple[str, str]) -> dict[str, Any]:
    """A line through the means of a time, and a band from the least to the largest number."""
    rows = [{**row, "x": _time(row["x"], True)} for row in table]
    told = [_told("x", "x", True), _told("y", "y")]
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "color": COLOUR, "point": len(rows) <= 50}, "encoding": {"y": _axis("y", labels[1]), "tooltip": told}}
    ]
    if rows and "least" in rows[0]:
        band = {"y": _axis("least", labels[1]), "y2": {"field": "largest"}}
        layers.insert(0, {"mark": {"type": "area", "color": COLOUR, "opacity": 0.2}, "encoding": band})
    return chart(rows, title, note, encoding={"x": _axis("x", labels[0], True)}, layer=layers)


def _axis(field: str, title: str, is_time: bool = False, starts_at_zero: bool = False) -> dict[str, Any]:
    # A scale of UTC shows times as they are stored, in no zone.
    scale: dict[str, Any] = {"type": "utc"} if is_time else {"zero": starts_at_zero}
    return {"field": field, "type": "temporal" if is_time else "quantitative", "title": title, "scale": scale}


def _time(seconds: Any, is_time: bool) -> Any:
    return seconds * SECONDS if is_time else seconds


def _timed(table: ChartRows, is_time: bool) -> ChartRows:
    if not is_time:
        return table
    return [{**row, "left": row["left"] * SECONDS, "right": row["right"] * SECONDS} for row in table]


def _told(field: str, title: str, is_time: bool = False) -> dict[str, Any]:
    return {
        "field": field,
        "title": title,
        **({"type": "temporal", "timeUnit": "utcyearmonthdatehoursminutes"} if is_time else {"type": "quantitative"}),
    }


def _text(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "title": title, "type": "nominal"}


def _colour() -> dict[str, Any]:
    return {"field": "count", "type": "quantitative", "title": "rows", "scale": {"scheme": "blues"}}
