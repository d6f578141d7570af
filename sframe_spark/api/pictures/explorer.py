"""Pages of rows: asked for one by one in a browser, the first thousand below a cell of a notebook."""

from __future__ import annotations

import hmac
import html
import secrets
import threading
import urllib.parse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.api.nodes import row_count, row_tuples
from sframe_spark.api.notebook import table_parts
from sframe_spark.api.pictures.pages import page
from sframe_spark.api.pictures.targets import open_address
from sframe_spark.config import config
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.errors import SFrameError
from sframe_spark.operators.relational.rows import slice_rows
from sframe_spark.operators.rowwise.columns import project
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.notebooks import notebook_shell
from sframe_spark.visible import visible

if TYPE_CHECKING:
    import http.server

PAGE_ROWS = 50
NOTEBOOK_ROWS = 1000
# A page of a thousand columns is slow to draw; others are asked for by their place.
PAGE_COLUMNS = 50
CELL_WIDTH = 120
_STYLE = """
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; text-align: left; border-bottom: 1px solid var(--faint); white-space: pre; }
.number { text-align: right; } .type { font-weight: normal; opacity: .65; font-size: 85%; } .missing { opacity: .45; font-style: italic; }
nav { margin: 1em 0; display: flex; gap: 1em; align-items: baseline; flex-wrap: wrap; } nav a { color: var(--bar); }
nav input { width: 8em; font: inherit; color: inherit; background: transparent; border: 1px solid var(--faint); padding: 2px 6px; }
div.rows { overflow-x: auto; }
"""


def explore(node: PlannerNode, names: Sequence[str], title: str) -> None:
    """Show pages of the rows of a frame: they are computed first, and kept."""
    target = config.picture_target
    if target == "none":
        return
    if target == "auto" and notebook_shell() is not None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        display(HTML(first_rows(node, names, title)))
        return
    materialize(node)
    open_address(RowServer(node, names, title).start(), title)


def rows_table(node: PlannerNode, names: Sequence[str], start: int, stop: int, first_column: int = 0) -> str:
    """Some rows and columns as a table, with the numbers of the rows."""
    places = list(range(first_column, min(first_column + PAGE_COLUMNS, len(names))))
    shown = [names[place] for place in places]
    part = project(node, places)
    rows = row_tuples(part, start, stop, shown) if stop > start and shown else []
    return f'<div class="rows"><table>{table_parts(shown, part.schema, rows, CELL_WIDTH, start)}</table></div>'


def first_rows(node: PlannerNode, names: Sequence[str], title: str) -> str:
    """The first rows for a notebook, in pages that fold and need no script."""
    first = slice_rows(node, 0, NOTEBOOK_ROWS + 1)
    materialize(first)
    found = row_count(first)
    rows = min(found, NOTEBOOK_ROWS)
    pages = []
    for start in range(0, max(rows, 1), PAGE_ROWS):
        stop = min(start + PAGE_ROWS, rows)
        opened = " open" if start == 0 else ""
        table = rows_table(first, names, start, stop)
        pages.append(f"<details{opened}><summary>rows {start:,} to {max(stop - 1, 0):,}</summary>{table}</details>")
    more = f"<p>The first {rows:,} rows; explore() in a browser shows all: visualization.set_target('browser').</p>" if found > rows else ""
    columns = f"<p>The first {PAGE_COLUMNS} of {len(names)} columns.</p>" if len(names) > PAGE_COLUMNS else ""
    style = _STYLE.replace("var(--faint)", "rgba(128, 128, 128, .25)")
    scoped = "\n".join(f".sframe-spark-rows {line}" if line.strip() else "" for line in style.splitlines())
    return f'<style>{scoped}</style><div class="sframe-spark-rows"><h4>{html.escape(visible(title))}</h4>{"".join(pages)}{more}{columns}</div>'


class RowServer:
    """Gives pages of the rows of a frame to the browsers of this machine that know its address, until the process ends.

    Parameters
    ----------
    node
        Materialised: each page reads its rows alone.
    names
        Of its columns.
    title
        Above the rows.
    """

    def __init__(self, node: PlannerNode, names: Sequence[str], title: str) -> None:
        self.node, self.names, self.title = node, list(names), title
        # Other users of the machine reach its ports, but do not know this.
        self.secret = secrets.token_urlsafe(24)
        self._server: http.server.ThreadingHTTPServer | None = None

    def start(self) -> str:
        """Begin to answer, and return the address of the first page."""
        # They take as long to import as all else of a small program.
        import http.server

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _answering(self))
        threading.Thread(target=self._server.serve_forever, name="sframe_spark rows", daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}/{self.secret}/"

    def stop(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def is_host(self, name: str) -> bool:
        """Whether a request was meant for this server: pages of others may lead names of their own to this machine."""
        return self._server is not None and name in (f"127.0.0.1:{self._server.server_port}", f"localhost:{self._server.server_port}")

    def page_at(self, row: int, column: int) -> str:
        """The page that begins with a row and a column; those beyond the end are the last."""
        rows = row_count(self.node)
        start = min(max(row, 0), max(rows - 1, 0))
        first = min(max(column, 0), max(len(self.names) - 1, 0))
        stop = min(start + PAGE_ROWS, rows)
        table = rows_table(self.node, self.names, start, stop, first)
        heading = f"<h2>{html.escape(visible(self.title))}</h2>"
        return page(self.title, f"{heading}{self._steps(start, stop, rows, first)}{table}", _STYLE)

    def _steps(self, start: int, stop: int, rows: int, first: int) -> str:
        steps = [("first", 0), ("back", start - PAGE_ROWS), ("on", start + PAGE_ROWS), ("last", (max(rows - 1, 0) // PAGE_ROWS) * PAGE_ROWS)]
        links = [f'<a href="?row={max(row, 0)}&amp;column={first}">{name}</a>' for name, row in steps if 0 <= max(row, 0) < max(rows, 1)]
        shown = f"rows {start:,} to {max(stop - 1, 0):,} of {rows:,}" if rows else "no rows"
        go = f'<form>row <input name="row" inputmode="numeric"><input type="hidden" name="column" value="{first}"></form>'
        columns = ""
        if len(self.names) > PAGE_COLUMNS:
            parts = range(0, len(self.names), PAGE_COLUMNS)
            links_of = [f'<a href="?row={start}&amp;column={place}">{place:,}</a>' if place != first else f"<b>{place:,}</b>" for place in parts]
            columns = f"<span>columns from {' '.join(links_of)}</span>"
        return f"<nav>{' '.join(links)}<span>{shown}</span>{go}{columns}</nav>"


def _answering(server: RowServer) -> type[http.server.BaseHTTPRequestHandler]:
    import http.server

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urllib.parse.urlsplit(self.path)
            known = hmac.compare_digest(address.path.encode("utf-8", "surrogateescape"), f"/{server.secret}/".encode())
            if not known or not server.is_host(self.headers.get("Host", "")):
                self.send_error(404)
                return
            asked = urllib.parse.parse_qs(address.query)
            try:
                content, status = server.page_at(_number(asked, "row"), _number(asked, "column")), 200
            except SFrameError as error:
                content, status = page(server.title, f"<p>{html.escape(visible(str(error)))}</p>"), 500
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(content.encode("utf-8", "replace"))

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the terminal is the user's."""

    return Answer


def _number(asked: dict[str, list[str]], name: str) -> int:
    text = asked.get(name, ["0"])[0].replace(",", "").strip()
    return int(text) if text.isdecimal() and len(text) < 19 else 0
