"""Every page of the site as a browser shows it: ``pytest -m campaign tests/docs/test_site_in_a_browser.py`` where Chromium and Sphinx are found.

``SFRAME_SPARK_SITE`` names the directory of a site that is built already, whose Sphinx may be another environment's.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import PROGRAM, Browser, browser

ROOT = Path(__file__).parents[2]
BUILT = os.environ.get("SFRAME_SPARK_SITE")
pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium here"),
    pytest.mark.skipif(BUILT is None and importlib.util.find_spec("pydata_sphinx_theme") is None, reason="the site cannot be built here"),
]
WIDTHS = (390, 1024, 1440, 1920)
# Lines of printed boxes mean nothing when they are folded: a phone scrolls them, within their block.
SCROLLED_BELOW = 700
# What reaches beyond its own box, or beyond the article: [kind of element, pixels, its text].
TOO_WIDE = """
(() => {
  const found = [], root = document.scrollingElement, article = document.querySelector(".bd-article");
  if (root.scrollWidth > root.clientWidth + 1) found.push(["page", root.scrollWidth - root.clientWidth, ""]);
  if (!article) return found;
  const right = article.getBoundingClientRect().right;
  for (const element of article.querySelectorAll("pre, table, dt, img, svg, p, li")) {
    const box = element.getBoundingClientRect();
    if (!box.width || element.closest(".headerlink, .sd-d-none")) continue;
    const over = Math.max(box.right - right, element.scrollWidth - element.clientWidth - 1);
    const scrolls = window.innerWidth < SCROLLED_BELOW && element.closest(".printed") && box.right <= right + 1;
    if (over > 1 && !scrolls) found.push([element.tagName, Math.round(over), element.textContent.trim().slice(0, 60)]);
  }
  return found;
})()
""".replace("SCROLLED_BELOW", str(SCROLLED_BELOW))
NO_PICTURE = "[...document.images].filter(one => one.offsetParent && one.complete && !one.naturalWidth).map(one => one.src)"
# Texts whose contrast with the paper behind them is below what the guidelines for accessible pages ask: 4.5, or 3 for large letters.
FAINT = """
(() => {
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => {
    const part = color.slice(0, 3).map(value => value / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const over = (ink, paper) => { const a = ink[3] ?? 1; return ink.slice(0, 3).map((value, place) => value * a + paper[place] * (1 - a)); };
  const papers = new Map();
  const paper = element => {
    if (!element) return parts(getComputedStyle(document.body).backgroundColor);
    if (!papers.has(element)) papers.set(element, over(parts(getComputedStyle(element).backgroundColor), paper(element.parentElement)));
    return papers.get(element);
  };
  const found = new Map(), texts = document.createTreeWalker(document.querySelector("main") || document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.getClientRects().length || element.closest("script, style, .headerlink, [hidden]")) continue;
    const style = getComputedStyle(element), behind = paper(element);
    if (style.visibility !== "visible") continue;
    const one = light(over(parts(style.color), behind)), other = light(behind);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && parseInt(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.set(element.className + " " + style.color, [ratio.toFixed(2), element.outerHTML.slice(0, 120)]);
  }
  return [...found.values()];
})()
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = Path(BUILT or tmp_path_factory.mktemp("site"))
    if BUILT is None:
        command = [sys.executable, "-m", "sphinx", "--quiet", "-j", "auto", "-c", "docs/site", "docs", str(place)]
        subprocess.run(command, cwd=ROOT, check=True)
    found = sorted(path for path in place.rglob("*.html") if "_static" not in path.parts and path.name != "search.html")
    assert len(found) > 400
    return found


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def opened(window: Browser, page: Path) -> None:
    """Load a page; nothing of it comes from elsewhere."""
    window.events = []
    window.ask("Page.navigate", url=page.as_uri())
    window.wait_for("Page.loadEventFired")
    asked = [event["params"]["request"]["url"] for event in window.events if event.get("method") == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == [], page
    window.events = []


def test_nothing_is_cut_and_no_picture_is_missing(pages: list[Path], window: Browser) -> None:
    found: dict[str, Any] = {}
    window.look(WIDTHS[0], 900)
    for page in pages:
        opened(window, page)
        for width in WIDTHS:
            window.look(width, 900)
            if wrong := [*window.value(TOO_WIDE), *(["picture", 0, source] for source in window.value(NO_PICTURE))]:
                found[f"{page.stem} at {width}"] = wrong
    assert found == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_are_read_in_each_theme(pages: list[Path], window: Browser, theme: str) -> None:
    found: dict[str, Any] = {}
    window.look(1440, 900, dark=theme == "dark")
    for page in pages:
        opened(window, page)
        assert window.value("document.documentElement.dataset.theme") == theme
        if faint := window.value(FAINT):
            found[page.stem] = faint
    assert found == {}
