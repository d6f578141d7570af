"""Pages that show charts: one file of HTML, that asks nothing of the network and fits light and dark screens."""

from __future__ import annotations

import html
import json
from typing import Any

from sframe_spark.visible import visible

# Nothing is fetched, whatever the data says; Vega makes functions of the expressions of charts.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --faint: rgba(128, 128, 128, .25); --bar: #4c78a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dce1; --paper: #15181c; --bar: #7aa6d8; } }
body { margin: 2rem; background: var(--paper); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
"""
# A chart is as wide as the window, up to where its parts would be far from each other.
_CHART_STYLE = "#chart.vega-embed { display: block; max-width: 960px; } #chart.vega-embed summary { z-index: 1; }"


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """A whole page.

    Parameters
    ----------
    title
        Any text.
    body
        HTML.
    style, script
        What stands in ``<style>`` and ``<script>``.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>{html.escape(visible(title))}</title>'
        f"<style>{_STYLE}{style}</style></head>\n<body>{body}{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def script_text(value: Any) -> str:
    """A value as JSON inside a script, which no text of the data can end.

    Examples
    --------
    >>> script_text("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def chart_page(title: str, specification: dict[str, Any], library: str) -> str:
    """The page of one chart that tells of its parts under the mouse.

    Parameters
    ----------
    title
        Any text.
    specification
        In Vega-Lite.
    library
        The script that draws it: Vega, Vega-Lite and Vega-Embed.
    """
    # The library would warn where its version is not that of the schema.
    options = {"mode": "vega-lite", "renderer": "svg", "actions": {"export": True, "source": False, "compiled": False, "editor": False}}
    shown = {name: part for name, part in specification.items() if name != "$schema"}
    if "width" in shown:
        shown |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    library = library.replace("</script", "<\\/script")
    start = f'vegaEmbed(document.getElementById("chart"), {script_text(shown)}, {script_text(options)});'
    return page(title, '<main id="chart"></main>', _CHART_STYLE, f"{library}\n{start}")
