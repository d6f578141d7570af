"""Pages as a browser shows them: ``pytest -m campaign tests/plotting`` where Chromium is found; of how they look, see ``gallery.py``."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.plotting import row_browser
from sframe_spark.plotting.row_browser import RowServer
from tests.chromium import PROGRAM, Browser, browser
from tests.plotting.gallery import CHARTS, EVIL, FRAMES, NOTEBOOKS, mixed, wide

pytestmark = [pytest.mark.campaign, pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium here")]
MODES = {"light": False, "dark": True}
# Contrast of texts as the guidelines for accessible pages compute it.
CONTRAST = """
(() => {
  const light = color => {
    const part = color.match(/[\\d.]+/g).slice(0, 3).map(value => value / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const back = parse(getComputedStyle(document.body).backgroundColor);
  let least = 99, where = "";
  for (const element of document.querySelectorAll("svg text, h1, th, td, li bdi, small, .sf-faint, .sf-type, .sf-missing, label, summary")) {
    if (!element.textContent.trim() || !element.getClientRects().length || element.closest(".vega-actions, .off, [disabled]")) continue;
    let alpha = 1;
    for (let one = element; one; one = one.parentElement) alpha *= Number(getComputedStyle(one).opacity);
    const style = getComputedStyle(element), ink = parse(element instanceof SVGElement ? style.fill : style.color);
    const mixed = ink.slice(0, 3).map((value, place) => value * alpha + back[place] * (1 - alpha));
    const one = light("rgb(" + mixed.join(",") + ")"), ratio = (Math.max(one, paper) + 0.05) / (Math.min(one, paper) + 0.05);
    if (ratio < least) { least = ratio; where = element.outerHTML.slice(0, 200); }
  }
  return [least, where];
})()
"""
MARKS = "[...document.querySelectorAll('main svg g[class*=role-mark] > *')].filter(one => one.getBoundingClientRect().width > 0).length"
TOO_WIDE = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def looked_at(window: Browser, address: str, **look: Any) -> None:
    """Open a page that must do nothing but be there."""
    window.look(**look)
    seen = window.open(address)
    assert seen.errors == [] and [one for one in seen.requests if not one.startswith("data:")] == [address]
    assert window.value("document.title") != "changed" and not window.value("document.querySelector('img')")
    assert window.value("document.documentElement.lang") == "en" and window.value("document.title")


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_drawn(window: Browser, name: str, tmp_path: Path) -> None:
    CHARTS[name]().save(tmp_path / "chart.html")
    address = (tmp_path / "chart.html").as_uri()
    for dark in MODES.values():
        looked_at(window, address, width=1000, dark=dark)
        assert window.value(MARKS) > 0
        least, where = window.value(CONTRAST)
        assert least >= 4.5, where
    assert window.value("document.querySelector('main [role=graphics-document]').ariaLabel")
    looked_at(window, address, width=400)
    assert window.value(TOO_WIDE) <= 0 and window.value(MARKS) > 0


@pytest.mark.parametrize("name", ["bars-odd", "boxes-odd", "pairs-odd"])
def test_what_is_told_under_the_mouse_is_text(window: Browser, name: str, tmp_path: Path) -> None:
    CHARTS[name]().save(tmp_path / "chart.html")
    looked_at(window, (tmp_path / "chart.html").as_uri(), width=1000)
    marks = window.value(
        "[...document.querySelectorAll('main svg g[class*=mark-rect] > path')].map(one => one.getBoundingClientRect())"
        ".filter(one => one.width > 1).map(one => [one.x + one.width / 2, one.y + one.height / 2])"
    )
    told = set()
    for x, y in marks[:60]:
        window.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        told.add(window.value("document.querySelector('#vg-tooltip-element')?.textContent ?? ''"))
        assert window.value("document.querySelectorAll('#vg-tooltip-element img, #vg-tooltip-element script').length") == 0
    assert any(EVIL[:20] in text for text in told)
    assert window.value("document.title") != "changed"


@pytest.mark.parametrize("name", FRAMES)
def test_summaries_are_drawn(window: Browser, name: str, tmp_path: Path) -> None:
    frame = FRAMES[name]()
    frame.summary_page().save(tmp_path / "page.html")
    address = (tmp_path / "page.html").as_uri()
    for dark in MODES.values():
        looked_at(window, address, width=1300, dark=dark)
        assert window.value("document.querySelectorAll('tbody tr').length") == frame.num_columns()
        least, where = window.value(CONTRAST)
        assert least >= 4.5, where
    assert window.value("[...document.querySelectorAll('svg')].every(one => one.getAttribute('aria-label'))")
    looked_at(window, address, width=400)
    assert window.value(TOO_WIDE) <= 0


def test_columns_are_found_by_their_names(window: Browser, tmp_path: Path) -> None:
    wide().summary_page().save(tmp_path / "page.html")
    looked_at(window, (tmp_path / "page.html").as_uri())
    window.value("document.getElementById('find').focus()")
    window.ask("Input.insertText", text="COLUMN 01")
    assert window.value("[...document.querySelectorAll('tbody tr')].filter(one => one.getClientRects().length).length") == 10
    assert window.value("document.getElementById('found').textContent") == "10 of 300"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_are_drawn(window: Browser, name: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(NOTEBOOKS[name](), encoding="utf-8")
    for dark in MODES.values():
        looked_at(window, (tmp_path / "page.html").as_uri(), dark=dark)
        assert window.value("[...document.querySelectorAll('svg')].every(one => one.role == 'img' && one.ariaLabel)")
        least, where = window.value(CONTRAST)
        assert least >= 4.5, where


@pytest.fixture(scope="module")
def server() -> Iterator[RowServer]:
    frame = mixed()
    frame.materialize()
    server = RowServer(frame._node, frame.column_names(), EVIL)
    yield server
    server.stop()


def test_rows_are_paged_with_keys_alone(window: Browser, server: RowServer) -> None:
    def shown() -> str:
        found: str = window.value("document.querySelector('nav > span').textContent")
        return found

    def press(selector: str, key: str = "Enter") -> None:
        window.value(f"document.querySelector({selector!r}).focus()")
        window.events = []
        window.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text="\r", windowsVirtualKeyCode=13)
        window.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=13)

    def follow(selector: str) -> None:
        press(selector)
        window.wait_for("Page.loadEventFired")

    address = server.start()
    for dark in MODES.values():
        looked_at(window, address, width=1200, dark=dark)
        least, where = window.value(CONTRAST)
        assert least >= 4.5, where
    assert shown() == "rows 0 to 49 of 3,000" and window.value(
        "[...document.querySelectorAll('input,select')].every(one => one.type == 'hidden' || one.labels.length)"
    )
    follow("a[rel=next]")
    assert shown() == "rows 50 to 99 of 3,000"
    window.value("document.querySelector('#row').value = '1234'")
    follow("#row")
    assert shown() == "rows 1,234 to 1,283 of 3,000"
    assert window.value("[...document.querySelectorAll('tbody th')].slice(0, 2).map(one => one.textContent).join()") == "1,234,1,235"
    press("summary")
    assert window.value("document.querySelector('details').open")
    looked_at(window, f"{address}?row=2999", width=400)
    assert shown() == "rows 2,999 to 2,999 of 3,000" and window.value(TOO_WIDE) <= 0


# A page of a notebook with a widget, whose kernel is the table of pages.
NOTEBOOK = """<!DOCTYPE html><html lang="en"><title>notebook</title><style>{style}</style><body><div id="output"></div><script type="module">
const pages = {pages}, state = {{content: pages["0,0"]}}, told = {{}};
const model = {{
  get: name => state[name], set: (name, value) => {{ state[name] = value; }}, on: (event, call) => {{ told[event] = call; }},
  save_changes: () => {{ state.content = pages[state.place.join()] ?? "<p>no page " + state.place + "</p>"; told["change:content"](); }},
}};
const widget = await import("data:text/javascript;base64,{script}");
widget.default.render({{model, el: document.getElementById("output")}});
document.title = "drawn";
</script>"""


def test_a_widget_turns_pages(window: Browser, server: RowServer, tmp_path: Path) -> None:
    pages = json.dumps({f"{row},0": server.pages.content(row, 0) for row in (0, 50, 1234)}).replace("<", "\\u003c")
    script = base64.b64encode(row_browser._WIDGET_SCRIPT.encode()).decode()
    (tmp_path / "notebook.html").write_text(NOTEBOOK.format(style=row_browser._WIDGET_STYLE, pages=pages, script=script))

    def shown() -> str:
        found: str = window.value("document.querySelector('nav > span').textContent")
        return found

    looked_at(window, (tmp_path / "notebook.html").as_uri(), width=1000)
    assert window.value("document.title") == "drawn" and shown() == "rows 0 to 49 of 3,000"
    window.value("document.querySelector('a[rel=next]').click()")
    assert shown() == "rows 50 to 99 of 3,000"
    window.value("(document.querySelector('#row').value = '1234', document.querySelector('nav button').click())")
    assert shown() == "rows 1,234 to 1,283 of 3,000"
    # The style reaches what is in the widget, and its head stays where it is while rows are scrolled.
    assert window.value("getComputedStyle(document.querySelector('.sf-table thead th')).position") == "sticky"
    assert window.value("document.querySelector('.sf-table').clientHeight < document.querySelector('.sf-table').scrollHeight")


def test_pages_of_others_read_no_row(window: Browser, server: RowServer, tmp_path: Path) -> None:
    """Who knows the address, but is another page: it may neither read the answer, nor frame it, nor load it as a script or a picture."""
    address = server.start()
    (tmp_path / "other.html").write_text(f"<!DOCTYPE html><title>other</title><iframe src='{address}'></iframe>")
    window.look()
    window.open((tmp_path / "other.html").as_uri())
    tried = f"fetch({address!r}).then(answer => answer.text()).then(text => 'read ' + text.length, error => 'refused')"
    assert window.value(tried) == "refused"
    assert window.value("(() => { try { return !!frames[0].document.querySelector('table'); } catch { return false; } })()") is False
    assert urllib.parse.urlsplit(address).hostname == "127.0.0.1"
