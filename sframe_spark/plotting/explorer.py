"""Pages of rows: asked for one by one in a browser of this machine, the first thousand rows below a cell of a notebook."""

from __future__ import annotations

import hmac
import html
import secrets
import threading
import urllib.parse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.config import config
from sframe_spark.engine.runs.materialize import materialize
from sframe_spark.errors import SFrameError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.plotting.pages import page
from sframe_spark.plotting.row_pages import RowPages, first_rows
from sframe_spark.plotting.targets import open_address
from sframe_spark.session.notebooks import notebook_shell
from sframe_spark.visible import visible

if TYPE_CHECKING:
    import http.server

# A browser asks for one page at a time. Who asks for more waits for none: the program has its own work to do.
MOST_CONNECTIONS = 16
# Seconds in which a request is sent, and an answer taken.
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
    """Show pages of the rows of a frame: they are computed first, and kept."""
    target = config.picture_target
    if target == "none":
        return
    if target == "auto" and notebook_shell() is not None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        display(HTML(first_rows(node, names, title)))
        return
    materialize(node)
    open_address(RowServer(node, names, title).start(), title, is_secret=True)


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
        self.pages = RowPages(node, tuple(names), title)
        # Other users of the machine reach its ports, but do not know this.
        self.secret = secrets.token_urlsafe(24)
        self._server: http.server.ThreadingHTTPServer | None = None

    def start(self) -> str:
        """Begin to answer, and return the address of the first page."""
        self._server = _listening(self)
        threading.Thread(target=self._server.serve_forever, name="sframe_spark rows", daemon=True).start()
        return f"http://127.0.0.1:{self.port}/{self.secret}/"

    @property
    def port(self) -> int | None:
        """Where it listens; None while it does not."""
        return None if self._server is None else self._server.server_port

    def stop(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def is_asked(self, path: str, host: str) -> bool:
        """Whether a request was meant for this server, by who knows its address: pages of others may lead names of their own to this machine."""
        known = hmac.compare_digest(path.encode("utf-8", "surrogateescape"), f"/{self.secret}/".encode())
        return known and host in (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def answer(self, query: str) -> tuple[int, str]:
        """The status and the page for what is asked."""
        try:
            asked = urllib.parse.parse_qs(query, max_num_fields=8)
        except ValueError:
            asked = {}
        try:
            return 200, self.pages.at(_number(asked, "row"), _number(asked, "column"))
        except SFrameError as error:
            told = str(error)
        except Exception as error:
            told = f"The rows could not be read ({type(error).__name__})."
        return 500, page(self.pages.title, f"<p>{html.escape(visible(told, lines=True))}</p>")


def _listening(rows: RowServer) -> http.server.ThreadingHTTPServer:
    """A server that is ready, on this machine alone."""
    # They take as long to import as all else of a small program.
    import http.server

    free = threading.BoundedSemaphore(MOST_CONNECTIONS)

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 4 * MOST_CONNECTIONS

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
            """Nothing: a browser that goes away is no error of the user's, whose terminal it is."""

    return Server(("127.0.0.1", 0), _answering(rows))


def _answering(rows: RowServer) -> type[http.server.BaseHTTPRequestHandler]:
    """What answers one request with the rows of a server."""
    import http.server

    class Answer(http.server.BaseHTTPRequestHandler):
        timeout = PATIENCE
        server_version, sys_version = "sframe_spark", ""

        def do_GET(self) -> None:
            address = urllib.parse.urlsplit(self.path)
            if not rows.is_asked(address.path, self.headers.get("Host", "")):
                self.send_error(404)
                return
            status, content = rows.answer(address.query)
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content.encode("utf-8", "replace"))

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the terminal is the user's."""

    return Answer


def _number(asked: dict[str, list[str]], name: str) -> int:
    text = asked.get(name, ["0"])[0].replace(",", "").strip()
    return int(text) if text.isdecimal() and len(text) < 19 else 0
