"""Shows the rows of a frame page by page: in a browser from a local server, in a notebook from its kernel.

Without the package ``anywidget`` a notebook has the first thousand rows.

A notebook may be drawn on another machine than its kernel's, so only the kernel's own connection always leads back to the rows. Scripts in an output
have no part in it, but widgets have.
"""

from __future__ import annotations

import hmac
import html
import importlib.util
import secrets
import threading
import urllib.parse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.api.display import TABLE_STYLE, CellForm, table_parts
from sframe_spark.api.node_value_conversion import row_count, row_tuples
from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.errors import SFrameError
from sframe_spark.message_text import visible
from sframe_spark.operators.project_zip_arrange import columns_of
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting.html_pages import open_address, page
from sframe_spark.plotting.summary import size_text
from sframe_spark.session.progress import notebook_shell

if TYPE_CHECKING:
    import http.server

# --- Pages as HTML


PAGE_ROWS = 50
NOTEBOOK_ROWS = 1000
# A page with thousands of columns would be slow to draw. With more columns than this, a page shows some of them, and has a list to choose others.
PAGE_COLUMNS = 50
_FORM = CellForm(60, unfolds=True)
# Styles of unfolded texts, and of pages; on these, column names and row numbers stay visible while scrolling.
_STYLE = (
    TABLE_STYLE
    + """
.sf-table table details[open] { white-space: pre-wrap; overflow-wrap: anywhere; width: 60ch; } .sf-table table summary { cursor: pointer; }
"""
)
_PAGE_STYLE = (
    _STYLE
    + """
h1 { font-size: 20px; margin: 0 0 12px; overflow-wrap: anywhere; } h1 small { font-size: 15px; font-weight: normal; opacity: .75; margin-left: 8px; }
nav { margin: 0 0 12px; display: flex; gap: 8px 16px; align-items: center; flex-wrap: wrap; }
nav a, nav .off, nav button, nav input, nav select { font: inherit; color: inherit; background: transparent; text-decoration: none; }
nav a, nav .off, nav button, nav input, nav select { border: 1px solid rgba(128, 128, 128, .8); border-radius: 4px; padding: 3px 10px; }
nav select { background: var(--paper); max-width: 16em; } nav .off { opacity: .45; } nav input { width: 8em; } nav button { cursor: pointer; }
nav a:hover, nav button:hover { border-color: currentColor; } nav form { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
nav .steps { display: flex; gap: 6px; } nav a:focus-visible { outline: 2px solid var(--bar); }
div.sf-table { overflow: auto; max-height: calc(100vh - 8.5rem); min-height: 14rem; }
.sf-table table { border-collapse: separate; border-spacing: 0; }
.sf-table thead th, .sf-table thead td { position: sticky; top: 0; background: var(--paper); z-index: 1; }
.sf-table thead td { left: 0; z-index: 2; }
.sf-table table tbody th.sf-type { position: sticky; left: 0; background: var(--paper); color: var(--quiet); opacity: 1; }
"""
)


@attrs.frozen
class RowPages:
    """The pages of a materialized frame; each page reads only its own rows.

    Parameters
    ----------
    node
        The frame.
    names
        Names of its columns.
    title
        Title above the rows.
    """

    node: PlannerNode
    names: tuple[str, ...]
    title: str

    def at(self, row: int, column: int) -> str:
        """Return the page that begins with a row and a column; a number beyond the end is replaced by the last row or column."""
        return page(self.title, f"<main>{self.content(row, column)}</main>", _PAGE_STYLE)

    def content(self, row: int, column: int) -> str:
        """Return what a page shows: the title, links to other pages, whose addresses are ``?row=...&column=...``, and the rows."""
        rows = row_count(self.node)
        start, first = min(max(row, 0), max(rows - 1, 0)), min(max(column, 0), max(len(self.names) - 1, 0))
        stop = min(start + PAGE_ROWS, rows)
        heading = f"<h1>{html.escape(visible(self.title))}<small>{size_text(rows, len(self.names))}</small></h1>"
        table = rows_table(self.node, self.names, start, stop, first)
        steps = f'<nav aria-label="rows">{_steps(start, stop, rows, first)}{self._jump(start, rows, first)}</nav>'
        return f"{heading}{steps}{table}"

    def _jump(self, start: int, rows: int, first: int) -> str:
        """Return the form for jumping to a row, and to other columns if there are many."""
        columns = f'<input type="hidden" name="column" value="{first}">'
        if len(self.names) > PAGE_COLUMNS:
            options = "".join(self._option(column, first) for column in sorted({first, *range(0, len(self.names), PAGE_COLUMNS)}))
            columns = f'<label for="column">columns</label><select id="column" name="column">{options}</select>'
        number = f'<input id="row" name="row" type="number" min="0" max="{max(rows - 1, 0)}" value="{start}">'
        return f'<form><label for="row">from row</label>{number}{columns}<button>show</button></form>'

    def _option(self, column: int, first: int) -> str:
        last = min(column + PAGE_COLUMNS, len(self.names)) - 1
        name = html.escape(visible(self.names[column])[:40])
        return f'<option value="{column}"{" selected" * (column == first)}>{column:,} to {last:,}: {name}</option>'


def _steps(start: int, stop: int, rows: int, first: int) -> str:
    """Return links to the first, previous, next and last page; plain text in place of links that lead nowhere."""
    last = (max(rows - 1, 0) // PAGE_ROWS) * PAGE_ROWS
    steps = (
        ("first", 0, start > 0, ""),
        ("previous", max(start - PAGE_ROWS, 0), start > 0, ' rel="prev"'),
        ("next", start + PAGE_ROWS, stop < rows, ' rel="next"'),
        ("last", last, stop < rows, ""),
    )
    links = "".join(
        f'<a href="?row={row}&amp;column={first}"{relation}>{name}</a>' if leads else f'<span class="off">{name}</span>'
        for name, row, leads, relation in steps
    )
    range_text = f"rows {start:,} to {stop - 1:,} of {rows:,}" if rows else "no rows"
    return f'<div class="steps">{links}</div><span>{range_text}</span>'


def rows_table(node: PlannerNode, names: Sequence[str], start: int, stop: int, first_column: int = 0) -> str:
    """Return some rows and columns as an HTML table with row numbers."""
    column_names = names[first_column : first_column + PAGE_COLUMNS]
    part = columns_of(node, range(first_column, first_column + len(column_names)))
    rows = row_tuples(part, start, stop, column_names) if stop > start and column_names else []
    # With a tabindex, the table can be scrolled with the keyboard.
    return f'<div class="sf-table" tabindex="0"><table>{table_parts(column_names, part.schema, rows, _FORM, start)}</table></div>'


def first_rows(node: PlannerNode, names: Sequence[str], title: str) -> str:
    """Return the first rows as HTML for a notebook, in pages that unfold without scripts."""
    first = slice_rows(node, 0, NOTEBOOK_ROWS + 1)
    materialize(first)
    row_limit = row_count(first)
    rows = min(row_limit, NOTEBOOK_ROWS)
    pages = []
    for start in range(0, max(rows, 1), PAGE_ROWS):
        stop = min(start + PAGE_ROWS, rows)
        opened = " open" if start == 0 else ""
        text = f"rows {start:,} to {stop - 1:,}" if rows else "no rows"
        pages.append(f"<details{opened}><summary>{text}</summary>{rows_table(first, names, start, stop)}</details>")
    notes = []
    if row_limit > rows:
        notes.append(
            f"The first {rows:,} rows; with the package anywidget, or in a browser (visualization.set_target('browser')), explore() shows all."
        )
    if len(names) > PAGE_COLUMNS:
        notes.append(f"The first {PAGE_COLUMNS} of {len(names):,} columns.")
    text = f'<div class="sf-note">{" ".join(notes)}</div>' if notes else ""
    return f"<style>{_STYLE}</style><div><strong>{html.escape(visible(title))}</strong>{''.join(pages)}{text}</div>"


# --- A notebook's widget


# Clicks on links, and the form, ask the kernel for another page, by its first row and column. Colours are those of the notebook.
_WIDGET_SCRIPT = """
export default { render({ model, el }) {
  el.classList.add("sf-rows");
  const draw = () => { el.innerHTML = model.get("content"); };
  const ask = query => {
    model.set("place", ["row", "column"].map(
      name => Math.trunc(Math.min(Math.max(Number(query.get(name)) || 0, 0), Number.MAX_SAFE_INTEGER))));
    model.save_changes();
  };
  el.addEventListener("click", event => {
    const link = event.target.closest("a[href^='?']");
    if (link) { event.preventDefault(); ask(new URLSearchParams(link.getAttribute("href"))); }
  });
  el.addEventListener("submit", event => { event.preventDefault(); ask(new FormData(event.target)); });
  el.addEventListener("keydown", event => event.stopPropagation());
  model.on("change:content", draw);
  draw();
} };
"""
_WIDGET_STYLE = f""".sf-rows {{
--paper: var(--jp-layout-color0, var(--vscode-editor-background, Canvas)); --quiet: inherit; --bar: #4c78a8;
{_PAGE_STYLE}
div.sf-table {{ max-height: 60vh; }}
}}"""


def widget_of_rows(pages: RowPages) -> Any:
    """Return a widget of ``anywidget`` that shows the pages of a materialized frame, and asks the kernel for each page."""
    import anywidget  # type: ignore[import-not-found]
    import traitlets  # type: ignore[import-not-found]

    class RowWidget(anywidget.AnyWidget):
        _esm, _css = _WIDGET_SCRIPT, _WIDGET_STYLE
        content = traitlets.Unicode().tag(sync=True)
        place = traitlets.List(traitlets.Int(), [0, 0]).tag(sync=True)

    def content(row: int, column: int) -> str:
        try:
            return pages.content(row, column)
        except Exception as error:
            return _failure(error)

    widget = RowWidget(content=content(0, 0))
    widget.observe(lambda change: setattr(widget, "content", content(*change["new"])), "place")
    return widget


def _failure(error: Exception) -> str:
    """Return the message of an error that the rows raise, as HTML; for errors of other packages only the class."""
    message = str(error) if isinstance(error, SFrameError) else f"The rows could not be read ({type(error).__name__})."
    return f"<p>{html.escape(visible(message, lines=True))}</p>"


# --- The server


# A browser requests one page at a time. If there are more connections than this, further ones are dropped, so that they cannot slow down the program.
MAX_CONNECTIONS = 16
# Timeout for a request and its response, in seconds.
PATIENCE = 10
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def explore(node: PlannerNode, names: Sequence[str], title: str) -> None:
    """Display the rows of a frame page by page; they are computed first (in a notebook without ``anywidget``, only the first thousand)."""
    target = config.picture_target
    if target == "none":
        return
    if target == "auto" and notebook_shell() is not None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        if importlib.util.find_spec("anywidget") is not None:
            materialize(node)
            widget = widget_of_rows(RowPages(node, tuple(names), title))
            # Without a kernel, as in a saved notebook, only the first page remains.
            page_text = f'<style>{_STYLE}</style><div class="sf-rows">{rows_table(node, names, 0, min(PAGE_ROWS, row_count(node)))}</div>'
            shown, metadata = widget._repr_mimebundle_()
            display({**shown, "text/html": page_text}, metadata=metadata, raw=True)
            return
        display(HTML(first_rows(node, names, title)))
        return
    materialize(node)
    open_address(RowServer(node, names, title).start(), title, is_secret=True)


class RowServer:
    """A server of the pages of a frame, for local browsers that know its secret address; it runs until the process ends.

    Parameters
    ----------
    node
        The materialized frame.
    names
        Names of its columns.
    title
        Title above the rows.
    """

    def __init__(self, node: PlannerNode, names: Sequence[str], title: str) -> None:
        self.pages = RowPages(node, tuple(names), title)
        # Other users of the machine can connect to the port, but do not know this part of the address.
        self.secret = secrets.token_urlsafe(24)
        self._server: http.server.ThreadingHTTPServer | None = None

    def start(self) -> str:
        """Start the server, and return the address of the first page."""
        self._server = _listening(self)
        threading.Thread(target=self._server.serve_forever, name="sframe_spark rows", daemon=True).start()
        return f"http://127.0.0.1:{self.port}/{self.secret}/"

    @property
    def port(self) -> int | None:
        """The port of the server; None if it has not been started."""
        return None if self._server is None else self._server.server_port

    def stop(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def is_authorized(self, path: str, host: str) -> bool:
        """Return whether a request has the secret path, and names this machine as host: a site may let its own name resolve to this machine."""
        known = hmac.compare_digest(path.encode("utf-8", "surrogateescape"), f"/{self.secret}/".encode())
        return known and host in (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def answer(self, query: str) -> tuple[int, str]:
        """Return the HTTP status and the page for the query part of an address."""
        try:
            fields = urllib.parse.parse_qs(query, max_num_fields=8)
        except ValueError:
            fields = {}
        try:
            return 200, self.pages.at(_number(fields, "row"), _number(fields, "column"))
        except Exception as error:
            return 500, page(self.pages.title, _failure(error))


def _listening(rows: RowServer) -> http.server.ThreadingHTTPServer:
    """Return an HTTP server of the pages, which listens on the loopback interface only."""
    # Imported only here, because importing it takes as long as all other imports of a small program.
    import http.server

    free = threading.BoundedSemaphore(MAX_CONNECTIONS)

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 4 * MAX_CONNECTIONS

        def process_request(self, request: Any, client_address: Any) -> None:
            if free.acquire(blocking=False):
                super().process_request(request, client_address)
            else:
                self.shutdown_request(request)

        def process_request_thread(self, request: Any, client_address: Any) -> None:
            try:
                super().process_request_thread(request, client_address)
            finally:
                free.release()

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Do nothing: errors such as a closed connection must not be printed on the user's terminal."""

    class Answer(http.server.BaseHTTPRequestHandler):
        timeout = PATIENCE
        server_version, sys_version = "sframe_spark", ""

        def do_GET(self) -> None:
            address = urllib.parse.urlsplit(self.path)
            if not rows.is_authorized(address.path, self.headers.get("Host", "")):
                self.send_error(404)
                return
            status, content = rows.answer(address.query)
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content.encode("utf-8", "replace"))

        def log_message(self, format: str, *args: Any) -> None:
            """Do nothing: requests must not be printed on the user's terminal."""

    return Server(("127.0.0.1", 0), Answer)


def _number(fields: dict[str, list[str]], name: str) -> int:
    text = fields.get(name, ["0"])[0].replace(",", "").strip()
    return int(text) if text.isdecimal() and len(text) < 19 else 0
