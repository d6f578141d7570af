"""Pictures of everything that looks different, to be looked at: ``python -m tests.plotting.gallery DIRECTORY`` writes pages and PNGs of them.

Charts of all pairs of types with missing values, NaN, infinities, one row, one value, tiny and enormous numbers, many and long labels in several
directions of writing, and texts that are HTML; summaries of 3 and 300 columns; tables of notebooks; each in light and dark, wide and narrow.
"""

from __future__ import annotations

import datetime
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sframe_spark import SArray, SFrame, visualization
from sframe_spark.plotting.plot_class_and_chart_choice import Plot
from sframe_spark.plotting.row_browser import first_rows
from tests.chromium import Browser, browser

CHOOSE = random.Random(1)
ROWS = 3000
START = datetime.datetime(2024, 1, 1)
EVIL = "</script><script>document.title='changed'</script><img src=x onerror=\"document.title='changed'\">'`${1}"
CITIES = ["Berlin", "Paris", "New York", "Rio de Janeiro", "Tokyo", "Lagos"]
TEXTS = [
    "a very long label that goes on and on " * 3,
    "Überschrift mit Umlauten ß",
    "مرحبا بالعالم",
    "שלום עולם",
    "👩‍👩‍👧‍👦 family",
    "日本語のテキスト",
    EVIL,
    "two\nlines",
    "",
    "  ",
]


def made(value: Callable[[int], Any], missing: int = 0, rows: int = ROWS) -> list[Any]:
    """Values of a column, of which each so many-th is missing."""
    return [None if missing and row % missing == 0 else value(row) for row in range(rows)]


NORMAL = made(lambda row: CHOOSE.gauss(170, 9), 50)
SKEWED = [[None, math.nan, math.inf, -math.inf][row % 4] if row % 100 < 4 else CHOOSE.lognormvariate(0, 2) for row in range(ROWS)]
DICE = made(lambda row: CHOOSE.randint(1, 6) + CHOOSE.randint(1, 6), 9)
TIMES = made(lambda row: START + datetime.timedelta(minutes=CHOOSE.randrange(60 * 24 * 90)), 40)
TOWNS = made(lambda row: CHOOSE.choices(CITIES, [9, 7, 5, 4, 3, 1])[0], 15)
MANY = made(lambda row: f"category number {int(CHOOSE.expovariate(0.02))}")
ODD = made(lambda row: CHOOSE.choice(TEXTS))
COLOURS = made(lambda row: CHOOSE.choice(["red", "green", "blue", None]))


def hours() -> SArray:
    """Times in order."""
    return SArray(made(lambda row: START + datetime.timedelta(hours=row), 50, 20_000))


def waves() -> SArray:
    """Numbers that go up and down."""
    return SArray(made(lambda row: 100 + 10 * math.sin(row / 900) + CHOOSE.gauss(0, 1), 0, 20_000))


def pair(x: list[Any], y: list[Any], *labels: str) -> Plot:
    """The chart of two columns."""
    return visualization.plot(SArray(x), SArray(y), *labels)


CHARTS: dict[str, Callable[[], Plot]] = {
    "histogram": lambda: SArray(NORMAL).plot(),
    "histogram-skewed": lambda: SArray(SKEWED).plot("Income", "EUR", "people"),
    "histogram-ints": lambda: SArray(DICE).plot(),
    "histogram-times": lambda: SArray(TIMES).plot(),
    "histogram-moments": lambda: SArray(made(lambda row: START + datetime.timedelta(seconds=CHOOSE.random() * 3))).plot(),
    "histogram-centuries": lambda: SArray(made(lambda row: datetime.datetime(CHOOSE.randrange(1400, 2100), 1, 1))).plot(),
    "histogram-one-int": lambda: SArray([5]).plot(),
    "histogram-one-float": lambda: SArray([0.123456] * 3).plot(),
    "histogram-one-time": lambda: SArray([START]).plot(),
    "histogram-tiny": lambda: SArray(made(lambda row: -1e-9 * CHOOSE.random())).plot(),
    "histogram-enormous": lambda: SArray(made(lambda row: CHOOSE.choice([1, -1]) * 10 ** CHOOSE.uniform(-300, 307))).plot(),
    "histogram-too-far": lambda: SArray([-1.7e308, 1.7e308]).plot(),
    "histogram-long-ints": lambda: SArray(made(lambda row: CHOOSE.randrange(2**62, 2**63))).plot(),
    "histogram-nothing": lambda: SArray([None, None], float).plot(),
    "bars": lambda: SArray(TOWNS).plot(),
    "bars-many": lambda: SArray(MANY).plot(),
    "bars-odd": lambda: SArray(ODD).plot(EVIL, EVIL, EVIL),
    "bars-missing": lambda: SArray([None], str).plot(),
    "points": lambda: pair(NORMAL, SKEWED, "height / cm", "income / EUR", "Height and income"),
    "points-times": lambda: pair(NORMAL, TIMES),
    "points-one": lambda: pair([1], [1.5]),
    "cells": lambda: visualization.heatmap(SArray(NORMAL), SArray(DICE)),
    "cells-many": lambda: visualization.plot(waves(), waves()),
    "cells-times": lambda: visualization.heatmap(SArray(TIMES), SArray(NORMAL)),
    "cells-one": lambda: visualization.heatmap(SArray([1]), SArray([2])),
    "boxes": lambda: pair(TOWNS, NORMAL, "city", "height / cm"),
    "boxes-lying": lambda: pair(NORMAL, TOWNS, "height / cm", "city"),
    "boxes-skewed": lambda: pair(MANY, SKEWED),
    "boxes-times": lambda: pair(TOWNS, TIMES),
    "boxes-odd": lambda: pair(ODD, NORMAL, EVIL, EVIL, EVIL),
    "boxes-one": lambda: pair(["a"], [1]),
    "pairs": lambda: pair(TOWNS, COLOURS, "city", "colour"),
    "pairs-odd": lambda: pair(MANY, ODD),
    "pairs-one": lambda: pair(["a"], ["b"]),
    "line": lambda: visualization.plot(hours()[:400], waves()[:400], "time", "price"),
    "line-many": lambda: visualization.plot(hours(), waves(), "time", "price"),
    "line-few": lambda: visualization.plot(hours()[:12], waves()[:12]),
    "line-one": lambda: pair([START], [1]),
}
"""A chart of each kind, and of what is difficult to draw."""


def mixed() -> SFrame:
    """A frame with a column of each kind."""
    columns: dict[str, Any] = {
        "number": range(ROWS),
        "height": NORMAL,
        "income": SKEWED,
        "dice": DICE,
        "time": TIMES,
        "city": TOWNS,
        "code": [f"AX-{row:06d}" for row in range(ROWS)],
        EVIL: ODD,
        "list": made(lambda row: [row, "x", {"k": [1, {"nested": "y" * 50}]}], 3),
        "array": made(lambda row: [CHOOSE.random() for _ in range(8)]),
        "dict": made(lambda row: {EVIL: row}),
        "one value": [7] * ROWS,
        "no value": SArray([None] * ROWS, float),
        "enormous": made(lambda row: CHOOSE.choice([1, -1]) * 10 ** CHOOSE.uniform(-300, 300)),
    }
    return SFrame(columns)[list(columns)].sort("number")


def wide() -> SFrame:
    """A frame of 300 columns."""
    kinds = (lambda row: CHOOSE.gauss(0, 1), lambda row: CHOOSE.choice("abcdef"), lambda row: CHOOSE.randrange(1000))
    return SFrame({f"column {place:03d}": made(kinds[place % 3], 0, 300) for place in range(300)})


FRAMES: dict[str, Callable[[], SFrame]] = {
    "mixed": mixed,
    "three": lambda: mixed()[["city", "height", "time"]],
    "five-rows": lambda: mixed()[:5],
    "one-row": lambda: SFrame({"a": [1], "b": ["x"]}),
    "wide": wide,
}
"""Frames of which there are summaries."""


def cell_page(*parts: str) -> str:
    """A page as plain as a notebook around what stands in its cells."""
    style = ":root { color-scheme: light dark; } body { background: Canvas; color: CanvasText; font: 14px sans-serif; }"
    cells = "".join(f'<div style="margin: 0 0 24px">{part}</div>' for part in parts)
    return f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>cells</title><style>{style}</style></head><body>{cells}</body></html>'


def tables() -> str:
    """Frames in cells."""
    whole = mixed()
    return cell_page(whole._repr_html_(), wide()._repr_html_(), whole[whole["number"] > 5]._repr_html_())


def columns() -> str:
    """Columns, and what is empty."""
    empty = SFrame({"a": SArray([], int), "b": SArray([], str)})
    return cell_page(SArray(NORMAL)._repr_html_(), SArray(TOWNS)._repr_html_(), empty._repr_html_(), SArray([], float)._repr_html_())


def pictures() -> str:
    """A summary and charts."""
    return cell_page(mixed().summary_page()._html(), SArray(TOWNS).plot()._html(), pair(TOWNS, NORMAL)._html())


def rows() -> str:
    """What ``explore()`` shows."""
    return cell_page(first_rows(mixed()._node, mixed().column_names(), "rows"))


NOTEBOOKS: dict[str, Callable[[], str]] = {"tables": tables, "columns": columns, "pictures": pictures, "rows": rows}
"""Pages of what stands in cells."""


def write_pages(directory: Path) -> list[Path]:
    """Write all of them."""
    pages = []
    for name, chart in CHARTS.items():
        pages.append(directory / f"{name}.html")
        chart().save(pages[-1])
    for name, frame in FRAMES.items():
        pages.append(directory / f"summary-{name}.html")
        frame().summary_page().save(pages[-1])
    for name, text in NOTEBOOKS.items():
        pages.append(directory / f"cells-{name}.html")
        pages[-1].write_text(text(), encoding="utf-8")
    return pages


WINDOWS = {"": (1000, 640, False), "-dark": (1000, 640, True), "-narrow": (400, 640, False)}


def take_pictures(window: Browser, page: Path) -> None:
    """Beside a page, how it looks in each window."""
    for ending, (width, height, dark) in WINDOWS.items():
        window.look(width, height, dark)
        window.open(page.as_uri())
        window.picture(page.with_name(f"{page.stem}{ending}.png"))


def main(directory: str) -> None:
    """Write all pages and their pictures."""
    place = Path(directory).absolute()
    place.mkdir(parents=True, exist_ok=True)
    with browser() as window:
        for page in write_pages(place):
            take_pictures(window, page)


if __name__ == "__main__":
    main(sys.argv[1])
