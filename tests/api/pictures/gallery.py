"""Pictures of everything that looks different, to be looked at: ``python -m tests.api.pictures.gallery DIRECTORY`` writes pages and PNGs of them.

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
from sframe_spark.api.pictures.plot import Plot
from sframe_spark.api.pictures.row_pages import first_rows
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


def charts() -> dict[str, Plot]:
    """A chart of each kind, and of what is difficult to draw."""
    normal, skewed, dice, times, towns, many, odd, colours = (SArray(one) for one in (NORMAL, SKEWED, DICE, TIMES, TOWNS, MANY, ODD, COLOURS))
    plot, heatmap = visualization.plot, visualization.heatmap
    hours = SArray(made(lambda row: START + datetime.timedelta(hours=row), 50, 20_000))
    waves = SArray(made(lambda row: 100 + 10 * math.sin(row / 900) + CHOOSE.gauss(0, 1), 0, 20_000))
    return {
        "histogram": normal.plot(),
        "histogram-skewed": skewed.plot("Income", "EUR", "people"),
        "histogram-ints": dice.plot(),
        "histogram-times": times.plot(),
        "histogram-moments": SArray(made(lambda row: START + datetime.timedelta(seconds=CHOOSE.random() * 3))).plot(),
        "histogram-centuries": SArray(made(lambda row: datetime.datetime(CHOOSE.randrange(1400, 2100), 1, 1))).plot(),
        "histogram-one-int": SArray([5]).plot(),
        "histogram-one-float": SArray([0.123456] * 3).plot(),
        "histogram-one-time": SArray([START]).plot(),
        "histogram-tiny": SArray(made(lambda row: -1e-9 * CHOOSE.random())).plot(),
        "histogram-enormous": SArray(made(lambda row: CHOOSE.choice([1, -1]) * 10 ** CHOOSE.uniform(-300, 308))).plot(),
        "histogram-long-ints": SArray(made(lambda row: CHOOSE.randrange(2**62, 2**63))).plot(),
        "histogram-nothing": SArray([None, None], float).plot(),
        "bars": towns.plot(),
        "bars-many": many.plot(),
        "bars-odd": odd.plot(EVIL, EVIL, EVIL),
        "bars-missing": SArray([None], str).plot(),
        "points": plot(normal, skewed, "height / cm", "income / EUR", "Height and income"),
        "points-times": plot(normal, times),
        "points-one": plot(SArray([1]), SArray([1.5])),
        "cells": heatmap(normal, dice),
        "cells-many": plot(waves, waves),
        "cells-times": heatmap(times, normal),
        "cells-one": heatmap(SArray([1]), SArray([2])),
        "boxes": plot(towns, normal, "city", "height / cm"),
        "boxes-lying": plot(normal, towns, "height / cm", "city"),
        "boxes-skewed": plot(many, skewed),
        "boxes-times": plot(towns, times),
        "boxes-odd": plot(odd, normal, EVIL, EVIL, EVIL),
        "boxes-one": plot(SArray(["a"]), SArray([1])),
        "pairs": plot(towns, colours, "city", "colour"),
        "pairs-odd": plot(many, odd),
        "pairs-one": plot(SArray(["a"]), SArray(["b"])),
        "line": plot(hours[:400], waves[:400], "time", "price"),
        "line-many": plot(hours, waves, "time", "price"),
        "line-few": plot(hours[:12], waves[:12]),
        "line-one": plot(SArray([START]), SArray([1])),
    }


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


def frames() -> dict[str, SFrame]:
    """Frames of which there are summaries and tables."""
    whole = mixed()
    return {
        "mixed": whole,
        "three": whole[["city", "height", "time"]],
        "five-rows": whole[:5],
        "one-row": SFrame({"a": [1], "b": ["x"]}),
        "wide": wide(),
    }


def cell_page(*parts: str) -> str:
    """A page as plain as a notebook around what stands in its cells."""
    style = ":root { color-scheme: light dark; } body { background: Canvas; color: CanvasText; font: 14px sans-serif; }"
    cells = "".join(f'<div style="margin: 0 0 24px">{part}</div>' for part in parts)
    return f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>cells</title><style>{style}</style></head><body>{cells}</body></html>'


def notebooks() -> dict[str, str]:
    """Pages of what stands in cells."""
    whole, towns = mixed(), SArray(TOWNS)
    empty = SFrame({"a": SArray([], int), "b": SArray([], str)})
    return {
        "tables": cell_page(whole._repr_html_(), wide()._repr_html_(), whole[whole["number"] > 5]._repr_html_()),
        "columns": cell_page(SArray(NORMAL)._repr_html_(), towns._repr_html_(), empty._repr_html_(), SArray([], float)._repr_html_()),
        "pictures": cell_page(whole.summary_page()._html(), towns.plot()._html(), visualization.plot(towns, SArray(NORMAL))._html()),
        "rows": cell_page(first_rows(whole._node, whole.column_names(), "rows")),
    }


def write_pages(directory: Path) -> list[Path]:
    """Write all of them."""
    pages = []
    for name, chart in {**charts(), **{f"summary-{name}": frame.summary_page() for name, frame in frames().items()}}.items():
        pages.append(directory / f"{name}.html")
        chart.save(pages[-1])
    for name, text in notebooks().items():
        pages.append(directory / f"cells-{name}.html")
        pages[-1].write_text(text, encoding="utf-8")
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
