"""HTML pages of charts, which load nothing from a network, and their display in a notebook or browser."""

from __future__ import annotations

import html
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sframe_spark.config import config
from sframe_spark.message_text import visible
from sframe_spark.process.temporary_file_leases import directory_of_system
from sframe_spark.session.progress import notebook_shell

# --- Pages


# Whatever the data contains, a page can load nothing, and can submit forms only to its own address.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'self'"
# Additions to the policy for pages with scripts, and for pages that draw charts with Vega, which compiles expressions ('unsafe-eval').
_SCRIPTS, _DRAWING_SCRIPTS = "; script-src 'unsafe-inline'", "; script-src 'unsafe-inline' 'unsafe-eval'"
_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --quiet: #5c646d; --bar: #4c78a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dce1; --paper: #15181c; --quiet: #a2a9b0; --bar: #7aa6d8; } }
body { margin: clamp(.75rem, 2.5vw, 2rem); background: var(--paper); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
"""
# A chart is as wide as the window, up to a maximum.
_CHART_STYLE = """
main { max-width: 960px; } h1 { font-size: 18px; margin: 0; overflow-wrap: anywhere; } h1 + p { margin: 2px 0 0; } p { opacity: .8; margin: 0; }
.place { overflow-x: auto; margin-top: 16px; } #chart.vega-embed { display: block; }
"""
# For the minimum width of a chart: pixels of a character, maximum characters of a label, and pixels of numbers at an axis, of one label, and of the
# plot.
_CHARACTER, _LONGEST_LABEL, _NUMBERS, _LABEL, _PLOT = 6, 40, 60, 44, 220


def page(title: str, body: str, style: str = "", script: str = "", draws: bool = False, head: str = "") -> str:
    """Return a complete HTML page.

    Parameters
    ----------
    title
        Title, as plain text.
    body
        HTML of the body.
    style, script
        Contents of the ``style`` and ``script`` elements.
    draws
        Whether the script draws a chart, which requires a weaker security policy.
    head
        Further HTML for the head.
    """
    policy = _POLICY + ((_DRAWING_SCRIPTS if draws else _SCRIPTS) if script else "")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">{head}<title>{html.escape(visible(title))}</title>'
        f"<style>{_STYLE}{style}</style></head>\n<body>{body}{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def leading_to(address: str) -> str:
    """Return a page that redirects to an address."""
    escaped = html.escape(address)
    return page("SFrame", f'<p><a href="{escaped}" rel="noreferrer">rows</a></p>', head=f'<meta http-equiv="refresh" content="0; url={escaped}">')


def script_text(value: Any) -> str:
    """Return a value as JSON for a script element; strings in the value cannot end the element.

    Examples
    --------
    >>> script_text("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def chart_page(title: str, specification: dict[str, Any], library: str) -> str:
    """Return the page of one chart, with tooltips. The title is an HTML heading, so that long titles wrap.

    Parameters
    ----------
    title
        Title of the page, as plain text.
    specification
        The chart, in Vega-Lite.
    library
        The script that draws it, with Vega, Vega-Lite and Vega-Embed.
    """
    # The schema is left out because Vega-Embed warns if its version differs from the library's.
    drawn = {name: part for name, part in specification.items() if name not in ("$schema", "title")}
    if "width" in drawn:
        drawn |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    library = library.replace("</script", "<\\/script")
    options = {"mode": "vega-lite", "renderer": "svg", "actions": False}
    start = f'vegaEmbed(document.getElementById("chart"), {script_text(drawn)}, {script_text(options)});'
    body = f'<main>{_heading(specification.get("title", {}))}<div class="place"><div id="chart"></div></div></main>'
    return page(title, body, f"{_CHART_STYLE}#chart {{ min-width: {_min_width(specification)}px; }}", f"{library}\n{start}", draws=True)


def _heading(title: dict[str, str]) -> str:
    parts = (("h1", title.get("text")), ("p", title.get("subtitle")))
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for tag, text in parts if text)


def _min_width(specification: dict[str, Any]) -> int:
    """Return the minimum width of a chart in pixels, at which its labels fit; narrower windows have a scroll bar."""
    shared = specification.get("encoding", {})
    across, up = ([str(label) for label in shared.get(name, {}).get("scale", {}).get("domain", [])] for name in "xy")
    label_width = min(max(map(len, up)), _LONGEST_LABEL) * _CHARACTER if up else _NUMBERS
    return round(label_width + (len(across) * _LABEL if across else _PLOT))


# --- Display: below a cell of a notebook, or in a browser


def show_page(chart: Any, page: Callable[[], str], title: str) -> None:
    """Display a chart in a notebook, or else its page in a browser, or nothing; ``config.picture_target`` decides."""
    target = config.picture_target
    if target == "none":
        return
    if target == "auto" and notebook_shell() is not None:
        sys.modules["IPython"].display.display(chart)
        return
    open_address(write_page(page()).as_uri(), title)


def open_address(address: str, title: str, is_secret: bool = False) -> None:
    """Open a page in the browser; if there is none, print its address.

    Parameters
    ----------
    address
        URL of the page.
    title
        The name of the page in the message that is printed if there is no browser.
    is_secret
        Whether other users must not see the address. They can see the command that starts the browser, so it gets a private file that redirects.
    """
    import webbrowser

    opened = write_page(leading_to(address)).as_uri() if is_secret else address
    if not webbrowser.open(opened):
        sys.stderr.write(f"There is no browser; {visible(title)} is at {address}\n")


def write_page(page: str) -> Path:
    """Write a page to a file that only this user can read. It is not deleted, because a browser may read it after this process has ended."""
    handle, path = tempfile.mkstemp(prefix="sframe_spark-", suffix=".html", dir=directory_of_system())
    with os.fdopen(handle, "wb") as file:
        file.write(page.encode("utf-8", "replace"))
    return Path(path)
