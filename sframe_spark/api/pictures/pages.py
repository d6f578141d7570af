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
    options = {"renderer": "svg", "actions": {"export": True, "source": False, "compiled": False, "editor": False}}
    library = library.replace("</script", "<\\/script")
    start = f'vegaEmbed(document.getElementById("chart"), {script_text(specification)}, {script_text(options)});'
    return page(title, '<div id="chart"></div>', script=f"{library}\n{start}")
