"""The pictures of the manual: ``python -m tests.docs.pictures`` takes them anew, in the Chromium of this machine, of a frame that is made here."""

from __future__ import annotations

import datetime
import math
import random
import tempfile
from pathlib import Path

from sframe_spark import SFrame, plot
from tests.chromium import Browser, browser
from tests.plotting.gallery import cell_page

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
MAX_BYTES = 150_000
HOURS = 24 * 365
STATIONS = {"Hamburg": (10, 9), "Zürich": (9, 11), "Palermo": (18, 8), "Tromsø": (3, 9)}


def weather() -> SFrame:
    """A year of hours of four stations that do not exist."""
    choose = random.Random(4)
    columns: dict[str, list[object]] = {"time": [], "station": [], "temperature": [], "rain": [], "observer": []}
    start = datetime.datetime(2024, 1, 1)
    for hour in range(HOURS):
        season, day = -math.cos(2 * math.pi * hour / HOURS), -math.cos(2 * math.pi * (hour - 2) / 24)
        for station, (mean, swing) in STATIONS.items():
            temperature = mean + swing * season + 3 * day + choose.gauss(0, 2)
            columns["time"].append(start + datetime.timedelta(hours=hour))
            columns["station"].append(station)
            columns["temperature"].append(None if choose.random() < 0.01 else temperature)
            columns["rain"].append(round(max(choose.gauss(-0.5, 1), 0.0), 2))
            columns["observer"].append(choose.choice(["Ada", "Ada", "Ben", "Chen", None]))
    return SFrame(columns)[["time", "station", "temperature", "rain", "observer"]].sort("time")


def take(window: Browser, name: str, page: Path, part: str, width: int) -> None:
    """Pictures of a part of a page on light and on dark paper, finer than its pixels."""
    for dark in (False, True):
        window.look(width, 700, dark=dark, scale=1.4)
        seen = window.open(page.as_uri())
        assert not seen.errors, seen.errors
        window.picture(PICTURES / f"{name}{'-dark' * dark}.png", part, margin=8)


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    frame = weather()
    palermo = frame[frame["station"] == "Palermo"]
    with tempfile.TemporaryDirectory() as directory, browser() as window:
        page = Path(directory) / "page.html"
        page.write_text(cell_page(f'<div class="cell" style="display: inline-block">{frame._repr_html_()}</div>'), encoding="utf-8")
        take(window, "table", page, ".cell", 1080)
        frame.summary_page().save(page)
        take(window, "summary", page, "main", 1080)
        plot(palermo["time"], palermo["temperature"], "time", "temperature / °C", "A year in Palermo").save(page)
        take(window, "line", page, "main", 820)


if __name__ == "__main__":
    main()
