"""Figures of pages: what the code of a page draws and saves. ``python -m tests.docs.figures`` writes them anew.

A figure is a picture in ``docs/pictures``, and its specification in Vega-Lite in ``tests/data/figures``, which is compared with what the page draws
whenever its code runs: pictures themselves are as the fonts of a machine are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from sframe_spark.visualization import Plot

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
SPECIFICATIONS = ROOT / "tests" / "data" / "figures"
# A grey that is read on white pages and on black ones: figures stand on both.
INK = "#767676"
SHOWN = re.compile(r"!\[[^\]]+\]\((?:\.\./)*pictures/([\w-]+\.svg)\)")


def figures_of(page: Path) -> list[str]:
    """The files of the figures that a page shows, in its order; the layers are no chart."""
    return [name for name in SHOWN.findall(page.read_text(encoding="utf-8")) if name != "layers.svg"]


@contextlib.contextmanager
def saved_charts() -> Iterator[dict[str, Plot]]:
    """Charts that are saved meanwhile, by the names of their files."""
    saved: dict[str, Plot] = {}
    save = Plot.save

    def recorded(chart: Plot, filepath: str) -> None:
        save(chart, filepath)
        saved[Path(filepath).name] = chart

    with mock.patch.object(Plot, "save", recorded):
        yield saved


def as_recorded(chart: Plot) -> dict[str, Any]:
    """A chart's specification without the last digits of floats, which are as the order of additions is."""
    rounded: dict[str, Any] = json.loads(json.dumps(chart.get_vega()), parse_float=lambda digits: float(f"{float(digits):.9g}"))
    return rounded


def recorded_figure(name: str) -> dict[str, Any]:
    """The check sum of a figure's picture, and its specification."""
    found: dict[str, Any] = json.loads((SPECIFICATIONS / name).with_suffix(".json").read_text(encoding="utf-8"))
    return found


def check_sum(picture: Path) -> str:
    """Of a picture's bytes."""
    return hashlib.sha256(picture.read_bytes()).hexdigest()


def record(name: str, chart: Plot) -> None:
    """Keep a figure: its picture, and what it was drawn of."""
    for place in (PICTURES, SPECIFICATIONS):
        place.mkdir(parents=True, exist_ok=True)
    (PICTURES / name).write_text(chart._svg(INK), encoding="utf-8")
    text = json.dumps({"picture": check_sum(PICTURES / name), "specification": as_recorded(chart)}, indent=1, sort_keys=True)
    # A row of a table stands on one line.
    text = re.sub(r"\{[^{}]*\}", lambda row: " ".join(row.group().split()), text)
    (SPECIFICATIONS / name).with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def draw(page: Path) -> None:
    """Run a page, and keep its figures."""
    from tests.docs.test_code import blocks_of

    names: dict[str, object] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), saved_charts() as saved:
        for text, _ in blocks_of(page):
            exec(compile(text, str(page), "exec"), names)
        for name in figures_of(page):
            record(name, saved[name])
            sys.stderr.write(f"docs/pictures/{name}\n")


def main(names: list[str]) -> None:
    """Draw the figures of the pages of some names; of all, when none is given."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if figures_of(page) and (not names or page.stem in names):
            draw(page)


if __name__ == "__main__":
    main(sys.argv[1:])
